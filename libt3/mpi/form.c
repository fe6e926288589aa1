// SPDX-License-Identifier: MIT
/*
 * Elements that the device needs in another form than MPI has them. Both have the same size.
 *
 * Truth: any value but 0 is true in C, and a device combines bits. So true becomes 1.
 *
 * A value with its place (MPI_MINLOC and MPI_MAXLOC): one signed number of 64 bits, with the value
 * above the place. Of equal values MPI wants the lowest place. So the place counts upwards for the
 * least number, and downwards for the greatest. A float's bits become an integer of the same order,
 * in which both zeros are one.
 */
#include <string.h>

#include "coll_t3.h"

/* ---------------------------------------------------------------------- truth */

static void truth_8(void *to, const void *from, uint64_t count)
{
	const uint8_t *f = from;
	uint8_t *t = to;
	uint64_t i;

	for (i = 0; i < count; i++)
		t[i] = f[i] != 0;
}

static void truth_32(void *to, const void *from, uint64_t count)
{
	const uint32_t *f = from;
	uint32_t *t = to;
	uint64_t i;

	for (i = 0; i < count; i++)
		t[i] = f[i] != 0;
}

static void truth_64(void *to, const void *from, uint64_t count)
{
	const uint64_t *f = from;
	uint64_t *t = to;
	uint64_t i;

	for (i = 0; i < count; i++)
		t[i] = f[i] != 0;
}

const struct coll_t3_form coll_t3_truth_8 = { .in = truth_8 };
const struct coll_t3_form coll_t3_truth_32 = { .in = truth_32 };
const struct coll_t3_form coll_t3_truth_64 = { .in = truth_64 };

/* ---------------------------------------------------------------------- a value with its place */

/* Of MPI_2INT and MPI_FLOAT_INT. */
struct pair {
	uint32_t value; /* its bits */
	uint32_t place;
};

#define SIGN	  0x80000000u
#define UPWARDS	  SIGN	/* signed places in the order of unsigned numbers */
#define DOWNWARDS ~SIGN /* and in the other order */

/* Negative floats have their order turned around. This is its own inverse. */
static uint32_t ordered(uint32_t bits)
{
	return bits & SIGN ? bits ^ ~SIGN : bits;
}

static uint32_t float_value(uint32_t bits)
{
	return bits == SIGN ? 0 : ordered(bits);
}

static void join(uint64_t *to, const struct pair *from, uint64_t count, bool is_float,
		 uint32_t turn)
{
	uint32_t value;
	uint64_t i;

	for (i = 0; i < count; i++) {
		value = is_float ? float_value(from[i].value) : from[i].value;
		to[i] = (uint64_t)value << 32 | (from[i].place ^ turn);
	}
}

static void split(struct pair *to, const uint64_t *from, uint64_t count, bool is_float,
		  uint32_t turn)
{
	uint32_t value;
	uint64_t i;

	for (i = 0; i < count; i++) {
		value = (uint32_t)(from[i] >> 32);
		to[i].value = is_float ? ordered(value) : value;
		to[i].place = (uint32_t)from[i] ^ turn;
	}
}

static void join_least_int(void *to, const void *from, uint64_t count)
{
	join(to, from, count, false, UPWARDS);
}

static void split_least_int(void *to, const void *from, uint64_t count)
{
	split(to, from, count, false, UPWARDS);
}

static void join_greatest_int(void *to, const void *from, uint64_t count)
{
	join(to, from, count, false, DOWNWARDS);
}

static void split_greatest_int(void *to, const void *from, uint64_t count)
{
	split(to, from, count, false, DOWNWARDS);
}

static void join_least_float(void *to, const void *from, uint64_t count)
{
	join(to, from, count, true, UPWARDS);
}

static void split_least_float(void *to, const void *from, uint64_t count)
{
	split(to, from, count, true, UPWARDS);
}

static void join_greatest_float(void *to, const void *from, uint64_t count)
{
	join(to, from, count, true, DOWNWARDS);
}

static void split_greatest_float(void *to, const void *from, uint64_t count)
{
	split(to, from, count, true, DOWNWARDS);
}

const struct coll_t3_form coll_t3_least_int = { join_least_int, split_least_int };
const struct coll_t3_form coll_t3_greatest_int = { join_greatest_int, split_greatest_int };
const struct coll_t3_form coll_t3_least_float = { join_least_float, split_least_float };
const struct coll_t3_form coll_t3_greatest_float = { join_greatest_float, split_greatest_float };
