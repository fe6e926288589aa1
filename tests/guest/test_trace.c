// SPDX-License-Identifier: MIT
/* Tracepoints: the events of a space, a grant, a wait and a job, and their order. */
#include <poll.h>
#include <sys/eventfd.h>

#include "child.h"
#include "memory.h"
#include "module.h"
#include "queue.h"
#include "raw.h"
#include "trace.h"

#define WAIT_MS 5000

/* A new space with a segment, and the events of that. */
static void open_traced(struct raw *raw, struct trace *trace)
{
	raw_open(raw, 0, PAGE);
	trace_expect(trace, "t3_space_create", "space=0 generation=* client=* bytes=4096");
	trace_expect(trace, "t3_space_state", "space=0 epoch=0 from=FREE to=IDLE");
	raw_map_local(raw);
}

static void close_traced(struct raw *raw, struct trace *trace)
{
	trace_expect_end(trace);
	raw_close(raw);
	trace_expect(trace, "t3_space_destroy", "space=0 generation=* client=* bytes=4096");
}

/* From creation to the end of the file, step by step, without missing or extra events. */
TEST("an epoch has its events, no more and no fewer")
{
	struct trace trace;
	struct raw raw;

	trace_open(&trace, 0);
	open_traced(&raw, &trace);
	raw_arm(&raw, 1);
	trace_expect(&trace, "t3_space_state", "space=0 epoch=1 from=IDLE to=ARMED");
	raw_fill(&raw, 0, RAW_SEGMENT_BYTES, 7);
	trace_expect(&trace, "t3_segment", "space=0 epoch=1 segment=0 tracked=1 delivered=1");
	trace_expect(&trace, "t3_space_state", "space=0 epoch=1 from=ARMED to=COMPLETE");
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_DELIVERED, 1, 1, after_ms(WAIT_MS)), 0);
	trace_expect(&trace, "t3_wait_begin", "space=0 epoch=1 what=DELIVERED segments=0x1");
	trace_expect(&trace, "t3_wait_end", "space=0 epoch=1 what=DELIVERED ret=0");
	raw_release(&raw, 1);
	trace_expect(&trace, "t3_space_state", "space=0 epoch=1 from=COMPLETE to=IDLE");
	close_traced(&raw, &trace);
	trace_close(&trace);
}

TEST("a wait has its events with their results")
{
	struct drm_t3_space_eventfd arg = { .segment_mask = 1, .fd = eventfd(0, EFD_CLOEXEC) };
	struct trace trace;
	struct raw raw;

	trace_open(&trace, 0);
	open_traced(&raw, &trace);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_ARMED, 3, 0, after_ms(20)), -ETIMEDOUT);
	trace_expect(&trace, "t3_wait_begin", "space=0 epoch=3 what=ARMED segments=0x0");
	trace_expect(&trace, "t3_wait_end", "space=0 epoch=3 what=ARMED ret=-110");
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_TRACKED, 3, 2, after_ms(20)), -EINVAL);
	trace_expect(&trace, "t3_refusal",
		     "request=* error=22 struct=drm_t3_space_wait field=segment_mask index=-1 "
		     "value=0x2 allowed=*");
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_TRACKED, 0, 1, after_ms(20)), -EINVAL);
	trace_expect(&trace, "t3_refusal",
		     "request=* error=22 struct=drm_t3_space_wait field=epoch index=-1 value=0x0 "
		     "allowed=*");
	arg.space = raw.space;
	CHECK_EQ(call(raw.fd, DRM_IOCTL_T3_SPACE_EVENTFD, &arg), 0);
	trace_expect_end(&trace);
	raw_arm(&raw, 3);
	trace_expect(&trace, "t3_space_state", "space=0 epoch=3 from=IDLE to=ARMED");
	raw_fill(&raw, 0, RAW_SEGMENT_BYTES, 7);
	trace_expect(&trace, "t3_segment", "space=0 epoch=3 segment=0 tracked=1 delivered=1");
	trace_expect(&trace, "t3_space_state", "space=0 epoch=3 from=ARMED to=COMPLETE");
	trace_expect(&trace, "t3_eventfd_signal", "space=0 epoch=3 segments=0x1");
	close_traced(&raw, &trace);
	trace_expect(&trace, "t3_eventfd_signal", "space=0 epoch=3 segments=0x1"); /* its death */
	close(arg.fd);
	trace_close(&trace);
}

