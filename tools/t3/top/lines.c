// SPDX-License-Identifier: MIT
/* t3 top as text: lines that fit a terminal of 80 columns. The JSON has the exact numbers. */
#include <stdlib.h>
#include <string.h>

#include "top/top.h"

#define BAR_WIDTH    20
#define SPACES_WIDTH 27 /* the rest of TOP_COLUMNS */

struct number {
	char text[16];
};

/* A number in at most five characters: 999, 1.2k, 99.9M. */
static struct number compact(double value, double base)
{
	const char *unit = " kMGTPE";
	struct number n;

	for (; value >= 999.5 && unit[1]; unit++)
		value /= base;
	if (*unit == ' ')
		snprintf(n.text, sizeof(n.text), "%.0f", value);
	else
		snprintf(n.text, sizeof(n.text), value < 99.95 ? "%.1f%c" : "%.0f%c", value, *unit);
	return n;
}

static struct number rate(const struct change *change, uint32_t counter)
{
	return compact(change_rate(change, counter), 1000);
}

static struct number count(const struct change *change, uint32_t counter)
{
	return compact((double)change->value[counter], 1000);
}

/* A bar as in htop: filled from the left, with the number at the right end. */
static void make_bar(double percent, char bar[BAR_WIDTH + 1])
{
	size_t filled = (size_t)(percent * BAR_WIDTH / 100 + 0.5), used;
	char text[16];

	used = (size_t)snprintf(text, sizeof(text), "%.1f%%", percent);
	memset(bar, ' ', BAR_WIDTH);
	memset(bar, '|', filled < BAR_WIDTH ? filled : BAR_WIDTH);
	memcpy(bar + BAR_WIDTH - used, text, used);
	bar[BAR_WIDTH] = '\0';
}

static void print_device(FILE *out, const struct tool_devices *devices, size_t index,
			 const struct top_sample *before, const struct top_sample *after)
{
	const struct tool_device *device = &devices->list[index];
	char bar[BAR_WIDTH + 1];
	struct change change;

	sample_change(&before->counters, &after->counters, index, &change);
	make_bar(top_device_percent(device, before, after), bar);
	fprintf(out, "%3zu %4u  [%s] %7s %8s %8s %7s %8s\n", device->index, device->info.rank, bar,
		rate(&change, T3_DEVICE_QUEUE_DESCRIPTORS).text,
		rate(&change, T3_DEVICE_STORES).text, rate(&change, T3_DEVICE_TRIGGERS).text,
		count(&change, T3_DEVICE_FAULTS).text, count(&change, T3_DEVICE_DROPPED).text);
}

static void print_traffic(FILE *out, const struct tool_devices *devices, size_t index,
			  const struct top_sample *before, const struct top_sample *after)
{
	struct change change;

	sample_change(&before->counters, &after->counters, index, &change);
	fprintf(out, "%3zu %9s %9s %10s %7s %7s %7s %7.1f %9s\n", devices->list[index].index,
		rate(&change, T3_DEVICE_LINK_TX_BYTES).text,
		rate(&change, T3_DEVICE_LINK_RX_BYTES).text,
		rate(&change, T3_DEVICE_LINK_TX_PACKETS).text,
		count(&change, T3_DEVICE_LINK_RETRIES).text,
		count(&change, T3_DEVICE_TRACKER_LIVE).text,
		count(&change, T3_DEVICE_TRACKER_PEAK).text, change_hit_percent(&change),
		rate(&change, T3_DEVICE_TRACKER_SPILL).text);
}

/* ----------------------------------------------------------------- processes */

struct row {
	const struct client *client;
	double percent;
	uint64_t bytes;
};

