/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Saves and loads a device: registers, tracker, lists of its links. SPEC.md section 13. */
#include "state/state.h"

/* --------------------------------------------------------------- registers */

static void visit_words(struct t3_stream *s, uint32_t *word, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		t3_stream_u32(s, &word[i]);
}

static void visit_longs(struct t3_stream *s, uint64_t *value, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		t3_stream_u64(s, &value[i]);
}

static void visit_config(struct t3_stream *s, const struct t3_dev *dev)
{
	const struct t3_fabric_config *fabric = &dev->fabric->config;

	t3_stream_same(s, dev->config.memory_size, "memory-size differs");
	t3_stream_same(s, dev->config.aperture_size, "aperture-size differs");
	t3_stream_same(s, dev->config.tracker_entries, "tracker-entries differs");
	t3_stream_same(s, dev->config.tracker_ways, "tracker-ways differs");
	t3_stream_same(s, dev->config.guest_inject, "guest-inject differs");
	t3_stream_same(s, dev->config.keys, "keys differs");
	t3_stream_same(s, dev->config.reset_generations, "reset-generations differs");
	t3_stream_same(s, dev->config.without_caps, "without-caps differs");
	t3_stream_same(s, fabric->topology, "the fabric's topology differs");
	t3_stream_same(s, fabric->ranks, "the fabric's number of ranks differs");
	t3_stream_same(s, dev->rank, "rank differs");
}

static void visit_registers(struct t3_stream *s, struct t3_dev *dev)
{
	t3_stream_u32(s, &dev->incarnation);
	t3_stream_below(s, &dev->error_status, T3_ERROR_ALL + 1, "ERROR_STATUS has unknown bits");
	t3_stream_below(s, &dev->error_enable, T3_ERROR_ALL + 1, "ERROR_ENABLE has unknown bits");
	t3_stream_u64(s, &dev->dma_address);
	t3_stream_u64(s, &dev->poison_address);
	t3_stream_below(s, &t3_spaces(dev)->event_vector, T3_MAX_VECTORS,
			"EVENT_VECTOR is out of range");
	t3_stream_below(s, &dev->error_vector, T3_MAX_VECTORS, "ERROR_VECTOR is out of range");
	visit_words(s, t3_spaces(dev)->pending, T3_MAX_SPACES / 32);
	visit_words(s, t3_spaces(dev)->enable, T3_MAX_SPACES / 32);
	t3_stream_u32(s, &t3_front(dev)->admin_command);
	t3_stream_u32(s, &t3_front(dev)->admin_status);
	t3_stream_bytes(s, t3_front(dev)->mailbox, sizeof(t3_front(dev)->mailbox));
	visit_longs(s, dev->counter, T3_COUNTER_COUNT);
}

/* Generations of all slots are saved, because peers may name the generation of a FREE slot. */
static void visit_generations(struct t3_stream *s, struct t3_dev *dev)
{
	uint32_t i;

	visit_words(s, t3_spaces(dev)->generation, T3_MAX_SPACES);
	for (i = 0; s->loading && i < T3_MAX_SPACES; i++)
		t3_stream_rule(s, t3_spaces(dev)->generation[i], "a generation is 0");
}

/* ------------------------------------------------------ references by number */

static struct t3_space *visit_space_ref(struct t3_stream *s, struct t3_dev *dev,
					const struct t3_space *space)
{
	uint32_t id = space ? space->id : 0;

	t3_stream_below(s, &id, T3_MAX_SPACES, "a space's number is out of range");
	if (!t3_stream_rule(s, t3_spaces(dev)->space[id].state != T3_SPACE_FREE,
			    "a space does not exist"))
		return NULL;
	return &t3_spaces(dev)->space[id];
}

static struct t3_segment *visit_segment_ref(struct t3_stream *s, struct t3_dev *dev,
					    const struct t3_segment *segment)
{
	struct t3_space *space = visit_space_ref(s, dev, segment ? segment->space : NULL);
	uint32_t index = segment ? segment->index : 0;

	t3_stream_below(s, &index, T3_SPACE_SEGMENTS, "a segment's number is out of range");
	if (!t3_stream_rule(s, space && space->segment[index], "a segment does not exist"))
		return NULL;
	return space->segment[index];
}

