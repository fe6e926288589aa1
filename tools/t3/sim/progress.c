// SPDX-License-Identifier: MIT
/* The line of a run: the workload, its program, and how many of its tiles are computed. */
#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#include "sim/progress.h"

#define AGAIN_NS 250000000u /* a reader sees it move */
#define SHORT	 1000000u   /* a run of fewer events is over before anybody reads its line */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct sim_progress sim_progress_new(FILE *stream)
{
	return (struct sim_progress){ .to = isatty(fileno(stream)) ? stream : NULL };
}

void sim_progress_next(struct sim_progress *p, const char *what)
{
	p->number++;
	p->what = what;
}

void sim_progress_look(struct sim_progress *p, const struct t3_timed *run, const char *program)
{
	uint64_t now, done, all;

	if (!p || !p->to || t3_timed_events(run) < SHORT)
		return;
	now = now_ns();
	if (p->shown && now - p->shown < AGAIN_NS)
		return;
	p->shown = now;
	t3_timed_tiles(run, &done, &all);
	fprintf(p->to, "\r\033[Kt3 sim: %" PRIu32, p->number);
	if (p->count)
		fprintf(p->to, " of %" PRIu32, p->count);
	fprintf(p->to, ", %s, %s: ", p->what, program);
	if (done < all)
		fprintf(p->to, "%.0f %% of %" PRIu64 " tiles", 100.0 * (double)done / (double)all,
			all);
	else
		fprintf(p->to, "%.1f million events", (double)t3_timed_events(run) / 1e6);
	fflush(p->to);
}

void sim_progress_clear(struct sim_progress *p)
{
	if (!p->to || !p->shown)
		return;
	p->shown = 0;
	fprintf(p->to, "\r\033[K");
	fflush(p->to);
}
