/* SPDX-License-Identifier: MIT */
/* Other processes: each has a socket to its parent and a time limit. */
#ifndef T3_GUEST_CHILD_H
#define T3_GUEST_CHILD_H

#include <sys/types.h>

#include "guest.h"

struct child {
	pid_t pid;
	int sock;
};

/* Run body() in a new process. The process ends with status 0 when body() returns. */
void child_start(struct child *child, void (*body)(int sock, void *arg), void *arg);
/*
 * Wait for its end, at most ms, times guest_slowness(). Returns its exit status, 128 + signal, or
 * -ETIMEDOUT after a kill.
 */
int child_end(struct child *child, int ms);
/* SIGKILL, and wait. */
void child_kill(struct child *child);

/* Messages and descriptors over a socket. Each call ends the process when the peer has ended. */
void send_u32(int sock, uint32_t value);
uint32_t receive_u32(int sock);
void send_fd(int sock, int fd);
int receive_fd(int sock);

#define UID_USER	   1000
#define UID_NOBODY	   65534
#define GID_NOGROUP	   65534
#define GID_RENDER_DEFAULT 105 /* where a root of the host has no such group (t3-vm) */

/* The group that may open the nodes: a root of the host has its own number for it. */
gid_t render_group(void);
/*
 * Open a rank's node as another user, and stay root. The file is that user's. The process needs its
 * own user's rights: it must be root.
 */
int open_rank_as(uid_t uid, uint32_t rank);
/* Become an unprivileged user. render: in the group that may open the nodes. */
void become(uid_t uid, bool render);

#endif /* T3_GUEST_CHILD_H */
