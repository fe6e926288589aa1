// SPDX-License-Identifier: MIT
/* libt3: layouts of all-to-alls with a length for each pair of ranks, and checks of the lengths. */
#include "test_lib_plan.h"

#include "plan/plan.h"
#include "test.h"

static struct t3_lengths lengths;

static struct t3_plan_desc exchange(uint32_t algorithm, uint32_t columns)
{
	return (struct t3_plan_desc){ .collective = T3_ALL_TO_ALL,
				      .algorithm = algorithm,
				      .dtype = DRM_T3_F16,
				      .columns = columns };
}

/* A length that depends on the pair; one pair of four has no data. */
static uint64_t some_length(uint32_t from, uint32_t to, uint32_t seed)
{
	uint32_t h = (from * 31 + to * 17 + seed * 7919) * 2654435761u;

	return h >> 30 ? 1 + (h >> 8) % 23 : 0;
}

static void draw(uint32_t ranks, uint64_t columns, uint32_t seed)
{
	uint32_t from, to;

	memset(&lengths, 0, sizeof(lengths));
	for (from = 0; from < ranks; from++)
		for (to = 0; to < ranks; to++) {
			lengths.send[from][to] = some_length(from, to, seed) * columns;
			lengths.receive[to][from] = lengths.send[from][to];
		}
}

/* A ring of more ranks may need more segments than a rank has. */
static void check_shapes_of(uint32_t algorithm, uint32_t most_ranks)
{
	uint32_t ranks, seed;
	struct t3_plan_desc d;

	for (ranks = 2; ranks <= most_ranks; ranks++)
		for (seed = 0; seed < 8; seed++) {
			d = exchange(algorithm, seed % 2 ? 7 : 0);
			d.tile_columns = seed % 4 < 2 ? 0 : 3;
			draw(ranks, seed % 2 ? 7 : 1, seed);
			check_uneven(&d, ranks, &lengths);
		}
}

TEST("layouts with lengths fit each other on full fabrics")
{
	check_shapes_of(T3_ALGORITHM_DIRECT, T3_COMM_RANKS_MAX);
}

TEST("layouts with lengths fit each other on rings")
{
	check_shapes_of(T3_ALGORITHM_RING, 10);
}

/* The segment of a rank's result that gets the data of a source. */
static const struct t3_layout_segment *arrival(uint32_t rank, uint32_t from)
{
	const struct t3_layout *l = &layouts[from];
	uint32_t i;

	for (i = 0; i < l->count; i++)
		if (l->segment[i].chunk == rank && l->segment[i].own_rows)
			return find(&layouts[rank], from == rank ? l->segment[i].desc.segment
								 : l->segment[i].target_segment);
	return NULL;
}

TEST("a result has the data of the sources in their order, without gaps")
{
	struct t3_plan_desc d = exchange(T3_ALGORITHM_DIRECT, 0);
	uint32_t rank, from;
	uint64_t at;

	draw(8, 1, 3);
	check_uneven(&d, 8, &lengths);
	for (rank = 0; rank < 8; rank++) {
		at = layouts[rank].result_offset;
		for (from = 0; from < 8; from++) {
			const struct t3_layout_segment *s = arrival(rank, from);

			assert_int_equal(!s, !lengths.send[from][rank]);
			if (!s)
				continue;
			assert_int_equal(s->desc.offset, at);
			assert_int_equal(extent(&s->desc), lengths.send[from][rank] * 2);
			at += extent(&s->desc);
		}
		assert_int_equal(at, layouts[rank].result_offset + layouts[rank].result_bytes);
	}
}

TEST("a pair without data has no segment")
{
	struct t3_plan_desc d = exchange(T3_ALGORITHM_DIRECT, 0);
	uint64_t first, count;

	memset(&lengths, 0, sizeof(lengths));
	check_uneven(&d, 4, &lengths);
	assert_int_equal(layouts[2].count, 0);
	assert_int_equal(layouts[2].result_bytes, 0);
	assert_int_equal(layouts[2].units, 0);
	lengths.send[1][3] = lengths.receive[3][1] = 5;
	check_uneven(&d, 4, &lengths);
	assert_int_equal(layouts[0].count, 0);
	assert_int_equal(layouts[1].count, 1);
	assert_int_equal(layouts[3].count, 1);
	assert_int_equal(layouts[1].segment[0].targets, 1u << 3);
	t3_layout_chunk(&layouts[1], 3, &first, &count);
	assert_int_equal(first, 0);
	assert_int_equal(count, 5);
	d.algorithm = T3_ALGORITHM_RING;
	check_uneven(&d, 4, &lengths);
	assert_int_equal(layouts[0].count, 0);
	assert_int_equal(layouts[2].count, 1);
	assert_int_equal(layouts[2].segment[0].kind, DRM_T3_SEGMENT_DMA);
}

