// SPDX-License-Identifier: MIT
/* Local segments: each type and operation, ragged tiles, both write paths. */
#include "job.h"

#define UPDATES 3u

static const uint32_t dtypes[] = { DRM_T3_I32, DRM_T3_F32, DRM_T3_F16, DRM_T3_BF16 };
static const uint32_t seeds[UPDATES] = { 1, 2, 3 };

struct outcome {
	unsigned char memory[4096];
	struct drm_t3_space_stats stats;
	uint64_t word;
};

/* Padding and the bytes after the segment must not change. */
static void check_outside(const struct job *job, const struct t3_segment_desc *desc)
{
	uint32_t row, i;

	for (row = 0; row < desc->rows; row++)
		for (i = desc->row_bytes; i < desc->pitch; i++)
			CHECK_EQ(job->memory[desc->offset + row * desc->pitch + i], 0xee);
	for (i = 0; i < desc->offset; i++)
		CHECK_EQ(job->memory[i], 0xee);
}

static void run(uint32_t dtype, uint32_t op, enum path path, struct outcome *outcome)
{
	struct t3_segment_desc desc;
	struct job job;
	uint32_t i;

	job_open(&job, 0);
	memset(job.memory, 0xee, JOB_SIZE);
	job_desc(&desc, dtype, op);
	desc.segment = 5;
	desc.offset = 3 * t3_dtype_bytes(dtype); /* not a multiple of 8 */
	desc.updates = UPDATES;
	CHECK_EQ(t3_local_map(job.space, &desc), 0);
	if (path == PATH_DOORBELL)
		job_stage(&job, &desc);
	CHECK_EQ(t3_arm(job.space, 1), 0);
	CHECK_EQ(t3_wait_armed(job.space, 1, t3_deadline(5000000000)), 0);
	for (i = 0; i < UPDATES; i++)
		job_write(&job, &desc, path, seeds[i]);
	job_check(&job, &desc, 1);
	job_expect(&job, &desc, seeds, UPDATES);
	check_outside(&job, &desc);
	memcpy(outcome->memory, job.memory, sizeof(outcome->memory));
	CHECK_EQ(t3_segment_stats(job.space, 5, &outcome->stats), 0);
	outcome->word = t3_space_events(job.space)->segment[5];
	if (path == PATH_DOORBELL)
		CHECK_EQ(t3_slot_consumed(job.space, 5, 0), 9 * UPDATES);
	CHECK_EQ(t3_release(job.space, 1), 0);
	job_close(&job);
}

/* The doorbell path has the same results as the store path. */
static void check_same(const struct outcome *a, const struct outcome *b, uint32_t dtype,
		       uint32_t op)
{
	uint64_t bytes = UPDATES * JOB_ROWS * JOB_COLS * t3_dtype_bytes(dtype);

	CHECK(memcmp(a->memory, b->memory, sizeof(a->memory)) == 0);
	CHECK_EQ(a->word, b->word);
	CHECK_EQ(a->stats.local_bytes, bytes);
	CHECK_EQ(b->stats.local_bytes, bytes);
	CHECK_EQ(a->stats.triggers, 9);
	CHECK_EQ(b->stats.triggers, 9);
	CHECK_EQ(a->stats.tiles_tracked, b->stats.tiles_tracked);
	CHECK_EQ(a->stats.nmc_elements, b->stats.nmc_elements);
	CHECK_EQ(a->stats.nmc_elements, op == DRM_T3_OP_STORE ? 0 : UPDATES * JOB_ROWS * JOB_COLS);
	CHECK(a->stats.stores && !a->stats.doorbells);
	CHECK_EQ(b->stats.stores, 0);
	CHECK_EQ(b->stats.doorbells, 9 * UPDATES);
}

static void check_op(uint32_t op)
{
	struct outcome store, doorbell;
	size_t i;

	for (i = 0; i < ROWS(dtypes); i++) {
		run(dtypes[i], op, PATH_STORE, &store);
		run(dtypes[i], op, PATH_DOORBELL, &doorbell);
		check_same(&store, &doorbell, dtypes[i], op);
	}
}

TEST("STORE gives the right bytes in each type")
{
	check_op(DRM_T3_OP_STORE);
}

TEST("ADD gives the right sums in each type")
{
	check_op(DRM_T3_OP_ADD);
}

TEST("MIN gives the right values in each type")
{
	check_op(DRM_T3_OP_MIN);
}

