// SPDX-License-Identifier: MIT
/*
 * The DRM core's ioctls, each in a process of its own: as the node's unprivileged
 * user, as one who has only been given the descriptor, and as root. On Linux 6.12
 * GET_UNIQUE and GET_MAGIC dereference NULL on accel nodes: our driver refuses them.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <drm.h>

#include "child.h"
#include "raw.h"

#define ARGUMENT 256u

/* GET_UNIQUE and GET_MAGIC; GEM_FLINK and GEM_OPEN, whose names anybody could guess. */
static const unsigned int refused[] = { 0x01, 0x02, 0x0a, 0x0b };

static bool is_core(unsigned int nr)
{
	return nr < DRM_COMMAND_BASE || nr >= DRM_COMMAND_END;
}

struct sweep {
	unsigned int nr;
	uid_t uid;     /* 0: stay root */
	bool received; /* the node was opened by root, before */
};

static void ignore_signal(int number)
{
	(void)number;
}

/* An interrupted call is no failure. */
static void interrupt_soon(void)
{
	struct sigaction action = { .sa_handler = ignore_signal };

	sigaction(SIGALRM, &action, NULL);
	alarm(2);
}

static void fill(unsigned char *arg, int round)
{
	size_t i;

	for (i = 0; i < ARGUMENT; i++)
		arg[i] = round == 0 ? 0 : round == 1 ? 0xff : (unsigned char)random();
}

static void try_all_shapes(int fd, unsigned int nr)
{
	static const unsigned int sizes[] = { 0, 4, 8, 16, 24, 32, 40, 64, 128, ARGUMENT };
	unsigned char arg[ARGUMENT];
	size_t i;
	int round;

	for (round = 0; round < 6; round++) {
		for (i = 0; i < ROWS(sizes); i++) {
			fill(arg, round);
			call(fd, _IOC(_IOC_READ | _IOC_WRITE, 'd', nr, sizes[i]), arg);
		}
	}
	call(fd, _IOC(_IOC_NONE, 'd', nr, 0), NULL);
	call(fd, _IOC(_IOC_READ, 'd', nr, ARGUMENT), arg);
	call(fd, _IOC(_IOC_WRITE, 'd', nr, ARGUMENT), arg);
}

static int open_as(const struct sweep *sweep)
{
	int fd = -1;

	if (sweep->received)
		fd = open_rank(0);
	else
		guest_node(0); /* find it while that is allowed */
	if (sweep->uid)
		become(sweep->uid, !sweep->received);
	return fd >= 0 ? fd : open(guest_node(0), O_RDWR | O_CLOEXEC);
}

static void sweep_body(int sock, void *arg)
{
	const struct sweep *sweep = arg;
	int fd = open_as(sweep);

	(void)sock;
	CHECK(fd >= 0);
	interrupt_soon();
	srandom(sweep->nr + 1);
	try_all_shapes(fd, sweep->nr);
}

static void sweep(uid_t uid, bool received)
{
	struct sweep one = { .uid = uid, .received = received };
	struct child child;
	int status;

	for (one.nr = 0; one.nr < 0x100; one.nr++) {
		if (!is_core(one.nr))
			continue;
		child_start(&child, sweep_body, &one);
		status = child_end(&child, 10000);
		if (status)
			guest_fail(__FILE__, __LINE__, "ioctl %#x: the child ended with %d", one.nr,
				   status);
	}
	/* The device still works. */
	close(open_rank(0));
}

/* --------------------------------------------------------- refused ioctls */

/* Types whose calls the VFS implements itself, for any file. */
static bool foreign_type_of_vfs(unsigned int type)
{
	return type && type < 0x100 && memchr("\x12\x15TXfv\x94", (int)type, 7);
}

/*
 * The kernel's dispatcher uses the number alone. Neither the type letter nor direction nor size may
 * avoid the refusal.
 */
static void refused_body(int sock, void *arg)
{
	static const unsigned int sizes[] = { 0, 1, 4, 8, 16, 64, 255, 4096 };
	static const unsigned int directions[] = { 0, 1, 2, 3 };
	static unsigned char buffer[4096];
	const struct sweep *sweep = arg;
	int fd = open_as(sweep);
	unsigned int type, nr;
	size_t n, i, k;

	(void)sock;
	for (n = 0; n < ROWS(refused) * ROWS(sizes) * ROWS(directions); n++) {
		nr = refused[n % ROWS(refused)];
		i = n / ROWS(refused) % ROWS(sizes);
		k = n / ROWS(refused) / ROWS(sizes);
		CHECK_EQ(call(fd, _IOC(directions[k], 'd', nr, sizes[i]), buffer), -EACCES);
		for (type = 5; type < 256; type += 5) /* 0 is the VFS */
			CHECK(call(fd, _IOC(directions[k], type, nr, sizes[i]), buffer) < 0);
	}
}

