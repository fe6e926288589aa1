// SPDX-License-Identifier: MIT
/*
 * T3_DEBUG=check on a device. Mistakes are reported before the device raises a fault. Correct
 * producers are not reported, and their stores arrive. Each case is a process of its own.
 */
#ifdef __x86_64__

#define _GNU_SOURCE /* pipe2 */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "guest.h"
#include "t3_producer.h"

#define SIZE	 16384u
#define EPOCH	 7u
#define LIMIT_S	 60
#define DEADLINE t3_deadline(10000000000)

/* 6 rows of 20 floats, padded to 24; tiles of 4 x 8: three over three. */
static const struct t3_segment_desc seg = {
	.segment = 1,
	.dtype = DRM_T3_F32,
	.op = DRM_T3_OP_ADD,
	.init = DRM_T3_INIT_IDENTITY,
	.updates = 1,
	.rows = 6,
	.offset = 256,
	.row_bytes = 80,
	.pitch = 96,
	.tile_rows = 4,
	.tile_row_bytes = 32,
};

static struct t3_device *dev;
static struct t3_buffer *buffer;
static struct t3_space *space;
static volatile unsigned char *aperture;
static unsigned char *memory;

/* ------------------------------------------------------------- its processes */

static struct outcome {
	int status;
	char text[16384];
} outcome;

static void open_space(void)
{
	void *ptr;

	CHECK_EQ(t3_device_open(guest_node(0), &dev), 0);
	CHECK_EQ(t3_buffer_create(dev, SIZE, &buffer), 0);
	CHECK_EQ(t3_space_create(dev, buffer, 64, &space), 0);
	CHECK_EQ(t3_buffer_map(buffer, &ptr), 0);
	CHECK_EQ(t3_local_map(space, &seg), 0);
	aperture = t3_space_aperture(space);
	memory = ptr;
}

static void close_space(void)
{
	CHECK_EQ(t3_space_destroy(space), 0);
	t3_buffer_destroy(buffer);
	t3_device_close(dev);
}

static void child(void (*body)(void), const char *debug, int out)
{
	guest_in_child = true;
	alarm(LIMIT_S * guest_slowness());
	signal(SIGSEGV, SIG_DFL);
	dup2(out, STDERR_FILENO);
	setenv("T3_DEBUG", debug, 1);
	open_space();
	CHECK_EQ(t3_arm(space, EPOCH), 0);
	CHECK_EQ(t3_wait_armed(space, EPOCH, DEADLINE), 0);
	body();
	close_space();
	_exit(0);
}

static void run(void (*body)(void), const char *debug)
{
	size_t length = 0;
	int ends[2];
	ssize_t ret;
	pid_t pid;

	CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		child(body, debug, ends[1]);
	close(ends[1]);
	do {
		ret = read(ends[0], outcome.text + length, sizeof(outcome.text) - 1 - length);
		length += ret > 0 ? (size_t)ret : 0;
	} while (ret > 0);
	outcome.text[length] = 0;
	close(ends[0]);
	CHECK_EQ(waitpid(pid, &outcome.status, 0), pid);
}

static void check_words(const char *const *words)
{
	for (; *words; words++) {
		if (!strstr(outcome.text, *words))
			guest_fail(__FILE__, __LINE__, "no \"%s\" in: %s", *words, outcome.text);
	}
}

struct mistake {
	void (*body)(void);
	const char *words[8]; /* to NULL */
};

static void check_mistakes(const struct mistake *mistakes, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		run(mistakes[i].body, "check");
		check_words(mistakes[i].words);
		CHECK(WIFSIGNALED(outcome.status));
		CHECK_EQ(WTERMSIG(outcome.status), SIGABRT);
	}
}

static void check_silence(void (*body)(void))
{
	run(body, "check");
	if (*outcome.text)
		guest_fail(__FILE__, __LINE__, "said: %s", outcome.text);
	CHECK_EQ(outcome.status, 0);
}

/* ------------------------------------------------------------ right producers */

