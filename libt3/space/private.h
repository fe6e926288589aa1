/* SPDX-License-Identifier: MIT */
/* Declarations that the files of room space alone share. */
#ifndef T3_SPACE_PRIVATE_H
#define T3_SPACE_PRIVATE_H

#include "space/space.h"

#define T3_SPIN_DEFAULT_NS 20000u

#define T3_CALLER(name) \
	((const struct t3_caller){ .what = name, .code = __builtin_return_address(0) })

#pragma GCC visibility push(hidden)

/* ------------------------------------------------------------------ T3_DEBUG */

/* The checker, or NULL. It is set before the first space exists. */
extern const struct t3_hooks *_Atomic t3_hooks_table;

static inline const struct t3_hooks *t3_hooks(void)
{
	const struct t3_hooks *hooks = atomic_load_explicit(&t3_hooks_table, memory_order_relaxed);

	return __builtin_expect(!hooks, true) ? NULL : hooks;
}

/* Whether the checker knows this space. Spaces from before the checker are not checked. */
static inline const struct t3_hooks *t3_hooks_of(const struct t3_space *of)
{
	return __builtin_expect(!of->check, true) ? NULL : t3_hooks();
}

/* Read T3_DEBUG once, and load the checker when it asks for it. */
const struct t3_hooks *t3_debug(void);

/* ---------------------------------------------------------------------- end */

/* Return why the event area says DEAD: -ENOENT: the space was destroyed; else -ENODEV. */
int t3_space_gone(const struct t3_space *space);

/* --------------------------------------------------------------------- grants */

/* Tell the checker that others may send to these segments; 0: no more. */
void t3_tell_grant(struct t3_space *space, uint32_t grant, uint64_t segment_mask);

/* -------------------------------------------------------------------- stores */

/* Whether tracked stores use string instructions. It is chosen before main(): see move.h. */
extern bool t3_string_stores;

/* Make tracked stores: of whole elements in one row of one tile, and of a whole tile. */
void t3_store_row(volatile unsigned char *dst, const unsigned char *src, size_t bytes,
		  const struct t3_caller *caller);
int t3_store_rows(const struct t3_view *view, uint64_t tile, const void *src, size_t src_pitch,
		  const struct t3_caller *caller);
/* Make the same stores to a staging image. */
int t3_stage_rows(const struct t3_view *view, uint64_t tile, const void *src, size_t src_pitch);

/*
 * Ring the doorbell of a tile. The numbers are in their ranges. False: the checker has refused it,
 * so the device will not count it as consumed.
 */
bool t3_ring_tile(struct t3_space *space, uint32_t segment, uint32_t slot, uint32_t tile,
		  const struct t3_caller *caller);

#pragma GCC visibility pop

#endif /* T3_SPACE_PRIVATE_H */
