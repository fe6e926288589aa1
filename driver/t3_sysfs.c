// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes of the PCI function, as sysfs-driver-t3 documents them: what the device is, and its
 * place in the fabric. They are constant and exist while the driver is bound.
 */
#include <linux/device.h>
#include <linux/sysfs.h>

#include "t3_device.h"
#include "t3_drv.h"

static const struct t3_caps *t3_sysfs_caps(struct device *dev)
{
	const struct t3_device *tdev = dev_get_drvdata(dev);

	return &tdev->caps;
}

static ssize_t rank_show(struct device *dev, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "%u\n", t3_sysfs_caps(dev)->rank);
}
static DEVICE_ATTR_RO(rank);

static ssize_t ranks_show(struct device *dev, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "%u\n", t3_sysfs_caps(dev)->ranks);
}
static DEVICE_ATTR_RO(ranks);

static ssize_t fabric_id_show(struct device *dev, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "0x%016llx\n", t3_sysfs_caps(dev)->fabric_id);
}
static DEVICE_ATTR_RO(fabric_id);

static ssize_t topology_show(struct device *dev, struct device_attribute *attr, char *text)
{
	static const char *const names[] = { T3_TOPOLOGY_LIST(T3_TEXT, T3_TOPOLOGY_) };
	u32 topology = t3_sysfs_caps(dev)->topology;

	return sysfs_emit(text, "%s\n", topology < ARRAY_SIZE(names) ? names[topology] :
								       "unknown");
}
static DEVICE_ATTR_RO(topology);

static ssize_t hw_version_show(struct device *dev, struct device_attribute *attr, char *text)
{
	u32 version = t3_sysfs_caps(dev)->version;

	return sysfs_emit(text, "%u.%u\n", version >> 16, version & 0xffff);
}
static DEVICE_ATTR_RO(hw_version);

static ssize_t memory_size_show(struct device *dev, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "%llu\n", t3_sysfs_caps(dev)->memory_size);
}
static DEVICE_ATTR_RO(memory_size);

static struct attribute *t3_attrs[] = {
	&dev_attr_rank.attr,
	&dev_attr_ranks.attr,
	&dev_attr_fabric_id.attr,
	&dev_attr_topology.attr,
	&dev_attr_hw_version.attr,
	&dev_attr_memory_size.attr,
	NULL,
};

static const struct attribute_group t3_group = { .attrs = t3_attrs };

const struct attribute_group *t3_sysfs_groups[] = { &t3_group, NULL };
