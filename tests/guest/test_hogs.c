// SPDX-License-Identifier: MIT
/*
 * One client works while five others try to use all of the device. Some of these are killed from
 * time to time. The client gets right results and its share of the engine. The device's own counter
 * of work measures the share, never time.
 *
 * usage: test_hogs [--seconds N] [--promise PERCENT]
 *
 * --promise: of an equal share, that the client must get in each round (80)
 */
#include <fcntl.h>
#include <getopt.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "debugfs.h"
#include "hogs.h"
#include "module.h"
#include "queue.h"
#include "raw.h"
#include "t3_hw.h"

#define SECONDS	    12 /* times guest_slowness() */
#define PROMISE	    80
#define WAIT_MS	    60000 /* times guest_slowness() */
#define PROGRESS_MS 10000
#define KILL_ROUNDS 2 /* after this number one hostile client is killed */
#define FULL_SHARE  10000u
#define UID_HONEST  2000u

static struct {
	long seconds;
	uint32_t promise;
} opts = { .promise = PROMISE };

static int wait_ms(void)
{
	return WAIT_MS * (int)guest_slowness();
}

/* -------------------------------------------------------------- the honest one */

#define COPY_BYTES (8u << 20)
#define COPIES	   64u
#define SIDE	   64u
#define SEND_ROWS  16u
#define SEND_PITCH 256u
#define SEND_BYTES (SEND_ROWS * SEND_PITCH)
/* SPEC.md 8.2: each copy has a step that begins it, then one for each piece, and a completion. */
#define STEP_BYTES 4096u
#define STEP_WORK  3500u
#define HOST_WORK  1600u
#define BYTE_WORK  4u
#define COPY_WORK \
	(STEP_WORK + COPY_BYTES / STEP_BYTES * (STEP_WORK + STEP_BYTES * BYTE_WORK) + 3 * HOST_WORK)

struct honest {
	int fd;
	uint32_t queue, sync, src, dst;
	uint8_t *from, *to;
	uint32_t matrices; /* a, b, and their product */
	int32_t *values;
	struct raw source, target;
	uint32_t epoch;
};

static uint64_t engine_work(int fd)
{
	struct drm_t3_counters counters;
	struct drm_t3_query query = {
		.type = DRM_T3_QUERY_COUNTERS,
		.size = sizeof(counters),
		.data = (uintptr_t)&counters,
	};

	CHECK_EQ(call(fd, DRM_IOCTL_T3_QUERY, &query), 0);
	return counters.value[T3_COUNTER_ENGINE_WORK];
}

static void open_transfer(struct honest *h)
{
	struct drm_t3_segment_map segment;

	raw_create(&h->source, h->fd, SEND_BYTES);
	raw_open(&h->target, 1, SEND_BYTES);
	segment = raw_segment(&h->target);
	segment.rows = SEND_ROWS;
	segment.row_bytes = segment.pitch = SEND_PITCH;
	CHECK_EQ(raw_map(&h->target, &segment), 0);
	segment.space = h->source.space;
	segment.kind = DRM_T3_SEGMENT_DMA;
	segment.import = raw_join(&h->source, &h->target);
	segment.target_op = DRM_T3_OP_ADD;
	segment.target_row = 0;
	CHECK_EQ(raw_map(&h->source, &segment), 0);
}

static void honest_open(struct honest *h)
{
	memset(h, 0, sizeof(*h));
	h->fd = open(guest_node(0), O_RDWR | O_CLOEXEC);
	CHECK(h->fd >= 0);
	CHECK_EQ(queue_create(h->fd, 0, &h->queue), 0);
	h->sync = sync_create(h->fd);
	CHECK_EQ(bo_create(h->fd, COPY_BYTES, &h->src), 0);
	CHECK_EQ(bo_create(h->fd, COPY_BYTES, &h->dst), 0);
	CHECK_EQ(bo_create(h->fd, 3 * SIDE * SIDE * 4, &h->matrices), 0);
	h->from = bo_map(h->fd, h->src, COPY_BYTES);
	h->to = bo_map(h->fd, h->dst, COPY_BYTES);
	h->values = bo_map(h->fd, h->matrices, 3 * SIDE * SIDE * 4);
	open_transfer(h);
}

