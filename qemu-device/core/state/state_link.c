/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Saves and loads a fabric: its clock, links and injected faults. SPEC.md section 13. */
#include "state/state.h"

#define COUNTED_KINDS \
	(sizeof(((struct t3_link_injection *)0)->counted) / sizeof(struct t3_injection))

/* ------------------------------------------------------------------- links */

/*
 * Equal sequence numbers are not refused. Their only effect would be that the order of two
 * events depends on their order in the stream.
 */
void t3_visit_event(struct t3_stream *s, struct t3_heap *heap, struct t3_event *event)
{
	bool scheduled = event->pos != 0;

	t3_stream_bool(s, &scheduled);
	if (!scheduled)
		return;
	t3_stream_time(s, &event->time);
	t3_stream_u64(s, &event->seq);
	if (s->loading && !s->refused)
		t3_heap_restore(heap, event);
}

static void visit_injection(struct t3_stream *s, struct t3_injection *injection)
{
	t3_stream_u32(s, &injection->nth);
	t3_stream_u32(s, &injection->count);
	if (s->loading)
		t3_stream_rule(s, !injection->nth == !injection->count,
			       "only one of an injection's nth and count is 0");
}

static void visit_link_injection(struct t3_stream *s, struct t3_link_injection *injected)
{
	uint32_t i;

	t3_stream_bool(s, &injected->down);
	for (i = 0; i < COUNTED_KINDS; i++)
		visit_injection(s, &injected->counted[i]);
	t3_stream_u64(s, &injected->delay);
	t3_stream_below(s, &injected->chance, T3_INJECT_CHANCE,
			"an injection's chance is out of range");
	t3_stream_u64(s, &injected->random);
	if (s->loading)
		t3_stream_rule(s,
			       injected->delay <= T3_INJECT_MAX_DELAY &&
				       (injected->random || !injected->chance),
			       "an injection's delay or seed is out of range");
}

/*
 * t3_poison_add() keeps ranges sorted, with gaps between them. They may lie beyond the device's
 * memory, because they may be older than the device.
 */
static void visit_range(struct t3_stream *s, struct t3_rank_injection *injected, uint32_t i)
{
	struct t3_poison range = injected->poison[i];
	bool fits;

	t3_stream_u64(s, &range.start);
	t3_stream_u64(s, &range.end);
	fits = range.start % T3_POISON_GRANULE == 0 && range.end % T3_POISON_GRANULE == 0 &&
	       range.start < range.end && (!i || injected->poison[i - 1].end < range.start);
	if (!s->loading ||
	    !t3_stream_rule(s, fits, "a poisoned range is empty, misaligned or out of order"))
		return;
	injected->poison[i] = range;
	injected->poisons = i + 1;
}

static void visit_rank_injection(struct t3_stream *s, struct t3_fabric *fabric, uint32_t rank)
{
	struct t3_rank_injection *injected = &fabric->injected[rank];
	uint32_t count = injected->poisons, i;

	visit_injection(s, &injected->irq);
	visit_injection(s, &injected->dma);
	t3_stream_below(s, &count, T3_POISON_RANGES + 1, "there are too many poisoned ranges");
	for (i = 0; i < count && !s->refused; i++)
		visit_range(s, injected, i);
}

/* Has a loaded packet, or a burst, the slots for its payload? */
static bool fits(const struct t3_link *link, uint64_t seq)
{
	const struct t3_slot *slot = &link->slot[seq % T3_LINK_SLOTS];
	struct t3_rows rows = t3_burst_rows(&slot->packet);

	return slot->packets && slot->packets <= T3_LINK_BURST &&
	       slot->packets <= link->next - seq &&
	       slot->packets <= T3_LINK_SLOTS - seq % T3_LINK_SLOTS &&
	       slot->packet.length <= slot->packets * T3_PACKET_PAYLOAD &&
	       rows.count * rows.bytes == slot->packet.length &&
	       rows.count * rows.packets == slot->packets;
}

