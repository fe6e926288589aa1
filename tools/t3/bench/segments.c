// SPDX-License-Identifier: MIT
/*
 * Compares the cost of a store on a device with one segment and on one with all that it can have.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

#define SPACES	 64u
#define SEGMENTS 64u   /* of each space */
#define PAGE	 4096u /* of each space */
#define TILE	 64u   /* bytes; with many segments, each is one tile */
#define PASSES	 1u    /* stores to all bytes in an epoch; one more completes it */
#define PAIR	 UINT64_C(0x3f8000003f800000)

/* The same bytes in the same number of tiles, of one segment or of many. */
struct setup {
	const struct bench_clock *clock;
	struct bench_space s[SPACES];
	unsigned int spaces;
	bool last; /* measure only the pass that completes the segments */
	bool jump; /* each store goes to another tile of its page; else in rising order */
};

static void store_page(volatile unsigned char *page, bool jump)
{
	size_t i, word;

	if (!jump) {
		bench_store_words(page, PAIR, PAGE / 8);
		return;
	}
	for (word = 0; word < TILE; word += 8)
		for (i = 0; i < PAGE; i += TILE)
			bench_store_words(page + i + word, PAIR, 1);
}

static volatile unsigned char *page_of(const struct setup *t, unsigned int page)
{
	volatile unsigned char *at = t3_space_aperture(t->s[page % t->spaces].space);

	return at + (t->spaces == 1 ? (size_t)page * PAGE : 0);
}

/* The median page. A page with other work of the host does not count. */
static double store_all(const struct setup *t, unsigned int passes)
{
	double lap[SPACES];
	unsigned int i, pass;

	for (i = 0; i < SPACES; i++) {
		uint64_t start = bench_ticks();

		for (pass = 0; pass < passes; pass++)
			store_page(page_of(t, i), t->jump);
		lap[i] = bench_ns(t->clock, start) / (passes * (PAGE / 8));
	}
	return bench_median(lap, SPACES);
}

static int run_setup(void *context, double *ns)
{
	struct setup *t = context;
	double stores, completing;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < t->spaces && !ret; i++)
		ret = bench_space_arm(&t->s[i]);
	if (ret)
		return ret;
	stores = store_all(t, PASSES);
	completing = store_all(t, 1);
	*ns = t->last ? completing : stores;
	for (i = 0; i < t->spaces && !ret; i++)
		ret = bench_space_end(&t->s[i]);
	return ret;
}

static struct t3_segment_desc segment(uint32_t index, uint32_t bytes)
{
	struct t3_segment_desc desc = {
		.segment = index,
		.op = DRM_T3_OP_ADD,
		.dtype = DRM_T3_F32,
		.init = DRM_T3_INIT_IDENTITY,
		.updates = PASSES + 1,
		.rows = 1,
		.row_bytes = bytes,
		.pitch = bytes,
		.tile_rows = 1,
		.tile_row_bytes = TILE,
		.offset = (uint64_t)index * bytes,
	};

	return desc;
}

/* The single segment is on another device, because this one has no segment left. */
static int open_one(struct bench *bench, struct setup *t)
{
	struct t3_segment_desc desc = segment(0, SPACES * PAGE);

	if (!bench->other)
		return 0;
	t->spaces = 1;
	return bench_space_open(bench->other, &desc, BENCH_NO_SLOT, &t->s[0]);
}

/* A page with a segment for each tile. */
static int open_page(struct t3_device *dev, struct bench_space *s)
{
	struct t3_segment_desc desc;
	uint32_t i;
	int ret;

	ret = t3_buffer_create(dev, PAGE, &s->buffer);
	if (!ret)
		ret = t3_space_create(dev, s->buffer, SEGMENTS, &s->space);
	for (i = 0; i < SEGMENTS && !ret; i++) {
		desc = segment(i, TILE);
		ret = t3_local_map(s->space, &desc);
	}
	return ret;
}

static int open_many(struct bench *bench, struct setup *t)
{
	int ret = 0;

	for (t->spaces = 0; t->spaces < SPACES && !ret; t->spaces++)
		ret = open_page(bench->dev, &t->s[t->spaces]);
	return ret;
}

static void close_setup(struct setup *t)
{
	while (t->spaces)
		bench_space_close(&t->s[--t->spaces]);
	free(t);
}

static int measure(struct bench *bench, struct setup *many, struct setup *one,
		   struct bench_row *row)
{
	row->side[0] = (struct bench_side){ .what = "4096 segments in 64 spaces",
					    .run = run_setup,
					    .context = many };
	row->side[1] = (struct bench_side){ .what = "1 segment, as many tiles",
					    .run = bench->other ? run_setup : NULL,
					    .context = one };
	return bench_measure(bench, row);
}

static int measure_all(struct bench *bench, struct setup *many, struct setup *one)
{
	struct bench_row order = { .name = "segments",
				   .title = "4096 segments, in rising order",
				   .kind = BENCH_RATIO_NEAR,
				   .bound = 0.05 };
	/*
	 * There is no bound: the first tiles of all segments share a set of the tracker (SPEC.md
	 * 3.3).
	 */
	struct bench_row jump = { .name = "segments-jump",
				  .title = "4096 segments, each store in another" };
	struct bench_row last = { .name = "segments-last",
				  .title = "the pass that completes them, 8 stores each" };
	int ret = measure(bench, many, one, &order);

	many->last = one->last = true;
	if (!ret)
		ret = measure(bench, many, one, &last);
	many->last = one->last = false;
	many->jump = one->jump = true;
	return ret ? ret : measure(bench, many, one, &jump);
}

int bench_segments(struct bench *bench)
{
	struct setup *many = calloc(1, sizeof(*many)), *one = calloc(1, sizeof(*one));
	int ret = many && one ? open_many(bench, many) : -ENOMEM;

	if (!ret)
		ret = open_one(bench, one);
	if (!ret) {
		many->clock = one->clock = &bench->clock;
		ret = measure_all(bench, many, one);
	}
	if (one)
		close_setup(one);
	if (many)
		close_setup(many);
	return ret;
}
