/* SPDX-License-Identifier: MIT */
/*
 * Good commands, descriptors and packets of which one number is changed. Each is tried in the same
 * state of a machine at work; its answer and the state after it are in the test's trail.
 */
#include "gang.h"
#include "gemm.h"
#include "group.h"
#include "migrate.h"
#include "trail.h"
#include "link/link.h"
#include "switch/switch.h"
#include "test.h"

#define SPACE  1u /* armed, on both ranks */
#define IDLE   2u
#define FREE   3u
#define QUEUE  1u
#define EVENTS 40u /* after a descriptor: less than a large run takes */
#define MOST   64u /* words */

struct attempt {
	struct host *host;
	struct blobs base, after;
	uint32_t word[MOST], good[MOST], count;
	void (*act)(struct attempt *a);
	/* for act() */
	uint32_t opcode, rank;
	struct queue queue;
	struct t3_link *link;
	uint32_t (*receive)(struct t3_link *link, const struct t3_packet *packet,
			    const uint8_t *payload);
};

static void once(struct attempt *a)
{
	const char *broken;

	a->act(a);
	broken = t3_fabric_check(a->host->fabric);
	if (broken)
		fail_msg("opcode %u: %s", a->opcode, broken);
	blobs_save_again(&a->after, a->host);
	assert_null(blobs_load(&a->base, a->host, 0));
}

/* Next to the number and to its parts of a byte, the ends, and the first number beyond each table. */
static void try(struct attempt *a, const void *data, size_t size)
{
	static const uint32_t other[] = {
		0, ~0u, T3_SEG_SLOTS, T3_MAX_RANKS, T3_SPACE_SEGMENTS, T3_MAX_CLIENTS, T3_MAX_SPACES
	};
	const uint32_t near = 8, ways = near + sizeof(other) / sizeof(other[0]);
	uint32_t at, how;

	assert_true(size % 4 == 0 && size <= sizeof(a->good));
	memcpy(a->good, data, size);
	memcpy(a->word, data, size);
	a->count = (uint32_t)size / 4;
	once(a);
	for (at = 0; at < a->count; at++)
		for (how = 0; how < ways; how++) {
			uint32_t part = 1u << how / 2 % 4 * 8;

			memcpy(a->word, a->good, size);
			if (how < near)
				a->word[at] += how % 2 ? part : 0u - part;
			else
				a->word[at] = other[how - near];
			if (a->word[at] != a->good[at])
				once(a);
		}
}

static void begin(struct attempt *a, struct host *host)
{
	memset(a, 0, sizeof(*a));
	a->host = host;
	blobs_save(&a->base, host);
	blobs_save(&a->after, host);
	trail_begin();
}

static void finish(struct attempt *a)
{
	blobs_free(&a->base);
	blobs_free(&a->after);
	host_free(a->host);
}

/* ------------------------------------------------------------------ commands */

static void command(struct attempt *a)
{
	TRAIL(host_command(&a->host->dev[a->rank], a->opcode, a->word, a->count * 4));
}

#define COMMAND(a, name, type, ...)                          \
	do {                                                 \
		struct t3_cmd_##type cmd_ = { __VA_ARGS__ }; \
		(a)->act = command;                          \
		(a)->opcode = T3_CMD_##name;                 \
		try(a, &cmd_, (sizeof(cmd_) + 7) / 8 * 8);   \
	} while (0)

/* Two ranks: packets of an armed space on their way, an idle space with a segment of each kind. */
static struct host *plain(void)
{
	struct host_config config = { T3_TOPOLOGY_FULL, 2, 64, 4, T3_KEYS_FABRIC };
	struct host *host = host_new(&config);
	struct host_dev *d = &host->dev[0];
	struct t3_cmd_seg_map half = host_segment(IDLE, 3, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_F16);
	struct t3_cmd_seg_map send = host_segment(SPACE, 1, T3_SEG_DMA, T3_OP_ADD, T3_DTYPE_I32);
	uint32_t r;

	host_replace(host, 0, true);
	for (r = 0; r < 2; r++) {
		host_space(&host->dev[r], SPACE);
		host_space(&host->dev[r], IDLE);
		host_local(&host->dev[r], SPACE, 0);
	}
	for (r = 0; r < 2; r++)
		host_connect(&host->dev[r], &host->dev[1 - r], SPACE);
	host_map(d, &send);
	host_stage(d, SPACE, 0, 2);
	host_connect(&host->dev[1], d, IDLE);
	host_route(d, IDLE, 1, &host->dev[1], IDLE, 1);
	host_local(d, IDLE, 0);
	host_map(d, &half);
	queue_new(d, QUEUE, 2);
	for (r = 0; r < 2; r++)
		host_arm(&host->dev[r], SPACE, 1);
	host_drain(host);
	t3_fabric_set_inline_budget(host->fabric, 0);
	host_fill(d, SPACE, 1, 1);
	host_store(d, SPACE, 0, 1, 4);
	return host;
}

