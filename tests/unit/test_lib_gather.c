// SPDX-License-Identifier: MIT
/* libt3: communicators whose ranks meet by an all-gather of the caller, also by one that is wrong. */
#include "test_lib_fabric.h"
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "comm/bootstrap.h"
#include "test.h"

#define MANY  32u
#define NODES 3u
#define LONG  in_ms(20000)

/* Version 2 of a record, as numbers. */
struct wire_record {
	uint64_t magic;
	uint32_t version, bytes, rank, ranks, error, pad;
	unsigned char boot[16];
	uint64_t net;
	unsigned char name[16];
};

/* What the second all-gather brings, when the ranks are on several nodes. */
struct wire_place {
	uint64_t magic;
	uint32_t rank, error;
	uint16_t family, port;
	uint32_t scope;
	unsigned char address[16], secret[16];
};

struct member {
	pthread_t thread;
	struct t3_device *dev;
	uint32_t rank, ranks;
	int64_t deadline_ns;
	int ret;
	char text[T3_COMM_TEXT_SIZE];
	bool without_random;
	int refused; /* the error of its first connection to another node */
	/* What is wrong with this rank's all-gather. */
	unsigned int slow_ms;
	int result;
	void (*change)(struct member *m, struct wire_record *all);
	void (*change_places)(struct member *m, struct wire_place *all);
	void (*before_it_joins)(const struct wire_place *all); /* the others may have joined */
};

static struct member member[MANY];
static unsigned char table[MANY][256];
static pthread_barrier_t all_came, all_read;
static uint32_t calls;
static unsigned int fds;
static _Thread_local unsigned int foreign; /* so many peers are another user's */

int getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
	int ret = (int)syscall(SYS_getsockopt, fd, level, name, value, size);

	if (!ret && name == SO_PEERCRED && foreign && foreign--)
		((struct ucred *)value)->uid = getuid() + 4711;
	return ret;
}

static _Thread_local struct member *self;

ssize_t getrandom(void *to, size_t bytes, unsigned int flags)
{
	if (!self || !self->without_random)
		return syscall(SYS_getrandom, to, bytes, flags);
	errno = ENOSYS;
	return -1;
}

int connect(int fd, const struct sockaddr *at, socklen_t size)
{
	if (!self || !self->refused || at->sa_family == AF_UNIX)
		return (int)syscall(SYS_connect, fd, at, size);
	errno = self->refused;
	self->refused = 0;
	return -1;
}

/* The machine's interfaces. Other machines do not reach the first one. */
int getifaddrs(struct ifaddrs **list)
{
	static struct sockaddr_in at[] = {
		{ .sin_family = AF_INET, .sin_addr = { 0x0200007f } },
		{ .sin_family = AF_INET, .sin_addr = { 0x0100007f } },
	};
	static struct ifaddrs all[] = {
		{ &all[1], .ifa_flags = IFF_UP | IFF_LOOPBACK, .ifa_addr = (void *)&at[0] },
		{ .ifa_flags = IFF_UP, .ifa_addr = (void *)&at[1] },
	};

	*list = all;
	return 0;
}

void freeifaddrs(struct ifaddrs *list)
{
	(void)list;
}

static int start(void)
{
	uint32_t i;

	fds = count_fds();
	calls = 0;
	memset(member, 0, sizeof(member));
	for (i = 0; i < MANY; i++) {
		member[i].dev = device_new(FABRIC, MANY - 1 - i);
		member[i].deadline_ns = LONG;
	}
	return 0;
}

static int stop(void)
{
	uint32_t i;

	for (i = 0; i < MANY; i++)
		t3_device_close(member[i].dev);
	assert_int_equal(count_fds(), fds);
	return 0;
}

/* ------------------------------------------------------------------ all-gather */

static int gather(void *ctx, const void *mine, void *all, size_t bytes)
{
	struct member *m = ctx;
	uint32_t i;

	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	memcpy(table[m->rank], mine, bytes);
	pthread_barrier_wait(&all_came);
	for (i = 0; i < m->ranks; i++)
		memcpy((char *)all + i * bytes, table[i], bytes);
	if (m->change && bytes == sizeof(struct wire_record))
		m->change(m, all);
	if (m->change_places && bytes == sizeof(struct wire_place))
		m->change_places(m, all);
	pthread_barrier_wait(&all_read);
	usleep(m->slow_ms * 1000);
	if (m->before_it_joins && bytes == sizeof(struct wire_place))
		m->before_it_joins(all);
	return m->result;
}