static void check_rows(uint32_t value)
{
	uint32_t row, col, got;

	for (row = 0; row < seg.rows; row++) {
		for (col = 0; col < seg.row_bytes; col += 4) {
			memcpy(&got, memory + seg.offset + row * seg.pitch + col, 4);
			CHECK_EQ(got, value);
		}
	}
}

/* The program's own stores, of each width that the type has. */
static void by_hand(void)
{
	volatile float *to;
	uint32_t row, col;

	for (row = 0; row < seg.rows; row++) {
		for (col = 0; col < seg.row_bytes; col += 8) {
			to = (volatile float *)(aperture + seg.offset + row * seg.pitch + col);
			if ((row + col / 8) & 1) {
				put64(to, 0x3f8000003f800000);
			} else {
				put32(to, 0x3f800000);
				to[1] = 1.0f;
			}
		}
	}
	CHECK_EQ(t3_wait(space, EPOCH, 0, T3_DELIVERED, DEADLINE), 0);
	check_rows(0x3f800000);
	/* Reads are the device's memory. */
	to = (volatile float *)(aperture + seg.offset);
	CHECK(to[1] == 1.0f);
	CHECK_EQ(memcmp((const void *)(uintptr_t)(aperture + seg.offset), memory + seg.offset, 80),
		 0);
	CHECK_EQ(t3_release(space, EPOCH), 0);
}

static void by_producers(void)
{
	static const uint32_t paths[] = { T3_PATH_STORE, T3_PATH_DOORBELL };
	struct t3_producer_desc arg = { .segment = &seg };
	struct t3_producer *p;
	uint32_t i, epoch = EPOCH;
	float image[160];
	uint64_t tile;

	for (i = 0; i < 160; i++)
		image[i] = 1.0f;
	by_hand();
	for (i = 0; i < 2; i++) {
		arg.path = paths[i];
		CHECK_EQ(t3_producer_create(dev, space, &arg, &p), 0);
		memset(memory, 0, SIZE);
		CHECK_EQ(t3_arm(space, ++epoch), 0);
		CHECK_EQ(t3_wait_armed(space, epoch, DEADLINE), 0);
		for (tile = 0; tile < 5; tile++)
			CHECK_EQ(t3_producer_put_tile(p, tile, image, 96), 0);
		CHECK_EQ(t3_producer_put(p, 5, 64, image, 16), 0);
		CHECK_EQ(t3_producer_put(p, 4, 64, image, 16), 0);
		CHECK_EQ(t3_wait(space, epoch, 0, T3_DELIVERED, DEADLINE), 0);
		check_rows(0x3f800000);
		CHECK_EQ(t3_release(space, epoch), 0);
		t3_producer_destroy(p);
	}
}

/* The peer's part of a segment does not belong to this process. */
static void by_two_ranks(void)
{
	struct t3_target target = { .op = DRM_T3_OP_ADD, .segment = 2 };
	struct t3_segment_desc sum = seg;
	struct t3_device *peer_dev;
	struct t3_buffer *peer_buffer;
	struct t3_space *peer;
	struct t3_view view;
	float image[160];
	uint32_t grant, i;
	uint64_t tile;
	int fd;

	for (i = 0; i < 160; i++)
		image[i] = 1.0f;
	sum.segment = 2;
	sum.updates = 2;
	CHECK_EQ(t3_device_open(guest_node(1), &peer_dev), 0);
	CHECK_EQ(t3_buffer_create(peer_dev, SIZE, &peer_buffer), 0);
	CHECK_EQ(t3_space_create(peer_dev, peer_buffer, 64, &peer), 0);
	CHECK_EQ(t3_local_map(peer, &sum), 0);
	CHECK_EQ(t3_grant_export(peer, 1u << 2, 1u << DRM_T3_OP_ADD, &fd, &grant), 0);
	by_hand();
	CHECK_EQ(t3_unmap(space, seg.segment), 0);
	CHECK_EQ(t3_grant_import(space, fd, &target.import, NULL), 0);
	sum.updates = 1;
	CHECK_EQ(t3_dma_map(space, &sum, &target), 0);
	close(fd);
	CHECK_EQ(t3_arm(peer, EPOCH + 1), 0);
	CHECK_EQ(t3_arm(space, EPOCH + 1), 0);
	CHECK_EQ(t3_wait_armed(space, EPOCH + 1, DEADLINE), 0);
	CHECK_EQ(t3_view_aperture(peer, &sum, &view), 0);
	for (tile = 0; tile < t3_desc_tiles(&sum); tile++)
		CHECK_EQ(t3_store_tile(&view, tile, image, 96), 0);
	CHECK_EQ(t3_view_aperture(space, &sum, &view), 0);
	for (tile = 0; tile < t3_desc_tiles(&sum); tile++)
		CHECK_EQ(t3_store_tile(&view, tile, image, 96), 0);
	CHECK_EQ(t3_wait(space, EPOCH + 1, 0, T3_DELIVERED, DEADLINE), 0);
	CHECK_EQ(t3_wait(peer, EPOCH + 1, 0, T3_DELIVERED, DEADLINE), 0);
	CHECK_EQ(t3_release(space, EPOCH + 1), 0);
	CHECK_EQ(t3_release(peer, EPOCH + 1), 0);
	CHECK_EQ(t3_space_destroy(peer), 0);
	t3_buffer_destroy(peer_buffer);
	t3_device_close(peer_dev);
}

