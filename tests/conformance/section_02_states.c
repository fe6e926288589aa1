// SPDX-License-Identifier: MIT
/* SPEC.md 2.1: the result of each command, doorbell and access in each state. */
#include "conf.h"
#include "run.h"

CONF_SECTION("2.1", "states");

enum column { FREE, IDLE, ARMING, ARMED, COMPLETE, FAULTED, DISABLED, QUIESCED, COLUMNS };

/* The expected result: an admin status, or the effect of a doorbell or access. */
enum {
	KEEPS = 0x100, /* the state does not change and no fault is recorded */
	DROPS,	       /* as above, and DROPPED counts it */
	MOVES,	       /* into `next` */
	NOT_ARMED,     /* this fault */
	BAD_ARM,
	BAD_DB,
	READS, /* the buffer */
	ONES,
};
enum {
	OK = T3_ADMIN_OK,
	NONE = T3_ADMIN_BAD_SPACE,
	THERE = T3_ADMIN_EXISTS,
	NO = T3_ADMIN_BAD_STATE,
};

struct scene {
	struct conf *c;
	struct conf_device *d;
	struct conf_space s, peer;
	bool linked; /* route 0 of s leads to peer, import 0 comes from it */
};

struct scene_before {
	uint32_t state, faults;
	uint64_t dropped, area_dropped, memory;
};

struct action {
	const char *name;
	uint32_t (*act)(struct scene *scene);
	bool peer; /* needs one */
	int expected[COLUMNS];
};

/* ------------------------------------------------------------------ actions */

static uint32_t space_command(struct scene *scene, uint32_t opcode)
{
	struct t3_cmd_space args = { .space = scene->s.args.space };

	return conf_admin(scene->d, opcode, &args, sizeof(args));
}

static uint32_t index_command(struct scene *scene, uint32_t opcode, uint32_t index)
{
	struct t3_cmd_index args = { .space = scene->s.args.space, .index = index };

	return conf_admin(scene->d, opcode, &args, sizeof(args));
}

static uint32_t act_create(struct scene *scene)
{
	struct conf_space fresh;

	conf_space_prepare(scene->c, scene->d, &fresh, T3_PAGE_SIZE, 16);
	fresh.args.space = scene->s.args.space;
	return conf_admin(scene->d, T3_CMD_SPACE_CREATE, &fresh.args, sizeof(fresh.args));
}

static uint32_t act_disable(struct scene *scene)
{
	return space_command(scene, T3_CMD_SPACE_DISABLE);
}

static uint32_t act_destroy(struct scene *scene)
{
	return space_command(scene, T3_CMD_SPACE_DESTROY);
}

static uint32_t act_reset(struct scene *scene)
{
	return space_command(scene, T3_CMD_SPACE_RESET);
}

static uint32_t act_query(struct scene *scene)
{
	return space_command(scene, T3_CMD_SPACE_QUERY);
}

static uint32_t act_map(struct scene *scene)
{
	struct t3_cmd_seg_map args = conf_segment(&scene->s, 1);

	args.offset = 1024;
	args.counter_base = 8;
	return conf_admin(scene->d, T3_CMD_SEG_MAP, &args, sizeof(args));
}

static uint32_t act_unmap(struct scene *scene)
{
	return index_command(scene, T3_CMD_SEG_UNMAP, 0);
}

static uint32_t act_staging(struct scene *scene)
{
	struct t3_cmd_seg_staging args = { .space = scene->s.args.space,
					   .slot_stride = 64,
					   .slots = 1 };

	args.address = scene->s.args.buffer + 2048;
	return conf_admin(scene->d, T3_CMD_SEG_STAGING, &args, sizeof(args));
}

static uint32_t act_stats(struct scene *scene)
{
	struct t3_cmd_seg_stats args = { .space = scene->s.args.space };

	return conf_admin(scene->d, T3_CMD_SEG_STATS, &args, sizeof(args));
}

static uint32_t act_tile_query(struct scene *scene)
{
	struct t3_cmd_tile_query args = { .space = scene->s.args.space, .tiles = 1 };

	if (!(conf_reg(scene->d, T3_REG_CAPS) & T3_CAP_TILES))
		conf_skip(scene->c, "needs CAPS.TILES");
	return conf_admin(scene->d, T3_CMD_TILE_QUERY, &args, sizeof(args));
}

