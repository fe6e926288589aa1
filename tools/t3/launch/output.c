// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "launch/output.h"

static void print_line(uint32_t rank, const char *line, size_t bytes, FILE *out)
{
	fprintf(out, "[%u] ", rank);
	fwrite(line, 1, bytes, out);
	putc('\n', out);
}

/* Prints whole lines, and a part that fills the buffer. */
static void print_lines(struct launch_stream *stream, uint32_t rank, FILE *out)
{
	size_t at = 0, bytes;
	char *end;

	while ((end = memchr(stream->line + at, '\n', stream->used - at))) {
		bytes = (size_t)(end - stream->line) - at;
		print_line(rank, stream->line + at, bytes, out);
		at += bytes + 1;
	}
	memmove(stream->line, stream->line + at, stream->used - at);
	stream->used -= at;
	if (stream->used == sizeof(stream->line)) {
		print_line(rank, stream->line, stream->used, out);
		stream->used = 0;
	}
}

bool launch_stream_print(struct launch_stream *stream, uint32_t rank, FILE *out)
{
	ssize_t got;
	int left = 0; /* Bytes that are there now. A rank that goes on must not hold up the rest. */

	ioctl(stream->fd, FIONREAD, &left);
	while (stream->fd >= 0) {
		got = read(stream->fd, stream->line + stream->used,
			   sizeof(stream->line) - stream->used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			break;
		if (got <= 0)
			return launch_stream_end(stream, rank, out);
		stream->used += (size_t)got;
		print_lines(stream, rank, out);
		left -= (int)got;
		if (left <= 0)
			break;
	}
	return !fflush(out) && !ferror(out);
}

bool launch_stream_end(struct launch_stream *stream, uint32_t rank, FILE *out)
{
	if (stream->fd < 0)
		return true;
	close(stream->fd);
	stream->fd = -1;
	if (stream->used)
		print_line(rank, stream->line, stream->used, out);
	stream->used = 0;
	return !fflush(out) && !ferror(out);
}
