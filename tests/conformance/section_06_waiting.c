// SPDX-License-Identifier: MIT
/*
 * SPEC.md 5, 6.2 and 9: tiles and messages that wait for a link leave its lists from the front, the
 * middle and the end. Also records that software has changed, and writes that fail meanwhile.
 */
#include "conf.h"
#include "inject.h"
#include "pair.h"

CONF_SECTION("6.1", "what waits for a link");

#define SPACES 4u

/* Space i of device 0 has DMA segments 0 and 1 to those of space i of device 1. All are armed. */
struct scene {
	struct conf_space source[SPACES], target[SPACES];
};

static void setup(struct conf *c, struct scene *scene)
{
	struct t3_cmd_seg_map map;

	for (uint32_t i = 0; i < SPACES; i++) {
		conf_space_create(c, conf_device(c, 0), &scene->source[i], T3_PAGE_SIZE, 16);
		conf_space_create(c, conf_device(c, 1), &scene->target[i], T3_PAGE_SIZE, 16);
		conf_connect(c, &scene->source[i], 0, &scene->target[i], 0);
		for (uint32_t segment = 0; segment < 2; segment++) {
			map = conf_segment(&scene->target[i], segment);
			map.offset = 1024 * segment;
			map.counter_base = 4 * segment;
			map.tile_row_bytes = 16;
			conf_map(c, &scene->target[i], &map);
			map.space = scene->source[i].args.space;
			map.kind = T3_SEG_DMA;
			map.target_op = T3_OP_ADD;
			map.target_segment = segment;
			map.routes = 1;
			conf_map(c, &scene->source[i], &map);
		}
		conf_arm_wait(c, &scene->target[i], 1);
		conf_arm_wait(c, &scene->source[i], 1);
	}
	conf_hold(c);
}

static void fill(struct scene *scene, uint32_t space, uint32_t segment, uint32_t value)
{
	for (uint32_t i = 0; i < 64; i += 4)
		conf_store(&scene->source[space], 1024 * segment + i, 4, value);
}

static void fill_all(struct scene *scene)
{
	for (uint32_t i = 0; i < SPACES; i++) {
		fill(scene, i, 0, 10 + i);
		fill(scene, i, 1, 20 + i);
	}
}

static void check_arrived(struct conf *c, struct scene *scene, uint32_t i)
{
	conf_wait_state(c, &scene->source[i], T3_SPACE_COMPLETE, 1);
	conf_wait_state(c, &scene->target[i], T3_SPACE_COMPLETE, 1);
	CHECK_EQUAL(c, "segment 0", conf_load(&scene->target[i], 60, 4), 10 + i);
	CHECK_EQUAL(c, "segment 1", conf_load(&scene->target[i], 1024, 4), 20 + i);
}

static uint32_t in_flight(struct conf *c, struct conf_space *s)
{
	return conf_space_command(c, s, T3_CMD_SPACE_QUERY).in_flight;
}

static struct t3_cmd_link_query link_to(struct conf *c, struct conf_space *from,
					struct conf_space *to)
{
	struct t3_cmd_link_query args = { .peer_rank = to->dev->rank };

	ADMIN(c, from->dev, T3_CMD_LINK_QUERY, &args);
	return args;
}

/* One space faults with its tiles waiting: the first, one in the middle, the last. */
TEST("a faulted space's tiles leave the list", .rows = SPACES, .devices = 2, .needs = CONF_STEP)
{
	struct scene scene;

	setup(c, &scene);
	fill_all(&scene);
	conf_store(&scene.source[row], 2048, 4, 1);
	conf_let_go(c);
	for (uint32_t i = 0; i < SPACES; i++)
		if (i != row)
			check_arrived(c, &scene, i);
	conf_expect_fault(c, &scene.source[row], T3_FAULT_UNMAPPED, CONF_NO_SEGMENT, CONF_NO_TILE,
			  2048);
	CHECK_EQUAL(c, "remote_bytes", conf_stats(c, &scene.target[row], 0).remote_bytes, 0);
	CHECK_EQUAL(c, "in_flight", in_flight(c, &scene.source[row]), 0);
}

