// SPDX-License-Identifier: MIT
/* The loop over a record, and its end. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/state.h"

/* ------------------------------------------------------------------ verdicts */

static void finish(struct replay *replay, enum replay_verdict verdict, uint64_t at)
{
	replay->result->verdict = verdict;
	replay->result->at = at;
	replay_describe_entry(replay, replay->result->where, sizeof(replay->result->where));
	replay->over = true;
}

void replay_bad(struct replay *replay, const char *format, ...)
{
	va_list args;

	if (replay->over)
		return;
	va_start(args, format);
	vsnprintf(replay->result->why, sizeof(replay->result->why), format, args);
	va_end(args);
	finish(replay, REPLAY_BAD, replay->reader.position);
}

void replay_diverged(struct replay *replay, const char *recorded, const char *format, ...)
{
	struct replay_result *result = replay->result;
	va_list args;

	if (replay->over)
		return;
	if (recorded)
		snprintf(result->recorded, sizeof(result->recorded), "%s", recorded);
	else
		snprintf(result->recorded, sizeof(result->recorded), "%s of device %u",
			 replay_type_name(replay->head.type), replay->head.slot);
	va_start(args, format);
	vsnprintf(result->replayed, sizeof(result->replayed), format, args);
	va_end(args);
	finish(replay, REPLAY_DIVERGED, replay->head.at);
}

void replay_log(struct replay *replay, const char *format, ...)
{
	va_list args;

	if (!replay->options->log)
		return;
	fprintf(replay->options->log, "%10llu ns  ",
		replay->fabric ? (unsigned long long)t3_fabric_now(replay->fabric) : 0);
	va_start(args, format);
	vfprintf(replay->options->log, format, args);
	va_end(args);
	fputc('\n', replay->options->log);
}

/* ------------------------------------------------------------------- records */

uint64_t replay_address(struct replay *replay, uint32_t slot, enum t3_record_address kind)
{
	uint64_t *last = &replay->context.last[slot][kind];
	uint64_t delta = reader_number(&replay->reader);

	*last += delta >> 1 ^ -(delta & 1);
	return *last;
}

static bool has_device(uint32_t type)
{
	return (type >= T3_REC_NEW && type <= T3_REC_APERTURE_WRITE) ||
	       (type >= T3_REC_MEMORY && type <= T3_REC_IRQ);
}

static void read_device(struct replay *replay, struct replay_head *head)
{
	if (head->flags & T3_REC_DEVICE) {
		uint64_t slot = reader_number(&replay->reader);

		if (slot >= T3_RECORD_SLOTS) {
			replay_bad(replay, "device %llu: there are %u at most",
				   (unsigned long long)slot, T3_RECORD_SLOTS);
			return;
		}
		replay->context.slot = (uint32_t)slot;
	}
	head->slot = replay->context.slot;
	if (head->slot >= T3_RECORD_SLOTS)
		replay_bad(replay, "a record names no device");
}

static void read_head(struct replay *replay, struct replay_head *head)
{
	uint8_t tag = reader_byte(&replay->reader);

	head->type = tag >> T3_REC_TYPE_SHIFT;
	head->flags = tag & 7;
	if (head->type >= T3_REC_COUNT)
		replay_bad(replay, "a record of type %u", head->type);
	else if (has_device(head->type))
		read_device(replay, head);
	if (replay->over || head->type != T3_REC_MEMORY)
		return;
	head->fetches = reader_number(&replay->reader);
	head->offset = replay_address(replay, head->slot, T3_REC_AT_MEMORY);
	head->length = reader_number(&replay->reader);
}

/* Read the head of the next record, or NULL at the end. The user clears `valid`. */
struct replay_head *replay_peek(struct replay *replay)
{
	struct replay_head *head = &replay->head;

	if (replay->over)
		return NULL;
	if (!head->valid) {
		head->at = replay->reader.position;
		read_head(replay, head);
		if (replay->reader.wrong)
			replay_bad(replay, "a number longer than 64 bits");
		if (replay->reader.ended || head->type == T3_REC_NONE)
			replay->over = true;
		if (replay->over)
			return NULL;
		head->valid = true;
		replay->result->count[head->type]++;
	}
	return head;
}

/* -------------------------------------------------------------------- the run */

static void read_header(struct replay *replay)
{
	struct t3_fabric_config config = { 0 };
	char magic[sizeof(T3_RECORD_MAGIC) - 1];
	uint64_t number[7] = { 0 };
	uint32_t i;

	reader_bytes(&replay->reader, magic, sizeof(magic));
	for (i = 0; i < 6; i++)
		number[i] = reader_number(&replay->reader);
	if (number[1] == T3_TOPOLOGY_SWITCH)
		number[i] = reader_number(&replay->reader);
	if (memcmp(magic, T3_RECORD_MAGIC, sizeof(magic))) {
		replay_bad(replay, "it is no T3 record");
	} else if (replay->reader.ended || replay->reader.wrong) {
		replay_bad(replay, "its header is cut");
	} else if (number[0] != T3_RECORD_VERSION) {
		replay_bad(replay, "version %llu, not %u", (unsigned long long)number[0],
			   T3_RECORD_VERSION);
	} else if (number[1] > UINT32_MAX || number[2] > UINT32_MAX || number[4] > 1 ||
		   number[5] > UINT32_MAX || number[6] > UINT32_MAX) {
		replay_bad(replay, "an impossible fabric");
	} else {
		config.topology = (uint32_t)number[1];
		config.ranks = (uint32_t)number[2];
		config.id = number[3];
		config.timed = number[4];
		config.switch_entries = (uint32_t)number[6];
		replay->result->ranks = config.ranks;
		replay->fabric = t3_fabric_new(&config, &replay_fabric_ops, replay);
		if (replay->fabric)
			t3_fabric_set_inline_budget(replay->fabric, (uint32_t)number[5]);
		else
			replay_bad(replay, "an impossible fabric, or no memory");
	}
}

static void run_entries(struct replay *replay)
{
	const uint64_t until = replay->options->until;

	while (replay_peek(replay)) {
		if (replay->head.type == T3_REC_CLOSE) {
			replay->result->complete = true;
			return;
		}
		if (until && replay->result->entries == until) {
			replay->result->stopped = true;
			return;
		}
		replay->result->entries++;
		replay_entry(replay);
	}
}

static void clean_up(struct replay *replay)
{
	static const struct replay_options silent;
	uint32_t i;

	replay->over = true; /* detaching a device writes and interrupts */
	replay->options = &silent;
	for (i = 0; i < T3_RECORD_SLOTS; i++)
		replay_drop_device(&replay->device[i]);
	if (replay->fabric)
		t3_fabric_free(replay->fabric);
	free(replay);
}

void replay_run(FILE *file, const struct replay_options *options, struct replay_result *result)
{
	struct replay *replay = calloc(1, sizeof(*replay));
	uint32_t i;

	memset(result, 0, sizeof(*result));
	if (!replay) {
		result->verdict = REPLAY_BAD;
		snprintf(result->why, sizeof(result->why), "no memory");
		return;
	}
	replay->reader.file = file;
	replay->options = options;
	replay->result = result;
	replay->context.slot = UINT32_MAX;
	for (i = 0; i < T3_RECORD_SLOTS; i++) {
		replay->device[i].replay = replay;
		replay->device[i].slot = i;
	}
	read_header(replay);
	run_entries(replay);
	result->bytes = replay->reader.position;
	result->now = replay->fabric ? t3_fabric_now(replay->fabric) : 0;
	clean_up(replay);
}
