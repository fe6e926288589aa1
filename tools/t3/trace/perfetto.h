/* SPDX-License-Identifier: MIT */
/*
 * A timeline in Chrome's trace event format, which ui.perfetto.dev opens. It has slices on tracks,
 * instants and counters. Tracks are threads of processes in the format. Times are nanoseconds of
 * any one clock. Events may be added in any order of their times. The slices of one track must be
 * added in the order in which they happened.
 */
#ifndef T3_PERFETTO_H
#define T3_PERFETTO_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct perfetto;

/* A track: process, thread. Processes are devices, numbered from 1. */
struct track {
	uint32_t pid, tid;
};

struct perfetto *perfetto_new(void); /* NULL: no memory */
void perfetto_free(struct perfetto *timeline);

void perfetto_name_process(struct perfetto *timeline, uint32_t pid, const char *name);
/* A track keeps the first name that it gets. */
__attribute__((format(printf, 3, 4))) void perfetto_name_track(struct perfetto *timeline,
							       struct track track,
							       const char *format, ...);

/* args may be NULL; the function takes ownership. category is for programs that read the file. */
void perfetto_begin(struct perfetto *timeline, struct track track, int64_t ns, const char *category,
		    const char *name, json_t *args);
/* End the innermost open slice, if there is one. */
void perfetto_end(struct perfetto *timeline, struct track track, int64_t ns);
void perfetto_slice(struct perfetto *timeline, struct track track, int64_t ns, int64_t end_ns,
		    const char *category, const char *name, json_t *args);
void perfetto_instant(struct perfetto *timeline, struct track track, int64_t ns,
		      const char *category, const char *name, json_t *args);
void perfetto_counter(struct perfetto *timeline, uint32_t pid, int64_t ns, const char *name,
		      double value);
/* Add an event that is JSON already. The caller keeps it. False: it is malformed. */
bool perfetto_add_json(struct perfetto *timeline, json_t *event);

/* The number of slices that are open on a track. */
unsigned int perfetto_depth(const struct perfetto *timeline, struct track track);
/* The first and the last time that was added. False: there is none. */
bool perfetto_range(const struct perfetto *timeline, int64_t *first_ns, int64_t *last_ns);
/* End all open slices, at the time of the newest event. */
void perfetto_close(struct perfetto *timeline);

/* All of it as an array, ordered by time. NULL: no memory. */
json_t *perfetto_events(struct perfetto *timeline);
/*
 * Write the timeline, ordered by time. facts go to "otherData"; the function takes ownership.
 * Returns 0 or -errno.
 */
int perfetto_write(struct perfetto *timeline, const char *path, json_t *facts);

#endif /* T3_PERFETTO_H */
