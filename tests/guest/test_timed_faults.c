// SPDX-License-Identifier: MIT
/* Refused arguments, early ends of a timed run, and the errors of the other ranks. */
#include <poll.h>

#include "child.h"
#include "gang.h"
#include "memory.h"
#include "module.h"
#include "raw.h"
#include "trouble.h"

#define TIMEOUT_MS 400
#define LATER_MS   2000

static struct t3_timed_setup usual(uint32_t ranks, bool mirrored)
{
	struct t3_timed_setup setup = gang_small(T3_TIMED_T3, ranks);

	setup.mirrored = mirrored;
	return setup;
}

static void open_first(struct member *m)
{
	member_open(m, guest_node(0));
}

/* The devices run correctly: alone, and all together. */
static void check_all_work(void)
{
	struct t3_timed_setup setup = usual(2, true);
	struct t3_timed_args args = gang_args(&setup);
	struct member members[GANG_RANKS];

	gang_open(members, GANG_RANKS);
	member_submit(&members[0], &args);
	gang_check(members, 1, &setup);
	setup = usual(GANG_RANKS, false);
	args = gang_args(&setup);
	gang_submit(members, GANG_RANKS, &args);
	gang_check(members, GANG_RANKS, &setup);
	gang_close(members, GANG_RANKS);
}

/* --------------------------------------------------------------- the arguments */

/* clang-format off */
#define ARG(member, value) BAD(t3_timed_args, member, value, EINVAL)
static const struct deviation bad_args[] = {
	ARG(program, T3_TIMED_PROGRAMS), ARG(program, ~0u), ARG(flags, 3), ARG(flags, 0x80000001),
	ARG(ranks, 0), ARG(ranks, 1), ARG(ranks, 33), ARG(ranks, ~0u),
	ARG(element_bytes, 0), ARG(element_bytes, 3), ARG(element_bytes, 16),
	ARG(rows, 0), ARG(rows, (1ull << 24) + 2), ARG(rows, 1ull << 63),
	ARG(columns, 0), ARG(columns, (1ull << 24) + 1), ARG(columns, ~0ull),
	ARG(depth, 0), ARG(depth, (1ull << 24) + 1), ARG(depth, 1ull << 63),
	ARG(chunks, 3), ARG(collective, T3_TIMED_COLLECTIVES), ARG(collective, ~0u),
	ARG(nodes, 3), ARG(nodes, ~0u), ARG(experts, 2), ARG(experts, ~0u),
	ARG(way, T3_TIMED_DISPATCH), ARG(way, ~0u),
};
/* clang-format on */

static void expect_refused(struct member *m, const struct t3_timed_args *args, const char *what)
{
	member_submit(m, args);
	if (member_finish(m) != -EINVAL)
		guest_fail(__FILE__, __LINE__, "%s: not refused so", what);
}

SLOW_TEST("wrong arguments are refused by the device")
{
	struct t3_timed_setup setup = usual(2, true);
	struct t3_timed_args good = gang_args(&setup), args;
	struct member m;
	size_t i;

	open_first(&m);
	for (i = 0; i < ROWS(bad_args); i++) {
		args = good;
		memcpy((char *)&args + bad_args[i].offset, &bad_args[i].value, bad_args[i].size);
		expect_refused(&m, &args, bad_args[i].what);
	}
	for (i = 0; i < T3_TIMED_PARAMS; i++) {
		const struct t3_timed_param *p = &t3_timed_params[i];

		args = good;
		args.params[i] = p->max + 1;
		expect_refused(&m, &args, p->name);
		args.params[i] = UINT64_MAX;
		expect_refused(&m, &args, p->name);
		if (p->min) {
			args.params[i] = p->min - 1;
			expect_refused(&m, &args, p->name);
		}
	}
	args = good;
	args.rows = args.columns = 1 << 24; /* each for itself is right */
	expect_refused(&m, &args, "too large");
	args = good;
	args.flags = 0; /* the fabric's ranks are others */
	expect_refused(&m, &args, "ranks of another fabric");
	member_submit(&m, &good);
	gang_check(&m, 1, &setup);
	member_close(&m);
}

/* ----------------------------------------------------------------------- gangs */

static void end_of_troubles(unsigned int timeout)
{
	set_parameter("job_timeout_ms", timeout);
	coredump_discard();
	check_all_work();
}