/* Its file ends, too, and all its objects are freed. */
static void honest_close(struct honest *h)
{
	munmap(h->from, COPY_BYTES);
	munmap(h->to, COPY_BYTES);
	munmap(h->values, 3 * SIDE * SIDE * 4);
	raw_close(&h->target);
	raw_close(&h->source);
}

static void run_job(const struct honest *h, const union drm_t3_any_command *commands,
		    uint32_t count)
{
	struct submission s = submission(h->queue, commands, count);

	submission_out(&s, h->sync, 0);
	CHECK_EQ(submit(h->fd, &s), 0);
	CHECK_EQ(sync_wait(h->fd, h->sync, 0, wait_ms()), 0);
	CHECK_EQ(sync_status(h->fd, h->sync), 1);
}

/*
 * All in one job. The device has its descriptors in the ring from beginning to end, and no
 * submission is waited for. Returns the engine's work for all clients meanwhile.
 */
static uint64_t run_copies(const struct honest *h, uint32_t count)
{
	union drm_t3_any_command copies[COPIES];
	uint64_t before;
	uint32_t i;

	for (i = 0; i < count; i++)
		copies[i] = command_copy(h->dst, h->src, COPY_BYTES);
	before = engine_work(h->fd);
	run_job(h, copies, count);
	return engine_work(h->fd) - before;
}

/* Returns its share. Delays of submission and wake-up count against it. */
static uint32_t copy_round(const struct honest *h, uint32_t seed)
{
	uint64_t *words = (uint64_t *)h->from, all;
	uint32_t i;

	for (i = 0; i < COPY_BYTES / 8; i++)
		words[i] = (seed * 0x9e3779b97f4a7c15ull) ^ i;
	all = run_copies(h, COPIES);
	words = (uint64_t *)h->to;
	for (i = 0; i < COPY_BYTES / 8; i++)
		CHECK_EQ(words[i], (seed * 0x9e3779b97f4a7c15ull) ^ i);
	return (uint32_t)((uint64_t)COPIES * COPY_WORK * FULL_SHARE / all);
}

static void check_product(const int32_t *a, const int32_t *b, const int32_t *c)
{
	uint32_t row, column, k;
	int32_t sum;

	for (row = 0; row < SIDE; row++) {
		for (column = 0; column < SIDE; column++) {
			for (sum = 0, k = 0; k < SIDE; k++)
				sum += a[row * SIDE + k] * b[k * SIDE + column];
			CHECK_EQ(c[row * SIDE + column], sum);
		}
	}
}

static void product_round(struct honest *h, uint32_t seed)
{
	const union drm_t3_any_command command = { .gemm = {
							   .head.type = DRM_T3_COMMAND_GEMM,
							   .rows = SIDE,
							   .columns = SIDE,
							   .depth = SIDE,
							   .dtype = DRM_T3_I32,
							   .a = { .handle = h->matrices,
								  .pitch = SIDE * 4 },
							   .b = { .handle = h->matrices,
								  .offset = SIDE * SIDE * 4,
								  .pitch = SIDE * 4 },
							   .dst = { .handle = h->matrices,
								    .offset = 2 * SIDE * SIDE * 4,
								    .pitch = SIDE * 4 },
							   .chunk_rows = SIDE,
							   .raster_rows = 1,
							   .group_rows = 32,
							   .group_columns = 32,
							   .tile_rows = 16,
							   .tile_columns = 16,
						   } };
	static int32_t copy[3 * SIDE * SIDE];
	uint32_t i;

	for (i = 0; i < 2 * SIDE * SIDE; i++)
		h->values[i] = (int32_t)((seed + i) * 2654435761u >> 20);
	run_job(h, &command, 1);
	memcpy(copy, h->values, sizeof(copy));
	check_product(copy, copy + SIDE * SIDE, copy + 2 * SIDE * SIDE);
}