static void visit_slots(struct t3_stream *s, struct t3_link *link)
{
	uint64_t seq;

	if (s->loading &&
	    !t3_stream_rule(s, link->una <= link->next && link->next - link->una <= T3_LINK_SLOTS,
			    "a link holds more packets than slots"))
		return;
	for (seq = link->una; seq < link->next && !s->refused; seq = t3_link_after(link, seq)) {
		struct t3_slot *slot = &link->slot[seq % T3_LINK_SLOTS];

		t3_stream_u32(s, &slot->packets);
		t3_stream_bytes(s, &slot->packet, sizeof(slot->packet));
		t3_stream_time(s, &slot->arrival);
		t3_stream_bool(s, &slot->answered);
		if (!s->loading ||
		    t3_stream_rule(s, fits(link, seq), "a packet or a burst is too long"))
			t3_stream_bytes(s, link->payload[seq % T3_LINK_SLOTS], slot->packet.length);
	}
}

static void visit_responses(struct t3_stream *s, struct t3_link *link)
{
	uint32_t i;

	t3_stream_below(s, &link->resp_count, T3_LINK_RESPONSES + 1,
			"a link has too many responses");
	for (i = 0; i < link->resp_count; i++) {
		struct t3_response *response =
			&link->response[(link->resp_head + i) % T3_LINK_RESPONSES];

		t3_stream_time(s, &response->time);
		t3_stream_u32(s, &response->incarnation);
		t3_stream_u32(s, &response->sequence);
		t3_stream_below(s, &response->status, T3_STATUS_LINK,
				"a response's status is unknown");
	}
}

static void visit_receiver(struct t3_stream *s, struct t3_receiver *receiver)
{
	uint32_t i, status;

	t3_stream_u32(s, &receiver->incarnation);
	t3_stream_u64(s, &receiver->expect);
	for (i = 0; i < T3_LINK_SLOTS; i++) {
		status = receiver->status[i];
		t3_stream_below(s, &status, T3_STATUS_LINK, "a packet's status is unknown");
		receiver->status[i] = (uint8_t)status;
	}
}

void t3_visit_link(struct t3_stream *s, struct t3_link *link)
{
	struct t3_heap *heap = &link->fabric->clock.heap;

	t3_stream_u32(s, &link->incarnation);
	t3_stream_u32(s, &link->retries);
	t3_stream_u64(s, &link->una);
	t3_stream_u64(s, &link->next);
	t3_stream_u64(s, &link->deliver);
	visit_receiver(s, &link->receiver);
	t3_stream_time(s, &link->busy);
	t3_stream_below(s, &link->held, T3_HELD_SWAP + 1,
			"the reason for holding back a packet is unknown");
	visit_link_injection(s, &link->injected);
	visit_slots(s, link);
	visit_responses(s, link);
	t3_visit_event(s, heap, &link->on_arrival);
	t3_visit_event(s, heap, &link->on_response);
	t3_visit_event(s, heap, &link->on_timeout);
	t3_visit_event(s, heap, &link->on_pump);
	t3_visit_event(s, heap, &link->on_loss);
}

/* A link that has not carried a packet, and has no injected fault, is not saved. */
bool t3_link_is_new(const struct t3_link *link)
{
	return !link->next && link->incarnation == 1 && !t3_link_any_injected(link) &&
	       !link->on_pump.pos && !link->on_loss.pos;
}

/* ------------------------------------------------------------------- fabric */

static struct t3_link *link_number(struct t3_fabric *fabric, uint32_t number)
{
	return fabric->link[number / T3_MAX_RANKS][number % T3_MAX_RANKS];
}

#define LINK_NUMBERS (T3_MAX_RANKS * T3_MAX_RANKS)

static bool stored(struct t3_fabric *fabric, uint32_t number)
{
	const struct t3_link *link = link_number(fabric, number);

	return link && !t3_link_is_new(link);
}

