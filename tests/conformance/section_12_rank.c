// SPDX-License-Identifier: MIT
/* SPEC.md 12 and 9.2: poison, lost interrupts, host memory that fails, hung queues. */
#include <string.h>

#include "conf.h"
#include "inject.h"
#include "pair.h"
#include "queue.h"
#include "run.h"

CONF_SECTION("12", "injected faults of ranks");

static void poison(struct conf *c, struct conf_device *d, uint64_t address, uint64_t bytes)
{
	INJECT(c, d, .kind = T3_INJECT_POISON, .address = address, .value = bytes);
}

static void check_poison(struct conf *c, struct conf_device *d, uint64_t address)
{
	CHECK(c, conf_reg(d, T3_REG_ERROR_STATUS) & T3_ERROR_POISON, "POISON is not set");
	CHECK_EQUAL(c, "POISON_ADDRESS", conf_reg64(d, T3_REG_POISON_ADDRESS), address);
	CHECK_EQUAL(c, "POISON_HITS", conf_counter(d, T3_COUNTER_POISON_HITS), 1);
	CHECK_EQUAL(c, "INJECTED", conf_counter(d, T3_COUNTER_INJECTED), 1);
}

/* Two granules in two tiles, the second poisoned. */
static void wide(struct conf *c, struct conf_space *s, uint32_t init)
{
	struct t3_cmd_seg_map segment;

	conf_space_create(c, conf_device(c, 0), s, T3_PAGE_SIZE, 16);
	segment = conf_segment(s, 0);
	segment.init = (uint8_t)init;
	segment.row_bytes = segment.pitch = 128;
	segment.tile_row_bytes = 64;
	conf_map(c, s, &segment);
}

static void wide_armed(struct conf *c, struct conf_space *s)
{
	wide(c, s, T3_INIT_KEEP);
	conf_arm_wait(c, s, 1);
}

enum { BY_STORE, BY_ARM, BY_READ, BY_RECORD };

/* A store, an ARM that fills, a read, a store's counter record. */
TEST("poison faults the space that meets it", .rows = 4)
{
	uint64_t at = 72, where;
	struct t3_fault_record record;
	struct conf_space s, other;

	if (row == BY_ARM)
		wide(c, &s, T3_INIT_IDENTITY);
	else
		wide_armed(c, &s);
	conf_space_simple(c, s.dev, &other);
	where = row == BY_RECORD ? s.args.counters : s.args.buffer + 64;
	poison(c, s.dev, where, 64);
	if (row == BY_ARM)
		conf_arm(&s, 1);
	else if (row == BY_READ)
		CHECK_EQUAL(c, "what is read", conf_load(&s, at, 8), ~0ull);
	else
		conf_store(&s, at, 8, 1);
	record = conf_wait_fault(c, &s, T3_FAULT_POISON);
	where = conf_reg64(s.dev, T3_REG_POISON_ADDRESS);
	if (row == BY_RECORD)
		CHECK_EQUAL(c, "offset of the fault", record.offset, ~0ull);
	else
		CHECK_EQUAL(c, "offset of the fault", s.args.buffer + record.offset, where);
	CHECK_EQUAL(c, "src_rank", record.src_rank, s.dev->rank);
	check_poison(c, s.dev,
		     row == BY_RECORD ? s.args.counters + 16
		     : row == BY_ARM  ? s.args.buffer + 64
				      : s.args.buffer + 72);
	conf_arm_wait(c, &other, 1);
	pair_store(&other, 0);
	conf_wait_state(c, &other, T3_SPACE_COMPLETE, 1);
}

