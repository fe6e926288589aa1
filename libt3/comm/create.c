// SPDX-License-Identifier: MIT
/* Create a communicator of ranks that are separate processes. Destroy one of any kind. */
#define _GNU_SOURCE /* secure_getenv */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/private.h"

/* Read a number from the environment: plain digits. */
static int read_number(const char *name, uint32_t *value, struct t3_comm_desc *desc)
{
	const char *text = secure_getenv(name);
	char *end;
	unsigned long number;

	if (!text) {
		snprintf(desc->text, desc->text_size,
			 "%s is not set: start the ranks by `t3 launch`", name);
		return -EINVAL;
	}
	number = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || number > UINT32_MAX) {
		snprintf(desc->text, desc->text_size, "%s is no number: '%s'", name, text);
		return -EINVAL;
	}
	*value = (uint32_t)number;
	return 0;
}

static int read_environment(struct t3_comm_desc *desc)
{
	int ret;

	desc->dir = secure_getenv("T3_COMM_DIR");
	if (!desc->dir) {
		snprintf(desc->text, desc->text_size,
			 "T3_COMM_DIR is not set: start the ranks by `t3 launch`");
		return -EINVAL;
	}
	ret = read_number("T3_RANK", &desc->rank, desc);
	return ret ? ret : read_number("T3_RANKS", &desc->ranks, desc);
}

static int check_ranks(const struct t3_comm_desc *desc)
{
	if (desc->ranks < T3_COMM_RANKS_MIN || desc->ranks > T3_COMM_RANKS_MAX) {
		snprintf(desc->text, desc->text_size, "%u ranks: it takes %u to %u", desc->ranks,
			 T3_COMM_RANKS_MIN, T3_COMM_RANKS_MAX);
		return -EINVAL;
	}
	if (desc->rank >= desc->ranks) {
		snprintf(desc->text, desc->text_size, "rank %u is none of %u", desc->rank,
			 desc->ranks);
		return -EINVAL;
	}
	return 0;
}

/* Meet the other ranks, and leave the directory as it was, so that it can serve again. */
static int join(struct t3_comm *comm, const char *dir, int64_t deadline_ns)
{
	int ret;

	comm->transport = &comm_socket_transport;
	ret = comm_join(comm, dir, deadline_ns);
	if (ret)
		return ret;
	/* The ranks that wait for a late rank name it themselves, a moment earlier. */
	if (deadline_ns < INT64_MAX - COMM_PARTING_NS)
		deadline_ns += COMM_PARTING_NS;
	ret = comm_board_share(comm, deadline_ns);
	return ret ? ret : t3_comm_barrier(comm, deadline_ns);
}

static int create(struct t3_device *dev, const struct t3_comm_desc *desc, int64_t deadline_ns,
		  struct t3_comm **out)
{
	struct t3_comm *comm;
	int ret;

	ret = check_ranks(desc);
	if (ret)
		return ret;
	ret = comm_new(dev, desc->rank, desc->ranks, &comm);
	if (ret) {
		snprintf(desc->text, desc->text_size, "the device does not answer: %s",
			 strerror(-ret));
		return ret;
	}
	ret = join(comm, desc->dir, deadline_ns);
	if (ret) {
		snprintf(desc->text, desc->text_size, "%s", comm->error);
		comm_free(comm);
		return ret;
	}
	*out = comm;
	return 0;
}

int t3_comm_create(struct t3_device *dev, const struct t3_comm_desc *desc, int64_t deadline_ns,
		   struct t3_comm **comm)
{
	struct t3_comm_desc own;
	char nowhere[1];
	int ret = 0;

	if (!dev || !desc || !comm)
		return -EINVAL;
	own = *desc;
	if (!own.text || !own.text_size) {
		own.text = nowhere;
		own.text_size = sizeof(nowhere);
	}
	*own.text = '\0';
	if (!own.dir)
		ret = read_environment(&own);
	return ret ? ret : create(dev, &own, deadline_ns, comm);
}

void t3_comm_destroy(struct t3_comm *comm)
{
	if (comm && comm->keep_ops)
		comm->keep_ops->free(comm->kept);
	comm_free(comm);
}
