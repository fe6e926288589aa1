/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints: what happens to jobs, queues, spaces, grants and waits.
 *
 * A space works without the driver. States, segments and faults are traced as the driver
 * finds them in the event area when the device interrupts it. It does not see states that
 * ended before it looked. It traces words of segments first, then records of faults, then
 * the state that they led to. Events of a space are between its create and destroy, except
 * those of waits and eventfds that its end causes.
 *
 * Each event begins with the PCI function. A job is identified by its queue and the seqno
 * of its fence, which counts the jobs of the queue from 1. `context` identifies the same
 * fence in the events of gpu_scheduler and dma_fence.
 *
 * perf and trace-cmd read the format file of each event by libtraceevent. In that file a \" of
 * TP_printk() is a bare quote, which libtraceevent cannot parse. libtraceevent also prints a
 * zero of %#x without 0x, unlike the kernel, so that the events have 0x%x.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM t3

#if !defined(T3_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define T3_TRACE_H

#include <linux/tracepoint.h>

#include "t3_job.h"
#include "t3_space.h"

#ifndef T3_TRACE_HELPERS
#define T3_TRACE_HELPERS
static inline u64 t3_trace_client(const struct drm_file *file)
{
	return file ? file->client_id : 0;
}

static inline struct dma_fence *t3_trace_fence(struct t3_job *job)
{
	return &job->base.s_fence->finished;
}

/* t3_trace.c */
void t3_trace_start(struct t3_space *space);
void t3_trace_end(struct t3_space *space);
void t3_trace_look(struct t3_space *space);
#endif

/* By number, so that no name has to be resolved; after the list comes what is not in it. */
#define T3_TRACE_SYMBOL(prefix, name, number, ...) { number, #name },

#define t3_trace_state(state)                                             \
	__print_symbolic(state, T3_SPACE_STATE_LIST(T3_TRACE_SYMBOL, T3_SPACE_) { ~0u, "?" })

TRACE_DEFINE_ENUM(DRM_T3_WAIT_ARMED);
TRACE_DEFINE_ENUM(DRM_T3_WAIT_TRACKED);
TRACE_DEFINE_ENUM(DRM_T3_WAIT_DELIVERED);

#define t3_trace_what(what)                                               \
	__print_symbolic(what, { DRM_T3_WAIT_ARMED, "ARMED" },            \
			 { DRM_T3_WAIT_TRACKED, "TRACKED" },              \
			 { DRM_T3_WAIT_DELIVERED, "DELIVERED" })

/* ------------------------------------------------------------------- ioctls */

/* index: of an array's element, or -1 */
TRACE_EVENT(t3_refusal,
	TP_PROTO(const struct t3_device *tdev, const struct drm_t3_refusal *refusal),
	TP_ARGS(tdev, refusal),
	TP_STRUCT__entry(
		__string(dev, dev_name(tdev->drm.dev))
		__string(name, refusal->struct_name)
		__string(field, refusal->field)
		__string(allowed, refusal->allowed)
		__field(u64, value)
		__field(u32, request)
		__field(u32, error)
		__field(int, index)
	),
	TP_fast_assign(
		__assign_str(dev);
		__assign_str(name);
		__assign_str(field);
		__assign_str(allowed);
		__entry->value = refusal->value;
		__entry->request = refusal->request;
		__entry->error = refusal->error;
		__entry->index = refusal->index;
	),
	TP_printk("dev=%s request=0x%x error=%u struct=%s field=%s index=%d value=0x%llx allowed=%s",
		  __get_str(dev), __entry->request, __entry->error, __get_str(name),
		  __get_str(field), __entry->index, __entry->value, __get_str(allowed))
);

/* ---------------------------------------------------------- jobs and queues */

TRACE_EVENT(t3_job_submit,
	TP_PROTO(struct t3_job *job, const struct drm_file *file),
	TP_ARGS(job, file),
	TP_STRUCT__entry(
		__string(dev, dev_name(job->queue->tdev->drm.dev))
		__field(u64, client)
		__field(u64, context)
		__field(u64, seqno)
		__field(u32, queue)
		__field(u32, priority)
		__field(u32, commands)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->client = t3_trace_client(file);
		__entry->context = t3_trace_fence(job)->context;
		__entry->seqno = t3_trace_fence(job)->seqno;
		__entry->queue = job->queue->hw_id;
		__entry->priority = job->queue->priority;
		__entry->commands = job->count;
	),
	TP_printk("dev=%s queue=%u context=%llu seqno=%llu client=%llu priority=%u commands=%u",
		  __get_str(dev), __entry->queue, __entry->context, __entry->seqno,
		  __entry->client, __entry->priority, __entry->commands)
);

