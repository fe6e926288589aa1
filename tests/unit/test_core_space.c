/* SPDX-License-Identifier: MIT */
/*
 * The state table of SPEC.md section 2.1, state by event; epochs and generations.
 */
#include "host.h"
#include "test.h"
#include "space/space_private.h" /* 2^32 resets would take too long */

enum event { STORE, TILE, ARM, RELEASE, BAD_OFFSET, EVENTS };
enum effect {
	NOTHING, /* FREE: counted for the device alone */
	DROP,
	APPLY,
	MOVE, /* to the state in the table */
	FAULT,
};

struct cell {
	enum effect effect;
	uint32_t value; /* MOVE: state, FAULT: kind */
};

/* clang-format off */
#define F(kind)                        \
	{                              \
		FAULT, T3_FAULT_##kind \
	}
/* clang-format on */

static const struct cell table[T3_SPACE_DEAD][EVENTS] = {
	[T3_SPACE_FREE] = { { NOTHING, 0 },
			    { NOTHING, 0 },
			    { NOTHING, 0 },
			    { NOTHING, 0 },
			    { NOTHING, 0 } },
	[T3_SPACE_IDLE] = { F(NOT_ARMED),
			    F(NOT_ARMED),
			    { MOVE, T3_SPACE_ARMING },
			    F(BAD_ARM),
			    F(BAD_DOORBELL) },
	[T3_SPACE_ARMING] = { F(NOT_ARMED), F(NOT_ARMED), F(BAD_ARM), F(BAD_ARM), F(BAD_DOORBELL) },
	[T3_SPACE_ARMED] = { { APPLY, 0 }, { APPLY, 0 }, F(BAD_ARM), F(BAD_ARM), F(BAD_DOORBELL) },
	[T3_SPACE_COMPLETE] = { F(NOT_ARMED),
				F(NOT_ARMED),
				F(BAD_ARM),
				{ MOVE, T3_SPACE_IDLE },
				F(BAD_DOORBELL) },
	[T3_SPACE_FAULTED] = { { DROP, 0 }, { DROP, 0 }, { DROP, 0 }, { DROP, 0 }, { DROP, 0 } },
	[T3_SPACE_DISABLED] = { { DROP, 0 }, { DROP, 0 }, { DROP, 0 }, { DROP, 0 }, { DROP, 0 } },
	[T3_SPACE_QUIESCED] = { { DROP, 0 }, { DROP, 0 }, { DROP, 0 }, { DROP, 0 }, { DROP, 0 } },
};

static void cause(struct host_dev *d, enum event event, uint32_t epoch)
{
	switch (event) {
	case STORE:
		host_store(d, 1, 4, 7, 4);
		break;
	case TILE:
		memset(host_slot(d, 1, 0, 1), 3, 0x100);
		host_tile(d, 1, 0, 1, 2);
		break;
	case ARM:
		host_arm(d, 1, epoch + 1);
		break;
	case RELEASE:
		host_release(d, 1, epoch);
		break;
	default:
		host_doorbell(d, 1, 0x20, 0, 4);
		break;
	}
}

static void check_fault(struct host_dev *d, enum event event, uint32_t kind)
{
	uint32_t segment = event == STORE || event == TILE ? 0 : HOST_NONE32;
	uint32_t tile = event == TILE ? 2 : HOST_NONE32;

	host_expect_cpu_fault(d, 1, kind, segment, tile, event == STORE ? 4 : HOST_NONE64);
	assert_int_equal(host_area(d, 1)->faults, 1);
	assert_int_equal(host_counter(d, T3_COUNTER_FAULTS), 1);
}

static void state_and_event(uint32_t state, enum event event)
{
	static uint8_t before[HOST_SPACE_SIZE];
	const struct cell *cell = &table[state][event];
	struct host *host = host_in_state(state);
	struct host_dev *d = &host->dev[0];
	uint64_t dropped = host_counter(d, T3_COUNTER_DROPPED);
	uint64_t area_dropped = host_area(d, 1)->dropped;
	uint32_t epoch = host_query(d, 1).epoch;
	uint64_t word = host_doorbell_read(d, 1, T3_DB_STATE, 8);

	memcpy(before, host_buffer(d, 1), sizeof(before));
	cause(d, event, epoch);
	if (cell->effect == FAULT)
		check_fault(d, event, cell->value);
	else if (cell->effect == MOVE)
		host_expect(d, 1, cell->value, event == ARM ? epoch + 1 : epoch);
	else
		assert_int_equal(host_doorbell_read(d, 1, T3_DB_STATE, 8), word);
	if (cell->effect == APPLY)
		assert_memory_not_equal(host_buffer(d, 1), before, sizeof(before));
	else
		assert_memory_equal(host_buffer(d, 1), before, sizeof(before));
	assert_int_equal(host_counter(d, T3_COUNTER_DROPPED) - dropped,
			 cell->effect == DROP || cell->effect == NOTHING);
	if (state == T3_SPACE_FAULTED)
		assert_int_equal(host_area(d, 1)->dropped - area_dropped, 1);
	host_free(host);
}

