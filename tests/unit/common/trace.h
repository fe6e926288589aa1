/* SPDX-License-Identifier: MIT */
/* The trace callbacks of host.c. */
#ifndef T3_TEST_TRACE_H
#define T3_TEST_TRACE_H

#include "host.h"

void host_trace_state(void *opaque, uint32_t space, uint32_t from, uint32_t to, uint32_t epoch);
void host_trace_fault(void *opaque, uint32_t space, const struct t3_fault_record *record);
void host_trace_trigger(void *opaque, uint32_t space, uint32_t segment, uint32_t tile);
void host_trace_queue(void *opaque, uint32_t queue, uint32_t from, uint32_t to);
void host_trace_descriptor(void *opaque, uint32_t queue, uint32_t index, uint32_t opcode,
			   uint32_t status);
void host_trace_block(void *opaque, uint32_t space, uint32_t segment, uint32_t tile, bool sent);
void host_trace_timeout(void *opaque, uint32_t peer, uint32_t packets, bool given_up);
void host_trace_link(void *opaque, uint32_t peer, bool down);
void host_trace_accident(void *opaque, uint32_t peer, uint32_t kind, uint64_t sequence);
void host_trace_loss(void *opaque, uint32_t peer);
void host_trace_nak(void *opaque, const struct t3_packet *packet, uint32_t nak);

#endif
