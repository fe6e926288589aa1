// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/mman.h>

#include "gang.h"
#include "memory.h"
#include "raw.h"
#include "sim/counters.h"

#define NODES 64

/* ------------------------------------------------------------------- members */

void member_open(struct member *m, const char *node)
{
	m->fd = open(node, O_RDWR | O_CLOEXEC);
	CHECK(m->fd >= 0);
	CHECK_EQ(queue_create(m->fd, 0, &m->queue), 0);
	m->sync = sync_create(m->fd);
	CHECK_EQ(bo_create_host(m->fd, PAGE, &m->bo), 0);
	m->memory = bo_map(m->fd, m->bo, PAGE);
}

void member_close(struct member *m)
{
	munmap(m->memory, PAGE);
	close(m->fd);
}

void member_submit(struct member *m, const struct t3_timed_args *args)
{
	union drm_t3_any_command command = command_timed(m->bo);

	memset(m->memory, 0xee, PAGE);
	memcpy(m->memory, args, sizeof(*args));
	CHECK_EQ(submit_one(m->fd, m->queue, &command, m->sync), 0);
}

int member_finish(const struct member *m)
{
	CHECK_EQ(sync_wait(m->fd, m->sync, 0, GANG_WAIT_MS), 0);
	return sync_status(m->fd, m->sync);
}

void member_check_busy(const struct member *m)
{
	sync_check_busy(m->fd, m->sync);
}

struct t3_timed_result member_result(const struct member *m)
{
	struct t3_timed_result result;

	memcpy(&result, m->memory + COMMAND_TIMED_RESULT, sizeof(result));
	return result;
}

/* ----------------------------------------------------------------- arguments */

struct t3_timed_args gang_args(const struct t3_timed_setup *setup)
{
	const struct t3_timed_workload *w = &setup->workload;
	struct t3_timed_args args = {
		.program = setup->program,
		.flags = setup->mirrored ? T3_TIMED_MIRRORED : 0,
		.ranks = (uint32_t)w->ranks,
		.element_bytes = (uint32_t)w->element_bytes,
		.rows = w->rows,
		.columns = w->columns,
		.depth = w->depth,
		.chunks = w->chunks,
		.collective = w->collective,
		.nodes = (uint32_t)w->nodes,
	};
	size_t i;

	for (i = 0; i < T3_TIMED_PARAMS; i++)
		args.params[i] = t3_timed_param_get(&setup->params, &t3_timed_params[i]);
	return args;
}

struct t3_timed_setup gang_small(enum t3_timed_program program, uint32_t ranks)
{
	struct t3_timed_setup setup = timed_small(96ull * ranks, 192, 64, ranks);

	setup.program = program;
	return setup;
}

/* Many steps of K: a hundred million events, and little memory. */
struct t3_timed_args gang_long(uint32_t ranks, uint32_t flags)
{
	struct t3_timed_setup setup = timed_published(4096, 1024ull * ranks, 1, ranks);
	struct t3_timed_args args;

	setup.program = T3_TIMED_T3_MCA;
	setup.workload.depth = 1u << 20;
	args = gang_args(&setup);
	args.flags = flags;
	return args;
}

/* --------------------------------------------------------------------- gangs */

static bool info_of(uint32_t number, char *node, size_t size, struct drm_t3_device_info *info)
{
	int fd;

	snprintf(node, size, "/dev/accel/accel%u", number);
	fd = open(node, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return false;
	device_info(fd, info);
	close(fd);
	return true;
}

void gang_open(struct member *members, uint32_t ranks)
{
	struct drm_t3_device_info info;
	uint32_t number, found = 0;
	char node[32];

	for (number = 0; number < NODES; number++) {
		if (!info_of(number, node, sizeof(node), &info) || info.ranks != ranks)
			continue;
		member_open(&members[info.rank], node);
		found++;
	}
	CHECK_EQ(found, ranks); /* one fabric of that size, with all its devices */
}

bool gang_is_full(const struct member *members)
{
	struct drm_t3_device_info info;

	device_info(members[0].fd, &info);
	return info.topology >= T3_TOPOLOGY_FULL;
}

void gang_close(struct member *members, uint32_t ranks)
{
	uint32_t i;

	for (i = 0; i < ranks; i++)
		member_close(&members[i]);
}

void gang_submit(struct member *members, uint32_t ranks, const struct t3_timed_args *args)
{
	uint32_t i;

	for (i = 0; i < ranks; i++)
		member_submit(&members[i], args);
}

static struct t3_timed *run_here(const struct t3_timed_setup *setup)
{
	struct t3_timed *run = t3_timed_new(setup);

	CHECK(run);
	while (t3_timed_run(run, T3_TIMED_NEVER, 1000000))
		;
	CHECK(t3_timed_done(run));
	return run;
}

static void check_member(const struct member *m, uint32_t i, const struct t3_timed *here)
{
	struct t3_timed_result result = member_result(m);
	struct t3_timed_counters want;
	char why[SIM_WHY_SIZE];

	t3_timed_counters(here, i, &want);
	if (!sim_counters_equal(&result.counters, &want, why))
		guest_fail(__FILE__, __LINE__, "rank %u: %s", i, why);
	CHECK_EQ(result.events, t3_timed_events(here));
	CHECK_EQ(result.mbz, 0);
	CHECK_EQ(result.flags & ~T3_TIMED_HOST_PACED, 0);
}

void gang_check(const struct member *members, uint32_t count, const struct t3_timed_setup *setup)
{
	struct t3_timed *here;
	uint32_t i;

	for (i = 0; i < count; i++)
		CHECK_EQ(member_finish(&members[i]), 1);
	here = run_here(setup);
	for (i = 0; i < count; i++)
		check_member(&members[i], i, here);
	t3_timed_free(here);
}

const char *gang_lone_node(void)
{
	static char node[32];
	struct drm_t3_device_info info;
	uint32_t number;

	for (number = 0; number < NODES; number++)
		if (info_of(number, node, sizeof(node), &info) && info.ranks == 1)
			return node;
	guest_fail(__FILE__, __LINE__, "there is no device without a fabric");
}
