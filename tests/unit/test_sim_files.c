/* SPDX-License-Identifier: MIT */
/* Replay of files with any content: cut, damaged, or made up. T3_SEEDS: more of them. */
#include "tape.h"
#include "test.h"

/* A crash leaves any prefix, perhaps with zeros after it. */
TEST("every prefix of a record is read")
{
	struct tape tape = { 0 };
	struct replay_result result;
	size_t size, header;
	uint8_t *copy;

	tape_short(&tape);
	header = tape.piece[1];
	copy = calloc(1, tape.size + 64);
	assert_non_null(copy);
	for (size = 1; size < tape.size; size += 1 + size / 200) {
		memset(copy, 0, tape.size + 64);
		memcpy(copy, tape.data, size);
		result = tape_replay_bytes(copy, size, 0);
		assert_int_equal(result.verdict, size < header ? REPLAY_BAD : REPLAY_SAME);
		assert_false(result.complete);
	}
	for (size = header; size < tape.piece[tape.pieces - 1]; size = size * 2) {
		uint32_t i;

		for (i = 0; tape.piece[i] < size; i++)
			;
		memset(copy, 0, tape.size + 64);
		memcpy(copy, tape.data, tape.piece[i]);
		result = tape_replay_bytes(copy, tape.piece[i] + 64, 0);
		tape_expect_same(&result);
		assert_false(result.complete);
	}
	free(copy);
	free(tape.data);
}

static void damage(struct tape *tape, uint64_t *random)
{
	uint32_t count = 1 + host_below(random, 4);

	while (count--) {
		size_t at = host_below(random, (uint32_t)tape->size);

		if (host_below(random, 2))
			tape->data[at] = (uint8_t)host_random(random);
		else
			tape->data[at] ^= (uint8_t)(1u << host_below(random, 8));
	}
}

/* The sanitizers find wrong accesses. */
TEST("a damaged record does no harm")
{
	const char *seeds = getenv("T3_SEEDS");
	uint64_t random = 0x1234567, count = 25 * (seeds ? strtoull(seeds, NULL, 0) : 8), i;
	uint32_t verdicts[3] = { 0 };
	struct tape tape = { 0 };
	uint8_t *good;
	size_t size;

	tape_short(&tape);
	size = tape.size;
	good = malloc(size);
	assert_non_null(good);
	memcpy(good, tape.data, size);
	for (i = 0; i < count; i++) {
		memcpy(tape.data, good, size);
		damage(&tape, &random);
		verdicts[tape_replay(&tape).verdict]++;
	}
	assert_true(verdicts[REPLAY_DIVERGED] > count / 4 && verdicts[REPLAY_BAD] > 0);
	free(good);
	free(tape.data);
}

static void expect_bad(const char *bytes, size_t size, const char *word)
{
	struct replay_result result = tape_replay_bytes((const uint8_t *)bytes, size, 0);

	assert_int_equal(result.verdict, REPLAY_BAD);
	assert_non_null(strstr(result.why, word));
}

/* magic, version, topology 1, 2 ranks, id 1, not timed, budget 0 */
#define HEAD		"T3RECORD\12\1\2\1\0\0"
#define BAD(text, word) expect_bad(text, sizeof(text) - 1, word)

TEST("bad files are refused with a reason")
{
	BAD("T3RECORX\2\1\2\1\0\0", "no T3 record");
	BAD("T3RECORD\4\1\2\1\0\0", "version");
	BAD("T3RECORD\12\1\xff\1\0\0", "header");
	BAD("T3RECORD\12\x09\2\1\0\0", "fabric");
	BAD("T3RECORD\12\1\2\1\2\0", "fabric"); /* timed is 0 or 1 */
	BAD(HEAD "\xff\xff", "type 31");
	BAD(HEAD "\x29\x40", "64 at most"); /* RESET of device 64 */
	BAD(HEAD "\x28", "no device");
	BAD(HEAD "\x29\0", "does not exist");
	BAD(HEAD "\x88", "KICK outside");
	BAD(HEAD "\x09\0\1\1\1\1\0\0\0\0", "impossible");		     /* NEW of 1 byte */
	BAD(HEAD "\x50\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "64 bits"); /* RUN */
	BAD(HEAD "\x50\xff\xff\xff\xff\x7f", "32 bits");
	/* a device of 2^41 bytes */
	BAD(HEAD "\x09\0\x80\x80\x80\x80\x80\x40\x80\x20\x08\x08\0\0\0\0", "too large");
}
