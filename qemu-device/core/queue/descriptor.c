/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks a descriptor, its fields in the order of their offsets. SPEC.md section 11.3. */
#include "queue/queue_private.h"

#define AT(field) offsetof(struct t3_descriptor, field)
#define LEGAL	  T3_NONE32

#define T3_REFERENCE_ALIGN 64u

static bool moves(const struct t3_descriptor *d)
{
	return d->opcode == T3_DESC_COPY || d->opcode == T3_DESC_FILL ||
	       d->opcode == T3_DESC_UPDATE || d->opcode == T3_DESC_GEMM;
}

/* Does it have a type, and so elements? */
static bool typed(const struct t3_descriptor *d)
{
	return d->opcode == T3_DESC_UPDATE || d->opcode == T3_DESC_GEMM;
}

/* Is its source a structure in host memory? */
static bool by_reference(const struct t3_descriptor *d)
{
	return d->opcode == T3_DESC_GEMM || d->opcode == T3_DESC_TIMED;
}

static bool to_space(const struct t3_descriptor *d)
{
	return d->dst_kind == T3_LOC_SPACE;
}

static uint32_t bad_location(const struct t3_descriptor *d)
{
	bool copy = d->opcode == T3_DESC_COPY, gemm = d->opcode == T3_DESC_GEMM;

	if (by_reference(d) ? d->src_kind != T3_LOC_HOST : d->src_kind > (copy ? T3_LOC_HOST : 0))
		return AT(src_kind);
	if (d->opcode == T3_DESC_TIMED)
		return d->dst_kind == T3_LOC_HOST ? LEGAL : AT(dst_kind);
	if (gemm && d->dst_kind == T3_LOC_HOST)
		return AT(dst_kind);
	if (d->dst_kind > (copy || gemm || d->opcode == T3_DESC_FILL ? T3_LOC_SPACE : 0))
		return AT(dst_kind);
	return LEGAL;
}

/* The number of types that an opcode accepts. A GEMM does not accept bytes. */
static uint32_t dtypes(const struct t3_descriptor *d)
{
	if (d->opcode == T3_DESC_GEMM)
		return T3_DTYPE_U8;
	return d->opcode == T3_DESC_UPDATE ? T3_DTYPE_COUNT : 1;
}

static uint32_t bad_kind(const struct t3_dev *dev, const struct t3_descriptor *d)
{
	bool update = d->opcode == T3_DESC_UPDATE;
	uint32_t at;

	if (d->opcode > (t3_timed_allowed(dev) ? T3_DESC_TIMED : T3_DESC_GEMM))
		return AT(opcode);
	if (d->flags & ~T3_DESC_FLAG_IRQ)
		return AT(flags);
	if (d->op >= (update ? T3_OP_COUNT : 1))
		return AT(op);
	if (d->dtype >= dtypes(d))
		return AT(dtype);
	if (update && !t3_nmc_allowed(d->dtype, d->op))
		return AT(op);
	at = bad_location(d);
	if (at != LEGAL)
		return at;
	return d->mbz ? AT(mbz) : LEGAL;
}

static uint32_t bad_size(const struct t3_descriptor *d)
{
	if (!moves(d)) {
		if (d->rows)
			return AT(rows);
		return d->row_bytes ? AT(row_bytes) : LEGAL;
	}
	if (!d->rows || (uint64_t)d->rows * d->row_bytes > T3_MAX_COPY_BYTES)
		return AT(rows);
	if (!d->row_bytes)
		return AT(row_bytes);
	if (typed(d) && d->row_bytes % t3_dtype_size(d->dtype))
		return AT(row_bytes);
	return LEGAL;
}

/* A GEMM's sources are in its parameters, which are read later. */
static bool has_source(const struct t3_descriptor *d)
{
	return moves(d) && d->opcode != T3_DESC_FILL && d->opcode != T3_DESC_GEMM;
}

static bool bad_pitch(const struct t3_descriptor *d, uint64_t pitch, bool used)
{
	return used && d->rows > 1 ? pitch < d->row_bytes : pitch != 0;
}

static uint32_t bad_place(const struct t3_descriptor *d)
{
	if ((d->opcode == T3_DESC_NOP && d->src) ||
	    (by_reference(d) && d->src % T3_REFERENCE_ALIGN))
		return AT(src);
	if ((d->opcode == T3_DESC_NOP && d->dst) ||
	    (d->opcode == T3_DESC_TIMED && d->dst % T3_REFERENCE_ALIGN))
		return AT(dst);
	if (bad_pitch(d, d->src_pitch, has_source(d)))
		return AT(src_pitch);
	if (bad_pitch(d, d->dst_pitch, moves(d)))
		return AT(dst_pitch);
	if (!to_space(d) && d->space)
		return AT(space);
	if (!to_space(d) && d->generation)
		return AT(generation);
	return LEGAL;
}

bool t3_rows_fit(uint64_t start, uint64_t pitch, uint32_t rows, uint32_t bytes, uint64_t limit)
{
	uint64_t room = limit - (bytes - 1), gaps = rows - 1;

	if (limit < bytes - 1 || start > room)
		return false;
	return !gaps || pitch <= (room - start) / gaps;
}

static bool in_range(const struct t3_descriptor *d, uint64_t start, uint64_t pitch, uint64_t limit)
{
	return t3_rows_fit(start, pitch, d->rows, d->row_bytes, limit);
}

static uint64_t last_byte(const struct t3_dev *dev, uint32_t kind)
{
	return kind == T3_LOC_MEMORY ? dev->config.memory_size - 1 : T3_NONE64;
}

/* Both structures must end below 2^64. */
static uint32_t check_timed_range(const struct t3_descriptor *d, uint64_t *detail)
{
	*detail = d->src;
	if (d->src > T3_NONE64 - (sizeof(struct t3_timed_args) - 1))
		return T3_DESC_BAD_RANGE;
	*detail = d->dst;
	if (d->dst > T3_NONE64 - (sizeof(struct t3_timed_result) - 1))
		return T3_DESC_BAD_RANGE;
	*detail = 0;
	return T3_DESC_OK;
}

static uint32_t check_range(const struct t3_dev *dev, const struct t3_descriptor *d,
			    uint64_t *detail)
{
	bool fence = d->opcode == T3_DESC_WAIT || d->opcode == T3_DESC_SIGNAL;
	bool timed = d->opcode == T3_DESC_TIMED;

	*detail = d->src;
	if (has_source(d) && !in_range(d, d->src, d->src_pitch, last_byte(dev, d->src_kind)))
		return T3_DESC_BAD_RANGE;
	*detail = d->dst;
	if (moves(d) && !in_range(d, d->dst, d->dst_pitch, last_byte(dev, d->dst_kind)))
		return T3_DESC_BAD_RANGE;
	if (fence && d->dst >= T3_MAX_FENCES)
		return T3_DESC_BAD_RANGE;
	*detail = 0;
	return timed ? check_timed_range(d, detail) : T3_DESC_OK;
}

uint32_t t3_descriptor_check(const struct t3_dev *dev, const struct t3_descriptor *d,
			     uint64_t *detail)
{
	uint32_t at = bad_kind(dev, d);

	if (at == LEGAL)
		at = bad_size(d);
	if (at == LEGAL)
		at = bad_place(d);
	*detail = at;
	return at == LEGAL ? check_range(dev, d, detail) : T3_DESC_BAD_DESCRIPTOR;
}