TEST("chunks are what the rank sends")
{
	struct t3_plan_desc d = exchange(T3_ALGORITHM_DIRECT, 2);
	uint64_t first, count;

	memset(&lengths, 0, sizeof(lengths));
	lengths.send[1][0] = lengths.receive[0][1] = 6;
	lengths.send[1][2] = lengths.receive[2][1] = 4;
	check_uneven(&d, 3, &lengths);
	t3_layout_chunk(&layouts[1], 2, &first, &count);
	assert_int_equal(first, 6);
	assert_int_equal(count, 4);
	assert_int_equal(layouts[1].units, 5);
	assert_int_equal(t3_layout_input(&layouts[1], 1, 0), 6);
	assert_int_equal(t3_layout_input(&layouts[2], 1, 0), 6);
	assert_int_equal(t3_layout_input(&layouts[2], 2, 0), 0);
}

static void refuses_layout(const struct t3_plan_desc *d, uint32_t ranks, int error,
			   const char *sentence)
{
	uint32_t r, failed = 0;
	const char *why;
	int ret;

	for (r = 0; r < ranks; r++) {
		ret = t3_layout_make_uneven(d, &lengths, r, ranks, &layouts[r], &why);
		if (!ret)
			continue;
		failed++;
		assert_int_equal(ret, error);
		assert_string_equal(why, sentence);
	}
	assert_true(failed);
}

TEST("a desc that has no lengths is refused")
{
	struct t3_plan_desc d = exchange(T3_ALGORITHM_DIRECT, 0);

	draw(4, 1, 0);
	d.count = 4;
	refuses_layout(&d, 4, -EINVAL, "count is 0 in a plan with lengths, which say it");
	d.count = 0;
	d.collective = T3_ALL_GATHER;
	refuses_layout(&d, 4, -EINVAL, "the collective of a plan with lengths is all-to-all");
	d = exchange(T3_ALGORITHM_HIERARCHICAL, 0);
	refuses_layout(&d, 4, -EINVAL, "the algorithm of an all-to-all is RING or DIRECT");
	d = exchange(T3_ALGORITHM_DIRECT, 4);
	d.tile_rows = 2;
	refuses_layout(&d, 4, -EINVAL, "tile_rows of an all-to-all is 0 or 1");
}

/* Numbers from 64 on would be bits that a mask of segments does not have. */
TEST("a ring that needs too many segments is refused")
{
	struct t3_plan_desc d = exchange(T3_ALGORITHM_RING, 0);
	uint32_t ranks, from, to;

	for (from = 0; from < T3_COMM_RANKS_MAX; from++)
		for (to = 0; to < T3_COMM_RANKS_MAX; to++)
			lengths.send[from][to] = lengths.receive[to][from] = 3;
	check_uneven(&d, 10, &lengths);
	for (ranks = 11; ranks <= T3_COMM_RANKS_MAX; ranks++)
		refuses_layout(&d, ranks, -EFBIG,
			       "lengths need more than 64 segments at a rank: a ring of more than "
			       "10 ranks passes on too many");
	d.algorithm = T3_ALGORITHM_DIRECT;
	check_uneven(&d, T3_COMM_RANKS_MAX, &lengths);
	assert_int_equal(layouts[7].count, 2 * T3_COMM_RANKS_MAX - 1);
}

/* A ring of any size takes a sparse exchange. */
TEST("a large ring takes few pairs")
{
	struct t3_plan_desc d = exchange(T3_ALGORITHM_RING, 0);
	uint32_t r;

	memset(&lengths, 0, sizeof(lengths));
	for (r = 0; r < T3_COMM_RANKS_MAX; r++) {
		lengths.send[r][(r + 9) % T3_COMM_RANKS_MAX] = r + 1;
		lengths.receive[(r + 9) % T3_COMM_RANKS_MAX][r] = r + 1;
	}
	check_uneven(&d, T3_COMM_RANKS_MAX, &lengths);
	assert_int_equal(layouts[0].count, 10);
}

