/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words for the enumerations of t3_hw.h, as SPEC.md spells them. */
#include "front/front.h"

#define NAME(list, value) \
	((value) < sizeof(list) / sizeof((list)[0]) && (list)[value] ? (list)[value] : "?")

const char *t3_name_space_state(uint32_t state)
{
	static const char *const names[] = {
		[T3_SPACE_FREE] = "FREE",	  [T3_SPACE_IDLE] = "IDLE",
		[T3_SPACE_ARMING] = "ARMING",	  [T3_SPACE_ARMED] = "ARMED",
		[T3_SPACE_COMPLETE] = "COMPLETE", [T3_SPACE_FAULTED] = "FAULTED",
		[T3_SPACE_DISABLED] = "DISABLED", [T3_SPACE_QUIESCED] = "QUIESCED",
	};

	return NAME(names, state);
}

const char *t3_name_fault(uint32_t kind)
{
	static const char *const names[] = {
		[T3_FAULT_NONE] = "NONE",
		[T3_FAULT_UNMAPPED] = "UNMAPPED",
		[T3_FAULT_WIDTH] = "WIDTH",
		[T3_FAULT_TILE_CROSS] = "TILE_CROSS",
		[T3_FAULT_READ_REMOTE] = "READ_REMOTE",
		[T3_FAULT_NOT_ARMED] = "NOT_ARMED",
		[T3_FAULT_OVERSHOOT] = "OVERSHOOT",
		[T3_FAULT_BAD_DOORBELL] = "BAD_DOORBELL",
		[T3_FAULT_BAD_ARM] = "BAD_ARM",
		[T3_FAULT_LINK] = "LINK",
		[T3_FAULT_REJECTED] = "REJECTED",
		[T3_FAULT_PEER_POISON] = "PEER_POISON",
		[T3_FAULT_PEER_DEAD] = "PEER_DEAD",
		[T3_FAULT_HOST_DMA] = "HOST_DMA",
		[T3_FAULT_COUNTER] = "COUNTER",
		[T3_FAULT_POISON] = "POISON",
	};

	return NAME(names, kind);
}

const char *t3_name_segment_kind(uint32_t kind)
{
	static const char *const names[] = {
		[T3_SEG_LOCAL] = "LOCAL",
		[T3_SEG_REMOTE] = "REMOTE",
		[T3_SEG_DMA] = "DMA",
	};

	return NAME(names, kind);
}

const char *t3_name_op(uint32_t op)
{
	static const char *const names[] = {
		[T3_OP_STORE] = "STORE",
		[T3_OP_ADD] = "ADD",
		[T3_OP_MIN] = "MIN",
		[T3_OP_MAX] = "MAX",
	};

	return NAME(names, op);
}

const char *t3_name_dtype(uint32_t dtype)
{
	static const char *const names[] = {
		[T3_DTYPE_I32] = "I32",	  [T3_DTYPE_F32] = "F32", [T3_DTYPE_F16] = "F16",
		[T3_DTYPE_BF16] = "BF16", [T3_DTYPE_U8] = "U8",	  [T3_DTYPE_I8] = "I8",
	};

	return NAME(names, dtype);
}

const char *t3_name_topology(uint32_t topology)
{
	static const char *const names[] = {
		[T3_TOPOLOGY_NONE] = "none",
		[T3_TOPOLOGY_RING] = "ring",
		[T3_TOPOLOGY_FULL] = "full",
	};

	return NAME(names, topology);
}

