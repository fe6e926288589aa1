// SPDX-License-Identifier: MIT
/*
 * libt3, T3_DEBUG=check: what is reported, in which words, and what is not. Each case is a process of
 * its own, as the setting is read once and a report is its end.
 */
#include "test_lib_kernel.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "t3_producer.h"

#ifdef __x86_64__

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

static void child(void (*body)(void), const char *debug, int out)
{
	dup2(out, STDERR_FILENO);
	signal(SIGSEGV, SIG_DFL);
	if (debug)
		setenv("T3_DEBUG", debug, 1);
	else
		unsetenv("T3_DEBUG");
	start(NULL);
	assert_int_equal(t3_local_map(space, &seg), 0);
	aperture = t3_space_aperture(space);
	arm(EPOCH);
	body();
	set_state(DRM_T3_SPACE_IDLE, EPOCH);
	stop(NULL);
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

static void expect_silence(void (*body)(void))
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

/* Ends with abort(), and says all of the words. */
__attribute__((sentinel)) static void expect_report(void (*body)(void), const char *word, ...)
{
	va_list more;

	run(body, "check");
	va_start(more, word);
	expect_words(word, more);
	va_end(more);
	assert_true(WIFSIGNALED(outcome.status));
	assert_int_equal(WTERMSIG(outcome.status), SIGABRT);
}

/* Goes on. */
__attribute__((sentinel)) static void expect_warning(void (*body)(void), const char *debug,
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

/* Functions and lines that only libdw knows; elsewhere a report says what to type for them. */
static const char *named(const char *word)
{
	return dlopen("libdw.so.1", RTLD_NOW) ? word : "addr2line -fe ";
}

/* -------------------------------------------------------------------- stores */

static void put8(uint32_t at, uint8_t value)
{
	__asm__ volatile("movb %1, (%0)" ::"r"(aperture + at), "q"(value) : "memory");
}

static void put16(uint32_t at, uint16_t value)
{
	__asm__ volatile("movw %1, (%0)" ::"r"(aperture + at), "r"(value) : "memory");
}

static void put32(uint32_t at, uint32_t value)
{
	__asm__ volatile("movl %1, (%0)" ::"r"(aperture + at), "r"(value) : "memory");
}

static void put64(uint32_t at, uint64_t value)
{
	__asm__ volatile("movq %1, (%0)" ::"r"(aperture + at), "r"(value) : "memory");
}

/* What the device got, which is what the program reads. */
static void got(uint32_t at, const void *bytes, size_t size)
{
	if (memcmp(kernel.memory + AT_APERTURE + at, bytes, size) ||
	    memcmp((const void *)(uintptr_t)(aperture + at), bytes, size))
		_exit(3);
}

/* Each form of address and each source once. */
static void store_in_all_ways(void)
{
	static const uint64_t want[4] = { 0x1122334455667788, 0xfffffffffffffffe,
					  0x99aabbccddeeff00, 0x0123456789abcdef };
	uint64_t half = 4;

	__asm__ volatile("movq %1, 128(%0)" ::"r"(aperture), "r"(want[0]) : "memory");
	__asm__ volatile("movq $-2, 128(%0,%1,2)" ::"r"(aperture), "r"(half) : "memory");
	got(128, want, 16);
	__asm__ volatile("movnti %1, 16(%0)" ::"r"(aperture + 128), "r"(want[2]) : "memory");
	__asm__ volatile("movq %1, %%xmm9\n\tmovq %%xmm9, 24(%0)" ::"r"(aperture + 128),
			 "r"(want[3])
			 : "memory", "xmm9");
	got(128, want, 32);
	__asm__ volatile("movd %1, %%xmm2\n\tmovss %%xmm2, 40(%0)" ::"r"(aperture + 128),
			 "r"((uint32_t)want[0])
			 : "memory", "xmm2");
	__asm__ volatile("movw $0x5566, 44(%0)" ::"r"(aperture + 128) : "memory");
	__asm__ volatile("movw %w1, -2(%0)" ::"r"(aperture + 128 + 48), "r"(0x3344) : "memory");
	got(168, "\x88\x77\x66\x55\x66\x55\x44\x33", 8);
	__asm__ volatile(
		"movq %1, %%xmm3\n\tpunpcklqdq %%xmm3, %%xmm3\n\tmovhps %%xmm3, 48(%0)" ::"r"(
			aperture + 128),
		"r"(want[3])
		: "memory", "xmm3");
	got(176, &want[3], 8);
}

static void stores_are_made(void **state)
{
	(void)state;
	expect_silence(store_in_all_ways);
}

static struct t3_segment_desc bytes_seg(void)
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

/* Of bytes any alignment is right, and a high byte of a register is one. */
static void store_bytes(void)
{
	struct t3_segment_desc flat = bytes_seg();

	t3_local_map(space, &flat);
	put8(1024, 0x41);
	__asm__ volatile("movl $0x4200, %%eax\n\tmovb %%ah, 1(%0)" ::"Q"(aperture + 1024)
			 : "memory", "eax");
	put64(1026 + 1, 0x5051525354555657);
	put8(1026, 0x43);
	got(1024, "\x41\x42\x43\x57\x56\x55\x54\x53\x52\x51\x50", 11);
}

static void bytes_are_made(void **state)
{
	(void)state;
	expect_silence(store_bytes);
}

/* The library's own stores, of tiles, runs and producers, in two epochs. */
static void store_by_the_library(void)
{
	struct t3_producer_desc arg = { .segment = &seg, .path = T3_PATH_STORE };
	unsigned char image[512];
	struct t3_producer *p;
	struct t3_view view;
	uint64_t i;

	memset(image, 0x5a, sizeof(image));
	if (t3_view_aperture(space, &seg, &view))
		_exit(4);
	for (i = 0; i < 3; i++) {
		if (t3_store_tile(&view, i, image, 16))
			_exit(5);
	}
	t3_store_run(&view, 4, 16, image, 16);
	t3_store32(aperture + 128 + 5 * 40 + 16, 0x5a5a5a5a);
	t3_store64(aperture + 128 + 5 * 40 + 24, 0x5a5a5a5a5a5a5a5a);
	t3_store(aperture + 128 + 5 * 40 + 20, image, 4);
	for (i = 0; i < 6; i++)
		got((uint32_t)(128 + 40 * i), image, 32);
	set_state(DRM_T3_SPACE_IDLE, EPOCH);
	if (t3_producer_create(dev, space, &arg, &p))
		_exit(6);
	arm(EPOCH + 1);
	for (i = 0; i < 4; i++) {
		if (t3_producer_put_tile(p, i, image, 16))
			_exit(7);
	}
	t3_producer_destroy(p);
}

static void the_library_is_right(void **state)
{
	(void)state;
	expect_silence(store_by_the_library);
}

static void *fill_rows(void *arg)
{
	uint32_t row = (uint32_t)(uintptr_t)arg, col;

	for (; row < 6; row += 2) {
		for (col = 0; col < 32; col += 2)
			put16(128 + row * 40 + col, (uint16_t)(row * 100 + col));
	}
	return NULL;
}

static void store_in_threads(void)
{
	pthread_t thread[2];
	uintptr_t i;

	for (i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, fill_rows, (void *)i);
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < 6; i++)
		got((uint32_t)(128 + i * 40 + 30), &(uint16_t){ (uint16_t)(i * 100 + 30) }, 2);
}

static void threads_store_at_once(void **state)
{
	(void)state;
	expect_silence(store_in_threads);
}

/* ------------------------------------------------------------------ mistakes */

static void twice(void)
{
	put32(128 + 40 + 16, 1);
	put16(128 + 40 + 20, 2);
	put64(128 + 40 + 16, 3);
}

static void twice_by_the_library(void)
{
	unsigned char image[64] = { 0 };
	struct t3_view view;

	t3_view_aperture(space, &seg, &view);
	put16(128 + 6, 1);
	t3_store_tile(&view, 0, image, 16);
}

static void before_armed(void)
{
	set_state(DRM_T3_SPACE_ARMING, EPOCH);
	put32(128, 1);
}

static void after_complete(void)
{
	set_state(DRM_T3_SPACE_COMPLETE, EPOCH);
	t3_store32(aperture + 128, 1);
}

static void outside_segments(void)
{
	put32(64, 1);
}

static void in_padding(void)
{
	put32(128 + 2 * 40 + 36, 1);
}

static void over_a_row(void)
{
	put32(128 + 30, 1);
}

static void over_the_space(void)
{
	t3_store64(aperture + SPACE_BYTES - 4, 1);
}

static void too_narrow(void)
{
	put8(128, 1);
}

static void misaligned(void)
{
	put32(130, 1);
}

static void misaligned_by_the_library(void)
{
	t3_store32(aperture + 130, 1);
}

static void over_a_tile(void)
{
	struct t3_segment_desc flat = bytes_seg();

	flat.tile_row_bytes = 12;
	t3_local_map(space, &flat);
	put64(1024 + 8, 1);
}

static void mistakes_of_a_store(void **state)
{
	(void)state;
	expect_report(twice, "an element is stored again in one epoch",
		      "mov of 8 bytes at byte 0xb8", "space 21, armed, epoch 7",
		      "segment 5 (local f16), tile 1 (rows 0 .. 3, bytes 16 .. 31 of a row)",
		      "row 1, bytes 16 .. 23", "stored there before:", NULL);
	expect_report(twice_by_the_library, "stored again",
		      "t3_store_tile() of 8 bytes at byte 0x80", "tile 0", NULL);
	expect_report(before_armed, "a store while the space is not armed", "space 21, arming",
		      "t3_wait_armed()", "tile 0", NULL);
	expect_report(after_complete, "a store while the space is not armed", "space 21, complete",
		      "t3_store32() of 4 bytes", NULL);
	expect_report(outside_segments, "a store outside every segment", "at byte 0x40", NULL);
	expect_report(in_padding, "a store to the padding between two rows", "row 2, byte 36",
		      "a row has 32 bytes", NULL);
	expect_report(over_a_row, "a store over the end of a row", "row 0, bytes 30 .. 33", NULL);
	expect_report(over_the_space, "a store beyond the space's end", "at byte 0x1ffc", NULL);
	expect_report(too_narrow, "a store of less than an element", "mov of 1 bytes", NULL);
	expect_report(misaligned, "a store that is not aligned to its width", NULL);
	expect_report(misaligned_by_the_library, "a store that is not aligned to its width",
		      "t3_store32()", NULL);
	expect_report(over_a_tile, "a store over a tile's edge", "segment 2 (local u8), tile 0",
		      "row 0, bytes 8 .. 15", NULL);
}

static void *(*volatile copy)(void *, const void *, size_t) = memcpy;

static void by_memcpy(void)
{
	unsigned char source[32] = { 1 };

	copy((void *)(uintptr_t)(aperture + 128), source, sizeof(source));
}

static void by_rep_movs(void)
{
	unsigned char source[32] = { 1 };
	volatile void *to = aperture + 128;
	const void *from = source;
	size_t count = sizeof(source);

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count)::"memory");
}

