// SPDX-License-Identifier: MIT
/* libt3: communicators of processes, with peers that violate the protocol. */
#include "test_lib_fabric.h"
#include "test_lib_folder.h"
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "comm/private.h"
#include "test.h"

#define LONG in_ms(20000)

/* The protocol's version 2, as numbers. */
struct wire_hello {
	uint64_t magic;
	uint32_t version, bytes;
	uint64_t fabric_id;
	uint32_t rank, ranks, device_rank, pad;
	unsigned char secret[16];
};

static const struct wire_hello good_hello = {
	0x6d6d6f6333540a0dull, 2, 56, FABRIC, 1, 2, 9, 0, { 0 },
};

static char dir[64];
static struct t3_device *dev;
static unsigned int fds;
static uid_t foreign_self; /* 0: none */
static bool foreign_peers;

uid_t geteuid(void)
{
	return foreign_self ? foreign_self : getuid();
}

/* The kernel's answers, except for a peer's credentials. */
int getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
	int ret = (int)syscall(SYS_getsockopt, fd, level, name, value, size);

	if (!ret && name == SO_PEERCRED && foreign_peers) {
		((struct ucred *)value)->uid = getuid() + 4711;
		((struct ucred *)value)->pid = 12;
	}
	return ret;
}

static int start(void)
{
	fds = count_fds();
	name_new(dir, sizeof(dir), "test");
	assert_non_null(mkdtemp(dir));
	dev = device_new(FABRIC, 3);
	foreign_self = 0;
	foreign_peers = false;
	return 0;
}

static int stop(void)
{
	t3_device_close(dev);
	assert_int_equal(count_fds(), fds);
	assert_int_equal(rmdir(dir), 0);
	return 0;
}

/* -------------------------------------------------------------- this is a rank */

struct member {
	pthread_t thread;
	uint32_t rank, ranks;
	int ret;
	char text[T3_COMM_TEXT_SIZE];
	struct t3_comm *comm;
};

static void *join(void *arg)
{
	struct member *m = arg;
	struct t3_comm_desc desc = { dir, m->rank, m->ranks, m->text, sizeof(m->text) };

	m->ret = t3_comm_create(dev, &desc, LONG, &m->comm);
	return NULL;
}

static void begin(struct member *m, uint32_t rank, uint32_t ranks)
{
	*m = (struct member){ .rank = rank, .ranks = ranks };
	pthread_create(&m->thread, NULL, join, m);
}

static void end(struct member *m, int ret, const char *text)
{
	pthread_join(m->thread, NULL);
	assert_string_equal(m->text, text);
	assert_int_equal(m->ret, ret);
}

/* ------------------------------------------------------------ and this is none */

static struct sockaddr_un address(uint32_t rank)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/rank-%u", dir, rank);
	return at;
}

/* Connect to a rank as soon as it listens. */
static int intrude(uint32_t rank)
{
	struct timeval limit = { .tv_sec = 20 };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un at = address(rank);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	while (connect(fd, (struct sockaddr *)&at, sizeof(at))) {
		assert_true(errno == ENOENT || errno == ECONNREFUSED);
		usleep(500);
	}
	return fd;
}

static void send_all(int fd, const void *data, size_t size)
{
	assert_int_equal(send(fd, data, size, MSG_NOSIGNAL), size);
}

/* A descriptor to pass on: standard input. */
static int passed_fd;

/* count times. */
static void send_fds(int fd, const void *data, size_t size, unsigned int count)
{
	char room[CMSG_SPACE(3 * sizeof(int))] __attribute__((aligned(8))) = "";
	struct iovec part = { (void *)(uintptr_t)data, size };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = room };
	struct cmsghdr *c;
	unsigned int i;

	header.msg_controllen = CMSG_SPACE(count * sizeof(int));
	c = CMSG_FIRSTHDR(&header);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(count * sizeof(int));
	for (i = 0; i < count; i++)
		memcpy(CMSG_DATA(c) + i * sizeof(int), &passed_fd, sizeof(int));
	assert_int_equal(sendmsg(fd, &header, MSG_NOSIGNAL), size);
}

/* Rank 0 of two gets this message. The result is how its join fails. */
static void hears(const void *data, size_t size, unsigned int count, int ret, const char *text)
{
	struct member m;
	int fd;

	begin(&m, 0, 2);
	fd = intrude(0);
	if (count)
		send_fds(fd, data, size, count);
	else
		send_all(fd, data, size);
	end(&m, ret, text);
	close(fd);
}

static void says(struct wire_hello hello, int ret, const char *text)
{
	hears(&hello, sizeof(hello), 0, ret, text);
}

