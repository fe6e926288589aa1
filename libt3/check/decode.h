/* SPDX-License-Identifier: MIT */
/* Decoder for x86-64 instructions that store to memory, as far as the checker needs them. */
#ifndef T3_CHECK_DECODE_H
#define T3_CHECK_DECODE_H

#include <stdbool.h>
#include <stdint.h>

enum insn_source {
	INSN_REGISTER,
	INSN_HIGH_BYTE, /* ah, ch, dh, bh: reg 0 .. 3 */
	INSN_IMMEDIATE,
	INSN_VECTOR_LOW,  /* of xmm reg */
	INSN_VECTOR_HIGH, /* bytes 8 .. 15 of it */
	INSN_OTHER,	  /* not one store of 1 to 8 bytes: length 0, width if known */
};

#define INSN_NO_REGISTER 0xff
#define INSN_RIP	 0xfe

struct insn {
	uint8_t length;
	uint8_t width;
	uint8_t source; /* enum insn_source */
	uint8_t reg;
	uint8_t shift;		    /* bits of the vector half below the value */
	uint8_t base, index, scale; /* registers and offset of the address */
	bool narrow;		    /* the address has 32 bits */
	bool based;		    /* relative to fs or gs */
	int64_t displacement;
	uint64_t value; /* IMMEDIATE */
	char name[32];
};

#pragma GCC visibility push(hidden)
/* Decode the instruction at a place. Reads no byte after it. */
void t3_insn_decode(const uint8_t *code, struct insn *insn);
#pragma GCC visibility pop

#endif /* T3_CHECK_DECODE_H */
