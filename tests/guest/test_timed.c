// SPDX-License-Identifier: MIT
/* Runs of the timed model on devices, compared bit for bit with the same model in this process. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "child.h"
#include "debugfs.h"
#include "gang.h"
#include "memory.h"
#include "raw.h"

static void open_first(struct member *m)
{
	member_open(m, guest_node(0));
}

/* A run on one device that stands for all; the result as it came. */
static struct t3_timed_result run_mirrored(struct member *m, struct t3_timed_setup setup)
{
	struct t3_timed_args args;

	setup.mirrored = true;
	args = gang_args(&setup);
	member_submit(m, &args);
	gang_check(m, 1, &setup);
	return member_result(m);
}

TEST("the device has the feature of timed runs")
{
	struct drm_t3_device_info info;
	struct member m;
	uint32_t rank;

	for (rank = 0; rank < guest_ranks(); rank++) {
		int fd = open_rank(rank);

		device_info(fd, &info);
		CHECK(info.features & DRM_T3_FEATURE_TIMED);
		close(fd);
	}
	open_first(&m);
	(void)run_mirrored(&m, gang_small(T3_TIMED_T3, 2));
	member_close(&m);
}

/* A device whose fabric has no timed=on, or that has none. */
TEST("a device without the feature refuses timed runs")
{
	struct drm_t3_device_info info;
	union drm_t3_any_command command;
	struct member m;

	member_open(&m, gang_lone_node());
	device_info(m.fd, &info);
	CHECK(!(info.features & DRM_T3_FEATURE_TIMED));
	command = command_timed(m.bo);
	CHECK_EQ(submit_one(m.fd, m.queue, &command, m.sync), -EOPNOTSUPP);
	command.head.flags = 1; /* values are checked first */
	CHECK_EQ(submit_one(m.fd, m.queue, &command, m.sync), -EINVAL);
	member_close(&m);
}

/* ------------------------------------------------------------------- results */

/* Each program with each collective. */
#define KINDS ((int)T3_TIMED_PROGRAMS * (int)T3_TIMED_COLLECTIVES)

static struct t3_timed_setup setup_of_kind(int kind, uint32_t ranks)
{
	struct t3_timed_setup setup =
		gang_small((enum t3_timed_program)(kind / T3_TIMED_COLLECTIVES), ranks);

	setup.workload.collective = (enum t3_timed_collective)(kind % T3_TIMED_COLLECTIVES);
	return setup;
}

static void expect_refused(struct member *m, struct t3_timed_setup setup)
{
	struct t3_timed_args args = gang_args(&setup);

	member_submit(m, &args);
	CHECK_EQ(member_finish(m), -EINVAL);
}

SLOW_TEST("mirrored runs are those of the model")
{
	struct t3_timed_setup setup;
	uint64_t last = 0;
	struct member m;
	uint32_t ranks;
	int kind;

	open_first(&m);
	for (ranks = 2; ranks <= 6; ranks++)
		for (kind = 0; kind < KINDS; kind++) {
			struct t3_timed_result result;

			setup = setup_of_kind(kind, ranks);
			setup.workload.element_bytes = 1u << ranks % 4;
			setup.workload.nodes = ranks == 6 ? 3 : 0;
			if (!timed_program(&setup, (int)setup.program)) {
				expect_refused(&m, setup);
				continue;
			}
			result = run_mirrored(&m, setup);
			CHECK_EQ(result.rank, 0);
			CHECK_EQ(result.flags, 0);
			CHECK(result.start >= last);
			last = result.start + result.counters.end / 1000;
		}
	member_close(&m);
}

/*
 * One kind on all ranks. Each run is compared with the run here, and with one device that stands
 * for all.
 */
static void run_on_all(struct member *members, uint32_t ranks, struct t3_timed_setup setup)
{
	struct t3_timed_result result, first, mirrored;
	struct t3_timed_args args;
	uint32_t i;

	setup.mirrored = false;
	args = gang_args(&setup);
	gang_submit(members, ranks, &args);
	gang_check(members, ranks, &setup);
	first = member_result(&members[0]);
	for (i = 0; i < ranks; i++) {
		result = member_result(&members[i]);
		CHECK_EQ(result.start, first.start);
		CHECK_EQ(result.flags, 0);
		CHECK_EQ(result.rank, i);
	}
	mirrored = run_mirrored(&members[ranks - 1], setup);
	CHECK_EQ(mirrored.rank, ranks - 1);
	CHECK(!memcmp(&mirrored.counters, &first.counters, sizeof(first.counters)));
	CHECK(mirrored.start >= first.start + first.counters.end / 1000);
}

/* Does it need links that a ring of more than two lacks? */
static bool needs_all_links(const struct t3_timed_setup *setup)
{
	return t3_timed_all_peers(setup->program, setup->workload.collective);
}

