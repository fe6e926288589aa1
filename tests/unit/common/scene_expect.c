/* SPDX-License-Identifier: MIT */
/* The expected buffers and counters at the end of a scene. */
#include "ref.h"
#include "scene.h"

void scene_expect_buffer(struct scene *scene, uint32_t rank, uint32_t epoch)
{
	const uint8_t *got = host_buffer(&scene->host->dev[rank], scene->space[rank]);
	const uint8_t *want = scene->model[epoch][rank];
	uint32_t i;

	for (i = 0; i < SCENE_BYTES; i++)
		if (got[i] != want[i])
			fail_msg("rank %u epoch %u byte %#x: %#x, want %#x", rank, epoch, i, got[i],
				 want[i]);
}

static uint64_t expect_segment(struct scene *scene, const struct scene_segment *s)
{
	struct host_dev *d = &scene->host->dev[s->rank];
	struct t3_cmd_seg_stats stats = host_stats(d, scene->space[s->rank], s->map.segment);
	uint64_t bytes = (uint64_t)s->map.rows * s->map.row_bytes * SCENE_EPOCHS;
	bool remote = s->map.kind == T3_SEG_REMOTE;

	assert_int_equal(stats.stores, s->stores);
	assert_int_equal(stats.doorbells, s->doorbells);
	assert_int_equal(stats.local_bytes, bytes * s->local);
	assert_int_equal(stats.remote_bytes, bytes * s->incoming);
	assert_int_equal(stats.tiles, s->tiles);
	assert_int_equal(stats.tiles_tracked, s->tiles);
	assert_int_equal(stats.triggers, s->tiles * SCENE_EPOCHS);
	assert_int_equal(stats.dma_bytes, s->map.kind == T3_SEG_DMA ? bytes * scene_fan_out(s) : 0);
	assert_int_equal(stats.nmc_elements,
			 remote || s->map.op == T3_OP_STORE
				 ? 0
				 : bytes * s->map.updates / ref_size(s->map.dtype));
	host_expect_word(d, scene->space[s->rank], s->map.segment,
			 T3_SEG_WORD_TRACKED | T3_SEG_WORD_DELIVERED | SCENE_EPOCHS);
	return stats.triggers;
}

void scene_expect_counts(struct scene *scene)
{
	uint64_t triggers[SCENE_RANKS] = { 0 };
	uint32_t i, r;

	for (i = 0; i < scene->count; i++)
		triggers[scene->segment[i].rank] += expect_segment(scene, &scene->segment[i]);
	for (r = 0; r < scene->ranks; r++) {
		struct host_dev *d = &scene->host->dev[r];
		uint32_t shape = host_reg(d, T3_REG_TRACKER);

		assert_int_equal(host_counter(d, T3_COUNTER_TRIGGERS), triggers[r]);
		assert_int_equal(host_counter(d, T3_COUNTER_TRACKER_LIVE), 0);
		assert_true(host_counter(d, T3_COUNTER_TRACKER_PEAK) <= shape >> 8);
		assert_int_equal(host_counter(d, T3_COUNTER_FAULTS), 0);
		assert_int_equal(host_counter(d, T3_COUNTER_NAKS), 0);
		assert_int_equal(host_counter(d, T3_COUNTER_DROPPED), 0);
		assert_int_equal(host_query(d, scene->space[r]).in_flight, 0);
	}
}
