/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pipe in shared memory. See t3_pipe.h. */
#include <string.h>

#include "t3_pipe.h"

/* A writer that sleeps is woken when so much is free: not for each frame. */
#define WAKE_ROOM (T3_PIPE_SIZE / 2)

_Static_assert(!(T3_PIPE_SIZE & (T3_PIPE_SIZE - 1)), "an index is masked");
_Static_assert(sizeof(struct t3_pipe_side) == 64, "a cache line");
_Static_assert(2 * sizeof(struct t3_pipe_indices) <= T3_PIPE_HEAD, "indices come first");

static struct t3_pipe_indices *set_up(struct t3_pipe *pipe, void *memory, unsigned int number)
{
	pipe->bytes = (uint8_t *)memory + T3_PIPE_HEAD + (size_t)number * T3_PIPE_SIZE;
	pipe->index = 0;
	return (struct t3_pipe_indices *)memory + number;
}

void t3_pipe_writer(struct t3_pipe *pipe, void *memory, unsigned int number)
{
	struct t3_pipe_indices *indices = set_up(pipe, memory, number);

	pipe->own = &indices->writer;
	pipe->other = &indices->reader;
}

void t3_pipe_reader(struct t3_pipe *pipe, void *memory, unsigned int number)
{
	struct t3_pipe_indices *indices = set_up(pipe, memory, number);

	pipe->own = &indices->reader;
	pipe->other = &indices->writer;
}

/* ------------------------------------------------------------------ indices */

/*
 * Each side writes its index or its flag, and then reads the other one's. All four accesses have one
 * order, so at least one of two sides sees what the other has written.
 */
static uint32_t other_index(const struct t3_pipe *pipe)
{
	return __atomic_load_n(&pipe->other->index, __ATOMIC_SEQ_CST);
}

static void advance(struct t3_pipe *pipe, uint32_t bytes)
{
	pipe->index += bytes;
	__atomic_store_n(&pipe->own->index, pipe->index, __ATOMIC_SEQ_CST);
}

static bool other_sleeps(const struct t3_pipe *pipe)
{
	return __atomic_load_n(&pipe->other->sleeps, __ATOMIC_SEQ_CST);
}

/* Once: the next one that looks need not wake it again. */
static bool must_wake(const struct t3_pipe *pipe)
{
	return other_sleeps(pipe) && __atomic_exchange_n(&pipe->other->sleeps, 0, __ATOMIC_SEQ_CST);
}

void t3_pipe_sleep(struct t3_pipe *pipe)
{
	__atomic_store_n(&pipe->own->sleeps, 1, __ATOMIC_SEQ_CST);
}

void t3_pipe_awake(struct t3_pipe *pipe)
{
	__atomic_store_n(&pipe->own->sleeps, 0, __ATOMIC_RELAXED);
}

/* -------------------------------------------------------------------- bytes */

bool t3_pipe_room(const struct t3_pipe *pipe, uint32_t *bytes)
{
	uint32_t used = pipe->index - other_index(pipe);

	*bytes = used <= T3_PIPE_SIZE ? T3_PIPE_SIZE - used : 0;
	return used <= T3_PIPE_SIZE;
}

bool t3_pipe_look(const struct t3_pipe *pipe, const uint8_t **data, uint32_t *bytes)
{
	uint32_t used = other_index(pipe) - pipe->index;
	uint32_t at = pipe->index & (T3_PIPE_SIZE - 1);

	*data = pipe->bytes + at;
	*bytes = used <= T3_PIPE_SIZE - at ? used : T3_PIPE_SIZE - at;
	return used <= T3_PIPE_SIZE;
}

bool t3_pipe_write(struct t3_pipe *pipe, const void *data, uint32_t bytes)
{
	uint32_t at = pipe->index & (T3_PIPE_SIZE - 1);
	uint32_t first = bytes <= T3_PIPE_SIZE - at ? bytes : T3_PIPE_SIZE - at;

	memcpy(pipe->bytes + at, data, first);
	memcpy(pipe->bytes, (const uint8_t *)data + first, bytes - first);
	advance(pipe, bytes);
	return must_wake(pipe);
}

bool t3_pipe_take(struct t3_pipe *pipe, uint32_t bytes)
{
	advance(pipe, bytes);
	return other_sleeps(pipe) && other_index(pipe) - pipe->index <= WAKE_ROOM &&
	       must_wake(pipe);
}
