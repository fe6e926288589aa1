/* SPDX-License-Identifier: MIT */
/* A record's bytes, as they come from a file that nobody vouches for. */
#ifndef T3_SIM_READER_H
#define T3_SIM_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct reader {
	FILE *file;
	uint64_t position;
	bool ended; /* the file is shorter than what was asked for; zeros were given */
	bool wrong; /* a number is longer than 64 bits */
};

uint8_t reader_byte(struct reader *reader);
/* False: ended; what is missing is zero. */
bool reader_bytes(struct reader *reader, void *data, size_t len);
uint64_t reader_number(struct reader *reader);

#endif /* T3_SIM_READER_H */
