// SPDX-License-Identifier: MIT
/*
 * MPI's collectives with parts of different lengths, truth values, and values with their places, by the
 * component coll/t3:
 *
 *	mpirun -n 4 --mca coll_t3_piece 32768 mpi_parts [t3|next|any]
 *
 * Every result is compared with what it must be, to the last byte of its buffer. The word is as for
 * mpi_collectives.
 */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "checks/checks.h"

/* ---------------------------------------------------------------------- parts */

/* How long the part from one rank to another is, in ints. The same in the other direction. */
enum shape { EQUAL, UNEVEN, LOPSIDED };

static int length_of(enum shape shape, int base, int from, int to)
{
	if (shape == EQUAL)
		return base;
	if (shape == UNEVEN)
		return from + to == 2 ? 0 : base + 5 * from * to + from + to;
	return from + to ? 0 : base * ranks * ranks;
}

/*
 * One side of a call: parts in the other order than the ranks, and ints with gaps at ranks of odd
 * numbers.
 */
struct side {
	int32_t *buf, *wanted; /* what is there, and what has to be there after the call */
	size_t bytes;
	int stride; /* ints from element to element */
	int counts[32], places[32];
	MPI_Datatype type;
};

/* Parts of all ranks with this one, or with `root` < 0 parts that all get, or of a root and all. */
static void make_side(struct side *s, enum shape shape, int base, int other)
{
	MPI_Datatype one;
	int r, end = 2;

	s->stride = 1 + rank % 2;
	for (r = ranks; r-- > 0;) {
		s->counts[r] = length_of(shape, base, r, other < 0 ? r : other);
		s->places[r] = end;
		end += s->counts[r] + 3;
	}
	s->bytes = (size_t)(end * s->stride) * 4;
	s->buf = buffer(s->bytes);
	s->wanted = buffer(s->bytes);
	MPI_Type_vector(1, 1, 1, MPI_INT, &one);
	MPI_Type_create_resized(one, 0, 4 * s->stride, &s->type);
	MPI_Type_commit(&s->type);
	MPI_Type_free(&one);
}

/* The part of one rank for another, at the place of rank `at`. */
static void set_part(int32_t *buf, const struct side *s, int at, int from, int to)
{
	int i;

	for (i = 0; i < s->counts[at]; i++)
		buf[(s->places[at] + i) * s->stride] = from * 1000003 + to * 7919 + i;
}

static void end_side(struct side *s, const char *name, int is_checked)
{
	if (is_checked)
		expect(!memcmp(s->buf, s->wanted, s->bytes + GUARD), name, "wrong ints");
	MPI_Type_free(&s->type);
	free(s->buf);
	free(s->wanted);
}

/* An own part that is alone: at place 0. */
static void make_own(struct side *s, enum shape shape, int base, int other)
{
	make_side(s, shape, base, other);
	s->places[rank] = 0;
}

static void do_allgatherv(enum shape shape, int base, int in_place, int can)
{
	unsigned long long before = done_by_t3("allgatherv");
	struct side own, all;
	int r;

	make_own(&own, shape, base, -1);
	make_side(&all, shape, base, -1);
	set_part(own.buf, &own, rank, rank, 0);
	if (in_place)
		set_part(all.buf, &all, rank, rank, 0);
	for (r = 0; r < ranks; r++)
		set_part(all.wanted, &all, r, r, 0);
	MPI_Allgatherv(in_place ? MPI_IN_PLACE : own.buf, own.counts[rank], own.type, all.buf,
		       all.counts, all.places, all.type, comm);
	end_side(&all, "allgatherv", 1);
	end_side(&own, "allgatherv", 0);
	expect_t3("allgatherv", before, can);
}

static void do_gatherv(enum shape shape, int base, int root, int in_place, int can)
{
	const char *call = shape == EQUAL ? "gather" : "gatherv";
	unsigned long long before = done_by_t3(call);
	struct side own, all;
	const void *from;
	int r;

	make_own(&own, shape, base, -1);
	make_side(&all, shape, base, -1);
	set_part(own.buf, &own, rank, rank, root);
	from = in_place && rank == root ? MPI_IN_PLACE : own.buf;
	for (r = 0; r < ranks; r++) {
		if (shape == EQUAL)
			all.places[r] = r * base;
		if (rank == root)
			set_part(all.wanted, &all, r, r, root);
	}
	if (from == MPI_IN_PLACE)
		set_part(all.buf, &all, rank, rank, root);
	if (shape == EQUAL)
		MPI_Gather(from, base, own.type, rank == root ? all.buf : NULL, base, all.type,
			   root, comm);
	else
		MPI_Gatherv(from, own.counts[rank], own.type, rank == root ? all.buf : NULL,
			    all.counts, all.places, all.type, root, comm);
	end_side(&all, call, 1);
	end_side(&own, call, 0);
	expect_t3(call, before, can);
}

