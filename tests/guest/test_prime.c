// SPDX-License-Identifier: MIT
/* dma-bufs: exported to processes and devices, imported from T3 devices and other drivers. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "child.h"
#include "memory.h"
#include "module.h"
#include "raw.h"

#define SIZE	65536u
#define WAIT_MS 10000

struct user {
	int fd;
	uint32_t queue;
	struct operand own;
};

static void user_open(struct user *u, uint32_t rank)
{
	u->fd = open_rank(rank);
	CHECK_EQ(queue_create(u->fd, 1, &u->queue), 0);
	operand_open(&u->own, u->fd, SIZE, rank + 1);
}

static void user_close(struct user *u)
{
	operand_close(&u->own, u->fd);
	close(u->fd);
}

/* Copies from and to a foreign buffer at odd places, compared with a model of both. */
static void check_operand(struct user *u, struct operand *other)
{
	union drm_t3_any_command command = command_copy(u->own.handle, other->handle, SIZE - 333);

	command.copy.src.offset = 222;
	command.copy.dst.offset = 111;
	run_command(u->fd, u->queue, &command);
	model_run(&command, &u->own, other);
	command = command_copy(other->handle, u->own.handle, 5);
	command.copy.rows = 1000;
	command.copy.dst.pitch = 65;
	command.copy.src.pitch = 7;
	run_command(u->fd, u->queue, &command);
	model_run(&command, other, &u->own);
	command = command_fill(other->handle, 4090, 9001, 0x8877665544332211);
	run_command(u->fd, u->queue, &command);
	model_run(&command, other, NULL);
	operand_check(&u->own);
	operand_check(other);
}

/* --------------------------------------------------------------- same device */

/* The same buffer: mapped, a job's operand, behind a space. It lives as long as any of them. */
TEST("an import on the same device is the same buffer")
{
	struct drm_t3_space_create made;
	uint32_t handle, again;
	struct operand twin;
	struct user a, b;
	int dmabuf;

	user_open(&a, 0);
	user_open(&b, 0);
	dmabuf = prime_share(a.fd, a.own.handle);
	CHECK_EQ(prime_import(b.fd, dmabuf, &handle), 0);
	CHECK_EQ(prime_import(b.fd, dmabuf, &again), 0);
	CHECK_EQ(again, handle);
	CHECK_EQ(prime_import(a.fd, dmabuf, &again), 0);
	CHECK_EQ(again, a.own.handle);
	close(dmabuf);
	operand_close(&a.own, a.fd);
	operand_adopt(&twin, b.fd, handle, SIZE, 7);
	check_operand(&b, &twin);
	CHECK_EQ(space_create(b.fd, handle, 1, &made), 0);
	CHECK_EQ(space_destroy(b.fd, made.space), 0);
	operand_close(&twin, b.fd);
	user_close(&b);
	close(a.fd);
}

TEST("wrong arguments of an export are refused")
{
	struct user u;
	uint32_t handle;
	int dmabuf;

	user_open(&u, 0);
	CHECK_EQ(prime_export(u.fd, 77, DRM_CLOEXEC), -ENOENT);
	CHECK_EQ(prime_export(u.fd, u.own.handle, 1u << 30), -EINVAL);
	dmabuf = prime_export(u.fd, u.own.handle, DRM_CLOEXEC);
	CHECK(dmabuf >= 0);
	CHECK_EQ(fcntl(dmabuf, F_GETFD), FD_CLOEXEC);
	CHECK(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0) == MAP_FAILED);
	CHECK_EQ(errno, EACCES);
	CHECK_EQ(prime_import(u.fd, -1, &handle), -EBADF);
	CHECK_EQ(prime_import(u.fd, STDERR_FILENO, &handle), -EINVAL);
	CHECK_EQ(prime_import(u.fd, u.fd, &handle), -EINVAL);
	close(dmabuf);
	user_close(&u);
}

/* -------------------------------------------------------------- its mapping */

static void *map_dmabuf(int dmabuf, uint64_t offset, uint64_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, (off_t)offset);
}

