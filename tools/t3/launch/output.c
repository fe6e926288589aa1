// SPDX-License-Identifier: MIT
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "launch/output.h"

#define LABEL_BYTES 16

_Static_assert(LAUNCH_LINE_BYTES + LABEL_BYTES <= PIPE_BUF, "any line is one write");

bool launch_takes(FILE *out)
{
	struct pollfd poll_out = { .fd = fileno(out), .events = POLLOUT };

	return poll(&poll_out, 1, 0);
}

/* Lines of a rank for out, with its label, as far as one write has room. */
struct batch {
	size_t used;
	char text[PIPE_BUF];
};

/* False when there is no more room. */
static bool add_line(struct batch *batch, uint32_t rank, const char *line, size_t bytes)
{
	char label[LABEL_BYTES];
	size_t size = (size_t)snprintf(label, sizeof(label), "[%u] ", rank);

	if (size + bytes + 1 > sizeof(batch->text) - batch->used)
		return false;
	memcpy(batch->text + batch->used, label, size);
	memcpy(batch->text + batch->used + size, line, bytes);
	batch->used += size + bytes + 1;
	batch->text[batch->used - 1] = '\n';
	return true;
}

/* Fills a batch with lines, and with a part when it is all that there is. Returns its bytes. */
static size_t fill(struct batch *batch, const struct launch_stream *stream, uint32_t rank,
		   bool part)
{
	const char *line = stream->line, *end;
	size_t left = stream->used;

	while ((end = memchr(line, '\n', left))) {
		if (!add_line(batch, rank, line, (size_t)(end - line)))
			return stream->used - left;
		left -= (size_t)(end + 1 - line);
		line = end + 1;
	}
	if (left && (part || left == sizeof(stream->line)) && add_line(batch, rank, line, left))
		left = 0;
	return stream->used - left;
}

/* Prints lines, and a part that fills the buffer; with `part` any. */
static void print_lines(struct launch_stream *stream, uint32_t rank, FILE *out, bool part,
			bool wait)
{
	struct batch batch;
	size_t taken;

	stream->held = false;
	do {
		batch.used = 0;
		taken = fill(&batch, stream, rank, part);
		if (!taken)
			return;
		stream->held = !wait && !launch_takes(out);
		if (stream->held)
			return;
		fwrite(batch.text, 1, batch.used, out);
		fflush(out);
		stream->used -= taken;
		memmove(stream->line, stream->line + taken, stream->used);
	} while (stream->used);
}

/* Reads once: bytes, 0 at the end, -1 when nothing is there now. */
static int take(struct launch_stream *stream)
{
	ssize_t got;

	do
		got = read(stream->fd, stream->line + stream->used,
			   sizeof(stream->line) - stream->used);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == EAGAIN ? -1 : 0;
	stream->used += (size_t)got;
	return (int)got;
}

bool launch_stream_print(struct launch_stream *stream, uint32_t rank, FILE *out, bool last)
{
	int left = 0; /* Bytes that are there now. A rank that goes on must not hold up the rest. */
	int got = -1;

	if (stream->fd < 0)
		return true;
	ioctl(stream->fd, FIONREAD, &left);
	print_lines(stream, rank, out, false, last); /* lines that were held */
	while (!stream->held) {
		got = take(stream);
		print_lines(stream, rank, out, !got, last);
		left -= got;
		if (got <= 0 || left <= 0)
			break;
	}
	if (last)
		print_lines(stream, rank, out, true, true);
	if (last || (!got && !stream->held)) {
		close(stream->fd);
		stream->fd = -1;
	}
	return !ferror(out);
}
