// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "t3_core.h"
#include "trace/driver.h"
#include "trace/tracks.h"

/* A job that has begun and not ended. */
struct job {
	uint32_t pid, queue;
	int64_t seqno, submit_ns, run_ns;
	struct job *next;
};

/* The end of a queue's last job. The next one did not run before. */
struct queue_end {
	int64_t ns;
};

#define QUEUES	64
#define DEVICES 256

struct trace_driver {
	const struct tool_devices *devices;
	struct perfetto *timeline;
	struct job *jobs;
	struct queue_end ends[DEVICES][QUEUES];
};

struct trace_driver *trace_driver_new(const struct tool_devices *devices, struct perfetto *timeline)
{
	struct trace_driver *driver = calloc(1, sizeof(*driver));

	if (!driver)
		return NULL;
	driver->devices = devices;
	driver->timeline = timeline;
	return driver;
}

void trace_driver_free(struct trace_driver *driver)
{
	struct job *job, *next;

	for (job = driver ? driver->jobs : NULL; job; job = next) {
		next = job->next;
		free(job);
	}
	free(driver);
}

/* The process of the timeline for a PCI address. 0: not one of the devices. */
static uint32_t trace_process(const struct tool_devices *devices, const char *pci)
{
	size_t i;

	for (i = 0; i < devices->count; i++)
		if (!strcmp(devices->list[i].entry.bdf, pci))
			return (uint32_t)devices->list[i].index + 1;
	return 0;
}

/* An event with the data that all handlers need. */
struct seen {
	const struct trace_line *line;
	uint32_t pid, space, queue;
	json_int_t epoch;
};

static struct track space_track(struct trace_driver *driver, const struct seen *seen)
{
	struct track track = { seen->pid, TRACK_SPACE + 10 * seen->space };

	perfetto_name_track(driver->timeline, track, "space %u", seen->space);
	return track;
}

static struct track queue_track(struct trace_driver *driver, const struct seen *seen)
{
	struct track track = { seen->pid, TRACK_QUEUE + seen->queue };

	perfetto_name_track(driver->timeline, track, "queue %u", seen->queue);
	return track;
}

/* For args: the fields as text. */
static json_t *fields_of(const struct seen *seen)
{
	return json_pack("{s:s}", "fields", seen->line->fields);
}

static void on_create(struct trace_driver *driver, const struct seen *seen)
{
	char name[64];

	snprintf(name, sizeof(name), "space %u generation %lld", seen->space,
		 (long long)trace_number(seen->line->fields, "generation"));
	perfetto_begin(driver->timeline, space_track(driver, seen), seen->line->ns, "space", name,
		       fields_of(seen));
}

/* States are inside of the space's own slice, if the trace has its creation. */
static void end_state(struct trace_driver *driver, const struct seen *seen, unsigned int keep)
{
	struct track track = space_track(driver, seen);

	while (perfetto_depth(driver->timeline, track) > keep)
		perfetto_end(driver->timeline, track, seen->line->ns);
}

static void on_destroy(struct trace_driver *driver, const struct seen *seen)
{
	end_state(driver, seen, 0);
}

static void on_state(struct trace_driver *driver, const struct seen *seen)
{
	struct track track = space_track(driver, seen);
	char from[16], to[16], name[48];

	trace_field(seen->line->fields, "from", from, sizeof(from));
	trace_field(seen->line->fields, "to", to, sizeof(to));
	if (strcmp(from, "FREE") != 0)
		perfetto_end(driver->timeline, track, seen->line->ns);
	snprintf(name, sizeof(name), "%s %lld", to, (long long)seen->epoch);
	perfetto_begin(driver->timeline, track, seen->line->ns, "state", name,
		       json_pack("{s:I, s:s, s:I}", "space", (json_int_t)seen->space, "state", to,
				 "epoch", seen->epoch));
}

/* The space is back in IDLE: end its state, but not the slice of the space. */
static void on_space_reset(struct trace_driver *driver, const struct seen *seen)
{
	struct track track = space_track(driver, seen);

	perfetto_end(driver->timeline, track, seen->line->ns);
	perfetto_instant(driver->timeline, track, seen->line->ns, "space", "reset",
			 fields_of(seen));
}

static void on_segment(struct trace_driver *driver, const struct seen *seen)
{
	const char *fields = seen->line->fields;
	char name[64];

	snprintf(name, sizeof(name), "segment %lld %s", (long long)trace_number(fields, "segment"),
		 trace_number(fields, "delivered") ? "delivered"
		 : trace_number(fields, "tracked") ? "tracked"
						   : "begun");
	perfetto_instant(driver->timeline, space_track(driver, seen), seen->line->ns, "segment",
			 name, fields_of(seen));
}

static void on_fault(struct trace_driver *driver, const struct seen *seen)
{
	uint32_t kind = (uint32_t)trace_number(seen->line->fields, "kind");
	char name[64];

	snprintf(name, sizeof(name), "fault %s", t3_name_fault(kind));
	perfetto_instant(driver->timeline, space_track(driver, seen), seen->line->ns, "fault", name,
			 fields_of(seen));
}

static void on_space_event(struct trace_driver *driver, const struct seen *seen)
{
	perfetto_instant(driver->timeline, space_track(driver, seen), seen->line->ns, "space",
			 seen->line->event, fields_of(seen));
}

static struct track thread_track(struct trace_driver *driver, const struct seen *seen)
{
	struct track track = { seen->pid, TRACK_THREAD + seen->line->tid };

	perfetto_name_track(driver->timeline, track, "waits of %s-%u", seen->line->process,
			    seen->line->tid);
	return track;
}

