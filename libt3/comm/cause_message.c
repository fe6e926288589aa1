// SPDX-License-Identifier: MIT
/*
 * Causes that cross nodes. Ranks of one node read each other's in the shared state (cause.c). To a
 * rank on another node the cause is a message, and all ranks that get it write it to the state of
 * their node.
 */
#include <string.h>
#include <sys/socket.h>

#include "comm/private.h"

/* Bytes that may wait in a socket: more than the messages of one call. */
#define PEEK_BYTES 8192u

/* The frame of a stream that has it: stream.c. */
#define FRAME_HEAD sizeof(uint32_t)

static struct comm_message cause_message(uint32_t cause)
{
	struct comm_message message = { .kind = COMM_CAUSE, .bytes = sizeof(cause) };

	memcpy(message.data, &cause, sizeof(cause));
	return message;
}

static bool is_remote(const struct t3_comm *comm, uint32_t rank)
{
	return rank != comm->rank && !t3_comm_is_here(comm, rank) && comm->socket[rank] >= 0;
}

void comm_send_cause(const struct t3_comm *comm, uint32_t cause)
{
	struct comm_message message = cause_message(cause);
	uint32_t rank;

	for (rank = 0; rank < comm->ranks; rank++)
		if (is_remote(comm, rank))
			comm_send_frame(comm->socket[rank], &message, COMM_CAUSE_BYTES, -1);
}

bool comm_store_cause(const struct t3_comm *comm, uint32_t rank, const struct comm_message *message)
{
	uint32_t cause;

	if (message->kind != COMM_CAUSE || message->bytes != sizeof(cause) ||
	    t3_comm_is_here(comm, rank))
		return false;
	memcpy(&cause, message->data, sizeof(cause));
	if (comm->lines)
		atomic_store(&comm->lines[rank].cause, cause);
	return true;
}

/* Peek: messages stay in the socket for the calls that wait for them. */
static void poll_causes(const struct t3_comm *comm, uint32_t rank)
{
	unsigned char bytes[PEEK_BYTES];
	ssize_t got = recv(comm->socket[rank], bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
	size_t left = got > 0 ? (size_t)got : 0;
	const unsigned char *at = bytes;
	struct comm_message message;
	uint32_t length;

	while (left >= FRAME_HEAD) {
		memcpy(&length, at, sizeof(length));
		if (length > left - FRAME_HEAD)
			return;
		if (length == COMM_CAUSE_BYTES) {
			memcpy(&message, at + FRAME_HEAD, length);
			comm_store_cause(comm, rank, &message);
		}
		at += FRAME_HEAD + length;
		left -= FRAME_HEAD + length;
	}
}

void comm_poll_causes(const struct t3_comm *comm)
{
	uint32_t rank;

	for (rank = 0; comm->lines && rank < comm->ranks; rank++)
		if (is_remote(comm, rank))
			poll_causes(comm, rank);
}
