// SPDX-License-Identifier: MIT
/*
 * MPI's collectives with the component coll/t3, against the same ones computed here:
 *
 *	mpirun -n 4 --mca coll_t3_piece 32768 mpi_collectives [t3|next|any]
 *	mpirun -n 4 mpi_collectives t3 long
 *
 * All functions that the component has run with each type, operation and length, also in place, with
 * datatypes that have gaps, on communicators of other ranks, orders and lives. Results of integers and
 * of min and max have given bits. Sums of floats are within the bound of any order. The word says who
 * has to do the calls that a device can do: T3 (the default), which the component's counters must
 * show, the next component, or anyone. With `long` messages are longer than small devices have room for
 * at once.
 */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checks/checks.h"

/* ---------------------------------------------------------------------- data */

enum kind { I8, U8, I32, U32, I64, U64, F32, F64 };

struct type {
	const char *name;
	MPI_Datatype type;
	enum kind kind;
	size_t bytes;
};

struct op {
	const char *name;
	MPI_Op op;
	char code;
};

static size_t bytes_of(enum kind kind)
{
	return kind <= U8 ? 1 : kind == I64 || kind == U64 || kind == F64 ? 8 : 4;
}

static void set(void *buf, enum kind kind, uint64_t at, int64_t value)
{
	if (kind == I64 || kind == U64)
		value = (int64_t)((uint64_t)value * 0x100000003u);
	/* A sum of 32 of them has no overflow: Open MPI's own sums of bytes may saturate. */
	if (bytes_of(kind) == 1)
		value = kind == U8 ? value & 7 : value % 4;
	/* Open MPI 4.1.4's own maximum of these is wrong from 2^63 on. */
	if (kind == U64)
		value &= INT64_MAX;
	switch (kind) {
	case F32:
		((float *)buf)[at] = (float)value / 1e9f;
		break;
	case F64:
		((double *)buf)[at] = (double)value / 1e9;
		break;
	default: /* little-endian: the low bytes */
		memcpy((char *)buf + at * bytes_of(kind), &value, bytes_of(kind));
	}
}

static void fill(void *buf, enum kind kind, uint64_t count, int of)
{
	uint64_t i;

	for (i = 0; i < count; i++)
		set(buf, kind, i, raw(of, i));
}

static double as_double(const void *buf, enum kind kind, uint64_t at)
{
	return kind == F32 ? (double)((const float *)buf)[at] : ((const double *)buf)[at];
}

/* An integer's bits, with the sign or zeros above them. */
static uint64_t as_bits(const void *buf, enum kind kind, uint64_t at)
{
	uint64_t bits = 0, size = bytes_of(kind);

	memcpy(&bits, (const char *)buf + at * size, size);
	if ((kind == I8 || kind == I32) && bits >> (8 * size - 1))
		bits |= UINT64_MAX << (8 * size - 1);
	return bits;
}

static uint64_t combine(uint64_t a, uint64_t b, enum kind kind, char code)
{
	int less = kind == U64 ? a < b : (int64_t)a < (int64_t)b;

	switch (code) {
	case '+':
		return a + b;
	case '*':
		return a * b;
	case '&':
		return a & b;
	case '|':
		return a | b;
	case '^':
		return a ^ b;
	default:
		return less == (code == '<') ? a : b;
	}
}

static int right_integer(const void *got, uint64_t place, enum kind kind, char code, uint64_t at)
{
	uint64_t result = 0, one;
	int r;

	for (r = 0; r < ranks; r++) {
		set(&one, kind, 0, raw(r, at));
		result = r ? combine(result, as_bits(&one, kind, 0), kind, code)
			   : as_bits(&one, kind, 0);
	}
	return !memcmp(&result, (const char *)got + place * bytes_of(kind), bytes_of(kind));
}

