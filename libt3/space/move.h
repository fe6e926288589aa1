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
#else
#define STRING_STORE(instruction, dst, times, value) ((void)(times))
#define STRING_COPY(instruction, dst, src, times)    ((void)(times))
#endif

/*
 * On arm64 the address is one register that stays as it is. Where an instruction stores two
 * registers or also moves the address, the processor does not tell a hypervisor what was stored.
 * Then no hypervisor can give the store to a device that it emulates.
 */
#if defined(__x86_64__)
#define MOVE8(dst, value)  __asm__ volatile("movb %1, %0" : "=m"(*(dst)) : "r"(value))
#define MOVE16(dst, value) __asm__ volatile("movw %1, %0" : "=m"(*(dst)) : "r"(value))
#define MOVE32(dst, value) __asm__ volatile("movl %1, %0" : "=m"(*(dst)) : "r"(value))
#define MOVE64(dst, value) __asm__ volatile("movq %1, %0" : "=m"(*(dst)) : "r"(value))
#elif defined(__aarch64__)
#define MOVE8(dst, value)  __asm__ volatile("strb %w1, %0" : "=Q"(*(dst)) : "r"(value))
#define MOVE16(dst, value) __asm__ volatile("strh %w1, %0" : "=Q"(*(dst)) : "r"(value))
#define MOVE32(dst, value) __asm__ volatile("str %w1, %0" : "=Q"(*(dst)) : "r"(value))
#define MOVE64(dst, value) __asm__ volatile("str %x1, %0" : "=Q"(*(dst)) : "r"(value))
#else
#define MOVE8(dst, value)  (*(dst) = (value))
#define MOVE16(dst, value) (*(dst) = (value))
#define MOVE32(dst, value) (*(dst) = (value))
#define MOVE64(dst, value) (*(dst) = (value))
#endif

static inline void put8(volatile void *dst, uint8_t value)
{
	volatile uint8_t *to = dst;
	size_t once = 1;

	if (t3_string_stores)
		STRING_STORE("stosb", to, once, value);
	else
		MOVE8(to, value);
}

static inline void put16(volatile void *dst, uint16_t value)
{
	volatile uint16_t *to = dst;
	size_t once = 1;

	if (t3_string_stores)
		STRING_STORE("stosw", to, once, value);
	else
		MOVE16(to, value);
}

static inline void put32(volatile void *dst, uint32_t value)
{
	volatile uint32_t *to = dst;
	size_t once = 1;

	if (t3_string_stores)
		STRING_STORE("stosl", to, once, value);
	else
		MOVE32(to, value);
}

static inline void put64(volatile void *dst, uint64_t value)
{
	volatile uint64_t *to = dst;
	size_t once = 1;

	if (t3_string_stores)
		STRING_STORE("stosq", to, once, value);
	else
		MOVE64(to, value);
}

#endif /* T3_SPACE_MOVE_H */
