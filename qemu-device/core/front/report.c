/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports of the state for monitors and debuggers. SPEC.md section 15. A report copies state and
 * changes nothing, not even the age of a tracker entry.
 */
#include "front/front.h"

static struct t3_space *used_space(const struct t3_dev *dev, uint32_t id)
{
	if (id >= T3_MAX_SPACES || t3_spaces(dev)->space[id].state == T3_SPACE_FREE)
		return NULL;
	return &t3_spaces(dev)->space[id];
}

static struct t3_segment *used_segment(const struct t3_dev *dev, uint32_t id, uint32_t index)
{
	struct t3_space *space = used_space(dev, id);

	return space && index < T3_SPACE_SEGMENTS ? space->segment[index] : NULL;
}

bool t3_dev_space_info(const struct t3_dev *dev, uint32_t id, struct t3_space_info *info)
{
	const struct t3_space *space = used_space(dev, id);

	if (!space)
		return false;
	*info = (struct t3_space_info){
		.state = space->state,
		.epoch = space->epoch,
		.generation = t3_space_generation(space),
		.in_flight = space->in_flight,
		.faults = space->faults,
		.dropped = space->dropped,
		.segments = space->seg_count,
		.segments_left = space->segs_left,
		.aperture = space->aperture,
		.size = space->size,
	};
	return true;
}

bool t3_dev_route_info(const struct t3_dev *dev, uint32_t id, uint32_t index,
		       struct t3_route_info *info)
{
	const struct t3_space *space = used_space(dev, id);
	const struct t3_route *route;

	if (!space || index >= T3_SPACE_ROUTES || !space->route[index].used)
		return false;
	route = &space->route[index];
	*info = (struct t3_route_info){
		.rank = route->rank,
		.space = route->space,
		.generation = route->generation,
		.peer_state = route->peer_state,
		.peer_epoch = route->peer_epoch,
		.dead = route->dead,
		.ready = t3_epoch_route_ready(route, space->epoch),
	};
	return true;
}

static uint32_t target_ranks(const struct t3_segment *segment)
{
	uint32_t left, ranks = 0;

	for (left = segment->routes; left; left &= left - 1) {
		uint32_t rank = segment->space->route[__builtin_ctz(left)].rank;

		ranks |= rank < T3_MAX_RANKS ? 1u << rank : 0;
	}
	return ranks;
}

bool t3_dev_segment_info(const struct t3_dev *dev, uint32_t id, uint32_t index,
			 struct t3_segment_info *info)
{
	const struct t3_segment *segment = used_segment(dev, id, index);

	if (!segment)
		return false;
	t3_lanes_count(dev);
	*info = (struct t3_segment_info){
		.kind = segment->kind,
		.op = segment->op,
		.dtype = segment->dtype,
		.updates = segment->updates,
		.tiles = segment->tiles,
		.tiles_tracked = segment->tiles_tracked,
		.tiles_ready = segment->ready_count,
		.rows = segment->rows,
		.row_bytes = segment->row_bytes,
		.routes = segment->routes,
		.target_ranks = target_ranks(segment),
		.target_segment = segment->target_segment,
		.send_bytes = segment->send_bytes,
		.acked_bytes = segment->acked_bytes,
		.counts = segment->counts,
	};
	return true;
}

static void describe_tile(struct t3_segment *segment, uint32_t tile, struct t3_tile_info *info)
{
	const struct t3_tile_record *record = t3_segment_look(segment, tile);
	bool current = record->epoch == segment->space->epoch && !segment->stale;

	info->tile = tile;
	info->count = t3_tracker_look(segment, tile);
	info->expected = t3_segment_tile_shape(segment, tile).expected;
	info->ready = current && (record->flags & T3_TILE_READY);
	info->sending = segment->cur_first != T3_TILE_NONE && segment->cur_tile == tile;
}

/* A waiting tile waits for updates, for its turn on a link, or is being sent. */
uint32_t t3_dev_next_waiting_tile(const struct t3_dev *dev, uint32_t id, uint32_t index,
				  uint32_t from, uint32_t end, struct t3_tile_info *info)
{
	struct t3_segment *segment = used_segment(dev, id, index);
	uint32_t tile;

	for (tile = from; segment && tile < segment->tiles && tile < end; tile++) {
		describe_tile(segment, tile, info);
		if (info->count < info->expected || info->ready || info->sending)
			return tile;
	}
	return T3_NONE32;
}