static uint32_t act_route_set(struct scene *scene)
{
	struct t3_cmd_route_set args = {
		.space = scene->s.args.space,
		.route = 1,
		.peer_rank = scene->peer.dev->rank,
		.peer_space = 500,
		.peer_generation = 1,
		.peer_import = 31,
	};

	return conf_admin(scene->d, T3_CMD_ROUTE_SET, &args, sizeof(args));
}

static uint32_t act_route_clear(struct scene *scene)
{
	return index_command(scene, T3_CMD_ROUTE_CLEAR, 0);
}

static uint32_t act_import_set(struct scene *scene)
{
	struct t3_cmd_import_set args = {
		.space = scene->s.args.space,
		.import = 1,
		.src_rank = scene->peer.dev->rank,
		.src_space = 500,
		.src_generation = 1,
		.op_mask = 1,
		.segment_mask = 1,
	};

	return conf_admin(scene->d, T3_CMD_IMPORT_SET, &args, sizeof(args));
}

static uint32_t act_import_clear(struct scene *scene)
{
	return index_command(scene, T3_CMD_IMPORT_CLEAR, 0);
}

static uint32_t act_arm(struct scene *scene)
{
	conf_arm(&scene->s, 1);
	return 0;
}

static uint32_t act_release(struct scene *scene)
{
	conf_release(&scene->s, 1);
	return 0;
}

static uint32_t act_store(struct scene *scene)
{
	conf_store(&scene->s, 0, 8, 0x0000000200000001);
	return 0;
}

static uint32_t act_tile(struct scene *scene)
{
	conf_tile(&scene->s, 0, 0, 0);
	return 0;
}

static uint32_t act_beyond(struct scene *scene)
{
	conf_write(conf_doorbell(&scene->s), 0x20, 4, 0);
	return 0;
}

static uint32_t act_load(struct scene *scene)
{
	return (uint32_t)conf_load(&scene->s, 60, 4);
}

/* clang-format off */
static const struct action actions[] = {
	/*                                              FREE   IDLE       ARMING     ARMED    COMPLETE   FAULTED DISABLED QUIESCED */
	{"create",       act_create,       false, {OK,    THERE,     THERE,     THERE,   THERE,     THERE, THERE, THERE}},
	{"disable",      act_disable,      false, {NONE,  OK,        OK,        OK,      OK,        OK,    OK,    OK}},
	{"destroy",      act_destroy,      false, {NONE,  NO,        NO,        NO,      NO,        NO,    NO,    OK}},
	{"reset",        act_reset,        false, {NONE,  OK,        OK,        OK,      OK,        OK,    NO,    NO}},
	{"query",        act_query,        false, {OK,    OK,        OK,        OK,      OK,        OK,    OK,    OK}},
	{"seg-map",      act_map,          false, {NONE,  OK,        NO,        NO,      NO,        NO,    NO,    NO}},
	{"seg-unmap",    act_unmap,        false, {NONE,  OK,        NO,        NO,      NO,        NO,    NO,    NO}},
	{"seg-staging",  act_staging,      false, {NONE,  OK,        NO,        NO,      NO,        NO,    NO,    NO}},
	{"seg-stats",    act_stats,        false, {NONE,  OK,        OK,        OK,      OK,        OK,    OK,    OK}},
	{"tile-query",   act_tile_query,   false, {NONE,  OK,        OK,        OK,      OK,        OK,    OK,    OK}},
	{"route-set",    act_route_set,    true,  {NONE,  OK,        NO,        NO,      NO,        NO,    NO,    NO}},
	{"route-clear",  act_route_clear,  true,  {NONE,  OK,        NO,        NO,      NO,        NO,    NO,    NO}},
	{"import-set",   act_import_set,   true,  {NONE,  OK,        OK,        OK,      OK,        OK,    NO,    NO}},
	{"import-clear", act_import_clear, true,  {NONE,  OK,        OK,        OK,      OK,        OK,    OK,    OK}},
	{"ARM",          act_arm,          false, {DROPS, MOVES,     BAD_ARM,   BAD_ARM, BAD_ARM,   DROPS, DROPS, DROPS}},
	{"RELEASE",      act_release,      false, {DROPS, BAD_ARM,   BAD_ARM,   BAD_ARM, MOVES,     DROPS, DROPS, DROPS}},
	{"store",        act_store,        false, {DROPS, NOT_ARMED, NOT_ARMED, KEEPS,   NOT_ARMED, DROPS, DROPS, DROPS}},
	{"TILE",         act_tile,         false, {DROPS, NOT_ARMED, NOT_ARMED, KEEPS,   NOT_ARMED, DROPS, DROPS, DROPS}},
	{"beyond",       act_beyond,       false, {DROPS, BAD_DB,    BAD_DB,    BAD_DB,  BAD_DB,    DROPS, DROPS, DROPS}},
	{"load",         act_load,         false, {ONES,  READS,     READS,     READS,   READS,     READS, ONES,  ONES}},
};
/* clang-format on */

