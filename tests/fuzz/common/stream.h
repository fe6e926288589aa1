/* SPDX-License-Identifier: MIT */
/*
 * The input as a tape of operations. After its end all bytes are 0, so an input that is cut
 * anywhere still has a meaning.
 */
#ifndef T3_FUZZ_STREAM_H
#define T3_FUZZ_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream {
	const uint8_t *at;
	size_t left;
};

bool stream_more(const struct stream *s);
uint8_t stream_u8(struct stream *s);
uint16_t stream_u16(struct stream *s);
uint32_t stream_u32(struct stream *s);
uint64_t stream_u64(struct stream *s);
/* 1, 2, 4 or 8. */
uint32_t stream_width(struct stream *s);
void stream_bytes(struct stream *s, void *out, size_t size);
/*
 * Change up to three fields of a structure that is right so far. A byte gives the number. Each
 * change has a byte offset (modulo size), a width and bytes.
 */
void stream_patch(struct stream *s, void *structure, size_t size);

#endif
