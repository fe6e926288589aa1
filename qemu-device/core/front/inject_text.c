/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Injections as text, for command lines and monitors: SPEC.md section 12.2. */
#include <stdio.h>

#include "front/front.h"

enum key {
	KEY_RANK,
	KEY_PEER,
	KEY_QUEUE,
	KEY_NTH,
	KEY_COUNT,
	KEY_ADDRESS,
	KEY_VALUE,
	KEY_SEED,
	KEY_TOTAL
};

#define BIT_OF(key) (1u << KEY_##key)
#define LINK	    (BIT_OF(RANK) | BIT_OF(PEER))
#define COUNTED	    (BIT_OF(NTH) | BIT_OF(COUNT))
#define MEMORY	    (BIT_OF(RANK) | BIT_OF(ADDRESS) | BIT_OF(VALUE))
#define QUEUE	    (BIT_OF(RANK) | BIT_OF(QUEUE))

static const char *const key_names[KEY_TOTAL] = { "rank",  "peer",    "queue", "nth",
						  "count", "address", "value", "seed" };

struct verb {
	uint32_t needs, takes; /* keys */
};

static const struct verb verbs[T3_INJECT_KIND_COUNT] = {
	[T3_INJECT_DROP] = { LINK, COUNTED },
	[T3_INJECT_DUPLICATE] = { LINK, COUNTED },
	[T3_INJECT_CORRUPT] = { LINK, COUNTED },
	[T3_INJECT_REORDER] = { LINK, COUNTED },
	[T3_INJECT_DELAY] = { LINK | BIT_OF(VALUE), COUNTED },
	[T3_INJECT_DROP_RESPONSE] = { LINK, COUNTED },
	[T3_INJECT_LINK_DOWN] = { LINK, 0 },
	[T3_INJECT_LINK_UP] = { LINK, 0 },
	[T3_INJECT_LINK_RANDOM] = { LINK | BIT_OF(NTH), BIT_OF(SEED) },
	[T3_INJECT_POISON] = { MEMORY, 0 },
	[T3_INJECT_UNPOISON] = { BIT_OF(RANK), BIT_OF(ADDRESS) | BIT_OF(VALUE) },
	[T3_INJECT_LOSE_IRQ] = { BIT_OF(RANK), COUNTED },
	[T3_INJECT_FAIL_DMA] = { BIT_OF(RANK), COUNTED },
	[T3_INJECT_HANG_QUEUE] = { QUEUE, 0 },
	[T3_INJECT_UNHANG_QUEUE] = { QUEUE, 0 },
};

/* The text that is left, and where to complain. */
struct parser {
	const char *at;
	char *error;
	size_t size;
};

struct word {
	const char *start;
	int length;
};

static bool is(const struct word *word, const char *name)
{
	return strlen(name) == (size_t)word->length && !memcmp(word->start, name, strlen(name));
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Up to a blank, a ';' or one of `stops`. */
static struct word next_word(struct parser *parser, char stop)
{
	struct word word;

	while (blank(*parser->at))
		parser->at++;
	word.start = parser->at;
	while (*parser->at && !blank(*parser->at) && *parser->at != ';' && *parser->at != stop)
		parser->at++;
	word.length = (int)(parser->at - word.start);
	return word;
}

/* A user's word in a message is cut to a bearable length. */
static int shown(const struct word *word)
{
	return word->length < 40 ? word->length : 40;
}

/* Adds "a, b, c" of the names that `mask` selects, or of all verbs. */
static void list_names(char *out, size_t size, uint32_t mask)
{
	size_t used = strlen(out);
	bool first = true;
	uint32_t i;

	for (i = 0; i < (mask ? KEY_TOTAL : T3_INJECT_KIND_COUNT); i++) {
		const char *name = mask ? key_names[i] : t3_name_inject(i);

		if (mask ? !(mask >> i & 1) : !i)
			continue;
		used += (size_t)snprintf(out + used, size - used, "%s%s", first ? "" : ", ", name);
		if (used >= size)
			return;
		first = false;
	}
}

static uint32_t parse_kind(struct parser *parser)
{
	struct word word = next_word(parser, ' ');
	uint32_t kind;

	for (kind = 1; kind < T3_INJECT_KIND_COUNT; kind++)
		if (is(&word, t3_name_inject(kind)))
			return kind;
	snprintf(parser->error, parser->size, "'%.*s' is no kind of fault: allowed are ",
		 shown(&word), word.start);
	list_names(parser->error, parser->size, 0);
	return 0;
}

static uint32_t digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (uint32_t)(c - '0');
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (uint32_t)((c | 0x20) - 'a') + 10;
	return T3_NONE32;
}

/* Decimal or 0x; strtoull() would also take signs, blanks and octal numbers. */
static bool parse_number(const struct word *word, uint64_t *value)
{
	bool hex = word->length > 2 && word->start[0] == '0' && word->start[1] == 'x';
	uint32_t base = hex ? 16 : 10;
	int i;

	*value = 0;
	for (i = hex ? 2 : 0; i < word->length; i++) {
		uint32_t digit = digit_of(word->start[i]);

		if (digit >= base || *value > (T3_NONE64 - digit) / base)
			return false;
		*value = *value * base + digit;
	}
	return word->length > 0;
}

