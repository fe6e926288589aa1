// SPDX-License-Identifier: MIT
/* The sections, in the order of SPEC.md. */
#include "run.h"

/* clang-format off */
extern const struct conf_section section_function, section_registers, section_interrupts,
	section_states, section_doorbell, section_events, section_geometry, section_stores,
	section_staged, section_tracker, section_arithmetic, section_dma, section_routes,
	section_all_reduce, section_packets, section_arming, section_keys, section_admin,
	section_segment_admin, section_tiles, section_faults, section_fault_ring, section_reset,
	section_queue_commands, section_queue_rings, section_queue_dma,
	section_queue_descriptors, section_queue_refused, section_queue_engine,
	section_queue_spaces, section_queue_gemm, section_queue_timed, section_inject_links,
	section_inject_rank;

const struct conf_section *const conf_sections[] = {
	&section_function,
	&section_registers,
	&section_interrupts,
	&section_states,
	&section_doorbell,
	&section_events,
	&section_geometry,
	&section_stores,
	&section_staged,
	&section_tracker,
	&section_arithmetic,
	&section_dma,
	&section_routes,
	&section_all_reduce,
	&section_packets,
	&section_arming,
	&section_keys,
	&section_admin,
	&section_segment_admin,
	&section_tiles,
	&section_faults,
	&section_fault_ring,
	&section_reset,
	&section_queue_commands,
	&section_queue_rings,
	&section_queue_dma,
	&section_queue_descriptors,
	&section_queue_refused,
	&section_queue_engine,
	&section_queue_spaces,
	&section_queue_gemm,
	&section_queue_timed,
	&section_inject_links,
	&section_inject_rank,
	NULL,
};
/* clang-format on */
