/* SPDX-License-Identifier: MIT */
/*
 * Writes the seed corpus: `make fuzz-corpus`. Each seed is a short life of devices in a target's
 * operations (ops.h). libFuzzer makes the other inputs from the seeds.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ops.h"
#include "t3_hw.h"

/* First byte of an input: full fabric, three devices, tracker size. */
#define SHAPE_FULL	1u
#define SHAPE_THREE	2u
#define SHAPE_TRACKER_4 4u
#define SHAPE_TRACKER_8 8u
#define SHAPE_USUAL	12u

static const char *root;
static uint8_t tape[4096];
static size_t used;

static void put(uint64_t value, size_t bytes)
{
	if (bytes > sizeof(tape) - used)
		abort();
	memcpy(tape + used, &value, bytes);
	used += bytes;
}

static void bytes(size_t count, const uint8_t *values)
{
	while (count--)
		put(*values++, 1);
}

/* clang-format off */
#define PUT(...) bytes(sizeof((const uint8_t[]){ __VA_ARGS__ }), (const uint8_t[]){ __VA_ARGS__ })
/* clang-format on */

static void save(const char *target, const char *name)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, target);
	if (mkdir(path, 0777) && errno != EEXIST) {
		perror(path);
		exit(1);
	}
	snprintf(path, sizeof(path), "%s/%s/%s", root, target, name);
	file = fopen(path, "wb");
	if (!file || fwrite(tape, 1, used, file) != used || fclose(file)) {
		perror(path);
		exit(1);
	}
	used = 0;
}

static void save_numbered(const char *target, const char *what, uint32_t number)
{
	char name[64];

	snprintf(name, sizeof(name), "%s-%u", what, number);
	save(target, name);
}

/* --------------------------------------------------------------- fuzz_regs */

static void reg(uint32_t op, uint32_t rank, uint32_t index, uint64_t value)
{
	PUT((uint8_t)op, (uint8_t)rank, (uint8_t)index, 0, 2); /* width 4 */
	if (op == OP_REG_WRITE)
		put(value, 8);
}

static void raw(uint32_t op, uint32_t rank, uint32_t offset, uint32_t width, uint64_t value)
{
	PUT((uint8_t)op, (uint8_t)rank);
	put(offset, 4);
	put(width, 1);
	if (op == OP_RAW_WRITE)
		put(value, 8);
}

static void store(uint32_t rank, uint32_t space, uint32_t offset, uint32_t width, uint64_t value)
{
	PUT(OP_STORE, (uint8_t)rank, (uint8_t)space);
	put(offset, 2);
	put(width, 1);
	put(value, 8);
}

static void fill(uint32_t rank, uint32_t space, uint32_t segment)
{
	PUT(OP_FILL, (uint8_t)rank, (uint8_t)space, (uint8_t)segment);
	put(rank + 1, 4);
}

static void tile(uint32_t rank, uint32_t space, uint32_t segment, uint32_t slot, uint32_t number)
{
	PUT(OP_TILE, (uint8_t)rank, (uint8_t)space);
	put(segment | slot << 3 | number << 5, 2);
}

static void every_register(void)
{
	uint32_t i;

	PUT(SHAPE_USUAL);
	for (i = 0; i < 16; i++) {
		reg(OP_REG_READ, 0, i, 0);
		reg(OP_REG_WRITE, 1, i, 0xffffffff);
		reg(OP_REG_READ, 1, i, 0);
	}
	save("fuzz_regs", "registers");
	PUT(SHAPE_FULL | SHAPE_THREE);
	for (i = 0; i < 4; i++) {
		raw(OP_RAW_READ, i, 0x5fc + i, i, 0);
		raw(OP_RAW_WRITE, i, 0x10000 * i, i, i);
		raw(OP_RAW_WRITE, i, T3_DOORBELL_BASE + 8 * i, i, i);
		raw(OP_RAW_READ, i, T3_BAR_REGS_SIZE - 8, i, 0);
	}
	save("fuzz_regs", "raw");
}

/* Rank 1's import is claimed by rank 0: with its key, with another one, and after it was revoked. */
static void keys(void)
{
	uint32_t i;

	for (i = 0; i < 4; i++) {
		PUT(i & 1 ? SHAPE_FULL | SHAPE_THREE : SHAPE_USUAL, OP_BUDGET, 0, 0);
		PUT(OP_BUILD, 0, 0, 0x80, OP_ADMIN, 1, T3_CMD_KEY_SET, 0, 1, 0);
		PUT(OP_ADMIN, 0, T3_CMD_ROUTE_CLAIM, 0, 1);
		if (i & 2)
			PUT(1, 32, 0, 0xff); /* the key's first byte */
		else
			PUT(0);
		PUT(OP_EVENTS, 0, 20, OP_ADMIN, 0, T3_CMD_ROUTE_QUERY, 0, 1, 0);
		PUT(OP_ADMIN, 1, T3_CMD_IMPORT_CLEAR, 0, 1, 0, OP_EVENTS, 0, 20);
		PUT(OP_ADMIN, 0, T3_CMD_ROUTE_CLAIM, 0, 1, 0, OP_EVENTS, 0, 200);
		PUT(OP_ADMIN, 0, T3_CMD_ROUTE_QUERY, 0, 1, 0);
		save_numbered("fuzz_regs", "keys", i);
	}
}

