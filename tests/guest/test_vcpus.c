// SPDX-License-Identifier: MIT
/*
 * Four threads, each on a processor of its own, add to a tile, to a space, and to spaces of one and
 * of several devices at the same time. Each element's sum is checked, and each count. ordeal.h has
 * the options.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>

#include "end.h"
#include "ordeal.h"
#include "random.h"

#define THREADS	  4u
#define EPOCHS	  12u
#define AREAS_MAX 4u
#define SIZE	  16384u
#define TILES_MAX 512u
#define WAIT_NS	  (UINT64_C(60000000000) * guest_slowness())

/* A segment that several threads add to, directly or through a remote segment of its neighbour. */
struct area {
	struct end end, sender;
	struct t3_segment_desc desc;
	volatile unsigned char *at[THREADS]; /* byte (0, 0) for that thread; NULL: not for it */
};

struct scene {
	const char *name;
	uint32_t areas;
	uint32_t rank[AREAS_MAX];
	uint32_t each; /* updates of an element by each of an area's threads in an epoch */
	uint32_t tile_rows, tile_columns;
	bool own;    /* thread i adds to area i alone, else to all */
	bool remote; /* half of the threads are at the rank before */
};

#define ROWS_EACH    8u
#define COLUMNS_EACH 32u
#define ELEMENTS     (ROWS_EACH * COLUMNS_EACH)

/* ---------------------------------------------------------------- the areas */

static void open_end(struct end *end, uint32_t rank)
{
	void *ptr;

	must(NULL, "open", t3_device_open(guest_node(rank), &end->dev));
	must(NULL, "buffer", t3_buffer_create(end->dev, SIZE, &end->buffer));
	must(NULL, "space", t3_space_create(end->dev, end->buffer, TILES_MAX, &end->space));
	must(NULL, "map", t3_buffer_map(end->buffer, &ptr));
	end->memory = ptr;
}

static uint32_t area_threads(const struct scene *scene)
{
	return scene->own ? 1 : THREADS;
}

static struct t3_segment_desc area_desc(const struct scene *scene, struct random *random)
{
	return (struct t3_segment_desc){
		.segment = random_below(random, 8),
		.op = DRM_T3_OP_ADD,
		.dtype = random_below(random, 2) ? DRM_T3_F32 : DRM_T3_I32,
		.init = DRM_T3_INIT_IDENTITY,
		.updates = area_threads(scene) * scene->each,
		.rows = ROWS_EACH,
		.row_bytes = COLUMNS_EACH * 4,
		.pitch = COLUMNS_EACH * 4 + 8 * random_below(random, 3),
		.offset = 8 * random_below(random, 5),
		.tile_rows = scene->tile_rows,
		.tile_row_bytes = scene->tile_columns * 4,
	};
}

/* The remote segment of the rank before: the same shape, and half of the updates. */
static void connect(struct area *area, const struct scene *scene)
{
	struct t3_segment_desc sent = area->desc;
	struct t3_target target = { .op = DRM_T3_OP_ADD, .segment = sent.segment };
	uint32_t grant;
	int fd;

	sent.op = sent.init = 0;
	sent.updates = THREADS / 2 * scene->each;
	must(area->end.space, "export",
	     t3_grant_export(area->end.space, UINT64_C(1) << sent.segment, 1u << DRM_T3_OP_ADD, &fd,
			     &grant));
	must(area->sender.space, "import",
	     t3_grant_import(area->sender.space, fd, &target.import, NULL));
	close(fd);
	must(area->sender.space, "remote", t3_remote_map(area->sender.space, &sent, &target));
}

static void area_open(struct area *area, const struct scene *scene, uint32_t i,
		      struct random *random)
{
	uint32_t t;

	open_end(&area->end, scene->rank[i]);
	area->desc = area_desc(scene, random);
	must(area->end.space, "segment", t3_local_map(area->end.space, &area->desc));
	if (scene->remote) {
		open_end(&area->sender, (scene->rank[i] + guest_ranks() - 1) % guest_ranks());
		connect(area, scene);
	}
	for (t = 0; t < THREADS; t++) {
		const struct end *from =
			scene->remote && t >= THREADS / 2 ? &area->sender : &area->end;

		if (!scene->own || t == i)
			area->at[t] = (volatile unsigned char *)t3_space_aperture(from->space) +
				      area->desc.offset;
	}
}

static void end_shut(struct end *end)
{
	must(end->space, "destroy", t3_space_destroy(end->space));
	t3_buffer_destroy(end->buffer);
	t3_device_close(end->dev);
}

/* -------------------------------------------------------------- the threads */

/* Whole numbers whose sums every type here holds exactly. */
static uint32_t value_of(uint32_t epoch, uint32_t thread, uint32_t visit, uint32_t element)
{
	uint64_t x = ordeal.seed * 31 + epoch;

	x = (x * 31 + thread) * 31 + visit;
	x = (x * 8191 + element) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(x >> 46);
}

