// SPDX-License-Identifier: MIT
/*
 * Bootstrap by an all-gather. Each rank listens first, and then puts the name of its socket into its
 * record. So a rank that knows the name can connect at once. A rank that cannot join takes part,
 * too: an all-gather that one rank leaves out may never end at the others.
 */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "comm/bootstrap.h"

#define RECORD_MAGIC   0x6472616333540a0dull
#define RECORD_VERSION 2u
#define ENDPOINT_MAGIC 0x6563616c3354310dull

static struct comm_record blank_record(const struct comm_request *request)
{
	return (struct comm_record){
		.magic = RECORD_MAGIC,
		.version = RECORD_VERSION,
		.bytes = sizeof(struct comm_record),
		.rank = request->rank,
		.ranks = request->ranks,
	};
}

/* Begin to listen, and write where into the record. */
static int prepare(struct t3_comm *comm, struct comm_record *record, int *listener)
{
	int ret;

	ret = comm_find_node(comm, &record->node);
	if (ret)
		return ret;
	if (getrandom(record->name, COMM_NAME_BYTES, 0) != COMM_NAME_BYTES)
		return t3_comm_fail(comm, -errno, "cannot get a random number: %s",
				    strerror(errno));
	return comm_listen_at_name(comm, record->name, listener);
}

void comm_send_excuse(const struct comm_request *request, int error)
{
	struct comm_record record = blank_record(request), all[T3_COMM_RANKS_MAX];

	record.error = (uint32_t)-error;
	request->all_gather(request->ctx, &record, all, sizeof(record));
}

/* ------------------------------------------------------- what the others brought */

static int check_record(struct t3_comm *comm, const struct comm_record *record, uint32_t rank)
{
	if (record->magic != RECORD_MAGIC)
		return t3_comm_fail(comm, -EPROTO,
				    "the all-gather brought no record of rank %u: rank i's bytes "
				    "belong at i times their number",
				    rank);
	if (record->version != RECORD_VERSION)
		return t3_comm_fail(comm, -EPROTO,
				    "rank %u has a libt3 with records of version %u, this one %u",
				    rank, record->version, RECORD_VERSION);
	if (record->bytes != sizeof(*record) || record->pad)
		return t3_comm_fail(comm, -EPROTO, "rank %u has a record of a wrong form", rank);
	if (record->rank != rank)
		return t3_comm_fail(
			comm, -EPROTO,
			"the all-gather brought the record of rank %u as that of rank %u",
			record->rank, rank);
	if (record->ranks != comm->ranks)
		return t3_comm_fail(comm, -EDOM, "rank %u counts %u ranks, this one %u", rank,
				    record->ranks, comm->ranks);
	return 0;
}

/* All ranks have the same records, so that they fail alike. */
static int check_records(struct t3_comm *comm, const struct comm_record *mine,
			 const struct comm_record *records)
{
	uint32_t rank;
	int ret = 0;

	for (rank = 0; rank < comm->ranks && !ret; rank++)
		ret = check_record(comm, &records[rank], rank);
	if (ret)
		return ret;
	if (memcmp(&records[comm->rank], mine, sizeof(*mine)))
		return t3_comm_fail(comm, -EEXIST,
				    "rank %u is taken: the all-gather brought another record than "
				    "this one's",
				    comm->rank);
	for (rank = 0; rank < comm->ranks; rank++) {
		if (records[rank].error)
			return t3_comm_fail(comm, -EPIPE, "rank %u cannot join: %s", rank,
					    strerror((int)records[rank].error));
	}
	return 0;
}

/* ------------------------------------------------------------------ all-gather */

static int gather(struct t3_comm *comm, const struct comm_request *request, const void *mine,
		  void *all, size_t bytes)
{
	int ret;

	ret = request->all_gather(request->ctx, mine, all, bytes);
	if (ret && request->gather_late && *request->gather_late)
		t3_comm_record_cause(comm, *request->gather_late - 1, true);
	if (ret && request->gather_text)
		return t3_comm_fail(comm, ret, "%s", request->gather_text);
	if (ret < 0 && ret >= -4095)
		return t3_comm_fail(comm, ret, "the all-gather failed: %s", strerror(-ret));
	if (ret)
		return t3_comm_fail(comm, -EIO, "the all-gather failed: it returned %d", ret);
	return 0;
}

static int in_time(struct t3_comm *comm, const struct comm_request *request)
{
	if (comm_time_left(request->deadline_ns, 1))
		return 0;
	return t3_comm_fail(comm, -ETIMEDOUT, "the all-gather ended after the deadline");
}

/*
 * The ranks are on several nodes: a second all-gather brings the address at which each listens for
 * ranks of other nodes. A rank that cannot go on takes part in this one, too.
 */
static int find_endpoints(struct t3_comm *comm, const struct comm_request *request,
			  struct comm_endpoint *endpoints, int *listener)
{
	struct comm_endpoint mine = { .magic = ENDPOINT_MAGIC, .rank = comm->rank }, *e;
	char why[T3_COMM_TEXT_SIZE];
	uint32_t rank;
	int own, ret;

	own = in_time(comm, request);
	if (!own)
		own = comm_listen_remote(comm, &mine, listener);
	mine.error = (uint32_t)-own;
	memcpy(why, comm->error, sizeof(why));
	ret = gather(comm, request, &mine, endpoints, sizeof(mine));
	if (own)
		return t3_comm_fail(comm, own, "%s", why);
	if (ret)
		return ret;
	for (rank = 0; rank < comm->ranks; rank++) {
		e = &endpoints[rank];
		if (e->magic != ENDPOINT_MAGIC || e->rank != rank)
			return t3_comm_fail(comm, -EPROTO,
					    "the second all-gather brought no address of rank %u",
					    rank);
		if (e->error)
			return t3_comm_fail(comm, -EPIPE, "rank %u cannot join: %s", rank,
					    strerror((int)e->error));
	}
	return in_time(comm, request);
}

int comm_bootstrap(struct t3_comm *comm, const struct comm_request *request)
{
	struct comm_record mine = blank_record(request), records[T3_COMM_RANKS_MAX] = { 0 };
	struct comm_endpoint endpoints[T3_COMM_RANKS_MAX] = { 0 };
	struct comm_remote remote = { .listener = -1, .endpoint = endpoints };
	unsigned char names[T3_COMM_RANKS_MAX][COMM_NAME_BYTES];
	int listener = -1, ret;
	uint32_t rank;

	ret = prepare(comm, &mine, &listener);
	if (ret) {
		comm_send_excuse(request, ret);
		return ret;
	}
	ret = gather(comm, request, &mine, records, sizeof(mine));
	if (!ret)
		ret = check_records(comm, &mine, records);
	if (ret)
		goto close_listener;
	comm_number_nodes(comm, records);
	if (t3_comm_spans_nodes(comm))
		ret = find_endpoints(comm, request, endpoints, &remote.listener);
	else
		ret = in_time(comm, request);
	if (ret)
		goto close_listener;
	for (rank = 0; rank < comm->ranks; rank++)
		memcpy(names[rank], records[rank].name, COMM_NAME_BYTES);
	ret = comm_join_by_name(comm, listener, names, t3_comm_spans_nodes(comm) ? &remote : NULL,
				request->deadline_ns);
	listener = -1; /* closed by comm_join_by_name() */

close_listener:
	if (listener >= 0)
		close(listener);
	if (remote.listener >= 0)
		close(remote.listener);
	return ret;
}
