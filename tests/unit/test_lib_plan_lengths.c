// SPDX-License-Identifier: MIT
/* libt3: plans with a length for each pair of ranks: set-up, wrong lengths, and what is put. */
#include "test_lib_spaces.h"

#define A_LOT (UINT64_C(1) << 40)

/* Rank 1 sends nothing to rank 0, and rank 2 nothing to itself. */
static const uint64_t sent[RANKS][RANKS] = { { 2, 1, 4 }, { 0, 3, 5 }, { 6, 2, 0 } };
static const uint64_t received[RANKS][RANKS] = { { 2, 0, 6 }, { 1, 3, 2 }, { 4, 5, 0 } };

static const struct t3_plan_desc exchange = {
	.collective = T3_ALL_TO_ALL,
	.dtype = DRM_T3_I32,
	.path = T3_PATH_STORE,
};

static const uint32_t input[] = { 10, 11, 12, 13, 14, 15, 16, 17 };

/* Rank i's arrays, of which a test may change a number. */
struct words {
	uint64_t send[RANKS][RANKS], receive[RANKS][RANKS];
	struct t3_plan_lengths of[RANKS];
};

static struct words *good(void)
{
	static struct words words;
	uint32_t r;

	memcpy(words.send, sent, sizeof(sent));
	memcpy(words.receive, received, sizeof(received));
	for (r = 0; r < RANKS; r++)
		words.of[r] = (struct t3_plan_lengths){ words.send[r], words.receive[r] };
	return &words;
}

static void make(const struct t3_plan_desc *desc)
{
	assert_int_equal(t3_plan_create_all_uneven(comms, RANKS, desc, good()->of, plans), 0);
}

/* All ranks get the error, and the communicators can make a plan after it. */
static void refused(const struct t3_plan_desc *desc, struct words *words, int error, uint32_t rank,
		    const char *text)
{
	char other[T3_COMM_TEXT_SIZE];
	uint32_t r;

	assert_int_equal(t3_plan_create_all_uneven(comms, RANKS, desc, words->of, plans), error);
	for (r = 0; r < RANKS; r++) {
		if (rank == RANKS || r == rank)
			snprintf(other, sizeof(other), "%s", text);
		else
			snprintf(other, sizeof(other), "rank %u: %s", rank, text);
		assert_string_equal(t3_comm_error(comms[r]), other);
		assert_null(plans[r]);
		assert_int_equal(hw[r].spaces + hw[r].buffers, 0);
	}
}

/* --------------------------------------------------------------------- set-up */

TEST("each pair with data has a segment and a grant for it")
{
	uint32_t from, to;
	uint64_t mask;

	make(&exchange);
	for (from = 0; from < RANKS; from++)
		for (to = 0; to < RANKS; to++) {
			if (from == to)
				continue;
			mask = hw[to].grant[from].segment_mask;
			assert_int_equal(__builtin_popcountll(mask), !!sent[from][to]);
			if (!mask)
				continue;
			assert_int_equal(hw[to].grant[from].op_mask, 1u << DRM_T3_OP_STORE);
			assert_int_equal(hw[to].segment[__builtin_ctzll(mask)].kind,
					 DRM_T3_SEGMENT_LOCAL);
			assert_int_equal(hw[to].segment[__builtin_ctzll(mask)].row_bytes,
					 4 * sent[from][to]);
		}
	assert_int_equal(plans[0]->shared->rank[0].targets, 6);
	assert_int_equal(plans[0]->shared->rank[1].targets, 4);
	assert_int_equal(plans[0]->shared->rank[2].targets, 3);
}

TEST("the arrays are read in the call alone")
{
	uint64_t first, count;

	make(&exchange);
	memset(good()->send, 0xff, sizeof(sent));
	assert_int_equal(t3_plan_chunk(plans[2], 1, &first, &count), 0);
	assert_int_equal(first, 6);
	assert_int_equal(count, 2);
}

TEST("ranks without any data make a plan")
{
	struct words *words = good();
	const void *data;
	uint64_t bytes;
	uint32_t r;

	memset(words->send, 0, sizeof(words->send));
	memset(words->receive, 0, sizeof(words->receive));
	assert_int_equal(t3_plan_create_all_uneven(comms, RANKS, &exchange, words->of, plans), 0);
	ready_all(1);
	assert_int_equal(t3_plan_put(plans[1], 0, input, 0), 0);
	assert_int_equal(t3_plan_put(plans[1], 0, input, 1), -ERANGE);
	for (r = 0; r < RANKS; r++) {
		become(r, DRM_T3_SPACE_COMPLETE, 1);
		assert_int_equal(t3_plan_wait(plans[r], 0), 0);
		assert_int_equal(t3_plan_result(plans[r], &data, &bytes), 0);
		assert_int_equal(bytes, 0);
	}
}

