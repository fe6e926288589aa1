/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Saves and loads spaces, segments, routes and imports. SPEC.md section 13. */
#include "state/state.h"

/* ---------------------------------------------------------------- segments */

/* The commands that would make the segment. The space's number is left out: the stream has it once. */
static void describe(const struct t3_segment *segment, struct t3_cmd_seg_map *cmd,
		     struct t3_cmd_seg_staging *staging, struct t3_cmd_seg_widen *widen)
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
	staging->segment = segment->index;
	staging->address = segment->staging;
	staging->slot_stride = segment->slot_stride;
	staging->slots = segment->slots;
	widen->segment = segment->index;
	widen->address = segment->accumulators;
	widen->widen = segment->widens;
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
	t3_stream_u64(s, &segment->counts.stores);
	t3_stream_u64(s, &segment->counts.doorbells);
	t3_stream_u64(s, &segment->counts.local_bytes);
	t3_stream_u64(s, &segment->counts.remote_bytes);
	t3_stream_u64(s, &segment->counts.triggers);
	t3_stream_u64(s, &segment->counts.dma_bytes);
	t3_stream_u64(s, &segment->counts.link_bytes);
	t3_stream_u64(s, &segment->counts.nmc_elements);
}

static void visit_segment(struct t3_stream *s, struct t3_space *space, struct t3_segment *segment)
{
	struct t3_cmd_seg_map map = { 0 };
	struct t3_cmd_seg_staging staging = { 0 };
	struct t3_cmd_seg_widen widen = { 0 };

	if (!s->loading)
		describe(segment, &map, &staging, &widen);
	t3_stream_bytes(s, &map, sizeof(map));
	t3_stream_bytes(s, &staging, sizeof(staging));
	t3_stream_bytes(s, &widen, sizeof(widen));
	if (s->loading) {
		if (!t3_stream_rule(s, t3_segment_insert(space, &map) == T3_ADMIN_OK,
				    "SEG_MAP refuses a saved segment") ||
		    !t3_stream_rule(s,
				    staging.segment == map.segment &&
					    t3_segment_staging(space, &staging) == T3_ADMIN_OK,
				    "SEG_STAGING refuses a saved staging buffer") ||
		    !t3_stream_rule(s,
				    widen.segment == map.segment &&
					    t3_segment_widen(space, &widen) == T3_ADMIN_OK,
				    "SEG_WIDEN refuses saved accumulators"))
			return;
		segment = space->segment[map.segment];
	}
	visit_progress(s, segment);
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

/* ROUTE_CLAIM's result, and the target, which a route that was refused has not. */
static void visit_route(struct t3_stream *s, struct t3_space *space, uint32_t index)
{
	struct t3_route *route = &space->route[index];
	uint32_t claim = route->claim, nak = route->nak, serial = route->serial;
	struct t3_cmd_route_set cmd = {
		.route = index,
		.peer_rank = route->rank,
		.peer_space = route->space,
		.peer_generation = route->generation,
		.peer_import = route->import,
	};

	t3_stream_below(s, &claim, T3_CLAIM_REFUSED + 1, "a route's claim is unknown");
	t3_stream_below(s, &nak, T3_ROUTE_NO_ANSWER + 1, "a route's refusal is unknown");
	t3_stream_below(s, &serial, 1u << 16, "the number of a route's claim is out of range");
	if (claim != T3_CLAIM_REFUSED) {
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
	if (!s->loading || s->refused)
		return;
	route->claim = (uint8_t)claim;
	route->nak = (uint8_t)nak;
	route->serial = (uint16_t)serial;
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

static void visit_routes(struct t3_stream *s, struct t3_space *space)
{
	uint32_t count = 0, index;

	for (index = 0; index < T3_SPACE_ROUTES; index++)
		count += is_kept(&space->route[index]);
	index = 0;
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
	uint32_t count = 0, index;

	for (index = 0; index < T3_SPACE_IMPORTS; index++)
		count += space->import[index].used || space->import[index].keyed;
	index = 0;
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

/* `fresh` is saved as epoch 0, because no space is armed with epoch 0. */
static void visit_life(struct t3_stream *s, struct t3_space *space)
{
	uint32_t state = space->state, claims = space->claims;

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
	t3_stream_below(s, &claims, 1u << 16, "a space's number of claims is out of range");
	space->claims = (uint16_t)claims;
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
	uint32_t count = space->seg_count, i;

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
	t3_stream_below(s, &count, T3_SPACE_SEGMENTS + 1, "a space has too many segments");
	for (i = 0; i < count && !s->refused; i++)
		visit_segment(s, space, space->sorted[i]);
}

void t3_visit_spaces(struct t3_stream *s, struct t3_dev *dev)
{
	uint32_t count = 0, id;

	for (id = 0; (id = t3_space_next(dev, id)) < T3_MAX_SPACES; id++)
		count++;
	id = 0;
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
