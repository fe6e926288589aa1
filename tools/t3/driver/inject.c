// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/debugfs.h"
#include "driver/inject.h"

#define TEXT_MAX 1024

/* Where the sentence goes that says what is wrong. */
struct complaint {
	char *why;
	size_t size;
};

__attribute__((format(printf, 2, 3))) static bool refuse(const struct complaint *c,
							 const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(c->why, c->size, format, args);
	va_end(args);
	return false;
}

static void list_kinds(const json_t *records, char *list, size_t size)
{
	size_t used = 0, i;
	json_t *record;

	*list = '\0';
	json_array_foreach(records, i, record) if (record_is(record, "kind") && used < size) used +=
		(size_t)snprintf(list + used, size - used, "%s%s", used ? ", " : "",
				 record_text(record, "kind"));
}

static const json_t *find_kind(const json_t *records, const char *kind)
{
	json_t *record;
	size_t i;

	json_array_foreach(records, i,
			   record) if (record_is(record, "kind") &&
				       !strcmp(record_text(record, "kind"), kind)) return record;
	return NULL;
}

/* Is a word one of "a,b,c"? */
static bool is_listed(const json_t *kind, const char *list, const char *key, size_t length)
{
	const char *at = json_string_value(json_object_get(kind, list));

	for (; at && *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
		if (strcspn(at, ",") == length && !strncmp(at, key, length))
			return true;
	return false;
}

static const char *keys_of(const json_t *kind, const char *list)
{
	const char *keys = json_string_value(json_object_get(kind, list));

	return keys ? keys : "";
}

static bool parse_value(const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, strncmp(text, "0x", 2) ? 10 : 16);
	return *text >= '0' && *text <= '9' && !*end && !errno;
}

static bool check_pair(const json_t *kind, const char *word, int64_t *rank,
		       const struct complaint *c)
{
	size_t length = strcspn(word, "=");
	const char *name = record_text(kind, "kind");
	bool is_rank = length == 4 && !strncmp(word, "rank", 4);
	uint64_t value;

	if (!word[length])
		return refuse(c, "'%s' is not KEY=NUMBER", word);
	if (!is_rank && !is_listed(kind, "needs", word, length) &&
	    !is_listed(kind, "takes", word, length))
		return refuse(c, "%s has no '%.*s'; it needs rank %s and takes %s", name,
			      (int)length, word, keys_of(kind, "needs"), keys_of(kind, "takes"));
	if (!parse_value(word + length + 1, &value))
		return refuse(c, "'%s' is no number, decimal or 0x, of 64 bits", word + length + 1);
	if (is_rank && value > 31)
		return refuse(c, "rank must be 0 to 31, not %llu", (unsigned long long)value);
	if (is_rank)
		*rank = (int64_t)value;
	return true;
}

/* Each key that it needs is in the text. */
static bool check_needs(const json_t *kind, const char *text, const struct complaint *c)
{
	const char *needs = keys_of(kind, "needs");
	char key[32], pattern[40];

	for (; *needs; needs += strcspn(needs, ",") + (needs[strcspn(needs, ",")] == ',')) {
		snprintf(key, sizeof(key), "%.*s", (int)strcspn(needs, ","), needs);
		snprintf(pattern, sizeof(pattern), " %s=", key);
		if (!strstr(text, pattern))
			return refuse(c, "%s needs %s=NUMBER", record_text(kind, "kind"), key);
	}
	return true;
}

bool inject_check(const json_t *records, const char *text, int64_t *rank, char *why,
		  size_t why_size)
{
	struct complaint c = { why, why_size };
	char copy[TEXT_MAX], list[512], *word, *rest;
	const json_t *kind;

	*rank = -1;
	if (strlen(text) >= sizeof(copy))
		return refuse(&c, "it is above %d characters", TEXT_MAX - 1);
	strcpy(copy, text);
	word = strtok_r(copy, " \t\n", &rest);
	list_kinds(records, list, sizeof(list));
	if (!word)
		return refuse(&c, "there is no kind of fault; there are %s", list);
	kind = find_kind(records, word);
	if (!kind)
		return refuse(&c, "'%s' is no kind of fault; there are %s", word, list);
	while ((word = strtok_r(NULL, " \t\n", &rest)) != NULL)
		if (!check_pair(kind, word, rank, &c))
			return false;
	return check_needs(kind, text, &c);
}
