/* SPDX-License-Identifier: MIT */
/* Too little memory, and memory that changes in the middle of an update. */
#include "queue.h"
#include "space/space_private.h"
#include "test.h"

/* A request that no machine can serve must fail, not end the program. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static bool no_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
	(void)opaque;
	(void)addr;
	(void)buf;
	(void)len;
	return false;
}

static void no_irq(void *opaque, uint32_t vector)
{
	(void)opaque;
	(void)vector;
}

TEST("a device is refused where memory is short")
{
	static const struct t3_host_ops ops = { .dma_write = no_write, .irq = no_irq };
	struct t3_dev_config config = {
		.memory_size = T3_PAGE_SIZE,
		.aperture_size = 1ull << 62, /* its page table is 2^51 bytes */
		.tracker_entries = 8,
		.tracker_ways = 8,
	};
	uint8_t memory[T3_PAGE_SIZE];
	struct t3_dev *dev;

	assert_null(t3_dev_new(&config, memory, &ops, NULL));
	config.aperture_size = T3_PAGE_SIZE;
	dev = t3_dev_new(&config, memory, &ops, NULL);
	assert_non_null(dev);
	t3_dev_free(dev);
}

/* As a guest's kernel could do while the device works: the next tile has enough updates. */
static void fill_next_record(void *opaque, uint32_t space, uint32_t segment, uint32_t tile)
{
	struct host_dev *d = opaque;
	struct t3_tile_record record = { .epoch = 1, .count = 16, .next = T3_TILE_NONE };
	uint64_t at = HOST_COUNTER_BASE(space) + (segment * 32 + tile + 1) * sizeof(record);

	memcpy(d->memory + at, &record, sizeof(record));
}

/* A packet over two tiles, which both had room when it was looked at. */
TEST("a record that changes during a packet is safe")
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	struct t3_cmd_seg_map map = host_segment(1, 0, T3_SEG_DMA, T3_OP_ADD, T3_DTYPE_I32);
	uint32_t i;

	host_space(a, 1);
	host_space(b, 1);
	host_connect(a, b, 1);
	map.rows = map.tile_rows = 1;
	map.tile_row_bytes = 16;
	host_map(a, &map);
	host_local(b, 1, 0); /* tiles of 2 x 8 bytes */
	host_arm(b, 1, 1);
	host_arm(a, 1, 1);
	b->dev->ops.trace_trigger = fill_next_record;
	for (i = 0; i < 8; i += 4)
		host_store(b, 1, i + 16, 5, 4); /* row 1 of the first tile */
	for (i = 0; i < 16; i += 4)
		host_store(a, 1, i, 7, 4);
	host_expect_cpu_fault(b, 1, T3_FAULT_COUNTER, 0, 1, HOST_NONE64);
	host_free(host);
}

/* A record that changes after the device's first read of it, which found a valid count. */
struct meddler {
	uint8_t *record;
	uint64_t at;
	uint32_t looks;
};

static void meddle(void *opaque, uint64_t offset, uint64_t len)
{
	static const struct t3_tile_record much = { .epoch = 1,
						    .count = 1000,
						    .next = T3_TILE_NONE };
	struct meddler *m = opaque;

	(void)len;
	if (offset == m->at && ++m->looks == 2)
		memcpy(m->record, &much, sizeof(much));
}

static void look_on(void *opaque, uint64_t offset, uint64_t len)
{
	(void)opaque;
	(void)offset;
	(void)len;
}

TEST("a record that changes during a store is safe")
{
	static const struct t3_mem_watch watch = { meddle, look_on };
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct meddler m = { d->memory + HOST_COUNTER_BASE(1), HOST_COUNTER_BASE(1), 0 };
	uint32_t i;

	host_space(d, 1);
	host_local(d, 1, 0);
	host_arm(d, 1, 1);
	t3_dev_watch(d->dev, &watch, &m);
	host_store(d, 1, 0, 1, 4);
	t3_dev_watch(d->dev, NULL, NULL);
	assert_int_equal(m.looks, 2);
	assert_null(t3_fabric_check(host->fabric));
	assert_int_equal(host_counter(d, T3_COUNTER_TRACKER_FILL), 0);
	host_store(d, 1, 4, 1, 4);
	for (i = 8; i < 64; i += 8)
		host_store(d, 1, i, 1, 8);
	host_expect(d, 1, T3_SPACE_COMPLETE, 1);
	host_free(host);
}

/* The queue is ERROR already when the completion of its abort cannot be written. */
TEST("an abort without host memory keeps the error")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct t3_descriptor wait = queue_wait(3, 1);
	struct queue q = queue_new(d, 2, 0);

	queue_submit(&q, &wait);
	host_drain(host);
	host_set(d, T3_REG_QUEUE_TAIL + 4 * q.id, QUEUE_ENTRIES + 1, 4);
	queue_expect_state(&q, T3_QUEUE_ERROR, 0, T3_DESC_OVERRUN);
	d->fail_after = 0;
	queue_abort(&q); /* the host's trace callback takes no step from ERROR to ERROR */
	d->fail_after = HOST_NONE32;
	queue_expect_state(&q, T3_QUEUE_READY, QUEUE_ENTRIES + 1, T3_DESC_OK);
	host_free(host);
}