/* Whether element `at` of all ranks' reduction may be what got[place] is. */
static int right(const void *got, uint64_t place, enum kind kind, char code, uint64_t at)
{
	double unit = kind == F32 ? 0x1p-24 : 0x1p-53, value, result = 0, size = 0, is;
	int64_t one[1];
	int r;

	if (kind < F32)
		return right_integer(got, place, kind, code, at);
	is = as_double(got, kind, place);
	for (r = 0; r < ranks; r++) {
		set(one, kind, 0, raw(r, at));
		value = as_double(one, kind, 0);
		size += fabs(value);
		if (!r)
			result = value;
		else if (code == '+')
			result += value;
		else if (code == '*')
			result *= value;
		else
			result = code == '<' ? fmin(result, value) : fmax(result, value);
	}
	if (code == '<' || code == '>')
		return is == result;
	/* Each of ranks - 1 operations rounds once, to half a unit in the last place. */
	if (code == '*')
		return fabs(is - result) <= fabs(result) * (ranks - 1) * unit * 2.1;
	return fabs(is - result) <= size * (ranks - 1) * unit * 1.01;
}

static int all_right(const void *got, enum kind kind, char code, uint64_t from, uint64_t count)
{
	uint64_t i;

	for (i = 0; i < count; i++)
		if (!right(got, i, kind, code, from + i))
			return 0;
	return 1;
}

/* ---------------------------------------------------------------------- reductions */

/* One reduction of `total` elements, which a device can or cannot do. */
struct task {
	const struct type *type;
	const struct op *op;
	uint64_t total;
	int in_place;
	int can;
	char name[160];
};

static void check_result(const struct task *t, const void *out, uint64_t from, uint64_t count)
{
	expect(all_right(out, t->type->kind, t->op->code, from, count), t->name, "wrong result");
	expect(untouched((const unsigned char *)out + t->total * t->type->bytes, GUARD), t->name,
	       "it wrote behind its buffer");
}

/* Elements of the kind in one of MPI's: a complex number has two. */
static int each(const struct task *t)
{
	int size;

	MPI_Type_size(t->type->type, &size);
	return size / (int)t->type->bytes;
}

/* The count for MPI of that many elements of the kind. */
static int mpi_count(const struct task *t, uint64_t elements)
{
	return (int)elements / each(t);
}

static const void *input(const struct task *t, void *in, void *out)
{
	fill(t->in_place ? out : in, t->type->kind, t->total, rank);
	return t->in_place ? MPI_IN_PLACE : in;
}

static void do_allreduce(const struct task *t, void *in, void *out)
{
	unsigned long long before = done_by_t3("allreduce");
	const void *from = input(t, in, out);

	MPI_Allreduce(from, out, mpi_count(t, t->total), t->type->type, t->op->op, comm);
	check_result(t, out, 0, t->total);
	expect_t3("allreduce", before, t->can);
}

static void do_reduce(const struct task *t, void *in, void *out)
{
	unsigned long long before = done_by_t3("reduce");
	int root = ranks - 1, in_place = t->in_place && rank == root;
	const void *from = input(t, in, out);

	if (t->in_place && !in_place)
		from = out;
	MPI_Reduce(from, in_place || rank == root ? out : NULL, mpi_count(t, t->total),
		   t->type->type, t->op->op, root, comm);
	if (rank == root)
		check_result(t, out, 0, t->total);
	expect_t3("reduce", before, t->can);
}

static void do_reduce_scatter_block(const struct task *t, void *in, void *out)
{
	unsigned long long before = done_by_t3("reduce_scatter_block");
	uint64_t part = t->total / (uint64_t)ranks;
	const void *from = input(t, in, out);

	MPI_Reduce_scatter_block(from, out, mpi_count(t, part), t->type->type, t->op->op, comm);
	check_result(t, out, (uint64_t)rank * part, part);
	expect_t3("reduce_scatter_block", before, t->can);
}

