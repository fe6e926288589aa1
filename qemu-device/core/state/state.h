/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state as a stream of bytes. SPEC.md section 13. One visitor for each structure both saves
 * and loads, so that the two cannot diverge. A configuration is saved as the admin command that
 * makes it, and loading it uses the checks of that command.
 */
#ifndef T3_CORE_STATE_H
#define T3_CORE_STATE_H

#include "front/front.h"
#include "queue/queue_private.h"
#include "space/space_private.h"

/* All counters are saved: another number of them is another version. */
#define T3_STATE_VERSION   (9u << 16 | T3_COUNTER_COUNT)
#define T3_STATE_MAGIC_DEV 0x56443354u /* "T3DV" */
#define T3_STATE_MAGIC_FAB 0x42463354u /* "T3FB" */
#define T3_STATE_END	   0x444e4533u /* "3END" */

/*
 * If a structure grows, its new field is not saved yet. Visit the field, or give the reason not
 * to here: it is derived, a callback, or used only within a call. Then change the size.
 */
#if UINTPTR_MAX == UINT64_MAX
#define T3_STATE_COUNTERS	  (8 * T3_COUNTER_COUNT)
#define T3_STATE_SIZE(type, size) _Static_assert(sizeof(struct type) == (size), #type " changed")
T3_STATE_SIZE(t3_event, 32);
T3_STATE_SIZE(t3_clock, 320); /* job: of what is attached; stalled, spent: within a call */
T3_STATE_SIZE(t3_share, 2064);
T3_STATE_SIZE(t3_ctl, 88);
T3_STATE_SIZE(t3_link_injection, 88);
T3_STATE_SIZE(t3_rank_injection, 280);
T3_STATE_SIZE(t3_slot, 80);
T3_STATE_SIZE(t3_response, 24);
T3_STATE_SIZE(
	t3_link,
	84464); /* ops, burst_keeps, from, to: of the topology; remote, wanted, idle, wrong_keys, stood,
		   was_busy: not across a load */
T3_STATE_SIZE(t3_gang, 64);
T3_STATE_SIZE(t3_fabric, 44088); /* ops: callbacks; peer: connected anew; part: of several nodes */
T3_STATE_SIZE(t3_group_end, 52);
T3_STATE_SIZE(t3_group, 1952);	      /* reserve, held: derived */
T3_STATE_SIZE(t3_switch_entry, 1128); /* used, chain, before: derived */
T3_STATE_SIZE(t3_switch_port, 296);   /* tell, free, fresh, used, reserved: derived */
T3_STATE_SIZE(t3_switch, 14040 + T3_STATE_COUNTERS); /* ops: callbacks; bucket: derived */
T3_STATE_SIZE(t3_queue, 168);
T3_STATE_SIZE(t3_gemm_run, 4184);
T3_STATE_SIZE(t3_seg_counts, 64);
T3_STATE_SIZE(t3_segment, 352); /* arrived: derived; busy: within a store */
T3_STATE_SIZE(t3_route, 136);
T3_STATE_SIZE(t3_import, 144);
T3_STATE_SIZE(t3_space, 10128); /* recent, recent_at: a cache */
T3_STATE_SIZE(t3_entry, 64);	/* busy: within a store; apart: unused */
T3_STATE_SIZE(t3_lane, 160);	/* counts are added before a state is saved; the rest is derived */
T3_STATE_SIZE(t3_tracker, 32);	/* recent: where to look first */
T3_STATE_SIZE(t3_dev, 264 + T3_STATE_COUNTERS);
T3_STATE_SIZE(t3_spaces, 10360 + T3_STATE_COUNTERS); /* ops; slots: what is placed */
/* ops; bounce: within a step; work: settled; order: derived */
T3_STATE_SIZE(t3_queues, 29560 + T3_STATE_COUNTERS);
T3_STATE_SIZE(t3_gangs, 31616 + T3_STATE_COUNTERS);
T3_STATE_SIZE(t3_front, 31880 + T3_STATE_COUNTERS);
#endif

struct t3_stream {
	bool loading;
	const char *refused; /* the first reason, in words; later bytes read as 0 */
	/* saving */
	t3_sink *sink; /* NULL: count the bytes only */
	void *opaque;
	uint64_t done;
	/* loading */
	const uint8_t *data;
	size_t left;
};

void t3_stream_bytes(struct t3_stream *s, void *data, size_t len);
void t3_stream_u32(struct t3_stream *s, uint32_t *value);
void t3_stream_u64(struct t3_stream *s, uint64_t *value);
void t3_stream_bool(struct t3_stream *s, bool *value);
void t3_stream_time(struct t3_stream *s, uint64_t *value);
/* Refuses a value that is not below `end`, and sets it to 0. */
void t3_stream_below(struct t3_stream *s, uint32_t *value, uint32_t end, const char *why);
/* Refuses a value that differs from this side's. */
void t3_stream_same(struct t3_stream *s, uint64_t value, const char *why);
/* Keeps the first reason. Returns false. */
bool t3_stream_refuse(struct t3_stream *s, const char *why);
bool t3_stream_rule(struct t3_stream *s, bool holds, const char *why);

typedef void t3_visitor(struct t3_stream *s, void *object);
void t3_state_save(t3_visitor *visit, void *object, uint32_t magic, t3_sink *sink, void *opaque);
const char *t3_state_load(t3_visitor *visit, void *object, uint32_t magic, const void *data,
			  size_t len);

/* state_space.c, state_dev.c, state_queue.c, state_link.c */
void t3_visit_spaces(struct t3_stream *s, struct t3_dev *dev);
void t3_visit_tracker(struct t3_stream *s, struct t3_dev *dev);
void t3_visit_share(struct t3_stream *s, struct t3_share *share);
void t3_visit_queues(struct t3_stream *s, struct t3_dev *dev);
void t3_visit_event(struct t3_stream *s, struct t3_heap *heap, struct t3_event *event);
void t3_visit_waiting(struct t3_stream *s, struct t3_dev *dev);
void t3_visit_links(struct t3_stream *s, struct t3_fabric *fabric);
void t3_visit_link(struct t3_stream *s, struct t3_link *link);
/* It has not carried a packet, and has no injected fault: it is not saved. */
bool t3_link_is_new(const struct t3_link *link);
/* state_switch.c */
void t3_visit_switch(struct t3_stream *s, struct t3_switch *sw);

/* state_check.c, state_queue.c: the rules of one device */
const char *t3_check_queues(const struct t3_dev *dev);
const char *t3_check_dev(const struct t3_dev *dev);

#endif /* T3_CORE_STATE_H */
