/* SPDX-License-Identifier: MIT */
/*
 * Several threads store into devices at the same time, as vCPUs do without the big lock, while
 * another uses all that the core offers. Each device has a lock, and a call of another kind takes
 * all of them (t3_core.h). Also built with ThreadSanitizer.
 */
#include <assert.h>
#include <pthread.h>

#include "host.h"

#define RANKS	2u
#define WRITERS 3u /* per device */
#define PASSES	20u
#define ROWS	16u
#define COLS	16u
#define UPDATES (WRITERS * PASSES)

_Static_assert(UPDATES <= T3_MAX_UPDATES, "more updates than a tile takes");

struct machine {
	struct host *host;
	pthread_mutex_t lock[RANKS];
	uint64_t direct; /* stores that took one lock only; guarded by lock[0] */
};

struct writer {
	struct machine *machine;
	pthread_t thread;
	uint32_t rank, index;
};

static void enter(struct machine *m)
{
	uint32_t rank;

	for (rank = 0; rank < RANKS; rank++)
		assert(!pthread_mutex_lock(&m->lock[rank]));
}

static void leave(struct machine *m)
{
	uint32_t rank;

	for (rank = 0; rank < RANKS; rank++)
		assert(!pthread_mutex_unlock(&m->lock[rank]));
}

static void store(struct machine *m, uint32_t rank, uint64_t offset, uint64_t value, uint32_t size)
{
	struct t3_dev *dev = m->host->dev[rank].dev;
	bool done;

	assert(!pthread_mutex_lock(&m->lock[rank]));
	done = t3_dev_aperture_store(dev, offset, value, size);
	if (done && rank == 0)
		m->direct++;
	assert(!pthread_mutex_unlock(&m->lock[rank]));
	if (done)
		return;
	enter(m);
	t3_dev_aperture_write(dev, offset, value, size);
	leave(m);
}

/* All writers of a device begin with the same element, and store pairs and single ones by turns. */
static void *write_all(void *argument)
{
	struct writer *w = argument;
	uint32_t pass, at, size;

	for (pass = 0; pass < PASSES; pass++)
		for (at = 0; at < ROWS * COLS * 4; at += size) {
			size = (pass + w->index) % 2 ? 4 : 8;
			store(w->machine, w->rank, at, 0x100000001ull, size);
		}
	return NULL;
}

static struct machine *machine_new(void)
{
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	struct machine *m = calloc(1, sizeof(*m));
	uint32_t rank;

	assert_non_null(m);
	m->host = host_ring(RANKS);
	map.rows = ROWS;
	map.row_bytes = map.pitch = COLS * 4;
	map.tile_rows = 4;
	map.tile_row_bytes = 32;
	map.updates = UPDATES;
	for (rank = 0; rank < RANKS; rank++) {
		pthread_mutex_init(&m->lock[rank], NULL);
		host_space(&m->host->dev[rank], 0);
		host_map(&m->host->dev[rank], &map);
		host_arm(&m->host->dev[rank], 0, 1);
	}
	return m;
}

static void machine_free(struct machine *m)
{
	uint32_t rank;

	for (rank = 0; rank < RANKS; rank++)
		pthread_mutex_destroy(&m->lock[rank]);
	host_free(m->host);
	free(m);
}

static void start(struct machine *m, struct writer *writers)
{
	uint32_t i;

	for (i = 0; i < RANKS * WRITERS; i++) {
		writers[i] = (struct writer){ .machine = m, .rank = i % RANKS, .index = i };
		assert_int_equal(pthread_create(&writers[i].thread, NULL, write_all, &writers[i]),
				 0);
	}
}

static void join(struct writer *writers)
{
	uint32_t i;

	for (i = 0; i < RANKS * WRITERS; i++)
		assert_int_equal(pthread_join(writers[i].thread, NULL), 0);
}

/* What the main loop and other vCPUs do meanwhile. */
static void look_on(struct machine *m, uint32_t turn)
{
	struct host_dev *d = &m->host->dev[turn % RANKS];

	enter(m);
	assert_true(host_query(d, 0).state <= T3_SPACE_COMPLETE);
	host_tile_query(d, 0, 0, 0, 4);
	host_counter(d, T3_COUNTER_STORES);
	t3_fabric_run(m->host->fabric, 16);
	assert_null(t3_fabric_check(m->host->fabric));
	leave(m);
}

static void test_nothing_is_lost(void **state)
{
	struct writer writers[RANKS * WRITERS];
	struct machine *m = machine_new();
	uint32_t turn, rank, at;

	(void)state;
	start(m, writers);
	for (turn = 0; turn < 200; turn++)
		look_on(m, turn);
	join(writers);
	for (rank = 0; rank < RANKS; rank++) {
		struct host_dev *d = &m->host->dev[rank];

		host_expect(d, 0, T3_SPACE_COMPLETE, 1);
		for (at = 0; at < ROWS * COLS * 4; at += 4)
			assert_int_equal(host_load(d, 0, at, 4), UPDATES);
		assert_int_equal(host_counter(d, T3_COUNTER_NMC_ELEMENTS), ROWS * COLS * UPDATES);
	}
	assert_true(m->direct > ROWS * COLS);
	machine_free(m);
}

/* The devices lose their spaces, are reset, poisoned and replaced under the writers' hands. */
static void disturb(struct machine *m, uint32_t turn)
{
	struct t3_cmd_inject what = { .kind = T3_INJECT_POISON, .value = T3_POISON_GRANULE };
	struct host *host = m->host;
	uint32_t rank = turn % RANKS;

	enter(m);
	switch (turn / RANKS % 4) {
	case 0:
		host_space_command(&host->dev[rank], T3_CMD_SPACE_RESET, 0);
		host_arm(&host->dev[rank], 0, turn + 2);
		break;
	case 1:
		what.rank = rank;
		assert_int_equal(t3_fabric_inject(host->fabric, &what), T3_ADMIN_OK);
		break;
	case 2:
		t3_dev_reset(host->dev[rank].dev);
		break;
	default:
		t3_dev_detach(host->dev[rank].dev);
		host_attach(host, rank);
		break;
	}
	t3_fabric_run(host->fabric, 64);
	assert_null(t3_fabric_check(host->fabric));
	leave(m);
}

static void test_disturbed(void **state)
{
	struct writer writers[RANKS * WRITERS];
	struct machine *m = machine_new();
	uint32_t turn;

	(void)state;
	start(m, writers);
	for (turn = 0; turn < 64; turn++)
		disturb(m, turn);
	join(writers);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_lost),
		cmocka_unit_test(test_disturbed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
