/* SPDX-License-Identifier: MIT */
/* What the files of libt3 share. Not installed. */
#ifndef T3_INTERNAL_H
#define T3_INTERNAL_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "t3.h"

#define T3_PAGE		   4096u
#define T3_SEGMENTS	   64u
#define T3_SLOTS	   4u
#define T3_SPIN_DEFAULT_NS 20000u

_Static_assert(sizeof(struct drm_t3_event_area) == T3_PAGE, "the event area is one page");

struct t3_device {
	int fd;
};

struct t3_buffer {
	int fd; /* of the device, not owned */
	uint32_t handle;
	uint64_t size;
	void *ptr; /* NULL until mapped */
};

struct t3_space {
	int fd; /* of the device, not owned */
	uint32_t handle;
	uint64_t size;
	volatile unsigned char *aperture;
	volatile unsigned char *doorbell;
	const volatile struct drm_t3_event_area *events;
	bool emulated; /* the processor: see t3_pause() */
	_Atomic uint64_t spin_ns;
	_Atomic uint64_t mapped; /* bit per segment */
	_Atomic uint64_t local;	 /* those that outlive a reset */
	struct t3_check *check;	 /* NULL without T3_DEBUG=check */
};

/* The program's call that makes stores, for T3_DEBUG=check. */
struct t3_caller {
	const char *what; /* "t3_store_tile()" */
	const void *code; /* where it returns to */
};

#define T3_CALLER(name) \
	((const struct t3_caller){ .what = name, .code = __builtin_return_address(0) })

#pragma GCC visibility push(hidden)

/* drmIoctl() with a negative errno; restarts on EINTR. */
int t3_ioctl(int fd, unsigned long request, void *arg);

/* Map size bytes of the node at offset; *ptr is NULL on failure. */
int t3_map_node(int fd, uint64_t offset, uint64_t size, int prot, void **ptr);

/* A job of one command; *fence, if fence is not NULL: its sync_file. */
int t3_submit_command(struct t3_queue *queue, const struct drm_t3_command *command, int *fence);

/* Is this processor one of QEMU's TCG? */
bool t3_cpu_emulated(void);

/* Do stores that are tracked use string instructions? Chosen before main(): see store.c. */
extern bool t3_string_stores;

/* Bytes that a tile row takes from col on, at most up to the tile's edge. */
uint32_t t3_tile_room(const struct t3_segment_desc *desc, uint32_t col);

/* Bytes from the first one of a checked desc to its last one, padding included. */
uint64_t t3_desc_extent(const struct t3_segment_desc *desc);

/* Tracked stores of whole elements in one row of one tile; of a whole tile. */
void t3_store_row(volatile unsigned char *dst, const unsigned char *src, size_t bytes,
		  const struct t3_caller *caller);
int t3_store_rows(const struct t3_view *view, uint64_t tile, const void *src, size_t src_pitch,
		  const struct t3_caller *caller);
/* The same to a staging image. */
int t3_stage_rows(const struct t3_view *view, uint64_t tile, const void *src, size_t src_pitch);
/* One store of 1, 2, 4 or 8 bytes, aligned. */
void t3_store_one(volatile void *dst, uint64_t value, uint32_t width);

/* The doorbell of a tile whose numbers are in their ranges. */
void t3_ring_tile(struct t3_space *space, uint32_t segment, uint32_t slot, uint32_t tile,
		  const struct t3_caller *caller);

#pragma GCC visibility pop

/* Stores to mappings of any kind come before the doorbell store that follows. */
static inline void t3_write_barrier(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("sfence" ::: "memory");
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* Later loads, also of write-combined memory, come after the word just read. */
static inline void t3_read_barrier(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("lfence" ::: "memory");
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/*
 * Between two looks at a word. Not on a processor that QEMU translates: there `pause` leaves
 * the translated code and takes the machine's lock, for which the store that is waited for
 * then has to wait itself.
 */
static inline void t3_pause(bool emulated)
{
#if defined(__x86_64__) || defined(__i386__)
	if (!emulated)
		__builtin_ia32_pause();
#else
	(void)emulated;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
#endif
}

static inline uint64_t t3_load64(const volatile __u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline uint32_t t3_load32(const volatile __u32 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

#endif /* T3_INTERNAL_H */