static void transfer_round(struct honest *h)
{
	uint32_t epoch = ++h->epoch, i;

	raw_arm(&h->target, epoch);
	raw_arm(&h->source, epoch);
	CHECK_EQ(raw_wait(&h->source, DRM_T3_WAIT_ARMED, epoch, 0, after_ms(wait_ms())), 0);
	raw_fill(&h->source, 0, SEND_BYTES, epoch + 7);
	CHECK_EQ(raw_wait(&h->target, DRM_T3_WAIT_DELIVERED, epoch, 1, after_ms(wait_ms())), 0);
	CHECK_EQ(raw_wait(&h->source, DRM_T3_WAIT_DELIVERED, epoch, 1, after_ms(wait_ms())), 0);
	for (i = 0; i < SEND_BYTES / 4; i++)
		CHECK_EQ(((volatile uint32_t *)h->target.memory)[i], epoch + 7);
	raw_release(&h->target, epoch);
	raw_release(&h->source, epoch);
}

/* Runs a round for each word that comes. The answer is the share. */
static void honest_body(int sock, void *arg)
{
	struct honest h;
	uint32_t seed, share;

	(void)arg;
	alarm(0);
	guest_node(0);
	become(UID_HONEST, true);
	honest_open(&h);
	send_u32(sock, 0);
	while ((seed = receive_u32(sock))) {
		share = copy_round(&h, seed);
		product_round(&h, seed);
		transfer_round(&h);
		send_u32(sock, share);
	}
	honest_close(&h);
}

/* ----------------------------------------------------------------- the others */

static struct {
	struct child honest, hogs[HOGS];
	uint32_t *done; /* of each, in shared memory */
	uint32_t rounds, kills;
	uint32_t lowest; /* of an equal share, in percent */
	uint64_t sum;	 /* the same, of all rounds */
} scene;

static void start_hog(enum hog hog)
{
	scene.done[hog] = 0;
	hog_start(&scene.hogs[hog], hog, &scene.done[hog]);
}

/* Whether it has worked since it was started. */
static void kill_hog(enum hog hog)
{
	int64_t deadline = after_ms(wait_ms());

	while (!__atomic_load_n(&scene.done[hog], __ATOMIC_RELAXED)) {
		if (now_ns() > deadline)
			guest_fail(__FILE__, __LINE__, "hog '%s' does nothing", hog_names[hog]);
		nap_ms(5);
	}
	child_kill(&scene.hogs[hog]);
	scene.hogs[hog].pid = 0;
	scene.kills++;
}

/* All that use the engine: each is a user. HOG_WAITS uses none, and the jobs of the killed end. */
static uint32_t busy_clients(void)
{
	return HOGS - 1 + 1;
}

static void judge(uint32_t share)
{
	uint32_t percent = share * busy_clients() * 100 / FULL_SHARE;

	scene.rounds++;
	scene.sum += percent;
	if (percent < scene.lowest)
		scene.lowest = percent;
	if (percent < opts.promise)
		guest_fail(__FILE__, __LINE__,
			   "round %u: %u of %u parts of the engine's work, with %u clients: "
			   "%u percent of an equal share, not %u",
			   scene.rounds, share, FULL_SHARE, busy_clients(), percent, opts.promise);
}

static void progress(void)
{
	uint32_t i;

	printf("# %u rounds: of an equal share %u %% at least, %u %% on average; "
	       "%u killed;",
	       scene.rounds, scene.lowest, (uint32_t)(scene.sum / scene.rounds), scene.kills);
	for (i = 0; i < HOGS; i++)
		printf(" %s %u", hog_names[i], scene.done[i]);
	printf("\n");
	fflush(stdout);
}

