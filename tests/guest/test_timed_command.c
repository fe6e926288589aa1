// SPDX-License-Identifier: MIT
/* TIMED commands: refused ones, the places of their structs, and buffers of several ranks. */
#include <sys/mman.h>

#include "gang.h"
#include "memory.h"
#include "raw.h"
#include "refusal.h"
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

/* ----------------------------------------------------------------- the command */

/* clang-format off */
#define CMD(member, value, error) BAD(drm_t3_timed, member, value, error)
#define ON_RESULT(at) \
	BAD_AS("result.offset", drm_t3_timed, args.offset, COMMAND_TIMED_RESULT + (at), EINVAL)
#define AFTER(at) \
	{ .what = "after the struct", .offset = sizeof(struct drm_t3_timed) + (at), .size = 1, \
	  .value = 1, .error = E2BIG, .type = "drm_t3_timed", .field = "head.type" }
static const struct deviation bad_commands[] = {
	CMD(head.flags, 1, EINVAL), CMD(head.flags, 0x80000000, EINVAL),
	CMD(counts, DRM_T3_TIMED_COUNTS_MAX + 1, EINVAL), CMD(counts, ~0u, EINVAL),
	CMD(pad, 1, EINVAL),
	/* over the end of a page */
	BAD_AS("args.offset", drm_t3_timed, counts, (PAGE - 448) / 4 + 7, EINVAL),
	BAD_AS("args.handle", drm_t3_timed, counts, DRM_T3_TIMED_COUNTS_MAX, EINVAL),
	CMD(args.pad, 1, EINVAL), CMD(result.pad, 1, EINVAL),
	CMD(args.pitch, 64, EINVAL), CMD(result.pitch, 64, EINVAL),
	AFTER(0), AFTER(56),
	CMD(args.handle, 0, ENOENT), CMD(args.handle, 4711, ENOENT),
	CMD(result.handle, 0, ENOENT), CMD(result.handle, 4711, ENOENT),
	/* not aligned, over the end of a page or the buffer */
	CMD(args.offset, 32, EINVAL), CMD(args.offset, 1, EINVAL), CMD(args.offset, PAGE - 384, EINVAL),
	CMD(args.offset, SIZE, EINVAL), CMD(args.offset, ~0ull - 63, EINVAL),
	CMD(args.offset, 1ull << 63, EINVAL), CMD(args.offset, SIZE - 384, EINVAL),
	CMD(result.offset, COMMAND_TIMED_RESULT + 32, EINVAL), CMD(result.offset, PAGE - 256, EINVAL),
	CMD(result.offset, SIZE, EINVAL), CMD(result.offset, ~0ull - 63, EINVAL),
	CMD(result.offset, SIZE - 256, EINVAL),
	/* on each other */
	CMD(result.offset, 0, EINVAL), CMD(result.offset, 384, EINVAL),
	ON_RESULT(0), ON_RESULT(256), ON_RESULT(-384),
	BAD_AS("result.offset", drm_t3_timed, counts, (COMMAND_TIMED_RESULT - 424) / 4 + 1, EINVAL),
};
/* clang-format on */

TEST("wrong commands are refused")
{
	union drm_t3_any_command good, command;
	struct member m;
	size_t i;

	open_first(&m);
	good = command_timed(m.bo);
	CHECK_EQ(bo_create_host(m.fd, SIZE, &good.timed.args.handle), 0);
	good.timed.result.handle = good.timed.args.handle;
	for (i = 0; i < ROWS(bad_commands); i++) {
		command = good;
		memcpy((char *)&command + bad_commands[i].offset, &bad_commands[i].value,
		       bad_commands[i].size);
		if (submit_one(m.fd, m.queue, &command, m.sync) != -bad_commands[i].error)
			guest_fail(__FILE__, __LINE__, "%s: not refused so", bad_commands[i].what);
		refusal_check_command(m.fd, &bad_commands[i], 0);
	}
	member_close(&m);
}