TEST("MAX gives the right values in each type")
{
	check_op(DRM_T3_OP_MAX);
}

/* Both paths in one epoch: they count together. */
TEST("both paths count together in one epoch")
{
	struct t3_segment_desc desc;
	struct job job;

	job_open(&job, 0);
	job_desc(&desc, DRM_T3_F32, DRM_T3_OP_ADD);
	desc.updates = 2;
	CHECK_EQ(t3_local_map(job.space, &desc), 0);
	job_stage(&job, &desc);
	CHECK_EQ(t3_arm(job.space, 1), 0);
	job_write(&job, &desc, PATH_STORE, seeds[0]);
	CHECK_EQ(t3_wait(job.space, 1, 0, T3_TRACKED, 0), -ETIMEDOUT);
	job_write(&job, &desc, PATH_DOORBELL, seeds[1]);
	job_check(&job, &desc, 1);
	job_expect(&job, &desc, seeds, 2);
	job_close(&job);
}

/* KEEP adds to the old value. IDENTITY starts from the identity in each epoch. */
static void check_init(uint32_t init, int second)
{
	struct t3_segment_desc desc;
	uint32_t epoch, *words;
	struct job job;

	job_open(&job, 0);
	job_desc(&desc, DRM_T3_I32, DRM_T3_OP_ADD);
	desc.init = init;
	desc.rows = desc.tile_rows = 1;
	desc.row_bytes = desc.tile_row_bytes = desc.pitch = 8;
	CHECK_EQ(t3_local_map(job.space, &desc), 0);
	words = (uint32_t *)job.memory;
	words[0] = words[1] = 100;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (epoch = 1; epoch <= 2; epoch++) {
		CHECK_EQ(t3_arm(job.space, epoch), 0);
		t3_store64(t3_space_aperture(job.space), 0x0000000500000005);
		job_check(&job, &desc, epoch);
		CHECK_EQ(t3_release(job.space, epoch), 0);
	}
	CHECK_EQ(words[0], second);
	CHECK_EQ(words[1], second);
	job_close(&job);
}

TEST("KEEP and IDENTITY decide what an update meets")
{
	check_init(DRM_T3_INIT_KEEP, 110);
	check_init(DRM_T3_INIT_IDENTITY, 5);
}

/* More tiles than tracker entries: counts are spilled and come back. */
TEST("more tiles than tracker entries are counted")
{
	struct drm_t3_counters before, after;
	struct t3_segment_desc desc;
	struct job job;
	uint32_t i;

	job_open(&job, 0);
	job_desc(&desc, DRM_T3_I32, DRM_T3_OP_ADD);
	desc.updates = 2;
	desc.rows = 64;
	desc.tile_rows = 1;
	desc.row_bytes = desc.pitch = 256;
	desc.tile_row_bytes = 16;
	CHECK_EQ(t3_local_map(job.space, &desc), 0);
	CHECK_EQ(t3_device_counters(job.dev, &before), 0);
	CHECK_EQ(t3_arm(job.space, 1), 0);
	job_write(&job, &desc, PATH_STORE, seeds[0]);
	job_write(&job, &desc, PATH_STORE, seeds[1]);
	job_check(&job, &desc, 1);
	job_expect(&job, &desc, seeds, 2);
	CHECK_EQ(t3_device_counters(job.dev, &after), 0);
	i = T3_DEVICE_TRACKER_SPILL;
	CHECK(after.value[i] - before.value[i] >= 1024 - 256);
	i = T3_DEVICE_TRACKER_FILL;
	CHECK(after.value[i] - before.value[i] >= 1024 - 256);
	job_close(&job);
}

/* One update of each width that a type allows, in any order of elements. */
TEST("each width that a type allows is one update")
{
	struct t3_segment_desc desc;
	volatile unsigned char *at;
	struct job job;
	uint16_t *half;

	job_open(&job, 0);
	job_desc(&desc, DRM_T3_F16, DRM_T3_OP_ADD);
	desc.rows = desc.tile_rows = 1;
	desc.row_bytes = desc.tile_row_bytes = desc.pitch = 14;
	CHECK_EQ(t3_local_map(job.space, &desc), 0);
	CHECK_EQ(t3_arm(job.space, 1), 0);
	at = t3_space_aperture(job.space);
	put32(at + 8, 0x40003c00);     /* 1, 2 */
	put16(at + 12, 0x4200);	       /* 3 */
	put64(at, 0x4600450044004200); /* 3, 4, 5, 6 */
	job_check(&job, &desc, 1);
	half = (uint16_t *)job.memory;
	CHECK_EQ(half[0], 0x4200);
	CHECK_EQ(half[3], 0x4600);
	CHECK_EQ(half[4], 0x3c00);
	CHECK_EQ(half[5], 0x4000);
	CHECK_EQ(half[6], 0x4200);
	job_close(&job);
}

