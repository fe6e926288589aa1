/* SPDX-License-Identifier: MIT */
/* Moves that a device counts: each is a single store of its width. For the files of room space. */
#ifndef T3_SPACE_MOVE_H
#define T3_SPACE_MOVE_H

#include "space/private.h"

/*
 * QEMU's translator finds out during a store that it must leave the translated code. Unless the
 * store is the last instruction of its block, QEMU looks the block up again and executes the store
 * alone. That is half the cost of a trapped store. A repeated string instruction is always the last
 * of its block. Its elements are stored one by one, each with its width, in rising order. Other
 * processors do not promise that width, and plain moves are as fast there.
 */
#ifdef __x86_64__
/* Copies element by element. Advances both pointers and the count. */
#define STRING_STORE(instruction, dst, times, value) \
	__asm__ volatile("rep " instruction : "+D"(dst), "+c"(times) : "a"(value) : "memory")
#define STRING_COPY(instruction, dst, src, times) \
	__asm__ volatile("rep " instruction : "+D"(dst), "+S"(src), "+c"(times) : : "memory")
#define MOVE(instruction, dst, value) \
	__asm__ volatile(instruction " %1, %0" : "=m"(*(dst)) : "r"(value))
#else
#define STRING_STORE(instruction, dst, times, value) ((void)(times))
#define STRING_COPY(instruction, dst, src, times)    ((times) = 0)
#define MOVE(instruction, dst, value)		     (*(dst) = (value))
#endif

static inline void put8(volatile void *dst, uint8_t value)
{
	volatile uint8_t *to = dst;
	size_t once = 1;

	if (t3_string_stores)
		STRING_STORE("stosb", to, once, value);
	else
		MOVE("movb", to, value);
}

static inline void put16(volatile void *dst, uint16_t value)
{
	volatile uint16_t *to = dst;
	size_t once = 1;

	if (t3_string_stores)
		STRING_STORE("stosw", to, once, value);
	else
		MOVE("movw", to, value);
}

static inline void put32(volatile void *dst, uint32_t value)
{
	volatile uint32_t *to = dst;
	size_t once = 1;

	if (t3_string_stores)
		STRING_STORE("stosl", to, once, value);
	else
		MOVE("movl", to, value);
}

static inline void put64(volatile void *dst, uint64_t value)
{
	volatile uint64_t *to = dst;
	size_t once = 1;

	if (t3_string_stores)
		STRING_STORE("stosq", to, once, value);
	else
		MOVE("movq", to, value);
}

#endif /* T3_SPACE_MOVE_H */
