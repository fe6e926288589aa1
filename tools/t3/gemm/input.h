/* SPDX-License-Identifier: MIT */
/* The matrices. Any element can be computed from seed and iteration alone. */
#ifndef T3_GEMM_INPUT_H
#define T3_GEMM_INPUT_H

#include <stdint.h>

enum input_matrix { INPUT_A = 1, INPUT_B = 2 };

/* Values in memory: int32_t for i32, float (exact in the dtype) for the others. */
struct input_slice {
	uint32_t dtype;
	enum input_matrix matrix;
	uint64_t seed;
	uint32_t iteration;
	uint32_t columns; /* of the whole matrix */
	uint32_t row, rows, col, cols;
};

/* Fill rows x cols values, row-major and packed. */
void input_fill(const struct input_slice *slice, void *values);

#endif /* T3_GEMM_INPUT_H */
