/* SPDX-License-Identifier: MIT */
/* The driver as a module: load, unload, bind, unbind, and the kernel's messages. */
#ifndef T3_GUEST_MODULE_H
#define T3_GUEST_MODULE_H

#include "guest.h"

/* 0 or a negative errno; never waits. */
int module_unload(void);
/* Load it, find the nodes again, and give them to the group render. */
void module_load(void);
int module_users(void);
/*
 * Unload it. Files and fences drop it some time after their owner, so this waits; it fails when one
 * never does.
 */
void module_await_unused(void);
/* Find the nodes again, and give them to the group render. */
void module_open_nodes(void);

/* The PCI function of a rank: domain:bus:device.function. */
void device_bdf(uint32_t rank, char *bdf, size_t size);
/* Unbind the driver from a rank's function, or bind it. The nodes' names change. */
void driver_unbind(uint32_t rank, char *bdf, size_t size);
void driver_bind(const char *bdf);

/* Whether the kernel's log since boot has a line with the text. */
bool kernel_log_has(const char *text);
/* Fail when the kernel's log since boot has a warning or worse. */
void check_kernel_log(void);

#endif /* T3_GUEST_MODULE_H */
