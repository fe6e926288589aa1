// SPDX-License-Identifier: MIT
/* debugfs: its records of spaces, tiles, queues and memory; who may read it; and the reset. */
#include <fcntl.h>
#include <sys/stat.h>

#include "child.h"
#include "debugfs.h"
#include "memory.h"
#include "module.h"
#include "queue.h"
#include "raw.h"
#include "trace.h"

#define WAIT_MS 5000

static const char *const readable[] = { "spaces", "tiles",    "queues", "links",
					"memory", "counters", "resets", "inject" };

static void unprivileged(int sock, void *arg)
{
	char path[128];
	size_t i;

	(void)sock;
	(void)arg;
	debugfs_path(0, "reset", path, sizeof(path));
	become(UID_USER, true);
	CHECK_EQ(open(path, O_WRONLY), -1);
	CHECK_EQ(errno, EACCES);
	strcpy(strrchr(path, '/') + 1, "inject");
	CHECK_EQ(open(path, O_WRONLY), -1);
	CHECK_EQ(errno, EACCES);
	for (i = 0; i < ROWS(readable); i++) {
		strcpy(strrchr(path, '/') + 1, readable[i]);
		CHECK_EQ(open(path, O_RDONLY), -1);
		CHECK_EQ(errno, EACCES);
	}
}

/* Also when the administrator has opened the mount to all. */
TEST("debugfs is for root alone")
{
	struct stat file, mount;
	struct child child;
	char path[128];
	size_t i;

	CHECK_EQ(stat("/sys/kernel/debug", &mount), 0);
	CHECK_EQ(chmod("/sys/kernel/debug", 0755), 0);
	child_start(&child, unprivileged, NULL);
	CHECK_EQ(child_end(&child, WAIT_MS), 0);
	CHECK_EQ(chmod("/sys/kernel/debug", mount.st_mode & 07777), 0);
	for (i = 0; i < ROWS(readable); i++) {
		debugfs_path(0, readable[i], path, sizeof(path));
		CHECK_EQ(stat(path, &file), 0);
		CHECK_EQ(file.st_mode & 07777, strcmp(readable[i], "inject") ? 0400 : 0600);
		debugfs_read_any(0, readable[i]);
	}
	debugfs_path(0, "reset", path, sizeof(path));
	CHECK_EQ(stat(path, &file), 0);
	CHECK_EQ(file.st_mode & 07777, 0200);
}

TEST("spaces are listed with their routes and segments")
{
	struct drm_t3_segment_map segment;
	struct raw raw, peer;
	char pattern[256];
	const char *text;
	uint32_t import;

	CHECK_EQ(*debugfs_read(0, "spaces"), 0);
	raw_open(&raw, 0, PAGE);
	raw_open(&peer, 1, 2 * PAGE);
	import = raw_join(&raw, &peer);
	segment = raw_sender(&raw, DRM_T3_SEGMENT_DMA, import, 0);
	segment.segment = 3;
	CHECK_EQ(raw_map(&raw, &segment), 0);
	text = debugfs_read(0, "spaces");
	snprintf(pattern, sizeof(pattern),
		 "space=0 generation=* state=IDLE epoch=0 in_flight=0 client=* pid=%d size=4096 "
		 "aperture=0x* buffer=0x* faults=0 dropped=0",
		 getpid());
	debugfs_expect(text, pattern);
	debugfs_expect(text, "segment=3 kind=DMA dtype=i32 op=ADD rows=4 row_bytes=64 pitch=64 "
			     "routes=0x1 staging=0 widens=0 progress_epoch=0 tracked=0 delivered=0 "
			     "tiles_done=0 stores=0 doorbells=0 triggers=0 dma_bytes=0 tiles=4");
	snprintf(pattern, sizeof(pattern),
		 "route=0 import=%u peer_rank=1 peer_space=0 peer_generation=* revoked=0 key=0",
		 import);
	debugfs_expect(text, pattern);
	debugfs_expect(debugfs_read(1, "spaces"),
		       "grant=* index=0 segments=0x* ops=0x* bound=1 key=0");
	raw_close(&peer);
	debugfs_expect(debugfs_read(0, "spaces"), "route=0 * revoked=1 key=0");
	CHECK_EQ(*debugfs_read(1, "spaces"), 0);
	raw_close(&raw);
	CHECK_EQ(*debugfs_read(0, "spaces"), 0);
}

