// SPDX-License-Identifier: MIT
/*
 * libt3: producers, compared with a map of bytes. The doorbell page is write-protected. So the test
 * sees each doorbell: the store traps, is made in a single step or by the handler, and is noted.
 */
#include "test_lib_kernel.h"

#include <signal.h>
#include <ucontext.h>

#include "arm64_store.h"
#include "space/private.h"
#include "seeds.h"
#include "t3_producer.h"
#include "test.h"

#define DOORBELLS 4096u
#define IMAGE	  4096u

static uint64_t rung[DOORBELLS];
static uint32_t rings;

/* --------------------------------------------------------------- the watcher */

static volatile uint64_t *tile_word(void)
{
	return (volatile uint64_t *)(kernel.memory + AT_DOORBELL + DRM_T3_DOORBELL_TILE);
}

static void protect(int prot)
{
	mprotect((void *)(uintptr_t)space->doorbell, T3_PAGE, prot);
}

static void expect_doorbell(int sig, const siginfo_t *info)
{
	if (info->si_addr != (const void *)(uintptr_t)(space->doorbell + DRM_T3_DOORBELL_TILE) ||
	    rings >= DOORBELLS)
		_exit(128 + sig);
}

#ifdef __x86_64__

#define TRAP_BIT 0x100

static void on_store(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	expect_doorbell(sig, info);
	protect(PROT_READ | PROT_WRITE);
	regs[REG_EFL] |= TRAP_BIT;
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	(void)info;
	regs[REG_EFL] &= ~(greg_t)TRAP_BIT;
	rung[rings++] = *tile_word();
	protect(PROT_READ);
}

#elif defined(__aarch64__)

static void on_store(int sig, siginfo_t *info, void *context)
{
	struct arm64_store store = arm64_store_take(context);

	expect_doorbell(sig, info);
	if (store.width != sizeof(store.value))
		_exit(128 + sig);
	protect(PROT_READ | PROT_WRITE);
	*tile_word() = store.value;
	rung[rings++] = *tile_word();
	protect(PROT_READ);
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	_exit(128 + sig);
}

#endif

static void watch(void)
{
	struct sigaction store = { .sa_sigaction = on_store, .sa_flags = SA_SIGINFO };
	struct sigaction step = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };

	assert_int_equal(sigaction(SIGSEGV, &store, NULL), 0);
	assert_int_equal(sigaction(SIGTRAP, &step, NULL), 0);
	protect(PROT_READ);
	rings = 0;
}

/* ----------------------------------------------------------------- the model */

/* splitmix64 */
static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (z ^ z >> 31) >> 1;
}

/* The expected content of a segment, by bytes of the space. */
static struct model {
	struct t3_segment_desc desc;
	unsigned char byte[IMAGE];
	bool put[IMAGE];
	uint32_t lacks[IMAGE]; /* by tile */
	uint32_t expected[DOORBELLS];
	uint32_t rings;
	uint64_t bytes;
} model;

static void model_begin(const struct t3_segment_desc *d)
{
	struct t3_tile tile;
	uint64_t i;

	memset(&model, 0, sizeof(model));
	model.desc = *d;
	for (i = 0; i < t3_desc_tiles(d); i++) {
		assert_int_equal(t3_desc_tile(d, i, &tile), 0);
		model.lacks[i] = (uint32_t)tile.bytes;
	}
}

static bool model_fits(uint32_t row, uint32_t col, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < bytes; i++) {
		if (model.put[row * model.desc.pitch + col + i])
			return false;
	}
	return true;
}

static void model_put(uint32_t row, uint32_t col, const unsigned char *src, uint32_t bytes)
{
	uint32_t i, at;
	uint64_t tile;

	for (i = 0; i < bytes; i++) {
		at = row * model.desc.pitch + col + i;
		model.byte[at] = src[i];
		model.put[at] = true;
		assert_int_equal(t3_desc_locate(&model.desc, row, col + i, &tile), 0);
		if (!--model.lacks[tile])
			model.expected[model.rings++] = (uint32_t)tile;
	}
	model.bytes += bytes;
}

