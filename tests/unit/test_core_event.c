/* SPDX-License-Identifier: MIT */
/*
 * The event area: what is written when, in the order tile data, segment word, state, interrupt
 * (SPEC.md section 2.3).
 */
#include "host.h"
#include "test.h"

#define WORD(index) (offsetof(struct t3_event_area, segment) + 8 * (index))
#define DONE(epoch) (T3_SEG_WORD_TRACKED | T3_SEG_WORD_DELIVERED | (epoch))

static void expect_write(const struct host_log *entry, size_t offset, size_t len)
{
	assert_int_equal(entry->kind, HOST_LOG_WRITE);
	assert_int_equal(entry->offset, offset);
	assert_int_equal(entry->len, len);
}

/* Two LOCAL segments in space 0 of a lone device, interrupts on. */
static struct host *set_up(void)
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];

	host_space(d, 0);
	host_local(d, 0, 0);
	host_local(d, 0, 5);
	host_stage(d, 0, 5, 4);
	host_set(d, T3_REG_SPACE_ENABLE, 1, 4);
	host_set(d, T3_REG_SPACE_PENDING, 1, 4);
	d->logged = 0;
	return host;
}

static void news_read(struct host_dev *d)
{
	host_set(d, T3_REG_SPACE_PENDING, 1, 4);
	d->logged = 0;
}

TEST("a new space clears the whole event page")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct t3_event_area want;

	memset(d->pages, 0xff, T3_PAGE_SIZE);
	memset(&want, 0, sizeof(want));
	want.state = (uint64_t)T3_SPACE_IDLE << 32;
	want.generation = host_space(d, 0);
	assert_memory_equal(d->pages, &want, sizeof(want));
	assert_int_equal(d->logged, 1);
	assert_int_equal(host_reg(d, T3_REG_SPACE_PENDING), 1);
	memset(d->pages, 0xff, T3_PAGE_SIZE);
	host_set(d, T3_REG_SPACE_PENDING, 1, 4);
	host_space_command(d, T3_CMD_SPACE_RESET, 0);
	want.generation++;
	assert_memory_equal(d->pages, &want, sizeof(want));
	assert_int_equal(host_reg(d, T3_REG_SPACE_PENDING), 1);
	host_free(host);
}

/* ARM and RELEASE: one word, then the interrupt, and segment words stay. */
TEST("a change of state writes one word and interrupts")
{
	struct host *host = set_up();
	struct host_dev *d = &host->dev[0];

	host_arm(d, 0, 3);
	assert_int_equal(d->logged, 3);
	expect_write(&d->log[0], 0, 8); /* ARMING */
	assert_int_equal(d->log[1].kind, HOST_LOG_IRQ);
	expect_write(&d->log[2], 0, 8); /* ARMED; PENDING was set */
	host_expect(d, 0, T3_SPACE_ARMED, 3);
	host_fill(d, 0, 0, 1);
	host_fill(d, 0, 5, 1);
	host_expect(d, 0, T3_SPACE_COMPLETE, 3);
	news_read(d);
	host_release(d, 0, 3);
	assert_int_equal(d->logged, 2);
	expect_write(&d->log[0], 0, 8);
	assert_int_equal(d->log[1].kind, HOST_LOG_IRQ);
	host_arm(d, 0, 4);
	host_expect_word(d, 0, 0, DONE(3)); /* of the epoch that is over */
	host_fill(d, 0, 0, 1);
	host_expect_word(d, 0, 0, DONE(4));
	host_expect_word(d, 0, 5, DONE(3));
	host_free(host);
}

TEST("data, segment word, state and interrupt come in this order")
{
	struct host *host = set_up();
	struct host_dev *d = &host->dev[0];

	host_arm(d, 0, 1);
	host_fill(d, 0, 5, 0x11);
	d->watch = 56; /* the last element of segment 0 */
	news_read(d);
	host_fill(d, 0, 0, 0x22);
	assert_int_equal(d->logged, 3);
	expect_write(&d->log[0], WORD(0), 8);
	expect_write(&d->log[1], 0, 8);
	assert_int_equal(d->log[2].kind, HOST_LOG_IRQ);
	assert_int_equal(d->log[0].seen, 0x2200000022ull);
	host_expect(d, 0, T3_SPACE_COMPLETE, 1);
	host_free(host);
}

