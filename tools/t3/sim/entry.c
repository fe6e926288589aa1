// SPDX-License-Identifier: MIT
/* Makes one recorded call into the core. */
#include <sys/mman.h>

#include "sim/state.h"

/* Of device memory, and of all apertures together: each page of one takes two bytes here. */
#define SIZE_MAX_RECORDED ((uint64_t)1 << 40)

/* -------------------------------------------------------------------- devices */

/* Untouched pages take no memory. So a record may have devices larger than this machine. */
static void new_device(struct replay *replay, struct replay_device *device)
{
	const struct t3_dev_config *config = &replay->entry.config;
	const char *why = t3_dev_config_error(config);
	uint64_t left = SIZE_MAX_RECORDED;
	void *memory;
	uint32_t i;

	for (i = 0; i < T3_RECORD_SLOTS; i++)
		left -= replay->device[i].aperture_size;
	if (device->dev || why || config->memory_size > SIZE_MAX_RECORDED ||
	    config->aperture_size > left) {
		replay_bad(replay, "an impossible device: %s",
			   device->dev ? "its slot is taken"
			   : why       ? why
				       : "it is too large");
		return;
	}
	memory = mmap(NULL, config->memory_size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory != MAP_FAILED) {
		device->memory = memory;
		device->memory_size = config->memory_size;
		device->dev = t3_dev_new(config, device->memory, &replay_host_ops, device);
	}
	if (!device->dev) {
		replay_bad(replay, "no memory for a device");
		replay_drop_device(device);
		return;
	}
	device->aperture_size = config->aperture_size;
	t3_dev_watch(device->dev, &replay_mem_watch, device);
}

void replay_drop_device(struct replay_device *device)
{
	if (device->dev) {
		t3_dev_detach(device->dev);
		t3_dev_free(device->dev);
	}
	if (device->memory)
		munmap(device->memory, device->memory_size);
	device->dev = NULL;
	device->memory = NULL;
	device->aperture_size = 0;
	device->attached = false;
}

static void attach(struct replay *replay, struct replay_device *device)
{
	uint32_t rank = (uint32_t)replay->entry.value;

	if (t3_dev_attach(device->dev, replay->fabric, rank) != T3_ATTACH_OK)
		replay_bad(replay, "a device attached to rank %u, which cannot be", rank);
	else
		device->attached = true;
	device->rank = rank;
}

static void detach(struct replay_device *device)
{
	t3_dev_detach(device->dev);
	device->attached = false;
}

static void free_device(struct replay *replay, struct replay_device *device)
{
	if (device->attached)
		replay_bad(replay, "a device freed while attached");
	else
		replay_drop_device(device);
}

/* ----------------------------------------------------------------- arguments */

static uint32_t small_number(struct replay *replay)
{
	uint64_t number = reader_number(&replay->reader);

	if (number > UINT32_MAX && !replay->reader.wrong)
		replay_bad(replay, "a number longer than 32 bits");
	return (uint32_t)number;
}

static void read_access(struct replay *replay, struct replay_entry *entry, uint32_t flags)
{
	bool regs = entry->type == T3_REC_REGS_READ || entry->type == T3_REC_REGS_WRITE;
	bool write = entry->type == T3_REC_REGS_WRITE || entry->type == T3_REC_APERTURE_WRITE;

	entry->size = 1u << (flags >> T3_REC_SIZE_SHIFT);
	entry->offset = replay_address(replay, entry->device->slot,
				       regs ? T3_REC_AT_REGS : T3_REC_AT_APERTURE);
	if (write)
		reader_bytes(&replay->reader, &entry->value, entry->size);
}

static void read_config(struct replay *replay, struct t3_dev_config *config)
{
	config->memory_size = reader_number(&replay->reader);
	config->aperture_size = reader_number(&replay->reader);
	config->tracker_entries = small_number(replay);
	config->tracker_ways = small_number(replay);
	config->guest_inject = small_number(replay);
	config->keys = small_number(replay);
	config->reset_generations = small_number(replay);
	config->without_caps = small_number(replay);
	memset(replay->context.last[replay->entry.device->slot], 0,
	       sizeof(replay->context.last[0]));
}

