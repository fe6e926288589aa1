/* SPDX-License-Identifier: MIT */
/* The command line of `t3 sim` for the timed model. */
#ifndef T3_TIMED_ARGUMENTS_H
#define T3_TIMED_ARGUMENTS_H

#include "sim/iteration.h"
#include "sim/model_file.h"
#include "sim/routing.h"

struct timed_arguments {
	struct sim_workload workload;
	bool hidden, tokens, depth, tp, sublayer, collective, message, nodes; /* given */
	bool chunks_given, dtype;
	const char *model, *machine_file, *timeline, *fabric;
	struct sim_machine machine;
	json_t *derived;  /* sentences on parameters of a machine file; or NULL */
	uint32_t configs; /* 0: the default */
	bool all;	  /* and all that run this, but those that are named only */
	bool json, list, every_device, device, seconds;
	enum t3_timed_chunks chunks;
	/* a model by its config.json, and how it runs */
	const char *config_file;
	const char *html;      /* the page to write; or NULL */
	const char *step_file; /* or a recorded step */
	struct sim_setting setting;
	struct sim_routing_source routing;
	bool phase, ep, sequence, batch, attention, seed; /* given */
	enum sim_mlp mlp;
};

/* An exit code. */
int timed_arguments_parse(struct timed_arguments *args, int argc, char **argv);

#endif /* T3_TIMED_ARGUMENTS_H */
