/* SPDX-License-Identifier: MIT */
/* Poisoned device memory: who meets it, and who does not. SPEC.md section 9.2. */
#include "host.h"
#include "space/space_private.h"
#include "test.h"

static uint32_t poison(struct host_dev *d, uint64_t address, uint64_t bytes)
{
	struct t3_cmd_inject what = {
		.kind = T3_INJECT_POISON, .rank = d->rank, .address = address, .value = bytes
	};

	return t3_fabric_inject(d->host->fabric, &what);
}

static uint32_t unpoison(struct host_dev *d, uint64_t address, uint64_t bytes)
{
	struct t3_cmd_inject what = {
		.kind = T3_INJECT_UNPOISON, .rank = d->rank, .address = address, .value = bytes
	};

	return t3_fabric_inject(d->host->fabric, &what);
}

/* Offsets of segment 1 of space 1, which all of these use. */
#define SEGMENT 0x400u
#define MEMORY	(1 * HOST_SPACE_SIZE + SEGMENT)

static void expect_poison(struct host_dev *d, uint32_t tile, uint64_t offset, uint64_t address)
{
	assert_true(host_reg(d, T3_REG_ERROR_STATUS) & T3_ERROR_POISON);
	assert_int_equal(host_get(d, T3_REG_POISON_ADDRESS, 8), address);
	assert_int_equal(host_counter(d, T3_COUNTER_POISON_HITS), 1);
	host_expect_cpu_fault(d, 1, T3_FAULT_POISON, 1, tile, offset);
}

struct scene {
	struct host *host;
	struct host_dev *a, *b;
};

static uint32_t record_of(struct host_dev *d, uint32_t space, uint32_t segment)
{
	const struct t3_segment *s = t3_spaces(d->dev)->space[space].segment[segment];

	return HOST_COUNTER_BASE(space) + 16 * s->counter_base;
}

/* Space 1: segment 1 of `kind` on a, its target on b. Space 2 on a: a bystander. */
static struct scene scene_open(uint32_t kind, uint32_t op, uint32_t init)
{
	struct scene s = { .host = host_ring(2) };
	struct t3_cmd_seg_map map = host_segment(1, 1, kind, op, T3_DTYPE_I32);

	s.a = &s.host->dev[0];
	s.b = &s.host->dev[1];
	host_space(s.a, 1);
	host_space(s.b, 1);
	host_connect(s.a, s.b, 1);
	if (kind != T3_SEG_REMOTE)
		map.init = (uint8_t)init;
	host_map(s.a, &map);
	host_stage(s.a, 1, 1, 2);
	host_local(s.b, 1, 1);
	host_space(s.a, 2);
	host_local(s.a, 2, 0);
	host_arm(s.b, 1, 1);
	host_arm(s.a, 1, 1);
	host_arm(s.a, 2, 1);
	host_expect(s.a, 1, T3_SPACE_ARMED, 1);
	return s;
}

/* The bystander does all of its work; after UNPOISON the victim is reset and works. */
static void scene_close(struct scene *s)
{
	uint32_t i;

	host_fill(s->a, 2, 0, 7);
	host_expect(s->a, 2, T3_SPACE_COMPLETE, 1);
	for (i = 0; i < 64; i += 4)
		assert_int_equal(host_load(s->a, 2, i, 4), 7);
	assert_int_equal(unpoison(s->a, 0, 0), T3_ADMIN_OK);
	assert_int_equal(unpoison(s->b, 0, 0), T3_ADMIN_OK);
	assert_int_equal(host_space_command(s->a, T3_CMD_SPACE_RESET, 1), T3_ADMIN_OK);
	host_index_command(s->a, T3_CMD_SEG_UNMAP, 1, 1);
	host_local(s->a, 1, 1);
	host_arm(s->a, 1, 1);
	host_fill(s->a, 1, 1, 9);
	host_expect(s->a, 1, T3_SPACE_COMPLETE, 1);
	assert_int_equal(host_load(s->a, 1, SEGMENT, 4), 9);
	host_free(s->host);
}

