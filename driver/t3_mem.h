/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Device memory and the aperture: see t3_mem.c.
 */
#ifndef T3_MEM_H
#define T3_MEM_H

#include <drm/drm_mm.h>

struct t3_account;
struct t3_device;

int t3_mem_init(struct t3_device *tdev);
u64 t3_mem_available(struct t3_device *tdev);
int t3_chunk_alloc(struct t3_device *tdev, struct t3_account *account, u64 size,
		   struct drm_mm_node *chunk);
void t3_chunk_free(struct t3_device *tdev, struct t3_account *account, struct drm_mm_node *chunk);
int t3_aperture_alloc(struct t3_device *tdev, struct t3_account *account, u64 size,
		      struct drm_mm_node *range);
void t3_aperture_free(struct t3_device *tdev, struct t3_account *account,
		      struct drm_mm_node *range);

#endif /* T3_MEM_H */