static void run_kind(struct member *members, uint32_t ranks, struct t3_timed_setup setup)
{
	bool runs = timed_program(&setup, (int)setup.program);

	setup.mirrored = false;
	if (!runs || (ranks == GANG_RANKS && needs_all_links(&setup)))
		expect_refused(&members[0], setup);
	else
		run_on_all(members, ranks, setup);
}

SLOW_TEST("each rank of a gang gets the model's result")
{
	struct member members[GANG_RANKS];
	uint32_t ranks;
	int kind;

	for (ranks = 2; ranks <= GANG_RANKS; ranks++) {
		gang_open(members, ranks);
		CHECK_EQ(gang_is_full(members), ranks < GANG_RANKS);
		for (kind = 0; kind < KINDS; kind++)
			run_kind(members, ranks, setup_of_kind(kind, ranks));
		for (kind = 0; kind < KINDS; kind++) {
			struct t3_timed_setup setup = setup_of_kind(kind, ranks);

			setup.workload.nodes = ranks % 2 ? ranks : 2;
			if (t3_timed_reduces(setup.workload.collective))
				run_kind(members, ranks, setup);
		}
		gang_close(members, ranks);
	}
}

/* The job uses the arguments of the time when it runs. A command before it writes them. */
TEST("the job uses the arguments of the time when it runs")
{
	struct t3_timed_setup setup = gang_small(T3_TIMED_T3_MCA, 3);
	struct t3_timed_args args = gang_args(&setup);
	union drm_t3_any_command commands[3];
	struct operand store;
	struct submission s;
	struct member m;

	open_first(&m);
	operand_open(&store, m.fd, PAGE, 1);
	memcpy(store.memory, &args, sizeof(args));
	memset(m.memory, 0xee, PAGE);
	commands[0] = command_copy(m.bo, store.handle, sizeof(args));
	commands[1] = command_timed(m.bo);
	commands[2] = command_copy(store.handle, m.bo, sizeof(struct t3_timed_result));
	commands[2].copy.src.offset = COMMAND_TIMED_RESULT;
	commands[2].copy.dst.offset = PAGE / 2;
	s = submission(m.queue, commands, 3);
	submission_out(&s, m.sync, 0);
	CHECK_EQ(submit(m.fd, &s), 0);
	gang_check(&m, 1, &setup);
	CHECK(!memcmp(store.memory + PAGE / 2, m.memory + COMMAND_TIMED_RESULT,
		      sizeof(struct t3_timed_result)));
	operand_close(&store, m.fd);
	member_close(&m);
}

/* In an import of scattered pages each struct has a page. */
TEST("a buffer of scattered pages takes arguments and result")
{
	struct t3_timed_setup setup = gang_small(T3_TIMED_SEQUENTIAL, 2);
	struct t3_timed_args args = gang_args(&setup);
	union drm_t3_any_command command;
	struct member m;
	uint8_t *pages;
	uint32_t bo;
	int dmabuf;

	open_first(&m);
	dmabuf = udmabuf_create(4);
	CHECK_EQ(prime_import(m.fd, dmabuf, &bo), 0);
	pages = bo_map(m.fd, bo, 4 * PAGE);
	memcpy(pages + 3 * PAGE - 448, &args, sizeof(args));
	command = command_timed(m.bo);
	command.timed.args.handle = bo;
	command.timed.args.offset = 3 * PAGE - 448;
	CHECK_EQ(submit_one(m.fd, m.queue, &command, m.sync), 0);
	gang_check(&m, 1, &setup);
	munmap(pages, 4 * PAGE);
	close(dmabuf);
	member_close(&m);
}

/* ------------------------------------------------------------------ together */

/* The ranks of two clients come in opposite orders, with different and with equal args. */
SLOW_TEST("gangs of two clients do not mix")
{
	struct t3_timed_setup setups[2];
	struct member a[GANG_RANKS], b[GANG_RANKS];
	struct t3_timed_args args[2];
	uint32_t round, i;

	gang_open(a, GANG_RANKS);
	gang_open(b, GANG_RANKS);
	for (round = 0; round < 10; round++) {
		setups[0] = gang_small(T3_TIMED_T3, GANG_RANKS);
		setups[1] = gang_small(round % 2 ? T3_TIMED_T3 : T3_TIMED_SEQUENTIAL, GANG_RANKS);
		for (i = 0; i < 2; i++) {
			setups[i].mirrored = false;
			args[i] = gang_args(&setups[i]);
		}
		for (i = 0; i < GANG_RANKS; i++) {
			member_submit(&a[i], &args[0]);
			member_submit(&b[GANG_RANKS - 1 - i], &args[1]);
		}
		gang_check(a, GANG_RANKS, &setups[0]);
		gang_check(b, GANG_RANKS, &setups[1]);
	}
	gang_close(a, GANG_RANKS);
	gang_close(b, GANG_RANKS);
}

