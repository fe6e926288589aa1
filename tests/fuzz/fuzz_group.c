/* SPDX-License-Identifier: MIT */
/*
 * A switch with small tables. Commands of groups, packets that come to the switch and from it, stores,
 * arming, faults of links, resets and moves follow in any order; of commands and packets the input
 * changes fields. Each rank may be hostile: it makes, joins, fills and ends groups. In the end groups
 * and a ring must work (common/sums.c).
 */
#include "migrate.h"
#include "ops.h"
#include "sums.h"
#include "switch/switch.h"
#include "world.h"

#define STEPS_MAX 192u
#define MOVES_MAX 4u /* each takes as long as many others */
#define OWNER	  1u

struct run {
	struct stream *in;
	struct host *host;
	struct t3_switch *sw;
	struct host_dev *d;
	uint32_t rank, id; /* of a group, which the step is about */
	uint32_t moves;
	bool changed; /* a state that was taken */
};

/* One of the groups that all have been in, or one of the rank's own. */
static void choose_group(struct run *run, uint32_t what)
{
	static const uint32_t common[] = { OWNER * T3_PORT_GROUPS, 0 };

	run->id = what & 2 ? run->rank * T3_PORT_GROUPS + (what & 1) : common[what & 1];
}

static bool is_reduce(const struct run *run)
{
	return run->sw->group[run->id].kind != T3_GROUP_MULTICAST;
}

/* -------------------------------------------------------------------- packets */

/* From the rank's space, as a member of the group or its own space. */
static struct t3_packet expected(const struct run *run, uint32_t type)
{
	uint32_t source = is_reduce(run) ? GROUP_SOURCE : GROUP_ROOT;
	uint32_t target = is_reduce(run) ? GROUP_TARGET : GROUP_HEARER;
	uint32_t space = type == T3_PKT_STATE ? target : source;

	return (struct t3_packet){
		.type = (uint8_t)type,
		.op = T3_OP_ADD,
		.dtype = T3_DTYPE_I32,
		.src_rank = (uint16_t)run->rank,
		.dst_rank = T3_SWITCH_RANK,
		.src_space = space,
		.src_generation = host_query(run->d, space).generation,
		.dst_space = run->id,
		.dst_generation = run->sw->generation[run->id],
		.epoch = run->sw->group[run->id].epoch,
		.import = type == T3_PKT_STATE ? GROUP_IMPORT
			  : is_reduce(run)     ? (uint16_t)run->rank
					       : 0,
	};
}

static void deliver(struct run *run, struct t3_link *link, struct t3_packet *packet)
{
	uint8_t payload[T3_PACKET_PAYLOAD];
	uint32_t status;

	stream_patch(run->in, packet, sizeof(*packet));
	memset(payload, stream_u8(run->in), sizeof(payload));
	status = link->ops->receive(link, packet, payload);
	assert_true(status <= T3_NAK_KEY_LIMIT ||
		    (status == T3_STATUS_BUSY && link->dst == T3_SWITCH_RANK));
}

static void place(struct t3_packet *packet, uint32_t what)
{
	packet->segment = GROUP_SEGMENT;
	packet->row = what & 3;
	packet->col = 8 * (what >> 2 & 7);
	packet->length = what & 0x80 ? SUMS_ROW_BYTES : 8u << (what >> 5 & 3);
}

/* Some at once, so that tables and links get full. */
static void update(struct run *run)
{
	uint32_t what = stream_u8(run->in), count = 1 + (stream_u8(run->in) & 0x1f);
	struct t3_packet packet;

	choose_group(run, what & 3);
	packet = expected(run, T3_PKT_UPDATE);
	place(&packet, stream_u8(run->in));
	while (count--) {
		deliver(run, run->sw->port[run->rank].up, &packet);
		packet.row++;
	}
}