/* Two in turn, so that the list's end moves and is used again. */
TEST("the list's end moves as tiles leave it", .devices = 2, .needs = CONF_STEP)
{
	struct scene scene;

	setup(c, &scene);
	for (uint32_t i = 0; i < 3; i++)
		fill(&scene, i, 0, 10 + i);
	conf_store(&scene.source[2], 2048, 4, 1);
	conf_store(&scene.source[1], 2048, 4, 1);
	fill(&scene, 3, 0, 13); /* behind what is now the last */
	fill(&scene, 3, 1, 23);
	fill(&scene, 0, 1, 20);
	conf_let_go(c);
	check_arrived(c, &scene, 0);
	check_arrived(c, &scene, 3);
}

/* Round robin: no segment waits for all tiles of another. */
TEST("segments take turns at the link", .devices = 2, .needs = CONF_STEP)
{
	struct scene scene;
	bool more;

	setup(c, &scene);
	fill_all(&scene);
	do {
		uint64_t most = 0, least = ~0ull;

		more = conf_step(c, 1);
		for (uint32_t i = 0; i < SPACES; i++) {
			uint64_t bytes = conf_stats(c, &scene.target[i], 0).remote_bytes;

			most = bytes > most ? bytes : most;
			least = bytes < least ? bytes : least;
		}
		CHECK(c, most - least <= 16, "a segment is %llu bytes ahead, more than a tile",
		      (unsigned long long)(most - least));
	} while (more);
}

/* A function reset with control packets queued, in an order that is not that of the spaces. */
TEST("a reset drops queued control packets", .rows = 4, .devices = 2, .needs = CONF_STEP)
{
	static const uint32_t orders[][SPACES] = {
		{ 0, 1, 2, 3 }, { 3, 2, 1, 0 }, { 2, 0, 3, 1 }, { 1, 3, 0, 2 }
	};
	struct t3_fault_record record;
	struct scene scene;

	setup(c, &scene);
	for (uint32_t i = 0; i < SPACES; i++)
		conf_space_command(c, &scene.source[orders[row][i]], T3_CMD_SPACE_DISABLE);
	CHECK_EQUAL(c, "in_flight", in_flight(c, &scene.source[2]), 1);
	conf_reset(scene.source[0].dev);
	for (uint32_t i = 0; i < SPACES; i++)
		CHECK_EQUAL(c, "in_flight", in_flight(c, &scene.source[i]), 0);
	conf_let_go(c);
	for (uint32_t i = 0; i < SPACES; i++) {
		record = conf_wait_fault(c, &scene.target[i], T3_FAULT_PEER_POISON);
		CHECK_EQUAL(c, "src_rank", record.src_rank, scene.source[0].dev->rank);
	}
}

/* RESET, DISABLE, DESTROY and CREATE before the link had time for the old generation's POISON. */
TEST("control packets of an old generation do no harm", .rows = 12, .devices = 2,
     .needs = CONF_STEP)
{
	struct scene scene;

	setup(c, &scene);
	fill_all(&scene);
	conf_step(c, row);
	for (uint32_t i = SPACES; i--;) {
		struct conf_space *s = &scene.source[i];

		CHECK_EQUAL(c, "in_flight after RESET",
			    conf_space_command(c, s, T3_CMD_SPACE_RESET).in_flight, 0);
		conf_space_command(c, s, T3_CMD_SPACE_DISABLE);
		if (conf_state(s) >> 32 == T3_SPACE_DISABLED) {
			conf_let_go(c);
			conf_hold(c);
		}
		CHECK_EQUAL(c, "state", s->events->state, STATE(T3_SPACE_QUIESCED, 0));
		conf_space_command(c, s, T3_CMD_SPACE_DESTROY);
		ADMIN(c, s->dev, T3_CMD_SPACE_CREATE, &s->args);
	}
	conf_let_go(c);
	for (uint32_t i = 0; i < SPACES; i++) {
		conf_wait_state(c, &scene.source[i], T3_SPACE_IDLE, 0);
		CHECK_EQUAL(c, "in_flight", in_flight(c, &scene.source[i]), 0);
		CHECK_EQUAL(c, "faults", scene.source[i].events->faults, 0);
	}
}