#define STRANGER "a process that is no rank of libt3 has connected"

#undef TEST
#define TEST(sentence) TEST_WITH(sentence, start, stop)

TEST("wrong hellos are refused")
{
	static const char noise[600] = "GET / HTTP/1.0\r\n\r\n";
	struct wire_hello hello = good_hello;

	hears(noise, 18, 0, -EPROTO, STRANGER);
	hears(noise, sizeof(noise), 0, -EPROTO, STRANGER);
	hears(noise, 1, 0, -EPROTO, STRANGER);
	hears(&hello, 15, 0, -EPROTO, STRANGER);
	hears(&hello, 16, 0, -EPROTO, "a hello of a wrong form");
	hears(&hello, 55, 0, -EPROTO, "a hello of a wrong form");
	hello.bytes = 57;
	says(hello, -EPROTO, "a hello of a wrong form");
	hello.bytes = 56;
	hello.pad = 1;
	says(hello, -EPROTO, "a hello of a wrong form");
	hello.pad = 0;
	hello.magic ^= 1ull << 63;
	says(hello, -EPROTO, STRANGER);
	hello.magic = good_hello.magic;
	hello.version = 1;
	says(hello, -EPROTO, "a rank has a libt3 that speaks version 1, this one 2");
}

/* A later version may have another size. */
TEST("a longer hello tells its version")
{
	struct {
		struct wire_hello hello;
		uint64_t more;
	} next = { .hello = good_hello };

	next.hello.version = 7;
	next.hello.bytes = sizeof(next);
	hears(&next, sizeof(next), 0, -EPROTO,
	      "a rank has a libt3 that speaks version 7, this one 2");
	next.hello.version = 2;
	hears(&next, sizeof(next), 0, -EPROTO, "a hello of a wrong form");
}

TEST("wrong ranks are refused")
{
	struct wire_hello hello = good_hello;

	hello.rank = 0;
	says(hello, -EPROTO, "a process says it is rank 0, where only 1 to 1 may be");
	hello.rank = 2;
	says(hello, -EPROTO, "a process says it is rank 2, where only 1 to 1 may be");
	hello.rank = UINT32_MAX;
	says(hello, -EPROTO, "a process says it is rank 4294967295, where only 1 to 1 may be");
	hello.rank = 1;
	hello.ranks = 33;
	says(hello, -EDOM, "rank 1 counts 33 ranks, this one 2");
	hello.ranks = 2;
	hello.device_rank = 3;
	says(hello, -ENOTUNIQ, "ranks 0 and 1 are both on device 3 of the fabric");
	/* A plan shifts a bit by this number, to grant to that device. */
	hello.device_rank = 32;
	says(hello, -EPROTO, "rank 1 says it is on device 32 of a fabric of 32");
	hello.device_rank = UINT32_MAX;
	says(hello, -EPROTO, "rank 1 says it is on device 4294967295 of a fabric of 32");
}

/* It leaves those descriptors open that have no place in the control buffer. */
static void not_under_qemu_user(void)
{
	if (getenv("T3_QEMU_USER")) {
		print_message("skipped: qemu-user leaks descriptors of truncated messages\n");
		skip();
	}
}

TEST("descriptors in a hello are closed")
{
	not_under_qemu_user();
	hears(&good_hello, sizeof(good_hello), 1, -EPROTO, "a hello came with a descriptor");
	hears(&good_hello, sizeof(good_hello), 2, -EPROTO, "a hello came with descriptors");
	hears(&good_hello, sizeof(good_hello), 3, -EPROTO, "a hello came with descriptors");
}

TEST("a rank joins once")
{
	struct wire_hello hello = good_hello;
	struct member m;
	int first, second;

	hello.ranks = 3;
	begin(&m, 0, 3);
	first = intrude(0);
	second = intrude(0);
	send_all(first, &hello, sizeof(hello));
	assert_int_equal(recv(first, &hello, sizeof(hello), 0), sizeof(hello));
	hello = good_hello;
	hello.ranks = 3;
	send_all(second, &hello, sizeof(hello));
	end(&m, -EEXIST, "rank 1 is taken: two processes say they are");
	close(first);
	close(second);
}