static void sync_dmabuf(int dmabuf, uint64_t flags)
{
	struct dma_buf_sync sync = { .flags = flags };

	CHECK_EQ(call(dmabuf, DMA_BUF_IOCTL_SYNC, &sync), 0);
}

/* The whole, or pages out of its middle, and never more. */
static void check_mapping(int fd, const struct operand *operand)
{
	int dmabuf = prime_share(fd, operand->handle);
	volatile uint8_t *part;

	CHECK_EQ(lseek(dmabuf, 0, SEEK_END), SIZE);
	part = map_dmabuf(dmabuf, 2 * PAGE, PAGE);
	CHECK((void *)(uintptr_t)part != MAP_FAILED);
	sync_dmabuf(dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW);
	CHECK_EQ(part[5], operand->memory[2 * PAGE + 5]);
	part[5] = 0x5a;
	sync_dmabuf(dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW);
	CHECK_EQ(operand->memory[2 * PAGE + 5], 0x5a);
	operand->model[2 * PAGE + 5] = 0x5a;
	operand_check(operand);
	CHECK(mremap((void *)(uintptr_t)part, PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
	munmap((void *)(uintptr_t)part, PAGE);
	CHECK(map_dmabuf(dmabuf, 0, SIZE + PAGE) == MAP_FAILED);
	CHECK(map_dmabuf(dmabuf, PAGE, SIZE) == MAP_FAILED);
	CHECK(map_dmabuf(dmabuf, SIZE, PAGE) == MAP_FAILED);
	CHECK(map_dmabuf(dmabuf, UINT64_MAX - PAGE + 1, PAGE) == MAP_FAILED);
	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, dmabuf, 0) == MAP_FAILED);
	close(dmabuf);
}

TEST("a mapping of a dma-buf shows its buffer")
{
	struct operand host;
	struct user u;
	uint32_t handle;

	user_open(&u, 0);
	CHECK_EQ(bo_create_host(u.fd, SIZE, &handle), 0);
	operand_adopt(&host, u.fd, handle, SIZE, 5);
	check_mapping(u.fd, &u.own);
	check_mapping(u.fd, &host);
	operand_close(&host, u.fd);
	user_close(&u);
}

/* The processor waits for jobs that write, when it announces its access. */
TEST("a processor's access waits for jobs that write")
{
	const uint32_t size = 32u << 20;
	union drm_t3_any_command command;
	volatile uint8_t *map;
	int fd = open_rank(0), dmabuf;
	uint32_t queue, handle;

	CHECK_EQ(queue_create(fd, 0, &queue), 0);
	CHECK_EQ(bo_create(fd, size, &handle), 0);
	dmabuf = prime_share(fd, handle);
	map = map_dmabuf(dmabuf, 0, size);
	CHECK((void *)(uintptr_t)map != MAP_FAILED);
	command = command_fill(handle, 0, size, 0x1111111111111111);
	CHECK_EQ(submit_one(fd, queue, &command, 0), 0);
	sync_dmabuf(dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ);
	CHECK_EQ(map[size - 1], 0x11);
	sync_dmabuf(dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ);
	munmap((void *)(uintptr_t)map, size);
	close(dmabuf);
	close(fd);
}

/* ------------------------------------------------------- devices of a fabric */

/* A buffer of one rank as an operand of the other's queue. */
static void check_peer(int (*create)(int fd, uint64_t size, uint32_t *handle))
{
	struct operand origin, import;
	struct user owner, user;
	uint32_t handle, again;
	int dmabuf;

	user_open(&owner, 0);
	user_open(&user, 1);
	CHECK_EQ(create(owner.fd, SIZE, &handle), 0);
	operand_adopt(&origin, owner.fd, handle, SIZE, 9);
	dmabuf = prime_share(owner.fd, handle);
	CHECK_EQ(prime_import(user.fd, dmabuf, &handle), 0);
	CHECK_EQ(prime_import(user.fd, dmabuf, &again), 0);
	CHECK_EQ(again, handle);
	close(dmabuf);
	operand_adopt(&import, user.fd, handle, SIZE, 10);
	check_operand(&user, &import);
	/* It is the same memory, also for its owner's processor and jobs. */
	memcpy(origin.model, import.model, SIZE);
	operand_check(&origin);
	check_operand(&owner, &origin);
	memcpy(import.model, origin.model, SIZE);
	operand_check(&import);
	/* It stays so when the owner has closed all its objects. */
	operand_close(&origin, owner.fd);
	user_close(&owner);
	check_operand(&user, &import);
	operand_close(&import, user.fd);
	user_close(&user);
}