/* A route can be set again only when its last message has gone. */
TEST("a route in use by a message cannot be set", .devices = 2, .needs = CONF_STEP)
{
	struct t3_cmd_route_set args = { 0 };
	struct scene scene;

	setup(c, &scene);
	conf_space_command(c, &scene.source[0], T3_CMD_SPACE_RESET);
	args.space = scene.source[0].args.space;
	args.peer_rank = scene.target[0].dev->rank;
	args.peer_space = scene.target[0].args.space;
	args.peer_generation = scene.target[0].args.generation;
	conf_try(c, scene.source[0].dev, T3_CMD_ROUTE_SET, &args, sizeof(args), T3_ADMIN_EXISTS);
	conf_let_go(c);
	conf_wait_fault(c, &scene.target[0], T3_FAULT_PEER_POISON);
	conf_try(c, scene.source[0].dev, T3_CMD_ROUTE_SET, &args, sizeof(args), T3_ADMIN_OK);
}

/* -------------------------------------------------------- records that software changed */

/* A READY flag that the device did not set: the tile is not sent twice, and nothing hangs. */
TEST("a forged READY flag does not send twice", .devices = 2, .needs = CONF_STEP)
{
	struct t3_tile_record record;
	struct scene scene;

	setup(c, &scene);
	conf_store(&scene.source[0], 0, 8, 1); /* half of tile 0 */
	record = conf_record(&scene.source[0], 0);
	conf_write(scene.source[0].dev->memory, scene.source[0].args.counters + 12, 2,
		   record.flags | T3_TILE_READY);
	fill(&scene, 1, 0, 11);
	fill(&scene, 1, 1, 21);
	conf_store(&scene.source[0], 8, 8, 1);
	conf_let_go(c);
	CHECK_EQUAL(c, "dma_bytes", conf_stats(c, &scene.source[0], 0).dma_bytes, 0);
	check_arrived(c, &scene, 1);
	conf_space_command(c, &scene.source[0], T3_CMD_SPACE_RESET);
	conf_wait_state(c, &scene.source[0], T3_SPACE_IDLE, 0);
}

/* Four tiles of a segment wait, in slots 0 and 1 in turns. */
static void waiting_tiles(struct conf *c, struct pair *pair, uint8_t kind)
{
	pair_prepare(c, pair, kind);
	pair->from.tile_row_bytes = pair->to.tile_row_bytes = 16;
	pair_map(c, pair);
	conf_stage(c, &pair->source, 0, 2048, 64, 2);
	pair_arm(c, pair, 1);
	conf_hold(c);
	for (uint32_t tile = 0; tile < 4; tile++)
		conf_tile(&pair->source, 0, tile % 2, tile);
}

TEST("a forged slot faults", .devices = 2, .needs = CONF_STEP)
{
	struct pair pair;

	waiting_tiles(c, &pair, T3_SEG_REMOTE);
	conf_write(pair.source.dev->memory,
		   pair.source.args.counters + 16 + offsetof(struct t3_tile_record, slot), 2, 2);
	conf_let_go(c);
	conf_expect_fault(c, &pair.source, T3_FAULT_COUNTER, 0, 1, CONF_NO_OFFSET);
	CHECK_EQUAL(c, "consumed of slot 0", pair.source.events->consumed[0][0], 1);
	CHECK_EQUAL(c, "consumed of slot 1", pair.source.events->consumed[0][1], 0);
}

