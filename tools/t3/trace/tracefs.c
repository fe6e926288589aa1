// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/message.h"
#include "trace/tracefs.h"

#define TRACEFS "/sys/kernel/tracing"

static int write_file(const struct tracefs *trace, const char *name, const char *text)
{
	char path[128];
	int fd, ret;

	snprintf(path, sizeof(path), "%s/%s", trace->path, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

static int refuse(const char *path, int error)
{
	if (error == -EACCES || error == -EPERM)
		return complain(EXIT_FAIL, "%s is for root alone", path);
	if (error == -ENOENT)
		return complain(
			EXIT_FAIL,
			"%s is not there: is tracefs mounted (mount -t tracefs tracefs " TRACEFS
			"), and the driver loaded?",
			path);
	return complain(EXIT_FAIL, "%s: %s", path, strerror(-error));
}

static int configure(struct tracefs *trace, uint64_t kib)
{
	const struct {
		const char *name, *text;
	} files[] = { { "trace_clock", "mono" },
		      { "buffer_size_kb", NULL },
		      { "events/t3/enable", "1" },
		      { "tracing_on", "1" } };
	char number[32], path[128];
	size_t i;
	int ret;

	snprintf(number, sizeof(number), "%llu", (unsigned long long)kib);
	for (i = 0; i < sizeof(files) / sizeof(*files); i++) {
		ret = write_file(trace, files[i].name, files[i].text ? files[i].text : number);
		snprintf(path, sizeof(path), "%s/%s", trace->path, files[i].name);
		if (ret)
			return refuse(path, ret);
	}
	return EXIT_OK;
}

int tracefs_start(struct tracefs *trace, uint64_t kib)
{
	int ret;

	snprintf(trace->path, sizeof(trace->path), TRACEFS "/instances/t3-%d", (int)getpid());
	if (mkdir(trace->path, 0700)) {
		ret = -errno;
		return refuse(TRACEFS "/instances", ret);
	}
	ret = configure(trace, kib);
	if (ret)
		tracefs_remove(trace);
	return ret;
}

void tracefs_stop(struct tracefs *trace)
{
	write_file(trace, "tracing_on", "0");
}

FILE *tracefs_open(const struct tracefs *trace)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/trace", trace->path);
	return fopen(path, "re");
}

/* Read a "key: N" line of one CPU, or 0 if there is no such CPU. */
static bool add_lost(const struct tracefs *trace, long cpu, uint64_t *lost)
{
	unsigned long long number;
	char path[128], line[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/per_cpu/cpu%ld/stats", trace->path, cpu);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "overrun: %llu", &number) == 1 ||
		    sscanf(line, "dropped events: %llu", &number) == 1)
			*lost += number;
	fclose(file);
	return true;
}

uint64_t tracefs_lost(const struct tracefs *trace)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF), cpu;
	uint64_t lost = 0;

	for (cpu = 0; cpu < cpus; cpu++)
		add_lost(trace, cpu, &lost);
	return lost;
}

/* No other process knows the instance, so only this process's files keep it. */
void tracefs_remove(struct tracefs *trace)
{
	write_file(trace, "events/t3/enable", "0");
	rmdir(trace->path);
}

/* Read "12.345678" before end as nanoseconds. *start is its first digit. */
static bool parse_time(char *text, char *end, char **start, int64_t *ns)
{
	char *rest;

	for (*start = end; *start > text && strchr("0123456789.", (*start)[-1]); --*start)
		;
	*ns = strtoll(*start, &rest, 10) * 1000000000;
	if (rest == *start || *rest != '.' || end - rest != 7)
		return false;
	*ns += strtoll(rest + 1, NULL, 10) * 1000;
	return true;
}

/* Read " NAME-123 " up to the bracket of the CPU. A name may contain anything. */
static bool parse_task(char *text, char *end, struct trace_line *line)
{
	char *dash;

	while (end > text && end[-1] == ' ')
		end--;
	*end = '\0';
	dash = strrchr(text, '-');
	if (!dash)
		return false;
	*dash = '\0';
	line->tid = (uint32_t)strtoul(dash + 1, NULL, 10);
	line->process = text + strspn(text, " ");
	return true;
}

/* A process can choose any name, also one that looks like an event. */
static char *find_event(char *text, char **time, int64_t *ns)
{
	char *event;

	for (event = strstr(text, ": t3_"); event; event = strstr(event + 1, ": t3_"))
		if (parse_time(text, event, time, ns))
			return event + strlen(": t3_");
	return NULL;
}

bool trace_line_parse(char *text, struct trace_line *line)
{
	char *event, *time, *cpu, *fields, *c;

	text[strcspn(text, "\n")] = '\0';
	for (c = text; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	event = *text == '#' ? NULL : find_event(text, &time, &line->ns);
	fields = event ? strstr(event, ": ") : NULL;
	if (!fields)
		return false;
	*fields = '\0';
	*time = '\0';
	line->event = event;
	line->fields = fields + 2;
	cpu = strrchr(text, '[');
	return cpu && parse_task(text, cpu, line);
}

void trace_field(const char *fields, const char *name, char *value, size_t size)
{
	size_t length = strlen(name);
	const char *at;

	*value = '\0';
	for (at = fields; at; at = strchr(at, ' ')) {
		at += strspn(at, " ");
		if (strncmp(at, name, length) != 0 || at[length] != '=')
			continue;
		snprintf(value, size, "%.*s", (int)strcspn(at + length + 1, " "), at + length + 1);
		return;
	}
}

int64_t trace_number(const char *fields, const char *name)
{
	char value[32];

	trace_field(fields, name, value, sizeof(value));
	return strtoll(value, NULL, 0);
}
