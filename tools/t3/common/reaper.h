/* SPDX-License-Identifier: MIT */
/*
 * The processes of a run, one for each rank, and their ends. Which one failed first is not the
 * order of the ends: the kernel closes the sockets of a process first, then its device, and only
 * then can its parent wait for it. So ranks that fail because of another one may end before it.
 */
#ifndef T3_REAPER_H
#define T3_REAPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define REAPER_MOST 32u

struct reaper_process {
	pid_t pid; /* 0: not started, or it has ended */
	bool ended;
	bool exiting;	/* on its way out when one that failed had ended */
	bool counts;	/* has failed, or has ended after one that failed */
	int status;	/* of waitpid(), when it has ended */
	uint32_t order; /* of the first signs of an end: a report, or the end itself; 0: none */
};

struct reaper {
	struct reaper_process process[REAPER_MOST];
	uint32_t running;
	uint32_t signs; /* numbers given as order */
	bool failed;	/* a process has ended with another status than 0 */
};

void reaper_add(struct reaper *reaper, uint32_t i, pid_t pid);
/* Process i has reported its failure, or closed its pipe. The first call counts. */
void reaper_note(struct reaper *reaper, uint32_t i);
/* Take the ends that there are. With wait: wait for all of them. */
void reaper_take(struct reaper *reaper, bool wait);
/*
 * Return whether a process was on its way out when one that failed had ended, and has not ended
 * yet. Its status may be the first cause.
 */
bool reaper_must_wait(const struct reaper *reaper);
/*
 * Return whether a process that runs is on its way out, so that no wait or signal changes its end.
 */
bool reaper_is_exiting(const struct reaper *reaper, uint32_t i);
/*
 * Return the process of the lowest priority, and of these the one with the earliest sign. A
 * negative priority leaves a process out. REAPER_MOST: there is none.
 */
uint32_t reaper_first(const struct reaper *reaper, const int64_t priority[REAPER_MOST]);
void reaper_signal_all(const struct reaper *reaper, int number, bool groups);

#endif /* T3_REAPER_H */
