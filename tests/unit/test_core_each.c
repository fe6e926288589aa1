/* SPDX-License-Identifier: MIT */
/*
 * What holds for the first of many parts holds for each. Random tests hardly see a loop that ends
 * after its first turn, as most of their machines have one part of a kind at work.
 */
#include "gang/gang.h"
#include "broken.h"
#include "migrate.h"
#include "queue.h"
#include "state/state.h"
#include "test.h"

#define RANKS	3u
#define SEGMENT 0x400u /* bytes from one segment of a space to the next */
#define OWN	0u     /* segments: one that ends here, and one for both peers */
#define SENT	1u

static struct t3_space *space_of(struct host *host, uint32_t rank, uint32_t id)
{
	return &t3_spaces(host->dev[rank].dev)->space[id];
}

/* ------------------------------------------------------------------- machines */

/* Those with even numbers are of one client. */
static void open_spaces(struct host *host, uint32_t spaces)
{
	uint32_t rank, id;

	for (rank = 0; rank < RANKS; rank++)
		for (id = 0; id < spaces; id++) {
			struct t3_cmd_space_create args = host_space_args(id);

			args.client = id % 2;
			assert_int_equal(host_command(&host->dev[rank], T3_CMD_SPACE_CREATE, &args,
						      sizeof(args)),
					 T3_ADMIN_OK);
		}
}

/* Route and import i of a rank are to and from the rank i + 1 places further. */
static void connect(struct host *host, uint32_t rank, uint32_t id)
{
	struct host_dev *here = &host->dev[rank];
	uint32_t i;

	for (i = 0; i + 1 < RANKS; i++) {
		struct host_dev *peer = &host->dev[(rank + i + 1) % RANKS];

		host_route(here, id, i, peer, id, RANKS - 2 - i);
		host_import(here, id, i, peer, id, 1u << OWN);
	}
}

static void map_segments(struct host_dev *d, uint32_t id)
{
	struct t3_cmd_seg_map map = host_segment(id, SENT, T3_SEG_DMA, T3_OP_ADD, T3_DTYPE_I32);

	host_local(d, id, OWN);
	map.routes = (1u << (RANKS - 1)) - 1;
	map.target_segment = OWN;
	host_map(d, &map);
}

/* IDLE spaces on each of three ranks. Nothing moves until t3_fabric_run() is called. */
static struct host *open_host(uint32_t spaces)
{
	struct host_config config = { T3_TOPOLOGY_FULL, RANKS, 256, 8, T3_KEYS_FABRIC };
	struct host *host = host_new(&config);
	uint32_t rank, id;

	open_spaces(host, spaces);
	for (rank = 0; rank < RANKS; rank++)
		for (id = 0; id < spaces; id++) {
			connect(host, rank, id);
			map_segments(&host->dev[rank], id);
		}
	t3_fabric_set_inline_budget(host->fabric, 0);
	return host;
}

static void arm_all(struct host *host, uint32_t spaces)
{
	uint32_t rank, id;

	for (rank = 0; rank < RANKS; rank++)
		for (id = 0; id < spaces; id++)
			host_arm(&host->dev[rank], id, 1);
	host_drain(host);
	for (rank = 0; rank < RANKS; rank++)
		for (id = 0; id < spaces; id++)
			host_expect(&host->dev[rank], id, T3_SPACE_ARMED, 1);
}

/* Half a tile of each own segment is stored, and all of what goes to others. */
static struct host *busy(void)
{
	struct host *host = open_host(3);
	uint32_t rank, id;

	arm_all(host, 3);
	for (rank = 0; rank < RANKS; rank++)
		for (id = 0; id < 3; id++) {
			host_store(&host->dev[rank], id, OWN * SEGMENT, 1, 8);
			host_fill(&host->dev[rank], id, SENT, 1);
		}
	assert_null(t3_fabric_check(host->fabric));
	return host;
}

/* ------------------------------------------------------ rules of t3_fabric_check() */