TEST("a peer's device memory works as an operand")
{
	check_peer(bo_create);
}

TEST("a peer's host memory works as an operand")
{
	check_peer(bo_create_host);
}

/* An import is exported as its original. */
TEST("an import is exported as its original")
{
	struct user owner, user;
	uint32_t handle, back;
	int first, second;

	user_open(&owner, 0);
	user_open(&user, 1);
	first = prime_share(owner.fd, owner.own.handle);
	CHECK_EQ(prime_import(user.fd, first, &handle), 0);
	close(first);
	second = prime_share(user.fd, handle);
	CHECK_EQ(bo_close(user.fd, handle), 0);
	CHECK_EQ(prime_import(owner.fd, second, &back), 0);
	CHECK_EQ(back, owner.own.handle);
	close(second);
	user_close(&user);
	user_close(&owner);
}

TEST("an import is no device memory")
{
	struct drm_t3_space_create made;
	union drm_t3_any_command command;
	struct user owner, user;
	uint32_t handle;
	int dmabuf;

	user_open(&owner, 0);
	user_open(&user, 1);
	dmabuf = prime_share(owner.fd, owner.own.handle);
	CHECK_EQ(prime_import(user.fd, dmabuf, &handle), 0);
	CHECK_EQ(space_create(user.fd, handle, 1, &made), -EOPNOTSUPP);
	command = command_copy(handle, user.own.handle, 64);
	command.head.type = DRM_T3_COMMAND_UPDATE;
	CHECK_EQ(submit_one(user.fd, user.queue, &command, 0), -EOPNOTSUPP);
	close(dmabuf);
	user_close(&user);
	user_close(&owner);
}

TEST("device memory does not leave its fabric, and host memory does")
{
	const char *node = guest_foreign_node();
	struct operand import;
	struct user owner, lone;
	uint32_t handle;
	int dmabuf;

	CHECK(node);
	user_open(&owner, 0);
	lone.fd = open(node, O_RDWR | O_CLOEXEC);
	CHECK(lone.fd >= 0);
	dmabuf = prime_share(owner.fd, owner.own.handle);
	CHECK_EQ(prime_import(lone.fd, dmabuf, &handle), -EXDEV);
	close(dmabuf);
	/* Any device may use host memory. */
	CHECK_EQ(queue_create(lone.fd, 0, &lone.queue), 0);
	operand_open(&lone.own, lone.fd, SIZE, 3);
	CHECK_EQ(bo_create_host(owner.fd, SIZE, &handle), 0);
	dmabuf = prime_share(owner.fd, handle);
	CHECK_EQ(prime_import(lone.fd, dmabuf, &handle), 0);
	close(dmabuf);
	operand_adopt(&import, lone.fd, handle, SIZE, 4);
	check_operand(&lone, &import);
	operand_close(&import, lone.fd);
	user_close(&lone);
	user_close(&owner);
}