static void by_vector(void)
{
	__asm__ volatile("movups %%xmm0, (%0)" ::"r"(aperture + 128) : "memory");
}

static void by_wide_vector(void)
{
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vmovdqu %%ymm0, (%0)" ::"r"(aperture + 128) : "memory");
	else
		by_vector();
}

static void by_exchange(void)
{
	uint32_t value = 1;

	__asm__ volatile("xchgl %1, (%0)" ::"r"(aperture + 128), "r"(value) : "memory");
}

static void by_addition(void)
{
	__asm__ volatile("lock addl $1, (%0)" ::"r"(aperture + 128) : "memory");
}

static void what_is_no_move(void **state)
{
	(void)state;
	expect_report(by_memcpy, "no store that the device counts once", "at byte 0x80",
		      "segment 5 (local f16), tile 0", "not memcpy()", named("by_memcpy"), NULL);
	expect_report(by_rep_movs, "no store that the device", "  rep movs at byte 0x80", NULL);
	expect_report(by_vector, "no store that the device", "movups of 16 bytes", NULL);
	expect_report(by_wide_vector, "no store that the device",
		      __builtin_cpu_supports("avx") ? "vmovdqu of 32 bytes" : "movups", NULL);
	expect_report(by_exchange, "no store that the device", "  xchg at byte", NULL);
	expect_report(by_addition, "no store that the device", "locked read-modify-write", NULL);
}