/* The first part gives that many of its elements to the last one. */
static void do_reduce_scatter(const struct task *t, void *in, void *out, int given)
{
	unsigned long long before = done_by_t3("reduce_scatter"), bytes = counted("t3_bytes");
	uint64_t part = t->total / (uint64_t)ranks, from_element;
	const void *from = input(t, in, out);
	int counts[32], i;

	for (i = 0; i < ranks; i++)
		counts[i] = mpi_count(t, part);
	counts[0] -= mpi_count(t, (uint64_t)given);
	counts[ranks - 1] += mpi_count(t, (uint64_t)given);
	from_element = (uint64_t)rank * part - (uint64_t)(rank ? given : 0);
	MPI_Reduce_scatter(from, out, counts, t->type->type, t->op->op, comm);
	check_result(t, out, from_element, (uint64_t)counts[rank] * (uint64_t)each(t));
	expect_t3("reduce_scatter", before, t->can);
	expect_counted("t3_bytes", bytes, t->can ? t->total * t->type->bytes : 0);
}

/* ---------------------------------------------------------------------- not blocking */

#define FLIGHTS 5

/*
 * Several at a time, behind each other and behind a blocking one. Rank 0 begins them before it sends
 * the message that the others wait for before they begin.
 */
static void do_later(const struct task *t)
{
	unsigned long long before[3] = { done_by_t3("iallreduce"), done_by_t3("ireduce"),
					 done_by_t3("ireduce_scatter_block") };
	uint64_t part = t->total / (uint64_t)ranks, i;
	MPI_Request requests[FLIGHTS];
	void *in = buffer(t->total * 4), *out[FLIGHTS], *last_out = buffer(t->total * 4);
	int token = 0, root = ranks - 1, f;

	for (f = 0; f < FLIGHTS; f++)
		out[f] = buffer(t->total * 4);
	fill(in, t->type->kind, t->total, rank);
	fill(out[1], t->type->kind, t->total, rank);
	if (rank)
		MPI_Recv(&token, 1, MPI_INT, 0, 2, comm, MPI_STATUS_IGNORE);
	MPI_Iallreduce(in, out[0], (int)t->total, t->type->type, t->op->op, comm, &requests[0]);
	MPI_Iallreduce(MPI_IN_PLACE, out[1], (int)t->total, t->type->type, t->op->op, comm,
		       &requests[1]);
	MPI_Ireduce(in, rank == root ? out[2] : NULL, (int)t->total, t->type->type, t->op->op, root,
		    comm, &requests[2]);
	MPI_Ireduce_scatter_block(in, out[3], (int)part, t->type->type, t->op->op, comm,
				  &requests[3]);
	MPI_Ibarrier(comm, &requests[4]);
	for (f = 1; !rank && f < ranks; f++)
		MPI_Send(&token, 1, MPI_INT, f, 2, comm);
	if (t->in_place)
		MPI_Waitall(FLIGHTS, requests, MPI_STATUSES_IGNORE);
	MPI_Allreduce(in, last_out, (int)t->total, t->type->type, t->op->op, comm);
	if (!t->in_place)
		MPI_Waitall(FLIGHTS, requests, MPI_STATUSES_IGNORE);
	check_result(t, out[0], 0, t->total);
	check_result(t, out[1], 0, t->total);
	if (rank == root)
		check_result(t, out[2], 0, t->total);
	check_result(t, out[3], (uint64_t)rank * part, part);
	check_result(t, last_out, 0, t->total);
	expect_t3("iallreduce", before[0], 2 * t->can);
	expect_t3("ireduce", before[1], t->can);
	expect_t3("ireduce_scatter_block", before[2], t->can);
	for (i = 0; i < FLIGHTS; i++)
		free(out[i]);
	free(in);
	free(last_out);
}

static void not_blocking(const struct type *type, const struct op *op, uint64_t total, int can)
{
	struct task t = { .type = type, .op = op, .total = total, .can = can };

	/* The first round ends with a blocking call, so the second one has a plan. */
	for (t.in_place = 0; t.in_place < 1 + can; t.in_place++) {
		snprintf(t.name, sizeof(t.name), "%s of %s, %llu elements, not blocking", op->name,
			 type->name, (unsigned long long)total);
		do_later(&t);
	}
}

