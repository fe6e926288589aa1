/* SPDX-License-Identifier: MIT */
/* Queues, syncobjs and commands by plain ioctls, and faults of the own device. */
#ifndef T3_GUEST_QUEUE_H
#define T3_GUEST_QUEUE_H

#include <drm.h>

#include "guest.h"
#include "t3_hw.h"

/* A buffer and its expected content. */
struct operand {
	uint32_t handle;
	uint32_t size;
	uint8_t *memory;
	uint8_t *model;
};

/* Fill both with bytes that depend on seed. */
void operand_open(struct operand *operand, int fd, uint32_t size, uint32_t seed);
/* Do the same for an existing buffer. Its handle is the operand's from then on. */
void operand_adopt(struct operand *operand, int fd, uint32_t handle, uint32_t size, uint32_t seed);
void operand_close(struct operand *operand, int fd);
/* Unmap it and free the model. The test closes the handle, or not. */
void operand_drop(struct operand *operand);
void operand_check(const struct operand *operand);

int queue_create(int fd, uint32_t priority, uint32_t *queue);
int queue_destroy(int fd, uint32_t queue);

uint32_t sync_create(int fd);
void sync_destroy(int fd, uint32_t sync);
/* point 0: binary. 0, -ETIME, ... */
int sync_wait(int fd, uint32_t sync, uint64_t point, int ms);
void sync_check_busy(int fd, uint32_t sync);
/* The fence of a binary syncobj as a sync_file. */
int sync_export(int fd, uint32_t sync);
/* 1 signalled, 0 not yet, or the fence's error. */
int sync_file_status(int sync_file);
int sync_status(int fd, uint32_t sync);

/* A submission with at most 4 points in and 4 points out. */
struct submission {
	struct drm_t3_queue_submit args;
	struct drm_t3_sync ins[4];
	struct drm_t3_sync outs[4];
};

/* A command of one type as an element of an array of any type: zeros follow it. */
union drm_t3_any_command any_command(const void *command, size_t size);
#define ANY_COMMAND(command) any_command(&(command), sizeof(command))

struct submission submission(uint32_t queue, const union drm_t3_any_command *commands,
			     uint32_t count);
void submission_in(struct submission *s, uint32_t sync, uint64_t point);
void submission_out(struct submission *s, uint32_t sync, uint64_t point);
int submit(int fd, struct submission *s);
/* Submit without points in, with one binary point out or none (0). */
int submit_one(int fd, uint32_t queue, const union drm_t3_any_command *command, uint32_t out);

union drm_t3_any_command command_fill(uint32_t dst, uint64_t offset, uint32_t bytes,
				      uint64_t pattern);
union drm_t3_any_command command_copy(uint32_t dst, uint32_t src, uint32_t bytes);
/* 4 x 4, i32: the square of the matrix at the start of src. */
union drm_t3_any_command command_gemm(uint32_t dst, uint32_t src);
/* Arguments at 0 of a host buffer, the result at COMMAND_TIMED_RESULT. */
#define COMMAND_TIMED_RESULT 1024u
union drm_t3_any_command command_timed(uint32_t bo);

/* Apply a command to the models. src is NULL for FILL. */
void model_run(const union drm_t3_any_command *command, struct operand *dst,
	       const struct operand *src);

/*
 * Inject faults into a rank's device, in the words of SPEC.md 12.2, by the driver: the mailbox has
 * one user at a time. The VM needs guest-inject=on.
 */
__attribute__((format(printf, 2, 3))) void inject(uint32_t rank, const char *format, ...);
void inject_hang(uint32_t rank, uint32_t hw_queue, bool hang);

#endif /* T3_GUEST_QUEUE_H */
