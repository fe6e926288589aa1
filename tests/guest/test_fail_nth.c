// SPDX-License-Identifier: MIT
/*
 * Each ioctl, and some sequences of them, with the n-th allocation or user copy failing, for n = 1,
 * 2, ... until there is no n-th. A call that fails returns -ENOMEM or -EFAULT, has no effect and
 * leaks nothing. For kernels with CONFIG_FAULT_INJECTION.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "failnth.h"
#include "memory.h"
#include "rows.h"

#define POINTS_MAX 2000u /* of failure, in one call or sequence */
#define PASSES	   3
#define LATE_MAX   2

static void need_fail_nth(void)
{
	if (!fail_nth_available())
		skip();
}

static bool is_documented(int error)
{
	return error == -ENOMEM || error == -EFAULT;
}

/* More free memory comes from another test, because a worker frees queues and jobs. */
static bool is_left(const struct snapshot *before, const struct snapshot *after)
{
	return after->next_fd != before->next_fd || after->free[0] < before->free[0] ||
	       after->free[1] < before->free[1];
}

static bool same_after(const struct snapshot *before)
{
	struct snapshot after = snapshot();
	int64_t deadline = after_ms(2000 * guest_slowness());

	while (is_left(before, &after) && now_ns() < deadline) {
		nap_ms(2);
		after = snapshot();
	}
	return !is_left(before, &after);
}

/* ----------------------------------------------------------------- single calls */

struct trial {
	const struct row *row;
	struct world world;
	struct snapshot fresh; /* as it is in a new world */
	unsigned int n;
	unsigned int failed, absorbed, late; /* how many n of each kind */
	int wrong;
};

static void complain(struct trial *t, const char *what, int got)
{
	fprintf(stderr, "# %s, point %u: %s (%d)\n", t->row->name, t->n, what, got);
	t->wrong++;
}

static void world_anew(struct trial *t)
{
	world_close(&t->world);
	world_open(&t->world);
	if (!same_after(&t->fresh))
		complain(t, "something is left of another world", 0);
}

/* -EFAULT with an effect: the results were lost. Only one point, the copy out, does this. */
static void check_failed(struct trial *t, int got, const struct snapshot *before,
			 bool same_argument)
{
	struct snapshot after = snapshot();
	bool same = !is_left(before, &after);

	t->failed++;
	if (!is_documented(got))
		complain(t, "an error that is not documented", got);
	if (!same_argument)
		complain(t, "the argument has changed", got);
	if (got == -EFAULT) {
		t->late += !same;
		world_anew(t);
	} else if (!same) {
		complain(t, "something is left", got);
	}
}

/* Returns whether there was an n-th point. */
static bool try_point(struct trial *t)
{
	const struct row *row = t->row;
	uint8_t arg[ROW_ARG_MAX] = { 0 }, given[ROW_ARG_MAX];
	struct snapshot before;
	bool injected;
	int got;

	before = snapshot();
	row->fill(&t->world, arg);
	memcpy(given, arg, sizeof(arg));
	fail_nth_begin(t->n);
	got = call(row->at_target ? t->world.target.fd : t->world.source.fd, row->request, arg);
	injected = fail_nth_end();
	if (injected && got) {
		check_failed(t, got, &before, !memcmp(given, arg, sizeof(arg)));
	} else if (got) {
		complain(t, "fails without a fault", got);
	} else if (injected) {
		/* The kernel did not need it: the call had its effect. */
		t->absorbed++;
		world_anew(t);
	}
	return injected;
}

static struct trial try_points(const struct row *row)
{
	struct trial t = { .row = row, .n = 1 };

	world_open(&t.world);
	t.fresh = snapshot();
	while (row_works(row, &t.world) && try_point(&t) && t.n < POINTS_MAX)
		t.n++;
	world_close(&t.world);
	return t;
}

