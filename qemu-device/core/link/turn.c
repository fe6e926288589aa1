/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns on a link: the source's clients share its bytes equally. Each client has a list of
 * control packets and a list of segments with ready tiles. SPEC.md sections 5 and 8.2.
 */
#include "link/link.h"

bool t3_turn_waits(const struct t3_link *link)
{
	uint32_t word, any = 0;

	for (word = 0; word < T3_MAX_CLIENTS / 32; word++)
		any |= link->waiting[word];
	return any;
}

bool t3_turn_alone(const struct t3_link *link, uint32_t client)
{
	uint32_t word, others = link->waiting[client / 32] & ~(1u << client % 32);

	for (word = 0; word < T3_MAX_CLIENTS / 32; word++)
		others |= word == client / 32 ? 0 : link->waiting[word];
	return !others;
}

void t3_turn_note(struct t3_link *link, uint32_t client)
{
	const struct t3_turn *turn = &link->turn[client];
	uint32_t bit = 1u << client % 32;

	if (turn->ctl_head || turn->work_head)
		link->waiting[client / 32] |= bit;
	else
		link->waiting[client / 32] &= ~bit;
}

uint32_t t3_turn_next(const struct t3_link *link)
{
	return t3_share_next(&link->share, link->waiting);
}

/* If no client waits, these bytes count as a turn. */
void t3_turn_charge(struct t3_link *link, uint32_t client, uint32_t bytes)
{
	if (t3_turn_waits(link))
		t3_share_charge(&link->share, client, bytes);
	else
		t3_share_serve(&link->share, client, bytes);
}

/* May the client send without being on a list? Not if it is a packet ahead of waiting clients. */
bool t3_turn_may_send(const struct t3_link *link, uint32_t client)
{
	return !t3_turn_waits(link) ||
	       t3_share_start(&link->share, client) <= link->share.now + link->share.last;
}

void t3_turn_clear(struct t3_link *link)
{
	memset(link->turn, 0, sizeof(link->turn));
	memset(link->waiting, 0, sizeof(link->waiting));
	t3_share_clear(&link->share);
}
