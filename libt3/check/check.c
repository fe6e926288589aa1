// SPDX-License-Identifier: MIT
/* T3_DEBUG=check: the spaces that are checked, and what the checker knows of their segments. */
#include "check/check.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SPACES 1024u

bool t3_check_goes_on;

/* --------------------------------------------------------------------- lock */

/*
 * A spin lock, because a trap takes it, too. Its holder blocks all signals, so that no handler that
 * stores to an aperture can interrupt it.
 */
static atomic_flag lock = ATOMIC_FLAG_INIT;
static sigset_t mask_before;

void t3_check_lock(void)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
		sched_yield();
	mask_before = before;
}

void t3_check_unlock(void)
{
	sigset_t before = mask_before;

	atomic_flag_clear_explicit(&lock, memory_order_release);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ------------------------------------------------------------------- spaces */

static struct t3_check *spaces[SPACES];
static uint32_t space_count;

struct t3_check *t3_check_find(uintptr_t address)
{
	uint32_t i;

	for (i = 0; i < space_count; i++) {
		if (address - spaces[i]->shown < spaces[i]->size)
			return spaces[i];
	}
	return NULL;
}

struct t3_check *t3_check_next(uint32_t *index)
{
	return *index < space_count ? spaces[(*index)++] : NULL;
}

static bool enlist(struct t3_check *check)
{
	bool room;

	t3_check_lock();
	room = space_count < SPACES;
	if (room)
		spaces[space_count++] = check;
	t3_check_unlock();
	return room;
}

static void delist(const struct t3_check *check)
{
	uint32_t i;

	t3_check_lock();
	for (i = 0; i < space_count && spaces[i] != check; i++)
		;
	if (i < space_count)
		spaces[i] = spaces[--space_count];
	t3_check_unlock();
}

/* Pages of zeros. A page takes no memory until it is used. */
static void *reserve(uint64_t bytes)
{
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return map == MAP_FAILED ? NULL : map;
}

static void drop(struct t3_check *check)
{
	if (check->shown && check->shown != (uintptr_t)check->real)
		munmap((void *)check->shown, check->size);
	if (check->count)
		munmap(check->count, check->size);
	if (check->last)
		munmap((void *)check->last, check->size);
	free(check);
}

/* Replaces the program's mapping by one that traps. Without x86-64 it stays as it is. */
static int show_another(struct t3_check *check, uint64_t aperture_offset)
{
	void *ptr = (void *)(uintptr_t)check->real;
	int ret = 0;

#ifdef __x86_64__
	ret = t3_map_node(check->space->fd, aperture_offset, check->size, PROT_READ, &ptr);
#else
	(void)aperture_offset;
#endif
	check->shown = (uintptr_t)ptr;
	return ret;
}

static uint32_t rank_of(const struct t3_space *space)
{
	struct drm_t3_device_info info = { 0 };
	struct drm_t3_query arg = {
		.type = DRM_T3_QUERY_DEVICE,
		.size = sizeof(info),
		.data = (uintptr_t)&info,
	};

	return t3_ioctl(space->fd, DRM_IOCTL_T3_QUERY, &arg) ? 0 : info.rank;
}

int t3_check_create(struct t3_space *space, uint64_t aperture_offset)
{
	struct t3_check *check;
	int ret = -ENOMEM;

	check = calloc(1, sizeof(*check));
	if (!check)
		return -ENOMEM;
	check->space = space;
	check->size = space->size;
	check->real = space->aperture;
	check->rank = rank_of(space);
	check->count = reserve(check->size);
	check->last = reserve(check->size);
	if (check->count && check->last)
		ret = show_another(check, aperture_offset);
	if (!ret && !enlist(check))
		ret = -ENOSPC;
	if (ret) {
		drop(check);
		return ret;
	}
	space->check = check;
	space->aperture = (volatile unsigned char *)check->shown;
	return 0;
}

void t3_check_destroy(struct t3_space *space)
{
	struct t3_check *check = space->check;
	uint32_t i;

	delist(check);
	for (i = 0; i < T3_SEGMENTS; i++)
		free(check->segment[i].stage);
	space->aperture = check->real;
	space->check = NULL;
	drop(check);
}

/* ----------------------------------------------------------------- segments */

static void clear_segment(struct check_segment *segment)
{
	free(segment->stage);
	*segment = (struct check_segment){ 0 };
}

void t3_check_map(struct t3_space *space, const struct t3_segment_desc *desc, uint32_t kind)
{
	struct check_segment *segment;

	segment = &space->check->segment[desc->segment];
	t3_check_lock();
	clear_segment(segment);
	segment->mapped = true;
	segment->kind = kind;
	segment->desc = *desc;
	t3_check_unlock();
}

void t3_check_unmap(struct t3_space *space, uint32_t index)
{
	t3_check_lock();
	clear_segment(&space->check->segment[index]);
	t3_check_unlock();
}

void t3_check_reset(struct t3_space *space)
{
	struct t3_check *check = space->check;
	uint32_t i;

	t3_check_lock();
	for (i = 0; i < T3_SEGMENTS; i++) {
		if (check->segment[i].kind != DRM_T3_SEGMENT_LOCAL)
			clear_segment(&check->segment[i]);
	}
	memset(check->grants, 0, sizeof(check->grants));
	check->jobs = false;
	t3_check_unlock();
}

void t3_check_stage_in(struct t3_space *space, uint32_t index, const struct t3_staging *staging)
{
	struct check_segment *segment = &space->check->segment[index];
	struct check_stage *stage = NULL;

	if (staging->image)
		stage = calloc(staging->slots * t3_desc_tiles(&segment->desc), sizeof(*stage));
	t3_check_lock();
	free(segment->stage);
	segment->stage = stage;
	segment->image = stage ? staging->image : NULL;
	segment->stride = staging->stride;
	segment->slots = staging->slots;
	memset(segment->rung, 0, sizeof(segment->rung));
	t3_check_unlock();
}

/* segment_mask 0: the grant was revoked. */
void t3_check_grant(struct t3_space *space, uint32_t grant, uint64_t segment_mask)
{
	struct t3_check *check = space->check;
	uint32_t i;

	t3_check_lock();
	for (i = 0; i < CHECK_GRANTS; i++) {
		bool same = check->grants[i].mask && check->grants[i].grant == grant;

		if (segment_mask ? !check->grants[i].mask : same)
			break;
	}
	if (i < CHECK_GRANTS) {
		check->grants[i].grant = grant;
		check->grants[i].mask = segment_mask;
	}
	t3_check_unlock();
}

void t3_check_job(const struct t3_space *space)
{
	t3_check_lock();
	space->check->jobs = true;
	t3_check_unlock();
}
