// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <string.h>

#include "sim/config_fields.h"

bool config_refuse(struct config_reader *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	sim_json_vrefuse(&r->json, format, args);
	va_end(args);
	return false;
}

bool config_refuse_value(struct config_reader *r, const char *name, const json_t *value,
			 const char *must)
{
	return sim_json_refuse_value(&r->json, r->nest, name, value, must);
}

bool config_in_range(struct config_reader *r, const char *name, const json_t *value, uint64_t min,
		     uint64_t max)
{
	return sim_json_in_range(&r->json, r->nest, name, value, min, max);
}

json_t *config_field(struct config_reader *r, const char *name)
{
	json_t *value = json_object_get(r->config, name);

	json_object_set_new(r->read, name, json_true());
	return json_is_null(value) ? NULL : value;
}

/* A list that says the same of each layer. */
static json_t *one_of_all(json_t *value)
{
	json_t *first = json_array_get(value, 0), *one;
	size_t i;

	json_array_foreach(value, i, one) if (!json_equal(one, first)) return value;
	return json_is_integer(first) ? first : value;
}

uint64_t config_number(struct config_reader *r, const char *names, uint64_t min, uint64_t max)
{
	char list[192], *rest = NULL, *name, first[64] = "";
	uint64_t found = 0;
	json_t *value;

	snprintf(list, sizeof(list), "%s", names);
	for (name = strtok_r(list, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
		value = one_of_all(config_field(r, name));
		if (!value || !config_in_range(r, name, value, min, max))
			continue;
		if (*first && found != (uint64_t)json_integer_value(value))
			config_refuse(r, "%s%s and %s%s differ", r->nest, first, r->nest, name);
		found = (uint64_t)json_integer_value(value);
		snprintf(first, sizeof(first), "%s", name);
	}
	return found;
}

uint64_t config_number_or(struct config_reader *r, const char *names, uint64_t max, uint64_t family)
{
	uint64_t found = config_number(r, names, 1, max);

	if (found || !family)
		return found;
	sim_note(r->t, SIM_EXACT, "%.*s is missing: %" PRIu64 ", as model_type %s has it",
		 (int)strcspn(names, " "), names, family, r->t->type);
	return family;
}

uint64_t config_need(struct config_reader *r, const char *names, uint64_t max, uint64_t family)
{
	uint64_t found = config_number_or(r, names, max, *r->nest ? family : 0);

	if (!found)
		config_refuse(r, "%s%.*s is missing", r->nest, (int)strcspn(names, " "), names);
	return found;
}

bool config_is_set(const json_t *value)
{
	if (json_is_integer(value))
		return json_integer_value(value);
	if (json_is_string(value))
		return *json_string_value(value);
	if (json_is_array(value))
		return json_array_size(value);
	return value && !json_is_null(value) && !json_is_false(value);
}

bool config_flag(struct config_reader *r, const char *name, bool missing)
{
	json_t *value = config_field(r, name);

	if (value && !json_is_boolean(value))
		config_refuse_value(r, name, value, "true or false");
	return value ? json_is_true(value) : missing;
}
