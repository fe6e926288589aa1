// SPDX-License-Identifier: MIT
/* fdinfo: the client, its memory to the byte, and its engines' busy time. */
#include "debugfs.h"
#include "fdinfo.h"
#include "memory.h"
#include "module.h"
#include "queue.h"
#include "raw.h"

#define WAIT_MS 5000
#define NS_MS	UINT64_C(1000000)

/* The keys that each region must have. */
struct memory {
	uint64_t total, shared, active, resident;
};

static void check_region(int fd, const char *region, const struct memory *want)
{
	struct fdinfo info;
	char key[64];

	fdinfo_read(fd, &info);
	snprintf(key, sizeof(key), "drm-total-%s", region);
	CHECK_EQ(fdinfo_number(&info, key, NULL), want->total);
	snprintf(key, sizeof(key), "drm-shared-%s", region);
	CHECK_EQ(fdinfo_number(&info, key, NULL), want->shared);
	snprintf(key, sizeof(key), "drm-active-%s", region);
	CHECK_EQ(fdinfo_number(&info, key, NULL), want->active);
	snprintf(key, sizeof(key), "drm-resident-%s", region);
	CHECK_EQ(fdinfo_number(&info, key, NULL), want->resident);
}

static void check_vram(int fd, uint64_t total, uint64_t active)
{
	const struct memory want = { .total = total, .active = active, .resident = total };

	check_region(fd, "vram", &want);
}

TEST("fdinfo names driver, device and client")
{
	int first = open_rank(0), second = open_rank(0), other = open_rank(1), copy = dup(first);
	char value[64], bdf[64];
	struct fdinfo info;
	uint64_t id;

	fdinfo_read(first, &info);
	fdinfo_text(&info, "drm-driver", value, sizeof(value));
	CHECK(strcmp(value, T3_DRIVER_NAME) == 0);
	device_bdf(0, bdf, sizeof(bdf));
	fdinfo_text(&info, "drm-pdev", value, sizeof(value));
	CHECK(strcmp(value, bdf) == 0);
	id = fdinfo_number(&info, "drm-client-id", NULL);
	/* An open file is a client, not a descriptor. */
	CHECK_EQ(fdinfo_bytes(copy, "drm-client-id"), id);
	CHECK(fdinfo_bytes(second, "drm-client-id") != id);
	fdinfo_read(other, &info);
	device_bdf(1, bdf, sizeof(bdf));
	fdinfo_text(&info, "drm-pdev", value, sizeof(value));
	CHECK(strcmp(value, bdf) == 0);
	close(first);
	close(second);
	close(other);
	close(copy);
}

TEST("fdinfo counts device memory to the byte")
{
	int fd = open_rank(0), other = open_rank(0);
	uint32_t a, b;

	check_vram(fd, 0, 0);
	CHECK_EQ(bo_create(fd, 1, &a), 0); /* a page */
	check_vram(fd, PAGE, 0);
	CHECK_EQ(bo_create(fd, 3 << 20, &b), 0);
	check_vram(fd, PAGE + (3 << 20), 0);
	check_vram(other, 0, 0);
	CHECK_EQ(bo_close(fd, a), 0);
	check_vram(fd, 3 << 20, 0);
	CHECK_EQ(bo_close(fd, b), 0);
	check_vram(fd, 0, 0);
	close(fd);
	close(other);
}

/*
 * Host buffers are another region. fdinfo shows which memory is shared, and whose pages they are.
 */
TEST("fdinfo tells host memory and sharing apart")
{
	struct memory host = { .total = 5 * PAGE, .resident = 5 * PAGE };
	struct memory device = { .total = 2 * PAGE, .resident = 2 * PAGE };
	const struct memory imported = { .total = 5 * PAGE, .shared = 5 * PAGE };
	int fd = open_rank(0), other = open_rank(1), copy = open_rank(0), dmabuf;
	uint32_t a, b, handle;

	CHECK_EQ(bo_create_host(fd, 5 * PAGE, &a), 0);
	CHECK_EQ(bo_create(fd, 2 * PAGE, &b), 0);
	check_region(fd, "memory", &host);
	check_region(fd, "vram", &device);
	/* A second file of the same device: the same buffer. */
	dmabuf = prime_share(fd, b);
	CHECK_EQ(prime_import(copy, dmabuf, &handle), 0);
	device.shared = device.total;
	check_region(fd, "vram", &device);
	check_region(copy, "vram", &device);
	close(dmabuf);
	/* Another device: a buffer of its own, with the first one's pages. */
	dmabuf = prime_share(fd, a);
	CHECK_EQ(prime_import(other, dmabuf, &handle), 0);
	host.shared = host.total;
	check_region(fd, "memory", &host);
	check_region(other, "memory", &imported);
	check_vram(other, 0, 0);
	close(dmabuf);
	close(fd);
	close(copy);
	close(other);
}

