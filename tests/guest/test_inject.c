// SPDX-License-Identifier: MIT
/* debugfs' inject: faults of the own rank, and refused texts without an effect. */
#include <fcntl.h>

#include "debugfs.h"
#include "module.h"
#include "queue.h"
#include "raw.h"

#define WAIT_MS 5000

static int write_inject(const char *text)
{
	return debugfs_write(0, "inject", text);
}

TEST("the file lists each kind and what it takes")
{
	const char *text = debugfs_read(0, "inject");

	debugfs_expect(text, "inject enabled=1 rank=0");
	CHECK_EQ(debugfs_count(text, "kind=*"), T3_INJECT_KIND_COUNT - 1);
	debugfs_expect(text, "kind=drop needs=peer takes=nth,count");
	debugfs_expect(text, "kind=link-random needs=peer,nth takes=seed");
	debugfs_expect(text, "kind=unpoison takes=address,value");
	debugfs_expect(text, "kind=lose-irq takes=nth,count");
	debugfs_expect(debugfs_read(1, "inject"), "inject enabled=1 rank=1");
}

/* --------------------------------------------------------------------- links */

struct pair {
	struct raw source, target;
};

static void pair_open(struct pair *p)
{
	struct drm_t3_segment_map segment;

	raw_open(&p->source, 0, PAGE);
	raw_open(&p->target, 1, PAGE);
	raw_map_local(&p->target);
	segment = raw_sender(&p->source, DRM_T3_SEGMENT_DMA, raw_join(&p->source, &p->target), 0);
	CHECK_EQ(raw_map(&p->source, &segment), 0);
	raw_arm(&p->target, 1);
	raw_arm(&p->source, 1);
	CHECK_EQ(raw_wait(&p->source, DRM_T3_WAIT_ARMED, 1, 0, after_ms(WAIT_MS)), 0);
}

/* The result of a wait for all that is stored. */
static int pair_run(struct pair *p)
{
	raw_fill(&p->source, 0, RAW_SEGMENT_BYTES, 5);
	return raw_wait(&p->source, DRM_T3_WAIT_DELIVERED, 1, 0, after_ms(WAIT_MS));
}

static void pair_close(struct pair *p)
{
	raw_close(&p->source);
	raw_close(&p->target);
}

/* Two injections of one write, one lost packet each. Then none is left. */
TEST("injected losses count, once each")
{
	uint64_t retries = debugfs_number(0, "counters", "LINK_RETRIES");
	uint64_t injected = debugfs_number(0, "counters", "INJECTED");
	struct pair p;

	pair_open(&p);
	CHECK_EQ(write_inject("drop peer=1 nth=2; corrupt rank=0 peer=1 nth=4 count=1\n"), 0);
	CHECK_EQ(pair_run(&p), 0);
	CHECK_EQ(debugfs_number(0, "counters", "INJECTED"), injected + 2);
	CHECK(debugfs_number(0, "counters", "LINK_RETRIES") > retries);
	pair_close(&p);
	pair_open(&p);
	CHECK_EQ(pair_run(&p), 0);
	CHECK_EQ(debugfs_number(0, "counters", "INJECTED"), injected + 2);
	pair_close(&p);
}

TEST("a link goes down and up")
{
	struct pair p;

	pair_open(&p);
	CHECK_EQ(write_inject("link-down peer=1"), 0);
	CHECK_EQ(pair_run(&p), -EIO);
	CHECK_EQ(p.source.events->fault.kind, DRM_T3_FAULT_LINK);
	pair_close(&p);
	CHECK_EQ(write_inject("link-up peer=0x1"), 0);
	pair_open(&p);
	CHECK_EQ(pair_run(&p), 0);
	pair_close(&p);
}

/* ---------------------------------------------------------------------- rank */

TEST("poison faults a space until it is taken back")
{
	char text[96];
	uint64_t at;
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	raw_map_local(&raw);
	at = strtoull(strstr(debugfs_read(0, "spaces"), " buffer=") + 8, NULL, 0);
	snprintf(text, sizeof(text), "poison address=0x%llx value=64", (unsigned long long)at);
	CHECK_EQ(write_inject(text), 0);
	raw_arm(&raw, 1);
	put32(raw.aperture, 1);
	CHECK_EQ(raw_state(&raw), DRM_T3_SPACE_FAULTED);
	CHECK_EQ(raw.events->fault.kind, DRM_T3_FAULT_POISON);
	CHECK_EQ(write_inject("unpoison"), 0);
	CHECK_EQ(space_reset(raw.fd, raw.space), 0);
	raw_run_epoch(&raw, 1);
	raw_close(&raw);
}