const char *t3_name_counter(uint32_t counter)
{
	static const char *const names[] = {
		[T3_COUNTER_TRACKER_HIT] = "tracker-hit",
		[T3_COUNTER_TRACKER_ALLOC] = "tracker-alloc",
		[T3_COUNTER_TRACKER_SPILL] = "tracker-spill",
		[T3_COUNTER_TRACKER_FILL] = "tracker-fill",
		[T3_COUNTER_TRACKER_LIVE] = "tracker-live",
		[T3_COUNTER_TRACKER_PEAK] = "tracker-peak",
		[T3_COUNTER_STORES] = "stores",
		[T3_COUNTER_DOORBELLS] = "doorbells",
		[T3_COUNTER_TRIGGERS] = "triggers",
		[T3_COUNTER_DMA_BYTES] = "dma-bytes",
		[T3_COUNTER_NMC_ELEMENTS] = "nmc-elements",
		[T3_COUNTER_LINK_TX_PACKETS] = "link-tx-packets",
		[T3_COUNTER_LINK_TX_BYTES] = "link-tx-bytes",
		[T3_COUNTER_LINK_RX_PACKETS] = "link-rx-packets",
		[T3_COUNTER_LINK_RX_BYTES] = "link-rx-bytes",
		[T3_COUNTER_LINK_RETRIES] = "link-retries",
		[T3_COUNTER_LINK_DUPLICATES] = "link-duplicates",
		[T3_COUNTER_NAKS] = "naks",
		[T3_COUNTER_FAULTS] = "faults",
		[T3_COUNTER_DROPPED] = "dropped",
		[T3_COUNTER_INTERRUPTS] = "interrupts",
		[T3_COUNTER_LINK_ERRORS] = "link-errors",
		[T3_COUNTER_LINK_DOWNS] = "link-downs",
		[T3_COUNTER_HOST_DMA_ERRORS] = "host-dma-errors",
		[T3_COUNTER_POISON_HITS] = "poison-hits",
		[T3_COUNTER_QUEUE_DESCRIPTORS] = "queue-descriptors",
		[T3_COUNTER_QUEUE_ERRORS] = "queue-errors",
		[T3_COUNTER_QUEUE_BYTES] = "queue-bytes",
		[T3_COUNTER_INJECTED] = "injected",
		[T3_COUNTER_ENGINE_WORK] = "engine-work",
	};

	return NAME(names, counter);
}

const char *t3_name_nak(uint32_t nak)
{
	static const char *const names[] = {
		[T3_NAK_NONE] = "NONE",		  [T3_NAK_NO_DEVICE] = "NO_DEVICE",
		[T3_NAK_NO_SPACE] = "NO_SPACE",	  [T3_NAK_GENERATION] = "GENERATION",
		[T3_NAK_NO_GRANT] = "NO_GRANT",	  [T3_NAK_SEGMENT] = "SEGMENT",
		[T3_NAK_BOUNDS] = "BOUNDS",	  [T3_NAK_EPOCH] = "EPOCH",
		[T3_NAK_NOT_ARMED] = "NOT_ARMED", [T3_NAK_FAULTED] = "FAULTED",
		[T3_NAK_OVERSHOOT] = "OVERSHOOT", [T3_NAK_MALFORMED] = "MALFORMED",
		[T3_NAK_POISON] = "POISON",
	};

	return NAME(names, nak);
}

const char *t3_name_packet(uint32_t type)
{
	static const char *const names[] = {
		[T3_PKT_UPDATE] = "UPDATE",
		[T3_PKT_ARM_QUERY] = "ARM_QUERY",
		[T3_PKT_STATE] = "STATE",
		[T3_PKT_POISON] = "POISON",
	};

	return NAME(names, type);
}

const char *t3_name_queue_state(uint32_t state)
{
	static const char *const names[] = {
		[T3_QUEUE_FREE] = "FREE",
		[T3_QUEUE_READY] = "READY",
		[T3_QUEUE_ERROR] = "ERROR",
	};

	return NAME(names, state);
}

const char *t3_name_opcode(uint32_t opcode)
{
	static const char *const names[] = {
		[T3_DESC_NOP] = "NOP",	     [T3_DESC_COPY] = "COPY",	[T3_DESC_FILL] = "FILL",
		[T3_DESC_UPDATE] = "UPDATE", [T3_DESC_WAIT] = "WAIT",	[T3_DESC_SIGNAL] = "SIGNAL",
		[T3_DESC_GEMM] = "GEMM",     [T3_DESC_TIMED] = "TIMED",
	};

	return NAME(names, opcode);
}

