/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Module parameters in milliseconds, up to an hour: see t3_param.c.
 */
#ifndef T3_PARAM_H
#define T3_PARAM_H

#include <linux/moduleparam.h>

#define T3_PARAM_MS_MAX 3600000

extern const struct kernel_param_ops t3_param_ms_ops;

#endif /* T3_PARAM_H */