/* The granule before it is good. A reset does not clear poison. UNPOISON of it or of all does. */
TEST("poison lasts until it is taken back", .rows = 3)
{
	struct conf_device *d = conf_device(c, 0);
	struct conf_space s;
	uint64_t bad;

	wide_armed(c, &s);
	bad = s.args.buffer + 64;
	poison(c, d, bad, 64);
	for (uint64_t at = 0; at < 64; at += 8)
		conf_store(&s, at, 8, 1);
	CHECK_EQUAL(c, "state", conf_state(&s), STATE(T3_SPACE_ARMED, 1));
	if (row == 1)
		INJECT(c, d, .kind = T3_INJECT_UNPOISON);
	else if (row == 2)
		INJECT(c, d, .kind = T3_INJECT_UNPOISON, .address = bad, .value = 64);
	conf_reset(d);
	d->memory_used = d->aperture_used = 0; /* the same place again */
	wide_armed(c, &s);
	conf_store(&s, 64, 8, 1);
	if (row)
		CHECK_EQUAL(c, "state", conf_state(&s), STATE(T3_SPACE_ARMED, 1));
	else
		conf_wait_fault(c, &s, T3_FAULT_POISON);
}

/* An update from a peer: refused there, and both end. */
TEST("an update that meets poison ends both sides", .rows = 2, .devices = 2)
{
	struct t3_fault_record record;
	struct pair pair;
	uint32_t kind;

	pair_ready(c, &pair, row ? T3_SEG_REMOTE : T3_SEG_DMA);
	poison(c, pair.target.dev, pair.target.args.buffer, 64);
	conf_buffer_write(&pair.target, 0, 8, 0x77);
	pair_store(&pair.source, 0);
	record = conf_wait_fault(c, &pair.target, T3_FAULT_POISON);
	CHECK_EQUAL(c, "src_rank", record.src_rank, pair.source.dev->rank);
	CHECK_EQUAL(c, "offset", record.offset, 0);
	conf_wait_word(c, &pair.source.events->state, STATE(T3_SPACE_FAULTED, 1), "source");
	kind = pair.source.events->fault.kind;
	CHECK(c, kind == T3_FAULT_PEER_DEAD || kind == T3_FAULT_REJECTED, "kind is %u", kind);
	if (kind == T3_FAULT_REJECTED)
		CHECK_EQUAL(c, "detail", pair.source.events->fault.detail, T3_NAK_POISON);
	CHECK_EQUAL(c, "target's memory", conf_buffer(&pair.target, 0, 8), 0x77);
}

/* A tile of a block is poisoned while the block's last one is missing. */
TEST("poison in a tile of a block is met", .devices = 2)
{
	struct pair pair;

	pair_prepare(c, &pair, T3_SEG_DMA);
	pair.from.row_bytes = pair.to.row_bytes = pair.from.pitch = pair.to.pitch = 128;
	pair.from.tile_row_bytes = pair.to.tile_row_bytes = 64;
	pair.from.block_tiles = 2;
	pair_map(c, &pair);
	pair_arm(c, &pair, 1);
	for (uint64_t at = 0; at < 64; at += 8)
		conf_store(&pair.source, at, 8, 1);
	poison(c, pair.source.dev, pair.source.args.buffer, 64);
	for (uint64_t at = 64; at < 128; at += 8)
		conf_store(&pair.source, at, 8, 1);
	conf_wait_fault(c, &pair.source, T3_FAULT_POISON);
	conf_wait_fault(c, &pair.target, T3_FAULT_PEER_POISON);
	CHECK_EQUAL(c, "DMA_BYTES", conf_counter(pair.source.dev, T3_COUNTER_DMA_BYTES), 0);
	check_poison(c, pair.source.dev, pair.source.args.buffer);
}

/* A queue that reads it, and one that writes it. The piece before it was already moved. */
TEST("a queue that meets poison fails", .rows = 2)
{
	const uint64_t from = 0x10000, to = 0x20000, bytes = 2 * T3_PAGE_SIZE;
	struct t3_descriptor copy = desc_copy(T3_LOC_MEMORY, from, T3_LOC_MEMORY, to, bytes);
	uint64_t bad = (row ? to : from) + T3_PAGE_SIZE + 128;
	struct conf_device *d = conf_device(c, 0);
	struct queue q, other;

	queue_create(c, d, &q, 0, 0);
	queue_create(c, d, &other, 1, 0);
	conf_memory_fill(d, from, bytes, 0x5555);
	conf_memory_fill(d, to, bytes, 0x6666);
	poison(c, d, bad, 64);
	queue_push(&q, &copy);
	queue_submit(&q);
	queue_expect(c, &q, 0, T3_DESC_POISON, bad);
	check_poison(c, d, bad);
	CHECK_EQUAL(c, "piece before", conf_read(d->memory, to, 8), 0x5555);
	CHECK_EQUAL(c, "piece with it", conf_read(d->memory, to + T3_PAGE_SIZE, 8), 0x6666);
	copy.row_bytes = T3_PAGE_SIZE;
	queue_do(c, &other, &copy);
}

