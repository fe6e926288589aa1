// SPDX-License-Identifier: MIT
/*
 * A user of rank 1 whose device is pulled out and plugged in again. It prints what it sees, line by
 * line, and tests/hotplug.py acts. It ends with status 0 when all was right.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "debugfs.h"
#include "queue.h"
#include "raw.h"

#define RANK	     1
#define LONG_MS	     60000
#define HANG_MS	     300
#define SLOW_JOB_MS  20
#define BYSTANDER_NS INT64_C(1500000000) /* tests/hotplug.py: 2 s without a bus */

struct user {
	struct raw raw;
	pthread_t thread;
	int wait_fd;
	int result; /* of the thread that waits */
	uint32_t queue, sync;
	int fence; /* of the job that hangs */
	struct operand operand;
	uint32_t target; /* of the spaces that a thread makes */
};

static void say(const char *line)
{
	puts(line);
	fflush(stdout);
}

static void *wait_long(void *arg)
{
	struct user *u = arg;

	u->result = raw_wait(&u->raw, DRM_T3_WAIT_DELIVERED, 1, 1, after_ms(LONG_MS));
	return NULL;
}

static void user_open(struct user *u)
{
	struct drm_t3_space_wait_fd wait_fd = { .segment_mask = 1 };

	raw_open(&u->raw, RANK, PAGE);
	raw_map_local(&u->raw);
	wait_fd.space = u->raw.space;
	CHECK_EQ(call(u->raw.fd, DRM_IOCTL_T3_SPACE_WAIT_FD, &wait_fd), 0);
	u->wait_fd = wait_fd.fd;
	raw_arm(&u->raw, 1);
	raw_fill(&u->raw, 0, 64, 7);
	CHECK_EQ(pthread_create(&u->thread, NULL, wait_long, u), 0);
	operand_open(&u->operand, u->raw.fd, PAGE, 1);
	CHECK_EQ(bo_create(u->raw.fd, PAGE, &u->target), 0);
	CHECK_EQ(queue_create(u->raw.fd, 0, &u->queue), 0);
	u->sync = sync_create(u->raw.fd);
}

/* Submits jobs, one after the other, until the host makes one hang. */
static void run_into_hang(struct user *u)
{
	union drm_t3_any_command fill = command_fill(u->operand.handle, 0, 64, 1);
	int ret;

	do {
		nap_ms(SLOW_JOB_MS);
		CHECK_EQ(submit_one(u->raw.fd, u->queue, &fill, u->sync), 0);
		ret = sync_wait(u->raw.fd, u->sync, 0, HANG_MS);
	} while (!ret);
	CHECK_EQ(ret, -ETIME);
	u->fence = sync_export(u->raw.fd, u->sync);
	CHECK_EQ(sync_file_status(u->fence), 0);
}

/* Runs before the driver is removed, which may be much later. */
static void check_told(struct user *u)
{
	struct pollfd fence = { .fd = u->fence, .events = POLLIN };
	struct pollfd poller = { .fd = u->wait_fd, .events = POLLIN };
	struct drm_t3_query query = { 0 };
	uint32_t handle;

	CHECK_EQ(pthread_join(u->thread, NULL), 0);
	CHECK_EQ(u->result, -ENODEV);
	CHECK_EQ(raw_state(&u->raw), DRM_T3_SPACE_DEAD);
	CHECK_EQ(poll(&poller, 1, 1000), 1);
	CHECK(poller.revents & POLLHUP);
	CHECK_EQ(poll(&fence, 1, 1000), 1);
	CHECK_EQ(sync_file_status(u->fence), -ENODEV);
	CHECK_EQ(call(u->raw.fd, DRM_IOCTL_T3_QUERY, &query), -ENODEV);
	CHECK_EQ(bo_create(u->raw.fd, PAGE, &handle), -ENODEV);
	CHECK_EQ(queue_create(u->raw.fd, 0, &handle), -ENODEV);
	CHECK_EQ(space_reset(u->raw.fd, u->raw.space), -ENODEV);
	nap_ms(100); /* mappings go in a work */
	CHECK_EQ(signal_of_store(u->raw.aperture), SIGBUS);
	CHECK_EQ(signal_of_load(u->raw.doorbell), SIGBUS);
	CHECK_EQ(signal_of_store(u->operand.memory), SIGBUS);
	CHECK_EQ(raw_state(&u->raw), DRM_T3_SPACE_DEAD);
}

/* The files, mappings and fences of the old device still exist. */
static void check_new_device(void)
{
	struct raw raw;

	raw_open(&raw, RANK, PAGE);
	raw_map_local(&raw);
	raw_run_epoch(&raw, 1);
	raw_close(&raw);
}

/* A user of another device. Its calls take no longer than before. */
struct bystander {
	pthread_t thread;
	volatile bool stop;
	int64_t longest_ns;
};

