/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * debugfs of a device: see t3_debugfs.c.
 */
#ifndef T3_DEBUGFS_H
#define T3_DEBUGFS_H

#include <linux/fs.h>

struct seq_file;
struct t3_device;
struct t3_space;

/* t3_debugfs.c */
void t3_debugfs_init(struct t3_device *tdev);
int t3_debugfs_each_space(struct seq_file *m,
			  void (*show)(struct seq_file *m, const struct t3_space *space));

/* t3_debugfs_space.c */
int t3_debugfs_spaces_show(struct seq_file *m, void *unused);

/* t3_debugfs_tile.c */
int t3_debugfs_tiles_show(struct seq_file *m, void *unused);

/* t3_debugfs_inject.c */
extern const struct file_operations t3_debugfs_inject_fops;

/* t3_debugfs_queue.c */
int t3_debugfs_queues_show(struct seq_file *m, void *unused);

/* t3_debugfs_link.c */
int t3_debugfs_links_show(struct seq_file *m, void *unused);

/* t3_debugfs_switch.c */
void t3_debugfs_show_groups(struct seq_file *m, const struct t3_space *space);
int t3_debugfs_switch_show(struct seq_file *m, void *unused);

#endif /* T3_DEBUGFS_H */