static void commands(void)
{
	uint32_t opcode, i;

	PUT(SHAPE_USUAL | SHAPE_THREE);
	for (opcode = 0; opcode <= T3_CMD_SWITCH_QUERY; opcode++)
		for (i = 0; i < 2; i++) {
			PUT(OP_ADMIN, (uint8_t)i, (uint8_t)opcode, 1, 0);
			if (opcode == T3_CMD_SEG_MAP)
				put(i, 1); /* kind */
			put(0, 1);	   /* no patch */
		}
	save("fuzz_regs", "commands");
	PUT(SHAPE_USUAL);
	for (i = 0; i < 24; i++) { /* one field of SEG_MAP after the other */
		PUT(OP_ADMIN, 0, T3_CMD_SPACE_CREATE, 0, 0, 0);
		PUT(OP_ADMIN, 0, T3_CMD_SEG_MAP, 0, 0, 0, 1, (uint8_t)(3 * i), 0, 0xff);
	}
	save("fuzz_regs", "command-fields");
}

/* The effect of each way of producing on all three kinds of segments. */
static void collectives(void)
{
	uint32_t shape, rank, segment, t;

	for (shape = 0; shape < 16; shape += 3) {
		PUT((uint8_t)shape, OP_BUILD, 0, 0, 0x80);
		for (rank = 0; rank < 2 + (shape >> 1 & 1); rank++)
			for (segment = 0; segment < 3; segment++)
				if (shape & 4)
					for (t = 0; t < 4; t++)
						tile(rank, 0, segment, t & 1, t);
				else
					fill(rank, 0, segment);
		for (rank = 0; rank < 3; rank++)
			PUT(OP_RELEASE, (uint8_t)rank, 0, 0);
		PUT(OP_ARM_ALL, 0, 0);
		save_numbered("fuzz_regs", "collective", shape);
	}
}

static void interruptions(void)
{
	/* clang-format off */
	static const struct {
		const char *name;
		uint8_t bytes[6];
	} what[] = {
		{ "reset-in-flight", { OP_RESET, 1 } },
		{ "replug-in-flight", { OP_REPLUG, 1, 3 } },
		{ "dma-fails", { OP_DMA_FAILS, 0, 2 } },
		{ "packet-lost", { OP_INJECT, 0, T3_INJECT_DROP, 1, 1, 0 } },
		{ "link-down", { OP_INJECT, 0, T3_INJECT_LINK_DOWN, 1, 0, 0 } },
		{ "space-reset", { OP_ADMIN, 1, T3_CMD_SPACE_RESET, 0, 0, 0 } },
		{ "space-disable", { OP_ADMIN, 1, T3_CMD_SPACE_DISABLE, 0, 0, 0 } },
	};
	static const uint8_t sizes[] = { 2, 3, 3, 6, 6, 6, 6 };
	/* clang-format on */
	size_t i;

	for (i = 0; i < sizeof(what) / sizeof(what[0]); i++) {
		PUT(SHAPE_TRACKER_8 | SHAPE_THREE, OP_BUILD, 0, 0, 0x80, OP_BUDGET, 0, 0);
		fill(0, 0, 2);
		fill(0, 0, 1);
		PUT(OP_EVENTS, 0, 5);
		bytes(sizes[i], what[i].bytes);
		fill(1, 0, 1);
		PUT(OP_EVENTS, 0, 255, OP_BUILD, 0, 0, 0x80, OP_BUDGET, 0, 255);
		save("fuzz_regs", what[i].name);
	}
}

static void mistakes(void)
{
	uint32_t width;

	PUT(SHAPE_TRACKER_4, OP_BUILD, 0, 0, 0x80, OP_BUILD, 0, 1, 0x82);
	for (width = 0; width < 4; width++) {
		store(0, 0, 0x3f8 + width, width, ~0ull);
		store(1, 1, 0x400 + 2 * width, width, 1);
		PUT(OP_LOAD, 0);
		put(0x400 * width, 4);
		put(width, 1);
		PUT(OP_DOORBELL_READ, 0, 1);
		put(0x18, 2);
		put(width, 1);
		PUT(OP_RAW_STORE, 1);
		put(0xff8 << width, 8);
		put(width, 1);
		put(width, 8);
	}
	PUT(OP_SCRIBBLE_RECORD, 0, 0, 0, 1, 4, 2, 1, 2, 3, 4);
	store(0, 0, 0, 2, 1);
	save("fuzz_regs", "mistakes");
	PUT(SHAPE_USUAL | SHAPE_THREE, OP_HOSTILE, 0, 31, 1, 0, OP_HOSTILE, 0, 31, 2, 0, OP_HOSTILE,
	    0, 31, 3, 0);
	save("fuzz_regs", "mad-driver");
}

/* ------------------------------------------------------------- fuzz_packet */

/* To device `rank` and space 0, not changed. */
static void update(uint32_t rank, uint32_t segment, uint32_t row, uint32_t col)
{
	put(OP_PKT_UPDATE | rank << 4, 1);
	put(segment | row << 2 | (col / 4) << 4 | 1u << 6, 1); /* 8 bytes */
	put(0, 1);
	put(row + col, 4);
}

static void updates(void)
{
	uint32_t shape, row, segment;

	for (shape = 0; shape < 16; shape += 5) {
		PUT((uint8_t)shape, OP_PKT_ARM, OP_PKT_EVENTS, 0x80);
		for (segment = 0; segment < 3; segment++)
			for (row = 0; row < 4; row++) {
				update(0, segment, row, 0);
				update(1, segment, row, 8);
			}
		PUT(OP_PKT_RELEASE, OP_PKT_ARM);
		save_numbered("fuzz_packet", "updates", shape);
	}
}

