/* SPDX-License-Identifier: MIT */
/*
 * Fields of a config.json, each with a type and a range. A field that was asked for is known: the
 * rest of the file is reported. config_layers.c and transformer.c read a model with these.
 */
#ifndef T3_SIM_CONFIG_FIELDS_H
#define T3_SIM_CONFIG_FIELDS_H

#include "sim/families.h"
#include "sim/json_file.h"
#include "sim/transformer.h"

#define CONFIG_MAX_LAYERS 10000u
#define CONFIG_MAX_SIZE	  ((uint64_t)1 << 24) /* of hidden, intermediate and ranks */
#define CONFIG_MAX_HEADS  ((uint64_t)1 << 16) /* and head sizes, experts */

struct config_reader {
	struct sim_transformer *t;
	json_t *top, *config; /* the file's object, and the one that has the model */
	const char *nest;     /* "text_config.", or "" */
	json_t *read;	      /* names of fields that were looked at */
	const struct sim_family *family;
	bool *sliding, *experts; /* of each layer */
	struct sim_json json;
};

/* Keep this sentence if it is the first one. False. */
__attribute__((format(printf, 2, 3))) bool config_refuse(struct config_reader *r,
							 const char *format, ...);
bool config_refuse_value(struct config_reader *r, const char *name, const json_t *value,
			 const char *must);
bool config_in_range(struct config_reader *r, const char *name, const json_t *value, uint64_t min,
		     uint64_t max);

/* NULL: the file has no such field, or it is null. */
json_t *config_field(struct config_reader *r, const char *name);
/*
 * Of a field with several names, the one that the file has. A list of equal numbers is that number.
 * 0: it has none of them.
 */
uint64_t config_number(struct config_reader *r, const char *names, uint64_t min, uint64_t max);
/* The same, or the family's value, which a note then says. `family` 0: it has none. */
uint64_t config_number_or(struct config_reader *r, const char *names, uint64_t max,
			  uint64_t family);
/* A number without which there is no model. The first of its names is the usual one. */
uint64_t config_need(struct config_reader *r, const char *names, uint64_t max, uint64_t family);
/* False, 0, "", [] and null say that a field does nothing. */
bool config_is_set(const json_t *value);
bool config_flag(struct config_reader *r, const char *name, bool missing);

/* config_layers.c: the kind of each layer. */
void config_read_layers(struct config_reader *r);

#endif /* T3_SIM_CONFIG_FIELDS_H */
