/* SPDX-License-Identifier: MIT */
/* The virtual time of a gemm-rs job: its shape on the devices' timed model. */
#ifndef T3_GEMM_TIMED_H
#define T3_GEMM_TIMED_H

#include <jansson.h>

#include "gemm/gemm.h"
#include "timed/device.h"

struct gemm_timed {
	uint32_t count; /* devices that ran it; 1: mirrored */
	struct sim_figures figures;
	struct timed_device_run run[T3_TIMED_PROGRAMS];
	struct timed_devices devices; /* within the run */
};

/* Returns an exit code. On failure it has printed a message. */
int gemm_timed_run(const struct gemm_config *cfg, struct gemm_timed *timed);
void gemm_timed_print(const struct gemm_timed *timed);
json_t *gemm_timed_to_json(const struct gemm_timed *timed);

#endif /* T3_GEMM_TIMED_H */
