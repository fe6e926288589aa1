// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device's folder in debugfs: accel/<PCI function>/ of its mount.
 *
 *  spaces    spaces with their segments, grants, routes and groups of the switch
 *  tiles     tiles that spaces wait for, and what those wait for
 *  queues    queues with the jobs in their rings
 *  links     links to other ranks: whether they are up, and what they still wait for
 *  switch    this device's port of the switch, if there is one
 *  memory    the allocators of device memory and aperture
 *  counters  counters of the device
 *  resets    how often the function and its queues were reset, and jobs timed out
 *  reset     for writing: "function" resets the function; all spaces and queued jobs are lost
 *  inject    for writing: faults, where the device has guest-inject=on; reading lists them
 *
 * A line is a record of key=value: its kind and the fields that name it, then others.
 * Parts of a record follow it, indented. Keys may be added.
 *
 * All files are for root alone, also where the mount is open to others: they show all
 * clients. They are for people and tests, and no ABI.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <drm/drm_print.h>

#include "t3_debugfs.h"
#include "t3_device.h"
#include "t3_gate.h"
#include "t3_regs.h"
#include "t3_reset.h"
#include "t3_space.h"

/**
 * t3_debugfs_each_space() - show each space of a device
 * @m: the file
 * @show: called under t3_topology_lock
 *
 * Context: process context; takes t3_topology_lock.
 * Return: 0.
 */
int t3_debugfs_each_space(struct seq_file *m,
			  void (*show)(struct seq_file *m, const struct t3_space *space))
{
	struct t3_device *tdev = m->private;
	u32 id;

	for (id = 0; id < tdev->caps.max_spaces; id++) {
		struct t3_space *space;

		/* Not held over all spaces, so that clients can go on in between. */
		mutex_lock(&t3_topology_lock);
		space = READ_ONCE(tdev->slots[id]);
		if (space && !space->dead)
			show(m, space);
		mutex_unlock(&t3_topology_lock);
	}
	return 0;
}

static int t3_debugfs_memory_show(struct seq_file *m, void *unused)
{
	struct drm_printer printer = drm_seq_file_printer(m);
	struct t3_device *tdev = m->private;

	mutex_lock(&tdev->mem_lock);
	seq_printf(m, "memory size=%llu used=%llu\n", tdev->caps.memory_size, tdev->memory_used);
	drm_mm_print(&tdev->memory_mm, &printer);
	seq_printf(m, "aperture size=%llu\n", tdev->caps.aperture_size);
	drm_mm_print(&tdev->aperture_mm, &printer);
	mutex_unlock(&tdev->mem_lock);
	return 0;
}

static const char *const t3_counter_names[T3_COUNTER_COUNT] = {
	T3_COUNTER_LIST(T3_NAME, T3_COUNTER_)
};

static int t3_debugfs_counters_show(struct seq_file *m, void *unused)
{
	struct t3_device *tdev = m->private;
	int ret;
	u32 i;

	ret = t3_access_enter(tdev);
	if (ret)
		return ret;
	seq_printf(m, "vclock_ns=%llu\n", t3_hw_vclock(tdev));
	for (i = 0; i < T3_COUNTER_COUNT; i++)
		seq_printf(m, "%s=%llu\n", t3_counter_names[i], t3_hw_counter(tdev, i));
	t3_access_exit(tdev);
	return 0;
}

static int t3_debugfs_resets_show(struct seq_file *m, void *unused)
{
	struct t3_device *tdev = m->private;

	seq_printf(m, "function=%u\n", atomic_read(&tdev->resets));
	seq_printf(m, "queue=%u\n", atomic_read(&tdev->queue_recoveries));
	seq_printf(m, "timeouts=%u\n", atomic_read(&tdev->job_timeouts));
	return 0;
}

static ssize_t t3_debugfs_reset_write(struct file *filp, const char __user *user, size_t size,
				      loff_t *pos)
{
	struct t3_device *tdev = filp->private_data;
	char text[16] = "";
	int ret;

	if (size >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, user, size))
		return -EFAULT;
	if (!sysfs_streq(text, "function"))
		return -EINVAL;
	ret = t3_reset_request(tdev, "asked for in debugfs", true);
	return ret ? ret : size;
}

static const struct file_operations t3_debugfs_reset_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = t3_debugfs_reset_write,
	.llseek = noop_llseek,
};

DEFINE_SHOW_ATTRIBUTE(t3_debugfs_spaces);
DEFINE_SHOW_ATTRIBUTE(t3_debugfs_tiles);
DEFINE_SHOW_ATTRIBUTE(t3_debugfs_queues);
DEFINE_SHOW_ATTRIBUTE(t3_debugfs_links);
DEFINE_SHOW_ATTRIBUTE(t3_debugfs_switch);
DEFINE_SHOW_ATTRIBUTE(t3_debugfs_memory);
DEFINE_SHOW_ATTRIBUTE(t3_debugfs_counters);
DEFINE_SHOW_ATTRIBUTE(t3_debugfs_resets);

static const struct t3_debugfs_file {
	const char *name;
	umode_t mode;
	const struct file_operations *fops;
} t3_debugfs_files[] = {
	{ "spaces", 0400, &t3_debugfs_spaces_fops },
	{ "tiles", 0400, &t3_debugfs_tiles_fops },
	{ "queues", 0400, &t3_debugfs_queues_fops },
	{ "links", 0400, &t3_debugfs_links_fops },
	{ "switch", 0400, &t3_debugfs_switch_fops },
	{ "memory", 0400, &t3_debugfs_memory_fops },
	{ "counters", 0400, &t3_debugfs_counters_fops },
	{ "resets", 0400, &t3_debugfs_resets_fops },
	{ "reset", 0200, &t3_debugfs_reset_fops },
	{ "inject", 0600, &t3_debugfs_inject_fops },
};

/**
 * t3_debugfs_init() - make the files of a device
 * @tdev: the device
 *
 * DRM makes the folder and removes it when the device is unregistered. That waits for readers and
 * writers of the files. drm_debugfs_add_files() is not used, as its files are readable for all.
 * Failures are ignored, as everywhere with debugfs.
 *
 * Context: probe.
 */
void t3_debugfs_init(struct t3_device *tdev)
{
	struct dentry *root = tdev->drm.debugfs_root;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t3_debugfs_files); i++)
		debugfs_create_file(t3_debugfs_files[i].name, t3_debugfs_files[i].mode, root, tdev,
				    t3_debugfs_files[i].fops);
}