/* --------------------------------------------------------------- the staging */

static unsigned char image[1024];
static struct t3_view staging;

static void stage_all(uint64_t tiles)
{
	unsigned char source[64] = { 3 };
	void *ptr;
	uint64_t i;

	set_state(DRM_T3_SPACE_IDLE, EPOCH - 1);
	if (t3_staging_bind(space, 5, buffer, 0, 256, 2) || t3_buffer_map(buffer, &ptr) ||
	    t3_view_memory(ptr, &seg, &staging))
		_exit(4);
	arm(EPOCH);
	for (i = 0; i < tiles; i++)
		t3_stage_tile(&staging, i, source, 16);
}

static void doorbells(void)
{
	uint32_t i;

	stage_all(4);
	for (i = 0; i < 4; i++)
		t3_doorbell_tile(space, 5, 0, i);
	events()->consumed[5][0] = 4;
	arm(EPOCH + 1);
	for (i = 0; i < 4; i++) {
		t3_stage_tile(&staging, i, image, 16);
		t3_doorbell_tile(space, 5, 0, i);
	}
	/* Filled by other means. */
	arm(EPOCH + 2);
	t3_doorbell_tile(space, 5, 1, 3);
}

static void no_such_tile(void)
{
	stage_all(4);
	t3_doorbell_tile(space, 5, 0, 4);
}

