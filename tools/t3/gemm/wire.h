/* SPDX-License-Identifier: MIT */
/* Messages between the processes: a grant's descriptor, and one last message. */
#ifndef T3_GEMM_WIRE_H
#define T3_GEMM_WIRE_H

#include "gemm.h"

enum wire_kind { WIRE_DONE = 1, WIRE_ERROR };

/* How likely an error caused the others. */
enum wire_weight {
	WEIGHT_NONE,
	WEIGHT_CONSEQUENCE, /* a peer failed or ended */
	WEIGHT_TIMEOUT,	    /* a wait timed out */
	WEIGHT_OWN,	    /* an own fault, or no progress */
	WEIGHT_SIGNAL,
};

/* Below PIPE_BUF, so that it is written and read as a whole. */
struct wire_message {
	uint32_t kind;
	uint32_t weight; /* ERROR: enum wire_weight */
	char text[GEMM_TEXT];
};

/* Errors: those of sendmsg(). */
int wire_send_fd(int socket, int fd);
/* The fd is O_CLOEXEC. Errors: -ETIMEDOUT. -EPIPE: the peer has ended. */
int wire_recv_fd(int socket, uint32_t timeout_s, int *fd);

int wire_send(int pipe, const struct wire_message *message);
/* -EPIPE: the writer ended without a message. */
int wire_recv(int pipe, struct wire_message *message);

#endif /* T3_GEMM_WIRE_H */