/* A client also pays for its spaces' counter tables: 16 bytes for each tile. */
TEST("fdinfo counts the counter table of a space")
{
	struct drm_t3_space_create made;
	int fd = open_rank(0);
	uint32_t bo;

	CHECK_EQ(bo_create(fd, 1 << 20, &bo), 0);
	CHECK_EQ(space_create(fd, bo, 1000, &made), 0);
	check_vram(fd, (1 << 20) + 4 * PAGE, 0);
	CHECK_EQ(space_destroy(fd, made.space), 0);
	check_vram(fd, 1 << 20, 0);
	close(fd);
}

/* Wait until a job is in the ring. */
static uint64_t wait_busy(int fd, const char *key)
{
	int64_t deadline = after_ms(WAIT_MS);
	uint64_t busy;

	do {
		nap_ms(1);
		busy = fdinfo_ns(fd, key);
	} while (!busy && now_ns() < deadline);
	CHECK(busy);
	return busy;
}

/* Only the queue with the job is busy, from the job's start, and only while it runs. */
TEST("only the engine of the running job is busy")
{
	static const char *const keys[] = { "drm-engine-queue-p0", "drm-engine-queue-p1",
					    "drm-engine-queue-p2", "drm-engine-queue-p3" };
	uint32_t queues[ROWS(keys)], sync, hw_queue, i, other;
	union drm_t3_any_command command;
	struct operand operand;
	uint64_t before, busy;
	int fd = open_rank(0);
	int64_t start;

	debugfs_await_no_queue(0);
	operand_open(&operand, fd, PAGE, 1);
	sync = sync_create(fd);
	command = command_fill(operand.handle, 0, 64, 1);
	for (i = 0; i < ROWS(keys); i++) {
		CHECK_EQ(queue_create(fd, i, &queues[i]), 0);
		CHECK_EQ(fdinfo_ns(fd, keys[i]), 0);
	}
	for (hw_queue = 0; hw_queue < ROWS(keys); hw_queue++) {
		start = now_ns();
		inject_hang(0, hw_queue, true);
		CHECK_EQ(submit_one(fd, queues[hw_queue], &command, sync), 0);
		busy = wait_busy(fd, keys[hw_queue]);
		check_vram(fd, PAGE, PAGE);
		nap_ms(50);
		before = fdinfo_ns(fd, keys[hw_queue]);
		CHECK(before >= busy + 50 * NS_MS);
		inject_hang(0, hw_queue, false);
		CHECK_EQ(sync_wait(fd, sync, 0, WAIT_MS), 0);
		check_vram(fd, PAGE, 0);
		busy = fdinfo_ns(fd, keys[hw_queue]);
		CHECK(busy >= before && busy <= (uint64_t)(now_ns() - start));
		nap_ms(20);
		CHECK_EQ(fdinfo_ns(fd, keys[hw_queue]), busy);
		for (other = hw_queue + 1; other < ROWS(keys); other++)
			CHECK_EQ(fdinfo_ns(fd, keys[other]), 0);
	}
	/* The used time stays when the queues are destroyed. */
	before = fdinfo_ns(fd, keys[0]);
	CHECK_EQ(queue_destroy(fd, queues[0]), 0);
	CHECK_EQ(fdinfo_ns(fd, keys[0]), before);
	operand_close(&operand, fd);
	close(fd);
}

/* Two queues of one priority are one engine. Time is not counted twice. */
TEST("two queues at once count time once")
{
	union drm_t3_any_command command;
	uint32_t queues[2], syncs[2], i;
	struct operand operands[2];
	int fd = open_rank(0);
	uint64_t busy;
	int64_t start, begun = 0, least;

	/* An earlier test's queue may still be there, and these two would not be the first ones. */
	nap_ms(50 * guest_slowness());
	for (i = 0; i < 2; i++) {
		operand_open(&operands[i], fd, PAGE, i);
		syncs[i] = sync_create(fd);
		CHECK_EQ(queue_create(fd, 0, &queues[i]), 0);
	}
	start = now_ns();
	for (i = 0; i < 2; i++) {
		inject_hang(0, i, true);
		command = command_fill(operands[i].handle, 0, 64, 1);
		CHECK_EQ(submit_one(fd, queues[i], &command, syncs[i]), 0);
		wait_busy(fd, "drm-engine-queue-p0");
		begun = i ? begun : now_ns();
		nap_ms(50);
	}
	check_vram(fd, 2 * PAGE, 2 * PAGE);
	inject_hang(0, 0, false);
	CHECK_EQ(sync_wait(fd, syncs[0], 0, WAIT_MS), 0);
	check_vram(fd, 2 * PAGE, PAGE);
	nap_ms(50);
	least = now_ns() - begun;
	inject_hang(0, 1, false);
	CHECK_EQ(sync_wait(fd, syncs[1], 0, WAIT_MS), 0);
	busy = fdinfo_ns(fd, "drm-engine-queue-p0");
	CHECK(busy >= (uint64_t)least && busy <= (uint64_t)(now_ns() - start));
	for (i = 0; i < 2; i++)
		operand_close(&operands[i], fd);
	close(fd);
}

TEST("the kernel's log is clean")
{
	check_kernel_log();
}
