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
#include <sys/types.h>

#include "t3.h"

#define T3_PAGE	    4096u
#define T3_SEGMENTS 64u
#define T3_SLOTS    4u

struct t3_device {
	int fd;
};

/*
 * A forked child has a copy of each handle, and of the descriptor whose objects in the kernel they
 * name. So what has such an object also has its maker, the process that made it. Another process
 * frees what is its own: memory, mappings and its descriptors.
 */
struct t3_buffer {
	pid_t maker;
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

/*
 * drmIoctl() that returns a negative errno. It restarts on EINTR. A failure is kept for
 * t3_refusal().
 */
int t3_ioctl(int fd, unsigned long request, void *arg);

/* Ask the driver why this thread's ioctl has just failed, and keep the answer. */
void t3_refusal_ask(int fd, unsigned long request, int error);

/* Keep a refusal by the library itself: the field of an argument. Returns -EINVAL. */
int t3_refuse(const char *type, const char *field, uint64_t value, const char *allowed);

/* Write the C library's text for -error, and the refusal if it is this one. Returns words. */
#define T3_WORDS 320u
const char *t3_error_words(int error, char *words, size_t size);

/* Map size bytes of the node at offset. *ptr is NULL on failure. */
int t3_map_node(int fd, uint64_t offset, uint64_t size, int prot, void **ptr);

/*
 * Return whether a queue is of the device that has this descriptor. A handle means nothing to
 * another.
 */
bool t3_queue_is_of(const struct t3_queue *queue, int fd);

/* Return whether this process is the maker of a handle. */
bool t3_is_maker(pid_t maker);

/* Return whether QEMU's TCG emulates this processor. */
bool t3_cpu_emulated(void);

/* Read CLOCK_MONOTONIC. */
int64_t t3_now_ns(void);

void t3_text_say(struct t3_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Return the C library's text for -error. */
void t3_text_errno(struct t3_text *text, int error);

/* An object that the dynamic linker has loaded. */
struct t3_object {
	const char *path; /* as long as it is loaded; of the program itself it may be empty */
	uintptr_t bias;	  /* addresses in memory less those in the file */
	bool is_program;
};

/* Find the object of an address. False: no object has it. */
bool t3_object_find(const void *address, struct t3_object *object);

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
