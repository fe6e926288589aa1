// SPDX-License-Identifier: MIT
/* Chooses the moves for this processor, and makes one of a given width. */
#include "space/move.h"

bool t3_string_stores;

#ifdef __x86_64__
__attribute__((constructor)) static void choose_stores(void)
{
	t3_string_stores = t3_cpu_emulated();
}
#endif

void t3_store_one(volatile void *dst, uint64_t value, uint32_t width)
{
	if (width == 8)
		put64(dst, value);
	else if (width == 4)
		put32(dst, (uint32_t)value);
	else if (width == 2)
		put16(dst, (uint16_t)value);
	else
		put8(dst, (uint8_t)value);
}
