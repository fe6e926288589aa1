// SPDX-License-Identifier: MIT
/* Runs of expert layers: arguments with counts, in host memory and in that of the device. */
#include <sys/mman.h>

#include "gang.h"
#include "memory.h"
#include "raw.h"
#include "trouble.h"

#define RANKS	   3u /* of a fabric with all links */
#define COUNTS_AT  sizeof(struct t3_timed_args)
#define TIMEOUT_MS 400

static const enum t3_timed_program programs[] = { T3_TIMED_SEQUENTIAL, T3_TIMED_T3,
						  T3_TIMED_T3_MCA };

struct layer {
	struct t3_timed_setup setup;
	struct t3_timed_routing routing;
	uint32_t rows[T3_MAX_RANKS * T3_TIMED_MAX_EXPERTS];
	uint32_t counts;
};

/* Some experts get no rows, others rows of several tiles. */
static void make(struct layer *layer, uint32_t ranks, uint32_t experts, enum t3_timed_way way,
		 enum t3_timed_program program)
{
	uint32_t i;

	*layer = (struct layer){ .setup = gang_small(program, ranks) };
	layer->setup.mirrored = false;
	layer->setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_TO_ALL;
	layer->setup.workload.rows = 0;
	layer->routing = (struct t3_timed_routing){ way, experts, layer->rows };
	layer->setup.routing = &layer->routing;
	layer->counts = ranks * experts;
	for (i = 0; i < layer->counts; i++) {
		layer->rows[i] = i % 5 ? i * 37 % 50 : 0;
		layer->setup.workload.rows += layer->rows[i];
	}
}

/* Each rank sends as many rows to the same places after it. */
static void make_alike(struct layer *layer, uint32_t ranks, uint32_t experts, enum t3_timed_way way)
{
	uint32_t rank, expert;

	make(layer, ranks, experts, way, T3_TIMED_T3_MCA);
	layer->setup.workload.rows = 0;
	for (rank = 0; rank < ranks; rank++)
		for (expert = 0; expert < experts; expert++) {
			layer->rows[rank * experts + (expert + rank * experts / ranks) % experts] =
				5 + expert;
			layer->setup.workload.rows += 5 + expert;
		}
	layer->setup.mirrored = true;
}

/* The arguments at the start of a buffer, which the command names. */
static void put(uint8_t *memory, const struct layer *layer)
{
	struct t3_timed_args args = gang_args(&layer->setup);

	args.experts = (uint32_t)layer->routing.experts;
	args.way = layer->routing.way;
	memcpy(memory, &args, sizeof(args));
	memcpy(memory + COUNTS_AT, layer->rows, layer->counts * sizeof(layer->rows[0]));
}

static void submit_layer(struct member *m, const struct layer *layer)
{
	union drm_t3_any_command command = command_timed(m->bo);

	memset(m->memory, 0xee, PAGE);
	put(m->memory, layer);
	command.timed.counts = layer->counts;
	CHECK_EQ(submit_one(m->fd, m->queue, &command, m->sync), 0);
}

TEST("each rank of an expert layer gets the model's result")
{
	struct member members[RANKS];
	struct layer layer;
	uint32_t rank;
	size_t i;
	int way;

	gang_open(members, RANKS);
	for (way = T3_TIMED_COMBINE; way <= T3_TIMED_DISPATCH; way++)
		for (i = 0; i < ROWS(programs); i++) {
			make(&layer, RANKS, 6, (enum t3_timed_way)way, programs[i]);
			for (rank = 0; rank < RANKS; rank++)
				submit_layer(&members[rank], &layer);
			gang_check(members, RANKS, &layer.setup);
		}
	gang_close(members, RANKS);
}

