/* SPDX-License-Identifier: MIT */
/* What an administrator, or bad luck, does to a device beside its driver's users. */
#ifndef T3_GUEST_TROUBLE_H
#define T3_GUEST_TROUBLE_H

#include "guest.h"

/* A parameter of the module. */
void set_parameter(const char *name, unsigned int value);

/* The function's own reset register, behind the driver's back. */
void reset_behind_the_driver(uint32_t rank);
/* A function level reset by the PCI core, which tells the driver. */
void reset_by_pci(uint32_t rank);

/*
 * Sleep ("freeze", "mem") as far as the kernel's test level ("devices", "platform") says,
 * about a second, and wake up. 0 or a negative errno.
 */
int sleep_and_wake(const char *how, const char *level);

/* Text of the only device coredump, NULL: there is none; free() it. */
char *coredump_read(void);
/* Forget those that there are. */
void coredump_discard(void);

#endif /* T3_GUEST_TROUBLE_H */