TEST("each event has its effect in each state")
{
	uint32_t state, event;

	for (state = T3_SPACE_FREE; state < T3_SPACE_DEAD; state++)
		for (event = 0; event < EVENTS; event++)
			state_and_event(state, event);
}

/* RESET, DISABLE and DESTROY from each state that allows them. */
TEST("each command moves a space to its state")
{
	uint32_t state;

	for (state = T3_SPACE_IDLE; state <= T3_SPACE_QUIESCED; state++) {
		struct host *host = host_in_state(state);
		struct host_dev *d = &host->dev[0];
		uint32_t epoch = host_query(d, 1).epoch;
		uint32_t generation = host_query(d, 1).generation;

		if (state <= T3_SPACE_FAULTED) {
			assert_int_equal(host_space_command(d, T3_CMD_SPACE_RESET, 1), T3_ADMIN_OK);
			host_expect(d, 1, T3_SPACE_IDLE, 0);
			assert_int_equal(host_query(d, 1).generation, ++generation);
			epoch = 0;
		}
		assert_int_equal(host_space_command(d, T3_CMD_SPACE_DISABLE, 1), T3_ADMIN_OK);
		host_drain(host);
		host_expect(d, 1, T3_SPACE_QUIESCED, epoch);
		assert_int_equal(host_space_command(d, T3_CMD_SPACE_DESTROY, 1), T3_ADMIN_OK);
		assert_int_equal(host_query(d, 1).state, T3_SPACE_FREE);
		assert_int_equal(host_query(d, 1).generation, generation + 1);
		host_free(host);
	}
}

/* Nothing in flight: DISABLE alone reaches QUIESCED; else it waits for the answers. */
TEST("a disabled space waits for its answers")
{
	struct host *host = host_in_state(T3_SPACE_DISABLED);
	struct host_dev *d = &host->dev[0];

	host_expect(d, 1, T3_SPACE_DISABLED, 0);
	assert_int_equal(host_query(d, 1).in_flight, 2); /* POISON and STATE */
	while (host_query(d, 1).in_flight) {
		assert_int_equal(host_state(d, 1), T3_SPACE_DISABLED);
		t3_fabric_run(host->fabric, 1);
	}
	host_expect(d, 1, T3_SPACE_QUIESCED, 0);
	host_free(host);
	host = host_ring(1);
	host_space(&host->dev[0], 0);
	host_space_command(&host->dev[0], T3_CMD_SPACE_DISABLE, 0);
	host_expect(&host->dev[0], 0, T3_SPACE_QUIESCED, 0);
	host_free(host);
}

TEST("accesses outside spaces reach nothing")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];

	host_space(d, 1);
	assert_int_equal(host_load(d, 0, 0, 4), HOST_NONE64);
	assert_int_equal(host_load(d, 0, HOST_SPACE_SIZE - 4, 8), HOST_NONE64); /* into space 1 */
	assert_int_equal(host_load(d, 2, 0, 8), HOST_NONE64);
	assert_int_equal(host_load(d, 1, HOST_SPACE_SIZE - 4, 8), HOST_NONE64); /* out of it */
	assert_int_equal(t3_dev_aperture_read(d->dev, HOST_APERTURE, 8), HOST_NONE64);
	assert_int_equal(t3_dev_aperture_read(d->dev, HOST_NONE64 - 7, 8), HOST_NONE64);
	host_store(d, 0, 0, 1, 4);
	host_store(d, 2, 0, 1, 8);
	t3_dev_aperture_write(d->dev, HOST_APERTURE, 1, 8);
	t3_dev_aperture_write(d->dev, HOST_NONE64 - 7, 1, 8);
	host_store(d, 1, HOST_SPACE_SIZE - 4, 1, 8);
	assert_int_equal(host_counter(d, T3_COUNTER_DROPPED), 5);
	host_expect(d, 1, T3_SPACE_IDLE, 0);
	host_free(host);
}