static void *configure_elsewhere(void *arg)
{
	struct bystander *b = arg;
	struct raw raw;
	int64_t start;

	while (!b->stop) {
		start = now_ns();
		raw_open(&raw, 0, PAGE);
		raw_map_local(&raw);
		raw_close(&raw);
		if (now_ns() - start > b->longest_ns)
			b->longest_ns = now_ns() - start;
		nap_ms(1);
	}
	return NULL;
}

static void make_queue(int fd)
{
	struct drm_t3_queue_destroy destroy = { 0 };
	int ret = queue_create(fd, 0, &destroy.queue);

	CHECK(ret == 0 || ret == -ENODEV);
	if (!ret) {
		ret = call(fd, DRM_IOCTL_T3_QUEUE_DESTROY, &destroy);
		CHECK(ret == 0 || ret == -ENODEV);
	}
}

/* Nothing is written to the argument of a call that fails. */
static void export_key(int fd, uint32_t space)
{
	static const struct drm_t3_key none;
	struct drm_t3_key_export arg = { .space = space, .segment_mask = 1, .op_mask = 1 };
	int ret = call(fd, DRM_IOCTL_T3_KEY_EXPORT, &arg);

	CHECK(ret == 0 || ret == -EIO || ret == -ENODEV);
	if (ret)
		CHECK(memcmp(&arg.key, &none, sizeof(none)) == 0);
}

/* Makes calls on the device while it is removed, until it is. */
static void *configure_here(void *arg)
{
	struct user *u = arg;
	struct drm_t3_segment_map segment = raw_segment(&u->raw);
	struct drm_t3_space_create made;
	int ret;

	do {
		make_queue(u->raw.fd);
		ret = space_create(u->raw.fd, u->target, 4, &made);
		if (!ret) {
			segment.space = made.space;
			ret = call(u->raw.fd, DRM_IOCTL_T3_SEGMENT_MAP, &segment);
			CHECK(ret == 0 || ret == -EIO || ret == -ENODEV);
			export_key(u->raw.fd, made.space);
			ret = space_destroy(u->raw.fd, made.space);
		}
	} while (!ret || ret == -EIO);
	CHECK_EQ(ret, -ENODEV);
	return NULL;
}

struct reader {
	pthread_t thread;
	volatile bool stop;
	char path[128];
};

/* An administrator reads files of the device repeatedly while it is removed. */
static void *look_here(void *arg)
{
	struct reader *r = arg;
	char text[4096];
	int fd;

	while (!r->stop) {
		fd = open(r->path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			break; /* it has gone */
		while (read(fd, text, sizeof(text)) > 0)
			;
		close(fd);
		nap_ms(1);
	}
	return NULL;
}

static void reader_start(struct reader *r)
{
	debugfs_path(RANK, "spaces", r->path, sizeof(r->path));
	CHECK_EQ(access(r->path, R_OK), 0);
	CHECK_EQ(pthread_create(&r->thread, NULL, look_here, r), 0);
}

static void reader_stop(struct reader *r)
{
	r->stop = true;
	CHECK_EQ(pthread_join(r->thread, NULL), 0);
}

static uint32_t count_nodes(void)
{
	DIR *dir = opendir("/dev/accel");
	struct dirent *entry;
	uint32_t count = 0;

	CHECK(dir);
	while ((entry = readdir(dir)))
		count += !strncmp(entry->d_name, "accel", 5);
	closedir(dir);
	return count;
}

static void await_nodes(uint32_t count)
{
	int64_t deadline = after_ms(LONG_MS);

	while (count_nodes() != count) {
		CHECK(now_ns() < deadline);
		nap_ms(20);
	}
	nap_ms(100);
}

int main(void)
{
	struct bystander bystander = { 0 };
	struct reader reader = { 0 };
	pthread_t here;
	struct user u;

	guest_in_child = true; /* a failed check ends the process */
	user_open(&u);
	say("user ready");
	run_into_hang(&u);
	CHECK_EQ(pthread_create(&here, NULL, configure_here, &u), 0);
	CHECK_EQ(pthread_create(&bystander.thread, NULL, configure_elsewhere, &bystander), 0);
	reader_start(&reader);
	say("job hangs");
	check_told(&u);
	CHECK_EQ(pthread_join(here, NULL), 0);
	reader_stop(&reader);
	bystander.stop = true;
	CHECK_EQ(pthread_join(bystander.thread, NULL), 0);
	CHECK(bystander.longest_ns < BYSTANDER_NS * guest_slowness());
	say("user told");
	await_nodes(1);
	CHECK_EQ(raw_state(&u.raw), DRM_T3_SPACE_DEAD);
	say("node gone");
	await_nodes(2);
	guest_clear_nodes(); /* the old one's number is in use still */
	check_new_device();
	CHECK_EQ(sync_file_status(u.fence), -ENODEV);
	CHECK_EQ(raw_state(&u.raw), DRM_T3_SPACE_DEAD);
	say("user done");
	return 0;
}
