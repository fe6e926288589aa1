/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Near-memory compute: op-and-store on elements, with defined bits. SPEC.md section 4. It
 * knows only types and bytes; every room may use it.
 */
#ifndef T3_CORE_NMC_H
#define T3_CORE_NMC_H

#include "t3_common.h"

#define T3_F32_NAN 0x7fc00000u /* the canonical NaN: results have no other */
#define T3_F64_NAN 0x7ff8000000000000ull

#define T3_OPS_ALL     ((1u << T3_OP_COUNT) - 1)
#define T3_OPS_BITWISE (1u << T3_OP_AND | 1u << T3_OP_OR | 1u << T3_OP_XOR)
#define T3_OPS_PRODUCT (1u << T3_OP_MUL)

/* nmc.c */
uint32_t t3_dtype_size(uint32_t dtype); /* dtype < T3_DTYPE_COUNT */
/* T3_CAP_* of which a device has each one that computes this; T3_NMC_NEVER: none does. */
#define T3_NMC_NEVER T3_NONE32
uint32_t t3_nmc_needs(uint32_t dtype, uint32_t op);
void t3_nmc_apply(uint32_t dtype, uint32_t op, void *dst, const void *src, size_t bytes);
void t3_nmc_identity(uint32_t dtype, uint32_t op, void *dst, size_t bytes);
/* nmc_float.c. For F32, F16, BF16. Widening is exact. Narrowing rounds to nearest even; NaNs are canonical. */
void t3_nmc_widen(uint32_t dtype, const void *src, float *dst, uint32_t count);
void t3_nmc_narrow(uint32_t dtype, const float *src, void *dst, uint32_t count);

/* The parts of t3_nmc_apply() for all ops but STORE: scalar, and 32 bytes at a time. */
void t3_nmc_apply_narrow(uint32_t dtype, uint32_t op, uint8_t *dst, const uint8_t *src,
			 size_t bytes);
/* nmc_float.c */
void t3_nmc_apply_float(uint32_t dtype, uint32_t op, uint8_t *dst, const uint8_t *src,
			size_t bytes);
#define T3_NMC_WIDE 32u /* bytes at a time */
/* nmc_wide.c, nmc_neon.c: returns the number of bytes done, which may be 0. */
size_t t3_nmc_apply_wide(uint32_t dtype, uint32_t op, uint8_t *dst, const uint8_t *src,
			 size_t bytes);
/* The same of F16 and BF16: the number of elements done, from the first on. */
uint32_t t3_nmc_widen_wide(uint32_t dtype, const uint8_t *src, float *dst, uint32_t count);
uint32_t t3_nmc_narrow_wide(uint32_t dtype, const float *src, uint8_t *dst, uint32_t count);

/* Adds to one element in memory. Inline, because most stores do this and little else. */
static inline void t3_nmc_add_f32(uint8_t *dst, uint32_t bits)
{
	float memory, value;

	memcpy(&memory, dst, 4);
	memcpy(&value, &bits, 4);
	memory += value;
	memcpy(&bits, &memory, 4);
	if (memory != memory)
		bits = T3_F32_NAN;
	memcpy(dst, &bits, 4);
}

#endif /* T3_CORE_NMC_H */
