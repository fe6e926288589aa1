// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eventfds of a space, one for each segment mask. An eventfd is signalled once for each epoch in
 * which all of the mask was delivered, and once when the space faults or ends.
 */
#include <linux/eventfd.h>
#include <linux/slab.h>

#include "t3_event.h"
#include "t3_refuse.h"
#include "t3_space.h"
#include "t3_trace.h"

struct t3_eventfd {
	struct list_head link;
	struct eventfd_ctx *ctx;
	u64 segment_mask;
	u32 generation; /* of the space, which the next fields are about */
	u32 epoch; /* last one that was signalled or must not be */
	bool seen; /* epoch is valid */
	bool ended; /* the fault or end was signalled */
};

/*
 * Finds the last epoch that all of mask has delivered. A segment that has begun a later epoch has
 * delivered the one before, as the owner released that.
 */
static bool t3_eventfd_delivered(const struct t3_space *space, const struct t3_eventfd *entry,
				 u32 *epoch)
{
	bool first = true;
	u32 i;

	for (i = 0; i < T3_SPACE_SEGMENTS; i++) {
		u64 word = READ_ONCE(space->area->segment[i]);
		u32 last = lower_32_bits(word);

		if (!(entry->segment_mask & BIT_ULL(i)))
			continue;
		if (!(word & T3_SEG_WORD_DELIVERED)) {
			/* The first epoch of a space has none before it. */
			if (!word || !entry->seen)
				return false;
			last--;
		}
		if (first || t3_epoch_after(*epoch, last))
			*epoch = last;
		first = false;
	}
	return !first;
}

static void t3_eventfd_signal(const struct t3_space *space, const struct t3_eventfd *entry)
{
	trace_t3_eventfd_signal(space, entry->segment_mask, entry->epoch);
	eventfd_signal(entry->ctx);
}

static void t3_eventfd_update_epoch(const struct t3_space *space, struct t3_eventfd *entry)
{
	u32 epoch;

	if (!t3_eventfd_delivered(space, entry, &epoch))
		return;
	if (entry->seen && !t3_epoch_after(epoch, entry->epoch))
		return;
	entry->epoch = epoch;
	entry->seen = true;
	t3_eventfd_signal(space, entry);
}

static void t3_eventfd_update(const struct t3_space *space, struct t3_eventfd *entry)
{
	u32 kind = t3_state_kind(t3_event_state(space));
	u32 generation = READ_ONCE(space->area->generation);

	if (entry->generation != generation) {
		entry->generation = generation;
		entry->seen = false;
		entry->ended = false;
	}
	if (kind != T3_SPACE_FAULTED && kind != T3_SPACE_DEAD) {
		t3_eventfd_update_epoch(space, entry);
	} else if (!entry->ended) {
		entry->ended = true;
		t3_eventfd_signal(space, entry);
	}
}

/**
 * t3_eventfd_scan() - signal eventfds after a change of the event area
 * @space: the space
 *
 * Context: any; takes event_lock.
 */
void t3_eventfd_scan(struct t3_space *space)
{
	struct t3_eventfd *entry;
	unsigned long flags;

	spin_lock_irqsave(&space->event_lock, flags);
	list_for_each_entry(entry, &space->eventfds, link)
		t3_eventfd_update(space, entry);
	spin_unlock_irqrestore(&space->event_lock, flags);
}

static void t3_eventfd_free(struct t3_eventfd *entry)
{
	eventfd_ctx_put(entry->ctx);
	kfree(entry);
}

/**
 * t3_eventfd_free_all() - free the eventfds of a space
 * @space: without references
 *
 * Context: process context.
 */
void t3_eventfd_free_all(struct t3_space *space)
{
	struct t3_eventfd *entry, *next;

	list_for_each_entry_safe(entry, next, &space->eventfds, link)
		t3_eventfd_free(entry);
}

static struct t3_eventfd *t3_eventfd_find(struct t3_space *space, u64 segment_mask)
{
	struct t3_eventfd *entry;

	lockdep_assert_held(&space->event_lock);
	list_for_each_entry(entry, &space->eventfds, link)
		if (entry->segment_mask == segment_mask)
			return entry;
	return NULL;
}

