/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kinds of injected faults: their words, and what each is told. SPEC.md section 12. */
#include "front/front.h"

#define BIT_OF(key) (1u << T3_INJECT_KEY_##key)
#define LINK	    (BIT_OF(RANK) | BIT_OF(PEER))
#define COUNTED	    (BIT_OF(NTH) | BIT_OF(COUNT))
#define MEMORY	    (BIT_OF(RANK) | BIT_OF(ADDRESS) | BIT_OF(VALUE))
#define QUEUE	    (BIT_OF(RANK) | BIT_OF(QUEUE))

static const char *const key_names[T3_INJECT_KEYS] = {
	[T3_INJECT_KEY_RANK] = "rank",	 [T3_INJECT_KEY_PEER] = "peer",
	[T3_INJECT_KEY_QUEUE] = "queue", [T3_INJECT_KEY_NTH] = "nth",
	[T3_INJECT_KEY_COUNT] = "count", [T3_INJECT_KEY_ADDRESS] = "address",
	[T3_INJECT_KEY_VALUE] = "value", [T3_INJECT_KEY_SEED] = "seed",
	[T3_INJECT_KEY_MS] = "ms",	 [T3_INJECT_KEY_NODE] = "node",
	[T3_INJECT_KEY_CUT] = "cut",	 [T3_INJECT_KEY_STALL] = "stall",
};

static const struct t3_inject_rule rules[T3_INJECT_KIND_COUNT] = {
	[T3_INJECT_DROP] = { LINK, COUNTED },
	[T3_INJECT_DUPLICATE] = { LINK, COUNTED },
	[T3_INJECT_CORRUPT] = { LINK, COUNTED },
	[T3_INJECT_REORDER] = { LINK, COUNTED },
	[T3_INJECT_DELAY] = { LINK | BIT_OF(VALUE), COUNTED },
	[T3_INJECT_DROP_RESPONSE] = { LINK, COUNTED },
	[T3_INJECT_LINK_DOWN] = { LINK, 0 },
	[T3_INJECT_LINK_UP] = { LINK, 0 },
	[T3_INJECT_LINK_RANDOM] = { LINK | BIT_OF(NTH), BIT_OF(SEED) },
	[T3_INJECT_POISON] = { MEMORY, 0 },
	[T3_INJECT_UNPOISON] = { BIT_OF(RANK), BIT_OF(ADDRESS) | BIT_OF(VALUE) },
	[T3_INJECT_LOSE_IRQ] = { BIT_OF(RANK), COUNTED },
	[T3_INJECT_FAIL_DMA] = { BIT_OF(RANK), COUNTED },
	[T3_INJECT_HANG_QUEUE] = { QUEUE, 0 },
	[T3_INJECT_UNHANG_QUEUE] = { QUEUE, 0 },
	[T3_INJECT_PORT_RESET] = { BIT_OF(RANK), 0 },
};

static const struct t3_inject_rule node_rules[T3_INJECT_NODE_END - T3_INJECT_NODE_CUT] = {
	{ BIT_OF(NODE), COUNTED | BIT_OF(MS) },
	{ BIT_OF(NODE) | BIT_OF(MS), COUNTED },
	{ BIT_OF(NODE), BIT_OF(CUT) | BIT_OF(STALL) | BIT_OF(SEED) },
};

static bool is_node_fault(uint32_t kind)
{
	return kind >= T3_INJECT_NODE_CUT && kind < T3_INJECT_NODE_END;
}

const struct t3_inject_rule *t3_inject_rule(uint32_t kind)
{
	if (is_node_fault(kind))
		return &node_rules[kind - T3_INJECT_NODE_CUT];
	return kind && kind < T3_INJECT_KIND_COUNT ? &rules[kind] : NULL;
}

uint32_t t3_inject_next_kind(uint32_t kind, bool outside)
{
	if (kind + 1 < T3_INJECT_KIND_COUNT)
		return kind + 1;
	if (kind + 1 == T3_INJECT_KIND_COUNT)
		return outside ? T3_INJECT_NODE_CUT : 0;
	return kind + 1 < T3_INJECT_NODE_END ? kind + 1 : 0;
}

const char *t3_inject_word(uint32_t kind)
{
	return is_node_fault(kind) ? t3_name_node_fault(kind) : t3_name_inject(kind);
}

const char *t3_inject_key_name(uint32_t key)
{
	return key_names[key];
}
