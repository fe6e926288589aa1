// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fnmatch.h>

#include "debugfs.h"
#include "module.h"

#define TEXT_MAX (1 << 20)
#define QUEUE_MS 20000

void debugfs_path(uint32_t rank, const char *name, char *path, size_t size)
{
	char bdf[32];

	device_bdf(rank, bdf, sizeof(bdf));
	snprintf(path, size, "/sys/kernel/debug/accel/%s/%s", bdf, name);
}

const char *debugfs_read_any(uint32_t rank, const char *name)
{
	static char text[TEXT_MAX];
	size_t length = 0;
	char path[128];
	ssize_t got;
	int fd;

	debugfs_path(rank, name, path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		guest_fail(__FILE__, __LINE__, "%s: %s", path, strerror(errno));
	do {
		got = read(fd, text + length, sizeof(text) - 1 - length);
		CHECK(got >= 0);
		length += (size_t)got;
	} while (got > 0);
	close(fd);
	text[length] = 0;
	CHECK(length < sizeof(text) - 1);
	return text;
}

/* Words of letters, digits and _, each alone or with = and a value. */
static bool is_word(const char *word, size_t length)
{
	const char *equal = memchr(word, '=', length);
	size_t key = equal ? (size_t)(equal - word) : length, i;

	for (i = 0; i < key; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_",
			    word[i]))
			return false;
	return key && (!equal || key + 1 < length);
}

static void check_form(const char *name, const char *text)
{
	const char *line, *end, *word;
	size_t length;

	for (line = text; *line; line = end + 1) {
		end = strchr(line, '\n');
		CHECK(end);
		for (word = line + (*line == '\t'); word <= end; word += length + 1) {
			length = strcspn(word, " \n");
			if (!is_word(word, length))
				guest_fail(__FILE__, __LINE__, "%s: %.*s", name, (int)(end - line),
					   line);
		}
	}
}

const char *debugfs_read(uint32_t rank, const char *name)
{
	const char *text = debugfs_read_any(rank, name);

	check_form(name, text);
	return text;
}

unsigned int debugfs_count(const char *text, const char *pattern)
{
	unsigned int count = 0;
	const char *from, *end;
	char line[1024];

	for (from = text; *from; from = end + 1) {
		end = strchr(from, '\n');
		CHECK(end);
		from += *from == '\t';
		snprintf(line, sizeof(line), "%.*s", (int)(end - from), from);
		count += !fnmatch(pattern, line, 0);
	}
	return count;
}

void debugfs_expect(const char *text, const char *pattern)
{
	unsigned int count = debugfs_count(text, pattern);

	if (count != 1)
		guest_fail(__FILE__, __LINE__, "%u lines, not one, are \"%s\" in:\n%s", count,
			   pattern, text);
}

uint64_t debugfs_number(uint32_t rank, const char *name, const char *key)
{
	const char *text = debugfs_read_any(rank, name), *at = text;
	size_t length = strlen(key);

	while ((at = strstr(at, key))) {
		if (at[length] == '=' && (at == text || strchr(" \n\t", at[-1])))
			return strtoull(at + length + 1, NULL, 0);
		at += length;
	}
	guest_fail(__FILE__, __LINE__, "%s: no %s", name, key);
}

int debugfs_write(uint32_t rank, const char *name, const char *text)
{
	char path[128];
	int fd, ret;

	debugfs_path(rank, name, path, sizeof(path));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

void debugfs_await_no_queue(uint32_t rank)
{
	int64_t deadline = after_ms(QUEUE_MS);

	while (debugfs_count(debugfs_read(rank, "queues"), "queue=*") && now_ns() < deadline)
		nap_ms(2);
	CHECK(!debugfs_count(debugfs_read(rank, "queues"), "queue=*"));
}
