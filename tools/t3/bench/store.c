// SPDX-License-Identifier: MIT
/* The store path: the cost of a tracked store, compared with trapped stores of other devices. */
#include "bench/bench.h"

#define WINDOW	16384u /* bytes that all stores go to, repeatedly */
#define UPDATES 16u
#define PAIR	UINT64_C(0x3f8000003f800000) /* two f32 of 1 */
/* edu's registers end below this address. The rest of its BAR ignores stores. */
#define EDU_NOTHING 0x1000u
/* Without a chosen test, pci-testdev ignores stores to the bytes above its first. */
#define TESTDEV_NOTHING 0x100u
#define TESTDEV_BYTES	0x400u
#define ORDINARY	"T3, f32 add, direct-stores=off"

struct target {
	const struct bench_clock *clock;
	volatile unsigned char *at;
};

static void store_words(const void *context)
{
	const struct target *t = context;

	bench_store_words(t->at, PAIR, WINDOW / 8);
}

static void store_bytes(const void *context)
{
	const struct target *t = context;

	bench_store_bytes(t->at, 1, TESTDEV_BYTES);
}

/* Uses the library's stores, which it chooses for the processor. */
static void store_copies(const void *context)
{
	static uint64_t source[WINDOW / 8];
	const struct target *t = context;

	t3_store(t->at, source, WINDOW);
}

static int run_words(void *context, double *ns)
{
	const struct target *t = context;

	*ns = bench_passes(t->clock, UPDATES, store_words, t) / (WINDOW / 8);
	return 0;
}

static int run_bytes(void *context, double *ns)
{
	const struct target *t = context;

	*ns = bench_passes(t->clock, UPDATES, store_bytes, t) / TESTDEV_BYTES;
	return 0;
}

static int run_copies(void *context, double *ns)
{
	const struct target *t = context;

	*ns = bench_passes(t->clock, UPDATES, store_copies, t) / (WINDOW / 8);
	return 0;
}

struct tracked {
	const struct bench_clock *clock;
	struct bench_space s;
};

static int run_epoch(struct tracked *t, bench_run *run, double *ns)
{
	struct target target = { .clock = t->clock, .at = t3_space_aperture(t->s.space) };
	int ret = bench_space_arm(&t->s);

	if (ret)
		return ret;
	run(&target, ns);
	return bench_space_end(&t->s);
}

static int run_tracked(void *context, double *ns)
{
	return run_epoch(context, run_words, ns);
}

#ifdef __x86_64__
static void store_string(const void *context)
{
	const struct target *t = context;

	bench_store_string(t->at, PAIR, WINDOW / 8);
}

static void store_wide(const void *context)
{
	const struct target *t = context;

	bench_store_wide(t->at, PAIR, WINDOW / 8);
}

static int run_string_words(void *context, double *ns)
{
	const struct target *t = context;

	*ns = bench_passes(t->clock, UPDATES, store_string, t) / (WINDOW / 8);
	return 0;
}

static int run_wide_words(void *context, double *ns)
{
	const struct target *t = context;

	*ns = bench_passes(t->clock, UPDATES, store_wide, t) / (WINDOW / 8);
	return 0;
}

static int run_string(void *context, double *ns)
{
	return run_epoch(context, run_string_words, ns);
}

static int run_wide(void *context, double *ns)
{
	return run_epoch(context, run_wide_words, ns);
}
#else
static bench_run *const run_string, *const run_wide;
#endif

static int run_library(void *context, double *ns)
{
	return run_epoch(context, run_copies, ns);
}

/* Tiles of 4 KiB, as a GEMM of f32 with 32 x 32 has. */
static struct t3_segment_desc segment(uint32_t op)
{
	struct t3_segment_desc desc = {
		.op = op,
		.dtype = DRM_T3_F32,
		.init = DRM_T3_INIT_IDENTITY,
		.updates = UPDATES,
		.rows = WINDOW / 4096,
		.row_bytes = 4096,
		.pitch = 4096,
		.tile_rows = 1,
		.tile_row_bytes = 4096,
	};