/* Each rank sends its square to each other one. */
static int talk(struct t3_comm *comm)
{
	uint32_t i, me = t3_comm_rank(comm), ranks = t3_comm_ranks(comm), word = me * me;
	int ret = 0;

	for (i = 0; i < ranks && !ret; i++) {
		if (i != me)
			ret = t3_comm_post(comm, i, &word, sizeof(word), -1);
	}
	for (i = 0; i < ranks && !ret; i++) {
		if (i == me)
			continue;
		ret = t3_comm_take(comm, i, &word, sizeof(word), NULL, LONG);
		if (!ret && (word != i * i || comm->device_rank[i] != MANY - 1 - i))
			return -EBADMSG;
		if (comm->node[i] != (t3_comm_spans_nodes(comm) ? i % NODES : 0))
			return -EBADMSG;
	}
	return ret ? ret : t3_comm_barrier(comm, LONG);
}

static void *join(void *arg)
{
	struct member *m = arg;
	struct t3_bootstrap_desc desc = {
		.all_gather = gather,
		.ctx = m,
		.rank = m->rank,
		.ranks = m->ranks,
		.text = m->text,
		.text_size = sizeof(m->text),
	};
	struct t3_comm *comm = NULL;

	self = m;
	m->ret = t3_comm_create_bootstrap(m->dev, &desc, m->deadline_ns, &comm);
	if (!m->ret) {
		m->ret = talk(comm);
		snprintf(m->text, sizeof(m->text), "%s", t3_comm_error(comm));
	}
	t3_comm_destroy(comm);
	return NULL;
}

static void run(uint32_t ranks)
{
	uint32_t i;

	pthread_barrier_init(&all_came, NULL, ranks);
	pthread_barrier_init(&all_read, NULL, ranks);
	for (i = 0; i < ranks; i++) {
		member[i].rank = i;
		member[i].ranks = ranks;
		pthread_create(&member[i].thread, NULL, join, &member[i]);
	}
	for (i = 0; i < ranks; i++)
		pthread_join(member[i].thread, NULL);
	pthread_barrier_destroy(&all_came);
	pthread_barrier_destroy(&all_read);
}

static void came_to(uint32_t rank, int ret, const char *text)
{
	assert_string_equal(member[rank].text, text);
	assert_int_equal(member[rank].ret, ret);
}

/* ------------------------------------------------------------------------ tests */

#undef TEST
#define TEST(sentence) TEST_WITH(sentence, start, stop)

TEST("all ranks join and exchange messages")
{
	static const uint32_t sizes[] = { 2, 3, 5, 32 };
	uint32_t i, s;

	for (s = 0; s < 4; s++) {
		calls = 0;
		run(sizes[s]);
		for (i = 0; i < sizes[s]; i++)
			came_to(i, 0, "");
		assert_int_equal(calls, sizes[s]);
	}
}

TEST("the environment is not read")
{
	setenv("T3_COMM_DIR", "/nowhere", 1);
	setenv("MASTER_ADDR", "nowhere.invalid", 1);
	setenv("T3_RANK", "x", 1);
	run(2);
	unsetenv("T3_COMM_DIR");
	unsetenv("MASTER_ADDR");
	unsetenv("T3_RANK");
	came_to(0, 0, "");
	came_to(1, 0, "");
}

static int create(struct t3_bootstrap_desc desc, const char *text)
{
	char got[T3_COMM_TEXT_SIZE] = "old";
	struct t3_comm *comm = NULL;
	int ret;

	desc.text = got;
	desc.text_size = sizeof(got);
	ret = t3_comm_create_bootstrap(member[0].dev, &desc, LONG, &comm);
	assert_string_equal(got, text);
	assert_null(comm);
	return ret;
}

TEST("wrong arguments reach no all gather")
{
	struct t3_bootstrap_desc desc = { .all_gather = gather, .ranks = 2 };
	struct t3_comm *comm;

	assert_int_equal(t3_comm_create_bootstrap(NULL, &desc, LONG, &comm), -EINVAL);
	assert_int_equal(t3_comm_create_bootstrap(member[0].dev, NULL, LONG, &comm), -EINVAL);
	assert_int_equal(t3_comm_create_bootstrap(member[0].dev, &desc, LONG, NULL), -EINVAL);
	desc.ranks = 1;
	assert_int_equal(create(desc, "1 ranks: it takes 2 to 32"), -EINVAL);
	desc.ranks = 33;
	assert_int_equal(create(desc, "33 ranks: it takes 2 to 32"), -EINVAL);
	desc.ranks = 2;
	desc.rank = 2;
	assert_int_equal(create(desc, "rank 2 is none of 2"), -EINVAL);
	desc.rank = 0;
	desc.all_gather = NULL;
	assert_int_equal(create(desc, "old"), -EINVAL);
	assert_int_equal(calls, 0);
}

