// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/json_file.h"
#include "sim/model_file.h"

/* ------------------------------------------------------------------ sentences */

bool sim_json_vrefuse(struct sim_json *json, const char *format, va_list args)
{
	char text[SIM_WHY_SIZE];

	vsnprintf(text, sizeof(text), format, args);
	if (!json->bad)
		sim_escape(json->why, SIM_WHY_SIZE, text);
	json->bad = true;
	return false;
}

bool sim_json_refuse(struct sim_json *json, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	sim_json_vrefuse(json, format, args);
	va_end(args);
	return false;
}

bool sim_json_refuse_value(struct sim_json *json, const char *nest, const char *name,
			   const json_t *value, const char *must)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII);

	sim_json_refuse(json, "%s%s is %.40s and must be %s", nest, name, text ? text : "?", must);
	free(text);
	return false;
}

bool sim_json_in_range(struct sim_json *json, const char *nest, const char *name,
		       const json_t *value, uint64_t min, uint64_t max)
{
	char must[80];

	if (json_is_integer(value) && json_integer_value(value) >= (json_int_t)min &&
	    json_integer_value(value) <= (json_int_t)max)
		return true;
	snprintf(must, sizeof(must), "a whole number from %" PRIu64 " to %" PRIu64, min, max);
	return sim_json_refuse_value(json, nest, name, value, must);
}

/* -------------------------------------------------------------------- the text */

/* The field whose value the parser was in: the last text before ':' before this position. */
static void field_before(const char *text, size_t position, char *name, size_t size)
{
	size_t end = position, start;

	while (end > 1 && !(text[end - 1] == ':' && text[end - 2] == '"'))
		end--;
	if (end < 2) {
		*name = '\0';
		return;
	}
	for (start = end - 2; start > 0 && text[start - 1] != '"';)
		start--;
	snprintf(name, size, " in field %.*s", (int)(end - 2 - start), text + start);
}

static json_t *parse(const char *text, size_t size, struct sim_json *json)
{
	static const char mark[] = "\xef\xbb\xbf";
	size_t skip = size >= 3 && !memcmp(text, mark, 3) ? 3 : 0;
	char name[64];
	json_error_t error;
	json_t *top = json_loadb(text + skip, size - skip, JSON_REJECT_DUPLICATES, &error);
	size_t at;

	if (!top) {
		at = error.position > 0 ? (size_t)error.position : 0;
		field_before(text + skip, at < size - skip ? at : size - skip, name, sizeof(name));
		sim_json_refuse(json, "it is no JSON: line %d%s: %s", error.line, name, error.text);
	} else if (!json_is_object(top)) {
		sim_json_refuse(json, "it is no JSON object");
	}
	return top;
}

json_t *sim_json_load(FILE *file, size_t max_size, struct sim_json *json)
{
	char *text = malloc(max_size + 1);
	json_t *top = NULL;
	size_t size;

	if (!text) {
		sim_json_refuse(json, "there is no memory for it");
		return NULL;
	}
	size = fread(text, 1, max_size + 1, file);
	if (ferror(file))
		sim_json_refuse(json, "it cannot be read");
	else if (size > max_size)
		sim_json_refuse(json, "it is longer than %zu bytes", max_size);
	else
		top = parse(text, size, json);
	free(text);
	return top;
}
