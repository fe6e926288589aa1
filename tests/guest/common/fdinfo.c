// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <fcntl.h>

#include "fdinfo.h"

/* A key without white space, a colon, white space, something. */
static void check_line(const char *line, size_t length)
{
	const char *colon = memchr(line, ':', length);
	size_t key = colon ? (size_t)(colon - line) : 0, i;
	bool value = false;

	for (i = 0; i < key; i++)
		if (isspace((unsigned char)line[i]))
			colon = NULL;
	for (i = key + 1; i < length; i++)
		value = value || !isspace((unsigned char)line[i]);
	if (!colon || !key || !value)
		guest_fail(__FILE__, __LINE__, "fdinfo: not a key and a value: %.*s", (int)length,
			   line);
}

void fdinfo_read(int fd, struct fdinfo *info)
{
	const char *line, *end;
	char path[64];
	ssize_t length;
	int file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(file >= 0);
	length = read(file, info->text, sizeof(info->text) - 1);
	CHECK(length > 0);
	close(file);
	info->text[length] = 0;
	for (line = info->text; *line; line = end + 1) {
		end = strchr(line, '\n');
		CHECK(end);
		check_line(line, (size_t)(end - line));
	}
}

void fdinfo_text(const struct fdinfo *info, const char *key, char *value, size_t size)
{
	size_t length = strlen(key), found = 0;
	const char *line, *end;

	for (line = info->text; *line; line = end + 1) {
		end = strchr(line, '\n');
		if (strncmp(line, key, length) != 0 || line[length] != ':')
			continue;
		line += length + 1 + strspn(line + length + 1, " \t");
		snprintf(value, size, "%.*s", (int)(end - line), line);
		found++;
	}
	if (found != 1)
		guest_fail(__FILE__, __LINE__, "fdinfo: %s is there %zu times", key, found);
}

uint64_t fdinfo_number(const struct fdinfo *info, const char *key, const char *unit)
{
	uint64_t number;
	char value[64];
	char *rest;

	fdinfo_text(info, key, value, sizeof(value));
	CHECK(isdigit((unsigned char)*value));
	number = strtoull(value, &rest, 10);
	if (unit) {
		CHECK(*rest == ' ' && strcmp(rest + 1, unit) == 0);
		return number;
	}
	if (strcmp(rest, " KiB") == 0)
		return number << 10;
	if (strcmp(rest, " MiB") == 0)
		return number << 20;
	CHECK(!*rest);
	return number;
}

uint64_t fdinfo_bytes(int fd, const char *key)
{
	struct fdinfo info;

	fdinfo_read(fd, &info);
	return fdinfo_number(&info, key, NULL);
}

uint64_t fdinfo_ns(int fd, const char *key)
{
	struct fdinfo info;

	fdinfo_read(fd, &info);
	return fdinfo_number(&info, key, "ns");
}
