/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Injections as text, of command lines, monitors and guests: SPEC.md section 12.2. */
#include <stdio.h>

#include "front/front.h"

#define BIT_OF(key) (1u << T3_INJECT_KEY_##key)

/* ------------------------------------------------------------------- parser */

/* The text that is left, and where to complain. */
struct parser {
	const char *at;
	uint32_t rank; /* where no rank is named; T3_NONE32: it must be */
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

/* From here up to a blank, a ';' or `stop`: at one of these the word is empty. */
static struct word next_word(struct parser *parser, char stop)
{
	struct word word = { parser->at, 0 };

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

/* A list grows by a name. What does not fit is cut off. */
static void add_name(char *out, size_t size, const char *name, bool first)
{
	size_t used = strlen(out);

	snprintf(out + used, size - used, "%s%s", first ? "" : ", ", name);
}

/* Adds "a, b, c" of the keys that `mask` selects. */
static void list_keys(char *out, size_t size, uint32_t mask)
{
	bool first = true;
	uint32_t i;

	for (i = 0; i < T3_INJECT_KEYS; i++) {
		if (!(mask >> i & 1))
			continue;
		add_name(out, size, t3_inject_key_name(i), first);
		first = false;
	}
}

/* A parser with a rank of its own is a guest's. It harms its own device only. */
static uint32_t next_kind(const struct parser *parser, uint32_t kind)
{
	return t3_inject_next_kind(kind, parser->rank == T3_NONE32);
}

static uint32_t parse_kind(struct parser *parser)
{
	struct word word = next_word(parser, ' ');
	uint32_t kind;

	for (kind = next_kind(parser, 0); kind; kind = next_kind(parser, kind))
		if (is(&word, t3_inject_word(kind)))
			return kind;
	snprintf(parser->error, parser->size, "'%.*s' is no kind of fault: allowed are ",
		 shown(&word), word.start);
	for (kind = next_kind(parser, 0); kind; kind = next_kind(parser, kind))
		add_name(parser->error, parser->size, t3_inject_word(kind), kind == 1);
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
	uint32_t *narrow[T3_INJECT_KEYS] = {
		[T3_INJECT_KEY_RANK] = &inject->rank,	[T3_INJECT_KEY_PEER] = &inject->peer,
		[T3_INJECT_KEY_QUEUE] = &inject->peer,	[T3_INJECT_KEY_NTH] = &inject->nth,
		[T3_INJECT_KEY_COUNT] = &inject->count, [T3_INJECT_KEY_NODE] = &inject->peer,
		[T3_INJECT_KEY_CUT] = &inject->nth,	[T3_INJECT_KEY_STALL] = &inject->count,
	};

	if (key == T3_INJECT_KEY_ADDRESS)
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
	const struct t3_inject_rule *rule = t3_inject_rule(inject->kind);
	struct word key = next_word(parser, '='), number;
	uint64_t value;
	uint32_t i;

	for (i = 0; i < T3_INJECT_KEYS && !is(&key, t3_inject_key_name(i)); i++)
		;
	if (i == T3_INJECT_KEYS || !((rule->needs | rule->takes) >> i & 1)) {
		snprintf(parser->error, parser->size, "%s takes no '%.*s': it takes ",
			 t3_inject_word(inject->kind), shown(&key), key.start);
		list_keys(parser->error, parser->size, rule->needs | rule->takes);
		return false;
	}
	if (*given >> i & 1) {
		snprintf(parser->error, parser->size, "%s: %s is given twice",
			 t3_inject_word(inject->kind), t3_inject_key_name(i));
		return false;
	}
	*given |= 1u << i;
	if (*parser->at == '=')
		parser->at++;
	number = next_word(parser, ' ');
	if (parse_number(&number, &value) && set_field(inject, i, value))
		return true;
	snprintf(parser->error, parser->size,
		 "%s: %s='%.*s' is not allowed: it takes a number, decimal or 0x, of %d bits",
		 t3_inject_word(inject->kind), t3_inject_key_name(i), shown(&number), number.start,
		 i >= T3_INJECT_KEY_ADDRESS && i <= T3_INJECT_KEY_MS ? 64 : 32);
	return false;
}

static bool complete(struct parser *parser, struct t3_cmd_inject *inject, uint32_t given)
{
	const struct t3_inject_rule *rule = t3_inject_rule(inject->kind);
	uint32_t missing = rule->needs & ~given;

	if (parser->rank != T3_NONE32)
		missing &= ~BIT_OF(RANK);
	if (missing) {
		snprintf(parser->error, parser->size, "%s needs ", t3_inject_word(inject->kind));
		list_keys(parser->error, parser->size, missing);
		return false;
	}
	if ((rule->takes & BIT_OF(NTH)) && !(given & BIT_OF(NTH)))
		inject->nth = 1;
	if ((rule->takes & BIT_OF(COUNT)) && !(given & BIT_OF(COUNT)))
		inject->count = 1;
	return true;
}

static void skip_empty(struct parser *parser)
{
	while (blank(*parser->at) || *parser->at == ';')
		parser->at++;
}

static enum t3_inject_found parse(struct parser *parser, struct t3_cmd_inject *inject)
{
	uint32_t given = 0;

