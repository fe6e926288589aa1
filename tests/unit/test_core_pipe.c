/* SPDX-License-Identifier: MIT */
/* Pipes in shared memory: order, room, sleep, and another side whose indices are wrong. */
#include <stdlib.h>

#include "host.h"
#include "t3_pipe.h"
#include "test.h"

struct pipes {
	uint8_t *memory;
	struct t3_pipe writer, reader;
};

static struct pipes pipes_new(unsigned int number)
{
	struct pipes p = { .memory = calloc(1, T3_PIPE_MEMORY) };

	assert_non_null(p.memory);
	t3_pipe_writer(&p.writer, p.memory, number);
	t3_pipe_reader(&p.reader, p.memory, number);
	return p;
}

static uint32_t room(const struct pipes *p)
{
	uint32_t bytes;

	assert_true(t3_pipe_room(&p->writer, &bytes));
	return bytes;
}

static uint32_t there(const struct pipes *p)
{
	const uint8_t *data;
	uint32_t bytes;

	assert_true(t3_pipe_look(&p->reader, &data, &bytes));
	return bytes;
}

/* Writes and takes so much; the bytes are not looked at. */
static void pass(struct pipes *p, uint32_t bytes)
{
	uint8_t *data = calloc(1, bytes);

	assert_non_null(data);
	t3_pipe_write(&p->writer, data, bytes);
	t3_pipe_take(&p->reader, bytes);
	free(data);
}

/* Also where an index passes 2^32 and the bytes begin anew. */
TEST("bytes come in order where an index wraps")
{
	struct pipes p = pipes_new(1);
	uint64_t random = 1;
	uint32_t sent = 0, taken = 0, turn;
	uint8_t part[3000];

	p.writer.index = p.writer.own->index = 0xfffff000;
	p.reader.index = p.reader.own->index = 0xfffff000;
	for (turn = 0; turn < 3000; turn++) {
		const uint8_t *data;
		uint32_t bytes = 1 + host_below(&random, sizeof(part)), i;

		for (i = 0; i < bytes; i++)
			part[i] = (uint8_t)((sent + i) * 7 >> 3);
		if (bytes <= room(&p)) {
			t3_pipe_write(&p.writer, part, bytes);
			sent += bytes;
		}
		assert_true(t3_pipe_look(&p.reader, &data, &bytes));
		bytes = host_below(&random, bytes + 1);
		for (i = 0; i < bytes; i++)
			assert_int_equal(data[i], (uint8_t)((taken + i) * 7 >> 3));
		t3_pipe_take(&p.reader, bytes);
		taken += bytes;
		assert_int_equal(room(&p), T3_PIPE_SIZE - (sent - taken));
	}
	assert_true(taken > 2 * T3_PIPE_SIZE);
	free(p.memory);
}

/* The bytes that come are whole up to the memory's end, and the pipes do not meet. */
TEST("bytes at the end of the memory are whole")
{
	struct pipes p = pipes_new(0);
	uint8_t *all = malloc(T3_PIPE_SIZE);

	assert_non_null(all);
	memset(all, 0xff, T3_PIPE_SIZE);
	pass(&p, 1000);
	t3_pipe_write(&p.writer, all, T3_PIPE_SIZE);
	assert_int_equal(room(&p), 0);
	assert_int_equal(there(&p), T3_PIPE_SIZE - 1000);
	t3_pipe_take(&p.reader, T3_PIPE_SIZE - 1000);
	assert_int_equal(there(&p), 1000);
	assert_int_equal(p.memory[T3_PIPE_HEAD - 1], 0);
	assert_int_equal(p.memory[T3_PIPE_HEAD + T3_PIPE_SIZE], 0);
	assert_int_equal(p.memory[T3_PIPE_HEAD + T3_PIPE_SIZE - 1], 0xff);
	free(all);
	free(p.memory);
}

/* One that sleeps is woken once, and a writer when half of the pipe is free. */
TEST("a sleeper is woken once")
{
	struct pipes p = pipes_new(0);
	uint8_t *half = calloc(1, T3_PIPE_SIZE / 2);

	assert_non_null(half);
	assert_false(t3_pipe_write(&p.writer, half, 8));
	t3_pipe_sleep(&p.reader);
	assert_true(t3_pipe_write(&p.writer, half, 8));
	assert_false(t3_pipe_write(&p.writer, half, 8));
	t3_pipe_sleep(&p.reader);
	t3_pipe_awake(&p.reader);
	assert_false(t3_pipe_write(&p.writer, half, 8));
	t3_pipe_write(&p.writer, half, T3_PIPE_SIZE / 2);
	t3_pipe_sleep(&p.writer);
	assert_false(t3_pipe_take(&p.reader, 31));
	assert_true(t3_pipe_take(&p.reader, 1));
	assert_false(t3_pipe_take(&p.reader, 1));
	free(half);
	free(p.memory);
}

/* The other side of each has any index: what is impossible is told, and nothing leaves the memory. */
TEST("wrong indices of the other side are told")
{
	static const uint32_t index[] = { 0,
					  1,
					  T3_PIPE_SIZE - 1,
					  T3_PIPE_SIZE,
					  T3_PIPE_SIZE + 1,
					  0x7fffffff,
					  0x80000000,
					  0xffffffff,
					  0xffffffff - T3_PIPE_SIZE };
	struct pipes p = pipes_new(1);
	uint32_t i, bytes;

	pass(&p, 100);
	for (i = 0; i < sizeof(index) / sizeof(*index); i++) {
		const uint8_t *data;

		p.writer.own->index = index[i];
		assert_int_equal(t3_pipe_look(&p.reader, &data, &bytes),
				 index[i] - 100 <= T3_PIPE_SIZE);
		assert_true(data >= p.memory + T3_PIPE_HEAD + T3_PIPE_SIZE);
		assert_true(data + bytes <= p.memory + T3_PIPE_MEMORY);
		p.reader.own->index = index[i];
		assert_int_equal(t3_pipe_room(&p.writer, &bytes), 100 - index[i] <= T3_PIPE_SIZE);
		assert_true(bytes <= T3_PIPE_SIZE);
	}
	free(p.memory);
}

/* A side's own index in the memory is not believed either. */
TEST("a side keeps its own index apart")
{
	struct pipes p = pipes_new(0);

	pass(&p, 64);
	p.reader.own->index = 32;
	p.writer.own->index = 48;
	t3_pipe_write(&p.writer, &p, 16);
	assert_int_equal(p.writer.own->index, 80);
	assert_int_equal(there(&p), 16);
	t3_pipe_take(&p.reader, 16);
	assert_int_equal(p.reader.own->index, 80);
	free(p.memory);
}
