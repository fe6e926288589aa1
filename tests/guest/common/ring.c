// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "child.h"
#include "ring.h"

#define CHUNK_ROWS 4u
#define CHUNK_COLS 8u
#define CHUNK	   (CHUNK_ROWS * CHUNK_COLS) /* elements */
#define STRIDE	   JOB_SLOT

/* One rank's process. */
struct member {
	const struct ring *ring;
	uint32_t rank;
	struct ring_rank *result;
	pthread_barrier_t *barrier;
	struct job job;
	struct t3_segment_desc desc[RING_RANKS_MAX];
};

/* What the parent passes to all children. */
struct shared {
	pthread_barrier_t barrier;
	struct ring_rank result[RING_RANKS_MAX];
};

struct start {
	const struct ring *ring;
	struct shared *shared;
	uint32_t rank;
	int (*edge)[2]; /* edge[r]: grants of rank r go to rank r - 1 */
};

static uint32_t chunk_at(const struct member *m, uint32_t step)
{
	return (m->rank + m->ring->ranks - 1 - step) % m->ring->ranks;
}

static uint32_t kind_of(const struct member *m, uint32_t chunk)
{
	if (chunk == m->rank)
		return DRM_T3_SEGMENT_LOCAL;
	return chunk == chunk_at(m, 0) ? DRM_T3_SEGMENT_REMOTE : DRM_T3_SEGMENT_DMA;
}

static uint32_t value(uint32_t rank, uint32_t iteration, uint32_t chunk, uint32_t index)
{
	return (iteration * 2654435761u + chunk * 40503u + index) * (2 * rank + 3);
}

/* ------------------------------------------------------------------- set-up */

static void describe(struct member *m, uint32_t chunk)
{
	bool remote = kind_of(m, chunk) == DRM_T3_SEGMENT_REMOTE;

	m->desc[chunk] = (struct t3_segment_desc){
		.segment = chunk,
		.op = remote ? 0 : DRM_T3_OP_ADD,
		.dtype = DRM_T3_I32,
		.init = remote ? 0 : DRM_T3_INIT_IDENTITY,
		.updates = remote ? 1 : 2,
		.rows = CHUNK_ROWS,
		.offset = chunk * STRIDE,
		.row_bytes = 4 * CHUNK_COLS,
		.pitch = 4 * CHUNK_COLS,
		.tile_rows = 2,
		.tile_row_bytes = 2 * CHUNK_COLS,
	};
}

static void map_chunk(struct member *m, uint32_t chunk, uint32_t import)
{
	struct t3_target target = { .import = import, .op = DRM_T3_OP_ADD, .segment = chunk };

	describe(m, chunk);
	switch (kind_of(m, chunk)) {
	case DRM_T3_SEGMENT_LOCAL:
		CHECK_EQ(t3_local_map(m->job.space, &m->desc[chunk]), 0);
		break;
	case DRM_T3_SEGMENT_REMOTE:
		CHECK_EQ(t3_remote_map(m->job.space, &m->desc[chunk], &target), 0);
		break;
	default:
		CHECK_EQ(t3_dma_map(m->job.space, &m->desc[chunk], &target), 0);
	}
	job_stage(&m->job, &m->desc[chunk]);
}

static void set_up(struct member *m, const struct start *start)
{
	uint32_t ranks = m->ring->ranks, import, grant, chunk;
	uint64_t others = ((1ull << ranks) - 1) & ~(1ull << chunk_at(m, 0));
	int fd;

	job_open(&m->job, m->rank);
	t3_space_set_spin(m->job.space, m->ring->spin_ns);
	CHECK_EQ(t3_grant_export(m->job.space, others, 1u << DRM_T3_OP_ADD, &fd, &grant), 0);
	send_fd(start->edge[m->rank][0], fd);
	close(fd);
	fd = receive_fd(start->edge[(m->rank + 1) % ranks][1]);
	CHECK_EQ(t3_grant_import(m->job.space, fd, &import, NULL), 0);
	close(fd);
	for (chunk = 0; chunk < ranks; chunk++)
		map_chunk(m, chunk, import);
}

/* --------------------------------------------------------------- iterations */

static int64_t wait_until(const struct member *m)
{
	return m->ring->wait_ms == RING_FOREVER ? INT64_MAX
						: t3_deadline(m->ring->wait_ms * 1000000ull);
}

static void at_position(const struct member *m, uint32_t iteration, int position)
{
	const struct ring *ring = m->ring;
	uint32_t positions = (uint32_t)RING_POSITIONS(ring->ranks);

	if (ring->kill_iteration == iteration && ring->kill_rank == m->rank &&
	    ring->kill_position == position)
		kill(getpid(), SIGKILL);
	if (ring->delay_in_turn &&
	    (iteration - 1) % (ring->ranks * positions) == m->rank * positions + position)
		nap_ms(ring->delay_ms);
}

/* Only waits make system calls, so strict members may use it. */
static void produce(struct member *m, uint32_t iteration, uint32_t chunk)
{
	const struct t3_segment_desc *desc = &m->desc[chunk];
	bool staged = m->ring->path == PATH_DOORBELL;
	uint32_t data[CHUNK], i;
	struct t3_view view;
	struct t3_tile at;

	for (i = 0; i < CHUNK; i++)
		data[i] = value(m->rank, iteration, chunk, i);
	if (staged)
		t3_view_memory(m->job.image + chunk * JOB_SLOT, desc, &view);
	else
		t3_view_aperture(m->job.space, desc, &view);
	for (i = 0; i < t3_desc_tiles(desc); i++) {
		t3_desc_tile(desc, i, &at);
		if (staged) {
			t3_stage_tile(&view, i, (char *)data + at.offset, desc->pitch);
			t3_doorbell_tile(m->job.space, chunk, 0, i);
		} else {
			t3_store_tile(&view, i, (char *)data + at.offset, desc->pitch);
		}
	}
}

