// SPDX-License-Identifier: MIT
/*
 * The device of this process, for all communicators and for MPI_Alloc_mem. It is opened when it is
 * needed first.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "coll_t3.h"

#include "opal/util/proc.h"

/* For the opening. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static struct t3_device *device;
static int device_error;
static char device_text[256];

static int no_device(int error, const char *why)
{
	snprintf(device_text, sizeof(device_text), "%s", why);
	return error;
}

/* The index in `t3 list` of the device that coll_t3_device says, or a negative error number. */
static int wanted_index(void)
{
	uint32_t local = opal_process_info.my_local_rank, i;
	const char *at = coll_t3_params.device;
	unsigned long index;
	char *end;

	if (!strcmp(at, "auto"))
		return (int)local;
	if (!strcmp(at, "none"))
		return no_device(-ENODEV, "coll_t3_device is none");
	for (i = 0;; i++, at = end + 1) {
		index = strtoul(at, &end, 10);
		if (*at < '0' || *at > '9' || index > 1000 || (*end && *end != ','))
			return no_device(-EINVAL, "coll_t3_device is not auto, none or a list of "
						  "indexes such as 0,1,2,3");
		if (i == local)
			return (int)index;
		if (!*end)
			return no_device(-ENODEV,
					 "coll_t3_device lists fewer devices than the node "
					 "has ranks");
	}
}

static int can_all(const struct t3_device *dev)
{
	const uint64_t needed =
		DRM_T3_FEATURE_STAGING | DRM_T3_FEATURE_MINMAX | DRM_T3_FEATURE_BYTES;
	struct drm_t3_device_info info;
	int ret = t3_device_info(dev, &info);

	if (ret)
		return no_device(ret, "the device does not answer");
	if ((info.features & needed) != needed)
		return no_device(-EOPNOTSUPP, "the device lacks staging, min and max, or bytes");
	return 0;
}

static int open_device(void)
{
	int index = wanted_index(), ret;
	char why[200];

	if (index < 0)
		return index;
	ret = t3_device_open_index((size_t)index, &device);
	if (ret) {
		t3_device_explain(NULL, ret, why, sizeof(why));
		snprintf(device_text, sizeof(device_text), "device %d: %.200s", index, why);
		return ret;
	}
	ret = can_all(device);
	if (ret)
		coll_t3_close_device();
	return ret;
}

void coll_t3_close_device(void)
{
	t3_device_close(device);
	device = NULL;
	device_error = 0;
}

int coll_t3_open_device(void)
{
	int ret;

	pthread_mutex_lock(&opening);
	if (!device && !device_error)
		device_error = open_device();
	ret = device_error;
	pthread_mutex_unlock(&opening);
	return ret;
}

struct t3_device *coll_t3_device(void)
{
	return device;
}

const char *coll_t3_device_error(void)
{
	return device_text;
}