static void spaces_and_segments(struct attempt *a)
{
	struct t3_cmd_space_create space = host_space_args(FREE);
	struct t3_cmd_seg_map map;
	uint32_t kind;

	COMMAND(a, SPACE_CREATE, space_create, .space = FREE,
		.aperture_offset = space.aperture_offset, .size = space.size,
		.buffer = space.buffer, .counters = space.counters,
		.counter_count = space.counter_count, .client = 3, .event_area = space.event_area);
	COMMAND(a, SPACE_QUERY, space, .space = SPACE);
	COMMAND(a, SPACE_RESET, space, .space = SPACE);
	COMMAND(a, SPACE_DISABLE, space, .space = SPACE);
	for (kind = T3_SEG_LOCAL; kind <= T3_SEG_DMA; kind++) {
		map = host_segment(IDLE, 1, kind, T3_OP_ADD, T3_DTYPE_I32);
		map.routes = kind == T3_SEG_LOCAL ? 0 : 1u << 1;
		a->act = command;
		a->opcode = T3_CMD_SEG_MAP;
		try(a, &map, sizeof(map));
	}
	COMMAND(a, SEG_UNMAP, index, .space = IDLE, .index = 3);
	COMMAND(a, SEG_STAGING, seg_staging, .space = IDLE, .segment = 3,
		.address = HOST_STAGING_BASE(IDLE), .slot_stride = 0x40, .slots = 3);
	COMMAND(a, SEG_WIDEN, seg_widen, .space = IDLE, .segment = 3,
		.address = HOST_STAGING_BASE(IDLE) + 0x1000, .widen = 1);
	COMMAND(a, SEG_STATS, seg_stats, .space = SPACE, .segment = 1);
	COMMAND(a, TILE_QUERY, tile_query, .space = SPACE, .segment = 0, .tile = 1, .tiles = 2);
}

static void routes_and_queues(struct attempt *a)
{
	uint32_t generation = host_query(&a->host->dev[1], IDLE).generation;

	COMMAND(a, ROUTE_SET, route_set, .space = IDLE, .route = 3, .peer_rank = 1,
		.peer_space = IDLE, .peer_generation = generation, .peer_import = 2);
	COMMAND(a, ROUTE_CLEAR, index, .space = IDLE, .index = 1);
	COMMAND(a, ROUTE_CLAIM, route_claim, .to = { IDLE, 3, 1, IDLE, generation, 2 },
		.key = { 1, 2, 3, 4 });
	COMMAND(a, ROUTE_QUERY, route_query, .space = IDLE, .route = 1);
	COMMAND(a, IMPORT_SET, import_set, .space = IDLE, .import = 2, .src_rank = 1,
		.src_space = IDLE, .src_generation = generation, .op_mask = 1, .segment_mask = 9);
	COMMAND(a, IMPORT_CLEAR, index, .space = IDLE, .index = 0);
	COMMAND(a, KEY_SET, key_set, .space = IDLE, .import = 2, .rank_mask = 2, .op_mask = 1,
		.segment_mask = 9, .key = { 1, 2, 3, 4 });
	COMMAND(a, QUEUE_CREATE, queue_create, .queue = 2, .priority = 1, .ring = HOST_DATA + 0x800,
		.completions = HOST_DATA + 0x1000, .entries = 16, .client = 1);
	COMMAND(a, QUEUE_DESTROY, queue, .queue = QUEUE);
	COMMAND(a, QUEUE_ABORT, queue, .queue = QUEUE);
	COMMAND(a, QUEUE_QUERY, queue, .queue = QUEUE);
	COMMAND(a, FENCE_SET, fence_set, .fence = 3, .value = 9);
	COMMAND(a, LINK_QUERY, link_query, .peer_rank = 1);
}

TEST("a command with any number changed has the answer of before")
{
	struct attempt a;
	uint32_t kind;

	begin(&a, plain());
	spaces_and_segments(&a);
	routes_and_queues(&a);
	for (kind = 0; kind < T3_INJECT_KIND_COUNT; kind++)
		COMMAND(&a, INJECT, inject, .kind = kind, .rank = 0, .peer = 1, .nth = 3,
			.count = 2, .address = kind == T3_INJECT_POISON ? 0x4000 : 0,
			.value = kind == T3_INJECT_POISON ? T3_POISON_GRANULE : 1);
	finish(&a);
	trail_expect(0x12ab47df914740f7);
}