static void control(struct run *run)
{
	static const uint8_t types[] = { T3_PKT_ARM_QUERY, T3_PKT_STATE, T3_PKT_POISON,
					 T3_PKT_DONE };
	uint32_t what = stream_u8(run->in);
	struct t3_packet packet;

	choose_group(run, what & 3);
	packet = expected(run, types[what >> 2 & 3]);
	packet.op = packet.dtype = 0;
	packet.arg = packet.type == T3_PKT_STATE ? what >> 4 & 7 : 0;
	packet.epoch += what >> 7;
	deliver(run, run->sw->port[run->rank].up, &packet);
}

static void claim(struct run *run)
{
	struct t3_packet packet;

	choose_group(run, stream_u8(run->in) & 3);
	packet = expected(run, T3_PKT_CLAIM);
	packet.import = stream_u8(run->in) & 7;
	packet.epoch = packet.row = packet.col = packet.arg = 1; /* the key */
	deliver(run, run->sw->port[run->rank].up, &packet);
}

/* From the switch to the rank. */
static void down(struct run *run)
{
	static const uint8_t types[] = { T3_PKT_UPDATE, T3_PKT_ARM_QUERY, T3_PKT_STATE,
					 T3_PKT_POISON };
	uint32_t what = stream_u8(run->in), space;
	struct t3_packet packet;

	choose_group(run, what & 3);
	packet = expected(run, types[what >> 2 & 3]);
	space = packet.type == T3_PKT_STATE ? (is_reduce(run) ? GROUP_SOURCE : GROUP_ROOT)
					    : (is_reduce(run) ? GROUP_TARGET : GROUP_HEARER);
	packet.dst_space = space;
	packet.dst_generation = host_query(run->d, space).generation;
	packet.src_rank = T3_SWITCH_RANK;
	packet.dst_rank = (uint16_t)run->rank;
	packet.src_space = run->id;
	packet.src_generation = run->sw->generation[run->id];
	packet.import = packet.type == T3_PKT_STATE ? (uint16_t)run->rank : GROUP_IMPORT;
	if (packet.type == T3_PKT_UPDATE)
		place(&packet, what >> 4);
	else
		packet.arg = what >> 4 & 7;
	deliver(run, run->sw->port[run->rank].down, &packet);
}

/* -------------------------------------------------------------------- commands */

static void command(struct run *run, uint32_t opcode, void *args, size_t bytes)
{
	stream_patch(run->in, args, bytes);
	host_command(run->d, opcode, args, bytes);
}

static void create(struct run *run)
{
	uint32_t what = stream_u8(run->in);
	struct t3_cmd_group_create args = { .kind = T3_GROUP_REDUCE,
					    .import = GROUP_IMPORT,
					    .space = GROUP_TARGET,
					    .members = 1 + (what >> 2 & 3),
					    .flags = what >> 1 & 1 ? T3_GROUP_ORDERED : 0,
					    .places = what >> 1 & 1 ? 1 + (what >> 4) : 0 };

	if (what & 1) {
		args.kind = T3_GROUP_MULTICAST;
		args.space = GROUP_ROOT;
		args.import = args.flags = args.places = 0;
	}
	command(run, T3_CMD_GROUP_CREATE, &args, sizeof(args));
}

static void member(struct run *run)
{
	uint32_t what = stream_u8(run->in), peer = (what >> 5) % run->host->ranks;
	struct t3_cmd_group_member args = { .member = what >> 2 & 3 };

	choose_group(run, 2 | (what & 1));
	args.space = is_reduce(run) ? GROUP_TARGET : GROUP_ROOT;
	args.group = run->id;
	args.generation = run->sw->generation[run->id];
	if (what & 16) {
		args.rank_mask = 1u << peer;
		args.key[0] = args.key[1] = args.key[2] = args.key[3] = 1;
	} else {
		args.peer_rank = peer;
		args.peer_space = is_reduce(run) ? GROUP_SOURCE : GROUP_HEARER;
		args.peer_generation =
			host_query(&run->host->dev[peer], args.peer_space).generation;
		args.peer_import = is_reduce(run) ? 0 : GROUP_IMPORT;
	}
	command(run, T3_CMD_GROUP_MEMBER, &args, sizeof(args));
}