/* As many experts as a run may have: of each rank 510 counts, which no page has room for. */
TEST("counts of any number lie in device memory")
{
	const uint64_t size = 17 * PAGE;
	struct member members[RANKS];
	union drm_t3_any_command command;
	struct layer layer;
	uint32_t rank, bo;
	uint8_t *memory;

	gang_open(members, RANKS);
	make(&layer, RANKS, T3_TIMED_MAX_EXPERTS / RANKS * RANKS, T3_TIMED_DISPATCH, T3_TIMED_T3);
	for (rank = 0; rank < RANKS; rank++) {
		CHECK_EQ(bo_create(members[rank].fd, size, &bo), 0);
		memory = bo_map(members[rank].fd, bo, size);
		put(memory + PAGE / 2, &layer);
		command = command_timed(members[rank].bo);
		command.timed.args.handle = bo;
		command.timed.args.offset = PAGE / 2;
		command.timed.counts = layer.counts;
		CHECK_EQ(submit_one(members[rank].fd, members[rank].queue, &command,
				    members[rank].sync),
			 0);
		munmap(memory, size);
		CHECK_EQ(bo_close(members[rank].fd, bo), 0); /* the job holds it */
	}
	gang_check(members, RANKS, &layer.setup);
	gang_close(members, RANKS);
}

TEST("an odd place of arguments in device memory is refused")
{
	union drm_t3_any_command command;
	struct member m;
	uint32_t bo;

	member_open(&m, guest_node(0));
	CHECK_EQ(bo_create(m.fd, 2 * PAGE, &bo), 0);
	command = command_timed(m.bo);
	command.timed.args.handle = bo;
	command.timed.args.offset = 32;
	CHECK_EQ(submit_one(m.fd, m.queue, &command, 0), -EINVAL);
	command.timed.args.offset = 0;
	command.timed.counts = (2 * PAGE - COUNTS_AT) / 4 + 1;
	CHECK_EQ(submit_one(m.fd, m.queue, &command, 0), -EINVAL);
	CHECK_EQ(bo_close(m.fd, bo), 0);
	member_close(&m);
}

TEST("one device stands for ranks that are alike")
{
	struct layer layer;
	struct member m;
	int way;

	member_open(&m, guest_node(0));
	for (way = T3_TIMED_COMBINE; way <= T3_TIMED_DISPATCH; way++) {
		make_alike(&layer, 8, 16, (enum t3_timed_way)way);
		submit_layer(&m, &layer);
		gang_check(&m, 1, &layer.setup);
	}
	layer.rows[0]++; /* and so they are not */
	layer.setup.workload.rows++;
	submit_layer(&m, &layer);
	CHECK_EQ(member_finish(&m), -EINVAL);
	member_close(&m);
}

TEST("counts that the arguments do not say are refused by the device")
{
	struct layer layer;
	struct member m;

	member_open(&m, guest_node(0));
	make_alike(&layer, 8, 16, T3_TIMED_DISPATCH);
	layer.counts--;
	submit_layer(&m, &layer);
	CHECK_EQ(member_finish(&m), -EINVAL);
	layer.counts = 0;
	submit_layer(&m, &layer);
	CHECK_EQ(member_finish(&m), -EINVAL);
	layer.counts = 8 * 16;
	layer.setup.workload.rows--;
	submit_layer(&m, &layer);
	CHECK_EQ(member_finish(&m), -EINVAL);
	layer.setup.workload.rows++;
	submit_layer(&m, &layer);
	gang_check(&m, 1, &layer.setup);
	member_close(&m);
}

SLOW_TEST("ranks with unequal counts end by their time limit")
{
	unsigned int timeout = parameter_set("job_timeout_ms", TIMEOUT_MS);
	struct member members[RANKS];
	struct layer layer;
	uint32_t rank;

	gang_open(members, RANKS);
	make(&layer, RANKS, 6, T3_TIMED_COMBINE, T3_TIMED_T3);
	for (rank = 0; rank < RANKS; rank++) {
		if (rank == RANKS - 1) {
			layer.rows[1]--;
			layer.rows[2]++;
		}
		submit_layer(&members[rank], &layer);
	}
	for (rank = 0; rank < RANKS; rank++)
		CHECK_EQ(member_finish(&members[rank]), -ETIME);
	gang_close(members, RANKS);
	set_parameter("job_timeout_ms", timeout);
	coredump_discard();
}
