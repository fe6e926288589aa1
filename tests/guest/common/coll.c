// SPDX-License-Identifier: MIT
#include "coll.h"
#include "ref.h"

/* ------------------------------------------------------------------------ fabrics */

struct t3_device *coll_device(uint32_t ranks, bool full, uint32_t rank)
{
	struct drm_t3_device_info info;
	struct t3_device_list *list;
	struct t3_device *dev = NULL;
	size_t i;

	CHECK_EQ(t3_device_list(&list), 0);
	for (i = 0; i < t3_device_list_count(list); i++) {
		if (t3_device_open(t3_device_list_get(list, i)->node, &dev))
			continue;
		CHECK_EQ(t3_device_info(dev, &info), 0);
		/* With a switch each rank has a link to each other one, too. */
		if (info.ranks == ranks && info.rank == rank &&
		    (info.topology >= DRM_T3_TOPOLOGY_FULL) == full)
			break;
		t3_device_close(dev);
		dev = NULL;
	}
	t3_device_list_free(list);
	if (!dev)
		guest_fail(__FILE__, __LINE__, "no rank %u of a %s of %u in this VM", rank,
			   full ? "full fabric" : "ring", ranks);
	return dev;
}

void coll_open(struct coll *coll, uint32_t ranks, bool full)
{
	uint32_t r;

	memset(coll, 0, sizeof(*coll));
	coll->ranks = ranks;
	for (r = 0; r < ranks; r++)
		coll->dev[r] = coll_device(ranks, full, r);
	CHECK_EQ(t3_comm_create_local(coll->dev, ranks, coll->comm), 0);
}

void coll_close(struct coll *coll)
{
	uint32_t r;

	for (r = 0; r < coll->ranks; r++)
		t3_comm_destroy(coll->comm[r]);
	for (r = 0; r < coll->ranks; r++)
		t3_device_close(coll->dev[r]);
}

/* -------------------------------------------------------------------------- input */

static bool reduces(const struct coll_job *job)
{
	return job->desc.collective == T3_REDUCE_SCATTER || job->desc.collective == T3_ALL_REDUCE;
}

static bool is_in_order(const struct coll_job *job)
{
	return job->desc.flags & T3_PLAN_DETERMINISTIC;
}

/* The algorithm of AUTO. */
static uint32_t algorithm(const struct coll_job *job)
{
	if (job->desc.algorithm)
		return job->desc.algorithm;
	if (!job->full)
		return T3_ALGORITHM_RING;
	if (job->grouped && job->ranks > 2 && job->desc.collective != T3_ALL_TO_ALL)
		return T3_ALGORITHM_SWITCH;
	return job->nodes > 1 && job->ranks > job->nodes && !is_in_order(job) &&
			       job->desc.collective != T3_ALL_TO_ALL
		       ? T3_ALGORITHM_HIERARCHICAL
		       : T3_ALGORITHM_DIRECT;
}

