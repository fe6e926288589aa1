// SPDX-License-Identifier: MIT
/* What is refused of a timed run, what ends one before its time, and who else is told. */
#include <poll.h>
#include <sys/mman.h>

#include "child.h"
#include "gang.h"
#include "memory.h"
#include "module.h"
#include "raw.h"
#include "trouble.h"

#define SIZE	   (2 * PAGE)
#define TIMEOUT_MS 400

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

/* The devices run what they should: alone, and all together. */
static void check_all_work(void)
{
	struct t3_timed_setup setup = usual(2, true);
	struct drm_t3_timed_args args = gang_args(&setup);
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

/* ----------------------------------------------------------------- the command */

/* clang-format off */
#define CMD(member, value, error) BAD(drm_t3_command, member, value, error)
static const struct deviation bad_commands[] = {
	CMD(flags, 1, EINVAL), CMD(flags, 0x80000000, EINVAL), CMD(op, 1, EINVAL),
	CMD(dtype, 1, EINVAL), CMD(rows, 1, EINVAL), CMD(row_bytes, 1, EINVAL),
	CMD(src_pitch, 64, EINVAL), CMD(dst_pitch, 64, EINVAL), CMD(pattern, 1, EINVAL),
	CMD(b, 1, EINVAL), CMD(space, 1, EINVAL), CMD(b_offset, 1, EINVAL),
	CMD(b_pitch, 1, EINVAL), CMD(depth, 1, EINVAL), CMD(chunk_rows, 1, EINVAL),
	CMD(first_chunk, 1, EINVAL), CMD(raster_rows, 1, EINVAL), CMD(group_rows, 1, EINVAL),
	CMD(group_columns, 1, EINVAL), CMD(tile_rows, 1, EINVAL), CMD(tile_columns, 1, EINVAL),
	CMD(src, 0, ENOENT), CMD(src, 4711, ENOENT), CMD(dst, 0, ENOENT), CMD(dst, 4711, ENOENT),
	/* not aligned, over the end of a page or the buffer */
	CMD(src_offset, 32, EINVAL), CMD(src_offset, 1, EINVAL), CMD(src_offset, PAGE - 384, EINVAL),
	CMD(src_offset, SIZE, EINVAL), CMD(src_offset, ~0ull - 63, EINVAL),
	CMD(src_offset, 1ull << 63, EINVAL), CMD(src_offset, SIZE - 384, EINVAL),
	CMD(dst_offset, COMMAND_TIMED_RESULT + 32, EINVAL), CMD(dst_offset, PAGE - 256, EINVAL),
	CMD(dst_offset, SIZE, EINVAL), CMD(dst_offset, ~0ull - 63, EINVAL),
	CMD(dst_offset, SIZE - 256, EINVAL),
	/* on each other */
	CMD(dst_offset, 0, EINVAL), CMD(dst_offset, 384, EINVAL),
	CMD(src_offset, COMMAND_TIMED_RESULT, EINVAL), CMD(src_offset, COMMAND_TIMED_RESULT + 256, EINVAL),
	CMD(src_offset, COMMAND_TIMED_RESULT - 384, EINVAL),
};
/* clang-format on */

static void test_command(void **state)
{
	struct drm_t3_command good, command;
	struct member m;
	size_t i;

	(void)state;
	open_first(&m);
	good = command_timed(m.bo);
	CHECK_EQ(bo_create_host(m.fd, SIZE, &good.src), 0);
	good.dst = good.src;
	for (i = 0; i < ROWS(bad_commands); i++) {
		command = good;
		memcpy((char *)&command + bad_commands[i].offset, &bad_commands[i].value,
		       bad_commands[i].size);
		if (submit_one(m.fd, m.queue, &command, m.sync) != -bad_commands[i].error)
			guest_fail(__FILE__, __LINE__, "%s: not refused so", bad_commands[i].what);
	}
	member_close(&m);
}

/* The last places that are right, and next to each other. */
static void test_places(void **state)
{
	static const struct {
		uint64_t args, result;
	} places[] = {
		{ PAGE - 448, PAGE - 768 },
		{ SIZE - 448, SIZE - 320 - 448 },
		{ 448, 0 },
		{ 0, 448 },
		{ 320, PAGE },
	};
	struct t3_timed_setup setup = usual(2, true);
	struct drm_t3_timed_args args = gang_args(&setup);
	struct drm_t3_command command;
	struct member m;
	uint8_t *memory;
	size_t i;

	(void)state;
	open_first(&m);
	command = command_timed(m.bo);
	CHECK_EQ(bo_create_host(m.fd, SIZE, &command.src), 0);
	command.dst = command.src;
	memory = bo_map(m.fd, command.src, SIZE);
	for (i = 0; i < ROWS(places); i++) {
		memcpy(memory + places[i].args, &args, sizeof(args));
		command.src_offset = places[i].args;
		command.dst_offset = places[i].result;
		CHECK_EQ(submit_one(m.fd, m.queue, &command, m.sync), 0);
		CHECK_EQ(member_finish(&m), 1);
		memcpy(m.memory + COMMAND_TIMED_RESULT, memory + places[i].result,
		       sizeof(struct drm_t3_timed_result));
		gang_check(&m, 1, &setup);
	}
	munmap(memory, SIZE);
	member_close(&m);
}

static void test_device_memory(void **state)
{
	struct drm_t3_command command;
	struct submission s;
	struct member m;
	uint32_t bo;

	(void)state;
	open_first(&m);
	CHECK_EQ(bo_create(m.fd, PAGE, &bo), 0);
	command = command_timed(m.bo);
	command.src = bo;
	CHECK_EQ(submit_one(m.fd, m.queue, &command, 0), -EOPNOTSUPP);
	command = command_timed(m.bo);
	command.dst = bo;
	CHECK_EQ(submit_one(m.fd, m.queue, &command, 0), -EOPNOTSUPP);
	command = command_timed(m.bo);
	s = submission(m.queue, &command, 1);
	s.args.command_stride = 72; /* minor 2's has all that it needs */
	submission_out(&s, m.sync, 0);
	memset(m.memory, 0, PAGE);
	CHECK_EQ(submit(m.fd, &s), 0);
	CHECK_EQ(member_finish(&m), -EINVAL); /* zeros are no arguments */
	CHECK_EQ(bo_close(m.fd, bo), 0);
	member_close(&m);
}

/* --------------------------------------------------------------- the arguments */

/* clang-format off */
#define ARG(member, value) BAD(drm_t3_timed_args, member, value, EINVAL)
static const struct deviation bad_args[] = {
	ARG(program, 6), ARG(program, ~0u), ARG(flags, 3), ARG(flags, 0x80000001),
	ARG(ranks, 0), ARG(ranks, 1), ARG(ranks, 33), ARG(ranks, ~0u), ARG(ranks, 5),
	ARG(element_bytes, 0), ARG(element_bytes, 3), ARG(element_bytes, 8),
	ARG(rows, 0), ARG(rows, (1ull << 24) + 2), ARG(rows, 193), ARG(rows, 1ull << 63),
	ARG(columns, 0), ARG(columns, (1ull << 24) + 1), ARG(columns, ~0ull), ARG(columns, 1),
	ARG(depth, 0), ARG(depth, (1ull << 24) + 1), ARG(depth, 1ull << 63), ARG(depth, 1),
	ARG(pad[0], 1), ARG(pad[1], 1ull << 63), ARG(pad[2], 1),
};
/* clang-format on */

static void expect_refused(struct member *m, const struct drm_t3_timed_args *args, const char *what)
{
	member_submit(m, args);
	if (member_finish(m) != -EINVAL)
		guest_fail(__FILE__, __LINE__, "%s: not refused so", what);
}

static void test_args(void **state)
{
	struct t3_timed_setup setup = usual(2, true);
	struct drm_t3_timed_args good = gang_args(&setup), args;
	struct member m;
	size_t i;

	(void)state;
	open_first(&m);
	for (i = 0; i < ROWS(bad_args); i++) {
		args = good;
		memcpy((char *)&args + bad_args[i].offset, &bad_args[i].value, bad_args[i].size);
		expect_refused(&m, &args, bad_args[i].what);
	}
	for (i = 0; i < t3_timed_param_count; i++) {
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

/* One rank never comes: the others end as jobs that hang, and all goes on. */
static void test_incomplete(void **state)
{
	unsigned int timeout = parameter_set("job_timeout_ms", TIMEOUT_MS), i;
	struct t3_timed_setup setup = usual(GANG_RANKS, false);
	struct drm_t3_timed_args args = gang_args(&setup);
	struct member members[GANG_RANKS];

	(void)state;
	gang_open(members, GANG_RANKS);
	gang_submit(members, GANG_RANKS - 1, &args);
	for (i = 0; i < GANG_RANKS - 1; i++)
		CHECK_EQ(member_finish(&members[i]), -ETIME);
	/* Nothing of them waits in the device: the last rank alone is no gang with them. */
	member_submit(&members[GANG_RANKS - 1], &args);
	CHECK_EQ(member_finish(&members[GANG_RANKS - 1]), -ETIME);
	gang_submit(members, GANG_RANKS, &args);
	gang_check(members, GANG_RANKS, &setup);
	gang_close(members, GANG_RANKS);
	end_of_troubles(timeout);
}

/* Arguments that differ in one byte are two gangs, and neither is complete. */
static void test_different_args(void **state)
{
	unsigned int timeout = parameter_set("job_timeout_ms", TIMEOUT_MS), i;
	struct t3_timed_setup setup = usual(GANG_RANKS, false);
	struct drm_t3_timed_args args = gang_args(&setup);
	struct member members[GANG_RANKS];

	(void)state;
	gang_open(members, GANG_RANKS);
	gang_submit(members, GANG_RANKS - 1, &args);
	args.params[DRM_T3_PARAM_TRACKER_RECORD_BYTES]++;
	member_submit(&members[GANG_RANKS - 1], &args);
	for (i = 0; i < GANG_RANKS; i++)
		CHECK_EQ(member_finish(&members[i]), -ETIME);
	gang_close(members, GANG_RANKS);
	end_of_troubles(timeout);
}

/* Rank 0 is late while all run: it is the one that hangs, the others are told that. */
static void test_one_is_late(void **state)
{
	struct drm_t3_timed_args args = gang_long(GANG_RANKS, 0);
	struct member members[GANG_RANKS];
	unsigned int timeout, i;

	(void)state;
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

/* A queue whose handle is gone stays in its gang. */
static void test_queue_is_destroyed(void **state)
{
	struct t3_timed_setup setup = usual(GANG_RANKS, false);
	struct drm_t3_timed_args args = gang_args(&setup);
	struct member members[GANG_RANKS];
	uint32_t i;

	(void)state;
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
	struct drm_t3_timed_args args = gang_args(&setup);
	struct member m;

	(void)arg;
	become(UID_USER, true);
	open_first(&m);
	member_submit(&m, &args);
	send_u32(sock, 1);
	receive_u32(sock); /* for ever */
}

/* What a killed client has waiting ends by its time. */
static void test_client_is_killed(void **state)
{
	unsigned int timeout = parameter_set("job_timeout_ms", TIMEOUT_MS);
	struct child child;

	(void)state;
	child_start(&child, wait_for_gang, NULL);
	CHECK_EQ(receive_u32(child.sock), 1);
	child_kill(&child);
	await_nobody();
	end_of_troubles(timeout);
}

/* Rank 0's driver leaves while all run, or while it waits for the others. */
static void unbind_under(const struct drm_t3_timed_args *args, uint32_t ranks, uint32_t count)
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

static void test_unbind(void **state)
{
	unsigned int timeout = parameter_set("job_timeout_ms", GANG_WAIT_MS);
	struct drm_t3_timed_args args = gang_long(GANG_RANKS, 0);

	(void)state;
	CHECK_EQ(guest_ranks(), GANG_RANKS);
	unbind_under(&args, GANG_RANKS, GANG_RANKS);
	unbind_under(&args, GANG_RANKS, 1);
	args = gang_long(GANG_RANKS, DRM_T3_TIMED_MIRRORED);
	unbind_under(&args, GANG_RANKS, 1);
	end_of_troubles(timeout);
}

/* A reset of rank 0 behind the driver: it begins again, and waits for the next gang. */
static void test_reset(void **state)
{
	struct t3_timed_setup setup = usual(GANG_RANKS, false);
	struct drm_t3_timed_args args = gang_args(&setup);
	struct member members[GANG_RANKS];
	uint32_t i;

	(void)state;
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

static void test_no_trouble_in_the_kernel_log(void **state)
{
	(void)state;
	check_kernel_log();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_command),
		TEST(test_places),
		TEST(test_device_memory),
		SLOW_TEST(test_args),
		SLOW_TEST(test_incomplete),
		SLOW_TEST(test_different_args),
		SLOW_TEST(test_one_is_late),
		TEST(test_queue_is_destroyed),
		SLOW_TEST(test_client_is_killed),
		SLOW_TEST(test_unbind),
		TEST(test_reset),
		TEST(test_no_trouble_in_the_kernel_log),
	};

	return cmocka_run_group_tests_name("timed faults", tests, NULL, NULL);
}
