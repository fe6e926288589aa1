/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer's side. Devices are made once for each shape and rewound between
 * inputs, which is a hundred times faster than new ones. With T3_FUZZ_TWICE set
 * each input runs on new devices and then on rewound ones, and must come to the
 * same end: else a crash could depend on the inputs before it.
 */
#include "queue/queue.h"
#include "rewind.h"
#include "ring.h"
#include "switch/switch.h"
#include "world.h"

#define SHAPES	      16u
#define SWITCH_SHAPES 8u /* with more devices each */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct host *make(uint32_t shape)
{
	static const struct {
		uint32_t entries, ways;
	} tracker[] = { { 1, 1 }, { 4, 4 }, { 8, 2 }, { 256, 8 } };
	struct host_config config = {
		.topology = shape & 1 ? T3_TOPOLOGY_FULL : T3_TOPOLOGY_RING,
		.ranks = shape & 2 ? 3 : 2,
		.entries = tracker[shape >> 2].entries,
		.ways = tracker[shape >> 2].ways,
		.keys = T3_KEYS_FABRIC,
	};
	static const uint32_t switch_entries[] = { 1, 3, 6, 64 };
	struct host *host;

	if (fuzz_target.has_switch)
		host = host_switch(3 + (shape & 1), switch_entries[shape >> 1 & 3], NULL, NULL);
	else
		host = host_new(&config);
	host_replace(host, 0, true); /* the commands that inject, too */
	rewind_host(host);	     /* the new device had begun incarnations of links */
	return host;
}

/* ---------------------------------------------------------------- the probe */

/* What does not apply is refused. */
static void take_away(struct host *host, uint32_t kind)
{
	uint32_t peers = kind == T3_INJECT_UNHANG_QUEUE ? T3_MAX_QUEUES : host->ranks;
	struct t3_cmd_inject inject = { .kind = kind };
	uint32_t i;

	for (i = 0; i < host->ranks; i++) {
		inject.rank = i;
		for (inject.peer = 0; inject.peer < peers; inject.peer++)
			t3_fabric_inject(host->fabric, &inject);
		inject.peer = T3_SWITCH_RANK;
		t3_fabric_inject(host->fabric, &inject);
		inject.rank = T3_SWITCH_RANK;
		inject.peer = i;
		t3_fabric_inject(host->fabric, &inject);
	}
}

static void calm(struct host *host)
{
	/* clang-format off */
	static const uint32_t kinds[] = {
		T3_INJECT_DROP, T3_INJECT_DUPLICATE, T3_INJECT_CORRUPT,
		T3_INJECT_REORDER, T3_INJECT_DELAY, T3_INJECT_DROP_RESPONSE,
		T3_INJECT_LINK_UP, T3_INJECT_LINK_RANDOM, T3_INJECT_UNPOISON,
		T3_INJECT_LOSE_IRQ, T3_INJECT_FAIL_DMA, T3_INJECT_UNHANG_QUEUE,
	};
	/* clang-format on */
	uint32_t i;

	t3_fabric_set_inline_budget(host->fabric, T3_INLINE_BUDGET);
	for (i = 0; i < host->ranks; i++) {
		host->dev[i].fail_after = HOST_NONE32;
		host->dev[i].fail_data = 0;
	}
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		take_away(host, kinds[i]);
}

static void expect_working(struct host *host)
{
	struct ring ring = ring_of(host, 0, T3_DTYPE_I32);
	uint32_t r;

	world_reset(host);
	host_drain(host);
	/* A switch tells devices of ends that were reset before. They count that they refuse it. */
	if (fuzz_target.has_switch) {
		world_reset(host);
		host_drain(host);
	}
	ring_create(&ring);
	ring_connect(&ring);
	ring_arm(&ring, 1);
	for (r = 0; r < host->ranks; r++)
		ring_produce(&ring, r, 1, true);
	ring_expect_state(&ring, T3_SPACE_COMPLETE, 1);
	ring_expect_sums(&ring, 1);
	ring_expect_counts(&ring, 1, true);
}

/* ------------------------------------------------------------------ one run */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * 0x100000001b3ull;
}

static uint64_t digest_switch(const struct t3_switch *sw, uint64_t hash)
{
	uint32_t i;

	for (i = 0; i < sw->fabric->config.ranks; i++) {
		const struct t3_switch_port *port = &sw->port[i];

		hash = mix(mix(hash, port->used), port->counts.taken);
		hash = mix(mix(hash, port->counts.sums), port->counts.refused);
		hash = mix(mix(hash, port->counts.busy), sw->generation[i * T3_PORT_GROUPS]);
	}
	return hash;
}

static uint64_t digest(struct host *host)
{
	uint64_t hash = mix(0xcbf29ce484222325ull, t3_fabric_now(host->fabric));
	uint32_t r, i;

	for (r = 0; r < host->ranks; r++) {
		struct host_dev *d = &host->dev[r];

		for (i = 0; i < T3_COUNTER_COUNT; i++)
			hash = mix(hash, d->dev->counter[i]);
		for (i = 0; i < WORLD_SPACES; i++)
			hash = mix(mix(hash, t3_spaces(d->dev)->generation[i]),
				   t3_spaces(d->dev)->space[i].state);
		for (i = 0; i <= T3_DESC_GANG; i++)
			hash = mix(hash, d->completed[i]);
		hash = mix(mix(hash, d->logged), d->guest_errors);
	}
	return host->fabric->sw ? digest_switch(host->fabric->sw, hash) : hash;
}

/*
 * The end of an input takes longer than most inputs. So one in eight has it, chosen by its bytes: a
 * finding is one again when it runs alone. The corpus has it always.
 */
bool world_ends_in_peace(struct stream in)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	if (getenv("T3_FUZZ_TWICE"))
		return true;
	while (stream_more(&in))
		hash = mix(hash, stream_u8(&in));
	return !((hash >> 32) % 8);
}

static uint64_t run(struct host *host, struct stream in)
{
	bool peace = world_ends_in_peace(in);
	uint64_t hash;

	fuzz_target.one(&in, host);
	world_check(host);
	hash = digest(host);
	if (!peace)
		return hash;
	world_check_free(host);
	calm(host);
	host_drain(host); /* all activity comes to an end */
	world_check(host);
	expect_working(host);
	if (fuzz_target.has_switch)
		world_expect_groups(host, hash);
	return hash;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return setenv("CMOCKA_TEST_ABORT", "1", 1); /* a failed assertion is a crash */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct host *pool[SHAPES];
	struct stream in = { data, size };
	uint32_t shape;
	uint64_t hash;

	if (fuzz_target.alone) {
		fuzz_target.one(&in, NULL);
		return 0;
	}
	shape = stream_u8(&in) % (fuzz_target.has_switch ? SWITCH_SHAPES : SHAPES);
	if (!pool[shape])
		pool[shape] = make(shape);
	hash = run(pool[shape], in);
	rewind_host(pool[shape]);
	if (getenv("T3_FUZZ_TWICE")) {
		rewind_expect_clear(pool[shape]);
		assert_int_equal(run(pool[shape], in), hash);
		host_free(pool[shape]);
		pool[shape] = NULL;
	}
	return 0;
}
