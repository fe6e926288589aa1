/* SPDX-License-Identifier: MIT */
/* Segments that widen, SPEC.md section 3.4: what black-box tests of a device cannot see. */
#include <math.h>

#include "host.h"
#include "migrate.h"
#include "ref.h"
#include "test.h"

#define ACCUMULATORS (HOST_STAGING_BASE(0) + 0x20000)

/* A bf16 segment of a row, in tiles of 8 bytes, with accumulators. */
static void map_wide(struct host_dev *d, uint32_t row_bytes, uint32_t init, uint32_t updates)
{
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_BF16);
	struct t3_cmd_seg_widen widen = { .address = ACCUMULATORS, .widen = 1 };

	map.rows = map.tile_rows = 1;
	map.row_bytes = map.pitch = row_bytes;
	map.tile_row_bytes = row_bytes < 4096 ? row_bytes : 4096;
	map.init = (uint8_t)init;
	map.updates = updates;
	host_space(d, 0);
	host_map(d, &map);
	assert_int_equal(host_command(d, T3_CMD_SEG_WIDEN, &widen, sizeof(widen)), T3_ADMIN_OK);
}

TEST("a device without WIDEN does not know the command")
{
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_BF16);
	struct t3_cmd_seg_widen widen = { .address = ACCUMULATORS, .widen = 1 };
	struct host *host = host_ring(2);

	host->dev[1].without_caps = T3_CAP_WIDEN;
	host_replace(host, 1, false);
	host_space(&host->dev[1], 0);
	host_map(&host->dev[1], &map);
	assert_int_equal(host_command(&host->dev[1], T3_CMD_SEG_WIDEN, &widen, sizeof(widen)),
			 T3_ADMIN_BAD_OPCODE);
	host_free(host);
}

/* 1 + 2^-8 + 2^-8: each rounding to bf16 alone would lose what was added, and the copy has both. */
TEST("a saved segment goes on widening")
{
	struct host *host = host_ring(1), *copy;
	uint32_t i;

	map_wide(&host->dev[0], 8, T3_INIT_IDENTITY, 3);
	host_arm(&host->dev[0], 0, 1);
	host_store(&host->dev[0], 0, 0, 0x3f803f803f803f80, 8);
	host_store(&host->dev[0], 0, 0, 0x3b803b803b803b80, 8);
	copy = host_clone(host);
	host_store(&copy->dev[0], 0, 0, 0x3b803b803b803b80, 8);
	host_expect(&copy->dev[0], 0, T3_SPACE_COMPLETE, 1);
	for (i = 0; i < 4; i++)
		assert_int_equal(host_load(&copy->dev[0], 0, 2 * i, 2), 0x3f81);
	host_expect(&host->dev[0], 0, T3_SPACE_ARMED, 1);
	host_free(copy);
	host_free(host);
}

/* Three bytes of memory for each of the segment's: with 24 KiB ARM has more than its own share to do. */
TEST("many accumulators are prepared by the engine")
{
	static const struct {
		uint32_t bytes, init, state;
	} rows[] = {
		{ 0x5000, T3_INIT_IDENTITY, T3_SPACE_ARMED },
		{ 0x6000, T3_INIT_IDENTITY, T3_SPACE_ARMING },
		{ 0x6000, T3_INIT_KEEP, T3_SPACE_ARMED },
		{ 0xa000, T3_INIT_KEEP, T3_SPACE_ARMING },
	};
	uint32_t i, at;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host *host = host_paused(1);
		struct host_dev *d = &host->dev[0];
		bool keep = rows[i].init == T3_INIT_KEEP;
		const uint16_t *buffer;
		const float *wide;

		map_wide(d, rows[i].bytes, rows[i].init, 1);
		buffer = (const uint16_t *)host_buffer(d, 0);
		wide = (const float *)(d->memory + ACCUMULATORS);
		for (at = 0; at < rows[i].bytes; at += 2)
			memcpy(host_buffer(d, 0) + at, &(uint16_t){ 0x4049 }, 2);
		memset(d->memory + ACCUMULATORS, 0xee, 2 * rows[i].bytes + 4);
		host_arm(d, 0, 1);
		assert_int_equal(host_state(d, 0), rows[i].state);
		host_drain(host);
		assert_int_equal(host_state(d, 0), T3_SPACE_ARMED);
		for (at = 0; at < rows[i].bytes / 2; at++) {
			assert_int_equal(buffer[at], keep ? 0x4049 : 0);
			assert_true(wide[at] == (keep ? 3.140625f : 0.0f));
		}
		assert_memory_equal(wide + at, "\xee\xee\xee\xee", 4);
		host_free(host);
	}
}

