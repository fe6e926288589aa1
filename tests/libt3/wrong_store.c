/* SPDX-License-Identifier: MIT */
/* A program of a user that makes one wrong store, for T3_DEBUG=check to name its line. */
#include <t3.h>

#define PAGE 4096u

static void store(volatile void *to)
{
	*(volatile uint64_t *)to = 1; /* HERE */
}

int main(void)
{
	struct t3_segment_desc desc = {
		.op = DRM_T3_OP_ADD,
		.dtype = DRM_T3_F32,
		.updates = 1,
		.rows = 1,
		.row_bytes = PAGE,
		.pitch = PAGE,
		.tile_rows = 1,
		.tile_row_bytes = PAGE,
	};
	struct t3_buffer *buffer;
	struct t3_device *dev;
	struct t3_space *space;

	if (t3_device_open_index(0, &dev) || t3_buffer_create(dev, PAGE, &buffer) ||
	    t3_space_create(dev, buffer, 1, &space) || t3_local_map(space, &desc) ||
	    t3_arm(space, 1) || t3_wait_armed(space, 1, t3_deadline(1000000000)))
		return 1;
	store((volatile unsigned char *)t3_space_aperture(space) + 4);
	return 0;
}
