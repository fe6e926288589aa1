/* SPDX-License-Identifier: MIT */
/* Events that happen to a device while its driver's users work. */
#ifndef T3_GUEST_TROUBLE_H
#define T3_GUEST_TROUBLE_H

#include "guest.h"

/* A parameter of the module. */
void set_parameter(const char *name, unsigned int value);

/* Reset by the function's own register, without the driver's knowledge. */
void reset_behind_the_driver(uint32_t rank);
/* A function level reset by the PCI core, which tells the driver. */
void reset_by_pci(uint32_t rank);

/*
 * Sleep ("freeze", "mem") up to the kernel's test level ("devices", "platform"), for about a
 * second, and wake up. 0 or a negative errno.
 */
int sleep_and_wake(const char *how, const char *level);

/* Return the text of the only device coredump, or NULL without one. free() it. */
char *coredump_read(void);
/* Await a device's coredump, which comes a little later than its jobs end, and remove it. */
void coredump_discard_of(uint32_t rank);
/* Remove all device coredumps. */
void coredump_discard(void);

#endif /* T3_GUEST_TROUBLE_H */
