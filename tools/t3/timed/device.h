/* SPDX-License-Identifier: MIT */
/* `t3 sim --device`: each run also on devices, whose counters must be those of the model. */
#ifndef T3_TIMED_DEVICE_H
#define T3_TIMED_DEVICE_H

#include "t3.h"
#include "timed/output.h"

/* One rank's end of a run. */
struct timed_rank {
	struct t3_device *dev;
	struct t3_queue *queue;
	struct t3_buffer *buffer; /* of the host: arguments, and the result behind them */
	unsigned char *memory;
	int fence; /* -1: none */
};

struct timed_devices {
	uint32_t count; /* that are open, from rank[0] on */
	uint32_t ranks; /* of the fabric */
	bool full;	/* each rank has a link to each */
	struct timed_rank rank[T3_TIMED_MAX_RANKS];
};

/*
 * One device, or all of its fabric; fabric_id 0: that of the first device. An exit code. Close also
 * after a failure.
 */
int timed_devices_open(struct timed_devices *devices, uint64_t fabric_id, bool every);
void timed_devices_close(struct timed_devices *devices);

/*
 * Runs what has just run natively, and compares each rank's counters with that. False:
 * `why`, of SIM_WHY_SIZE bytes.
 */
bool timed_devices_run(struct timed_devices *devices, const struct t3_timed_setup *setup,
		       const struct t3_timed *native, struct timed_device_run *run, char *why);

#endif /* T3_TIMED_DEVICE_H */
