// SPDX-License-Identifier: MIT
/* Reads model files. People write them, so each mistake is reported with its line. */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/model_file.h"

#define LINE_SIZE     512u
#define MAX_TP	      8u
#define MAX_WORKLOADS 4096u
#define MAX_LAYERS    10000u

enum section { NO_SECTION, MODEL, MACHINE };

struct model {
	struct sim_workload workload;
	uint64_t tp[MAX_TP];
	uint32_t tps, sublayers;
	enum sim_sublayer sublayer[SIM_SUBLAYERS];
	bool has_hidden, has_tokens, has_dtype, has_collective, has_nodes, has_depth;
	bool has_layers, has_heads, has_sequence;
	unsigned int line; /* of its name */
};

struct parser {
	struct sim_models *models;
	struct sim_machine *machine;
	struct t3_timed_params in_file; /* 1: the file has set it */
	bool has_machine;
	bool only_machine; /* a machine file */
	struct model model;
	enum section section;
	unsigned int line; /* 0: the error concerns the whole file */
	char *why;
};

/* Show the file's text without control characters, which the terminal would obey. */
void sim_escape(char *to, size_t size, const char *from)
{
	for (; *from && size > sizeof("\\x00"); from++) {
		int used = *from >= ' ' && *from <= '~'
				   ? snprintf(to, size, "%c", *from)
				   : snprintf(to, size, "\\x%02x", (unsigned char)*from);

		to += used;
		size -= (size_t)used;
	}
	*to = '\0';
}

__attribute__((format(printf, 2, 3))) static bool refuse(const struct parser *p, const char *format,
							 ...)
{
	char text[SIM_WHY_SIZE];
	int used = p->line ? snprintf(p->why, SIM_WHY_SIZE, "line %u: ", p->line) : 0;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	sim_escape(p->why + used, SIM_WHY_SIZE - (size_t)used, text);
	return false;
}

/* -------------------------------------------------------------------- values */

