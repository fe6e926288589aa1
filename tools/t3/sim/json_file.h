/* SPDX-License-Identifier: MIT */
/*
 * Reads JSON files that may be hostile: each value has a type and a range, and a refusal names its
 * field.
 */
#ifndef T3_SIM_JSON_FILE_H
#define T3_SIM_JSON_FILE_H

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sim_json {
	char *why; /* of SIM_WHY_SIZE bytes: the first mistake, without control characters */
	bool bad;
};

/* The file's object. NULL: refused. A UTF-8 byte order mark may begin the file. */
json_t *sim_json_load(FILE *file, size_t max_size, struct sim_json *json);

/* Keep this sentence if it is the first one. False. */
__attribute__((format(printf, 2, 3))) bool sim_json_refuse(struct sim_json *json,
							   const char *format, ...);
__attribute__((format(printf, 2, 0))) bool sim_json_vrefuse(struct sim_json *json,
							    const char *format, va_list args);
/* "NEST NAME is VALUE and must be MUST" */
bool sim_json_refuse_value(struct sim_json *json, const char *nest, const char *name,
			   const json_t *value, const char *must);
/* Is it a whole number in the range? Else it is refused. */
bool sim_json_in_range(struct sim_json *json, const char *nest, const char *name,
		       const json_t *value, uint64_t min, uint64_t max);

#endif /* T3_SIM_JSON_FILE_H */
