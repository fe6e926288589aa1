// SPDX-License-Identifier: MIT
/*
 * Four threads, each with a queue on a device of its own, fill and copy at the same time. Each copy
 * is checked. ordeal.h has the options.
 */
#include <fcntl.h>
#include <pthread.h>

#include "ordeal.h"
#include "queue.h"
#include "random.h"
#include "raw.h"

#define THREADS	   4u
#define COPIES	   12u
#define COPY_BYTES 65536u

struct copier {
	uint32_t thread;
	int fd;
	uint32_t queue, filled, copied, a, b;
	const volatile uint64_t *memory; /* of b */
};

static void copier_open(struct copier *c)
{
	c->fd = open(guest_node(c->thread % guest_ranks()), O_RDWR | O_CLOEXEC);
	must(NULL, "open", c->fd < 0 ? -errno : 0);
	must(NULL, "queue", queue_create(c->fd, 0, &c->queue));
	must(NULL, "buffer", bo_create(c->fd, COPY_BYTES, &c->a));
	must(NULL, "buffer", bo_create(c->fd, COPY_BYTES, &c->b));
	c->filled = sync_create(c->fd);
	c->copied = sync_create(c->fd);
	c->memory = bo_map(c->fd, c->b, COPY_BYTES);
}

static void must_be_done(const struct copier *c, uint32_t sync, const char *what)
{
	int status;

	must(NULL, what, sync_wait(c->fd, sync, 0, ORDEAL_MS));
	status = sync_status(c->fd, sync);
	must(NULL, what, status < 0 ? status : 0);
}

/* Two jobs of one queue. The second one runs also when the first one has failed. */
static void copy_once(const struct copier *c, uint64_t pattern)
{
	const union drm_t3_any_command fill = command_fill(c->a, 0, COPY_BYTES, pattern);
	const union drm_t3_any_command copy = command_copy(c->b, c->a, COPY_BYTES);
	uint32_t i;

	must(NULL, "submit", submit_one(c->fd, c->queue, &fill, c->filled));
	must(NULL, "submit", submit_one(c->fd, c->queue, &copy, c->copied));
	must_be_done(c, c->filled, "fill by a queue");
	must_be_done(c, c->copied, "copy by a queue");
	for (i = 0; i < COPY_BYTES / 8; i++)
		if (c->memory[i] != pattern)
			guest_fail(__FILE__, __LINE__, "seed %llu: word %u is %#llx, not %#llx",
				   (unsigned long long)ordeal.seed, i,
				   (unsigned long long)c->memory[i], (unsigned long long)pattern);
}

static void *copy_all(void *arg)
{
	struct copier c = { .thread = *(uint32_t *)arg };
	struct random random = random_seed(ordeal.seed + c.thread);
	uint32_t i;

	ordeal_stay(c.thread);
	copier_open(&c);
	for (i = 0; i < ordeal.rounds; i++)
		copy_once(&c, random_u64(&random));
	close(c.fd);
	return NULL;
}

static void copies_body(int sock, void *arg)
{
	pthread_t thread[THREADS];
	uint32_t number[THREADS], i;

	(void)sock;
	(void)arg;
	for (i = 0; i < THREADS; i++) {
		number[i] = i;
		CHECK_EQ(pthread_create(&thread[i], NULL, copy_all, &number[i]), 0);
	}
	for (i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(thread[i], NULL), 0);
}

LONG_TEST("four processors copy by queues of their own")
{
	ordeal_run(copies_body, NULL);
}

int main(int argc, char **argv)
{
	ordeal_parse(argc, argv, COPIES);
	guest_node(THREADS - 1);
	return test_run(NULL, NULL);
}
