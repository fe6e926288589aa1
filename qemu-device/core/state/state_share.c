/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Saves and loads a share: its clock, and the clients that are ahead of it. SPEC.md 8.2, 13. */
#include "state/state.h"

static uint32_t next_ahead(const struct t3_share *share, uint32_t client)
{
	while (client < T3_MAX_CLIENTS && share->end[client] <= share->now)
		client++;
	return client;
}

static uint32_t count_ahead(const struct t3_share *share)
{
	uint32_t client, count = 0;

	for (client = 0; client < T3_MAX_CLIENTS; client++)
		count += share->end[client] > share->now;
	return count;
}

/* All other clients start at the clock, so their ends need not be saved. */
void t3_visit_share(struct t3_stream *s, struct t3_share *share)
{
	uint32_t count = count_ahead(share), client = 0, from;

	t3_stream_time(s, &share->now);
	t3_stream_time(s, &share->last);
	t3_stream_below(s, &count, T3_MAX_CLIENTS + 1, "a share has too many clients");
	for (; count && !s->refused; count--, client++) {
		from = client;
		client = s->loading ? from : next_ahead(share, from);
		t3_stream_below(s, &client, T3_MAX_CLIENTS, "a client is out of range");
		if (!t3_stream_rule(s, client >= from, "clients are out of order"))
			return;
		t3_stream_time(s, &share->end[client]);
		t3_stream_rule(s, share->end[client] > share->now,
			       "a client of a share is not ahead of its clock");
	}
}
