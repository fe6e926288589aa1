// SPDX-License-Identifier: MIT
/* libt3: words. That its numbers are the hardware's is asserted where they are made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "t3.h"
#include "test.h"

/* Each value up to the last has its own name. The next one has none. */
static void check_words(const char *(*name)(uint32_t), uint32_t first, uint32_t last)
{
	uint32_t i, j;

	for (i = first; i <= last; i++) {
		assert_string_not_equal(name(i), "unknown");
		for (j = first; j < i; j++)
			assert_string_not_equal(name(i), name(j));
	}
	assert_string_equal(name(last + 1), "unknown");
	assert_string_equal(name(UINT32_MAX), "unknown");
	if (first)
		assert_string_equal(name(0), "unknown");
}

TEST("every value has a word")
{
	check_words(t3_state_name, DRM_T3_SPACE_IDLE, DRM_T3_SPACE_DEAD);
	check_words(t3_fault_name, DRM_T3_FAULT_NONE, DRM_T3_FAULT_POISON);
	check_words(t3_nak_name, DRM_T3_NAK_NONE, DRM_T3_NAK_KEY_LIMIT);
	check_words(t3_kind_name, DRM_T3_SEGMENT_LOCAL, DRM_T3_SEGMENT_DMA);
	check_words(t3_op_name, DRM_T3_OP_STORE, DRM_T3_OP_MUL);
	check_words(t3_dtype_name, DRM_T3_I32, DRM_T3_F64);
	check_words(t3_topology_name, 0, 3);
	check_words(t3_counter_name, 0, T3_DEVICE_COUNTER_COUNT - 1);
}

TEST("words are those of the manual")
{
	assert_string_equal(t3_state_name(DRM_T3_SPACE_FAULTED), "faulted");
	assert_string_equal(t3_fault_name(DRM_T3_FAULT_PEER_DEAD), "peer-dead");
	assert_string_equal(t3_nak_name(DRM_T3_NAK_OVERSHOOT), "overshoot");
	assert_string_equal(t3_kind_name(DRM_T3_SEGMENT_REMOTE), "remote");
	assert_string_equal(t3_op_name(DRM_T3_OP_MIN), "min");
	assert_string_equal(t3_dtype_name(DRM_T3_BF16), "bf16");
	assert_string_equal(t3_topology_name(1), "ring");
	assert_string_equal(t3_counter_name(T3_DEVICE_LINK_RETRIES), "link-retries");
}

/* `t3 stat` prints them in a column of 18. */
TEST("counters fit in a column")
{
	uint32_t counter;

	for (counter = 0; counter < T3_DEVICE_COUNTER_COUNT; counter++)
		if (strlen(t3_counter_name(counter)) > 18)
			fail_msg("%s has more than 18 characters", t3_counter_name(counter));
}

TEST("a fault is put in words")
{
	struct drm_t3_fault fault = {
		.kind = DRM_T3_FAULT_REJECTED,
		.detail = DRM_T3_NAK_EPOCH,
		.segment = 2,
		.tile = 7,
		.offset = 0x1f0,
		.epoch = 9,
		.src_rank = 3,
	};
	char text[160], tight[9];
	int length;

	length = t3_fault_text(&fault, text, sizeof(text));
	assert_string_equal(text, "fault rejected by the target: epoch, segment 2, tile 7, "
				  "offset 0x1f0 in epoch 9, from or to rank 3");
	assert_int_equal(length, strlen(text));
	assert_int_equal(t3_fault_text(&fault, tight, sizeof(tight)), length);
	assert_string_equal(tight, "fault re");
	assert_int_equal(t3_fault_text(&fault, NULL, 0), length);
	fault.kind = DRM_T3_FAULT_PEER_POISON;
	fault.segment = UINT32_MAX;
	fault.tile = UINT32_MAX;
	fault.offset = UINT64_MAX;
	t3_fault_text(&fault, text, sizeof(text));
	assert_string_equal(text, "fault peer-poison in epoch 9, from or to rank 3");
	fault.src_rank = DRM_T3_SWITCH_RANK;
	t3_fault_text(&fault, text, sizeof(text));
	assert_string_equal(text, "fault peer-poison in epoch 9, from or to the switch");
	assert_int_equal(t3_fault_text(NULL, text, sizeof(text)), -EINVAL);
	assert_int_equal(t3_fault_text(&fault, NULL, 8), -EINVAL);
}
