/* SPDX-License-Identifier: MIT */
/* Saving a host's machine and loading it into another, as a migration does. */
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
void blobs_free(struct blobs *blobs);
void blobs_expect_equal(const struct blobs *a, const struct blobs *b);
/* NULL, or why a part or the whole is refused. Odd `order`: the fabric comes first. */
const char *blobs_load(const struct blobs *blobs, struct host *host, uint32_t order);

/* `to` becomes what `from` is, whatever it was, and its log is empty. */
void host_copy(struct host *to, struct host *from);
/* The same, into a new host. */
struct host *host_clone(struct host *host);
/* The same host goes on with new devices and a new fabric. */
void host_migrate(struct host *host, uint32_t inline_budget);

#endif