/* One field after the other is wrong, in each state of the space. */
static void wrong_fields(void)
{
	static const uint8_t before[] = { OP_PKT_EVENTS, OP_PKT_ARM, OP_PKT_FILL };
	uint32_t state, at;

	for (state = 0; state < 3; state++) {
		PUT(SHAPE_USUAL);
		if (before[state] == OP_PKT_FILL)
			PUT(OP_PKT_FILL, 0, 1, 0, 0, 0);
		else
			PUT(before[state]);
		for (at = 0; at < sizeof(struct t3_packet); at += 2)
			PUT(OP_PKT_UPDATE, 0x40, 1, (uint8_t)at, 1, 0xff, 0xff, 1, 2, 3, 4);
		save_numbered("fuzz_packet", "fields", state);
	}
}

static void control_packets(void)
{
	uint32_t type, arg;

	PUT(SHAPE_THREE | SHAPE_USUAL);
	for (type = 0; type < 3; type++)
		for (arg = 0; arg < 10; arg++)
			PUT((uint8_t)(OP_PKT_CONTROL | arg % 3 << 4), (uint8_t)type, (uint8_t)arg,
			    0, 0, 0, 0, 0, OP_PKT_ARM);
	save("fuzz_packet", "control");
	PUT(SHAPE_FULL);
	for (arg = 0; arg < 16; arg++) {
		PUT(OP_PKT_COMMAND, (uint8_t)arg, OP_PKT_ARM, OP_PKT_EVENTS, 3);
		update(0, 0, 0, 0);
		PUT(OP_PKT_CONTROL, 0, 0, 0, 0, 0, 0, 0);
	}
	save("fuzz_packet", "life");
	PUT(SHAPE_USUAL, OP_PKT_RAW);
	for (arg = 0; arg < 68; arg++)
		put(arg, 1);
	save("fuzz_packet", "raw");
}

/* -------------------------------------------------------------- fuzz_frame */

/* A right greeting, and rank 0 and 1 at work. */
static void begin_frames(void)
{
	PUT(SHAPE_USUAL, OP_FRM_GREET, 0, OP_FRM_TIME, 63);
}

/* The same with a switch: each type, to its part here and from the hostile one. */
static void part_frames(void)
{
	uint32_t i;

	for (i = 0; i < 4; i++) {
		PUT(0x80, OP_FRM_GREET, 0, OP_FRM_TIME, 63, OP_FRM_ROW, 0, OP_FRM_ROW, 1);
		for (uint32_t type = 0; type < 6; type++)
			PUT(OP_FRM_PART, (uint8_t)(i | type << 2), (uint8_t)(type + i), 0,
			    OP_FRM_TIME, 63);
		for (uint32_t status = 0; status < 16; status++)
			PUT(OP_FRM_PART_RESPONSE, (uint8_t)(i | status << 4), 0, OP_FRM_TIME, 0xff);
		PUT(OP_FRM_PART_LOSS, (uint8_t)i, 0, OP_FRM_PART_LOSS, (uint8_t)(i | 4), 0,
		    OP_FRM_TIME, 63, OP_FRM_GREET, 0);
		save_numbered("fuzz_frame", "part", i);
	}
	for (i = 0; i < 72; i += 8) { /* one field after the other is wrong */
		PUT(0x80, OP_FRM_GREET, 0, OP_FRM_TIME, 63);
		for (uint32_t k = 0; k < 8; k += 2)
			PUT(OP_FRM_PART, (uint8_t)(k & 3), 0, 1, (uint8_t)(i + k), 1, 0xff, 0xff,
			    OP_FRM_TIME, 63, OP_FRM_GREET, 0);
		save_numbered("fuzz_frame", "part-field", i / 8);
	}
}

static void frames(void)
{
	uint32_t i;

	begin_frames();
	for (i = 0; i < 64; i++) /* each type, link, segment and state */
		PUT(OP_FRM_PACKET, (uint8_t)(i * 4), 0, OP_FRM_TIME, 63);
	save("fuzz_frame", "packets");
	begin_frames();
	PUT(OP_FRM_PRODUCE, 0, OP_FRM_PRODUCE, 1, OP_FRM_TIME, 63);
	for (i = 0; i < 13; i++)
		PUT(OP_FRM_RESPONSE, (uint8_t)(i << 4 | (i & 1)), 0, OP_FRM_TIME, 63);
	save("fuzz_frame", "responses");
	begin_frames();
	for (i = 0; i < 4; i++)
		PUT(OP_FRM_LOSS, (uint8_t)i, 0, OP_FRM_TIME, 63, OP_FRM_ARM, (uint8_t)i, 0);
	save("fuzz_frame", "losses");
	begin_frames();
	for (i = 0; i < 80; i++)
		PUT(OP_FRM_TIME, 0xff);
	PUT(OP_FRM_GREET, 0, OP_FRM_PACKET, 0, 0);
	save("fuzz_frame", "silence");
	for (i = 0; i < 64; i += 3) {
		PUT(SHAPE_USUAL, OP_FRM_GREET, 1, (uint8_t)i, 0, 0xff);
		save_numbered("fuzz_frame", "greeting", i);
	}
	begin_frames();
	for (i = 0; i < 72; i += 2) /* one field after the other is wrong */
		PUT(OP_FRM_PACKET, 3, 1, (uint8_t)i, 1, 0xff, 0xff, OP_FRM_GREET, 0);
	save("fuzz_frame", "fields");
	PUT(SHAPE_USUAL, OP_FRM_GREET, 0, OP_FRM_RAW, 7, 5, 0, 0, 0, 0, 0, 0, 0, OP_FRM_RAW, 3, 2,
	    0, 0, 0, OP_FRM_RAW, 0, 64);
	save("fuzz_frame", "raw");
	for (i = 0; i < 8; i++) { /* each fault of a connection, while packets are sent */
		begin_frames();
		PUT(OP_FRM_FAULT, (uint8_t)i, 0xff, OP_FRM_PRODUCE, 0, OP_FRM_TIME, 63,
		    OP_FRM_PRODUCE, 1, OP_FRM_TIME, 63, OP_FRM_GREET, 0, OP_FRM_TIME, 63,
		    OP_FRM_FAULT, 128 + 20, 'n', 'o', 'd', 'e', '-', 'c', 'u', 't', ' ', 'n', 'o',
		    'd', 'e', '=', '1', ';', ';', 'm', 's', 0);
		save_numbered("fuzz_frame", "fault", i);
	}
	part_frames();
}

