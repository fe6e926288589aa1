/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "stream.h"

bool stream_more(const struct stream *s)
{
	return s->left != 0;
}

void stream_bytes(struct stream *s, void *out, size_t size)
{
	size_t take = size < s->left ? size : s->left;

	memset(out, 0, size);
	if (take)
		memcpy(out, s->at, take);
	s->at += take;
	s->left -= take;
}

uint8_t stream_u8(struct stream *s)
{
	uint8_t value;

	stream_bytes(s, &value, sizeof(value));
	return value;
}

uint16_t stream_u16(struct stream *s)
{
	uint16_t value;

	stream_bytes(s, &value, sizeof(value));
	return value;
}

uint32_t stream_u32(struct stream *s)
{
	uint32_t value;

	stream_bytes(s, &value, sizeof(value));
	return value;
}

uint64_t stream_u64(struct stream *s)
{
	uint64_t value;

	stream_bytes(s, &value, sizeof(value));
	return value;
}

uint32_t stream_width(struct stream *s)
{
	return 1u << stream_u8(s) % 4;
}

void stream_patch(struct stream *s, void *structure, size_t size)
{
	uint32_t count = stream_u8(s) % 4;

	while (count--) {
		size_t offset = stream_u8(s) % size;
		size_t width = stream_width(s);

		if (width > size - offset)
			width = size - offset;
		stream_bytes(s, (uint8_t *)structure + offset, width);
	}
}
