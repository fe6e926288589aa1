/* SPDX-License-Identifier: MIT */
/* Invariants, and spaces to work on. */
#include "group.h"
#include "queue/queue.h"
#include "world.h"

#define IN_FLIGHT_MAX (T3_LINK_SLOTS * T3_MAX_RANKS + T3_SPACE_ROUTES + T3_SPACE_IMPORTS)

/* -------------------------------------------------------------- invariants */

static void check_spaces(const struct t3_dev *dev)
{
	uint32_t s, segments = 0;

	for (s = 0; s < T3_MAX_SPACES; s++) {
		const struct t3_space *space = &t3_spaces(dev)->space[s];

		if (!t3_space_used(dev, s))
			continue;
		assert_in_range(space->state, T3_SPACE_FREE + 1, T3_SPACE_QUIESCED);
		assert_true(space->in_flight <= IN_FLIGHT_MAX);
		assert_true(space->seg_count <= T3_SPACE_SEGMENTS);
		segments += space->seg_count;
	}
	assert_int_equal(segments + t3_spaces(dev)->free_segments, T3_MAX_SEGMENTS);
}

static void check_queues(const struct t3_dev *dev)
{
	uint32_t i;

	for (i = 0; i < T3_MAX_QUEUES; i++) {
		const struct t3_queue *q = &t3_queues(dev)->queue[i];

		assert_true(q->state <= T3_QUEUE_ERROR);
		if (q->state == T3_QUEUE_READY)
			assert_true(q->tail - q->head <= q->entries);
		if (q->state == T3_QUEUE_FREE)
			assert_int_equal(q->phase, T3_PHASE_NONE);
	}
}

/* Not through registers: each access also runs events. */
static void check_device(const struct t3_dev *dev)
{
	uint64_t live = dev->counter[T3_COUNTER_TRACKER_LIVE];
	uint32_t entries = dev->config.tracker_entries, used = 0, i;

	for (i = 0; i < entries; i++)
		used += t3_spaces(dev)->tracker.entry[i].segment != NULL;
	assert_int_equal(live, used);
	assert_true(dev->counter[T3_COUNTER_TRACKER_PEAK] >= live);
	assert_true(dev->counter[T3_COUNTER_TRACKER_PEAK] <= entries);
	check_spaces(dev);
	check_queues(dev);
}

static void check_heap(const struct t3_heap *heap)
{
	uint32_t i;

	assert_true(heap->count <= heap->capacity);
	for (i = 0; i < heap->count; i++) {
		assert_int_equal(heap->slot[i]->pos, i + 1);
		assert_true(!i || heap->slot[(i - 1) / 2]->time <= heap->slot[i]->time);
	}
}

static void check_links(const struct t3_fabric *fabric)
{
	uint32_t a, b;

	for (a = 0; a <= T3_SWITCH_RANK; a++)
		for (b = 0; b <= T3_SWITCH_RANK; b++) {
			const struct t3_link *link = fabric->link[a][b];

			if (!link)
				continue;
			assert_true(link->una <= link->next);
			assert_true(link->next - link->una <= T3_LINK_SLOTS);
			assert_true(link->resp_count <= T3_LINK_RESPONSES);
		}
}

void world_check_free(const struct host *host)
{
	uint32_t r, s;

	for (r = 0; r < host->ranks; r++) {
		const struct t3_spaces *spaces = t3_spaces(host->dev[r].dev);

		for (s = 0; s < T3_MAX_SPACES; s++) {
			assert_int_equal(t3_space_used(&spaces->dev, s),
					 spaces->space[s].state != T3_SPACE_FREE);
			assert_int_equal(spaces->slots[s / 32] >> s % 32 & 1,
					 spaces->space[s].dev != NULL);
		}
	}
}

void world_check(struct host *host)
{
	const char *broken = t3_fabric_check(host->fabric);
	uint32_t r;

	if (broken)
		fail_msg("%s", broken);
	check_heap(&host->fabric->clock.heap);
	check_links(host->fabric);
	for (r = 0; r < host->ranks; r++)
		check_device(host->dev[r].dev);
}

/* ------------------------------------------------------------ good company */

static void build_segments(struct host_dev *d, uint32_t space, uint32_t dtype, uint32_t updates)
{
	static const uint32_t kinds[] = { T3_SEG_LOCAL, T3_SEG_DMA, T3_SEG_REMOTE };
	uint32_t i;

	for (i = 0; i < 3; i++) {
		struct t3_cmd_seg_map map = host_segment(space, i, kinds[i], T3_OP_ADD, dtype);
		struct t3_cmd_seg_staging staging = {
			space, i, HOST_STAGING_BASE(space) + i * 0x4000, 0x400, 2, 0,
		};

		struct t3_cmd_seg_widen widen = {
			space, i, HOST_STAGING_BASE(space) + 0x20000 + i * 0x4000, 1, 0,
		};

		map.updates = updates;
		if (kinds[i] != T3_SEG_LOCAL)
			map.target_segment = i - 1;
		host_command(d, T3_CMD_SEG_MAP, &map, sizeof(map));
		host_command(d, T3_CMD_SEG_STAGING, &staging, sizeof(staging));
		if (dtype == T3_DTYPE_BF16 && kinds[i] != T3_SEG_REMOTE)
			host_command(d, T3_CMD_SEG_WIDEN, &widen, sizeof(widen));
	}
}

static void build_grant(struct host *host, uint32_t rank, uint32_t space)
{
	uint32_t next = (rank + 1) % host->ranks;
	struct host_dev *from = &host->dev[rank], *to = &host->dev[next];
	struct t3_cmd_route_set route = { space, 0, next, space, 0, 0 };
	struct t3_cmd_import_set import = { space, 0, rank, space, 0, 15, HOST_NONE64 };

	route.peer_generation = host_query(to, space).generation;
	import.src_generation = host_query(from, space).generation;
	host_command(from, T3_CMD_ROUTE_SET, &route, sizeof(route));
	host_command(to, T3_CMD_IMPORT_SET, &import, sizeof(import));
}

void world_build(struct host *host, uint32_t space, uint32_t dtype, uint32_t updates)
{
	uint32_t r;

	for (r = 0; r < host->ranks; r++) {
		struct t3_cmd_space_create cmd = host_space_args(space);

		host_command(&host->dev[r], T3_CMD_SPACE_CREATE, &cmd, sizeof(cmd));
	}
	for (r = 0; r < host->ranks; r++)
		build_grant(host, r, space);
	for (r = 0; r < host->ranks; r++)
		build_segments(&host->dev[r], space, dtype, updates);
}

void world_arm(struct host *host, uint32_t space)
{
	uint32_t r;

	for (r = 0; r < host->ranks; r++)
		host_arm(&host->dev[r], space, host_query(&host->dev[r], space).epoch + 1);
}

void world_reset(struct host *host)
{
	uint32_t r, space;

	for (r = 0; r < host->ranks; r++) {
		t3_dev_reset(host->dev[r].dev);
		for (space = 0; space <= GROUP_HEARER; space++)
			memset(host->dev[r].memory + HOST_COUNTER_BASE(space), 0,
			       HOST_COUNTER_COUNT * sizeof(struct t3_tile_record));
	}
}
