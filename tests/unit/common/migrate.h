/* SPDX-License-Identifier: MIT */
/* Saves a host's machine and loads it into another, as a migration does. */
#ifndef T3_TEST_MIGRATE_H
#define T3_TEST_MIGRATE_H

#include "host.h"

struct blob {
	uint8_t *data;
	size_t len, room;
};

/* One for each rank, then the fabric's. */
struct blobs {
	uint32_t ranks;
	struct blob part[T3_MAX_RANKS + 1];
};

void blobs_save(struct blobs *blobs, struct host *host);
/* In memory that was used for it before, or that is all 0: for many saves. */
void blobs_save_again(struct blobs *blobs, struct host *host);
void blobs_free(struct blobs *blobs);
void blobs_expect_equal(const struct blobs *a, const struct blobs *b);
/* NULL, or why a part or the whole is refused. With odd `order` the fabric comes first. */
const char *blobs_load(const struct blobs *blobs, struct host *host, uint32_t order);

/* Give `to` the state of `from`, whatever it was before. Its log is empty afterwards. */
void host_copy(struct host *to, struct host *from);
/* The same, into a new host. */
struct host *host_clone(struct host *host);
/* Give the same host new devices and a new fabric with the old state. */
void host_migrate(struct host *host, uint32_t inline_budget);

#endif
