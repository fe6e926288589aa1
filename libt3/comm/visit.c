// SPDX-License-Identifier: MIT
/*
 * The rendezvous of a rank that is not rank 0. It connects until rank 0 is there. A connection that
 * ends without an answer is tried again: rank 0 may have been restarted.
 */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/rendezvous.h"

struct visit {
	struct comm_rendezvous *r;
	struct rendezvous_request request;
	size_t bytes;
	struct rendezvous_answer answer;
	int64_t deadline_ns;
	int last; /* why the last try did not work; 0: others were late */
};

/* ----------------------------------------------------------------- the answer */

static int refused(struct visit *v)
{
	const struct rendezvous_head *head = &v->answer.head;
	struct comm_rendezvous *r = v->r;

	switch (head->kind) {
	case RENDEZVOUS_OTHER_JOB:
		return rendezvous_fail(r, -EDOM, "rank 0 has another T3_JOB than rank %u", r->rank);
	case RENDEZVOUS_OTHER_RANKS:
		return rendezvous_fail(r, -EDOM, "rank 0 counts %u ranks, this one %u", head->ranks,
				       r->ranks);
	case RENDEZVOUS_RANK_TAKEN:
		return rendezvous_fail(r, -EEXIST,
				       "rank %u is taken: another process is there as this rank",
				       r->rank);
	case RENDEZVOUS_GIVES_UP:
		if (head->rank == r->rank || head->rank >= r->ranks)
			return rendezvous_fail(r, -EPIPE, "rank 0 has given up");
		return rendezvous_fail(
			r, -EPIPE, "rank 0 has given up: rank %u did not come in time", head->rank);
	default:
		return rendezvous_fail(r, -EPROTO, "rank 0 refuses this rank, for reason %u",
				       head->kind);
	}
}

/* Whoever listens there may be anything. */
static int judge(struct visit *v)
{
	const struct rendezvous_head *head = &v->answer.head;
	struct comm_rendezvous *r = v->r;

	if (head->magic != RENDEZVOUS_MAGIC)
		return rendezvous_fail(r, -EPROTO,
				       "what listens at %.60s port %.8s is no rank 0 of libt3",
				       r->host, r->port);
	if (head->version != RENDEZVOUS_VERSION)
		return rendezvous_fail(r, -EPROTO,
				       "rank 0 has a libt3 that speaks version %u, this one %u",
				       head->version, RENDEZVOUS_VERSION);
	if (head->kind != RENDEZVOUS_ANSWER)
		return refused(v);
	if (head->job != r->job || head->ranks != r->ranks || head->bytes != v->bytes || head->pad)
		return rendezvous_fail(r, -EPROTO, "rank 0 sent an answer of a wrong form");
	return 0;
}

/* Receive the answer up to that size. -EAGAIN: the connection or the time has ended before. */
static int hear_part(struct visit *v, int fd, size_t size, size_t *got)
{
	bool time = true;
	int ret;

	for (;;) {
		ret = rendezvous_receive(fd, &v->answer, size, got);
		if (!ret)
			return 0;
		if (ret == -EPIPE || !time) {
			v->last = ret == -EPIPE ? ECONNRESET : 0;
			return -EAGAIN;
		}
		time = rendezvous_wait(fd, POLLIN, v->deadline_ns);
	}
}

static int hear(struct visit *v, int fd)
{
	size_t got = 0;
	int ret;

	ret = hear_part(v, fd, sizeof(v->answer.head), &got);
	if (!ret)
		ret = judge(v);
	if (!ret)
		ret = hear_part(v, fd, sizeof(v->answer.head) + v->bytes * v->r->ranks, &got);
	return ret;
}

/* ------------------------------------------------------------------------ visit */

/* -EAGAIN: try again. */
static int visit_one(struct visit *v, const struct addrinfo *at)
{
	int fd = rendezvous_connect(at, v->r->deadline_ns), ret;

	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM)
		return rendezvous_fail(v->r, fd, "there is no socket to be had: %s", strerror(-fd));
	if (fd < 0) {
		v->last = -fd;
		return -EAGAIN;
	}
	rendezvous_watch(fd);
	ret = rendezvous_send(fd, &v->request, sizeof(v->request.head) + v->bytes);
	v->last = ECONNRESET;
	ret = ret ? -EAGAIN : hear(v, fd);
	close(fd);
	return ret;
}

static int visit_any(struct visit *v, const struct addrinfo *first)
{
	const struct addrinfo *at = first;
	uint32_t i;
	int ret = -EAGAIN;

	for (i = 0; at && i < RENDEZVOUS_ADDRESSES && ret == -EAGAIN; i++) {
		ret = visit_one(v, at);
		at = rendezvous_next(first, at);
	}
	return ret;
}

static int out_of_time(struct visit *v)
{
	struct comm_rendezvous *r = v->r;

	if (!v->last)
		return rendezvous_fail(r, -ETIMEDOUT,
				       "not all ranks came to %.60s port %.8s in time", r->host,
				       r->port);
	return rendezvous_fail(r, -ETIMEDOUT,
			       "rank 0 did not answer at %.60s port %.8s in time: %s", r->host,
			       r->port, strerror(v->last));
}

int rendezvous_visit(struct comm_rendezvous *r, const struct addrinfo *at, const void *mine,
		     void *all, size_t bytes)
{
	struct visit v = { .r = r, .bytes = bytes, .deadline_ns = r->deadline_ns };
	int ret;

	/* Rank 0 says a moment later which rank was late. */
	if (v.deadline_ns < INT64_MAX - COMM_PARTING_NS)
		v.deadline_ns += COMM_PARTING_NS;
	v.request.head = rendezvous_head(r, RENDEZVOUS_REQUEST, bytes);
	memcpy(v.request.data, mine, bytes);
	for (;;) {
		ret = visit_any(&v, at);
		if (!ret)
			memcpy(all, v.answer.data, r->ranks * bytes);
		if (ret != -EAGAIN)
			return ret;
		if (!comm_time_left(r->deadline_ns, 1))
			break;
		comm_nap(comm_time_left(r->deadline_ns, RENDEZVOUS_RETRY_NS));
	}
	return out_of_time(&v);
}