/* Rank 1 ends. The meeting is over for rank 2, and it hears because of whom. */
TEST("all that have joined hear which rank ended")
{
	static const uint32_t parting[] = { COMM_ABORT, 8, 1, 0 };
	struct wire_hello hello = good_hello, answer;
	uint32_t frame[5];
	struct member m;
	int fd[2], i;

	hello.ranks = 4;
	begin(&m, 0, 4);
	for (i = 0; i < 2; i++, hello.rank++, hello.device_rank++) {
		fd[i] = intrude(0);
		send_all(fd[i], &hello, sizeof(hello));
		assert_int_equal(recv(fd[i], &answer, sizeof(answer), 0), sizeof(answer));
	}
	close(fd[0]);
	end(&m, -EPIPE, "rank 1 has ended before all ranks had joined");
	assert_int_equal(recv(fd[1], frame, sizeof(frame), 0), sizeof(parting));
	assert_memory_equal(frame, parting, sizeof(parting));
	close(fd[1]);
}

/* Peers that connect and leave, or send nothing, do not disturb the join. */
TEST("silence is no error")
{
	struct member m[2];
	int silent[5], i;

	begin(&m[0], 0, 2);
	for (i = 0; i < 100; i++)
		close(intrude(0));
	for (i = 0; i < 5; i++)
		silent[i] = intrude(0);
	assert_int_equal(send(silent[0], "", 0, MSG_NOSIGNAL), 0);
	/* The peer is on the same device. The error about that shows that both have met. */
	begin(&m[1], 1, 2);
	end(&m[0], -ENOTUNIQ, "ranks 0 and 1 are both on device 3 of the fabric");
	end(&m[1], -ENOTUNIQ, "ranks 0 and 1 are both on device 3 of the fabric");
	for (i = 0; i < 5; i++)
		close(silent[i]);
}

/* ---------------------------------------------------------- a false lower rank */

TEST("listeners are checked too")
{
	struct sockaddr_un at = address(0);
	struct wire_hello hello;
	struct member m;
	int listener, fd, i;

	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 1), 0);
	begin(&m, 1, 2);
	/* A peer that closes may belong to a communicator that ends, so the rank asks again. */
	for (i = 0; i < 3; i++)
		close(accept(listener, NULL, NULL));
	fd = accept(listener, NULL, NULL);
	assert_int_equal(recv(fd, &hello, sizeof(hello), 0), sizeof(hello));
	assert_int_equal(hello.magic, good_hello.magic);
	assert_int_equal(hello.version, 2);
	assert_int_equal(hello.bytes, 56);
	assert_int_equal(hello.fabric_id, FABRIC);
	assert_int_equal(hello.rank, 1);
	assert_int_equal(hello.ranks, 2);
	assert_int_equal(hello.device_rank, 3);
	assert_int_equal(hello.pad, 0);
	hello.device_rank = 4;
	send_all(fd, &hello, sizeof(hello));
	end(&m, -EPROTO, "a process says it is rank 1, where only 0 to 0 may be");
	close(fd);
	close(listener);
	unlink(at.sun_path);
}

/* --------------------------------------------------------------- other users */

TEST("other users are refused")
{
	char text[T3_COMM_TEXT_SIZE];
	struct member m;
	int fd;

	foreign_self = getuid() + 1;
	begin(&m, 0, 2);
	snprintf(text, sizeof(text), "%s belongs to user %u, not to user %u who runs this", dir,
		 getuid(), getuid() + 1);
	end(&m, -EPERM, text);
	foreign_self = 0;
	foreign_peers = true;
	snprintf(text, sizeof(text), "process 12 of user %u wants to be a rank", getuid() + 4711);
	/* The peer closes before it has sent anything. */
	begin(&m, 0, 2);
	fd = intrude(0);
	end(&m, -EPERM, text);
	close(fd);
}

/* ------------------------------------------------- members that turn hostile */

/* Rank 1 of two, by hand: its socket after a good hello and the message of the shared state. */
static int become_member(struct member *m)
{
	uint32_t barrier[3] = { COMM_BARRIER, 4, 1 };
	struct wire_hello hello;
	unsigned char frame[300];
	int fd;

	begin(m, 0, 2);
	fd = intrude(0);
	send_all(fd, &good_hello, sizeof(good_hello));
	assert_int_equal(recv(fd, &hello, sizeof(hello), 0), sizeof(hello));
	assert_int_equal(recv(fd, frame, sizeof(frame), 0), 12); /* the shared state, unchanged */
	send_all(fd, barrier, sizeof(barrier));
	end(m, 0, "");
	return fd;
}

static void takes(struct member *m, int fd, const void *data, size_t size, unsigned int count)
{
	unsigned int before = count_fds();
	uint32_t word;
	int extra;

	if (count)
		send_fds(fd, data, size, count);
	else
		send_all(fd, data, size);
	assert_int_equal(t3_comm_take(m->comm, 1, &word, sizeof(word), &extra, LONG), -EPROTO);
	assert_int_equal(count_fds(), before);
}

