// SPDX-License-Identifier: GPL-2.0-only
/*
 * Module parameters in milliseconds.
 */
#include "t3_param.h"

static int t3_param_ms_set(const char *text, const struct kernel_param *param)
{
	return param_set_uint_minmax(text, param, 0, T3_PARAM_MS_MAX);
}

const struct kernel_param_ops t3_param_ms_ops = {
	.set = t3_param_ms_set,
	.get = param_get_uint,
};