static void destroy(struct run *run)
{
	struct t3_cmd_group args = { 0 };

	choose_group(run, stream_u8(run->in) & 3);
	args.space = is_reduce(run) ? GROUP_TARGET : GROUP_ROOT;
	args.group = run->id;
	args.generation = run->sw->generation[run->id];
	command(run, T3_CMD_GROUP_DESTROY, &args, sizeof(args));
}

static void query(struct run *run)
{
	struct t3_cmd_group_query args = { .space = 1 + stream_u8(run->in) % 4 };
	struct t3_cmd_switch_query port = { 0 };

	choose_group(run, stream_u8(run->in) & 3);
	args.group = run->id;
	args.generation = run->sw->generation[run->id];
	command(run, T3_CMD_GROUP_QUERY, &args, sizeof(args));
	host_command(run->d, T3_CMD_SWITCH_QUERY, &port, sizeof(port));
}

/* The entry of before is cleared, or there is another one. */
static void import(struct run *run)
{
	uint32_t what = stream_u8(run->in);
	struct t3_cmd_import_set args = { .import = GROUP_IMPORT + (what >> 3 & 1),
					  .src_rank = T3_SWITCH_RANK,
					  .op_mask = 15,
					  .segment_mask = 1u << GROUP_SEGMENT };

	choose_group(run, what & 3);
	args.space = is_reduce(run) ? GROUP_TARGET : GROUP_HEARER;
	args.src_space = run->id;
	args.src_generation = run->sw->generation[run->id];
	if (what & 4)
		host_index_command(run->d, T3_CMD_IMPORT_CLEAR, args.space, args.import);
	command(run, T3_CMD_IMPORT_SET, &args, sizeof(args));
}

static void route(struct run *run)
{
	uint32_t what = stream_u8(run->in);
	struct t3_cmd_route_claim args = { .to = { .route = GROUP_ROUTE + (what >> 3 & 1),
						   .peer_rank = T3_SWITCH_RANK,
						   .peer_import = what >> 5 },
					   .key = { 1, 1, 1, 1 } };

	choose_group(run, what & 3);
	args.to.space = is_reduce(run) ? GROUP_SOURCE : GROUP_ROOT;
	args.to.peer_space = run->id;
	args.to.peer_generation = run->sw->generation[run->id];
	if (what & 4)
		host_index_command(run->d, T3_CMD_ROUTE_CLEAR, args.to.space, args.to.route);
	if (what & 16)
		command(run, T3_CMD_ROUTE_CLAIM, &args, sizeof(args));
	else
		command(run, T3_CMD_ROUTE_SET, &args.to, sizeof(args.to));
}

/* A segment that sends to a group, which may be the last one of an all-reduce. */
static void map(struct run *run)
{
	static const uint32_t kinds[] = { T3_SEG_DMA, T3_SEG_REMOTE, T3_SEG_LOCAL };
	uint32_t what = stream_u8(run->in);
	struct t3_cmd_seg_map args =
		host_segment(1 + (what & 3), what & 4 ? GROUP_SEGMENT : 0,
			     kinds[(what >> 3 & 3) % 3], T3_OP_ADD, T3_DTYPE_I32);

	args.offset = args.counter_base = 0;
	args.rows = SUMS_ROWS;
	args.row_bytes = args.pitch = SUMS_ROW_BYTES;
	args.tile_row_bytes = what & 0x20 ? 16 : SUMS_ROW_BYTES;
	args.tile_rows = 1;
	args.updates = 1 + (what >> 6);
	args.routes = args.kind == T3_SEG_LOCAL ? 0 : 1u << GROUP_ROUTE;
	args.target_segment = GROUP_SEGMENT;
	command(run, T3_CMD_SEG_MAP, &args, sizeof(args));
}

