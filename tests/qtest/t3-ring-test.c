/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * T3 qtests: memory that two nodes share, where the other node is this program and breaks its rules.
 * SPEC.md section 16.4.
 */
#include "qemu/osdep.h"
#include <sys/mman.h>
#include "qapi/error.h"
#include "qemu/atomic.h"
#include "qemu/sockets.h"
#include "t3-test.h"

#define PIPE_SIZE  0x80000u
#define PIPE_BYTES (0x1000u + 2 * PIPE_SIZE)
#define SEALS	   (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define WAIT_MS	   10000

enum { HELLO = 1, PING = 5, MOVE = 7 };

struct head {
	uint8_t type, flags;
	uint16_t mbz;
	uint32_t length;
};

struct greeting {
	struct head head;
	char magic[8];
	uint32_t version, flags;
	uint8_t fabric[16];
	uint32_t topology, ranks, nodes, node, local, mbz;
};

/* Node 0 is a QEMU; this program is node 1. */
struct test {
	struct t3_vm *vm;
	char *folder, *path;
	int socket;
	uint32_t *memory; /* as words */
};

static struct test test_new(void)
{
	struct test test = { .folder = g_dir_make_tmp("t3-ring-XXXXXX", NULL), .socket = -1 };
	g_autofree char *options = NULL;

	g_assert_nonnull(test.folder);
	test.path = g_strdup_printf("%s/0", test.folder);
	options = g_strdup_printf(
		"-object iothread,id=io -object '{ \"qom-type\": \"t3-fabric\", \"id\": \"f0\", "
		"\"ranks\": 2, \"iothread\": \"io\", \"uuid\": \"" T3_TEST_UUID "\", \"nodes\": [ "
		"{ \"ranks\": 1, \"address\": { \"type\": \"unix\", \"path\": \"%s\" } }, "
		"{ \"ranks\": 1 } ] }' -device t3,id=d0,fabric=f0,memory-size=64M,"
		"aperture-size=32M,addr=4",
		test.path);
	test.vm = vm_start_raw(options);
	vm_add_dev(test.vm, QPCI_DEVFN(4, 0));
	dev_map(&test.vm->dev[0]);
	return test;
}

static void leave(struct test *test)
{
	if (test->memory)
		munmap(test->memory, PIPE_BYTES);
	if (test->socket >= 0)
		close(test->socket);
	test->memory = NULL;
	test->socket = -1;
}

/* The device still works. */
static void test_free(struct test *test)
{
	leave(test);
	g_assert_cmphex(reg_read(&test->vm->dev[0], T3_REG_ID), ==, T3_ID_VALUE);
	vm_end(test->vm);
	unlink(test->path);
	rmdir(test->folder);
	g_free(test->path);
	g_free(test->folder);
}

static struct greeting greeting(void)
{
	static const uint8_t fabric[16] = { 0x6f, 0x1d, 0x2c, 0x3e, 0,	  0,	0x40, 0,
					    0x80, 0,	0x01, 0x23, 0x45, 0x67, 0x89, 0xab };
	struct greeting hello = {
		.head = { .type = HELLO, .length = sizeof(hello) - sizeof(hello.head) },
		.magic = "T3 NODE",
		.version = 3,
		.topology = T3_TOPOLOGY_RING,
		.ranks = 2,
		.nodes = 2,
		.node = 1,
		.local = 2,
	};

	memcpy(hello.fabric, fabric, sizeof(fabric));
	return hello;
}

