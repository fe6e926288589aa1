/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Saves and loads spaces, segments, routes and imports. SPEC.md section 13. */
#include "state/state.h"

/* ---------------------------------------------------------------- segments */

static void describe_map(const struct t3_segment *segment, struct t3_cmd_seg_map *cmd)
{
	cmd->segment = segment->index;
	cmd->kind = segment->kind;
	cmd->op = segment->op;
	cmd->dtype = segment->dtype;
	cmd->init = segment->init;
	cmd->target_op = segment->target_op;
	cmd->offset = segment->offset;
	cmd->updates = segment->updates;
	cmd->rows = segment->rows;
	cmd->row_bytes = segment->row_bytes;
	cmd->pitch = segment->pitch;
	cmd->tile_rows = segment->tile_rows;
	cmd->tile_row_bytes = segment->tile_row_bytes;
	cmd->counter_base = segment->counter_base;
	cmd->routes = segment->routes;
	cmd->block_tiles = segment->kind == T3_SEG_DMA ? segment->block_tiles : 0;
	cmd->target_segment = segment->target_segment;
	cmd->target_row = segment->target_row;
	cmd->target_col = segment->target_col;
}

static void describe_staging(const struct t3_segment *segment, struct t3_cmd_seg_staging *cmd)
{
	cmd->segment = segment->index;
	cmd->address = segment->staging;
	cmd->slot_stride = segment->slot_stride;
	cmd->slots = segment->slots;
}

static void visit_seg_counts(struct t3_stream *s, struct t3_seg_counts *counts)
{
	t3_stream_u64(s, &counts->stores);
	t3_stream_u64(s, &counts->doorbells);
	t3_stream_u64(s, &counts->local_bytes);
	t3_stream_u64(s, &counts->remote_bytes);
	t3_stream_u64(s, &counts->triggers);
	t3_stream_u64(s, &counts->dma_bytes);
	t3_stream_u64(s, &counts->link_bytes);
	t3_stream_u64(s, &counts->nmc_elements);
}

static void visit_progress(struct t3_stream *s, struct t3_segment *segment)
{
	uint32_t slot;

	for (slot = 0; slot < T3_SEG_SLOTS; slot++)
		t3_stream_u32(s, &segment->consumed[slot]);
	t3_stream_bool(s, &segment->stale);
	t3_stream_u32(s, &segment->tiles_tracked);
	t3_stream_u64(s, &segment->acked_bytes);
	t3_stream_u64(s, &segment->word);
	t3_stream_u32(s, &segment->ready_head);
	t3_stream_u32(s, &segment->ready_tail);
	t3_stream_u32(s, &segment->ready_count);
	t3_stream_u32(s, &segment->cur_first);
	t3_stream_below(s, &segment->cur_route, T3_SPACE_ROUTES,
			"a segment's route is out of range");
	t3_stream_u32(s, &segment->cur_slot);
	t3_stream_u32(s, &segment->cur_tile);
	t3_stream_u32(s, &segment->cur_row);
	t3_stream_u32(s, &segment->cur_col);
	visit_seg_counts(s, &segment->counts);
}

/* The commands are saved without the space's number, which the stream has once. */
static void visit_segment(struct t3_stream *s, struct t3_space *space, struct t3_segment *segment)
{
	struct t3_cmd_seg_map map = { 0 };
	struct t3_cmd_seg_staging staging = { 0 };

	if (!s->loading) {
		describe_map(segment, &map);
		describe_staging(segment, &staging);
	}
	t3_stream_bytes(s, &map, sizeof(map));
	t3_stream_bytes(s, &staging, sizeof(staging));
	if (s->loading) {
		if (!t3_stream_rule(s, t3_segment_insert(space, &map) == T3_ADMIN_OK,
				    "SEG_MAP refuses a saved segment") ||
		    !t3_stream_rule(s,
				    staging.segment == map.segment &&
					    t3_segment_staging(space, &staging) == T3_ADMIN_OK,
				    "SEG_STAGING refuses a saved staging buffer"))
			return;
		segment = space->segment[map.segment];
	}
	visit_progress(s, segment);
}

static void visit_segments(struct t3_stream *s, struct t3_space *space)
{
	uint32_t count = space->seg_count, i;

	t3_stream_below(s, &count, T3_SPACE_SEGMENTS + 1, "a space has too many segments");
	for (i = 0; i < count && !s->refused; i++)
		visit_segment(s, space, space->sorted[i]);
}

/* ------------------------------------------------------- routes and imports */

/* Indices must ascend, so that none occurs twice. */
static uint32_t visit_index(struct t3_stream *s, uint32_t index, uint32_t from, uint32_t end,
			    const char *why)
{
	t3_stream_below(s, &index, end, why);
	t3_stream_rule(s, index >= from, why);
	return index;
}