TEST("an array longer than the longest row is refused, and a matrix taken")
{
	struct t3_plan_desc d = exchange(T3_ALGORITHM_DIRECT, 0);

	memset(&lengths, 0, sizeof(lengths));
	lengths.send[0][1] = lengths.receive[1][0] = 1 << 23;
	check_uneven(&d, 2, &lengths);
	lengths.send[0][1] = lengths.receive[1][0] = (1 << 23) + 4096;
	refuses_layout(&d, 2, -EFBIG, "each of the lengths is at most 16 MiB without columns");
	d.columns = 4096;
	d.tile_columns = 4096;
	check_uneven(&d, 2, &lengths);
}

TEST("lengths of more tiles or rows than a space has are refused")
{
	struct t3_plan_desc d = exchange(T3_ALGORITHM_DIRECT, 1);
	const char *why;

	memset(&lengths, 0, sizeof(lengths));
	lengths.send[0][1] = lengths.receive[1][0] = 1 << 20;
	assert_int_equal(t3_layout_make_uneven(&d, &lengths, 0, 2, &layouts[0], &why), 0);
	lengths.send[0][1] = lengths.receive[1][0] = (1 << 20) + 1;
	refuses_layout(
		&d, 2, -EFBIG,
		"lengths need more than 2^20 tiles at a rank: larger tile_columns are needed");
	lengths.send[0][1] = lengths.receive[1][0] = UINT64_C(1) << 32;
	refuses_layout(&d, 2, -EFBIG, "columns and lengths give a chunk more than 2^32 - 1 rows");
}

/* ------------------------------------------------------------- what ranks say */

static struct t3_comm comm;
static struct t3_plan plan;

static void says(int error, const struct t3_plan_desc *d, uint32_t rank, const char *sentence)
{
	comm = (struct t3_comm){ .rank = rank, .ranks = 3 };
	plan = (struct t3_plan){ .comm = &comm, .desc = *d, .lengths = &lengths };
	assert_int_equal(t3_lengths_check(&plan), error);
	assert_string_equal(comm.error, sentence);
}

TEST("lengths above the limits are refused with the entry's name")
{
	const uint64_t most = UINT64_C(1) << 40;
	struct t3_plan_desc d = exchange(T3_ALGORITHM_DIRECT, 0);

	memset(&lengths, 0, sizeof(lengths));
	lengths.send[1][2] = most;
	says(0, &d, 1, "");
	lengths.send[1][2]++;
	says(-EFBIG, &d, 1, "send[2] is 1099511627777 elements, above 2^40");
	lengths.send[1][2] = UINT64_MAX;
	lengths.send[1][0] = 1; /* the sum is 0 again */
	says(-EFBIG, &d, 1, "send[2] is 18446744073709551615 elements, above 2^40");
	lengths.send[1][2] = most;
	says(-EFBIG, &d, 1, "send has 1099511627777 elements in all, above 2^40");
	says(0, &d, 0, "");
	lengths.receive[0][1] = UINT64_MAX;
	says(-EFBIG, &d, 0, "receive[1] is 18446744073709551615 elements, above 2^40");
	d.columns = 4;
	lengths.receive[0][1] = 6;
	says(-EINVAL, &d, 0, "receive[1] is 6 elements, not whole rows of columns 4");
	lengths.receive[0][1] = 8;
	says(0, &d, 0, "");
}

TEST("a length that differs at its two ranks is named with both")
{
	comm = (struct t3_comm){ .ranks = 5 };
	plan = (struct t3_plan){ .comm = &comm, .lengths = &lengths };
	draw(5, 1, 2);
	assert_int_equal(t3_lengths_agree(&plan), 0);
	assert_string_equal(comm.error, "");
	lengths.send[3][4] = 7;
	lengths.receive[4][3] = 9;
	assert_int_equal(t3_lengths_agree(&plan), -EINVAL);
	assert_string_equal(comm.error,
			    "rank 3 sends 7 elements to rank 4 (send[4]), which expects 9 of "
			    "it (receive[3])");
}