static uint32_t bits_of(uint32_t dtype, uint32_t value)
{
	float f = (float)value;
	uint32_t bits = value;

	if (dtype == DRM_T3_F32)
		memcpy(&bits, &f, sizeof(bits));
	return bits;
}

struct crew {
	const struct scene *scene;
	struct area area[AREAS_MAX];
	pthread_barrier_t start, done;
	uint64_t stores[AREAS_MAX][THREADS];
};

struct hand {
	struct crew *crew;
	uint32_t thread;
	struct random random;
};

static void store_pair(struct hand *hand, uint32_t a, uint32_t epoch, uint32_t visit, uint32_t pair)
{
	const struct area *area = &hand->crew->area[a];
	const struct t3_segment_desc *d = &area->desc;
	uint32_t e = 2 * pair, t = hand->thread;
	volatile unsigned char *at =
		area->at[t] + e / COLUMNS_EACH * d->pitch + e % COLUMNS_EACH * 4;
	uint32_t low = bits_of(d->dtype, value_of(epoch, t, visit, e));
	uint32_t high = bits_of(d->dtype, value_of(epoch, t, visit, e + 1));

	if (random_below(&hand->random, 2)) {
		t3_store64(at, (uint64_t)high << 32 | low);
		hand->crew->stores[a][t] += 1;
		return;
	}
	t3_store32(at, low);
	t3_store32(at + 4, high);
	hand->crew->stores[a][t] += 2;
}

/* All pairs of all areas once, each in an order of its own. The areas change from store to store. */
static void visit_all(struct hand *hand, uint32_t epoch, uint32_t visit)
{
	const uint32_t pairs = ELEMENTS / 2, areas = hand->crew->scene->areas;
	uint32_t first[AREAS_MAX], step[AREAS_MAX], i, a;

	for (a = 0; a < areas; a++) {
		first[a] = random_below(&hand->random, pairs);
		step[a] = 2 * random_below(&hand->random, pairs) + 1;
	}
	for (i = 0; i < pairs; i++)
		for (a = 0; a < areas; a++)
			if (hand->crew->area[a].at[hand->thread])
				store_pair(hand, a, epoch, visit, (first[a] + i * step[a]) % pairs);
}

static void *work(void *arg)
{
	struct hand *hand = arg;
	uint32_t epoch, visit;

	ordeal_stay(hand->thread);
	for (epoch = 1; epoch <= ordeal.rounds; epoch++) {
		pthread_barrier_wait(&hand->crew->start);
		for (visit = 0; visit < hand->crew->scene->each; visit++)
			visit_all(hand, epoch, visit);
		pthread_barrier_wait(&hand->crew->done);
	}
	return NULL;
}

/* --------------------------------------------------------------- the checks */

static uint32_t expected(const struct crew *crew, const struct area *area, uint32_t epoch,
			 uint32_t element)
{
	uint32_t sum = 0, t, visit;

	for (t = 0; t < THREADS; t++)
		for (visit = 0; area->at[t] && visit < crew->scene->each; visit++)
			sum += value_of(epoch, t, visit, element);
	return bits_of(area->desc.dtype, sum);
}

static void check_sums(const struct crew *crew, const struct area *area, uint32_t epoch)
{
	const struct t3_segment_desc *d = &area->desc;
	uint32_t e, got, want;

	for (e = 0; e < ELEMENTS; e++) {
		memcpy(&got,
		       area->end.memory + d->offset + e / COLUMNS_EACH * d->pitch +
			       e % COLUMNS_EACH * 4,
		       4);
		want = expected(crew, area, epoch, e);
		if (got != want)
			guest_fail(__FILE__, __LINE__,
				   "%s, seed %llu, epoch %u, %s: element %u is %#x, not %#x",
				   crew->scene->name, (unsigned long long)ordeal.seed, epoch,
				   t3_dtype_name(d->dtype), e, got, want);
	}
}

static uint64_t stores_of(const struct crew *crew, uint32_t a, uint32_t from, uint32_t to)
{
	uint64_t sum = 0;

	while (from < to)
		sum += crew->stores[a][from++];
	return sum;
}

/* One end's counters: each store counts once, and each tile reaches its count once in an epoch. */
static void check_end(const struct crew *crew, const struct end *end, const struct area *area,
		      uint32_t local, uint64_t stores)
{
	uint64_t bytes = (uint64_t)local * crew->scene->each * ELEMENTS * 4 * ordeal.rounds;
	struct drm_t3_space_stats stats;

	must(end->space, "stats", t3_segment_stats(end->space, area->desc.segment, &stats));
	CHECK_EQ(stats.stores, stores);
	CHECK_EQ(stats.local_bytes, bytes);
	CHECK_EQ(stats.triggers, ordeal.rounds * t3_desc_tiles(&area->desc));
	CHECK_EQ(t3_space_events(end->space)->faults, 0);
}

static void check_counts(const struct crew *crew, uint32_t a)
{
	const struct area *area = &crew->area[a];
	uint32_t local = crew->scene->remote ? THREADS / 2 : area_threads(crew->scene);

	check_end(crew, &area->end, area, local,
		  stores_of(crew, a, 0, crew->scene->remote ? local : THREADS));
	if (crew->scene->remote)
		check_end(crew, &area->sender, area, THREADS - local,
			  stores_of(crew, a, local, THREADS));
}