/* The first fault of a space and its state, a reset, and stores that are dropped. */
TEST("faults and resets have their events")
{
	struct drm_t3_fault fault;
	struct trace trace;
	struct raw raw;
	unsigned int i;

	trace_open(&trace, 0);
	open_traced(&raw, &trace);
	raw_arm(&raw, 1);
	trace_expect(&trace, "t3_space_state", "space=0 epoch=1 from=IDLE to=ARMED");
	put32(raw.aperture + 512, 1);
	trace_expect(&trace, "t3_fault",
		     "space=0 epoch=1 kind=1 detail=0 segment=-1 tile=-1 offset=512 src_rank=0");
	trace_expect(&trace, "t3_space_state", "space=0 epoch=1 from=ARMED to=FAULTED");
	CHECK_EQ(raw_wait_fault(&raw, 1, &fault), -EIO);
	trace_expect(&trace, "t3_wait_begin", "space=0 epoch=1 what=DELIVERED segments=0x1");
	trace_expect(&trace, "t3_wait_end", "space=0 epoch=1 what=DELIVERED ret=-5");
	trace_expect(&trace, "t3_refusal",
		     "request=* error=5 struct=drm_t3_space_wait field=space index=-1 value=* "
		     "allowed=*");
	CHECK_EQ(space_reset(raw.fd, raw.space), 0);
	trace_expect(&trace, "t3_space_reset", "space=0 generation=* client=* bytes=4096");
	trace_expect(&trace, "t3_space_state", "space=0 epoch=0 from=FREE to=IDLE");
	for (i = 0; i < 20; i++)
		put32(raw.aperture + 512 + 4 * i, 1); /* not armed */
	trace_expect(&trace, "t3_fault",
		     "space=0 epoch=0 kind=5 detail=0 segment=-1 tile=-1 offset=512 src_rank=0");
	/* Later stores are dropped and are no faults: the space is FAULTED by the first. */
	trace_expect(&trace, "t3_space_state", "space=0 epoch=0 from=IDLE to=FAULTED");
	close_traced(&raw, &trace);
	trace_close(&trace);
}

TEST("grants have their events")
{
	struct raw owner, source;
	struct trace trace;
	uint32_t grant;
	char text[160];
	int fd;

	raw_open(&source, 1, PAGE);
	trace_open(&trace, 0);
	open_traced(&owner, &trace);
	CHECK_EQ(raw_export(&owner, 5, 3, &fd, &grant), 0);
	snprintf(text, sizeof(text), "space=0 grant=%u index=0 segments=0x5 ops=0x3", grant);
	trace_expect(&trace, "t3_grant_export", text);
	CHECK_EQ(raw_revoke(&owner, grant), 0);
	trace_expect(&trace, "t3_grant_end", text);
	close(fd);
	CHECK_EQ(raw_export(&owner, 1, 1, &fd, &grant), 0);
	snprintf(text, sizeof(text), "space=0 grant=%u index=1 segments=0x1 ops=0x1", grant);
	trace_expect(&trace, "t3_grant_export", text);
	/* The importer's events are of its device. */
	device_bdf(1, trace.bdf, sizeof(trace.bdf));
	CHECK_EQ(raw_import(&source, fd, &grant), 0);
	trace_expect(&trace, "t3_grant_import",
		     "space=0 route=0 peer_rank=0 peer_space=0 peer_generation=* peer_import=1");
	CHECK_EQ(raw_release_import(&source, grant), 0);
	trace_expect(&trace, "t3_grant_release",
		     "space=0 route=0 peer_rank=0 peer_space=0 peer_generation=* peer_import=1");
	close(fd);
	device_bdf(0, trace.bdf, sizeof(trace.bdf));
	raw_close(&owner);
	trace_expect(&trace, "t3_grant_end", text);
	trace_expect(&trace, "t3_space_destroy", "space=0 generation=* client=* bytes=4096");
	trace_close(&trace);
	raw_close(&source);
}

