// SPDX-License-Identifier: GPL-2.0-only
/*
 * Brings a space to rest, so that its memory may be freed.
 */
#include <linux/delay.h>
#include <linux/ktime.h>

#include "t3_admin.h"
#include "t3_device.h"
#include "t3_gate.h"
#include "t3_regs.h"
#include "t3_reset.h"
#include "t3_space.h"

/*
 * A link gives up after 8 timeouts of 10 us of virtual time, and then nothing of a space is
 * in flight. The virtual clock goes as fast as the host emulates the device.
 *
 * A link to another node gives up after 8 timeouts of 200 ms of real time without progress. The
 * other node may stand still for up to 60 s beyond that (property node-timeout of the fabric,
 * SPEC.md section 16). Until then others' work may move the virtual clock as far as it likes.
 */
#define T3_QUIESCE_VNS	    (1 * NSEC_PER_MSEC)
#define T3_QUIESCE_STILL_NS (5 * NSEC_PER_SEC)	/* of real time in which the virtual clock stands */
#define T3_QUIESCE_FAR_NS   (70 * NSEC_PER_SEC) /* of real time at least, with other nodes */
#define T3_QUIESCE_NAP_US   2000		/* at most */

/* The clock is read before the state, so that all that ended by then is seen. */
static int t3_space_query_state(struct t3_space *space, u32 *state, u64 *vclock)
{
	struct t3_cmd_space cmd = { .space = space->hw_id };
	int ret;

	ret = t3_hw_lock(space->tdev);
	if (ret)
		return ret;
	*vclock = t3_hw_vclock(space->tdev);
	ret = t3_admin_locked(space->tdev, T3_CMD_SPACE_QUERY, &cmd, sizeof(cmd), true);
	if (ret == -ENODEV)
		t3_reset_give_up(space->tdev);
	t3_hw_unlock(space->tdev);
	*state = cmd.state;
	return ret;
}

/* The virtual clock at the start and at its last progress, and the times of both. */
struct t3_quiesce {
	u64 least_ns; /* real time before which it is not over */
	u64 vstart;
	u64 vlast;
	u64 start_ns;
	u64 last_ns;
};

static u64 t3_quiesce_least_ns(const struct t3_caps *caps)
{
	return caps->node_ranks == GENMASK(caps->ranks - 1, 0) ? 0 : T3_QUIESCE_FAR_NS;
}

/*
 * Returns whether the space will never be at rest. A clock that went back was reset, and the space
 * with it.
 */
static bool t3_quiesce_is_over(struct t3_quiesce *quiesce, u64 vclock, u64 now_ns)
{
	if (vclock != quiesce->vlast || !quiesce->last_ns) {
		if (!quiesce->last_ns) {
			quiesce->vstart = vclock;
			quiesce->start_ns = now_ns;
		}
		quiesce->vlast = vclock;
		quiesce->last_ns = now_ns;
	}
	if (now_ns - quiesce->start_ns < quiesce->least_ns)
		return false;
	return vclock - quiesce->vstart > T3_QUIESCE_VNS ||
	       now_ns - quiesce->last_ns > T3_QUIESCE_STILL_NS;
}

/**
 * t3_space_disable() - let a space come to rest
 * @space: known to the device
 *
 * Sources and targets are told, and what arrives is rejected. t3_space_stop() waits for the rest.
 *
 * Context: process context, no lock held; sleeps while the gate is closed.
 */
void t3_space_disable(struct t3_space *space)
{
	struct t3_cmd_space cmd = { .space = space->hw_id };

	/* Its result does not matter: the state tells what is left to do. */
	t3_admin(space->tdev, T3_CMD_SPACE_DISABLE, &cmd, sizeof(cmd));
}

/*
 * Wait until nothing is in flight: memory may be freed only after that. No lock is held meanwhile.
 * No real time ends the wait while the virtual clock moves: a device that works for others is slow,
 * and a reset would cost all of them their work.
 */
static int t3_space_quiesce(struct t3_space *space)
{
	struct t3_cmd_space cmd = { .space = space->hw_id };
	struct t3_quiesce quiesce = { .least_ns = t3_quiesce_least_ns(&space->tdev->caps) };
	u32 state, nap = 50;
	u64 vclock;
	int ret;

	for (;;) {
		ret = t3_space_query_state(space, &state, &vclock);
		if (ret || state == T3_SPACE_FREE)
			return ret;
		if (state == T3_SPACE_QUIESCED)
			return t3_admin(space->tdev, T3_CMD_SPACE_DESTROY, &cmd, sizeof(cmd));
		if (t3_quiesce_is_over(&quiesce, vclock, ktime_get_ns()))
			return -ETIMEDOUT;
		usleep_range(nap, 2 * nap);
		nap = min(2 * nap, T3_QUIESCE_NAP_US);
	}
}

/**
 * t3_space_stop() - bring a space to rest and take it from the device
 * @space: disabled
 *
 * Where that fails, the function is reset.
 *
 * Context: process context, no lock held; sleeps.
 * Return: 0, or -EIO: the function was reset.
 */
int t3_space_stop(struct t3_space *space)
{
	int ret = t3_space_quiesce(space);

	if (!ret || ret == -ENODEV) /* an unplugged device is at rest as well */
		return 0;
	/* The last resort. */
	t3_reset_request(space->tdev, "a space does not quiesce", false);
	return -EIO;
}

#ifdef T3_KUNIT
#include "tests/t3_quiesce_test.c"
#endif
