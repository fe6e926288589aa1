/* SPDX-License-Identifier: MIT */
/*
 * Tests of T3_DEBUG=check. Each case is a process of its own, because libt3 reads the setting once
 * and a report ends the process. For x86-64, and one source file per program. Include it first.
 */
#ifndef TEST_LIB_DEBUG_H
#define TEST_LIB_DEBUG_H

#include "test_lib_kernel.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "t3_producer.h"

#define EPOCH 7u

/* 6 rows of 16 elements of 2 bytes at 128; pitch 40; tiles of 4 x 8: two over two. */
static const struct t3_segment_desc seg = {
	.segment = 5,
	.dtype = DRM_T3_F16,
	.updates = 1,
	.rows = 6,
	.offset = 128,
	.row_bytes = 32,
	.pitch = 40,
	.tile_rows = 4,
	.tile_row_bytes = 16,
};

static volatile unsigned char *aperture;

/* ------------------------------------------------------------- its processes */

static struct outcome {
	int status;
	char text[65536];
} outcome;

static void arm(uint32_t epoch)
{
	set_state(DRM_T3_SPACE_ARMED, epoch);
}

/* What follows the text in memory is no part of it. */
static void set_debug(const char *debug)
{
	static char text[64];

	snprintf(text, sizeof(text), "T3_DEBUG=%s%cbeyond", debug, '\0');
	assert_int_equal(putenv(text), 0);
}

static void child(void (*body)(void), const char *debug, int out)
{
	dup2(out, STDERR_FILENO);
	signal(SIGSEGV, SIG_DFL);
	if (debug)
		set_debug(debug);
	else
		unsetenv("T3_DEBUG");
	start();
	assert_int_equal(t3_local_map(space, &seg), 0);
	aperture = t3_space_aperture(space);
	arm(EPOCH);
	body();
	set_state(DRM_T3_SPACE_IDLE, EPOCH);
	stop();
	fflush(NULL);
	_exit(0);
}

static void run(void (*body)(void), const char *debug)
{
	size_t length = 0;
	int pipe_fds[2];
	ssize_t ret;
	pid_t pid;

	assert_int_equal(pipe(pipe_fds), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		child(body, debug, pipe_fds[1]);
	close(pipe_fds[1]);
	do {
		ret = read(pipe_fds[0], outcome.text + length, sizeof(outcome.text) - 1 - length);
		length += ret > 0 ? (size_t)ret : 0;
	} while (ret > 0);
	outcome.text[length] = 0;
	close(pipe_fds[0]);
	assert_int_equal(waitpid(pid, &outcome.status, 0), pid);
}

static inline void expect_silence(void (*body)(void))
{
	run(body, "check");
	assert_string_equal(outcome.text, "");
	assert_true(WIFEXITED(outcome.status));
	assert_int_equal(WEXITSTATUS(outcome.status), 0);
}

static void expect_words(const char *word, va_list more)
{
	for (; word; word = va_arg(more, const char *)) {
		if (!strstr(outcome.text, word))
			fail_msg("no \"%s\" in:\n%s", word, outcome.text);
	}
}

/* The case ends with abort(), and the report has all of the words. */
__attribute__((sentinel)) static inline void expect_report(void (*body)(void), const char *word,
							   ...)
{
	va_list more;

	run(body, "check");
	va_start(more, word);
	expect_words(word, more);
	va_end(more);
	assert_true(WIFSIGNALED(outcome.status));
	assert_int_equal(WTERMSIG(outcome.status), SIGABRT);
}

/* The case goes on. */
__attribute__((sentinel)) static inline void expect_warning(void (*body)(void), const char *debug,
							    const char *word, ...)
{
	va_list more;

	run(body, debug);
	va_start(more, word);
	expect_words(word, more);
	va_end(more);
	assert_true(WIFEXITED(outcome.status));
	assert_int_equal(WEXITSTATUS(outcome.status), 0);
}

/* Only libdw knows these functions and lines. Without it a report has the command to get them. */
static inline const char *named(const char *word)
{
	return dlopen("libdw.so.1", RTLD_NOW) ? word : "addr2line -fe ";
}

/* -------------------------------------------------------------------- stores */

static inline void put8(uint32_t at, uint8_t value)
{
	__asm__ volatile("movb %1, (%0)" ::"r"(aperture + at), "q"(value) : "memory");
}

static inline void put16(uint32_t at, uint16_t value)
{
	__asm__ volatile("movw %1, (%0)" ::"r"(aperture + at), "r"(value) : "memory");
}

static inline void put32(uint32_t at, uint32_t value)
{
	__asm__ volatile("movl %1, (%0)" ::"r"(aperture + at), "r"(value) : "memory");
}

static inline void put64(uint32_t at, uint64_t value)
{
	__asm__ volatile("movq %1, (%0)" ::"r"(aperture + at), "r"(value) : "memory");
}

/* The bytes that the device got, which the program can read. */
static inline void got(uint32_t at, const void *bytes, size_t size)
{
	if (memcmp(kernel.memory + AT_APERTURE + at, bytes, size) ||
	    memcmp((const void *)(uintptr_t)(aperture + at), bytes, size))
		_exit(3);
}

/* 64 bytes at 1024, one tile. */
static inline struct t3_segment_desc bytes_seg(void)
{
	return (struct t3_segment_desc){
		.segment = 2,
		.dtype = DRM_T3_U8,
		.updates = 1,
		.rows = 1,
		.offset = 1024,
		.row_bytes = 64,
		.pitch = 64,
		.tile_rows = 1,
		.tile_row_bytes = 64,
	};
}

#endif /* TEST_LIB_DEBUG_H */