bool sim_number(const char *text, uint64_t *value)
{
	uint64_t number = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		uint64_t digit = (uint64_t)(*text - '0');

		if (*text < '0' || *text > '9' || number > (UINT64_MAX - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*value = number;
	return true;
}

void sim_machine_init(struct sim_machine *machine)
{
	*machine = (struct sim_machine){ 0 };
	t3_timed_params_default(&machine->params);
}

/* Return the parameter and its value. NULL: `why`. */
static const struct t3_timed_param *read_param(const char *name, const char *value,
					       uint64_t *number, char *why)
{
	const struct t3_timed_param *param = t3_timed_param_find(name);

	if (!param) {
		snprintf(why, SIM_WHY_SIZE, "there is no parameter '%.64s'", name);
		return NULL;
	}
	if (!sim_number(value, number) || *number < param->min || *number > param->max) {
		snprintf(why, SIM_WHY_SIZE, "%s is '%.64s' and must be %" PRIu64 " to %" PRIu64,
			 name, value, param->min, param->max);
		return NULL;
	}
	return param;
}

static void give(struct sim_machine *machine, const struct t3_timed_param *param, uint64_t number)
{
	t3_timed_param_set(&machine->params, param, number);
	t3_timed_param_set(&machine->given, param, 1);
}

bool sim_param_set(struct sim_machine *machine, const char *name, const char *value, char *why)
{
	uint64_t number;
	const struct t3_timed_param *param = read_param(name, value, &number, why);

	if (param)
		give(machine, param, number);
	return param;
}

/* Take the next word of `text`, which it cuts. NULL at the end. */
static char *word(char **text)
{
	return strtok_r(NULL, " \t", text);
}

/* -------------------------------------------------------------------- models */

static bool add(struct parser *p, const struct sim_workload *workload)
{
	struct sim_models *models = p->models;
	struct sim_workload *grown;

	if (models->count == MAX_WORKLOADS)
		return refuse(p, "there are more than %u workloads", MAX_WORKLOADS);
	grown = realloc(models->workload, (models->count + 1) * sizeof(*grown));
	if (!grown)
		return refuse(p, "no memory for the workloads");
	models->workload = grown;
	grown[models->count++] = *workload;
	return true;
}

/* Return the name of a required key that is missing. NULL: all are there. */
static const char *missing(const struct model *m)
{
	if (!m->has_hidden)
		return "hidden";
	if (!m->has_tokens)
		return "tokens";
	return m->tps ? NULL : "tp";
}

static bool check_iterations(const struct parser *p)
{
	const struct model *m = &p->model;
	const struct sim_workload *w = &m->workload;
	uint32_t i;

	if (!m->has_layers && !m->has_heads && !m->has_sequence)
		return true;
	if (!m->has_layers || !m->has_heads || !m->has_sequence)
		return refuse(p, "model %s needs all of layers, heads and sequence, or none",
			      w->model);
	if (m->has_depth || m->sublayers || w->collective != T3_TIMED_COLLECTIVE_ALL_REDUCE)
		return refuse(p, "model %s has layers, which take all sublayers with all-reduce",
			      w->model);
	if (w->layers > MAX_LAYERS)
		return refuse(p, "layers is %" PRIu64 " and must be 1 to %u", w->layers,
			      MAX_LAYERS);
	if (w->heads > w->hidden || w->hidden % w->heads)
		return refuse(p, "hidden %" PRIu64 " is no multiple of heads, %" PRIu64, w->hidden,
			      w->heads);
	if (w->sequence > w->tokens || w->tokens % w->sequence)
		return refuse(p, "tokens %" PRIu64 " is no multiple of sequence, %" PRIu64,
			      w->tokens, w->sequence);
	for (i = 0; i < m->tps; i++)
		if (m->tp[i] > w->heads)
			return refuse(p, "tp %" PRIu64 " is more than heads, %" PRIu64, m->tp[i],
				      w->heads);
	return true;
}

/* A model is complete: add one workload for each tp and sub-layer. */
static bool end_model(struct parser *p)
{
	struct model *m = &p->model;
	uint32_t i, k, count;

	if (p->section != MODEL)
		return true;
	p->line = m->line;
	if (missing(m))
		return refuse(p, "model %s has no %s", m->workload.model, missing(m));
	if (m->has_depth && m->sublayers)
		return refuse(p, "model %s has k and sublayers, of which it takes one",
			      m->workload.model);
	if (!check_iterations(p))
		return false;
	count = m->has_depth ? 1 : m->sublayers ? m->sublayers : SIM_SUBLAYERS;
	for (i = 0; i < m->tps; i++) {
		for (k = 0; k < count; k++) {
			m->workload.tp = m->tp[i];
			m->workload.sublayer = m->sublayers ? m->sublayer[k] : (enum sim_sublayer)k;
			if (!add(p, &m->workload))
				return false;
		}
	}
	return true;
}

static bool begin_section(struct parser *p, char *name)
{
	size_t len = strlen(name), i;
	unsigned int line = p->line;
	const char *at;
	bool known;

	if (!end_model(p))
		return false;
	p->line = line;
	if (name[len - 1] != ']' || len < 3 || len - 2 >= SIM_NAME_SIZE)
		return refuse(p, "a section is [NAME], of 1 to %u characters", SIM_NAME_SIZE - 1);
	name[len - 1] = '\0';
	name++;
	/* A name must be printable, because tables and JSON show it unchanged. */
	for (at = name; *at; at++)
		if (*at < ' ' || *at > '~')
			return refuse(p,
				      "the section's name '%s' has other characters than "
				      "printable ASCII",
				      name);
	known = p->has_machine && !strcmp(name, "machine");
	for (i = 0; i < p->models->count; i++)
		known |= !strcmp(p->models->workload[i].model, name);
	if (known)
		return refuse(p, "section [%s] is given twice", name);
	p->section = strcmp(name, "machine") ? MODEL : MACHINE;
	if (p->only_machine && p->section == MODEL)
		return refuse(p, "a machine file has no section but [machine]");
	p->has_machine |= p->section == MACHINE;
	p->model = (struct model){ .line = line };
	strcpy(p->model.workload.model, name);
	p->model.workload.element_bytes = 2;
	return true;
}

static bool set_once(struct parser *p, const char *key, const char *value, uint64_t *number,
		     bool *has)
{
	if (*has)
		return refuse(p, "%s is given twice", key);
	*has = true;
	if (!sim_number(value, number) || !*number)
		return refuse(p, "%s is '%.64s' and must be a number from 1", key, value);
	return true;
}

static bool set_tp(struct parser *p, char *value)
{
	struct model *m = &p->model;
	char *rest = NULL, *text;
	uint64_t tp;
	uint32_t i;

	if (m->tps)
		return refuse(p, "tp is given twice");
	for (text = strtok_r(value, " \t", &rest); text; text = word(&rest)) {
		if (m->tps == MAX_TP)
			return refuse(p, "tp has more than %u values", MAX_TP);
		if (!sim_number(text, &tp) || tp < 2 || tp > T3_TIMED_MAX_RANKS)
			return refuse(p, "tp is '%.64s' and must be 2 to %u", text,
				      T3_TIMED_MAX_RANKS);
		for (i = 0; i < m->tps; i++)
			if (m->tp[i] == tp)
				return refuse(p, "tp has %" PRIu64 " twice", tp);
		m->tp[m->tps++] = tp;
	}
	return true;
}

static bool set_sublayers(struct parser *p, char *value)
{
	struct model *m = &p->model;
	char *rest = NULL, *text;
	enum sim_sublayer sublayer;
	uint32_t i;

	if (m->sublayers)
		return refuse(p, "sublayers is given twice");
	/* As none comes twice, there is room for all. */
	for (text = strtok_r(value, " \t", &rest); text; text = word(&rest)) {
		if (!sim_sublayer_parse(text, &sublayer))
			return refuse(p, "sublayers has '%.64s' and takes op, fc2, fc1 and ip",
				      text);
		for (i = 0; i < m->sublayers; i++)
			if (m->sublayer[i] == sublayer)
				return refuse(p, "sublayers has %s twice", text);
		m->sublayer[m->sublayers++] = sublayer;
	}
	return true;
}

static bool set_dtype(struct parser *p, const char *value)
{
	if (p->model.has_dtype)
		return refuse(p, "dtype is given twice");
	p->model.has_dtype = true;
	if (!sim_dtype_parse(value, &p->model.workload.element_bytes))
		return refuse(p, "dtype is '%.64s' and must be " SIM_DTYPES, value);
	return true;
}

static bool set_collective(struct parser *p, const char *value)
{
	if (p->model.has_collective)
		return refuse(p, "collective is given twice");
	p->model.has_collective = true;
	if (!sim_collective_parse(value, &p->model.workload.collective))
		return refuse(p,
			      "collective is '%.64s' and must be all-reduce, reduce-scatter, "
			      "all-gather or all-to-all",
			      value);
	return true;
}

/* --------------------------------------------------------------------- lines */

static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t");
	for (len = strlen(text); len && isspace((unsigned char)text[len - 1]); len--)
		text[len - 1] = '\0';
	return text;
}

/* The file's value must be valid even if the command line overrides it. */
static bool set_machine(struct parser *p, const char *key, const char *value)
{
	const struct t3_timed_param *param;
	char why[SIM_WHY_SIZE];
	uint64_t number;

	param = read_param(key, value, &number, why);
	if (!param)
		return refuse(p, "%s", why);
	if (t3_timed_param_get(&p->in_file, param))
		return refuse(p, "%s is given twice", key);
	t3_timed_param_set(&p->in_file, param, 1);
	if (!t3_timed_param_get(&p->machine->given, param))
		give(p->machine, param, number);
	return true;
}

static bool parse_line(struct parser *p, char *line)
{
	struct model *m = &p->model;
	char *equals, *key, *value;

	line[strcspn(line, "#")] = '\0';
	line = trim(line);
	if (!*line)
		return true;
	if (*line == '[')
		return begin_section(p, line);
	equals = strchr(line, '=');
	if (!equals)
		return refuse(p, "'%.64s' is neither KEY = VALUE nor [SECTION]", line);
	*equals = '\0';
	key = trim(line);
	value = trim(equals + 1);
	if (!*value)
		return refuse(p, "%.64s has no value", key);
	if (p->section == NO_SECTION)
		return refuse(p, "%.64s is in no [SECTION]", key);
	if (p->section == MACHINE)
		return set_machine(p, key, value);
	if (!strcmp(key, "hidden"))
		return set_once(p, key, value, &m->workload.hidden, &m->has_hidden);
	if (!strcmp(key, "tokens"))
		return set_once(p, key, value, &m->workload.tokens, &m->has_tokens);
	if (!strcmp(key, "k"))
		return set_once(p, key, value, &m->workload.depth, &m->has_depth);
	if (!strcmp(key, "tp"))
		return set_tp(p, value);
	if (!strcmp(key, "sublayers"))
		return set_sublayers(p, value);
	if (!strcmp(key, "dtype"))
		return set_dtype(p, value);
	if (!strcmp(key, "collective"))
		return set_collective(p, value);
	if (!strcmp(key, "nodes"))
		return set_once(p, key, value, &m->workload.nodes, &m->has_nodes);
	if (!strcmp(key, "layers"))
		return set_once(p, key, value, &m->workload.layers, &m->has_layers);
	if (!strcmp(key, "heads"))
		return set_once(p, key, value, &m->workload.heads, &m->has_heads);
	if (!strcmp(key, "sequence"))
		return set_once(p, key, value, &m->workload.sequence, &m->has_sequence);
	return refuse(p, "a model has no key '%.64s'", key);
}

/* Read a line without its end. False: the file has ended, or *good is false. */
static bool read_line(struct parser *p, FILE *file, char *line, bool *good)
{
	size_t len = 0;
	int byte;

	*good = true;
	for (byte = getc(file); byte != EOF && byte != '\n'; byte = getc(file)) {
		if (!len)
			p->line++;
		if (!byte)
			return *good = refuse(p, "it has a byte 0, which no text has");
		if (len == LINE_SIZE - 2)
			return *good = refuse(p, "it is longer than %u characters", LINE_SIZE - 2);
		line[len++] = (char)byte;
	}
	if (byte == '\n' && !len)
		p->line++;
	line[len] = '\0';
	return byte == '\n' || len;
}

/* A UTF-8 byte order mark, which some editors write. */
static char *skip_mark(const struct parser *p, char *line)
{
	const char mark[] = "\xef\xbb\xbf";

	return p->line == 1 && !strncmp(line, mark, strlen(mark)) ? line + strlen(mark) : line;
}

static bool read_lines(struct parser *p, FILE *file)
{
	char line[LINE_SIZE];
	bool good = true, readable;

	while (good && read_line(p, file, line, &readable))
		good = parse_line(p, skip_mark(p, line));
	good = good && readable && end_model(p);
	p->line = 0;
	if (good && ferror(file))
		good = refuse(p, "it cannot be read");
	return good;
}

bool sim_models_read(FILE *file, struct sim_models *models, struct sim_machine *machine, char *why)
{
	struct parser parser = { .models = models, .machine = machine, .why = why };
	bool good;

	*models = (struct sim_models){ 0 };
	good = read_lines(&parser, file);
	if (good && !models->count)
		good = refuse(&parser, "there is no model in the file");
	if (!good)
		sim_models_free(models);
	return good;
}

bool sim_machine_read(FILE *file, struct sim_machine *machine, char *why)
{
	struct sim_models none = { 0 };
	struct parser parser = {
		.models = &none, .machine = machine, .only_machine = true, .why = why
	};

	if (!read_lines(&parser, file))
		return false;
	return parser.has_machine || refuse(&parser, "it has no section [machine]");
}

void sim_models_free(struct sim_models *models)
{
	free(models->workload);
	*models = (struct sim_models){ 0 };
}
