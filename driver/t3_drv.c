// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module: PCI driver, DRM driver, ioctl table.
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "t3_bo.h"
#include "t3_debugfs.h"
#include "t3_device.h"
#include "t3_drv.h"
#include "t3_dump.h"
#include "t3_event.h"
#include "t3_fdinfo.h"
#include "t3_gate.h"
#include "t3_grant.h"
#include "t3_group.h"
#include "t3_irq.h"
#include "t3_job.h"
#include "t3_mem.h"
#include "t3_pm.h"
#include "t3_queue.h"
#include "t3_refuse.h"
#include "t3_regs.h"
#include "t3_reset.h"
#include "t3_segment.h"
#include "t3_space.h"
#include "t3_stats.h"
#include "t3_syncobj.h"
#include "t3_user.h"
#include "t3_wait.h"
#include "t3_watch.h"

static int t3_open(struct drm_device *drm, struct drm_file *file)
{
	struct t3_file *tfile;

	tfile = kzalloc_obj(*tfile, GFP_KERNEL_ACCOUNT);
	if (!tfile)
		return -ENOMEM;
	tfile->account = t3_account_new(to_t3_device(drm), t3_user_payer());
	if (!tfile->account)
		goto err_file;
	tfile->usage = t3_usage_new();
	if (!tfile->usage)
		goto err_account;
	tfile->refusals = t3_refusals_new();
	if (!tfile->refusals)
		goto err_usage;
	xa_init_flags(&tfile->spaces, XA_FLAGS_ALLOC1);
	xa_init_flags(&tfile->queues, XA_FLAGS_ALLOC1);
	file->driver_priv = tfile;
	return 0;

err_usage:
	t3_usage_put(tfile->usage);
err_account:
	t3_account_put(tfile->account);
err_file:
	kfree(tfile);
	return -ENOMEM;
}

/* The last close, also of a process that was killed. Nothing else uses the file any more. */
static void t3_postclose(struct drm_device *drm, struct drm_file *file)
{
	struct t3_file *tfile = file->driver_priv;
	struct t3_queue *queue;
	unsigned long handle;

	t3_queue_kill_all(to_t3_device(drm), tfile->account);
	xa_for_each(&tfile->queues, handle, queue)
		t3_queue_put(queue);
	xa_destroy(&tfile->queues);
	t3_space_destroy_all(&tfile->spaces);
	xa_destroy(&tfile->spaces);
	t3_account_put(tfile->account);
	t3_usage_put(tfile->usage);
	t3_refusals_free(tfile->refusals);
	kfree(tfile);
}

#define T3_IOCTL(name, func) DRM_IOCTL_DEF_DRV(T3_##name, func, DRM_RENDER_ALLOW)

static const struct drm_ioctl_desc t3_ioctls[] = {
	T3_IOCTL(QUERY, t3_query_ioctl),
	T3_IOCTL(BO_CREATE, t3_bo_create_ioctl),
	T3_IOCTL(BO_MMAP_OFFSET, t3_bo_mmap_offset_ioctl),
	T3_IOCTL(SPACE_CREATE, t3_space_create_ioctl),
	T3_IOCTL(SPACE_DESTROY, t3_space_destroy_ioctl),
	T3_IOCTL(SPACE_RESET, t3_space_reset_ioctl),
	T3_IOCTL(SPACE_WAIT, t3_space_wait_ioctl),
	T3_IOCTL(SPACE_EVENTFD, t3_space_eventfd_ioctl),
	T3_IOCTL(SPACE_WAIT_FD, t3_space_wait_fd_ioctl),
	T3_IOCTL(SPACE_STATS, t3_space_stats_ioctl),
	T3_IOCTL(SEGMENT_MAP, t3_segment_map_ioctl),
	T3_IOCTL(SEGMENT_UNMAP, t3_segment_unmap_ioctl),
	T3_IOCTL(SEGMENT_STAGING, t3_segment_staging_ioctl),
	T3_IOCTL(SEGMENT_WIDEN, t3_segment_widen_ioctl),
	T3_IOCTL(GRANT_EXPORT, t3_grant_export_ioctl),
	T3_IOCTL(GRANT_REVOKE, t3_grant_revoke_ioctl),
	T3_IOCTL(GRANT_IMPORT, t3_grant_import_ioctl),
	T3_IOCTL(GRANT_RELEASE, t3_grant_release_ioctl),
	T3_IOCTL(KEY_EXPORT, t3_key_export_ioctl),
	T3_IOCTL(KEY_IMPORT, t3_key_import_ioctl),
	T3_IOCTL(QUEUE_CREATE, t3_queue_create_ioctl),
	T3_IOCTL(QUEUE_DESTROY, t3_queue_destroy_ioctl),
	T3_IOCTL(QUEUE_SUBMIT, t3_queue_submit_ioctl),
	T3_IOCTL(SPACE_TILE, t3_space_tile_ioctl),
	T3_IOCTL(REFUSAL, t3_refusal_ioctl),
	T3_IOCTL(GROUP_CREATE, t3_group_create_ioctl),
	T3_IOCTL(GROUP_MEMBER, t3_group_member_ioctl),
	T3_IOCTL(GROUP_JOIN, t3_group_join_ioctl),
	T3_IOCTL(GROUP_DESTROY, t3_group_destroy_ioctl),
	T3_IOCTL(GROUP_QUERY, t3_group_query_ioctl),
};