/* The driver's dump of the late job. A worker hands it over. */
static void expect_dump_of_run(void)
{
	int64_t deadline = after_ms(GANG_WAIT_MS);
	char *text = coredump_read();

	while (!text && now_ns() < deadline) {
		nap_ms(5);
		text = coredump_read();
	}
	CHECK(text && strstr(text, "\nstep 7 op 0 "));
	free(text);
}

/* One rank never comes. The others end as jobs that hang, and all goes on. */
SLOW_TEST("an incomplete gang ends by its time limit")
{
	unsigned int timeout = parameter_set("job_timeout_ms", TIMEOUT_MS), i;
	struct t3_timed_setup setup = usual(GANG_RANKS, false);
	struct t3_timed_args args = gang_args(&setup);
	struct member members[GANG_RANKS];

	gang_open(members, GANG_RANKS);
	gang_submit(members, GANG_RANKS - 1, &args);
	for (i = 0; i < GANG_RANKS - 1; i++)
		CHECK_EQ(member_finish(&members[i]), -ETIME);
	for (i = 0; i < GANG_RANKS - 1; i++)
		coredump_discard_of(i);
	coredump_discard();
	/* None of them waits in the device any more: the last rank alone is no gang with them. */
	member_submit(&members[GANG_RANKS - 1], &args);
	CHECK_EQ(member_finish(&members[GANG_RANKS - 1]), -ETIME);
	expect_dump_of_run();
	gang_submit(members, GANG_RANKS, &args);
	gang_check(members, GANG_RANKS, &setup);
	gang_close(members, GANG_RANKS);
	end_of_troubles(timeout);
}

/* Arguments that differ in one byte are two gangs, and neither is complete. */
SLOW_TEST("different arguments make different gangs")
{
	unsigned int timeout = parameter_set("job_timeout_ms", TIMEOUT_MS), i;
	struct t3_timed_setup setup = usual(GANG_RANKS, false);
	struct t3_timed_args args = gang_args(&setup);
	struct member members[GANG_RANKS];

	gang_open(members, GANG_RANKS);
	gang_submit(members, GANG_RANKS - 1, &args);
	args.params[T3_TIMED_PARAM_TRACKER_RECORD_BYTES]++;
	member_submit(&members[GANG_RANKS - 1], &args);
	for (i = 0; i < GANG_RANKS; i++)
		CHECK_EQ(member_finish(&members[i]), -ETIME);
	gang_close(members, GANG_RANKS);
	end_of_troubles(timeout);
}

/* Rank 0 is late while all run. It is the one that hangs, and the others get an error. */
SLOW_TEST("the late rank times out, and the others get an error")
{
	struct t3_timed_args args = gang_long(GANG_RANKS, 0);
	struct member members[GANG_RANKS];
	unsigned int timeout, i;

	timeout = parameter_set("job_timeout_ms", GANG_WAIT_MS);
	gang_open(members, GANG_RANKS);
	CHECK_EQ(queue_destroy(members[0].fd, members[0].queue), 0);
	set_parameter("job_timeout_ms", 50);
	CHECK_EQ(queue_create(members[0].fd, 0, &members[0].queue), 0);
	for (i = GANG_RANKS; i--;) /* its time begins last */
		member_submit(&members[i], &args);
	CHECK_EQ(member_finish(&members[0]), -ETIME);
	for (i = 1; i < GANG_RANKS; i++)
		CHECK_EQ(member_finish(&members[i]), -ECANCELED);
	gang_close(members, GANG_RANKS);
	end_of_troubles(timeout);
}

/* A queue whose handle was closed stays in its gang. */
TEST("a queue whose handle was closed stays in its gang")
{
	struct t3_timed_setup setup = usual(GANG_RANKS, false);
	struct t3_timed_args args = gang_args(&setup);
	struct member members[GANG_RANKS];
	uint32_t i;

	gang_open(members, GANG_RANKS);
	member_submit(&members[0], &args);
	CHECK_EQ(queue_destroy(members[0].fd, members[0].queue), 0);
	CHECK_EQ(bo_close(members[0].fd, members[0].bo), 0);
	for (i = 1; i < GANG_RANKS; i++) {
		member_check_busy(&members[0]);
		member_submit(&members[i], &args);
	}
	gang_check(members, GANG_RANKS, &setup);
	gang_close(members, GANG_RANKS);
}

