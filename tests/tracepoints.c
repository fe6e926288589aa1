// SPDX-License-Identifier: MIT
/*
 * The driver's events as perf and trace-cmd see them: by libtraceevent.
 *
 * usage: tracepoints HEADER_PAGE RAW FORMAT...
 *
 * HEADER_PAGE and each FORMAT are files of tracefs, RAW is what was read from trace_pipe_raw. It
 * prints "bad NAME" for each event whose print fmt cannot be parsed, and then "NAME: FIELDS" for
 * each event in RAW.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event-parse.h>
#include <kbuffer.h>
#include <trace-seq.h>

#define SYSTEM "t3"
#define PAGE   4096

struct text {
	char *at;
	size_t size;
};

static struct text read_file(const char *path)
{
	struct text text = { 0 };
	FILE *file = fopen(path, "r");
	size_t got;

	if (!file)
		err(2, "%s", path);
	do {
		text.at = realloc(text.at, text.size + PAGE);
		if (!text.at)
			err(2, "%s", path);
		got = fread(text.at + text.size, 1, PAGE, file);
		text.size += got;
	} while (got);
	fclose(file);
	return text;
}

/* FORMAT ends in the name of the event, as tests/tracepoints.py saves it. */
static void learn(struct tep_handle *tep, const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	struct text format = read_file(path);
	enum tep_errno ret = tep_parse_event(tep, format.at, format.size, SYSTEM);
	struct tep_event *event = tep_find_event_by_name(tep, SYSTEM, name);

	if (ret || !event || event->flags & TEP_EVENT_FL_FAILED)
		printf("bad %s\n", name);
	free(format.at);
}

static void print_page(struct tep_handle *tep, struct kbuffer *buffer, void *page)
{
	struct tep_record record = { 0 };
	struct trace_seq line;

	if (kbuffer_load_subbuffer(buffer, page))
		errx(2, "a page of the ring buffer cannot be read");
	for (record.data = kbuffer_read_event(buffer, &record.ts); record.data;
	     record.data = kbuffer_next_event(buffer, &record.ts)) {
		record.size = kbuffer_event_size(buffer);
		trace_seq_init(&line);
		tep_print_event(tep, &line, &record, "%s: %s\n", TEP_PRINT_NAME, TEP_PRINT_INFO);
		trace_seq_do_printf(&line);
		trace_seq_destroy(&line);
	}
}

int main(int argc, char **argv)
{
	struct kbuffer *buffer = kbuffer_alloc(KBUFFER_LSIZE_8, KBUFFER_ENDIAN_LITTLE);
	struct tep_handle *tep = tep_alloc();
	struct text header, raw;
	size_t at;
	int i;

	if (argc < 4)
		errx(2, "usage: tracepoints HEADER_PAGE RAW FORMAT...");
	if (!buffer || !tep)
		errx(2, "no memory");
	header = read_file(argv[1]);
	raw = read_file(argv[2]);
	if (tep_parse_header_page(tep, header.at, header.size, sizeof(long)))
		errx(2, "%s cannot be read", argv[1]);
	for (i = 3; i < argc; i++)
		learn(tep, argv[i]);
	for (at = 0; at + PAGE <= raw.size; at += PAGE)
		print_page(tep, buffer, raw.at + at);
	free(header.at);
	free(raw.at);
	tep_free(tep);
	kbuffer_free(buffer);
	return 0;
}
