/* SPDX-License-Identifier: MIT */
/*
 * A layer of experts, computed as a plain loop. Its numbers are drawn: no file of a model is read.
 * The router is skewed. Some experts are popular, and some ranks get nothing from others.
 */
#ifndef T3_GUEST_EXPERTS_H
#define T3_GUEST_EXPERTS_H

#include <stdbool.h>
#include <stdint.h>

#define EXPERTS_RANKS	   8u
#define EXPERTS_TOKENS	   16u /* of a rank */
#define EXPERTS_CHOSEN	   8u  /* of a token */
#define EXPERTS_HIDDEN_MAX 112u
#define EXPERTS_INNER_MAX  32u

struct experts {
	const char *name;
	uint32_t experts; /* the same number on each rank, in the order of the ranks */
	bool shared; /* one more expert that each token has, at its own rank: number `experts` */
	uint32_t hidden, intermediate;
};

/* A token's experts, the best one first, and their weights. */
struct experts_route {
	uint32_t expert[EXPERTS_CHOSEN];
	float weight[EXPERTS_CHOSEN];
};

/* A number from 0 up to 1. */
float experts_draw(uint32_t a, uint32_t b, uint32_t c);
/* The rank of an expert. */
uint32_t experts_home(const struct experts *m, uint32_t expert);
void experts_route(const struct experts *m, uint32_t rank, uint32_t token,
		   struct experts_route *route);
/* An expert's row for a token, times its weight. The bits depend on nothing else. */
void experts_apply(const struct experts *m, uint32_t expert, float weight, const float *token,
		   float *out);
/* Add a row to a sum. */
void experts_add(const struct experts *m, float *sum, const float *row);

#endif /* T3_GUEST_EXPERTS_H */