/* A queue, a buffer and a syncobj, and the trace of submissions. */
struct user {
	int fd;
	uint32_t queue;
	uint32_t sync;
	struct operand operand;
	struct trace trace;
	uint32_t hw_queue;
	uint64_t context; /* of the last job submitted */
};

static void user_open(struct user *u)
{
	u->fd = open_rank(0);
	operand_open(&u->operand, u->fd, PAGE, 1);
	u->sync = sync_create(u->fd);
	CHECK_EQ(queue_create(u->fd, 1, &u->queue), 0);
	trace_open(&u->trace, 0);
}

static void user_close(struct user *u)
{
	trace_close(&u->trace);
	operand_close(&u->operand, u->fd);
	close(u->fd);
}

/* A job of two commands, the seqno-th of its queue. */
static void submit_traced(struct user *u, uint32_t seqno)
{
	union drm_t3_any_command commands[2];
	struct submission s;
	const char *fields;

	commands[0] = commands[1] = command_fill(u->operand.handle, 0, 64, seqno);
	s = submission(u->queue, commands, 2);
	submission_out(&s, u->sync, 0);
	CHECK_EQ(submit(u->fd, &s), 0);
	fields = trace_next(&u->trace, "t3_job_submit");
	u->hw_queue = (uint32_t)trace_field(fields, "queue");
	u->context = trace_field(fields, "context");
	CHECK_EQ(trace_field(fields, "seqno"), seqno);
	CHECK_EQ(trace_field(fields, "priority"), 1);
	CHECK_EQ(trace_field(fields, "commands"), 2);
}

static void expect_job(struct user *u, const char *event, uint32_t seqno, uint32_t done, int error)
{
	char text[160];

	snprintf(text, sizeof(text), "queue=%u context=%llu seqno=%u done=%u/2 error=%d",
		 u->hw_queue, (unsigned long long)u->context, seqno, done, error);
	trace_expect(&u->trace, event, text);
}

TEST("jobs have their events in order")
{
	struct user u;
	uint32_t i;

	user_open(&u);
	for (i = 1; i <= 3; i++) {
		submit_traced(&u, i);
		expect_job(&u, "t3_job_run", i, 0, 0);
		CHECK_EQ(sync_wait(u.fd, u.sync, 0, WAIT_MS), 0);
		expect_job(&u, "t3_job_done", i, 2, 0);
	}
	user_close(&u);
}

/* The first of two jobs hangs before it has begun. It is aborted, and the other one goes on. */
TEST("a job that hangs has the events of its abort")
{
	unsigned int before;
	char text[64];
	struct user u;

	before = parameter_set("job_timeout_ms", 200);
	user_open(&u);
	parameter_set("job_timeout_ms", before);
	submit_traced(&u, 1);
	expect_job(&u, "t3_job_run", 1, 0, 0);
	expect_job(&u, "t3_job_done", 1, 2, 0);
	inject_hang(0, u.hw_queue, true);
	submit_traced(&u, 2);
	expect_job(&u, "t3_job_run", 2, 0, 0);
	submit_traced(&u, 3);
	expect_job(&u, "t3_job_run", 3, 0, 0); /* behind the other, in the ring */
	expect_job(&u, "t3_job_timeout", 2, 0, -ETIME);
	snprintf(text, sizeof(text), "queue=%u status=%d error=%d", u.hw_queue, T3_DESC_OK, -ETIME);
	trace_expect(&u.trace, "t3_queue_recover", text);
	expect_job(&u, "t3_job_done", 2, 0, -ETIME);
	expect_job(&u, "t3_job_done", 3, 2, 0);
	user_close(&u);
}

/* Only the administrator may read them, because they have names and sizes of all clients. */
static void unprivileged(int sock, void *arg)
{
	(void)sock;
	(void)arg;
	become(UID_USER, true);
	CHECK_EQ(access("/sys/kernel/tracing/instances", F_OK), -1);
	CHECK_EQ(errno, EACCES);
}

TEST("tracing is for root alone")
{
	struct child child;

	child_start(&child, unprivileged, NULL);
	CHECK_EQ(child_end(&child, WAIT_MS), 0);
}

TEST("the kernel's log is clean")
{
	check_kernel_log();
}
