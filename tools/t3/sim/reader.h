/* SPDX-License-Identifier: MIT */
/* Reads a record's bytes from a file with any content. */
#ifndef T3_SIM_READER_H
#define T3_SIM_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct reader {
	FILE *file;
	uint64_t position;
	bool ended; /* the file is too short; zeros were returned */
	bool wrong; /* a number is longer than 64 bits */
};

uint8_t reader_byte(struct reader *reader);
/* False: the file has ended. Missing bytes are zero. */
bool reader_bytes(struct reader *reader, void *data, size_t len);
uint64_t reader_number(struct reader *reader);

#endif /* T3_SIM_READER_H */