/* The second write of `consumed` fails, while the engine is at work. */
TEST("a failing count of a slot faults the space", .devices = 2, .needs = CONF_STEP | CONF_INJECT)
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_fault_record record;
	struct pair pair;

	waiting_tiles(c, &pair, T3_SEG_REMOTE);
	INJECT(c, d, .kind = T3_INJECT_FAIL_DMA, .nth = 2, .count = 1000);
	conf_let_go(c);
	CHECK_EQUAL(c, "state", conf_state(&pair.source) >> 32, T3_SPACE_FAULTED);
	CHECK_EQUAL(c, "FAULTS", conf_counter(d, T3_COUNTER_FAULTS), 1);
	CHECK_EQUAL(c, "ERROR_STATUS", conf_reg(d, T3_REG_ERROR_STATUS), T3_ERROR_HOST_DMA);
	CHECK_EQUAL(c, "in_flight", in_flight(c, &pair.source), 0);
	CHECK_EQUAL(c, "remote_bytes", conf_stats(c, &pair.target, 0).remote_bytes, 32);
	record = conf_wait_fault(c, &pair.target, T3_FAULT_PEER_POISON);
	CHECK_EQUAL(c, "src_rank", record.src_rank, d->rank);
}

/* ------------------------------------------------------------------ what is left behind */

/* Tiles are ready: no packet of theirs follows a fault or DISABLE. */
TEST("sending stops at a fault or DISABLE", .rows = 4, .devices = 2, .needs = CONF_STEP)
{
	bool disable = row & 1;
	struct pair pair;
	uint64_t sent;

	waiting_tiles(c, &pair, row & 2 ? T3_SEG_DMA : T3_SEG_REMOTE);
	CHECK_EQUAL(c, "waiting_segments", link_to(c, &pair.source, &pair.target).waiting_segments,
		    1);
	sent = conf_stats(c, &pair.source, 0).link_bytes;
	if (disable)
		conf_space_command(c, &pair.source, T3_CMD_SPACE_DISABLE);
	else
		conf_store(&pair.source, 1024, 4, 1);
	CHECK_EQUAL(c, "state", conf_state(&pair.source) >> 32,
		    disable ? T3_SPACE_DISABLED : T3_SPACE_FAULTED);
	CHECK_EQUAL(c, "waiting_segments", link_to(c, &pair.source, &pair.target).waiting_segments,
		    0);
	conf_let_go(c);
	CHECK_EQUAL(c, "link_bytes", conf_stats(c, &pair.source, 0).link_bytes, sent);
	CHECK_EQUAL(c, "TRACKER_LIVE", conf_counter(pair.source.dev, T3_COUNTER_TRACKER_LIVE), 0);
}

/*
 * An epoch ends with a tile half counted, as only a forged record makes it. The cached count does not
 * reach into the next epoch.
 */
TEST("an epoch clears counts of the one before")
{
	struct t3_cmd_seg_map map;
	struct conf_space s;

	conf_space_create(c, conf_device(c, 0), &s, T3_PAGE_SIZE, 16);
	map = conf_segment(&s, 0);
	map.tile_row_bytes = 16;
	conf_map(c, &s, &map);
	conf_stage(c, &s, 0, 2048, 64, 1);
	conf_arm_wait(c, &s, 1);
	conf_store(&s, 0, 8, 5); /* half of tile 0 */
	for (uint32_t i = 0; i < 4; i++) {
		conf_tile(&s, 0, 0, 1);
		conf_memory_fill(s.dev, s.args.counters + 16, 16, 0);
	}
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	CHECK_EQUAL(c, "TRACKER_LIVE", conf_counter(s.dev, T3_COUNTER_TRACKER_LIVE), 1);
	conf_release(&s, 1);
	conf_arm_wait(c, &s, 2);
	CHECK_EQUAL(c, "TRACKER_LIVE", conf_counter(s.dev, T3_COUNTER_TRACKER_LIVE), 0);
	conf_store(&s, 0, 8, 7);
	conf_store(&s, 8, 8, 7);
	CHECK_EQUAL(c, "FAULTS", conf_counter(s.dev, T3_COUNTER_FAULTS), 0);
	CHECK_EQUAL(c, "element", conf_load(&s, 0, 8), 7);
	CHECK_EQUAL(c, "tiles_tracked", conf_stats(c, &s, 0).tiles_tracked, 1);
}
