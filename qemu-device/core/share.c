/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fair shares of one resource among clients, by start-time fair queueing (Goyal, Vin,
 * Cheng, SIGCOMM 1996): a client's next piece starts where its last one ended, but not
 * before the resource's own clock, and the piece that starts first is served. So clients
 * that always have work get equal amounts of it, to within a piece of each, whatever the
 * size of their pieces; and idle time is not saved up. SPEC.md section 8.2.
 */
#include "t3_internal.h"

uint64_t t3_share_start(const struct t3_share *share, uint32_t client)
{
	return share->end[client] > share->now ? share->end[client] : share->now;
}

void t3_share_charge(struct t3_share *share, uint32_t client, uint64_t work)
{
	share->end[client] = t3_share_start(share, client) + work;
}

void t3_share_serve(struct t3_share *share, uint32_t client, uint64_t work)
{
	share->now = t3_share_start(share, client);
	t3_share_charge(share, client, work);
}

void t3_share_clear(struct t3_share *share)
{
	memset(share, 0, sizeof(*share));
}