TEST("correct producers are not reported")
{
	check_silence(by_hand);
	check_silence(by_producers);
	check_silence(by_two_ranks);
}

/* ------------------------------------------------------------------ mistakes */

static void twice(void)
{
	put32(aperture + seg.offset + 96 + 4, 1);
	put64(aperture + seg.offset + 96, 1);
}

static void when_over(void)
{
	by_hand();
	put32(aperture + seg.offset, 1);
}

static void outside(void)
{
	put32(aperture + 64, 1);
}

static void in_padding(void)
{
	put32(aperture + seg.offset + 96 + 84, 1);
}

static void too_narrow(void)
{
	put16(aperture + seg.offset, 1);
}

static void misaligned(void)
{
	put64(aperture + seg.offset + 4, 1);
}

static void by_memcpy(void)
{
	static unsigned char source[80];
	void *(*volatile copy)(void *, const void *, size_t) = memcpy;

	copy((void *)(uintptr_t)(aperture + seg.offset + 96), source, sizeof(source));
}

static void by_rep_movs(void)
{
	unsigned char source[16] = { 1 };
	volatile void *to = aperture + seg.offset;
	const void *from = source;
	size_t count = sizeof(source);

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count)::"memory");
}

static void by_vector(void)
{
	__asm__ volatile("movups %%xmm0, (%0)" ::"r"(aperture + seg.offset) : "memory");
}

static void over_a_tile(void)
{
	struct t3_segment_desc narrow = seg;

	CHECK_EQ(t3_space_reset(space), 0);
	CHECK_EQ(t3_unmap(space, seg.segment), 0);
	narrow.tile_row_bytes = 12;
	CHECK_EQ(t3_local_map(space, &narrow), 0);
	CHECK_EQ(t3_arm(space, 1), 0);
	put64(aperture + seg.offset + 8, 1);
}

static void ring(uint32_t tile)
{
	unsigned char *staging;
	struct t3_view view;
	float image[160] = { 0 };
	void *ptr;

	CHECK_EQ(t3_space_reset(space), 0);
	CHECK_EQ(t3_staging_bind(space, seg.segment, buffer, 8192, 1024, 1), 0);
	CHECK_EQ(t3_buffer_map(buffer, &ptr), 0);
	staging = (unsigned char *)ptr + 8192;
	CHECK_EQ(t3_view_memory(staging, &seg, &view), 0);
	CHECK_EQ(t3_arm(space, 1), 0);
	CHECK_EQ(t3_stage_tile(&view, 2, image, 96), 0);
	CHECK_EQ(t3_doorbell_tile(space, seg.segment, 0, tile), 0);
	CHECK_EQ(t3_doorbell_tile(space, seg.segment, 0, 2), 0);
}

static void rung_for_another_tile(void)
{
	ring(3);
}

static void rung_twice(void)
{
	ring(2);
}

static void rung_for_no_tile(void)
{
	ring(6);
}

