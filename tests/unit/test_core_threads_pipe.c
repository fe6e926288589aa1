/* SPDX-License-Identifier: MIT */
/*
 * A writer and a reader of each pipe, in threads that sleep when they have nothing to do: all bytes
 * come, in order, and nobody sleeps for ever. Also built with ThreadSanitizer.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "host.h"
#include "t3_pipe.h"
#include "test.h"

#define BYTES (6u * T3_PIPE_SIZE)

/* Who sleeps waits for a call; one that came before counts. */
struct bell {
	pthread_mutex_t mutex;
	pthread_cond_t rung;
	bool is_rung;
};

struct end {
	pthread_t thread;
	struct t3_pipe pipe;
	struct bell *own, *other;
	uint64_t random;
};

static void ring(struct bell *bell)
{
	assert(!pthread_mutex_lock(&bell->mutex));
	bell->is_rung = true;
	assert(!pthread_cond_signal(&bell->rung));
	assert(!pthread_mutex_unlock(&bell->mutex));
}

static void await(struct bell *bell)
{
	assert(!pthread_mutex_lock(&bell->mutex));
	while (!bell->is_rung)
		assert(!pthread_cond_wait(&bell->rung, &bell->mutex));
	bell->is_rung = false;
	assert(!pthread_mutex_unlock(&bell->mutex));
}

static uint8_t byte_at(uint32_t at)
{
	return (uint8_t)(at * 2654435761u >> 24);
}

static uint32_t room(const struct end *end, uint32_t want)
{
	uint32_t bytes;

	assert(t3_pipe_room(&end->pipe, &bytes));
	return bytes < want ? 0 : want;
}

static void *write_all(void *opaque)
{
	struct end *end = opaque;
	uint8_t part[5000];
	uint32_t sent = 0, i;

	while (sent < BYTES) {
		uint32_t want = 1 + host_below(&end->random, sizeof(part));

		want = want < BYTES - sent ? want : BYTES - sent;
		for (i = 0; i < want; i++)
			part[i] = byte_at(sent + i);
		while (!room(end, want)) {
			t3_pipe_sleep(&end->pipe);
			if (room(end, want))
				break;
			await(end->own);
		}
		t3_pipe_awake(&end->pipe);
		if (t3_pipe_write(&end->pipe, part, want))
			ring(end->other);
		sent += want;
	}
	return NULL;
}

static uint32_t look(const struct end *end, const uint8_t **data)
{
	uint32_t bytes;

	assert(t3_pipe_look(&end->pipe, data, &bytes));
	return bytes;
}

static void *read_all(void *opaque)
{
	struct end *end = opaque;
	uint32_t taken = 0, bytes, i;
	const uint8_t *data;

	while (taken < BYTES) {
		while (!(bytes = look(end, &data))) {
			t3_pipe_sleep(&end->pipe);
			bytes = look(end, &data);
			if (bytes)
				break;
			await(end->own);
		}
		t3_pipe_awake(&end->pipe);
		for (i = 0; i < bytes; i++)
			assert(data[i] == byte_at(taken + i));
		if (t3_pipe_take(&end->pipe, bytes))
			ring(end->other);
		taken += bytes;
	}
	return NULL;
}

TEST("bytes pass both ways between threads that sleep")
{
	uint8_t *memory = calloc(1, T3_PIPE_MEMORY);
	struct bell bell[4];
	struct end end[4];
	unsigned int i;

	assert_non_null(memory);
	for (i = 0; i < 4; i++)
		bell[i] =
			(struct bell){ PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false };
	for (i = 0; i < 4; i++) {
		end[i] = (struct end){ .own = &bell[i], .other = &bell[i ^ 1], .random = i + 1 };
		(i & 1 ? t3_pipe_reader : t3_pipe_writer)(&end[i].pipe, memory, i / 2);
	}
	for (i = 0; i < 4; i++)
		assert(!pthread_create(&end[i].thread, NULL, i & 1 ? read_all : write_all,
				       &end[i]));
	for (i = 0; i < 4; i++)
		assert(!pthread_join(end[i].thread, NULL));
	free(memory);
}