static bool set_field(struct t3_cmd_inject *inject, uint32_t key, uint64_t value)
{
	uint32_t *narrow[KEY_TOTAL] = {
		[KEY_RANK] = &inject->rank,   [KEY_PEER] = &inject->peer,
		[KEY_QUEUE] = &inject->peer,  [KEY_NTH] = &inject->nth,
		[KEY_COUNT] = &inject->count,
	};

	if (key == KEY_ADDRESS)
		inject->address = value;
	else if (!narrow[key])
		inject->value = value;
	else if (value > 0xffffffffu)
		return false;
	else
		*narrow[key] = (uint32_t)value;
	return true;
}

/* One KEY=VALUE; `given` collects the keys. */
static bool parse_pair(struct parser *parser, struct t3_cmd_inject *inject, uint32_t *given)
{
	const struct verb *verb = &verbs[inject->kind];
	struct word key = next_word(parser, '='), number;
	uint64_t value;
	uint32_t i;

	for (i = 0; i < KEY_TOTAL && !is(&key, key_names[i]); i++)
		;
	if (i == KEY_TOTAL || !((verb->needs | verb->takes) >> i & 1)) {
		snprintf(parser->error, parser->size, "%s takes no '%.*s': it takes ",
			 t3_name_inject(inject->kind), shown(&key), key.start);
		list_names(parser->error, parser->size, verb->needs | verb->takes);
		return false;
	}
	if (*given >> i & 1) {
		snprintf(parser->error, parser->size, "%s: %s is given twice",
			 t3_name_inject(inject->kind), key_names[i]);
		return false;
	}
	*given |= 1u << i;
	if (*parser->at == '=')
		parser->at++;
	number = (struct word){ parser->at, 0 };
	if (!blank(*parser->at))
		number = next_word(parser, ' ');
	if (parse_number(&number, &value) && set_field(inject, i, value))
		return true;
	snprintf(parser->error, parser->size,
		 "%s: %s='%.*s' is not allowed: it takes a number, decimal or 0x, of %d bits",
		 t3_name_inject(inject->kind), key_names[i], shown(&number), number.start,
		 i >= KEY_ADDRESS ? 64 : 32);
	return false;
}

static bool complete(struct parser *parser, struct t3_cmd_inject *inject, uint32_t given)
{
	const struct verb *verb = &verbs[inject->kind];
	uint32_t missing = verb->needs & ~given;

	if (missing) {
		snprintf(parser->error, parser->size, "%s needs ", t3_name_inject(inject->kind));
		list_names(parser->error, parser->size, missing);
		return false;
	}
	if ((verb->takes & BIT_OF(NTH)) && !(given & BIT_OF(NTH)))
		inject->nth = 1;
	if ((verb->takes & BIT_OF(COUNT)) && !(given & BIT_OF(COUNT)))
		inject->count = 1;
	return true;
}

static void skip_empty(struct parser *parser)
{
	while (blank(*parser->at) || *parser->at == ';')
		parser->at++;
}

enum t3_inject_found t3_inject_parse(const char **text, struct t3_cmd_inject *inject, char *error,
				     size_t size)
{
	struct parser parser = { *text, error, size };
	uint32_t given = 0;

	memset(inject, 0, sizeof(*inject));
	skip_empty(&parser);
	*text = parser.at;
	if (!*parser.at)
		return T3_INJECT_FOUND_NONE;
	inject->kind = parse_kind(&parser);
	if (!inject->kind)
		return T3_INJECT_FOUND_WRONG;
	for (;;) {
		while (blank(*parser.at))
			parser.at++;
		if (!*parser.at || *parser.at == ';')
			break;
		if (!parse_pair(&parser, inject, &given))
			return T3_INJECT_FOUND_WRONG;
	}
	*text = parser.at;
	return complete(&parser, inject, given) ? T3_INJECT_FOUND_ONE : T3_INJECT_FOUND_WRONG;
}

void t3_inject_explain(const struct t3_cmd_inject *inject, uint32_t status, char *error,
		       size_t size)
{
	const char *name = inject->kind && inject->kind < T3_INJECT_KIND_COUNT
				   ? t3_name_inject(inject->kind)
				   : "fault";

	switch (status) {
	case T3_ADMIN_NO_ROUTE:
		snprintf(error, size, "%s: there is no link from rank=%u to peer=%u", name,
			 inject->rank, inject->peer);
		break;
	case T3_ADMIN_BAD_RANGE:
		snprintf(error, size, "%s: address and value lead beyond the device's memory",
			 name);
		break;
	case T3_ADMIN_NO_RESOURCE:
		snprintf(error, size, "%s: a rank has at most %u poisoned ranges", name,
			 T3_POISON_RANGES);
		break;
	case T3_ADMIN_BAD_QUEUE:
		snprintf(error, size, "%s: rank=%u has no queue=%u", name, inject->rank,
			 inject->peer);
		break;
	default:
		snprintf(error, size,
			 "%s: a value is not allowed: rank below the fabric's ranks, count from 1, "
			 "address and value multiples of %u, delay 1 to 1000000000 ns, "
			 "link-random nth 0 to 65535",
			 name, T3_POISON_GRANULE);
		break;
	}
}