/* The driver knows no ioctl of other types, whatever their number. */
static void foreign_body(int sock, void *arg)
{
	static unsigned char buffer[4096];
	int fd = open_as(arg);
	unsigned int type, i;

	(void)sock;
	interrupt_soon();
	for (type = 0; type < 0x100; type++) {
		if (type == DRM_IOCTL_BASE)
			continue;
		for (i = 0; i < 4 * 0x100; i++) {
			int got = call(fd, _IOC(i & 3, type, i >> 2, i % 3 * 8), buffer);

			CHECK(got == -ENOTTY || foreign_type_of_vfs(type));
		}
	}
}

static void check_refused(uid_t uid, bool received)
{
	struct sweep sweep = { .uid = uid, .received = received };
	struct child child;

	child_start(&child, refused_body, &sweep);
	CHECK_EQ(child_end(&child, 10000), 0);
}

TEST("calls for unique names and magic numbers are refused")
{
	check_refused(UID_USER, false);
	check_refused(UID_NOBODY, true);
	check_refused(0, false);
}

TEST("ioctls of other types are refused")
{
	struct sweep sweep = { .uid = UID_USER };
	struct child child;

	child_start(&child, foreign_body, &sweep);
	CHECK_EQ(child_end(&child, 60000), 0);
}

/* -------------------------------------------------- what each of them answers */

/* With an argument of zeros. 0: it works, and shows nothing of others. */
static const struct {
	const char *name;
	unsigned int nr;
	int user, root;
} answers[] = {
	{ "VERSION", 0x00, 0, 0 },
	{ "GET_UNIQUE", 0x01, EACCES, EACCES },
	{ "GET_MAGIC", 0x02, EACCES, EACCES },
	{ "GET_IRQ_BUSID", 0x03, EINVAL, EINVAL },
	{ "GET_MAP", 0x04, EINVAL, EINVAL },
	{ "GET_CLIENT", 0x05, 0, 0 },
	{ "GET_STATS", 0x06, 0, 0 },
	{ "SET_VERSION", 0x07, EACCES, EACCES },
	{ "GEM_CLOSE", 0x09, EINVAL, EINVAL },
	{ "GEM_FLINK", 0x0a, EACCES, EACCES },
	{ "GEM_OPEN", 0x0b, EACCES, EACCES },
	{ "GET_CAP", 0x0c, EOPNOTSUPP, EOPNOTSUPP },
	{ "SET_CLIENT_CAP", 0x0d, EOPNOTSUPP, EOPNOTSUPP },
	{ "SET_UNIQUE", 0x10, EACCES, EACCES },
	{ "AUTH_MAGIC", 0x11, EACCES, EACCES },
	{ "BLOCK", 0x12, EACCES, EACCES },
	{ "UNBLOCK", 0x13, EACCES, EACCES },
	{ "ADD_MAP", 0x15, EINVAL, EINVAL },
	{ "SET_MASTER", 0x1e, EACCES, EINVAL },
	{ "DROP_MASTER", 0x1f, EACCES, EINVAL },
	{ "LOCK", 0x2a, EINVAL, EINVAL },
	{ "FINISH", 0x2c, EACCES, 0 },
	{ "PRIME_HANDLE_TO_FD", 0x2d, ENOENT, ENOENT },
	{ "PRIME_FD_TO_HANDLE", 0x2e, EINVAL, EINVAL },
	{ "AGP_ACQUIRE", 0x30, EINVAL, EINVAL },
	{ "SG_ALLOC", 0x38, EINVAL, EINVAL },
	{ "WAIT_VBLANK", 0x3a, EOPNOTSUPP, EOPNOTSUPP },
	{ "MODE_GETRESOURCES", 0xa0, EOPNOTSUPP, EOPNOTSUPP },
	{ "MODE_SETCRTC", 0xa2, EACCES, EACCES },
	{ "MODE_GETFB", 0xad, EOPNOTSUPP, EOPNOTSUPP },
	{ "MODE_ADDFB2", 0xb8, EOPNOTSUPP, EOPNOTSUPP },
	{ "MODE_CREATE_DUMB", 0xb2, ENOSYS, ENOSYS },
	{ "MODE_MAP_DUMB", 0xb3, ENOSYS, ENOSYS },
	{ "MODE_ATOMIC", 0xbc, EACCES, EACCES },
	{ "MODE_CREATE_LEASE", 0xc6, EACCES, EACCES },
	{ "MODE_LIST_LESSEES", 0xc7, EACCES, EACCES },
	{ "MODE_GET_LEASE", 0xc8, EACCES, EACCES },
	{ "SYNCOBJ_CREATE", 0xbf, 0, 0 },
	{ "SYNCOBJ_HANDLE_TO_FD", 0xc1, EINVAL, EINVAL },
	{ "SYNCOBJ_WAIT", 0xc3, 0, 0 },
};

static void answers_body(int sock, void *arg)
{
	const struct sweep *sweep = arg;
	uint8_t zeros[ARGUMENT];
	int fd = open_as(sweep), wrong = 0, got, want;
	size_t i;

	(void)sock;
	for (i = 0; i < ROWS(answers); i++) {
		memset(zeros, 0, sizeof(zeros));
		got = call(fd, _IOC(3, 'd', answers[i].nr, ARGUMENT), zeros);
		want = sweep->uid ? -answers[i].user : -answers[i].root;
		if (got == want)
			continue;
		fprintf(stderr, "# %s as %d: %d, not %d\n", answers[i].name, (int)sweep->uid, got,
			want);
		wrong++;
	}
	CHECK_EQ(wrong, 0);
}

