// SPDX-License-Identifier: GPL-2.0
/*
 * Brings a space to rest, so that its memory may be freed.
 */
#include <linux/delay.h>
#include <linux/ktime.h>

#include "t3_reset.h"
#include "t3_space.h"

/*
 * A link gives up after 8 timeouts of 10 us, and then nothing of a space is in flight: in
 * virtual time. The virtual clock goes as fast as the owner of the device emulates it.
 */
#define T3_QUIESCE_VNS	   (1 * NSEC_PER_MSEC)
#define T3_QUIESCE_STILL_NS (5 * NSEC_PER_SEC) /* of real time without virtual time */
#define T3_QUIESCE_NAP_US  2000 /* at most */

/* The clock before the state: what had come to rest by then is seen. */
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

/* Of a space that is coming to rest; the clocks at its start and at the last progress. */
struct t3_quiesce {
	u64 vstart;
	u64 vlast;
	u64 last_ns;
};

/* Whether it will never be at rest. A clock that went back was reset, and the space with it. */
static bool t3_quiesce_is_over(struct t3_quiesce *quiesce, u64 vclock, u64 now_ns)
{
	if (vclock != quiesce->vlast || !quiesce->last_ns) {
		if (!quiesce->last_ns)
			quiesce->vstart = vclock;
		quiesce->vlast = vclock;
		quiesce->last_ns = now_ns;
	}
	return vclock - quiesce->vstart > T3_QUIESCE_VNS ||
	       now_ns - quiesce->last_ns > T3_QUIESCE_STILL_NS;
}

/*
 * DISABLE tells sources and targets, and rejects what arrives. Then wait until
 * nothing is in flight: memory may be freed only after that. No lock is held meanwhile,
 * and no time on the clock ends it: a device that has much to do for others is slow, and
 * to reset it would cost all of them their work.
 */
static int t3_space_quiesce(struct t3_space *space)
{
	struct t3_cmd_space cmd = { .space = space->hw_id };
	struct t3_quiesce quiesce = {};
	u32 state, nap = 50;
	u64 vclock;
	int ret;

	/* Its failure is no news: the state tells what is left to do. */
	t3_admin(space->tdev, T3_CMD_SPACE_DISABLE, &cmd, sizeof(cmd));
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

/* Returns -EIO when the function had to be reset. */
int t3_space_stop(struct t3_space *space)
{
	int ret = t3_space_quiesce(space);

	if (!ret || ret == -ENODEV) /* a device that has gone is at rest as well */
		return 0;
	/* The last resort. */
	t3_reset_request(space->tdev, "a space does not quiesce");
	return -EIO;
}

#ifdef T3_KUNIT
#include "tests/t3_quiesce_test.c"
#endif