static void reductions(const struct type *type, const struct op *op, uint64_t total, int can)
{
	struct task t = { .type = type, .op = op, .can = can };
	void *in = buffer(total * type->bytes), *out = buffer(total * type->bytes);

	for (t.in_place = 0; t.in_place < 2; t.in_place++) {
		snprintf(t.name, sizeof(t.name), "%s of %s, %llu elements%s", op->name, type->name,
			 (unsigned long long)total, t.in_place ? ", in place" : "");
		t.total = total;
		do_allreduce(&t, in, out);
		do_reduce(&t, in, out);
		t.total = total - total % (uint64_t)ranks;
		memset((char *)out + t.total * type->bytes, 0xa5, GUARD);
		do_reduce_scatter_block(&t, in, out);
		do_reduce_scatter(&t, in, out, 0);
		do_reduce_scatter(&t, in, out, each(&t));
		do_reduce_scatter(&t, in, out, (int)t.total / ranks);
		memset((char *)out + t.total * type->bytes, 0xa5, GUARD);
	}
	free(in);
	free(out);
}

/* ---------------------------------------------------------------------- moves */

/* Byte i of what rank `from` sends to rank `to`. */
static unsigned char byte_at(int from, int to, size_t i)
{
	return (unsigned char)((size_t)from * 7 + (size_t)to * 13 + i + (i >> 8));
}

static void fill_block(unsigned char *at, int from, int to, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		at[i] = byte_at(from, to, i);
}

static int is_block(const unsigned char *at, int from, int to, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes && at[i] == byte_at(from, to, i); i++)
		;
	return i == bytes;
}

static void check_blocks(const char *name, const unsigned char *out, int to, size_t bytes)
{
	int good = 1, r;

	for (r = 0; r < ranks; r++)
		good &= is_block(out + (size_t)r * bytes, r, to < 0 ? 0 : to, bytes);
	expect(good, name, "wrong bytes");
	expect(untouched(out + (size_t)ranks * bytes, GUARD), name, "it wrote behind its buffer");
}

static void do_allgather(size_t bytes, int in_place, int can)
{
	unsigned long long before = done_by_t3("allgather");
	unsigned char *in = buffer(bytes), *out = buffer(bytes * (size_t)ranks);

	fill_block(in_place ? out + (size_t)rank * bytes : in, rank, 0, bytes);
	MPI_Allgather(in_place ? MPI_IN_PLACE : in, (int)bytes, MPI_BYTE, out, (int)bytes, MPI_BYTE,
		      comm);
	check_blocks("allgather", out, -1, bytes);
	expect_t3("allgather", before, can);
	free(in);
	free(out);
}

static void do_alltoall(size_t bytes, int in_place, int can)
{
	unsigned long long before = done_by_t3("alltoall");
	unsigned char *in = buffer(bytes * (size_t)ranks), *out = buffer(bytes * (size_t)ranks);
	int r;

	for (r = 0; r < ranks; r++)
		fill_block((in_place ? out : in) + (size_t)r * bytes, rank, r, bytes);
	MPI_Alltoall(in_place ? MPI_IN_PLACE : in, (int)bytes, MPI_BYTE, out, (int)bytes, MPI_BYTE,
		     comm);
	check_blocks("alltoall", out, rank, bytes);
	expect_t3("alltoall", before, can);
	free(in);
	free(out);
}

static void do_bcast(size_t bytes, int root, int can)
{
	unsigned long long before = done_by_t3("bcast");
	unsigned char *buf = buffer(bytes);

	if (rank == root)
		fill_block(buf, root, 5, bytes);
	MPI_Bcast(buf, (int)bytes, MPI_BYTE, root, comm);
	expect(is_block(buf, root, 5, bytes), "bcast", "wrong bytes");
	expect(untouched(buf + bytes, GUARD), "bcast", "it wrote behind its buffer");
	expect_t3("bcast", before, can);
	free(buf);
}

