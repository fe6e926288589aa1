// SPDX-License-Identifier: MIT
/* Draws the experts of tokens, or reads how many tokens each expert has. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/routing.h"
#include "sim/workload.h"

#define MAX_ROWS    ((uint64_t)1 << 24) /* of all ranks */
#define MAX_CELLS   ((uint64_t)1 << 24) /* ranks x experts */
#define MAX_TOKENS  ((uint64_t)1 << 40) /* of an expert, in a file */
#define WEIGHT_BITS 40
#define ATTEMPTS    8 /* at an expert that the token does not have, before they are listed */

__attribute__((format(printf, 2, 3))) static bool refuse(char *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, SIM_WHY_SIZE, format, args);
	va_end(args);
	return false;
}

/* A decimal number with at most three decimals, in thousandths. */
static bool parse_skew(const char *text, uint64_t *skew)
{
	uint64_t value = 0, scale = SIM_SKEW_ONE;
	const char *at = text;

	for (; isdigit((unsigned char)*at) && at - text < 4; at++)
		value = value * 10 + (uint64_t)(*at - '0');
	if (at == text)
		return false;
	value *= SIM_SKEW_ONE;
	if (*at == '.' && isdigit((unsigned char)at[1]))
		for (at++; isdigit((unsigned char)*at) && scale > 1; at++) {
			scale /= 10;
			value += (uint64_t)(*at - '0') * scale;
		}
	*skew = value;
	return !*at && value <= SIM_SKEW_MAX;
}

bool sim_routing_parse(const char *text, struct sim_routing_source *source)
{
	static const char skewed[] = "skewed=";

	if (!strcmp(text, "uniform")) {
		source->kind = SIM_ROUTING_UNIFORM;
		return true;
	}
	if (!strncmp(text, skewed, strlen(skewed))) {
		source->kind = SIM_ROUTING_SKEWED;
		return parse_skew(text + strlen(skewed), &source->skew);
	}
	source->kind = SIM_ROUTING_FILE;
	source->path = text;
	return strpbrk(text, "./");
}

/* ---------------------------------------------------------------------- draws */

/* SplitMix64, whose state is a counter. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* From 0 to bound - 1. What the remainder favours is less than bound / 2^64. */
static uint64_t below(uint64_t *state, uint64_t bound)
{
	return next_random(state) % bound;
}

struct lot {
	const struct sim_routing *r;
	uint64_t *weight, *until; /* [expert]; `until`: the sum up to it */
	uint64_t *taken;	  /* [expert]: the number of the last token that has it, from 1 */
	uint64_t state;
};

static void weigh(struct lot *lot, const struct sim_routing_source *source)
{
	double skew = source->kind == SIM_ROUTING_SKEWED ? (double)source->skew / SIM_SKEW_ONE : 0;
	uint64_t i, sum = 0, other, kept;

	for (i = 0; i < lot->r->experts; i++)
		lot->weight[i] =
			1 + (uint64_t)llround(ldexp(pow((double)(i + 1), -skew), WEIGHT_BITS));
	for (i = lot->r->experts - 1; i > 0; i--) {
		other = below(&lot->state, i + 1);
		kept = lot->weight[i];
		lot->weight[i] = lot->weight[other];
		lot->weight[other] = kept;
	}
	for (i = 0; i < lot->r->experts; i++)
		lot->until[i] = sum += lot->weight[i];
}

