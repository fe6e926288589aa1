/* SPDX-License-Identifier: MIT */
/* Each fault kind, reached once, with its exact record: SPEC.md sections 3.1 and 9. */
#include "host.h"
#include "test.h"

/* Device 0, space 0: LOCAL 0 (rows of 12 at pitch 16, tiles 2 x 8), REMOTE 1, DMA 2. */
static struct host *set_up(void)
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_F32);

	host_space(a, 0);
	host_space(b, 0);
	host_connect(a, b, 0);
	map.row_bytes = 12;
	host_map(a, &map);
	host_stage(a, 0, 0, 1);
	map = host_segment(0, 1, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_F16);
	host_map(a, &map);
	host_stage(a, 0, 1, 1);
	map = host_segment(0, 2, T3_SEG_DMA, T3_OP_ADD, T3_DTYPE_I32);
	host_map(a, &map);
	host_local(b, 0, 2);
	map = host_segment(0, 1, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_F16);
	host_map(b, &map);
	host_arm(b, 0, 1);
	host_arm(a, 0, 1);
	host_expect(a, 0, T3_SPACE_ARMED, 1);
	return host;
}

struct store {
	uint64_t offset;
	uint32_t size;
	uint32_t kind;
	uint32_t segment;
};

static const struct store stores[] = {
	{ 0x200, 4, T3_FAULT_UNMAPPED, HOST_NONE32 },
	{ 0x3fc, 8, T3_FAULT_UNMAPPED, HOST_NONE32 }, /* into a segment */
	{ 12, 4, T3_FAULT_UNMAPPED, 0 },	      /* padding */
	{ 8, 8, T3_FAULT_UNMAPPED, 0 },		      /* half in the padding */
	{ 60, 4, T3_FAULT_UNMAPPED, HOST_NONE32 },    /* behind the last row */
	{ 56, 8, T3_FAULT_UNMAPPED, 0 },
	{ 0xfffc, 4, T3_FAULT_UNMAPPED, HOST_NONE32 },
	{ 0, 1, T3_FAULT_WIDTH, 0 },
	{ 0, 2, T3_FAULT_WIDTH, 0 }, /* f32 */
	{ 2, 4, T3_FAULT_WIDTH, 0 }, /* misaligned */
	{ 1, 4, T3_FAULT_WIDTH, 0 },
	{ 0x400, 1, T3_FAULT_WIDTH, 1 },
	{ 0x401, 2, T3_FAULT_WIDTH, 1 },
	{ 0x804, 8, T3_FAULT_WIDTH, 2 },
};

static void faulting_store(const struct store *s)
{
	static uint8_t before[HOST_MEMORY];
	struct host *host = set_up();
	struct host_dev *d = &host->dev[0];

	memcpy(before, d->memory, 0x110000);
	host_store(d, 0, s->offset, 0x0101010101010101ull, s->size);
	host_expect_cpu_fault(d, 0, s->kind, s->segment, HOST_NONE32, s->offset);
	assert_memory_equal(before, d->memory, 0x110000);
	assert_int_equal(host_counter(d, T3_COUNTER_STORES), 0);
	assert_int_equal(host_counter(d, T3_COUNTER_TRACKER_ALLOC), 0);
	host_free(host);
}

TEST("each wrong store faults with its exact record")
{
	size_t i;

	for (i = 0; i < sizeof(stores) / sizeof(stores[0]); i++)
		faulting_store(&stores[i]);
}

/* Rows without padding: the end of one is the start of the next, in another row. */
TEST("a store over the end of a row faults")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);

	host_space(d, 0);
	map.row_bytes = map.pitch = map.tile_row_bytes = 12;
	host_map(d, &map);
	host_arm(d, 0, 1);
	host_store(d, 0, 8, ~0ull, 8);
	assert_int_equal(host_state(d, 0), T3_SPACE_FAULTED);
	assert_int_equal(host_load(d, 0, 8, 8), 0);
	host_free(host);
}

TEST("a read of a remote segment faults")
{
	static const uint64_t offsets[] = { 0x400, 0x43e, 0x3fa, 0x43f };
	size_t i;

	for (i = 0; i < 4; i++) {
		struct host *host = set_up();
		struct host_dev *d = &host->dev[0];

		assert_int_equal(host_load(d, 0, offsets[i], 8), HOST_NONE64);
		host_expect_cpu_fault(d, 0, T3_FAULT_READ_REMOTE, 1, HOST_NONE32, offsets[i]);
		host_free(host);
	}
}