/* A space without segments is COMPLETE as soon as it is ARMED. */
TEST("only the next epoch can be armed")
{
	static const struct {
		uint32_t first, second;
		bool legal;
	} list[] = {
		{ 1, 2, true },
		{ 7, 8, true },
		{ 0xfffffffe, 0xffffffff, true },
		{ 1, 1, false },
		{ 1, 3, false },
		{ 5, 4, false },
		{ 0xffffffff, 0, false },
		{ 0xffffffff, 1, false },
		{ 1, 0, false },
	};
	size_t i;

	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct host *host = host_ring(1);
		struct host_dev *d = &host->dev[0];

		host_space(d, 0);
		host_arm(d, 0, list[i].first);
		host_expect(d, 0, T3_SPACE_COMPLETE, list[i].first);
		host_release(d, 0, list[i].first);
		host_expect(d, 0, T3_SPACE_IDLE, list[i].first);
		host_arm(d, 0, list[i].second);
		if (list[i].legal)
			host_expect(d, 0, T3_SPACE_COMPLETE, list[i].second);
		else
			host_expect_cpu_fault(d, 0, T3_FAULT_BAD_ARM, HOST_NONE32, HOST_NONE32,
					      HOST_NONE64);
		host_free(host);
	}
}

/* RESET keeps LOCAL segments with their staging, and clears their counts. */
TEST("a reset keeps local segments")
{
	struct host *host = host_in_state(T3_SPACE_ARMED);
	struct host_dev *d = &host->dev[0];
	struct t3_cmd_seg_map dma = host_segment(1, 1, T3_SEG_DMA, T3_OP_ADD, T3_DTYPE_I32);
	uint32_t tile;

	host_store(d, 1, 0, 5, 8); /* tile 0 in whole, tile 1 in part */
	host_store(d, 1, 16, 5, 8);
	host_store(d, 1, 8, 5, 4);
	host_space_command(d, T3_CMD_SPACE_RESET, 1);
	assert_int_equal(host_stats(d, 1, 0).stores, 0);
	assert_int_equal(host_counter(d, T3_COUNTER_TRACKER_LIVE), 0);
	assert_int_equal(host_index_command(d, T3_CMD_ROUTE_CLEAR, 1, 0), T3_ADMIN_BAD_INDEX);
	assert_int_equal(host_index_command(d, T3_CMD_IMPORT_CLEAR, 1, 0), T3_ADMIN_BAD_INDEX);
	host_arm(d, 1, 1); /* the same epoch: its old counts must not match */
	for (tile = 0; tile < 4; tile++)
		host_tile(d, 1, 0, 0, tile);
	host_expect(d, 1, T3_SPACE_COMPLETE, 1);
	assert_int_equal(host_load(d, 1, 0, 8), 0); /* from identity, not from before */
	assert_int_equal(host_load(d, 1, 8, 8), 0);
	host_release(d, 1, 1);
	host_space_command(d, T3_CMD_SPACE_RESET, 1);
	host_route(d, 1, 0, &host->dev[1], 1, 0);
	host_map(d, &dma);
	host_space_command(d, T3_CMD_SPACE_RESET, 1);
	assert_int_equal(host_index_command(d, T3_CMD_SEG_UNMAP, 1, 1), T3_ADMIN_BAD_INDEX);
	assert_int_equal(host_index_command(d, T3_CMD_SEG_UNMAP, 1, 0), T3_ADMIN_OK);
	host_free(host);
}

/* SEG_MAP over the records of an earlier segment starts from zero, too. */
TEST("mapping over old records clears their counts")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];

	host_space(d, 0);
	host_local(d, 0, 0);
	host_arm(d, 0, 1);
	host_fill(d, 0, 0, 1);
	host_release(d, 0, 1);
	host_index_command(d, T3_CMD_SEG_UNMAP, 0, 0);
	host_space_command(d, T3_CMD_SPACE_RESET, 0);
	host_local(d, 0, 0);
	host_arm(d, 0, 1);
	host_fill(d, 0, 0, 2);
	host_expect(d, 0, T3_SPACE_COMPLETE, 1);
	assert_int_equal(host_load(d, 0, 0, 4), 2);
	host_free(host);
}

enum ending { RESET, DESTROY, FUNCTION_RESET, FREE_FUNCTION_RESET, WIPE, ENDINGS };

static void end(struct host_dev *d, enum ending how)
{
	if (how == FREE_FUNCTION_RESET)
		host_destroy(d, 3);
	t3_spaces(d->dev)->generation[3] = 0xffffffff;
	if (how == RESET)
		host_space_command(d, T3_CMD_SPACE_RESET, 3);
	else if (how == DESTROY)
		host_destroy(d, 3);
	else if (how == WIPE)
		t3_fabric_clear(d->host->fabric);
	else
		t3_dev_reset(d->dev);
}

/* 0 is no generation: 1 follows the last one. */
TEST("generations wrap to 1")
{
	uint32_t how;

	for (how = 0; how < ENDINGS; how++) {
		struct host *host = host_ring(1);
		struct host_dev *d = &host->dev[0];

		host_space(d, 3);
		end(d, how);
		assert_int_equal(host_query(d, 3).generation, 1);
		host_free(host);
	}
}