/* --------------------------------------------------------- fuzz_descriptor */

static void descriptor(uint32_t queue, uint32_t opcode, uint32_t kinds)
{
	PUT((uint8_t)(OP_DESC_PUT | queue << 6), (uint8_t)(opcode | 8));
	if (opcode == T3_DESC_WAIT || opcode == T3_DESC_SIGNAL)
		PUT((uint8_t)kinds, 1); /* fence, value */
	if (opcode < T3_DESC_COPY || opcode > T3_DESC_UPDATE)
		return;
	PUT((uint8_t)kinds, 1, 3, 0, 4); /* 2 rows of 16 bytes */
	put(0x2000 + opcode, 2);
	put(kinds >> 1 == T3_LOC_SPACE ? 0 : 0x3000 + opcode, 2);
}

static void descriptors(void)
{
	uint32_t opcode, kinds;

	for (opcode = T3_DESC_NOP; opcode <= T3_DESC_SIGNAL; opcode++) {
		PUT(SHAPE_USUAL, OP_DESC_CREATE, 0, 0, OP_DESC_BUILD, 0x80);
		for (kinds = 0; kinds < 6; kinds++)
			descriptor(0, opcode, kinds);
		save_numbered("fuzz_descriptor", "opcode", opcode);
	}
	for (kinds = 0; kinds < 256; kinds += 20) { /* GEMMs of each type to each place */
		if (!kinds)
			PUT(SHAPE_USUAL, OP_DESC_CREATE, 0, 0, OP_DESC_BUILD, 0x80);
		PUT(OP_DESC_PUT, T3_DESC_GEMM | 8, (uint8_t)kinds, 15, 20);
		put(kinds & 0x80 ? 0 : 0x3000, 2);
		put(0x2000, 2);
		put(0x2100, 2);
		if (kinds % 60 == 0)
			PUT(OP_DESC_COMMAND, 1, 0);
	}
	save("fuzz_descriptor", "gemm");
	for (kinds = 0; kinds < T3_TIMED_PROGRAMS; kinds++) {
		PUT(SHAPE_USUAL, OP_DESC_CREATE, 0, 0, OP_DESC_BUILD, 0x80);
		PUT(OP_DESC_PUT, T3_DESC_TIMED | 8, (uint8_t)(kinds | 0x80), OP_DESC_EVENTS, 0x90,
		    OP_DESC_PUT, T3_DESC_TIMED | 8, (uint8_t)(kinds | 0x90), OP_DESC_EVENTS, 0x90,
		    OP_DESC_PUT, T3_DESC_TIMED | 8, (uint8_t)kinds, OP_DESC_COMMAND, 1, 0);
		save_numbered("fuzz_descriptor", "timed", kinds);
	}
	for (kinds = 0; kinds < 32; kinds += 3) { /* with the other collectives, and without */
		PUT(SHAPE_USUAL, OP_DESC_CREATE, 0, 0, OP_DESC_BUILD, 0x80);
		for (opcode = kinds; opcode < kinds + 3; opcode++) {
			PUT(OP_DESC_PUT, T3_DESC_TIMED | 8, (uint8_t)(opcode | 0x80));
			if (opcode >> 3 == T3_TIMED_COLLECTIVE_ALL_TO_ALL)
				PUT(0x85); /* of experts */
			PUT(OP_DESC_EVENTS, 0x90, OP_DESC_COMMAND, 1, 0);
		}
		save_numbered("fuzz_descriptor", "timed-collectives", kinds / 3);
	}
	for (kinds = 0; kinds < 256;
	     kinds += 16) { /* experts in both ways, host and device memory */
		PUT(SHAPE_USUAL, OP_DESC_CREATE, 0, 0, OP_DESC_BUILD, 0x80);
		for (opcode = kinds; opcode < kinds + 3; opcode++)
			PUT(OP_DESC_PUT, T3_DESC_TIMED | 8, 0x98, (uint8_t)(opcode + kinds / 4),
			    OP_DESC_EVENTS, 0x90);
		PUT(OP_DESC_COMMAND, 1, 0);
		save_numbered("fuzz_descriptor", "timed-experts", kinds / 16);
	}
	PUT(SHAPE_TRACKER_4, OP_DESC_CREATE, 0, 0, OP_DESC_CREATE | 1 << 6, 3, 0, OP_DESC_EVENTS,
	    0);
	descriptor(0, T3_DESC_WAIT, 2);
	descriptor(0, T3_DESC_COPY, 0);
	descriptor(1, T3_DESC_FILL, 2);
	descriptor(1, T3_DESC_SIGNAL, 2);
	PUT(OP_DESC_EVENTS, 3, OP_DESC_COMMAND, 1, 0, OP_DESC_FENCE, 2, 5, 0, OP_DESC_EVENTS, 0x90);
	save("fuzz_descriptor", "two-queues");
	PUT(SHAPE_USUAL | SHAPE_THREE, OP_DESC_CREATE, 0, 0, OP_DESC_BUILD, 0x80);
	for (kinds = 0; kinds < 16; kinds++) {
		PUT(OP_DESC_HOST, (uint8_t)(kinds & 3));
		descriptor(0, T3_DESC_COPY, kinds & 3);
		PUT(OP_DESC_COMMAND, 1, 0);
	}
	save("fuzz_descriptor", "host-memory-fails");
	PUT(SHAPE_USUAL, OP_DESC_CREATE, 0, 0, OP_DESC_TAIL, 17, OP_DESC_COMMAND, 1, 0,
	    OP_DESC_TAIL, 16, OP_DESC_TAIL, 255, 0xff, 0xff, 0xff, 0xff, OP_DESC_COMMAND, 0, 0);
	save("fuzz_descriptor", "overrun");
	for (kinds = 0; kinds < 64; kinds += 4) { /* one field after the other is wrong */
		if (!kinds)
			PUT(SHAPE_USUAL);
		PUT(OP_DESC_CREATE, 0, 0, OP_DESC_PUT, 0x88 | T3_DESC_COPY, 1, 1, 3, 0, 4, 0, 32, 0,
		    48, 1, (uint8_t)kinds, 2, 0xff, 0, 0xff, 0, OP_DESC_COMMAND, 1, 0);
	}
	save("fuzz_descriptor", "fields");
}

