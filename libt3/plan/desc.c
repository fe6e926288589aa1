// SPDX-License-Identifier: MIT
/* The fields of a plan's desc, by name and value, for sentences about them. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"

struct field {
	const char *name;
	size_t offset;
	const char *(*value_name)(uint32_t value); /* NULL: the value is a number */
};

#define FIELD(name)                                              \
	{                                                        \
#name, offsetof(struct t3_plan_desc, name), NULL \
	}
#define NAMED(name, names)                                        \
	{                                                         \
#name, offsetof(struct t3_plan_desc, name), names \
	}

const char *t3_plan_collective_name(uint32_t collective)
{
	/* clang-format off */
	static const char *const names[] = {
		[T3_REDUCE_SCATTER] = "reduce-scatter",
		[T3_ALL_GATHER] = "all-gather",
		[T3_ALL_REDUCE] = "all-reduce",
		[T3_ALL_TO_ALL] = "all-to-all",
		[T3_BROADCAST] = "broadcast",
	};
	/* clang-format on */

	return collective >= T3_REDUCE_SCATTER && collective <= T3_BROADCAST ? names[collective]
									     : "unknown";
}

static const char *algorithm_name(uint32_t algorithm)
{
	static const char *const names[] = { "auto", "ring", "direct", "hierarchical", "switch" };

	return algorithm <= T3_ALGORITHM_SWITCH ? names[algorithm] : "unknown";
}

static const struct field fields[] = {
	NAMED(collective, t3_plan_collective_name),
	NAMED(algorithm, algorithm_name),
	FIELD(count),
	NAMED(dtype, t3_dtype_name),
	NAMED(op, t3_op_name),
	FIELD(root),
	FIELD(path),
	FIELD(columns),
	FIELD(tile_rows),
	FIELD(tile_columns),
	FIELD(flags),
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static uint64_t value_of(const struct t3_plan_desc *desc, const struct field *field)
{
	const unsigned char *at = (const unsigned char *)desc + field->offset;
	uint32_t word;

	if (field->offset == offsetof(struct t3_plan_desc, count))
		return desc->count;
	memcpy(&word, at, sizeof(word));
	return word;
}

static void say(struct t3_text *text, const char *before, const struct t3_plan_desc *desc,
		const struct field *field)
{
	unsigned long long value = value_of(desc, field);

	t3_text_say(text, "%s%s %llu", before, field->name, value);
	if (field->value_name)
		t3_text_say(text, " (%s)", field->value_name((uint32_t)value));
}

void t3_plan_say_difference(struct t3_text *text, const struct t3_plan_desc *desc,
			    const struct t3_plan_desc *other)
{
	const char *before = "";
	size_t i;

	for (i = 0; i < FIELDS; i++) {
		if (value_of(desc, &fields[i]) == value_of(other, &fields[i]))
			continue;
		say(text, before, desc, &fields[i]);
		before = ", ";
	}
}

/* Whether the sentence has the word. */
static bool names(const char *sentence, const char *word)
{
	size_t length = strlen(word);
	const char *at;

	for (at = strstr(sentence, word); at; at = strstr(at + 1, word))
		if ((at == sentence || strchr(" (", at[-1])) &&
		    (!at[length] || strchr(" ,;:)", at[length])))
			return true;
	return false;
}

void t3_plan_say_fields(struct t3_text *text, const char *sentence, const struct t3_plan_desc *desc)
{
	const char *before = "; got ";
	size_t i;

	for (i = 0; i < FIELDS; i++) {
		if (!names(sentence, fields[i].name))
			continue;
		say(text, before, desc, &fields[i]);
		before = ", ";
	}
}
