/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Usage of an open file: see t3_fdinfo.c.
 */
#ifndef T3_FDINFO_H
#define T3_FDINFO_H

#include <linux/types.h>

struct drm_file;
struct drm_printer;
struct t3_usage;

struct t3_usage *t3_usage_new(void);
struct t3_usage *t3_usage_get(struct t3_usage *usage);
void t3_usage_put(struct t3_usage *usage);
void t3_usage_start(struct t3_usage *usage, u32 priority);
void t3_usage_stop(struct t3_usage *usage, u32 priority);
void t3_show_fdinfo(struct drm_printer *printer, struct drm_file *file);

#endif /* T3_FDINFO_H */
