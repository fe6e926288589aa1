/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fair shares of one resource among clients, by start-time fair queueing (Goyal, Vin,
 * Cheng, SIGCOMM 1996). SPEC.md section 8.2. A client's next piece starts where its last
 * one ended, but not before the resource's own clock. The piece with the lowest start is
 * served. So clients that always have work get equal amounts of it, to within one piece,
 * whatever the size of their pieces. An idle client saves up no share.
 */
#include "clock/clock.h"

/* Of clients with equal starts the lowest number is next. Its piece moves it behind the others. */
uint32_t t3_share_next(const struct t3_share *share, const uint32_t waiting[T3_MAX_CLIENTS / 32])
{
	uint32_t word, bits, client, next = T3_NONE32;

	for (word = 0; word < T3_MAX_CLIENTS / 32; word++)
		for (bits = waiting[word]; bits; bits &= bits - 1) {
			client = word * 32 + (uint32_t)__builtin_ctz(bits);
			if (next == T3_NONE32 ||
			    t3_share_start(share, client) < t3_share_start(share, next))
				next = client;
		}
	return next;
}

void t3_share_charge(struct t3_share *share, uint32_t client, uint64_t work)
{
	share->end[client] = t3_share_start(share, client) + work;
}

void t3_share_serve(struct t3_share *share, uint32_t client, uint64_t work)
{
	share->now = t3_share_start(share, client);
	share->last = work;
	t3_share_charge(share, client, work);
}

void t3_share_clear(struct t3_share *share)
{
	memset(share, 0, sizeof(*share));
}
