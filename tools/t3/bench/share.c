// SPDX-License-Identifier: MIT
/*
 * Measures the part of the device's time that one user keeps beside others who never stop: SPEC.md
 * section 8.2. n users are to have at least 0.8/n of it each, by the clock. Each other user is a
 * process with a user id of its own and keeps QUEUES queues busy. Only root can start them.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xf86drm.h>

#include "bench/bench.h"

#define OTHERS_MAX    4u
#define OTHER_UID     61000u
#define QUEUES	      8u /* of another user */
#define OWN_JOBS      4u
#define OWN_BYTES     (4u << 20)
#define OTHER_BYTES   (2u << 20)
#define OWN_ROWS      8192u
#define OTHER_ROWS    4096u
#define ROW_PITCH     64u
#define OWN_SIDE      256u
#define OTHER_SIDE    256u
#define SHARE_ROUNDS  5u
#define STORE_BYTES   16384u
#define STORE_UPDATES 64u
#define PAIR	      UINT64_C(0x3f8000003f800000) /* two f32 of 1 */

enum work { COPIES, UPDATES, GEMMS, STORES, WORKS };

static const char *const work_names[WORKS] = {
	[COPIES] = "copies",
	[UPDATES] = "updates of 2 bytes",
	[GEMMS] = "GEMMs",
	[STORES] = "stores",
};

/* ---------------------------------------------------------------------- a job */

/* A queue with operands of its own, and the size of its jobs. */
struct worker {
	struct bench_queue queue;
	struct t3_buffer *from, *to, *sum;
	uint32_t bytes, rows, side;
};

static int worker_open(struct t3_device *dev, uint32_t bytes, uint32_t rows, uint32_t side,
		       struct worker *w)
{
	int ret;

	*w = (struct worker){ .bytes = bytes, .rows = rows, .side = side };
	ret = t3_buffer_create(dev, bytes, &w->from);
	if (!ret)
		ret = t3_buffer_create(dev, bytes, &w->to);
	if (!ret)
		ret = t3_buffer_create(dev, (uint64_t)side * side * sizeof(float), &w->sum);
	return ret ? ret : bench_queue_open(dev, &w->queue);
}

static void worker_close(struct worker *w)
{
	bench_queue_close(&w->queue);
	t3_buffer_destroy(w->from);
	t3_buffer_destroy(w->to);
	t3_buffer_destroy(w->sum);
}

/* The matrices are zeros, which take as long as other numbers. */
static int worker_submit(const struct worker *w, enum work work)
{
	const struct drm_t3_operand from = { .handle = t3_buffer_handle(w->from) },
				    to = { .handle = t3_buffer_handle(w->to) };
	union drm_t3_any_command command = { 0 };
	uint64_t pitch = w->side * sizeof(float);

	if (work == COPIES) {
		command.copy = (struct drm_t3_copy){ .head.type = DRM_T3_COMMAND_COPY,
						     .rows = 1,
						     .row_bytes = w->bytes,
						     .dst = to,
						     .src = from };
	} else if (work == UPDATES) {
		command.update = (struct drm_t3_update){ .head.type = DRM_T3_COMMAND_UPDATE,
							 .rows = w->rows,
							 .row_bytes = 2,
							 .dst = to,
							 .src = from,
							 .op = DRM_T3_OP_ADD,
							 .dtype = DRM_T3_F16 };
		command.update.dst.pitch = ROW_PITCH;
		command.update.src.pitch = ROW_PITCH;
	} else {
		command.gemm = (struct drm_t3_gemm){ .head.type = DRM_T3_COMMAND_GEMM,
						     .rows = w->side,
						     .columns = w->side,
						     .depth = w->side,
						     .dtype = DRM_T3_F32,
						     .a = from,
						     .b = to,
						     .chunk_rows = w->side,
						     .raster_rows = 1,
						     .group_rows = 32,
						     .group_columns = 32,
						     .tile_rows = 32,
						     .tile_columns = 32 };
		command.gemm.a.pitch = pitch;
		command.gemm.b.pitch = pitch;
		command.gemm.dst.handle = t3_buffer_handle(w->sum);
		command.gemm.dst.pitch = pitch;
	}
	return bench_queue_submit(&w->queue, &command, 1, sizeof(command));
}