DECLARE_EVENT_CLASS(t3_job,
	TP_PROTO(struct t3_job *job, int error),
	TP_ARGS(job, error),
	TP_STRUCT__entry(
		__string(dev, dev_name(job->queue->tdev->drm.dev))
		__field(u64, context)
		__field(u64, seqno)
		__field(u32, queue)
		__field(u32, done)
		__field(u32, commands)
		__field(int, error)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->context = t3_trace_fence(job)->context;
		__entry->seqno = t3_trace_fence(job)->seqno;
		__entry->queue = job->queue->hw_id;
		__entry->done = job->done;
		__entry->commands = job->count;
		__entry->error = error;
	),
	TP_printk("dev=%s queue=%u context=%llu seqno=%llu done=%u/%u error=%d",
		  __get_str(dev), __entry->queue, __entry->context, __entry->seqno,
		  __entry->done, __entry->commands, __entry->error)
);

/* The commands are in the ring, or will be when the queue has recovered. */
DEFINE_EVENT(t3_job, t3_job_run,
	TP_PROTO(struct t3_job *job, int error),
	TP_ARGS(job, error)
);

/* The fence is about to signal with that error. */
DEFINE_EVENT(t3_job, t3_job_done,
	TP_PROTO(struct t3_job *job, int error),
	TP_ARGS(job, error)
);

/* The job has used up its time of the engine, or the queue makes no progress. */
DEFINE_EVENT(t3_job, t3_job_timeout,
	TP_PROTO(struct t3_job *job, int error),
	TP_ARGS(job, error)
);

/* The queue was aborted and continues. status: t3_descriptor_status, or -EAGAIN. */
TRACE_EVENT(t3_queue_recover,
	TP_PROTO(const struct t3_queue *queue, int status, int error),
	TP_ARGS(queue, status, error),
	TP_STRUCT__entry(
		__string(dev, dev_name(queue->tdev->drm.dev))
		__field(u32, queue)
		__field(int, status)
		__field(int, error)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->queue = queue->hw_id;
		__entry->status = status;
		__entry->error = error;
	),
	TP_printk("dev=%s queue=%u status=%d error=%d", __get_str(dev), __entry->queue,
		  __entry->status, __entry->error)
);

/* A function reset: all spaces of the device are lost, its queues are created again. */
TRACE_EVENT(t3_reset,
	TP_PROTO(const struct t3_device *tdev, const char *reason),
	TP_ARGS(tdev, reason),
	TP_STRUCT__entry(
		__string(dev, dev_name(tdev->drm.dev))
		__string(reason, reason)
	),
	TP_fast_assign(
		__assign_str(dev);
		__assign_str(reason);
	),
	TP_printk("dev=%s reason=%s", __get_str(dev), __get_str(reason))
);

/* ------------------------------------------------------------------- spaces */

DECLARE_EVENT_CLASS(t3_space,
	TP_PROTO(const struct t3_space *space, u32 generation),
	TP_ARGS(space, generation),
	TP_STRUCT__entry(
		__string(dev, dev_name(space->tdev->drm.dev))
		__field(u64, client)
		__field(u64, bytes)
		__field(u32, space)
		__field(u32, generation)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->client = t3_trace_client(space->file);
		__entry->bytes = space->size;
		__entry->space = space->hw_id;
		__entry->generation = generation;
	),
	TP_printk("dev=%s space=%u generation=%u client=%llu bytes=%llu", __get_str(dev),
		  __entry->space, __entry->generation, __entry->client, __entry->bytes)
);

DEFINE_EVENT(t3_space, t3_space_create,
	TP_PROTO(const struct t3_space *space, u32 generation),
	TP_ARGS(space, generation)
);

/* The space is IDLE again. generation: the new one */
DEFINE_EVENT(t3_space, t3_space_reset,
	TP_PROTO(const struct t3_space *space, u32 generation),
	TP_ARGS(space, generation)
);

DEFINE_EVENT(t3_space, t3_space_destroy,
	TP_PROTO(const struct t3_space *space, u32 generation),
	TP_ARGS(space, generation)
);

