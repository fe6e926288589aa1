/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The `status` property of the fabric, for QMP and HMP qom-get: what each tile of each rank
 * waits for. SPEC.md section 15.
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "qobject/qnum.h"
#include "qobject/qstring.h"
#include "object/status.h"

/* Limits of one report. "truncated" is the number of segments that are left out. */
#define T3_STATUS_SEGMENTS 1024u
#define T3_STATUS_TILES	   16u	  /* tiles listed for a segment */
#define T3_STATUS_LOOKED   65536u /* tiles examined, including finished ones */

struct look {
	uint32_t segments; /* segments that may still be listed */
	uint32_t tiles;	   /* tiles that may still be examined */
};

static void put_tiles(QDict *dict, const struct t3_dev *dev, uint32_t space, uint32_t segment,
		      uint32_t tiles, struct look *look)
{
	QList *list = qlist_new();
	struct t3_tile_info info;
	uint32_t end = MIN(tiles, look->tiles), next = 0, listed;

	for (listed = 0; listed < T3_STATUS_TILES && next < end; listed++) {
		QDict *tile;

		next = t3_dev_next_waiting_tile(dev, space, segment, next, end, &info);
		if (next == UINT32_MAX) {
			next = end;
			break;
		}
		next++;
		tile = qdict_new();
		qdict_put_int(tile, "tile", info.tile);
		qdict_put_int(tile, "bytes", info.count);
		qdict_put_int(tile, "expected", info.expected);
		if (info.sending)
			qdict_put_str(tile, "waits-for", "being sent");
		else
			qdict_put_str(tile, "waits-for",
				      info.ready ? "its turn on the link" : "updates");
		qlist_append(list, tile);
	}
	look->tiles -= next;
	qdict_put(dict, "waiting-tiles", list);
	if (next < tiles)
		qdict_put_bool(dict, "more-tiles", true);
}

static QDict *segment_status(const struct t3_dev *dev, uint32_t space, uint32_t index,
			     const struct t3_segment_info *info, bool running, struct look *look)
{
	bool unanswered = info->acked_bytes < info->send_bytes;
	uint32_t ranks = info->target_ranks;
	QDict *dict = qdict_new();
	QList *list = qlist_new();

	qdict_put_int(dict, "segment", index);
	qdict_put_str(dict, "kind", t3_name_segment_kind(info->kind));
	qdict_put_str(dict, "op", t3_name_op(info->op));
	qdict_put_str(dict, "dtype", t3_name_dtype(info->dtype));
	for (; ranks; ranks &= ranks - 1)
		qlist_append_int(list, ctz32(ranks));
	qdict_put(dict, "to-ranks", list);
	qdict_put_int(dict, "tiles", info->tiles);
	qdict_put_int(dict, "tiles-tracked", info->tiles_tracked);
	qdict_put_int(dict, "tiles-ready", info->tiles_ready);
	qdict_put_int(dict, "bytes-to-send", info->send_bytes);
	qdict_put_int(dict, "bytes-acknowledged", info->acked_bytes);
	if (!running)
		return dict;
	if (info->tiles_tracked < info->tiles)
		qdict_put_str(dict, "waits-for", "updates");
	else
		qdict_put_str(dict, "waits-for", unanswered ? "responses" : "nothing");
	put_tiles(dict, dev, space, index, info->tiles, look);
	return dict;
}

/* Lists the targets that have not reported the epoch. */
static void put_arming(QDict *dict, const struct t3_dev *dev, uint32_t space)
{
	QList *list = qlist_new();
	struct t3_route_info info;
	uint32_t i;

	for (i = 0; i < T3_SPACE_ROUTES; i++) {
		QDict *peer;

		if (!t3_dev_route_info(dev, space, i, &info) || info.ready)
			continue;
		peer = qdict_new();
		qdict_put_int(peer, "rank", info.rank);
		qdict_put_int(peer, "space", info.space);
		qdict_put_str(peer, "state", t3_name_space_state(info.peer_state));
		qdict_put_int(peer, "epoch", info.peer_epoch);
		qlist_append(list, peer);
	}
	qdict_put(dict, "waits-for-ranks", list);
}

static QDict *space_status(const struct t3_dev *dev, uint32_t id, const struct t3_space_info *info,
			   struct look *look)
{
	bool running = info->state == T3_SPACE_ARMING || info->state == T3_SPACE_ARMED;
	QDict *dict = qdict_new();
	QList *list = qlist_new();
	struct t3_segment_info segment;
	uint32_t i, truncated = 0;

	qdict_put_int(dict, "space", id);
	qdict_put_str(dict, "state", t3_name_space_state(info->state));
	qdict_put_int(dict, "epoch", info->epoch);
	qdict_put_int(dict, "generation", info->generation);
	qdict_put_int(dict, "in-flight", info->in_flight);
	qdict_put_int(dict, "faults", info->faults);
	qdict_put_int(dict, "dropped", info->dropped);
	if (info->state == T3_SPACE_ARMING)
		put_arming(dict, dev, id);
	for (i = 0; i < T3_SPACE_SEGMENTS; i++) {
		if (!t3_dev_segment_info(dev, id, i, &segment))
			continue;
		if (!look->segments) {
			truncated++;
			continue;
		}
		qlist_append(list, segment_status(dev, id, i, &segment, running, look));
		look->segments--;
	}
	qdict_put(dict, "segments", list);
	if (truncated)
		qdict_put_int(dict, "truncated", truncated);
	return dict;
}

