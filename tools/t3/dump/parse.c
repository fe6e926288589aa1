// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dump/dump.h"

#define MAGIC	 "T3 devcoredump "
#define LINE_MAX 512

/* The words of a line. Those in braces are values: {name:s} is a word and not a number. */
struct dump_line {
	const char *form;
	const char *list;  /* key in its owner; NULL: an object that the owner has once */
	const char *owner; /* list whose last object owns it; NULL: the dump */
};

static const struct dump_line lines[] = {
	{ "time {time:s}", NULL, NULL },
	{ "driver {driver:s}", NULL, NULL },
	{ "device {name:s} rank {rank} ranks {ranks} version {version} resets {resets}", NULL,
	  NULL },
	{ "register {name:s} {offset} {value}", "registers", NULL },
	{ "counter {index} {value}", "counters", NULL },
	{ "queue {queue} priority {priority} state {state} head {head} tail {tail} "
	  "head {driver_head} tail {driver_tail}",
	  "queues", NULL },
	{ "job {job} done {done} of {commands}", "jobs", "queues" },
	{ "step {opcode} op {op} dtype {dtype} rows {rows} row_bytes {row_bytes} src {src} "
	  "dst {dst}",
	  "steps", "queues" },
	{ "space {space} state {state} epoch {epoch} generation {generation} "
	  "in_flight {in_flight} state {event_state} epoch {event_epoch} aperture {aperture} "
	  "size {size}",
	  "spaces", NULL },
	{ "fault {fault} detail {detail} segment {segment} tile {tile} offset {offset} "
	  "epoch {epoch} src_rank {src_rank}",
	  "faults", "spaces" },
	{ "segment {segment} kind {kind} word {word} tiles {tiles} tracked {tracked}", "segments",
	  "spaces" },
	{ "tile {tile} count {count} flags {flags}", "open_tiles", "spaces" },
};

struct parser {
	json_t *dump;
	unsigned int number; /* of the line */
	char *why;
	size_t why_size;
};

__attribute__((format(printf, 2, 3))) static bool fail(struct parser *p, const char *format, ...)
{
	char text[160];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(p->why, p->why_size, "line %u: %s", p->number, text);
	return false;
}

/* Take the next word of *text. False: there is none. */
static bool next_word(const char **text, char *word, size_t size)
{
	size_t length;

	*text += strspn(*text, " ");
	length = strcspn(*text, " ");
	if (!length || length >= size)
		return false;
	memcpy(word, *text, length);
	word[length] = '\0';
	*text += length;
	return true;
}

/* A number above JSON's integers stays text. */
static json_t *parse_value(const char *word)
{
	unsigned long long number = 0;
	long long below = 0;
	char *end;

	errno = 0;
	if (*word == '-')
		below = strtoll(word, &end, 0);
	else
		number = strtoull(word, &end, 0);
	if (end == word || *end || errno || *word == '+')
		return NULL;
	if (*word == '-')
		return json_integer(below);
	return number > INT64_MAX ? json_string(word) : json_integer((json_int_t)number);
}

/* Match the words of the line with the form. Keep words after those that this version knows. */
static json_t *match(struct parser *p, const char *form, const char *line)
{
	char expected[64], word[LINE_MAX];
	json_t *record = json_object(), *value;
	bool good = true;
	char *type;

	while (good && next_word(&form, expected, sizeof(expected))) {
		if (!next_word(&line, word, sizeof(word))) {
			good = fail(p, "it ends before '%s'", expected);
			continue;
		}
		if (*expected != '{') {
			if (strcmp(expected, word) != 0)
				good = fail(p, "'%.40s' where '%s' should be", word, expected);
			continue;
		}
		expected[strlen(expected) - 1] = '\0';
		type = strchr(expected, ':');
		if (type)
			*type = '\0';
		value = type ? json_string(word) : parse_value(word);
		if (!value)
			good = fail(p, "'%.40s' is no number for '%s'", word, expected + 1);
		else if (json_object_set_new(record, expected + 1, value))
			good = fail(p, "no memory");
	}
	line += strspn(line, " ");
	if (good && *line)
		json_object_set_new(record, "more", json_string(line));
	if (good)
		return record;
	json_decref(record);
	return NULL;
}

