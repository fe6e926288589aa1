// SPDX-License-Identifier: MIT
#include "reduce.h"

unsigned reduce_ring(struct conf *c)
{
	unsigned count = conf_devices(c);

	if (conf_device(c, 0)->topology == T3_TOPOLOGY_RING && count < conf_device(c, 0)->ranks)
		conf_skip(c, "needs all %u ranks of the ring", conf_device(c, 0)->ranks);
	return count;
}

/* Chunk k starts as REMOTE at the device after its owner k, and ends at k as LOCAL. */
struct t3_cmd_seg_map reduce_segment(const struct conf_space *s, unsigned device, unsigned count,
				     unsigned chunk)
{
	struct t3_cmd_seg_map segment = conf_segment(s, chunk);

	segment.offset = 64 * chunk;
	segment.counter_base = 2 * chunk;
	if (device == chunk) {
		segment.updates = 2;
	} else if (device == (chunk + 1) % count) {
		segment.kind = T3_SEG_REMOTE;
		segment.op = segment.init = 0;
	} else {
		segment.kind = T3_SEG_DMA;
		segment.updates = 2;
	}
	if (device != chunk) {
		segment.routes = 1;
		segment.target_op = T3_OP_ADD;
		segment.target_segment = chunk;
	}
	return segment;
}

void reduce_setup(struct conf *c, struct conf_space *spaces, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		conf_space_create(c, conf_device(c, i), &spaces[i], T3_PAGE_SIZE, 2 * count);
	for (unsigned i = 0; i < count; i++)
		conf_connect(c, &spaces[i], 0, &spaces[(i + 1) % count], 0);
	for (unsigned i = 0; i < count; i++)
		for (unsigned chunk = 0; chunk < count; chunk++) {
			struct t3_cmd_seg_map segment = reduce_segment(&spaces[i], i, count, chunk);

			conf_map(c, &spaces[i], &segment);
		}
}

void reduce_arm(struct conf *c, struct conf_space *spaces, unsigned count, uint32_t epoch)
{
	for (unsigned i = 0; i < count; i++)
		conf_arm(&spaces[i], epoch);
	for (unsigned i = 0; i < count; i++)
		conf_wait_state(c, &spaces[i], T3_SPACE_ARMED, epoch);
}

uint32_t reduce_value(unsigned i, unsigned chunk, uint32_t j, uint32_t epoch)
{
	return epoch + 1000 * i + 64 * chunk + j;
}

uint32_t reduce_sum(unsigned count, unsigned chunk, uint32_t j, uint32_t epoch)
{
	return count * (epoch + 64 * chunk + j) + 1000 * count * (count - 1) / 2;
}

void reduce_store(struct conf_space *spaces, unsigned count, uint32_t epoch)
{
	for (unsigned i = 0; i < count; i++)
		for (unsigned step = 1; step <= count; step++) {
			unsigned chunk = (i + count - step) % count;

			for (uint32_t j = 0; j < 16; j++)
				conf_store(&spaces[i], 64 * chunk + 4 * j, 4,
					   reduce_value(i, chunk, j, epoch));
		}
}

void reduce_run(struct conf *c, struct conf_space *spaces, unsigned count, uint32_t epoch)
{
	reduce_store(spaces, count, epoch);
	for (unsigned i = 0; i < count; i++)
		conf_wait_state(c, &spaces[i], T3_SPACE_COMPLETE, epoch);
	for (unsigned k = 0; k < count; k++)
		for (uint32_t j = 0; j < 16; j++)
			CHECK_EQUAL(c, "sum", conf_buffer(&spaces[k], 64 * k + 4 * j, 4),
				    reduce_sum(count, k, j, epoch));
	for (unsigned i = 0; i < count; i++)
		conf_release(&spaces[i], epoch);
}