static void send_with(int socket, const void *data, size_t len, int fd)
{
	struct iovec iov = { .iov_base = (void *)data, .iov_len = len };
	char control[CMSG_SPACE(sizeof(fd))] = { 0 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;

	message.msg_control = control;
	message.msg_controllen = sizeof(control);
	cmsg = CMSG_FIRSTHDR(&message);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	g_assert_cmpint(sendmsg(socket, &message, 0), ==, len);
}

/* The type of the frame that comes next, without its body; 0: the connection has ended. */
static uint32_t next_frame(const struct test *test)
{
	uint8_t body[64];
	struct head head;

	if (recv(test->socket, &head, sizeof(head), MSG_WAITALL) != sizeof(head))
		return 0;
	g_assert_cmpuint(head.length, <=, sizeof(body));
	if (head.length)
		g_assert_cmpint(recv(test->socket, body, head.length, MSG_WAITALL), ==,
				head.length);
	return head.type;
}

/* Connects, and offers the memory of that descriptor. The node closes connections that come early. */
static void offer(struct test *test, int fd)
{
	struct timeval limit = { .tv_sec = WAIT_MS / 1000 };
	struct greeting hello = greeting();
	unsigned int i;

	for (i = 0; i < 100; i++) {
		test->socket = unix_connect(test->path, &error_abort);
		setsockopt(test->socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		send_with(test->socket, &hello, sizeof(hello), fd);
		if (next_frame(test) == HELLO)
			return;
		close(test->socket);
		g_usleep(20000);
	}
	g_assert_not_reached();
}

/* ------------------------------------------------------------ wrong memory */

static void check_refused(struct test *test, int fd)
{
	g_assert_cmpint(fd, >=, 0);
	offer(test, fd);
	g_assert_cmpuint(next_frame(test), ==, PING); /* and not MOVE */
	leave(test);
	close(fd);
}

static int memory_of(size_t size, unsigned int seals)
{
	int fd = memfd_create("test", MFD_ALLOW_SEALING);

	g_assert_cmpint(ftruncate(fd, size), ==, 0);
	g_assert_cmpint(fcntl(fd, F_ADD_SEALS, seals), ==, 0);
	return fd;
}

static void test_refused(void)
{
	struct test test = test_new();

	check_refused(&test, memory_of(PIPE_BYTES, SEALS & ~F_SEAL_SHRINK));
	check_refused(&test, memory_of(PIPE_BYTES, SEALS & ~F_SEAL_GROW));
	check_refused(&test, memory_of(PIPE_BYTES, SEALS & ~F_SEAL_SEAL));
	check_refused(&test, memory_of(PIPE_BYTES + 1, SEALS));
	check_refused(&test, open("/dev/zero", O_RDWR));
	test_free(&test);
}

/* --------------------------------------------------------- hostile content */

/* Words of the memory: this program writes pipe 0 and reads pipe 1. */
enum { WRITTEN = 0, TAKEN = 32 + 16 };

static void share(struct test *test)
{
	static const struct head move = { .type = MOVE };
	int fd = memory_of(PIPE_BYTES, SEALS);

	offer(test, fd);
	test->memory = mmap(NULL, PIPE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	g_assert_true(test->memory != MAP_FAILED);
	close(fd);
	g_assert_cmpuint(next_frame(test), ==, MOVE);
	g_assert_cmpint(write(test->socket, &move, sizeof(move)), ==, sizeof(move));
}

/* The node sleeps for a tenth of a second at most. It sends nothing, and ends the connection. */
static void check_ended(struct test *test)
{
	char byte;
	ssize_t len = read(test->socket, &byte, sizeof(byte));

	g_assert_true(len == 0 || (len < 0 && errno == ECONNRESET));
	leave(test);
}

static void test_indices(void)
{
	static const uint32_t impossible[] = { PIPE_SIZE + 1, 0xffffffff };
	struct test test = test_new();
	unsigned int i;

	for (i = 0; i < G_N_ELEMENTS(impossible); i++) {
		share(&test);
		qatomic_set(&test.memory[WRITTEN], impossible[i]);
		check_ended(&test);
		share(&test);
		qatomic_set(&test.memory[TAKEN], impossible[i]);
		check_ended(&test);
	}
	test_free(&test);
}

/* A frame that breaks the protocol, and the socket's end while the memory is full of bytes. */
static void test_frames(void)
{
	struct test test = test_new();

	share(&test);
	test.memory[0x1000 / 4] = 0xff;
	qatomic_set(&test.memory[WRITTEN], 8);
	check_ended(&test);
	share(&test);
	qatomic_set(&test.memory[WRITTEN], 4); /* half a head */
	shutdown(test.socket, SHUT_WR);
	check_ended(&test);
	test_free(&test);
}

/* All of it changes while the node reads and writes. */
static void test_noise(void)
{
	struct test test = test_new();
	g_autoptr(GRand) random = g_rand_new_with_seed(1);
	unsigned int turn, i;

	for (turn = 0; turn < 8; turn++) {
		share(&test);
		for (i = 0; i < 20000; i++) {
			uint32_t at = g_rand_int_range(random, 0, 64 + 1024);

			at = at < 64 ? at : 0x1000 / 4 + at - 64;
			qatomic_set(&test.memory[at], g_rand_int(random) >> (turn * 4));
		}
		leave(&test);
	}
	test_free(&test);
}

void add_ring_tests(void)
{
	qtest_add_func("/t3/nodes/memory/refused", test_refused);
	qtest_add_func("/t3/nodes/memory/indices", test_indices);
	qtest_add_func("/t3/nodes/memory/frames", test_frames);
	qtest_add_func("/t3/nodes/memory/noise", test_noise);
}