/* Fences belong to the buffer: a copy by one rank waits for the fill by another. */
TEST("fences order jobs of two devices")
{
	const uint32_t size = 16u << 20;
	union drm_t3_any_command command;
	struct user owner, user;
	uint32_t big, import, sync, target;
	uint8_t *map;
	int dmabuf;

	user_open(&owner, 0);
	user_open(&user, 1);
	CHECK_EQ(bo_create(owner.fd, size, &big), 0);
	CHECK_EQ(bo_create(user.fd, size, &target), 0);
	dmabuf = prime_share(owner.fd, big);
	CHECK_EQ(prime_import(user.fd, dmabuf, &import), 0);
	sync = sync_create(user.fd);
	command = command_fill(big, 0, size, 0x2222222222222222);
	CHECK_EQ(submit_one(owner.fd, owner.queue, &command, 0), 0);
	command = command_copy(target, import, size);
	CHECK_EQ(submit_one(user.fd, user.queue, &command, sync), 0);
	CHECK_EQ(sync_wait(user.fd, sync, 0, WAIT_MS), 0);
	map = bo_map(user.fd, target, size);
	CHECK_EQ(((volatile uint8_t *)map)[size - 1], 0x22);
	munmap(map, size);
	sync_destroy(user.fd, sync);
	close(dmabuf);
	user_close(&user);
	user_close(&owner);
}

/* ------------------------------------------------------------ other drivers */

static void check_foreign(int dmabuf)
{
	struct operand import;
	struct user u;
	uint32_t handle;
	uint8_t *direct;

	user_open(&u, 0);
	CHECK_EQ(prime_import(u.fd, dmabuf, &handle), 0);
	operand_adopt(&import, u.fd, handle, SIZE, 11);
	check_operand(&u, &import);
	direct = map_dmabuf(dmabuf, 0, SIZE);
	CHECK(direct != MAP_FAILED);
	CHECK_EQ(memcmp(direct, import.model, SIZE), 0);
	munmap(direct, SIZE);
	operand_close(&import, u.fd);
	user_close(&u);
	close(dmabuf);
}

TEST("pages of udmabuf work as an operand")
{
	check_foreign(udmabuf_create(SIZE / PAGE));
}

TEST("pages of a DMA heap work as an operand")
{
	struct dma_heap_allocation_data heap = { .len = SIZE, .fd_flags = O_RDWR | O_CLOEXEC };
	int node = open("/dev/dma_heap/system", O_RDONLY | O_CLOEXEC);

	if (node < 0 && errno == ENOENT) {
		fprintf(stderr, "# skipped: this kernel has no DMA heaps\n");
		skip();
	}
	CHECK(node >= 0);
	CHECK_EQ(call(node, DMA_HEAP_IOCTL_ALLOC, &heap), 0);
	close(node);
	check_foreign((int)heap.fd);
}

/* Behind an IOMMU a buffer is one range, whatever pages it has. */
static bool pages_are_joined(void)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/accel/%s/device/iommu_group",
		 strrchr(guest_node(0), '/') + 1);
	return access(path, F_OK) == 0;
}

enum { PIECES = 1024 };

struct scattered {
	struct user u;
	struct operand own, import;
	union drm_t3_any_command commands[5];
	uint32_t sync;
};

static void scattered_open(struct scattered *s)
{
	const uint32_t size = PIECES * PAGE;
	int dmabuf = udmabuf_create(PIECES);
	uint32_t handle, i;

	user_open(&s->u, 0);
	s->sync = sync_create(s->u.fd);
	operand_open(&s->own, s->u.fd, size, 1);
	CHECK_EQ(prime_import(s->u.fd, dmabuf, &handle), 0);
	close(dmabuf);
	operand_adopt(&s->import, s->u.fd, handle, size, 2);
	for (i = 0; i < ROWS(s->commands); i++)
		s->commands[i] = i % 2 ? command_copy(s->own.handle, handle, size - i)
				       : command_fill(handle, i, size - i, 0x01020304 + i);
}

static void scattered_close(struct scattered *s)
{
	operand_close(&s->own, s->u.fd);
	operand_close(&s->import, s->u.fd);
	sync_destroy(s->u.fd, s->sync);
	user_close(&s->u);
}

/* A job that is eight times as long as the ring. */
TEST("a job of many pieces runs through the ring")
{
	struct submission job;
	struct scattered s;
	uint32_t i;

	scattered_open(&s);
	job = submission(s.u.queue, s.commands, 4);
	submission_out(&job, s.sync, 0);
	CHECK_EQ(submit(s.u.fd, &job), 0);
	CHECK_EQ(sync_wait(s.u.fd, s.sync, 0, WAIT_MS), 0);
	CHECK_EQ(sync_status(s.u.fd, s.sync), 1);
	for (i = 0; i < 4; i++)
		model_run(&s.commands[i], i % 2 ? &s.own : &s.import, &s.import);
	operand_check(&s.own);
	operand_check(&s.import);
	scattered_close(&s);
}