/* Any update over a poisoned byte, of any op; its neighbour in another granule is good. */
TEST("an update over a poisoned byte faults")
{
	uint32_t op;

	for (op = 0; op < T3_OP_COUNT; op++) {
		struct scene s = scene_open(T3_SEG_LOCAL, op, T3_INIT_KEEP);

		memset(s.a->memory + MEMORY, 0x11, 64);
		assert_int_equal(poison(s.a, MEMORY, 64), T3_ADMIN_OK);
		host_store(s.a, 1, SEGMENT + 4, 5, 4);
		assert_int_equal(s.a->memory[MEMORY + 4], 0x11); /* nothing was changed */
		expect_poison(s.a, 0, SEGMENT + 4, MEMORY + 4);
		assert_int_equal(host_counter(s.a, T3_COUNTER_STORES), 0);
		assert_int_equal(host_counter(s.a, T3_COUNTER_TRACKER_ALLOC), 0);
		scene_close(&s);
	}
}

/* IDENTITY fills the segment when it is armed; after that only an update's own bytes matter. */
TEST("IDENTITY meets poison at arming alone")
{
	struct t3_cmd_seg_map map = host_segment(1, 1, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	uint32_t init, late;

	for (init = 0; init < 4; init++) {
		struct host *host = host_ring(2);
		struct host_dev *d = &host->dev[0];

		host_space(d, 1);
		late = init / 2;
		map.init = init % 2 ? T3_INIT_IDENTITY : T3_INIT_KEEP;
		map.pitch = 64;
		host_map(d, &map);
		if (late) {
			host_arm(d, 1, 1);
			poison(d, MEMORY + 64, 64);
			host_store(d, 1, SEGMENT, 5, 4); /* row 0 of the tile; row 1 is poisoned */
		} else {
			poison(d, MEMORY + 64, 64);
			host_arm(d, 1, 1);
		}
		if (late || map.init == T3_INIT_KEEP)
			host_expect(d, 1, T3_SPACE_ARMED, 1);
		else
			expect_poison(d, HOST_NONE32, SEGMENT + 64, MEMORY + 64);
		host_free(host);
	}
}

/* The staged source, or the target, of a doorbell. */
TEST("a doorbell meets poison at either end")
{
	uint32_t target;

	for (target = 0; target < 2; target++) {
		struct scene s = scene_open(T3_SEG_LOCAL, T3_OP_ADD, T3_INIT_KEEP);
		uint64_t slot = (uint64_t)(host_slot(s.a, 1, 1, 1) - s.a->memory);

		poison(s.a, target ? MEMORY : slot, 64);
		if (!target) {
			host_tile(s.a, 1, 1, 0, 0); /* the other slot is good */
			assert_int_equal(host_area(s.a, 1)->consumed[1][0], 1);
		}
		host_tile(s.a, 1, 1, 1, 1);
		expect_poison(s.a, 1, target ? SEGMENT + 8 : HOST_NONE64,
			      target ? MEMORY + 8 : slot + 8);
		assert_int_equal(host_area(s.a, 1)->consumed[1][1], 0);
		scene_close(&s);
	}
}

/* The record of a tile, by store and by doorbell, on segments of each kind. */
TEST("a poisoned record of a tile faults")
{
	uint32_t kind, staged;

	for (kind = T3_SEG_LOCAL; kind <= T3_SEG_DMA; kind++)
		for (staged = 0; staged < 2; staged++) {
			struct scene s = scene_open(kind, T3_OP_ADD, 0);
			uint64_t record = record_of(s.a, 1, 1);

			poison(s.a, record & ~63ull, 64);
			if (staged)
				host_tile(s.a, 1, 1, 0, 0);
			else
				host_store(s.a, 1, SEGMENT, 1, 4);
			expect_poison(s.a, 0, HOST_NONE64, record);
			host_expect_peer_fault(s.b, 1, T3_FAULT_PEER_POISON, 0);
			scene_close(&s);
		}
}

/* What is to be sent becomes bad between its last update and its turn on the link. */
TEST("a source that becomes bad before it is sent faults")
{
	uint32_t kind, what;

	for (kind = T3_SEG_REMOTE; kind <= T3_SEG_DMA; kind++)
		for (what = 0; what < 2; what++) {
			bool remote = kind == T3_SEG_REMOTE;
			struct scene s = scene_open(kind, T3_OP_ADD, 0);
			uint64_t slot = (uint64_t)(host_slot(s.a, 1, 1, 0) - s.a->memory);
			uint64_t record = record_of(s.a, 1, 1), data = remote ? slot : MEMORY;

			t3_fabric_set_inline_budget(s.host->fabric, 0);
			host_tile(s.a, 1, 1, 0, 0);
			poison(s.a, (what ? record : data) & ~63ull, 64);
			host_expect(s.a, 1, T3_SPACE_ARMED, 1);
			host_drain(s.host);
			t3_fabric_set_inline_budget(s.host->fabric, T3_INLINE_BUDGET);
			expect_poison(s.a, 0, what || remote ? HOST_NONE64 : SEGMENT,
				      what ? record : data);
			assert_int_equal(host_stats(s.b, 1, 1).remote_bytes, 0);
			scene_close(&s);
		}
}

TEST("a read meets poison in its own granules alone")
{
	struct scene s = scene_open(T3_SEG_LOCAL, T3_OP_ADD, T3_INIT_KEEP);

	memset(s.a->memory + MEMORY, 0x22, 128);
	poison(s.a, MEMORY, 64);
	assert_int_equal(host_load(s.a, 1, SEGMENT + 64, 8), 0x2222222222222222ull);
	host_expect(s.a, 1, T3_SPACE_ARMED, 1);
	assert_int_equal(host_load(s.a, 1, SEGMENT + 60, 4), HOST_NONE64);
	expect_poison(s.a, HOST_NONE32, SEGMENT + 60, MEMORY + 60);
	scene_close(&s);
}

/* A space that is FAULTED can be read: it records what such a read meets. */
TEST("a read of a faulted space records its poison")
{
	struct scene s = scene_open(T3_SEG_LOCAL, T3_OP_ADD, T3_INIT_KEEP);
	const struct t3_event_area *area = host_area(s.a, 1);

	host_store(s.a, 1, 0x3f00, 0, 4);
	poison(s.a, MEMORY, 64);
	host_store(s.a, 1, SEGMENT, 1, 4); /* is dropped, and so no use */
	assert_int_equal(area->faults, 1);
	assert_int_equal(host_load(s.a, 1, SEGMENT, 4), HOST_NONE64);
	assert_int_equal(area->faults, 2);
	assert_int_equal(area->fault.kind, T3_FAULT_UNMAPPED);
	assert_int_equal(area->ring[1].kind, T3_FAULT_POISON);
	assert_int_equal(area->ring[1].offset, SEGMENT);
	assert_int_equal(host_counter(s.a, T3_COUNTER_POISON_HITS), 1);
	scene_close(&s);
}

/* An arriving update: the target faults and the source is told why. */
TEST("an arriving update that meets poison faults both ends")
{
	struct scene s = scene_open(T3_SEG_REMOTE, T3_OP_ADD, 0);
	struct t3_fault_record want = { T3_FAULT_POISON, 0, 1, HOST_NONE32, SEGMENT, 0, 0, 0 };

	poison(s.b, MEMORY, 64);
	host_store(s.a, 1, SEGMENT, 1, 4);
	host_expect_fault(s.b, 1, &want);
	assert_int_equal(host_get(s.b, T3_REG_POISON_ADDRESS, 8), MEMORY);
	assert_int_equal(host_counter(s.b, T3_COUNTER_NAKS), 1);
	assert_int_equal(host_stats(s.b, 1, 1).remote_bytes, 0);
	/* STATE(FAULTED) and the response leave together; either may be first. */
	if (host_area(s.a, 1)->fault.kind == T3_FAULT_REJECTED)
		host_expect_rejected(s.a, 1, T3_NAK_POISON, 1, 1);
	else
		host_expect_peer_fault(s.a, 1, T3_FAULT_PEER_DEAD, 1);
	assert_int_equal(host_counter(s.a, T3_COUNTER_POISON_HITS), 0);
	scene_close(&s);
}

/* The address is that of the first hit until software clears POISON. */
TEST("the latch keeps the first address until it is cleared")
{
	struct host *host = host_ring(2);
	struct host_dev *d = &host->dev[0];
	uint32_t s;

	host_set(d, T3_REG_ERROR_ENABLE, T3_ERROR_POISON, 4);
	for (s = 1; s <= 3; s++) {
		host_space(d, s);
		host_local(d, s, 0);
		host_arm(d, s, 1);
		poison(d, s * HOST_SPACE_SIZE, 64);
		if (s == 3)
			host_set(d, T3_REG_ERROR_STATUS, T3_ERROR_POISON, 4);
		host_store(d, s, 0, 1, 4);
		host_expect_cpu_fault(d, s, T3_FAULT_POISON, 0, 0, 0);
		assert_int_equal(host_get(d, T3_REG_POISON_ADDRESS, 8),
				 (s == 3 ? 3 : 1) * HOST_SPACE_SIZE);
		assert_int_equal(d->irqs[0], s == 3 ? 2 : 1);
	}
	assert_int_equal(host_counter(d, T3_COUNTER_POISON_HITS), 3);
	t3_dev_reset(d->dev); /* registers are reset, memory is not mended */
	assert_int_equal(host_get(d, T3_REG_POISON_ADDRESS, 8), 0);
	host_space(d, 1);
	host_local(d, 1, 0);
	host_arm(d, 1, 1);
	host_expect_cpu_fault(d, 1, T3_FAULT_POISON, 0, HOST_NONE32, 0);
	host_free(host);
}

/* ------------------------------------------------------------------- the set */

#define GRANULES 64u

/* Random ranges against one flag for each granule. */
static void compare(struct host_dev *d, const bool *bad)
{
	uint64_t where, at, len;
	uint32_t i;

	for (i = 0; i < GRANULES * 4; i++) {
		at = i * 16;
		for (len = 16; len <= 256; len += 80) {
			uint64_t want = at;

			while (want < at + len && (want / 64 >= GRANULES || !bad[want / 64]))
				want++;
			assert_int_equal(t3_poisoned(d->dev, at, len, &where), want < at + len);
			if (want < at + len)
				assert_int_equal(where, want);
		}
	}
	assert_false(t3_poisoned(d->dev, 0, 0, &where));
}

static uint32_t ranges(const bool *bad)
{
	uint32_t i, count = 0;

	for (i = 0; i < GRANULES; i++)
		count += bad[i] && (!i || !bad[i - 1]);
	return count;
}

TEST("the set has exactly the poisoned granules")
{
	struct host *host = host_ring(2);
	struct host_dev *d = &host->dev[0];
	bool bad[GRANULES] = { false };
	uint64_t random = 7;
	uint32_t round, full = 0;

	for (round = 0; round < 3000; round++) {
		uint32_t first = host_below(&random, GRANULES);
		uint32_t count = 1 + host_below(&random, 2), i;
		bool add = host_below(&random, 2), after[GRANULES];
		uint32_t status;

		if (count > GRANULES - first)
			count = GRANULES - first;
		memcpy(after, bad, sizeof(bad));
		for (i = first; i < first + count; i++)
			after[i] = add;
		status = (add ? poison : unpoison)(d, first * 64, count * 64);
		if (ranges(after) <= T3_POISON_RANGES) {
			assert_int_equal(status, T3_ADMIN_OK);
			memcpy(bad, after, sizeof(bad));
		} else {
			assert_int_equal(status, T3_ADMIN_NO_RESOURCE);
			full++;
		}
		if (round % 10 == 0)
			compare(d, bad);
	}
	assert_true(full > 10);
	assert_int_equal(unpoison(d, 0, 0), T3_ADMIN_OK);
	memset(bad, 0, sizeof(bad));
	compare(d, bad);
	host_free(host);
}
