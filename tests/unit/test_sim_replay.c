/* SPDX-License-Identifier: MIT */
/*
 * Record and replay (SPEC.md section 14). A record replays, and a change in it is found where it
 * is. T3_SEEDS and T3_SEED choose the seeds.
 */
#include "gang.h"
#include "hostile.h"
#include "queue.h"
#include "ring.h"
#include "seeds.h"
#include "tape.h"
#include "test.h"

#define SEEDS 8u
#define STEPS 1500u

/* --------------------------------------------------------- a run, with a tape */

/* The record does not contain reads of a device by the test. */
static void look(struct hostile *mad)
{
	struct host_dev *d = &mad->host->dev[hostile_below(mad, HOSTILE_RANKS)];
	struct t3_tile_info info;
	uint32_t space, segment;

	for (space = 0; space < 4; space++)
		for (segment = 0; segment < T3_SPACE_SEGMENTS; segment++)
			t3_dev_next_waiting_tile(d->dev, space, segment, 0, HOST_NONE32, &info);
}

static void rage(struct hostile *mad, uint32_t steps)
{
	while (steps--) {
		hostile_step(mad);
		if (steps % 8 == 0)
			look(mad);
	}
}

static void good_epochs(struct hostile *mad, uint32_t dtype)
{
	struct ring ring = ring_open(mad->host, 0, dtype);
	uint32_t epoch, r;

	for (r = 0; r < HOSTILE_RANKS; r++)
		host_set(&mad->host->dev[r], T3_REG_SPACE_ENABLE, HOST_NONE32, 4);
	for (epoch = 1; epoch <= 2; epoch++) {
		ring_arm(&ring, epoch);
		for (r = 0; r < HOSTILE_RANKS; r++) {
			t3_fabric_set_inline_budget(mad->host->fabric, hostile_below(mad, 4));
			rage(mad, STEPS / 20);
			t3_fabric_set_inline_budget(mad->host->fabric, T3_INLINE_BUDGET);
			host_drain(mad->host); /* a CPU's store needs a free slot */
			ring_produce(&ring, r, epoch, hostile_below(mad, 2));
		}
		host_drain(mad->host);
		ring_expect_state(&ring, T3_SPACE_COMPLETE, epoch);
		ring_expect_sums(&ring, epoch);
		ring_release(&ring, epoch);
	}
}

/* A hash of all that a host can see at the end. */
static uint64_t run_seed(uint64_t seed, struct tape *tape)
{
	struct host_config config = { T3_TOPOLOGY_RING, HOSTILE_RANKS, 8, 2, T3_KEYS_FABRIC };
	struct hostile mad = { .random = seed * 0x9e3779b97f4a7c15ull, .guarded = true };
	uint64_t hash = 0;
	uint32_t r;

	mad.host = host_new_recorded(&config, tape ? tape_emit : NULL, tape);
	good_epochs(&mad, hostile_below(&mad, T3_DTYPE_U8));
	mad.guarded = false;
	rage(&mad, STEPS);
	for (r = 0; r < HOSTILE_RANKS; r++) {
		struct host_dev *d = &mad.host->dev[r];

		hash = t3_record_hash(hash, d->memory, HOST_MEMORY);
		hash = t3_record_hash(hash, d->pages, (uint64_t)HOST_PAGES * T3_PAGE_SIZE);
		hash = t3_record_hash(hash, d->irqs, sizeof(d->irqs));
	}
	hash += t3_fabric_now(mad.host->fabric);
	host_free(mad.host);
	return hash;
}

/* A record of a faulty driver replays, and recording changed nothing. */
TEST_WITH("a record replays, and recording changes nothing", NULL, seeds_report)
{
	uint64_t seed;
	uint64_t seen[T3_REC_COUNT] = { 0 };
	struct replay_result result;
	uint32_t type;

	for_each_seed(seed, SEEDS)
	{
		struct tape tape = { 0 };

		assert_true(run_seed(seed, &tape) == run_seed(seed, NULL));
		result = tape_replay(&tape);
		tape_expect_same(&result);
		assert_true(result.complete && !result.stopped);
		assert_int_equal(result.bytes, tape.size);
		for (type = 0; type < T3_REC_COUNT; type++)
			seen[type] += result.count[type];
		free(tape.data);
	}
	for (type = T3_REC_NEW; type < T3_REC_COUNT && !seeds_single(); type++)
		assert_true(seen[type] > 0);
}