static void no_such_slot(void)
{
	stage_all(4);
	t3_doorbell_tile(space, 5, 2, 0);
}

static void no_such_segment(void)
{
	t3_doorbell_tile(space, 6, 0, 0);
}

static void the_wrong_tile(void)
{
	stage_all(3);
	t3_doorbell_tile(space, 5, 0, 3);
}

static void rung_twice(void)
{
	stage_all(4);
	t3_doorbell_tile(space, 5, 0, 2);
	t3_doorbell_tile(space, 5, 0, 2);
}

static void stored_and_rung(void)
{
	stage_all(4);
	put16(128 + 40 + 2, 1);
	t3_doorbell_tile(space, 5, 0, 0);
}

static void rung_and_stored(void)
{
	stage_all(4);
	t3_doorbell_tile(space, 5, 0, 0);
	put16(128 + 40 + 2, 1);
}

static void rung_when_idle(void)
{
	stage_all(4);
	set_state(DRM_T3_SPACE_IDLE, EPOCH);
	t3_doorbell_tile(space, 5, 0, 0);
}

/* Rung 3 and 0; the device has read one of them: 3. */
static void staged_again(uint64_t tile)
{
	stage_all(4);
	t3_doorbell_tile(space, 5, 0, 3);
	t3_doorbell_tile(space, 5, 0, 0);
	events()->consumed[5][0] = 1;
	t3_stage_tile(&staging, tile, image, 16);
}

static void staged_when_read(void)
{
	staged_again(3);
	t3_stage_tile(&staging, 1, image, 16);
}

static void staged_too_early(void)
{
	staged_again(0);
}

