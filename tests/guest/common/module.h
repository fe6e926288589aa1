/* SPDX-License-Identifier: MIT */
/* The driver as a module: load, unload, bind, unbind, what the kernel printed. */
#ifndef T3_GUEST_MODULE_H
#define T3_GUEST_MODULE_H

#include "guest.h"

/* 0 or a negative errno; never waits. */
int module_unload(void);
/* Load it, find the nodes again and give them to the render group. */
void module_load(void);
int module_users(void);
/* Files and fences give it up some time after their owner: fails when one never does. */
void module_await_unused(void);
/* Find the nodes again and give them to the render group. */
void module_open_nodes(void);

/* The PCI function of a rank: domain:bus:device.function. */
void device_bdf(uint32_t rank, char *bdf, size_t size);
/* Take the driver from a rank's function, or give it back; the nodes' names change. */
void driver_unbind(uint32_t rank, char *bdf, size_t size);
void driver_bind(const char *bdf);

/* Whether a line of what it printed since it booted contains the text. */
bool kernel_log_has(const char *text);
/* Fail when the kernel has warned or worse since it booted. */
void check_kernel_log(void);

#endif /* T3_GUEST_MODULE_H */