/* --------------------------------------------------------------- a short tape */

static uint32_t type_at(const struct tape *tape, size_t at)
{
	return tape->data[at] >> T3_REC_TYPE_SHIFT;
}

/* The last piece of a type before the tape's end. */
static size_t find_last(const struct tape *tape, uint32_t type, uint32_t *piece)
{
	uint32_t i;

	for (i = tape->pieces; i-- > 1;)
		if (type_at(tape, tape->piece[i]) == type) {
			*piece = i;
			return tape->piece[i];
		}
	fail_msg("no %s on the tape", replay_type_name(type));
	return 0;
}

static size_t piece_end(const struct tape *tape, uint32_t piece)
{
	return piece + 1 < tape->pieces ? tape->piece[piece + 1] : tape->size;
}

/* The start of a piece's entry. Only MEMORY has two pieces here. */
static size_t entry_of(const struct tape *tape, uint32_t piece)
{
	for (;; piece--) {
		uint32_t type = type_at(tape, tape->piece[piece]);

		if (type >= T3_REC_NEW && type <= T3_REC_INJECT &&
		    type_at(tape, tape->piece[piece - 1]) != T3_REC_MEMORY)
			return tape->piece[piece];
	}
}

TEST("a short record replays with exact counts")
{
	struct tape tape = { 0 };
	struct replay_result result;

	tape_short(&tape);
	result = tape_replay(&tape);
	tape_expect_same(&result);
	assert_int_equal(result.count[T3_REC_APERTURE_WRITE], 12);
	assert_int_equal(result.count[T3_REC_NEW], 2);
	assert_int_equal(result.count[T3_REC_FREE], 2);
	assert_true(result.count[T3_REC_MEMORY] >= 1);
	result = tape_replay_bytes(tape.data, tape.size, 7);
	tape_expect_same(&result);
	assert_true(result.stopped && result.entries == 7);
	free(tape.data);
}