static_assert(ARRAY_SIZE(t3_ioctls) == DRM_T3_IOCTL_COUNT);

static const struct drm_driver t3_driver = {
	.driver_features = DRIVER_COMPUTE_ACCEL | DRIVER_GEM | DRIVER_SYNCOBJ |
			   DRIVER_SYNCOBJ_TIMELINE,
	.open = t3_open,
	.postclose = t3_postclose,
	.show_fdinfo = t3_show_fdinfo,
	.ioctls = t3_ioctls,
	.num_ioctls = ARRAY_SIZE(t3_ioctls),
	.fops = &t3_fops,
	.gem_prime_import = t3_prime_import,
	.name = T3_DRIVER_NAME,
	.desc = "T3 tracking and triggering",
	T3_DRIVER_DATE
	.major = T3_DRIVER_MAJOR,
	.minor = T3_DRIVER_MINOR,
};

static int t3_init_locks(struct t3_device *tdev)
{
	int ret;

	spin_lock_init(&tdev->slot_lock);
	spin_lock_init(&tdev->queue_lock);
	INIT_LIST_HEAD(&tdev->bos);
	ida_init(&tdev->clients);
	INIT_LIST_HEAD(&tdev->shares);
	ret = drmm_mutex_init(&tdev->drm, &tdev->bo_lock);
	if (ret)
		return ret;
	ret = t3_gate_init(tdev);
	if (ret)
		return ret;
	ret = drmm_mutex_init(&tdev->drm, &tdev->ring_lock);
	if (ret)
		return ret;
	return drmm_mutex_init(&tdev->drm, &tdev->mem_lock);
}

static int t3_init_pci(struct pci_dev *pdev)
{
	int ret;

	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	pci_set_master(pdev);
	dma_set_max_seg_size(&pdev->dev, UINT_MAX); /* a descriptor has one address */
	return dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
}

static int t3_init_device(struct t3_device *tdev)
{
	int ret;

	ret = t3_hw_init(tdev);
	if (ret)
		return ret;
	ret = t3_mem_init(tdev);
	if (ret)
		return ret;
	ret = t3_dump_init(tdev);
	if (ret)
		return ret;
	t3_watch_init(tdev);
	t3_pm_init(tdev);
	ret = t3_irq_init(tdev);
	if (ret)
		return ret;
	t3_hw_start(tdev);
	return 0;
}

static void t3_stop_works(struct t3_device *tdev)
{
	t3_pm_stop(tdev);
	t3_watch_stop(tdev);
	t3_dump_stop(tdev);
}

