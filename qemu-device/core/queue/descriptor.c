/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks of a descriptor, and of the structure to which a GEMM's points. SPEC.md section 11.3. A table says
 * what each opcode does with its operands. The functions below walk it once, with the fields in the
 * order of their offsets, which is the order of the manual.
 */
#include "queue/queue_private.h"

#define AT(field)      offsetof(struct t3_descriptor, field)
#define AT_GEMM(field) ((uint32_t)(sizeof(struct t3_descriptor) + offsetof(struct t3_gemm, field)))
#define LEGAL	       T3_NONE32

#define STRUCT_ALIGN 64u
#define MAX_COUNTS   (T3_MAX_RANKS * T3_TIMED_MAX_EXPERTS * (uint32_t)sizeof(uint32_t))

/* ------------------------------------------------------------------- table */

/* The use that an opcode makes of src or dst. */
enum use {
	UNUSED,	   /* MBZ */
	VALUE,	   /* any value */
	FENCE,	   /* the number of a fence */
	ROWS,	   /* address of `rows` rows of `row_bytes` bytes */
	STRUCTURE, /* address of one structure, a multiple of STRUCT_ALIGN */
	COUNTED,   /* the same, and `row_bytes` bytes of counts after it */
};

#define MEMORY (1u << T3_LOC_MEMORY) /* also where the kind is MBZ */
#define HOST   (1u << T3_LOC_HOST)
#define SPACE  (1u << T3_LOC_SPACE)

struct operand {
	enum use use;
	uint32_t kinds; /* bit mask of the kinds that are allowed */
	uint32_t bytes; /* of the structure */
};

struct form {
	uint32_t ops, dtypes; /* allowed are those below; 1: MBZ */
	struct operand src, dst;
};

/* A GEMM accepts no bytes as elements. Its sources are in its structure, which is read later. */
/* clang-format off */
static const struct form forms[] = {
	[T3_DESC_NOP] = { 1, 1, { UNUSED, MEMORY, 0 }, { UNUSED, MEMORY, 0 } },
	[T3_DESC_COPY] = { 1, 1, { ROWS, MEMORY | HOST, 0 }, { ROWS, MEMORY | HOST | SPACE, 0 } },
	[T3_DESC_FILL] = { 1, 1, { VALUE, MEMORY, 0 }, { ROWS, MEMORY | HOST | SPACE, 0 } },
	[T3_DESC_UPDATE] = { T3_OP_COUNT, T3_DTYPE_COUNT, { ROWS, MEMORY, 0 }, { ROWS, MEMORY, 0 } },
	[T3_DESC_WAIT] = { 1, 1, { VALUE, MEMORY, 0 }, { FENCE, MEMORY, 0 } },
	[T3_DESC_SIGNAL] = { 1, 1, { VALUE, MEMORY, 0 }, { FENCE, MEMORY, 0 } },
	[T3_DESC_GEMM] = { 1, T3_DTYPE_U8, { STRUCTURE, HOST, sizeof(struct t3_gemm) },
			   { ROWS, MEMORY | SPACE, 0 } },
	[T3_DESC_TIMED] = { 1, 1, { COUNTED, MEMORY | HOST, sizeof(struct t3_timed_args) },
			    { STRUCTURE, HOST, sizeof(struct t3_timed_result) } },
};
/* clang-format on */

/* ------------------------------------------------------------------ fields */

static bool bad_kind(const struct operand *operand, uint32_t kind)
{
	return kind > T3_LOC_SPACE || !(operand->kinds & 1u << kind);
}

static bool bad_value(const struct operand *operand, uint64_t value)
{
	return (operand->use == UNUSED && value) ||
	       (operand->use >= STRUCTURE && value % STRUCT_ALIGN);
}

/* A pitch is MBZ where there are no further rows. */
static bool bad_pitch(uint64_t pitch, uint32_t rows, uint64_t row_bytes)
{
	return rows > 1 ? pitch < row_bytes : pitch != 0;
}

static bool bad_counts(uint32_t bytes, const struct operand *src)
{
	return src->use == COUNTED ? bytes > MAX_COUNTS || bytes % sizeof(uint32_t) : bytes;
}

static uint32_t bad_size(const struct t3_descriptor *d, const struct form *form)
{
	if (form->dst.use != ROWS) {
		if (d->rows)
			return AT(rows);
		return bad_counts(d->row_bytes, &form->src) ? AT(row_bytes) : LEGAL;
	}
	if (!d->rows || (uint64_t)d->rows * d->row_bytes > T3_MAX_COPY_BYTES)
		return AT(rows);
	if (!d->row_bytes || (form->dtypes > 1 && d->row_bytes % t3_dtype_size(d->dtype)))
		return AT(row_bytes);
	return LEGAL;
}