/* A guest's writes that many equal bytes part, all in a row that the device reads at once. */
TEST("all changes in the range of one read are recorded")
{
	struct host_config config = { T3_TOPOLOGY_RING, 2, 256, 8, T3_KEYS_FABRIC };
	struct t3_cmd_seg_map map = host_segment(1, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	struct tape tape = { 0 };
	struct host *host = host_new_recorded(&config, tape_emit, &tape);
	struct host_dev *d = &host->dev[0];
	struct replay_result result;

	map.rows = map.tile_rows = 1;
	map.row_bytes = map.pitch = map.tile_row_bytes = 256;
	host_space(d, 1);
	host_map(d, &map);
	host_stage(d, 1, 0, 1);
	host_arm(d, 1, 1);
	memset(host_slot(d, 1, 0, 0), 1, 60);
	host_slot(d, 1, 0, 0)[100] = host_slot(d, 1, 0, 0)[255] = 1;
	host_tile(d, 1, 0, 0, 0);
	host_drain(host);
	host_expect(d, 1, T3_SPACE_COMPLETE, 1);
	host_free(host);
	result = tape_replay(&tape);
	tape_expect_same(&result);
	assert_int_equal(result.count[T3_REC_MEMORY], 3);
	free(tape.data);
}

/* Change the last byte of the last record of `type`. The replay must find the place. */
static void expect_found(uint32_t type, bool in_data, const char *word)
{
	struct tape tape = { 0 };
	struct replay_result result;
	char place[32];
	uint32_t piece;

	tape_short(&tape);
	find_last(&tape, type, &piece);
	snprintf(place, sizeof(place), "at byte %zu:", entry_of(&tape, piece));
	tape.data[piece_end(&tape, piece + in_data) - 1] ^= 1;
	result = tape_replay(&tape);
	assert_int_equal(result.verdict, REPLAY_DIVERGED);
	assert_non_null(strstr(result.where, place));
	assert_non_null(strstr(result.recorded, word));
	assert_string_not_equal(result.recorded, result.replayed);
	free(tape.data);
}

TEST("changes are found")
{
	expect_found(T3_REC_APERTURE_WRITE, false, "hash");
	expect_found(T3_REC_MEMORY, true, "result");
	expect_found(T3_REC_IRQ, false, "IRQ vector");
	expect_found(T3_REC_DMA_WRITE, false, "DMA_WRITE");
}

/* Another result of a read, and events that are missing or in another order. */
TEST("another result is found")
{
	struct tape tape = { 0 };
	struct replay_result result;
	uint32_t piece;

	tape_short(&tape);
	find_last(&tape, T3_REC_APERTURE_READ, &piece);
	tape.data[tape.piece[piece + 3] + 1] ^= 4; /* behind MEMORY and its data: END */
	result = tape_replay(&tape);
	assert_int_equal(result.verdict, REPLAY_DIVERGED);
	assert_string_equal(result.recorded, "result 0x39");
	assert_string_equal(result.replayed, "result 0x3d");
	assert_non_null(strstr(result.where, "APERTURE_READ"));
	free(tape.data);
}

/* The last END with times. Its second byte is the clock's step, the last byte the events'. */
static void expect_clock_found(bool events, const char *word)
{
	struct tape tape = { 0 };
	struct replay_result result;
	size_t at;
	uint32_t i;

	tape_short(&tape);
	for (i = tape.pieces - 1;
	     tape.data[tape.piece[i]] != (T3_REC_END << T3_REC_TYPE_SHIFT | T3_REC_TIME); i--)
		assert_true(i > 1);
	at = events ? piece_end(&tape, i) - 1 : tape.piece[i] + 1;
	tape.data[at] ^= 1;
	result = tape_replay(&tape);
	assert_int_equal(result.verdict, REPLAY_DIVERGED);
	assert_non_null(strstr(result.recorded, word));
	assert_int_equal(result.at, tape.piece[i]);
	free(tape.data);
}

TEST("another clock is found")
{
	expect_clock_found(false, "virtual time");
	expect_clock_found(true, "event number");
}

/* NEW has the sizes of memory and aperture; each gets an aperture of 3 << 38. */
static void widen(struct tape *tape)
{
	static const uint8_t sizes[] = { 0x80, 0x80, 0x80, 2, 0x80, 0x80, 0x40 };
	static const uint8_t large[] = { 0x80, 0x80, 0x80, 2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x18 };
	const size_t more = sizeof(large) - sizeof(sizes);
	size_t i;

	tape->data = realloc(tape->data, tape->size + 2 * more);
	assert_non_null(tape->data);
	for (i = 0; i + sizeof(sizes) <= tape->size; i++) {
		if (memcmp(tape->data + i, sizes, sizeof(sizes)))
			continue;
		memmove(tape->data + i + more, tape->data + i, tape->size - i);
		memcpy(tape->data + i, large, sizeof(large));
		tape->size += more;
	}
}

/* One of them is allowed, both are not: a page table would take 768 MiB. */
TEST("apertures are bounded")
{
	struct tape tape = { 0 };
	struct replay_result result;
	size_t before;

	tape_short(&tape);
	before = tape.size;
	widen(&tape);
	assert_int_equal(tape.size, before + 6);
	result = tape_replay(&tape);
	assert_int_equal(result.verdict, REPLAY_BAD);
	assert_string_equal(result.why, "an impossible device: it is too large");
	assert_int_equal(result.count[T3_REC_NEW], 2);
	free(tape.data);
}

TEST("a missing record is found")
{
	struct tape tape = { 0 };
	struct replay_result result;
	uint32_t piece;
	size_t at, end;

	tape_short(&tape);
	at = find_last(&tape, T3_REC_IRQ, &piece);
	end = piece_end(&tape, piece);
	memmove(tape.data + at, tape.data + end, tape.size - end);
	result = tape_replay_bytes(tape.data, tape.size - (end - at), 0);
	assert_int_equal(result.verdict, REPLAY_DIVERGED);
	assert_non_null(strstr(result.replayed, "IRQ"));
	free(tape.data);
}

/* ---------------------------------------------------------- start and stop */

/* Two runs of changed bytes, far apart, are both in a record, and little else is. */
TEST("all changes are recorded")
{
	struct host_config config = { T3_TOPOLOGY_RING, 2, 256, 8, T3_KEYS_FABRIC };
	struct t3_descriptor copy = queue_copy(HOST_DATA, 0x200000, 4096);
	struct tape tape = { 0 };
	struct host *host = host_new_recorded(&config, tape_emit, &tape);
	struct queue q = queue_new(&host->dev[0], 0, 0);
	struct replay_result result;
	size_t before = tape.size;

	copy.dst_kind = T3_LOC_HOST;
	host->dev[0].memory[0x200000 + 70] = 1;
	host->dev[0].memory[0x200000 + 4000] = 2;
	queue_submit(&q, &copy);
	host_drain(host);
	assert_int_equal(host->dev[0].data[70], 1);
	assert_int_equal(host->dev[0].data[4000], 2);
	assert_in_range(tape.size - before, 1, 300);
	host_free(host);
	result = tape_replay(&tape);
	tape_expect_same(&result);
	free(tape.data);
}

TEST("recording starts with the fabric and stops once")
{
	struct host_config config = { T3_TOPOLOGY_RING, 2, 256, 8, T3_KEYS_FABRIC };
	struct tape tape = { 0 };
	struct host *host = host_new(&config);
	struct replay_result result;
	size_t size;

	assert_false(t3_fabric_record(host->fabric, tape_emit, &tape)); /* too late */
	assert_false(t3_fabric_recording(host->fabric));
	t3_dev_detach(host->dev[0].dev);
	assert_false(t3_fabric_record(host->fabric, tape_emit, &tape)); /* rank 1 is there */
	host_free(host);
	host = host_new_recorded(&config, tape_emit, &tape);
	assert_true(t3_fabric_recording(host->fabric));
	host_space(&host->dev[0], 1);
	host_local(&host->dev[0], 1, 0);
	host_arm(&host->dev[0], 1, 1);
	host_store(&host->dev[0], 1, 0, 77, 4);
	t3_fabric_record_stop(host->fabric);
	size = tape.size;
	/* The device uses the host's memory. */
	assert_int_equal(host_load(&host->dev[0], 1, 0, 4), 77);
	host_buffer(&host->dev[0], 1)[0] = 78;
	assert_int_equal(host_load(&host->dev[0], 1, 0, 4), 78);
	host_fill(&host->dev[0], 1, 0, 1);
	host_free(host);
	assert_int_equal(tape.size, size);
	result = tape_replay(&tape);
	tape_expect_same(&result);
	assert_true(result.complete);
	free(tape.data);
}

static bool no_dma_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	(void)opaque;
	(void)addr;
	(void)buf;
	(void)len;
	return false;
}