TEST("all fail as the all gather does")
{
	member[0].result = member[1].result = -ECONNABORTED;
	run(2);
	came_to(0, -ECONNABORTED, "the all-gather failed: Software caused connection abort");
	came_to(1, -ECONNABORTED, "the all-gather failed: Software caused connection abort");
	member[0].result = 7;
	member[1].result = -100000;
	run(2);
	came_to(0, -EIO, "the all-gather failed: it returned 7");
	came_to(1, -EIO, "the all-gather failed: it returned -100000");
}

/* By rank 0, or by the other one, which had found it before. */
static void ended_with_another(uint32_t rank, uint32_t other)
{
	char text[64];

	snprintf(text, sizeof(text), "rank %u has ended before all ranks had joined", other);
	came_to(rank, -EPIPE,
		strcmp(member[rank].text, text) ? "rank 0 has ended before all ranks had joined"
						: text);
}

/* The others have its record and find that it has ended. */
TEST("ranks see which one has no records")
{
	member[0].result = -EIO;
	run(3);
	came_to(0, -EIO, "the all-gather failed: Input/output error");
	ended_with_another(1, 2);
	ended_with_another(2, 1);
}

TEST("an all gather may be slow")
{
	member[0].slow_ms = member[1].slow_ms = 100;
	run(2);
	came_to(0, 0, "");
	came_to(1, 0, "");
	member[0].deadline_ns = member[1].deadline_ns = in_ms(50);
	run(2);
	came_to(0, -ETIMEDOUT, "the all-gather ended after the deadline");
	came_to(1, -ETIMEDOUT, "the all-gather ended after the deadline");
}

/* A rank whose own record is late in its thread is waited for, until the deadline. */
TEST("a rank that is late is named")
{
	member[0].deadline_ns = in_ms(500);
	member[1].slow_ms = 1200;
	run(2);
	came_to(0, -ETIMEDOUT, "rank 1 of 2 did not come to the meeting in time");
	came_to(1, -EPIPE, "rank 0 has ended before all ranks had joined");
}

TEST("a rank that cannot join says so")
{
	device_drop(member[1].dev);
	run(3);
	came_to(0, -EPIPE, "rank 1 cannot join: No such device");
	came_to(1, -ENODEV, "the device does not answer: No such device");
	came_to(2, -EPIPE, "rank 1 cannot join: No such device");
	member[2].without_random = true;
	t3_device_close(member[1].dev);
	member[1].dev = device_new(FABRIC, MANY - 2);
	run(3);
	came_to(0, -EPIPE, "rank 2 cannot join: Function not implemented");
	came_to(1, -EPIPE, "rank 2 cannot join: Function not implemented");
	came_to(2, -ENOSYS, "cannot get a random number: Function not implemented");
}

/* ------------------------------------------------------------------ wrong records */

static void change_nothing(struct member *m, struct wire_record *all)
{
	(void)m;
	assert_int_equal(all[1].magic, 0x6472616333540a0dull);
	assert_int_equal(all[1].version, 2);
	assert_int_equal(all[1].bytes, 72);
	assert_int_equal(all[1].rank, 1);
	assert_int_equal(all[1].ranks, 2);
	assert_int_equal(all[1].error, 0);
	assert_int_equal(all[1].pad, 0);
	assert_memory_equal(all[1].boot, all[0].boot, 16);
	assert_int_equal(all[1].net, all[0].net);
	assert_memory_not_equal(all[1].name, all[0].name, 16);
}

static void bring_nothing(struct member *m, struct wire_record *all)
{
	memset(all, 0, m->ranks * sizeof(*all));
}

static void bring_noise(struct member *m, struct wire_record *all)
{
	memset(all, 0xa5, m->ranks * sizeof(*all));
}

static void swap(struct member *m, struct wire_record *all)
{
	struct wire_record first = all[0];

	(void)m;
	all[0] = all[1];
	all[1] = first;
}

static void bring_own_alone(struct member *m, struct wire_record *all)
{
	all[!m->rank] = (struct wire_record){ 0 };
}

static void other_version(struct member *m, struct wire_record *all)
{
	(void)m;
	all[1].version = 3;
}