/* Points of the kernel's checkers vary, so a pass may meet the copy several times, but not each. */
static int try_row(const struct row *row)
{
	struct trial t = try_points(row);
	unsigned int pass;

	for (pass = 1; pass < PASSES && t.late > LATE_MAX && !t.wrong; pass++)
		t = try_points(row);
	if (t.n == POINTS_MAX)
		complain(&t, "no end of points", 0);
	if (!t.failed)
		complain(&t, "nothing could fail", 0);
	if (t.late > LATE_MAX)
		complain(&t, "more than the copy of the results comes after the effect", 0);
	print_message("# %s: %u points fail, %u are absorbed\n", row->name, t.failed, t.absorbed);
	return t.wrong;
}

SLOW_TEST("each ioctl survives each failing allocation")
{
	struct world first;
	int wrong = 0;
	size_t i;

	need_fail_nth();
	/*
	 * The group's end also closes what was open when this program began, so its numbers change
	 * once.
	 */
	world_open(&first);
	world_close(&first);
	for (i = 0; i < DRM_T3_IOCTL_COUNT; i++)
		wrong += try_row(&abi_rows[i]);
	CHECK_EQ(wrong, 0);
}

/* ------------------------------------------------------------------- sequences */

/* Each step returns 0 or a negative errno. The end frees what exists. */
#define TRY(step)                      \
	do {                           \
		int error_ = (step);   \
		if (error_)            \
			return error_; \
	} while (0)

#define MAPS 4

/* A space that is made step by step. */
struct part {
	struct raw raw;
	void *maps[MAPS];
	int event, wait_fd, grant_fd;
};

static int part_map(struct part *p, int i, uint64_t offset, int prot)
{
	p->maps[i] = mmap(NULL, PAGE, prot, MAP_SHARED, p->raw.fd, (off_t)offset);
	return p->maps[i] == MAP_FAILED ? -errno : 0;
}

static int part_open(struct part *p, uint32_t rank)
{
	struct raw *raw = &p->raw;
	uint64_t offset = 0;

	raw->fd = open(guest_node(rank), O_RDWR | O_CLOEXEC);
	if (raw->fd < 0)
		return -errno;
	raw->rank = rank;
	raw->size = PAGE;
	TRY(bo_create(raw->fd, PAGE, &raw->bo));
	TRY(bo_offset(raw->fd, raw->bo, &offset));
	TRY(space_create(raw->fd, raw->bo, RAW_TILES, &raw->made));
	raw->space = raw->made.space;
	TRY(part_map(p, 0, offset, PROT_READ | PROT_WRITE));
	TRY(part_map(p, 1, raw->made.aperture_offset, PROT_READ | PROT_WRITE));
	TRY(part_map(p, 2, raw->made.doorbell_offset, PROT_READ | PROT_WRITE));
	TRY(part_map(p, 3, raw->made.event_offset, PROT_READ));
	raw->memory = p->maps[0];
	raw->aperture = p->maps[1];
	raw->doorbell = p->maps[2];
	raw->events = p->maps[3];
	return 0;
}

static void part_init(struct part *p)
{
	int i;

	memset(p, 0, sizeof(*p));
	p->raw.fd = p->event = p->wait_fd = p->grant_fd = -1;
	for (i = 0; i < MAPS; i++)
		p->maps[i] = MAP_FAILED;
}

static void close_if(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* The test frees nothing itself: the kernel's close must find all objects. */
static void part_close(struct part *p)
{
	int i;

	for (i = 0; i < MAPS; i++)
		if (p->maps[i] != MAP_FAILED)
			munmap(p->maps[i], PAGE);
	close_if(p->raw.fd);
	close_if(p->event);
	close_if(p->wait_fd);
	close_if(p->grant_fd);
}

static int part_watch(struct part *p)
{
	struct drm_t3_space_eventfd event = { .space = p->raw.space, .segment_mask = 1 };
	struct drm_t3_space_wait_fd wait_fd = { .space = p->raw.space, .segment_mask = 1 };

	p->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->event < 0)
		return -errno;
	event.fd = p->event;
	TRY(call(p->raw.fd, DRM_IOCTL_T3_SPACE_EVENTFD, &event));
	TRY(call(p->raw.fd, DRM_IOCTL_T3_SPACE_WAIT_FD, &wait_fd));
	p->wait_fd = wait_fd.fd;
	return 0;
}