static bool no_dma_write(void *opaque, uint64_t addr, const void *buf, size_t len)
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

static void no_kick(void *opaque)
{
	(void)opaque;
}

/* A host with the fewest callbacks, and one device more than a record has slots for. */
TEST("a device beyond the slots of a record is refused")
{
	static const struct t3_host_ops ops = { .dma_read = no_dma_read,
						.dma_write = no_dma_write,
						.irq = no_irq };
	static const struct t3_fabric_ops fabric_ops = { .kick = no_kick };
	struct t3_fabric_config fabric_config = { .topology = T3_TOPOLOGY_RING,
						  .ranks = 2,
						  .id = 1 };
	struct t3_dev_config config = { .memory_size = T3_PAGE_SIZE,
					.aperture_size = T3_PAGE_SIZE,
					.tracker_entries = 8,
					.tracker_ways = 2 };
	struct t3_fabric *fabric = t3_fabric_new(&fabric_config, &fabric_ops, NULL);
	static uint8_t memory[T3_RECORD_SLOTS + 1][T3_PAGE_SIZE];
	struct t3_dev *dev[T3_RECORD_SLOTS + 1];
	struct tape tape = { 0 };
	struct replay_result result;
	uint32_t i;

	assert_true(t3_fabric_record(fabric, tape_emit, &tape));
	assert_false(t3_fabric_record(fabric, tape_emit, &tape));
	for (i = 0; i <= T3_RECORD_SLOTS; i++) {
		dev[i] = t3_dev_new(&config, memory[i], &ops, NULL);
		assert_non_null(dev[i]);
		assert_int_equal(t3_dev_attach(dev[i], fabric, 1),
				 i < T3_RECORD_SLOTS ? T3_ATTACH_OK : T3_ATTACH_NO_MEMORY);
		t3_dev_regs_write(dev[i], T3_DOORBELL_BASE, 1, 4); /* no such space */
		t3_dev_detach(dev[i]);
	}
	for (i = 0; i <= T3_RECORD_SLOTS; i++)
		t3_dev_free(dev[i]);
	t3_fabric_free(fabric);
	result = tape_replay(&tape);
	tape_expect_same(&result);
	assert_int_equal(result.count[T3_REC_NEW], T3_RECORD_SLOTS);
	free(tape.data);
}