/* -------------------------------------------------------------- fuzz_state */

/* Bring devices into a state with REMOTE, DMA and LOCAL tiles, a queue, and packets in flight. */
static void on_the_way(uint32_t shape, uint32_t events)
{
	PUT((uint8_t)shape, OP_STATE_BUILD, 0x80, OP_STATE_EVENTS, 0, OP_STATE_QUEUE, 0);
	PUT(OP_STATE_FILL, 4, OP_STATE_TILE, 0x02, OP_STATE_TILE | 1 << 4, 0x14, OP_STATE_QUEUE, 9);
	PUT(OP_STATE_EVENTS, (uint8_t)events);
}

static void states(void)
{
	uint32_t i, at;

	for (i = 0; i < 16; i += 3) {
		on_the_way(i, i);
		PUT(OP_STATE_SAVE, OP_STATE_EVENTS, 2, OP_STATE_LOAD, (uint8_t)i, OP_STATE_FILL, 4,
		    OP_STATE_EVENTS, 0xff, OP_STATE_SPACE, (uint8_t)i);
		save_numbered("fuzz_state", "on-the-way", i);
	}
	for (i = 0; i < 16; i++) { /* words of all parts, a few in each input */
		on_the_way(SHAPE_USUAL, i);
		for (at = i; at < 48; at += 12) {
			PUT(OP_STATE_SAVE, OP_STATE_CHANGE, (uint8_t)(at % 3));
			put(at * (i % 4 + 1) * 5, 2);
			put(2, 1);
			put(i & 1 ? 1u << at % 32 : ~0ull, 8);
			PUT(OP_STATE_LOAD, (uint8_t)at);
		}
		save_numbered("fuzz_state", "words", i);
	}
	for (i = 0; i < 24; i += 4) {
		on_the_way(SHAPE_USUAL, 8);
		for (at = i; at < i + 4; at++) {
			PUT(OP_STATE_SAVE, OP_STATE_CUT, (uint8_t)(at % 3));
			put(at * 7, 2);
			PUT((uint8_t)(at & 3), OP_STATE_LOAD, (uint8_t)at);
		}
		save_numbered("fuzz_state", "cut", i);
	}
	on_the_way(SHAPE_USUAL, 8);
	PUT(OP_STATE_SAVE, OP_STATE_EXCHANGE, 0, 1, OP_STATE_LOAD, 0);
	save("fuzz_state", "exchange");
}

/* ------------------------------------------------------------- fuzz_replay */

static void replays(void)
{
	uint32_t op, at;

	PUT(0);
	save("fuzz_replay", "unchanged");
	PUT(140);
	save("fuzz_replay", "stopped");
	for (op = 0; op < OP_REPLAY_RAW; op++) {
		PUT(0);
		for (at = 3; at < 8; at++) {
			PUT((uint8_t)op);
			put(at * (op + 2), 2);
			PUT((uint8_t)(at % 4));
			put(at * 9, 2);
			PUT(1, 1, 0xff);
		}
		save_numbered("fuzz_replay", "edits", op);
	}
	PUT(0, OP_REPLAY_RAW, 'T', '3');
	save("fuzz_replay", "raw");
}

/* --------------------------------------------------------------- fuzz_text */

/* As fuzz_text.c has them. */
enum { RANK, PEER, QUEUE, NTH, COUNT, ADDRESS, VALUE, SEED, MS, NODE, CUT, STALL, NO_KEY };

