/* SPDX-License-Identifier: MIT */
/*
 * Several threads store into devices at the same time, as vCPUs do without the big lock, while
 * another uses all that the core offers. Each thread has a lane, and a call of another kind waits
 * until no lane stores; an event waits for the lanes of its devices only (t3_core.h). Also built
 * with ThreadSanitizer.
 */
#define _GNU_SOURCE /* the kind of a lock that writers get */
#include <assert.h>
#include <pthread.h>

#include "host.h"
#include "test.h"

#define RANKS	3u
#define ALL	((1u << RANKS) - 1)
#define SPACES	2u
#define SENDING SPACES /* number of the space that sends from one device to the next */
#define WRITERS (T3_LANES - 1u)
#define PASSES	8u
#define ROWS	16u
#define COLS	16u
#define UPDATES (WRITERS * PASSES)

_Static_assert(UPDATES <= T3_MAX_UPDATES, "more updates than a tile takes");

struct machine {
	struct host *host;
	pthread_mutex_t core;	      /* before gates */
	pthread_rwlock_t gate[RANKS]; /* for reading: a lane stores */
	uint64_t direct;	      /* stores of lanes; atomic */
};

struct writer {
	struct machine *machine;
	pthread_t thread;
	uint32_t lane;
	uint32_t ranks, spaces; /* it stores into so many */
};

static void close_gates(struct machine *m, uint32_t ranks)
{
	for (; ranks; ranks &= ranks - 1)
		assert(!pthread_rwlock_wrlock(&m->gate[__builtin_ctz(ranks)]));
}

static void open_gates(struct machine *m, uint32_t ranks)
{
	for (; ranks; ranks &= ranks - 1)
		assert(!pthread_rwlock_unlock(&m->gate[__builtin_ctz(ranks)]));
}

static void enter(struct machine *m)
{
	assert(!pthread_mutex_lock(&m->core));
	close_gates(m, ALL);
}

static void leave(struct machine *m)
{
	open_gates(m, ALL);
	assert(!pthread_mutex_unlock(&m->core));
}

/* Runs events beside stores. */
static void run_events(struct machine *m)
{
	uint32_t ranks;

	assert(!pthread_mutex_lock(&m->core));
	while ((ranks = t3_fabric_next_ranks(m->host->fabric)) != 0) {
		close_gates(m, ranks & ALL);
		t3_fabric_run(m->host->fabric, 1);
		open_gates(m, ranks & ALL);
	}
	assert(!pthread_mutex_unlock(&m->core));
}

static void store(const struct writer *w, uint32_t rank, uint64_t offset, uint64_t value,
		  uint32_t size)
{
	struct machine *m = w->machine;
	bool done;

	assert(!pthread_rwlock_rdlock(&m->gate[rank]));
	done = t3_dev_aperture_store(m->host->dev[rank].dev, w->lane, offset, value, size);
	assert(!pthread_rwlock_unlock(&m->gate[rank]));
	if (done) {
		__atomic_fetch_add(&m->direct, 1, __ATOMIC_RELAXED);
		return;
	}
	enter(m);
	t3_dev_aperture_write(m->host->dev[rank].dev, offset, value, size);
	leave(m);
}

/* All begin with the same element, and store pairs and single ones by turns. */
static void write_space(const struct writer *w, uint32_t rank, uint32_t space, uint32_t pass)
{
	uint32_t at, size;

	for (at = 0; at < ROWS * COLS * 4; at += size) {
		size = (pass + w->lane) % 2 ? 4 : 8;
		store(w, rank, (uint64_t)space * HOST_SPACE_SIZE + at, 0x100000001ull, size);
	}
}

static void *write_all(void *argument)
{
	const struct writer *w = argument;
	uint32_t pass, rank, space;

	for (pass = 0; pass < PASSES; pass++)
		for (rank = 0; rank < w->ranks; rank++)
			for (space = 0; space < w->spaces; space++)
				write_space(w, rank, space, pass);
	return NULL;
}

static void open_space(struct host_dev *d, uint32_t space)
{
	struct t3_cmd_seg_map map = host_segment(space, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);

	map.rows = ROWS;
	map.row_bytes = map.pitch = COLS * 4;
	map.tile_rows = 4;
	map.tile_row_bytes = 32;
	map.updates = UPDATES;
	host_space(d, space);
	host_map(d, &map);
	host_arm(d, space, 1);
}

static void init_gate(pthread_rwlock_t *gate)
{
	pthread_rwlockattr_t kind;

	assert_int_equal(pthread_rwlockattr_init(&kind), 0);
	assert_int_equal(
		pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP),
		0);
	assert_int_equal(pthread_rwlock_init(gate, &kind), 0);
	pthread_rwlockattr_destroy(&kind);
}

static struct machine *machine_new(void)
{
	struct machine *m = calloc(1, sizeof(*m));
	uint32_t rank, space;

	assert_non_null(m);
	assert_int_equal(pthread_mutex_init(&m->core, NULL), 0);
	m->host = host_ring(RANKS);
	for (rank = 0; rank < RANKS; rank++) {
		init_gate(&m->gate[rank]);
		for (space = 0; space < SPACES; space++)
			open_space(&m->host->dev[rank], space);
	}
	return m;
}