/* ------------------------------------------------------------------ queues */

static uint32_t waits(const struct t3_queue *q)
{
	if (q->state != T3_QUEUE_READY || q->head == q->tail)
		return T3_QUEUE_WAITS_NOT;
	if (q->hung)
		return T3_QUEUE_WAITS_HUNG;
	if (q->blocked)
		return T3_QUEUE_WAITS_LINK;
	if (q->phase == T3_PHASE_GANG)
		return T3_QUEUE_WAITS_GANG;
	return q->phase == T3_PHASE_WAIT ? T3_QUEUE_WAITS_FENCE : T3_QUEUE_WAITS_NOT;
}

bool t3_dev_queue_info(const struct t3_dev *dev, uint32_t id, struct t3_queue_info *info)
{
	const struct t3_queue *q;

	if (id >= T3_MAX_QUEUES || t3_queues(dev)->queue[id].state == T3_QUEUE_FREE)
		return false;
	q = &t3_queues(dev)->queue[id];
	*info = (struct t3_queue_info){
		.state = q->state,
		.status = q->status,
		.priority = q->priority,
		.entries = q->entries,
		.head = q->head,
		.tail = q->tail,
		.waits = waits(q),
	};
	if (info->waits == T3_QUEUE_WAITS_LINK)
		info->rank = q->blocked - 1;
	if (info->waits == T3_QUEUE_WAITS_FENCE) {
		info->fence = (uint32_t)q->desc.dst;
		info->fence_value = t3_queues(dev)->fence[q->desc.dst];
		info->fence_wanted = q->desc.src;
	}
	return true;
}

bool t3_dev_queue_descriptor(const struct t3_dev *dev, uint32_t id,
			     struct t3_descriptor *descriptor, struct t3_gemm *gemm)
{
	const struct t3_queue *q;

	if (id >= T3_MAX_QUEUES || t3_queues(dev)->queue[id].state == T3_QUEUE_FREE)
		return false;
	q = &t3_queues(dev)->queue[id];
	*descriptor = q->desc;
	*gemm = (struct t3_gemm){ 0 };
	if (q->desc.opcode == T3_DESC_GEMM)
		*gemm = *t3_gemm_arguments(q);
	return true;
}

/* -------------------------------------------------------------- injections */

/* Numbers of the injections at a rank: poisoned ranges, interrupts, DMA, queues, links. */
#define AT_IRQ	 T3_POISON_RANGES
#define AT_DMA	 (AT_IRQ + 1)
#define AT_QUEUE (AT_DMA + 1)
#define AT_LINK	 (AT_QUEUE + T3_MAX_QUEUES)
#define AT_END	 (AT_LINK + T3_FABRIC_ENDS * T3_INJECT_KIND_COUNT)

static bool describe_counted(const struct t3_injection *injection, uint32_t kind,
			     struct t3_cmd_inject *inject)
{
	inject->kind = kind;
	inject->nth = injection->nth;
	inject->count = injection->count;
	return injection->nth;
}

static bool describe_poison(const struct t3_rank_injection *injected, uint32_t i,
			    struct t3_cmd_inject *inject)
{
	if (i >= injected->poisons)
		return false;
	inject->kind = T3_INJECT_POISON;
	inject->address = injected->poison[i].start;
	inject->value = injected->poison[i].end - injected->poison[i].start;
	return true;
}

static bool describe_link(const struct t3_link *link, uint32_t kind, struct t3_cmd_inject *inject)
{
	if (!link)
		return false;
	inject->kind = kind;
	inject->peer = link->to;
	switch (kind) {
	case T3_INJECT_LINK_DOWN:
		return link->injected.down;
	case T3_INJECT_LINK_RANDOM:
		inject->nth = link->injected.chance;
		return inject->nth;
	default:
		if (kind == T3_INJECT_DELAY)
			inject->value = link->injected.delay;
		return kind >= T3_INJECT_DROP && kind <= T3_INJECT_DROP_RESPONSE &&
		       describe_counted(&link->injected.counted[kind], kind, inject);
	}
}

static bool describe_injection(const struct t3_fabric *fabric, uint32_t rank, uint32_t at,
			       struct t3_cmd_inject *inject)
{
	const struct t3_rank_injection *injected = &fabric->injected[rank % T3_MAX_RANKS];

