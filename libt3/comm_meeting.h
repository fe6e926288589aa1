/* SPDX-License-Identifier: MIT */
/* How ranks that are processes of their own meet: what comm_join.c and its helpers share. */
#ifndef T3_COMM_MEETING_H
#define T3_COMM_MEETING_H

#include <sys/un.h>

#include "comm.h"

#define COMM_RETRY_NS 2000000 /* until what is not there yet is looked for again */
#define STRANGERS     T3_COMM_RANKS_MAX

struct meeting {
	struct t3_comm *comm;
	const char *dir;
	int dir_fd;
	int listener;
	uint32_t joined;	 /* bit per rank whose hello was good */
	uint32_t asked;		 /* lower ranks that have our hello */
	int stranger[STRANGERS]; /* accepted, and has said nothing; -1 */
	int64_t deadline_ns;
};

/* What a rank says of itself, when it has been judged. */
struct comm_greeting {
	uint32_t rank;
	uint32_t device_rank;
};

#pragma GCC visibility push(hidden)

/* A rank's socket in the directory that was opened. */
void comm_address(const struct meeting *m, uint32_t rank, struct sockaddr_un *at);
int comm_open_socket(struct t3_comm *comm, int *fd);
/* Set dir_fd, and judge the directory. */
int comm_open_directory(struct meeting *m);
/* Set listener, bound to this rank's socket. */
int comm_start_listening(struct meeting *m);
/* Leave nothing in the directory. */
void comm_stop_listening(struct meeting *m);

/* Is the process at the other end of this user, or root? -EPERM. */
int comm_judge_peer(struct t3_comm *comm, int fd);
int comm_say_hello(struct t3_comm *comm, int fd);
/*
 * What one of the ranks lowest .. below - 1 says. -EAGAIN: nothing yet. -EPIPE: it has closed.
 * Else, as t3_comm_create(), why it cannot be a rank of this communicator.
 */
int comm_hear_hello(struct meeting *m, int fd, uint32_t lowest, uint32_t below,
		    struct comm_greeting *greeting);

#pragma GCC visibility pop

#endif /* T3_COMM_MEETING_H */