TEST("a rank puts what it sends and no more")
{
	uint64_t at;
	uint32_t i;

	make(&exchange);
	ready_all(1);
	assert_int_equal(t3_plan_put(plans[2], 0, input, 8), 0);
	assert_int_equal(t3_plan_put(plans[2], 0, input, 9), -ERANGE);
	assert_int_equal(t3_plan_put(plans[2], 7, input, 1), -EOVERFLOW);
	assert_string_equal(
		t3_plan_error(plans[2]),
		"all-to-all, rank 2, epoch 1: an element is put twice: tile 0 of chunk "
		"1 has got 2 of its 2 elements, and this put has 1 more, from element 7 "
		"on");
	for (i = 0; i < plans[2]->layout.count; i++) {
		const struct t3_layout_segment *s = &plans[2]->layout.segment[i];

		at = hw[2].buffer[1] + s->desc.offset;
		if (s->own_rows)
			assert_memory_equal(hw[2].memory + at, &input[s->own_first],
					    s->desc.row_bytes);
	}
	assert_int_equal(plans[0]->shared->rank[2].put[0], 6);
	assert_int_equal(plans[0]->shared->rank[2].put[1], 2);
}

/* Rank 2 waits for 4 elements of rank 0 and 5 of rank 1. All else has come. */
TEST("a rank that has not put all it sends is named with its own length")
{
	const struct t3_layout_segment *s;
	uint32_t i;

	make(&exchange);
	ready_all(1);
	assert_int_equal(t3_plan_put(plans[0], 0, input, 7), 0);
	assert_int_equal(t3_plan_put(plans[1], 0, input, 6), 0);
	assert_int_equal(t3_plan_put(plans[2], 0, input, 8), 0);
	for (i = 0; i < plans[2]->layout.count; i++) {
		s = &plans[2]->layout.segment[i];
		if (s->chunk != 2)
			events(2)->segment[s->desc.segment] =
				1 | DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED;
	}
	assert_int_equal(t3_plan_wait(plans[2], in_ms(1)), -ETIMEDOUT);
	assert_non_null(
		strstr(t3_plan_error(plans[2]), "rank 1 has put 3 of 5 elements of chunk 2"));
	assert_false(t3_plan_owes(plans[2], 1, 0, 1));
	assert_true(t3_plan_owes(plans[2], 1, 2, 1));
}

/* Rank 0 gets all its data of rank 2. Rank 1, which sends nothing, is late, too. */
TEST("a late rank that has no data for a chunk is not named for it")
{
	struct words *words = good();
	uint32_t r;

	memset(words->send, 0, sizeof(words->send));
	memset(words->receive, 0, sizeof(words->receive));
	words->send[2][0] = words->receive[0][2] = 6;
	assert_int_equal(t3_plan_create_all_uneven(comms, RANKS, &exchange, words->of, plans), 0);
	for (r = 0; r < RANKS; r += 2) {
		assert_int_equal(t3_plan_arm(plans[r]), 0);
		become(r, DRM_T3_SPACE_ARMED, 1);
		assert_int_equal(t3_plan_ready(plans[r], 0), 0);
	}
	assert_int_equal(t3_plan_wait(plans[0], in_ms(1)), -ETIMEDOUT);
	assert_non_null(
		strstr(t3_plan_error(plans[0]), "rank 2 has put 0 of 6 elements of chunk 0"));
	assert_false(t3_plan_owes(plans[0], 1, 0, 1));
}

/* -------------------------------------------------------------- wrong lengths */

TEST("a length that differs at its two ranks is refused with both numbers")
{
	struct words *words = good();

	words->send[1][2] = 4;
	refused(&exchange, words, -EINVAL, RANKS,
		"rank 1 sends 4 elements to rank 2 (send[2]), which expects 5 of it (receive[1])");
	words = good();
	words->receive[0][1] = 1;
	refused(&exchange, words, -EINVAL, RANKS,
		"rank 1 sends 0 elements to rank 0 (send[0]), which expects 1 of it (receive[1])");
	words = good();
	words->receive[2][2] = 7;
	refused(&exchange, words, -EINVAL, RANKS,
		"rank 2 sends 0 elements to rank 2 (send[2]), which expects 7 of it (receive[2])");
	make(&exchange);
}

TEST("a wrong length of one rank is refused at all ranks")
{
	struct t3_plan_desc desc = exchange;
	struct words *words = good();

	words->send[1][0] = A_LOT + 1;
	refused(&exchange, words, -EFBIG, 1, "send[0] is 1099511627777 elements, above 2^40");
	words = good();
	words->receive[2][0] = words->receive[2][1] = A_LOT;
	refused(&exchange, words, -EFBIG, 2,
		"receive has 2199023255552 elements in all, above 2^40");
	desc.columns = 2;
	refused(&desc, good(), -EINVAL, 0, "send[1] is 1 elements, not whole rows of columns 2");
	words = good();
	words->of[2].receive = NULL;
	refused(&exchange, words, -EINVAL, 2, "no lengths of the plan");
	make(&exchange);
}