TRACE_EVENT(t3_space_state,
	TP_PROTO(const struct t3_space *space, u32 from, u32 to, u32 epoch),
	TP_ARGS(space, from, to, epoch),
	TP_STRUCT__entry(
		__string(dev, dev_name(space->tdev->drm.dev))
		__field(u32, space)
		__field(u32, from)
		__field(u32, to)
		__field(u32, epoch)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->space = space->hw_id;
		__entry->from = from;
		__entry->to = to;
		__entry->epoch = epoch;
	),
	TP_printk("dev=%s space=%u epoch=%u from=%s to=%s", __get_str(dev), __entry->space,
		  __entry->epoch, t3_trace_state(__entry->from), t3_trace_state(__entry->to))
);

/* tracked: all tiles have their counts; delivered: the targets have confirmed them too. */
TRACE_EVENT(t3_segment,
	TP_PROTO(const struct t3_space *space, u32 segment, u64 word),
	TP_ARGS(space, segment, word),
	TP_STRUCT__entry(
		__string(dev, dev_name(space->tdev->drm.dev))
		__field(u64, word)
		__field(u32, space)
		__field(u32, segment)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->word = word;
		__entry->space = space->hw_id;
		__entry->segment = segment;
	),
	TP_printk("dev=%s space=%u epoch=%u segment=%u tracked=%d delivered=%d", __get_str(dev),
		  __entry->space, (u32)__entry->word, __entry->segment,
		  !!(__entry->word & T3_SEG_WORD_TRACKED),
		  !!(__entry->word & T3_SEG_WORD_DELIVERED))
);

/* kind, detail: t3_fault_kind, t3_nak */
TRACE_EVENT(t3_fault,
	TP_PROTO(const struct t3_space *space, const struct t3_fault_record *fault),
	TP_ARGS(space, fault),
	TP_STRUCT__entry(
		__string(dev, dev_name(space->tdev->drm.dev))
		__field(u64, offset)
		__field(u32, space)
		__field(u32, epoch)
		__field(u32, kind)
		__field(u32, detail)
		__field(int, segment)
		__field(int, tile)
		__field(u32, src_rank)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->offset = fault->offset;
		__entry->space = space->hw_id;
		__entry->epoch = fault->epoch;
		__entry->kind = fault->kind;
		__entry->detail = fault->detail;
		__entry->segment = fault->segment;
		__entry->tile = fault->tile;
		__entry->src_rank = fault->src_rank;
	),
	TP_printk("dev=%s space=%u epoch=%u kind=%u detail=%u segment=%d tile=%d offset=%lld src_rank=%u",
		  __get_str(dev), __entry->space, __entry->epoch, __entry->kind, __entry->detail,
		  __entry->segment, __entry->tile, (s64)__entry->offset, __entry->src_rank)
);

/* ------------------------------------------------------------------- grants */

/* The receiving space. grant: its owner's handle */
DECLARE_EVENT_CLASS(t3_grant,
	TP_PROTO(const struct t3_space *owner, const struct t3_grant *grant),
	TP_ARGS(owner, grant),
	TP_STRUCT__entry(
		__string(dev, dev_name(owner->tdev->drm.dev))
		__field(u64, segments)
		__field(u32, ops)
		__field(u32, space)
		__field(u32, grant)
		__field(u32, index)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->segments = grant->segment_mask;
		__entry->ops = grant->op_mask;
		__entry->space = owner->hw_id;
		__entry->grant = grant->handle;
		__entry->index = grant->index;
	),
	TP_printk("dev=%s space=%u grant=%u index=%u segments=0x%llx ops=0x%x", __get_str(dev),
		  __entry->space, __entry->grant, __entry->index, __entry->segments,
		  __entry->ops)
);

DEFINE_EVENT(t3_grant, t3_grant_export,
	TP_PROTO(const struct t3_space *owner, const struct t3_grant *grant),
	TP_ARGS(owner, grant)
);

/* The grant was revoked, or its owner reset or destroyed, or it was closed unused. */
DEFINE_EVENT(t3_grant, t3_grant_end,
	TP_PROTO(const struct t3_space *owner, const struct t3_grant *grant),
	TP_ARGS(owner, grant)
);

/* The group's own space. */
DECLARE_EVENT_CLASS(t3_group,
	TP_PROTO(const struct t3_space *space, const struct t3_group *group),
	TP_ARGS(space, group),
	TP_STRUCT__entry(
		__string(dev, dev_name(space->tdev->drm.dev))
		__field(u32, space)
		__field(u32, group)
		__field(u32, generation)
		__field(u32, kind)
		__field(u32, members)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->space = space->hw_id;
		__entry->group = group->number;
		__entry->generation = group->generation;
		__entry->kind = group->kind;
		__entry->members = group->members;
	),
	TP_printk("dev=%s space=%u group=%u generation=%u kind=%u members=%u", __get_str(dev),
		  __entry->space, __entry->group, __entry->generation, __entry->kind,
		  __entry->members)
);

