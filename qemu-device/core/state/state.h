/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State as a stream of bytes: one visitor for each structure serves both
 * directions, so that save and load cannot diverge. A configuration is visited as
 * the admin command that makes it, and loaded by that command's own checks.
 * SPEC.md section 13.
 */
#ifndef T3_CORE_STATE_H
#define T3_CORE_STATE_H

#include "front/front.h"
#include "queue/queue_private.h"
#include "space/space_private.h"

#define T3_STATE_VERSION   3u
#define T3_STATE_MAGIC_DEV 0x56443354u /* "T3DV" */
#define T3_STATE_MAGIC_FAB 0x42463354u /* "T3FB" */
#define T3_STATE_END	   0x444e4533u /* "3END" */

/*
 * A structure that has grown has a field that nobody saves: visit it, or say why not
 * (derived from others, callbacks, within a call only), then set its size here.
 */
#if UINTPTR_MAX == UINT64_MAX
#define T3_STATE_SIZE(type, size) _Static_assert(sizeof(struct type) == (size), #type " changed")
T3_STATE_SIZE(t3_event, 32);
T3_STATE_SIZE(t3_clock, 56); /* background: which event it is */
T3_STATE_SIZE(t3_share, 2064);
T3_STATE_SIZE(t3_ctl, 88);
T3_STATE_SIZE(t3_link_injection, 88);
T3_STATE_SIZE(t3_rank_injection, 280);
T3_STATE_SIZE(t3_slot, 1104);
T3_STATE_SIZE(t3_response, 24);
T3_STATE_SIZE(t3_link, 84360); /* ops */
T3_STATE_SIZE(t3_gang, 64);
T3_STATE_SIZE(t3_fabric, 17520);
T3_STATE_SIZE(t3_queue, 168);
T3_STATE_SIZE(t3_gemm_run, 4184);
T3_STATE_SIZE(t3_seg_counts, 64);
T3_STATE_SIZE(t3_segment, 336); /* run: derived */
T3_STATE_SIZE(t3_route, 128);
T3_STATE_SIZE(t3_import, 120);
T3_STATE_SIZE(t3_space, 9104); /* recent, recent_at: where to look first */
T3_STATE_SIZE(t3_entry, 24);
T3_STATE_SIZE(t3_tracker, 32); /* recent: where to look first */
T3_STATE_SIZE(t3_dev, 488);
T3_STATE_SIZE(t3_spaces, 9176);	 /* ops */
T3_STATE_SIZE(t3_queues, 28224); /* ops; bounce: within a step */
T3_STATE_SIZE(t3_gangs, 30280);
T3_STATE_SIZE(t3_front, 30544);
#endif

struct t3_stream {
	bool loading;
	const char *refused; /* first reason, in words; all that follows reads as 0 */
	/* saving */
	t3_sink *sink; /* NULL: only count */
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
/* Refused when it is not below `end`; it then is 0. */
void t3_stream_below(struct t3_stream *s, uint32_t *value, uint32_t end, const char *why);
/* What both sides must agree on. */
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

/* state_check.c: rules of one device alone */
const char *t3_check_queues(const struct t3_dev *dev);
const char *t3_check_dev(const struct t3_dev *dev);

#endif /* T3_CORE_STATE_H */
