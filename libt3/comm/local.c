// SPDX-License-Identifier: MIT
/* Ranks of one process: queues in memory, for one thread or a thread per rank. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "comm/private.h"

#define QUEUE_MAX 64u /* messages of a pair of ranks: far more than a plan's set-up needs */

struct entry {
	struct entry *next;
	int fd;
	struct comm_message message;
};

/* Messages from one rank to another. */
struct queue {
	struct entry *first, **last;
	uint32_t length;
};

/* The lock guards all members but ranks and lines. */
struct comm_hub {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t ranks;
	uint32_t present; /* bit r: rank r has not ended */
	struct comm_rank_state line[T3_COMM_RANKS_MAX];
	struct queue queue[T3_COMM_RANKS_MAX][T3_COMM_RANKS_MAX]; /* [to][from] */
};

static void entry_free(struct entry *entry)
{
	if (entry && entry->fd >= 0)
		close(entry->fd);
	free(entry);
}

static int entry_new(const struct comm_message *message, int fd, struct entry **out)
{
	struct entry *entry = malloc(sizeof(*entry));
	int ret;

	if (!entry)
		return -ENOMEM;
	entry->next = NULL;
	entry->message = *message;
	entry->fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0 || entry->fd >= 0) {
		*out = entry;
		return 0;
	}
	ret = -errno;
	free(entry);
	return ret;
}

static void push(struct queue *queue, struct entry *entry)
{
	*queue->last = entry;
	queue->last = &entry->next;
	queue->length++;
}

static struct entry *pop(struct queue *queue)
{
	struct entry *entry = queue->first;

	if (!entry)
		return NULL;
	queue->first = entry->next;
	if (!queue->first)
		queue->last = &queue->first;
	queue->length--;
	return entry;
}

/* ---------------------------------------------------------------------- hub */

static void hub_free(struct comm_hub *hub)
{
	uint32_t to, from;

	for (to = 0; to < hub->ranks; to++) {
		for (from = 0; from < hub->ranks; from++) {
			while (hub->queue[to][from].first)
				entry_free(pop(&hub->queue[to][from]));
		}
	}
	pthread_cond_destroy(&hub->changed);
	pthread_mutex_destroy(&hub->lock);
	free(hub);
}

static int hub_init(struct comm_hub *hub, uint32_t ranks)
{
	pthread_condattr_t attr;
	uint32_t to, from;
	int ret;

	hub->ranks = ranks;
	for (to = 0; to < ranks; to++) {
		for (from = 0; from < ranks; from++)
			hub->queue[to][from].last = &hub->queue[to][from].first;
	}
	ret = pthread_mutex_init(&hub->lock, NULL);
	if (ret)
		return -ret;
	ret = pthread_condattr_init(&attr);
	if (!ret) {
		pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
		ret = pthread_cond_init(&hub->changed, &attr);
		pthread_condattr_destroy(&attr);
	}
	if (ret)
		pthread_mutex_destroy(&hub->lock);
	return -ret;
}

static int hub_new(uint32_t ranks, struct comm_hub **out)
{
	struct comm_hub *hub = aligned_alloc(_Alignof(struct comm_hub), sizeof(*hub));
	int ret;

	if (!hub)
		return -ENOMEM;
	memset(hub, 0, sizeof(*hub));
	ret = hub_init(hub, ranks);
	if (ret)
		free(hub);
	else
		*out = hub;
	return ret;
}

static bool is_present(const struct comm_hub *hub, uint32_t rank)
{
	return hub->present >> rank & 1;
}

/* The first rank that this one saw end stays the one that it names. */
static bool someone_left(struct t3_comm *comm)
{
	uint32_t rank;

	for (rank = 0; rank < comm->ranks && comm->gone == comm->ranks; rank++) {
		if (!is_present(comm->hub, rank))
			comm->gone = rank;
	}
	return comm->gone != comm->ranks;
}

/* ---------------------------------------------------------------- transport */

static int post(struct t3_comm *comm, uint32_t to, const struct comm_message *message, int fd)
{
	struct comm_hub *hub = comm->hub;
	struct queue *queue = &hub->queue[to][comm->rank];
	struct entry *entry = NULL;
	int ret;

	ret = entry_new(message, fd, &entry);
	if (ret)
		return ret;
	pthread_mutex_lock(&hub->lock);
	if (!is_present(hub, to)) {
		ret = -EPIPE;
		if (comm->gone == comm->ranks)
			comm->gone = to;
	} else if (queue->length == QUEUE_MAX) {
		ret = -EAGAIN;
	} else {
		push(queue, entry);
		pthread_cond_broadcast(&hub->changed);
	}
	pthread_mutex_unlock(&hub->lock);
	if (ret)
		entry_free(entry);
	return ret;
}

