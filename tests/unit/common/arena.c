/* SPDX-License-Identifier: MIT */
/*
 * Each place is a mapping with a page behind it that nobody may touch, and an array ends there.
 * AddressSanitizer is told what is no array, so it finds the same faults as in its own memory.
 */
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arena.h"

#define PLACES	  256u
#define SMALLEST  ((size_t)64 << 10)
#define LARGEST	  ((size_t)16 << 20)
#define ALIGNMENT 16u
/* Touched pages that are kept; if there are more, the system takes them all. */
#define PAGES_KEPT 32u

struct place {
	uint8_t *map;
	size_t pages;
	void *array; /* NULL: free */
};

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void __real_free(void *array);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void __wrap_free(void *array);

/* Where a leak is looked for, as in other memory. A build without the sanitizer has no such call. */
__attribute__((weak)) void __lsan_register_root_region(const void *start, size_t size);

static struct place place[PLACES];
static uint32_t used;
static uint32_t to_fail;
static bool failed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void arena_clear(uint8_t *start, size_t pages)
{
	static _Thread_local unsigned char touched[LARGEST / ARENA_PAGE];
	size_t i, count = 0;

	if (pages > sizeof(touched) || mincore(start, pages * ARENA_PAGE, touched))
		abort();
	for (i = 0; i < pages; i++)
		count += touched[i] & 1;
	if (count > PAGES_KEPT) {
		if (madvise(start, pages * ARENA_PAGE, MADV_DONTNEED))
			abort();
		return;
	}
	for (i = 0; i < pages; i++)
		if (touched[i] & 1)
			memset(start + i * ARENA_PAGE, 0, ARENA_PAGE);
}

static bool map(struct place *p, size_t pages)
{
	void *memory = mmap(NULL, (pages + 1) * ARENA_PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return false;
	p->map = memory;
	p->pages = pages;
	if (__lsan_register_root_region)
		__lsan_register_root_region(p->map, pages * ARENA_PAGE);
	return !mprotect(p->map + pages * ARENA_PAGE, ARENA_PAGE, PROT_NONE);
}

/* One of this size that is free, or a new one. */
static struct place *find(size_t pages)
{
	struct place *p;

	for (p = place; p < place + PLACES && p->map; p++)
		if (!p->array && p->pages == pages)
			return p;
	return p < place + PLACES && map(p, pages) ? p : NULL;
}

/* NULL: of another size, or there is no place. */
static struct place *take_place(size_t size)
{
	size_t pages = (size + ARENA_PAGE - 1) / ARENA_PAGE;
	struct place *p = NULL;

	if (size < SMALLEST || size > LARGEST)
		return NULL;
	pthread_mutex_lock(&lock);
	p = find(pages);
	if (p) {
		p->array = p->map + (pages * ARENA_PAGE - size) / ALIGNMENT * ALIGNMENT;
		used++;
	}
	pthread_mutex_unlock(&lock);
	return p;
}

static void *take(size_t size, bool clear)
{
	struct place *p = take_place(size);
	uint8_t *array;

	if (!p)
		return NULL;
	array = p->array;
	ASAN_UNPOISON_MEMORY_REGION(p->map, p->pages * ARENA_PAGE);
	if (clear)
		arena_clear(p->map, p->pages);
	ASAN_POISON_MEMORY_REGION(p->map, (size_t)(array - p->map));
	ASAN_POISON_MEMORY_REGION(array + size,
				  p->pages * ARENA_PAGE - (size_t)(array - p->map) - size);
	return array;
}

void arena_fail(uint32_t nth)
{
	to_fail = nth;
	failed = false;
}

bool arena_failed(void)
{
	return failed;
}

static bool fails(void)
{
	if (!to_fail || --to_fail)
		return false;
	failed = true;
	return true;
}

void *__wrap_malloc(size_t size)
{
	void *array;

	if (fails())
		return NULL;
	array = take(size, false);
	return array ? array : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	void *array = NULL;
	size_t all;

	if (fails())
		return NULL;
	if (!__builtin_mul_overflow(count, size, &all))
		array = take(all, true);
	return array ? array : __real_calloc(count, size);
}

/* False: it is not from here. */
static bool give_back(void *array)
{
	struct place *p;

	pthread_mutex_lock(&lock);
	for (p = place; p < place + PLACES && p->map && p->array != array; p++)
		;
	if (p == place + PLACES || !p->map)
		p = NULL;
	if (p) {
		ASAN_POISON_MEMORY_REGION(p->map, p->pages * ARENA_PAGE);
		p->array = NULL;
		used--;
	}
	pthread_mutex_unlock(&lock);
	return p;
}

void __wrap_free(void *array)
{
	if (!array || !give_back(array))
		__real_free(array);
}

uint32_t arena_used(void)
{
	return used;
}