/* A route by key has no grant of this machine's that could have been revoked. */
TEST("a route by key is listed as such")
{
	struct drm_t3_key key;
	struct raw raw, peer;
	uint32_t import, grant;
	char pattern[96];

	raw_open(&raw, 0, PAGE);
	raw_open(&peer, 1, PAGE);
	CHECK_EQ(raw_key_export(&peer, 1, 1u << DRM_T3_OP_ADD, &key, &grant), 0);
	CHECK_EQ(raw_key_import(&raw, &key, &import), 0);
	snprintf(pattern, sizeof(pattern), "route=0 import=%u peer_rank=1 * revoked=0 key=1",
		 import);
	debugfs_expect(debugfs_read(0, "spaces"), pattern);
	debugfs_expect(debugfs_read(1, "spaces"), "grant=* key=1");
	raw_close(&raw);
	raw_close(&peer);
}

TEST("progress and faults of a space are listed")
{
	struct drm_t3_segment_map segment;
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	segment = raw_segment(&raw);
	CHECK_EQ(raw_map(&raw, &segment), 0);
	raw_run_epoch(&raw, 1);
	debugfs_expect(debugfs_read(0, "spaces"),
		       "segment=0 kind=LOCAL * progress_epoch=1 tracked=1 delivered=1 "
		       "tiles_done=4 stores=32 doorbells=0 triggers=4 dma_bytes=0 tiles=4");
	put32(raw.aperture, 1);
	put32(raw.aperture, 1);
	debugfs_expect(debugfs_read(0, "spaces"),
		       "space=0 * state=FAULTED epoch=1 * faults=1 dropped=1");
	debugfs_expect(debugfs_read(0, "spaces"),
		       "fault kind=5 detail=0 segment=* tile=* offset=0 epoch=1 src_rank=0");
	raw_close(&raw);
}

/* 3 rows of 48 bytes in tiles of 2 x 32, three updates: all but two expect another sum. */
TEST("tiles are listed with what they lack")
{
	struct drm_t3_segment_map segment;
	const char *text;
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	segment = raw_segment(&raw);
	segment.rows = 3;
	segment.row_bytes = 48;
	segment.updates = 3;
	CHECK_EQ(raw_map(&raw, &segment), 0);
	CHECK_EQ(*debugfs_read(0, "tiles"), 0);
	raw_arm(&raw, 7);
	text = debugfs_read(0, "tiles");
	debugfs_expect(text, "space=0 segment=0 epoch=7 tiles=4 done=0 waits_for=updates");
	debugfs_expect(text, "tile=0 waits_for=updates counted=0 expected=192");
	debugfs_expect(text, "tile=1 waits_for=updates counted=0 expected=96");
	debugfs_expect(text, "tile=2 waits_for=updates counted=0 expected=96");
	debugfs_expect(text, "tile=3 waits_for=updates counted=0 expected=48");
	put32(raw.aperture, 1); /* the tracker has the count, and the record is older */
	put32(raw.aperture + 4, 1);
	debugfs_expect(debugfs_read(0, "tiles"), "tile=0 waits_for=updates counted=8 expected=192");
	raw_fill(&raw, 2 * 64, 48, 1); /* all of tiles 2 and 3 */
	raw_fill(&raw, 2 * 64, 48, 1);
	debugfs_expect(debugfs_read(0, "tiles"), "* done=0 *");
	raw_fill(&raw, 2 * 64, 48, 1);
	text = debugfs_read(0, "tiles");
	debugfs_expect(text, "space=0 segment=0 epoch=7 tiles=4 done=2 waits_for=updates");
	CHECK_EQ(debugfs_count(text, "tile=*"), 2);
	debugfs_expect(text, "tile=0 * counted=8 expected=192");
	debugfs_expect(text, "tile=1 * expected=96");
	raw_close(&raw);
}

/* What an earlier epoch has delivered is waited for again. */
TEST("tiles of a later epoch are listed as open again")
{
	struct drm_t3_segment_map segment;
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	segment = raw_segment(&raw);
	CHECK_EQ(raw_map(&raw, &segment), 0);
	raw_run_epoch(&raw, 1);
	raw_arm(&raw, 2);
	debugfs_expect(debugfs_read(0, "tiles"),
		       "space=0 segment=0 epoch=2 tiles=4 done=0 waits_for=updates");
	raw_close(&raw);
}

