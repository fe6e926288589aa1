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
bool ref_is_float(uint32_t dtype);
bool ref_has(uint32_t dtype, uint32_t op); /* SPEC.md section 4's table, all capabilities */
uint64_t ref_apply(uint32_t dtype, uint32_t op, uint64_t memory, uint64_t value);
uint64_t ref_identity(uint32_t dtype, uint32_t op);
bool ref_is_nan(uint32_t dtype, uint64_t bits);
/* f32 of the bits of f16 or bf16, exact; theirs of f32's, rounded once; a product of f32. */
uint32_t ref_widen(uint32_t dtype, uint32_t bits);
uint32_t ref_narrow(uint32_t dtype, uint32_t bits);
uint32_t ref_multiply(uint32_t a, uint32_t b);
/* A small integer: -256 .. 256, exact in each type but bytes, where it wraps. */
uint64_t ref_small(uint32_t dtype, int value);

#endif
