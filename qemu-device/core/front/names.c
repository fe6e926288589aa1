/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words for the enumerations of t3_hw.h, made from its lists. */
#include "front/front.h"

#define NAME(list, value) \
	((value) < sizeof(list) / sizeof((list)[0]) && (list)[value] ? (list)[value] : "?")

/* A function that names the values of a list: `entry` says how, T3_NAME for one. */
#define NAMES(function, list, entry, prefix)                                \
	const char *function(uint32_t value)                                \
	{                                                                   \
		static const char *const names[] = { list(entry, prefix) }; \
                                                                            \
		return NAME(names, value);                                  \
	}

NAMES(t3_name_space_state, T3_SPACE_STATE_LIST, T3_NAME, T3_SPACE_)
NAMES(t3_name_fault, T3_FAULT_LIST, T3_NAME, T3_FAULT_)
NAMES(t3_name_segment_kind, T3_SEGMENT_KIND_LIST, T3_NAME, T3_SEG_)
NAMES(t3_name_op, T3_OP_LIST, T3_NAME, T3_OP_)
NAMES(t3_name_dtype, T3_DTYPE_LIST, T3_NAME, T3_DTYPE_)
NAMES(t3_name_nak, T3_NAK_LIST, T3_NAME, T3_NAK_)
NAMES(t3_name_packet, T3_PACKET_TYPE_LIST, T3_NAME, T3_PKT_)
NAMES(t3_name_queue_state, T3_QUEUE_STATE_LIST, T3_NAME, T3_QUEUE_)
NAMES(t3_name_opcode, T3_DESCRIPTOR_OPCODE_LIST, T3_NAME, T3_DESC_)
NAMES(t3_name_descriptor_status, T3_DESCRIPTOR_STATUS_LIST, T3_NAME, T3_DESC_)
NAMES(t3_name_admin_command, T3_ADMIN_OPCODE_LIST, T3_NAME, T3_CMD_)
NAMES(t3_name_admin_status, T3_ADMIN_STATUS_LIST, T3_NAME, T3_ADMIN_)
NAMES(t3_name_cap, T3_CAP_LIST, T3_BIT_NAME, T3_CAP_)
NAMES(t3_name_error, T3_ERROR_LIST, T3_BIT_NAME, T3_ERROR_)
NAMES(t3_name_tile_flag, T3_TILE_LIST, T3_BIT_NAME, T3_TILE_)
NAMES(t3_name_topology, T3_TOPOLOGY_LIST, T3_TEXT, T3_TOPOLOGY_)
NAMES(t3_name_counter, T3_COUNTER_LIST, T3_TEXT, T3_COUNTER_)
NAMES(t3_name_group_kind, T3_GROUP_KIND_LIST, T3_TEXT, T3_GROUP_)
NAMES(t3_name_group_state, T3_GROUP_STATE_LIST, T3_TEXT, T3_GROUP_STATE_)
NAMES(t3_name_inject, T3_INJECT_LIST, T3_TEXT, T3_INJECT_)
