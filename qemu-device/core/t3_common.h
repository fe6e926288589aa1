/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Constants and C library headers that all rooms of the core use. Hosts do not include it. */
#ifndef T3_COMMON_H
#define T3_COMMON_H

#include <stdlib.h>
#include <string.h>

#include "t3_core.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the core keeps guest structures in host byte order: build it on a little-endian host"
#endif

/* clang-format off */
#define t3_container_of(ptr, type, member) ((type *)(void *)((char *)(ptr) - offsetof(type, member)))
/* clang-format on */

#define T3_NONE32 0xffffffffu
#define T3_NONE64 (~(uint64_t)0)

#endif /* T3_COMMON_H */
