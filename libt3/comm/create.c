// SPDX-License-Identifier: MIT
/* Create a communicator of ranks that are separate processes. Destroy one of any kind. */
#include <string.h>

#include "comm/bootstrap.h"

static int create(struct t3_device *dev, const struct comm_request *request, struct t3_comm **out)
{
	int64_t deadline_ns = request->deadline_ns;
	struct t3_comm *comm;
	int ret;

	if (request->ranks < T3_COMM_RANKS_MIN || request->ranks > T3_COMM_RANKS_MAX)
		return comm_request_fail(request, -EINVAL, "%u ranks: it takes %u to %u",
					 request->ranks, T3_COMM_RANKS_MIN, T3_COMM_RANKS_MAX);
	if (request->rank >= request->ranks)
		return comm_request_fail(request, -EINVAL, "rank %u is none of %u", request->rank,
					 request->ranks);
	ret = comm_new(dev, request->rank, request->ranks, &comm);
	if (ret) {
		if (!request->dir)
			comm_send_excuse(request, ret);
		return comm_request_fail(request, ret, "the device does not answer: %s",
					 strerror(-ret));
	}
	comm->transport = &comm_socket_transport;
	if (request->dir)
		ret = comm_join(comm, request->dir, deadline_ns);
	else
		ret = comm_bootstrap(comm, request);
	if (ret)
		goto free_comm;
	/* The ranks that wait for a late rank name it themselves, a moment earlier. */
	if (deadline_ns < INT64_MAX - COMM_ABORT_NS)
		deadline_ns += COMM_ABORT_NS;
	ret = comm_share_state(comm, deadline_ns);
	if (ret)
		goto free_comm;
	/* After the barrier the directory is as it was, so that it can serve again. */
	ret = t3_comm_barrier(comm, deadline_ns);
	if (ret)
		goto free_comm;
	*out = comm;
	return 0;

free_comm:
	comm_request_fail(request, ret, "%s", comm->error);
	comm_free(comm);
	return ret;
}

/* Prepare the text. nowhere is its memory when the caller wants none. */
static void take_text(struct comm_request *request, char *text, size_t size, char *nowhere)
{
	request->text = text && size ? text : nowhere;
	request->text_size = text && size ? size : 1;
	*request->text = '\0';
}

int t3_comm_create(struct t3_device *dev, const struct t3_comm_desc *desc, int64_t deadline_ns,
		   struct t3_comm **comm)
{
	struct comm_request request = { .deadline_ns = deadline_ns };
	struct comm_rendezvous rendezvous;
	char nowhere;
	int ret = 0;

	if (!dev || !desc || !comm)
		return -EINVAL;
	take_text(&request, desc->text, desc->text_size, &nowhere);
	request.dir = desc->dir;
	request.rank = desc->rank;
	request.ranks = desc->ranks;
	if (!request.dir)
		ret = comm_read_environment(&request, &rendezvous);
	return ret ? ret : create(dev, &request, comm);
}

int t3_comm_create_bootstrap(struct t3_device *dev, const struct t3_bootstrap_desc *desc,
			     int64_t deadline_ns, struct t3_comm **comm)
{
	struct comm_request request = { .deadline_ns = deadline_ns };
	char nowhere;

	if (!dev || !desc || !desc->all_gather || !comm)
		return -EINVAL;
	take_text(&request, desc->text, desc->text_size, &nowhere);
	request.all_gather = desc->all_gather;
	request.ctx = desc->ctx;
	request.rank = desc->rank;
	request.ranks = desc->ranks;
	return create(dev, &request, comm);
}

void t3_comm_destroy(struct t3_comm *comm)
{
	if (comm && comm->keep_ops)
		comm->keep_ops->free(comm->kept);
	comm_free(comm);
}