/* 32 tiles, of which 16 are shown. */
TEST("only the first 16 of many tiles are listed")
{
	struct drm_t3_segment_map segment;
	const char *text;
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	segment = raw_segment(&raw);
	segment.tile_rows = 1;
	segment.tile_row_bytes = 8;
	CHECK_EQ(raw_map(&raw, &segment), 0);
	raw_arm(&raw, 1);
	text = debugfs_read(0, "tiles");
	CHECK_EQ(debugfs_count(text, "tile=*"), 16);
	debugfs_expect(text, "more");
	raw_fill(&raw, 0, RAW_SEGMENT_BYTES / 2, 1);
	text = debugfs_read(0, "tiles");
	debugfs_expect(text, "space=0 segment=0 epoch=1 tiles=32 done=16 waits_for=updates");
	CHECK_EQ(debugfs_count(text, "tile=*"), 16);
	debugfs_expect(text, "tile=16 waits_for=updates counted=0 expected=8");
	debugfs_expect(text, "tile=31 waits_for=updates counted=0 expected=8");
	CHECK_EQ(debugfs_count(text, "more"), 0);
	raw_fill(&raw, RAW_SEGMENT_BYTES / 2, RAW_SEGMENT_BYTES / 2, 1);
	CHECK_EQ(*debugfs_read(0, "tiles"), 0);
	raw_close(&raw);
}

/* Waits for a target that has not armed. It gives up when the link loses all packets. */
TEST("a dead link is shown with the space that waits for it")
{
	struct drm_t3_segment_map segment;
	struct raw source, target;

	raw_open(&source, 0, PAGE);
	raw_open(&target, 1, PAGE);
	raw_map_local(&target);
	segment = raw_sender(&source, DRM_T3_SEGMENT_DMA, raw_join(&source, &target), 0);
	CHECK_EQ(raw_map(&source, &segment), 0);
	raw_arm(&source, 1);
	debugfs_expect(debugfs_read(0, "spaces"), "space=0 * state=ARMING epoch=1 *");
	debugfs_expect(debugfs_read(0, "tiles"),
		       "space=0 segment=0 epoch=1 tiles=4 done=0 waits_for=updates");
	raw_arm(&target, 1);
	CHECK_EQ(raw_wait(&source, DRM_T3_WAIT_ARMED, 1, 0, after_ms(WAIT_MS)), 0);
	debugfs_expect(debugfs_read(0, "links"), "link=1 state=UP unanswered=0 retries=0 *");
	inject(0, "link-down peer=1");
	debugfs_expect(debugfs_read(0, "links"),
		       "link=1 state=DOWN unanswered=0 retries=0 waiting_segments=0 "
		       "waiting_control=0 packets=* incarnation=*");
	/* A link has two ends. This one is that of the device that sends. */
	debugfs_expect(debugfs_read(1, "links"), "link=0 state=UP *");
	raw_fill(&source, 0, RAW_SEGMENT_BYTES, 1);
	CHECK_EQ(*debugfs_read(0, "tiles"), 0);
	debugfs_expect(debugfs_read(0, "spaces"), "space=0 * state=FAULTED epoch=1 *");
	debugfs_expect(debugfs_read(0, "spaces"), "fault kind=9 * epoch=1 src_rank=1");
	raw_close(&source);
	raw_close(&target);
	inject(0, "link-up peer=1");
	debugfs_expect(debugfs_read(0, "links"), "link=1 state=UP *");
}

struct user {
	int fd;
	uint32_t queue;
	uint32_t sync;
	struct operand operand;
};

static void user_open(struct user *u, uint32_t priority)
{
	debugfs_await_no_queue(0);
	u->fd = open_rank(0);
	operand_open(&u->operand, u->fd, PAGE, 1);
	u->sync = sync_create(u->fd);
	CHECK_EQ(queue_create(u->fd, priority, &u->queue), 0);
}

static void user_close(struct user *u)
{
	operand_close(&u->operand, u->fd);
	close(u->fd);
}

static void user_submit(struct user *u)
{
	union drm_t3_any_command commands[3];
	struct submission s;
	uint32_t i;

	for (i = 0; i < 3; i++)
		commands[i] = command_fill(u->operand.handle, 0, 64, i);
	s = submission(u->queue, commands, 3);
	submission_out(&s, u->sync, 0);
	CHECK_EQ(submit(u->fd, &s), 0);
}

