/* SPDX-License-Identifier: MIT */
/*
 * The isolation matrix: whatever hits one space, the spaces beside it on the same
 * devices and links end with the right sums. SPEC.md section 9.
 */
#include "host.h"
#include "ring.h"
#include "test.h"

#define RANKS	  3u
#define VICTIM	  0u
#define BYSTANDER 1u
#define HIT	  1u /* the rank where it happens */

enum ending { BOTH_WELL, VICTIM_FAULTS, ALL_FAULT };

struct trouble {
	const char *name;
	enum ending ending;
	uint32_t fault; /* t3_fault_kind of the victim's space at rank HIT */
	struct t3_cmd_inject inject;
	void (*act)(struct host_dev *d); /* when both are ARMED; may be NULL */
};

static void unmapped(struct host_dev *d)
{
	host_store(d, VICTIM, 0x3f00, 1, 4);
}

static void width(struct host_dev *d)
{
	host_store(d, VICTIM, 0x400, 1, 1);
}

static void tile_cross(struct host_dev *d)
{
	host_store(d, VICTIM, 0x400 + 24, 1, 8);
}

static void misaligned(struct host_dev *d)
{
	host_store(d, VICTIM, 0x400 + 2, 1, 4);
}

static void read_remote(struct host_dev *d)
{
	host_load(d, VICTIM, 0, 4); /* chunk 0 starts at rank 1 */
}

static void overshoot(struct host_dev *d)
{
	uint32_t i;

	for (i = 0; i < 200; i++)
		host_store(d, VICTIM, 0x400, 1, 4);
}

static void bad_doorbell(struct host_dev *d)
{
	host_tile(d, VICTIM, 60, 0, 0);
}

static void bad_arm(struct host_dev *d)
{
	host_arm(d, VICTIM, 9);
}

static void revoke(struct host_dev *d)
{
	host_index_command(&d->host->dev[2], T3_CMD_IMPORT_CLEAR, VICTIM, 0);
	host_store(d, VICTIM, 0, 1, 4);
}

static void no_event_area(struct host_dev *d)
{
	d->fail_after = 0;
	host_fill(d, VICTIM, 0, 1);
	host_tile(d, VICTIM, 1, 0, 0);
	d->fail_after = HOST_NONE32;
}

static void corrupt_record(struct host_dev *d)
{
	t3_fabric_set_inline_budget(d->host->fabric, 0);
	host_tile(d, VICTIM, 0, 0, 0);
	memset(d->memory + HOST_COUNTER_BASE(VICTIM), 0xff, 0x40);
	t3_fabric_set_inline_budget(d->host->fabric, T3_INLINE_BUDGET);
	host_drain(d->host);
}

static void touch(struct host_dev *d)
{
	host_load(d, VICTIM, 0x400, 4);
}

static void leave(struct host_dev *d)
{
	host_space_command(&d->host->dev[0], T3_CMD_SPACE_RESET, VICTIM);
}

/* clang-format off */
#define ON_LINK(k) { .kind = (k), .rank = 1, .peer = 2, .nth = 4, .count = 3 }
/* clang-format on */

static const struct trouble troubles[] = {
	{ "drop", BOTH_WELL, 0, ON_LINK(T3_INJECT_DROP), NULL },
	{ "duplicate", BOTH_WELL, 0, ON_LINK(T3_INJECT_DUPLICATE), NULL },
	{ "corrupt", BOTH_WELL, 0, ON_LINK(T3_INJECT_CORRUPT), NULL },
	{ "reorder", BOTH_WELL, 0, ON_LINK(T3_INJECT_REORDER), NULL },
	{ "drop-response", BOTH_WELL, 0, ON_LINK(T3_INJECT_DROP_RESPONSE), NULL },
	{ "delay",
	  BOTH_WELL,
	  0,
	  { .kind = T3_INJECT_DELAY, .rank = 1, .peer = 2, .nth = 3, .count = 2, .value = 900 },
	  NULL },
	{ "random",
	  BOTH_WELL,
	  0,
	  { .kind = T3_INJECT_LINK_RANDOM, .rank = 1, .peer = 2, .nth = 4000, .value = 3 },
	  NULL },
	{ "lose-irq",
	  BOTH_WELL,
	  0,
	  { .kind = T3_INJECT_LOSE_IRQ, .rank = 1, .nth = 1, .count = 50 },
	  NULL },
	{ "link-down",
	  ALL_FAULT,
	  T3_FAULT_LINK,
	  { .kind = T3_INJECT_LINK_DOWN, .rank = 1, .peer = 2 },
	  read_remote },
	{ "fail-dma",
	  VICTIM_FAULTS,
	  T3_FAULT_HOST_DMA,
	  { .kind = T3_INJECT_FAIL_DMA, .rank = 1, .nth = 1, .count = 1 },
	  unmapped },
	{ "poison",
	  VICTIM_FAULTS,
	  T3_FAULT_POISON,
	  { .kind = T3_INJECT_POISON, .rank = 1, .address = 0x400, .value = 64 },
	  touch },
	{ "unmapped", VICTIM_FAULTS, T3_FAULT_UNMAPPED, { 0 }, unmapped },
	{ "width", VICTIM_FAULTS, T3_FAULT_WIDTH, { 0 }, width },
	{ "misaligned", VICTIM_FAULTS, T3_FAULT_WIDTH, { 0 }, misaligned },
	{ "over the end of a row", VICTIM_FAULTS, T3_FAULT_UNMAPPED, { 0 }, tile_cross },
	{ "read of remote", VICTIM_FAULTS, T3_FAULT_READ_REMOTE, { 0 }, read_remote },
	{ "overshoot", VICTIM_FAULTS, T3_FAULT_OVERSHOOT, { 0 }, overshoot },
	{ "doorbell", VICTIM_FAULTS, T3_FAULT_BAD_DOORBELL, { 0 }, bad_doorbell },
	{ "arm", VICTIM_FAULTS, T3_FAULT_BAD_ARM, { 0 }, bad_arm },
	{ "revoked", VICTIM_FAULTS, T3_FAULT_PEER_DEAD, { 0 }, revoke },
	{ "event area", VICTIM_FAULTS, T3_FAULT_NONE, { 0 }, no_event_area },
	{ "record", VICTIM_FAULTS, T3_FAULT_COUNTER, { 0 }, corrupt_record },
	{ "leaving", VICTIM_FAULTS, T3_FAULT_PEER_POISON, { 0 }, leave },
};