/* One line for each entry and each thing that happens in it. */
TEST("the log has a line for each thing")
{
	struct replay_options options = { 0 };
	struct tape tape = { 0 };
	struct replay_result result;
	size_t size = 0, lines = 0, i;
	char *text = NULL;
	FILE *file;

	tape_short(&tape);
	file = fmemopen(tape.data, tape.size, "rb");
	options.log = open_memstream(&text, &size);
	assert_true(file && options.log);
	replay_run(file, &options, &result);
	fclose(file);
	fclose(options.log);
	tape_expect_same(&result);
	for (i = 0; i < size; i++)
		lines += text[i] == '\n';
	assert_true(lines > result.entries + result.count[T3_REC_DMA_WRITE]);
	assert_non_null(strstr(text, "APERTURE_WRITE  device 0  0x10008  4 bytes  0x8\n"));
	assert_non_null(strstr(text, "IRQ  device 0  vector 0\n"));
	assert_non_null(strstr(text, "space 1  ARMED to COMPLETE  epoch 1\n"));
	assert_non_null(strstr(text, "    = 0x3d\n"));
	free(text);
	free(tape.data);
}

static char *log_of(const struct tape *tape)
{
	struct replay_options options = { 0 };
	struct replay_result result;
	char *text = NULL;
	size_t size = 0;
	FILE *file = fmemopen(tape->data, tape->size, "rb");

	options.log = open_memstream(&text, &size);
	assert_true(file && options.log);
	replay_run(file, &options, &result);
	fclose(file);
	fclose(options.log);
	tape_expect_same(&result);
	return text;
}

/* Faults have their names, and each line the virtual time. */
TEST("the log has faults and virtual time")
{
	struct host_config config = { T3_TOPOLOGY_RING, 2, 256, 8, T3_KEYS_FABRIC };
	struct tape tape = { 0 };
	struct host *host = host_new_recorded(&config, tape_emit, &tape);
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_DMA, T3_OP_ADD, T3_DTYPE_I32);
	unsigned long long now, last = 0;
	char *text, *line, *rest;

	host_space(&host->dev[0], 0);
	host_space(&host->dev[1], 0);
	host_connect(&host->dev[0], &host->dev[1], 0);
	host_map(&host->dev[0], &map);
	host_local(&host->dev[1], 0, 0);
	host_inject(host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 1);
	host_arm(&host->dev[0], 0, 1); /* nothing arrives: the link gives up */
	host_drain(host);
	host_expect(&host->dev[0], 0, T3_SPACE_FAULTED, 1);
	host_free(host);
	text = log_of(&tape);
	assert_non_null(strstr(text, "INJECT  link-down  rank 0  peer 1  nth 0\n"));
	assert_non_null(strstr(text, "    accident  device 0  to rank 1  link-down  packet 0\n"));
	assert_non_null(strstr(text, "    fault  device 0  space 0  LINK  segment"));
	for (line = text; *line; line = strchr(line, '\n') + 1) {
		now = strtoull(line, &rest, 10);
		assert_int_equal(strncmp(rest, " ns  ", 5), 0);
		assert_true(now >= last);
		last = now;
	}
	assert_true(last > 0);
	free(text);
	free(tape.data);
}