TEST("each device's rules are checked")
{
	struct host *host = busy();
	struct t3_dev *dev = host->dev[1].dev;
	struct t3_space *space = space_of(host, 1, 2);

	EXPECT_BROKEN(host, space->in_flight, space->in_flight + 1,
		      "a space's count of packets in flight is wrong");
	EXPECT_BROKEN(host, space->segs_left, space->segs_left + 1,
		      "a space's count of segments that are not delivered is wrong");
	EXPECT_BROKEN(host, space->sorted[1]->word, space->sorted[1]->word + 1,
		      "a segment word is of another epoch");
	EXPECT_BROKEN(host, dev->counter[T3_COUNTER_TRACKER_LIVE],
		      dev->counter[T3_COUNTER_TRACKER_LIVE] + 1,
		      "TRACKER_LIVE is not the number of entries in use");
	EXPECT_BROKEN(host, host->fabric->clock.heap.slot[1]->seq, host->fabric->clock.heap.seq,
		      "an event is in the past, or its sequence number has not been given");
	host_free(host);
}

/* Two entries for a tile, which is not the first one of its set. */
TEST("each entry's rules are checked in a tracker")
{
	struct host *host = busy();
	struct t3_entry *entry = t3_spaces(host->dev[1].dev)->tracker.entry;

	assert_true(entry[0].segment && entry[1].segment && entry[0].segment != entry[1].segment);
	EXPECT_BROKEN(host, entry[3], entry[1], "the tracker has two entries for a tile");
	host_free(host);
}

TEST("each control packet's rules are checked")
{
	static const char wrong[] = "a control packet waits for the wrong link";
	struct host *host = open_host(2);
	struct t3_space *space = space_of(host, 1, 1);
	struct t3_ctl other = { .link = space->route[0].link };

	assert_ptr_not_equal(space->route[1].link, other.link);
	EXPECT_BROKEN(host, space->route[1].ctl.link, other.link, wrong);
	EXPECT_BROKEN(host, space->import[1].ctl.link, other.link, wrong);
	/* One of an older generation is not counted, but has to go before the space is QUIESCED. */
	space->state = T3_SPACE_QUIESCED;
	assert_null(t3_fabric_check(host->fabric));
	other = (struct t3_ctl){ .link = space->route[1].link, .space = space };
	other.packet.type = T3_PKT_ARM_QUERY;
	other.packet.src_space = 1;
	EXPECT_BROKEN(host, space->route[1].ctl, other,
		      "a space is QUIESCED with packets in flight");
	space->state = T3_SPACE_IDLE;
	host_free(host);
}

TEST("each link's rules are checked")
{
	static const char wrong[] = "a segment waits for the wrong link";
	struct host *host = busy();
	struct t3_link **links = host->fabric->link[1], *link;
	struct t3_segment *local = space_of(host, 1, 0)->segment[OWN];
	struct t3_segment *sent = space_of(host, 1, 2)->segment[SENT], *first;

	/* another client; not the first segment of a client; another link */
	EXPECT_BROKEN(host, links[2]->turn[7].work_head, local, wrong);
	first = links[2]->turn[0].work_head;
	assert_true(first && first->work_next);
	EXPECT_BROKEN(host, first->work_next, local, wrong);
	EXPECT_BROKEN(host, links[0]->turn[0].work_head, sent, wrong);
	link = host->fabric->link[1][2];
	while (link->resp_count < 2)
		assert_true(t3_fabric_run(host->fabric, 1));
	EXPECT_BROKEN(host, link->response[(link->resp_head + 1) % T3_LINK_RESPONSES].sequence,
		      (uint32_t)link->next, "a response is for a packet that has not arrived");
	host_free(host);
}

