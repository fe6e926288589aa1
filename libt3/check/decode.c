// SPDX-License-Identifier: MIT
/*
 * Decode a store (Intel SDM, volume 2). The decoder understands single moves of 1 to 8 bytes. Any
 * other instruction gets a name for the report. The caller never asks about instructions that only
 * read memory.
 */
#include "check/decode.h"

#include <string.h>

enum { PP_NONE, PP_66, PP_F3, PP_F2, PP_ANY }; /* prefix numbers as in VEX */

struct cursor {
	const uint8_t *at;
	uint8_t map; /* 0: one byte, 1: 0f, 2: 0f 38, 3: 0f 3a */
	uint8_t op;
	uint8_t pp;
	uint8_t rex; /* 0x40 | w r x b, 0: none */
	bool vex, evex, wide_vector, lock;
};

#define REX_W 8u
#define REX_R 4u
#define REX_X 2u
#define REX_B 1u

/* ----------------------------------------------------------------- prefixes */

static void read_legacy(struct cursor *c, struct insn *insn)
{
	for (;; c->at++) {
		switch (*c->at) {
		case 0x66:
			c->pp = c->pp == PP_NONE ? PP_66 : c->pp;
			insn->width = 2; /* an integer's width */
			break;
		case 0xf2:
			c->pp = PP_F2;
			break;
		case 0xf3:
			c->pp = PP_F3;
			break;
		case 0x67:
			insn->narrow = true;
			break;
		case 0x64:
		case 0x65:
			insn->based = true;
			break;
		case 0xf0:
			c->lock = true;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
			break;
		default:
			return;
		}
	}
}

/* VEX prefix. c5: R vvvv L pp; c4: R X B map, W vvvv L pp; the register bits are inverted. */
static void read_vex(struct cursor *c)
{
	bool three = *c->at++ == 0xc4;
	uint8_t first = *c->at++;
	uint8_t last = three ? *c->at++ : first;

	c->vex = true;
	c->map = three ? first & 0x1f : 1;
	c->rex = 0x40;
	if (!(first & 0x80))
		c->rex |= REX_R;
	if (three && !(first & 0x40))
		c->rex |= REX_X;
	if (three && !(first & 0x20))
		c->rex |= REX_B;
	if (three && (last & 0x80))
		c->rex |= REX_W;
	c->wide_vector = last & 4;
	c->pp = last & 3;
	c->op = *c->at++;
}

static void read_opcode(struct cursor *c, struct insn *insn)
{
	read_legacy(c, insn);
	if ((*c->at & 0xf0) == 0x40)
		c->rex = *c->at++;
	if (*c->at == 0xc4 || *c->at == 0xc5) {
		read_vex(c);
		return;
	}
	if (*c->at == 0x62) {
		c->evex = true;
		return;
	}
	c->op = *c->at++;
	if (c->op != 0x0f)
		return;
	c->map = 1;
	c->op = *c->at++;
	if (c->op == 0x38 || c->op == 0x3a) {
		c->map = c->op == 0x38 ? 2 : 3;
		c->op = *c->at++;
	}
}

/* ------------------------------------------------------------------ address */

static int64_t read_signed(struct cursor *c, uint32_t bytes)
{
	uint64_t value = 0;

	memcpy(&value, c->at, bytes);
	c->at += bytes;
	return (int64_t)(value << (64 - 8 * bytes)) >> (64 - 8 * bytes);
}

static void read_sib(struct cursor *c, struct insn *insn, uint8_t mod)
{
	uint8_t sib = *c->at++;

	insn->scale = sib >> 6;
	insn->index = (sib >> 3 & 7) | (c->rex & REX_X ? 8 : 0);
	if (insn->index == 4)
		insn->index = INSN_NO_REGISTER;
	insn->base = (sib & 7) | (c->rex & REX_B ? 8 : 0);
	if ((sib & 7) != 5 || mod)
		return;
	insn->base = INSN_NO_REGISTER;
	insn->displacement = read_signed(c, 4);
}

