// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/debugfs.h"

/* A decimal or 0x number, and nothing after it. */
static json_t *value_to_json(const char *text)
{
	char *end;
	long long number;

	errno = 0;
	number = strtoll(text, &end, 0);
	if (*text && *text != ' ' && !*end && !errno)
		return json_integer(number);
	return json_string_nocheck(text);
}

static void add_word(json_t *record, char *word)
{
	char *value = strchr(word, '=');

	if (value)
		*value++ = '\0';
	if (!json_object_size(record))
		json_object_set_new_nocheck(record, "record", json_string_nocheck(word));
	json_object_set_new_nocheck(record, word, value ? value_to_json(value) : json_true());
}

static json_t *line_to_json(char *line)
{
	json_t *record = json_object();
	char *word, *rest;

	for (word = strtok_r(line, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
		add_word(record, word);
	return record;
}

/* An indented line belongs to the line before. */
static void add_line(json_t *records, char *line)
{
	size_t count = json_array_size(records);
	json_t *owner = count ? json_array_get(records, count - 1) : NULL;
	json_t *record = line_to_json(line);

	if (*line != '\t' || !owner) {
		json_array_append_new(records, record);
		return;
	}
	if (!json_object_get(owner, "parts"))
		json_object_set_new(owner, "parts", json_array());
	json_array_append_new(json_object_get(owner, "parts"), record);
}

static json_t *read_records(FILE *file)
{
	json_t *records = json_array();
	size_t size = 0;
	char *line = NULL;

	while (getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (*line)
			add_line(records, line);
	}
	free(line);
	return records;
}

static void debugfs_path(const struct tool_device *device, const char *name, char *path,
			 size_t size)
{
	snprintf(path, size, DEBUGFS_ROOT "/%s/%s", device->entry.bdf, name);
}

static int open_records(const struct tool_device *device, const char *name, json_t **records)
{
	char path[128];
	FILE *file;
	int ret;

	debugfs_path(device, name, path, sizeof(path));
	file = fopen(path, "re");
	if (!file)
		return -errno;
	*records = read_records(file);
	ret = ferror(file) ? -EIO : 0;
	fclose(file);
	if (ret)
		json_decref(*records);
	return ret;
}

int debugfs_refuse(const struct tool_device *device, const char *name, int error)
{
	char path[128];

	debugfs_path(device, name, path, sizeof(path));
	if (error == -EACCES || error == -EPERM)
		return complain(EXIT_FAIL, "%s is for root alone", path);
	if (error == -ENOENT)
		return complain(EXIT_FAIL,
				"%s is not there: is debugfs mounted (mount -t debugfs debugfs "
				"/sys/kernel/debug), and the driver new enough?",
				path);
	return complain(EXIT_FAIL, "%s: %s", path, strerror(-error));
}

int debugfs_read(const struct tool_device *device, const char *name, json_t **records)
{
	int ret = open_records(device, name, records);

	return ret ? debugfs_refuse(device, name, ret) : EXIT_OK;
}

json_t *debugfs_try(const struct tool_device *device, const char *name)
{
	json_t *records;

	return open_records(device, name, &records) ? NULL : records;
}

int debugfs_write(const struct tool_device *device, const char *name, const char *text)
{
	ssize_t done;
	char path[128];
	int fd, ret;

	debugfs_path(device, name, path, sizeof(path));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	done = write(fd, text, strlen(text));
	ret = done < 0 ? -errno : 0;
	close(fd);
	return ret;
}

/* The file is open again from its beginning: what is said is of this open file. */
static void read_error(int fd, char *why, size_t size)
{
	char text[8192], *start, *end;
	ssize_t length = pread(fd, text, sizeof(text) - 1, 0);

	text[length > 0 ? length : 0] = '\0';
	start = strstr(text, "error=\"");
	end = strrchr(text, '"');
	if (start && end > start + 6)
		snprintf(why, size, "%.*s", (int)(end - start - 7), start + 7);
}

int debugfs_command(const struct tool_device *device, const char *name, const char *text, char *why,
		    size_t size)
{
	char path[128];
	int fd, ret;

	*why = '\0';
	debugfs_path(device, name, path, sizeof(path));
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	if (ret)
		read_error(fd, why, size);
	close(fd);
	return ret;
}

json_int_t record_number(const json_t *record, const char *key)
{
	return json_integer_value(json_object_get(record, key));
}

const char *record_text(const json_t *record, const char *key)
{
	const char *text = json_string_value(json_object_get(record, key));

	return text ? text : "?";
}

bool record_is(const json_t *record, const char *kind)
{
	return !strcmp(record_text(record, "record"), kind);
}