/* ------------------------------------------------------------------ queues */

/* "nothing" means that the queue works, or has no descriptor. */
static void put_queues(QDict *dict, const struct t3_dev *dev)
{
	static const char *const words[] = {
		[T3_QUEUE_WAITS_NOT] = "nothing",
		[T3_QUEUE_WAITS_FENCE] = "fence",
		[T3_QUEUE_WAITS_LINK] = "room on the link",
		[T3_QUEUE_WAITS_HUNG] = "the end of an injected hang",
		[T3_QUEUE_WAITS_GANG] = "the other ranks of a timed run, or the run before",
	};
	QList *list = qlist_new();
	struct t3_queue_info info;
	uint32_t i;

	for (i = 0; i < T3_MAX_QUEUES; i++) {
		QDict *queue;

		if (!t3_dev_queue_info(dev, i, &info))
			continue;
		queue = qdict_new();
		qdict_put_int(queue, "queue", i);
		qdict_put_str(queue, "state", t3_name_queue_state(info.state));
		qdict_put_str(queue, "status", t3_name_descriptor_status(info.status));
		qdict_put_int(queue, "priority", info.priority);
		qdict_put_int(queue, "entries", info.entries);
		qdict_put_int(queue, "head", info.head);
		qdict_put_int(queue, "tail", info.tail);
		qdict_put_str(queue, "waits-for", words[info.waits]);
		if (info.waits == T3_QUEUE_WAITS_LINK)
			qdict_put_int(queue, "to-rank", info.rank);
		if (info.waits == T3_QUEUE_WAITS_FENCE) {
			qdict_put_int(queue, "fence", info.fence);
			qdict_put(queue, "fence-value", qnum_from_uint(info.fence_value));
			qdict_put(queue, "fence-wanted", qnum_from_uint(info.fence_wanted));
		}
		qlist_append(list, queue);
	}
	qdict_put(dict, "queues", list);
}

/* -------------------------------------------------------------- injections */

/* Uses the keys of the `inject` property. */
static QDict *injection_status(const struct t3_cmd_inject *what)
{
	bool queue = what->kind == T3_INJECT_HANG_QUEUE;
	bool memory = what->kind == T3_INJECT_POISON;
	QDict *dict = qdict_new();

	qdict_put_str(dict, "kind", t3_name_inject(what->kind));
	if (queue)
		qdict_put_int(dict, "queue", what->peer);
	else if (!memory && what->kind != T3_INJECT_LOSE_IRQ && what->kind != T3_INJECT_FAIL_DMA)
		qdict_put_int(dict, "peer", what->peer);
	if (what->nth)
		qdict_put_int(dict, "nth", what->nth);
	if (what->count)
		qdict_put_int(dict, "count", what->count);
	if (memory)
		qdict_put_int(dict, "address", what->address);
	if (what->value)
		qdict_put_int(dict, "value", what->value);
	return dict;
}

static void put_injections(QDict *dict, const struct t3_fabric *fabric, uint32_t rank)
{
	QList *list = qlist_new();
	struct t3_cmd_inject what;
	uint32_t at = 0;

	while ((at = t3_fabric_next_injection(fabric, rank, at, &what)) != UINT32_MAX) {
		qlist_append(list, injection_status(&what));
		at++;
	}
	qdict_put(dict, "injections", list);
}

/* ----------------------------------------------------------------- devices */

static QDict *device_status(const struct t3_fabric *fabric, const struct t3_dev *dev, uint32_t rank,
			    struct look *look)
{
	const uint64_t *counter = t3_dev_counters(dev);
	QDict *dict = qdict_new(), *counters = qdict_new();
	QList *spaces = qlist_new();
	struct t3_space_info info;
	uint32_t i;

	qdict_put_int(dict, "rank", rank);
	for (i = 0; i < T3_MAX_SPACES; i++)
		if (t3_dev_space_info(dev, i, &info))
			qlist_append(spaces, space_status(dev, i, &info, look));
	qdict_put(dict, "spaces", spaces);
	put_queues(dict, dev);
	put_injections(dict, fabric, rank);
	for (i = 0; i < T3_COUNTER_COUNT; i++)
		qdict_put_int(counters, t3_name_counter(i), counter[i]);
	qdict_put(dict, "counters", counters);
	return dict;
}