static int watch_check(struct part *p)
{
	struct pollfd pollers[2] = { { .fd = p->wait_fd, .events = POLLIN },
				     { .fd = p->event, .events = POLLIN } };
	uint64_t count = 0;
	int i;

	for (i = 0; i < 2; i++) {
		if (poll(&pollers[i], 1, 20000) < 0)
			return -errno;
		CHECK_EQ(pollers[i].revents, POLLIN);
	}
	if (read(p->event, &count, sizeof(count)) < 0)
		return -errno;
	CHECK_EQ(count, 1);
	return 0;
}

static int epoch(struct part *p)
{
	struct raw *raw = &p->raw;

	raw_arm(raw, 1);
	TRY(raw_wait(raw, DRM_T3_WAIT_ARMED, 1, 0, after_ms(20000)));
	raw_fill(raw, 0, RAW_SEGMENT_BYTES, 5);
	return raw_wait(raw, DRM_T3_WAIT_DELIVERED, 1, 0, after_ms(20000));
}

/* A space from open to close, with all calls on it. */
static int space_steps(struct part *p)
{
	struct drm_t3_space_stats stats;
	struct drm_t3_space_tile tile;
	struct drm_t3_segment_map segment;
	uint32_t staging;

	TRY(part_open(p, 0));
	segment = raw_segment(&p->raw);
	TRY(raw_map(&p->raw, &segment));
	TRY(bo_create(p->raw.fd, PAGE, &staging));
	TRY(raw_stage(&p->raw, 0, staging, RAW_SEGMENT_BYTES, 1));
	TRY(part_watch(p));
	TRY(epoch(p));
	TRY(watch_check(p));
	TRY(raw_stats(&p->raw, 0, &stats));
	TRY(raw_tile(&p->raw, 0, 0, &tile));
	raw_release(&p->raw, 1);
	TRY(raw_unmap_segment(&p->raw, 0));
	TRY(space_reset(p->raw.fd, p->raw.space));
	TRY(space_destroy(p->raw.fd, p->raw.space));
	return bo_close(p->raw.fd, p->raw.bo);
}

static int run_space(void)
{
	struct part p;
	int ret;

	part_init(&p);
	ret = space_steps(&p);
	part_close(&p);
	return ret;
}

/* Two spaces that are joined. The target's grant is revoked afterwards. */
static int grant_steps(struct part *source, struct part *target)
{
	struct drm_t3_segment_map segment;
	uint32_t grant, import = 0;

	TRY(part_open(source, 0));
	TRY(part_open(target, 1));
	segment = raw_segment(&target->raw);
	TRY(raw_map(&target->raw, &segment));
	TRY(raw_export(&target->raw, 1, 0xf, &target->grant_fd, &grant));
	TRY(raw_import(&source->raw, target->grant_fd, &import));
	segment = raw_sender(&source->raw, DRM_T3_SEGMENT_DMA, import, 0);
	TRY(raw_map(&source->raw, &segment));
	raw_arm(&target->raw, 1);
	TRY(epoch(source));
	TRY(raw_wait(&target->raw, DRM_T3_WAIT_DELIVERED, 1, 0, after_ms(20000)));
	raw_release(&source->raw, 1);
	raw_release(&target->raw, 1);
	TRY(raw_unmap_segment(&source->raw, 0));
	TRY(raw_release_import(&source->raw, import));
	return raw_revoke(&target->raw, grant);
}

static int run_grant(void)
{
	struct part source, target;
	int ret;

	part_init(&source);
	part_init(&target);
	ret = grant_steps(&source, &target);
	part_close(&source);
	part_close(&target);
	return ret;
}

static int make_sync(int fd, uint32_t *sync)
{
	struct drm_syncobj_create arg = { 0 };
	int ret = call(fd, DRM_IOCTL_SYNCOBJ_CREATE, &arg);

	*sync = arg.handle;
	return ret;
}

