/* SPDX-License-Identifier: MIT */
/*
 * Reference arithmetic on bit patterns, with integers only. It uses no host floating point and
 * nothing of the core. It is slow and simple on purpose.
 */
#ifndef T3_TEST_REF_H
#define T3_TEST_REF_H

#include <stdbool.h>
#include <stdint.h>

uint32_t ref_size(uint32_t dtype);
uint32_t ref_apply(uint32_t dtype, uint32_t op, uint32_t memory, uint32_t value);
uint32_t ref_identity(uint32_t dtype, uint32_t op);
bool ref_is_nan(uint32_t dtype, uint32_t bits);
/* f32 of a float type's bits, exact; a float type's of f32's, rounded once; a product. */
uint32_t ref_widen(uint32_t dtype, uint32_t bits);
uint32_t ref_narrow(uint32_t dtype, uint32_t bits);
uint32_t ref_multiply(uint32_t a, uint32_t b);
/* A small integer, exact in each type: -256 .. 256. */
uint32_t ref_small(uint32_t dtype, int value);

#endif