/* Each rank has another datatype for the same bytes: two ints of three, or just ints. */
static void do_gaps(int pairs)
{
	unsigned long long before = done_by_t3("bcast");
	int root = 1, i, good = 1, stride = rank % 2 ? 3 : 2;
	int32_t *buf = buffer((size_t)pairs * 12);
	MPI_Datatype type;

	MPI_Type_vector(pairs, 2, stride, MPI_INT, &type);
	MPI_Type_commit(&type);
	for (i = 0; i < 2 * pairs && rank == root; i++)
		buf[i / 2 * stride + i % 2] = i * 3 + 1;
	MPI_Bcast(buf, 1, type, root, comm);
	for (i = 0; i < 2 * pairs; i++)
		good &= buf[i / 2 * stride + i % 2] == i * 3 + 1;
	for (i = 0; i < pairs - 1 && stride == 3; i++)
		good &= untouched((unsigned char *)&buf[i * 3 + 2], 4);
	expect(good, "bcast of a type with gaps", "wrong elements");
	expect_t3("bcast", before, 1);
	MPI_Type_free(&type);
	free(buf);
}

/* Blocks with gaps from and to each rank. */
static void do_gaps_between(int count, int gather)
{
	unsigned long long before = done_by_t3(gather ? "allgather" : "alltoall");
	int32_t *in = buffer((size_t)(count * ranks) * 8),
		*out = buffer((size_t)(count * ranks) * 8);
	int i, good = 1, blocks = gather ? 1 : ranks;
	MPI_Datatype one, gappy;

	MPI_Type_vector(1, 1, 1, MPI_INT, &one);
	MPI_Type_create_resized(one, 0, 8, &gappy);
	MPI_Type_commit(&gappy);
	for (i = 0; i < count * blocks; i++)
		in[2 * i] = rank * 1000003 + i;
	if (gather)
		MPI_Allgather(in, count, gappy, out, count, gappy, comm);
	else
		MPI_Alltoall(in, count, gappy, out, count, gappy, comm);
	for (i = 0; i < count * ranks; i++) {
		good &= out[2 * i] == i / count * 1000003 + i % count + (gather ? 0 : rank * count);
		good &= untouched((unsigned char *)&out[2 * i + 1], 4);
	}
	expect(good, gather ? "allgather with gaps" : "alltoall with gaps", "wrong elements");
	expect_t3(gather ? "allgather" : "alltoall", before, 1);
	MPI_Type_free(&one);
	MPI_Type_free(&gappy);
	free(in);
	free(out);
}

/* A type whose two blocks have addresses of their own, from MPI_BOTTOM on. */
static void do_bottom(int count)
{
	unsigned long long before = done_by_t3("bcast");
	int32_t *block[2] = { buffer((size_t)count * 4), buffer((size_t)count * 4) };
	int lengths[2] = { count, count }, root = ranks - 1, i, b, good = 1;
	MPI_Datatype type;
	MPI_Aint at[2];

	for (b = 0; b < 2; b++) {
		MPI_Get_address(block[b], &at[b]);
		for (i = 0; i < count && rank == root; i++)
			block[b][i] = b * 1000003 + i;
	}
	MPI_Type_create_hindexed(2, lengths, at, MPI_INT, &type);
	MPI_Type_commit(&type);
	MPI_Bcast(MPI_BOTTOM, 1, type, root, comm);
	for (b = 0; b < 2; b++) {
		for (i = 0; i < count; i++)
			good &= block[b][i] == b * 1000003 + i;
		good &= untouched((unsigned char *)&block[b][count], GUARD);
		free(block[b]);
	}
	expect(good, "bcast from MPI_BOTTOM", "wrong elements");
	expect_t3("bcast", before, 1);
	MPI_Type_free(&type);
}

static void moves(size_t bytes, int can)
{
	int root, in_place;

	for (in_place = 0; in_place < 2; in_place++) {
		do_allgather(bytes / (size_t)ranks, in_place, can);
		do_alltoall(bytes / (size_t)ranks, in_place, can);
	}
	for (root = 0; root < ranks; root++)
		do_bcast(bytes, root, can);
}