const char *t3_name_descriptor_status(uint32_t status)
{
	static const char *const names[] = {
		[T3_DESC_OK] = "OK",
		[T3_DESC_BAD_DESCRIPTOR] = "BAD_DESCRIPTOR",
		[T3_DESC_BAD_RANGE] = "BAD_RANGE",
		[T3_DESC_HOST_DMA] = "HOST_DMA",
		[T3_DESC_POISON] = "POISON",
		[T3_DESC_SPACE] = "SPACE",
		[T3_DESC_FAULT] = "FAULT",
		[T3_DESC_ABORTED] = "ABORTED",
		[T3_DESC_OVERRUN] = "OVERRUN",
		[T3_DESC_DTYPE] = "DTYPE",
		[T3_DESC_MEMORY] = "MEMORY",
		[T3_DESC_GANG] = "GANG",
	};

	return NAME(names, status);
}

#define COMMAND(name) [T3_CMD_##name] = #name

const char *t3_name_admin_command(uint32_t command)
{
	static const char *const names[] = {
		COMMAND(SPACE_CREATE), COMMAND(SPACE_DISABLE), COMMAND(SPACE_DESTROY),
		COMMAND(SPACE_RESET),  COMMAND(SPACE_QUERY),   COMMAND(SEG_MAP),
		COMMAND(SEG_UNMAP),    COMMAND(SEG_STAGING),   COMMAND(SEG_STATS),
		COMMAND(ROUTE_SET),    COMMAND(ROUTE_CLEAR),   COMMAND(IMPORT_SET),
		COMMAND(IMPORT_CLEAR), COMMAND(QUEUE_CREATE),  COMMAND(QUEUE_DESTROY),
		COMMAND(QUEUE_ABORT),  COMMAND(QUEUE_QUERY),   COMMAND(FENCE_SET),
		COMMAND(LINK_QUERY),   COMMAND(INJECT),	       COMMAND(TILE_QUERY),
	};

	return NAME(names, command);
}

#define STATUS(name) [T3_ADMIN_##name] = #name

const char *t3_name_admin_status(uint32_t status)
{
	static const char *const names[] = {
		STATUS(OK),	   STATUS(BAD_OPCODE), STATUS(BAD_SPACE),    STATUS(BAD_INDEX),
		STATUS(EXISTS),	   STATUS(BAD_RANGE),  STATUS(BAD_GEOMETRY), STATUS(BAD_VALUE),
		STATUS(BAD_STATE), STATUS(NO_ROUTE),   STATUS(NO_RESOURCE),  STATUS(BAD_QUEUE),
	};

	return NAME(names, status);
}

/* The index of a mask of one bit, as a constant. */
#define BIT(prefix, name) [__builtin_ctz(T3_##prefix##_##name)] = #name

const char *t3_name_cap(uint32_t bit)
{
	static const char *const names[] = {
		BIT(CAP, STAGING), BIT(CAP, MINMAX), BIT(CAP, QUEUES), BIT(CAP, MULTI),
		BIT(CAP, BLOCKS),  BIT(CAP, BYTES),  BIT(CAP, INJECT), BIT(CAP, GEMM),
		BIT(CAP, TIMED),   BIT(CAP, TILES),
	};

	return NAME(names, bit);
}

const char *t3_name_error(uint32_t bit)
{
	static const char *const names[] = {
		BIT(ERROR, HOST_DMA), BIT(ERROR, GUEST), BIT(ERROR, LINK),
		BIT(ERROR, POISON),   BIT(ERROR, QUEUE),
	};

	return NAME(names, bit);
}

const char *t3_name_tile_flag(uint32_t bit)
{
	static const char *const names[] = {
		BIT(TILE, TRIGGERED), BIT(TILE, READY), BIT(TILE, STARTED),
		BIT(TILE, SENDING),   BIT(TILE, OPEN),	BIT(TILE, POISONED),
	};

	return NAME(names, bit);
}
