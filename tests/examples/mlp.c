// SPDX-License-Identifier: MIT
/*
 * A tensor-parallel multi-layer perceptron, forward and backward, a T3 device for each rank:
 *
 *	t3 launch -n 4 -- mlp [STEPS]
 *
 * Each rank has a slice of both matrices of weights: columns of the first, rows of the second. So both
 * outputs, y in the forward and dx in the backward pass, are sums over the ranks. PLAIN makes an output
 * and then calls a collective. FUSED puts rows as they are made, and the devices add them meanwhile.
 * Both must have the same bits, and be what one process gets in double precision.
 */
#include <err.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "t3_coll.h"

enum { TOKENS = 64, HIDDEN = 64, INNER = 4 * HIDDEN, ROWS = 4, SECONDS = 60 };
enum way { PLAIN, FUSED, WAYS };

static const char *const names[WAYS] = { "plain", "fused" };

/* Of one rank; of one process, if it has all of INNER. All matrices are by rows. */
struct mlp {
	size_t inner;	 /* its part */
	double *w1, *w2; /* HIDDEN x inner, inner x HIDDEN */
	double *a, *da;	 /* TOKENS x inner */
	double x[TOKENS * HIDDEN], y[TOKENS * HIDDEN], dy[TOKENS * HIDDEN], dx[TOKENS * HIDDEN];
	double loss;
	bool exact; /* one process, in double precision; ranks round to float */
	/* for ranks */
	struct t3_comm *comm;
	struct t3_plan *plan;
	enum way way;
};

static int rank, ranks;

static void check(int ret, const char *what, const char *why)
{
	if (ret)
		errx(1, "rank %d: %s: %s. %s", rank, what, strerror(-ret), why);
}