/* Its file, its fence and the dump of its job hold the module. */
static void await_nobody(void)
{
	int64_t deadline = after_ms(GANG_WAIT_MS);

	while (module_users() && now_ns() < deadline) {
		nap_ms(20);
		coredump_discard();
	}
	CHECK_EQ(module_users(), 0);
}

static void wait_for_gang(int sock, void *arg)
{
	struct t3_timed_setup setup = usual(GANG_RANKS, false);
	struct t3_timed_args args = gang_args(&setup);
	struct member m;

	(void)arg;
	become(UID_USER, true);
	open_first(&m);
	member_submit(&m, &args);
	send_u32(sock, 1);
	receive_u32(sock); /* for ever */
}

/* The waiting job of a killed client ends by its time limit. */
SLOW_TEST("a killed client's waiting job ends by its time limit")
{
	unsigned int timeout = parameter_set("job_timeout_ms", TIMEOUT_MS);
	struct child child;

	child_start(&child, wait_for_gang, NULL);
	CHECK_EQ(receive_u32(child.sock), 1);
	child_kill(&child);
	await_nobody();
	end_of_troubles(timeout);
}

/* Rank 0's driver is unbound while all run, or while it waits for the others. */
static void unbind_under(const struct t3_timed_args *args, uint32_t ranks, uint32_t count)
{
	struct member members[GANG_RANKS];
	struct pollfd fence = { .events = POLLIN };
	char bdf[32];
	uint32_t i;

	gang_open(members, ranks);
	gang_submit(members, count, args);
	fence.fd = sync_export(members[0].fd, members[0].sync);
	nap_ms(50);
	CHECK_EQ(sync_file_status(fence.fd), 0);
	driver_unbind(0, bdf, sizeof(bdf));
	CHECK_EQ(poll(&fence, 1, GANG_WAIT_MS), 1);
	CHECK_EQ(sync_file_status(fence.fd), -ENODEV);
	close(fence.fd);
	for (i = 1; i < count; i++)
		CHECK_EQ(member_finish(&members[i]), -ECANCELED);
	gang_close(members, ranks);
	driver_bind(bdf);
}

SLOW_TEST("an unbound device ends the run of all")
{
	unsigned int timeout = parameter_set("job_timeout_ms", GANG_WAIT_MS);
	struct t3_timed_args args = gang_long(GANG_RANKS, 0);

	CHECK_EQ(guest_ranks(), GANG_RANKS);
	unbind_under(&args, GANG_RANKS, GANG_RANKS);
	unbind_under(&args, GANG_RANKS, 1);
	args = gang_long(GANG_RANKS, T3_TIMED_MIRRORED);
	unbind_under(&args, GANG_RANKS, 1);
	end_of_troubles(timeout);
}

/* Rank 0 is reset without the driver's knowledge. It begins again, and waits for the next gang. */
TEST("a rank that was reset waits for its gang again")
{
	struct t3_timed_setup setup = usual(GANG_RANKS, false);
	struct t3_timed_args args = gang_args(&setup);
	struct member members[GANG_RANKS];
	uint32_t i;

	gang_open(members, GANG_RANKS);
	member_submit(&members[0], &args);
	nap_ms(50);
	reset_by_pci(0);
	member_check_busy(&members[0]);
	for (i = 1; i < GANG_RANKS; i++)
		member_submit(&members[i], &args);
	gang_check(members, GANG_RANKS, &setup);
	gang_close(members, GANG_RANKS);
	coredump_discard();
	check_all_work();
}

/* In the middle of a run the others get an error. Rank 0 waits for a gang that nobody completes. */
SLOW_TEST("a reset in the middle of a run ends it for the others")
{
	unsigned int timeout = parameter_set("job_timeout_ms", LATER_MS * guest_slowness());
	struct t3_timed_args args = gang_long(GANG_RANKS, 0);
	struct member members[GANG_RANKS];
	uint32_t i;

	gang_open(members, GANG_RANKS);
	gang_submit(members, GANG_RANKS, &args);
	nap_ms(50);
	reset_by_pci(0);
	for (i = 1; i < GANG_RANKS; i++)
		CHECK_EQ(member_finish(&members[i]), -ECANCELED);
	CHECK_EQ(member_finish(&members[0]), -ETIME);
	gang_close(members, GANG_RANKS);
	end_of_troubles(timeout);
}

TEST("the kernel's log is clean")
{
	check_kernel_log();
}