static uint32_t bad_field(const struct t3_dev *dev, const struct t3_descriptor *d)
{
	const struct form *form;
	uint32_t at;

	if (d->opcode > (t3_timed_allowed(dev) ? T3_DESC_TIMED : T3_DESC_GEMM))
		return AT(opcode);
	form = &forms[d->opcode];
	if (d->flags & ~T3_DESC_FLAG_IRQ)
		return AT(flags);
	if (d->op >= form->ops || !t3_computes_ops(dev, 1u << d->op))
		return AT(op);
	if (d->dtype >= form->dtypes || !t3_computes(dev, d->dtype, T3_OP_STORE))
		return AT(dtype);
	if (!t3_computes(dev, d->dtype, d->op))
		return AT(op);
	if (bad_kind(&form->src, d->src_kind))
		return AT(src_kind);
	if (bad_kind(&form->dst, d->dst_kind))
		return AT(dst_kind);
	if (d->mbz)
		return AT(mbz);
	at = bad_size(d, form);
	if (at != LEGAL)
		return at;
	if (bad_value(&form->src, d->src))
		return AT(src);
	if (bad_value(&form->dst, d->dst))
		return AT(dst);
	if (bad_pitch(d->src_pitch, form->src.use == ROWS ? d->rows : 0, d->row_bytes))
		return AT(src_pitch);
	if (bad_pitch(d->dst_pitch, form->dst.use == ROWS ? d->rows : 0, d->row_bytes))
		return AT(dst_pitch);
	if (d->dst_kind != T3_LOC_SPACE && d->space)
		return AT(space);
	if (d->dst_kind != T3_LOC_SPACE && d->generation)
		return AT(generation);
	return LEGAL;
}

/* ------------------------------------------------------------------- range */

/* Do all rows end at or before byte `limit`? It may be byte 2^64 - 1. */
static bool rows_fit(uint64_t start, uint64_t pitch, uint32_t rows, uint32_t bytes, uint64_t limit)
{
	uint64_t room = limit - (bytes - 1), gaps = rows - 1;

	if (limit < bytes - 1 || start > room)
		return false;
	return !gaps || pitch <= (room - start) / gaps;
}

static bool in_range(const struct t3_dev *dev, const struct t3_descriptor *d,
		     const struct operand *operand, uint32_t kind, uint64_t value, uint64_t pitch)
{
	uint64_t last = kind == T3_LOC_MEMORY ? dev->config.memory_size - 1 : T3_NONE64;

	switch (operand->use) {
	case FENCE:
		return value < T3_MAX_FENCES;
	case ROWS:
		return rows_fit(value, pitch, d->rows, d->row_bytes, last);
	case STRUCTURE:
		return rows_fit(value, 0, 1, operand->bytes, last);
	case COUNTED:
		return rows_fit(value, 0, 1, operand->bytes + d->row_bytes, last);
	default:
		return true;
	}
}

uint32_t t3_descriptor_check(const struct t3_dev *dev, const struct t3_descriptor *d,
			     uint64_t *detail)
{
	const struct form *form;

	*detail = bad_field(dev, d);
	if (*detail != LEGAL)
		return T3_DESC_BAD_DESCRIPTOR;
	form = &forms[d->opcode];
	*detail = d->src;
	if (!in_range(dev, d, &form->src, d->src_kind, d->src, d->src_pitch))
		return T3_DESC_BAD_RANGE;
	*detail = d->dst;
	if (!in_range(dev, d, &form->dst, d->dst_kind, d->dst, d->dst_pitch))
		return T3_DESC_BAD_RANGE;
	*detail = 0;
	return T3_DESC_OK;
}

/* -------------------------------------------------------------------- GEMM */

static bool outside(uint32_t value, uint32_t limit)
{
	return !value || value > limit;
}

/* Sizes go from the outer to the inner, as each limits the next. */
static uint32_t bad_gemm_field(const struct t3_descriptor *d, const struct t3_gemm *g)
{
	uint32_t element = t3_dtype_size(d->dtype), columns = d->row_bytes / element;

	if (outside(g->depth, T3_MAX_DEPTH))
		return AT_GEMM(depth);
	if (bad_pitch(g->a_pitch, d->rows, (uint64_t)g->depth * element))
		return AT_GEMM(a_pitch);
	if (bad_pitch(g->b_pitch, g->depth, d->row_bytes))
		return AT_GEMM(b_pitch);
	if (outside(g->chunk_rows, d->rows))
		return AT_GEMM(chunk_rows);
	if (g->first_chunk >= (d->rows + g->chunk_rows - 1) / g->chunk_rows)
		return AT_GEMM(first_chunk);
	if (outside(g->group_rows, g->chunk_rows))
		return AT_GEMM(group_rows);
	if (outside(g->group_columns, columns))
		return AT_GEMM(group_columns);
	if (outside(g->tile_rows, g->group_rows))
		return AT_GEMM(tile_rows);
	if (outside(g->tile_columns, g->group_columns))
		return AT_GEMM(tile_columns);
	if (!g->raster_rows)
		return AT_GEMM(raster_rows);
	if (g->flags & ~T3_GEMM_CHUNKS_UP)
		return AT_GEMM(flags);
	return g->mbz ? AT_GEMM(mbz) : LEGAL;
}

uint32_t t3_gemm_check(const struct t3_dev *dev, const struct t3_descriptor *d,
		       const struct t3_gemm *g, uint64_t *detail)
{
	uint64_t last = dev->config.memory_size - 1;

	*detail = bad_gemm_field(d, g);
	if (*detail != LEGAL)
		return T3_DESC_BAD_DESCRIPTOR;
	*detail = g->a;
	if (!rows_fit(g->a, g->a_pitch, d->rows, g->depth * t3_dtype_size(d->dtype), last))
		return T3_DESC_BAD_RANGE;
	*detail = g->b;
	if (!rows_fit(g->b, g->b_pitch, g->depth, d->row_bytes, last))
		return T3_DESC_BAD_RANGE;
	*detail = 0;
	return T3_DESC_OK;
}
