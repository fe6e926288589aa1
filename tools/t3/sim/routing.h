/* SPDX-License-Identifier: MIT */
/*
 * Which tokens go to which experts: rows that each rank's tokens send to each expert. They are drawn, or
 * follow a file of tokens per expert. The same source gives the same rows, on each machine.
 */
#ifndef T3_SIM_ROUTING_H
#define T3_SIM_ROUTING_H

#include <stdbool.h>
#include <stdint.h>

enum sim_routing_kind {
	SIM_ROUTING_EQUAL,   /* none is drawn: each expert gets as many rows */
	SIM_ROUTING_UNIFORM, /* each token draws its experts, each as likely */
	SIM_ROUTING_SKEWED, /* the expert in place i of a random order has the weight 1 / (i + 1)^S */
	SIM_ROUTING_FILE,   /* each rank's tokens have the shares of a file */
};

#define SIM_SKEW_ONE 1000u /* skews are in thousandths */
#define SIM_SKEW_MAX (4 * SIM_SKEW_ONE)

struct sim_routing_source {
	enum sim_routing_kind kind;
	uint64_t skew; /* S, in thousandths */
	uint64_t seed; /* of what is drawn */
	const char *path;
};

struct sim_routing {
	uint64_t ranks, experts, top_k;
	uint64_t tokens; /* of each rank; it sends tokens * top_k rows */
	uint32_t *rows;	 /* [rank * experts + expert]; NULL: nothing is drawn */
};

/* uniform, skewed=S with S from 0 to 4 and at most three decimals, or the path of a file. */
bool sim_routing_parse(const char *text, struct sim_routing_source *source);

/*
 * Fills in the rows; ranks, experts, top_k and tokens are set. False: `why`, of SIM_WHY_SIZE bytes. On
 * success the routing has to be freed.
 */
bool sim_routing_draw(const struct sim_routing_source *source, struct sim_routing *routing,
		      char *why);
void sim_routing_free(struct sim_routing *routing);

/* Rows of the experts of a rank, and of an expert. */
struct sim_load {
	uint64_t mean_rank, most_rank, least_rank, fullest; /* rows, and the rank that has most */
	uint64_t most_expert;				    /* rows */
};

struct sim_load sim_routing_load(const struct sim_routing *routing);

#endif /* T3_SIM_ROUTING_H */