static void put_unaligned(const void *at)
{
	put64((unsigned char *)(uintptr_t)at, 0x300000002);
}

/* The bus splits a misaligned store into aligned ones. Each is a store of its own. */
TEST("an unaligned store is cut into aligned ones")
{
	struct drm_t3_space_stats stats;
	struct t3_segment_desc desc;
	volatile unsigned char *at;
	struct job job;
	uint32_t i;
	int number;

	job_open(&job, 0);
	job_desc(&desc, DRM_T3_I32, DRM_T3_OP_ADD);
	desc.rows = desc.tile_rows = 1;
	desc.row_bytes = desc.tile_row_bytes = desc.pitch = 16;
	CHECK_EQ(t3_local_map(job.space, &desc), 0);
	CHECK_EQ(t3_arm(job.space, 1), 0);
	at = t3_space_aperture(job.space);
	put32(at, 1);
	number = signal_of(put_unaligned, (const void *)(uintptr_t)(at + 4));
	CHECK_EQ(number, REFUSES_MISALIGNED ? SIGBUS : 0);
	if (number) {
		put32(at + 4, 2);
		put32(at + 8, 3);
	}
	put32(at + 12, 4);
	job_check(&job, &desc, 1);
	for (i = 0; i < 4; i++)
		CHECK_EQ(((uint32_t *)job.memory)[i], i + 1);
	CHECK_EQ(t3_segment_stats(job.space, 0, &stats), 0);
	CHECK_EQ(stats.stores, 4);
	CHECK_EQ(stats.local_bytes, 16);
	job_close(&job);
}

#ifdef __x86_64__
static void put_x87_state(volatile unsigned char *at)
{
	asm volatile("fnsave (%0)"
		     :
		     : "r"(at)
		     : "memory", "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)",
		       "st(7)");
}

/* An instruction with 23 stores, aligned ones first and misaligned ones later: each happens once. */
TEST("many stores of one instruction happen once each")
{
	struct drm_t3_space_stats stats;
	struct t3_segment_desc desc;
	volatile unsigned char *at;
	struct job job;

	job_open(&job, 0);
	job_desc(&desc, DRM_T3_U8, DRM_T3_OP_STORE);
	desc.rows = desc.tile_rows = 1;
	desc.row_bytes = desc.tile_row_bytes = desc.pitch = 112;
	CHECK_EQ(t3_local_map(job.space, &desc), 0);
	CHECK_EQ(t3_arm(job.space, 1), 0);
	at = t3_space_aperture(job.space);
	put_x87_state(at + 4); /* 108 bytes */
	put32(at, 0);
	CHECK_EQ(t3_wait(job.space, 1, 0, T3_DELIVERED, t3_deadline(10000000000)), 0);
	CHECK_EQ(t3_segment_stats(job.space, 0, &stats), 0);
	CHECK_EQ(stats.local_bytes, 112);
	job_close(&job);
}

/*
 * An instruction with a lock prefix reads and stores, which is legal and makes no sense. The emulator
 * runs it in another way than all other code.
 */
TEST("a locked instruction adds once")
{
	struct t3_segment_desc desc;
	volatile uint32_t *at;
	struct job job;
	uint32_t i;

	job_open(&job, 0);
	job_desc(&desc, DRM_T3_I32, DRM_T3_OP_ADD);
	desc.init = DRM_T3_INIT_KEEP;
	desc.rows = desc.tile_rows = 1;
	desc.row_bytes = desc.tile_row_bytes = desc.pitch = 4 * UPDATES;
	CHECK_EQ(t3_local_map(job.space, &desc), 0);
	memset(job.memory, 0, JOB_SIZE);
	CHECK_EQ(t3_arm(job.space, 1), 0);
	at = t3_space_aperture(job.space);
	for (i = 0; i < UPDATES; i++)
		__asm__ volatile("lock addl %1, %0" : "+m"(at[i]) : "r"(i + 5));
	job_check(&job, &desc, 1);
	for (i = 0; i < UPDATES; i++)
		CHECK_EQ(((uint32_t *)job.memory)[i], i + 5);
	job_close(&job);
}
#endif