/* ---------------------------------------------------------------------- what is passed on */

static void last(void *in, void *inout, int *count, MPI_Datatype *type)
{
	(void)type;
	memcpy(inout, in, (size_t)*count * 4);
}

static void other_ops(uint64_t total)
{
	unsigned long long before = done_by_t3("allreduce");
	unsigned long long own = counted("why_own_op"), types = counted("why_type");
	unsigned long long not_for = counted("why_op");
	unsigned long long functions = counted("why_function");
	int32_t *in = buffer(total * 4), *out = buffer(total * 4);
	void *wide_in = buffer(total * 4), *wide_out = buffer(total * 4);
	uint64_t i, good = 0;
	MPI_Op op;

	for (i = 0; i < total; i++)
		in[i] = rank + (int)i;
	MPI_Op_create(last, 0, &op);
	MPI_Allreduce(in, out, (int)total, MPI_INT, op, comm);
	for (i = 0; i < total; i++)
		good += out[i] == (int)i || out[i] == ranks - 1 + (int)i;
	expect(good == total, "an operation of the program's", "wrong result");
	MPI_Op_free(&op);
	MPI_Allreduce(in, out, 0, MPI_INT, MPI_SUM, comm);
	expect_t3("allreduce", before, 0);
	expect_counted("why_own_op", own, 1);
	memset(wide_in, 0, total * 4);
	MPI_Allreduce(wide_in, wide_out, (int)total / 2, MPI_C_FLOAT_COMPLEX, MPI_PROD, comm);
	expect_counted("why_op", not_for, 1);
	MPI_Allreduce(wide_in, wide_out, (int)total / 4, MPI_LONG_DOUBLE, MPI_SUM, comm);
	expect_counted("why_type", types, 1);
	MPI_Scan(in, out, (int)total, MPI_INT, MPI_SUM, comm);
	MPI_Exscan(in, out, (int)total, MPI_INT, MPI_SUM, comm);
	MPI_Barrier(comm);
	expect_counted("why_function", functions, 3);
	free(wide_in);
	free(wide_out);
	free(in);
	free(out);
}

/* ---------------------------------------------------------------------- communicators */

static const struct op ops[] = { { "sum", MPI_SUM, '+' },   { "min", MPI_MIN, '<' },
				 { "max", MPI_MAX, '>' },   { "prod", MPI_PROD, '*' },
				 { "band", MPI_BAND, '&' }, { "bor", MPI_BOR, '|' },
				 { "bxor", MPI_BXOR, '^' } };

static void types_and_ops(uint64_t total)
{
	const struct type types[] = {
		{ "MPI_INT", MPI_INT, I32, 4 },
		{ "MPI_FLOAT", MPI_FLOAT, F32, 4 },
		{ "MPI_DOUBLE", MPI_DOUBLE, F64, 8 },
		{ "MPI_UNSIGNED", MPI_UNSIGNED, U32, 4 },
		{ "MPI_LONG", MPI_LONG, I64, 8 },
		{ "MPI_UNSIGNED_LONG", MPI_UNSIGNED_LONG, U64, 8 },
		{ "MPI_INT8_T", MPI_INT8_T, I8, 1 },
		{ "MPI_UINT8_T", MPI_UINT8_T, U8, 1 },
		{ "MPI_INTEGER", MPI_INTEGER, I32, 4 },
		{ "MPI_REAL", MPI_REAL, F32, 4 },
		{ "MPI_DOUBLE_PRECISION", MPI_DOUBLE_PRECISION, F64, 8 },
		{ "MPI_INT64_T", MPI_INT64_T, I64, 8 },
	};
	size_t t, o, count = sizeof(ops) / sizeof(*ops);

	/*
	 * The first eight are types of the device. Another handle is one of these. Bytes are more
	 * elements, as thresholds count bytes, and have no products, whose overflow may saturate.
	 */
	for (t = 0; t < sizeof(types) / sizeof(*types); t++)
		for (o = 0; o < (t < 8 ? types[t].kind < F32 ? count : 4 : 1); o++)
			if (types[t].bytes > 1 || ops[o].code != '*')
				reductions(&types[t], &ops[o],
					   types[t].bytes > 1 ? total : 4 * total, 1);
}

