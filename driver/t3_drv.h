/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * File operations and sysfs attributes: see t3_fops.c and t3_sysfs.c.
 */
#ifndef T3_DRV_H
#define T3_DRV_H

#include <linux/fs.h>
#include <linux/sysfs.h>

/* t3_fops.c */
extern const struct file_operations t3_fops;

/* t3_sysfs.c */
extern const struct attribute_group *t3_sysfs_groups[];

#endif /* T3_DRV_H */
