// SPDX-License-Identifier: MIT
/* The table that libt3 looks for in libt3-check.so.0: all that this object exports. */
#include "check/check.h"

extern const struct t3_hooks t3_check_hooks;

__attribute__((visibility("default"))) const struct t3_hooks t3_check_hooks = {
	.version = T3_VERSION,
	.size = sizeof(struct t3_hooks),
	.space_size = sizeof(struct t3_space),
	.begin = t3_check_begin,
	.create = t3_check_create,
	.destroy = t3_check_destroy,
	.unfinished = t3_check_unfinished,
	.reset = t3_check_reset,
	.map = t3_check_map,
	.unmap = t3_check_unmap,
	.stage_in = t3_check_stage_in,
	.grant = t3_check_grant,
	.job = t3_check_job,
	.store = t3_check_store,
	.stage = t3_check_stage,
	.doorbell = t3_check_doorbell,
	.arm = t3_check_arm,
	.release = t3_check_release,
	.timeout = t3_check_timeout,
};
