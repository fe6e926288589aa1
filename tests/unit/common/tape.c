/* SPDX-License-Identifier: MIT */
#include "tape.h"

void tape_emit(void *opaque, const void *data, size_t len)
{
	struct tape *tape = opaque;

	if (len > tape->room - tape->size) {
		tape->room = 2 * (tape->room + len);
		tape->data = realloc(tape->data, tape->room);
		assert_non_null(tape->data);
	}
	if (tape->pieces < TAPE_PIECES)
		tape->piece[tape->pieces++] = tape->size;
	memcpy(tape->data + tape->size, data, len);
	tape->size += len;
}

struct replay_result tape_replay_bytes(const uint8_t *data, size_t size, uint64_t until)
{
	struct replay_options options = { .until = until };
	struct replay_result result;
	FILE *file = fmemopen((void *)data, size, "rb");

	assert_non_null(file);
	replay_run(file, &options, &result);
	fclose(file);
	return result;
}

struct replay_result tape_replay(const struct tape *tape)
{
	return tape_replay_bytes(tape->data, tape->size, 0);
}

void tape_expect_same(const struct replay_result *result)
{
	if (result->verdict != REPLAY_SAME)
		print_message("%s: recorded %s, replayed %s; %s\n", result->where, result->recorded,
			      result->replayed, result->why);
	assert_int_equal(result->verdict, REPLAY_SAME);
}

void tape_short(struct tape *tape)
{
	struct host_config config = { T3_TOPOLOGY_RING, 2, 256, 8, T3_KEYS_FABRIC };
	struct host *host = host_new_recorded(&config, tape_emit, tape);
	struct host_dev *d = &host->dev[0];
	uint32_t i;

	host_space(d, 1);
	host_local(d, 1, 0);
	host_stage(d, 1, 0, 1);
	host_set(d, T3_REG_SPACE_ENABLE, 2, 4);
	host_arm(d, 1, 1);
	for (i = 0; i < 64; i++)
		host_slot(d, 1, 0, 0)[i] = (uint8_t)(i + 1);
	host_tile(d, 1, 0, 0, 0);
	for (i = 0; i < 64; i += 4)
		if (i % 16 >= 8 || i >= 32)
			host_store(d, 1, i, i, 4);
	host_drain(host);
	host_expect(d, 1, T3_SPACE_COMPLETE, 1);
	assert_int_equal(host_load(d, 1, 60, 4), 60);
	host_buffer(d, 1)[60] = 61; /* by the CPU, through BAR2 */
	assert_int_equal(host_load(d, 1, 60, 4), 61);
	host_free(host);
}