/* Each comparison of a rule alone: of a link with packets that are answered, under way and held. */
TEST("each rule of sequence numbers is checked")
{
	static const char sequence[] = "a link's sequence numbers contradict each other";
	static const char other[] = "a packet belongs to another link";
	static const char source[] = "a packet's source is out of range";
	static const char answered[] =
		"a packet is answered, but has not arrived or is the oldest unanswered one";
	struct host *host = busy();
	struct t3_link *link = host->fabric->link[1][2];
	struct t3_slot *slot;
	struct t3_packet *packet;
	uint64_t last; /* packet, or burst, under way */

	while (!link->una || link->una == link->receiver.expect ||
	       link->receiver.expect == link->next)
		assert_true(t3_fabric_run(host->fabric, 1));
	EXPECT_BROKEN(host, link->next, link->una + T3_LINK_SLOTS + 1, sequence);
	EXPECT_BROKEN(host, link->receiver.expect, link->una - 1, sequence);
	EXPECT_BROKEN(host, link->receiver.expect, link->next + 1, sequence);
	EXPECT_BROKEN(host, link->deliver, link->una - 1, sequence);
	EXPECT_BROKEN(host, link->deliver, link->next + 1, sequence);
	for (last = link->una; t3_link_after(link, last) < link->next;)
		last = t3_link_after(link, last);
	slot = &link->slot[last % T3_LINK_SLOTS];
	packet = &slot->packet;
	EXPECT_BROKEN(host, packet->src_rank, 0, other);
	EXPECT_BROKEN(host, packet->dst_rank, 0, other);
	EXPECT_BROKEN(host, packet->incarnation, packet->incarnation + 1, other);
	EXPECT_BROKEN(host, packet->sequence, packet->sequence + 1, other);
	EXPECT_BROKEN(host, packet->type, T3_PKT_UPDATE - 1, source);
	EXPECT_BROKEN(host, packet->type, T3_PKT_DONE + 1, source);
	EXPECT_BROKEN(host, packet->src_space, T3_MAX_SPACES, source);
	EXPECT_BROKEN(host, packet->src_segment, T3_SPACE_SEGMENTS, source);
	EXPECT_BROKEN(host, slot->answered, true, answered);
	EXPECT_BROKEN(host, link->slot[link->una % T3_LINK_SLOTS].answered, true, answered);
	host_free(host);
}

TEST("each timed run's rules are checked")
{
	static const char want[] = "a queue's or client's timed-run ticket has not been given yet";
	struct host *host = busy();
	struct t3_queue *queue = &t3_queues(host->dev[1].dev)->queue[3];

	EXPECT_BROKEN(host, t3_gangs(host->dev[1].dev)->gang_served[5], 1, want);
	queue->ticket = 1;
	EXPECT_BROKEN(host, queue->phase, T3_PHASE_GANG, want);
	queue->ticket = 0;
	host_free(host);
}

/* ----------------------------------------------------------------- saved machines */

TEST("shares of all clients are saved")
{
	struct host *host = busy(), *other;
	struct t3_share *share = &host->fabric->link[1][2]->share, *copy;

	share->end[3] = share->now + 5;
	share->end[9] = share->now + 7;
	other = host_clone(host);
	copy = &other->fabric->link[1][2]->share;
	assert_int_equal(copy->end[3], share->end[3]);
	assert_int_equal(copy->end[9], share->end[9]);
	host_free(other);
	host_free(host);
}

static void expect_refused(struct host *host, struct host *other, const char *want)
{
	struct blobs blobs;
	const char *refused;

	blobs_save(&blobs, host);
	refused = blobs_load(&blobs, other, 0);
	assert_non_null(refused);
	assert_string_equal(refused, want);
	blobs_free(&blobs);
}

TEST("generations of all spaces are checked")
{
	struct host *host = host_paused(2), *other = host_paused(2);

	t3_spaces(host->dev[1].dev)->generation[5] = 0;
	expect_refused(host, other, "a generation is 0");
	host_free(other);
	host_free(host);
}

/* ----------------------------------------------------------------------- reports */

TEST("reports count all segments")
{
	struct host *host = busy();
	struct t3_dev *dev = host->dev[0].dev;
	struct t3_segment_info segment;
	struct t3_link_info link;

	assert_true(t3_dev_segment_info(dev, 0, SENT, &segment));
	assert_int_equal(segment.target_ranks, 1u << 1 | 1u << 2);
	assert_true(t3_fabric_link_info(host->fabric, 0, 1, &link));
	assert_int_equal(link.waiting_segments, 3);
	host_free(host);
}

