/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The front: the life of devices and fabrics, registers, admin commands, injection, reports.
 * SPEC.md sections 1, 7, 10 and 12. This header is for its own files and state/. Hosts include
 * t3_core.h.
 */
#ifndef T3_CORE_FRONT_H
#define T3_CORE_FRONT_H

#include "gang/gang.h"
#include "node/node.h"
#include "record/record.h"
#include "switch/switch.h"

/* A whole device. */
struct t3_front {
	struct t3_gangs gangs;
	uint32_t admin_command, admin_status;
	uint64_t mailbox[T3_MAILBOX_SIZE / 8];
};

static inline struct t3_front *t3_front(const struct t3_dev *dev)
{
	return t3_container_of(dev, struct t3_front, gangs.queues.spaces.dev);
}

/* dev.c: a reset that the peers learn of, and one that trusts nothing of the old state */
void t3_dev_function_reset(struct t3_dev *dev);
void t3_dev_clear(struct t3_dev *dev);

/* regs.c */
uint64_t t3_regs_read(struct t3_dev *dev, uint64_t offset, uint32_t size);
void t3_regs_write(struct t3_dev *dev, uint64_t offset, uint64_t value, uint32_t size);

/* admin.c. Admin commands and their checks, for loading a state. Return t3_admin_status. */
uint32_t t3_check_space_create(const struct t3_dev *dev, const struct t3_cmd_space_create *cmd);
uint32_t t3_route_set(struct t3_space *space, const struct t3_cmd_route_set *cmd);
uint32_t t3_import_set(struct t3_space *space, const struct t3_cmd_import_set *cmd);
void t3_admin_run(struct t3_dev *dev, uint32_t opcode);

/* inject.c. Returns t3_admin_status. */
uint32_t t3_inject(struct t3_fabric *fabric, const struct t3_cmd_inject *inject);

/* inject_rule.c. What a kind of fault is told, as bits of 1 << enum t3_inject_key. */
enum t3_inject_key {
	T3_INJECT_KEY_RANK,
	T3_INJECT_KEY_PEER,
	T3_INJECT_KEY_QUEUE,
	T3_INJECT_KEY_NTH,
	T3_INJECT_KEY_COUNT,
	T3_INJECT_KEY_ADDRESS,
	T3_INJECT_KEY_VALUE,
	T3_INJECT_KEY_SEED,
	T3_INJECT_KEY_MS,
	T3_INJECT_KEY_NODE,
	T3_INJECT_KEY_CUT,
	T3_INJECT_KEY_STALL,
	T3_INJECT_KEYS
};

struct t3_inject_rule {
	uint32_t needs, takes;
};

/* NULL: there is no such kind. */
const struct t3_inject_rule *t3_inject_rule(uint32_t kind);
/* The kinds in their order, from 0, which is none, to 0. `outside`: also those no guest has. */
uint32_t t3_inject_next_kind(uint32_t kind, bool outside);
const char *t3_inject_word(uint32_t kind);
const char *t3_inject_key_name(uint32_t key);

/* inject_text.c. The command of that name. */
uint32_t t3_inject_text(struct t3_dev *dev, struct t3_cmd_inject_text *cmd);

#endif /* T3_CORE_FRONT_H */
