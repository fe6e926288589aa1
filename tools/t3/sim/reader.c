// SPDX-License-Identifier: MIT
#include <string.h>

#include "sim/reader.h"

bool reader_bytes(struct reader *reader, void *data, size_t len)
{
	size_t got = reader->ended ? 0 : fread(data, 1, len, reader->file);

	reader->position += got;
	if (got == len)
		return true;
	memset((uint8_t *)data + got, 0, len - got);
	reader->ended = true;
	return false;
}

uint8_t reader_byte(struct reader *reader)
{
	uint8_t byte;

	reader_bytes(reader, &byte, 1);
	return byte;
}

uint64_t reader_number(struct reader *reader)
{
	uint64_t value = 0;
	uint32_t shift;
	uint8_t byte;

	for (shift = 0; shift < 64; shift += 7) {
		byte = reader_byte(reader);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	reader->wrong = true;
	return value;
}