static void other_size(struct member *m, struct wire_record *all)
{
	(void)m;
	all[1].bytes = 80;
}

static void used_pad(struct member *m, struct wire_record *all)
{
	(void)m;
	all[1].pad = 1;
}

static void other_number(struct member *m, struct wire_record *all)
{
	(void)m;
	all[1].ranks = 3;
}

static void other_process(struct member *m, struct wire_record *all)
{
	all[m->rank].name[15] ^= 1;
}

static void odd_error(struct member *m, struct wire_record *all)
{
	(void)m;
	all[1].error = UINT32_MAX;
}

/* All of two ranks get such records. */
static void brings(void (*change)(struct member *, struct wire_record *), int ret, const char *text)
{
	member[0].change = change;
	member[1].change = change;
	run(2);
	came_to(0, ret, text);
	assert_int_equal(member[1].ret, ret);
}

#define NO_CARD(rank)                                                                          \
	"the all-gather brought no record of rank " rank ": rank i's bytes belong at i times " \
	"their number"

TEST("wrong records are refused")
{
	brings(change_nothing, 0, "");
	brings(bring_nothing, -EPROTO, NO_CARD("0"));
	brings(bring_noise, -EPROTO, NO_CARD("0"));
	brings(bring_own_alone, -EPROTO, NO_CARD("1"));
	came_to(1, -EPROTO, NO_CARD("0"));
	brings(swap, -EPROTO, "the all-gather brought the record of rank 1 as that of rank 0");
	brings(other_version, -EPROTO, "rank 1 has a libt3 with records of version 3, this one 2");
	brings(other_size, -EPROTO, "rank 1 has a record of a wrong form");
	brings(used_pad, -EPROTO, "rank 1 has a record of a wrong form");
	brings(other_number, -EDOM, "rank 1 counts 3 ranks, this one 2");
	brings(other_process, -EEXIST,
	       "rank 0 is taken: the all-gather brought another record than this one's");
}

/* ------------------------------------------------------------------ other nodes */

/* Rank r is on node r % NODES: another kernel, or another network namespace. */
static void spread(struct member *m, struct wire_record *all)
{
	uint32_t i;

	for (i = 0; i < m->ranks; i++) {
		uint32_t differs = (i % NODES) ^ (m->rank % NODES);

		all[i].boot[15] ^= (unsigned char)(differs & 1);
		all[i].net ^= differs & 2;
	}
}

static void on_nodes(const char *address)
{
	uint32_t i;

	setenv("T3_NODE_ADDRESS", address, 1);
	for (i = 0; i < MANY; i++)
		member[i].change = spread;
}

TEST("ranks of several nodes meet")
{
	const char *const addresses[] = { "127.0.0.1", has_localhost() ? "localhost" : "127.0.0.2",
					  "::1" };
	static const uint32_t sizes[] = { 2, 3, 5, 32 };
	uint32_t i, s;

	for (s = 0; s < 4; s++) {
		calls = 0;
		on_nodes(addresses[s % 3]);
		run(sizes[s]);
		for (i = 0; i < sizes[s]; i++)
			came_to(i, 0, "");
		assert_int_equal(calls, 2 * sizes[s]);
	}
}

/* A network may be busy for a moment. One that is none is told at once. */
TEST("another node may be busy")
{
	static const int busy[] = { EAGAIN, EINTR, ETIMEDOUT };
	uint32_t i;

	on_nodes("127.0.0.1");
	for (i = 0; i < 3; i++) {
		member[1].refused = busy[i];
		run(2);
		came_to(0, 0, "");
		came_to(1, 0, "");
		assert_int_equal(member[1].refused, 0);
	}
	member[1].refused = ENETUNREACH;
	member[0].deadline_ns = in_ms(500);
	run(2);
	came_to(0, -ETIMEDOUT, "rank 1 of 2 did not come to the meeting in time");
	came_to(1, -ENETUNREACH,
		"rank 0 on another node cannot be reached: Network is unreachable");
}

/* The kernel says one or the other of a rank that has ended, by how far the connection had come. */
TEST("another node's rank that has ended is named")
{
	static const int ended[] = { ECONNREFUSED, ECONNRESET };
	uint32_t i;

	on_nodes("127.0.0.1");
	for (i = 0; i < 2; i++) {
		member[1].refused = ended[i];
		member[0].deadline_ns = in_ms(500);
		run(2);
		came_to(1, -EPIPE, "rank 0 has ended before all ranks had joined");
	}
}

