/* SPDX-License-Identifier: MIT */
/*
 * A timeline in Chrome's trace event format, as ui.perfetto.dev opens it: slices on
 * tracks, which are threads of processes there; instants; counters. Times are
 * nanoseconds of any one clock. All events may be added in any order of their times,
 * but those of one track's slices in the order in which they happen.
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
/* The first name that a track is given stays. */
__attribute__((format(printf, 3, 4))) void perfetto_name_track(struct perfetto *timeline,
							       struct track track,
							       const char *format, ...);

/* args may be NULL, and are taken over. category is for programs that read the file. */
void perfetto_begin(struct perfetto *timeline, struct track track, int64_t ns, const char *category,
		    const char *name, json_t *args);
/* Ends the innermost slice; nothing when there is none. */
void perfetto_end(struct perfetto *timeline, struct track track, int64_t ns);
void perfetto_slice(struct perfetto *timeline, struct track track, int64_t ns, int64_t end_ns,
		    const char *category, const char *name, json_t *args);
void perfetto_instant(struct perfetto *timeline, struct track track, int64_t ns,
		      const char *category, const char *name, json_t *args);
void perfetto_counter(struct perfetto *timeline, uint32_t pid, int64_t ns, const char *name,
		      double value);
/* An event that is JSON already; it is not taken over. False: it is none. */
bool perfetto_add_json(struct perfetto *timeline, json_t *event);

/* Slices in the innermost one that are open on a track. */
unsigned int perfetto_depth(const struct perfetto *timeline, struct track track);
/* The first and the last time of what was added. False: nothing was. */
bool perfetto_range(const struct perfetto *timeline, int64_t *first_ns, int64_t *last_ns);
/* End all slices that are open, when the newest event was. */
void perfetto_close(struct perfetto *timeline);

/* Write it, ordered by time; facts are kept in "otherData", and taken over. 0 or -errno. */
int perfetto_write(struct perfetto *timeline, const char *path, json_t *facts);

#endif /* T3_PERFETTO_H */