/* The last valid places, next to each other. */
TEST("the last valid places of the structs are accepted")
{
	static const struct {
		uint64_t args, result;
	} places[] = {
		{ PAGE - 448, PAGE - 832 },
		{ SIZE - 448, SIZE - 384 - 448 },
		{ 448, 0 },
		{ 0, 448 },
		{ 384, PAGE },
	};
	struct t3_timed_setup setup = usual(2, true);
	struct t3_timed_args args = gang_args(&setup);
	union drm_t3_any_command command;
	struct member m;
	uint8_t *memory;
	size_t i;

	open_first(&m);
	command = command_timed(m.bo);
	CHECK_EQ(bo_create_host(m.fd, SIZE, &command.timed.args.handle), 0);
	command.timed.result.handle = command.timed.args.handle;
	memory = bo_map(m.fd, command.timed.args.handle, SIZE);
	for (i = 0; i < ROWS(places); i++) {
		memcpy(memory + places[i].args, &args, sizeof(args));
		command.timed.args.offset = places[i].args;
		command.timed.result.offset = places[i].result;
		CHECK_EQ(submit_one(m.fd, m.queue, &command, m.sync), 0);
		CHECK_EQ(member_finish(&m), 1);
		memcpy(m.memory + COMMAND_TIMED_RESULT, memory + places[i].result,
		       sizeof(struct t3_timed_result));
		gang_check(&m, 1, &setup);
	}
	munmap(memory, SIZE);
	member_close(&m);
}

TEST("a result in device memory is refused")
{
	union drm_t3_any_command command;
	struct submission s;
	struct member m;
	uint32_t bo;

	open_first(&m);
	CHECK_EQ(bo_create(m.fd, PAGE, &bo), 0);
	command = command_timed(m.bo);
	command.timed.result.handle = bo;
	CHECK_EQ(submit_one(m.fd, m.queue, &command, 0), -EOPNOTSUPP);
	command = command_timed(m.bo);
	s = submission(m.queue, &command, 1);
	s.args.command_stride = sizeof(struct drm_t3_timed); /* no more is needed */
	submission_out(&s, m.sync, 0);
	memset(m.memory, 0, PAGE);
	CHECK_EQ(submit(m.fd, &s), 0);
	CHECK_EQ(member_finish(&m), -EINVAL); /* zeros are no arguments */
	CHECK_EQ(bo_close(m.fd, bo), 0);
	member_close(&m);
}

/* ------------------------------------------------------------------ one buffer */

/* A buffer of one rank, used by another one. */
static uint32_t import_at(const struct member *owner, uint32_t handle, const struct member *user)
{
	int dmabuf = prime_share(owner->fd, handle);
	uint32_t bo;

	CHECK_EQ(prime_import(user->fd, dmabuf, &bo), 0);
	close(dmabuf);
	return bo;
}

/* All read the arguments of rank 0, in a buffer without a result. */
TEST("ranks may share their arguments")
{
	struct t3_timed_setup setup = usual(GANG_RANKS, false);
	struct t3_timed_args args = gang_args(&setup);
	struct member members[GANG_RANKS];
	union drm_t3_any_command command;
	struct operand shared;
	uint32_t bo, i;

	gang_open(members, GANG_RANKS);
	CHECK_EQ(bo_create_host(members[0].fd, PAGE, &bo), 0);
	operand_adopt(&shared, members[0].fd, bo, PAGE, 1);
	memcpy(shared.memory, &args, sizeof(args));
	for (i = 0; i < GANG_RANKS; i++) {
		command = command_timed(members[i].bo);
		command.timed.args.handle = i ? import_at(&members[0], bo, &members[i]) : bo;
		CHECK_EQ(submit_one(members[i].fd, members[i].queue, &command, members[i].sync), 0);
	}
	gang_check(members, GANG_RANKS, &setup);
	operand_drop(&shared);
	gang_close(members, GANG_RANKS);
}

/* Two ranks that write one buffer wait for each other and never meet. The time limit ends that. */
SLOW_TEST("ranks that share a result end by their time limit")
{
	unsigned int timeout = parameter_set("job_timeout_ms", TIMEOUT_MS), i;
	struct t3_timed_setup setup = usual(GANG_RANKS, false);
	struct t3_timed_args args = gang_args(&setup);
	struct member members[GANG_RANKS];
	union drm_t3_any_command command;

	gang_open(members, GANG_RANKS);
	gang_submit(members, GANG_RANKS - 1, &args);
	i = GANG_RANKS - 1;
	memcpy(members[i].memory, &args, sizeof(args));
	command = command_timed(members[i].bo);
	command.timed.result.handle = import_at(&members[0], members[0].bo, &members[i]);
	command.timed.result.offset = PAGE / 2;
	CHECK_EQ(submit_one(members[i].fd, members[i].queue, &command, members[i].sync), 0);
	for (i = 0; i < GANG_RANKS; i++)
		CHECK_EQ(member_finish(&members[i]), -ETIME);
	gang_close(members, GANG_RANKS);
	set_parameter("job_timeout_ms", timeout);
	coredump_discard();
}
