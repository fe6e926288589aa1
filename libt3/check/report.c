// SPDX-License-Identifier: MIT
/*
 * T3_DEBUG=check: reports. A report comes at a store or a call of the program's own, never inside
 * malloc() or the dynamic linker. So the functions that it calls are safe in a trap, too.
 */
#include "check/check.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <unwind.h>

#define FRAMES 8u

/* ---------------------------------------------------------------------- text */

static char text[8192]; /* guarded by the lock */
static size_t length;

void t3_check_say(const char *format, ...)
{
	size_t room = sizeof(text) - length;
	va_list args;
	int ret;

	va_start(args, format);
	ret = vsnprintf(text + length, room, format, args);
	va_end(args);
	if (ret > 0)
		length += (size_t)ret < room ? (size_t)ret : room - 1;
}

void t3_check_flush(void)
{
	size_t done = 0;
	ssize_t ret;

	while (done < length) {
		ret = write(STDERR_FILENO, text + done, length - done);
		if (ret <= 0)
			break;
		done += (size_t)ret;
	}
	length = 0;
}

/* -------------------------------------------------------------------- frames */

struct frames {
	const void *at[FRAMES];
	bool exact[FRAMES];
	uint32_t count;
	const void *first; /* the address in the program's code, not inside of libt3 */
	bool found;
};

static _Unwind_Reason_Code keep_frame(struct _Unwind_Context *context, void *arg)
{
	struct frames *frames = arg;
	int exact = 0;
	const void *at = (const void *)_Unwind_GetIPInfo(context, &exact);

	if (at == frames->first)
		frames->found = true;
	if (!frames->found)
		return _URC_NO_REASON;
	if (!at || frames->count == FRAMES)
		return _URC_END_OF_STACK;
	frames->at[frames->count] = at;
	frames->exact[frames->count++] = exact;
	return _URC_NO_REASON;
}

static void find_frames(const struct check_event *event, struct frames *frames)
{
	*frames = (struct frames){ .first = event->code };
	_Unwind_Backtrace(keep_frame, frames);
	if (frames->count)
		return;
	frames->at[0] = event->code;
	frames->exact[0] = event->exact;
	frames->count = 1;
}

static void say_frames(const struct frames *frames)
{
	char symbol[512];
	uint32_t i;

	for (i = 0; i < frames->count; i++) {
		t3_symbol_text(frames->at[i], frames->exact[i], symbol, sizeof(symbol));
		t3_check_say("    #%u %s\n", i, symbol);
	}
}

/* -------------------------------------------------------------------- report */

static const struct {
	const char *headline;
	const char *advice;
} words[] = {
	[CHECK_OUTSIDE] = { "a store beyond the space's end", NULL },
	[CHECK_NOT_ARMED] = { "a store while the space is not armed",
			      "Store between t3_wait_armed() and the epoch's end." },
	[CHECK_UNMAPPED] = { "a store outside every segment", NULL },
	[CHECK_PADDING] = { "a store to the padding between two rows", NULL },
	[CHECK_ROW_END] = { "a store over the end of a row", NULL },
	[CHECK_NARROW] = { "a store of less than an element", NULL },
	[CHECK_MISALIGNED] = { "a store that is not aligned to its width",
			       "t3_store_run() and t3_store_tile() store aligned." },
	[CHECK_TILE_CROSS] = { "a store over a tile's edge",
			       "t3_store_run() and t3_store_tile() split there." },
	[CHECK_TWICE] = { "an element is stored again in one epoch", NULL },
	[CHECK_NO_MOVE] = { "no store that the device counts once",
			    "Use t3_store*() or a producer, not memcpy(), to write to an "
			    "aperture." },
	[CHECK_BAD_DOORBELL] = { "a doorbell for a segment, slot or tile that there is not", NULL },
	[CHECK_NOT_STAGED] = { "a doorbell for a tile that was never staged", NULL },
	[CHECK_STAGED_EARLY] = { "a tile is staged again before the device has read it",
				 "Wait until t3_slot_consumed() is the number of doorbells." },
	[CHECK_ARM] = { "an epoch is armed while another one is not over", NULL },
	[CHECK_RELEASE] = { "an epoch is released that is not complete",
			    "t3_wait(.., 0, T3_DELIVERED, ..) first." },
	[CHECK_MISSING] = { "stores are missing", NULL },
};