static void texts(void)
{
	static const uint8_t sets[][4] = {
		{ RANK, PEER, NO_KEY },
		{ PEER, NTH, NO_KEY },
		{ RANK, PEER, NTH, COUNT },
		{ ADDRESS, VALUE, NO_KEY },
		{ RANK, QUEUE, NO_KEY },
		{ COUNT, NO_KEY },
		{ RANK, ADDRESS, VALUE, NO_KEY },
		{ QUEUE, NO_KEY },
		{ RANK, PEER, VALUE, NTH },
		{ PEER, VALUE, NO_KEY },
		{ RANK, PEER, NTH, SEED },
		{ NO_KEY },
		{ NODE, MS, NO_KEY },
		{ NODE, SEED, CUT, STALL },
	};
	uint32_t kind, key, i;

	for (kind = 0; kind < 24; kind++) { /* each with all keys, and then by the guest */
		PUT(SHAPE_USUAL, OP_TEXT_WORK, 0x15);
		for (key = 0; key < sizeof(sets) / sizeof(sets[0]); key++) {
			PUT(OP_TEXT_KIND, (uint8_t)kind);
			for (i = 0; i < 4 && sets[key][i] != NO_KEY; i++) {
				PUT(OP_TEXT_KEY, sets[key][i], OP_TEXT_NUMBER, (uint8_t)i);
				put(0, 7);
				PUT((uint8_t)(key & 1 ? 0x80 : 0));
			}
			PUT(key & 1 ? OP_TEXT_GUEST : OP_TEXT_HOST, 200, OP_TEXT_WORK, 9);
		}
		PUT(OP_TEXT_KIND, (uint8_t)kind, OP_TEXT_SEPARATOR, 1, OP_TEXT_GUEST, 0,
		    OP_TEXT_WORK | 1 << 4, 77);
		save_numbered("fuzz_text", "kind", kind);
	}
	PUT(SHAPE_USUAL, OP_TEXT_BYTES, 9, 'd', 'r', 'o', 'p', ' ', 0xff, '=', '1', ';', 0,
	    OP_TEXT_HOST, 0);
	save("fuzz_text", "noise");
}

/* -------------------------------------------------- fuzz_lanes, fuzz_order */

/* Trackers of both hosts, type and op, then what is usual: 4 x 8 elements in ragged tiles. */
static void pair(uint32_t trackers, uint32_t type)
{
	PUT((uint8_t)trackers, (uint8_t)type, 3, 7, 1, 1, 2, 2, 0x15);
}

static void store_run(uint32_t op, uint32_t rank, uint32_t lane, uint32_t first, uint32_t count)
{
	put(op | rank << 4 | lane << 6, 1);
	put(first, 2); /* segment: first % 3 */
	put(count, 1);
	put(3, 4);
}

static void lane_stores(uint32_t trackers, uint32_t type, bool one_lane)
{
	uint32_t rank, segment;

	pair(trackers, type);
	PUT(one_lane, OP_LANE_ARM, 0);
	for (segment = 0; segment < 3; segment++)
		for (rank = 0; rank < 3; rank++)
			store_run(OP_LANE_RUN, rank, segment, segment, 40);
	PUT(OP_LANE_CHECK, OP_LANE_TILE, 0, 1, OP_LANE_LOAD, 8, 0, 3);
	PUT(OP_LANE_RESET, OP_LANE_CHECK, OP_LANE_RELEASE, OP_LANE_ARM, 0);
	store_run(OP_LANE_RUN, 0, 1, 0, 100);
}

static void lanes(void)
{
	static const uint8_t trackers[] = { 0, 5, 10, 15, 1, 14 }; /* 4 are equal pairs */
	uint32_t type, i;

	for (type = 0; type < 6; type++)
		for (i = 0; i < sizeof(trackers); i++) {
			lane_stores(trackers[i], type | (type + i) % 4 << 3 | (i & 1) << 6, i & 1);
			save_numbered("fuzz_lanes", "stores", type * 6 + i);
		}
	pair(0, 0); /* events that wait, and a segment of another shape */
	PUT(0, OP_LANE_ARM, 0, OP_LANE_EVENTS, 0x80);
	store_run(OP_LANE_RUN, 0, 1, 1, 60);
	store_run(OP_LANE_RUN, 1, 2, 2, 60);
	PUT(OP_LANE_EVENTS, 0x85, OP_LANE_CHECK, OP_LANE_EVENTS, 0, OP_LANE_SPACE, 0, OP_LANE_MAP,
	    0, 1, 48, 0, 2, OP_LANE_ARM, 0);
	store_run(OP_LANE_RUN, 0, 1, 0, 60);
	save("fuzz_lanes", "held");
	pair(0, 0x40); /* rank 1 is ARMING, and has an update of rank 0's */
	PUT(0, OP_LANE_ARM, 0x80, OP_LANE_ARM | 1 << 4, 0x80);
	store_run(OP_LANE_RUN, 0, 0, 2, 2);
	store_run(OP_LANE_RUN, 1, 0, 1, 2);
	save("fuzz_lanes", "arming");
	for (i = 0; i < 4; i++) { /* wrong widths and places */
		pair(0, i);
		PUT(0, OP_LANE_ARM, 0);
		store_run(OP_LANE_RUN, 0, 0, 0, 3);
		PUT(OP_LANE_STORE);
		put(0x3fe + 2 * i, 2);
		put(0x0c | i, 1);
		put(1, 8);
		save_numbered("fuzz_lanes", "wrong", i);
	}
}