DEFINE_EVENT(t3_group, t3_group_create,
	TP_PROTO(const struct t3_space *space, const struct t3_group *group),
	TP_ARGS(space, group)
);

/* The group was destroyed, or its space reset or destroyed. */
DEFINE_EVENT(t3_group, t3_group_end,
	TP_PROTO(const struct t3_space *space, const struct t3_group *group),
	TP_ARGS(space, group)
);

/* The sending space, and the target of its route. */
DECLARE_EVENT_CLASS(t3_route,
	TP_PROTO(const struct t3_space *source, const struct t3_route *route),
	TP_ARGS(source, route),
	TP_STRUCT__entry(
		__string(dev, dev_name(source->tdev->drm.dev))
		__field(u32, space)
		__field(u32, route)
		__field(u32, peer_rank)
		__field(u32, peer_space)
		__field(u32, peer_generation)
		__field(u32, peer_import)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->space = source->hw_id;
		__entry->route = route - source->routes;
		__entry->peer_rank = route->peer_rank;
		__entry->peer_space = route->peer_space;
		__entry->peer_generation = route->peer_generation;
		__entry->peer_import = route->peer_import;
	),
	TP_printk("dev=%s space=%u route=%u peer_rank=%u peer_space=%u peer_generation=%u peer_import=%u",
		  __get_str(dev), __entry->space, __entry->route, __entry->peer_rank,
		  __entry->peer_space, __entry->peer_generation, __entry->peer_import)
);

DEFINE_EVENT(t3_route, t3_grant_import,
	TP_PROTO(const struct t3_space *source, const struct t3_route *route),
	TP_ARGS(source, route)
);

DEFINE_EVENT(t3_route, t3_grant_release,
	TP_PROTO(const struct t3_space *source, const struct t3_route *route),
	TP_ARGS(source, route)
);

/* -------------------------------------------------------------------- waits */

/* A thread begins to wait. It sleeps unless the wait is over already. */
TRACE_EVENT(t3_wait_begin,
	TP_PROTO(const struct t3_space *space, const struct drm_t3_space_wait *args),
	TP_ARGS(space, args),
	TP_STRUCT__entry(
		__string(dev, dev_name(space->tdev->drm.dev))
		__field(u64, segments)
		__field(u32, space)
		__field(u32, epoch)
		__field(u32, what)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->segments = args->segment_mask;
		__entry->space = space->hw_id;
		__entry->epoch = args->epoch;
		__entry->what = args->what;
	),
	TP_printk("dev=%s space=%u epoch=%u what=%s segments=0x%llx", __get_str(dev),
		  __entry->space, __entry->epoch, t3_trace_what(__entry->what),
		  __entry->segments)
);

/* ret: what SPACE_WAIT returns */
TRACE_EVENT(t3_wait_end,
	TP_PROTO(const struct t3_space *space, const struct drm_t3_space_wait *args, int ret),
	TP_ARGS(space, args, ret),
	TP_STRUCT__entry(
		__string(dev, dev_name(space->tdev->drm.dev))
		__field(u32, space)
		__field(u32, epoch)
		__field(u32, what)
		__field(int, ret)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->space = space->hw_id;
		__entry->epoch = args->epoch;
		__entry->what = args->what;
		__entry->ret = ret;
	),
	TP_printk("dev=%s space=%u epoch=%u what=%s ret=%d", __get_str(dev), __entry->space,
		  __entry->epoch, t3_trace_what(__entry->what), __entry->ret)
);

TRACE_EVENT(t3_eventfd_signal,
	TP_PROTO(const struct t3_space *space, u64 segments, u32 epoch),
	TP_ARGS(space, segments, epoch),
	TP_STRUCT__entry(
		__string(dev, dev_name(space->tdev->drm.dev))
		__field(u64, segments)
		__field(u32, space)
		__field(u32, epoch)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->segments = segments;
		__entry->space = space->hw_id;
		__entry->epoch = epoch;
	),
	TP_printk("dev=%s space=%u epoch=%u segments=0x%llx", __get_str(dev), __entry->space,
		  __entry->epoch, __entry->segments)
);

#endif /* T3_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE t3_trace
#include <trace/define_trace.h>