/* Write the store, its place in the space, and its place in the segment. */
static void say_event(const struct t3_check *check, const struct check_event *event)
{
	const struct check_segment *segment = &check->segment[event->segment % T3_SEGMENTS];
	struct t3_tile tile;

	t3_check_say("  %s", event->what);
	if (event->width)
		t3_check_say(" of %u bytes", event->width);
	if (event->offset != CHECK_NONE)
		t3_check_say(" at byte %#llx (%p)", (unsigned long long)event->offset,
			     (void *)(check->shown + event->offset));
	t3_check_say("\n  rank %u, space %u, %s, epoch %u\n", check->rank, check->space->handle,
		     t3_state_name(event->state), event->epoch);
	if (event->segment < T3_SEGMENTS && !segment->mapped)
		t3_check_say("  segment %u is not mapped\n", event->segment);
	if (event->segment < T3_SEGMENTS && segment->mapped) {
		t3_check_say("  segment %u (%s %s)", event->segment, t3_kind_name(segment->kind),
			     t3_dtype_name(segment->desc.dtype));
		if (event->tile == CHECK_NONE)
			t3_check_say(", row %u, byte %u; a row has %u bytes\n", event->row,
				     event->col, segment->desc.row_bytes);
		else if (t3_desc_tile(&segment->desc, event->tile, &tile))
			t3_check_say(", tile %llu of %llu\n", (unsigned long long)event->tile,
				     (unsigned long long)t3_desc_tiles(&segment->desc));
		else
			t3_check_say(", tile %llu (rows %u .. %u, bytes %u .. %u of a row)\n",
				     (unsigned long long)event->tile, tile.row,
				     tile.row + tile.rows - 1, tile.col,
				     tile.col + tile.row_bytes - 1);
	}
	if (event->tile != CHECK_NONE && event->offset == CHECK_NONE)
		t3_check_say("  slot %u\n", event->slot);
	if (event->tile != CHECK_NONE && event->width && event->segment < T3_SEGMENTS)
		t3_check_say("  row %u, bytes %u .. %u\n", event->row, event->col,
			     event->col + event->width - 1);
}

static void say_earlier(const struct check_event *event)
{
	char symbol[512];

	if (!event->earlier)
		return;
	t3_symbol_text(event->earlier, false, symbol, sizeof(symbol));
	t3_check_say("  stored there before:\n    %s\n", symbol);
}

struct report {
	const struct t3_check *check;
	const struct check_event *event;
	struct frames frames;
};

static void *write_report(void *arg)
{
	const struct report *report = arg;
	const struct check_event *event = report->event;

	t3_check_say("==%d== T3 check: %s\n", (int)getpid(), words[event->mistake].headline);
	say_event(report->check, event);
	say_frames(&report->frames);
	say_earlier(event);
	if (words[event->mistake].advice)
		t3_check_say("  %s\n", words[event->mistake].advice);
	t3_check_flush();
	return NULL;
}

static bool is_stack_small(void)
{
	stack_t now;

	return !sigaltstack(NULL, &now) && now.ss_flags & SS_ONSTACK;
}

/*
 * An alternate signal stack may be too small for the search for lines of code. So a thread does it.
 */
void t3_check_report(const struct t3_check *check, const struct check_event *event)
{
	struct report report = { .check = check, .event = event };
	pthread_t thread;

	find_frames(event, &report.frames);
	if (!is_stack_small() || pthread_create(&thread, NULL, write_report, &report))
		write_report(&report);
	else
		pthread_join(thread, NULL);
}

void t3_check_end(void)
{
	if (!t3_check_goes_on)
		abort();
}
