// SPDX-License-Identifier: MIT
/*
 * Frames to a rank on another node, over TCP: their length in 4 bytes, and the data. A frame is
 * shorter than any buffer of a socket. So it stays there until it has come as a whole, and is read
 * at once.
 */
#define _GNU_SOURCE /* POLLRDHUP */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "comm/private.h"

#define FRAME_MAX sizeof(struct comm_message)

bool comm_is_stream(int socket)
{
	int type = 0;
	socklen_t size = sizeof(type);

	return !getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) && type == SOCK_STREAM;
}

/* A connection that broke for whatever reason has ended. */
static int failure(void)
{
	return errno == EAGAIN || errno == EINTR ? -EAGAIN : -EPIPE;
}

int comm_stream_send(int socket, const void *data, size_t size)
{
	struct {
		uint32_t length;
		unsigned char data[FRAME_MAX];
	} frame = { .length = (uint32_t)size };
	ssize_t sent;

	if (size > sizeof(frame.data))
		return -EMSGSIZE;
	memcpy(frame.data, data, size);
	size += sizeof(frame.length);
	do
		sent = send(socket, &frame, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return failure();
	if ((size_t)sent == size)
		return 0;
	/* After half a frame the stream has no valid data. */
	shutdown(socket, SHUT_RDWR);
	return -EPIPE;
}

/* How much poll() waits for. Until then it would find the part that has come again and again. */
static void set_wanted(int socket, size_t bytes)
{
	int low = (int)bytes;

	setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low));
}

/* Look at the first bytes of the next frame. -EAGAIN: they have not come. */
static int look(int socket, void *data, size_t size)
{
	ssize_t got;

	do
		got = recv(socket, data, size, MSG_DONTWAIT | MSG_PEEK);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return failure();
	if (!got)
		return -EPIPE;
	if ((size_t)got == size)
		return 0;
	set_wanted(socket, size);
	return -EAGAIN;
}

/* Is there a whole frame? It stays in the socket. */
static int find(int socket, unsigned char *frame, uint32_t *length)
{
	int ret = look(socket, length, sizeof(*length));

	if (ret)
		return ret;
	if (!*length || *length > FRAME_MAX)
		return -EPROTO;
	return look(socket, frame, sizeof(*length) + *length);
}

static bool has_ended(int socket)
{
	struct pollfd p = { .fd = socket, .events = POLLRDHUP };

	return poll(&p, 1, 0) > 0;
}

int comm_stream_receive(int socket, void *data, size_t *size)
{
	unsigned char frame[sizeof(uint32_t) + FRAME_MAX];
	uint32_t length;
	int ret = find(socket, frame, &length);

	/*
	 * The last frame and the end may have come since. After the end nothing comes, so the
	 * second answer is sure; a part of a frame will not become whole.
	 */
	if (ret == -EAGAIN && has_ended(socket)) {
		ret = find(socket, frame, &length);
		if (ret == -EAGAIN)
			ret = -EPIPE;
	}
	if (ret)
		return ret;
	recv(socket, frame, sizeof(length) + length, MSG_DONTWAIT);
	set_wanted(socket, 1);
	memcpy(data, frame + sizeof(length), length < *size ? length : *size);
	*size = length;
	return 0;
}