static void orders(void)
{
	static const uint8_t types[] = { 0,	   1 | 8,	  2 | 8,	3 | 8,
					 3 | 0x20, 1 | 16 | 0x40, 2 | 24 | 0x40 };
	uint32_t i, rank, segment;

	for (i = 0; i < 3 * sizeof(types); i++) {
		pair(i / sizeof(types) * 7, types[i % sizeof(types)]);
		put(i, 4); /* the second order */
		for (rank = 0; rank < 3; rank++)
			for (segment = 0; segment < 3; segment++) {
				store_run(OP_ORDER_RUN, rank, 0, segment + (i & 1 ? 0x8001 : 0),
					  20);
				PUT((uint8_t)(OP_ORDER_TILE | rank << 4), (uint8_t)(segment | 8),
				    1);
			}
		PUT(OP_ORDER_EPOCH);
		store_run(OP_ORDER_RUN, 1, 0, 2, 9);
		PUT(OP_ORDER_TILE, 1, 2, OP_ORDER_STORE, 5, 0, 7, 0, 0, 0);
		save_numbered("fuzz_order", "work", i);
	}
}

/* ------------------------------------------------------------- fuzz_bursts */

/* Rows, elements of a row, what the pitch has more, and a tile's rows and elements; each one less. */
static void geometry(uint32_t rows, uint32_t row, uint32_t gap, uint32_t tile_rows,
		     uint32_t tile_row)
{
	put(rows - 1, 2);
	put(row - 1, 2);
	put(gap, 2);
	put(tile_rows - 1, 2);
	put(tile_row - 1, 2);
}

/* Rows of half a packet, of a packet and a half, of some elements; in whole tiles, or in parts. */
static void bursts(void)
{
	static const uint32_t shapes[][4] = { { 64, 128, 64, 128 },
					      { 32, 512, 8, 128 },
					      { 8, 1024, 8, 384 },
					      { 64, 31, 17, 16 },
					      { 1, 8192, 1, 8192 } };
	uint32_t i, what;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		for (what = 0; what < 8; what++) {
			const uint32_t *s = shapes[i], *t = shapes[(i + what) % 5];

			PUT((uint8_t)(what & 3 ? 0x10 | (what & 3) : what << 3));
			geometry(s[0], s[1], 0, s[2], s[3]);
			if (!(what & 3)) {
				geometry(t[0], t[1], what, t[2], t[3]);
				put(what & 4 ? 1 : 0, 2);
				put(0, 2);
			}
			PUT((uint8_t)(what == 5 ? 6 : 0), 100, 0);
			PUT(OP_BURSTS_TILE, 0, 0, OP_BURSTS_EVENTS, (uint8_t)(3 + what));
			PUT(OP_BURSTS_TILE, 1, 3, OP_BURSTS_EVENTS, 5, OP_BURSTS_TILE, 0, 255);
			save_numbered("fuzz_bursts", "shape", i * 8 + what);
		}
}

/* --------------------------------------------------------------- fuzz_bits */

static void bits(void)
{
	uint32_t type, op, what;

	for (type = 0; type < T3_DTYPE_COUNT; type++)
		for (op = 0; op + 1 < T3_OP_COUNT; op++) {
			what = type + op * T3_DTYPE_COUNT;
			PUT((uint8_t)what, OP_BITS_SPECIAL, 0x87, 1, 2, 3, 4, OP_BITS_SPECIAL, 3,
			    0x85, 0x87, 9, 10, OP_BITS_APPLY, (uint8_t)what, 1, 2, 4, 1);
			PUT(OP_BITS_RANDOM, 0x80, 1, 0, 0, 0, OP_BITS_RANDOM, 0, 2, 0, 0, 0);
			PUT(OP_BITS_APPLY, (uint8_t)what, 0, 0, 0, 2, OP_BITS_NEAR, 1, 0, 0, 0x80);
			PUT(OP_BITS_APPLY, (uint8_t)what, 3, 6, 100, 0);
			PUT(OP_BITS_OVERLAP, (uint8_t)what, 8, 4, 200, 0, OP_BITS_CONVERT, 15,
			    (uint8_t)what, OP_BITS_RAW, 0x81, 7, 1, 2, 3, 4, 5, 6, 7, 8);
			save_numbered("fuzz_bits", "type", what);
		}
}

/* -------------------------------------------------------------- fuzz_group */

/* First byte: ranks - 3, and which number of entries; then whether it is ORDERED, and armed. */
#define GROUP_SHAPE(ranks, entries) ((uint8_t)(((ranks)-2) | ((entries) << 2)))
#define GROUP_ORDERED		    1u
#define GROUP_ARMED		    2u
#define OF_RANK(rank, op)	    ((uint8_t)((op) | (rank) << 5))

/* All ranks store all rows, rank 0 also to its copies; then RELEASE and ARM. */
static void group_epoch(uint32_t ranks, uint8_t budget)
{
	uint32_t rank, row;

	PUT(OP_GRP_EVENTS, budget);
	for (row = 0; row < 4; row++)
		for (rank = 0; rank < ranks; rank++)
			PUT(OF_RANK(rank, OP_GRP_ROW), (uint8_t)(row << 1));
	for (row = 0; row < 4; row++)
		PUT(OP_GRP_ROW, (uint8_t)(row << 1 | 1));
	PUT(OP_GRP_EVENTS, 0x7f, OP_GRP_EVENTS, 0x7f);
	for (rank = 0; rank < ranks; rank++)
		PUT(OF_RANK(rank, OP_GRP_ARM), 15);
}

