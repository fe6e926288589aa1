// SPDX-License-Identifier: MIT
/*
 * Completes a machine of which a few parameters are known. A parameter that was not given keeps the
 * default machine's ratio to those that it follows from.
 */
#include <inttypes.h>

#include "sim/model_file.h"

/* The parameter is proportional to the product of these, or to its inverse. */
static const struct rule {
	const char *name;
	const char *by[2];
	bool inverse;
	const char *why;
} rules[] = {
	{ "cache_gbps",
	  { "compute_units", "clock_mhz" },
	  false,
	  "as many bytes for each unit and clock" },
	{ "unit_store_gbps", { "clock_mhz" }, false, "as many bytes for each clock" },
	{ "copy_unit_gbps", { "clock_mhz" }, false, "as many bytes for each clock" },
	{ "collective_units", { "compute_units" }, false, "all units" },
	{ "memory_channels", { "memory_gbps" }, false, "channels of the same speed" },
	{ "run_kib", { "memory_gbps" }, false, "runs of the same length on each channel" },
	{ "row_conflict_ns", { "memory_gbps" }, true, "a conflict on the channels of one request" },
	{ "link_queue_kib", { "link_gbps" }, false, "the link's rate times a round trip" },
	{ "dma_read_ahead_kib", { "link_gbps" }, false, "the link's rate times a round trip" },
};

/* Rules of what only runs with a switch have. */
static const struct rule switch_rules[] = {
	{ "switch_port_gbps", { "link_gbps" }, false, "the link's rate in each direction" },
	{ "switch_adder_gbps", { "link_gbps" }, false, "what a port brings" },
};

static bool is_given(const struct sim_machine *machine, const char *name)
{
	return name && t3_timed_param_get(&machine->given, t3_timed_param_find(name));
}

static double ratio(const struct sim_machine *machine, const char *name)
{
	const struct t3_timed_param *param = t3_timed_param_find(name);

	return (double)t3_timed_param_get(&machine->params, param) / (double)param->value;
}

static void complete(struct sim_machine *machine, const struct rule *rule, size_t count,
		     json_t *sentences)
{
	size_t i, k;

	for (i = 0; i < count; i++, rule++) {
		const struct t3_timed_param *param = t3_timed_param_find(rule->name);
		double factor = 1, value;

		if (is_given(machine, rule->name) ||
		    (!is_given(machine, rule->by[0]) && !is_given(machine, rule->by[1])))
			continue;
		for (k = 0; k < 2 && rule->by[k]; k++)
			factor *= ratio(machine, rule->by[k]);
		value = (double)param->value * (rule->inverse ? 1 / factor : factor) + 0.5;
		if (value < (double)param->min)
			value = (double)param->min;
		if (value > (double)param->max)
			value = (double)param->max;
		t3_timed_param_set(&machine->params, param, (uint64_t)value);
		json_array_append_new(
			sentences, json_sprintf("%s = %" PRIu64 " was not given, and follows from "
						"%s%s%s: %s",
						rule->name, (uint64_t)value, rule->by[0],
						rule->by[1] ? " and " : "",
						rule->by[1] ? rule->by[1] : "", rule->why));
	}
}

void sim_machine_complete(struct sim_machine *machine, json_t *sentences)
{
	complete(machine, rules, sizeof(rules) / sizeof(rules[0]), sentences);
}

void sim_machine_complete_switch(struct sim_machine *machine, json_t *sentences)
{
	complete(machine, switch_rules, sizeof(switch_rules) / sizeof(switch_rules[0]), sentences);
}
