/* SPDX-License-Identifier: MIT */
/*
 * Shared by the guest tests. Each program runs as root in a VM with T3 devices in a ring. CHECK()
 * works in tests and in the children that they fork. In a child it ends the child, and the parent
 * sees that. cmocka's own asserts are for the parent alone.
 */
#ifndef T3_GUEST_H
#define T3_GUEST_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "t3_accel.h"

#define PAGE	    4096u
#define ROWS(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Each test has a time limit, and must leave no device memory behind. The options of a program with
 * LONG_TEST() say how long it takes.
 */
#define TEST(sentence)	    TEST_WITH(sentence, guest_begin, guest_end)
#define SLOW_TEST(sentence) TEST_WITH(sentence, guest_begin_slow, guest_end)
#define LONG_TEST(sentence) TEST_WITH(sentence, NULL, NULL)
#include "test.h"

int guest_begin(void);
int guest_begin_slow(void);
unsigned int guest_slowness(void);
int guest_end(void);

/* ------------------------------------------------------------------- checks */

extern bool guest_in_child;

__attribute__((format(printf, 3, 4), noreturn)) void guest_fail(const char *file, int line,
								const char *format, ...);
void guest_equal(const char *file, int line, const char *what, long long got, long long want);

#define CHECK(condition)                                                       \
	do {                                                                   \
		if (!(condition))                                              \
			guest_fail(__FILE__, __LINE__, "not: %s", #condition); \
	} while (0)
#define CHECK_EQ(got, want) \
	guest_equal(__FILE__, __LINE__, #got, (long long)(got), (long long)(want))

/* -------------------------------------------------------------------- time */

int64_t now_ns(void);
int64_t after_ms(int64_t ms);
void nap_ms(long ms);

/* ------------------------------------------------------------------ devices */

#define GUEST_MAX_RANKS 32u

/* Return the ranks of the fabric. The program ends when there are fewer than two devices. */
uint32_t guest_ranks(void);
const char *guest_node(uint32_t rank);
/* Return a device of another fabric, or NULL. The usual VM has one fabric. */
const char *guest_foreign_node(void);
/* Find the nodes again, after the driver was loaded again. */
void guest_clear_nodes(void);
int open_rank(uint32_t rank);
void device_info(int fd, struct drm_t3_device_info *info);
uint64_t memory_free(uint32_t rank);
/* Wait a little until memory_free(rank) has the expected value. */
void check_memory(uint32_t rank, uint64_t want);

/* ------------------------------------------------------------------- ioctls */

/* ioctl() without a retry: 0 or a negative errno. */
int call(int fd, unsigned long request, void *arg);

/* One wrong value for a field of an argument that is right otherwise. */
struct deviation {
	const char *what;
	size_t offset;
	size_t size;
	uint64_t value;
	int error; /* errno; ANY_ERROR when the ABI does not say which */
	const char *type;
	const char *field; /* that the driver names; "one|other" */
};

#define ANY_ERROR 0
/* clang-format off */
#define BAD_OF(named_type, named, struct_name, member, bad_value, bad_error)                      \
	{                                                                                         \
		.what = #member " = " #bad_value, .offset = offsetof(struct struct_name, member), \
		.size = sizeof(((struct struct_name *)0)->member),                                \
		.value = (uint64_t)(bad_value), .error = (bad_error), .type = (named_type),       \
		.field = (named),                                                                 \
	}
#define BAD_AS(named, struct_name, member, bad_value, bad_error) \
	BAD_OF(#struct_name, named, struct_name, member, bad_value, bad_error)
#define BAD(type, member, value, error) BAD_AS(#member, type, member, value, error)
/* clang-format on */

/* Try each value. The argument without it must succeed. All failures are reported. */
void check_deviations(int fd, unsigned long request, const void *good, const struct deviation *rows,
		      size_t count);
/* Set each bit of a field that must be zero, one at a time: -EINVAL. */
void check_zero_field(int fd, unsigned long request, const void *good,
		      const struct deviation *field);
#define CHECK_MBZ(fd, request, good, type, member) \
	check_zero_field(fd, request, good, &(struct deviation)BAD(type, member, 0, EINVAL))

/* -------------------------------------------------------------------- stores */

#ifdef __aarch64__
#define PUT8	  "strb %w1, %0"
#define PUT16	  "strh %w1, %0"
#define PUT32	  "str %w1, %0"
#define PUT64	  "str %x1, %0"
#define PUT_AT	  "=Q" /* a register alone */
#define ORDER	  "dmb osh"
#define UNDEFINED "udf #0"
#else
#define PUT8	  "movb %b1, %0"
#define PUT16	  "movw %w1, %0"
#define PUT32	  "movl %k1, %0"
#define PUT64	  "movq %q1, %0"
#define PUT_AT	  "=m"
#define ORDER	  "sfence"
#define UNDEFINED "ud2"
#endif

static inline void put8(volatile void *at, uint8_t value)
{
	__asm__ volatile(PUT8 : PUT_AT(*(volatile uint8_t *)at) : "r"(value));
}

static inline void put16(volatile void *at, uint16_t value)
{
	__asm__ volatile(PUT16 : PUT_AT(*(volatile uint16_t *)at) : "r"(value));
}

static inline void put32(volatile void *at, uint32_t value)
{
	__asm__ volatile(PUT32 : PUT_AT(*(volatile uint32_t *)at) : "r"(value));
}

static inline void put64(volatile void *at, uint64_t value)
{
	__asm__ volatile(PUT64 : PUT_AT(*(volatile uint64_t *)at) : "r"(value));
}

/* Stores to write-combined mappings before what follows. */
static inline void order_stores(void)
{
	__asm__ volatile(ORDER ::: "memory");
}

/*
 * Whether the processor itself refuses an access to the aperture or a doorbell page that is not
 * aligned, by SIGBUS. Then the device sees none of it.
 */
#ifdef __aarch64__
#define REFUSES_MISALIGNED true
#else
#define REFUSES_MISALIGNED false
#endif

/* Returns the signal that came in the call (SIGBUS, SIGSEGV), or 0. */
int signal_of(void (*act)(const void *), const void *arg);
/* Load or store 4 bytes. Returns the signal that came (SIGBUS, SIGSEGV), or 0. */
int signal_of_load(const volatile void *at);
int signal_of_store(volatile void *at);

#endif /* T3_GUEST_H */