TEST("wrong messages are refused")
{
	uint32_t frame[70] = { COMM_DATA, 4, 0 };
	struct member m;
	uint32_t word;
	int fd;

	not_under_qemu_user();
	fd = become_member(&m);
	takes(&m, fd, frame, 7, 0);
	takes(&m, fd, frame, 11, 0);
	takes(&m, fd, frame, 13, 0);
	takes(&m, fd, frame, sizeof(frame), 0);
	takes(&m, fd, frame, 8, 1);
	takes(&m, fd, frame, 12, 2);
	takes(&m, fd, frame, 12, 3);
	assert_string_equal(t3_comm_error(m.comm), "rank 1 sent a message of a wrong form");
	frame[1] = UINT32_MAX;
	takes(&m, fd, frame, 12, 0);
	frame[1] = 4;
	frame[0] = 77;
	takes(&m, fd, frame, 12, 1);
	assert_string_equal(t3_comm_error(m.comm),
			    "rank 1 is doing something else, this one is setting up a "
			    "plan: all ranks must make the same calls");
	/* The peer blames this rank, which has another view. */
	atomic_store(&m.comm->lines[1].cause, 1);
	close(fd);
	assert_int_equal(t3_comm_take(m.comm, 1, &word, sizeof(word), NULL, LONG), -EPIPE);
	assert_string_equal(t3_comm_error(m.comm), "rank 1 has ended");
	t3_comm_destroy(m.comm);
}

/* Zero bytes mean the end. A descriptor that comes with them is closed. */
TEST("an empty message ends the connection")
{
	unsigned int before;
	struct member m;
	uint32_t word;
	int fd, extra;

	fd = become_member(&m);
	before = count_fds();
	send_fds(fd, &word, 0, 1);
	assert_int_equal(t3_comm_take(m.comm, 1, &word, sizeof(word), &extra, LONG), -EPIPE);
	assert_int_equal(count_fds(), before);
	close(fd);
	t3_comm_destroy(m.comm);
}

/* The message is good, but this process has no room for its descriptor. */
TEST("a descriptor without room is closed, and the message counts")
{
	uint32_t frame[3] = { COMM_DATA, 4, 0 }, word;
	struct rlimit before, none;
	struct member m;
	int fd, extra;

	fd = become_member(&m);
	send_fds(fd, frame, sizeof(frame), 1);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ 0, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(t3_comm_take(m.comm, 1, &word, sizeof(word), &extra, LONG), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_string_equal(t3_comm_error(m.comm),
			    "cannot receive from rank 1: Too many open files");
	close(fd);
	t3_comm_destroy(m.comm);
}

TEST("false causes do no harm")
{
	static const uint32_t causes[] = { UINT32_MAX, 2, 3, 0xff, 0x100, 0x102, 0x7fff0021 };
	struct member m;
	uint32_t i;
	int fd;

	for (i = 0; i < sizeof(causes) / sizeof(*causes); i++) {
		fd = become_member(&m);
		atomic_store(&m.comm->lines[1].cause, causes[i]);
		close(fd);
		assert_int_equal(t3_comm_barrier(m.comm, LONG), -EPIPE);
		assert_string_equal(t3_comm_error(m.comm), "rank 1 has ended");
		t3_comm_destroy(m.comm);
	}
}

/* Rank 1 of two gets this as the shared state. */
static void gets_board(int board_fd)
{
	uint32_t board[3] = { COMM_DATA, 4, 0x64726f62 };
	struct sockaddr_un at = address(0);
	struct wire_hello hello = good_hello;
	struct member m;
	int listener, fd;

	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 1), 0);
	begin(&m, 1, 2);
	fd = accept(listener, NULL, NULL);
	hello.rank = 0;
	send_all(fd, &hello, sizeof(hello));
	passed_fd = board_fd;
	send_fds(fd, board, sizeof(board), 1);
	passed_fd = 0;
	end(&m, -EPROTO, "rank 0 sent memory of a wrong size or without seals");
	close(fd);
	close(listener);
	unlink(at.sun_path);
}

/* Boards that could be cut below the mapping, or are too short. */
TEST("memory must be sealed")
{
	int board = memfd_create("board", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(ftruncate(board, T3_COMM_RANKS_MAX * sizeof(struct comm_rank_state)), 0);
	gets_board(board);
	assert_int_equal(ftruncate(board, 4096), 0);
	assert_int_equal(fcntl(board, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	gets_board(board);
	close(board);
	gets_board(0);
}
