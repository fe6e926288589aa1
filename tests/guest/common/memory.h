/* SPDX-License-Identifier: MIT */
/* Host buffers, dma-bufs and the driver's parameters, by plain calls. */
#ifndef T3_GUEST_MEMORY_H
#define T3_GUEST_MEMORY_H

#include "queue.h"

int bo_create_host(int fd, uint64_t size, uint32_t *handle);

/*
 * A host buffer of a page for command_timed(): a mirrored run of T3 on two ranks, with outputs of
 * side x side (256: short; 4096: milliseconds).
 */
uint32_t bo_create_timed(int fd, uint64_t side);

/* A dma-buf of a buffer (flags: DRM_CLOEXEC, DRM_RDWR), or a negative errno. */
int prime_export(int fd, uint32_t handle, uint32_t flags);
/* 0 or a negative errno. */
int prime_import(int fd, int dmabuf, uint32_t *handle);
/* A descriptor that may be mapped to write. */
int prime_share(int fd, uint32_t handle);

/*
 * Another driver's dma-buf: pages of a memfd, without neighbours in the order of their addresses.
 * So a device without an IOMMU sees each page alone.
 */
int udmabuf_create(uint32_t pages);

/* Run one command and wait for it; it must succeed. */
void run_command(int fd, uint32_t queue, const union drm_t3_any_command *command);

/* Set a module parameter of the driver. Returns the old value. */
unsigned int parameter_set(const char *name, unsigned int value);

#endif /* T3_GUEST_MEMORY_H */