/* ------------------------------------------------------------------- scenes */

/* Import 0 of s: from a space of the peer that does not exist. */
static void set_import(struct scene *scene)
{
	struct t3_cmd_import_set args = {
		.space = scene->s.args.space,
		.src_rank = scene->peer.dev->rank,
		.src_space = 501,
		.src_generation = 1,
		.op_mask = 1,
		.segment_mask = 1,
	};

	ADMIN(scene->c, scene->d, T3_CMD_IMPORT_SET, &args);
}

static void scene_idle(struct scene *scene)
{
	struct conf *c = scene->c;

	conf_space_simple(c, scene->d, &scene->s);
	CHECK_EQUAL(c, "SEG_STAGING", act_staging(scene), T3_ADMIN_OK);
	if (!scene->linked)
		return;
	conf_space_create(c, conf_device(c, 1), &scene->peer, T3_PAGE_SIZE, 16);
	conf_connect(c, &scene->s, 0, &scene->peer, 0);
	set_import(scene);
}

/* A space of the peer without segments is COMPLETE as soon as it is ARMED. */
static void scene_armed(struct scene *scene)
{
	if (scene->linked)
		conf_arm(&scene->peer, 1);
	conf_arm_wait(scene->c, &scene->s, 1);
}

static void scene_complete(struct scene *scene)
{
	scene_armed(scene);
	for (unsigned i = 0; i < 64; i += 8)
		conf_store(&scene->s, i, 8, 0);
	conf_wait_state(scene->c, &scene->s, T3_SPACE_COMPLETE, 1);
}

/* The answer to POISON never comes. */
static void scene_disabled(struct scene *scene)
{
	conf_hold(scene->c);
	CHECK_EQUAL(scene->c, "SPACE_DISABLE", act_disable(scene), T3_ADMIN_OK);
	CHECK_EQUAL(scene->c, "state", conf_state(&scene->s), STATE(T3_SPACE_DISABLED, 0));
}

static void scene_free(struct scene *scene)
{
	CHECK_EQUAL(scene->c, "SPACE_DISABLE", act_disable(scene), T3_ADMIN_OK);
	conf_wait_state(scene->c, &scene->s, T3_SPACE_QUIESCED, 0);
	CHECK_EQUAL(scene->c, "SPACE_DESTROY", act_destroy(scene), T3_ADMIN_OK);
}

static void enter(struct scene *scene, enum column column)
{
	scene_idle(scene);
	conf_buffer_write(&scene->s, 60, 4, 0x7a7b7c7d);
	conf_memory_fill(scene->d, scene->s.args.buffer + 2048, 64, 0x0000000300000003);
	switch (column) {
	case FREE:
		scene_free(scene);
		break;
	case ARMING:
		conf_arm(&scene->s, 1);
		conf_wait_state(scene->c, &scene->s, T3_SPACE_ARMING, 1);
		break;
	case ARMED:
		scene_armed(scene);
		break;
	case COMPLETE:
		scene_complete(scene);
		break;
	case FAULTED:
		conf_store(&scene->s, 0, 4, 0);
		conf_wait_fault(scene->c, &scene->s, T3_FAULT_NOT_ARMED);
		break;
	case DISABLED:
		scene_disabled(scene);
		break;
	case QUIESCED:
		CHECK_EQUAL(scene->c, "SPACE_DISABLE", act_disable(scene), T3_ADMIN_OK);
		conf_wait_state(scene->c, &scene->s, T3_SPACE_QUIESCED, 0);
		break;
	default:
		break;
	}
}

/* ----------------------------------------------------------------- outcomes */

static uint32_t query_state(struct scene *scene)
{
	struct t3_cmd_space args = { .space = scene->s.args.space };

	CHECK_EQUAL(scene->c, "SPACE_QUERY",
		    conf_admin(scene->d, T3_CMD_SPACE_QUERY, &args, sizeof(args)), T3_ADMIN_OK);
	return args.state;
}