/* The image has the bytes that were put and nothing else. Each tile was rung when it was whole. */
static void check_model(const struct t3_producer *p, const unsigned char *image, bool doorbells)
{
	uint64_t tile = 0, lacks = 0, tiles = t3_desc_tiles(&model.desc);
	uint32_t i;
	int ret;

	for (i = 0; i < IMAGE; i++)
		assert_int_equal(image[i], model.put[i] ? model.byte[i] : 0xee);
	assert_int_equal(rings, doorbells ? model.rings : 0);
	for (i = 0; i < rings; i++)
		assert_int_equal(rung[i], DRM_T3_TILE_DOORBELL(model.desc.segment, 0,
							       (uint64_t)model.expected[i]));
	assert_int_equal(t3_producer_bytes(p), model.bytes);
	ret = t3_producer_missing(p, &tile, &lacks);
	for (i = 0; i < tiles && !model.lacks[i]; i++)
		;
	assert_int_equal(ret, i < tiles ? 0 : -ENODATA);
	if (!ret) {
		assert_int_equal(tile, i);
		assert_int_equal(lacks, model.lacks[i]);
	}
}

/* ------------------------------------------------------------------ the load */

static struct t3_segment_desc make(uint32_t dtype, uint32_t rows, uint32_t columns, uint32_t pad,
				   uint32_t tile_rows, uint32_t tile_columns)
{
	uint32_t size = t3_dtype_bytes(dtype);

	return (struct t3_segment_desc){
		.segment = 5,
		.dtype = dtype,
		.updates = 1,
		.rows = rows,
		.offset = 3 * size,
		.row_bytes = columns * size,
		.pitch = (columns + pad) * size,
		.tile_rows = tile_rows,
		.tile_row_bytes = tile_columns * size,
	};
}

/* Both paths give the same bytes. Only the place of the bytes and the doorbells differ. */
static unsigned char *image_of(const struct t3_producer *p)
{
	return kernel.memory +
	       (t3_producer_path(p) == T3_PATH_STORE ? AT_APERTURE + model.desc.offset : AT_BUFFER);
}

static struct t3_producer *create(const struct t3_segment_desc *d, uint32_t path)
{
	struct t3_producer_desc arg = { .segment = d, .path = path };
	struct t3_producer *p = NULL;

	assert_int_equal(t3_local_map(space, d), 0);
	assert_int_equal(t3_producer_create(dev, space, &arg, &p), 0);
	return p;
}

static void begin(struct t3_producer *p, const struct t3_segment_desc *d)
{
	model_begin(d);
	rings = 0;
	memset(image_of(p), 0xee, IMAGE);
	assert_int_equal(t3_producer_begin(p), 0);
}

static void try_run(struct t3_producer *p, uint32_t row, uint32_t col, uint32_t bytes,
		    uint64_t *seed)
{
	unsigned char src[IMAGE];
	uint32_t i;

	for (i = 0; i < bytes; i++)
		src[i] = (unsigned char)next(seed);
	if (!model_fits(row, col, bytes))
		return;
	assert_int_equal(t3_producer_put(p, row, col, src, bytes), 0);
	model_put(row, col, src, bytes);
}

static void try_tile(struct t3_producer *p, uint64_t index, uint64_t *seed)
{
	uint32_t pitch, i, row;
	unsigned char src[IMAGE];
	struct t3_tile tile;

	assert_int_equal(t3_desc_tile(&model.desc, index, &tile), 0);
	pitch = tile.row_bytes + (uint32_t)next(seed) % 5;
	for (i = 0; i < tile.rows * pitch; i++)
		src[i] = (unsigned char)next(seed);
	if (model.lacks[index] != tile.bytes) {
		assert_int_equal(t3_producer_put_tile(p, index, src, pitch), -EOVERFLOW);
		return;
	}
	assert_int_equal(t3_producer_put_tile(p, index, src, pitch), 0);
	for (row = 0; row < tile.rows; row++)
		model_put(tile.row + row, tile.col, src + row * pitch, tile.row_bytes);
}

