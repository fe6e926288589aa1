// SPDX-License-Identifier: MIT
/* Words for the numbers of the interface, made from the lists of t3_hw.h. */
#include <stdio.h>

#include "device/device.h"
#include "t3_hw.h"

static const char *pick(const char *const *names, size_t count, uint32_t i)
{
	return i < count && names[i] ? names[i] : "unknown";
}

#define NAME(table, i) pick(table, sizeof(table) / sizeof(*(table)), i)

/* The words are the hardware's, so the numbers must be: what the interface lacks is an error. */
_Static_assert(!(0 T3_FAULT_LIST(T3_DIFFERS, DRM_T3_FAULT_)), "not the hardware's numbers");
_Static_assert(!(0 T3_NAK_LIST(T3_DIFFERS, DRM_T3_NAK_)), "not the hardware's numbers");
_Static_assert(!(0 T3_SEGMENT_KIND_LIST(T3_DIFFERS, DRM_T3_SEGMENT_)),
	       "not the hardware's numbers");
_Static_assert(!(0 T3_OP_LIST(T3_DIFFERS, DRM_T3_OP_)), "not the hardware's numbers");
_Static_assert(!(0 T3_DTYPE_LIST(T3_DIFFERS, DRM_T3_)), "not the hardware's numbers");
_Static_assert(!(0 T3_TOPOLOGY_LIST(T3_DIFFERS, DRM_T3_TOPOLOGY_)), "not the hardware's numbers");
_Static_assert(!(0 T3_COUNTER_LIST(T3_DIFFERS, DRM_T3_COUNTER_)), "not the hardware's numbers");
_Static_assert(!(0 T3_COUNTER_LIST(T3_DIFFERS, T3_DEVICE_)), "not the hardware's numbers");
_Static_assert((int)T3_DEVICE_COUNTER_COUNT == (int)T3_COUNTER_COUNT, "a counter too many");
_Static_assert((int)DRM_T3_SPACE_IDLE == (int)T3_SPACE_IDLE, "not the hardware's numbers");
_Static_assert((int)DRM_T3_SPACE_DEAD == (int)T3_SPACE_DEAD, "not the hardware's numbers");

/* No program sees a space that is FREE. */
const char *t3_state_name(uint32_t state)
{
	static const char *const names[] = { T3_SPACE_STATE_LIST(T3_TEXT, T3_SPACE_) };

	return state == T3_SPACE_FREE ? "unknown" : NAME(names, state);
}

const char *t3_fault_name(uint32_t kind)
{
	static const char *const names[] = { T3_FAULT_LIST(T3_TEXT, T3_FAULT_) };

	return NAME(names, kind);
}

const char *t3_nak_name(uint32_t nak)
{
	static const char *const names[] = { T3_NAK_LIST(T3_TEXT, T3_NAK_) };

	return NAME(names, nak);
}

const char *t3_kind_name(uint32_t kind)
{
	static const char *const names[] = { T3_SEGMENT_KIND_LIST(T3_TEXT, T3_SEG_) };

	return NAME(names, kind);
}

const char *t3_op_name(uint32_t op)
{
	static const char *const names[] = { T3_OP_LIST(T3_TEXT, T3_OP_) };

	return NAME(names, op);
}

const char *t3_dtype_name(uint32_t dtype)
{
	static const char *const names[] = { T3_DTYPE_LIST(T3_TEXT, T3_DTYPE_) };

	return NAME(names, dtype);
}

const char *t3_topology_name(uint32_t topology)
{
	static const char *const names[] = { T3_TOPOLOGY_LIST(T3_TEXT, T3_TOPOLOGY_) };

	return NAME(names, topology);
}

const char *t3_counter_name(uint32_t counter)
{
	static const char *const names[] = { T3_COUNTER_LIST(T3_TEXT, T3_COUNTER_) };

	return NAME(names, counter);
}

/* " name 0x.." or nothing for the value that means none. */
static const char *optional(char *text, size_t size, const char *format, uint64_t value,
			    uint64_t none)
{
	if (value == none)
		return "";
	snprintf(text, size, format, (unsigned long long)value);
	return text;
}

int t3_fault_text(const struct drm_t3_fault *fault, char *text, size_t size)
{
	char segment[32], tile[32], offset[40], from[16] = "the switch";
	bool refused;

	if (!fault || (!text && size))
		return -EINVAL;
	refused = fault->kind == DRM_T3_FAULT_REJECTED;
	if (fault->src_rank != DRM_T3_SWITCH_RANK)
		snprintf(from, sizeof(from), "rank %u", fault->src_rank);
	return snprintf(text, size, "fault %s%s%s%s%s%s in epoch %u, from or to %s",
			t3_fault_name(fault->kind), refused ? " by the target: " : "",
			refused ? t3_nak_name(fault->detail) : "",
			optional(segment, sizeof(segment), ", segment %llu", fault->segment, ~0u),
			optional(tile, sizeof(tile), ", tile %llu", fault->tile, ~0u),
			optional(offset, sizeof(offset), ", offset 0x%llx", fault->offset, ~0ull),
			fault->epoch, from);
}