/* The node is the kernel's random number and the namespace. */
TEST("a node is a kernel and a network")
{
	struct t3_comm comm = { .rank = 0 };
	struct comm_node node;
	unsigned char boot[16];
	char text[40], *at = text;
	struct stat net;
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	int i;

	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	for (i = 0; i < 16; i++, at += 2) {
		at += *at == '-';
		assert_int_equal(sscanf(at, "%2hhx", &boot[i]), 1);
	}
	assert_int_equal(comm_find_node(&comm, &node), 0);
	assert_memory_equal(node.boot, boot, 16);
	assert_int_equal(stat("/proc/thread-self/ns/net", &net), 0);
	assert_int_equal(node.net, net.st_ino);
}

TEST("a name is taken once")
{
	unsigned char name[COMM_NAME_BYTES] = "";
	struct t3_comm comm = { .rank = 0 };
	int fd, other = 0;

	/* The sanitized program may run meanwhile. */
	snprintf((char *)name, sizeof(name), "one %ld", (long)getpid());
	assert_int_equal(comm_listen_at_name(&comm, name, &fd), 0);
	assert_int_equal(comm_listen_at_name(&comm, name, &other), -EADDRINUSE);
	assert_int_equal(other, -1);
	assert_string_equal(comm.error, "this rank cannot listen: Address already in use");
	close(fd);
}

static struct wire_place shown[2];

static void show(struct member *m, struct wire_place *all)
{
	(void)m;
	memcpy(shown, all, sizeof(shown));
}

TEST("a place is an address of its family")
{
	static const unsigned char v4[16] = { 127, 0, 0, 1 }, v6[16] = { [15] = 1 };

	member[0].change_places = show;
	on_nodes("127.0.0.1");
	run(2);
	came_to(0, 0, "");
	assert_int_equal(shown[0].family, AF_INET);
	assert_memory_equal(shown[0].address, v4, sizeof(v4));
	assert_int_not_equal(shown[0].port, shown[1].port);
	/* If none is given, it is the first that other machines reach. */
	on_nodes("");
	run(2);
	came_to(0, 0, "");
	assert_memory_equal(shown[0].address, v4, sizeof(v4));
	on_nodes("::1");
	run(2);
	came_to(0, 0, "");
	assert_int_equal(shown[1].family, AF_INET6);
	assert_memory_equal(shown[1].address, v6, sizeof(v6));
}

/* All of them have the second all-gather, also those that cannot go on. */
TEST("a rank without an address says so")
{
	on_nodes("not.an.address.invalid");
	run(2);
	assert_int_equal(member[0].ret, -EADDRNOTAVAIL);
	assert_non_null(strstr(member[0].text, "T3_NODE_ADDRESS is 'not.an.address.invalid': "));
	assert_int_equal(calls, 4);
	on_nodes("127.0.0.1");
	member[1].deadline_ns = in_ms(0);
	run(3);
	came_to(0, -EPIPE, "rank 1 cannot join: Connection timed out");
	came_to(1, -ETIMEDOUT, "the all-gather ended after the deadline");
	came_to(2, -EPIPE, "rank 1 cannot join: Connection timed out");
}

static void no_places(struct member *m, struct wire_place *all)
{
	memset(all, 0, m->ranks * sizeof(*all));
}

static void no_family(struct member *m, struct wire_place *all)
{
	(void)m;
	all[0].family = 99;
}

static void other_secret(struct member *m, struct wire_place *all)
{
	(void)m;
	all[0].secret[15] ^= 1;
}

TEST("wrong places are refused")
{
	on_nodes("127.0.0.1");
	member[0].change_places = member[1].change_places = no_places;
	run(2);
	came_to(0, -EPROTO, "the second all-gather brought no address of rank 0");
	came_to(1, -EPROTO, "the second all-gather brought no address of rank 0");
	member[0].change_places = NULL;
	member[1].change_places = no_family;
	member[0].deadline_ns = in_ms(500);
	run(2);
	came_to(1, -EAFNOSUPPORT,
		"rank 0 on another node cannot be reached: Address family not supported by "
		"protocol");
	assert_int_equal(member[0].ret, -ETIMEDOUT);
}

/* Rank 1 shows rank 0 a wrong secret. Rank 0 turns it away, and so it is never heard. */
TEST("a rank that does not know the secret is turned away")
{
	on_nodes("127.0.0.1");
	member[0].deadline_ns = member[1].deadline_ns = in_ms(500);
	member[1].change_places = other_secret;
	run(2);
	came_to(0, -ETIMEDOUT, "rank 1 of 2 did not come to the meeting in time");
	if (member[1].ret != -ETIMEDOUT)
		assert_int_equal(member[1].ret, -EPIPE);
}

