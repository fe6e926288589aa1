// SPDX-License-Identifier: MIT
/* SPEC.md 2.1: the result of each command, doorbell and access in each state. */
#include "conf.h"
#include "run.h"

CONF_SECTION("2.1", "states");

enum column { FREE, IDLE, ARMING, ARMED, COMPLETE, FAULTED, QUIESCED, COLUMNS };

/* The expected result: an admin status, or the effect of a doorbell or access. */
enum {
	KEEPS = 0x100, /* the state does not change and no fault is recorded */
	DROPS,	       /* as above, and DROPPED counts it */
	MOVES,	       /* into `next` */
	NOT_ARMED,     /* this fault */
	BAD_ARM,
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

static uint32_t act_load(struct scene *scene)
{
	return (uint32_t)conf_load(&scene->s, 60, 4);
}

/* clang-format off */
static const struct action actions[] = {
	/*                                           FREE   IDLE       ARMING     ARMED   COMPLETE   FAULTED QUIESCED */
	{"create",       act_create,       false, {OK,    THERE,     THERE,     THERE,  THERE,     THERE,  THERE}},
	{"disable",      act_disable,      false, {NONE,  OK,        OK,        OK,     OK,        OK,     OK}},
	{"destroy",      act_destroy,      false, {NONE,  NO,        NO,        NO,     NO,        NO,     OK}},
	{"reset",        act_reset,        false, {NONE,  OK,        OK,        OK,     OK,        OK,     NO}},
	{"query",        act_query,        false, {OK,    OK,        OK,        OK,     OK,        OK,     OK}},
	{"seg-map",      act_map,          false, {NONE,  OK,        NO,        NO,     NO,        NO,     NO}},
	{"seg-unmap",    act_unmap,        false, {NONE,  OK,        NO,        NO,     NO,        NO,     NO}},
	{"seg-staging",  act_staging,      false, {NONE,  OK,        NO,        NO,     NO,        NO,     NO}},
	{"seg-stats",    act_stats,        false, {NONE,  OK,        OK,        OK,     OK,        OK,     OK}},
	{"tile-query",   act_tile_query,   false, {NONE,  OK,        OK,        OK,     OK,        OK,     OK}},
	{"route-set",    act_route_set,    true,  {NONE,  OK,        NO,        NO,     NO,        NO,     NO}},
	{"route-clear",  act_route_clear,  true,  {NONE,  OK,        NO,        NO,     NO,        NO,     NO}},
	{"import-set",   act_import_set,   true,  {NONE,  OK,        OK,        OK,     OK,        OK,     NO}},
	{"import-clear", act_import_clear, true,  {NONE,  OK,        OK,        OK,     OK,        OK,     OK}},
	{"ARM",          act_arm,          false, {KEEPS, MOVES,     BAD_ARM,   BAD_ARM, BAD_ARM,  KEEPS,  KEEPS}},
	{"RELEASE",      act_release,      false, {KEEPS, BAD_ARM,   BAD_ARM,   BAD_ARM, MOVES,    KEEPS,  KEEPS}},
	{"store",        act_store,        false, {DROPS, NOT_ARMED, NOT_ARMED, KEEPS,  NOT_ARMED, DROPS,  DROPS}},
	{"TILE",         act_tile,         false, {KEEPS, NOT_ARMED, NOT_ARMED, KEEPS,  NOT_ARMED, DROPS,  DROPS}},
	{"load",         act_load,         false, {ONES,  READS,     READS,     READS,  READS,     READS,  ONES}},
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

/* A refused command has changed nothing. Section 7 tests the effects of the others. */
static void expect_status(struct scene *scene, uint32_t status, uint32_t wanted, uint32_t before)
{
	CHECK_EQUAL(scene->c, "ADMIN_STATUS", status, wanted);
	if (wanted != T3_ADMIN_OK) {
		CHECK_EQUAL(scene->c, "state after a refusal", query_state(scene), before);
		CHECK(scene->c, conf_guest_error(scene->d), "a refusal is no guest error");
	}
}

static void expect_read(struct scene *scene, uint32_t got, enum column column, int wanted)
{
	/* ARM has filled the segment. */
	bool filled = column == ARMING || column == ARMED || column == COMPLETE;
	uint32_t word = filled ? 0 : 0x7a7b7c7d;

	CHECK_EQUAL(scene->c, "what is read", got, wanted == ONES ? 0xffffffff : word);
}

static void run_action(struct conf *c, enum column column, unsigned row)
{
	struct scene scene = { .c = c, .d = conf_device(c, 0), .linked = conf_devices(c) > 1 };
	const struct action *action = &actions[row];
	int wanted = action->expected[column];
	uint64_t dropped;
	uint32_t before, faults, result;

	if (action->peer && !scene.linked)
		conf_skip(c, "needs a peer");
	enter(&scene, column);
	before = query_state(&scene);
	dropped = conf_counter(scene.d, T3_COUNTER_DROPPED);
	faults = scene.s.events->faults;
	conf_guest_error(scene.d);
	result = action->act(&scene);
	if (wanted < KEEPS)
		expect_status(&scene, result, (uint32_t)wanted, before);
	else if (wanted == NOT_ARMED)
		conf_wait_fault(c, &scene.s, T3_FAULT_NOT_ARMED);
	else if (wanted == BAD_ARM)
		conf_wait_fault(c, &scene.s, T3_FAULT_BAD_ARM);
	else if (wanted == MOVES)
		expect_move(&scene, column);
	else
		CHECK_EQUAL(c, "state", query_state(&scene), before);
	if (wanted == KEEPS && column != FAULTED)
		CHECK_EQUAL(c, "faults", scene.s.events->faults, faults);
	if (wanted == DROPS)
		CHECK_EQUAL(c, "DROPPED", conf_counter(scene.d, T3_COUNTER_DROPPED), dropped + 1);
	if (wanted == ONES || wanted == READS)
		expect_read(&scene, result, column, wanted);
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

TEST("each action on a quiesced space has its effect", .rows = ARRAY_SIZE(actions),
     .label = action_label)
{
	run_action(c, QUIESCED, row);
}
