// SPDX-License-Identifier: MIT
/* The meaning of the numbers in a dump. */
#include <stdint.h>
#include <string.h>

#include "dump/dump.h"
#include "t3.h"
#include "t3_core.h"
#include "t3_hw.h"

typedef const char *name_of(uint32_t value);

/* Registers and keys whose bits have names. */
static const struct {
	const char *owner; /* a register, or a key of a record */
	name_of *bit;
} flags[] = {
	{ "CAPS", t3_name_cap },
	{ "ERROR_STATUS", t3_name_error },
	{ "ERROR_ENABLE", t3_name_error },
	{ "flags", t3_name_tile_flag },
};

/* Parts of a value that are numbers, and single bits. */
static const struct field {
	const char *owner, *name;
	uint64_t mask;
} numbers[] = {
	{ "VERSION", "major", 0xffff0000 },	{ "VERSION", "minor", 0xffff },
	{ "TRACKER", "entries", ~0xffull },	{ "TRACKER", "ways", 0xff },
	{ "word", "epoch", T3_SEG_WORD_EPOCH },
}, word_bits[] = {
	{ "word", "TRACKED", T3_SEG_WORD_TRACKED },
	{ "word", "DELIVERED", T3_SEG_WORD_DELIVERED },
};

static const struct {
	const char *owner;
	name_of *name;
} names[] = {
	{ "ADMIN_STATUS", t3_name_admin_status },
	{ "ADMIN_COMMAND", t3_name_admin_command },
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

static void explain_flags(json_t *record, name_of *name_bit, uint64_t value)
{
	json_t *list = json_array();
	const char *name;
	uint32_t bit;

	for (bit = 0; bit < 64; bit++) {
		if (!(value >> bit & 1))
			continue;
		/* A newer device may have bits without a name here. */
		name = name_bit(bit);
		json_array_append_new(list, *name == '?' ? json_sprintf("bit %u", bit)
							 : json_string(name));
	}
	json_object_set_new(record, "set", list);
}

static void explain_word(json_t *record, const char *owner, uint64_t value)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < ROWS(word_bits); i++)
		if (value & word_bits[i].mask)
			json_array_append_new(list, json_string(word_bits[i].name));
	if (!strcmp(owner, word_bits[0].owner))
		json_object_set(record, "set", list);
	json_decref(list);
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
	size_t i;

	if (!json_is_integer(value))
		return;
	for (i = 0; i < ROWS(flags); i++)
		if (!strcmp(flags[i].owner, owner))
			explain_flags(record, flags[i].bit, (uint64_t)json_integer_value(value));
	explain_word(record, owner, (uint64_t)json_integer_value(value));
	explain_numbers(record, owner, (uint64_t)json_integer_value(value));
	explain_name(record, owner, key, json_integer_value(value));
}

/* -1: above JSON's integers it is text, and has no name. */
static json_int_t number_of(json_t *record, const char *key)
{
	const json_t *value = json_object_get(record, key);

	return json_is_integer(value) ? json_integer_value(value) : -1;
}

/* A queue has other states than a space. */
static void explain_queue(json_t *record)
{
	json_int_t state = number_of(record, "state");

	if (state >= 0 && state <= UINT32_MAX)
		json_object_set_new(record, "state_name",
				    json_string(t3_name_queue_state((uint32_t)state)));
}

static void explain_counter(json_t *record)
{
	json_int_t index = number_of(record, "index");

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
