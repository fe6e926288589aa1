/* SPDX-License-Identifier: MIT */
/*
 * Room device: devices, buffers, queues and the names of numbers, directly above the kernel. It
 * uses no other room, and all others may use it. Not installed.
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

/* A text that grows while there is room. It also counts the length of the whole text. */
struct t3_text {
	char *at;
	size_t size;
	size_t length; /* length of the whole text, without the terminator */
};

#pragma GCC visibility push(hidden)

/* drmIoctl() that returns a negative errno. It restarts on EINTR. */
int t3_ioctl(int fd, unsigned long request, void *arg);

/* Map size bytes of the node at offset. *ptr is NULL on failure. */
int t3_map_node(int fd, uint64_t offset, uint64_t size, int prot, void **ptr);

/* Return whether a queue is of the device that has this descriptor. A handle means nothing to another. */
bool t3_queue_is_of(const struct t3_queue *queue, int fd);

/* Return whether QEMU's TCG emulates this processor. */
bool t3_cpu_emulated(void);

/* Read CLOCK_MONOTONIC. */
int64_t t3_now_ns(void);

void t3_text_say(struct t3_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Return the C library's text for -error. */
void t3_text_errno(struct t3_text *text, int error);

#pragma GCC visibility pop

/*
 * Order stores to mappings of any kind before the doorbell store that follows. Threads are ordered
 * within the inner shareable domain of arm64, and a device is outside of it.
 */
static inline void t3_write_barrier(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("sfence" ::: "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dmb oshst" ::: "memory");
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* Order later loads, also of write-combined memory, after the load of a word before. */
static inline void t3_read_barrier(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dmb oshld" ::: "memory");
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/*
 * Pause between two reads of a word. A processor that QEMU translates does not execute `pause`: it
 * would leave the translated code and take the machine's lock. Then the store that the loop waits
 * for would have to wait for that lock, too.
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
