// SPDX-License-Identifier: MIT
/*
 * Stores that the device counts. It sees each one as a width and an address, so
 * each must be a single, naturally aligned move of 8 bytes or less: memcpy() would
 * store bytes twice (overlapping wide moves) or one by one (rep movsb).
 */
#include <string.h>

#include "check.h"

/* Loads from the producer's own memory, which has any alignment. */
typedef uint16_t any16 __attribute__((aligned(1), may_alias));
typedef uint32_t any32 __attribute__((aligned(1), may_alias));
typedef uint64_t any64 __attribute__((aligned(1), may_alias));

#define STRING_WORDS 64u /* of one instruction, which takes no interrupt in between */

/*
 * A processor that QEMU translates finds out at a store that it leaves the translated code,
 * and unless the store is the last instruction of its block it is looked up and run again,
 * alone: half of what a trapped store costs. A repeated string instruction always is the last
 * of its block, and its elements are stored one by one, each of its width, in rising order.
 * On other processors their width is not promised, and plain moves are as fast.
 */
bool t3_string_stores;

#ifdef __x86_64__
__attribute__((constructor)) static void choose_stores(void)
{
	t3_string_stores = t3_cpu_emulated();
}

/* Element by element; both pointers and the count are advanced. */
#define STRING_STORE(instruction, dst, times, value) \
	__asm__ volatile("rep " instruction : "+D"(dst), "+c"(times) : "a"(value) : "memory")
#define STRING_COPY(instruction, dst, src, times) \
	__asm__ volatile("rep " instruction : "+D"(dst), "+S"(src), "+c"(times) : : "memory")
#define MOVE(instruction, dst, value) \
	__asm__ volatile(instruction " %1, %0" : "=m"(*(dst)) : "r"(value))
#else
#define STRING_STORE(instruction, dst, times, value) ((void)(times))
#define STRING_COPY(instruction, dst, src, times)    ((times) = 0)
#define MOVE(instruction, dst, value)		     (*(dst) = (value))
#endif

static inline void put8(volatile void *dst, uint8_t value)
{
	volatile uint8_t *to = dst;
	size_t once = 1;

	if (t3_string_stores)
		STRING_STORE("stosb", to, once, value);
	else
		MOVE("movb", to, value);
}

static inline void put16(volatile void *dst, uint16_t value)
{
	volatile uint16_t *to = dst;
	size_t once = 1;

	if (t3_string_stores)
		STRING_STORE("stosw", to, once, value);
	else
		MOVE("movw", to, value);
}

static inline void put32(volatile void *dst, uint32_t value)
{
	volatile uint32_t *to = dst;
	size_t once = 1;

	if (t3_string_stores)
		STRING_STORE("stosl", to, once, value);
	else
		MOVE("movl", to, value);
}

static inline void put64(volatile void *dst, uint64_t value)
{
	volatile uint64_t *to = dst;
	size_t once = 1;

	if (t3_string_stores)
		STRING_STORE("stosq", to, once, value);
	else
		MOVE("movq", to, value);
}

/* dst is aligned; src need not be. */
static void put_words(volatile void *dst, const void *src, size_t words)
{
	volatile uint64_t *to = dst;
	const any64 *from = src;
	size_t some, left;

	if (t3_string_stores) {
		for (; words; words -= some) {
			some = words < STRING_WORDS ? words : STRING_WORDS;
			left = some;
			STRING_COPY("movsq", to, from, left);
		}
	}
	for (; words; words--, to++, from++)
		MOVE("movq", to, *from);
}

void t3_store_one(volatile void *dst, uint64_t value, uint32_t width)
{
	if (width == 8)
		put64(dst, value);
	else if (width == 4)
		put32(dst, (uint32_t)value);
	else if (width == 2)
		put16(dst, (uint16_t)value);
	else
		put8(dst, (uint8_t)value);
}

void t3_store32(volatile void *dst, uint32_t value)
{
	if (t3_check_is_on() && t3_check_stores(dst, &value, 4, true, &T3_CALLER("t3_store32()")))
		return;
	put32(dst, value);
}

void t3_store64(volatile void *dst, uint64_t value)
{
	if (t3_check_is_on() && t3_check_stores(dst, &value, 8, true, &T3_CALLER("t3_store64()")))
		return;
	put64(dst, value);
}