static void visit_target(struct t3_stream *s, struct t3_space *space, uint32_t index)
{
	struct t3_route *route = &space->route[index];
	struct t3_cmd_route_set cmd = {
		.route = index,
		.peer_rank = route->rank,
		.peer_space = route->space,
		.peer_generation = route->generation,
		.peer_import = route->import,
	};

	t3_stream_u32(s, &cmd.peer_rank);
	t3_stream_u32(s, &cmd.peer_space);
	t3_stream_u32(s, &cmd.peer_generation);
	t3_stream_u32(s, &cmd.peer_import);
	if (s->loading && !t3_stream_rule(s, t3_route_set(space, &cmd) == T3_ADMIN_OK,
					  "ROUTE_SET refuses a saved route"))
		return;
	t3_stream_bool(s, &route->dead);
	t3_stream_u32(s, &route->peer_state);
	t3_stream_u32(s, &route->peer_epoch);
	t3_stream_u32(s, &route->dead_epoch);
}

/* What ROUTE_CLAIM has made of a route. */
static struct t3_route visit_claim(struct t3_stream *s, const struct t3_route *route)
{
	uint32_t claim = route->claim, nak = route->nak, serial = route->serial;

	t3_stream_below(s, &claim, T3_CLAIM_REFUSED + 1, "a route's claim is unknown");
	t3_stream_below(s, &nak, T3_ROUTE_NO_ANSWER + 1, "a route's refusal is unknown");
	t3_stream_below(s, &serial, 1u << 16, "the number of a route's claim is out of range");
	return (struct t3_route){
		.claim = (uint8_t)claim,
		.nak = (uint8_t)nak,
		.serial = (uint16_t)serial,
	};
}

/* One that was refused leads nowhere. */
static void visit_route(struct t3_stream *s, struct t3_space *space, uint32_t index)
{
	struct t3_route *route = &space->route[index], claim = visit_claim(s, route);

	if (claim.claim != T3_CLAIM_REFUSED)
		visit_target(s, space, index);
	if (!s->loading || s->refused)
		return;
	route->claim = claim.claim;
	route->nak = claim.nak;
	route->serial = claim.serial;
}

/* The source of an entry without a key, or one that a source has claimed. */
static uint32_t load_source(struct t3_space *space, bool keyed, const struct t3_cmd_import_set *cmd)
{
	struct t3_import *import = &space->import[cmd->import], key = *import;
	uint32_t status;

	if (!keyed)
		return t3_import_set(space, cmd);
	import->keyed = false;
	status = t3_import_set(space, cmd);
	import->keyed = true;
	import->rank_mask = key.rank_mask;
	memcpy(import->key, key.key, sizeof(import->key));
	return status;
}

/* False: the state was refused. */
static bool visit_key(struct t3_stream *s, struct t3_space *space, uint32_t index,
		      const struct t3_cmd_import_set *source)
{
	struct t3_import *import = &space->import[index];
	struct t3_cmd_key_set cmd = {
		.import = index,
		.rank_mask = import->rank_mask,
		.op_mask = source->op_mask,
		.segment_mask = source->segment_mask,
	};
	uint32_t i;

	memcpy(cmd.key, import->key, sizeof(cmd.key));
	t3_stream_u32(s, &cmd.rank_mask);
	for (i = 0; i < T3_KEY_WORDS; i++)
		t3_stream_u32(s, &cmd.key[i]);
	if (!s->loading)
		return true;
	return t3_stream_rule(
		s, space->dev->config.keys != T3_KEYS_OFF && t3_key_set(space, &cmd) == T3_ADMIN_OK,
		"KEY_SET refuses a saved key");
}

static void visit_import(struct t3_stream *s, struct t3_space *space, uint32_t index)
{
	struct t3_import *import = &space->import[index];
	struct t3_cmd_import_set cmd = {
		.import = index,
		.src_rank = import->rank,
		.src_space = import->space,
		.src_generation = import->generation,
		.op_mask = import->op_mask,
		.segment_mask = import->segment_mask,
	};
	bool keyed = import->keyed, used = import->used;

	t3_stream_u32(s, &cmd.src_rank);
	t3_stream_u32(s, &cmd.src_space);
	t3_stream_u32(s, &cmd.src_generation);
	t3_stream_u32(s, &cmd.op_mask);
	t3_stream_u64(s, &cmd.segment_mask);
	t3_stream_bool(s, &keyed);
	t3_stream_bool(s, &used);
	t3_stream_rule(s, keyed || used, "an unused import is saved");
	if (keyed && !visit_key(s, space, index, &cmd))
		return;
	if (s->loading && used &&
	    !t3_stream_rule(s, load_source(space, keyed, &cmd) == T3_ADMIN_OK,
			    "IMPORT_SET refuses a saved import"))
		return;
	t3_stream_bool(s, &import->poisoned);
	t3_stream_u32(s, &import->poison_epoch);
}