/* A segment that completes alone: word, then interrupt. The other words do not change. */
TEST("a segment that completes alone changes its word alone")
{
	struct host *host = set_up();
	struct host_dev *d = &host->dev[0];

	host_arm(d, 0, 1);
	news_read(d);
	host_fill(d, 0, 5, 1);
	assert_int_equal(d->logged, 2);
	expect_write(&d->log[0], WORD(5), 8);
	assert_int_equal(d->log[1].kind, HOST_LOG_IRQ);
	host_expect_word(d, 0, 5, DONE(1));
	host_expect_word(d, 0, 0, 0);
	host_expect(d, 0, T3_SPACE_ARMED, 1);
	host_free(host);
}

/* `consumed` is a word of its own, after the data, without an interrupt. */
TEST("the count of a slot is written after its data")
{
	struct host *host = set_up();
	struct host_dev *d = &host->dev[0];
	uint32_t slot;

	host_arm(d, 0, 1);
	for (slot = 0; slot < 4; slot++) {
		size_t offset = offsetof(struct t3_event_area, consumed) + (5 * 4 + slot) * 4;

		memset(host_slot(d, 0, 5, slot), 1 + (int)slot, 0x100);
		d->watch = 5 * 0x400 + slot / 2 * 32 + slot % 2 * 8;
		news_read(d);
		host_tile(d, 0, 5, slot, slot);
		expect_write(&d->log[0], offset, 4);
		assert_int_equal(d->log[0].seen, 0x0101010101010101ull * (1 + slot));
		assert_int_equal(host_area(d, 0)->consumed[5][slot], 1);
		assert_int_equal(host_area(d, 0)->consumed[0][slot], 0);
		if (slot < 3)
			assert_int_equal(d->logged, 1);
	}
	host_expect_word(d, 0, 5, DONE(1));
	host_free(host);
}

/* The counters of slots go on over epochs and start again at RESET. */
TEST("the counts of slots go on over epochs until a reset")
{
	struct host *host = set_up();
	struct host_dev *d = &host->dev[0];
	uint32_t epoch, tile;

	for (epoch = 1; epoch <= 3; epoch++) {
		host_arm(d, 0, epoch);
		for (tile = 0; tile < 4; tile++)
			host_tile(d, 0, 5, 1, tile);
		host_fill(d, 0, 0, 1);
		assert_int_equal(host_area(d, 0)->consumed[5][1], 4 * epoch);
		host_release(d, 0, epoch);
	}
	host_space_command(d, T3_CMD_SPACE_RESET, 0);
	host_arm(d, 0, 1);
	host_tile(d, 0, 5, 1, 0);
	assert_int_equal(host_area(d, 0)->consumed[5][1], 1);
	host_free(host);
}

/* Tracked and delivered apart: the answers of the peer come later. */
TEST("a segment is tracked first and delivered later")
{
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_DMA, T3_OP_ADD, T3_DTYPE_I32);
	struct host *host = host_pair(&map, NULL, 0);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];

	host_fill(a, 0, 0, 3);
	host_expect_word(a, 0, 0, T3_SEG_WORD_TRACKED | 1);
	host_expect(a, 0, T3_SPACE_ARMED, 1);
	assert_true(host->kicks > 0);
	while (host_area(b, 0)->segment[0] == 0) {
		host_expect_word(a, 0, 0, T3_SEG_WORD_TRACKED | 1);
		assert_true(t3_fabric_run(host->fabric, 1));
	}
	host_expect_word(a, 0, 0, T3_SEG_WORD_TRACKED | 1); /* applied, not answered yet */
	host_drain(host);
	host_expect_word(a, 0, 0, DONE(1));
	host_expect_word(b, 0, 0, DONE(1));
	host_expect(a, 0, T3_SPACE_COMPLETE, 1);
	host_free(host);
}

/* Record, count, state, interrupt: a reader of FAULTED can read the reason. */
TEST("record, count, state and interrupt of a fault come in this order")
{
	struct host *host = set_up();
	struct host_dev *d = &host->dev[0];

	host_store(d, 0, 0, 1, 4);
	assert_int_equal(d->logged, 5);
	expect_write(&d->log[0], offsetof(struct t3_event_area, fault),
		     sizeof(struct t3_fault_record));
	expect_write(&d->log[1], offsetof(struct t3_event_area, ring),
		     sizeof(struct t3_fault_record));
	expect_write(&d->log[2], offsetof(struct t3_event_area, faults), 4);
	expect_write(&d->log[3], 0, 8);
	assert_int_equal(d->log[4].kind, HOST_LOG_IRQ);
	d->logged = 0;
	host_store(d, 0, 0, 1, 4);
	assert_int_equal(d->logged, 1);
	expect_write(&d->log[0], offsetof(struct t3_event_area, dropped), 8);
	host_free(host);
}