static void mistakes_of_doorbells(void **state)
{
	(void)state;
	expect_silence(doorbells);
	expect_report(no_such_tile, "a doorbell for a segment, slot or tile that there is not",
		      "tile 4 of 4", "t3_doorbell_tile()", NULL);
	expect_report(no_such_slot, "a doorbell for a segment, slot", "slot 2", NULL);
	expect_report(no_such_segment, "a doorbell for a segment, slot", "segment 6 is not mapped",
		      NULL);
	expect_report(the_wrong_tile, "a doorbell for a tile that was never staged", "tile 3",
		      NULL);
	expect_report(rung_twice, "an element is stored again", "tile 2",
		      "stored there before:", NULL);
	expect_report(stored_and_rung, "an element is stored again", "tile 0", NULL);
	expect_report(rung_and_stored, "an element is stored again", "mov of 2 bytes", NULL);
	expect_report(rung_when_idle, "not armed", "space 21, idle", NULL);
}

static void staging_again(void **state)
{
	(void)state;
	expect_silence(staged_when_read);
	expect_report(staged_too_early, "a tile is staged again before the device has read it",
		      "tile 0", "t3_slot_consumed()", NULL);
}

/* ------------------------------------------------------------------- missing */

/* All but two elements of tile 1 and one of tile 2. */
static void store_most(void)
{
	uint32_t row, col;

	for (row = 0; row < 6; row++) {
		for (col = 0; col < 32; col += 2) {
			if ((row == 2 && (col == 20 || col == 22)) || (row == 5 && col == 14))
				continue;
			put16(128 + row * 40 + col, 1);
		}
	}
}

static void wait_in_vain(void)
{
	store_most();
	t3_space_set_spin(space, UINT64_MAX);
	if (t3_wait(space, EPOCH, 0, T3_DELIVERED, 0) != -ETIMEDOUT)
		_exit(5);
	if (write(STDERR_FILENO, "asked\n", 6) != 6)
		_exit(6);
	if (t3_wait(space, EPOCH, 0, T3_DELIVERED, t3_deadline(1000)) != -ETIMEDOUT)
		_exit(7);
	/* Said once. */
	if (write(STDERR_FILENO, "again\n", 6) != 6)
		_exit(8);
	if (t3_wait(space, EPOCH, 0, T3_DELIVERED, t3_deadline(1000)) != -ETIMEDOUT)
		_exit(9);
}

static void arm_too_early(void)
{
	store_most();
	t3_arm(space, EPOCH + 1);
}

static void release_too_early(void)
{
	store_most();
	t3_release(space, EPOCH);
}

static void leave_unfinished(void)
{
	store_most();
	if (t3_space_reset(space))
		_exit(5);
}

static void leave_before_the_first_store(void)
{
	if (t3_space_reset(space))
		_exit(5);
}

static void missing_stores(void **state)
{
	(void)state;
	expect_warning(wait_in_vain, "check", "asked\n==", "T3 check: stores are missing",
		       "t3_wait(), whose deadline has passed",
		       "segment 5 (local f16): 2 of its 4 tiles lack stores of this process",
		       "tile 1 lacks 4 of its 64 bytes:\n      row 2, bytes 20 .. 23\n",
		       "tile 2 lacks 2 of its 32 bytes:\n      row 5, bytes 14 .. 15\n",
		       "stored near them:", named("store_most"), NULL);
	assert_null(strstr(strstr(outcome.text, "again\n"), "missing"));
	expect_report(arm_too_early, "an epoch is armed while another one is not over", "t3_arm()",
		      "tile 1 lacks 4 of", NULL);
	expect_report(release_too_early, "an epoch is released that is not complete",
		      "t3_release()", "tile 2 lacks 2 of", NULL);
	expect_warning(leave_unfinished, "check", "stores are missing", "t3_space_reset()",
		       "tile 1 lacks 4 of", NULL);
	expect_silence(leave_before_the_first_store);
}

/* Two updates of an element, one of them by a peer: twice from here is once too often. */
static void share_with_a_peer(uint32_t stores)
{
	struct t3_segment_desc flat = bytes_seg();
	uint32_t grant;
	int fd;

	flat.updates = 2;
	t3_local_map(space, &flat);
	if (t3_grant_export(space, 1u << 2, 1, &fd, &grant))
		_exit(4);
	while (stores--)
		put8(1024, 1);
}