static void produce(struct ring *ring, bool staged)
{
	uint32_t r;

	for (r = 0; r < RANKS; r++)
		ring_produce(ring, r, 1, staged);
}

static void expect_victim(struct ring *victim, const struct trouble *trouble)
{
	struct host_dev *d = &victim->host->dev[HIT];
	uint32_t r;

	for (r = 0; r < RANKS; r++) {
		uint32_t now = host_query(&victim->host->dev[r], VICTIM).state;

		if (trouble->act != leave || r != 0)
			assert_int_equal(now, T3_SPACE_FAULTED);
	}
	/* Without its event area the record is kept nowhere. */
	if (trouble->fault != T3_FAULT_NONE && trouble->fault != T3_FAULT_HOST_DMA &&
	    trouble->ending != ALL_FAULT)
		assert_int_equal(host_area(d, VICTIM)->fault.kind, trouble->fault);
}

static void endure(const struct trouble *trouble, bool staged)
{
	struct host *host = host_ring(RANKS);
	struct ring victim = ring_open(host, VICTIM, T3_DTYPE_I32);
	struct ring bystander = ring_open(host, BYSTANDER, T3_DTYPE_F32);

	host_set(&host->dev[HIT], T3_REG_SPACE_PENDING, ~0u, 4);
	host_set(&host->dev[HIT], T3_REG_SPACE_ENABLE, 1u << VICTIM | 1u << BYSTANDER, 4);
	ring_arm(&bystander, 1);
	ring_arm(&victim, 1);
	host_set(&host->dev[HIT], T3_REG_SPACE_PENDING, ~0u, 4);
	if (trouble->inject.kind)
		assert_int_equal(t3_fabric_inject(host->fabric, &trouble->inject), T3_ADMIN_OK);
	if (trouble->act)
		trouble->act(&host->dev[HIT]);
	if (trouble->act != leave) /* its segments have gone */
		produce(&victim, staged);
	produce(&bystander, !staged);
	host_drain(host);
	if (trouble->ending == BOTH_WELL) {
		ring_expect_state(&victim, T3_SPACE_COMPLETE, 1);
		ring_expect_sums(&victim, 1);
	} else {
		expect_victim(&victim, trouble);
	}
	if (trouble->ending != ALL_FAULT) {
		ring_expect_state(&bystander, T3_SPACE_COMPLETE, 1);
		ring_expect_sums(&bystander, 1);
	}
	if (trouble->inject.kind && trouble->inject.kind != T3_INJECT_LINK_RANDOM)
		assert_true(host_counter(&host->dev[HIT], T3_COUNTER_INJECTED) > 0);
	host_free(host);
}

TEST("trouble of one space leaves its neighbours alone")
{
	size_t i;

	for (i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++) {
		print_message("# %s\n", troubles[i].name);
		endure(&troubles[i], false);
		endure(&troubles[i], true);
	}
}

/* Faults of a whole link or device: what does not cross it goes on, at both of its ends. */
TEST("faults of a link leave other links alone")
{
	uint32_t way;

	for (way = 0; way < 3; way++) {
		struct host_config config = { T3_TOPOLOGY_FULL, 4, 16, 4, T3_KEYS_FABRIC };
		struct host *host = host_new(&config);
		struct host_dev *d = host->dev;
		struct t3_cmd_inject down = { .kind = T3_INJECT_LINK_DOWN, .rank = 0, .peer = 1 };
		uint32_t i, s;

		for (s = 0; s < 3; s++)
			for (i = 0; i < 4; i++) {
				host_space(&d[i], s);
				host_local(&d[i], s, 0);
			}
		host_route(&d[0], 0, 0, &d[1], 0, 0); /* space 0: 0 -> 1; space 1: 1 -> 2 */
		host_import(&d[1], 0, 0, &d[0], 0, 1);
		host_route(&d[1], 1, 0, &d[2], 1, 0);
		host_import(&d[2], 1, 0, &d[1], 1, 1);
		for (i = 0; i < 4; i++)
			for (s = 0; s < 3; s++)
				host_arm(&d[3 - i], s, 1);
		assert_int_equal(t3_fabric_inject(host->fabric, &down), T3_ADMIN_OK);
		if (way == 0)
			host_space_command(&d[0], T3_CMD_SPACE_RESET, 0);
		else if (way == 1)
			t3_dev_reset(d[0].dev);
		else
			t3_dev_detach(d[0].dev);
		host_drain(host);
		for (i = 1; i < 4; i++)
			for (s = 1; s < 3; s++) {
				host_fill(&d[i], s, 0, 3);
				host_expect(&d[i], s, T3_SPACE_COMPLETE, 1);
				assert_int_equal(host_load(&d[i], s, 60, 4), 3);
			}
		host_free(host);
	}
}
