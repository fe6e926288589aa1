/* SPDX-License-Identifier: MIT */
/*
 * Memory for large arrays, which are used again. AddressSanitizer maps and poisons each of them
 * anew, 10 ms for a device, which takes longer than most tests and inputs. Without it the kernel
 * clears each page anew, which still took a fifth of the time of coverage's programs. In both the
 * linker gives the calls of malloc(), calloc() and free() to this file.
 */
#ifndef T3_TEST_ARENA_H
#define T3_TEST_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Arrays that are not freed. */
uint32_t arena_used(void);

/* The nth allocation from now on fails, of any size: 1, the next one; 0, none. One thread alone. */
void arena_fail(uint32_t nth);
bool arena_failed(void); /* since then */

/* Sets whole pages to 0. Those that were not touched since the last call are 0 already. */
void arena_clear(uint8_t *start, size_t pages);

#define ARENA_PAGE 4096u

#endif