static void random_puts(struct t3_producer *p, uint64_t *seed)
{
	uint32_t size = t3_dtype_bytes(model.desc.dtype), i, col, bytes;

	for (i = 0; i < 60; i++) {
		col = (uint32_t)next(seed) % (model.desc.row_bytes / size) * size;
		bytes = (uint32_t)next(seed) % (model.desc.row_bytes / size + 1) * size;
		if (bytes > model.desc.row_bytes - col)
			bytes = model.desc.row_bytes - col;
		if (next(seed) % 4)
			try_run(p, (uint32_t)next(seed) % model.desc.rows, col, bytes, seed);
		else
			try_tile(p, next(seed) % t3_desc_tiles(&model.desc), seed);
	}
}

/* Put the elements that no run had, one by one. */
static void put_the_rest(struct t3_producer *p, uint64_t *seed)
{
	uint32_t size = t3_dtype_bytes(model.desc.dtype), row, col;

	for (row = 0; row < model.desc.rows; row++) {
		for (col = 0; col < model.desc.row_bytes; col += size)
			try_run(p, row, col, size, seed);
	}
}

static void consume(void)
{
	events()->consumed[5][0] += rings;
}

static void run_epochs(const struct t3_segment_desc *d, uint32_t path, uint64_t *seed)
{
	struct t3_producer *p = create(d, path);
	uint32_t epoch;

	watch();
	assert_int_equal(t3_producer_path(p), path);
	for (epoch = 0; epoch < 3; epoch++) {
		begin(p, d);
		random_puts(p, seed);
		check_model(p, image_of(p), path == T3_PATH_DOORBELL);
		put_the_rest(p, seed);
		check_model(p, image_of(p), path == T3_PATH_DOORBELL);
		assert_int_equal(model.bytes, (uint64_t)d->rows * d->row_bytes);
		consume();
	}
	t3_producer_destroy(p);
	assert_int_equal(t3_unmap(space, d->segment), 0);
}

static int stop_and_report(void)
{
	seeds_report();
	return stop();
}

TEST_WITH("runs and tiles in any order arrive", start, stop_and_report)
{
	uint32_t dtype, rows, columns;
	uint64_t seed, random;
	struct t3_segment_desc d;

	for_each_seed(seed, 60)
	{
		random = seed;
		dtype = (uint32_t)next(&random) % 6;
		rows = 1 + (uint32_t)next(&random) % 9;
		columns = 1 + (uint32_t)next(&random) % 40;
		d = make(dtype, rows, columns, (uint32_t)next(&random) % 4,
			 1 + (uint32_t)next(&random) % rows, 1 + (uint32_t)next(&random) % columns);
		run_epochs(&d, T3_PATH_STORE, &random);
		run_epochs(&d, T3_PATH_DOORBELL, &random);
	}
}

/* ------------------------------------------------------------------ refusals */

static const struct t3_segment_desc usual = {
	.segment = 5,
	.dtype = DRM_T3_F32,
	.updates = 1,
	.rows = 5,
	.row_bytes = 28,
	.pitch = 32,
	.tile_rows = 2,
	.tile_row_bytes = 12,
};