static void read_arguments(struct replay *replay, uint32_t flags)
{
	struct replay_entry *entry = &replay->entry;

	switch (entry->type) {
	case T3_REC_NEW:
		read_config(replay, &entry->config);
		break;
	case T3_REC_REGS_READ ... T3_REC_APERTURE_WRITE:
		read_access(replay, entry, flags);
		break;
	case T3_REC_ATTACH:
	case T3_REC_RUN:
	case T3_REC_BUDGET:
		entry->value = small_number(replay);
		break;
	case T3_REC_INJECT:
		reader_bytes(&replay->reader, &entry->inject, sizeof(entry->inject));
		break;
	default:
		break;
	}
}

/* ------------------------------------------------------------------ the call */

static void call_device(struct replay *replay, struct replay_device *device)
{
	struct replay_entry *entry = &replay->entry;
	uint64_t value = 0;
	uint32_t size = 0;

	switch (entry->type) {
	case T3_REC_NEW:
		new_device(replay, device);
		break;
	case T3_REC_FREE:
		free_device(replay, device);
		break;
	case T3_REC_ATTACH:
		attach(replay, device);
		break;
	case T3_REC_DETACH:
		detach(device);
		break;
	case T3_REC_RESET:
		t3_dev_reset(device->dev);
		break;
	case T3_REC_REGS_READ:
		value = t3_dev_regs_read(device->dev, entry->offset, entry->size);
		size = entry->size;
		break;
	case T3_REC_REGS_WRITE:
		t3_dev_regs_write(device->dev, entry->offset, entry->value, entry->size);
		break;
	case T3_REC_APERTURE_READ:
		value = t3_dev_aperture_read(device->dev, entry->offset, entry->size);
		size = entry->size;
		break;
	default:
		t3_dev_aperture_write(device->dev, entry->offset, entry->value, entry->size);
		break;
	}
	replay_end(replay, value, size);
}

static void call_fabric(struct replay *replay)
{
	struct replay_entry *entry = &replay->entry;
	uint64_t value = 0;
	uint32_t size = 1;

	switch (entry->type) {
	case T3_REC_RUN:
		value = t3_fabric_run(replay->fabric, (uint32_t)entry->value);
		break;
	case T3_REC_BUDGET:
		t3_fabric_set_inline_budget(replay->fabric, (uint32_t)entry->value);
		size = 0;
		break;
	default:
		value = t3_fabric_inject(replay->fabric, &entry->inject);
		break;
	}
	replay_end(replay, value, size);
}

static void log_entry(struct replay *replay)
{
	char text[128];

	if (!replay->options->log)
		return;
	replay_describe_entry(replay, text, sizeof(text));
	replay_log(replay, "%s", text);
}

/* For debugging: set a break point here, with `t3 sim --until`. */
void replay_entry(struct replay *replay)
{
	struct replay_head head = replay->head;
	struct replay_entry *entry = &replay->entry;

	replay->head.valid = false;
	memset(entry, 0, sizeof(*entry));
	entry->at = head.at;
	entry->type = head.type;
	if (head.type < T3_REC_NEW || head.type > T3_REC_INJECT) {
		replay_bad(replay, "%s outside an entry", replay_type_name(head.type));
		return;
	}
	if (head.type < T3_REC_RUN)
		entry->device = &replay->device[head.slot];
	if (entry->device && head.type != T3_REC_NEW && !entry->device->dev)
		replay_bad(replay, "device %u does not exist", head.slot);
	read_arguments(replay, head.flags);
	if (replay->reader.wrong)
		replay_bad(replay, "a number longer than 64 bits");
	if (replay->reader.ended)
		replay->over = true; /* the call's arguments are cut */
	if (replay->over)
		return;
	log_entry(replay);
	if (entry->device)
		call_device(replay, entry->device);
	else
		call_fabric(replay);
}