	return desc;
}

/* Without a device the row measures no time. */
static int open_tracked(struct bench *bench, struct t3_device *dev, uint32_t op, struct tracked *t)
{
	struct t3_segment_desc desc = segment(op);

	t->clock = &bench->clock;
	return dev ? bench_space_open(dev, &desc, BENCH_NO_SLOT, &t->s) : 0;
}

static volatile unsigned char *at(const struct bench_peer *peer, size_t offset)
{
	return peer->memory ? peer->memory + offset : NULL;
}

/* Other instructions, compared with the same store to edu. */
static int measure_instruction(struct bench *bench, struct tracked *add, struct tracked *ordinary,
			       const char *name, const char *title, double bound, bench_run *run)
{
	struct target edu = { &bench->clock, at(&bench->edu, EDU_NOTHING) };
	struct bench_row row = {
		.name = name,
		.title = title,
		.kind = BENCH_RATIO,
		.bound = bound,
		.side = {
			{ .what = "T3, tracked, f32 add", .run = run, .context = add },
			{ .what = "edu, no-op register, 8-byte stores",
			  .run = edu.at ? run_words : NULL, .context = &edu },
			{ .what = ORDINARY, .run = bench->ordinary ? run : NULL,
			  .context = ordinary },
		},
	};

	return bench_measure(bench, &row);
}

static int measure_instructions(struct bench *bench, struct tracked *add, struct tracked *ordinary)
{
	int ret = measure_instruction(bench, add, ordinary, "store-string",
				      "store path, rep stosq, per 8 bytes", 0.15, run_string);

	return ret ? ret
		   : measure_instruction(bench, add, ordinary, "store-wide",
					 "store path, 32-byte stores, per 8 bytes", 0.1,
					 bench_has_wide() ? run_wide : NULL);
}

int bench_store(struct bench *bench)
{
	struct target edu = { &bench->clock, at(&bench->edu, EDU_NOTHING) };
	struct target testdev = { &bench->clock, at(&bench->testdev, TESTDEV_NOTHING) };
	struct target bar = { &bench->clock, bench->ivshmem.memory };
	struct tracked add, plain = { 0 }, ordinary = { 0 };
	struct bench_row row = {
		.name = "store",
		.title = "store path, 8-byte stores",
		.kind = BENCH_RATIO,
		.bound = 0.15,
		.side = {
			{ .what = "T3, tracked, f32 add", .run = run_tracked, .context = &add },
			{ .what = "edu, no-op register", .run = edu.at ? run_words : NULL,
			  .context = &edu },
			{ .what = "T3, tracked, op store", .run = run_tracked, .context = &plain },
			{ .what = "T3, f32 add by t3_store()", .run = run_library,
			  .context = &add },
			{ .what = ORDINARY, .run = bench->ordinary ? run_tracked : NULL,
			  .context = &ordinary },
			{ .what = "pci-testdev, 1-byte no-op", .run = testdev.at ? run_bytes : NULL,
			  .context = &testdev },
			{ .what = "ivshmem-plain, RAM BAR", .run = bar.at ? run_words : NULL,
			  .context = &bar },
		},
	};
	int ret = open_tracked(bench, bench->dev, DRM_T3_OP_ADD, &add);

	if (ret)
		return ret;
	ret = open_tracked(bench, bench->dev, DRM_T3_OP_STORE, &plain);
	if (!ret)
		ret = open_tracked(bench, bench->ordinary, DRM_T3_OP_ADD, &ordinary);
	if (!ret)
		ret = bench_measure(bench, &row);
	if (!ret)
		ret = measure_instructions(bench, &add, &ordinary);
	bench_space_close(&ordinary.s);
	bench_space_close(&plain.s);
	bench_space_close(&add.s);
	return ret;
}