static void run_rounds(void)
{
	int64_t end = after_ms(1000 * opts.seconds), next = after_ms(PROGRESS_MS);
	enum hog hog;

	while (now_ns() < end || scene.kills < HOGS) {
		alarm(10 * (unsigned int)wait_ms() / 1000);
		send_u32(scene.honest.sock, scene.rounds + 1);
		judge(receive_u32(scene.honest.sock));
		if (now_ns() >= next) {
			progress();
			next = after_ms(PROGRESS_MS);
		}
		if (scene.rounds % KILL_ROUNDS == 0) {
			hog = scene.kills % HOGS;
			kill_hog(hog);
			start_hog(hog);
		}
	}
}

/* Also the leftovers of one that was killed. */
static void await_all_gone(void)
{
	int64_t deadline = after_ms(wait_ms());
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0) {
		CHECK(now_ns() < deadline);
		nap_ms(pid ? 0 : 5);
	}
	CHECK_EQ(errno, ECHILD);
}

static void check_nothing_held(void)
{
	uint32_t rank;

	module_await_unused();
	for (rank = 0; rank < 2; rank++) {
		CHECK_EQ(debugfs_count(debugfs_read(rank, "queues"), "queue=*"), 0);
		CHECK_EQ(debugfs_count(debugfs_read(rank, "spaces"), "space=*"), 0);
	}
}

/* A test that failed leaves no process to the next ones. */
static int end_scene(void)
{
	enum hog hog;

	for (hog = 0; hog < HOGS; hog++)
		if (scene.hogs[hog].pid)
			child_kill(&scene.hogs[hog]);
	if (scene.honest.pid)
		child_kill(&scene.honest);
	await_all_gone();
	module_await_unused();
	return guest_end();
}

/* The unit of all this: the work of a copy, as SPEC.md has it. */
TEST("the work of a copy is counted as SPEC has it")
{
	struct honest h;

	honest_open(&h);
	CHECK_EQ(run_copies(&h, 1), COPY_WORK);
	CHECK_EQ(run_copies(&h, COPIES), (uint64_t)COPIES * COPY_WORK);
	honest_close(&h);
	module_await_unused();
}

TEST_WITH("an honest client has right results and its share among hogs", guest_begin_slow,
	  end_scene)
{
	enum hog hog;

	CHECK_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	scene.done = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(scene.done != MAP_FAILED);
	scene.lowest = ~0u;
	child_start(&scene.honest, honest_body, NULL);
	CHECK_EQ(receive_u32(scene.honest.sock), 0);
	for (hog = 0; hog < HOGS; hog++)
		start_hog(hog);
	run_rounds();
	progress();
	for (hog = 0; hog < HOGS; hog++)
		kill_hog(hog);
	send_u32(scene.honest.sock, 0);
	CHECK_EQ(child_end(&scene.honest, WAIT_MS), 0);
	scene.honest.pid = 0;
	await_all_gone();
	check_nothing_held();
}

TEST("the module goes and comes after the hogs")
{
	struct honest h;

	CHECK_EQ(module_unload(), 0);
	module_load();
	honest_open(&h);
	product_round(&h, 1);
	transfer_round(&h);
	honest_close(&h);
}

TEST("the kernel's log is clean")
{
	check_kernel_log();
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 't' },
		{ "promise", required_argument, NULL, 'p' },
		{ 0 },
	};
	int option;

	opts.seconds = SECONDS * (long)guest_slowness();
	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (option == 't')
			opts.seconds = strtol(optarg, NULL, 10);
		else if (option == 'p')
			opts.promise = (uint32_t)strtoul(optarg, NULL, 10);
		else
			exit(2);
	}
}

int main(int argc, char **argv)
{
	parse(argc, argv);
	return test_run(NULL, NULL);
}
