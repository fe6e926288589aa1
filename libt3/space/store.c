// SPDX-License-Identifier: MIT
/*
 * Stores that the device counts. It sees each one as a width and an address, so
 * each must be a single, naturally aligned move of 8 bytes or less: memcpy() would
 * store bytes twice (overlapping wide moves) or one by one (rep movsb).
 */
#include <string.h>

#include "space/move.h"

/* Loads from the producer's own memory, which may have any alignment. */
typedef uint16_t any16 __attribute__((aligned(1), may_alias));
typedef uint32_t any32 __attribute__((aligned(1), may_alias));
typedef uint64_t any64 __attribute__((aligned(1), may_alias));

#define STRING_WORDS 64u /* bytes of one instruction, which no interrupt can split */

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
		MOVE64(to, *from);
}

void t3_store32(volatile void *dst, uint32_t value)
{
	const struct t3_hooks *hooks = t3_hooks();

	if (hooks && hooks->store(dst, &value, 4, true, &T3_CALLER("t3_store32()")))
		return;
	put32(dst, value);
}

void t3_store64(volatile void *dst, uint64_t value)
{
	const struct t3_hooks *hooks = t3_hooks();

	if (hooks && hooks->store(dst, &value, 8, true, &T3_CALLER("t3_store64()")))
		return;
	put64(dst, value);
}

/* dst and bytes are even. The address decides whether a narrow store is needed. */
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

/*
 * dst and bytes may be odd, for segments of 1-byte elements: an odd byte at either end is a store
 * of its own.
 */
void t3_store_row(volatile unsigned char *dst, const unsigned char *src, size_t bytes,
		  const struct t3_caller *caller)
{
	size_t first = bytes && ((uintptr_t)dst & 1);
	const struct t3_hooks *hooks = t3_hooks();

	if (hooks && hooks->store(dst, src, bytes, false, caller))
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
	const struct t3_hooks *hooks = t3_hooks();

	/* Check before the copy, which could change data that the device still has to read. */
	if (hooks && view)
		hooks->stage(view, index, __builtin_return_address(0));
	return t3_stage_rows(view, index, src, src_pitch);
}