TEST("reports count all control packets")
{
	struct host *host = open_host(3);
	struct t3_link_info link;
	uint32_t id, waiting = 0;

	for (id = 0; id < 3; id++) {
		host_arm(&host->dev[0], id, 1);
		waiting += space_of(host, 0, id)->route[0].ctl.link != NULL;
		waiting += space_of(host, 0, id)->import[0].ctl.link != NULL;
	}
	assert_true(waiting > 2);
	assert_true(t3_fabric_link_info(host->fabric, 0, 1, &link));
	assert_int_equal(link.waiting_control, waiting);
	host_free(host);
}

/* -------------------------------------------------------------------------- ends */

/* A peer that has ended is seen when a space is armed, whichever route leads to it. */
TEST("a peer that ended before is seen by any route")
{
	struct host *host = open_host(1);

	assert_int_equal(space_of(host, 0, 0)->route[1].rank, 2);
	assert_int_equal(host_space_command(&host->dev[2], T3_CMD_SPACE_DISABLE, 0), T3_ADMIN_OK);
	host_drain(host);
	host_expect(&host->dev[0], 0, T3_SPACE_IDLE, 0);
	host_arm(&host->dev[0], 0, 1);
	host_expect_peer_fault(&host->dev[0], 0, T3_FAULT_PEER_DEAD, 2);
	host_free(host);
}

/* Space 1 of rank 0 has one route, or one import, which is the second one: a packet waits for it. */
static struct host *with_control(bool route)
{
	struct host *host = host_paused(RANKS);
	struct host_dev *d = &host->dev[0], *peer = &host->dev[1];

	host_space(d, 1);
	host_space(peer, 1);
	if (route) {
		struct t3_cmd_seg_map map =
			host_segment(1, SENT, T3_SEG_DMA, T3_OP_ADD, T3_DTYPE_I32);

		map.routes = 1u << 1;
		host_route(d, 1, 1, peer, 1, 0);
		host_import(peer, 1, 0, d, 1, 1u << SENT);
		host_local(peer, 1, SENT);
		host_map(d, &map);
	} else {
		host_import(d, 1, 1, peer, 1, 1u << OWN);
		host_local(d, 1, OWN);
	}
	host_arm(d, 1, 1);
	assert_non_null(route ? space_of(host, 0, 1)->route[1].ctl.link
			      : space_of(host, 0, 1)->import[1].ctl.link);
	return host;
}

/* A control packet of an older generation holds a space that is disabled. */
TEST("an old control packet goes first")
{
	uint32_t route;

	for (route = 0; route < 2; route++) {
		struct host *host = with_control(route);
		struct host_dev *d = &host->dev[0];

		assert_int_equal(host_space_command(d, T3_CMD_SPACE_RESET, 1), T3_ADMIN_OK);
		assert_int_equal(host_space_command(d, T3_CMD_SPACE_DISABLE, 1), T3_ADMIN_OK);
		assert_int_equal(host_state(d, 1), T3_SPACE_DISABLED);
		host_drain(host);
		assert_int_equal(host_state(d, 1), T3_SPACE_QUIESCED);
		host_free(host);
	}
}

/*
 * Only a loaded state has a set route whose control packet is of an older generation: ROUTE_SET
 * refuses to make one. The old packet is not counted, but the one that takes its place is.
 */
TEST("an old control packet is replaced and counted once")
{
	struct host *host = with_control(true), *copy;
	struct host_dev *d;

	assert_int_equal(host_space_command(&host->dev[0], T3_CMD_SPACE_RESET, 1), T3_ADMIN_OK);
	space_of(host, 0, 1)->route[1].used = true;
	copy = host_clone(host);
	d = &copy->dev[0];
	t3_fabric_set_inline_budget(copy->fabric, 0);
	assert_int_equal(host_query(d, 1).in_flight, 0);
	host_arm(d, 1, 1);
	assert_int_equal(host_query(d, 1).in_flight, 1);
	host_drain(copy);
	assert_int_equal(host_query(d, 1).in_flight, 0);
	assert_null(t3_fabric_check(copy->fabric));
	host_free(copy);
	host_free(host);
}

