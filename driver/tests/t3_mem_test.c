// SPDX-License-Identifier: GPL-2.0-only
/*
 * The allocators of device memory and aperture against a model.
 */
#include "t3_kunit.h"

#define T3_MEM_NODES 24
#define T3_MEM_STEPS 3000

static struct t3_device *t3_mem_test_device(struct kunit *test)
{
	struct t3_device *tdev = t3_kunit_device(test);

	drm_mm_init(&tdev->memory_mm, 0, tdev->caps.memory_size);
	drm_mm_init(&tdev->aperture_mm, 0, tdev->caps.aperture_size);
	return tdev;
}

static bool t3_mem_test_overlaps(const struct drm_mm_node *nodes, u32 which)
{
	u32 i;

	for (i = 0; i < T3_MEM_NODES; i++)
		if (i != which && drm_mm_node_allocated(&nodes[i]) &&
		    nodes[i].start < nodes[which].start + nodes[which].size &&
		    nodes[which].start < nodes[i].start + nodes[i].size)
			return true;
	return false;
}

static u64 t3_mem_test_sum(const struct drm_mm_node *nodes)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < T3_MEM_NODES; i++)
		if (drm_mm_node_allocated(&nodes[i]))
			sum += nodes[i].size;
	return sum;
}

/* The model says whether a hole exists: it tries every start of a page. */
static bool t3_mem_test_fits(const struct drm_mm_node *nodes, u64 size)
{
	u64 at, run = 0;
	u32 i;

	for (at = 0; at < T3_KUNIT_MEMORY && run < size; at += PAGE_SIZE) {
		run += PAGE_SIZE;
		for (i = 0; i < T3_MEM_NODES; i++)
			if (drm_mm_node_allocated(&nodes[i]) && at >= nodes[i].start &&
			    at < nodes[i].start + nodes[i].size)
				run = 0;
	}
	return run >= size;
}

static void t3_mem_test_alloc(struct kunit *test, struct t3_device *tdev,
			      struct t3_account *account, struct drm_mm_node *nodes, u32 which,
			      u64 size)
{
	bool fits = t3_mem_test_fits(nodes, size);
	struct drm_mm_node *node = &nodes[which];
	u8 *memory;

	KUNIT_ASSERT_EQ(test, t3_chunk_alloc(tdev, account, size, node), fits ? 0 : -ENOSPC);
	if (!fits)
		return;
	KUNIT_ASSERT_LE(test, node->start + node->size, T3_KUNIT_MEMORY);
	KUNIT_ASSERT_EQ(test, node->size, size);
	KUNIT_ASSERT_FALSE(test, t3_mem_test_overlaps(nodes, which));
	memory = (u8 __force *)tdev->memory + node->start;
	KUNIT_ASSERT_NULL(test, memchr_inv(memory, 0, size));
	memset(memory, 0xa5, size); /* the next owner must not see it */
}

static void t3_mem_test_chunks(struct kunit *test)
{
	struct t3_device *tdev = t3_mem_test_device(test);
	struct t3_account *account = t3_kunit_account(test, tdev, 0);
	struct drm_mm_node *nodes = t3_kunit_zalloc(test, T3_MEM_NODES * sizeof(*nodes));
	struct rnd_state rnd;
	u32 step, which;

	prandom_seed_state(&rnd, 1);
	for (step = 0; step < T3_MEM_STEPS; step++) {
		which = prandom_u32_state(&rnd) % T3_MEM_NODES;
		if (drm_mm_node_allocated(&nodes[which]))
			t3_chunk_free(tdev, account, &nodes[which]);
		else
			t3_mem_test_alloc(test, tdev, account, nodes, which,
					  PAGE_SIZE * (1 + prandom_u32_state(&rnd) % 32));
		KUNIT_ASSERT_EQ(test, t3_mem_available(tdev),
				T3_KUNIT_MEMORY - t3_mem_test_sum(nodes));
		KUNIT_ASSERT_EQ(test, t3_account_used(account, T3_POOL_DEVICE),
				t3_mem_test_sum(nodes));
	}
	for (which = 0; which < T3_MEM_NODES; which++)
		t3_chunk_free(tdev, account, &nodes[which]);
	KUNIT_EXPECT_EQ(test, t3_mem_available(tdev), T3_KUNIT_MEMORY);
	t3_mem_test_alloc(test, tdev, account, nodes, 0, T3_KUNIT_MEMORY);
	t3_mem_test_alloc(test, tdev, account, nodes, 1, PAGE_SIZE);
	t3_chunk_free(tdev, account, &nodes[0]);
	drm_mm_takedown(&tdev->memory_mm);
	drm_mm_takedown(&tdev->aperture_mm);
}

/* A range that was not allocated, or is free again, may be freed once more. */
static void t3_mem_test_free_twice(struct kunit *test)
{
	struct t3_device *tdev = t3_mem_test_device(test);
	struct t3_account *account = t3_kunit_account(test, tdev, 0);
	struct drm_mm_node chunk = {}, range = {};

	t3_chunk_free(tdev, account, &chunk);
	t3_aperture_free(tdev, account, &range);
	KUNIT_ASSERT_EQ(test, t3_chunk_alloc(tdev, account, PAGE_SIZE, &chunk), 0);
	KUNIT_ASSERT_EQ(test, t3_aperture_alloc(tdev, account, PAGE_SIZE, &range), 0);
	t3_chunk_free(tdev, account, &chunk);
	t3_chunk_free(tdev, account, &chunk);
	t3_aperture_free(tdev, account, &range);
	t3_aperture_free(tdev, account, &range);
	KUNIT_EXPECT_EQ(test, t3_mem_available(tdev), T3_KUNIT_MEMORY);
	drm_mm_takedown(&tdev->memory_mm);
	drm_mm_takedown(&tdev->aperture_mm);
}

static void t3_mem_test_aperture_full(struct kunit *test)
{
	struct t3_device *tdev = t3_mem_test_device(test);
	struct t3_account *account = t3_kunit_account(test, tdev, 0);
	struct drm_mm_node all = {}, more = {};

	KUNIT_EXPECT_EQ(test, t3_aperture_alloc(tdev, account, T3_KUNIT_MEMORY + PAGE_SIZE, &all),
			-ENOSPC);
	KUNIT_ASSERT_EQ(test, t3_aperture_alloc(tdev, account, T3_KUNIT_MEMORY, &all), 0);
	KUNIT_EXPECT_EQ(test, t3_aperture_alloc(tdev, account, PAGE_SIZE, &more), -ENOSPC);
	KUNIT_EXPECT_FALSE(test, drm_mm_node_allocated(&more));
	t3_aperture_free(tdev, account, &all);
	KUNIT_ASSERT_EQ(test, t3_aperture_alloc(tdev, account, PAGE_SIZE, &more), 0);
	t3_aperture_free(tdev, account, &more);
	drm_mm_takedown(&tdev->memory_mm);
	drm_mm_takedown(&tdev->aperture_mm);
}

static struct kunit_case t3_mem_cases[] = {
	KUNIT_CASE(t3_mem_test_chunks),
	KUNIT_CASE(t3_mem_test_free_twice),
	KUNIT_CASE(t3_mem_test_aperture_full),
	{}
};

static struct kunit_suite t3_mem_suite = {
	.name = "t3_mem",
	.test_cases = t3_mem_cases,
};

kunit_test_suite(t3_mem_suite);