/* ---------------------------------------------------------------- another user */

/* The socket carries a byte of the enum work: keep at it, or STOP; both are answered when done. */
#define STOP 0xffu

struct other {
	pid_t pid;
	int sock;
};

static bool is_told(int sock)
{
	struct pollfd fd = { .fd = sock, .events = POLLIN };

	return poll(&fd, 1, 0) != 0;
}

/* Two jobs in each queue, and the next one when the first has ended. */
static int keep_busy(struct worker *workers, enum work work, int sock)
{
	uint8_t done = 0;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < 2 * QUEUES && !ret; i++)
		ret = worker_submit(&workers[i], work);
	if (!ret && write(sock, &done, 1) != 1)
		ret = -errno;
	for (i = 0; !ret && !is_told(sock); i = (i + 1) % (2 * QUEUES)) {
		ret = bench_queue_wait(&workers[i].queue, BENCH_WAIT_NS);
		if (!ret)
			ret = worker_submit(&workers[i], work);
	}
	for (i = 0; i < 2 * QUEUES && !ret; i++)
		ret = bench_queue_wait(&workers[i].queue, BENCH_WAIT_NS);
	return ret;
}

static int become(uid_t uid, const char *path)
{
	struct stat node;
	int ret = bench_unpin();

	if (!ret && (stat(path, &node) || setgroups(0, NULL) || setgid(node.st_gid) || setuid(uid)))
		ret = -errno;
	/* Becoming another user clears the signal of a parent's death, so it comes last. */
	if (!ret && prctl(PR_SET_PDEATHSIG, SIGKILL))
		ret = -errno;
	return ret;
}

/* Worker i and worker QUEUES + i share a queue and its operands, and have a syncobj each. */
static int open_workers(struct t3_device *dev, struct worker *workers)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < QUEUES && !ret; i++) {
		ret = worker_open(dev, OTHER_BYTES, OTHER_ROWS, OTHER_SIDE, &workers[i]);
		workers[QUEUES + i] = workers[i];
		if (!ret && drmSyncobjCreate(t3_device_fd(dev), 0, &workers[QUEUES + i].queue.sync))
			ret = -errno;
	}
	return ret;
}

static int live_as(uid_t uid, const char *path, int sock)
{
	struct worker workers[2 * QUEUES];
	struct t3_device *dev;
	uint8_t told, done = 0;
	int ret = become(uid, path);

	if (!ret)
		ret = t3_device_open(path, &dev);
	if (!ret)
		ret = open_workers(dev, workers);
	while (!ret && read(sock, &told, 1) == 1)
		if (told == STOP)
			ret = write(sock, &done, 1) == 1 ? 0 : -errno;
		else
			ret = keep_busy(workers, told, sock);
	return ret;
}

static int other_start(struct other *other, uid_t uid, const char *path)
{
	int socks[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks))
		return -errno;
	other->pid = fork();
	if (!other->pid) {
		close(socks[0]);
		_exit(-live_as(uid, path, socks[1]));
	}
	close(socks[1]);
	other->sock = socks[0];
	return other->pid < 0 ? -errno : 0;
}

/* The end of another user is an error: its status is the errno. */
static int other_tell(const struct other *other, uint8_t what)
{
	uint8_t done;
	int status;

	if (send(other->sock, &what, 1, MSG_NOSIGNAL) == 1 && read(other->sock, &done, 1) == 1)
		return 0;
	if (waitpid(other->pid, &status, 0) == other->pid && WIFEXITED(status))
		return -WEXITSTATUS(status);
	return -ECHILD;
}

static void other_end(struct other *other)
{
	if (other->sock >= 0)
		close(other->sock);
	if (other->pid > 0 && !kill(other->pid, SIGKILL))
		waitpid(other->pid, NULL, 0);
}

/* ---------------------------------------------------------------------- a row */

struct share {
	const struct bench_clock *clock;
	struct worker own;
	struct bench_space space;
	struct other others[OTHERS_MAX];
	unsigned int count; /* of the others that are busy */
	enum work work, beside;
};

static int run_stores(struct share *s)
{
	volatile unsigned char *at = t3_space_aperture(s->space.space);
	unsigned int i;

	for (i = 0; i < STORE_UPDATES; i++)
		bench_store_words(at, PAIR, STORE_BYTES / 8);
	return bench_space_end(&s->space);
}