/* ----------------------------------------------------------------- tracker */

static void visit_entry(struct t3_stream *s, struct t3_dev *dev, struct t3_entry *entry)
{
	struct t3_segment *segment = visit_segment_ref(s, dev, entry->segment);

	if (s->loading && segment) {
		entry->segment = segment;
		segment->live++;
	}
	t3_stream_u32(s, &entry->tile);
	t3_stream_u32(s, &entry->count);
	t3_stream_u64(s, &entry->used);
}

void t3_visit_tracker(struct t3_stream *s, struct t3_dev *dev)
{
	struct t3_tracker *tracker = &t3_spaces(dev)->tracker;
	uint32_t size = tracker->sets * tracker->ways, count = 0, i;

	for (i = 0; i < size; i++)
		count += tracker->entry[i].segment != NULL;
	t3_stream_time(s, &tracker->clock);
	t3_stream_below(s, &count, size + 1, "the tracker has too many entries");
	for (i = 0; count && !s->refused; count--, i++) {
		uint32_t place;

		while (!s->loading && !tracker->entry[i].segment)
			i++;
		place = i;
		t3_stream_below(s, &place, size, "a tracker entry's place is out of range");
		if (!t3_stream_rule(s, place >= i, "tracker entries are out of order"))
			return;
		i = place;
		visit_entry(s, dev, &tracker->entry[i]);
	}
}

/* ------------------------------------------------------------------- preparing */

static void visit_preparing(struct t3_stream *s, struct t3_dev *dev, struct t3_space *space)
{
	space = visit_space_ref(s, dev, space);
	if (!space)
		return;
	t3_stream_u32(s, &space->prepare.segment);
	t3_stream_u32(s, &space->prepare.tile);
	t3_stream_u32(s, &space->prepare.row);
	t3_stream_u32(s, &space->prepare.col);
	if (s->loading && t3_stream_rule(s, !space->preparing,
					 "a space is on the list to be "
					 "prepared twice"))
		t3_prepare_append(space);
}

static void visit_prepares(struct t3_stream *s, struct t3_dev *dev)
{
	struct t3_space *space;
	uint32_t client, count;

	for (client = 0; client < T3_MAX_CLIENTS && !s->loading; client++)
		for (space = t3_spaces(dev)->prepares[client].head; space;
		     space = space->prepare_next) {
			t3_stream_u32(s, &(uint32_t){ 1 });
			visit_preparing(s, dev, space);
		}
	do {
		count = 0;
		t3_stream_below(s, &count, 2, "the list of spaces to be prepared has no end");
		if (count)
			visit_preparing(s, dev, NULL);
	} while (count && !s->refused);
}

/* ------------------------------------------------------------ lists of links */

enum owner { OWNER_ROUTE, OWNER_IMPORT, OWNER_KINDS };

_Static_assert(T3_SPACE_ROUTES == T3_SPACE_IMPORTS, "one loop finds both");

/* A control packet is saved by the route or import of its space that it is a member of. */
static struct t3_ctl *visit_ctl(struct t3_stream *s, struct t3_dev *dev, struct t3_link *link,
				struct t3_ctl *ctl)
{
	struct t3_space *space = visit_space_ref(s, dev, ctl ? ctl->space : NULL);
	uint32_t owner = 0, index = 0, i;

	for (i = 0; ctl && i < T3_SPACE_ROUTES; i++) {
		if (ctl != &ctl->space->route[i].ctl && ctl != &ctl->space->import[i].ctl)
			continue;
		owner = ctl == &ctl->space->route[i].ctl ? OWNER_ROUTE : OWNER_IMPORT;
		index = i;
	}
	t3_stream_below(s, &owner, OWNER_KINDS, "a control packet's owner is unknown");
	t3_stream_below(s, &index, T3_SPACE_ROUTES, "a control packet's owner is out of range");
	if (s->loading) {
		if (s->refused)
			return NULL;
		ctl = owner == OWNER_ROUTE ? &space->route[index].ctl : &space->import[index].ctl;
		if (!t3_stream_rule(s, !ctl->link, "a control packet is on a list twice"))
			return NULL;
		ctl->space = space;
		t3_pump_append_control(link, ctl);
	}
	t3_stream_bytes(s, &ctl->packet, sizeof(ctl->packet));
	return ctl->next;
}