TEST("a job of too many pieces is refused")
{
	struct submission job;
	struct scattered s;

	scattered_open(&s);
	job = submission(s.u.queue, s.commands, 5);
	CHECK_EQ(submit(s.u.fd, &job), pages_are_joined() ? 0 : -EFBIG);
	scattered_close(&s);
}

/* ------------------------------------------------------------ somebody goes */

static void child_shares(int sock, void *arg)
{
	struct user u;
	int dmabuf;

	(void)arg;
	user_open(&u, 0);
	dmabuf = prime_share(u.fd, u.own.handle);
	send_fd(sock, dmabuf);
	receive_u32(sock);
	kill(getpid(), SIGKILL);
}

TEST("an import outlives the process that exported it")
{
	struct operand import;
	struct child child;
	struct user u;
	uint32_t handle;
	int dmabuf;

	child_start(&child, child_shares, NULL);
	dmabuf = receive_fd(child.sock);
	user_open(&u, 1);
	CHECK_EQ(prime_import(u.fd, dmabuf, &handle), 0);
	close(dmabuf);
	send_u32(child.sock, 1);
	CHECK_EQ(child_end(&child, 5000), 128 + SIGKILL);
	operand_adopt(&import, u.fd, handle, SIZE, 6);
	check_operand(&u, &import);
	operand_close(&import, u.fd);
	user_close(&u);
}

/* The exporter's device is removed: no new job, dead mappings, and all memory is freed. */
TEST("an exporting device that goes ends its imports")
{
	union drm_t3_any_command command;
	struct user owner, user;
	int dmabuf, late, submitted, touched;
	uint32_t handle, again;
	uint8_t *map;
	char bdf[32];

	user_open(&owner, 0);
	user_open(&user, 1);
	dmabuf = prime_share(owner.fd, owner.own.handle);
	CHECK_EQ(prime_import(user.fd, dmabuf, &handle), 0);
	map = bo_map(user.fd, handle, SIZE);
	command = command_copy(user.own.handle, handle, SIZE);
	run_command(user.fd, user.queue, &command);
	driver_unbind(0, bdf, sizeof(bdf));
	submitted = submit_one(user.fd, user.queue, &command, 0);
	touched = signal_of_load(map);
	CHECK_EQ(bo_close(user.fd, handle), 0);
	late = prime_import(user.fd, dmabuf, &again);
	munmap(map, SIZE);
	close(dmabuf);
	user_close(&user);
	operand_drop(&owner.own);
	close(owner.fd);
	driver_bind(bdf);
	CHECK_EQ(submitted, -ENODEV);
	CHECK_EQ(touched, SIGBUS);
	CHECK_EQ(late, -ENODEV);
}

/* The importer's device is removed: its attachments end at once, and the buffer lives on. */
TEST("an importing device that goes leaves the buffer alone")
{
	struct operand import;
	struct user owner, user;
	uint32_t handle;
	int dmabuf, foreign = udmabuf_create(4);
	char bdf[32];

	user_open(&owner, 0);
	user_open(&user, 1);
	dmabuf = prime_share(owner.fd, owner.own.handle);
	CHECK_EQ(prime_import(user.fd, dmabuf, &handle), 0);
	close(dmabuf);
	operand_adopt(&import, user.fd, handle, SIZE, 2);
	CHECK_EQ(prime_import(user.fd, foreign, &handle), 0);
	close(foreign);
	driver_unbind(1, bdf, sizeof(bdf));
	memcpy(owner.own.model, import.model, SIZE);
	operand_check(&owner.own);
	operand_drop(&import);
	operand_drop(&user.own);
	close(user.fd);
	user_close(&owner);
	driver_bind(bdf);
}

TEST("the kernel's log is clean")
{
	check_kernel_log();
}