static void do_scatterv(enum shape shape, int base, int root, int in_place, int can)
{
	const char *call = shape == EQUAL ? "scatter" : "scatterv";
	unsigned long long before = done_by_t3(call);
	struct side own, all;
	void *to;
	int r;

	make_own(&own, shape, base, -1);
	make_side(&all, shape, base, -1);
	for (r = 0; r < ranks; r++) {
		if (shape == EQUAL)
			all.places[r] = r * base;
		set_part(all.buf, &all, r, root, r);
	}
	to = in_place && rank == root ? MPI_IN_PLACE : own.buf;
	if (to != MPI_IN_PLACE)
		set_part(own.wanted, &own, rank, root, rank);
	if (shape == EQUAL)
		MPI_Scatter(rank == root ? all.buf : NULL, base, all.type, to, base, own.type, root,
			    comm);
	else
		MPI_Scatterv(rank == root ? all.buf : NULL, all.counts, all.places, all.type, to,
			     own.counts[rank], own.type, root, comm);
	end_side(&own, call, 1);
	end_side(&all, call, 0);
	expect_t3(call, before, can);
}

static void do_alltoallv(enum shape shape, int base, int in_place, int can)
{
	unsigned long long before = done_by_t3("alltoallv");
	struct side in, out;
	int r;

	make_side(&in, shape, base, rank);
	make_side(&out, shape, base, rank);
	for (r = 0; r < ranks; r++) {
		set_part(in.buf, &in, r, rank, r);
		if (in_place)
			set_part(out.buf, &out, r, rank, r);
		set_part(out.wanted, &out, r, r, rank);
	}
	MPI_Alltoallv(in_place ? MPI_IN_PLACE : in.buf, in.counts, in.places, in.type, out.buf,
		      out.counts, out.places, out.type, comm);
	end_side(&out, "alltoallv", 1);
	end_side(&in, "alltoallv", 0);
	expect_t3("alltoallv", before, can);
}

static void parts(int base)
{
	int root, in_place;

	for (in_place = 0; in_place < 2; in_place++) {
		do_allgatherv(EQUAL, base, in_place, 1);
		do_allgatherv(UNEVEN, base, in_place, 1);
		do_alltoallv(EQUAL, base, in_place, 1);
		do_alltoallv(UNEVEN, base, in_place, 1);
		for (root = 0; root < ranks; root++) {
			do_gatherv(EQUAL, base, root, in_place, 1);
			do_gatherv(UNEVEN, base, root, in_place, 1);
			do_scatterv(EQUAL, base, root, in_place, 1);
			do_scatterv(UNEVEN, base, root, in_place, 1);
			do_scatterv(LOPSIDED, base, root, in_place, 1);
		}
	}
}

/*
 * Parts that are too short or too unequal. Then lengths are not exchanged for some calls, which each
 * communicator counts. Open MPI's own MPI_Allgatherv may call MPI_Gatherv, so it has another one.
 */
static void parts_that_are_passed_on(int base)
{
	unsigned long long shorts = counted("why_short"), bytes = counted("why_short_bytes");
	unsigned long long unequal, unasked;
	MPI_Comm whole = comm, other;
	int i;

	do_gatherv(EQUAL, 10, 1, 0, 0);
	do_scatterv(EQUAL, 10, 1, 0, 0);
	expect_counted("why_short", shorts, 2);
	expect_counted("why_short_bytes", bytes, 2 * 40 * (unsigned long long)ranks);
	if (ranks < 3)
		return; /* parts of two ranks are never too unequal */
	MPI_Comm_dup(whole, &other);
	use(other);
	do_allgatherv(UNEVEN, 10, 0, 0);
	do_allgatherv(LOPSIDED, base, 0, 0);
	MPI_Comm_free(&other);
	MPI_Comm_dup(whole, &other);
	use(other);
	unequal = counted("why_parts");
	unasked = counted("why_unasked");
	do_gatherv(LOPSIDED, base, 1, 0, 0);
	do_gatherv(UNEVEN, base, 1, 0, 0);
	do_alltoallv(LOPSIDED, base, 0, 0);
	for (i = 0; i < 3; i++)
		do_alltoallv(UNEVEN, base, 0, 0);
	expect_counted("why_parts", unequal, 2);
	expect_counted("why_unasked", unasked, 4);
	do_alltoallv(UNEVEN, base, 0, 1);
	do_gatherv(LOPSIDED, base, 1, 0, 0);
	do_scatterv(UNEVEN, base, 1, 0, 0);
	do_scatterv(UNEVEN, base, 1, 0, 1);
	MPI_Comm_free(&other);
	use(whole);
}

