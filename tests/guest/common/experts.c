// SPDX-License-Identifier: MIT
#include <math.h>

#include "experts.h"

#define TABLE 1021u

float experts_draw(uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t h = a * UINT64_C(0x9e3779b97f4a7c15) + b * UINT64_C(0xc2b2ae3d27d4eb4f) + c;

	h = (h ^ h >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
	h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
	return (float)(h >> 40) / (float)(1 << 24);
}

uint32_t experts_home(const struct experts *m, uint32_t expert)
{
	return expert / (m->experts / EXPERTS_RANKS);
}

/* ------------------------------------------------------------------------- router */

/* Ranks 5 and 7 have no expert for the tokens of most ranks, and rank 0 has the popular ones. */
static float score(const struct experts *m, uint32_t rank, uint32_t token, uint32_t expert)
{
	float drawn = experts_draw(rank * EXPERTS_TOKENS + token, expert, m->experts);
	uint32_t at = experts_home(m, expert);

	if ((at == 5 && rank < 3) || (at == 7 && rank != 2))
		return 0;
	return expert < m->experts / 16 ? drawn + 0.5f : drawn;
}

static bool is_taken(const struct experts_route *route, uint32_t count, uint32_t expert)
{
	uint32_t k;

	for (k = 0; k < count; k++)
		if (route->expert[k] == expert)
			return true;
	return false;
}

void experts_route(const struct experts *m, uint32_t rank, uint32_t token,
		   struct experts_route *route)
{
	float one, all = 0;
	uint32_t j, e;

	for (j = 0; j < EXPERTS_CHOSEN; j++) {
		route->weight[j] = -1;
		for (e = 0; e < m->experts; e++) {
			one = score(m, rank, token, e);
			if (one <= route->weight[j] || is_taken(route, j, e))
				continue;
			route->expert[j] = e;
			route->weight[j] = one;
		}
		all += route->weight[j];
	}
	for (j = 0; j < EXPERTS_CHOSEN; j++)
		route->weight[j] /= all;
}

/* ------------------------------------------------------------------------ experts */

/* Row i of a matrix of an expert, times a vector. */
static float product(uint32_t expert, uint32_t matrix, uint32_t i, const float *vector, uint32_t n)
{
	static float table[TABLE];
	uint32_t at = (expert * 131 + matrix * 509 + i * 67) % TABLE, k;
	float sum = 0;

	for (k = 0; table[0] == 0 && k < TABLE; k++)
		table[TABLE - 1 - k] = experts_draw(k, 1, 1) - 0.5f;
	for (k = 0; k < n; k++, at = (at + 7) % TABLE)
		sum += table[at] * vector[k];
	return sum;
}

void experts_apply(const struct experts *m, uint32_t expert, float weight, const float *token,
		   float *out)
{
	float inner[EXPERTS_INNER_MAX], gate;
	uint32_t i;

	for (i = 0; i < m->intermediate; i++) {
		gate = product(expert, 0, i, token, m->hidden);
		inner[i] = gate / (1 + expf(-gate)) * product(expert, 1, i, token, m->hidden);
	}
	for (i = 0; i < m->hidden; i++)
		out[i] = weight * product(expert, 2, i, inner, m->intermediate);
}

void experts_add(const struct experts *m, float *sum, const float *row)
{
	uint32_t i;

	for (i = 0; i < m->hidden; i++)
		sum[i] += row[i];
}