/* With the lock: wait until something changes or the deadline passes. */
static void wait_until(struct comm_hub *hub, int64_t time_ns)
{
	struct timespec time = { time_ns / 1000000000, time_ns % 1000000000 };

	if (time_ns == INT64_MAX)
		pthread_cond_wait(&hub->changed, &hub->lock);
	else
		pthread_cond_timedwait(&hub->changed, &hub->lock, &time);
}

/*
 * With the lock. A rank that has ended sends nothing more. When a third rank has ended, the awaited
 * one sends only what it had already begun.
 */
static int await(struct t3_comm *comm, uint32_t from, int64_t deadline_ns, struct entry **entry)
{
	struct comm_hub *hub = comm->hub;
	int64_t grace_ns = INT64_MAX;

	for (;;) {
		*entry = pop(&hub->queue[comm->rank][from]);
		if (*entry)
			return 0;
		if (someone_left(comm) && grace_ns == INT64_MAX)
			grace_ns = t3_deadline(COMM_GRACE_NS);
		if (!is_present(hub, from) || !comm_time_left(grace_ns, 1))
			return -EPIPE;
		if (!comm_time_left(deadline_ns, 1))
			return -ETIMEDOUT;
		wait_until(hub, deadline_ns < grace_ns ? deadline_ns : grace_ns);
	}
}

static int take(struct t3_comm *comm, uint32_t from, struct comm_message *message, int *fd,
		int64_t deadline_ns)
{
	struct entry *entry;
	int ret;

	pthread_mutex_lock(&comm->hub->lock);
	ret = await(comm, from, deadline_ns, &entry);
	pthread_mutex_unlock(&comm->hub->lock);
	if (ret)
		return ret;
	*message = entry->message;
	*fd = entry->fd;
	free(entry);
	return 0;
}

static bool gone(const struct t3_comm *comm, uint32_t rank)
{
	bool present;

	pthread_mutex_lock(&comm->hub->lock);
	present = is_present(comm->hub, rank);
	pthread_mutex_unlock(&comm->hub->lock);
	return !present;
}

static void leave(struct t3_comm *comm)
{
	struct comm_hub *hub = comm->hub;
	bool last;

	/*
	 * A child has copies of the lock and of those that wait for `changed`, and none of their
	 * threads. What the hub has stays.
	 */
	if (!t3_is_maker(comm->maker))
		return;
	pthread_mutex_lock(&hub->lock);
	hub->present &= ~(1u << comm->rank);
	last = !hub->present;
	pthread_cond_broadcast(&hub->changed);
	pthread_mutex_unlock(&hub->lock);
	if (last)
		hub_free(hub);
}

static const struct comm_transport transport = { post, take, gone, leave };

/* ------------------------------------------------------------------- create */

static int fill(struct comm_hub *hub, struct t3_device *const *devs, struct t3_comm **comms)
{
	uint32_t i, j;
	int ret = 0;

	for (i = 0; i < hub->ranks && !ret; i++)
		ret = comm_new(devs[i], i, hub->ranks, &comms[i]);
	for (i = 0; i < hub->ranks && !ret; i++) {
		for (j = 0; j < hub->ranks; j++)
			comms[i]->device_rank[j] = comms[j]->device_rank[j];
		if (comms[i]->fabric_id != comms[0]->fabric_id)
			ret = -EXDEV;
	}
	return ret ? ret : comm_check_devices(comms[0]);
}

static int check_arguments(struct t3_device *const *devs, uint32_t ranks)
{
	uint32_t i;

	if (!devs || ranks < T3_COMM_RANKS_MIN || ranks > T3_COMM_RANKS_MAX)
		return -EINVAL;
	for (i = 0; i < ranks; i++) {
		if (!devs[i])
			return -EINVAL;
	}
	return 0;
}

int t3_comm_create_local(struct t3_device *const *devs, uint32_t ranks, struct t3_comm **out)
{
	struct t3_comm *comms[T3_COMM_RANKS_MAX] = { NULL };
	struct comm_hub *hub;
	uint32_t i;
	int ret;

	ret = out ? check_arguments(devs, ranks) : -EINVAL;
	if (ret)
		return ret;
	ret = hub_new(ranks, &hub);
	if (ret)
		return ret;
	ret = fill(hub, devs, comms);
	if (ret) {
		for (i = 0; i < ranks; i++)
			comm_free(comms[i]);
		hub_free(hub);
		return ret;
	}
	for (i = 0; i < ranks; i++) {
		comms[i]->transport = &transport;
		comms[i]->hub = hub;
		comms[i]->lines = hub->line;
		hub->present |= 1u << i;
		out[i] = comms[i];
	}
	return 0;
}