/* POISON_ADDRESS is the first since ERROR_STATUS.POISON was 0. */
/* Poison in the second piece of what is read, updated or overwritten: the first stays. */
TEST("poison in a later piece leaves the first", .rows = 3, .needs = CONF_INJECT)
{
	const uint64_t there = 0x10000, bad = 5120;
	struct t3_descriptor x = desc_copy(T3_LOC_MEMORY, 0, T3_LOC_MEMORY, there, 8192);
	struct conf_device *d = conf_device(c, 0);
	struct queue q;

	queue_create(c, d, &q, 0, 0);
	conf_memory_fill(d, 0, 8192, 0x0101010101010101);
	conf_memory_fill(d, there, 8192, 0);
	INJECT(c, d, .kind = T3_INJECT_POISON, .address = bad, .value = 64);
	if (row == 1)
		x = desc_fill(T3_LOC_MEMORY, 0, 0, 8192);
	if (row == 2)
		x = (struct t3_descriptor){ .opcode = T3_DESC_UPDATE,
					    .op = T3_OP_ADD,
					    .dtype = T3_DTYPE_I32,
					    .rows = 1,
					    .row_bytes = 4096,
					    .src = there + 8192,
					    .dst = 4096 };
	queue_push(&q, &x);
	queue_submit(&q);
	queue_expect(c, &q, 0, T3_DESC_POISON, bad);
	CHECK_EQUAL(c, "first piece there", conf_read(d->memory, there + 4095, 1), row == 0);
	CHECK_EQUAL(c, "second piece there", conf_read(d->memory, there + 4096, 1), 0);
	CHECK_EQUAL(c, "first piece", conf_read(d->memory, 4095, 1), row != 1);
	CHECK_EQUAL(c, "second piece", conf_read(d->memory, 4096, 1), 1);
	CHECK_EQUAL(c, "POISON_ADDRESS", conf_reg64(d, T3_REG_POISON_ADDRESS), bad);
	CHECK_EQUAL(c, "ERROR_STATUS", conf_reg(d, T3_REG_ERROR_STATUS),
		    T3_ERROR_POISON | T3_ERROR_QUEUE);
	CHECK_EQUAL(c, "POISON_HITS", conf_counter(d, T3_COUNTER_POISON_HITS), 1);
	CHECK_EQUAL(c, "NMC_ELEMENTS", conf_counter(d, T3_COUNTER_NMC_ELEMENTS), 0);
	queue_command(c, &q, T3_CMD_QUEUE_ABORT);
	x = desc_fill(T3_LOC_MEMORY, bad + 64, 0, 64); /* beside it */
	queue_do(c, &q, &x);
}

TEST("the first poisoned address is kept")
{
	struct conf_device *d = conf_device(c, 0);
	struct queue q;

	queue_create(c, d, &q, 0, 0);
	poison(c, d, 0x10000, 192);
	for (unsigned i = 0; i < 3; i++) {
		struct t3_descriptor fill = desc_fill(T3_LOC_MEMORY, 0x10000 + 64 * i + 5, 0, 8);
		uint32_t index = queue_push(&q, &fill);

		queue_submit(&q);
		queue_expect(c, &q, index, T3_DESC_POISON, fill.dst);
		CHECK_EQUAL(c, "POISON_ADDRESS", conf_reg64(d, T3_REG_POISON_ADDRESS),
			    i < 2 ? 0x10005 : fill.dst);
		CHECK_EQUAL(c, "POISON_HITS", conf_counter(d, T3_COUNTER_POISON_HITS), i + 1);
		queue_command(c, &q, T3_CMD_QUEUE_ABORT);
		if (i == 1)
			conf_reg_write(d, T3_REG_ERROR_STATUS, T3_ERROR_POISON);
	}
}