/* A space ends, or is there again. */
static void space(struct run *run)
{
	static const uint32_t opcodes[] = { T3_CMD_SPACE_RESET, T3_CMD_SPACE_DISABLE,
					    T3_CMD_SPACE_DESTROY };
	uint32_t what = stream_u8(run->in), id = 1 + (what >> 2 & 3);
	struct t3_cmd_space_create args = host_space_args(id);

	if ((what & 3) == 3)
		command(run, T3_CMD_SPACE_CREATE, &args, sizeof(args));
	else
		host_space_command(run->d, opcodes[what & 3], id);
}

/* ------------------------------------------------------------------------ life */

static uint32_t sender(uint32_t what)
{
	return what & 1 ? GROUP_ROOT : GROUP_SOURCE;
}

static void store(struct run *run)
{
	uint32_t what = stream_u8(run->in);
	uint32_t at = stream_u8(run->in) % (SUMS_ROWS * SUMS_ROW_BYTES / 8) * 8;

	host_store(run->d, sender(what), at, stream_u32(run->in), what & 2 ? 4 : 8);
}

static void row(struct run *run)
{
	uint32_t what = stream_u8(run->in), at = (what >> 1) % SUMS_ROWS * SUMS_ROW_BYTES, i;

	for (i = 0; i < SUMS_ROW_BYTES; i += 8)
		host_store(run->d, sender(what), at + i, i, 8);
}

/* RELEASE and ARM of some of the rank's spaces, by a mask. */
static void arm(struct run *run)
{
	uint32_t what = stream_u8(run->in), id;

	for (id = GROUP_TARGET; id <= GROUP_HEARER; id++) {
		uint32_t epoch = host_query(run->d, id).epoch;

		if (!(what >> (id - 1) & 1))
			continue;
		if (host_state(run->d, id) == T3_SPACE_COMPLETE)
			host_release(run->d, id, epoch);
		host_arm(run->d, id, epoch + 1 + (what >> 6));
	}
}

static void events(struct run *run)
{
	uint32_t what = stream_u8(run->in);

	t3_fabric_set_inline_budget(run->host->fabric, what & 0x80 ? T3_INLINE_BUDGET : 0);
	t3_fabric_run(run->host->fabric, what & 0x7f);
}

static void reset(struct run *run)
{
	uint32_t what = stream_u8(run->in);
	struct t3_cmd_inject inject = { .kind = T3_INJECT_PORT_RESET,
					.rank = what & 2 ? T3_SWITCH_RANK : run->rank };

	if (what & 1)
		t3_dev_reset(run->d->dev);
	else if (what & 4)
		host_replace(run->host, run->rank, run->d->guest_inject);
	else
		t3_fabric_inject(run->host->fabric, &inject);
}

/* At a link of the switch, by the host, or by the guest that may. */
static void fault(struct run *run)
{
	uint32_t what = stream_u8(run->in);
	struct t3_cmd_inject inject = { .kind = 1 + (what & 15) % T3_INJECT_LINK_RANDOM,
					.nth = 1 + (what >> 4 & 1),
					.count = 1 + (what >> 5 & 1) };

	if (inject.kind == T3_INJECT_LINK_DOWN || inject.kind == T3_INJECT_LINK_UP)
		inject.nth = inject.count = 0;
	if (inject.kind == T3_INJECT_LINK_RANDOM)
		inject.nth = 4000, inject.count = 0;
	if (inject.kind == T3_INJECT_DELAY || inject.kind == T3_INJECT_LINK_RANDOM)
		inject.value = 2000;
	inject.rank = what & 64 ? T3_SWITCH_RANK : run->rank;
	inject.peer = what & 64 ? run->rank : T3_SWITCH_RANK;
	stream_patch(run->in, &inject, sizeof(inject));
	if (what & 128)
		host_command(run->d, T3_CMD_INJECT, &inject, sizeof(inject));
	else
		t3_fabric_inject(run->host->fabric, &inject);
}