/* A rank that waits blocks its own queue, and no other queue or run. */
TEST("a rank that waits holds nothing else up")
{
	struct t3_timed_setup setup = gang_small(T3_TIMED_T3, GANG_RANKS);
	struct member members[GANG_RANKS], other;
	struct t3_timed_args args;
	union drm_t3_any_command behind, beside;
	struct operand operand;
	uint32_t i;

	gang_open(members, GANG_RANKS);
	member_open(&other, guest_node(0));
	operand_open(&operand, members[0].fd, PAGE, 1);
	setup.mirrored = false;
	args = gang_args(&setup);
	member_submit(&members[0], &args);
	behind = command_fill(operand.handle, 0, 64, 7);
	CHECK_EQ(submit_one(members[0].fd, members[0].queue, &behind, 0), 0);
	beside = command_fill(other.bo, 0, 64, 9);
	CHECK_EQ(submit_one(other.fd, other.queue, &beside, other.sync), 0);
	CHECK_EQ(member_finish(&other), 1);
	(void)run_mirrored(&other, gang_small(T3_TIMED_T3_MCA_AG, 2));
	debugfs_expect(debugfs_read(0, "queues"), "job=1 * done=0 commands=1 opcode=7 *");
	for (i = 1; i < GANG_RANKS; i++) {
		member_check_busy(&members[0]);
		operand_check(&operand);
		member_submit(&members[i], &args);
	}
	gang_check(members, GANG_RANKS, &setup);
	operand_drop(&operand);
	member_close(&other);
	gang_close(members, GANG_RANKS);
}

static void unprivileged(int sock, void *arg)
{
	struct t3_timed_setup setup = gang_small(T3_TIMED_T3_MCA, GANG_RANKS);
	struct member members[GANG_RANKS];
	struct t3_timed_args args;

	(void)sock;
	(void)arg;
	become(UID_USER, true);
	setup.mirrored = false;
	args = gang_args(&setup);
	gang_open(members, GANG_RANKS);
	gang_submit(members, GANG_RANKS, &args);
	gang_check(members, GANG_RANKS, &setup);
	(void)run_mirrored(&members[1], setup);
	gang_close(members, GANG_RANKS);
}

SLOW_TEST("a user without privilege runs the model")
{
	struct child child;

	child_start(&child, unprivileged, NULL);
	CHECK_EQ(child_end(&child, GANG_WAIT_MS), 0);
}

/* ---------------------------------------------------------------- host-paced */

/* A processor's actions while devices run, repeated until the runs have ended. */
struct pace {
	void (*once)(struct pace *pace);
	struct raw raw;
	uint32_t queue, epoch;
	atomic_bool stop;
};

static void pace_stores(struct pace *pace)
{
	raw_fill(&pace->raw, 0, 64, 1);
}

static void pace_doorbells(struct pace *pace)
{
	union drm_t3_any_command fill = command_fill(pace->raw.bo, 0, 64, 1);

	(void)submit_one(pace->raw.fd, pace->queue, &fill, 0);
	nap_ms(1);
}

static void pace_commands(struct pace *pace)
{
	CHECK_EQ(space_reset(pace->raw.fd, pace->raw.space), 0);
	nap_ms(1);
}

static void pace_nothing(struct pace *pace)
{
	(void)pace;
	nap_ms(1);
}

static void *pace_thread(void *arg)
{
	struct pace *pace = arg;

	while (!atomic_load(&pace->stop))
		pace->once(pace);
	return NULL;
}

/* On rank 1, while rank 0 runs: flags of the result. */
static uint32_t paced_flags(void (*once)(struct pace *pace))
{
	struct t3_timed_args args = gang_long(2, T3_TIMED_MIRRORED);
	struct pace pace = { .once = once };
	pthread_t thread;
	struct member m;
	uint32_t flags;

	raw_open(&pace.raw, 1, PAGE);
	raw_map_local(&pace.raw);
	raw_arm(&pace.raw, 1);
	CHECK_EQ(queue_create(pace.raw.fd, 0, &pace.queue), 0);
	open_first(&m);
	nap_ms(50); /* what that needs is over */
	/* First: the run may be over before a thread has come to life. */
	CHECK_EQ(pthread_create(&thread, NULL, pace_thread, &pace), 0);
	member_submit(&m, &args);
	CHECK_EQ(member_finish(&m), 1);
	atomic_store(&pace.stop, true);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	flags = member_result(&m).flags;
	member_close(&m);
	raw_close(&pace.raw);
	return flags;
}

SLOW_TEST("a run beside other work says so")
{
	unsigned int timeout = parameter_set("job_timeout_ms", GANG_WAIT_MS);

	CHECK_EQ(paced_flags(pace_stores), T3_TIMED_HOST_PACED);
	CHECK_EQ(paced_flags(pace_doorbells), T3_TIMED_HOST_PACED);
	CHECK_EQ(paced_flags(pace_commands), T3_TIMED_HOST_PACED);
	CHECK_EQ(paced_flags(pace_nothing), 0);
	parameter_set("job_timeout_ms", timeout);
}