/* Fault k is a read at byte k of a remote segment. The first is kept, and 16 more. */
TEST("the ring keeps the first fault and the last 16")
{
	struct host *host = host_ring(2);
	struct host_dev *d = &host->dev[0];
	const struct t3_event_area *area = host_area(d, 0);
	struct t3_cmd_seg_map map = host_segment(0, 3, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_F16);
	uint32_t base = 3 * 0x400, k;

	host_space(d, 0);
	host_space(&host->dev[1], 0);
	host_connect(d, &host->dev[1], 0);
	host_map(d, &map);
	for (k = 1; k <= 2 * T3_FAULT_RING + 5; k++) {
		uint32_t place = (k - 1) % T3_FAULT_RING;

		d->logged = 0;
		assert_int_equal(host_load(d, 0, base + k, 1), HOST_NONE64);
		assert_int_equal(area->faults, k);
		assert_int_equal(area->ring[place].kind, T3_FAULT_READ_REMOTE);
		assert_int_equal(area->ring[place].segment, 3);
		assert_int_equal(area->ring[place].offset, base + k);
		assert_int_equal(area->fault.offset, base + 1);
		if (k == 1)
			continue;
		assert_int_equal(d->logged, 2); /* no new state, so no interrupt */
		expect_write(&d->log[0], offsetof(struct t3_event_area, ring[0]) + place * 40, 40);
		expect_write(&d->log[1], offsetof(struct t3_event_area, faults), 4);
	}
	for (k = T3_FAULT_RING + 6; k <= 2 * T3_FAULT_RING + 5; k++)
		assert_int_equal(area->ring[(k - 1) % T3_FAULT_RING].offset, base + k);
	assert_int_equal(host_space_command(d, T3_CMD_SPACE_RESET, 0), T3_ADMIN_OK);
	assert_int_equal(area->faults, 0);
	for (k = 0; k < T3_FAULT_RING; k++)
		assert_int_equal(area->ring[k].kind, T3_FAULT_NONE);
	host_free(host);
}

/* Whichever write fails, the space faults once and the device goes on. */
TEST("any write that fails faults the space once")
{
	uint32_t good, faults;

	for (good = 0;; good++) {
		struct host *host = set_up();
		struct host_dev *d = &host->dev[0];
		uint32_t tile;

		d->fail_after = good;
		host_arm(d, 0, 1);
		for (tile = 0; tile < 4; tile++)
			host_tile(d, 0, 5, 0, tile);
		host_fill(d, 0, 0, 1);
		if (host_state(d, 0) == T3_SPACE_COMPLETE)
			host_release(d, 0, 1);
		faults = (uint32_t)host_counter(d, T3_COUNTER_FAULTS);
		if (!faults)
			host_expect(d, 0, T3_SPACE_IDLE, 1);
		else
			assert_int_equal(host_state(d, 0), T3_SPACE_FAULTED);
		assert_true(faults <= 1);
		assert_int_equal(host_counter(d, T3_COUNTER_TRACKER_LIVE), 0);
		assert_int_equal(host_reg(d, T3_REG_ERROR_STATUS), faults ? T3_ERROR_HOST_DMA : 0);
		d->fail_after = HOST_NONE32;
		host_space_command(d, T3_CMD_SPACE_RESET, 0);
		host_expect(d, 0, T3_SPACE_IDLE, 0);
		host_free(host);
		if (!faults)
			break;
	}
	assert_int_equal(good, 10); /* ARMING, ARMED, 4 consumed, 2 words, COMPLETE, IDLE */
}

/* What a peer sends is in memory before the host can know. */
TEST("a peer's data is in memory before the host can know")
{
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	struct host *host = host_pair(&map, NULL, 0);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	uint32_t i;

	b->watch = 56; /* the last element */
	b->logged = 0;
	host_fill(a, 0, 0, 0x33);
	host_drain(host);
	host_expect(b, 0, T3_SPACE_COMPLETE, 1);
	assert_true(b->logged >= 2); /* the segment's word and the state */
	for (i = 0; i < b->logged; i++)
		assert_int_equal(b->log[i].seen, 0x3300000033ull);
	host_free(host);
}

/* A write that an injected fault hits changes nothing. */
TEST("failed writes change nothing")
{
	static struct t3_event_area before;
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct t3_cmd_inject inject = { .kind = T3_INJECT_FAIL_DMA, .nth = 1, .count = 1000 };

	host_space(d, 0);
	before = *host_area(d, 0);
	assert_int_equal(t3_fabric_inject(host->fabric, &inject), T3_ADMIN_OK);
	host_arm(d, 0, 1);
	assert_int_equal(host_state(d, 0), T3_SPACE_FAULTED);
	assert_memory_equal(&before, host_area(d, 0), sizeof(before));
	host_free(host);
}