void t3_visit_links(struct t3_stream *s, struct t3_fabric *fabric)
{
	uint32_t count = 0, number;

	for (number = 0; number < LINK_NUMBERS; number++)
		count += stored(fabric, number);
	t3_stream_below(s, &count, LINK_NUMBERS, "there are too many links");
	for (number = 0; count && !s->refused; count--, number++) {
		uint32_t place;

		while (!s->loading && !stored(fabric, number))
			number++;
		place = number;
		t3_stream_below(s, &place, LINK_NUMBERS, "a link's number is out of range");
		if (!t3_stream_rule(s, place >= number && link_number(fabric, place),
				    "a link does not exist, or is out of order"))
			return;
		number = place;
		t3_visit_link(s, link_number(fabric, number));
	}
}

static uint32_t attached(const struct t3_fabric *fabric)
{
	uint32_t rank, mask = 0;

	for (rank = 0; rank < T3_MAX_RANKS; rank++)
		mask |= fabric->dev[rank] ? 1u << rank : 0;
	return mask;
}

/* The run itself is not saved. It is computed again from the arguments. */
static void visit_gang(struct t3_stream *s, struct t3_fabric *fabric)
{
	struct t3_gang *gang = t3_gang_of(fabric);

	t3_stream_bool(s, &gang->running);
	t3_stream_bool(s, &gang->host_paced);
	t3_stream_below(s, &gang->left, T3_MAX_RANKS + 1,
			"the rank that left a timed run is out of range");
	t3_stream_time(s, &gang->start);
	t3_stream_u64(s, &gang->tickets);
	t3_visit_event(s, &fabric->clock.heap, &gang->event);
}

static void visit_fabric(struct t3_stream *s, void *object)
{
	struct t3_fabric *fabric = object;
	uint32_t rank;

	t3_stream_same(s, fabric->config.topology, "topology differs");
	t3_stream_same(s, fabric->config.ranks, "ranks differ");
	t3_stream_same(s, fabric->config.timed, "timed differs");
	t3_stream_same(s, fabric->config.remote, "the ranks of other nodes differ");
	t3_stream_same(s, attached(fabric), "the set of ranks with a device differs");
	t3_stream_u64(s, &fabric->config.id);
	t3_stream_time(s, &fabric->clock.now);
	t3_stream_u64(s, &fabric->clock.heap.seq);
	for (rank = 0; rank < fabric->config.ranks && !s->refused; rank++)
		visit_rank_injection(s, fabric, rank);
	t3_visit_links(s, fabric);
	visit_gang(s, fabric);
	if (fabric->sw)
		t3_visit_switch(s, fabric->sw);
}

void t3_fabric_save(struct t3_fabric *fabric, t3_sink *sink, void *opaque)
{
	t3_state_save(visit_fabric, fabric, T3_STATE_MAGIC_FAB, sink, opaque);
}

/* Clears the links, and all injected faults. */
static void clear_links(struct t3_fabric *fabric)
{
	uint32_t a, b;

	for (a = 0; a < T3_FABRIC_ENDS; a++)
		for (b = 0; b < T3_FABRIC_ENDS; b++)
			if (fabric->link[a][b])
				t3_link_clear(fabric->link[a][b]);
	if (fabric->sw)
		t3_switch_clear(fabric->sw);
	memset(fabric->injected, 0, sizeof(fabric->injected));
	t3_gang_clear(fabric);
}

void t3_fabric_clear(struct t3_fabric *fabric)
{
	uint32_t rank;

	t3_fabric_record_stop(fabric); /* a record has no entry for this call */
	for (rank = 0; rank < T3_MAX_RANKS; rank++)
		if (fabric->dev[rank])
			t3_dev_clear(fabric->dev[rank]);
	clear_links(fabric);
}

/* The packets that wait for links are part of the devices, which may be loaded already. */
const char *t3_fabric_load(struct t3_fabric *fabric, const void *data, size_t len)
{
	struct t3_fabric_config config = fabric->config;
	uint64_t now = fabric->clock.now;
	const char *refused;

	if (fabric->recorder)
		return "the fabric is being recorded";
	clear_links(fabric);
	refused = t3_state_load(visit_fabric, fabric, T3_STATE_MAGIC_FAB, data, len);
	if (!refused && !fabric->config.id)
		refused = "FABRIC_ID is 0";
	if (!refused)
		return NULL;
	fabric->config = config;
	fabric->clock.now = now;
	t3_fabric_clear(fabric);
	return refused;
}