static uint32_t count_wrong(const struct member *m, uint32_t iteration)
{
	const volatile uint32_t *got = (void *)(m->job.memory + m->rank * STRIDE);
	uint32_t wrong = 0, i, rank, sum;

	for (i = 0; i < CHUNK; i++) {
		for (sum = 0, rank = 0; rank < m->ring->ranks; rank++)
			sum += value(rank, iteration, m->rank, i);
		wrong += got[i] != sum;
	}
	return wrong;
}

static int iterate(struct member *m, uint32_t iteration)
{
	struct t3_space *space = m->job.space;
	uint32_t ranks = m->ring->ranks, step;
	int ret;

	at_position(m, iteration, RING_BEFORE_ARM);
	ret = t3_arm(space, iteration);
	if (ret)
		return ret;
	at_position(m, iteration, RING_BEFORE_ARMED);
	ret = t3_wait_armed(space, iteration, wait_until(m));
	if (ret)
		return ret;
	for (step = 0; step < ranks; step++) {
		at_position(m, iteration, RING_FIRST_CHUNK + (int)step);
		produce(m, iteration, chunk_at(m, step));
	}
	at_position(m, iteration, RING_BEFORE_WAIT(ranks));
	ret = t3_wait(space, iteration, 0, T3_DELIVERED, wait_until(m));
	if (ret)
		return ret;
	m->result->wrong += count_wrong(m, iteration);
	at_position(m, iteration, RING_BEFORE_RELEASE(ranks));
	return t3_release(space, iteration);
}

static void run_iterations(struct member *m)
{
	uint32_t i;

	for (i = 1; i <= m->ring->iterations && !m->result->error; i++) {
		m->result->error = iterate(m, i);
		m->result->iteration = i;
	}
}

static void note_end(struct member *m)
{
	m->result->end_ns = now_ns();
	if (m->result->error == -EIO)
		CHECK_EQ(t3_space_fault(m->job.space, &m->result->fault), 0);
}

static void member_body(int sock, void *arg)
{
	const struct start *start = arg;
	struct member m = {
		.ring = start->ring,
		.rank = start->rank,
		.result = &start->shared->result[start->rank],
		.barrier = &start->shared->barrier,
	};

	(void)sock;
	set_up(&m, start);
	pthread_barrier_wait(m.barrier);
	if (m.ring->strict) {
		CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT), 0);
		run_iterations(&m);
		syscall(SYS_exit, 0); /* the only exit that strict mode allows */
	}
	run_iterations(&m);
	note_end(&m);
	if (!m.ring->kill_iteration)
		pthread_barrier_wait(m.barrier); /* no process ends while others work */
	job_close(&m.job);
}

/* ------------------------------------------------------------------- parent */

static struct shared *make_shared(uint32_t ranks)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_barrierattr_t attr;

	CHECK(shared != MAP_FAILED);
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->barrier, &attr, ranks);
	return shared;
}

static void start_all(const struct ring *ring, struct shared *shared, struct child *child)
{
	int edge[RING_RANKS_MAX][2];
	struct start start = { .ring = ring, .shared = shared, .edge = edge };
	uint32_t r;

	for (r = 0; r < ring->ranks; r++)
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, edge[r]), 0);
	for (r = 0; r < ring->ranks; r++) {
		start.rank = r;
		child_start(&child[r], member_body, &start);
	}
	for (r = 0; r < ring->ranks; r++) {
		close(edge[r][0]);
		close(edge[r][1]);
	}
}

void ring_run(const struct ring *ring, struct ring_rank *result, int limit_ms)
{
	struct child child[RING_RANKS_MAX];
	int64_t end = after_ms(limit_ms), left;
	struct shared *shared;
	uint32_t r;

	CHECK(ring->ranks >= 2 && ring->ranks <= RING_RANKS_MAX);
	guest_node(0);
	shared = make_shared(ring->ranks);
	start_all(ring, shared, child);
	for (r = 0; r < ring->ranks; r++) {
		left = (end - now_ns()) / 1000000;
		shared->result[r].status = child_end(&child[r], left > 0 ? (int)left : 0);
	}
	memcpy(result, shared->result, ring->ranks * sizeof(*result));
	munmap(shared, sizeof(*shared));
}

void ring_check(const struct ring *ring, const struct ring_rank *result)
{
	uint32_t r;

	for (r = 0; r < ring->ranks; r++) {
		if (result[r].status == 0 && result[r].error == 0 && result[r].wrong == 0 &&
		    result[r].iteration == ring->iterations)
			continue;
		guest_fail(__FILE__, __LINE__,
			   "rank %u: status %d, error %d, iteration %u of %u, %u wrong, "
			   "fault %u detail %u from rank %u",
			   r, result[r].status, result[r].error, result[r].iteration,
			   ring->iterations, result[r].wrong, result[r].fault.kind,
			   result[r].fault.detail, result[r].fault.src_rank);
	}
}