/* Returns the reg field without REX. The operand is an address, because the instruction stores. */
static uint8_t read_modrm(struct cursor *c, struct insn *insn)
{
	uint8_t modrm = *c->at++, mod = modrm >> 6;

	insn->reg = (modrm >> 3 & 7) | (c->rex & REX_R ? 8 : 0);
	insn->index = INSN_NO_REGISTER;
	if ((modrm & 7) == 4) {
		read_sib(c, insn, mod);
	} else if ((modrm & 7) == 5 && !mod) {
		insn->base = INSN_RIP;
		insn->displacement = read_signed(c, 4);
	} else {
		insn->base = (modrm & 7) | (c->rex & REX_B ? 8 : 0);
	}
	if (mod == 1 || mod == 2)
		insn->displacement = read_signed(c, mod == 1 ? 1 : 4);
	return modrm >> 3 & 7;
}

/* ------------------------------------------------------------ integer moves */

/* snprintf() is not safe in a signal handler. */
static void set_name(struct insn *insn, const char *prefix, const char *name)
{
	const char *part[2] = { prefix, name };
	size_t i, used = 0;

	for (i = 0; i < 2; i++) {
		while (*part[i] && used < sizeof(insn->name) - 1)
			insn->name[used++] = *part[i]++;
	}
	insn->name[used] = 0;
}

/* 2 with the operand-size prefix, 8 with REX.W, else 4. */
static uint8_t integer_width(const struct cursor *c, const struct insn *insn)
{
	return c->rex & REX_W ? 8 : insn->width ? 2 : 4;
}

static void by_register(struct cursor *c, struct insn *insn, uint8_t width)
{
	read_modrm(c, insn);
	insn->width = width;
	insn->source = INSN_REGISTER;
	if (width == 1 && !c->rex && insn->reg >= 4) {
		insn->source = INSN_HIGH_BYTE;
		insn->reg -= 4;
	}
}

static void by_immediate(struct cursor *c, struct insn *insn, uint8_t width)
{
	read_modrm(c, insn);
	insn->width = width;
	insn->source = INSN_IMMEDIATE;
	insn->value = (uint64_t)read_signed(c, width == 8 ? 4 : width);
}

/* al or eax to an absolute address. */
static void by_offset(struct cursor *c, struct insn *insn, uint8_t width)
{
	insn->width = width;
	insn->source = INSN_REGISTER;
	insn->reg = 0;
	insn->base = insn->index = INSN_NO_REGISTER;
	insn->displacement = read_signed(c, insn->narrow ? 4 : 8);
	if (insn->narrow)
		insn->displacement &= 0xffffffff;
}

static bool integer_move(struct cursor *c, struct insn *insn)
{
	uint8_t width = integer_width(c, insn);

	if (c->vex || c->lock || c->map > 1)
		return false;
	if (c->map == 1) {
		if (c->op != 0xc3 || c->pp != PP_NONE)
			return false;
		by_register(c, insn, width);
		set_name(insn, "", "movnti");
		return true;
	}
	switch (c->op) {
	case 0x88:
	case 0x89:
		by_register(c, insn, c->op & 1 ? width : 1);
		break;
	case 0xc6:
	case 0xc7:
		by_immediate(c, insn, c->op & 1 ? width : 1);
		break;
	case 0xa2:
	case 0xa3:
		by_offset(c, insn, c->op & 1 ? width : 1);
		break;
	default:
		return false;
	}
	set_name(insn, "", "mov");
	return true;
}

/* ------------------------------------------------------------------ vectors */

/* The device sees moves of up to 8 bytes as one store, and wider ones as several. */
static const struct vector_store {
	uint8_t op, pp, width, source;
	const char *name;
} vector_stores[] = {
	{ 0x11, PP_NONE, 16, INSN_OTHER, "movups" },
	{ 0x11, PP_66, 16, INSN_OTHER, "movupd" },
	{ 0x11, PP_F3, 4, INSN_VECTOR_LOW, "movss" },
	{ 0x11, PP_F2, 8, INSN_VECTOR_LOW, "movsd" },
	{ 0x13, PP_NONE, 8, INSN_VECTOR_LOW, "movlps" },
	{ 0x13, PP_66, 8, INSN_VECTOR_LOW, "movlpd" },
	{ 0x17, PP_NONE, 8, INSN_VECTOR_HIGH, "movhps" },
	{ 0x17, PP_66, 8, INSN_VECTOR_HIGH, "movhpd" },
	{ 0x29, PP_NONE, 16, INSN_OTHER, "movaps" },
	{ 0x29, PP_66, 16, INSN_OTHER, "movapd" },
	{ 0x2b, PP_NONE, 16, INSN_OTHER, "movntps" },
	{ 0x2b, PP_66, 16, INSN_OTHER, "movntpd" },
	{ 0x7e, PP_66, 4, INSN_VECTOR_LOW, "movd" }, /* movq with REX.W */
	{ 0x7f, PP_66, 16, INSN_OTHER, "movdqa" },
	{ 0x7f, PP_F3, 16, INSN_OTHER, "movdqu" },
	{ 0x7f, PP_NONE, 8, INSN_OTHER, "movq of mmx" },
	{ 0xd6, PP_66, 8, INSN_VECTOR_LOW, "movq" },
	{ 0xe7, PP_66, 16, INSN_OTHER, "movntdq" },
	{ 0xe7, PP_NONE, 8, INSN_OTHER, "movntq" },
};