static bool is_kept(const struct t3_route *route)
{
	return route->used || route->claim != T3_CLAIM_NONE;
}

static uint32_t count_routes(const struct t3_space *space)
{
	uint32_t i, count = 0;

	for (i = 0; i < T3_SPACE_ROUTES; i++)
		count += is_kept(&space->route[i]);
	return count;
}

static uint32_t count_imports(const struct t3_space *space)
{
	uint32_t i, count = 0;

	for (i = 0; i < T3_SPACE_IMPORTS; i++)
		count += space->import[i].used || space->import[i].keyed;
	return count;
}

static void visit_routes(struct t3_stream *s, struct t3_space *space)
{
	uint32_t count = count_routes(space), index = 0;

	t3_stream_below(s, &count, T3_SPACE_ROUTES + 1, "a space has too many routes");
	for (; count && !s->refused; count--, index++) {
		while (!s->loading && !is_kept(&space->route[index]))
			index++;
		index = visit_index(s, index, index, T3_SPACE_ROUTES,
				    "a route's number is out of range or order");
		if (!s->refused)
			visit_route(s, space, index);
	}
}

static void visit_imports(struct t3_stream *s, struct t3_space *space)
{
	uint32_t count = count_imports(space), index = 0;

	t3_stream_below(s, &count, T3_SPACE_IMPORTS + 1, "a space has too many imports");
	for (; count && !s->refused; count--, index++) {
		while (!s->loading && !space->import[index].used && !space->import[index].keyed)
			index++;
		index = visit_index(s, index, index, T3_SPACE_IMPORTS,
				    "an import's number is out of range or order");
		if (!s->refused)
			visit_import(s, space, index);
	}
}

/* ------------------------------------------------------------------ spaces */

static void visit_claims(struct t3_stream *s, struct t3_space *space)
{
	uint32_t claims = space->claims;

	t3_stream_below(s, &claims, 1u << 16, "a space's number of claims is out of range");
	space->claims = (uint16_t)claims;
}

/* `fresh` is saved as epoch 0, because no space is armed with epoch 0. */
static void visit_life(struct t3_stream *s, struct t3_space *space)
{
	uint32_t state = space->state;

	t3_stream_below(s, &state, T3_SPACE_DEAD, "a space's state is unknown");
	if (s->loading) {
		t3_stream_rule(s, state != T3_SPACE_FREE, "a saved space is FREE");
		/* Not FREE, so that the undoing of this load unmaps its pages. */
		t3_space_put_state(space, state ? state : T3_SPACE_IDLE);
	}
	t3_stream_u32(s, &space->epoch);
	space->fresh = !space->epoch;
	t3_stream_bool(s, &space->mute);
	t3_stream_u32(s, &space->faults);
	t3_stream_u64(s, &space->dropped);
	t3_stream_u32(s, &space->in_flight);
	visit_claims(s, space);
	t3_stream_u32(s, &space->segs_left);
}

static void visit_space(struct t3_stream *s, struct t3_dev *dev, uint32_t id)
{
	struct t3_space *space = &t3_spaces(dev)->space[id];
	struct t3_cmd_space_create cmd = {
		.space = id,
		.aperture_offset = space->aperture,
		.size = space->size,
		.buffer = space->buffer,
		.counters = space->counters,
		.counter_count = space->counter_count,
		.event_area = space->event_area,
		.client = space->client,
	};

	t3_stream_u64(s, &cmd.aperture_offset);
	t3_stream_u64(s, &cmd.size);
	t3_stream_u64(s, &cmd.buffer);
	t3_stream_u64(s, &cmd.counters);
	t3_stream_u32(s, &cmd.counter_count);
	t3_stream_u64(s, &cmd.event_area);
	t3_stream_u32(s, &cmd.client);
	if (s->loading) {
		if (!t3_stream_rule(s, t3_check_space_create(dev, &cmd) == T3_ADMIN_OK,
				    "SPACE_CREATE refuses a saved space"))
			return;
		t3_space_place(dev, &cmd);
	}
	visit_life(s, space);
	visit_routes(s, space);
	visit_imports(s, space);
	visit_segments(s, space);
}

static uint32_t count_spaces(const struct t3_dev *dev)
{
	uint32_t id, count = 0;

	for (id = 0; (id = t3_space_next(dev, id)) < T3_MAX_SPACES; id++)
		count++;
	return count;
}

void t3_visit_spaces(struct t3_stream *s, struct t3_dev *dev)
{
	uint32_t count = count_spaces(dev), id = 0;

	t3_stream_below(s, &count, T3_MAX_SPACES + 1, "there are too many spaces");
	for (; count && !s->refused; count--, id++) {
		if (!s->loading)
			id = t3_space_next(dev, id);
		id = visit_index(s, id, id, T3_MAX_SPACES,
				 "a space's number is out of range or order");
		if (!s->refused)
			visit_space(s, dev, id);
	}
}
