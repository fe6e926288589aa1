// SPDX-License-Identifier: MIT
/* Prints records as text. */
#include "sim/state.h"

static const char *const names[T3_REC_COUNT] = {
	[T3_REC_NONE] = "nothing",
	[T3_REC_NEW] = "NEW",
	[T3_REC_FREE] = "FREE",
	[T3_REC_ATTACH] = "ATTACH",
	[T3_REC_DETACH] = "DETACH",
	[T3_REC_RESET] = "RESET",
	[T3_REC_REGS_READ] = "REGS_READ",
	[T3_REC_REGS_WRITE] = "REGS_WRITE",
	[T3_REC_APERTURE_READ] = "APERTURE_READ",
	[T3_REC_APERTURE_WRITE] = "APERTURE_WRITE",
	[T3_REC_RUN] = "RUN",
	[T3_REC_BUDGET] = "BUDGET",
	[T3_REC_INJECT] = "INJECT",
	[T3_REC_MEMORY] = "MEMORY",
	[T3_REC_DMA_READ] = "DMA_READ",
	[T3_REC_DMA_WRITE] = "DMA_WRITE",
	[T3_REC_IRQ] = "IRQ",
	[T3_REC_KICK] = "KICK",
	[T3_REC_END] = "END",
	[T3_REC_CLOSE] = "CLOSE",
};

const char *replay_type_name(uint32_t type)
{
	return type < T3_REC_COUNT ? names[type] : "?";
}

static void describe_device(const struct replay_entry *entry, char *text, size_t size)
{
	switch (entry->type) {
	case T3_REC_REGS_READ:
	case T3_REC_APERTURE_READ:
		snprintf(text, size, "  0x%llx  %u bytes", (unsigned long long)entry->offset,
			 entry->size);
		break;
	case T3_REC_REGS_WRITE:
	case T3_REC_APERTURE_WRITE:
		snprintf(text, size, "  0x%llx  %u bytes  0x%llx",
			 (unsigned long long)entry->offset, entry->size,
			 (unsigned long long)entry->value);
		break;
	case T3_REC_ATTACH:
		snprintf(text, size, "  rank %llu", (unsigned long long)entry->value);
		break;
	default:
		*text = 0;
		break;
	}
}

void replay_describe_entry(const struct replay *replay, char *text, size_t size)
{
	const struct replay_entry *entry = &replay->entry;
	char more[64] = "", device[32] = "";

	if (entry->type == T3_REC_NONE) {
		snprintf(text, size, "header");
		return;
	}
	if (entry->device) {
		snprintf(device, sizeof(device), "  device %u", entry->device->slot);
		describe_device(entry, more, sizeof(more));
	} else if (entry->type == T3_REC_INJECT) {
		snprintf(more, sizeof(more), "  %s  rank %u  peer %u  nth %u",
			 t3_name_inject(entry->inject.kind), entry->inject.rank, entry->inject.peer,
			 entry->inject.nth);
	} else {
		snprintf(more, sizeof(more), "  %llu events", (unsigned long long)entry->value);
	}
	snprintf(text, size, "entry %llu at byte %llu: %s%s%s",
		 (unsigned long long)replay->result->entries, (unsigned long long)entry->at,
		 replay_type_name(entry->type), device, more);
}
