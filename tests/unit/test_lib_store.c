// SPDX-License-Identifier: MIT
/*
 * libt3: the stores that a device sees. The aperture is a write-protected page. Each store traps,
 * its address and width are noted, it is made in a single step (x86-64) or by the handler (arm64),
 * and the page is protected again. So the test watches the real code, instruction by instruction.
 */
#define _GNU_SOURCE /* REG_RIP */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "arm64_store.h"
#include "space/private.h"
#include "test.h"

#define AREA	16384u
#define RECORDS 8192u

static unsigned char *area;
static volatile struct record {
	uint32_t offset;
	uint32_t width; /* 0: not an instruction that is expected */
} records[RECORDS];
static volatile uint32_t count;

static void note(int sig, const siginfo_t *info, uint32_t width)
{
	uintptr_t offset = (uintptr_t)info->si_addr - (uintptr_t)area;

	if (offset >= AREA || count >= RECORDS)
		_exit(128 + sig);
	records[count].offset = (uint32_t)offset;
	records[count].width = width;
	count++;
}

#ifdef __x86_64__

#define TRAP_BIT 0x100

/*
 * Width of "mov reg, r/m" (0x89, bytes: 0x88) by its prefixes, or, where string instructions are
 * to be used, of "rep stos" (0xab, 0xaa) and "rep movs" (0xa5).
 */
static uint32_t decode(const unsigned char *code)
{
	bool operand = false, wide = false, rep = false, byte, whole;

	for (; *code == 0x66 || *code == 0xf3; code++) {
		operand |= *code == 0x66;
		rep |= *code == 0xf3;
	}
	if ((*code & 0xf0) == 0x40)
		wide = *code++ & 8;
	byte = *code == 0x88 || *code == 0xaa;
	whole = *code == 0x89 || *code == 0xab || *code == 0xa5;
	if (!(byte || whole) || rep != t3_string_stores || rep != (*code >= 0xa0))
		return 0;
	if (byte)
		return 1;
	return wide ? 8 : operand ? 2 : 4;
}

static void on_store(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	note(sig, info, decode((const unsigned char *)regs[REG_RIP]));
	mprotect(area, AREA, PROT_READ | PROT_WRITE);
	regs[REG_EFL] |= TRAP_BIT;
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	(void)info;
	regs[REG_EFL] &= ~(greg_t)TRAP_BIT;
	mprotect(area, AREA, PROT_READ);
}

#elif defined(__aarch64__)

/* A store of another form is noted, and not made. */
static void on_store(int sig, siginfo_t *info, void *context)
{
	struct arm64_store store = arm64_store_take(context);

	note(sig, info, store.width);
	mprotect(area, AREA, PROT_READ | PROT_WRITE);
	memcpy(info->si_addr, &store.value, store.width);
	mprotect(area, AREA, PROT_READ);
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	_exit(128 + sig);
}

#endif

static void clear(void)
{
	mprotect(area, AREA, PROT_READ | PROT_WRITE);
	memset(area, 0xee, AREA);
	mprotect(area, AREA, PROT_READ);
	count = 0;
}

/* Called at the start of each test, because cmocka installs its signal handlers before it. */
static void watch(void)
{
	struct sigaction store = { .sa_sigaction = on_store, .sa_flags = SA_SIGINFO };
	struct sigaction step = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };

	assert_int_equal(sigaction(SIGSEGV, &store, NULL), 0);
	assert_int_equal(sigaction(SIGTRAP, &step, NULL), 0);
	clear();
}

