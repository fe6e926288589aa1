/* SPDX-License-Identifier: MIT */
/*
 * `t3 sim --device`: makes each run also on devices, and compares their counters with the model's.
 */
#ifndef T3_TIMED_DEVICE_H
#define T3_TIMED_DEVICE_H

#include "t3.h"
#include "timed/output.h"

/*
 * The most that a run of experts has on devices. Arguments and counts go to a buffer of the device's
 * memory, as no page has room for them.
 */
#define TIMED_COUNTS (T3_MAX_RANKS * T3_TIMED_MAX_EXPERTS)

/* One rank's end of a run. */
struct timed_rank {
	uint32_t number; /* in the run; 0 for a device that stands for all */
	struct t3_device *dev;
	struct t3_queue *queue;
	struct t3_buffer *buffer; /* host memory: arguments, followed by the result */
	unsigned char *memory;
	struct t3_buffer *table; /* device memory: arguments and counts of experts; NULL: not yet */
	unsigned char *counted;
	int fence; /* -1: none */
};

struct timed_devices {
	uint32_t count; /* open ranks, from rank[0] on */
	uint32_t ranks; /* of the fabric */
	bool every;	/* all ranks that are on this node are open; else one stands for all */
	bool full;	/* each rank has a link to each other one */
	struct timed_rank rank[T3_MAX_RANKS];
};

/*
 * Open one device, or all of its fabric that are on this node. fabric_id 0: that of the first device. Returns an exit
 * code. Close it also after a failure.
 */
int timed_devices_open(struct timed_devices *devices, uint64_t fabric_id, bool every);
void timed_devices_close(struct timed_devices *devices);

/* What makes the runs of a workload on devices, too, and where it notes them, by program. */
struct timed_observer {
	struct timed_devices *devices;
	struct timed_device_run *runs;
};

/* The witness of an observer. */
struct sim_witness timed_observe(struct timed_observer *observer);

/*
 * Make the run that was just made natively, and compare each rank's counters. False: `why`, of
 * SIM_WHY_SIZE bytes.
 */
bool timed_devices_run(struct timed_devices *devices, const struct t3_timed_setup *setup,
		       const struct t3_timed *native, struct timed_device_run *run, char *why);

#endif /* T3_TIMED_DEVICE_H */