static int run_jobs(struct share *s)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < OWN_JOBS && !ret; i++)
		ret = worker_submit(&s->own, s->work);
	return ret ? ret : bench_queue_wait(&s->own.queue, BENCH_WAIT_NS);
}

static int run_alone(void *context, double *ns)
{
	struct share *s = context;
	uint64_t start;
	int ret = s->work == STORES ? bench_space_arm(&s->space) : 0;

	start = bench_ticks();
	if (!ret)
		ret = s->work == STORES ? run_stores(s) : run_jobs(s);
	*ns = bench_ns(s->clock, start);
	return ret;
}

static int run_beside(void *context, double *ns)
{
	struct share *s = context;
	unsigned int i, busy = 0;
	int ret = 0, error;

	for (; busy < s->count && !ret; busy += !ret)
		ret = other_tell(&s->others[busy], (uint8_t)s->beside);
	if (!ret)
		ret = run_alone(s, ns);
	for (i = 0; i < busy; i++) {
		error = other_tell(&s->others[i], STOP);
		ret = ret ? ret : error;
	}
	return ret;
}

static int measure(struct bench *bench, struct share *s)
{
	char title[96], what[64];
	struct bench_row row = {
		.name = "share",
		.title = title,
		.kind = BENCH_SPEEDUP,
		.bound = 0.8 / (s->count + 1),
		.rounds = SHARE_ROUNDS,
		.side = {
			{ .what = what, .run = run_beside, .context = s },
			{ .what = "alone", .run = run_alone, .context = s },
		},
	};

	snprintf(title, sizeof(title), "%s beside %u user%s with %s, part that is kept",
		 work_names[s->work], s->count, s->count > 1 ? "s" : "", work_names[s->beside]);
	snprintf(what, sizeof(what), "beside %u with %s", s->count, work_names[s->beside]);
	return bench_measure(bench, &row);
}

static int measure_all(struct bench *bench, struct share *s)
{
	int ret = 0;

	for (s->count = 1; s->count <= OTHERS_MAX && !ret; s->count += OTHERS_MAX - 1)
		for (s->beside = COPIES; s->beside <= UPDATES && !ret; s->beside++)
			for (s->work = COPIES; s->work < WORKS && !ret; s->work++)
				ret = measure(bench, s);
	return ret;
}

static int open_share(struct bench *bench, struct share *s)
{
	const struct t3_segment_desc desc = {
		.op = DRM_T3_OP_ADD,
		.dtype = DRM_T3_F32,
		.init = DRM_T3_INIT_IDENTITY,
		.updates = STORE_UPDATES,
		.rows = STORE_BYTES / 4096,
		.row_bytes = 4096,
		.pitch = 4096,
		.tile_rows = 1,
		.tile_row_bytes = 4096,
	};
	char link[32], path[64];
	unsigned int i;
	ssize_t length;
	int ret;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", t3_device_fd(bench->dev));
	length = readlink(link, path, sizeof(path) - 1);
	if (length < 0)
		return -errno;
	path[length] = '\0';
	ret = worker_open(bench->dev, OWN_BYTES, OWN_ROWS, OWN_SIDE, &s->own);
	if (!ret)
		ret = bench_space_open(bench->dev, &desc, BENCH_NO_SLOT, &s->space);
	for (i = 0; i < OTHERS_MAX && !ret; i++)
		ret = other_start(&s->others[i], OTHER_UID + i, path);
	return ret;
}

int bench_share(struct bench *bench)
{
	struct share s = { .clock = &bench->clock };
	unsigned int i;
	int ret;

	if (geteuid()) {
		fprintf(stderr,
			"t3: bench: share is not measured: only root can act as other users\n");
		return 0;
	}
	for (i = 0; i < OTHERS_MAX; i++)
		s.others[i].sock = -1;
	ret = open_share(bench, &s);
	if (!ret)
		ret = measure_all(bench, &s);
	for (i = 0; i < OTHERS_MAX; i++)
		other_end(&s.others[i]);
	worker_close(&s.own);
	if (s.space.space)
		bench_space_close(&s.space);
	return ret;
}