/* As many ranges as there may be; ones that touch are one. */
TEST("poison has a largest number of ranges")
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_inject more = { .kind = T3_INJECT_POISON, .value = 64 };

	for (uint64_t i = 0; i < T3_POISON_RANGES; i++)
		poison(c, d, 256 * i, 64);
	more.address = 256 * T3_POISON_RANGES;
	CHECK_EQUAL(c, "one more", inject_try(c, d, more), T3_ADMIN_NO_RESOURCE);
	poison(c, d, 64, 192); /* from the first to the second */
	CHECK_EQUAL(c, "one more after joining two", inject_try(c, d, more), T3_ADMIN_OK);
	more.kind = T3_INJECT_UNPOISON;
	more.address = 128;
	CHECK_EQUAL(c, "a hole in the middle", inject_try(c, d, more), T3_ADMIN_NO_RESOURCE);
}

/* ------------------------------------------------- interrupts, host memory */

TEST("a lost interrupt is the counted one")
{
	struct conf_device *d = conf_device(c, 0);
	struct conf_space s;
	uint32_t bit;

	inject_needed(c, d);
	conf_space_simple(c, d, &s);
	bit = 1u << s.args.space % 32;
	conf_reg_write(d, T3_REG_SPACE_PENDING, bit);
	conf_reg_write(d, T3_REG_SPACE_ENABLE, bit);
	INJECT(c, d, .kind = T3_INJECT_LOSE_IRQ, .nth = 1, .count = 1);
	conf_arm_wait(c, &s, 1);
	CHECK_EQUAL(c, "interrupts", conf_interrupts_now(c, d, 0), 0);
	CHECK_EQUAL(c, "PENDING", conf_reg(d, T3_REG_SPACE_PENDING), bit);
	CHECK_EQUAL(c, "INTERRUPTS", conf_counter(d, T3_COUNTER_INTERRUPTS), 1);
	CHECK_EQUAL(c, "INJECTED", conf_counter(d, T3_COUNTER_INJECTED), 1);
	conf_reg_write(d, T3_REG_SPACE_PENDING, bit);
	pair_store(&s, 0);
	CHECK_EQUAL(c, "interrupts after it", conf_interrupts(c, d, 0), 1);
}

/* The one access fails, and only the space ends. */
TEST("a failed access ends its space alone")
{
	struct conf_device *d = conf_device(c, 0);
	struct conf_deadline deadline;
	struct conf_space s, other;

	inject_needed(c, d);
	conf_space_simple(c, d, &s);
	conf_space_simple(c, d, &other);
	INJECT(c, d, .kind = T3_INJECT_FAIL_DMA, .nth = 1, .count = 1);
	conf_arm(&s, 1);
	deadline = conf_deadline(c);
	while (conf_state(&s) >> 32 != T3_SPACE_FAULTED && conf_pause(&deadline))
		;
	CHECK_EQUAL(c, "STATE", conf_state(&s) >> 32, T3_SPACE_FAULTED);
	CHECK_EQUAL(c, "INJECTED", conf_counter(d, T3_COUNTER_INJECTED), 1);
	CHECK(c, conf_reg(d, T3_REG_ERROR_STATUS) & T3_ERROR_HOST_DMA, "HOST_DMA is not set");
	conf_arm_wait(c, &other, 1);
	conf_space_command(c, &s, T3_CMD_SPACE_RESET);
	conf_wait_state(c, &s, T3_SPACE_IDLE, 0);
}