/* A rank that expects less than it is sent gets an error, and nothing after its buffer. */
static void parts_that_are_too_long(int base)
{
	MPI_Comm other;
	struct side own, all;
	int error, last = ranks - 1, shorter;

	if (by_t3 <= 0)
		return;
	MPI_Comm_dup(comm, &other);
	MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
	make_own(&own, EQUAL, base, -1);
	make_side(&all, EQUAL, base, -1);
	set_part(own.buf, &own, rank, rank, 0);
	all.counts[last] = base / 2;
	memcpy(all.wanted, all.buf, all.bytes);
	error = MPI_Gatherv(own.buf, base, own.type, all.buf, all.counts, all.places, all.type, 0,
			    other);
	expect(rank ? error == MPI_SUCCESS : error == MPI_ERR_TRUNCATE, "gatherv", "no error");
	memset(own.buf, 0xa5, own.bytes);
	error = MPI_Scatterv(all.buf, own.counts, all.places, all.type, own.buf,
			     rank == last ? base / 2 : base, own.type, 0, other);
	expect(rank ? error == MPI_SUCCESS : error == MPI_ERR_TRUNCATE, "scatterv", "no error");
	expect(rank != last || untouched((unsigned char *)&own.buf[base / 2 * own.stride], GUARD),
	       "scatterv", "it wrote after its part");
	/* Of another rank: Open MPI compares a rank's own two parts before. */
	shorter = rank == last ? 0 : last;
	all.counts[last] = base;
	all.counts[shorter] = base / 2;
	memset(all.wanted, 0xa5, all.bytes);
	error = MPI_Alltoallv(all.buf, own.counts, all.places, all.type, all.wanted, all.counts,
			      all.places, all.type, other);
	expect(error == MPI_ERR_TRUNCATE, "alltoallv", "no error");
	expect(untouched(
		       (unsigned char *)&all.wanted[(all.places[shorter] + base / 2) * all.stride],
		       GUARD),
	       "alltoallv", "it wrote after its part");
	end_side(&all, "parts", 0);
	end_side(&own, "parts", 0);
	MPI_Comm_free(&other);
}

/* ---------------------------------------------------------------------- truth and places */

/* Values of a rank of which many are 0, and the others have few bits. */
static int64_t truth(int of, uint64_t i, size_t bytes, int is_bool)
{
	static const int64_t values[] = { 0, 1, 2, -4 };
	int64_t value = values[raw(of, i) & 3];

	if (is_bool)
		return value != 0;
	return bytes == 1 ? value : value * (INT64_C(1) << (4 * bytes));
}

static void do_logical(const char *name, MPI_Datatype type, size_t bytes, int is_bool, int total)
{
	const struct {
		const char *name;
		MPI_Op op;
	} logical[] = { { "land", MPI_LAND }, { "lor", MPI_LOR }, { "lxor", MPI_LXOR } };
	unsigned long long before = done_by_t3("allreduce"), later = done_by_t3("iallreduce");
	char *in = buffer((size_t)total * bytes), *out = buffer((size_t)total * bytes);
	MPI_Request request;
	int64_t value, is;
	int o, i, r, good, wanted, true_ones;

	for (i = 0; i < total; i++) {
		value = truth(rank, (uint64_t)i, bytes, is_bool);
		memcpy(in + (size_t)i * bytes, &value, bytes);
	}
	for (o = 0; o < 6; o++) {
		if (o % 2) {
			memset(out, 0xa5, (size_t)total * bytes);
			MPI_Iallreduce(in, out, total, type, logical[o / 2].op, comm, &request);
			MPI_Wait(&request, MPI_STATUS_IGNORE);
		} else {
			MPI_Allreduce(in, out, total, type, logical[o / 2].op, comm);
		}
		for (i = 0, good = 1; i < total; i++) {
			for (r = 0, true_ones = 0; r < ranks; r++)
				true_ones += truth(r, (uint64_t)i, bytes, is_bool) != 0;
			wanted = o < 2 ? true_ones == ranks : o < 4 ? true_ones > 0 : true_ones % 2;
			is = 0;
			memcpy(&is, out + (size_t)i * bytes, bytes);
			good &= is == wanted;
		}
		expect(good, name, logical[o / 2].name);
	}
	expect(untouched((unsigned char *)out + (size_t)total * bytes, GUARD), name, "too long");
	expect_t3("allreduce", before, 3);
	expect_t3("iallreduce", later, 3);
	free(in);
	free(out);
}