TEST("an injected hang lasts until it is taken back")
{
	union drm_t3_any_command command;
	struct operand operand;
	struct submission s;
	uint32_t queue, sync;
	int fd = open_rank(0);

	operand_open(&operand, fd, PAGE, 1);
	sync = sync_create(fd);
	CHECK_EQ(queue_create(fd, 0, &queue), 0);
	CHECK_EQ(write_inject("hang-queue queue=0"), 0);
	command = command_fill(operand.handle, 0, 64, 7);
	s = submission(queue, &command, 1);
	submission_out(&s, sync, 0);
	CHECK_EQ(submit(fd, &s), 0);
	CHECK_EQ(sync_wait(fd, sync, 0, 100), -ETIME);
	CHECK_EQ(write_inject("unhang-queue queue=0"), 0);
	CHECK_EQ(sync_wait(fd, sync, 0, WAIT_MS), 0);
	CHECK_EQ(sync_status(fd, sync), 1);
	operand_close(&operand, fd);
	close(fd);
}

/* ------------------------------------------------------------------- refused */

/* The write has no effect, not even its right parts. */
TEST("a text that cannot be read has no effect")
{
	static const char *const bad[] = {
		"nonsense",
		"link-down",
		"link-down peer=1 nth=1",
		"link-down peer=-1",
		"link-down peer=1 peer=1",
		"link-down peer=4294967297",
		"link-down peer=1; nonsense",
		"link-down peer=1\nlink-down peer",
		"link-down rank=1 peer=0",
		"link-down peer=1;drop",
		"\x7f\x01",
	};
	struct pair p;
	size_t i;

	for (i = 0; i < ROWS(bad); i++)
		CHECK_EQ(write_inject(bad[i]), -EINVAL);
	CHECK_EQ(write_inject(""), 0);
	CHECK_EQ(write_inject(" ;\n; \t"), 0);
	pair_open(&p);
	CHECK_EQ(pair_run(&p), 0);
	pair_close(&p);
	CHECK(kernel_log_has("inject: 'nonsense' is no kind of fault"));
	CHECK(kernel_log_has("link-down: rank=1 is another device's"));
	/* Escaped, and the backslash of that once more by /dev/kmsg. */
	CHECK(kernel_log_has("'\\x5c177\\x5c001'"));
}

/* The device refuses it: injections before it are in force, those after it are not. */
TEST("injections before a refused one are in force")
{
	static const struct {
		const char *text;
		int error;
	} bad[] = {
		{ "link-down peer=0", -EHOSTUNREACH },
		{ "link-down peer=2", -EHOSTUNREACH },
		{ "drop peer=1 count=0", -EINVAL },
		{ "delay peer=1 value=0", -EINVAL },
		{ "poison address=1 value=64", -EINVAL },
		{ "poison address=0xffffffffffffffc0 value=64", -EINVAL },
		{ "hang-queue queue=63", -ENOENT },
		{ "hang-queue queue=4294967295", -ENOENT },
	};
	struct pair p;
	size_t i;

	for (i = 0; i < ROWS(bad); i++)
		CHECK_EQ(write_inject(bad[i].text), bad[i].error);
	CHECK(kernel_log_has("inject: hang-queue: rank=0 has no queue=63"));
	pair_open(&p);
	CHECK_EQ(write_inject("link-down peer=1; hang-queue queue=63; link-up peer=1"), -ENOENT);
	CHECK_EQ(pair_run(&p), -EIO);
	pair_close(&p);
	CHECK_EQ(write_inject("link-up peer=1"), 0);
}

static int write_bytes(const char *bytes, size_t size)
{
	char path[128];
	int fd, ret;

	debugfs_path(0, "inject", path, sizeof(path));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	ret = write(fd, bytes, size) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

TEST("texts have a largest size")
{
	static char text[1 << 20];
	size_t i;

	memset(text, ';', sizeof(text));
	CHECK_EQ(write_bytes(text, T3_INJECT_TEXT - 1), 0);
	CHECK_EQ(write_bytes(text, T3_INJECT_TEXT), -E2BIG);
	CHECK_EQ(write_bytes(text, sizeof(text)), -E2BIG);
	memset(text, 'x', sizeof(text));
	CHECK_EQ(write_bytes(text, T3_INJECT_TEXT - 1), -EINVAL);
	CHECK_EQ(write_bytes("link-down peer=1\0;", 18), -EINVAL);
	CHECK_EQ(write_bytes(NULL, 1), -EFAULT);
	*text = 0;
	for (i = 0; i < 27; i++)
		strcat(text, "unpoison;");
	CHECK_EQ(write_bytes(text, strlen(text)), 0);
}

/* Who has written reads why it was refused, and nobody else does. */
TEST("the writer alone reads why a text was refused")
{
	char path[128], text[4096];
	ssize_t length;
	int fd;

	debugfs_path(0, "inject", path, sizeof(path));
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, "drop", 4), -1);
	length = pread(fd, text, sizeof(text) - 1, 0);
	CHECK(length > 0);
	text[length] = 0;
	debugfs_expect(text, "error=\"drop needs peer\"");
	CHECK_EQ(debugfs_count(debugfs_read(0, "inject"), "error=*"), 0);
	CHECK_EQ(write(fd, "unpoison", 8), 8);
	length = pread(fd, text, sizeof(text) - 1, 0);
	CHECK(length > 0);
	text[length] = 0;
	CHECK_EQ(debugfs_count(text, "error=*"), 0);
	close(fd);
}

TEST("the kernel's log is clean")
{
	check_kernel_log();
}