#define CROWD 70u

static int crowd[CROWD];

/* What each of them sends. Some send nothing, or a part of a frame, and stay. */
static void shout(uint32_t i, int fd)
{
	static const unsigned char zeros[60] = { 56 };
	struct pollfd connected = { .fd = fd, .events = POLLOUT };
	char noise[64];

	/* On a busy machine the kernel connects them later. */
	assert_int_equal(poll(&connected, 1, 10000), 1);
	memset(noise, (int)i, sizeof(noise));
	if (i % 4 == 1)
		assert_int_equal(send(fd, noise, sizeof(noise), MSG_NOSIGNAL), sizeof(noise));
	else if (i % 4 == 2)
		assert_int_equal(send(fd, zeros, sizeof(zeros), MSG_NOSIGNAL), sizeof(zeros));
	else if (i % 4 == 3)
		assert_int_equal(send(fd, zeros, 30, MSG_NOSIGNAL), 30);
}

static int connect_to(const struct wire_place *place)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = place->port };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(&at.sin_addr, place->address, sizeof(at.sin_addr));
	assert_true(!connect(fd, (struct sockaddr *)&at, sizeof(at)) || errno == EINPROGRESS);
	return fd;
}

static void leave_crowd(void)
{
	uint32_t i;

	for (i = 0; i < CROWD; i++)
		close(crowd[i]);
}

static void crowd_in(struct member *m, struct wire_place *all)
{
	uint32_t i;

	for (i = 0; i < CROWD; i++) {
		crowd[i] = connect_to(&all[m->rank]);
		if (i < 32)
			shout(i, crowd[i]);
	}
}

TEST("strangers of other nodes are turned away")
{
	uint32_t i;

	on_nodes("127.0.0.1");
	member[0].change_places = crowd_in;
	run(4);
	leave_crowd();
	for (i = 0; i < 4; i++)
		came_to(i, 0, "");
}

/* Rank 0 takes them in while it waits for rank 3. None of them says a word, and all stay. */
static void say_nothing(const struct wire_place *all)
{
	uint32_t i;

	usleep(100000);
	for (i = 0; i < CROWD; i++)
		crowd[i] = connect_to(&all[0]);
	usleep(200000);
}

TEST("strangers of other nodes leave room for this node's ranks")
{
	uint32_t i;

	on_nodes("127.0.0.1");
	member[3].before_it_joins = say_nothing;
	run(4);
	leave_crowd();
	for (i = 0; i < 4; i++)
		came_to(i, 0, "");
}

TEST("an error may be any number")
{
	member[0].change = odd_error;
	run(2);
	came_to(0, -EPIPE, "rank 1 cannot join: Unknown error -1");
}

/* ---------------------------------------------------------------- other processes */

static int stranger[70];

static void intrude(struct member *m, struct wire_record *all)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char *to = at.sun_path + 1;
	uint32_t i;

	to += sprintf(to, "t3-comm-");
	for (i = 0; i < 16; i++)
		to += sprintf(to, "%02x", all[m->rank].name[i]);
	for (i = 0; i < 70; i++) {
		stranger[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (!connect(stranger[i], (struct sockaddr *)&at, sizeof(at)))
			foreign++;
	}
	assert_int_equal(foreign, 65); /* the backlog and one */
}

/* Another user's processes find the socket's name. They have no part in what follows. */
TEST("other users are turned away")
{
	uint32_t i;
	char byte;

	member[0].change = intrude;
	run(3);
	for (i = 0; i < 3; i++)
		came_to(i, 0, "");
	for (i = 0; i < 70; i++) {
		assert_true(recv(stranger[i], &byte, 1, 0) <= 0);
		close(stranger[i]);
	}
}

TEST("nodes are numbered by their first ranks")
{
	static const uint64_t net[] = { 7, 7, 5, 7, 9 };
	static const uint8_t node[] = { 0, 0, 1, 0, 2 };
	static struct t3_comm comm = { .rank = 3, .ranks = 5 };
	struct comm_record records[5];
	uint32_t i;

	memset(records, 0, sizeof(records));
	for (i = 0; i < 5; i++)
		records[i].node.net = net[i];
	comm_number_nodes(&comm, records);
	assert_memory_equal(comm.node, node, sizeof(node));
	assert_int_equal(comm.here, 1 | 2 | 8);
}
