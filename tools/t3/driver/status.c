// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "driver/debugfs.h"
#include "driver/status.h"
#include "t3_core.h"

/* A sentence that grows. Text that does not fit is cut. */
struct sentence {
	char text[1024];
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void say(struct sentence *s, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(s->text + s->used, sizeof(s->text) - s->used, format, args);
	va_end(args);
	if (length > 0)
		s->used += (size_t)length;
	if (s->used >= sizeof(s->text))
		s->used = sizeof(s->text) - 1;
}

static void keep(json_t *sentences, const struct sentence *s)
{
	json_array_append_new(sentences, json_string(s->text));
}

static bool has_state(const json_t *record, const char *state)
{
	return !strcmp(record_text(record, "state"), state);
}

static const json_t *find_space(const struct status *status, uint64_t fabric, json_int_t rank,
				json_int_t space)
{
	const struct status_device *found = NULL;
	json_t *record;
	size_t i;

	for (i = 0; i < status->count; i++)
		if (status->list[i].device->info.fabric_id == fabric &&
		    (json_int_t)status->list[i].device->info.rank == rank)
			found = &status->list[i];
	if (!found)
		return NULL;
	json_array_foreach(found->spaces, i,
			   record) if (record_number(record, "space") == space) return record;
	return NULL;
}

static void say_owner(struct sentence *s, const json_t *space)
{
	const char *known = json_string_value(json_object_get(space, "process"));
	json_int_t pid = record_number(space, "pid");
	char name[32];

	if (!known)
		process_name((uint64_t)pid, name, sizeof(name));
	say(s, " (pid %lld %.32s)", (long long)pid, known ? known : name);
}

static void say_node(struct sentence *s, const struct status_device *device)
{
	if (device->node != NO_NODE)
		say(s, "node %d ", device->node);
}

static void say_rank(struct sentence *s, json_int_t rank)
{
	if (rank == DRM_T3_SWITCH_RANK)
		say(s, "the switch");
	else
		say(s, "rank %lld", (long long)rank);
}

static void say_target(struct sentence *s, const struct status *status,
		       const struct status_device *device, const json_t *route, json_int_t epoch)
{
	json_int_t rank = record_number(route, "peer_rank");
	json_int_t peer = record_number(route, "peer_space");
	bool to_switch = rank == DRM_T3_SWITCH_RANK;
	const json_t *space = find_space(status, device->device->info.fabric_id, rank, peer);
	uint32_t ahead = space ? (uint32_t)record_number(space, "epoch") - (uint32_t)epoch : 0;

	if (to_switch) {
		say(s, "; waits until all targets of group %lld of the switch have armed it",
		    (long long)peer);
		return;
	}
	/* Epochs wrap. One that is less than half of all numbers ahead has come. */
	if (space && ahead < UINT32_MAX / 2 && !has_state(space, "FAULTED"))
		return;
	say(s, "; waits until rank %lld space %lld has armed it", (long long)rank, (long long)peer);
	if (space)
		say(s, ", which is %s in epoch %lld", record_text(space, "state"),
		    (long long)record_number(space, "epoch"));
	else if (device->node == NO_NODE)
		say(s, ", which this machine cannot see");
	else
		say(s, ", which no node has shown");
}

static void say_segment(struct sentence *s, const json_t *segment)
{
	json_int_t tiles = record_number(segment, "tiles");
	json_int_t done = record_number(segment, "done");
	const json_t *tile = json_array_get(json_object_get(segment, "parts"), 0), *exact;
	const char *waits_for;
	long long count;

	say(s, "; segment %lld: ", (long long)record_number(segment, "segment"));
	if (done < tiles)
		say(s, "%lld of %lld tiles wait for updates", (long long)(tiles - done),
		    (long long)tiles);
	else
		say(s, "all %lld tiles are counted, waits for %s", (long long)tiles,
		    record_text(segment, "waits_for"));
	if (!tile || !json_object_get(tile, "tile"))
		return;
	/* The exact count where the driver knows it, else the last one written back. */
	exact = json_object_get(tile, "counted");
	count = json_is_integer(exact) ? (long long)json_integer_value(exact)
				       : (long long)record_number(tile, "counted_at_least");
	waits_for = record_text(tile, "waits_for");
	say(s, ", first: tile %lld", (long long)record_number(tile, "tile"));
	if (!strcmp(waits_for, "link"))
		say(s, " waits for its turn on the link");
	else
		say(s, " has %s%lld of %lld bytes%s", json_is_integer(exact) ? "" : "at least ",
		    count, (long long)record_number(tile, "expected"),
		    strcmp(waits_for, "poison") ? "" : " and poisoned memory");
}

static void say_fault(struct sentence *s, const json_t *space)
{
	json_t *part;
	size_t i;

	json_array_foreach(json_object_get(space, "parts"), i, part)
	{
		if (!record_is(part, "fault"))
			continue;
		say(s, "; fault %s", t3_name_fault((uint32_t)record_number(part, "kind")));
		if (record_number(part, "detail"))
			say(s, " (%s)", t3_name_nak((uint32_t)record_number(part, "detail")));
		say(s, ", segment %lld, tile %lld, ", (long long)record_number(part, "segment"),
		    (long long)record_number(part, "tile"));
		say_rank(s, record_number(part, "src_rank"));
	}
}

static void add_space(json_t *sentences, const struct status *status,
		      const struct status_device *device, const json_t *space)
{
	json_int_t epoch = record_number(space, "epoch");
	struct sentence s = { .used = 0 };
	json_t *part, *segment;
	size_t i;

	say_node(&s, device);
	say(&s, "rank %u space %lld", device->device->info.rank,
	    (long long)record_number(space, "space"));
	say_owner(&s, space);
	say(&s, ": epoch %lld %s", (long long)epoch, record_text(space, "state"));
	json_array_foreach(json_object_get(space, "parts"), i, part)
	{
		if (has_state(space, "ARMING") && record_is(part, "route"))
			say_target(&s, status, device, part, epoch);
	}
	json_array_foreach(device->tiles, i, segment)
	{
		if ((has_state(space, "ARMING") || has_state(space, "ARMED")) &&
		    record_number(segment, "space") == record_number(space, "space"))
			say_segment(&s, segment);
	}
	say_fault(&s, space);
	keep(sentences, &s);
}

/* At the group's own space: its members see the same. */
static void add_group(json_t *sentences, const struct status_device *device, const json_t *space,
		      const json_t *group)
{
	json_int_t cause = record_number(group, "cause");
	struct sentence s = { .used = 0 };

	say_node(&s, device);
	say(&s, "rank %u space %lld group %lld of the switch: %s of %lld members, %s in epoch %lld",
	    device->device->info.rank, (long long)record_number(space, "space"),
	    (long long)record_number(group, "number"), record_text(group, "kind"),
	    (long long)record_number(group, "members"), record_text(group, "state"),
	    (long long)record_number(group, "epoch"));
	if (record_number(group, "entries"))
		say(&s, ", %lld entries wait for members",
		    (long long)record_number(group, "entries"));
	if (has_state(group, "ended")) {
		say(&s, ", because of %s (", t3_name_fault((uint32_t)cause));
		say_rank(&s, record_number(group, "cause_rank"));
		say(&s, ")");
	}
	keep(sentences, &s);
}

static void add_groups(json_t *sentences, const struct status_device *device, const json_t *space,
		       bool all)
{
	json_t *part;
	size_t i;

	json_array_foreach(json_object_get(space, "parts"), i, part)
	{
		if (record_is(part, "group") &&
		    (all || !has_state(part, "open") || record_number(part, "entries")))
			add_group(sentences, device, space, part);
	}
}

static bool space_is_in_flight(const json_t *space)
{
	return has_state(space, "ARMING") || has_state(space, "ARMED") ||
	       has_state(space, "FAULTED") || has_state(space, "DISABLED");
}

static void add_queue(json_t *sentences, const struct status_device *device, const json_t *queue)
{
	const json_t *job = json_array_get(json_object_get(queue, "parts"), 0);
	struct sentence s = { .used = 0 };

	say_node(&s, device);
	say(&s, "rank %u queue %lld (priority %lld): %s, %lld jobs", device->device->info.rank,
	    (long long)record_number(queue, "queue"), (long long)record_number(queue, "priority"),
	    record_text(queue, "state"), (long long)record_number(queue, "jobs"));
	if (job)
		say(&s, ", first: job %lld is at command %lld of %lld, %s",
		    (long long)record_number(job, "job"), (long long)record_number(job, "done"),
		    (long long)record_number(job, "commands"),
		    t3_name_opcode((uint32_t)record_number(job, "opcode")));
	keep(sentences, &s);
}

/* From its own side: the other device shows the way back. */
static void add_link(json_t *sentences, const struct status_device *device, const json_t *link)
{
	json_int_t segments = record_number(link, "waiting_segments");
	struct sentence s = { .used = 0 };

	say_node(&s, device);
	say(&s, "rank %u link to ", device->device->info.rank);
	say_rank(&s, record_number(link, "link"));
	say(&s, ": %s, %lld packets not answered", record_text(link, "state"),
	    (long long)record_number(link, "unanswered"));
	if (record_number(link, "retries"))
		say(&s, ", sent again %lld times in a row",
		    (long long)record_number(link, "retries"));
	if (segments)
		say(&s, ", %lld segments wait for it", (long long)segments);
	keep(sentences, &s);
}

json_t *status_sentences(const struct status *status, bool all)
{
	json_t *sentences = json_array(), *record;
	const struct status_device *device;
	size_t i, k;

	for (i = 0; i < status->count; i++) {
		device = &status->list[i];
		json_array_foreach(device->spaces, k, record)
		{
			if (all || space_is_in_flight(record))
				add_space(sentences, status, device, record);
			add_groups(sentences, device, record, all);
		}
		json_array_foreach(device->queues, k,
				   record) if (all || record_number(record, "jobs"))
			add_queue(sentences, device, record);
		json_array_foreach(device->links, k, record) if (all || !has_state(record, "UP"))
			add_link(sentences, device, record);
	}
	return sentences;
}