/* One element of a vector, as compilers store halves. */
static bool vector_extract(struct cursor *c, struct insn *insn)
{
	static const uint8_t widths[] = { 1, 2, 4, 4 };
	static const char *const names[] = { "pextrb", "pextrw", "pextrd", "extractps" };
	uint8_t kind = c->op - 0x14, at;

	if (c->map != 3 || c->pp != PP_66 || kind > 3 || c->wide_vector)
		return false;
	read_modrm(c, insn);
	insn->width = kind == 2 && c->rex & REX_W ? 8 : widths[kind];
	at = (uint8_t)(*c->at++ * insn->width) & 15;
	insn->source = at >= 8 ? INSN_VECTOR_HIGH : INSN_VECTOR_LOW;
	insn->shift = at % 8 * 8;
	set_name(insn, c->vex ? "v" : "", insn->width == 8 ? "pextrq" : names[kind]);
	return true;
}

static bool vector_move(struct cursor *c, struct insn *insn)
{
	const struct vector_store *v;
	size_t i;

	for (i = 0; i < sizeof(vector_stores) / sizeof(vector_stores[0]); i++) {
		v = &vector_stores[i];
		if (c->map != 1 || v->op != c->op || v->pp != c->pp)
			continue;
		insn->source = v->source;
		insn->width = v->width == 16 && c->wide_vector ? 32 : v->width;
		if (c->op == 0x7e && c->rex & REX_W)
			insn->width = 8;
		if (v->source != INSN_OTHER)
			read_modrm(c, insn);
		set_name(insn, c->vex ? "v" : "",
			 c->op == 0x7e && insn->width == 8 ? "movq" : v->name);
		return true;
	}
	return false;
}

/* ------------------------------------------------------------------- others */

static const char *name_of_byte(const struct cursor *c)
{
	switch (c->op) {
	case 0xa4:
	case 0xa5:
		return c->pp >= PP_F3 ? "rep movs" : "movs";
	case 0xaa:
	case 0xab:
		return c->pp >= PP_F3 ? "rep stos" : "stos";
	case 0x86:
	case 0x87:
		return "xchg";
	case 0x8f:
		return "pop";
	default:
		return "read-modify-write";
	}
}

static const char *name_of_two_bytes(const struct cursor *c)
{
	if (c->op >= 0x90 && c->op <= 0x9f)
		return "setcc";
	if (c->op == 0xb0 || c->op == 0xb1 || c->op == 0xc7)
		return "cmpxchg";
	if (c->op == 0xc0 || c->op == 0xc1)
		return "xadd";
	return "no mov";
}

static void name_other(const struct cursor *c, struct insn *insn)
{
	const char *name = "no mov";

	if (c->evex)
		name = "AVX-512 store";
	else if (c->vex)
		name = "AVX store";
	else if (c->map == 0)
		name = name_of_byte(c);
	else if (c->map == 1)
		name = name_of_two_bytes(c);
	else if (c->map == 2)
		name = "movbe";
	insn->width = 0;
	set_name(insn, c->lock ? "locked " : "", name);
}

void t3_insn_decode(const uint8_t *code, struct insn *insn)
{
	struct cursor c = { .at = code };

	*insn = (struct insn){ .source = INSN_OTHER };
	read_opcode(&c, insn);
	if (c.evex ||
	    (!integer_move(&c, insn) && !vector_move(&c, insn) && !vector_extract(&c, insn)))
		name_other(&c, insn);
	if (insn->source != INSN_OTHER)
		insn->length = (uint8_t)(c.at - code);
}