	*inject = (struct t3_cmd_inject){ .rank = rank };
	if (at < AT_LINK && rank >= T3_SWITCH_RANK)
		return false;
	if (at < AT_IRQ)
		return describe_poison(injected, at, inject);
	if (at == AT_IRQ)
		return describe_counted(&injected->irq, T3_INJECT_LOSE_IRQ, inject);
	if (at == AT_DMA)
		return describe_counted(&injected->dma, T3_INJECT_FAIL_DMA, inject);
	if (at < AT_LINK) {
		inject->kind = T3_INJECT_HANG_QUEUE;
		inject->peer = at - AT_QUEUE;
		return fabric->dev[rank] && t3_queues(fabric->dev[rank])->queue[inject->peer].hung;
	}
	at -= AT_LINK;
	return describe_link(fabric->link[rank][at / T3_INJECT_KIND_COUNT],
			     at % T3_INJECT_KIND_COUNT, inject);
}

uint32_t t3_fabric_next_injection(const struct t3_fabric *fabric, uint32_t rank, uint32_t from,
				  struct t3_cmd_inject *inject)
{
	uint32_t at;

	for (at = from; rank < T3_FABRIC_ENDS && at < AT_END; at++)
		if (describe_injection(fabric, rank, at, inject))
			return at;
	return T3_NONE32;
}

/* ------------------------------------------------------------------- links */

static uint32_t count_segments(const struct t3_link *link)
{
	const struct t3_segment *segment;
	uint32_t client, count = 0;

	for (client = 0; client < T3_MAX_CLIENTS; client++)
		for (segment = link->turn[client].work_head; segment; segment = segment->work_next)
			count++;
	return count;
}

static uint32_t count_control(const struct t3_link *link)
{
	const struct t3_ctl *ctl;
	uint32_t client, count = 0;

	for (client = 0; client < T3_MAX_CLIENTS; client++)
		for (ctl = link->turn[client].ctl_head; ctl; ctl = ctl->next)
			count++;
	return count;
}

bool t3_fabric_link_info(const struct t3_fabric *fabric, uint32_t src, uint32_t dst,
			 struct t3_link_info *info)
{
	const struct t3_link *link;

	if (src >= T3_FABRIC_ENDS || dst >= T3_FABRIC_ENDS || !fabric->link[src][dst])
		return false;
	link = fabric->link[src][dst];
	*info = (struct t3_link_info){
		.down = link->injected.down,
		.unanswered = (uint32_t)(link->next - link->una),
		.retries = link->retries,
		.incarnation = link->incarnation,
		.next = link->next,
		.waiting_segments = count_segments(link),
		.waiting_control = count_control(link),
	};
	return true;
}

const uint64_t *t3_dev_counters(const struct t3_dev *dev)
{
	t3_lanes_count(dev);
	return dev->counter;
}

/* ------------------------------------------------------------------ switch */

bool t3_fabric_port_info(const struct t3_fabric *fabric, uint32_t rank,
			 struct t3_cmd_switch_query *info)
{
	if (!fabric->sw || rank >= fabric->config.ranks)
		return false;
	*info = (struct t3_cmd_switch_query){ 0 };
	return t3_switch_query(fabric->sw, rank, info) == T3_ADMIN_OK;
}

bool t3_fabric_group_info(const struct t3_fabric *fabric, uint32_t id, struct t3_group_info *info)
{
	const struct t3_group *group;

	if (!fabric->sw || id >= T3_MAX_GROUPS ||
	    fabric->sw->group[id].state == T3_GROUP_STATE_FREE)
		return false;
	group = &fabric->sw->group[id];
	*info = (struct t3_group_info){
		.own_rank = group->own.rank,
		.own_space = group->own.space,
		.own_generation = group->own.generation,
		.query = { .space = group->own.space,
			   .group = id,
			   .generation = fabric->sw->generation[id] },
	};
	return t3_group_query(fabric->sw, group->own.rank, group->own.generation, &info->query) ==
	       T3_ADMIN_OK;
}

const uint64_t *t3_fabric_switch_counters(const struct t3_fabric *fabric)
{
	return fabric->sw ? fabric->sw->dev.counter : NULL;
}
