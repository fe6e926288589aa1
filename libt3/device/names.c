// SPDX-License-Identifier: MIT
/* Words for the numbers of the interface. */
#include <stdio.h>

#include "device/device.h"

static const char *pick(const char *const *names, size_t count, uint32_t i)
{
	return i < count && names[i] ? names[i] : "unknown";
}

#define NAME(table, i) pick(table, sizeof(table) / sizeof(*(table)), i)

const char *t3_state_name(uint32_t state)
{
	static const char *const names[] = {
		[DRM_T3_SPACE_IDLE] = "idle",	      [DRM_T3_SPACE_ARMING] = "arming",
		[DRM_T3_SPACE_ARMED] = "armed",	      [DRM_T3_SPACE_COMPLETE] = "complete",
		[DRM_T3_SPACE_FAULTED] = "faulted",   [DRM_T3_SPACE_DISABLED] = "disabled",
		[DRM_T3_SPACE_QUIESCED] = "quiesced", [DRM_T3_SPACE_DEAD] = "dead",
	};

	return NAME(names, state);
}

const char *t3_fault_name(uint32_t kind)
{
	static const char *const names[] = {
		[DRM_T3_FAULT_NONE] = "none",
		[DRM_T3_FAULT_UNMAPPED] = "unmapped",
		[DRM_T3_FAULT_WIDTH] = "width",
		[DRM_T3_FAULT_TILE_CROSS] = "tile-cross",
		[DRM_T3_FAULT_READ_REMOTE] = "read-remote",
		[DRM_T3_FAULT_NOT_ARMED] = "not-armed",
		[DRM_T3_FAULT_OVERSHOOT] = "overshoot",
		[DRM_T3_FAULT_BAD_DOORBELL] = "bad-doorbell",
		[DRM_T3_FAULT_BAD_ARM] = "bad-arm",
		[DRM_T3_FAULT_LINK] = "link",
		[DRM_T3_FAULT_REJECTED] = "rejected",
		[DRM_T3_FAULT_PEER_POISON] = "peer-poison",
		[DRM_T3_FAULT_PEER_DEAD] = "peer-dead",
		[DRM_T3_FAULT_HOST_DMA] = "host-dma",
		[DRM_T3_FAULT_COUNTER] = "counter",
		[DRM_T3_FAULT_POISON] = "poison",
	};

	return NAME(names, kind);
}

const char *t3_nak_name(uint32_t nak)
{
	static const char *const names[] = {
		[DRM_T3_NAK_NONE] = "none",	      [DRM_T3_NAK_NO_DEVICE] = "no-device",
		[DRM_T3_NAK_NO_SPACE] = "no-space",   [DRM_T3_NAK_GENERATION] = "generation",
		[DRM_T3_NAK_NO_GRANT] = "no-grant",   [DRM_T3_NAK_SEGMENT] = "segment",
		[DRM_T3_NAK_BOUNDS] = "bounds",	      [DRM_T3_NAK_EPOCH] = "epoch",
		[DRM_T3_NAK_NOT_ARMED] = "not-armed", [DRM_T3_NAK_FAULTED] = "faulted",
		[DRM_T3_NAK_OVERSHOOT] = "overshoot", [DRM_T3_NAK_MALFORMED] = "malformed",
		[DRM_T3_NAK_POISON] = "poison",
	};

	return NAME(names, nak);
}

const char *t3_kind_name(uint32_t kind)
{
	static const char *const names[] = {
		[DRM_T3_SEGMENT_LOCAL] = "local",
		[DRM_T3_SEGMENT_REMOTE] = "remote",
		[DRM_T3_SEGMENT_DMA] = "dma",
	};

	return NAME(names, kind);
}

const char *t3_op_name(uint32_t op)
{
	static const char *const names[] = { "store", "add", "min", "max" };

	return NAME(names, op);
}

const char *t3_dtype_name(uint32_t dtype)
{
	static const char *const names[] = { "i32", "f32", "f16", "bf16", "u8", "i8" };

	return NAME(names, dtype);
}

const char *t3_topology_name(uint32_t topology)
{
	static const char *const names[] = { "none", "ring", "full" };

	return NAME(names, topology);
}

_Static_assert((int)T3_DEVICE_ENGINE_WORK == (int)DRM_T3_COUNTER_ENGINE_WORK, "counters");

const char *t3_counter_name(uint32_t counter)
{
	static const char *const names[] = {
		[T3_DEVICE_TRACKER_HIT] = "tracker-hit",
		[T3_DEVICE_TRACKER_ALLOC] = "tracker-alloc",
		[T3_DEVICE_TRACKER_SPILL] = "tracker-spill",
		[T3_DEVICE_TRACKER_FILL] = "tracker-fill",
		[T3_DEVICE_TRACKER_LIVE] = "tracker-live",
		[T3_DEVICE_TRACKER_PEAK] = "tracker-peak",
		[T3_DEVICE_STORES] = "stores",
		[T3_DEVICE_DOORBELLS] = "doorbells",
		[T3_DEVICE_TRIGGERS] = "triggers",
		[T3_DEVICE_DMA_BYTES] = "dma-bytes",
		[T3_DEVICE_NMC_ELEMENTS] = "nmc-elements",
		[T3_DEVICE_LINK_TX_PACKETS] = "link-tx-packets",
		[T3_DEVICE_LINK_TX_BYTES] = "link-tx-bytes",
		[T3_DEVICE_LINK_RX_PACKETS] = "link-rx-packets",
		[T3_DEVICE_LINK_RX_BYTES] = "link-rx-bytes",
		[T3_DEVICE_LINK_RETRIES] = "link-retries",
		[T3_DEVICE_LINK_DUPLICATES] = "link-duplicates",
		[T3_DEVICE_NAKS] = "naks",
		[T3_DEVICE_FAULTS] = "faults",
		[T3_DEVICE_DROPPED] = "dropped",
		[T3_DEVICE_INTERRUPTS] = "interrupts",
		[T3_DEVICE_LINK_ERRORS] = "link-errors",
		[T3_DEVICE_LINK_DOWNS] = "link-downs",
		[T3_DEVICE_HOST_DMA_ERRORS] = "host-dma-errors",
		[T3_DEVICE_POISON_HITS] = "poison-hits",
		[T3_DEVICE_QUEUE_DESCRIPTORS] = "queue-descriptors",
		[T3_DEVICE_QUEUE_ERRORS] = "queue-errors",
		[T3_DEVICE_QUEUE_BYTES] = "queue-bytes",
		[T3_DEVICE_INJECTED] = "injected",
		[T3_DEVICE_ENGINE_WORK] = "engine-work",
	};

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
	char segment[32], tile[32], offset[40];
	bool refused;

	if (!fault || (!text && size))
		return -EINVAL;
	refused = fault->kind == DRM_T3_FAULT_REJECTED;
	return snprintf(text, size, "fault %s%s%s%s%s%s in epoch %u, from or to rank %u",
			t3_fault_name(fault->kind), refused ? " by the target: " : "",
			refused ? t3_nak_name(fault->detail) : "",
			optional(segment, sizeof(segment), ", segment %llu", fault->segment, ~0u),
			optional(tile, sizeof(tile), ", tile %llu", fault->tile, ~0u),
			optional(offset, sizeof(offset), ", offset 0x%llx", fault->offset, ~0ull),
			fault->epoch, fault->src_rank);
}
