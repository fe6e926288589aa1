/* SPDX-License-Identifier: MIT */
/* One row for each ioctl: its right argument, and the wrong ones. */
#ifndef T3_GUEST_ROWS_H
#define T3_GUEST_ROWS_H

#include "queue.h"
#include "raw.h"

#define MAX_FIELDS 3u

/* The objects for a right argument of each ioctl: a space that sends, and one that receives. */
struct world {
	struct raw source; /* rank 0; segment 0 is mapped, epoch 1 is over */
	struct raw target; /* rank 1; the same */
	uint32_t spare_bo;
	uint32_t timed_bo; /* of the host: arguments of a timed run, room for its result */
	uint32_t import, second_import; /* no segment uses them */
	uint32_t second[1];
	int grant_fd; /* of target, not imported */
	uint32_t grant;
	struct drm_t3_key key; /* of target, not imported */
	/* Groups of a switch, without members, at target and at source; without a switch: 0. */
	struct drm_t3_group_create reduce, multicast;
	int event_fd;
	uint32_t queue, idle_queue; /* of source */
	uint32_t done_sync, sync;   /* done_sync is signalled */
	union drm_t3_any_command commands[4];
	struct drm_t3_sync ins[2], outs[2];
	int first_fd; /* of those that this world has opened */
	uint8_t answer[512];
};

void world_open(struct world *world);
void world_close(struct world *world);

/* The state that an ioctl without effect does not change. */
struct snapshot {
	uint64_t free[2];
	int64_t next_fd;
};
struct snapshot snapshot(void);

struct field {
	size_t offset, size;
	uint64_t named; /* the bits of it that have a meaning */
	const char *name;
};

#define ROW_ARG_MAX 256u /* bytes of the largest argument; test_abi_table checks it */

struct row {
	const char *name;
	const char *type; /* of the argument */
	unsigned long request;
	bool at_target; /* called on target's file, else on source's */
	bool no_handle; /* its first field is not a handle */
	bool of_switch; /* it works where the fabric has a switch */
	void (*fill)(struct world *world, void *arg);
	struct field zero[MAX_FIELDS]; /* flags and pads */
	const struct deviation *bad;
	size_t bad_count;
};

/* Whether the right argument works in this VM. Without a switch the test checks that it does not. */
bool row_works(const struct row *row, struct world *world);

extern const struct row abi_rows[DRM_T3_IOCTL_COUNT];

#endif /* T3_GUEST_ROWS_H */
