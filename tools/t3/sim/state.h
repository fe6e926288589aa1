/* SPDX-License-Identifier: MIT */
/*
 * State of the replay. replay.c has the loop, entry.c calls the core, and the core calls answer.c.
 */
#ifndef T3_SIM_STATE_H
#define T3_SIM_STATE_H

#include "sim/reader.h"
#include "sim/replay.h"

struct replay;

struct replay_device {
	struct replay *replay;
	struct t3_dev *dev; /* NULL: the slot is free */
	uint32_t slot, rank;
	bool attached;
	uint8_t *memory;
	uint64_t memory_size, aperture_size; /* 0 while the slot is free */
};

/* A record's first bytes. Only MEMORY is read before it is used, with its numbers. */
struct replay_head {
	bool valid;
	uint64_t at;
	uint32_t type, flags, slot;
	uint64_t fetches, offset, length;
};

/* The current call. */
struct replay_entry {
	uint64_t at;
	uint32_t type, size;
	uint64_t offset, value;
	struct t3_dev_config config;
	struct t3_cmd_inject inject;
	struct replay_device *device; /* NULL: a record of the fabric */
};

struct replay {
	struct reader reader;
	const struct replay_options *options;
	struct replay_result *result;
	struct t3_fabric *fabric;
	struct t3_record_context context;
	struct replay_head head;
	struct replay_entry entry;
	bool over; /* no more is read or compared */
	struct replay_device device[T3_RECORD_SLOTS];
};

/* replay.c */
struct replay_head *replay_peek(struct replay *replay);
uint64_t replay_address(struct replay *replay, uint32_t slot, enum t3_record_address kind);
__attribute__((format(printf, 2, 3))) void replay_bad(struct replay *replay, const char *format,
						      ...);
/* `recorded` NULL: the next record is the recorded side. */
__attribute__((format(printf, 3, 4))) void replay_diverged(struct replay *replay,
							   const char *recorded, const char *format,
							   ...);
__attribute__((format(printf, 2, 3))) void replay_log(struct replay *replay, const char *format,
						      ...);

/* entry.c: reads one entry and makes its call. */
void replay_entry(struct replay *replay);
void replay_drop_device(struct replay_device *device);

/* answer.c */
extern const struct t3_host_ops replay_host_ops;
extern const struct t3_fabric_ops replay_fabric_ops;
extern const struct t3_mem_watch replay_mem_watch;
/* The call returned `value`. The record has `size` bytes of it. */
void replay_end(struct replay *replay, uint64_t value, uint32_t size);

/* print.c */
void replay_describe_entry(const struct replay *replay, char *text, size_t size);

#endif /* T3_SIM_STATE_H */
