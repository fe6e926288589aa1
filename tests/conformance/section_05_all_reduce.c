// SPDX-License-Identifier: MIT
/* SPEC.md 5.1: reduce-scatter chained into all-gather over one buffer. */
#include "conf.h"
#include "reduce.h"

CONF_SECTION("5.1", "chaining, aliasing");

struct scene {
	unsigned count;
	struct conf_space scatter[T3_MAX_RANKS], gather[T3_MAX_RANKS];
};

/* The second space of a device lies over the buffer of the first. */
static void create(struct conf *c, struct scene *scene, unsigned i)
{
	struct conf_device *d = conf_device(c, i);

	conf_space_create(c, d, &scene->scatter[i], T3_PAGE_SIZE, 2 * scene->count);
	conf_space_prepare(c, d, &scene->gather[i], T3_PAGE_SIZE, 2 * scene->count);
	scene->gather[i].args.buffer = scene->scatter[i].args.buffer;
	ADMIN(c, d, T3_CMD_SPACE_CREATE, &scene->gather[i].args);
}

/* The owner sends its chunk on by DMA, into the next rank's other space. */
static void map_scatter(struct conf *c, struct scene *scene, unsigned i, unsigned chunk)
{
	struct t3_cmd_seg_map segment = reduce_segment(&scene->scatter[i], i, scene->count, chunk);

	if (i == chunk) {
		segment.kind = T3_SEG_DMA;
		segment.routes = 2;
		segment.target_op = T3_OP_STORE;
		segment.target_segment = chunk;
	}
	conf_map(c, &scene->scatter[i], &segment);
}

/* From rank chunk + 1 to the rank before the owner, which keeps it. */
static void map_gather(struct conf *c, struct scene *scene, unsigned i, unsigned chunk)
{
	struct t3_cmd_seg_map segment = conf_segment(&scene->gather[i], chunk);

	if (i == chunk)
		return;
	segment.offset = 64 * chunk;
	segment.counter_base = 2 * chunk;
	segment.op = T3_OP_STORE;
	segment.init = T3_INIT_KEEP;
	if (i != (chunk + scene->count - 1) % scene->count) {
		segment.kind = T3_SEG_DMA;
		segment.routes = 1;
		segment.target_op = T3_OP_STORE;
		segment.target_segment = chunk;
	}
	conf_map(c, &scene->gather[i], &segment);
}

static void setup(struct conf *c, struct scene *scene)
{
	scene->count = reduce_ring(c);
	for (unsigned i = 0; i < scene->count; i++)
		create(c, scene, i);
	for (unsigned i = 0; i < scene->count; i++) {
		unsigned next = (i + 1) % scene->count;

		conf_connect(c, &scene->scatter[i], 0, &scene->scatter[next], 0);
		conf_connect(c, &scene->scatter[i], 1, &scene->gather[next], 0);
		conf_connect(c, &scene->gather[i], 0, &scene->gather[next], 1);
	}
	for (unsigned i = 0; i < scene->count; i++)
		for (unsigned chunk = 0; chunk < scene->count; chunk++) {
			map_scatter(c, scene, i, chunk);
			map_gather(c, scene, i, chunk);
		}
}

static void finish(struct conf *c, struct scene *scene, uint32_t epoch)
{
	for (unsigned i = 0; i < scene->count; i++) {
		conf_wait_state(c, &scene->scatter[i], T3_SPACE_COMPLETE, epoch);
		conf_wait_state(c, &scene->gather[i], T3_SPACE_COMPLETE, epoch);
	}
	for (unsigned i = 0; i < scene->count; i++)
		for (unsigned k = 0; k < scene->count; k++)
			for (uint32_t j = 0; j < 16; j++)
				CHECK_EQUAL(c, "sum",
					    conf_buffer(&scene->gather[i], 64 * k + 4 * j, 4),
					    reduce_sum(scene->count, k, j, epoch));
	for (unsigned i = 0; i < scene->count; i++) {
		conf_release(&scene->scatter[i], epoch);
		conf_release(&scene->gather[i], epoch);
	}
}

/* The test does nothing between the last store and the wait. The devices do the rest. */
TEST("a reduction chained into a gather needs no software", .devices = 2)
{
	struct scene scene;

	setup(c, &scene);
	for (uint32_t epoch = 1; epoch <= 3; epoch++) {
		for (unsigned i = 0; i < scene.count; i++)
			conf_arm(&scene.gather[i], epoch);
		for (unsigned i = 0; i < scene.count; i++)
			conf_wait_state(c, &scene.gather[i], T3_SPACE_ARMED, epoch);
		reduce_arm(c, scene.scatter, scene.count, epoch);
		reduce_store(scene.scatter, scene.count, epoch);
		finish(c, &scene, epoch);
	}
}

/* Two spaces on one device may share buffers and counter tables. */
TEST("spaces of a device may share memory", .rows = 3)
{
	struct conf_device *d = conf_device(c, 0);
	struct conf_space first, second;

	conf_space_create(c, d, &first, 2 * T3_PAGE_SIZE, 16);
	conf_space_prepare(c, d, &second, T3_PAGE_SIZE, 16);
	if (row == 0)
		second.args.buffer = first.args.buffer + T3_PAGE_SIZE;
	else if (row == 1)
		second.args.counters = first.args.counters + 16;
	else
		second.args.counters = first.args.buffer;
	ADMIN(c, d, T3_CMD_SPACE_CREATE, &second.args);
	CHECK(c, !conf_guest_error(d), "it is a guest error");
}