static void t3_log_device(const struct t3_device *tdev)
{
	const struct t3_caps *caps = &tdev->caps;

	drm_dbg(&tdev->drm, "rank %u of %u, fabric %#llx, version %u.%u, caps %#x\n", caps->rank,
		caps->ranks, caps->fabric_id, caps->version >> 16, caps->version & 0xffff,
		caps->caps);
	drm_dbg(&tdev->drm, "memory %#llx, aperture %#llx, %u spaces, %u queues, %u vectors\n",
		caps->memory_size, caps->aperture_size, caps->max_spaces, caps->max_queues,
		tdev->vectors);
}

static int t3_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct t3_device *tdev;
	int ret;

	tdev = devm_drm_dev_alloc(&pdev->dev, &t3_driver, struct t3_device, drm);
	if (IS_ERR(tdev))
		return PTR_ERR(tdev);
	pci_set_drvdata(pdev, tdev);
	ret = t3_init_locks(tdev);
	if (ret)
		return ret;
	ret = t3_init_pci(pdev);
	if (ret)
		return ret;
	ret = t3_init_device(tdev);
	if (ret)
		return ret;
	t3_log_device(tdev);
	t3_debugfs_init(tdev);
	pci_save_state(pdev); /* for t3_error_handlers */
	t3_watch_join(tdev);
	ret = drm_dev_register(&tdev->drm, 0);
	if (ret)
		t3_stop_works(tdev);
	return ret;
}

/*
 * Files may stay open. The steps, in order:
 *
 * 1. Tell peers, stop the device, and set all event areas to DEAD, so that programs that poll them
 * leave before the aperture is unmapped. Jobs fail.
 *
 * 2. Wait for faults and readers of counters, and remove all mappings.
 *
 * 3. After drm_dev_unplug() no ioctl uses registers.
 *
 * 4. Free what spaces, queues and buffers hold of the device.
 */
static void t3_remove(struct pci_dev *pdev)
{
	struct t3_device *tdev = pci_get_drvdata(pdev);

	t3_gate_prepare_remove(tdev);
	t3_space_disable_all(tdev);
	t3_reset_stop(tdev);
	t3_gate_unmap(tdev);
	drm_dev_unplug(&tdev->drm);
	t3_stop_works(tdev);
	t3_space_orphan_all(tdev);
	t3_queue_orphan_all(tdev);
	t3_bo_orphan_all(tdev);
}

/* Before a kexec: no DMA may reach memory that the next kernel uses. */
static void t3_shutdown(struct pci_dev *pdev)
{
	t3_reset_stop(pci_get_drvdata(pdev));
}

static const struct pci_device_id t3_ids[] = {
	{ PCI_DEVICE(T3_PCI_VENDOR_ID, T3_PCI_DEVICE_ID) },
	{}
};
MODULE_DEVICE_TABLE(pci, t3_ids);

static struct pci_driver t3_pci_driver = {
	.name = T3_DRIVER_NAME,
	.id_table = t3_ids,
	.probe = t3_probe,
	.remove = t3_remove,
	.shutdown = t3_shutdown,
	.dev_groups = t3_sysfs_groups,
	.err_handler = &t3_error_handlers,
	.driver.pm = pm_sleep_ptr(&t3_pm_ops),
};

static int __init t3_init(void)
{
	int ret;

	ret = t3_syncobj_module_init();
	if (ret)
		return ret;
	ret = t3_queue_module_init();
	if (ret)
		goto err_syncobj_exit;
	ret = pci_register_driver(&t3_pci_driver);
	if (ret)
		goto err_queue_exit;
	return 0;

err_queue_exit:
	t3_queue_module_exit();
err_syncobj_exit:
	t3_syncobj_module_exit();
	return ret;
}

static void __exit t3_exit(void)
{
	pci_unregister_driver(&t3_pci_driver);
	t3_queue_module_exit();
	t3_syncobj_module_exit();
}

module_init(t3_init);
module_exit(t3_exit);

MODULE_DESCRIPTION("T3 tracking and triggering accelerator");
MODULE_VERSION(__stringify(T3_DRIVER_MAJOR) "." __stringify(T3_DRIVER_MINOR) ".0");
MODULE_LICENSE("GPL");
T3_IMPORT_DMA_BUF;
