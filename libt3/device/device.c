// SPDX-License-Identifier: MIT
/* Open a device, and read its facts and counters. */
#define _GNU_SOURCE /* secure_getenv */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xf86drm.h>

#include "device/device.h"

static int check_driver(int fd)
{
	drmVersionPtr version = drmGetVersion(fd);
	int ret = 0;

	if (!version)
		return -EPROTO;
	if (!version->name || strcmp(version->name, T3_DRIVER_NAME) ||
	    version->version_major != T3_DRIVER_MAJOR)
		ret = -EPROTO;
	drmFreeVersion(version);
	return ret;
}

/* Takes ownership of fd, also when it fails. */
static int adopt(int fd, struct t3_device **out)
{
	struct t3_device *dev;
	int ret;

	ret = check_driver(fd);
	if (ret)
		goto err_close;
	dev = malloc(sizeof(*dev));
	if (!dev) {
		ret = -ENOMEM;
		goto err_close;
	}
	dev->fd = fd;
	*out = dev;
	return 0;

err_close:
	close(fd);
	return ret;
}

int t3_device_open(const char *path, struct t3_device **dev)
{
	int fd;

	if (!path || !dev)
		return -EINVAL;
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : adopt(fd, dev);
}

int t3_device_open_fd(int fd, struct t3_device **dev)
{
	int copy;

	if (!dev)
		return -EINVAL;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return copy < 0 ? -errno : adopt(copy, dev);
}

int t3_device_open_index(size_t index, struct t3_device **dev)
{
	const struct t3_device_entry *entry;
	struct t3_device_list *list;
	int ret;

	if (!dev)
		return -EINVAL;
	ret = t3_device_list(&list);
	if (ret)
		return ret;
	entry = t3_device_list_get(list, index);
	ret = entry && *entry->node ? t3_device_open(entry->node, dev) : -ENODEV;
	t3_device_list_free(list);
	return ret;
}

static bool has_rank(const struct t3_device *dev, uint64_t fabric_id, uint32_t rank,
		     uint64_t *found)
{
	struct drm_t3_device_info info;

	if (t3_device_info(dev, &info) || info.rank != rank)
		return false;
	*found = info.fabric_id;
	return !fabric_id || info.fabric_id == fabric_id;
}

/* Keep dev as the one device of that rank. A second fabric with that rank is an error. */
static int keep_match(struct t3_device **best, uint64_t *best_fabric, struct t3_device *dev,
		      uint64_t fabric)
{
	if (!*best) {
		*best = dev;
		*best_fabric = fabric;
		return 0;
	}
	t3_device_close(dev);
	return *best_fabric == fabric ? 0 : -ENOTUNIQ;
}

/* Without a match, return the last reason why a device could not be read. */
static int search_rank(const struct t3_device_list *list, uint64_t fabric_id, uint32_t rank,
		       struct t3_device **best)
{
	uint64_t fabric, best_fabric = 0;
	struct t3_device *dev;
	int ret, err = -ENODEV;
	size_t i;

	for (i = 0; i < t3_device_list_count(list); i++) {
		const char *node = t3_device_list_get(list, i)->node;

		if (!*node)
			continue;
		ret = t3_device_open(node, &dev);
		if (ret) {
			err = ret;
		} else if (!has_rank(dev, fabric_id, rank, &fabric)) {
			t3_device_close(dev);
		} else {
			ret = keep_match(best, &best_fabric, dev, fabric);
			if (ret)
				return ret;
		}
	}
	return *best ? 0 : err;
}

/* The fabric of a caller that names none: that of the environment, or 0. */
static int usual_fabric(uint64_t *fabric_id)
{
	const char *text = secure_getenv("T3_FABRIC");

	*fabric_id = 0;
	if (!text)
		return 0;
	if (strncmp(text, "0x", 2) || text[2 + strspn(text + 2, "0123456789abcdefABCDEF")])
		return -EINVAL;
	errno = 0;
	*fabric_id = strtoull(text, NULL, 16);
	return *fabric_id && !errno ? 0 : -EINVAL;
}

int t3_device_open_rank(uint64_t fabric_id, uint32_t rank, struct t3_device **dev)
{
	struct t3_device *best = NULL;
	struct t3_device_list *list;
	int ret;

	if (!dev)
		return -EINVAL;
	ret = fabric_id ? 0 : usual_fabric(&fabric_id);
	if (ret)
		return ret;
	ret = t3_device_list(&list);
	if (ret)
		return ret;
	ret = search_rank(list, fabric_id, rank, &best);
	t3_device_list_free(list);
	if (ret)
		t3_device_close(best);
	else
		*dev = best;
	return ret;
}

void t3_device_close(struct t3_device *dev)
{
	if (!dev)
		return;
	close(dev->fd);
	free(dev);
}

int t3_device_fd(const struct t3_device *dev)
{
	return dev ? dev->fd : -EINVAL;
}

static int query(const struct t3_device *dev, uint32_t type, void *data, uint32_t size)
{
	struct drm_t3_query arg = {
		.type = type,
		.size = size,
		.data = (uintptr_t)data,
	};

	if (!dev || !data)
		return -EINVAL;
	memset(data, 0, size);
	return t3_ioctl(dev->fd, DRM_IOCTL_T3_QUERY, &arg);
}

int t3_device_info(const struct t3_device *dev, struct drm_t3_device_info *info)
{
	return query(dev, DRM_T3_QUERY_DEVICE, info, sizeof(*info));
}

int t3_device_counters(const struct t3_device *dev, struct drm_t3_counters *counters)
{
	return query(dev, DRM_T3_QUERY_COUNTERS, counters, sizeof(*counters));
}

int t3_device_switch(const struct t3_device *dev, struct drm_t3_switch_info *info)
{
	return query(dev, DRM_T3_QUERY_SWITCH, info, sizeof(*info));
}
