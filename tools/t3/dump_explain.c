// SPDX-License-Identifier: MIT
/* What the numbers of a dump mean. */
#include <stdint.h>
#include <string.h>

#include "dump.h"
#include "t3.h"
#include "t3_core.h"
#include "t3_hw.h"

struct field {
	const char *owner; /* a register, or a key of a record */
	const char *name;
	uint64_t mask;
};

#define FLAG(owner, prefix, name)                  \
	{                                          \
		owner, #name, T3_##prefix##_##name \
	}

static const struct field flags[] = {
	FLAG("CAPS", CAP, STAGING),
	FLAG("CAPS", CAP, MINMAX),
	FLAG("CAPS", CAP, QUEUES),
	FLAG("CAPS", CAP, MULTI),
	FLAG("CAPS", CAP, BLOCKS),
	FLAG("CAPS", CAP, BYTES),
	FLAG("CAPS", CAP, INJECT),
	FLAG("CAPS", CAP, GEMM),
	FLAG("CAPS", CAP, TIMED),
	FLAG("ERROR_STATUS", ERROR, HOST_DMA),
	FLAG("ERROR_STATUS", ERROR, GUEST),
	FLAG("ERROR_STATUS", ERROR, LINK),
	FLAG("ERROR_STATUS", ERROR, POISON),
	FLAG("ERROR_STATUS", ERROR, QUEUE),
	FLAG("ERROR_ENABLE", ERROR, HOST_DMA),
	FLAG("ERROR_ENABLE", ERROR, GUEST),
	FLAG("ERROR_ENABLE", ERROR, LINK),
	FLAG("ERROR_ENABLE", ERROR, POISON),
	FLAG("ERROR_ENABLE", ERROR, QUEUE),
	FLAG("flags", TILE, TRIGGERED),
	FLAG("flags", TILE, READY),
	FLAG("flags", TILE, STARTED),
	{ "word", "TRACKED", T3_SEG_WORD_TRACKED },
	{ "word", "DELIVERED", T3_SEG_WORD_DELIVERED },
};

/* Parts of a register that are numbers. */
static const struct field numbers[] = {
	{ "VERSION", "major", 0xffff0000 },	{ "VERSION", "minor", 0xffff },
	{ "TRACKER", "entries", ~0xffull },	{ "TRACKER", "ways", 0xff },
	{ "word", "epoch", T3_SEG_WORD_EPOCH },
};

#define ADMIN(name)   [T3_ADMIN_##name] = #name
#define COMMAND(name) [T3_CMD_##name] = #name

static const char *const statuses[] = {
	ADMIN(OK),	  ADMIN(BAD_OPCODE), ADMIN(BAD_SPACE),	  ADMIN(BAD_INDEX),
	ADMIN(EXISTS),	  ADMIN(BAD_RANGE),  ADMIN(BAD_GEOMETRY), ADMIN(BAD_VALUE),
	ADMIN(BAD_STATE), ADMIN(NO_ROUTE),   ADMIN(NO_RESOURCE),  ADMIN(BAD_QUEUE),
};

static const char *const commands[] = {
	COMMAND(SPACE_CREATE), COMMAND(SPACE_DISABLE), COMMAND(SPACE_DESTROY), COMMAND(SPACE_RESET),
	COMMAND(SPACE_QUERY),  COMMAND(SEG_MAP),       COMMAND(SEG_UNMAP),     COMMAND(SEG_STAGING),
	COMMAND(SEG_STATS),    COMMAND(ROUTE_SET),     COMMAND(ROUTE_CLEAR),   COMMAND(IMPORT_SET),
	COMMAND(IMPORT_CLEAR), COMMAND(QUEUE_CREATE),  COMMAND(QUEUE_DESTROY), COMMAND(QUEUE_ABORT),
	COMMAND(QUEUE_QUERY),  COMMAND(FENCE_SET),     COMMAND(LINK_QUERY),    COMMAND(INJECT),
};

static const char *pick(const char *const *table, size_t count, uint32_t value)
{
	return value < count && table[value] ? table[value] : "?";
}