/* Complex numbers are pairs of floats, and 16-bit integers pairs of bytes for bits. */
static void pairs(void)
{
	const struct type complexes[] = {
		{ "MPI_C_FLOAT_COMPLEX", MPI_C_FLOAT_COMPLEX, F32, 4 },
		{ "MPI_COMPLEX", MPI_COMPLEX, F32, 4 },
		{ "MPI_C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX, F64, 8 },
		{ "MPI_DOUBLE_COMPLEX", MPI_DOUBLE_COMPLEX, F64, 8 },
	};
	const struct type shorts = { "MPI_INT16_T", MPI_INT16_T, U8, 1 };
	uint64_t total = 2400 * (uint64_t)ranks; /* parts of whole pairs */
	size_t i;

	for (i = 0; i < sizeof(complexes) / sizeof(*complexes); i++)
		reductions(&complexes[i], &ops[0], total, 1);
	for (i = 4; i < 7; i++)
		reductions(&shorts, &ops[i], 4 * total, 1);
}

static const struct type floats = { "MPI_FLOAT", MPI_FLOAT, F32, 4 };

/* A communicator of all ranks in the other order, and communicators that come and go. */
static void other_orders(void)
{
	MPI_Comm world = comm, other;
	int i;

	MPI_Comm_split(world, 0, -rank, &other);
	MPI_Comm_set_name(other, ""); /* a message about it has to call it something */
	use(other);
	reductions(&floats, &ops[0], 5003, 1);
	moves(20001, 1);
	MPI_Comm_free(&other);
	use(world);
	for (i = 0; i < 3; i++) {
		MPI_Comm_dup(world, &other);
		use(other);
		reductions(&floats, &ops[0], 5000, 1);
		MPI_Comm_free(&other);
		use(world);
	}
}

/* Neighbours have a link in each topology, so two ranks of a half are T3's. One rank alone is not. */
static void halves(void)
{
	MPI_Comm world = comm, half;
	int all = ranks;

	/* Where a rank of the world has no device, both of a half may have one. */
	if (!by_t3)
		by_t3 = -1;
	MPI_Comm_split(world, rank / 2, rank, &half);
	use(half);
	if (ranks == 2) {
		reductions(&floats, &ops[0], 5002, 1);
		moves(20000, 1);
	}
	MPI_Comm_free(&half);
	use(world);
	/* Those that have no link: MPI carries it, or T3 on a full fabric. */
	if (all == 4 && by_t3 > 0)
		by_t3 = -1;
	MPI_Comm_split(world, rank % 2, rank, &half);
	use(half);
	if (ranks == 2)
		reductions(&floats, &ops[0], 5002, 1);
	MPI_Comm_free(&half);
	use(world);
}

/* A rank that waits in a collective still sends what another one needs to come. */
static void progress(void)
{
	enum { BYTES = 1 << 20 };
	unsigned char *message = buffer(BYTES);
	float *in = buffer(20000), *out = buffer(20000);
	MPI_Request request;
	int next = (rank + 1) % ranks, i;

	fill(in, F32, 5000, rank);
	for (i = 0; i < 2; i++) {
		if (rank == 0) {
			MPI_Isend(message, BYTES, MPI_BYTE, next, 1, comm, &request);
			MPI_Allreduce(in, out, 5000, MPI_FLOAT, MPI_SUM, comm);
			MPI_Wait(&request, MPI_STATUS_IGNORE);
		} else {
			if (rank == 1)
				MPI_Recv(message, BYTES, MPI_BYTE, 0, 1, comm, MPI_STATUS_IGNORE);
			MPI_Allreduce(in, out, 5000, MPI_FLOAT, MPI_SUM, comm);
		}
	}
	expect(all_right(out, F32, '+', 0, 5000), "a message during an all-reduce", "wrong result");
	free(message);
	free(in);
	free(out);
}

/*
 * The first call on a communicator does not block, so nobody has made its plan. A short one would
 * need none.
 */
static void too_early(void)
{
	unsigned long long early, shorts;
	MPI_Request requests[2];
	MPI_Comm world = comm, other;
	int in[5000], out[5000], sum, i, good = 1;

	MPI_Comm_dup(world, &other);
	early = counted("why_early");
	shorts = counted("why_short");
	for (i = 0; i < 5000; i++)
		in[i] = rank + i;
	MPI_Iallreduce(in, out, 5000, MPI_INT, MPI_MAX, other, &requests[0]);
	MPI_Iallreduce(in, &sum, 1, MPI_INT, MPI_MAX, other, &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	for (i = 0; i < 5000; i++)
		good &= out[i] == ranks - 1 + i;
	expect(good && sum == ranks - 1, "the first call does not block", "wrong result");
	expect_counted("why_early", early, 1);
	expect_counted("why_short", shorts, 1);
	MPI_Comm_free(&other);
}

/* MPI_Comm_idup has messages of its own on the communicator while sums go on there. */
static void sums_during_a_duplication(void)
{
	int sum, good = 1, i;
	MPI_Request request;
	MPI_Comm other;

	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, comm);
	MPI_Comm_idup(comm, &other, &request);
	for (i = 0; i < 10; i++) {
		int mine = i + rank;

		MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_MAX, comm);
		good &= sum == i + ranks - 1;
	}
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, other);
	good &= sum == ranks * (ranks - 1) / 2;
	expect(good, "sums during MPI_Comm_idup", "wrong result");
	MPI_Comm_free(&other);
}