/* A copy of memory that the device reports as changed is the memory, accumulators and all. */
TEST("each change of memory is reported")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	uint32_t i;

	d->shadow = test_calloc(1, HOST_MEMORY);
	map_wide(d, 16, T3_INIT_IDENTITY, 2);
	memset(d->memory + ACCUMULATORS, 0xee, 32);
	memset(d->shadow + ACCUMULATORS, 0xee, 32);
	host_arm(d, 0, 1);
	for (i = 0; i < 4; i++)
		host_store(d, 0, i % 2 * 8, 0x3f80404040803f80, 8);
	host_expect(d, 0, T3_SPACE_COMPLETE, 1);
	assert_memory_equal(d->memory, d->shadow, HOST_MEMORY);
	test_free(d->shadow);
	d->shadow = NULL;
	host_free(host);
}

/* ------------------------------------------------------------------- errors */

#define MEASURED 4096u /* elements */

static double number(uint32_t dtype, uint64_t half)
{
	uint32_t wide = ref_widen(dtype, (uint32_t)half);
	float value;

	memcpy(&value, &wide, sizeof(value));
	return value;
}

/* About normal, with a variance of 1. */
static uint16_t random_value(uint64_t *random, uint32_t dtype)
{
	float value = -6;
	uint32_t bits, i;

	for (i = 0; i < 12; i++)
		value += (float)(host_random(random) >> 40) * 0x1p-24f;
	memcpy(&bits, &value, sizeof(bits));
	return (uint16_t)ref_narrow(dtype, bits);
}

struct errors {
	double most, sum;
	uint32_t count;
};

/* In units of the last place, of sums above 1: of smaller ones, what was added is larger. */
static void measure(struct errors *errors, uint32_t dtype, double got, double exact)
{
	int fraction = dtype == T3_DTYPE_F16 ? 10 : 7;
	double error;

	if (fabs(exact) < 1)
		return;
	error = fabs(got - exact) / ldexp(1, ilogb(exact) - fraction);
	errors->most = fmax(errors->most, error);
	errors->sum += error;
	errors->count++;
}

static struct errors add_up(uint32_t dtype, uint32_t updates, bool widens)
{
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, dtype);
	struct t3_cmd_seg_widen widen = { .address = ACCUMULATORS, .widen = 1 };
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	static double exact[MEASURED];
	struct errors errors = { 0 };
	uint64_t random = updates;
	uint32_t i, e;

	map.rows = map.tile_rows = 1;
	map.row_bytes = map.pitch = map.tile_row_bytes = 2 * MEASURED;
	map.updates = updates;
	host_space(d, 0);
	host_map(d, &map);
	if (widens)
		assert_int_equal(host_command(d, T3_CMD_SEG_WIDEN, &widen, sizeof(widen)),
				 T3_ADMIN_OK);
	memset(exact, 0, sizeof(exact));
	host_arm(d, 0, 1);
	for (i = 0; i < updates; i++)
		for (e = 0; e < MEASURED; e++) {
			uint16_t value = random_value(&random, dtype);

			exact[e] += number(dtype, value);
			host_store(d, 0, 2 * e, value, 2);
		}
	host_expect(d, 0, T3_SPACE_COMPLETE, 1);
	for (e = 0; e < MEASURED; e++)
		measure(&errors, dtype, number(dtype, host_load(d, 0, 2 * e, 2)), exact[e]);
	host_free(host);
	return errors;
}

/* Section 3.4 has this table: run the program to see it. */
TEST("a widened sum is off by half a unit of the last place, and others by many")
{
	static const uint32_t updates[] = { 2, 4, 8, 32 };
	uint32_t i;

	for (i = 0; i < 2 * sizeof(updates) / sizeof(updates[0]); i++) {
		uint32_t dtype = i % 2 ? T3_DTYPE_F16 : T3_DTYPE_BF16, n = updates[i / 2];
		struct errors each = add_up(dtype, n, false), once = add_up(dtype, n, true);

		print_message("%s, %u updates: each rounded: mean %.2f, most %.1f; once: mean "
			      "%.2f, most %.2f\n",
			      i % 2 ? "f16" : "bf16", n, each.sum / each.count, each.most,
			      once.sum / once.count, once.most);
		assert_true(once.count > MEASURED / 4);
		assert_true(once.most < 0.51);
		assert_true(n == 2 || each.most > 1);
		assert_true(n < 32 || each.sum > 4 * once.sum);
	}
}
