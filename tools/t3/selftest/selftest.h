/* SPDX-License-Identifier: MIT */
/* t3 selftest: what its checks share. */
#ifndef T3_SELFTEST_H
#define T3_SELFTEST_H

#include "common/devices.h"

/* One check of one device. */
struct selftest {
	const struct tool_devices *devices;
	const struct tool_device *device;
	uint64_t timeout_ns, end_ns; /* deadline of all checks together */
	int64_t deadline;	     /* deadline of this one, for waits */
	uint32_t variant;	     /* variant of the check: a type */
	bool skipped;		     /* the device lacks something: the text says what */
	char text[256];		     /* why it has failed, or its measurement */
};

/* Return true when the check passed. Of one with `skipped` it makes no difference. */
typedef bool (*selftest_check)(struct selftest *test);

/* Set the text; false. */
__attribute__((format(printf, 2, 3))) bool selftest_fail(struct selftest *test, const char *format,
							 ...);
/* Set the text; true. */
__attribute__((format(printf, 2, 3))) bool selftest_skip(struct selftest *test, const char *format,
							 ...);
/* Skip the check if the device has too little memory or aperture for what has failed with ret. */
bool selftest_too_small(struct selftest *test, const char *what, int ret);
/*
 * "what: error" unless ret is 0. On a device that is too small for the check, the check is skipped.
 */
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

/* A space over a buffer, and one segment that is described but not mapped. */
struct selftest_bed {
	struct t3_buffer *buffer;
	struct t3_space *space;
	void *memory;
	struct t3_segment_desc desc;
};

/* Does the type have the op, and the device both? */
bool selftest_device_has(const struct selftest *test, uint32_t dtype, uint32_t op);

bool selftest_bed_open(struct selftest *test, struct selftest_bed *bed, struct t3_device *dev,
		       uint32_t dtype, uint32_t op);
/* Also frees one that was opened in part. */
void selftest_bed_close(struct selftest_bed *bed);

/* Fill in the values of update number u, one for each element, in the segment's type. */
void selftest_values(const struct selftest_bed *bed, uint32_t update, unsigned char *values);
/* Check each element: all updates have been applied. */
bool selftest_compare(struct selftest *test, const struct selftest_bed *bed);
/* Store a tile's values of one update. */
bool selftest_store_tile(struct selftest *test, const struct selftest_bed *bed, uint32_t update,
			 uint64_t tile);

#endif /* T3_SELFTEST_H */