static void once_each(void)
{
	share_with_a_peer(1);
}

static void twice_for_a_peer(void)
{
	share_with_a_peer(2);
}

static void twice_alone(void)
{
	share_with_a_peer(1);
	if (t3_grant_revoke(space, 31))
		_exit(5);
	put8(1024, 1);
}

static void updates_of_peers(void **state)
{
	(void)state;
	expect_silence(once_each);
	expect_silence(twice_alone);
	expect_report(twice_for_a_peer, "stored again", "segment 2", NULL);
}

/* --------------------------------------------------------------- its settings */

static void many_mistakes(void)
{
	put32(64, 1);
	put32(128, 2);
	put32(128, 3);
	got(64, "\0\0\0\0", 4);
	got(128, "\2\0\0\0", 4);
}

static void store_anyhow(void)
{
	copy((void *)(uintptr_t)(aperture + 64), "abcdefgh", 8);
	put32(128, 1);
	put32(128, 2);
	got(128, "\2\0\0\0", 4);
}

static void settings(void **state)
{
	(void)state;
	expect_warning(many_mistakes, "continue,check", "a store outside every segment",
		       "an element is stored again", NULL);
	run(by_vector, "check,continue");
	assert_non_null(strstr(outcome.text, "It cannot be made here"));
	assert_int_equal(WTERMSIG(outcome.status), SIGABRT);
	/* Off: nothing is said, and all stores are made. */
	run(store_anyhow, NULL);
	assert_string_equal(outcome.text, "");
	assert_int_equal(outcome.status, 0);
	run(store_anyhow, "");
	assert_string_equal(outcome.text, "");
	expect_warning(store_anyhow, "chekc", "libt3: T3_DEBUG: \"chekc\" is unknown",
		       "check and continue", NULL);
	expect_warning(store_in_all_ways, "check,,fast", "\"fast\" is unknown", NULL);
}

/* ------------------------------------------------------------ other handlers */

static unsigned char *foreign;

static void on_foreign(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	if (info->si_addr != foreign)
		_exit(21);
	mprotect(foreign, 4096, PROT_READ | PROT_WRITE);
}

/* Faults that are none of ours go where they would go without us. */
static void foreign_fault(void (*before)(void))
{
	foreign = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	before();
	setenv("T3_DEBUG", "check", 1);
	start(NULL);
	__asm__ volatile("movb $1, (%0)" ::"r"(foreign) : "memory");
	_exit(foreign[0] == 1 ? 0 : 22);
}

static void take_segv(void)
{
	struct sigaction action = { .sa_sigaction = on_foreign, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &action, NULL);
}

static void default_segv(void)
{
	signal(SIGSEGV, SIG_DFL);
}

static void ignore_segv(void)
{
	signal(SIGSEGV, SIG_IGN);
}

static int end_of(void (*before)(void))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		foreign_fault(before);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void other_faults(void **state)
{
	int status;

	(void)state;
	assert_int_equal(end_of(take_segv), 0);
	status = end_of(default_segv);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	status = end_of(ignore_segv);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static void lines_of_code(void **state)
{
	(void)state;
	expect_report(by_rep_movs, named("by_rep_movs"), named("test_lib_check.c:"), NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(stores_are_made),
		cmocka_unit_test(bytes_are_made),
		cmocka_unit_test(the_library_is_right),
		cmocka_unit_test(threads_store_at_once),
		cmocka_unit_test(mistakes_of_a_store),
		cmocka_unit_test(what_is_no_move),
		cmocka_unit_test(mistakes_of_doorbells),
		cmocka_unit_test(staging_again),
		cmocka_unit_test(missing_stores),
		cmocka_unit_test(updates_of_peers),
		cmocka_unit_test(settings),
		cmocka_unit_test(other_faults),
		cmocka_unit_test(lines_of_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 77; /* traps are known for x86-64 only */
}

#endif
