// SPDX-License-Identifier: GPL-2.0-only
/*
 * debugfs: spaces with their segments, grants, routes and groups.
 */
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>

#include "t3_admin.h"
#include "t3_bo.h"
#include "t3_debugfs.h"
#include "t3_event.h"
#include "t3_space.h"

static const char *const t3_kind_names[] = { T3_SEGMENT_KIND_LIST(T3_NAME, T3_SEG_) };
static const char *const t3_dtype_names[] = { T3_DTYPE_LIST(T3_TEXT, T3_DTYPE_) };
static const char *const t3_op_names[] = { T3_OP_LIST(T3_NAME, T3_OP_) };

static const char *t3_state_name(u32 state)
{
	static const char *const names[] = { T3_SPACE_STATE_LIST(T3_NAME, T3_SPACE_) };

	return state < ARRAY_SIZE(names) ? names[state] : "?";
}

/* !dead: its file is not freed yet, as that destroys the space first. */
static void t3_show_owner(struct seq_file *m, const struct t3_space *space)
{
	rcu_read_lock();
	seq_printf(m, " client=%llu pid=%d", space->file->client_id,
		   pid_nr(rcu_dereference(space->file->pid)));
	rcu_read_unlock();
}

/*
 * The state that the device reports. Of an unplugged device it is the last one in the event
 * area, which may be older.
 */
static void t3_show_state(struct seq_file *m, const struct t3_space *space)
{
	struct t3_cmd_space cmd = { .space = space->hw_id };
	u64 state = t3_event_state(space);

	if (t3_admin_query(space->tdev, T3_CMD_SPACE_QUERY, &cmd, sizeof(cmd)))
		seq_printf(m, " state=%s epoch=%u in_flight=?",
			   t3_state_name(t3_state_kind(state)), t3_state_epoch(state));
	else
		seq_printf(m, " state=%s epoch=%u in_flight=%u", t3_state_name(cmd.state),
			   cmd.epoch, cmd.in_flight);
}

static void t3_show_fault(struct seq_file *m, const struct t3_space *space)
{
	const struct t3_fault_record *fault = &space->area->fault;

	if (!READ_ONCE(space->area->faults))
		return;
	dma_rmb(); /* Pairs with the device's order: the first fault before the counter. */
	seq_printf(m, "\tfault kind=%u detail=%u segment=%d tile=%d offset=%lld epoch=%u src_rank=%u\n",
		   fault->kind, fault->detail, fault->segment, fault->tile, (s64)fault->offset,
		   fault->epoch, fault->src_rank);
}

static void t3_show_segment(struct seq_file *m, const struct t3_space *space, u32 index)
{
	const struct t3_segment *segment = &space->segments[index];
	struct t3_cmd_seg_stats cmd = { .space = space->hw_id, .segment = index };
	u64 word = READ_ONCE(space->area->segment[index]);

	seq_printf(m, "\tsegment=%u kind=%s dtype=%s op=%s rows=%u row_bytes=%u pitch=%u routes=%#x staging=%d widens=%d",
		   index, t3_kind_names[segment->kind], t3_dtype_names[segment->dtype],
		   t3_op_names[segment->op], segment->rows, segment->row_bytes, segment->pitch,
		   segment->routes, !!segment->staging, !!segment->accumulators);
	seq_printf(m, " progress_epoch=%u tracked=%d delivered=%d", (u32)word,
		   !!(word & T3_SEG_WORD_TRACKED), !!(word & T3_SEG_WORD_DELIVERED));
	if (!t3_admin_query(space->tdev, T3_CMD_SEG_STATS, &cmd, sizeof(cmd)))
		seq_printf(m, " tiles_done=%llu stores=%llu doorbells=%llu triggers=%llu dma_bytes=%llu",
			   cmd.tiles_tracked, cmd.stores, cmd.doorbells, cmd.triggers,
			   cmd.dma_bytes);
	seq_printf(m, " tiles=%u\n", segment->tiles);
}

static void t3_show_grants(struct seq_file *m, const struct t3_space *space)
{
	u32 i;

	for (i = 0; i < T3_SPACE_IMPORTS; i++) {
		const struct t3_grant *grant = space->grants[i];

		if (grant)
			seq_printf(m, "\tgrant=%u index=%u segments=%#llx ops=%#x bound=%d key=%d\n",
				   grant->handle, grant->index, grant->segment_mask,
				   grant->op_mask, grant->bound, grant->keyed);
	}
	for (i = 0; i < T3_SPACE_ROUTES; i++) {
		const struct t3_route *route = &space->routes[i];

		if (route->grant)
			seq_printf(m, "\troute=%u import=%u peer_rank=%u peer_space=%u peer_generation=%u revoked=%d key=%d\n",
				   i, route->handle, route->peer_rank, route->peer_space,
				   route->peer_generation,
				   !route->grant->owner && !route->grant->by_key,
				   route->grant->by_key);
	}
}

static void t3_show_space(struct seq_file *m, const struct t3_space *space)
{
	u32 i;

	lockdep_assert_held(&t3_topology_lock);
	seq_printf(m, "space=%u generation=%u", space->hw_id, space->generation);
	t3_show_state(m, space);
	t3_show_owner(m, space);
	seq_printf(m, " size=%llu aperture=%#llx buffer=%#llx faults=%u dropped=%llu\n",
		   space->size, space->aperture.start, space->bo->chunk.start,
		   READ_ONCE(space->area->faults), READ_ONCE(space->area->dropped));
	t3_show_fault(m, space);
	for (i = 0; i < T3_SPACE_SEGMENTS; i++)
		if (space->segments[i].mapped)
			t3_show_segment(m, space, i);
	t3_show_grants(m, space);
	t3_debugfs_show_groups(m, space);
}

/**
 * t3_debugfs_spaces_show() - show spaces with their segments, grants, routes and groups
 * @m: the file
 * @unused: of single_open()
 *
 * Context: process context; sleeps.
 * Return: 0.
 */
int t3_debugfs_spaces_show(struct seq_file *m, void *unused)
{
	return t3_debugfs_each_space(m, t3_show_space);
}
