/* SPDX-License-Identifier: MIT */
/* Spaces through libt3, small whole numbers in any type, and both write paths. */
#ifndef T3_GUEST_JOB_H
#define T3_GUEST_JOB_H

#include "guest.h"
#include "t3.h"

enum path { PATH_STORE, PATH_DOORBELL, PATHS };

/* A space with its buffer and, for doorbells, a staging buffer of the same size. */
struct job {
	struct t3_device *dev;
	struct t3_buffer *buffer;
	struct t3_buffer *staging;
	struct t3_space *space;
	unsigned char *memory;
	unsigned char *image;
	uint32_t rung[16]; /* doorbells of slot 0, for each segment */
};

#define JOB_SIZE 65536u
#define JOB_SLOT 4096u /* staging of segment s: at s * JOB_SLOT */

void job_open(struct job *job, uint32_t rank);
void job_close(struct job *job);
/* One slot for a segment of at most JOB_SLOT bytes, numbered below 16. */
void job_stage(struct job *job, const struct t3_segment_desc *desc);

/* 7 ragged rows of 9 elements with padding, tiles of 3 x 4 elements: 3 x 3 tiles. */
void job_desc(struct t3_segment_desc *desc, uint32_t dtype, uint32_t op);
#define JOB_ROWS 7u
#define JOB_COLS 9u

/* Whole numbers from -256 to 256 are exact in each type. */
uint32_t element_bits(uint32_t dtype, int value);
int element_apply(uint32_t op, int a, int b);

/* The value of an element in an update: small, and different for each element. */
int job_value(uint32_t seed, uint32_t row, uint32_t col);
/* Make one update of a whole segment. Its element (0, 0) is (row, col) of a larger matrix. */
struct job_update {
	uint32_t seed;
	enum path path;
	uint32_t row, col;
};
void job_update(struct job *job, const struct t3_segment_desc *desc,
		const struct job_update *update);
void job_write(struct job *job, const struct t3_segment_desc *desc, enum path path, uint32_t seed);
/* Wait for the epoch, check state and event word, and check the op over all seeds. */
void job_check(struct job *job, const struct t3_segment_desc *desc, uint32_t epoch);
void job_expect(struct job *job, const struct t3_segment_desc *desc, const uint32_t *seeds,
		size_t count);

#endif /* T3_GUEST_JOB_H */