/* Wait until a line matches, because a worker puts jobs into the ring. */
static const char *queues_with(const char *pattern)
{
	int64_t deadline = after_ms(WAIT_MS);
	const char *text = debugfs_read(0, "queues");

	while (!debugfs_count(text, pattern) && now_ns() < deadline) {
		nap_ms(2);
		text = debugfs_read(0, "queues");
	}
	debugfs_expect(text, pattern);
	return text;
}

TEST("queues are listed with their jobs")
{
	struct user u;

	user_open(&u, 2);
	debugfs_expect(debugfs_read(0, "queues"),
		       "queue=0 priority=2 state=IDLE head=0 tail=0 jobs=0 context=*");
	inject_hang(0, 0, true);
	user_submit(&u);
	user_submit(&u);
	queues_with("queue=0 priority=2 state=BUSY head=0 tail=6 jobs=2 context=*");
	debugfs_expect(debugfs_read(0, "queues"),
		       "job=1 context=* done=0 commands=3 opcode=2 rows=1 row_bytes=64");
	debugfs_expect(debugfs_read(0, "queues"), "job=2 *");
	inject_hang(0, 0, false);
	CHECK_EQ(sync_wait(u.fd, u.sync, 0, WAIT_MS), 0);
	CHECK_EQ(debugfs_count(queues_with("queue=0 priority=2 state=IDLE head=6 tail=6 jobs=0 *"),
			       "job=*"),
		 0);
	user_close(&u);
}

TEST("memory is listed to the byte")
{
	uint64_t size = debugfs_number(0, "memory", "size");
	uint64_t used = debugfs_number(0, "memory", "used");
	struct drm_t3_device_info info;
	struct raw raw;
	char line[128];

	raw_open(&raw, 0, 4 * PAGE);
	device_info(raw.fd, &info);
	CHECK_EQ(info.memory_size, size);
	CHECK_EQ(debugfs_number(0, "memory", "used"), used + 5 * PAGE);
	/* The summary of drm_mm at the end of each file. */
	snprintf(line, sizeof(line), "total: %llu, used %llu free %llu", (unsigned long long)size,
		 (unsigned long long)used + 5 * PAGE, (unsigned long long)(size - used) - 5 * PAGE);
	debugfs_expect(debugfs_read_any(0, "memory"), line);
	snprintf(line, sizeof(line), "total: %llu, used %u free %llu",
		 (unsigned long long)info.aperture_size, 4 * PAGE,
		 (unsigned long long)info.aperture_size - 4 * PAGE);
	debugfs_expect(debugfs_read_any(0, "memory"), line);
	raw_close(&raw);
	check_memory(0, size - used);
	CHECK_EQ(debugfs_number(0, "memory", "used"), used);
}

TEST("counters are those of the device")
{
	uint64_t stores = debugfs_number(0, "counters", "STORES");
	uint64_t triggers = debugfs_number(0, "counters", "TRIGGERS");
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	raw_map_local(&raw);
	raw_run_epoch(&raw, 1);
	raw_close(&raw);
	CHECK_EQ(debugfs_number(0, "counters", "STORES"), stores + 32);
	CHECK_EQ(debugfs_number(0, "counters", "TRIGGERS"), triggers + 4);
	CHECK_EQ(debugfs_count(debugfs_read(0, "counters"), "*=*"), T3_COUNTER_COUNT + 1);
}

TEST("a queue's reset is counted")
{
	uint64_t queue = debugfs_number(0, "resets", "queue");
	uint64_t timeouts = debugfs_number(0, "resets", "timeouts");
	uint64_t function = debugfs_number(0, "resets", "function");
	unsigned int before;
	struct user u;

	before = parameter_set("job_timeout_ms", 100);
	user_open(&u, 0);
	parameter_set("job_timeout_ms", before);
	inject_hang(0, 0, true);
	user_submit(&u);
	CHECK_EQ(sync_wait(u.fd, u.sync, 0, WAIT_MS), 0);
	CHECK_EQ(sync_status(u.fd, u.sync), -ETIME);
	CHECK_EQ(debugfs_number(0, "resets", "queue"), queue + 1);
	CHECK_EQ(debugfs_number(0, "resets", "timeouts"), timeouts + 1);
	CHECK_EQ(debugfs_number(0, "resets", "function"), function);
	user_close(&u);
}