TEST("a failed access fails its queue alone")
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_descriptor nop = { 0 };
	struct queue q, other;

	inject_needed(c, d);
	queue_create(c, d, &q, 0, 0);
	queue_create(c, d, &other, 1, 0);
	INJECT(c, d, .kind = T3_INJECT_FAIL_DMA, .nth = 1, .count = 1);
	queue_push(&q, &nop);
	queue_submit(&q);
	queue_wait(c, &q, 0);
	queue_check(c, &q, T3_QUEUE_ERROR, 1, T3_DESC_HOST_DMA);
	CHECK_EQUAL(c, "detail", q.completions[0].detail, q.args.ring);
	CHECK_EQUAL(c, "DMA_ADDRESS", conf_reg64(d, T3_REG_DMA_ADDRESS), q.args.ring);
	CHECK_EQUAL(c, "INJECTED", conf_counter(d, T3_COUNTER_INJECTED), 1);
	queue_do(c, &other, &nop);
	queue_command(c, &q, T3_CMD_QUEUE_ABORT);
	queue_do(c, &q, &nop);
}

/* A hung queue makes no progress until ABORT or UNHANG. The others do. */
TEST("a hung queue stops alone", .rows = 2)
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_descriptor nop = { 0 };
	struct queue q, other;

	inject_needed(c, d);
	queue_create(c, d, &q, 4, T3_MAX_PRIORITY);
	queue_create(c, d, &other, 5, 0);
	INJECT(c, d, .kind = T3_INJECT_HANG_QUEUE, .peer = 4);
	queue_push(&q, &nop);
	queue_push(&q, &nop);
	queue_submit(&q);
	queue_do(c, &other, &nop);
	queue_check(c, &q, T3_QUEUE_READY, 0, 0);
	CHECK_EQUAL(c, "completion", q.completions[0].word, 0);
	if (row) {
		INJECT(c, d, .kind = T3_INJECT_UNHANG_QUEUE, .peer = 4);
		queue_expect(c, &q, 1, T3_DESC_OK, 0);
	} else {
		queue_command(c, &q, T3_CMD_QUEUE_ABORT);
		CHECK_EQUAL(c, "tail after ABORT", q.tail, 2);
	}
	queue_do(c, &q, &nop);
	queue_check(c, &q, T3_QUEUE_READY, 3, 0);
}

/* ----------------------------------------------------------------- refusals */

