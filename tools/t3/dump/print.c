// SPDX-License-Identifier: MIT
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "dump/dump.h"

static void print_value(const char *key, const json_t *value)
{
	static const char *const hex[] = { "value", "offset", "word", "aperture",
					   "size",  "src",    "dst",  "version" };
	long long number = (long long)json_integer_value(value);
	size_t i;

	if (json_is_string(value)) {
		fputs(json_string_value(value), stdout);
		return;
	}
	for (i = 0; i < sizeof(hex) / sizeof(*hex); i++)
		if (!strcmp(key, hex[i]) && number >= 0) {
			printf("0x%llx", number);
			return;
		}
	printf("%lld", number);
}

/* "STAGING MINMAX", "major 1 minor 3" */
static void print_meaning(json_t *record)
{
	json_t *set = json_object_get(record, "set"), *value;
	const char *key;
	size_t i;

	json_array_foreach(set, i, value) printf(" %s", json_string_value(value));
	json_object_foreach(json_object_get(record, "fields"), key, value)
		printf(" %s %lld", key, (long long)json_integer_value(value));
}

static bool is_name_of(json_t *record, const char *key)
{
	char owner[32];
	size_t length = strlen(key);

	if (length < 6 || length - 5 >= sizeof(owner) || strcmp(key + length - 5, "_name") != 0)
		return false;
	snprintf(owner, sizeof(owner), "%.*s", (int)(length - 5), key);
	return json_object_get(record, owner);
}

/* "key value (name)", key by key, in the order of the file. */
static void print_record(json_t *record, int indent)
{
	char name_key[64];
	const char *blanks = "", *key;
	json_t *value;

	printf("%*s", indent, "");
	json_object_foreach(record, key, value)
	{
		if (json_is_array(value) || json_is_object(value) || is_name_of(record, key))
			continue;
		printf("%s%s ", blanks, key);
		blanks = "  ";
		print_value(key, value);
		snprintf(name_key, sizeof(name_key), "%s_name", key);
		if (json_object_get(record, name_key))
			printf(" (%s)", json_string_value(json_object_get(record, name_key)));
	}
	print_meaning(record);
	putchar('\n');
}

static void print_list(json_t *owner, const char *name, int indent)
{
	static const char *const below[] = { "jobs", "steps", "faults", "segments", "open_tiles" };
	json_t *record;
	size_t i, k;

	json_array_foreach(json_object_get(owner, name), i, record)
	{
		print_record(record, indent);
		for (k = 0; k < sizeof(below) / sizeof(*below); k++)
			print_list(record, below[k], indent + 4);
	}
}

static void print_registers(const json_t *dump)
{
	json_t *record;
	size_t i;

	json_array_foreach(json_object_get(dump, "registers"), i, record)
	{
		printf("  %-16s ", json_string_value(json_object_get(record, "name")));
		print_value("value", json_object_get(record, "value"));
		print_meaning(record);
		if (json_object_get(record, "value_name"))
			printf(" %s", json_string_value(json_object_get(record, "value_name")));
		putchar('\n');
	}
}

/* Print the counters that are not 0. */
static void print_counters(const json_t *dump)
{
	json_t *record, *value, *name;
	size_t i;

	json_array_foreach(json_object_get(dump, "counters"), i, record)
	{
		value = json_object_get(record, "value");
		name = json_object_get(record, "name");
		if (json_is_integer(value) && !json_integer_value(value))
			continue;
		printf("  %-18s ", name ? json_string_value(name) : "unknown");
		print_value("", value);
		putchar('\n');
	}
}

static void print_head(const json_t *dump)
{
	static const char *const keys[] = { "reason", "time", "driver" };
	json_t *device = json_object_get(dump, "device");
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (json_object_get(dump, keys[i]))
			printf("%-8s%s\n", keys[i],
			       json_string_value(json_object_get(dump, keys[i])));
	if (device)
		print_record(device, 0);
}

void dump_print(const json_t *dump)
{
	json_t *line, *root = (json_t *)dump;
	size_t i;

	print_head(dump);
	puts("registers");
	print_registers(dump);
	puts("counters");
	print_counters(dump);
	print_list(root, "queues", 0);
	print_list(root, "spaces", 0);
	json_array_foreach(json_object_get(dump, "unknown"), i, line)
		printf("unknown: %s\n", json_string_value(line));
	if (json_object_get(dump, "truncated"))
		puts("truncated: there was more than the driver keeps");
}
