/* SPDX-License-Identifier: MIT */
/* A run and its result, as text and as JSON. */
#ifndef T3_GEMM_PRINT_H
#define T3_GEMM_PRINT_H

#include <jansson.h>

#include "gemm/gemm.h"

void gemm_print_table(const struct gemm_config *cfg, const struct gemm_result *result);
json_t *gemm_to_json(const struct gemm_config *cfg, const struct gemm_result *result);
/* The name of enum drm_t3_segment_kind in this job. */
const char *gemm_kind_name(const struct gemm_config *cfg, uint32_t kind);
/* Names by enum gemm_write, with a NULL at the end. */
extern const char *const gemm_write_names[GEMM_WRITES + 1];

#endif /* T3_GEMM_PRINT_H */