static int64_t deadline(void)
{
	return t3_deadline(SECONDS * 1000000000ull);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---------------------------------------------------------------------- data */

/* Between -1 and 1, the same for all ranks. */
static double value(uint32_t seed, size_t index)
{
	uint32_t x = seed * 2654435761u + (uint32_t)index * 2246822519u + 374761393u;

	x = (x ^ x >> 15) * 2246822519u;
	x = (x ^ x >> 13) * 3266489917u;
	return (double)(x >> 8) / (1 << 23) - 1;
}

static double target(size_t index)
{
	return value(4, index);
}

/* The part of the weights from column (w1) or row (w2) `first` on. */
static void init(struct mlp *m, size_t first, size_t inner)
{
	size_t i, k;

	m->inner = inner;
	m->w1 = calloc(HIDDEN * inner, sizeof(double));
	m->w2 = calloc(HIDDEN * inner, sizeof(double));
	m->a = calloc(TOKENS * inner, sizeof(double));
	m->da = calloc(TOKENS * inner, sizeof(double));
	if (!m->w1 || !m->w2 || !m->a || !m->da)
		errx(1, "rank %d: no memory", rank);
	for (i = 0; i < HIDDEN; i++)
		for (k = 0; k < inner; k++) {
			m->w1[i * inner + k] = value(1, i * INNER + first + k) / 8;
			m->w2[k * HIDDEN + i] = value(2, (first + k) * HIDDEN + i) / 16;
		}
	for (i = 0; i < TOKENS * HIDDEN; i++)
		m->x[i] = value(3, i);
}

static void release(struct mlp *m)
{
	free(m->w1);
	free(m->w2);
	free(m->a);
	free(m->da);
}

/* ---------------------------------------------------------------------- sums over ranks */

/* Makes a row of an output from this rank's slices. */
typedef void make_row(const struct mlp *m, size_t row, double *out);

static void make_y(const struct mlp *m, size_t row, double *out)
{
	size_t k, i;

	memset(out, 0, HIDDEN * sizeof(*out));
	for (k = 0; k < m->inner; k++)
		for (i = 0; i < HIDDEN; i++)
			out[i] += m->a[row * m->inner + k] * m->w2[k * HIDDEN + i];
}

static void make_dx(const struct mlp *m, size_t row, double *out)
{
	size_t k, i;

	for (i = 0; i < HIDDEN; i++) {
		out[i] = 0;
		for (k = 0; k < m->inner; k++)
			out[i] += m->da[row * m->inner + k] * m->w1[i * m->inner + k];
	}
}

static void make_floats(const struct mlp *m, make_row *make, size_t row, size_t rows, float *out)
{
	double made[HIDDEN];
	size_t r, i;

	for (r = 0; r < rows; r++) {
		make(m, row + r, made);
		for (i = 0; i < HIDDEN; i++)
			out[r * HIDDEN + i] = (float)made[i];
	}
}

static void plain(const struct mlp *m, make_row *make, float *sum)
{
	make_floats(m, make, 0, TOKENS, sum);
	check(t3_all_reduce(m->comm, sum, sum, TOKENS * HIDDEN, DRM_T3_F32, DRM_T3_OP_ADD,
			    deadline()),
	      "t3_all_reduce", t3_comm_error(m->comm));
}

/* The rows of a chunk, in the order that overlaps best. A tile travels while the next one is made. */
static void fused(const struct mlp *m, make_row *make, float *sum)
{
	uint64_t first, count, row, rows, bytes;
	float made[ROWS * HIDDEN];
	uint32_t i, chunk;
	const void *result;

	check(t3_plan_start(m->plan, deadline()), "t3_plan_start", t3_plan_error(m->plan));
	for (i = 0; (chunk = t3_plan_order(m->plan, i)) != T3_PLAN_NO_CHUNK; i++) {
		check(t3_plan_chunk(m->plan, chunk, &first, &count), "t3_plan_chunk", "");
		for (row = first / HIDDEN; row < (first + count) / HIDDEN; row += rows) {
			rows = (first + count) / HIDDEN - row;
			rows = rows < ROWS ? rows : ROWS;
			make_floats(m, make, row, rows, made);
			check(t3_plan_put(m->plan, row * HIDDEN, made, rows * HIDDEN),
			      "t3_plan_put", t3_plan_error(m->plan));
		}
	}
	check(t3_plan_wait(m->plan, deadline()), "t3_plan_wait", t3_plan_error(m->plan));
	check(t3_plan_result(m->plan, &result, &bytes), "t3_plan_result", "");
	memcpy(sum, result, bytes);
}

/* An output of all ranks, or of one process alone. */
static void make_all(const struct mlp *m, make_row *make, double *out)
{
	static float sum[TOKENS * HIDDEN];
	size_t i;

	if (m->exact) {
		for (i = 0; i < TOKENS; i++)
			make(m, i, out + i * HIDDEN);
		return;
	}
	if (m->way == FUSED)
		fused(m, make, sum);
	else
		plain(m, make, sum);
	for (i = 0; i < TOKENS * HIDDEN; i++)
		out[i] = sum[i];
}

/* ---------------------------------------------------------------------- a step */

static void forward(struct mlp *m)
{
	size_t t, i, k;

	memset(m->a, 0, TOKENS * m->inner * sizeof(double));
	for (t = 0; t < TOKENS; t++) {
		double *a = m->a + t * m->inner;

		for (i = 0; i < HIDDEN; i++)
			for (k = 0; k < m->inner; k++)
				a[k] += m->x[t * HIDDEN + i] * m->w1[i * m->inner + k];
		for (k = 0; k < m->inner; k++)
			a[k] = a[k] > 0 ? a[k] : 0;
	}
	make_all(m, make_y, m->y);
	m->loss = 0;
	for (i = 0; i < TOKENS * HIDDEN; i++) {
		m->dy[i] = m->y[i] - target(i);
		m->loss += m->dy[i] * m->dy[i] / 2;
	}
}

static void backward(struct mlp *m)
{
	size_t t, i, k;

	for (t = 0; t < TOKENS; t++)
		for (k = 0; k < m->inner; k++) {
			double *da = &m->da[t * m->inner + k];

			*da = 0;
			for (i = 0; m->a[t * m->inner + k] > 0 && i < HIDDEN; i++)
				*da += m->dy[t * HIDDEN + i] * m->w2[k * HIDDEN + i];
		}
	make_all(m, make_dx, m->dx);
}

/* What lies before the layer learns by dx, here x itself. */
static void learn(struct mlp *m)
{
	const double rate = 0.002;
	size_t t, i, k;

	for (t = 0; t < TOKENS; t++)
		for (i = 0; i < HIDDEN; i++)
			for (k = 0; k < m->inner; k++) {
				m->w2[k * HIDDEN + i] -=
					rate * m->a[t * m->inner + k] * m->dy[t * HIDDEN + i];
				m->w1[i * m->inner + k] -=
					rate * m->x[t * HIDDEN + i] * m->da[t * m->inner + k];
			}
	for (i = 0; i < TOKENS * HIDDEN; i++)
		m->x[i] -= rate * m->dx[i];
}

/* Returns the seconds that the passes took, without the learning. */
static double run(struct mlp *m, int steps, double *first_loss)
{
	double took = 0, begun;
	int i;

	for (i = 0; i < steps; i++) {
		begun = seconds();
		forward(m);
		backward(m);
		took += seconds() - begun;
		if (!i)
			*first_loss = m->loss;
		learn(m);
	}
	return took;
}

/* ---------------------------------------------------------------------- comparison */

/* The largest difference from one process's x, whose values are about 1. */
static double distance(const struct mlp *m, const struct mlp *one)
{
	double worst = 0;
	size_t i;

	for (i = 0; i < TOKENS * HIDDEN; i++)
		worst = fmax(worst, fabs(m->x[i] - one->x[i]));
	return worst;
}

static void make_plan(struct t3_comm *comm, struct t3_plan **plan)
{
	const struct t3_plan_desc desc = {
		.collective = T3_ALL_REDUCE,
		.count = TOKENS * HIDDEN,
		.dtype = DRM_T3_F32,
		.op = DRM_T3_OP_ADD,
		.columns = HIDDEN,
		.tile_rows = ROWS,
		.tile_columns = HIDDEN,
	};

	check(t3_plan_create(comm, &desc, deadline(), plan), "t3_plan_create", t3_comm_error(comm));
}

static int compare(struct t3_comm *comm, struct t3_plan *plan, int steps)
{
	static struct mlp one = { .exact = true }, part[WAYS];
	double first, took[WAYS], worst;
	bool good;
	int way;

	init(&one, 0, INNER);
	run(&one, steps, &first);
	for (way = 0; way < WAYS; way++) {
		part[way] = (struct mlp){ .comm = comm, .plan = plan, .way = (enum way)way };
		init(&part[way], (size_t)rank * INNER / (size_t)ranks, INNER / (size_t)ranks);
		check(t3_comm_barrier(comm, deadline()), "t3_comm_barrier", t3_comm_error(comm));
		took[way] = run(&part[way], steps, &first);
	}
	worst = distance(&part[PLAIN], &one);
	good = worst < 1e-5 && !memcmp(part[PLAIN].x, part[FUSED].x, sizeof(one.x));
	for (way = 0; way < WAYS && !rank; way++)
		printf("%s: loss %.4f, then %.4f, in %.3f s\n", names[way], first, part[way].loss,
		       took[way]);
	printf("rank %d: %s within %.0e of one process, and both ways have the same bits\n", rank,
	       good ? "right:" : "WRONG: not", 1e-5);
	for (way = 0; way < WAYS; way++)
		release(&part[way]);
	release(&one);
	return !good;
}

int main(int argc, char **argv)
{
	const char *own = getenv("T3_RANK"), *all = getenv("T3_RANKS");
	int steps = argc > 1 ? atoi(argv[1]) : 4, ret;
	char why[T3_COMM_TEXT_SIZE];
	struct t3_comm_desc desc = { .text = why, .text_size = sizeof(why) };
	struct t3_device *dev;
	struct t3_comm *comm;
	struct t3_plan *plan;

	rank = own ? atoi(own) : -1;
	ranks = all ? atoi(all) : 0;
	if (rank < 0 || ranks < 2 || INNER % ranks || steps < 1 || steps > 1000)
		errx(2, "usage: t3 launch -n RANKS -- mlp [STEPS]; RANKS is 2, 4, 8, 16 or 32");
	check(t3_device_open_rank(0, (uint32_t)rank, &dev), "t3_device_open_rank", "");
	check(t3_comm_create(dev, &desc, deadline(), &comm), "t3_comm_create", why);
	make_plan(comm, &plan);
	ret = compare(comm, plan, steps);
	check(t3_comm_barrier(comm, deadline()), "t3_comm_barrier", t3_comm_error(comm));
	t3_plan_destroy(plan);
	t3_comm_destroy(comm);
	t3_device_close(dev);
	return ret;
}