/* dst and bytes are even. Whether a narrow store is needed is the address's matter. */
static void store_even(volatile unsigned char *dst, const unsigned char *src, size_t bytes)
{
	const unsigned char *end = src + bytes;
	size_t words;

	if (((uintptr_t)dst & 2) && end - src >= 2) {
		put16(dst, *(const any16 *)src);
		dst += 2;
		src += 2;
	}
	if (((uintptr_t)dst & 4) && end - src >= 4) {
		put32(dst, *(const any32 *)src);
		dst += 4;
		src += 4;
	}
	if (!((uintptr_t)dst & 7)) {
		words = (size_t)(end - src) / 8;
		put_words(dst, src, words);
		dst += words * 8;
		src += words * 8;
	}
	if (end - src >= 4) {
		put32(dst, *(const any32 *)src);
		dst += 4;
		src += 4;
	}
	if (end - src >= 2)
		put16(dst, *(const any16 *)src);
}

/* Any dst and bytes, for segments of bytes: an odd byte at either end is a store alone. */
void t3_store_row(volatile unsigned char *dst, const unsigned char *src, size_t bytes,
		  const struct t3_caller *caller)
{
	size_t first = bytes && ((uintptr_t)dst & 1);

	if (t3_check_is_on() && t3_check_stores(dst, src, bytes, false, caller))
		return;
	if (first)
		put8(dst, *src);
	store_even(dst + first, src + first, (bytes - first) & ~(size_t)1);
	if ((bytes - first) & 1)
		put8(dst + bytes - 1, src[bytes - 1]);
}

int t3_store(volatile void *dst, const void *src, size_t bytes)
{
	if (!dst || !src || ((uintptr_t)dst | bytes) & 1)
		return -EINVAL;
	t3_store_row(dst, src, bytes, &T3_CALLER("t3_store()"));
	return 0;
}

int t3_store_run(const struct t3_view *view, uint32_t row, uint32_t col, const void *src,
		 uint32_t bytes)
{
	const unsigned char *from = src;
	volatile unsigned char *to;
	uint32_t part;

	if (!view || !src || (col | bytes) % t3_dtype_bytes(view->desc.dtype))
		return -EINVAL;
	if (row >= view->desc.rows || col > view->desc.row_bytes ||
	    bytes > view->desc.row_bytes - col)
		return -ERANGE;
	to = view->base + (uint64_t)row * view->desc.pitch + col;
	for (; bytes; bytes -= part, col += part, from += part, to += part) {
		part = t3_tile_room(&view->desc, col);
		part = part < bytes ? part : bytes;
		t3_store_row(to, from, part, &T3_CALLER("t3_store_run()"));
	}
	return 0;
}

static int find_tile(const struct t3_view *view, uint64_t index, const void *src, size_t src_pitch,
		     struct t3_tile *tile)
{
	int ret;

	if (!view || !src)
		return -EINVAL;
	ret = t3_desc_tile(&view->desc, index, tile);
	if (ret)
		return ret;
	return src_pitch < tile->row_bytes ? -EINVAL : 0;
}

int t3_store_rows(const struct t3_view *view, uint64_t index, const void *src, size_t src_pitch,
		  const struct t3_caller *caller)
{
	volatile unsigned char *to;
	const unsigned char *from = src;
	struct t3_tile tile;
	uint32_t i;
	int ret;

	ret = find_tile(view, index, src, src_pitch, &tile);
	if (ret)
		return ret;
	to = view->base + tile.offset;
	for (i = 0; i < tile.rows; i++, to += view->desc.pitch, from += src_pitch)
		t3_store_row(to, from, tile.row_bytes, caller);
	return 0;
}

int t3_store_tile(const struct t3_view *view, uint64_t index, const void *src, size_t src_pitch)
{
	return t3_store_rows(view, index, src, src_pitch, &T3_CALLER("t3_store_tile()"));
}

int t3_stage_rows(const struct t3_view *view, uint64_t index, const void *src, size_t src_pitch)
{
	const unsigned char *from = src;
	struct t3_tile tile;
	unsigned char *to;
	uint32_t i;
	int ret;

	ret = find_tile(view, index, src, src_pitch, &tile);
	if (ret)
		return ret;
	to = (unsigned char *)(uintptr_t)view->base + tile.offset;
	for (i = 0; i < tile.rows; i++, to += view->desc.pitch, from += src_pitch)
		memcpy(to, from, tile.row_bytes);
	return 0;
}

int t3_stage_tile(const struct t3_view *view, uint64_t index, const void *src, size_t src_pitch)
{
	/* Before the copy: what it would spoil may still be read. */
	if (t3_check_is_on() && view)
		t3_check_stage(view, index, __builtin_return_address(0));
	return t3_stage_rows(view, index, src, src_pitch);
}