struct int_place {
	int value, place;
};

struct float_place {
	float value;
	int place;
};

/* Few different values, so that many are equal, and the greatest and the least ones. */
static struct int_place place_of(int of, uint64_t i)
{
	static const int values[] = { INT32_MIN, -2, -1, 0, 1, INT32_MAX };
	static const int places[] = { INT32_MIN, -7, 0, 3, INT32_MAX };

	return (struct int_place){ values[(uint32_t)raw(of, i) % 6],
				   places[(uint32_t)raw(of, i + 77) % 5] };
}

static float float_of(int value)
{
	return value == INT32_MIN ? -INFINITY : value == INT32_MAX ? INFINITY : (float)value * 0.1f;
}

static int comes_before(struct int_place a, struct int_place b, int is_greatest)
{
	if (a.value != b.value)
		return is_greatest ? a.value > b.value : a.value < b.value;
	return a.place < b.place;
}

static void do_places(int total, int is_greatest)
{
	unsigned long long before = done_by_t3("allreduce");
	struct int_place *in = buffer((size_t)total * 8), *out = buffer((size_t)total * 8), is, one;
	struct float_place *fin = buffer((size_t)total * 8), *fout = buffer((size_t)total * 8);
	MPI_Op op = is_greatest ? MPI_MAXLOC : MPI_MINLOC;
	int i, r, good = 1;

	for (i = 0; i < total; i++) {
		in[i] = place_of(rank, (uint64_t)i);
		fin[i] = (struct float_place){ float_of(in[i].value), in[i].place };
		if (!fin[i].value && rank % 2)
			fin[i].value = -0.0f;
	}
	MPI_Allreduce(in, out, total, MPI_2INT, op, comm);
	MPI_Allreduce(fin, fout, total, MPI_FLOAT_INT, op, comm);
	for (i = 0; i < total; i++) {
		is = place_of(0, (uint64_t)i);
		for (r = 1; r < ranks; r++) {
			one = place_of(r, (uint64_t)i);
			if (comes_before(one, is, is_greatest))
				is = one;
		}
		good &= out[i].value == is.value && out[i].place == is.place;
		good &= fout[i].value == float_of(is.value) && fout[i].place == is.place;
	}
	expect(good, "minloc and maxloc", "wrong result");
	expect(untouched((unsigned char *)(out + total), GUARD), "minloc and maxloc", "too long");
	expect_t3("allreduce", before, 2);
	free(in);
	free(out);
	free(fin);
	free(fout);
}

static void truth_and_places(int total)
{
	do_logical("MPI_INT", MPI_INT, 4, 0, total);
	do_logical("MPI_UNSIGNED", MPI_UNSIGNED, 4, 0, total);
	do_logical("MPI_LONG", MPI_LONG, 8, 0, total);
	do_logical("MPI_UINT8_T", MPI_UINT8_T, 1, 0, 4 * total);
	do_logical("MPI_C_BOOL", MPI_C_BOOL, 1, 1, 4 * total);
	do_logical("MPI_LOGICAL", MPI_LOGICAL, 4, 1, total);
	do_places(total, 0);
	do_places(total, 1);
}

static void run_all(void)
{
	MPI_Comm other;

	parts(5000);
	parts(20011);
	parts_that_are_passed_on(5000);
	parts_that_are_too_long(5000);
	truth_and_places(5000);
	MPI_Comm_split(comm, 0, -rank, &other); /* in the other order */
	use(other);
	parts(4999);
	MPI_Comm_free(&other);
	use(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	return run_checks(argc, argv, run_all);
}