static void check_answers(uid_t uid, bool received)
{
	struct sweep sweep = { .uid = uid, .received = received };
	struct child child;

	child_start(&child, answers_body, &sweep);
	CHECK_EQ(child_end(&child, 10000), 0);
}

TEST("the core's harmless ioctls give their answers")
{
	check_answers(UID_USER, false);
	check_answers(UID_NOBODY, false);
	check_answers(0, false);
}

/* The list of clients has one entry: the asking process itself. */
static void clients_body(int sock, void *arg)
{
	struct drm_client client = { .idx = 0 };
	int fd = open_as(arg);

	(void)sock;
	CHECK_EQ(call(fd, DRM_IOCTL_GET_CLIENT, &client), 0);
	CHECK_EQ(client.pid, getpid());
	CHECK_EQ(client.auth, 0);
	CHECK_EQ(client.magic, 0);
	client.idx = 1;
	CHECK_EQ(call(fd, DRM_IOCTL_GET_CLIENT, &client), -EINVAL);
}

TEST("clients are not listed for others")
{
	struct sweep sweep = { .uid = UID_USER };
	int other = open_rank(0);
	struct child child;

	child_start(&child, clients_body, &sweep);
	CHECK_EQ(child_end(&child, 5000), 0);
	close(other);
}

/* ------------------------------------------------------------ 32-bit entry */

#define NR32_GETPID 20
#define NR32_IOCTL  54

#ifdef __x86_64__
static long syscall32(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(nr), "b"(a), "c"(b), "d"(c)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int)ret;
}
#else
#define MAP_32BIT 0
/* A process of 64 bits has no other system calls. */
static long syscall32(long nr, long a, long b, long c)
{
	(void)nr, (void)a, (void)b, (void)c;
	return -ENOSYS;
}
#endif

static void probe32_body(int sock, void *arg)
{
	(void)sock;
	(void)arg;
	_exit(syscall32(NR32_GETPID, 0, 0, 0) == getpid() ? 0 : 2);
}

/* An argument below 4 GiB. */
static void *low_memory(void)
{
	void *ptr = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	CHECK(ptr != MAP_FAILED);
	return ptr;
}

static int call32(int fd, unsigned int request, void *arg)
{
	return (int)syscall32(NR32_IOCTL, fd, (long)request, (long)(uintptr_t)arg);
}

static void compat_body(int sock, void *arg)
{
	struct drm_t3_query *query = low_memory();
	struct drm_t3_bo_create *bo = low_memory();
	int fd = open_as(arg);
	unsigned int nr, size;

	(void)sock;
	for (nr = 0; nr < 0x10000; nr++)
		if (nr >> 8 && nr >> 8 != DRM_IOCTL_BASE && !foreign_type_of_vfs(nr >> 8))
			CHECK_EQ(call32(fd, _IOC(3, nr >> 8, nr & 0xff, 8), query), -ENOTTY);
	for (nr = 0; nr < ROWS(refused); nr++)
		for (size = 0; size < 64; size += 4)
			CHECK_EQ(call32(fd, _IOC(3, 'd', refused[nr], size), query), -EACCES);
	/* The layouts are the same, so the driver's own ioctls work unchanged. */
	memset(query, 0, sizeof(*query));
	CHECK_EQ(call32(fd, (unsigned int)DRM_IOCTL_T3_QUERY, query), 0);
	CHECK_EQ(query->size, sizeof(struct drm_t3_device_info));
	bo->size = 1;
	CHECK_EQ(call32(fd, (unsigned int)DRM_IOCTL_T3_BO_CREATE, bo), 0);
	CHECK_EQ(bo->size, PAGE);
	interrupt_soon();
	for (nr = 0; nr < 0x100; nr++) {
		if (!is_core(nr))
			continue;
		for (size = 0; size <= ARGUMENT; size += 4) {
			memset(query, nr % 2 ? 0xff : 0, ARGUMENT);
			call32(fd, _IOC(3, 'd', nr, size), query);
		}
	}
}

TEST("the 32-bit entry refuses and answers the same")
{
	struct sweep sweep = { .uid = UID_USER };
	struct child child;

	child_start(&child, probe32_body, NULL);
	if (child_end(&child, 5000)) {
		fprintf(stderr,
			"# skipped: a program of 64 bits has no 32-bit system calls here\n");
		skip();
	}
	child_start(&child, compat_body, &sweep);
	CHECK_EQ(child_end(&child, 10000), 0);
}

SLOW_TEST("the core's ioctls answer the node's user as listed")
{
	sweep(UID_USER, false);
}

SLOW_TEST("the core's ioctls answer one with a descriptor as listed")
{
	sweep(UID_NOBODY, true);
}

SLOW_TEST("the core's ioctls answer root as listed")
{
	sweep(0, false);
}
