/* SPDX-License-Identifier: MIT */
/*
 * What an event may cost the host: the tiles that a packet touches count against the
 * budget of the run; memory that is prepared is reported in few calls.
 */
#include "host.h"
#include "space/space_private.h"
#include "test.h"

#define PACKETS	 16u
#define ROW	 1024u
#define COUNTERS 0x100000u /* behind a buffer as large as the aperture */

/* Each packet of the source is a row of the target, in tiles of so many bytes. */
struct shape {
	uint32_t tile_row_bytes;
};

static void space(struct host_dev *d, const struct t3_cmd_seg_map *map)
{
	struct t3_cmd_space_create args = host_space_args(0);

	args.aperture_offset = args.buffer = 0;
	args.size = HOST_APERTURE;
	args.counters = COUNTERS;
	assert_int_equal(host_command(d, T3_CMD_SPACE_CREATE, &args, sizeof(args)), T3_ADMIN_OK);
	if (map->kind == T3_SEG_LOCAL)
		host_map(d, map);
}

static struct host *set_up(const struct shape *shape)
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_DMA, T3_OP_ADD, T3_DTYPE_I32);
	struct t3_cmd_seg_map local = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	struct t3_cmd_seg_staging staging = { 0, 0, HOST_STAGING, HOST_STAGING, 1, 0 };

	map.rows = PACKETS;
	map.tile_rows = 1;
	map.row_bytes = map.pitch = map.tile_row_bytes = ROW;
	local.rows = local.tile_rows = PACKETS;
	local.row_bytes = local.pitch = ROW;
	local.tile_row_bytes = shape->tile_row_bytes;
	space(a, &map);
	space(b, &local);
	host_connect(a, b, 0);
	host_map(a, &map);
	assert_int_equal(host_command(a, T3_CMD_SEG_STAGING, &staging, sizeof(staging)),
			 T3_ADMIN_OK);
	host_arm(b, 0, 1);
	host_arm(a, 0, 1);
	return host;
}

static void send_all(struct host *host)
{
	uint32_t tile;

	t3_fabric_set_inline_budget(host->fabric, 0);
	for (tile = 0; tile < PACKETS; tile++)
		host_tile(&host->dev[0], 0, 0, 0, tile);
}

/* So many events are all there are; one by one, as the last takes what is left. */
static uint32_t count_events(const struct shape *shape)
{
	struct host *host = set_up(shape);
	uint32_t events = 1;

	send_all(host);
	while (t3_fabric_run(host->fabric, 1))
		events++;
	host_free(host);
	return events;
}

/* 4096 bytes count as an event; a tile as 256 bytes more. Less is kept for the next one. */
TEST("the tiles of a packet count against the budget")
{
	static const struct shape shapes[] = { { 1024 }, { 512 }, { 4 } };
	uint32_t i;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		uint32_t tiles = ROW / shapes[i].tile_row_bytes;
		uint32_t more = PACKETS * (ROW + tiles * 256) / 4096;
		uint32_t events = count_events(&shapes[i]);
		struct host *host = set_up(&shapes[i]);

		send_all(host);
		assert_true(t3_fabric_run(host->fabric, events + more - 1));
		host_free(host);
		host = set_up(&shapes[i]);
		send_all(host);
		assert_false(t3_fabric_run(host->fabric, events + more));
		assert_int_equal(host_counter(&host->dev[1], T3_COUNTER_FAULTS), 0);
		host_expect(&host->dev[1], 0, T3_SPACE_COMPLETE, 1);
		host_free(host);
	}
}

/* ------------------------------------------------------------------ reports */

struct reports {
	uint32_t dirty;
	uint64_t bytes, stored;
};

static void count_dirty(void *opaque, uint64_t offset, uint64_t len)
{
	struct reports *r = opaque;

	if (offset < COUNTERS) {
		r->dirty++;
		r->bytes += len;
	}
}

static void count_stored(void *opaque, uint64_t offset, uint64_t len)
{
	struct reports *r = opaque;

	if (offset < COUNTERS)
		r->stored += len;
}

static void ignore(void *opaque, uint64_t offset, uint64_t len)
{
	(void)opaque;
	(void)offset;
	(void)len;
}

/* 16 rows of 8 bytes are armed, and get a first store. */
static struct reports armed(uint32_t pitch)
{
	static const struct t3_mem_watch watch = { ignore, count_stored };
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct reports r = { 0 };

	map.rows = map.tile_rows = 16;
	map.row_bytes = map.tile_row_bytes = 8;
	map.pitch = pitch;
	space(d, &map);
	t3_spaces(d->dev)->space[0].mute = true; /* words would go to the host, who is not there */
	d->dev->ops.dirty = count_dirty;
	d->dev->opaque = &r;
	t3_dev_watch(d->dev, &watch, &r);
	t3_epoch_arm(&t3_spaces(d->dev)->space[0], 1);
	t3_aperture_write(d->dev, 0, 1, 4);
	d->dev->opaque = d;
	host_free(host);
	return r;
}

/*
 * Rows on the same pages are one report; rows on pages of their own are each their own,
 * or all pages between would be sent in a migration. A record names what was stored alone.
 */
TEST("rows on the same pages are one report")
{
	struct reports near = armed(T3_PAGE_SIZE), far = armed(T3_PAGE_SIZE + 4);

	assert_int_equal(near.dirty, 1 + 1);
	assert_int_equal(near.bytes, 15 * T3_PAGE_SIZE + 8 + 4);
	assert_int_equal(near.stored, 16 * 8 + 4);
	assert_int_equal(far.dirty, 16 + 1);
	assert_int_equal(far.bytes, 16 * 8 + 4);
	assert_int_equal(far.stored, 16 * 8 + 4);
}
