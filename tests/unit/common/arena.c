/* SPDX-License-Identifier: MIT */
/*
 * Each place is a mapping with a page behind it that nobody may touch, and an array ends there. So
 * whoever runs over its end by 16 bytes is found, as with redzones.
 */
#include <pthread.h>
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
#define PAGES_KEPT 512u

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
static struct place *take(size_t size)
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

void *__wrap_malloc(size_t size)
{
	struct place *p = take(size);

	return p ? p->array : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	struct place *p = NULL;
	size_t all;

	if (!__builtin_mul_overflow(count, size, &all))
		p = take(all);
	if (!p)
		return __real_calloc(count, size);
	arena_clear(p->map, p->pages);
	return p->array;
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