/* Ranks 0 and 2 have a small part of the data. */
TEST("a rank whose part of the data is above the limits says so, and not another one")
{
	struct t3_plan_desc desc = exchange;
	struct words *words = good();

	desc.dtype = DRM_T3_U8;
	desc.tile_columns = 1;
	words->send[1][1] = words->receive[1][1] = (1 << 20) + 1;
	refused(&desc, words, -EFBIG, 1,
		"lengths need more than 2^20 tiles at a rank: larger tile_columns are needed");
	make(&exchange);
}

TEST("a desc that does not fit lengths is refused with its values")
{
	struct t3_plan_desc desc = exchange;

	desc.count = 23;
	refused(&desc, good(), -EINVAL, 0,
		"count is 0 in a plan with lengths, which say it; got count 23");
	desc = exchange;
	desc.collective = T3_ALL_GATHER;
	refused(&desc, good(), -EINVAL, 0,
		"the collective of a plan with lengths is all-to-all; got collective 2 "
		"(all-gather)");
	assert_int_equal(t3_plan_create_all_uneven(comms, RANKS, NULL, good()->of, plans), -EINVAL);
	assert_int_equal(t3_plan_create_all_uneven(comms, RANKS, &exchange, NULL, plans), -EINVAL);
	assert_int_equal(t3_plan_create_uneven(NULL, &exchange, good()->of, 0, plans), -EINVAL);
}

TEST("data above the device's memory is refused")
{
	set_memory(1, 83);
	refused(&exchange, good(), -ENOSPC, 1, "no buffer of 84 bytes: the device has 83");
	set_memory(1, 84);
	make(&exchange);
}

/* ------------------------------------------------------------------ other ranks */

/* The first message, as numbers. */
struct wire_message {
	uint32_t magic, number, step;
	int32_t error;
	uint32_t fatal, pad;
	struct t3_plan_desc desc;
	char text[176];
	uint64_t send[T3_COMM_RANKS_MAX], receive[T3_COMM_RANKS_MAX];
};

/* Ranks 0 and 2 say what they have in `words`, and rank 1 makes the plan. */
static void hears(const struct words *words, int error, const char *text)
{
	struct wire_message m = { .magic = 0x50335404, .desc = exchange };
	struct t3_plan *plan = NULL;
	uint32_t r;

	m.number = comms[1]->plans_made + 1;
	for (r = 0; r < RANKS; r += 2) {
		memcpy(m.send, words->send[r], sizeof(words->send[r]));
		memcpy(m.receive, words->receive[r], sizeof(words->receive[r]));
		assert_int_equal(t3_comm_post(comms[r], 1, &m, sizeof(m), -1), 0);
	}
	assert_int_equal(t3_plan_create_uneven(comms[1], &exchange, &good()->of[1], in_ms(20000),
					       &plan),
			 error);
	assert_null(plan);
	assert_string_equal(t3_comm_error(comms[1]), text);
	for (r = 0; r < RANKS; r += 2)
		assert_int_equal(t3_comm_take(comms[r], 1, &m, sizeof(m), NULL, 0), 0);
	assert_memory_equal(m.send, sent[1], sizeof(sent[1]));
	assert_memory_equal(m.receive, received[1], sizeof(received[1]));
}

/* A rank's own libt3 would have refused these. */
TEST("lengths above the limits in a message are refused")
{
	struct words words;

	words = *good();
	words.send[0][2] = words.receive[2][0] = UINT64_MAX;
	hears(&words, -EFBIG, "rank 0: send[2] is 18446744073709551615 elements, above 2^40");
	words = *good();
	words.send[0][0] = words.send[0][2] = A_LOT;
	hears(&words, -EFBIG, "rank 0: send has 2199023255553 elements in all, above 2^40");
	words = *good();
	words.receive[2][1] = 6;
	hears(&words, -EINVAL,
	      "rank 1 sends 5 elements to rank 2 (send[2]), which expects 6 of it (receive[1])");
}

/* The messages of the two calls differ in size. */
TEST("a rank that makes a plan without lengths is in another call")
{
	struct wire_message m = { .magic = 0x50335404, .number = 1, .desc = exchange };
	struct t3_plan *plan = NULL;

	assert_int_equal(t3_comm_post(comms[0], 1, &m, offsetof(struct wire_message, send), -1), 0);
	assert_int_equal(t3_plan_create_uneven(comms[1], &exchange, &good()->of[1], in_ms(20000),
					       &plan),
			 -EPROTO);
	assert_null(plan);
	assert_string_equal(t3_comm_error(comms[1]),
			    "rank 0 sent 248 bytes where 760 are due: all ranks must make the same "
			    "calls");
}
