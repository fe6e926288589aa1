/* SPDX-License-Identifier: MIT */
/* t3 selftest: what its checks share. */
#ifndef T3_SELFTEST_H
#define T3_SELFTEST_H

#include "common/devices.h"

/* One check of one device. */
struct selftest {
	const struct tool_devices *devices;
	const struct tool_device *device;
	uint64_t timeout_ns, end_ns; /* of all checks together */
	int64_t deadline;	     /* of this one, as waits take it */
	uint32_t variant;	     /* which of those that a check is made of: a type */
	bool skipped;		     /* what it needs is not there: the text says why */
	char text[256];		     /* why it has failed, or what it has measured */
};

/* True: passed, or skipped. */
typedef bool (*selftest_check)(struct selftest *test);

/* Set the text; false. */
__attribute__((format(printf, 2, 3))) bool selftest_fail(struct selftest *test, const char *format,
							 ...);
/* Set the text; true. */
__attribute__((format(printf, 2, 3))) bool selftest_skip(struct selftest *test, const char *format,
							 ...);
/* "what: error" unless ret is 0. */
bool selftest_good(struct selftest *test, const char *what, int ret);

bool selftest_version(struct selftest *test);
bool selftest_node(struct selftest *test);
bool selftest_memory(struct selftest *test);
bool selftest_store(struct selftest *test);    /* variant: dtype */
bool selftest_doorbell(struct selftest *test); /* variant: dtype */
bool selftest_remote(struct selftest *test);
bool selftest_poll(struct selftest *test);
bool selftest_interrupt(struct selftest *test);
bool selftest_copy(struct selftest *test);
bool selftest_gemm(struct selftest *test);
bool selftest_all_reduce(struct selftest *test);

/* ------------------------------------------------- a matrix and its space */

#define SELFTEST_ROWS	 16u
#define SELFTEST_COLUMNS 16u
#define SELFTEST_BYTES	 (SELFTEST_ROWS * SELFTEST_COLUMNS * 8u)

/* A space with a buffer behind it, and one segment that is described but not mapped. */
struct selftest_bed {
	struct t3_buffer *buffer;
	struct t3_space *space;
	void *memory;
	struct t3_segment_desc desc;
};

bool selftest_bed_open(struct selftest *test, struct selftest_bed *bed, struct t3_device *dev,
		       uint32_t dtype);
/* Also of one that was opened half. */
void selftest_bed_close(struct selftest_bed *bed);

/* What update number u brings to each element, as the segment has them in memory. */
void selftest_values(const struct selftest_bed *bed, uint32_t update, unsigned char *values);
/* All updates are in memory, element by element. */
bool selftest_compare(struct selftest *test, const struct selftest_bed *bed);
/* Store a tile's values of one update. */
bool selftest_store_tile(struct selftest *test, const struct selftest_bed *bed, uint32_t update,
			 uint64_t tile);

#endif /* T3_SELFTEST_H */