/* ---------------------------------------------------------------- descriptors */

static void descriptor(struct attempt *a)
{
	struct queue q = a->queue;
	struct t3_descriptor d;

	memcpy(&d, a->word, sizeof(d));
	queue_submit(&q, &d);
	t3_fabric_run(a->host->fabric, EVENTS);
}

/* The arguments of a run; its descriptor is good. */
static void arguments(struct attempt *a)
{
	struct queue q = a->queue;
	struct run run = run_mirrored();

	memcpy(&run.args, a->word, 4 * a->count);
	run_submit(&q, &run);
	t3_fabric_run(a->host->fabric, EVENTS);
}

static void parameters(struct attempt *a)
{
	struct queue q = a->queue;
	struct gemm x = gemm_new(T3_DTYPE_F32, 5, 9, 8);

	memcpy(&x.g, a->word, sizeof(x.g));
	gemm_submit(&q, &x);
	t3_fabric_run(a->host->fabric, EVENTS);
}

TEST("a descriptor with any number changed has the status of before")
{
	struct gemm gemm = gemm_new(T3_DTYPE_F32, 5, 9, 8);
	struct t3_descriptor d[8];
	struct run run = run_mirrored();
	struct attempt a;
	uint32_t i;

	begin(&a, plain());
	a.queue = queue_new(&a.host->dev[0], 2, 1);
	blobs_save_again(&a.base, a.host);
	d[0] = queue_nop();
	d[1] = queue_wait(2, 0);
	d[2] = queue_signal(2, 5);
	d[3] = queue_copy(0x200000, 0x300000, 64);
	d[4] = queue_fill(0x200000, 7, 64);
	d[5] = queue_update(0x200000, 0x300000, 64, T3_OP_ADD, T3_DTYPE_I32);
	d[6] = queue_copy(16, 0x300000, 48); /* to a space, whose first row has a store */
	d[6].dst_kind = T3_LOC_SPACE;
	d[6].space = SPACE;
	d[6].generation = host_query(&a.host->dev[0], SPACE).generation;
	d[7] = queue_copy(HOST_DATA + QUEUE_BUS, 0x300000, 32); /* two rows to the host */
	d[7].dst_kind = T3_LOC_HOST;
	d[7].rows = 2;
	d[7].src_pitch = d[7].dst_pitch = 48;
	a.act = descriptor;
	for (i = 0; i < 8; i++)
		try(&a, &d[i], sizeof(d[i]));
	a.act = parameters;
	try(&a, &gemm.g, sizeof(gemm.g));
	a.act = arguments;
	try(&a, &run.args, offsetof(struct t3_timed_args, params));
	finish(&a);
	trail_expect(0x424090c8ed470f49);
}

/* -------------------------------------------------------------------- packets */

static void receive(struct attempt *a)
{
	static const uint8_t payload[T3_LINK_BURST * T3_PACKET_PAYLOAD] = { 1, 2, 3, 4 };
	struct t3_packet packet;

	memcpy(&packet, a->word, sizeof(packet));
	TRAIL(a->receive(a->link, &packet, payload));
}

/* One of each type. What is not in `like` is 0. */
static void try_packets(struct attempt *a, struct t3_packet like)
{
	uint32_t type;

	a->act = receive;
	for (type = T3_PKT_UPDATE; type <= T3_PKT_DONE; type++) {
		struct t3_packet packet = like;

		packet.type = (uint8_t)type;
		packet.length = type == T3_PKT_UPDATE ? 8 : 0;
		packet.arg = type == T3_PKT_STATE ? T3_SPACE_ARMING : 0;
		if (type == T3_PKT_CLAIM) {
			packet.epoch = 1;
			packet.row = 2;
			packet.col = 3;
			packet.arg = 4;
		}
		try(a, &packet, sizeof(packet));
	}
}

TEST("a packet for a space with any number changed has the answer of before")
{
	struct attempt a;
	struct host *host = plain();
	struct t3_cmd_key_set key = { .space = IDLE,
				      .import = 2,
				      .rank_mask = 2,
				      .op_mask = 2,
				      .segment_mask = 1,
				      .key = { 1, 2, 3, 4 } };
	struct t3_packet like = { .op = T3_OP_ADD, .dtype = T3_DTYPE_I32, .src_rank = 1 };

	assert_int_equal(host_command(&host->dev[0], T3_CMD_KEY_SET, &key, sizeof(key)),
			 T3_ADMIN_OK);
	begin(&a, host);
	a.link = host->fabric->link[1][0];
	a.receive = a.link->ops->receive;
	like.src_space = like.dst_space = SPACE;
	like.src_generation = host_query(&host->dev[1], SPACE).generation;
	like.dst_generation = host_query(&host->dev[0], SPACE).generation;
	like.epoch = 1;
	try_packets(&a, like);
	like.dst_space = like.src_space = IDLE;
	like.dst_generation = host_query(&host->dev[0], IDLE).generation;
	like.import = 2;
	try_packets(&a, like);
	finish(&a);
	trail_expect(0xb0e8bff329e9d9b8);
}