T3_TEST("a refused put has no effect")
{
	static const uint32_t paths[] = { T3_PATH_STORE, T3_PATH_DOORBELL };
	unsigned char src[128];
	struct t3_producer *p;
	uint64_t seed = 1;
	size_t i;

	memset(src, 7, sizeof(src));
	for (i = 0; i < 2; i++) {
		p = create(&usual, paths[i]);
		watch();
		begin(p, &usual);
		try_run(p, 0, 12, 4, &seed);
		assert_int_equal(t3_producer_put(p, 5, 0, src, 4), -ERANGE);
		assert_int_equal(t3_producer_put(p, 0, 28, src, 4), -ERANGE);
		assert_int_equal(t3_producer_put(p, 0, 32, src, 0), -ERANGE);
		assert_int_equal(t3_producer_put(p, 0, 4, src, 28), -ERANGE);
		assert_int_equal(t3_producer_put(p, 0, 4, src, UINT32_MAX - 3), -ERANGE);
		assert_int_equal(t3_producer_put(p, 0, 2, src, 4), -EINVAL);
		assert_int_equal(t3_producer_put(p, 0, 0, src, 6), -EINVAL);
		assert_int_equal(t3_producer_put(p, 0, 0, NULL, 4), -EINVAL);
		assert_int_equal(t3_producer_put(NULL, 0, 0, src, 4), -EINVAL);
		assert_int_equal(t3_producer_put_tile(p, 9, src, 12), -ERANGE);
		assert_int_equal(t3_producer_put_tile(p, 0, src, 11), -EINVAL);
		assert_int_equal(t3_producer_put_tile(p, 0, NULL, 12), -EINVAL);
		assert_int_equal(t3_producer_put_tile(NULL, 0, src, 12), -EINVAL);
		assert_int_equal(t3_producer_put_tile(p, 1, src, 12), -EOVERFLOW);
		check_model(p, image_of(p), i);
		/* A run over tiles 0 .. 2, of which 1 is whole. */
		try_run(p, 0, 16, 8, &seed);
		try_run(p, 1, 12, 12, &seed);
		assert_int_equal(t3_producer_put(p, 0, 0, src, 28), -EOVERFLOW);
		check_model(p, image_of(p), i);
		assert_int_equal(t3_producer_put(p, 4, 28, src, 0), 0);
		consume();
		t3_producer_destroy(p);
		assert_int_equal(t3_unmap(space, 5), 0);
	}
}

T3_TEST("the missing elements of a tile are counted")
{
	struct t3_producer *p = create(&usual, T3_PATH_STORE);
	uint64_t seed = 1, tile, bytes;

	watch();
	begin(p, &usual);
	tile = 8;
	assert_int_equal(t3_producer_missing(p, &tile, &bytes), 0);
	assert_int_equal(tile, 8);
	assert_int_equal(bytes, 4); /* one row of one element */
	try_tile(p, 0, &seed);
	try_tile(p, 1, &seed);
	try_run(p, 1, 24, 4, &seed);
	tile = 0;
	assert_int_equal(t3_producer_missing(p, &tile, &bytes), 0);
	assert_int_equal(tile, 2);
	assert_int_equal(bytes, 4);
	assert_int_equal(t3_producer_missing(p, &tile, NULL), 0);
	tile = 9;
	assert_int_equal(t3_producer_missing(p, &tile, &bytes), -ERANGE);
	assert_int_equal(t3_producer_missing(p, NULL, &bytes), -EINVAL);
	assert_int_equal(t3_producer_missing(NULL, &tile, &bytes), -EINVAL);
	t3_producer_destroy(p);
}

/* --------------------------------------------------------------- the staging */

T3_TEST("staged data that was not read is busy")
{
	struct t3_producer *p = create(&usual, T3_PATH_DOORBELL);
	uint64_t seed = 1;

	watch();
	begin(p, &usual);
	put_the_rest(p, &seed);
	assert_int_equal(rings, 9);
	events()->consumed[5][0] = 8;
	assert_int_equal(t3_producer_begin(p), -EBUSY);
	assert_int_equal(t3_producer_bytes(p), 5 * 28);
	events()->consumed[5][0] = 9;
	assert_int_equal(t3_producer_begin(p), 0);
	/* A reset drops doorbells that were rung, and clears the counter. */
	begin(p, &usual);
	put_the_rest(p, &seed);
	assert_int_equal(t3_producer_begin(p), -EBUSY);
	events()->consumed[5][0] = 0;
	events()->generation++;
	assert_int_equal(t3_producer_begin(p), 0);
	begin(p, &usual);
	put_the_rest(p, &seed);
	check_model(p, image_of(p), true);
	t3_producer_destroy(p);
}

