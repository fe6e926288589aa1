/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The mappings of a space: see t3_map.c.
 */
#ifndef T3_MAP_H
#define T3_MAP_H

#include <linux/mm_types.h>
#include <linux/types.h>

struct drm_file;
struct drm_gem_object;
struct t3_device;
struct t3_map;

struct t3_map *t3_map_create(struct t3_device *tdev, phys_addr_t base, u64 size);
struct t3_map *t3_map_create_page(struct t3_device *tdev, struct page *page);
int t3_map_allow(struct t3_map *map, struct drm_file *file);
u64 t3_map_offset(struct t3_map *map);
void t3_map_revoke(struct t3_map *map, struct drm_file *file);
vm_fault_t t3_map_insert(struct vm_fault *vmf, struct drm_gem_object *obj, unsigned long pfn);

#endif /* T3_MAP_H */