/* --------------------------------------------------------------------- switch */

/* Sums of three ranks, of which two have sent, and copies of rank 1, who sent nothing. */
static struct host *switched(struct group *sums, struct group *copies)
{
	struct host *host = host_switch(3, HOST_ENTRIES, NULL, NULL);
	static const uint8_t data[2 * 64] = { 5 };
	uint32_t i;

	*sums = group_reduce(host, 0, 2, 64, T3_DTYPE_I32, T3_OP_ADD);
	group_target(sums, 1);
	*copies = group_multicast(host, 1, 2, 64);
	for (i = 0; i < 3; i++)
		group_source(sums, i, T3_SEG_DMA, 1);
	group_arm(sums, 1);
	group_arm_copies(copies, 1);
	group_send(sums, 0, data);
	group_send(sums, 1, data);
	host_drain(host);
	t3_fabric_set_inline_budget(host->fabric, 0);
	host_space(&host->dev[0], IDLE + 8);
	return host;
}

TEST("a command of a group with any number changed has the answer of before")
{
	struct group sums, copies, open;
	struct host *host = switched(&sums, &copies);
	struct host_dev *d = &host->dev[0];
	uint32_t generation, own = IDLE + 8, kind;
	struct attempt a;

	generation = host_query(&host->dev[1], GROUP_SOURCE).generation;
	begin(&a, host);
	for (kind = T3_GROUP_REDUCE; kind <= T3_GROUP_MULTICAST; kind++) {
		COMMAND(&a, GROUP_CREATE, group_create, .space = own, .kind = kind,
			.import = kind == T3_GROUP_REDUCE, .members = 2);
		assert_int_equal(group_create(d, own, kind, 0, 2, &open), T3_ADMIN_OK);
		blobs_save_again(&a.base, host);
		COMMAND(&a, GROUP_MEMBER, group_member, .space = own, .group = open.id,
			.generation = open.generation, .member = 1, .peer_rank = 1,
			.peer_space = GROUP_SOURCE, .peer_generation = generation);
		COMMAND(&a, GROUP_MEMBER, group_member, .space = own, .group = open.id,
			.generation = open.generation, .member = 1, .rank_mask = 6,
			.key = { 1, 0, 0, 0 });
	}
	COMMAND(&a, GROUP_CREATE, group_create, .space = own, .kind = T3_GROUP_REDUCE, .import = 1,
		.members = 2, .flags = T3_GROUP_ORDERED, .places = 3);
	COMMAND(&a, GROUP_QUERY, group_query, .space = GROUP_TARGET, .group = sums.id,
		.generation = sums.generation);
	COMMAND(&a, GROUP_DESTROY, group, .space = GROUP_TARGET, .group = sums.id,
		.generation = sums.generation);
	COMMAND(&a, SWITCH_QUERY, switch_query, .mbz = 0);
	finish(&a);
	trail_expect(0xc6b2190c8882cd45);
}

/* As if the port's device sent it, from this space of its own. */
static void try_from(struct attempt *a, uint32_t port, uint32_t space, uint32_t import,
		     const struct group *group)
{
	struct t3_packet like = { .op = T3_OP_ADD,
				  .dtype = T3_DTYPE_I32,
				  .dst_rank = T3_SWITCH_RANK,
				  .segment = GROUP_SEGMENT,
				  .epoch = 1 };

	a->link = a->host->fabric->sw->port[port].up;
	like.src_rank = port;
	like.src_space = space;
	like.src_generation = host_query(&a->host->dev[port], space).generation;
	like.import = import;
	like.dst_space = group->id;
	like.dst_generation = group->generation;
	try_packets(a, like);
}

TEST("a packet for a group with any number changed has the answer of before")
{
	struct group sums, copies;
	struct host *host = switched(&sums, &copies);
	struct attempt a;

	begin(&a, host);
	a.receive = t3_switch_receive;
	try_from(&a, 2, GROUP_SOURCE, 2, &sums); /* the source that has not sent */
	try_from(&a, 0, GROUP_TARGET, GROUP_IMPORT, &sums);
	try_from(&a, 1, GROUP_ROOT, 0, &copies);
	try_from(&a, 2, GROUP_HEARER, GROUP_IMPORT, &copies);
	finish(&a);
	trail_expect(0xf8167d09ceb932f8);
}