T3_TEST("hot paths make no call")
{
	static const uint32_t paths[] = { T3_PATH_STORE, T3_PATH_DOORBELL };
	struct t3_producer *p;
	uint64_t seed = 1;
	unsigned int calls;
	size_t i;

	for (i = 0; i < 2; i++) {
		p = create(&usual, paths[i]);
		watch();
		calls = kernel.calls;
		begin(p, &usual);
		put_the_rest(p, &seed);
		assert_int_equal(kernel.calls, calls);
		t3_producer_destroy(p);
		assert_int_equal(t3_unmap(space, 5), 0);
	}
}

T3_TEST("the caller's buffer serves as staging")
{
	struct t3_producer_desc arg = {
		.segment = &usual,
		.path = T3_PATH_DOORBELL,
		.staging = buffer,
		.staging_offset = 64,
	};
	const struct drm_t3_segment_staging *asked;
	uint32_t value = 0x11223344;
	struct t3_producer *p;

	assert_int_equal(t3_local_map(space, &usual), 0);
	assert_int_equal(t3_producer_create(dev, space, &arg, &p), 0);
	assert_int_equal(kernel.request, DRM_IOCTL_T3_SEGMENT_STAGING);
	asked = ASKED(drm_t3_segment_staging);
	assert_int_equal(asked->segment, 5);
	assert_int_equal(asked->slots, 1);
	assert_int_equal(asked->offset, 64);
	assert_int_equal(asked->slot_stride, 160); /* 156, in steps of 8 */
	assert_int_equal(t3_producer_put(p, 1, 4, &value, 4), 0);
	assert_memory_equal(kernel.memory + AT_BUFFER + 64 + 32 + 4, &value, 4);
	t3_producer_destroy(p);
	/* The staging is removed, and the caller still has its buffer. */
	assert_int_equal(kernel.request, DRM_IOCTL_T3_SEGMENT_STAGING);
	assert_int_equal(ASKED(drm_t3_segment_staging)->slots, 0);
	assert_int_equal(t3_buffer_size(buffer), 8192);
}

/* The device begins a new image with a count of its own. */
T3_TEST("another image begins anew")
{
	struct t3_producer *p;

	assert_int_equal(t3_local_map(space, &usual), 0);
	p = create(&usual, T3_PATH_DOORBELL);
	events()->consumed[5][0] = 7;
	assert_int_equal(t3_producer_begin(p), -EBUSY);
	kernel.error = EINVAL;
	assert_int_equal(t3_producer_move(p, buffer, 0), -EINVAL);
	assert_int_equal(t3_producer_begin(p), -EBUSY);
	assert_int_equal(t3_producer_move(p, buffer, 0), 0);
	assert_int_equal(t3_producer_begin(p), 0);
	t3_producer_destroy(p);
}

/* ------------------------------------------------------------------- create */

static uint32_t chosen(const struct t3_segment_desc *d)
{
	struct t3_producer *p = create(d, T3_PATH_AUTO);
	uint32_t path = t3_producer_path(p);

	t3_producer_destroy(p);
	assert_int_equal(t3_unmap(space, d->segment), 0);
	return path;
}

T3_TEST("AUTO counts stores")
{
	struct t3_segment_desc d = make(DRM_T3_F32, 1, 64, 0, 1, 12);

	assert_int_equal(chosen(&d), T3_PATH_STORE); /* 48 bytes: 6 stores */
	d.tile_row_bytes = 52;
	assert_int_equal(chosen(&d), T3_PATH_DOORBELL);
	/* Narrow rows need a store each. */
	d = make(DRM_T3_F16, 8, 64, 0, 6, 1);
	assert_int_equal(chosen(&d), T3_PATH_STORE);
	d.tile_rows = 7;
	assert_int_equal(chosen(&d), T3_PATH_DOORBELL);
	/* So many rows cannot be staged. */
	d = make(DRM_T3_U8, DRM_T3_STAGED_ROWS_MAX + 1, 1, 0, DRM_T3_STAGED_ROWS_MAX, 1);
	assert_int_equal(chosen(&d), T3_PATH_DOORBELL);
	d.tile_rows++;
	assert_int_equal(chosen(&d), T3_PATH_STORE);
}

