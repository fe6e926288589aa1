// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device memory for importers with peer-to-peer DMA: which ones are accepted, and the
 * addresses that they get. No other driver of a test machine asks for it, so no test of
 * the machine covers it. The memory is not accessed.
 */
#include <kunit/device.h>

#include "t3_kunit.h"

static void t3_prime_test_put(void *pdev)
{
	pci_dev_put(pdev);
}

/* A buffer of a device of which only the place on the bus exists. */
static struct t3_bo *t3_prime_test_bo(struct kunit *test)
{
	struct pci_dev *pdev = pci_get_device(T3_PCI_VENDOR_ID, T3_PCI_DEVICE_ID, NULL);
	struct t3_device *tdev = t3_kunit_device(test);
	struct t3_bo *bo = t3_kunit_zalloc(test, sizeof(*bo));

	if (!pdev)
		kunit_skip(test, "no device");
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, t3_prime_test_put, pdev), 0);
	tdev->drm.dev = &pdev->dev;
	tdev->memory_base = pci_resource_start(pdev, T3_BAR_MEMORY);
	bo->base.dev = &tdev->drm;
	bo->base.size = 2ull * SZ_1G + SZ_64K;
	bo->chunk.start = SZ_1M;
	return bo;
}

static void t3_prime_test_importers(struct kunit *test)
{
	struct dma_buf_attachment attach = { .peer2peer = true };
	struct t3_bo *bo = t3_prime_test_bo(test);

	/* The nearest device there is: itself. */
	attach.dev = bo->base.dev->dev;
	KUNIT_EXPECT_EQ(test, t3_dmabuf_check_importer(bo, &attach),
			IS_ENABLED(CONFIG_PCI_P2PDMA) ? 0 : -EOPNOTSUPP);
	attach.peer2peer = false;
	KUNIT_EXPECT_EQ(test, t3_dmabuf_check_importer(bo, &attach), -EOPNOTSUPP);
	attach.peer2peer = true;
	attach.dev = kunit_device_register(test, "t3-importer");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, attach.dev);
	KUNIT_EXPECT_EQ(test, t3_dmabuf_check_importer(bo, &attach), -EOPNOTSUPP);
}

/* Entries are a step at most; without an IOMMU they hold bus addresses. */
static void t3_prime_test_entries(struct kunit *test)
{
	struct t3_bo *bo = t3_prime_test_bo(test);
	struct device *dev = bo->base.dev->dev;
	u64 place = to_t3_device(bo->base.dev)->memory_base + SZ_1M, done = 0;
	struct sg_table *sgt = t3_memory_map(bo, dev, DMA_BIDIRECTIONAL);
	struct scatterlist *sg;
	u32 i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, sgt);
	KUNIT_EXPECT_EQ(test, sgt->nents, 3);
	for_each_sgtable_dma_sg(sgt, sg, i) {
		KUNIT_EXPECT_EQ(test, sg_dma_len(sg), i < 2 ? SZ_1G : SZ_64K);
		if (!device_iommu_mapped(dev))
			KUNIT_EXPECT_EQ(test, sg_dma_address(sg), place + done);
		KUNIT_EXPECT_NULL(test, sg_page(sg));
		done += sg_dma_len(sg);
	}
	KUNIT_EXPECT_EQ(test, done, bo->base.size);
	t3_memory_unmap(sgt, dev, DMA_BIDIRECTIONAL);
}

static void t3_prime_test_release(struct dma_buf *dmabuf)
{
}

static void t3_prime_test_invalidate(struct dma_buf_attachment *attach)
{
}

static const struct dma_buf_attach_ops t3_prime_test_importer = {
	.allow_peer2peer = true,
	.invalidate_mappings = t3_prime_test_invalidate,
};

/* The dma-buf ends after the test, and the buffer of the test is no GEM object. */
static struct dma_buf *t3_prime_test_export(struct kunit *test, struct t3_bo *bo)
{
	static struct dma_buf_ops ops;
	struct dma_buf_export_info info = {
		.exp_name = "t3-test",
		.owner = THIS_MODULE,
		.ops = &ops,
		.size = bo->base.size,
		.priv = &bo->base,
	};
	struct dma_buf *dmabuf;

	ops = t3_dmabuf_ops;
	ops.release = t3_prime_test_release;
	dmabuf = dma_buf_export(&info);
	KUNIT_ASSERT_FALSE(test, IS_ERR(dmabuf));
	bo->base.resv = dmabuf->resv;
	return dmabuf;
}

/* A foreign importer may unmap a revoked buffer, but not map it again. */
static void t3_prime_test_gone(struct kunit *test)
{
	struct t3_bo *bo = t3_prime_test_bo(test);
	struct dma_buf *dmabuf = t3_prime_test_export(test, bo);
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;

	attach = dma_buf_dynamic_attach(dmabuf, bo->base.dev->dev, &t3_prime_test_importer, bo);
	if (!IS_ENABLED(CONFIG_PCI_P2PDMA)) {
		KUNIT_EXPECT_EQ(test, PTR_ERR(attach), -EOPNOTSUPP);
		dma_buf_put(dmabuf);
		return;
	}
	KUNIT_ASSERT_FALSE(test, IS_ERR(attach));
	dma_resv_lock(dmabuf->resv, NULL);
	sgt = dma_buf_map_attachment(attach, DMA_BIDIRECTIONAL);
	KUNIT_EXPECT_FALSE(test, IS_ERR_OR_NULL(sgt));
	bo->revoked = true;
	dma_buf_unmap_attachment(attach, sgt, DMA_BIDIRECTIONAL);
	sgt = dma_buf_map_attachment(attach, DMA_BIDIRECTIONAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(sgt), -ENODEV);
	dma_resv_unlock(dmabuf->resv);
	dma_buf_detach(dmabuf, attach);
	dma_buf_put(dmabuf);
}

static struct kunit_case t3_prime_cases[] = {
	KUNIT_CASE(t3_prime_test_importers),
	KUNIT_CASE(t3_prime_test_entries),
	KUNIT_CASE(t3_prime_test_gone),
	{}
};

static struct kunit_suite t3_prime_suite = {
	.name = "t3_prime",
	.test_cases = t3_prime_cases,
};

kunit_test_suite(t3_prime_suite);
