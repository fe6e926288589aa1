// SPDX-License-Identifier: MIT
#define _GNU_SOURCE /* strverscmp() */
/* t3 dump: the state of a device when it, or one of its queues, was reset. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "common/cmdline.h"
#include "dump/dump.h"
#include "common/message.h"

#define DUMPS "/sys/class/devcoredump"
#define MAGIC "T3 devcoredump "

struct dump_args {
	struct cmd_common common;
	bool all, release;
	const char *file;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct dump_args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->common;
		return 0;
	case 'a':
		args->all = true;
		return 0;
	case 'f':
		args->release = true;
		return 0;
	case ARGP_KEY_ARG:
		if (args->file)
			return ARGP_ERR_UNKNOWN;
		args->file = arg;
		return 0;
	case ARGP_KEY_SUCCESS:
		if (args->file && (args->all || args->release))
			argp_error(state, "--all and --free are for the dumps of devices, not for "
					  "a file");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Read a whole file up to DUMP_SIZE_MAX. -EFBIG: it is longer. */
static int read_all(const char *path, char **data, size_t *size)
{
	ssize_t got;
	int fd, ret = 0;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*data = malloc(DUMP_SIZE_MAX + 1);
	if (!*data)
		ret = -ENOMEM;
	while (!ret && *size <= DUMP_SIZE_MAX) {
		got = read(fd, *data + *size, DUMP_SIZE_MAX + 1 - *size);
		if (got < 0 && errno != EINTR)
			ret = -errno;
		if (got == 0)
			break;
		*size += got > 0 ? (size_t)got : 0;
	}
	close(fd);
	if (!ret && *size > DUMP_SIZE_MAX)
		ret = -EFBIG;
	if (ret && *data)
		free(*data);
	return ret;
}

static int refuse_file(const char *path, int error)
{
	if (error == -EFBIG)
		return complain(EXIT_FAIL, "%s is above %u bytes: no T3 dump", path, DUMP_SIZE_MAX);
	return complain(EXIT_FAIL, "%s could not be read: %s", path, strerror(-error));
}

/* Print what could be decoded, also when the decoding ended with an error. */
static int show(const char *path, const char *data, size_t size, json_t *list)
{
	char why[256];
	json_t *dump = dump_parse(data, size, why, sizeof(why));

	if (json_object_get(dump, "format")) {
		json_object_set_new(dump, "path", json_from_name(path));
		if (*why)
			json_object_set_new(dump, "error", json_string(why));
		if (list)
			json_array_append(list, dump);
		else
			dump_print(dump);
	}
	json_decref(dump);
	return *why ? complain(EXIT_FAIL, "%s, %s", path, why) : EXIT_OK;
}

static int dump_file(const char *path, json_t *list)
{
	size_t size = 0;
	char *data = NULL;
	int ret;

	ret = read_all(path, &data, &size);
	if (ret)
		return refuse_file(path, ret);
	ret = show(path, data, size, list);
	free(data);
	return ret;
}

/* Check the dump's first bytes, because other drivers leave dumps, too. */
static int is_dump(const struct dirent *entry)
{
	char path[300], head[sizeof(MAGIC)] = "";
	ssize_t got;
	int fd;

	if (entry->d_name[0] == '.' || strlen(entry->d_name) > 250)
		return false;
	snprintf(path, sizeof(path), DUMPS "/%.250s/data", entry->d_name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES; /* then the read reports it */
	got = read(fd, head, sizeof(head) - 1);
	close(fd);
	return got == sizeof(head) - 1 && !strcmp(head, MAGIC);
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

/* The kernel releases the dump on any write. */
static int release(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = fd < 0 || write(fd, "0", 1) != 1 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	if (ret)
		return complain(EXIT_FAIL, "%s could not be released: %s", path, strerror(-ret));
	return EXIT_OK;
}

static int dump_entry(const struct dump_args *args, const struct dirent *entry, json_t *list)
{
	char path[300];
	int ret;

	snprintf(path, sizeof(path), DUMPS "/%.250s/data", entry->d_name);
	ret = dump_file(path, list);
	if (!ret && args->release)
		ret = release(path);
	return ret;
}

/* The newest dump, or all from the oldest on. */
static int dump_devices(const struct dump_args *args, json_t *list)
{
	struct dirent **entries;
	int count, i, ret = EXIT_OK, one;

	count = scandir(DUMPS, &entries, is_dump, by_number);
	if (count < 0 && errno != ENOENT)
		return complain(EXIT_FAIL, DUMPS ": %s", strerror(errno));
	if (count <= 0)
		ret = complain(EXIT_FAIL, "no T3 device has left a dump in " DUMPS);
	for (i = 0; i < count; i++) {
		if (args->all || i == count - 1) {
			one = dump_entry(args, entries[i], list);
			ret = one ? one : ret;
		}
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return ret;
}

int cmd_dump(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "all", 'a', NULL, 0, "all dumps, not only the newest", 0 },
		{ "free", 'f', NULL, 0,
		  "release the dumps that were shown, so that the next ones can be taken", 0 },
		{ 0 },
	};
	static const struct argp_child children[] = { { &cmdline_json, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[FILE]",
		.doc = "Decode a device coredump: FILE, or the newest of a T3 device in " DUMPS "."
		       " It needs root. The kernel keeps a device's first dump for five minutes,"
		       " or until it is released.",
		.children = children,
	};
	struct dump_args args = { 0 };
	json_t *list;
	int ret;

	cmdline_parse(&argp, argc, argv, 0, &args);
	list = args.common.json ? json_array() : NULL;
	ret = args.file ? dump_file(args.file, list) : dump_devices(&args, list);
	if (!json_array_size(list))
		json_decref(list);
	else if (print_json(list))
		return EXIT_FAIL;
	return ret;
}
