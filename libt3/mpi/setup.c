// SPDX-License-Identifier: MIT
/*
 * The ranks of a communicator agree whether T3 carries its large messages. They do so in the first
 * collective that is large enough, by functions of the next component, as only then all of them are
 * in the same call. A program that sends only small messages never opens a device.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "coll_t3.h"

#include "opal/util/proc.h"

/* The device of this process, for all communicators. The lock is for its opening. */
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

static int own_device(void)
{
	int ret;

	pthread_mutex_lock(&opening);
	if (!device && !device_error)
		device_error = open_device();
	ret = device_error;
	pthread_mutex_unlock(&opening);
	return ret;
}

int coll_t3_agree(coll_t3_module_t *m, int mine)
{
	int least;

	if (m->next.allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, m->comm,
			      m->next.allreduce_module))
		return -ECOMM;
	return least;
}

static int all_gather(void *ctx, const void *mine, void *all, size_t bytes)
{
	coll_t3_module_t *m = ctx;

	if (m->next.allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, m->comm,
			      m->next.allgather_module))
		return -ECOMM;
	return 0;
}

static int join(coll_t3_module_t *m, char *why)
{
	struct t3_bootstrap_desc desc = {
		.all_gather = all_gather,
		.ctx = m,
		.rank = (uint32_t)ompi_comm_rank(m->comm),
		.ranks = (uint32_t)ompi_comm_size(m->comm),
		.text = why,
		.text_size = T3_COMM_TEXT_SIZE,
	};
	int64_t end = t3_deadline(coll_t3_params.setup_seconds * 1000000000ull);

	return t3_comm_create_bootstrap(device, &desc, end, &m->t3);
}

/* own is this rank's error, or 0 when only another rank has one. */
static void turn_off(coll_t3_module_t *m, int own, int least, const char *why)
{
	m->state = COLL_T3_OFF;
	if (own)
		coll_t3_say(1, "%s is not T3's: %s: %s", m->comm->c_name, strerror(-own), why);
	else
		coll_t3_say(1, "%s is not T3's: another rank says: %s", m->comm->c_name,
			    strerror(-least));
}

static void set_up(coll_t3_module_t *m)
{
	char why[T3_COMM_TEXT_SIZE] = "";
	int own = own_device(), least = coll_t3_agree(m, own);

	if (least) {
		turn_off(m, own, least, device_text);
		return;
	}
	own = join(m, why);
	least = coll_t3_agree(m, own);
	if (least) {
		coll_t3_leave(m);
		turn_off(m, own, least, why);
		return;
	}
	m->state = COLL_T3_ON;
	coll_t3_say(1, "%s is T3's: rank %d of %d", m->comm->c_name, ompi_comm_rank(m->comm),
		    ompi_comm_size(m->comm));
}

bool coll_t3_ready(coll_t3_module_t *m)
{
	if (m->state == COLL_T3_NEW)
		set_up(m);
	return m->state != COLL_T3_OFF;
}

/*
 * Without a meeting: when a rank's last collective is complete, it has delivered all that others need
 * of it.
 */
void coll_t3_leave(coll_t3_module_t *m)
{
	coll_t3_drop_plans(m);
	t3_comm_destroy(m->t3);
	m->t3 = NULL;
	if (m->state == COLL_T3_ON)
		m->state = COLL_T3_OFF;
}
