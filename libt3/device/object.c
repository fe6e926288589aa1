// SPDX-License-Identifier: MIT
/* Finds the loaded object of an address, on any C library with dl_iterate_phdr(). */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "device/device.h"

#include <link.h>

struct search {
	uintptr_t address;
	struct t3_object *object;
	bool later; /* the program itself comes first */
};

static int look(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	uint16_t i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type != PT_LOAD ||
		    search->address - info->dlpi_addr - part->p_vaddr >= part->p_memsz)
			continue;
		*search->object = (struct t3_object){ .path = info->dlpi_name,
						      .bias = info->dlpi_addr,
						      .is_program = !search->later };
		return 1;
	}
	search->later = true;
	return 0;
}

bool t3_object_find(const void *address, struct t3_object *object)
{
	struct search search = { .address = (uintptr_t)address, .object = object };

	return dl_iterate_phdr(look, &search) == 1;
}
