/* SPDX-License-Identifier: MIT */
/* SPEC.md 4, computed a second time from values, independently of any device. */
#ifndef T3_CONFORMANCE_REFERENCE_H
#define T3_CONFORMANCE_REFERENCE_H

#include <stdint.h>

struct conf;
struct conf_device;

unsigned reference_bytes(uint32_t dtype);
uint64_t reference_identity(uint32_t op, uint32_t dtype);
/* A small number of either sign; of an unsigned type modulo its size. */
uint64_t reference_number(uint32_t dtype, int number);
/* m = op(m, v) */
uint64_t reference_update(uint32_t op, uint32_t dtype, uint64_t m, uint64_t v);

/* The nearest value of another type of float, ties to even. */
uint64_t reference_convert(uint32_t from, uint32_t to, uint64_t word);

/* T3_CAP_* that an op on a type needs; REFERENCE_NEVER: no device has it. Any values. */
#define REFERENCE_NEVER 0xffffffffu
uint32_t reference_needs(uint32_t op, uint32_t dtype);

/* All pairs of an op and a type that some device has, for tests with a row for each. */
#define REFERENCE_PAIRS 68u

struct reference_pair {
	uint32_t op, dtype;
};

struct reference_pair reference_pair(unsigned index);
const char *reference_label(unsigned index); /* "add-f32" */
/* The same; the test is skipped if the device lacks it. */
struct reference_pair reference_pair_of(struct conf *c, struct conf_device *d, unsigned index);

#endif
