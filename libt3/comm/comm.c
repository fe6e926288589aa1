// SPDX-License-Identifier: MIT
/* Communicators: what does not depend on how messages travel. */
#define _GNU_SOURCE /* secure_getenv */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
	comm->dev = dev;
	comm->rank = rank;
	comm->ranks = ranks;
	comm->fabric_id = info.fabric_id;
	comm->topology = info.topology;
	comm->device_ranks = info.ranks;
	comm->device_rank[rank] = info.rank;
	comm->gone = ranks;
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

/* A number of the environment, plain digits. */
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

/* Meet the others, and leave no one behind: the directory may serve again. */
static int join(struct t3_comm *comm, const char *dir, int64_t deadline_ns)
{
	int ret;

	comm->transport = &comm_socket_transport;
	ret = comm_join(comm, dir, deadline_ns);
	if (ret)
		return ret;
	/* A rank that one of the others waits for is named by those, a moment before. */
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

/* ----------------------------------------------------------------- messages */

static int post(struct t3_comm *comm, uint32_t to, const struct comm_message *message, int fd)
{
	int ret = comm->transport->post(comm, to, message, fd);

	if (!ret && comm->lines)
		atomic_fetch_add(&comm->lines[comm->rank].posted[to], 1);
	if (ret == -EPIPE)
		return t3_comm_fail_gone(comm, comm->gone);
	if (ret)
		return t3_comm_fail(comm, ret, "nothing can be sent to rank %u: %s", to,
				    strerror(-ret));
	return 0;
}

int t3_comm_post(struct t3_comm *comm, uint32_t to, const void *data, size_t bytes, int fd)
{
	struct comm_message message = { .kind = COMM_DATA };

	if (to >= comm->ranks || to == comm->rank || bytes > sizeof(message.data))
		return -EINVAL;
	message.bytes = (uint32_t)bytes;
	if (bytes)
		memcpy(message.data, data, bytes);
	return post(comm, to, &message, fd);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* What came is what is due; else the ranks do not make the same calls, or worse. */
static int check_message(struct t3_comm *comm, uint32_t from, const struct comm_message *message,
			 enum comm_kind kind, size_t bytes)
{
	struct comm_parting parting;
	static const char *const name[] = { "doing something else", "setting up a plan",
					    "in a barrier" };
	uint32_t is = message->kind <= COMM_BARRIER ? message->kind : 0;

	if (message->kind == COMM_PARTING && message->bytes == COMM_PARTING_BYTES) {
		memcpy(&parting, message, sizeof(parting));
		return comm_fail_parting(comm, from, &parting);
	}
	if (message->kind != kind)
		return t3_comm_fail(comm, -EPROTO,
				    "rank %u is %s, this one is %s: all ranks must make the same "
				    "calls",
				    from, name[is], name[kind]);
	if (message->bytes != bytes)
		return t3_comm_fail(comm, -EPROTO,
				    "rank %u sent %u bytes where %zu are due: all ranks must make "
				    "the same calls",
				    from, message->bytes, bytes);
	return 0;
}

/* Behind whom the others stand may be another one. */
static int late(struct t3_comm *comm, uint32_t rank, enum comm_kind kind)
{
	bool still;

	rank = t3_comm_culprit(comm, rank, &still);
	t3_comm_blame(comm, rank, true);
	return t3_comm_fail(comm, -ETIMEDOUT, "rank %u did not come to %s in time", rank,
			    kind == COMM_BARRIER ? "the barrier" : "set up the plan");
}

static void set_waiting(struct t3_comm *comm, uint32_t rank_and_1)
{
	if (comm->lines)
		atomic_store(&comm->lines[comm->rank].waiting, rank_and_1);
}

static int take_or_blame(struct t3_comm *comm, uint32_t from, enum comm_kind kind,
			 struct comm_message *message, int *fd, int64_t deadline_ns)
{
	int ret;

	ret = comm->transport->take(comm, from, message, fd, deadline_ns);
	if (!ret && comm->lines)
		atomic_fetch_add(&comm->lines[comm->rank].taken[from], 1);
	if (ret == -EPIPE)
		return t3_comm_fail_gone(comm, comm->gone);
	if (ret == -ETIMEDOUT)
		return late(comm, from, kind);
	if (ret == -EPROTO)
		return t3_comm_fail(comm, ret, "rank %u sent what is no message of ours", from);
	if (ret)
		return t3_comm_fail(comm, ret, "nothing can be received from rank %u: %s", from,
				    strerror(-ret));
	return 0;
}

/* It is seen to wait until it has said who was late: others may fail at the same moment. */
static int take(struct t3_comm *comm, uint32_t from, enum comm_kind kind,
		struct comm_message *message, int *fd, int64_t deadline_ns)
{
	int ret;

	set_waiting(comm, from + 1);
	ret = take_or_blame(comm, from, kind, message, fd, deadline_ns);
	set_waiting(comm, 0);
	return ret;
}

int t3_comm_take(struct t3_comm *comm, uint32_t from, void *data, size_t bytes, int *fd,
		 int64_t deadline_ns)
{
	struct comm_message message;
	int got, ret;

	if (from >= comm->ranks || from == comm->rank || bytes > sizeof(message.data))
		return -EINVAL;
	ret = take(comm, from, COMM_DATA, &message, &got, deadline_ns);
	if (ret)
		return ret;
	ret = check_message(comm, from, &message, COMM_DATA, bytes);
	if (!ret && got >= 0 && !fd)
		ret = t3_comm_fail(comm, -EPROTO, "rank %u sent a descriptor where none is due",
				   from);
	if (ret) {
		close_fd(&got);
		return ret;
	}
	if (bytes)
		memcpy(data, message.data, bytes);
	if (fd)
		*fd = got;
	return 0;
}

bool t3_comm_gone(const struct t3_comm *comm, uint32_t rank)
{
	return rank < comm->ranks && rank != comm->rank && comm->transport->gone(comm, rank);
}

/* ------------------------------------------------------------------ barrier */

static int barrier_round(struct t3_comm *comm, uint32_t step, int64_t deadline_ns)
{
	struct comm_message message = { .kind = COMM_BARRIER, .bytes = sizeof(step) };
	uint32_t from = (comm->rank + comm->ranks - step) % comm->ranks, theirs;
	int fd, ret;

	memcpy(message.data, &step, sizeof(step));
	ret = post(comm, (comm->rank + step) % comm->ranks, &message, -1);
	if (!ret)
		ret = take(comm, from, COMM_BARRIER, &message, &fd, deadline_ns);
	if (ret)
		return ret;
	close_fd(&fd);
	ret = check_message(comm, from, &message, COMM_BARRIER, sizeof(step));
	if (ret)
		return ret;
	memcpy(&theirs, message.data, sizeof(theirs));
	if (theirs != step)
		return t3_comm_fail(comm, -EPROTO, "rank %u is in another round of the barrier",
				    from);
	return 0;
}

/* Dissemination: after round k each rank has heard of the 2^(k+1) - 1 ranks before it. */
int t3_comm_barrier(struct t3_comm *comm, int64_t deadline_ns)
{
	uint32_t step;
	int ret = 0;

	if (!comm)
		return -EINVAL;
	for (step = 1; step < comm->ranks && !ret; step *= 2)
		ret = barrier_round(comm, step, deadline_ns);
	return ret;
}