/* State must not come from elsewhere, because a replay would not have it. */
TEST("loading a state is refused while recording")
{
	struct host_config config = { T3_TOPOLOGY_RING, 2, 256, 8, T3_KEYS_FABRIC };
	struct tape tape = { 0 }, dev = { 0 }, fabric = { 0 };
	struct host *host = host_new_recorded(&config, tape_emit, &tape);
	struct replay_result result;

	host_space(&host->dev[0], 1);
	t3_dev_save(host->dev[0].dev, tape_emit, &dev);
	t3_fabric_save(host->fabric, tape_emit, &fabric);
	assert_non_null(strstr(t3_dev_load(host->dev[0].dev, dev.data, dev.size), "recorded"));
	assert_non_null(strstr(t3_fabric_load(host->fabric, fabric.data, fabric.size), "recorded"));
	host_expect(&host->dev[0], 1, T3_SPACE_IDLE, 0);
	assert_true(t3_fabric_recording(host->fabric));
	t3_fabric_clear(host->fabric);
	assert_false(t3_fabric_recording(host->fabric));
	assert_null(t3_dev_load(host->dev[0].dev, dev.data, dev.size));
	host_free(host);
	result = tape_replay(&tape);
	tape_expect_same(&result);
	assert_true(result.complete);
	free(tape.data);
	free(dev.data);
	free(fabric.data);
}

/* Devices are detached, used, attached elsewhere, freed and replaced. The record has all of it. */
TEST("hot plugging is recorded")
{
	struct host_config config = { T3_TOPOLOGY_FULL, 3, 16, 4, T3_KEYS_FABRIC };
	struct tape tape = { 0 };
	struct host *host = host_new_recorded(&config, tape_emit, &tape);
	struct host_dev *d = &host->dev[2];
	struct replay_result result;

	t3_dev_detach(d->dev);
	host_space(d, 3);
	host_local(d, 3, 0);
	host_arm(d, 3, 1);
	host_attach(host, 2);
	host_fill(d, 3, 0, 5);
	host_drain(host);
	host_expect(d, 3, T3_SPACE_COMPLETE, 1);
	host_free(host);
	result = tape_replay(&tape);
	tape_expect_same(&result);
	assert_int_equal(result.count[T3_REC_ATTACH], 4);
	assert_int_equal(result.count[T3_REC_DETACH], 4);
	free(tape.data);
}

/* A device's addresses go on from its own last ones when another device joins. */
TEST("a device joins later")
{
	struct host_config config = { T3_TOPOLOGY_RING, 2, 256, 8, T3_KEYS_FABRIC };
	struct tape tape = { 0 };
	struct host *host = host_new_recorded(&config, tape_emit, &tape);
	struct host_dev *d = &host->dev[0];
	struct replay_result result;

	host_space(d, 1);
	host_local(d, 1, 0);
	host_arm(d, 1, 1);
	host_store(d, 1, 0, 5, 4);
	host_replace(host, 1, false);
	host_store(d, 1, 4, 6, 4);
	assert_int_equal(host_load(d, 1, 4, 4), 6);
	host_free(host);
	result = tape_replay(&tape);
	tape_expect_same(&result);
	assert_int_equal(result.count[T3_REC_NEW], 3);
	free(tape.data);
}

/* The replay computes timed runs again, also an unfinished one, and compares their results. */
TEST("timed runs are replayed")
{
	struct host_config config = { T3_TOPOLOGY_RING, 2, 16, 4, T3_KEYS_FABRIC };
	struct t3_timed_setup setup = run_small(2, T3_TIMED_T3_MCA);
	struct run run = run_of(&setup);
	struct tape tape = { 0 };
	struct host *host = host_new_recorded(&config, tape_emit, &tape);
	struct queue q[2] = { queue_new(&host->dev[0], 3, 0), queue_new(&host->dev[1], 4, 0) };
	struct replay_result result;
	uint32_t i;

	for (i = 0; i < 2; i++)
		run_submit(&q[i], &run);
	host_drain(host);
	queue_expect(&q[1], 0, T3_DESC_OK, 0);
	t3_fabric_set_inline_budget(host->fabric, 0);
	for (i = 0; i < 2; i++)
		run_submit(&q[i], &run);
	t3_fabric_run(host->fabric, 7);
	assert_int_equal(queue_head(&q[1]), 1);
	host_free(host);
	result = tape_replay(&tape);
	tape_expect_same(&result);
	assert_true(result.complete);
	free(tape.data);
}