/* A job, and one that waits for it by a timeline, on two queues. */
static int queue_steps(int fd)
{
	union drm_t3_any_command commands[3];
	struct submission first, second;
	uint32_t queues[2], from, to, timeline;

	TRY(bo_create(fd, PAGE, &from));
	TRY(bo_create(fd, PAGE, &to));
	TRY(make_sync(fd, &timeline));
	TRY(queue_create(fd, 0, &queues[0]));
	TRY(queue_create(fd, 1, &queues[1]));
	commands[0] = command_fill(from, 0, PAGE, 7);
	commands[1] = command_copy(to, from, PAGE);
	commands[2] = command_gemm(to, from);
	first = submission(queues[0], commands, 1);
	submission_out(&first, timeline, 1);
	TRY(submit(fd, &first));
	second = submission(queues[1], commands, 3);
	submission_in(&second, timeline, 1);
	submission_out(&second, timeline, 2);
	TRY(submit(fd, &second));
	TRY(queue_destroy(fd, queues[0]));
	return sync_wait(fd, timeline, 2, 20000);
}

static int run_queue(void)
{
	int fd = open(guest_node(0), O_RDWR | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = queue_steps(fd);
	close(fd);
	return ret;
}

/* Device memory and host memory as operands of another device's queues. */
struct share {
	int owner, user, dmabuf;
};

/* With -EFAULT the DRM core has opened a descriptor, but could not return its number. */
static int share_export(struct share *s, uint32_t handle)
{
	int next = dup(s->owner);

	close_if(next);
	s->dmabuf = prime_export(s->owner, handle, DRM_CLOEXEC | DRM_RDWR);
	if (s->dmabuf == -EFAULT)
		close_if(next);
	return s->dmabuf < 0 ? s->dmabuf : 0;
}

static int share_one(struct share *s, uint32_t handle)
{
	uint32_t import;

	TRY(share_export(s, handle));
	TRY(prime_import(s->user, s->dmabuf, &import));
	TRY(bo_close(s->user, import));
	TRY(bo_close(s->owner, handle));
	close(s->dmabuf);
	s->dmabuf = -1;
	return 0;
}

static int share_steps(struct share *s)
{
	uint32_t handle;

	s->owner = open(guest_node(0), O_RDWR | O_CLOEXEC);
	if (s->owner < 0)
		return -errno;
	s->user = open(guest_node(1), O_RDWR | O_CLOEXEC);
	if (s->user < 0)
		return -errno;
	TRY(bo_create(s->owner, PAGE, &handle));
	TRY(share_one(s, handle));
	TRY(bo_create_host(s->owner, 4 * PAGE, &handle));
	return share_one(s, handle);
}

static int run_share(void)
{
	struct share s = { -1, -1, -1 };
	int ret = share_steps(&s);

	close_if(s.dmabuf);
	close_if(s.user);
	close_if(s.owner);
	return ret;
}

static void try_sequence(const char *name, int (*run)(void))
{
	struct snapshot before = snapshot();
	unsigned int n, failed = 0;
	bool injected;
	int got;

	for (n = 1; n < POINTS_MAX; n++) {
		fail_nth_begin(n);
		got = run();
		injected = fail_nth_end();
		if (injected ? got && !is_documented(got) : got)
			guest_fail(__FILE__, __LINE__, "%s, point %u: %d", name, n, got);
		if (!same_after(&before))
			guest_fail(__FILE__, __LINE__, "%s, point %u: something is left", name, n);
		failed += got != 0;
		if (!injected)
			break;
	}
	CHECK(n < POINTS_MAX);
	CHECK(failed > 0);
	print_message("# %s: %u points, %u fail\n", name, n - 1, failed);
}

SLOW_TEST("a space's life survives each failing allocation")
{
	need_fail_nth();
	try_sequence("space", run_space);
}

SLOW_TEST("a grant's life survives each failing allocation")
{
	need_fail_nth();
	try_sequence("grant", run_grant);
}

SLOW_TEST("a queue's life survives each failing allocation")
{
	need_fail_nth();
	try_sequence("queue", run_queue);
}

SLOW_TEST("a shared buffer's life survives each failing allocation")
{
	need_fail_nth();
	try_sequence("share", run_share);
}