/* --------------------------------------------------------------- the scenes */

static void arm(const struct area *area, bool remote, uint32_t epoch)
{
	int64_t deadline = t3_deadline(WAIT_NS);

	must(area->end.space, "arm", t3_arm(area->end.space, epoch));
	if (remote)
		must(area->sender.space, "arm", t3_arm(area->sender.space, epoch));
	must(area->end.space, "armed", t3_wait_armed(area->end.space, epoch, deadline));
	if (remote)
		must(area->sender.space, "armed",
		     t3_wait_armed(area->sender.space, epoch, deadline));
}

static void collect(const struct crew *crew, const struct area *area, uint32_t epoch)
{
	int64_t deadline = t3_deadline(WAIT_NS);

	if (crew->scene->remote) {
		must(area->sender.space, "wait",
		     t3_wait(area->sender.space, epoch, 0, T3_DELIVERED, deadline));
		must(area->sender.space, "release", t3_release(area->sender.space, epoch));
	}
	must(area->end.space, "wait", t3_wait(area->end.space, epoch, 0, T3_DELIVERED, deadline));
	check_sums(crew, area, epoch);
	must(area->end.space, "release", t3_release(area->end.space, epoch));
}

static void run_epochs(struct crew *crew)
{
	uint32_t epoch, a;

	for (epoch = 1; epoch <= ordeal.rounds; epoch++) {
		for (a = 0; a < crew->scene->areas; a++)
			arm(&crew->area[a], crew->scene->remote, epoch);
		pthread_barrier_wait(&crew->start);
		pthread_barrier_wait(&crew->done);
		for (a = 0; a < crew->scene->areas; a++)
			collect(crew, &crew->area[a], epoch);
	}
}

static void scene_body(int sock, void *arg)
{
	struct random random = random_seed(ordeal.seed);
	struct crew crew = { .scene = arg };
	struct hand hand[THREADS];
	pthread_t thread[THREADS];
	uint32_t i;

	(void)sock;
	for (i = 0; i < crew.scene->areas; i++)
		area_open(&crew.area[i], crew.scene, i, &random);
	pthread_barrier_init(&crew.start, NULL, THREADS + 1);
	pthread_barrier_init(&crew.done, NULL, THREADS + 1);
	for (i = 0; i < THREADS; i++) {
		hand[i] = (struct hand){ &crew, i, random_seed(ordeal.seed + i + 1) };
		CHECK_EQ(pthread_create(&thread[i], NULL, work, &hand[i]), 0);
	}
	run_epochs(&crew);
	for (i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(thread[i], NULL), 0);
	for (i = 0; i < crew.scene->areas; i++) {
		check_counts(&crew, i);
		if (crew.scene->remote)
			end_shut(&crew.area[i].sender);
		end_shut(&crew.area[i].end);
	}
}

static void run(struct scene scene)
{
	ordeal_run(scene_body, &scene);
}

LONG_TEST("four processors add to one tile")
{
	run((struct scene){ .name = "same tile",
			    .areas = 1,
			    .each = 8,
			    .tile_rows = ROWS_EACH,
			    .tile_columns = COLUMNS_EACH });
}

LONG_TEST("four processors add to one space")
{
	run((struct scene){ .name = "same space",
			    .areas = 1,
			    .rank = { 1 },
			    .each = 4,
			    .tile_rows = 1,
			    .tile_columns = 4 });
}

LONG_TEST("four processors add to spaces of their own")
{
	run((struct scene){ .name = "own space each",
			    .areas = 4,
			    .each = 4,
			    .tile_rows = 2,
			    .tile_columns = 8,
			    .own = true });
}

LONG_TEST("four processors add to devices of their own")
{
	run((struct scene){ .name = "own device each",
			    .areas = 4,
			    .rank = { 0, 1, 2, 3 },
			    .each = 4,
			    .tile_rows = 2,
			    .tile_columns = 8,
			    .own = true });
}

/* Each thread goes from space to space and device to device. */
LONG_TEST("four processors go from space to space and device to device")
{
	run((struct scene){ .name = "all over",
			    .areas = 4,
			    .rank = { 0, 0, 1, 3 },
			    .each = 2,
			    .tile_rows = 4,
			    .tile_columns = 16 });
}

LONG_TEST("two devices add to one target at once")
{
	run((struct scene){ .name = "from two devices",
			    .areas = 2,
			    .rank = { 1, 2 },
			    .each = 2,
			    .tile_rows = ROWS_EACH,
			    .tile_columns = COLUMNS_EACH,
			    .remote = true });
}

/* -------------------------------------------------------------------- start */

/* Without TEST(): other clients of the device may take and give back memory at the same time. */
int main(int argc, char **argv)
{
	ordeal_parse(argc, argv, EPOCHS);
	guest_node(THREADS - 1);
	return test_run(NULL, NULL);
}