static void expect_move(struct scene *scene, enum column column)
{
	if (column == COMPLETE)
		conf_wait_state(scene->c, &scene->s, T3_SPACE_IDLE, 1);
	else
		conf_wait_state(scene->c, &scene->s,
				scene->linked ? T3_SPACE_ARMING : T3_SPACE_ARMED, 1);
}

/* A refused command has changed nothing. */
static void expect_status(struct scene *scene, uint32_t status, uint32_t wanted, uint32_t before)
{
	CHECK_EQUAL(scene->c, "ADMIN_STATUS", status, wanted);
	if (wanted != T3_ADMIN_OK) {
		CHECK_EQUAL(scene->c, "state after a refusal", query_state(scene), before);
		CHECK(scene->c, conf_guest_error(scene->d), "a refusal is no guest error");
	}
}

/* The first fault, exactly as the access made it. */
static void expect_fault(struct scene *scene, unsigned row, uint32_t kind)
{
	bool store = actions[row].act == act_store, tile = actions[row].act == act_tile;

	conf_expect_fault(scene->c, &scene->s, kind, store || tile ? 0 : CONF_NO_SEGMENT,
			  tile ? 0 : CONF_NO_TILE, store ? 0 : CONF_NO_OFFSET);
	CHECK_EQUAL(scene->c, "faults", scene->s.events->faults, 1);
	CHECK_EQUAL(scene->c, "FAULTS", conf_counter(scene->d, T3_COUNTER_FAULTS), 1);
}

static void expect_read(struct scene *scene, uint32_t got, enum column column, int wanted)
{
	/* ARM has filled the segment. */
	bool filled = column == ARMING || column == ARMED || column == COMPLETE;
	uint32_t word = filled ? 0 : 0x7a7b7c7d;

	CHECK_EQUAL(scene->c, "what is read", got, wanted == ONES ? 0xffffffff : word);
}

/* The effect of stores, doorbells and reads. */
static void expect_effect(struct scene *scene, enum column column, unsigned row, uint32_t result,
			  const struct scene_before *before)
{
	int wanted = actions[row].expected[column];
	struct conf *c = scene->c;

	if (wanted == NOT_ARMED)
		expect_fault(scene, row, T3_FAULT_NOT_ARMED);
	else if (wanted == BAD_ARM)
		expect_fault(scene, row, T3_FAULT_BAD_ARM);
	else if (wanted == BAD_DB)
		expect_fault(scene, row, T3_FAULT_BAD_DOORBELL);
	else if (wanted == MOVES)
		expect_move(scene, column);
	else
		CHECK_EQUAL(c, "state", query_state(scene), before->state);
	if (wanted == KEEPS || wanted == DROPS)
		CHECK_EQUAL(c, "faults", scene->s.events->faults, before->faults);
	CHECK_EQUAL(c, "DROPPED", conf_counter(scene->d, T3_COUNTER_DROPPED),
		    before->dropped + (wanted == DROPS));
	if (column == FAULTED && wanted == DROPS)
		conf_wait_word(c, &scene->s.events->dropped, before->area_dropped + 1, "dropped");
	if (wanted == ONES || wanted == READS)
		expect_read(scene, result, column, wanted);
	else if (wanted != KEEPS && wanted != MOVES)
		CHECK_EQUAL(c, "memory", conf_buffer(&scene->s, 0, 8), before->memory);
	else if (wanted == KEEPS)
		CHECK(c, conf_buffer(&scene->s, 0, 8) != before->memory, "nothing was applied");
}

static void run_action(struct conf *c, enum column column, unsigned row)
{
	struct scene scene = { .c = c, .d = conf_device(c, 0), .linked = conf_devices(c) > 1 };
	const struct action *action = &actions[row];
	struct scene_before before;
	uint32_t result;

	if (action->peer && !scene.linked)
		conf_skip(c, "needs a peer");
	enter(&scene, column);
	before = (struct scene_before){
		.state = query_state(&scene),
		.faults = scene.s.events->faults,
		.dropped = conf_counter(scene.d, T3_COUNTER_DROPPED),
		.area_dropped = scene.s.events->dropped,
		.memory = conf_buffer(&scene.s, 0, 8),
	};
	conf_guest_error(scene.d);
	result = action->act(&scene);
	if (action->expected[column] < KEEPS)
		expect_status(&scene, result, (uint32_t)action->expected[column], before.state);
	else
		expect_effect(&scene, column, row, result, &before);
}

static const char *action_label(unsigned row)
{
	return actions[row].name;
}