/* The store that would pass the count is no hit of the tracker, whose entry is there. */
TEST("a store that would overshoot counts nothing")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	uint64_t hits;

	host_space(d, 0);
	host_local(d, 0, 0); /* tile 0: 2 rows of 8 bytes */
	host_arm(d, 0, 1);
	host_store(d, 0, 0, 1, 4);
	host_store(d, 0, 16, 1, 8);
	hits = host_counter(d, T3_COUNTER_TRACKER_HIT);
	assert_int_equal(host_counter(d, T3_COUNTER_TRACKER_LIVE), 1);
	host_store(d, 0, 0, 1, 8);
	host_expect_cpu_fault(d, 0, T3_FAULT_OVERSHOOT, 0, 0, 0);
	assert_int_equal(host_counter(d, T3_COUNTER_TRACKER_HIT), hits);
	assert_int_equal(host_counter(d, T3_COUNTER_STORES), 2);
	assert_int_equal(host_stats(d, 0, 0).stores, 2);
	host_free(host);
}

/* Also when the count is reached, and its entry is no longer in the tracker. */
TEST("a store into a complete tile overshoots")
{
	struct host *host = set_up();
	struct host_dev *d = &host->dev[0];

	host_store(d, 0, 8, 1, 4); /* tile 1: 2 rows of 4 bytes */
	host_store(d, 0, 24, 1, 4);
	assert_int_equal(host_counter(d, T3_COUNTER_TRACKER_LIVE), 0);
	host_store(d, 0, 24, 1, 4);
	host_expect_cpu_fault(d, 0, T3_FAULT_OVERSHOOT, 0, 1, 24);
	host_free(host);
}

static void bad_doorbell(uint32_t offset, uint64_t value, uint32_t size, uint32_t segment,
			 uint32_t tile)
{
	struct host *host = set_up();
	struct host_dev *d = &host->dev[0];

	host_doorbell(d, 0, offset, value, size);
	host_expect_cpu_fault(d, 0, T3_FAULT_BAD_DOORBELL, segment, tile, HOST_NONE64);
	host_free(host);
}

TEST("each bad doorbell faults")
{
	uint32_t none = HOST_NONE32;

	bad_doorbell(T3_DB_ARM, 2, 8, none, none);
	bad_doorbell(0xff8, 0, 8, none, none);
	bad_doorbell(T3_DB_TILE, T3_DB_TILE_VALUE(0, 0, 4), 8, 0, 4);
	bad_doorbell(T3_DB_TILE, T3_DB_TILE_VALUE(0, 0, 0xffffffff), 8, 0, 0xffffffff);
	bad_doorbell(T3_DB_TILE, T3_DB_TILE_VALUE(0, 1, 2), 8, 0, 2);		 /* no such slot */
	bad_doorbell(T3_DB_TILE, T3_DB_TILE_VALUE(0, T3_SEG_SLOTS, 2), 8, 0, 2); /* not slot 0 */
	bad_doorbell(T3_DB_TILE, T3_DB_TILE_VALUE(0, 0x80, 2), 8, 0, 2);
	bad_doorbell(T3_DB_TILE, T3_DB_TILE_VALUE(2, 0, 2), 8, 2, 2); /* no slots at all */
	bad_doorbell(T3_DB_TILE, T3_DB_TILE_VALUE(3, 0, 1), 8, none, 1);
	bad_doorbell(T3_DB_TILE, T3_DB_TILE_VALUE(64, 0, 1), 8, none, 1);
	bad_doorbell(T3_DB_TILE, T3_DB_TILE_VALUE(0, 0, 0) | 1ull << 48, 8, 0, 0);
	bad_doorbell(T3_DB_TILE, T3_DB_TILE_VALUE(0, 0, 0) | 1ull << 63, 8, 0, 0);
}

/* Its fields are looked at before the space's state. */
TEST("a bad doorbell is found in any state")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];

	host_space(d, 0);
	host_local(d, 0, 0);
	host_stage(d, 0, 0, 1);
	host_tile(d, 0, 0, 1, 2); /* there is no slot 1 */
	host_expect_cpu_fault(d, 0, T3_FAULT_BAD_DOORBELL, 0, 2, HOST_NONE64);
	host_free(host);
}

/* A remote tile whose slot has not been read yet. */
TEST("a doorbell for a slot that was not read faults")
{
	struct host *host = set_up();
	struct host_dev *d = &host->dev[0];

	t3_fabric_set_inline_budget(host->fabric, 0);
	host_tile(d, 0, 1, 0, 3);
	host_tile(d, 0, 1, 0, 2);
	assert_int_equal(host_state(d, 0), T3_SPACE_ARMED);
	assert_int_equal(host_area(d, 0)->consumed[1][0], 0);
	host_tile(d, 0, 1, 0, 3);
	host_expect_cpu_fault(d, 0, T3_FAULT_BAD_DOORBELL, 1, 3, HOST_NONE64);
	host_free(host);
}

/* A REMOTE segment of 65 rows of 8 f16 on a; nothing is drained between stores. */
static struct host *uncut(void)
{
	struct t3_cmd_seg_map from = host_segment(0, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_F16);
	struct t3_cmd_seg_map to = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_F16);

	from.rows = from.tile_rows = to.rows = to.tile_rows = 65;
	from.tile_row_bytes = 16;
	return host_pair(&from, &to, 0);
}