static const char *status_name(uint32_t value)
{
	return pick(statuses, sizeof(statuses) / sizeof(*statuses), value);
}

static const char *command_name(uint32_t value)
{
	return pick(commands, sizeof(commands) / sizeof(*commands), value);
}

static const struct {
	const char *owner;
	const char *(*name)(uint32_t value);
} names[] = {
	{ "ADMIN_STATUS", status_name },
	{ "ADMIN_COMMAND", command_name },
	{ "TOPOLOGY", t3_name_topology },
	{ "state", t3_name_space_state },
	{ "event_state", t3_name_space_state },
	{ "kind", t3_name_segment_kind },
	{ "fault", t3_name_fault },
	{ "detail", t3_name_nak },
	{ "opcode", t3_name_opcode },
	{ "op", t3_name_op },
	{ "dtype", t3_name_dtype },
};

#define ROWS(table) (sizeof(table) / sizeof(*(table)))

static void explain_flags(json_t *record, const char *owner, uint64_t value)
{
	json_t *list = NULL;
	size_t i;

	for (i = 0; i < ROWS(flags); i++) {
		if (strcmp(flags[i].owner, owner) != 0)
			continue;
		if (!list)
			list = json_array();
		if (value & flags[i].mask)
			json_array_append_new(list, json_string(flags[i].name));
	}
	if (list)
		json_object_set_new(record, "set", list);
}

static void explain_numbers(json_t *record, const char *owner, uint64_t value)
{
	json_t *fields = NULL;
	size_t i;

	for (i = 0; i < ROWS(numbers); i++) {
		if (strcmp(numbers[i].owner, owner) != 0)
			continue;
		if (!fields)
			fields = json_object();
		json_object_set_new(fields, numbers[i].name,
				    json_integer((json_int_t)((value & numbers[i].mask) >>
							      __builtin_ctzll(numbers[i].mask))));
	}
	if (fields)
		json_object_set_new(record, "fields", fields);
}

static void explain_name(json_t *record, const char *owner, const char *key, json_int_t value)
{
	char name_key[32];
	size_t i;

	for (i = 0; i < ROWS(names); i++) {
		if (strcmp(names[i].owner, owner) != 0 || value < 0 || value > UINT32_MAX)
			continue;
		snprintf(name_key, sizeof(name_key), "%s_name", key);
		json_object_set_new(record, name_key, json_string(names[i].name((uint32_t)value)));
	}
}

static void explain(json_t *record, const char *owner, const char *key)
{
	const json_t *value = json_object_get(record, key);

	if (!json_is_integer(value))
		return;
	explain_flags(record, owner, (uint64_t)json_integer_value(value));
	explain_numbers(record, owner, (uint64_t)json_integer_value(value));
	explain_name(record, owner, key, json_integer_value(value));
}

/* A queue's state is not one of a space. */
static void explain_queue(json_t *record)
{
	json_int_t state = json_integer_value(json_object_get(record, "state"));

	if (state >= 0 && state <= UINT32_MAX)
		json_object_set_new(record, "state_name",
				    json_string(t3_name_queue_state((uint32_t)state)));
}

static void explain_counter(json_t *record)
{
	json_int_t index = json_integer_value(json_object_get(record, "index"));

	if (index >= 0 && index < T3_DEVICE_COUNTER_COUNT)
		json_object_set_new(record, "name", json_string(t3_counter_name((uint32_t)index)));
}

void dump_explain(json_t *record)
{
	static const char *const keys[] = { "event_state", "kind",  "fault", "detail", "opcode",
					    "op",	   "dtype", "flags", "word" };
	const char *name = json_string_value(json_object_get(record, "name"));
	size_t i;

	if (name && json_object_get(record, "offset")) {
		explain(record, name, "value");
		return;
	}
	if (json_object_get(record, "index"))
		explain_counter(record);
	if (json_object_get(record, "queue"))
		explain_queue(record);
	else if (json_object_get(record, "state"))
		explain(record, "state", "state");
	for (i = 0; i < ROWS(keys); i++)
		if (json_object_get(record, keys[i]))
			explain(record, keys[i], keys[i]);
}