/* clang-format off */
/* `peer` 1: the next device; 100: the own rank. */
static const struct {
	const char *name;
	struct t3_cmd_inject args;
	uint32_t status;
} refusals[] = {
	{"kind-0", {.kind = 0}, T3_ADMIN_BAD_VALUE},
	{"kind-17", {.kind = T3_INJECT_KIND_COUNT}, T3_ADMIN_BAD_VALUE},
	{"kind-max", {.kind = 0xffffffff}, T3_ADMIN_BAD_VALUE},
	{"drop-own-rank", {.kind = T3_INJECT_DROP, .peer = 100, .nth = 1, .count = 1}, T3_ADMIN_NO_ROUTE},
	{"down-own-rank", {.kind = T3_INJECT_LINK_DOWN, .peer = 100}, T3_ADMIN_NO_ROUTE},
	{"drop-no-rank", {.kind = T3_INJECT_DROP, .peer = 0xffff, .nth = 1, .count = 1}, T3_ADMIN_NO_ROUTE},
	{"drop-count-0", {.kind = T3_INJECT_DROP, .peer = 1, .nth = 1}, T3_ADMIN_BAD_VALUE},
	{"drop-mbz", {.kind = T3_INJECT_DROP, .peer = 1, .nth = 1, .count = 1, .mbz = 1}, T3_ADMIN_BAD_VALUE},
	{"drop-value", {.kind = T3_INJECT_DROP, .peer = 1, .nth = 1, .count = 1, .value = 1}, T3_ADMIN_BAD_VALUE},
	{"drop-address", {.kind = T3_INJECT_DROP, .peer = 1, .nth = 1, .count = 1, .address = 64}, T3_ADMIN_BAD_VALUE},
	{"delay-0", {.kind = T3_INJECT_DELAY, .peer = 1, .nth = 1, .count = 1}, T3_ADMIN_BAD_VALUE},
	{"delay-long", {.kind = T3_INJECT_DELAY, .peer = 1, .nth = 1, .count = 1, .value = 1000000001}, T3_ADMIN_BAD_VALUE},
	{"down-nth", {.kind = T3_INJECT_LINK_DOWN, .peer = 1, .nth = 1}, T3_ADMIN_BAD_VALUE},
	{"random-always", {.kind = T3_INJECT_LINK_RANDOM, .peer = 1, .nth = 65536}, T3_ADMIN_BAD_VALUE},
	{"random-count", {.kind = T3_INJECT_LINK_RANDOM, .peer = 1, .nth = 1, .count = 1}, T3_ADMIN_BAD_VALUE},
	{"lose-irq-peer", {.kind = T3_INJECT_LOSE_IRQ, .peer = 1, .nth = 1, .count = 1}, T3_ADMIN_BAD_VALUE},
	{"fail-dma-count-0", {.kind = T3_INJECT_FAIL_DMA, .nth = 1}, T3_ADMIN_BAD_VALUE},
	{"poison-nothing", {.kind = T3_INJECT_POISON, .address = 64}, T3_ADMIN_BAD_VALUE},
	{"poison-address", {.kind = T3_INJECT_POISON, .address = 32, .value = 64}, T3_ADMIN_BAD_VALUE},
	{"poison-value", {.kind = T3_INJECT_POISON, .address = 64, .value = 32}, T3_ADMIN_BAD_VALUE},
	{"poison-outside", {.kind = T3_INJECT_POISON, .address = 1ull << 52, .value = 64}, T3_ADMIN_BAD_RANGE},
	{"poison-wraps", {.kind = T3_INJECT_POISON, .address = 64, .value = ~0x3full}, T3_ADMIN_BAD_RANGE},
	{"unpoison-outside", {.kind = T3_INJECT_UNPOISON, .address = 1ull << 52, .value = 64}, T3_ADMIN_BAD_RANGE},
	{"hang-free", {.kind = T3_INJECT_HANG_QUEUE, .peer = 1}, T3_ADMIN_BAD_QUEUE},
	{"hang-64", {.kind = T3_INJECT_HANG_QUEUE, .peer = T3_MAX_QUEUES}, T3_ADMIN_BAD_QUEUE},
	{"unhang-free", {.kind = T3_INJECT_UNHANG_QUEUE, .peer = 1}, T3_ADMIN_BAD_QUEUE},
};
/* clang-format on */

static const char *refusal_label(unsigned row)
{
	return refusals[row].name;
}

TEST("each wrong injection is refused", .rows = ARRAY_SIZE(refusals), .label = refusal_label,
     .devices = 2)
{
	struct t3_cmd_inject args = refusals[row].args;
	struct conf_device *d = conf_device(c, 0);

	if (args.kind >= T3_INJECT_DROP && args.kind <= T3_INJECT_LINK_RANDOM)
		args.peer = args.peer == 1     ? conf_device(c, 1)->rank
			    : args.peer == 100 ? d->rank
					       : args.peer;
	CHECK_EQUAL(c, "ADMIN_STATUS", inject_try(c, d, args), refusals[row].status);
	CHECK(c, conf_guest_error(d), "a refusal is no guest error");
}

/* The guest injects at its own rank alone. */
TEST("injections of other ranks are refused", .rows = 2, .devices = 2)
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_inject args = { .kind = T3_INJECT_LOSE_IRQ, .nth = 1, .count = 1 };

	inject_needed(c, d);
	c->injected = true;
	args.rank = row ? T3_MAX_RANKS : conf_device(c, 1)->rank;
	CHECK_EQUAL(c, "ADMIN_STATUS", conf_admin(d, T3_CMD_INJECT, &args, sizeof(args)),
		    T3_ADMIN_BAD_VALUE);
}

/* -------------------------------------------------------------------- as text */

static uint32_t text_try(struct conf *c, struct conf_device *d, const char *text,
			 struct t3_cmd_inject_text *args)
{
	c->injected = true;
	*args = (struct t3_cmd_inject_text){ 0 };
	memcpy(args->text, text, strlen(text));
	return conf_admin(d, T3_CMD_INJECT_TEXT, args, sizeof(*args));
}

