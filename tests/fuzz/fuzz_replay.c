/* SPDX-License-Identifier: MIT */
/*
 * Replay files (SPEC.md section 14): a good record whose parts are changed, dropped, doubled and
 * exchanged, or any bytes at all. A replay ends with a verdict. What it says of a place lies in the
 * file, and a record that was not changed is the same.
 */
#include "arena.h"
#include "ops.h"
#include "tape.h"
#include "world.h"

#define EDITS_MAX 16u
#define FILE_MAX  0x4000u

struct run {
	struct stream *in;
	const struct tape *tape;
	uint8_t file[FILE_MAX];
	size_t size;
	bool edited;
};

/* Where a record, or its data, of the tape starts. Edits before it have moved it a little. */
static size_t place(struct run *run)
{
	size_t at = run->tape->piece[stream_u16(run->in) % run->tape->pieces];

	at += stream_u8(run->in) % 16;
	return at < run->size ? at : run->size;
}

static void change(struct run *run)
{
	size_t at = place(run);

	run->edited = true;
	stream_patch(run->in, run->file + at, run->size - at ? run->size - at : 1);
}

/* A number of the format: 7 bits a byte, so that large ones are found soon. */
static void number(struct run *run)
{
	size_t at = place(run);
	uint64_t value = stream_u64(run->in);
	uint32_t bits = stream_u8(run->in);

	/* One in eight may be of any length: a device of that size takes long to make. */
	bits = bits & 7 ? bits % 24 : bits % 65;
	value = bits < 64 ? value & ((1ull << bits) - 1) : value;
	run->edited = true;
	for (; at < run->size; value >>= 7) {
		run->file[at++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		if (value <= 0x7f)
			break;
	}
}

static void drop(struct run *run)
{
	size_t from = place(run), to = place(run);

	if (from >= to)
		return;
	run->edited = true;
	memmove(run->file + from, run->file + to, run->size - to);
	run->size -= to - from;
}

static void copy(struct run *run)
{
	uint8_t part[256];
	size_t from = place(run), to = place(run), size = 1 + stream_u8(run->in);

	size = size < run->size - from ? size : run->size - from;
	size = size < FILE_MAX - run->size ? size : FILE_MAX - run->size;
	run->edited = true;
	memcpy(part, run->file + from, size);
	memmove(run->file + to + size, run->file + to, run->size - to);
	memcpy(run->file + to, part, size);
	run->size += size;
}

static void cut(struct run *run)
{
	run->size = place(run);
	run->edited = true;
}

static void raw(struct run *run)
{
	run->edited = true;
	for (run->size = 0; stream_more(run->in) && run->size < FILE_MAX; run->size++)
		run->file[run->size] = stream_u8(run->in);
}

static void (*const operations[OP_REPLAY_COUNT])(struct run *) = {
	[OP_REPLAY_CHANGE] = change, [OP_REPLAY_NUMBER] = number, [OP_REPLAY_DROP] = drop,
	[OP_REPLAY_COPY] = copy,     [OP_REPLAY_CUT] = cut,	  [OP_REPLAY_RAW] = raw,
};

/* fmemopen() takes no empty file. The exact size, so that a sanitizer sees its end. */
static void replay(struct run *run, uint64_t until)
{
	uint8_t *file = malloc(run->size + !run->size);
	uint32_t arrays = arena_used();
	struct replay_result result;

	assert_non_null(file);
	file[0] = 0;
	memcpy(file, run->file, run->size);
	result = tape_replay_bytes(file, run->size + !run->size, until);
	free(file);
	assert_int_equal(arena_used(), arrays);
	assert_true(result.verdict == REPLAY_SAME || result.verdict == REPLAY_DIVERGED ||
		    result.verdict == REPLAY_BAD);
	assert_true(result.bytes <= run->size + 1 && result.at <= run->size + 1);
	assert_true(!until || result.entries <= until);
	if (result.verdict == REPLAY_BAD)
		assert_true(result.why[0]);
	if (!run->edited)
		tape_expect_same(&result);
}

static void one(struct stream *in, struct host *host)
{
	static struct tape tape;
	struct run run = { .in = in, .tape = &tape };
	uint32_t edits;
	uint64_t until;

	(void)host;
	if (!tape.size)
		tape_short(&tape);
	assert_true(tape.size <= FILE_MAX / 2);
	memcpy(run.file, tape.data, tape.size);
	run.size = tape.size;
	until = stream_u8(in);
	for (edits = 0; edits < EDITS_MAX && stream_more(in); edits++)
		operations[stream_u8(in) % OP_REPLAY_COUNT](&run);
	replay(&run, until < 128 ? 0 : until - 127);
}

const struct fuzz_target fuzz_target = { .one = one, .alone = true };
