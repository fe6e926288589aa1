// SPDX-License-Identifier: MIT
/* The doorbell path: fill a tile in plain memory, ring once. */
#include "bench/bench.h"

#define UPDATES 64u /* tiles of an epoch: the same one repeatedly */
#define F32_ONE UINT64_C(0x3f8000003f800000)
#define BF_ONE	UINT64_C(0x3f803f803f803f80)

struct fill {
	const struct bench_clock *clock;
	volatile void *at;
	size_t bytes;
	uint64_t word;
};

static void fill(const void *context)
{
	const struct fill *f = context;

	bench_store_words(f->at, f->word, f->bytes / 8);
}

static int run_fill(void *context, double *ns)
{
	const struct fill *f = context;

	*ns = bench_passes(f->clock, UPDATES, fill, f);
	return 0;
}

struct staged {
	const struct bench_clock *clock;
	struct bench_space s;
	uint64_t word;
	bool fill; /* only ring: the device's work for a tile */
};

static int ring(struct staged *t, double *lap)
{
	size_t words = t->s.desc.row_bytes / 8;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < UPDATES && !ret; i++) {
		uint64_t start = bench_ticks();

		if (t->fill)
			bench_store_words(t->s.slot, t->word, words);
		/* When the call returns the device has read the tile, and the slot is free. */
		ret = t3_doorbell_tile(t->s.space, 0, 0, 0);
		lap[i] = bench_ns(t->clock, start);
	}
	return ret;
}

static int run_staged(void *context, double *ns)
{
	struct staged *t = context;
	double lap[UPDATES] = { 0 };
	int ret = bench_space_arm(&t->s);

	if (!ret)
		ret = ring(t, lap);
	*ns = bench_median(lap, UPDATES);
	return ret ? ret : bench_space_end(&t->s);
}

/* One tile. A whole epoch updates it. */
static int open_staged(struct bench *bench, uint32_t op, uint32_t dtype, uint32_t bytes,
		       enum bench_staging staging, struct staged *t)
{
	struct t3_segment_desc desc = {
		.op = op,
		.dtype = dtype,
		/* KEEP, because IDENTITY would overwrite the data staged in place. */
		.init = staging == BENCH_IN_PLACE ? DRM_T3_INIT_KEEP : DRM_T3_INIT_IDENTITY,
		.updates = UPDATES,
		.rows = 1,
		.row_bytes = bytes,
		.pitch = bytes,
		.tile_rows = 1,
		.tile_row_bytes = bytes,
	};

	t->clock = &bench->clock;
	t->word = dtype == DRM_T3_BF16 ? BF_ONE : F32_ONE;
	t->fill = true;
	return bench_space_open(bench->dev, &desc, staging, &t->s);
}

static int measure_tile(struct bench *bench, uint32_t bytes, const char *name, const char *title,
			double bound)
{
	struct staged place = { 0 }, slot = { 0 };
	struct fill bar = { &bench->clock, bench->ivshmem.memory, bytes, F32_ONE };
	struct fill ram = { &bench->clock, bench->ram, bytes, F32_ONE };
	struct bench_row row = {
		.name = name,
		.title = title,
		.kind = BENCH_RATIO,
		.bound = bound,
		.side = {
			{ .what = "fill in place + doorbell", .run = run_staged,
			  .context = &place },
			{ .what = "fill of ivshmem's RAM BAR", .run = bar.at ? run_fill : NULL,
			  .context = &bar },
			{ .what = "fill of a slot + doorbell", .run = run_staged,
			  .context = &slot },
			{ .what = "fill of the guest's RAM", .run = run_fill, .context = &ram },
		},
	};
	int ret = open_staged(bench, DRM_T3_OP_STORE, DRM_T3_F32, bytes, BENCH_IN_PLACE, &place);

	if (!ret)
		ret = open_staged(bench, DRM_T3_OP_STORE, DRM_T3_F32, bytes, BENCH_SLOT, &slot);
	if (!ret)
		ret = bench_measure(bench, &row);
	bench_space_close(&slot.s);
	bench_space_close(&place.s);
	return ret;
}

int bench_doorbell(struct bench *bench)
{
	int ret = measure_tile(bench, 65536, "doorbell-64k", "doorbell path, 64 KiB tile", 1.10);

	return ret ? ret
		   : measure_tile(bench, 4096, "doorbell-4k", "doorbell path, 4 KiB tile", 1.9);
}

static int measure_nmc(struct bench *bench, uint32_t dtype, const char *name, const char *title,
		       double bound)
{
	struct staged both = { 0 }, alone = { 0 };
	struct fill bar = { &bench->clock, bench->ivshmem.memory, BENCH_WINDOW, F32_ONE };
	struct bench_row row = {
		.name = name,
		.title = title,
		.kind = BENCH_RATIO,
		.bound = bound,
		.side = {
			{ .what = "fill + doorbell with op add", .run = run_staged,
			  .context = &both },
			{ .what = "fill of ivshmem's RAM BAR", .run = bar.at ? run_fill : NULL,
			  .context = &bar },
			{ .what = "the doorbell alone", .run = run_staged, .context = &alone },
		},
	};
	int ret = open_staged(bench, DRM_T3_OP_ADD, dtype, BENCH_WINDOW, BENCH_SLOT, &both);

	if (!ret)
		ret = open_staged(bench, DRM_T3_OP_ADD, dtype, BENCH_WINDOW, BENCH_SLOT, &alone);
	if (!ret) {
		alone.fill = false;
		bench_store_words(alone.s.slot, alone.word, BENCH_WINDOW / 8);
		ret = bench_measure(bench, &row);
	}
	bench_space_close(&alone.s);
	bench_space_close(&both.s);
	return ret;
}

int bench_nmc(struct bench *bench)
{
	int ret = measure_nmc(bench, DRM_T3_F32, "nmc-f32", "update of 64 KiB, f32 add", 1.5);

	return ret ? ret
		   : measure_nmc(bench, DRM_T3_BF16, "nmc-bf16", "update of 64 KiB, bf16 add", 3);
}