/* 64 slots for stores. The next store first does the pending work. */
TEST("a store on a full link does pending work first")
{
	struct host *host = uncut();
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	uint64_t start = t3_fabric_now(host->fabric);
	uint32_t i;

	for (i = 0; i < 64; i++)
		host_store(a, 0, i * 2, 0x3c00, 2);
	assert_int_equal(host_query(a, 0).in_flight, 64);
	assert_int_equal(t3_fabric_now(host->fabric), start);
	for (; i < 65 * 8; i++)
		host_store(a, 0, i * 2, 0x3c00, 2);
	host_expect(a, 0, T3_SPACE_ARMED, 1);
	host_drain(host);
	host_expect(a, 0, T3_SPACE_COMPLETE, 1);
	host_expect(b, 0, T3_SPACE_COMPLETE, 1);
	assert_int_equal(host_counter(a, T3_COUNTER_LINK_RETRIES), 0);
	for (i = 0; i < 65 * 8; i++)
		assert_int_equal(host_load(b, 0, i * 2, 2), 0x3c00);
	host_free(host);
}

/* The pending work ends the link. The store that finds it is dropped. */
TEST("a store that finds its link dead is dropped")
{
	struct host *host = uncut();
	struct host_dev *a = &host->dev[0];
	uint64_t start = t3_fabric_now(host->fabric);
	uint32_t i;

	host_inject(host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 1);
	for (i = 0; i < 64; i++)
		host_store(a, 0, i * 2, 0x3c00, 2);
	host_expect(a, 0, T3_SPACE_ARMED, 1);
	host_store(a, 0, i * 2, 0x3c00, 2);
	assert_int_equal(host_area(a, 0)->fault.kind, T3_FAULT_LINK);
	assert_int_equal(host_area(a, 0)->dropped, 1);
	assert_int_equal(t3_fabric_now(host->fabric) - start, 80000);
	assert_int_equal(host_counter(a, T3_COUNTER_LINK_DOWNS), 1);
	host_drain(host);
	assert_int_equal(host_query(a, 0).in_flight, 0);
	host_free(host);
}

/* A faulty driver overwrites the tile list in the counter table. */
TEST("an overwritten counter table faults")
{
	struct host *host = set_up();
	struct host_dev *d = &host->dev[0];
	struct t3_tile_record *record =
		(struct t3_tile_record *)(void *)(d->memory + HOST_COUNTERS) + 64;

	t3_fabric_set_inline_budget(host->fabric, 0);
	host_store(d, 0, 0x800, 1, 8);
	host_store(d, 0, 0x810, 1, 8);
	assert_int_equal(record[0].flags & T3_TILE_READY, T3_TILE_READY);
	record[0].flags = 0;
	host_drain(host);
	host_expect_cpu_fault(d, 0, T3_FAULT_COUNTER, 2, 0, HOST_NONE64);
	host_free(host);
	host = set_up();
	d = &host->dev[0];
	record = (struct t3_tile_record *)(void *)(d->memory + HOST_COUNTERS) + 64;
	t3_fabric_set_inline_budget(host->fabric, 0);
	host_fill(d, 0, 2, 1);
	record[0].next = 4; /* two more are behind it, tile 4 is not one of them */
	host_drain(host);
	host_expect_cpu_fault(d, 0, T3_FAULT_COUNTER, 2, 0, HOST_NONE64);
	host_free(host);
}

TEST("a failing write to host memory faults")
{
	struct host *host = set_up();
	struct host_dev *d = &host->dev[0];

	d->fail_after = 0;
	host_fill(d, 0, 2, 1); /* the segment word cannot be written */
	assert_int_equal(host_state(d, 0), T3_SPACE_FAULTED);
	assert_int_equal(host_area(d, 0)->state >> 32, T3_SPACE_ARMED); /* out of date */
	assert_int_equal(host_reg(d, T3_REG_ERROR_STATUS), T3_ERROR_HOST_DMA);
	d->fail_after = HOST_NONE32;
	host_store(d, 0, 0, 1, 4); /* mute until RESET */
	assert_int_equal(host_area(d, 0)->dropped, 0);
	host_space_command(d, T3_CMD_SPACE_RESET, 0);
	host_expect(d, 0, T3_SPACE_IDLE, 0);
	host_free(host);
}

/* The page cannot be reached from the start. The space faults at once, and CREATE succeeds. */
TEST("a host page out of reach faults the new space")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct t3_cmd_space_create cmd = host_space_args(0);

	cmd.event_area = HOST_BUS - T3_PAGE_SIZE;
	assert_int_equal(host_command(d, T3_CMD_SPACE_CREATE, &cmd, sizeof(cmd)), T3_ADMIN_OK);
	assert_int_equal(host_query(d, 0).state, T3_SPACE_FAULTED);
	assert_int_equal(host_reg(d, T3_REG_ERROR_STATUS), T3_ERROR_HOST_DMA);
	assert_int_equal(host_counter(d, T3_COUNTER_FAULTS), 1);
	host_destroy(d, 0);
	host_free(host);
}
