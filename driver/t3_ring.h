/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rings of a queue and their recovery: see t3_ring.c, t3_restart.c and t3_recover.c.
 */
#ifndef T3_RING_H
#define T3_RING_H

#include <linux/types.h>

struct t3_job;
struct t3_queue;
struct work_struct;

/* t3_ring.c */
void t3_ring_run(struct t3_queue *queue, struct t3_job *job);
void t3_ring_notify(struct t3_queue *queue);
void t3_ring_check_state(struct t3_queue *queue);
void t3_ring_mark_lost(struct t3_queue *queue);
void t3_ring_sync(struct t3_queue *queue);
void t3_ring_resume(struct t3_queue *queue);
void t3_ring_drop_queued(struct t3_queue *queue);
bool t3_ring_idle(struct t3_queue *queue);
int t3_ring_reap(struct t3_queue *queue);
int t3_ring_advance(struct t3_queue *queue);
void t3_ring_emit_all(struct t3_queue *queue);
void t3_ring_kill(struct t3_queue *queue);
void t3_ring_fail_locked(struct t3_queue *queue, int error);

/* t3_restart.c */
void t3_ring_restart(struct t3_queue *queue, u32 tail, int failed, const struct t3_job *late);
void t3_ring_rebuild(struct t3_queue *queue, const struct t3_job *late);

/* t3_recover.c */
void t3_ring_recover_work(struct work_struct *work);
void t3_ring_timeout(struct t3_queue *queue, struct t3_job *job);

#endif /* T3_RING_H */
