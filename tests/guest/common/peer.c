// SPDX-License-Identifier: MIT
#include "peer.h"

#define EPOCHS	  3u
#define SPLIT_ROW 3u
#define SPLIT_COL 5u
#define QUADRANTS 4u

/*
 * STORE has one writer for each element. Otherwise the parent updates twice and the child once. A
 * remote segment sends both updates, a dma segment their sum.
 */
static const uint32_t seeds[] = { 1, 2, 3 };
#define PARENT_SEEDS 2u

static size_t seed_count(const struct peer_case *c)
{
	return c->op == DRM_T3_OP_STORE ? 1 : ROWS(seeds);
}

static size_t parent_seeds(const struct peer_case *c)
{
	return c->op == DRM_T3_OP_STORE ? 1 : PARENT_SEEDS;
}

static uint32_t child_updates(const struct peer_case *c)
{
	uint32_t sent = c->kind == DRM_T3_SEGMENT_DMA ? 1 : (uint32_t)parent_seeds(c);

	return sent + (uint32_t)(seed_count(c) - parent_seeds(c));
}

/* ----------------------------------------------------------------- the child */

static void child_epoch(struct job *job, const struct t3_segment_desc *desc,
			const struct peer_case *c, uint32_t epoch)
{
	size_t i;

	CHECK_EQ(t3_arm(job->space, epoch), 0);
	CHECK_EQ(t3_wait_armed(job->space, epoch, t3_deadline(10000000000)), 0);
	for (i = parent_seeds(c); i < seed_count(c); i++)
		job_write(job, desc, c->path, seeds[i] + epoch);
	job_check(job, desc, epoch);
}

static void child_body(int sock, void *arg)
{
	const struct peer_case *c = arg;
	uint32_t epoch, grant, mine[ROWS(seeds)];
	struct t3_segment_desc desc;
	struct job job;
	size_t i;
	int fd;

	job_open(&job, 1);
	job_desc(&desc, c->dtype, c->op);
	desc.segment = 9;
	desc.updates = child_updates(c);
	CHECK_EQ(t3_local_map(job.space, &desc), 0);
	job_stage(&job, &desc);
	CHECK_EQ(t3_grant_export(job.space, 1ull << 9, 1u << c->op, &fd, &grant), 0);
	send_fd(sock, fd);
	close(fd);
	for (epoch = 1; epoch <= EPOCHS; epoch++) {
		child_epoch(&job, &desc, c, epoch);
		for (i = 0; i < ROWS(seeds); i++)
			mine[i] = seeds[i] + epoch;
		job_expect(&job, &desc, mine, seed_count(c));
		CHECK_EQ(t3_release(job.space, epoch), 0);
	}
	receive_u32(sock); /* the parent has succeeded as well */
	job_close(&job);
}

/* ---------------------------------------------------------------- the parent */

static void quadrant_desc(const struct peer_case *c, uint32_t index, struct t3_segment_desc *desc,
			  struct job_update *origin)
{
	uint32_t size = t3_dtype_bytes(c->dtype);
	bool lower = index / 2, right = index % 2;

	job_desc(desc, c->dtype, c->op);
	desc->segment = index;
	desc->offset = index * 1024;
	desc->updates = (uint32_t)parent_seeds(c);
	desc->rows = lower ? JOB_ROWS - SPLIT_ROW : SPLIT_ROW;
	desc->row_bytes = (right ? JOB_COLS - SPLIT_COL : SPLIT_COL) * size;
	desc->tile_rows = 2;
	desc->tile_row_bytes = 3 * size;
	if (c->kind == DRM_T3_SEGMENT_REMOTE)
		desc->op = desc->init = 0;
	origin->path = c->path;
	origin->row = lower ? SPLIT_ROW : 0;
	origin->col = right ? SPLIT_COL : 0;
}

static void map_quadrants(struct job *job, const struct peer_case *c, uint32_t import)
{
	struct t3_segment_desc desc;
	struct job_update origin;
	struct t3_target target;
	uint32_t i;

	for (i = 0; i < QUADRANTS; i++) {
		quadrant_desc(c, i, &desc, &origin);
		target = (struct t3_target){
			.import = import,
			.op = c->op,
			.segment = 9,
			.row = origin.row,
			.col = origin.col * t3_dtype_bytes(c->dtype),
		};
		if (c->kind == DRM_T3_SEGMENT_REMOTE)
			CHECK_EQ(t3_remote_map(job->space, &desc, &target), 0);
		else
			CHECK_EQ(t3_dma_map(job->space, &desc, &target), 0);
		job_stage(job, &desc);
	}
}

static void parent_epoch(struct job *job, const struct peer_case *c, uint32_t epoch)
{
	struct t3_segment_desc desc;
	struct job_update update;
	uint32_t i;
	size_t k;

	CHECK_EQ(t3_arm(job->space, epoch), 0);
	CHECK_EQ(t3_wait_armed(job->space, epoch, t3_deadline(10000000000)), 0);
	for (k = 0; k < parent_seeds(c); k++) {
		for (i = 0; i < QUADRANTS; i++) {
			quadrant_desc(c, i, &desc, &update);
			update.seed = seeds[k] + epoch;
			job_update(job, &desc, &update);
		}
	}
	for (i = 0; i < QUADRANTS; i++) {
		quadrant_desc(c, i, &desc, &update);
		job_check(job, &desc, epoch);
	}
	CHECK_EQ(t3_release(job->space, epoch), 0);
}

void peer_run(const struct peer_case *c)
{
	struct peer_case copy = *c;
	struct t3_import_info info;
	struct child child;
	uint32_t import, epoch;
	struct job job;
	int fd;

	child_start(&child, child_body, &copy);
	job_open(&job, 0);
	fd = receive_fd(child.sock);
	CHECK_EQ(t3_grant_import(job.space, fd, &import, &info), 0);
	close(fd);
	CHECK_EQ(info.rank, 1);
	CHECK_EQ(info.segment_mask, 1ull << 9);
	CHECK_EQ(info.op_mask, 1u << c->op);
	map_quadrants(&job, c, import);
	for (epoch = 1; epoch <= EPOCHS; epoch++)
		parent_epoch(&job, c, epoch);
	send_u32(child.sock, 1);
	CHECK_EQ(child_end(&child, 10000), 0);
	job_close(&job);
}

void peer_run_all(uint32_t kind, uint32_t op)
{
	struct peer_case c = { .kind = kind, .op = op };

	for (c.dtype = DRM_T3_I32; c.dtype <= DRM_T3_BF16; c.dtype++)
		for (c.path = PATH_STORE; c.path < PATHS; c.path++)
			peer_run(&c);
}