TEST("each action on a free space has its effect", .rows = ARRAY_SIZE(actions),
     .label = action_label)
{
	run_action(c, FREE, row);
}

TEST("each action on an idle space has its effect", .rows = ARRAY_SIZE(actions),
     .label = action_label)
{
	run_action(c, IDLE, row);
}

TEST("each action on an arming space has its effect", .rows = ARRAY_SIZE(actions),
     .label = action_label, .devices = 2)
{
	run_action(c, ARMING, row);
}

TEST("each action on an armed space has its effect", .rows = ARRAY_SIZE(actions),
     .label = action_label)
{
	run_action(c, ARMED, row);
}

TEST("each action on a complete space has its effect", .rows = ARRAY_SIZE(actions),
     .label = action_label)
{
	run_action(c, COMPLETE, row);
}

TEST("each action on a faulted space has its effect", .rows = ARRAY_SIZE(actions),
     .label = action_label)
{
	run_action(c, FAULTED, row);
}

TEST("each action on a disabled space has its effect", .rows = ARRAY_SIZE(actions),
     .label = action_label, .devices = 2, .needs = CONF_STEP)
{
	run_action(c, DISABLED, row);
}

TEST("each action on a quiesced space has its effect", .rows = ARRAY_SIZE(actions),
     .label = action_label)
{
	run_action(c, QUIESCED, row);
}

/* ------------------------------------------------------------- out of each state */

/* RESET from the states that allow it, then DISABLE and DESTROY. */
TEST("each command moves a space to its state", .rows = QUIESCED - IDLE + 1, .devices = 2)
{
	struct scene scene = { .c = c, .d = conf_device(c, 0), .linked = true };
	enum column column = IDLE + row;
	struct t3_cmd_space found;
	uint32_t generation;

	if (column == DISABLED && conf_lacks(c, 2, CONF_STEP))
		conf_skip(c, "%s", conf_lacks(c, 2, CONF_STEP));
	enter(&scene, column);
	found = conf_space_command(c, &scene.s, T3_CMD_SPACE_QUERY);
	generation = found.generation;
	if (column == DISABLED)
		conf_let_go(c);
	if (column <= FAULTED) {
		found = conf_space_command(c, &scene.s, T3_CMD_SPACE_RESET);
		CHECK_EQUAL(c, "generation after RESET", found.generation, ++generation);
		CHECK_EQUAL(c, "epoch after RESET", found.epoch, 0);
		conf_wait_state(c, &scene.s, T3_SPACE_IDLE, 0);
		CHECK_EQUAL(c, "in the event area", scene.s.events->generation, generation);
	}
	conf_space_command(c, &scene.s, T3_CMD_SPACE_DISABLE);
	conf_wait_state(c, &scene.s, T3_SPACE_QUIESCED, found.epoch);
	conf_space_command(c, &scene.s, T3_CMD_SPACE_DESTROY);
	found = conf_space_command(c, &scene.s, T3_CMD_SPACE_QUERY);
	CHECK_EQUAL(c, "state after DESTROY", found.state, T3_SPACE_FREE);
	CHECK_EQUAL(c, "generation after DESTROY", found.generation, generation + 1);
}

/* With nothing in flight DISABLE alone reaches QUIESCED. Else it waits for the answers. */
TEST("a disabled space waits for its answers", .devices = 2, .needs = CONF_STEP)
{
	struct scene scene = { .c = c, .d = conf_device(c, 0), .linked = true };
	struct conf_deadline deadline = conf_deadline(c);
	struct conf_space alone;

	conf_space_create(c, scene.d, &alone, T3_PAGE_SIZE, 1);
	enter(&scene, IDLE);
	conf_hold(c);
	conf_space_command(c, &alone, T3_CMD_SPACE_DISABLE);
	CHECK_EQUAL(c, "alone", alone.events->state, STATE(T3_SPACE_QUIESCED, 0));
	CHECK_EQUAL(c, "in_flight", conf_space_command(c, &scene.s, T3_CMD_SPACE_DISABLE).in_flight,
		    2);
	while (conf_space_command(c, &scene.s, T3_CMD_SPACE_QUERY).in_flight) {
		CHECK_EQUAL(c, "state", conf_state(&scene.s), STATE(T3_SPACE_DISABLED, 0));
		CHECK(c, conf_pause(&deadline), "an answer never comes");
		conf_step(c, 1);
	}
	CHECK_EQUAL(c, "state", scene.s.events->state, STATE(T3_SPACE_QUIESCED, 0));
}