static const struct {
	const char *text;
	uint32_t status;
} texts[] = {
	{ "", T3_ADMIN_OK },
	{ "lose-irq nth=0; ;unpoison", T3_ADMIN_OK },
	{ "nonsense", T3_ADMIN_BAD_VALUE },
	{ "lose-irq nth=x", T3_ADMIN_BAD_VALUE },
	{ "lose-irq rank=0xffff", T3_ADMIN_BAD_VALUE },
	{ "fail-dma count=0", T3_ADMIN_BAD_VALUE },
	{ "hang-queue queue=63", T3_ADMIN_BAD_QUEUE },
	{ "drop peer=0xffff", T3_ADMIN_NO_ROUTE },
};

/* A refusal says why. */
TEST("a refused text says why", .rows = ARRAY_SIZE(texts))
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_inject_text args;

	inject_needed(c, d);
	CHECK_EQUAL(c, "ADMIN_STATUS", text_try(c, d, texts[row].text, &args), texts[row].status);
	CHECK(c, memchr(args.text, 0, sizeof(args.text)), "the answer has no end");
	CHECK(c, (args.text[0] != 0) == (texts[row].status != T3_ADMIN_OK), "answer '%s'",
	      args.text);
}

/* Nothing is in force of a text that cannot be read. */
TEST("a text that cannot be read has no effect")
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_inject_text args;
	struct t3_cmd_queue_create queue = { .ring = 1 };

	inject_needed(c, d);
	CHECK_EQUAL(c, "ADMIN_STATUS", text_try(c, d, "poison address=0 value=64;poison", &args),
		    T3_ADMIN_BAD_VALUE);
	conf_admin(d, T3_CMD_QUEUE_CREATE, &queue, sizeof(queue));
	CHECK_EQUAL(c, "POISON_ADDRESS", conf_reg(d, T3_REG_POISON_ADDRESS), 0);
	memset(args.text, ' ', sizeof(args.text));
	CHECK_EQUAL(c, "a text without an end",
		    conf_admin(d, T3_CMD_INJECT_TEXT, &args, sizeof(args)), T3_ADMIN_BAD_VALUE);
	args = (struct t3_cmd_inject_text){ .mbz = 1 };
	CHECK_EQUAL(c, "mbz", conf_admin(d, T3_CMD_INJECT_TEXT, &args, sizeof(args)),
		    T3_ADMIN_BAD_VALUE);
}

/* Each kind is described, and no other. */
TEST("each kind is described")
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_inject_text args;

	inject_needed(c, d);
	for (uint32_t kind = 1; kind <= T3_INJECT_KIND_COUNT; kind++) {
		args = (struct t3_cmd_inject_text){ .kind = kind };
		CHECK_EQUAL(c, "ADMIN_STATUS",
			    conf_admin(d, T3_CMD_INJECT_TEXT, &args, sizeof(args)),
			    kind < T3_INJECT_KIND_COUNT ? T3_ADMIN_OK : T3_ADMIN_BAD_INDEX);
		CHECK(c, kind == T3_INJECT_KIND_COUNT || args.text[0], "kind %u has no name", kind);
	}
}

/* Without CAPS.INJECT there are no such commands. */
TEST("a device that injects nothing has no such commands")
{
	struct t3_cmd_inject args = { .kind = T3_INJECT_LOSE_IRQ, .nth = 1, .count = 1 };
	struct t3_cmd_inject_text text;
	unsigned i = 0;

	while (i < c->count && conf_reg(&c->device[i], T3_REG_CAPS) & T3_CAP_INJECT)
		i++;
	if (i == c->count)
		conf_skip(c, "needs a device without CAPS.INJECT");
	args.rank = c->device[i].rank;
	CHECK_EQUAL(c, "ADMIN_STATUS",
		    conf_admin(&c->device[i], T3_CMD_INJECT, &args, sizeof(args)),
		    T3_ADMIN_BAD_OPCODE);
	CHECK_EQUAL(c, "ADMIN_STATUS of INJECT_TEXT", text_try(c, &c->device[i], "", &text),
		    T3_ADMIN_BAD_OPCODE);
}
