// SPDX-License-Identifier: MIT
/* Waits for a space: polls its event area for a while, then sleeps in the kernel. */
#include <string.h>

#include "space/private.h"

#define SPIN_LOOKS 64 /* polls between two reads of the clock */

struct wait {
	uint32_t what; /* DRM_T3_WAIT_* */
	uint32_t epoch;
	uint64_t mask;	/* for the kernel; 0: all */
	uint64_t words; /* segments to poll; 0: until COMPLETE */
};

static bool is_later(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

/* Return the first of the segment words that is not reached, or NULL when all are. */
static const volatile __u64 *missing_word(const struct t3_space *space, const struct wait *w)
{
	uint64_t flag =
		w->what == DRM_T3_WAIT_TRACKED ? DRM_T3_WORD_TRACKED : DRM_T3_WORD_DELIVERED;
	const volatile __u64 *at;
	uint64_t rest, word;

	for (rest = w->words; rest; rest &= rest - 1) {
		at = &space->events->segment[__builtin_ctzll(rest)];
		word = t3_load64(at);
		if ((uint32_t)word != w->epoch || !(word & flag))
			return at;
	}
	return NULL;
}

static bool was_released(uint64_t word, uint32_t epoch)
{
	uint32_t now = (uint32_t)word;

	return now && (is_later(now, epoch) || (now == epoch && word >> 32 == DRM_T3_SPACE_IDLE));
}

/*
 * The event area says the same of a space that was destroyed, of one that a reset of the device has
 * ended, and of one whose device was removed. The kernel knows only the last two by their handles. A
 * later space, which is not DEAD, may have the handle of a destroyed one.
 */
int t3_space_gone(const struct t3_space *space)
{
	struct drm_t3_space_wait arg = {
		.space = space->handle,
		.what = DRM_T3_WAIT_ARMED,
		.epoch = 1,
	};
	int ret = t3_ioctl(space->fd, DRM_IOCTL_T3_SPACE_WAIT, &arg);

	if (ret == -ENOENT)
		return ret;
	if (t3_load64(&space->events->state) >> 32 != DRM_T3_SPACE_DEAD)
		return -ENODEV;
	return ret == -ENODEV ? ret : -ENOENT;
}

/* Decides as the kernel does, but for words = 0. */
static bool reached(const struct t3_space *space, const struct wait *w, uint64_t word)
{
	uint32_t state = (uint32_t)(word >> 32);
	bool same = (uint32_t)word == w->epoch;

	if (was_released(word, w->epoch))
		return true;
	if (w->what == DRM_T3_WAIT_ARMED)
		return same && (state == DRM_T3_SPACE_ARMED || state == DRM_T3_SPACE_COMPLETE);
	if (!w->words)
		return same && state == DRM_T3_SPACE_COMPLETE;
	return !missing_word(space, w);
}

/*
 * Whether the space has faulted in the epoch, or an update after the epoch was refused. The device
 * handles a store before it returns to the program. So a wait sees what became of all stores that
 * were made before it, also of those after the last one that counted.
 */
static bool has_faulted(const struct t3_space *space, const struct wait *w)
{
	uint64_t word = t3_load64(&space->events->state);

	return word >> 32 == DRM_T3_SPACE_FAULTED && !was_released(word, w->epoch);
}

/* Returns 0 when it is reached, -EAGAIN when not yet, or why it will never be. */
static int look(const struct t3_space *space, const struct wait *w)
{
	/*
	 * Read the state before the words, because the device writes them before a state that ends
	 * the wait.
	 */
	uint64_t word = t3_load64(&space->events->state);

	if (word >> 32 >= DRM_T3_SPACE_DISABLED)
		return t3_space_gone(space);
	if (!reached(space, w, word))
		return word >> 32 == DRM_T3_SPACE_FAULTED ? -EIO : -EAGAIN;
	t3_read_barrier();
	return has_faulted(space, w) ? -EIO : 0;
}

/*
 * The two words that the next poll reads, with their last values. While both stay equal, nothing
 * can have changed.
 */
struct glance {
	const volatile __u64 *state, *word;
	uint64_t state_was, word_was;
};

static struct glance glance(const struct t3_space *space, const struct wait *w)
{
	struct glance g = { .state = &space->events->state, .word = missing_word(space, w) };

	if (!g.word)
		g.word = g.state;
	g.state_was = t3_load64(g.state);
	g.word_was = t3_load64(g.word);
	return g;
}

/* A tight loop, because its time to see the change is part of each wait. */
static void watch(const struct glance *g, bool emulated)
{
	int i;

	for (i = 0; i < SPIN_LOOKS; i++) {
		if (t3_load64(g->word) != g->word_was || t3_load64(g->state) != g->state_was)
			return;
		t3_pause(emulated);
	}
}

/* By the segment words, and the state behind them. -EAGAIN: not all of them are there. */
static int look_at_words(const struct t3_space *space, const struct wait *w)
{
	if (!w->words || missing_word(space, w))
		return -EAGAIN;
	t3_read_barrier();
	return has_faulted(space, w) ? -EIO : 0;
}

/* -EAGAIN: it has polled long enough and must sleep. */
static int spin(const struct t3_space *space, const struct wait *w, int64_t deadline)
{
	uint64_t ns = atomic_load_explicit(&space->spin_ns, memory_order_relaxed);
	bool timed = ns != UINT64_MAX || deadline != INT64_MAX;
	int64_t until = deadline;
	struct glance last;
	int ret;

	ret = look(space, w);
	if (ret != -EAGAIN)
		return ret;
	if (deadline <= 0)
		return -ETIMEDOUT;
	if (!ns)
		return -EAGAIN;
	if (ns != UINT64_MAX && t3_deadline(ns) < until)
		until = t3_deadline(ns);
	for (;;) {
		/*
		 * Read the words first, because the device has just taken the state's cache line to
		 * write it.
		 */
		ret = look_at_words(space, w);
		if (ret != -EAGAIN)
			return ret;
		last = glance(space, w);
		ret = look(space, w);
		if (ret != -EAGAIN) {
			/* The device may have been removed after the words came. */
			int words = look_at_words(space, w);

			return words == -EAGAIN ? ret : words;
		}
		if (timed && t3_now_ns() >= until)
			return ns == UINT64_MAX ? -ETIMEDOUT : -EAGAIN;
		watch(&last, space->emulated);
	}
}

/*
 * The kernel's answer is final, with one exception. The kernel may have seen the last segment word
 * just before the device wrote COMPLETE.
 */
static int sleep_for(const struct t3_space *space, const struct wait *w, int64_t deadline)
{
	int ret;

	for (;;) {
		struct drm_t3_space_wait arg = {
			.space = space->handle,
			.what = w->what,
			.epoch = w->epoch,
			.segment_mask = w->mask,
			.deadline_ns = deadline,
		};

		ret = t3_ioctl(space->fd, DRM_IOCTL_T3_SPACE_WAIT, &arg);
		if (ret)
			return ret;
		ret = look(space, w);
		if (ret != -EAGAIN)
			return ret;
		if (t3_now_ns() >= deadline)
			return -ETIMEDOUT;
	}
}

static int wait_for(struct t3_space *space, const struct wait *w, int64_t deadline)
{
	int ret = spin(space, w, deadline);

	return ret == -EAGAIN ? sleep_for(space, w, deadline) : ret;
}

int t3_wait_armed(struct t3_space *space, uint32_t epoch, int64_t deadline_ns)
{
	struct wait w = { .what = DRM_T3_WAIT_ARMED, .epoch = epoch };

	if (!space || !epoch)
		return -EINVAL;
	return wait_for(space, &w, deadline_ns);
}

int t3_wait(struct t3_space *space, uint32_t epoch, uint64_t mask, enum t3_progress what,
	    int64_t deadline_ns)
{
	struct wait w = { .what = what, .epoch = epoch, .mask = mask, .words = mask };
	const struct t3_hooks *hooks;
	uint64_t mapped;
	int ret;

	if (!space || !epoch || (what != T3_TRACKED && what != T3_DELIVERED))
		return -EINVAL;
	mapped = atomic_load(&space->mapped);
	if (mask & ~mapped)
		return -EINVAL;
	if (!mask && what == T3_TRACKED)
		w.words = mapped;
	ret = wait_for(space, &w, deadline_ns);
	hooks = t3_hooks_of(space);
	/* With deadline 0 the caller only asked. */
	if (hooks && ret == -ETIMEDOUT && deadline_ns > 0)
		hooks->timeout(space, epoch, mask, __builtin_return_address(0));
	return ret;
}

int t3_poll_state(const struct t3_space *space, enum drm_t3_space_state *state, uint32_t *epoch)
{
	uint64_t word;

	if (!space)
		return -EINVAL;
	word = t3_load64(&space->events->state);
	if (state)
		*state = (enum drm_t3_space_state)(word >> 32);
	if (epoch)
		*epoch = (uint32_t)word;
	return 0;
}

/* Ask the kernel, because the event area lacks the fault when the device could not write it. */
static int ask_fault(const struct t3_space *space, struct drm_t3_fault *fault)
{
	struct drm_t3_space_wait arg = {
		.space = space->handle,
		.what = DRM_T3_WAIT_ARMED,
		.epoch = 1,
	};
	int ret = t3_ioctl(space->fd, DRM_IOCTL_T3_SPACE_WAIT, &arg);

	if (ret == -ENODEV)
		return ret;
	if (ret != -EIO || arg.fault.kind == DRM_T3_FAULT_NONE)
		return -ENODATA;
	*fault = arg.fault;
	return 0;
}

int t3_space_fault(const struct t3_space *space, struct drm_t3_fault *fault)
{
	if (!space || !fault)
		return -EINVAL;
	if (!t3_load32(&space->events->faults))
		return ask_fault(space, fault);
	t3_read_barrier();
	memcpy(fault, (const void *)(uintptr_t)&space->events->fault, sizeof(*fault));
	return 0;
}

/*
 * The device writes a fault's entry before it increases the count. When m faults are counted after
 * the copy, the entry of fault m - 15 may already be partly that of fault m + 1.
 */
int t3_space_faults(const struct t3_space *space, struct drm_t3_fault *faults, uint32_t room,
		    uint32_t *total)
{
	struct drm_t3_fault ring[DRM_T3_FAULT_RING];
	int64_t first, last, behind;
	uint32_t i;

	if (!space || (room && !faults))
		return -EINVAL;
	last = t3_load32(&space->events->faults);
	t3_read_barrier();
	memcpy(ring, (const void *)(uintptr_t)&space->events->ring, sizeof(ring));
	t3_read_barrier();
	behind = t3_load32(&space->events->faults);
	if (total)
		*total = (uint32_t)last;
	first = last - room + 1;
	if (first < behind - DRM_T3_FAULT_RING + 2)
		first = behind - DRM_T3_FAULT_RING + 2;
	if (first < 1)
		first = 1;
	for (i = 0; first + i <= last; i++)
		faults[i] = ring[(first + i - 1) % DRM_T3_FAULT_RING];
	return (int)i;
}