T3_TEST("AUTO takes stores where it must")
{
	struct t3_segment_desc d = make(DRM_T3_F32, 4, 64, 0, 4, 64);
	struct t3_producer_desc arg = { .segment = &d };
	struct t3_producer *p;
	static const struct {
		int error, automatic, doorbell;
	} rows[] = { { ENOSPC, 0, -ENOSPC }, { EDQUOT, 0, -EDQUOT }, { EIO, -EIO, -EIO } };
	size_t i;

	assert_int_equal(t3_local_map(space, &d), 0);
	for (i = 0; i < 3; i++) {
		arg.path = T3_PATH_AUTO;
		kernel.error = rows[i].error;
		p = NULL;
		assert_int_equal(t3_producer_create(dev, space, &arg, &p), rows[i].automatic);
		assert_int_equal(t3_producer_path(p), rows[i].automatic ? 0 : T3_PATH_STORE);
		t3_producer_destroy(p);
		arg.path = T3_PATH_DOORBELL;
		kernel.error = rows[i].error;
		p = NULL;
		assert_int_equal(t3_producer_create(dev, space, &arg, &p), rows[i].doorbell);
		assert_null(p);
	}
	/* The producer destroys its buffer when it cannot be bound. */
	kernel.fail_request = DRM_IOCTL_T3_SEGMENT_STAGING;
	assert_int_equal(t3_producer_create(dev, space, &arg, &p), -EPERM);
	assert_int_equal(kernel.request, DRM_IOCTL_GEM_CLOSE);
}

T3_TEST("a creation checks its arguments")
{
	struct t3_segment_desc d = usual;
	struct t3_producer_desc arg = { .segment = &d, .path = T3_PATH_STORE };
	struct t3_producer *p = NULL;

	assert_int_equal(t3_producer_create(dev, space, &arg, &p), -ENOENT);
	assert_int_equal(t3_local_map(space, &d), 0);
	assert_int_equal(t3_producer_create(NULL, space, &arg, &p), -EINVAL);
	assert_int_equal(t3_producer_create(dev, NULL, &arg, &p), -EINVAL);
	assert_int_equal(t3_producer_create(dev, space, NULL, &p), -EINVAL);
	assert_int_equal(t3_producer_create(dev, space, &arg, NULL), -EINVAL);
	arg.path = 3;
	assert_int_equal(t3_producer_create(dev, space, &arg, &p), -EINVAL);
	arg.path = T3_PATH_STORE;
	arg.pad = 1;
	assert_int_equal(t3_producer_create(dev, space, &arg, &p), -EINVAL);
	arg.pad = 0;
	arg.staging = buffer;
	assert_int_equal(t3_producer_create(dev, space, &arg, &p), -EINVAL);
	arg.staging = NULL;
	arg.staging_offset = 8;
	assert_int_equal(t3_producer_create(dev, space, &arg, &p), -EINVAL);
	arg.staging_offset = 0;
	arg.segment = NULL;
	assert_int_equal(t3_producer_create(dev, space, &arg, &p), -EINVAL);
	arg.segment = &d;
	d.pitch = 20;
	assert_int_equal(t3_producer_create(dev, space, &arg, &p), -EINVAL);
	d = usual;
	d.offset = SPACE_BYTES - 64;
	assert_int_equal(t3_producer_create(dev, space, &arg, &p), -ERANGE);
	d = usual;
	set_state(DRM_T3_SPACE_ARMED, 1);
	assert_int_equal(t3_producer_create(dev, space, &arg, &p), -EBUSY);
	assert_null(p);
	t3_producer_destroy(NULL);
	assert_int_equal(t3_producer_path(NULL), 0);
	assert_int_equal(t3_producer_bytes(NULL), 0);
	assert_int_equal(t3_producer_begin(NULL), -EINVAL);
}

int main(void)
{
#if !defined(__x86_64__) && !defined(__aarch64__)
	return 77; /* the watcher knows these two only */
#endif
	return test_run(NULL, NULL);
}