/* A queue that stopped at a command is set up again, and no time was up. */
TEST("recoveries are not counted as timeouts")
{
	uint64_t queue = debugfs_number(0, "resets", "queue");
	uint64_t timeouts = debugfs_number(0, "resets", "timeouts");
	struct drm_t3_device_info info;
	struct user u;

	user_open(&u, 0);
	device_info(u.fd, &info);
	inject(0, "poison address=0 value=%llu", info.memory_size);
	user_submit(&u);
	CHECK_EQ(sync_wait(u.fd, u.sync, 0, WAIT_MS), 0);
	CHECK_EQ(sync_status(u.fd, u.sync), -EIO);
	inject(0, "unpoison");
	CHECK_EQ(debugfs_number(0, "resets", "queue"), queue + 1);
	CHECK_EQ(debugfs_number(0, "resets", "timeouts"), timeouts);
	user_close(&u);
}

TEST("the reset file refuses other words")
{
	static const char *const bad[] = {
		"",	     "1",     "functio",	  "function ",
		"functions", "all\n", "0123456789abcdef", "function\n\n"
	};
	uint64_t before = debugfs_number(0, "resets", "function");
	size_t i;

	for (i = 1; i < ROWS(bad); i++)
		CHECK_EQ(debugfs_write(0, "reset", bad[i]), -EINVAL);
	CHECK_EQ(debugfs_number(0, "resets", "function"), before);
}

/*
 * All spaces and jobs of the device are lost, their owners get errors, and then it works as before.
 */
TEST("a reset ends all spaces and jobs, and new ones work")
{
	uint64_t before = debugfs_number(0, "resets", "function");
	struct drm_t3_segment_map segment;
	struct trace trace;
	struct raw raw;
	struct user u;

	raw_open(&raw, 0, PAGE);
	segment = raw_segment(&raw);
	CHECK_EQ(raw_map(&raw, &segment), 0);
	raw_arm(&raw, 1);
	user_open(&u, 0);
	inject_hang(0, 0, true);
	user_submit(&u);
	queues_with("queue=0 * state=BUSY *");
	trace_open(&trace, 0);
	CHECK_EQ(debugfs_write(0, "reset", "function\n"), 0);
	trace_expect(&trace, "t3_reset", "reason=asked for in debugfs");
	CHECK_EQ(debugfs_number(0, "resets", "function"), before + 1);
	CHECK_EQ(raw_state(&raw), DRM_T3_SPACE_DEAD);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_TRACKED, 1, 1, after_ms(WAIT_MS)), -ENODEV);
	CHECK_EQ(sync_wait(u.fd, u.sync, 0, WAIT_MS), 0);
	CHECK_EQ(sync_status(u.fd, u.sync), -ECANCELED);
	queues_with("queue=0 * state=IDLE *");
	debugfs_expect(debugfs_read(0, "spaces"), "space=0 * state=* epoch=* in_flight=*");
	raw_close(&raw);
	user_close(&u);
	raw_open(&raw, 0, PAGE);
	CHECK_EQ(raw_map(&raw, &segment), 0);
	raw_run_epoch(&raw, 1);
	raw_close(&raw);
	user_open(&u, 0);
	user_submit(&u);
	CHECK_EQ(sync_wait(u.fd, u.sync, 0, WAIT_MS), 0);
	CHECK_EQ(sync_status(u.fd, u.sync), 1);
	user_close(&u);
}

/*
 * The folder disappears with the device, even if files in it are open, and a new device makes a new
 * one.
 */
SLOW_TEST("the folder goes and comes with the device")
{
	char bdf[32], path[128];
	struct raw raw;
	char byte;
	int fd;

	raw_open(&raw, 0, PAGE);
	debugfs_path(0, "spaces", path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	driver_unbind(0, bdf, sizeof(bdf));
	CHECK_EQ(access(path, F_OK), -1);
	CHECK_EQ(read(fd, &byte, 1), -1);
	driver_bind(bdf);
	CHECK_EQ(*debugfs_read(0, "spaces"), 0);
	CHECK_EQ(read(fd, &byte, 1), -1);
	close(fd);
	raw_close(&raw);
}

TEST("the kernel's log is clean")
{
	check_kernel_log();
}
