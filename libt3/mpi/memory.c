// SPDX-License-Identifier: MIT
/*
 * Blocks of device memory for MPI_Alloc_mem. They belong to the process, not to a communicator, and
 * any thread may ask for them. A program has few of them, so they are in a list.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "coll_t3.h"

struct block {
	struct t3_buffer *buffer;
	char *at;
	size_t bytes;
	struct block *next;
};

/* For the list and the bytes that count for coll_t3_memory_max. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks;

/* Count the bytes, if there may be so many. */
static bool reserve(size_t bytes)
{
	unsigned long long most = coll_t3_params.memory_max, *used = &coll_t3_counts.memory;
	struct drm_t3_device_info info;
	bool fits;

	/* Plans need device memory, too: without the user's word they have half of it. */
	if (!most && !t3_device_info(coll_t3_device(), &info))
		most = info.memory_size / 2;
	pthread_mutex_lock(&lock);
	fits = *used <= most && bytes <= most - *used;
	if (fits)
		*used += bytes;
	pthread_mutex_unlock(&lock);
	return fits;
}

static void give_back(size_t bytes)
{
	pthread_mutex_lock(&lock);
	coll_t3_counts.memory -= bytes;
	pthread_mutex_unlock(&lock);
}

static struct block *make(size_t bytes, const char **why)
{
	struct block *b = calloc(1, sizeof(*b));
	void *ptr;
	int ret;

	*why = "no memory";
	if (!b)
		return NULL;
	b->bytes = bytes;
	ret = t3_buffer_create(coll_t3_device(), bytes, &b->buffer);
	if (!ret)
		ret = t3_buffer_map(b->buffer, &ptr);
	if (ret) {
		*why = strerror(-ret);
		t3_buffer_destroy(b->buffer);
		free(b);
		return NULL;
	}
	b->at = ptr;
	return b;
}

static void add(struct block *b)
{
	pthread_mutex_lock(&lock);
	b->next = blocks;
	blocks = b;
	pthread_mutex_unlock(&lock);
}

static void *alloc(size_t bytes, const char **why)
{
	static __thread char cannot[120];
	struct block *b;

	*why = cannot;
	if (!coll_t3_can_send(cannot, sizeof(cannot)))
		return NULL;
	if (coll_t3_open_device()) {
		*why = coll_t3_device_error();
		return NULL;
	}
	*why = "there would be more than coll_t3_memory_max";
	if (!reserve(bytes))
		return NULL;
	b = make(bytes, why);
	if (!b) {
		give_back(bytes);
		return NULL;
	}
	add(b);
	return b->at;
}

void *coll_t3_alloc(size_t bytes, size_t align)
{
	const size_t page = 4096; /* a mapping begins with one */
	static bool is_told;
	const char *why;
	void *at;

	if (!bytes || bytes < coll_t3_params.memory_min || align > page)
		return NULL;
	at = alloc(bytes, &why);
	if (at)
		coll_t3_say(10, "MPI_Alloc_mem of %zu bytes is device memory", bytes);
	else
		coll_t3_say(is_told ? 10 : 1, "MPI_Alloc_mem of %zu bytes is ordinary memory: %s",
			    bytes, why);
	is_told |= !at;
	return at;
}

static void destroy(struct block *b)
{
	t3_buffer_destroy(b->buffer);
	give_back(b->bytes);
	free(b);
}

void coll_t3_free(void *at)
{
	struct block **link, *b;

	pthread_mutex_lock(&lock);
	for (link = &blocks; (b = *link) && b->at != at; link = &b->next)
		;
	if (b)
		*link = b->next;
	pthread_mutex_unlock(&lock);
	if (b)
		destroy(b);
}

void coll_t3_free_all(void)
{
	while (blocks)
		coll_t3_free(blocks->at);
}

bool coll_t3_find(const void *at, size_t bytes, struct coll_t3_place *place)
{
	uintptr_t from = (uintptr_t)at, start;
	const struct block *b;

	pthread_mutex_lock(&lock);
	for (b = blocks; b; b = b->next) {
		start = (uintptr_t)b->at;
		if (from >= start && bytes <= b->bytes && from - start <= b->bytes - bytes) {
			*place = (struct coll_t3_place){ b->buffer, from - start };
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	return b;
}