static int map_area(void)
{
	area = mmap(NULL, AREA, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return area == MAP_FAILED ? -1 : 0;
}

static int unmap_area(void)
{
	return munmap(area, AREA);
}

/* Check that stores are legal, rising, and without gaps except where the caller expects them. */
static void check_records(uint32_t element)
{
	uint32_t i, end = 0;

	for (i = 0; i < count; i++) {
		assert_in_range(records[i].width, element, 8);
		assert_int_equal(records[i].offset % records[i].width, 0);
		assert_true(records[i].offset >= end);
		end = records[i].offset + records[i].width;
	}
}

static uint32_t bytes_stored(void)
{
	uint32_t i, sum = 0;

	for (i = 0; i < count; i++)
		sum += records[i].width;
	return sum;
}

#ifdef __x86_64__
/* On a processor that QEMU translates. */
static int use_strings(void)
{
	t3_string_stores = true;
	return map_area();
}
#endif

static int use_moves(void)
{
	t3_string_stores = false;
	return map_area();
}

/* Other processors than x86-64 have moves alone. */
#ifdef __x86_64__
#define BY_STRINGS(line, sentence)                                                \
	TEST_AS(strings_##line, sentence ", by strings", use_strings, unmap_area) \
	{                                                                         \
		body_##line();                                                    \
	}
#else
#define BY_STRINGS(line, sentence)
#endif
#define BOTH_TEST(sentence)	BOTH_AT(__LINE__, sentence)
#define BOTH_AT(line, sentence) BOTH_AS(line, sentence)
#define BOTH_AS(line, sentence)                                             \
	static void body_##line(void);                                      \
	TEST_AS(moves_##line, sentence ", by moves", use_moves, unmap_area) \
	{                                                                   \
		body_##line();                                              \
	}                                                                   \
	BY_STRINGS(line, sentence)                                          \
	static void body_##line(void)

BOTH_TEST("single stores have their width")
{
	watch();
	t3_store64(area + 8, 0x1122334455667788ull);
	t3_store32(area + 4, 0x99aabbccu);
	assert_int_equal(count, 2);
	assert_int_equal(records[0].offset, 8);
	assert_int_equal(records[0].width, 8);
	assert_int_equal(records[1].offset, 4);
	assert_int_equal(records[1].width, 4);
	assert_memory_equal(area + 4, "\xcc\xbb\xaa\x99\x88\x77\x66\x55\x44\x33\x22\x11", 12);
}

/* Every start, length and source alignment around two words. */
BOTH_TEST("a run of any alignment becomes the right stores")
{
	unsigned char source[64];
	uint32_t start, bytes, skew, i;

	watch();
	for (i = 0; i < sizeof(source); i++)
		source[i] = (unsigned char)(i + 1);
	for (start = 0; start < 16; start += 2) {
		for (bytes = 0; bytes <= 40; bytes += 2) {
			for (skew = 0; skew < 8; skew++) {
				clear();
				assert_int_equal(t3_store(area + start, source + skew, bytes), 0);
				check_records(start % 4 || bytes % 4 ? 2 : 4);
				assert_int_equal(bytes_stored(), bytes);
				assert_memory_equal(area + start, source + skew, bytes);
				assert_int_equal(area[start + bytes], 0xee);
				assert_true(!start || area[start - 1] == 0xee);
			}
		}
	}
}

BOTH_TEST("an aligned run uses words only")
{
	unsigned char source[1024] = { 1 };

	watch();
	assert_int_equal(t3_store(area, source, sizeof(source)), 0);
	assert_int_equal(count, sizeof(source) / 8);
}

BOTH_TEST("odd bytes are refused")
{
	unsigned char source[8] = { 0 };

	watch();
	assert_int_equal(t3_store(area + 1, source, 2), -EINVAL);
	assert_int_equal(t3_store(area, source, 3), -EINVAL);
	assert_int_equal(t3_store(NULL, source, 2), -EINVAL);
	assert_int_equal(t3_store(area, NULL, 2), -EINVAL);
	assert_int_equal(count, 0);
}

static struct t3_segment_desc make_desc(uint32_t dtype, uint32_t rows, uint32_t cols, uint32_t pad,
					uint32_t tile_rows, uint32_t tile_cols)
{
	uint32_t size = t3_dtype_bytes(dtype);
	struct t3_segment_desc desc = {
		.dtype = dtype,
		.updates = 1,
		.rows = rows,
		.row_bytes = cols * size,
		.pitch = (cols + pad) * size,
		.tile_rows = tile_rows,
		.tile_row_bytes = tile_cols * size,
	};

	return desc;
}

/* Check that no store crosses a tile's edge or touches padding. */
static void check_tiles(const struct t3_view *view)
{
	uint32_t base = (uint32_t)(view->base - area), i, at, row, first, last;
	uint64_t a, b;

	for (i = 0; i < count; i++) {
		at = records[i].offset - base;
		row = at / view->desc.pitch;
		first = at % view->desc.pitch;
		last = first + records[i].width - 1;
		assert_int_equal(t3_desc_locate(&view->desc, row, first, &a), 0);
		assert_int_equal(t3_desc_locate(&view->desc, row, last, &b), 0);
		assert_int_equal(a, b);
	}
}

static void fill(unsigned char *bytes, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		bytes[i] = (unsigned char)(i * 7 + 3);
}

/* All tiles of a segment, stored one by one, equal the matrix. Padding is unchanged. */
static void check_all_tiles(const struct t3_segment_desc *desc, uint32_t base)
{
	unsigned char matrix[2048];
	struct t3_view view;
	struct t3_tile tile;
	uint32_t row;
	uint64_t i;

	clear();
	fill(matrix, sizeof(matrix));
	assert_int_equal(t3_view_memory(area + base, desc, &view), 0);
	for (i = 0; i < t3_desc_tiles(desc); i++) {
		assert_int_equal(t3_desc_tile(desc, i, &tile), 0);
		count = 0;
		assert_int_equal(t3_store_tile(&view, i,
					       matrix + tile.row * desc->row_bytes + tile.col,
					       desc->row_bytes),
				 0);
		check_records(t3_dtype_bytes(desc->dtype));
		check_tiles(&view);
		assert_int_equal(bytes_stored(), tile.bytes);
	}
	for (row = 0; row < desc->rows; row++) {
		assert_memory_equal(area + base + row * desc->pitch, matrix + row * desc->row_bytes,
				    desc->row_bytes);
		if (desc->pitch > desc->row_bytes)
			assert_int_equal(area[base + row * desc->pitch + desc->row_bytes], 0xee);
	}
}

BOTH_TEST("ragged tiles are stored whole")
{
	static const uint32_t dtypes[] = { DRM_T3_F32, DRM_T3_BF16, DRM_T3_U8 };
	struct t3_segment_desc desc;
	size_t i;

	watch();
	for (i = 0; i < 3; i++) {
		desc = make_desc(dtypes[i], 7, 13, 0, 3, 5);
		check_all_tiles(&desc, 0);
		desc = make_desc(dtypes[i], 7, 13, 1, 2, 3);
		check_all_tiles(&desc, 4);
		desc = make_desc(dtypes[i], 8, 16, 0, 4, 8);
		check_all_tiles(&desc, 64);
		desc = make_desc(dtypes[i], 5, 9, 2, 1, 1);
		check_all_tiles(&desc, 12);
	}
	desc = make_desc(DRM_T3_F16, 3, 11, 1, 2, 7);
	check_all_tiles(&desc, 2);
	desc = make_desc(DRM_T3_I8, 9, 31, 4, 4, 13);
	check_all_tiles(&desc, 3);
}

/* Runs of any place and length split at tile edges. */
BOTH_TEST("runs split at the edges of tiles")
{
	struct t3_segment_desc desc = make_desc(DRM_T3_F16, 3, 23, 2, 2, 5);
	uint32_t col, bytes;
	struct t3_view view;
	unsigned char run[64];

	watch();
	fill(run, sizeof(run));
	assert_int_equal(t3_view_memory(area + 6, &desc, &view), 0);
	for (col = 0; col <= desc.row_bytes; col += 2) {
		for (bytes = 0; bytes <= desc.row_bytes - col; bytes += 2) {
			clear();
			assert_int_equal(t3_store_run(&view, 1, col, run, bytes), 0);
			check_records(2);
			check_tiles(&view);
			assert_int_equal(bytes_stored(), bytes);
			assert_memory_equal(area + 6 + desc.pitch + col, run, bytes);
		}
	}
}

/* The same for 1-byte elements, where every place and length is legal. */
BOTH_TEST("runs of bytes split at the edges of tiles")
{
	struct t3_segment_desc desc = make_desc(DRM_T3_U8, 3, 29, 2, 2, 11);
	uint32_t col, bytes, skew;
	struct t3_view view;
	unsigned char run[64];

	watch();
	fill(run, sizeof(run));
	for (skew = 0; skew < 3; skew++) {
		assert_int_equal(t3_view_memory(area + 8 + skew, &desc, &view), 0);
		for (col = 0; col <= desc.row_bytes; col++) {
			for (bytes = 0; bytes <= desc.row_bytes - col; bytes++) {
				clear();
				assert_int_equal(t3_store_run(&view, 1, col, run, bytes), 0);
				check_records(1);
				check_tiles(&view);
				assert_int_equal(bytes_stored(), bytes);
				assert_memory_equal(area + 8 + skew + desc.pitch + col, run, bytes);
			}
		}
	}
}

BOTH_TEST("runs outside are refused")
{
	struct t3_segment_desc desc = make_desc(DRM_T3_F32, 3, 8, 0, 3, 4);
	unsigned char run[64] = { 0 };
	struct t3_view view;

	assert_int_equal(t3_view_memory(area, &desc, &view), 0);
	assert_int_equal(t3_store_run(&view, 0, 8, run, UINT32_MAX - 3),
			 -ERANGE); /* 4 modulo 2^32 */
	watch();
	assert_int_equal(t3_store_run(&view, 3, 0, run, 4), -ERANGE);
	assert_int_equal(t3_store_run(&view, 0, 0, run, 36), -ERANGE);
	assert_int_equal(t3_store_run(&view, 0, 36, run, 4), -ERANGE);
	assert_int_equal(t3_store_run(&view, 0, 2, run, 4), -EINVAL);
	assert_int_equal(t3_store_run(&view, 0, 0, run, 6), -EINVAL);
	assert_int_equal(t3_store_run(NULL, 0, 0, run, 4), -EINVAL);
	assert_int_equal(t3_store_run(&view, 0, 0, NULL, 4), -EINVAL);
	assert_int_equal(t3_store_tile(&view, 2, run, 16), -ERANGE);
	assert_int_equal(t3_store_tile(&view, 0, run, 15), -EINVAL);
	assert_int_equal(t3_store_tile(NULL, 0, run, 16), -EINVAL);
	assert_int_equal(t3_store_tile(&view, 0, NULL, 16), -EINVAL);
	assert_int_equal(count, 0);
}

BOTH_TEST("views check their segment")
{
	struct t3_segment_desc desc = make_desc(DRM_T3_F32, 3, 8, 0, 3, 4);
	struct t3_view view;

	watch();
	assert_int_equal(t3_view_memory(NULL, &desc, &view), -EINVAL);
	assert_int_equal(t3_view_memory(area, &desc, NULL), -EINVAL);
	desc.tile_rows = 4;
	assert_int_equal(t3_view_memory(area, &desc, &view), -EINVAL);
}

BOTH_TEST("staged tiles equal stored ones")
{
	struct t3_segment_desc desc = make_desc(DRM_T3_F32, 7, 13, 1, 3, 5);
	unsigned char image[512], matrix[512];
	struct t3_view aperture, staging;
	struct t3_tile tile;
	uint64_t i;

	watch();
	fill(matrix, sizeof(matrix));
	memset(image, 0xee, sizeof(image));
	assert_int_equal(t3_view_memory(area, &desc, &aperture), 0);
	assert_int_equal(t3_view_memory(image, &desc, &staging), 0);
	for (i = 0; i < t3_desc_tiles(&desc); i++) {
		const unsigned char *from;

		assert_int_equal(t3_desc_tile(&desc, i, &tile), 0);
		from = matrix + tile.row * desc.row_bytes + tile.col;
		assert_int_equal(t3_store_tile(&aperture, i, from, desc.row_bytes), 0);
		assert_int_equal(t3_stage_tile(&staging, i, from, desc.row_bytes), 0);
	}
	assert_memory_equal(image, area, sizeof(image));
	assert_int_equal(t3_stage_tile(&staging, i, matrix, 20), -ERANGE);
	assert_int_equal(t3_stage_tile(&staging, 0, matrix, 19), -EINVAL);
}

/* The moves for this processor, before a test chooses others. */
static bool chosen;

TEST("the processor decides how runs are stored")
{
	assert_int_equal(chosen, t3_cpu_emulated());
}

int main(void)
{
#if !defined(__x86_64__) && !defined(__aarch64__)
	return 77; /* the watcher knows these two only */
#endif
	chosen = t3_string_stores;
	return test_run(NULL, NULL);
}