/*
 * On a ring rank 0 is done when the next rank has its data. It frees the communicator before the last
 * rank comes, and longer before than libt3 gives ranks to come when one has left.
 */
static void a_rank_leaves_first(void)
{
	enum { WORDS = 5003, LATE = 4 };
	uint32_t *data = buffer(WORDS * sizeof(*data)), i;
	int good = 1, last = rank == ranks - 1, late;
	MPI_Comm other;

	MPI_Comm_dup(comm, &other);
	for (late = 0; late < 2; late++) {
		for (i = 0; i < WORDS; i++)
			data[i] = rank ? UINT32_MAX : i + (uint32_t)late;
		if (late && last && by_t3)
			sleep(LATE);
		MPI_Bcast(data, WORDS, MPI_UINT32_T, 0, other);
		for (i = 0; i < WORDS; i++)
			good &= data[i] == i + (uint32_t)late;
	}
	MPI_Comm_free(&other);
	expect(good, "a broadcast whose root leaves first", "wrong result");
	free(data);
}

static void run_all(void)
{
	int always = by_t3;

	types_and_ops(4099); /* just over 16 KiB, and no multiple of anything */
	pairs();
	reductions(&floats, &ops[0], 20011, 1); /* several pieces */
	reductions(&floats, &ops[0], 10, 0);
	not_blocking(&floats, &ops[0], 20011, 1); /* with the plans of blocking calls */
	not_blocking(&floats, &ops[0], 6000, 0);
	moves(16384 + 64, 1);
	moves(150003, 1);
	moves(1000, 0);
	do_gaps(5000);
	do_gaps_between(5000, 1);
	do_gaps_between(5000, 0);
	do_bottom(5000);
	other_ops(5000);
	progress();
	too_early();
	sums_during_a_duplication();
	other_orders();
	halves();
	a_rank_leaves_first();
	by_t3 = always;
}

static void long_ones(void)
{
	reductions(&floats, &ops[0], (1 << 21) + 3, 1);
}

int main(int argc, char **argv)
{
	int is_long = argc > 2 && !strcmp(argv[2], "long");

	return run_checks(argc, argv, is_long ? long_ones : run_all);
}