static int by_pid(const void *a, const void *b)
{
	const struct client *x = ((const struct row *)a)->client,
			    *y = ((const struct row *)b)->client;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* Sort the largest number first. */
static int by_busy(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->percent > y->percent ? -1 : x->percent < y->percent ? 1 : by_pid(a, b);
}

static int by_memory(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes ? 1 : by_pid(a, b);
}

/* As many as fit the line. + stands for the rest. */
static void make_states(json_t *states, char text[SPACES_WIDTH + 1])
{
	char all[256] = "";
	const char *state;
	size_t used = 0;
	json_t *number;

	if (!states)
		strcpy(all, "?");
	json_object_foreach(states, state, number)
	{
		if (used < sizeof(all))
			used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%lld %s",
						 used ? " " : "",
						 (long long)json_integer_value(number), state);
	}
	snprintf(text, SPACES_WIDTH + 1, "%.*s", (int)SPACES_WIDTH, all);
	if (strlen(all) > SPACES_WIDTH)
		text[SPACES_WIDTH - 1] = '+';
}

static void print_row(FILE *out, const struct tool_devices *devices, const struct row *row,
		      const struct top_sample *after)
{
	json_t *states = top_count_spaces(devices, after, row->client);
	const struct client *client = row->client;
	char text[SPACES_WIDTH + 1];

	make_states(states, text);
	fprintf(out, "%7llu %-16.16s %3zu %6.1f %7s %7s  %s\n", (unsigned long long)client->pid,
		client->name, client->device->index, row->percent,
		compact((double)client->device_bytes, 1024).text,
		compact((double)client->host_bytes, 1024).text, text);
	json_decref(states);
}

static void print_processes(FILE *out, const struct tool_devices *devices,
			    const struct top_sample *before, const struct top_sample *after,
			    enum top_order order)
{
	static int (*const compare[])(const void *, const void *) = {
		[TOP_BY_BUSY] = by_busy, [TOP_BY_MEMORY] = by_memory, [TOP_BY_PID] = by_pid
	};
	const struct clients *clients = &after->clients;
	struct row *rows = calloc(clients->count + 1, sizeof(*rows));
	size_t i;

	for (i = 0; rows && i < clients->count; i++)
		rows[i] =
			(struct row){ &clients->list[i],
				      top_client_percent(&clients->list[i], before, after),
				      clients->list[i].device_bytes + clients->list[i].host_bytes };
	if (rows && order != TOP_BY_DEVICE)
		qsort(rows, clients->count, sizeof(*rows), compare[order]);
	fputs("\n    pid process          dev queue%  device    host  spaces\n", out);
	for (i = 0; rows && i < clients->count; i++)
		print_row(out, devices, &rows[i], after);
	free(rows);
}

/* The port of the switch, where there is one: what it has now, and since its reset. */
static void print_ports(FILE *out, const struct tool_devices *devices,
			const struct top_sample *after)
{
	static const char *const names[] = { "groups", "used",	"most", "entries",
					     "merged", "alone", "full", "copies" };
	const json_t *port;
	bool found = false;
	size_t i, k;

	for (i = 0; i < devices->count; i++) {
		port = json_array_get(after->ports, i);
		if (!json_is_object(port))
			continue;
		if (!found)
			fputs("\ndev  groups    used    most entries  merged   alone    full  "
			      "copies\n",
			      out);
		found = true;
		fprintf(out, "%3zu", devices->list[i].index);
		for (k = 0; k < sizeof(names) / sizeof(*names); k++)
			fprintf(out, " %7s",
				compact((double)json_integer_value(json_object_get(port, names[k])),
					1000)
					.text);
		fputc('\n', out);
	}
}

void top_print(FILE *out, const struct tool_devices *devices, const struct top_sample *before,
	       const struct top_sample *after, enum top_order order)
{
	size_t i;

	fprintf(out, "T3: %zu device%s, %.2f s\n\n", devices->count, devices->count == 1 ? "" : "s",
		(double)(after->counters.ns - before->counters.ns) / 1e9);
	fputs("dev rank  queues busy             desc/s stores/s  tiles/s  faults  dropped\n", out);
	for (i = 0; i < devices->count; i++)
		print_device(out, devices, i, before, after);
	fputs("\ndev    tx B/s    rx B/s  packets/s  resent tracked    peak    hit%  spills/s\n",
	      out);
	for (i = 0; i < devices->count; i++)
		print_traffic(out, devices, i, before, after);
	print_ports(out, devices, after);
	print_processes(out, devices, before, after, order);
}
