/* SPDX-License-Identifier: MIT */
/*
 * Room device: devices, buffers, queues and the names of numbers, next to the kernel. It uses no
 * other room, and all others may use it. Not installed.
 */
#ifndef T3_DEVICE_DEVICE_H
#define T3_DEVICE_DEVICE_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "t3.h"

#define T3_PAGE	    4096u
#define T3_SEGMENTS 64u
#define T3_SLOTS    4u

struct t3_device {
	int fd;
};

struct t3_buffer {
	int fd; /* of the device, not owned */
	uint32_t handle;
	uint64_t size;
	void *ptr; /* NULL until mapped */
};

/* A text that grows as long as there is room, and how long it would be. */
struct t3_text {
	char *at;
	size_t size;
	size_t length; /* that it needs, without the terminator */
};

#pragma GCC visibility push(hidden)

/* drmIoctl() with a negative errno; restarts on EINTR. */
int t3_ioctl(int fd, unsigned long request, void *arg);

/* Map size bytes of the node at offset; *ptr is NULL on failure. */
int t3_map_node(int fd, uint64_t offset, uint64_t size, int prot, void **ptr);

/* A job of one command; *fence, if fence is not NULL: its sync_file. */
int t3_submit_command(struct t3_queue *queue, const struct drm_t3_command *command, size_t size,
		      int *fence);

/* Is this processor one of QEMU's TCG? */
bool t3_cpu_emulated(void);

/* CLOCK_MONOTONIC. */
int64_t t3_now_ns(void);

void t3_text_say(struct t3_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* What the C library says of -error. */
void t3_text_errno(struct t3_text *text, int error);

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

/* Words that the device writes. */
static inline uint64_t t3_load64(const volatile __u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline uint32_t t3_load32(const volatile __u32 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

#endif /* T3_DEVICE_DEVICE_H */
