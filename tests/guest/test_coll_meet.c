// SPDX-License-Identifier: MIT
/*
 * Collectives of processes that meet without a directory: by an all-gather that the test brings, or
 * over TCP. Grants pass between them, so a plan works only if they have really met.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include "child.h"
#include "coll.h"

#define RANKS 4u
#define LIMIT 60000 /* ms, of child_end() */
#define PORT  "29511"

/* Memory that all ranks share: what MPI or PMIx would be. */
struct shared {
	pthread_barrier_t come, read;
	unsigned char table[RANKS][256];
};

struct rank {
	struct shared *shared; /* NULL: they meet over TCP */
	uint32_t rank;
	bool elsewhere; /* the last rank is in another network namespace */
};

static int gather(void *ctx, const void *mine, void *all, size_t bytes)
{
	const struct rank *r = ctx;
	struct shared *shared = r->shared;
	uint32_t i;

	CHECK(bytes <= sizeof(shared->table[0]));
	memcpy(shared->table[r->rank], mine, bytes);
	pthread_barrier_wait(&shared->come);
	for (i = 0; i < RANKS; i++)
		memcpy((char *)all + i * bytes, shared->table[i], bytes);
	pthread_barrier_wait(&shared->read);
	return 0;
}

static int meet_by_gather(struct rank *r, struct t3_device *dev, char *text, struct t3_comm **comm)
{
	struct t3_bootstrap_desc desc = {
		.all_gather = gather,
		.ctx = r,
		.rank = r->rank,
		.ranks = RANKS,
		.text = text,
		.text_size = T3_COMM_TEXT_SIZE,
	};

	return t3_comm_create_bootstrap(dev, &desc, COLL_DEADLINE, comm);
}

static int meet_by_tcp(const struct rank *r, struct t3_device *dev, char *text,
		       struct t3_comm **comm)
{
	struct t3_comm_desc desc = { .text = text, .text_size = T3_COMM_TEXT_SIZE };
	const char rank[] = { (char)('0' + r->rank), '\0' };

	unsetenv("T3_COMM_DIR");
	unsetenv("T3_RANK");
	setenv("MASTER_ADDR", "127.0.0.1", 1);
	setenv("MASTER_PORT", PORT, 1);
	setenv("RANK", rank, 1);
	setenv("WORLD_SIZE", "4", 1);
	return t3_comm_create(dev, &desc, COLL_DEADLINE, comm);
}

static void reduce(struct t3_comm *comm, uint32_t rank)
{
	struct coll_job job = {
		.ranks = RANKS,
		.full = COLL_RING,
		.seed = 11,
		.desc = { .collective = T3_ALL_REDUCE, .count = 1003, .op = DRM_T3_OP_ADD },
	};
	void *data;

	job.desc.dtype = DRM_T3_I32;
	data = coll_input(&job, 1, rank);
	if (t3_all_reduce(comm, data, data, job.desc.count, job.desc.dtype, job.desc.op,
			  COLL_DEADLINE))
		guest_fail(__FILE__, __LINE__, "%s", t3_comm_error(comm));
	coll_check(&job, 1, rank, data);
	free(data);
	CHECK_EQ(t3_comm_barrier(comm, COLL_DEADLINE), 0);
}

static void process(int sock, void *arg)
{
	struct rank *r = arg;
	struct t3_device *dev = coll_device(RANKS, COLL_RING, r->rank);
	char text[T3_COMM_TEXT_SIZE];
	struct t3_comm *comm;
	int ret;

	(void)sock;
	if (r->elsewhere && r->rank == RANKS - 1)
		CHECK_EQ(unshare(CLONE_NEWNET), 0);
	ret = r->shared ? meet_by_gather(r, dev, text, &comm) : meet_by_tcp(r, dev, text, &comm);
	if (r->elsewhere) {
		/* It is another node, and this machine has no network. */
		CHECK_EQ(ret, -EADDRNOTAVAIL);
		CHECK(strstr(text, "no address that other nodes can reach: set T3_NODE_ADDRESS"));
	} else if (ret) {
		guest_fail(__FILE__, __LINE__, "%s", text);
	} else {
		reduce(comm, r->rank);
		t3_comm_destroy(comm);
	}
	t3_device_close(dev);
}

static void in_processes(struct shared *shared, bool elsewhere)
{
	struct child child[RANKS];
	uint32_t r;

	for (r = 0; r < RANKS; r++) {
		struct rank rank = { .shared = shared, .rank = r, .elsewhere = elsewhere };

		child_start(&child[r], process, &rank);
	}
	for (r = 0; r < RANKS; r++)
		CHECK_EQ(child_end(&child[r], LIMIT), 0);
}

static struct shared *share(void)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_barrierattr_t attr;

	CHECK(shared != MAP_FAILED);
	CHECK_EQ(pthread_barrierattr_init(&attr), 0);
	CHECK_EQ(pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED), 0);
	CHECK_EQ(pthread_barrier_init(&shared->come, &attr, RANKS), 0);
	CHECK_EQ(pthread_barrier_init(&shared->read, &attr, RANKS), 0);
	return shared;
}

SLOW_TEST("ranks meet by the caller's all-gather")
{
	struct shared *shared = share();

	in_processes(shared, false);
	munmap(shared, sizeof(*shared));
}

/* Twice: the port is free again at once. */
SLOW_TEST("ranks meet at the master address, twice in a row")
{
	in_processes(NULL, false);
	in_processes(NULL, false);
}

SLOW_TEST("ranks in another network namespace meet by the all-gather")
{
	struct shared *shared = share();

	if (access("/proc/self/ns/net", F_OK)) {
		print_message("skipped: this kernel has no network namespaces\n");
		skip();
	}
	in_processes(shared, true);
	munmap(shared, sizeof(*shared));
}
