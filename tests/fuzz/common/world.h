/* SPDX-License-Identifier: MIT */
/*
 * The base of every target: devices on a fabric (the unit tests' host), their invariants, and a
 * probe that they still work.
 */
#ifndef T3_FUZZ_WORLD_H
#define T3_FUZZ_WORLD_H

#include "host.h"
#include "stream.h"

/* What each target defines. */
struct fuzz_target {
	/*
	 * Applies the input to the devices. The input's first byte has chosen them: ring or full
	 * fabric, 2 or 3 devices, tracker sizes. With a switch: 3 or 4 devices, its entries.
	 */
	void (*one)(struct stream *in, struct host *host);
	/* It has its own devices, or none, and does all checks. `host` is NULL, the first byte its
	 * own. */
	bool alone;
	/* The devices have a switch. In the end its groups must work, too. */
	bool has_switch;
};

extern const struct fuzz_target fuzz_target;

/*
 * Check the invariants: counters, packets in flight, the event heap. Called after each input. Then
 * all devices are reset, injected faults are cleared, and a small reduce-scatter must succeed.
 */
void world_check(struct host *host);
/* Spaces that are not in use are FREE. It takes as long as an input. */
void world_check_free(const struct host *host);

/* All devices are reset, with their counter records of spaces 0 to GROUP_HEARER. */
void world_reset(struct host *host);

/* Groups of a switch: devices that are reset sum up and copy, while their links lose packets. */
void world_expect_groups(struct host *host, uint64_t seed);

/* Whether this input is one of those after which the devices must work. */
bool world_ends_in_peace(struct stream in);

/* The spaces that targets build: enough to interact, few enough to be found again. */
#define WORLD_SPACES 4u
/*
 * Make a space on each device with route 0 and import 0 to the next rank, and segments 0 (LOCAL), 1
 * (DMA) and 2 (REMOTE). What fails is left out.
 */
void world_build(struct host *host, uint32_t space, uint32_t dtype, uint32_t updates);
/* Arm the next epoch on each device. */
void world_arm(struct host *host, uint32_t space);

#endif
