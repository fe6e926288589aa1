// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "module.h"
#include "trace.h"

#define TRACEFS	 "/sys/kernel/tracing"
#define WAIT_MS	 5000
#define QUIET_MS 100

static void write_file(const struct trace *trace, const char *name, const char *text)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", trace->instance, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		guest_fail(__FILE__, __LINE__, "%s: %s", path, strerror(errno));
	CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

void trace_open(struct trace *trace, uint32_t rank)
{
	static unsigned int count; /* leftovers of a failed test do no harm */
	char path[128];

	*trace = (struct trace){ 0 };
	device_bdf(rank, trace->bdf, sizeof(trace->bdf));
	snprintf(trace->instance, sizeof(trace->instance), TRACEFS "/instances/t3-%d-%u", getpid(),
		 count++);
	if (access(TRACEFS "/trace", F_OK))
		CHECK_EQ(mount("tracefs", TRACEFS, "tracefs", 0, NULL), 0);
	CHECK_EQ(mkdir(trace->instance, 0700), 0);
	/* The clock is the same on all processors. */
	write_file(trace, "trace_clock", "global");
	snprintf(path, sizeof(path), "%s/trace_pipe", trace->instance);
	trace->pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	CHECK(trace->pipe >= 0);
	write_file(trace, "events/" T3_DRIVER_NAME "/enable", "1");
}

/* Take the first line out of the text. False: there is none. */
static bool take_line(struct trace *trace, char *line, size_t size)
{
	char *end = memchr(trace->text, '\n', trace->length);
	size_t length;

	if (!end)
		return false;
	length = (size_t)(end - trace->text);
	CHECK(length < size);
	memcpy(line, trace->text, length);
	line[length] = 0;
	trace->length -= length + 1;
	memmove(trace->text, end + 1, trace->length);
	return true;
}

static bool read_line(struct trace *trace, int64_t deadline, char *line, size_t size)
{
	ssize_t got;

	while (!take_line(trace, line, size)) {
		got = read(trace->pipe, trace->text + trace->length,
			   sizeof(trace->text) - trace->length);
		if (got > 0) {
			trace->length += (size_t)got;
			continue;
		}
		CHECK(got == 0 || errno == EAGAIN);
		if (now_ns() > deadline)
			return false;
		nap_ms(2);
	}
	return true;
}

/* The event in a line: "name: dev=BDF fields". */
static const char *find_event(const char *line)
{
	const char *event = strstr(line, ": t3_");

	if (!event)
		guest_fail(__FILE__, __LINE__, "no event of the driver: %s", line);
	return event + 2;
}

const char *trace_next(struct trace *trace, const char *name)
{
	static char line[1024];
	char head[64];
	const char *event;

	if (!read_line(trace, after_ms(WAIT_MS), line, sizeof(line)))
		guest_fail(__FILE__, __LINE__, "no event came; %s should", name);
	event = find_event(line);
	snprintf(head, sizeof(head), "%s: dev=%s ", name, trace->bdf);
	if (strncmp(event, head, strlen(head)) != 0)
		guest_fail(__FILE__, __LINE__, "%s, not %s", event, head);
	return event + strlen(head);
}

void trace_expect(struct trace *trace, const char *name, const char *fields)
{
	const char *found = trace_next(trace, name);

	if (fnmatch(fields, found, 0))
		guest_fail(__FILE__, __LINE__, "%s: %s, not %s", name, found, fields);
}

uint64_t trace_field(const char *fields, const char *name)
{
	char key[32];
	const char *at;

	snprintf(key, sizeof(key), "%s=", name);
	at = strstr(fields, key);
	if (!at)
		guest_fail(__FILE__, __LINE__, "no %s in: %s", name, fields);
	return strtoull(at + strlen(key), NULL, 0);
}

void trace_expect_end(struct trace *trace)
{
	char line[1024];

	if (read_line(trace, after_ms(QUIET_MS), line, sizeof(line)))
		guest_fail(__FILE__, __LINE__, "one event too many: %s", find_event(line));
}

void trace_close(struct trace *trace)
{
	trace_expect_end(trace);
	write_file(trace, "events/" T3_DRIVER_NAME "/enable", "0");
	close(trace->pipe);
	CHECK_EQ(rmdir(trace->instance), 0);
}
