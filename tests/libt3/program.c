/* SPDX-License-Identifier: MIT */
/* A program of somebody else, in what C and C++ share: it needs no device. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <t3.h>

static int stores_arrive(const struct t3_segment_desc *desc)
{
	float image[24], tile[4] = { 1, 2, 3, 4 };
	struct t3_view view;
	int i;

	memset(image, 0, sizeof(image));
	if (t3_view_memory(image, desc, &view) || t3_store_tile(&view, 5, tile, 2 * sizeof(float)))
		return 0;
	for (i = 0; i < 4; i++)
		if (image[(2 + i / 2) * 6 + 4 + i % 2] != tile[i])
			return 0;
	return 1;
}

int main(void)
{
	struct t3_device_list *list = NULL;
	struct t3_segment_desc desc;
	int ret;

	memset(&desc, 0, sizeof(desc));
	desc.dtype = DRM_T3_F32;
	desc.updates = 1;
	desc.rows = 4;
	desc.row_bytes = desc.pitch = 24;
	desc.tile_rows = 2;
	desc.tile_row_bytes = 8;
	ret = t3_device_list(&list);
	if (t3_desc_check(&desc) || !stores_arrive(&desc) || (ret && ret != -ENOSYS))
		return 1;
	t3_device_list_free(list);
	printf("%d tiles of %s\n", (int)t3_desc_tiles(&desc), t3_dtype_name(desc.dtype));
	return 0;
}