static json_t *last_of(json_t *list)
{
	return json_array_get(list, json_array_size(list) - 1);
}

/* Tiles follow their segment, and steps follow their job, one level deeper. */
static bool append(struct parser *p, const struct dump_line *line, json_t *record)
{
	json_t *owner = p->dump;

	if (line->owner)
		owner = last_of(json_object_get(owner, line->owner));
	if (!strcmp(line->list, "open_tiles"))
		owner = last_of(json_object_get(owner, "segments"));
	if (!strcmp(line->list, "steps"))
		owner = last_of(json_object_get(owner, "jobs"));
	if (!owner) {
		json_decref(record);
		return fail(p, "the line has no parent line before it");
	}
	if (!json_object_get(owner, line->list))
		json_object_set_new(owner, line->list, json_array());
	return !json_array_append_new(json_object_get(owner, line->list), record) ||
	       fail(p, "no memory");
}

static bool starts_with_word(const char *text, const char *form)
{
	size_t length = strcspn(form, " ");

	return !strncmp(text, form, length) && (text[length] == ' ' || !text[length]);
}

static bool parse_line(struct parser *p, const char *text)
{
	json_t *record;
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		if (!starts_with_word(text, lines[i].form))
			continue;
		record = match(p, lines[i].form, text);
		if (!record)
			return false;
		dump_explain(record);
		if (lines[i].list)
			return append(p, &lines[i], record);
		if (!strncmp(lines[i].form, "device ", 7))
			return !json_object_set_new(p->dump, "device", record);
		json_object_update(p->dump, record);
		json_decref(record);
		return true;
	}
	if (starts_with_word(text, "reason"))
		return !json_object_set_new(p->dump, "reason", json_string(text + 6 + !!text[6]));
	if (!strcmp(text, "truncated"))
		return !json_object_set_new(p->dump, "truncated", json_true());
	if (!json_object_get(p->dump, "unknown"))
		json_object_set_new(p->dump, "unknown", json_array());
	return !json_array_append_new(json_object_get(p->dump, "unknown"), json_string(text));
}

/* A line must be printable ASCII and not too long. */
static bool take_line(struct parser *p, const char *data, size_t length, char *line)
{
	size_t i;

	if (length >= LINE_MAX)
		return fail(p, "%zu bytes are too long for a line", length);
	for (i = 0; i < length; i++)
		if (data[i] < ' ' || data[i] > '~')
			return fail(p, "byte 0x%02x is no text", (unsigned char)data[i]);
	memcpy(line, data, length);
	line[length] = '\0';
	return true;
}

static bool parse_head(struct parser *p, const char *line)
{
	if (strncmp(line, MAGIC, strlen(MAGIC)) != 0)
		return fail(p, "it does not begin with '" MAGIC "1'");
	if (strcmp(line + strlen(MAGIC), "1") != 0)
		return fail(p, "format %.20s; this program knows 1", line + strlen(MAGIC));
	json_object_set_new(p->dump, "format", json_integer(1));
	return true;
}

json_t *dump_parse(const char *data, size_t size, char *why, size_t why_size)
{
	struct parser p = { .dump = json_object(), .why = why, .why_size = why_size };
	const char *end = data + size, *newline;
	char line[LINE_MAX];
	bool good = true;

	*why = '\0';
	if (!size)
		p.number = 1, good = fail(&p, "it is empty");
	for (; good && data < end; data = newline + 1) {
		newline = memchr(data, '\n', (size_t)(end - data));
		p.number++;
		if (!newline) {
			fail(&p, "it ends in the middle of this line");
			break;
		}
		good = take_line(&p, data, (size_t)(newline - data), line) &&
		       (p.number == 1 ? parse_head(&p, line) : parse_line(&p, line));
	}
	return p.dump;
}
