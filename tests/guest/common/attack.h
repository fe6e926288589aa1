/* SPDX-License-Identifier: MIT */
/*
 * Two unprivileged clients of one device. One has everything that the driver gives. The other knows
 * all its numbers and tries calls that must be refused.
 */
#ifndef T3_GUEST_ATTACK_H
#define T3_GUEST_ATTACK_H

#include "guest.h"

#define FACTS_OFFSETS 5u
#define FACTS_FDS     5u

/* All that can be known about the victim. */
struct facts {
	pid_t pid;
	uint32_t bo, host, space, queue, sync, grant;
	uint64_t offset[FACTS_OFFSETS]; /* buffer, host buffer, aperture, doorbell, events */
	int fds[FACTS_FDS];		/* node, grant, wait fd, eventfd, dma-buf */
	uint64_t memory;		/* an address */
};

/*
 * Runs body in a process of user uid, with its own open file of the victim's device. Passes when
 * body's checks pass and the victim's state has not changed.
 */
void attack_run(uid_t uid, void (*body)(int fd, const struct facts *facts));

#endif /* T3_GUEST_ATTACK_H */
