/* SPDX-License-Identifier: MIT */
/*
 * What programs have in them that were linked with libt3.so.0: sizes and places of the structs
 * that they fill, and numbers of enumerations. A line that does not compile any more is a change that
 * breaks them. x86-64.
 */
#include <t3_coll.h>
#include <t3_hw.h>

/* clang-format off */
#define LAYOUT(name, size, field, at) \
	_Static_assert(sizeof(struct name) == (size), #name " has another size"); \
	_Static_assert(offsetof(struct name, field) == (at), #name "." #field " has moved")
/* Those that grow at their ends: only the library makes them. */
#define GROWS(name, field, at) \
	_Static_assert(offsetof(struct name, field) == (at), #name "." #field " has moved")
#define NUMBER(name, value) _Static_assert((name) == (value), #name " is another number")
/* clang-format on */

GROWS(t3_device_entry, node, 24);
GROWS(t3_import_info, op_mask, 8);
GROWS(t3_import_info, rank, 12);

LAYOUT(t3_segment_desc, 48, updates, 16);
LAYOUT(t3_segment_desc, 48, offset, 24);
LAYOUT(t3_segment_desc, 48, tile_row_bytes, 44);
LAYOUT(t3_target, 40, col, 16);
LAYOUT(t3_target, 40, import_count, 24);
LAYOUT(t3_target, 40, imports, 32);
LAYOUT(t3_key, 56, bytes, 0);
LAYOUT(t3_group_ticket, 16, bytes, 0);
LAYOUT(t3_group_target, 24, bytes, 0);
LAYOUT(t3_tile, 32, offset, 16);
LAYOUT(t3_tile, 32, bytes, 24);
LAYOUT(t3_view, 56, desc, 8);
LAYOUT(t3_matrix, 24, pitch, 16);
LAYOUT(t3_gemm_desc, 128, space, 72);
LAYOUT(t3_gemm_desc, 128, chunk_rows, 96);
LAYOUT(t3_gemm_desc, 128, tile_columns, 124);
LAYOUT(t3_timed_desc, 32, result_offset, 24);
LAYOUT(t3_producer_desc, 32, path, 8);
LAYOUT(t3_producer_desc, 32, staging_offset, 24);
LAYOUT(t3_comm_desc, 32, ranks, 12);
LAYOUT(t3_comm_desc, 32, text_size, 24);
LAYOUT(t3_bootstrap_desc, 40, rank, 16);
LAYOUT(t3_bootstrap_desc, 40, text_size, 32);
LAYOUT(t3_plan_desc, 48, count, 8);
LAYOUT(t3_plan_desc, 48, columns, 32);
LAYOUT(t3_plan_desc, 48, flags, 44);
LAYOUT(t3_plan_lengths, 16, receive, 8);

NUMBER(T3_TRACKED, 1);
NUMBER(T3_DELIVERED, 2);
NUMBER(T3_DEVICE_STORES, 6);
NUMBER(T3_DEVICE_INJECTED, 28);
NUMBER(T3_PATH_AUTO, 0);
NUMBER(T3_PATH_STORE, 1);
NUMBER(T3_PATH_DOORBELL, 2);
NUMBER(T3_REDUCE_SCATTER, 1);
NUMBER(T3_ALL_GATHER, 2);
NUMBER(T3_ALL_REDUCE, 3);
NUMBER(T3_ALL_TO_ALL, 4);
NUMBER(T3_BROADCAST, 5);
NUMBER(T3_ALGORITHM_AUTO, 0);
NUMBER(T3_ALGORITHM_RING, 1);
NUMBER(T3_ALGORITHM_DIRECT, 2);
NUMBER(T3_ALGORITHM_HIERARCHICAL, 3);
NUMBER(T3_PLAN_NO_CHUNK, 0xffffffffu);

/* Of t3_hw.h, which programs with timed runs include: the hardware's, not the library's. */
_Static_assert(sizeof(struct t3_timed_args) == 424, "t3_timed_args has another size");
_Static_assert(offsetof(struct t3_timed_args, params) == 64, "t3_timed_args.params has moved");
_Static_assert(sizeof(struct t3_timed_result) == 352, "t3_timed_result has another size");
_Static_assert(offsetof(struct t3_timed_result, counters) == 32, "counters have moved");
_Static_assert(sizeof(struct t3_timed_counters) == 320, "t3_timed_counters has another size");
NUMBER(T3_TIMED_PARAM_TRACKER_RECORD_BYTES, 40);