/* The state is saved and loaded, as it is or changed in some places. One that is refused leaves none. */
static void move(struct run *run)
{
	static struct blobs blobs, again;
	uint32_t what = stream_u8(run->in), changes = what >> 1 & 3;
	struct blob *part = &blobs.part[run->host->ranks];
	const char *refused;

	if (run->moves++ >= MOVES_MAX)
		return;
	world_check(run->host);
	blobs_save_again(&blobs, run->host);
	while (changes--)
		part->data[stream_u16(run->in) % part->len] ^= stream_u8(run->in);
	refused = blobs_load(&blobs, run->host, what);
	if (refused && !(what >> 1 & 3))
		fail_msg("a good state is refused: %s", refused);
	if (refused) {
		t3_fabric_clear(run->host->fabric);
		return;
	}
	blobs_save_again(&again, run->host);
	if (!(what >> 1 & 3))
		blobs_expect_equal(&blobs, &again);
	run->changed |= what >> 1 & 3;
	world_check(run->host);
}

static void (*const operations[OP_GROUP_COUNT])(struct run *) = {
	[OP_GRP_UPDATE] = update,   [OP_GRP_CONTROL] = control, [OP_GRP_CLAIM] = claim,
	[OP_GRP_DOWN] = down,	    [OP_GRP_CREATE] = create,	[OP_GRP_MEMBER] = member,
	[OP_GRP_DESTROY] = destroy, [OP_GRP_QUERY] = query,	[OP_GRP_IMPORT] = import,
	[OP_GRP_ROUTE] = route,	    [OP_GRP_MAP] = map,		[OP_GRP_SPACE] = space,
	[OP_GRP_STORE] = store,	    [OP_GRP_ROW] = row,		[OP_GRP_ARM] = arm,
	[OP_GRP_EVENTS] = events,   [OP_GRP_RESET] = reset,	[OP_GRP_FAULT] = fault,
	[OP_GRP_MOVE] = move,
};

/* A REDUCE group of OWNER, a MULTICAST group of rank 0, and the spaces that ranks lack for their own. */
static void build(struct host *host, uint32_t what)
{
	bool ordered = what & 1 && sums_may_order(host);
	struct group group =
		ordered ? sums_ordered(host, OWNER) : sums_reduce(host, OWNER, 1 + (what >> 2 & 1));
	uint32_t i;

	assert_int_equal(group.id, OWNER * T3_PORT_GROUPS);
	sums_multicast(host, 0);
	for (i = 0; i < host->ranks; i++) {
		host_space(&host->dev[i], i == OWNER ? GROUP_ROOT : GROUP_TARGET);
		if (i != OWNER)
			host_space(&host->dev[i], i ? GROUP_ROOT : GROUP_HEARER);
	}
	if (!(what & 2))
		return;
	group_arm(&group, 1);
	for (i = 0; i < host->ranks; i++)
		host_arm(&host->dev[i], i ? GROUP_HEARER : GROUP_ROOT, 1);
}

static void one(struct stream *in, struct host *host)
{
	struct t3_cmd_inject whole = { .kind = T3_INJECT_PORT_RESET, .rank = T3_SWITCH_RANK };
	struct run run = { .in = in, .host = host, .sw = host->fabric->sw };
	uint32_t steps;

	build(host, stream_u8(in));
	for (steps = 0; steps < STEPS_MAX && stream_more(in); steps++) {
		uint32_t op = stream_u8(in);

		run.rank = (op >> 5) % host->ranks;
		run.d = &host->dev[run.rank];
		operations[(op & 31) % OP_GROUP_COUNT](&run);
		t3_fabric_run(host->fabric, host->fabric->inline_budget);
	}
	/* A link from the switch may be busy for years then, and no device's reset ends that. */
	if (run.changed)
		t3_fabric_inject(host->fabric, &whole);
}

const struct fuzz_target fuzz_target = { .one = one, .has_switch = true };
