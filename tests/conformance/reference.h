/* SPDX-License-Identifier: MIT */
/* SPEC.md 4, computed a second time from values, independently of any device. */
#ifndef T3_CONFORMANCE_REFERENCE_H
#define T3_CONFORMANCE_REFERENCE_H

#include <stdint.h>

unsigned reference_bytes(uint32_t dtype);
uint32_t reference_identity(uint32_t op, uint32_t dtype);
/* m = op(m, v) */
uint32_t reference_update(uint32_t op, uint32_t dtype, uint32_t m, uint32_t v);

#endif