/* The first expert whose sum is beyond the number. */
static uint64_t find(const struct lot *lot, uint64_t number)
{
	uint64_t low = 0, high = lot->r->experts - 1, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (lot->until[middle] > number)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* An expert that the token does not have, each as likely as its weight says. `had`: theirs. */
static uint64_t draw_expert(struct lot *lot, uint64_t token, uint64_t had)
{
	uint64_t all = lot->until[lot->r->experts - 1], number, i;
	int attempt;

	for (attempt = 0; attempt < ATTEMPTS; attempt++) {
		i = find(lot, below(&lot->state, all));
		if (lot->taken[i] != token)
			return i;
	}
	number = below(&lot->state, all - had);
	for (i = 0; lot->taken[i] == token || number >= lot->weight[i]; i++)
		number -= lot->taken[i] == token ? 0 : lot->weight[i];
	return i;
}

static void draw_tokens(struct lot *lot, uint32_t *rows, uint64_t first)
{
	uint64_t token, k, had, expert;

	for (token = first; token < first + lot->r->tokens; token++) {
		had = 0;
		for (k = 0; k < lot->r->top_k; k++) {
			expert = draw_expert(lot, token, had);
			lot->taken[expert] = token;
			had += lot->weight[expert];
			rows[expert]++;
		}
	}
}

static bool draw(const struct sim_routing_source *source, struct sim_routing *r, char *why)
{
	uint64_t *words = calloc(3 * r->experts, sizeof(*words)), rank;
	struct lot lot = { r, words, words + r->experts, words + 2 * r->experts, source->seed };

	if (!words)
		return refuse(why, "there is not enough memory for the routing");
	weigh(&lot, source);
	for (rank = 0; rank < r->ranks; rank++)
		draw_tokens(&lot, r->rows + rank * r->experts, 1 + rank * r->tokens);
	free(words);
	return true;
}

/* ----------------------------------------------------------------------- files */

/* Reads a number after blanks and comments. 1: read; 0: the file ends; -1: no number of a file. */
static int read_number(FILE *file, uint64_t *line, uint64_t *number)
{
	bool comment = false;
	int c;

	while ((c = getc(file)) != EOF && (comment || isspace(c) || c == '#')) {
		comment = c == '#' || (comment && c != '\n');
		*line += c == '\n';
	}
	if (c == EOF)
		return 0;
	for (*number = 0; isdigit(c); c = getc(file)) {
		*number = *number * 10 + (uint64_t)(c - '0');
		if (*number > MAX_TOKENS)
			return -1;
	}
	if (c != EOF && !isspace(c))
		return -1;
	*line += c == '\n';
	return 1;
}

static bool read_file(FILE *file, const char *path, const struct sim_routing *r, uint64_t *tokens,
		      char *why)
{
	uint64_t line = 1, count = 0, number;
	int got;

	while ((got = read_number(file, &line, &number)) > 0) {
		if (count == r->experts)
			return refuse(why,
				      "%s, line %" PRIu64 ": there are %" PRIu64
				      " experts, and this is a number more",
				      path, line, r->experts);
		tokens[count++] = number;
	}
	if (got < 0)
		return refuse(why,
			      "%s, line %" PRIu64
			      ": tokens of an expert are a number of at most %" PRIu64,
			      path, line, MAX_TOKENS);
	if (ferror(file))
		return refuse(why, "%s cannot be read", path);
	if (count < r->experts)
		return refuse(why, "%s has %" PRIu64 " numbers, and there are %" PRIu64 " experts",
			      path, count, r->experts);
	return true;
}

/*
 * Of a rank's rows, each expert gets its share of the file, rounded down, and one more where the sum
 * up to it rounds up. The ranks begin at different experts, so that these are not the same.
 */
static void share_out(const struct sim_routing *r, const uint64_t *tokens, uint64_t all)
{
	uint64_t rank, i, most = r->tokens * r->top_k;

	for (rank = 0; rank < r->ranks; rank++) {
		uint64_t first = rank * r->experts / r->ranks, sum = 0, given = 0, due;

		for (i = 0; i < r->experts; i++) {
			uint64_t expert = (first + i) % r->experts;

			sum += tokens[expert];
			due = (uint64_t)((unsigned __int128)sum * most / all);
			r->rows[rank * r->experts + expert] = (uint32_t)(due - given);
			given = due;
		}
	}
}

static bool follow(const struct sim_routing_source *source, struct sim_routing *r, char *why)
{
	uint64_t *tokens = calloc(r->experts, sizeof(*tokens)), all = 0, i;
	FILE *file = fopen(source->path, "r");
	bool good = tokens && file;

	if (!file)
		refuse(why, "%s cannot be opened: %s", source->path, strerror(errno));
	else if (!tokens)
		refuse(why, "there is not enough memory for the routing");
	good = good && read_file(file, source->path, r, tokens, why);
	if (file)
		fclose(file);
	for (i = 0; good && i < r->experts; i++)
		all += tokens[i];
	for (i = 0; good && i < r->experts; i++)
		if (!all || (unsigned __int128)tokens[i] * r->top_k > all)
			good = refuse(
				why,
				"%s: expert %" PRIu64 " has %" PRIu64 " of %" PRIu64
				", and a token goes to it at most once: at most 1 of %" PRIu64,
				source->path, i, tokens[i], all, r->top_k);
	if (good)
		share_out(r, tokens, all);
	free(tokens);
	return good;
}

bool sim_routing_draw(const struct sim_routing_source *source, struct sim_routing *r, char *why)
{
	bool good;

	if (r->top_k > r->experts)
		return refuse(why, "a token has %" PRIu64 " experts, and there are %" PRIu64,
			      r->top_k, r->experts);
	if (r->experts > MAX_CELLS / r->ranks || r->tokens > MAX_ROWS / r->top_k / r->ranks)
		return refuse(why,
			      "--routing takes at most %" PRIu64
			      " rows of all ranks, and as many ranks x experts",
			      MAX_ROWS);
	r->rows = calloc(r->ranks * r->experts, sizeof(r->rows[0]));
	if (!r->rows)
		return refuse(why, "there is not enough memory for the routing");
	good = source->kind == SIM_ROUTING_FILE ? follow(source, r, why) : draw(source, r, why);
	if (!good)
		sim_routing_free(r);
	return good;
}

void sim_routing_free(struct sim_routing *r)
{
	free(r->rows);
	r->rows = NULL;
}

struct sim_load sim_routing_load(const struct sim_routing *r)
{
	struct sim_load load = { .mean_rank = r->tokens * r->top_k, .least_rank = UINT64_MAX };
	uint64_t each = r->experts / r->ranks, rank, expert, source, rows, all;

	for (rank = 0; rank < r->ranks; rank++) {
		all = 0;
		for (expert = rank * each; expert < (rank + 1) * each; expert++) {
			rows = 0;
			for (source = 0; source < r->ranks; source++)
				rows += r->rows[source * r->experts + expert];
			all += rows;
			if (rows > load.most_expert)
				load.most_expert = rows;
		}
		if (all < load.least_rank)
			load.least_rank = all;
		if (all > load.most_rank) {
			load.most_rank = all;
			load.fullest = rank;
		}
	}
	return load;
}