	*inject = (struct t3_cmd_inject){ .rank = parser->rank == T3_NONE32 ? 0 : parser->rank };
	skip_empty(parser);
	if (!*parser->at)
		return T3_INJECT_FOUND_NONE;
	inject->kind = parse_kind(parser);
	if (!inject->kind)
		return T3_INJECT_FOUND_WRONG;
	for (;;) {
		while (blank(*parser->at))
			parser->at++;
		if (!*parser->at || *parser->at == ';')
			break;
		if (!parse_pair(parser, inject, &given))
			return T3_INJECT_FOUND_WRONG;
	}
	return complete(parser, inject, given) ? T3_INJECT_FOUND_ONE : T3_INJECT_FOUND_WRONG;
}

enum t3_inject_found t3_inject_parse(const char **text, struct t3_cmd_inject *inject, char *error,
				     size_t size)
{
	struct parser parser = { *text, T3_NONE32, error, size };
	enum t3_inject_found found = parse(&parser, inject);

	*text = parser.at;
	return found;
}

void t3_inject_explain(const struct t3_cmd_inject *inject, uint32_t status, char *error,
		       size_t size)
{
	const char *name = t3_inject_rule(inject->kind) ? t3_inject_word(inject->kind) : "fault";

	switch (status) {
	case T3_ADMIN_NO_ROUTE:
		if (inject->kind == T3_INJECT_PORT_RESET) {
			snprintf(error, size, "%s: the fabric has no switch", name);
			break;
		}
		if (inject->kind >= T3_INJECT_NODE_CUT) {
			snprintf(error, size, "%s: there is no connection to node=%u", name,
				 inject->peer);
			break;
		}
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
			 "link-random nth, node-random cut and stall 0 to 65535, node-cut ms 0 and "
			 "node-stall ms 1 to %u",
			 name, T3_POISON_GRANULE, T3_NODE_FAULT_MOST_MS);
		break;
	}
}

/* ------------------------------------------------------------ the guest's command */

/* The next one of the own rank: a guest harms its own device only. */
static enum t3_inject_found parse_own(struct parser *parser, struct t3_cmd_inject *inject)
{
	enum t3_inject_found found = parse(parser, inject);

	if (found != T3_INJECT_FOUND_ONE || inject->rank == parser->rank)
		return found;
	snprintf(parser->error, parser->size, "%s: rank=%u is another device's; this one's is %u",
		 t3_inject_word(inject->kind), inject->rank, parser->rank);
	return T3_INJECT_FOUND_WRONG;
}

/* Parses the whole text first, so that a mistake in it injects nothing. */
static uint32_t inject_all(struct t3_dev *dev, const char *text, char *error, size_t size)
{
	struct parser check = { text, dev->rank, error, size }, parser = check;
	enum t3_inject_found found;
	struct t3_cmd_inject what;
	uint32_t status = T3_ADMIN_OK;

	do
		found = parse_own(&check, &what);
	while (found == T3_INJECT_FOUND_ONE);
	if (found == T3_INJECT_FOUND_WRONG)
		return T3_ADMIN_BAD_VALUE;
	while (status == T3_ADMIN_OK && parse_own(&parser, &what) == T3_INJECT_FOUND_ONE)
		status = t3_inject(dev->fabric, &what);
	if (status != T3_ADMIN_OK)
		t3_inject_explain(&what, status, error, size);
	return status;
}

/* "a=b,c" of the keys, if there are any; the rank is a guest's own. */
static void describe_keys(char *out, size_t size, const char *title, uint32_t keys)
{
	const char *between = "=";
	uint32_t i;

	keys &= ~BIT_OF(RANK);
	if (!keys)
		return;
	snprintf(out + strlen(out), size - strlen(out), " %s", title);
	for (i = 0; i < T3_INJECT_KEYS; i++) {
		if (!(keys >> i & 1))
			continue;
		snprintf(out + strlen(out), size - strlen(out), "%s%s", between,
			 t3_inject_key_name(i));
		between = ",";
	}
}

static uint32_t describe(uint32_t kind, char *out, size_t size)
{
	if (kind >= T3_INJECT_KIND_COUNT)
		return T3_ADMIN_BAD_INDEX;
	snprintf(out, size, "%s", t3_name_inject(kind));
	describe_keys(out, size, "needs", t3_inject_rule(kind)->needs);
	describe_keys(out, size, "takes", t3_inject_rule(kind)->takes);
	return T3_ADMIN_OK;
}

/* The answer takes the place of the text, so that is copied first. */
uint32_t t3_inject_text(struct t3_dev *dev, struct t3_cmd_inject_text *cmd)
{
	char *answer = (char *)cmd->text, text[T3_INJECT_TEXT];

	if (cmd->mbz || !dev->fabric)
		return T3_ADMIN_BAD_VALUE;
	memcpy(text, cmd->text, sizeof(text));
	if (!cmd->kind && !memchr(text, 0, sizeof(text)))
		return T3_ADMIN_BAD_VALUE;
	memset(cmd->text, 0, sizeof(cmd->text));
	return cmd->kind ? describe(cmd->kind, answer, sizeof(cmd->text))
			 : inject_all(dev, text, answer, sizeof(cmd->text));
}
