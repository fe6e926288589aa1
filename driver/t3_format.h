/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Formats of elements: see t3_format.c.
 */
#ifndef T3_FORMAT_H
#define T3_FORMAT_H

#include <linux/types.h>

#include "t3_hw.h"

u32 t3_dtype_size(u32 dtype);
bool t3_op_valid(u32 dtype, u32 op);
u32 t3_ops_need(u32 op_mask);
u32 t3_op_needs(u32 dtype, u32 op);

#endif /* T3_FORMAT_H */