/* An epoch that is already released is not signalled; the current one is. */
static void t3_eventfd_start(struct t3_space *space, struct t3_eventfd *entry)
{
	u64 state = t3_event_state(space);
	u32 epoch = t3_state_epoch(state);

	entry->generation = READ_ONCE(space->area->generation);
	if (epoch) {
		entry->epoch = t3_state_kind(state) == T3_SPACE_IDLE ? epoch : epoch - 1;
		entry->seen = true;
	}
	t3_eventfd_update(space, entry);
}

static const struct t3_rule t3_eventfd_rules[] = {
	T3_ZERO(drm_t3_space_eventfd, flags),
	T3_ZERO(drm_t3_space_eventfd, pad),
	T3_RANGE(drm_t3_space_eventfd, segment_mask, 1, U64_MAX),
	T3_CAUSE(-EBADF, drm_t3_space_eventfd, fd, "an eventfd, or -1"),
	T3_CAUSE(-EINVAL, drm_t3_space_eventfd, fd, "an eventfd, or -1"),
	T3_CAUSE(-EEXIST, drm_t3_space_eventfd, segment_mask, "a mask that has no eventfd yet"),
	T3_CAUSE(-ENOENT, drm_t3_space_eventfd, segment_mask, "a mask that has an eventfd"),
	T3_CAUSE(-ENOSPC, drm_t3_space_eventfd, space, "a space with fewer eventfds than 64"),
};

static int t3_eventfd_add_locked(struct t3_space *space, struct t3_eventfd *entry,
				 const struct drm_t3_space_eventfd *args)
{
	lockdep_assert_held(&space->event_lock);
	if (READ_ONCE(space->dead))
		return t3_refuse_space(space->file, args);
	if (t3_eventfd_find(space, entry->segment_mask))
		return -EEXIST;
	if (space->eventfd_count == DRM_T3_EVENTFDS_MAX)
		return -ENOSPC;
	list_add_tail(&entry->link, &space->eventfds);
	space->eventfd_count++;
	t3_eventfd_start(space, entry);
	return 0;
}

static int t3_eventfd_add(struct t3_space *space, const struct drm_t3_space_eventfd *args)
{
	struct t3_eventfd *entry;
	int ret;

	entry = kzalloc_obj(*entry, GFP_KERNEL_ACCOUNT);
	if (!entry)
		return -ENOMEM;
	entry->segment_mask = args->segment_mask;
	entry->ctx = eventfd_ctx_fdget(args->fd);
	if (IS_ERR(entry->ctx)) {
		ret = PTR_ERR(entry->ctx);
		kfree(entry);
		return ret;
	}
	spin_lock_irq(&space->event_lock);
	ret = t3_eventfd_add_locked(space, entry, args);
	spin_unlock_irq(&space->event_lock);
	if (ret)
		t3_eventfd_free(entry);
	return ret;
}

static int t3_eventfd_remove(struct t3_space *space, u64 segment_mask)
{
	struct t3_eventfd *entry;

	spin_lock_irq(&space->event_lock);
	entry = t3_eventfd_find(space, segment_mask);
	if (entry) {
		list_del(&entry->link);
		space->eventfd_count--;
	}
	spin_unlock_irq(&space->event_lock);
	if (!entry)
		return -ENOENT;
	t3_eventfd_free(entry);
	return 0;
}

/**
 * t3_space_eventfd_ioctl() - DRM_IOCTL_T3_SPACE_EVENTFD
 * @drm: the device
 * @data: &struct drm_t3_space_eventfd
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_space_eventfd lists.
 */
int t3_space_eventfd_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_t3_space_eventfd *args = data;
	struct t3_space *space;
	int ret;

	ret = t3_check(file, args, t3_eventfd_rules);
	if (ret)
		return ret;
	space = t3_space_lookup(file, args->space);
	if (!space)
		return t3_refuse_space(file, args);
	if (args->fd == -1)
		ret = t3_eventfd_remove(space, args->segment_mask);
	else
		ret = t3_eventfd_add(space, args);
	t3_space_put(space);
	return t3_explain(file, args, ret, t3_eventfd_rules);
}