/* An import is not set again while its source is still to hear of the one before. */
TEST("imports wait for their ends")
{
	struct host *host = open_host(3);
	struct host_dev *d = &host->dev[0];
	const struct t3_link *link = host->fabric->link[0][2];
	struct t3_cmd_import_set again = { .space = 2, .import = 1, .src_rank = 2, .src_space = 2 };
	struct t3_cmd_import_set other;
	uint32_t id;

	again.src_generation = host_query(&host->dev[2], 2).generation;
	again.op_mask = 1u << T3_OP_ADD;
	again.segment_mask = 1u << OWN;
	for (id = 0; id < 3; id++)
		host_arm(d, id, 1);
	while (link->next < 3)
		assert_true(t3_fabric_run(host->fabric, 1));
	assert_int_equal(host_index_command(d, T3_CMD_IMPORT_CLEAR, 2, 1), T3_ADMIN_OK);
	while (space_of(host, 0, 2)->import[1].ctl.link)
		assert_true(t3_fabric_run(host->fabric, 1));
	assert_int_equal(host_command(d, T3_CMD_IMPORT_SET, &again, sizeof(again)),
			 T3_ADMIN_EXISTS);
	/* Others need not wait: another space of the source, another entry. */
	other = again;
	other.src_space = 1;
	assert_int_equal(host_command(d, T3_CMD_IMPORT_SET, &other, sizeof(other)), T3_ADMIN_OK);
	assert_int_equal(host_index_command(d, T3_CMD_IMPORT_CLEAR, 2, 1), T3_ADMIN_OK);
	other = again;
	other.import = 5;
	assert_int_equal(host_command(d, T3_CMD_IMPORT_SET, &other, sizeof(other)), T3_ADMIN_OK);
	host_drain(host);
	assert_int_equal(host_command(d, T3_CMD_IMPORT_SET, &again, sizeof(again)), T3_ADMIN_OK);
	host_free(host);
}

/* Each link's shares and each segment of a device end with a reset of the function. */
TEST("all parts of a device are cleared by a reset")
{
	struct host *host = busy();
	struct t3_dev *dev = host->dev[0].dev;
	uint32_t i;

	assert_non_null(t3_spaces(dev)->segment[5].space);
	for (i = 1; i < RANKS; i++)
		host->fabric->link[0][i]->share.end[7] = 1;
	t3_dev_reset(dev);
	for (i = 1; i < RANKS; i++)
		assert_int_equal(host->fabric->link[0][i]->share.end[7], 0);
	for (i = 0; i < 6; i++)
		assert_null(t3_spaces(dev)->segment[i].space);
	assert_null(t3_fabric_check(host->fabric));
	host_free(host);
}

/* A peer that feeds a space by its second import alone. */
TEST("a lost source is seen by any import")
{
	struct host *host = host_paused(RANKS);
	struct host_dev *d = &host->dev[1];

	host_space(d, 1);
	host_space(&host->dev[2], 1);
	host_import(d, 1, 1, &host->dev[2], 1, 1u << OWN);
	host_local(d, 1, OWN);
	host_arm(d, 1, 1);
	host_drain(host);
	t3_dev_detach(host->dev[0].dev);
	host_drain(host);
	host_expect(d, 1, T3_SPACE_ARMED, 1); /* import 0 is not used */
	t3_dev_detach(host->dev[2].dev);
	host_drain(host);
	host_expect_peer_fault(d, 1, T3_FAULT_PEER_POISON, 2);
	host_free(host);
}

/* ------------------------------------------------------------------------- others */

/* Of clients whose bits are in one word, the one that has had least is next. */
TEST("the poorest client is next")
{
	uint32_t waiting[T3_MAX_CLIENTS / 32] = { 1u << 2 | 1u << 5 | 1u << 9, 1u << 3 };
	struct t3_share share = { .end = { [2] = 10, [5] = 8, [9] = 3, [35] = 4 } };

	assert_int_equal(t3_share_next(&share, waiting), 9);
	share.end[9] = 20;
	assert_int_equal(t3_share_next(&share, waiting), 35);
	share.end[35] = 20;
	assert_int_equal(t3_share_next(&share, waiting), 5);
}

