// SPDX-License-Identifier: MIT
/* SPEC.md 3.3: how often stores, doorbells and packets count in the tracker. */
#include "conf.h"
#include "pair.h"

CONF_SECTION("3.3", "uses of the tracker");

/* Every use is a HIT or an ALLOC. */
static void check_uses(struct conf *c, struct conf_device *d, uint64_t alloc, uint64_t hit)
{
	CHECK_EQUAL(c, "ALLOC", conf_counter(d, T3_COUNTER_TRACKER_ALLOC), alloc);
	CHECK_EQUAL(c, "HIT", conf_counter(d, T3_COUNTER_TRACKER_HIT), hit);
}

/* Two tiles of 4 rows of 16 bytes. A doorbell is 16 updates, and still one use of its tile. */
TEST("a doorbell counts once for its tile")
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_seg_staging staging;
	struct t3_cmd_seg_map segment;
	struct conf_space s;

	conf_space_create(c, d, &s, 2 * T3_PAGE_SIZE, 2);
	segment = conf_segment(&s, 0);
	segment.rows = segment.tile_rows = 4;
	segment.row_bytes = segment.pitch = 32;
	segment.tile_row_bytes = 16;
	segment.updates = 2;
	conf_map(c, &s, &segment);
	staging = (struct t3_cmd_seg_staging){ .space = s.args.space,
					       .address = s.args.buffer + T3_PAGE_SIZE,
					       .slot_stride = 128,
					       .slots = 1 };
	ADMIN(c, d, T3_CMD_SEG_STAGING, &staging);
	conf_arm_wait(c, &s, 1);
	conf_tile(&s, 0, 0, 0);
	check_uses(c, d, 1, 0);
	conf_tile(&s, 0, 0, 1);
	check_uses(c, d, 2, 0);
	conf_tile(&s, 0, 0, 0);
	check_uses(c, d, 2, 1);
	conf_tile(&s, 0, 0, 1);
	check_uses(c, d, 2, 2);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
}

/* One packet of 64 bytes reaches 1, 2, 4 or 8 tiles of the target, which take two updates. */
TEST("a packet counts once for each tile that it touches", .rows = 4, .devices = 2)
{
	uint32_t tiles = 1u << row;
	struct pair pair;

	pair_prepare(c, &pair, T3_SEG_DMA);
	pair.from.tile_row_bytes = 64;
	pair.to.tile_row_bytes = 64 / tiles;
	pair.to.updates = 2;
	pair_map(c, &pair);
	pair_arm(c, &pair, 1);
	pair_store(&pair.source, 0);
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
	check_uses(c, pair.source.dev, 1, 7);
	check_uses(c, pair.target.dev, tiles, 0);
	pair_store(&pair.target, 0);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
	check_uses(c, pair.target.dev, tiles, 8);
}