static void machine_free(struct machine *m)
{
	uint32_t rank;

	for (rank = 0; rank < RANKS; rank++)
		pthread_rwlock_destroy(&m->gate[rank]);
	pthread_mutex_destroy(&m->core);
	host_free(m->host);
	free(m);
}

static void start(struct machine *m, struct writer *writers, uint32_t ranks, uint32_t spaces)
{
	uint32_t i;

	for (i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){
			.machine = m, .lane = i + 1, .ranks = ranks, .spaces = spaces
		};
		assert_int_equal(pthread_create(&writers[i].thread, NULL, write_all, &writers[i]),
				 0);
	}
}

static void join(struct writer *writers)
{
	uint32_t i;

	for (i = 0; i < WRITERS; i++)
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

static void expect_sums(struct host_dev *d, uint32_t space)
{
	struct t3_segment_info info;
	uint32_t at;

	host_expect(d, space, T3_SPACE_COMPLETE, 1);
	for (at = 0; at < ROWS * COLS * 4; at += 4)
		assert_int_equal(host_load(d, space, at, 4), UPDATES);
	assert_true(t3_dev_segment_info(d->dev, space, 0, &info));
	assert_int_equal(info.counts.local_bytes, ROWS * COLS * 4 * UPDATES);
	assert_int_equal(info.counts.nmc_elements, ROWS * COLS * UPDATES);
	/* half of the passes store pairs */
	assert_int_equal(info.counts.stores, ROWS * COLS * UPDATES / 4 * 3);
}

/* Into one space, into several of a device, into several devices: nothing is lost. */
static void expect_all(uint32_t ranks, uint32_t spaces)
{
	struct writer writers[WRITERS];
	struct machine *m = machine_new();
	uint32_t turn, rank, space;

	start(m, writers, ranks, spaces);
	for (turn = 0; turn < 200; turn++)
		look_on(m, turn);
	join(writers);
	for (rank = 0; rank < ranks; rank++) {
		struct host_dev *d = &m->host->dev[rank];

		for (space = 0; space < spaces; space++)
			expect_sums(d, space);
		assert_int_equal(host_counter(d, T3_COUNTER_NMC_ELEMENTS),
				 ROWS * COLS * UPDATES * spaces);
		assert_int_equal(host_counter(d, T3_COUNTER_STORES),
				 ROWS * COLS * UPDATES / 4 * 3 * spaces);
		assert_int_equal(host_counter(d, T3_COUNTER_TRACKER_HIT) +
					 host_counter(d, T3_COUNTER_TRACKER_ALLOC),
				 host_counter(d, T3_COUNTER_STORES));
	}
	assert_true(m->direct > ROWS * COLS);
	machine_free(m);
}

TEST("threads store into one space")
{
	expect_all(1, 1);
}

TEST("threads store into spaces of their own")
{
	expect_all(1, SPACES);
}

TEST("threads store into devices of their own")
{
	expect_all(RANKS, SPACES);
}

/* Device 0 sends to device 1, by stores into a REMOTE segment. */
static void open_sending(struct machine *m)
{
	struct t3_cmd_seg_map to = host_segment(SENDING, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	struct t3_cmd_seg_map from =
		host_segment(SENDING, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);

	host_space(&m->host->dev[0], SENDING);
	host_space(&m->host->dev[1], SENDING);
	host_connect(&m->host->dev[0], &m->host->dev[1], SENDING);
	to.updates = from.updates = UPDATES;
	host_map(&m->host->dev[1], &to);
	host_map(&m->host->dev[0], &from);
	host_arm(&m->host->dev[1], SENDING, 1);
	host_arm(&m->host->dev[0], SENDING, 1);
	host_drain(m->host);
	t3_fabric_set_inline_budget(m->host->fabric, 0);
}

static void send_all(struct machine *m)
{
	struct t3_cmd_seg_map map =
		host_segment(SENDING, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	uint32_t i, at;

	for (i = 0; i < UPDATES; i++)
		for (at = 0; at < map.rows * map.row_bytes; at += 4) {
			enter(m);
			t3_dev_aperture_write(m->host->dev[0].dev,
					      (uint64_t)SENDING * HOST_SPACE_SIZE + at, 1, 4);
			leave(m);
			run_events(m);
		}
}

/* Events run beside the stores into other devices, and nothing is lost on either side. */
TEST("events run beside stores")
{
	struct writer writers[WRITERS];
	struct machine *m = machine_new();
	uint32_t rank, space;

	open_sending(m);
	start(m, writers, RANKS, SPACES);
	send_all(m);
	join(writers);
	run_events(m);
	for (rank = 0; rank < RANKS; rank++)
		for (space = 0; space < SPACES; space++)
			expect_sums(&m->host->dev[rank], space);
	host_expect(&m->host->dev[0], SENDING, T3_SPACE_COMPLETE, 1);
	host_expect(&m->host->dev[1], SENDING, T3_SPACE_COMPLETE, 1);
	assert_int_equal(host_load(&m->host->dev[1], SENDING, 0, 4), UPDATES);
	assert_null(t3_fabric_check(m->host->fabric));
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

TEST("stores survive what disturbs them")
{
	struct writer writers[WRITERS];
	struct machine *m = machine_new();
	uint32_t turn;

	start(m, writers, RANKS, SPACES);
	for (turn = 0; turn < 64; turn++)
		disturb(m, turn);
	join(writers);
	machine_free(m);
}