static QDict *link_status(uint32_t src, uint32_t dst, const struct t3_link_info *info)
{
	QDict *dict = qdict_new();

	qdict_put_int(dict, "from", src);
	qdict_put_int(dict, "to", dst);
	qdict_put_bool(dict, "down", info->down);
	qdict_put_int(dict, "unanswered", info->unanswered);
	qdict_put_int(dict, "retries", info->retries);
	qdict_put_int(dict, "incarnation", info->incarnation);
	qdict_put_int(dict, "sent", info->next);
	qdict_put_int(dict, "waiting-segments", info->waiting_segments);
	qdict_put_int(dict, "waiting-control", info->waiting_control);
	return dict;
}

static QList *link_list(const struct t3_fabric *fabric)
{
	QList *list = qlist_new();
	struct t3_link_info info;
	uint32_t src, dst;

	for (src = 0; src < T3_SWITCH_PART + T3_MAX_RANKS; src++)
		for (dst = 0; dst < T3_SWITCH_PART + T3_MAX_RANKS; dst++)
			if (t3_fabric_link_info(fabric, src, dst, &info))
				qlist_append(list, link_status(src, dst, &info));
	return list;
}

static QDict *port_status(uint32_t rank, const struct t3_cmd_switch_query *info)
{
	QDict *dict = qdict_new();

	qdict_put_int(dict, "rank", rank);
	qdict_put_int(dict, "entries", info->entries);
	qdict_put_int(dict, "used", info->used);
	qdict_put_int(dict, "most", info->most);
	qdict_put_int(dict, "ready", info->ready);
	qdict_put_int(dict, "taken", info->taken);
	qdict_put_int(dict, "merged", info->merged);
	qdict_put_int(dict, "alone", info->alone);
	qdict_put_int(dict, "full", info->full);
	qdict_put_int(dict, "partial", info->partial);
	qdict_put_int(dict, "sums", info->sums);
	qdict_put_int(dict, "copies", info->copies);
	qdict_put_int(dict, "busy", info->busy);
	qdict_put_int(dict, "refused", info->refused);
	qdict_put_int(dict, "wrong-keys", info->wrong_keys);
	return dict;
}

static QDict *group_status(const struct t3_group_info *info)
{
	const struct t3_cmd_group_query *query = &info->query;
	QDict *dict = qdict_new();

	qdict_put_int(dict, "group", query->group);
	qdict_put_int(dict, "generation", query->generation);
	qdict_put_str(dict, "kind", t3_name_group_kind(query->kind));
	qdict_put_str(dict, "state", t3_name_group_state(query->state));
	qdict_put_int(dict, "rank", info->own_rank);
	qdict_put_int(dict, "space", info->own_space);
	qdict_put_int(dict, "members", query->members);
	qdict_put_int(dict, "bound", query->bound);
	qdict_put_int(dict, "done", query->done);
	qdict_put_int(dict, "epoch", query->epoch);
	qdict_put_int(dict, "entries", query->entries);
	qdict_put_int(dict, "places", query->places);
	qdict_put_int(dict, "end-epoch", query->end_epoch);
	qdict_put_str(dict, "cause", t3_name_fault(query->cause));
	qdict_put_int(dict, "detail", query->detail);
	qdict_put_int(dict, "cause-rank", query->cause_rank);
	qdict_put_int(dict, "merged", query->merged);
	qdict_put_int(dict, "alone", query->alone);
	qdict_put_int(dict, "copies", query->copies);
	return dict;
}

static QDict *switch_status(const struct t3_fabric *fabric, const uint64_t *counter)
{
	QDict *dict = qdict_new(), *counters = qdict_new();
	QList *ports = qlist_new(), *groups = qlist_new();
	struct t3_cmd_switch_query port;
	struct t3_group_info group;
	uint32_t i;

	for (i = 0; t3_fabric_port_info(fabric, i, &port); i++)
		qlist_append(ports, port_status(i, &port));
	for (i = 0; i < T3_MAX_RANKS * T3_PORT_GROUPS; i++)
		if (t3_fabric_group_info(fabric, i, &group))
			qlist_append(groups, group_status(&group));
	for (i = 0; i < T3_COUNTER_COUNT; i++)
		qdict_put_int(counters, t3_name_counter(i), counter[i]);
	qdict_put(dict, "ports", ports);
	qdict_put(dict, "groups", groups);
	qdict_put(dict, "counters", counters);
	return dict;
}

QObject *t3_status(const struct t3_fabric *fabric, struct t3_dev *const dev[T3_MAX_RANKS])
{
	QDict *dict = qdict_new();
	QList *devices = qlist_new();
	struct look look = { T3_STATUS_SEGMENTS, T3_STATUS_LOOKED };
	uint32_t rank;

	qdict_put_int(dict, "fabric-id", t3_fabric_id(fabric));
	qdict_put_int(dict, "vclock", t3_fabric_now(fabric));
	for (rank = 0; rank < T3_MAX_RANKS; rank++)
		if (dev[rank])
			qlist_append(devices, device_status(fabric, dev[rank], rank, &look));
	qdict_put(dict, "devices", devices);
	qdict_put(dict, "links", link_list(fabric));
	if (t3_fabric_switch_counters(fabric))
		qdict_put(dict, "switch", switch_status(fabric, t3_fabric_switch_counters(fabric)));
	return QOBJECT(dict);
}