/* A rank makes a group of all, by name or by key; they join and send, and it ends. */
static void group_life(uint32_t ranks, uint32_t owner, uint8_t how, bool keyed)
{
	uint32_t rank;

	PUT(OF_RANK(owner, OP_GRP_CREATE), (uint8_t)(how | (ranks - 1) << 2), 0);
	for (rank = 0; rank < ranks; rank++)
		PUT(OF_RANK(owner, OP_GRP_MEMBER), (uint8_t)(rank << 2 | keyed << 4 | rank << 5),
		    0);
	PUT(OF_RANK(owner, OP_GRP_IMPORT), 6, 0);
	PUT(OF_RANK(owner, OP_GRP_ROUTE), (uint8_t)(6 | keyed << 4 | owner << 5), 0);
	PUT(OF_RANK(owner, OP_GRP_MAP), 1, 0, OF_RANK(owner, OP_GRP_MAP), 0x14, 0);
	PUT(OF_RANK(owner, OP_GRP_ARM), 15, OP_GRP_EVENTS, 0x7f);
	PUT(OF_RANK(owner, OP_GRP_UPDATE), 2, 31, 0x80, 0, 7, OP_GRP_EVENTS, 0x7f);
	PUT(OF_RANK(owner, OP_GRP_QUERY), 0, 2, 0, OF_RANK(owner, OP_GRP_DESTROY), 2, 0);
}

static void groups(void)
{
	uint32_t shape, what;

	/* Each number of ranks, each size of tables. New devices take long: two lives of each. */
	for (shape = 0; shape < 16; shape++) {
		uint32_t ranks = 3 + (shape & 1);

		what = (shape + shape / 4) % 4;
		PUT((uint8_t)shape, (uint8_t)(what ^ GROUP_ARMED));
		if (what == 1)
			PUT(OP_GRP_FAULT, (uint8_t)(shape << 4 | shape), 0);
		if (what & GROUP_ARMED)
			group_life(ranks, shape & 1, (uint8_t)(shape & 3), shape & 4);
		group_epoch(ranks, what == 2 ? 0x80 : 0);
		PUT(OF_RANK(1, OP_GRP_CONTROL), (uint8_t)(shape << 4 | what << 2), 0, 0);
		group_epoch(ranks, 0x80);
		if (what == 3)
			PUT(OF_RANK(1, OP_GRP_RESET), (uint8_t)(shape & 7));
		PUT(OP_GRP_SPACE, (uint8_t)shape, OP_GRP_EVENTS, 0x20);
		if ((shape & 2) == (what & 2))
			PUT(OP_GRP_MOVE, (uint8_t)(shape & 1));
		if (what == 1) /* a byte of the state is changed */
			PUT(OP_GRP_MOVE, 2, (uint8_t)(shape * 16), (uint8_t)shape, 1);
		group_epoch(ranks, 0x80);
		save_numbered("fuzz_group", "life", shape);
	}
	for (what = 0; what < 64; what++) { /* one field after the other is wrong */
		if (what % 16 == 0)
			PUT(GROUP_SHAPE(3, what / 16), GROUP_ARMED | GROUP_ORDERED, OP_GRP_EVENTS,
			    0);
		PUT(OP_GRP_UPDATE, 0, 3, 0x80, 1, (uint8_t)what, 1, 0xff, 0xff, 7);
		PUT(OP_GRP_CONTROL, 0x10, 1, (uint8_t)what, 0, 0xff, 0, OF_RANK(1, OP_GRP_CONTROL),
		    4 | 3 << 4, 1, (uint8_t)what, 0, 0xff, 0);
		PUT(OF_RANK(2, OP_GRP_DOWN), (uint8_t)(what << 2), 1, (uint8_t)what, 0, 1, 0);
		PUT(OP_GRP_CLAIM, 2, 0, 1, (uint8_t)what, 0, 1, 0, OP_GRP_EVENTS, 0x7f);
		if (what % 16 == 15)
			save_numbered("fuzz_group", "field", what / 16);
	}
	for (what = 1; what < 8; what += 2) { /* more than tables and links have room for */
		PUT(GROUP_SHAPE(3, what % 4), GROUP_ARMED, OP_GRP_EVENTS, 0);
		PUT(OF_RANK(~what >> 1 & 1, OP_GRP_UPDATE), (uint8_t)(what >> 1 & 1), 31, 0x80, 0,
		    1, OF_RANK(~what >> 1 & 1, OP_GRP_UPDATE), (uint8_t)(what >> 1 & 1), 31, 0x80,
		    0, 1);
		PUT(OF_RANK(2, OP_GRP_UPDATE), 0, 31, 0x80, 1, 44, 0, 32, 1);
		if (what & 4)
			PUT(OF_RANK(what & 3, OP_GRP_RESET), 0);
		group_epoch(3, 0x80);
		save_numbered("fuzz_group", "full", what);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: fuzz-seeds FOLDER\n");
		return 2;
	}
	root = argv[1];
	every_register();
	commands();
	keys();
	collectives();
	interruptions();
	mistakes();
	updates();
	wrong_fields();
	control_packets();
	frames();
	descriptors();
	states();
	replays();
	texts();
	lanes();
	orders();
	bursts();
	bits();
	groups();
	return 0;
}
