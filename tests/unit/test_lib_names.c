// SPDX-License-Identifier: MIT
/* libt3: names of values, and that its numbers are the hardware's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "t3.h"
#include "t3_hw.h"

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

static void every_value_has_a_word(void **state)
{
	(void)state;
	check_words(t3_state_name, DRM_T3_SPACE_IDLE, DRM_T3_SPACE_DEAD);
	check_words(t3_fault_name, DRM_T3_FAULT_NONE, DRM_T3_FAULT_POISON);
	check_words(t3_nak_name, DRM_T3_NAK_NONE, DRM_T3_NAK_POISON);
	check_words(t3_kind_name, DRM_T3_SEGMENT_LOCAL, DRM_T3_SEGMENT_DMA);
	check_words(t3_op_name, DRM_T3_OP_STORE, DRM_T3_OP_MAX);
	check_words(t3_dtype_name, DRM_T3_I32, DRM_T3_I8);
	check_words(t3_topology_name, 0, 2);
	check_words(t3_counter_name, 0, T3_DEVICE_COUNTER_COUNT - 1);
}

static void some_words(void **state)
{
	(void)state;
	assert_string_equal(t3_state_name(DRM_T3_SPACE_FAULTED), "faulted");
	assert_string_equal(t3_fault_name(DRM_T3_FAULT_PEER_DEAD), "peer-dead");
	assert_string_equal(t3_nak_name(DRM_T3_NAK_OVERSHOOT), "overshoot");
	assert_string_equal(t3_kind_name(DRM_T3_SEGMENT_REMOTE), "remote");
	assert_string_equal(t3_op_name(DRM_T3_OP_MIN), "min");
	assert_string_equal(t3_dtype_name(DRM_T3_BF16), "bf16");
	assert_string_equal(t3_topology_name(1), "ring");
	assert_string_equal(t3_counter_name(T3_DEVICE_LINK_RETRIES), "link-retries");
}

static void counters_are_the_hardware_s(void **state)
{
	(void)state;
	assert_int_equal(T3_DEVICE_TRACKER_HIT, T3_COUNTER_TRACKER_HIT);
	assert_int_equal(T3_DEVICE_TRACKER_ALLOC, T3_COUNTER_TRACKER_ALLOC);
	assert_int_equal(T3_DEVICE_TRACKER_SPILL, T3_COUNTER_TRACKER_SPILL);
	assert_int_equal(T3_DEVICE_TRACKER_FILL, T3_COUNTER_TRACKER_FILL);
	assert_int_equal(T3_DEVICE_TRACKER_LIVE, T3_COUNTER_TRACKER_LIVE);
	assert_int_equal(T3_DEVICE_TRACKER_PEAK, T3_COUNTER_TRACKER_PEAK);
	assert_int_equal(T3_DEVICE_STORES, T3_COUNTER_STORES);
	assert_int_equal(T3_DEVICE_DOORBELLS, T3_COUNTER_DOORBELLS);
	assert_int_equal(T3_DEVICE_TRIGGERS, T3_COUNTER_TRIGGERS);
	assert_int_equal(T3_DEVICE_DMA_BYTES, T3_COUNTER_DMA_BYTES);
	assert_int_equal(T3_DEVICE_NMC_ELEMENTS, T3_COUNTER_NMC_ELEMENTS);
	assert_int_equal(T3_DEVICE_LINK_TX_PACKETS, T3_COUNTER_LINK_TX_PACKETS);
	assert_int_equal(T3_DEVICE_LINK_TX_BYTES, T3_COUNTER_LINK_TX_BYTES);
	assert_int_equal(T3_DEVICE_LINK_RX_PACKETS, T3_COUNTER_LINK_RX_PACKETS);
	assert_int_equal(T3_DEVICE_LINK_RX_BYTES, T3_COUNTER_LINK_RX_BYTES);
	assert_int_equal(T3_DEVICE_LINK_RETRIES, T3_COUNTER_LINK_RETRIES);
	assert_int_equal(T3_DEVICE_LINK_DUPLICATES, T3_COUNTER_LINK_DUPLICATES);
	assert_int_equal(T3_DEVICE_NAKS, T3_COUNTER_NAKS);
	assert_int_equal(T3_DEVICE_FAULTS, T3_COUNTER_FAULTS);
	assert_int_equal(T3_DEVICE_DROPPED, T3_COUNTER_DROPPED);
	assert_int_equal(T3_DEVICE_INTERRUPTS, T3_COUNTER_INTERRUPTS);
	assert_int_equal(T3_DEVICE_LINK_ERRORS, T3_COUNTER_LINK_ERRORS);
	assert_int_equal(T3_DEVICE_LINK_DOWNS, T3_COUNTER_LINK_DOWNS);
	assert_int_equal(T3_DEVICE_HOST_DMA_ERRORS, T3_COUNTER_HOST_DMA_ERRORS);
	assert_int_equal(T3_DEVICE_POISON_HITS, T3_COUNTER_POISON_HITS);
	assert_int_equal(T3_DEVICE_QUEUE_DESCRIPTORS, T3_COUNTER_QUEUE_DESCRIPTORS);
	assert_int_equal(T3_DEVICE_QUEUE_ERRORS, T3_COUNTER_QUEUE_ERRORS);
	assert_int_equal(T3_DEVICE_QUEUE_BYTES, T3_COUNTER_QUEUE_BYTES);
	assert_int_equal(T3_DEVICE_INJECTED, T3_COUNTER_INJECTED);
	assert_int_equal(T3_DEVICE_ENGINE_WORK, T3_COUNTER_ENGINE_WORK);
	assert_int_equal(T3_DEVICE_COUNTER_COUNT, T3_COUNTER_COUNT);
}

static void a_fault_in_words(void **state)
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

	(void)state;
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
	assert_int_equal(t3_fault_text(NULL, text, sizeof(text)), -EINVAL);
	assert_int_equal(t3_fault_text(&fault, NULL, 8), -EINVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_value_has_a_word),
		cmocka_unit_test(some_words),
		cmocka_unit_test(counters_are_the_hardware_s),
		cmocka_unit_test(a_fault_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
