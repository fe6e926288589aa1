// SPDX-License-Identifier: MIT
/* Functions on communicators that all files of the room need. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "comm/private.h"

int64_t comm_time_left(int64_t deadline_ns, int64_t limit_ns)
{
	int64_t now = t3_deadline(0);

	if (deadline_ns <= now)
		return 0;
	return deadline_ns - now < limit_ns ? deadline_ns - now : limit_ns;
}

void comm_nap(int64_t ns)
{
	struct timespec time = { ns / 1000000000, ns % 1000000000 };

	nanosleep(&time, NULL);
}

uint32_t comm_list_missing(uint32_t ranks, uint32_t here, char list[COMM_LIST_BYTES],
			   uint32_t *first)
{
	uint32_t rank, count = 0;
	size_t length = 0;

	*list = '\0';
	for (rank = 0; rank < ranks; rank++) {
		if (here >> rank & 1)
			continue;
		if (!count++)
			*first = rank;
		length += (size_t)snprintf(list + length, COMM_LIST_BYTES - length, " %u", rank);
	}
	return count;
}

int t3_comm_fail(struct t3_comm *comm, int ret, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(comm->error, sizeof(comm->error), format, args);
	va_end(args);
	return ret;
}

/* --------------------------------------------------------------------- life */

int comm_new(struct t3_device *dev, uint32_t rank, uint32_t ranks, struct t3_comm **out)
{
	struct drm_t3_device_info info;
	struct t3_comm *comm;
	uint32_t i;
	int ret;

	ret = t3_device_info(dev, &info);
	if (ret)
		return ret;
	comm = calloc(1, sizeof(*comm));
	if (!comm)
		return -ENOMEM;
	comm->maker = getpid();
	comm->dev = dev;
	comm->rank = rank;
	comm->ranks = ranks;
	comm->fabric_id = info.fabric_id;
	comm->topology = info.topology;
	comm->has_groups = info.features & DRM_T3_FEATURE_GROUPS;
	comm->device_ranks = info.ranks;
	comm->device_rank[rank] = info.rank;
	comm->gone = ranks;
	comm->here = (uint32_t)((1ull << ranks) - 1);
	for (i = 0; i < T3_COMM_RANKS_MAX; i++)
		comm->socket[i] = -1;
	*out = comm;
	return 0;
}

void comm_free(struct t3_comm *comm)
{
	if (comm && comm->transport)
		comm->transport->leave(comm);
	free(comm);
}

int comm_check_devices(struct t3_comm *comm)
{
	uint32_t a, b;

	for (a = 0; a < comm->ranks; a++) {
		for (b = a + 1; b < comm->ranks; b++) {
			if (comm->device_rank[a] == comm->device_rank[b])
				return t3_comm_fail(
					comm, -ENOTUNIQ,
					"ranks %u and %u are both on device %u of the fabric", a, b,
					comm->device_rank[a]);
		}
	}
	return 0;
}

uint32_t t3_comm_rank(const struct t3_comm *comm)
{
	return comm ? comm->rank : 0;
}

uint32_t t3_comm_ranks(const struct t3_comm *comm)
{
	return comm ? comm->ranks : 0;
}

struct t3_device *t3_comm_device(const struct t3_comm *comm)
{
	return comm ? comm->dev : NULL;
}

const char *t3_comm_error(const struct t3_comm *comm)
{
	return comm ? comm->error : "";
}

bool t3_comm_gone(const struct t3_comm *comm, uint32_t rank)
{
	return rank < comm->ranks && rank != comm->rank && comm->transport->gone(comm, rank);
}
