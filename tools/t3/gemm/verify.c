// SPDX-License-Identifier: MIT
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/numeric.h"
#include "reference.h"
#include "verify.h"

#define WORKERS 2

/* Multiplications that an emulated guest does in about a second. Larger jobs are sampled. */
#define CHECK_ALL_MACS (UINT64_C(1) << 27)

/* any_order: sums of floats that the switch has added as they came have no bits of their own. */
static void check_row(struct gemm_verdict *v, struct reference *ref, uint32_t row,
		      const unsigned char *result, bool any_order)
{
	uint32_t size = t3_dtype_bytes(ref->cfg->dtype), col, bits;
	double bound, error;
	bool bad;

	reference_row(ref, row);
	for (col = 0; col < ref->cfg->n; col++) {
		bits = 0;
		memcpy(&bits, result + (size_t)col * size, size); /* little-endian */
		bad = bits != ref->bits[col] && !any_order;
		v->wrong_bits += bad;
		if (ref->cfg->dtype != DRM_T3_I32) {
			bound = reference_bound(ref->cfg, ref->weight[col]);
			error = fabs(f32_from_element(ref->cfg->dtype, bits) - ref->sum[col]);
			v->out_of_bound += !(error <= bound);
			bad |= !(error <= bound);
			if (!(error <= v->max_error)) {
				v->max_error = error;
				v->bound = bound;
			}
		}
		if (bad && !v->bad_iteration) {
			v->bad_iteration = ref->iteration;
			v->bad_row = row;
			v->bad_col = col;
		}
	}
	v->checked += ref->cfg->n;
}

/* The row that is checked of a chunk in an iteration between first and last. */
static uint32_t sample_row(const struct gemm_config *cfg, uint32_t iteration, uint32_t chunk)
{
	uint64_t key[] = { cfg->seed, iteration, chunk };

	return (uint32_t)(fnv1a(FNV_START, key, sizeof(key)) % (cfg->m / cfg->ranks));
}

static bool is_sampled(const struct gemm_config *cfg, uint32_t iteration)
{
	uint64_t macs = (uint64_t)cfg->m * cfg->n * cfg->k; /* at most 2^48 */

	return macs * cfg->iterations > CHECK_ALL_MACS && iteration != 1 &&
	       iteration != cfg->iterations;
}

/* A worker checks every other chunk. */
static int check_all(const struct gemm_config *cfg, struct gemm_shared *shared, uint32_t worker,
		     struct gemm_verdict *v)
{
	size_t row_bytes = (size_t)cfg->n * t3_dtype_bytes(cfg->dtype);
	uint32_t rows = cfg->m / cfg->ranks, e, chunk, first, last, i;
	const unsigned char *result;
	struct reference ref;
	int ret;

	raise_inexact();
	ret = reference_init(&ref, cfg);
	if (ret)
		return ret;
	for (e = 1; e <= cfg->iterations; e++) {
		if (!shared_result(shared, cfg, e, 0))
			continue;
		reference_iteration(&ref, e);
		for (chunk = worker; chunk < cfg->ranks; chunk += WORKERS) {
			result = shared_result(shared, cfg, e, chunk);
			first = is_sampled(cfg, e) ? sample_row(cfg, e, chunk) : 0;
			last = is_sampled(cfg, e) ? first + 1 : rows;
			for (i = first; i < last; i++)
				check_row(v, &ref, chunk * rows + i, result + i * row_bytes,
					  gemm_all_to_group(cfg) &&
						  !shared->rank[chunk].report.ordered);
		}
	}
	reference_fini(&ref);
	return 0;
}

static void merge(struct gemm_verdict *v, const struct gemm_verdict *w)
{
	v->checked += w->checked;
	v->wrong_bits += w->wrong_bits;
	v->out_of_bound += w->out_of_bound;
	if (!(w->max_error <= v->max_error)) {
		v->max_error = w->max_error;
		v->bound = w->bound;
	}
	if (w->bad_iteration && (!v->bad_iteration || w->bad_iteration < v->bad_iteration)) {
		v->bad_iteration = w->bad_iteration;
		v->bad_row = w->bad_row;
		v->bad_col = w->bad_col;
	}
}

int gemm_verify(const struct gemm_config *cfg, struct gemm_shared *shared,
		struct gemm_verdict *verdict)
{
	pid_t pid = fork();
	int ret, status;

	if (pid < 0)
		return -errno;
	if (!pid)
		_exit(check_all(cfg, shared, 1, &shared->verdict[1]) != 0);
	ret = check_all(cfg, shared, 0, &shared->verdict[0]);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
		ret = ret ? ret : -ECHILD;
	memset(verdict, 0, sizeof(*verdict));
	merge(verdict, &shared->verdict[0]);
	merge(verdict, &shared->verdict[1]);
	return ret;
}