uint32_t coll_value(const struct coll_job *job, uint32_t epoch, uint32_t rank, uint64_t e)
{
	uint32_t size = ref_size(job->desc.dtype);
	uint64_t h = job->seed + epoch * UINT64_C(0x9e3779b97f4a7c15) + rank * 0x85ebca6bu + e;

	h = (h ^ h >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
	h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
	h ^= h >> 31;
	/* Sums of floats that arrive in any order must be exact. */
	if ((algorithm(job) == T3_ALGORITHM_DIRECT || algorithm(job) == T3_ALGORITHM_SWITCH) &&
	    job->desc.op == DRM_T3_OP_ADD && job->desc.dtype != DRM_T3_I32 && !is_in_order(job))
		return ref_small(job->desc.dtype, (int)(h % 7) - 3);
	return size == 4 ? (uint32_t)h : (uint32_t)h & ((1u << 8 * size) - 1);
}

void *coll_input(const struct coll_job *job, uint32_t epoch, uint32_t rank)
{
	uint32_t size = ref_size(job->desc.dtype), value;
	unsigned char *input = malloc(job->desc.count * size);
	uint64_t e;

	CHECK(input);
	for (e = 0; e < job->desc.count; e++) {
		value = coll_value(job, epoch, rank, e);
		memcpy(input + e * size, &value, size);
	}
	return input;
}

void coll_chunk(const struct coll_job *job, uint32_t chunk, uint64_t *first, uint64_t *count)
{
	uint64_t row = job->desc.columns ? job->desc.columns : 1;
	uint64_t rows = job->desc.count / row;
	uint32_t c, chunks = job->ranks;

	if (job->desc.collective == T3_ALL_REDUCE && algorithm(job) == T3_ALGORITHM_HIERARCHICAL)
		chunks /= job->nodes;
	*first = 0;
	for (c = 0;; c++) {
		*count = (rows / chunks + (c < rows % chunks)) * row;
		if (c == chunk)
			return;
		*first += *count;
	}
}

/* ------------------------------------------------------------------------ results */

/* Add what came to what is there, as a tile does from its identity on. */
static uint32_t add(const struct coll_job *job, uint32_t sum, uint32_t with)
{
	uint32_t dtype = job->desc.dtype, op = job->desc.op;

	sum = ref_apply(dtype, op, ref_identity(dtype, op), sum);
	return ref_apply(dtype, op, sum, with);
}

/* The sum of a node's ranks, from a place on. */
static uint32_t node_sum(const struct coll_job *job, uint32_t epoch, uint32_t node, uint32_t from,
			 uint64_t e)
{
	uint32_t each = job->ranks / job->nodes, i, rank;
	uint32_t sum = ref_identity(job->desc.dtype, job->desc.op);

	for (i = 0; i < each; i++) {
		rank = node * each + (from + i) % each;
		sum = add(job, sum, coll_value(job, epoch, rank, e));
	}
	return sum;
}

static uint32_t reduced_over_nodes(const struct coll_job *job, uint32_t epoch, uint32_t chunk,
				   uint64_t e)
{
	uint32_t nodes = job->nodes, each = job->ranks / nodes, i, sum;
	uint32_t home = job->desc.collective == T3_ALL_REDUCE ? chunk % nodes : chunk / each;

	sum = node_sum(job, epoch, (home + 1) % nodes, chunk % each + 1, e);
	for (i = 2; i <= nodes; i++)
		sum = add(job, sum, node_sum(job, epoch, (home + i) % nodes, chunk % each, e));
	return sum;
}

static uint32_t reduced(const struct coll_job *job, uint32_t epoch, uint32_t chunk, uint64_t e)
{
	uint32_t sum = ref_identity(job->desc.dtype, job->desc.op), i;

	if (is_in_order(job))
		chunk = job->ranks - 1;
	if (algorithm(job) == T3_ALGORITHM_HIERARCHICAL)
		return reduced_over_nodes(job, epoch, chunk, e);
	for (i = 1; i <= job->ranks; i++)
		sum = add(job, sum, coll_value(job, epoch, (chunk + i) % job->ranks, e));
	return sum;
}

uint64_t coll_elements(const struct coll_job *job, uint32_t rank)
{
	uint64_t first, count;

	coll_chunk(job, rank, &first, &count);
	switch (job->desc.collective) {
	case T3_REDUCE_SCATTER:
		return count;
	case T3_ALL_TO_ALL:
		return count * job->ranks;
	default:
		return job->desc.count;
	}
}

static uint32_t expected(const struct coll_job *job, uint32_t epoch, uint32_t rank, uint64_t e)
{
	uint32_t chunk = 0;
	uint64_t first, count;

	coll_chunk(job, rank, &first, &count);
	if (job->desc.collective == T3_REDUCE_SCATTER)
		return reduced(job, epoch, rank, first + e);
	if (job->desc.collective == T3_ALL_TO_ALL)
		return coll_value(job, epoch, (uint32_t)(e / count), first + e % count);
	if (job->desc.collective == T3_BROADCAST)
		return coll_value(job, epoch, job->desc.root, e);
	for (coll_chunk(job, 0, &first, &count); e >= first + count;)
		coll_chunk(job, ++chunk, &first, &count);
	return reduces(job) ? reduced(job, epoch, chunk, e) : coll_value(job, epoch, chunk, e);
}

void coll_check(const struct coll_job *job, uint32_t epoch, uint32_t rank, const void *data)
{
	uint32_t size = ref_size(job->desc.dtype), got, want;
	uint64_t e, elements = coll_elements(job, rank);

	for (e = 0; e < elements; e++) {
		got = 0;
		memcpy(&got, (const char *)data + e * size, size);
		want = expected(job, epoch, rank, e);
		if (got == want)
			continue;
		guest_fail(__FILE__, __LINE__,
			   "collective %u (algorithm %u, count %llu, type %u, op %u) epoch %u "
			   "rank %u of %u: element %llu is %#x, not %#x",
			   job->desc.collective, algorithm(job),
			   (unsigned long long)job->desc.count, job->desc.dtype, job->desc.op,
			   epoch, rank, job->ranks, (unsigned long long)e, got, want);
	}
}

void coll_check_plan(const struct coll_job *job, struct t3_plan *plan, uint32_t epoch,
		     uint32_t rank)
{
	const void *data;
	uint64_t bytes;

	CHECK_EQ(t3_plan_result(plan, &data, &bytes), 0);
	CHECK_EQ(bytes, coll_elements(job, rank) * ref_size(job->desc.dtype));
	coll_check(job, epoch, rank, data);
}

/* ------------------------------------------------------------------------ putting */

/* Pieces of different sizes, from the last one down. */
static void put_pieces(const struct coll_job *job, struct t3_plan *plan, const char *from,
		       uint64_t first, uint64_t count)
{
	uint32_t size = ref_size(job->desc.dtype);
	uint64_t n = 1;

	for (; count; count -= n) {
		n = n * 7 % 61 + 1;
		n = n < count ? n : count;
		CHECK_EQ(t3_plan_put(plan, first + count - n, from + (count - n) * size, n), 0);
	}
}

/* A view has the chunk's tiles and the pitch of a packed matrix. */
static void put_tiles(const struct coll_job *job, struct t3_plan *plan, const char *from,
		      uint32_t chunk, enum coll_way way)
{
	struct t3_view view;
	struct t3_tile tile;
	uint64_t i;

	CHECK_EQ(t3_plan_view(plan, chunk, &view), 0);
	CHECK_EQ(view.desc.pitch, view.desc.row_bytes);
	if (job->desc.columns)
		CHECK_EQ(view.desc.row_bytes, job->desc.columns * ref_size(job->desc.dtype));
	for (i = 0; t3_desc_tile(&view.desc, i, &tile) == 0; i++) {
		if (way == COLL_TILES)
			CHECK_EQ(t3_plan_put_tile(plan, chunk, i, from + tile.offset,
						  view.desc.pitch),
				 0);
		else
			CHECK_EQ(t3_store_tile(&view, i, from + tile.offset, view.desc.pitch), 0);
	}
}

void coll_put(const struct coll_job *job, struct t3_plan *plan, const void *input,
	      enum coll_way way)
{
	uint32_t size = ref_size(job->desc.dtype), i, chunk;
	uint64_t first, count;
	const char *from;

	for (i = 0; (chunk = t3_plan_order(plan, i)) != T3_PLAN_NO_CHUNK; i++) {
		CHECK_EQ(t3_plan_chunk(plan, chunk, &first, &count), 0);
		if (!count)
			continue;
		from = (const char *)input + first * size;
		if (way == COLL_CHUNKS)
			CHECK_EQ(t3_plan_put(plan, first, from, count), 0);
		else if (way == COLL_PIECES)
			put_pieces(job, plan, from, first, count);
		else
			put_tiles(job, plan, from, chunk, way);
	}
}

/* ------------------------------------------------------------------- one thread */

static void run_epoch(struct coll *coll, const struct coll_job *job, uint32_t epoch)
{
	void *input;
	uint32_t r;

	for (r = 0; r < coll->ranks; r++)
		CHECK_EQ(t3_plan_arm(coll->plan[r]), 0);
	for (r = 0; r < coll->ranks; r++)
		CHECK_EQ(t3_plan_ready(coll->plan[r], COLL_DEADLINE), 0);
	for (r = 0; r < coll->ranks; r++) {
		input = coll_input(job, epoch, r);
		coll_put(job, coll->plan[r], input, (epoch + r) % COLL_WAYS);
		free(input);
	}
	for (r = 0; r < coll->ranks; r++) {
		if (t3_plan_wait(coll->plan[r], COLL_DEADLINE))
			guest_fail(__FILE__, __LINE__, "%s", t3_plan_error(coll->plan[r]));
		CHECK_EQ(t3_plan_epoch(coll->plan[r]), epoch);
	}
	for (r = 0; r < coll->ranks; r++)
		coll_check_plan(job, coll->plan[r], epoch, r);
}

void coll_run(struct coll *coll, const struct coll_job *job, uint32_t epochs)
{
	uint32_t e, r;

	if (t3_plan_create_all(coll->comm, coll->ranks, &job->desc, coll->plan))
		guest_fail(__FILE__, __LINE__, "%s", t3_comm_error(coll->comm[0]));
	for (e = 1; e <= epochs; e++)
		run_epoch(coll, job, e);
	for (r = 0; r < coll->ranks; r++)
		t3_plan_destroy(coll->plan[r]);
}