static void armed_too_early(void)
{
	put64(aperture + seg.offset, 1);
	CHECK_EQ(t3_arm(space, EPOCH + 1), 0);
}

static void released_too_early(void)
{
	put64(aperture + seg.offset, 1);
	CHECK_EQ(t3_release(space, EPOCH), 0);
}

TEST("each mistake is reported with its place")
{
	static const struct mistake mistakes[] = {
		{ twice,
		  { "T3 check: an element is stored again in one epoch", "mov of 8 bytes",
		    "rank 0, space", "armed, epoch 7",
		    "tile 0 (rows 0 .. 3, bytes 0 .. 31 of a row)", "stored there before:" } },
		{ when_over, { "a store while the space is not armed", "idle, epoch 7" } },
		{ outside, { "a store outside every segment", "byte 0x40" } },
		{ in_padding, { "a store to the padding between two rows", "row 1, byte 84" } },
		{ too_narrow, { "a store of less than an element", "mov of 2 bytes" } },
		{ misaligned, { "a store that is not aligned to its width" } },
		{ by_memcpy, { "no store that the device counts once", "row 1", "not memcpy()" } },
		{ by_rep_movs, { "no store that the device counts once", "  rep movs at" } },
		{ by_vector, { "no store that the device counts once", "movups of 16 bytes" } },
		{ over_a_tile, { "a store over a tile's edge", "row 0, bytes 8 .. 15" } },
		{ rung_for_another_tile,
		  { "a doorbell for a tile that was never staged", "tile 3" } },
		{ rung_twice, { "an element is stored again", "t3_doorbell_tile()", "tile 2" } },
		{ rung_for_no_tile, { "a doorbell for a segment, slot or tile", "tile 6 of 6" } },
		{ armed_too_early,
		  { "an epoch is armed while another", "segment 1 (local f32): 6 of its 6 tiles",
		    "tile 0 lacks 120 of its 128 bytes", "row 0, bytes 8 .. 31",
		    "stored near them:" } },
		{ released_too_early, { "an epoch is released that is not complete" } },
	};

	check_mistakes(mistakes, ROWS(mistakes));
}

static void wait_in_vain(void)
{
	put64(aperture + seg.offset, 1);
	CHECK_EQ(t3_wait(space, EPOCH, 0, T3_DELIVERED, t3_deadline(20000000)), -ETIMEDOUT);
}

TEST("missing stores are reported with their tile")
{
	static const char *const words[] = { "T3 check: stores are missing",
					     "t3_wait(), whose deadline has passed",
					     "tile 1 lacks 128 of its 128 bytes", NULL };

	run(wait_in_vain, "check");
	check_words(words);
	CHECK_EQ(outcome.status, 0);
}

/* A reported store is not made. The device raises no fault, and the epoch ends. */
static void go_on(void)
{
	put32(aperture + 64, 1);
	put32(aperture + seg.offset, 0x3f800000);
	put32(aperture + seg.offset, 0x40000000);
	put64(aperture + seg.offset + 4, 1);
	__asm__ volatile("" ::: "memory");
	put32(aperture + seg.offset + 4, 0x3f800000);
	CHECK_EQ(t3_space_faults(space, NULL, 0, NULL), 0);
	put16(aperture + seg.offset, 1);
}

TEST("continue lets a program go on after each report")
{
	static const char *const words[] = { "outside every segment", "is stored again",
					     "not aligned to its width", "less than an element",
					     NULL };

	run(go_on, "check,continue");
	check_words(words);
	CHECK_EQ(outcome.status, 0);
}

/* Without the checker the device finds the mistake. */
static void fault(void)
{
	struct drm_t3_fault found;

	put32(aperture + 64, 1);
	CHECK_EQ(t3_space_fault(space, &found), 0);
	CHECK_EQ(found.kind, DRM_T3_FAULT_UNMAPPED);
}

TEST("a wrong store is not reported without the checker")
{
	run(fault, "");
	CHECK_EQ(strlen(outcome.text), 0);
	CHECK_EQ(outcome.status, 0);
}

#else

#include <stdio.h>

int main(void)
{
	puts("# skipped: the checker takes a trapped store apart on x86-64 only");
	return 77;
}

#endif