static void visit_control(struct t3_stream *s, struct t3_dev *dev, struct t3_link *link,
			  struct t3_ctl *head)
{
	struct t3_ctl *ctl;
	uint32_t count = 0;

	for (ctl = head; ctl; ctl = ctl->next)
		count++;
	t3_stream_u32(s, &count);
	/* No limit is needed: a longer list repeats a packet or reaches the stream's end. */
	for (ctl = head; count && !s->refused; count--)
		ctl = visit_ctl(s, dev, link, s->loading ? NULL : ctl);
}

static void visit_work(struct t3_stream *s, struct t3_dev *dev, struct t3_link *link,
		       struct t3_segment *head)
{
	struct t3_segment *segment, *next = head;
	uint32_t count = 0;

	for (segment = head; segment; segment = segment->work_next)
		count++;
	t3_stream_u32(s, &count);
	for (; count && !s->refused; count--) {
		segment = visit_segment_ref(s, dev, s->loading ? NULL : next);
		next = segment ? segment->work_next : NULL;
		if (s->loading && t3_stream_rule(s, segment && !segment->queued,
						 "a segment is on a work list twice"))
			t3_block_append_work(link, segment);
	}
}

static uint32_t next_waiting(const struct t3_link *link, uint32_t client)
{
	while (client < T3_MAX_CLIENTS && !(link->waiting[client / 32] >> client % 32 & 1))
		client++;
	return client;
}

/* The lists of each client that waits. T3_MAX_CLIENTS ends them. */
static void visit_turns(struct t3_stream *s, struct t3_dev *dev, struct t3_link *link)
{
	uint32_t client = 0, from = 0;

	while (!s->refused) {
		client = s->loading ? from : next_waiting(link, from);
		t3_stream_below(s, &client, T3_MAX_CLIENTS + 1, "a client is out of range");
		if (!t3_stream_rule(s, client >= from, "clients are out of order") ||
		    client == T3_MAX_CLIENTS)
			return;
		visit_control(s, dev, link, s->loading ? NULL : link->turn[client].ctl_head);
		visit_work(s, dev, link, s->loading ? NULL : link->turn[client].work_head);
		from = client + 1;
	}
}

/* The lists of the device's own links, in their order. */
void t3_visit_waiting(struct t3_stream *s, struct t3_dev *dev)
{
	uint32_t peer;

	for (peer = 0; peer < T3_FABRIC_ENDS && !s->refused; peer++) {
		struct t3_link *link = dev->fabric->link[dev->rank][peer];

		if (!link)
			continue;
		t3_stream_bool(s, &link->engine_waits);
		t3_visit_share(s, &link->share);
		visit_turns(s, dev, link);
	}
}

/* ------------------------------------------------------------------- device */

static void visit_dev(struct t3_stream *s, void *object)
{
	struct t3_dev *dev = object;

	visit_config(s, dev);
	visit_registers(s, dev);
	visit_generations(s, dev);
	t3_visit_spaces(s, dev);
	visit_prepares(s, dev);
	t3_visit_tracker(s, dev);
	t3_visit_queues(s, dev);
	t3_visit_waiting(s, dev);
}

void t3_dev_save(struct t3_dev *dev, t3_sink *sink, void *opaque)
{
	t3_lanes_count(dev);
	t3_work_settle(dev);
	t3_state_save(visit_dev, dev, T3_STATE_MAGIC_DEV, sink, opaque);
}

const char *t3_dev_load(struct t3_dev *dev, const void *data, size_t len)
{
	const char *refused;

	if (dev->port)
		return "the fabric is being recorded";
	t3_dev_clear(dev);
	refused = t3_state_load(visit_dev, dev, T3_STATE_MAGIC_DEV, data, len);
	if (!refused)
		refused = t3_check_dev(dev);
	if (refused) {
		t3_dev_clear(dev);
		t3_gang_abandon(dev->fabric);
	}
	return refused;
}
