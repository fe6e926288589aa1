/* SPDX-License-Identifier: MIT */
/* The events of a run of the code, for models with TRACE. tests/unit/common/spy.c writes them. */
#include <stdio.h>
#include <stdlib.h>

struct event {
	unsigned int kind, a, b, c;
};

static struct event *event;
static int events, complete;
static const int *after; /* the event that the model does now */

/* The last line says how far the model could follow. */
static void tell(void)
{
	int at = complete ? events : *after - 1;
	const struct event *last = &event[complete ? 0 : at];

	printf("followed %d of %d events; next: kind %u (%u, %u, %u)\n", at, events, last->kind,
	       last->a, last->b, last->c);
}

static void read_trace(const int *at)
{
	FILE *file = fopen(getenv("T3_TRACE"), "rb");
	long bytes;

	if (!file || fseek(file, 0, SEEK_END) || (bytes = ftell(file)) < 0)
		exit(2);
	event = malloc((size_t)bytes + 1);
	events = (int)((size_t)bytes / sizeof(*event));
	rewind(file);
	if (!event || fread(event, sizeof(*event), (size_t)events, file) != (size_t)events)
		exit(2);
	fclose(file);
	after = at;
	atexit(tell);
}
