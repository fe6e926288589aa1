/* SPDX-License-Identifier: MIT */
/*
 * Two unprivileged clients of one device. One has everything that the driver gives; the
 * other knows all of its numbers and does what a test wants to see refused.
 */
#ifndef T3_GUEST_ATTACK_H
#define T3_GUEST_ATTACK_H

#include "guest.h"

#define FACTS_OFFSETS 5u
#define FACTS_FDS     5u

/* All that could be known about the victim. */
struct facts {
	pid_t pid;
	uint32_t bo, host, space, queue, sync, grant;
	uint64_t offset[FACTS_OFFSETS]; /* buffer, host buffer, aperture, doorbell, events */
	int fds[FACTS_FDS];		/* node, grant, wait fd, eventfd, dma-buf */
	uint64_t memory;		/* an address */
};

/*
 * In a process of user uid, with its own open file of the victim's device. Passes when
 * body has checked all it wants, and the victim has seen nothing but its own doing.
 */
void attack_run(uid_t uid, void (*body)(int fd, const struct facts *facts));

#endif /* T3_GUEST_ATTACK_H */