static void on_wait_begin(struct trace_driver *driver, const struct seen *seen)
{
	char what[16], name[64];

	trace_field(seen->line->fields, "what", what, sizeof(what));
	snprintf(name, sizeof(name), "space %u until %s %lld", seen->space, what,
		 (long long)seen->epoch);
	perfetto_begin(driver->timeline, thread_track(driver, seen), seen->line->ns, "wait", name,
		       fields_of(seen));
}

static void on_wait_end(struct trace_driver *driver, const struct seen *seen)
{
	perfetto_end(driver->timeline, thread_track(driver, seen), seen->line->ns);
}

/* Find a job by queue and seqno, as a place in the list. *place NULL: there is none. */
static struct job **find_job(struct trace_driver *driver, const struct seen *seen)
{
	int64_t seqno = trace_number(seen->line->fields, "seqno");
	struct job **place;

	for (place = &driver->jobs; *place; place = &(*place)->next)
		if ((*place)->pid == seen->pid && (*place)->queue == seen->queue &&
		    (*place)->seqno == seqno)
			break;
	return place;
}

static struct job *get_job(struct trace_driver *driver, const struct seen *seen)
{
	struct job **place = find_job(driver, seen);

	if (*place)
		return *place;
	*place = calloc(1, sizeof(**place));
	if (*place)
		**place = (struct job){ .pid = seen->pid,
					.queue = seen->queue,
					.seqno = trace_number(seen->line->fields, "seqno") };
	return *place;
}

static void on_submit(struct trace_driver *driver, const struct seen *seen)
{
	struct job *job = get_job(driver, seen);

	if (job)
		job->submit_ns = seen->line->ns;
}

static void on_run(struct trace_driver *driver, const struct seen *seen)
{
	struct job *job = get_job(driver, seen);

	if (job)
		job->run_ns = seen->line->ns;
}

static void add_job(struct trace_driver *driver, const struct job *job, int64_t end_ns,
		    json_t *args)
{
	struct queue_end *end = &driver->ends[(job->pid - 1) % DEVICES][job->queue % QUEUES];
	int64_t begin = job->run_ns > end->ns ? job->run_ns : end->ns;
	struct track track = { job->pid, TRACK_QUEUE + job->queue };
	char name[48];

	snprintf(name, sizeof(name), "job %lld", (long long)job->seqno);
	if (job->submit_ns)
		json_object_set_new(args, "waited_us",
				    json_real((double)(begin - job->submit_ns) / 1000));
	perfetto_slice(driver->timeline, track, begin, end_ns, "job", name, args);
	end->ns = end_ns;
}

/* Jobs of a queue run one after the other, although several are in its ring. */
static void on_done(struct trace_driver *driver, const struct seen *seen)
{
	struct job **place = find_job(driver, seen), *job = *place;

	queue_track(driver, seen);
	if (!job)
		return;
	*place = job->next;
	if (job->run_ns)
		add_job(driver, job, seen->line->ns, fields_of(seen));
	free(job);
}

static void on_queue_event(struct trace_driver *driver, const struct seen *seen)
{
	perfetto_instant(driver->timeline, queue_track(driver, seen), seen->line->ns, "queue",
			 seen->line->event, fields_of(seen));
}

static void on_function_event(struct trace_driver *driver, const struct seen *seen)
{
	struct track track = { seen->pid, TRACK_FUNCTION };

	perfetto_name_track(driver->timeline, track, "function");
	perfetto_instant(driver->timeline, track, seen->line->ns, "function", seen->line->event,
			 fields_of(seen));
}

static const struct handler {
	const char *event;
	void (*handle)(struct trace_driver *driver, const struct seen *seen);
} handlers[] = {
	{ "space_create", on_create },
	{ "space_destroy", on_destroy },
	{ "space_state", on_state },
	{ "space_reset", on_space_reset },
	{ "segment", on_segment },
	{ "fault", on_fault },
	{ "grant_export", on_space_event },
	{ "grant_end", on_space_event },
	{ "grant_import", on_space_event },
	{ "grant_release", on_space_event },
	{ "group_create", on_space_event },
	{ "group_end", on_space_event },
	{ "eventfd_signal", on_space_event },
	{ "wait_begin", on_wait_begin },
	{ "wait_end", on_wait_end },
	{ "job_submit", on_submit },
	{ "job_run", on_run },
	{ "job_done", on_done },
	{ "job_timeout", on_queue_event },
	{ "queue_recover", on_queue_event },
};

/* An event that this program does not know goes to the track of resets. */
void trace_driver_add(struct trace_driver *driver, const struct trace_line *line)
{
	struct seen seen = { .line = line };
	char pci[24];
	size_t i;

	trace_field(line->fields, "dev", pci, sizeof(pci));
	seen.pid = trace_process(driver->devices, pci);
	if (!seen.pid)
		return;
	seen.space = (uint32_t)trace_number(line->fields, "space") % 1024;
	seen.queue = (uint32_t)trace_number(line->fields, "queue") % QUEUES;
	seen.epoch = trace_number(line->fields, "epoch");
	for (i = 0; i < sizeof(handlers) / sizeof(*handlers); i++) {
		if (!strcmp(handlers[i].event, line->event)) {
			handlers[i].handle(driver, &seen);
			return;
		}
	}
	on_function_event(driver, &seen);
}

void trace_driver_finish(struct trace_driver *driver)
{
	const struct job *job;
	int64_t now = (int64_t)now_ns();

	for (job = driver->jobs; job; job = job->next)
		if (job->run_ns)
			add_job(driver, job, now, json_pack("{s:b}", "unfinished", 1));
	perfetto_close(driver->timeline);
}
