/* SPDX-License-Identifier: MIT */
/* Element types: correctly rounded f16 and bf16, and the devices' addition. */
#ifndef T3_NUMERIC_H
#define T3_NUMERIC_H

#include <stdint.h>

/* Round to nearest even; subnormals kept; a NaN becomes the canonical quiet NaN. */
uint16_t f16_from_f32(float value);
uint16_t bf16_from_f32(float value);
float f32_from_f16(uint16_t bits);
float f32_from_bf16(uint16_t bits);

/* One element of enum drm_t3_dtype as raw bits. i32 is no float type. */
uint32_t element_from_f32(uint32_t dtype, float value);
float f32_from_element(uint32_t dtype, uint32_t bits);

/* A device's ADD on raw bits. i32 wraps. f16 and bf16 round the f32 sum once. */
uint32_t element_add(uint32_t dtype, uint32_t a, uint32_t b);

/*
 * Set the processor's inexact flag. QEMU uses the host's floating point only while the guest's flag
 * is set, and is several times slower else. Exact sums never set it; one inexact division does.
 */
void raise_inexact(void);

/* Half a unit in the last place of 1: 2^-24, 2^-11, 2^-8; 0 for i32. */
double element_roundoff(uint32_t dtype);

#endif /* T3_NUMERIC_H */
