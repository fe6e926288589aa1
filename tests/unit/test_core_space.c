/* SPDX-License-Identifier: MIT */
/*
 * What only a caller of the core can do to a space: accesses that no bus makes, and 2^32 resets. The
 * states of SPEC.md section 2.1 are in tests/conformance.
 */
#include "host.h"
#include "test.h"
#include "space/space_private.h" /* 2^32 resets would take too long */

TEST("accesses outside spaces reach nothing")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];

	host_space(d, 1);
	assert_int_equal(host_load(d, 0, HOST_SPACE_SIZE - 4, 8), HOST_NONE64); /* into space 1 */
	assert_int_equal(host_load(d, 1, HOST_SPACE_SIZE - 4, 8), HOST_NONE64); /* out of it */
	assert_int_equal(t3_dev_aperture_read(d->dev, HOST_APERTURE, 8), HOST_NONE64);
	assert_int_equal(t3_dev_aperture_read(d->dev, HOST_NONE64 - 7, 8), HOST_NONE64);
	t3_dev_aperture_write(d->dev, HOST_APERTURE, 1, 8);
	t3_dev_aperture_write(d->dev, HOST_NONE64 - 7, 1, 8);
	host_store(d, 1, HOST_SPACE_SIZE - 4, 1, 8);
	assert_int_equal(host_counter(d, T3_COUNTER_DROPPED), 3);
	host_expect(d, 1, T3_SPACE_IDLE, 0);
	host_free(host);
}

/* An unaligned store changes nothing: i32 at 1 and 2, and 8 bytes at 4. */
TEST("an unaligned store faults")
{
	static const struct {
		uint64_t offset;
		uint32_t size;
	} list[] = { { 1, 4 }, { 2, 4 }, { 20, 8 } };
	size_t i;

	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct host *host = host_ring(1);
		struct host_dev *d = &host->dev[0];

		host_space(d, 0);
		host_local(d, 0, 0);
		host_arm(d, 0, 1);
		host_store(d, 0, list[i].offset, ~0ull, list[i].size);
		host_expect_cpu_fault(d, 0, T3_FAULT_WIDTH, 0, HOST_NONE32, list[i].offset);
		assert_int_equal(host_load(d, 0, 0, 8) | host_load(d, 0, 16, 8), 0);
		host_free(host);
	}
}

/* A read that begins before a remote segment, or ends behind it. */
TEST("an unaligned read of a remote segment faults")
{
	static const uint64_t offsets[] = { 0x43e, 0x3fa, 0x43f };
	struct t3_cmd_seg_map map = host_segment(0, 1, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_F16);
	size_t i;

	for (i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		struct host *host = host_ring(2);
		struct host_dev *d = &host->dev[0];

		host_space(d, 0);
		host_space(&host->dev[1], 0);
		host_connect(d, &host->dev[1], 0);
		host_map(d, &map);
		assert_int_equal(host_load(d, 0, offsets[i], 8), HOST_NONE64);
		host_expect_cpu_fault(d, 0, T3_FAULT_READ_REMOTE, 1, HOST_NONE32, offsets[i]);
		host_free(host);
	}
}

enum ending { RESET, DESTROY, FUNCTION_RESET, FREE_FUNCTION_RESET, WIPE, ENDINGS };

static void end(struct host_dev *d, enum ending how)
{
	if (how == FREE_FUNCTION_RESET)
		host_destroy(d, 3);
	t3_spaces(d->dev)->generation[3] = 0xffffffff;
	if (how == RESET)
		host_space_command(d, T3_CMD_SPACE_RESET, 3);
	else if (how == DESTROY)
		host_destroy(d, 3);
	else if (how == WIPE)
		t3_fabric_clear(d->host->fabric);
	else
		t3_dev_reset(d->dev);
}

/* 0 is no generation: 1 follows the last one. */
TEST("generations wrap to 1")
{
	uint32_t how;

	for (how = 0; how < ENDINGS; how++) {
		struct host *host = host_ring(1);
		struct host_dev *d = &host->dev[0];

		host_space(d, 3);
		end(d, how);
		assert_int_equal(host_query(d, 3).generation, 1);
		host_free(host);
	}
}