/* A response for a packet that was never sent answers none in its slot. */
TEST("responses answer only what was sent")
{
	struct host *host = busy();
	struct t3_link *link = host->fabric->link[1][2];
	uint32_t head;
	uint64_t una;

	while (!link->resp_count)
		assert_true(t3_fabric_run(host->fabric, 1));
	una = link->una;
	head = link->resp_head;
	link->response[head].sequence = (uint32_t)una + T3_LINK_SLOTS;
	while (link->resp_head == head)
		assert_true(t3_fabric_run(host->fabric, 1));
	assert_int_equal(link->una, una);
	assert_false(link->slot[una % T3_LINK_SLOTS].answered);
	host_drain(host);
	assert_null(t3_fabric_check(host->fabric));
	host_free(host);
}

/* Poison in the second row of a tile that a doorbell adds to. */
TEST("poison in a later row is met")
{
	struct host *host = host_paused(1);
	struct host_dev *d = &host->dev[0];
	struct t3_cmd_seg_map map = host_segment(1, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	uint64_t at = host_space_args(1).buffer + T3_POISON_GRANULE;

	map.pitch = T3_POISON_GRANULE;
	host_space(d, 1);
	host_map(d, &map);
	host_stage(d, 1, 0, 1);
	host_arm(d, 1, 1);
	host_drain(host);
	host_poison(d, at, T3_POISON_GRANULE);
	host_tile(d, 1, 0, 0, 0);
	host_expect_cpu_fault(d, 1, T3_FAULT_POISON, 0, 0, T3_POISON_GRANULE);
	host_free(host);
}

/* Poison in the second tile of a packet, of which nothing is applied then. */
TEST("poison in a later tile refuses the whole packet")
{
	struct t3_cmd_seg_map from = host_segment(0, 0, T3_SEG_DMA, T3_OP_ADD, T3_DTYPE_I32);
	struct t3_cmd_seg_map to = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	struct host *host;
	struct host_dev *b;

	from.rows = from.tile_rows = 1;
	from.row_bytes = from.pitch = from.tile_row_bytes = 2 * T3_POISON_GRANULE;
	to.rows = to.tile_rows = 1;
	to.row_bytes = to.pitch = from.row_bytes;
	to.tile_row_bytes = T3_POISON_GRANULE;
	host = host_pair(&from, &to, 1);
	b = &host->dev[1];
	memset(host->dev[0].memory + HOST_STAGING_BASE(0), 1, from.row_bytes);
	host_poison(b, host_space_args(0).buffer + T3_POISON_GRANULE, T3_POISON_GRANULE);
	host_tile(&host->dev[0], 0, 0, 0, 0);
	host_drain(host);
	assert_int_equal(host_state(b, 0), T3_SPACE_FAULTED);
	assert_int_equal(host_area(b, 0)->fault.kind, T3_FAULT_POISON);
	assert_int_equal(host_get(b, host_space_args(0).buffer, 8), 0);
	host_free(host);
}

/* A guest's kernel wrote counter records: a block is left when all has been delivered. */
TEST("a block is left when all has been delivered")
{
	struct host *host = host_paused(1);
	struct host_dev *d = &host->dev[0];
	uint32_t i;

	host_space(d, 1);
	for (i = 0; i < 2; i++)
		host_local(d, 1, i);
	host_arm(d, 1, 1);
	host_drain(host);
	space_of(host, 0, 1)->sorted[1]->ready_count = 1;
	for (i = 0; i < 2; i++)
		host_fill(d, 1, i, 1);
	host_expect_cpu_fault(d, 1, T3_FAULT_COUNTER, 1, HOST_NONE32, HOST_NONE64);
	space_of(host, 0, 1)->sorted[1]->ready_count = 0;
	host_free(host);
}
