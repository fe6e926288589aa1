/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Commands of jobs: checked operands, and the hardware's descriptors.
 */
#ifndef T3_COMMAND_H
#define T3_COMMAND_H

#include "t3_bo.h"

struct t3_operand {
	struct t3_bo *bo; /* holds a reference; NULL: none */
	u64 offset;
	u64 pitch;
};

/* A user's command, decoded and checked. */
struct t3_command {
	u32 type; /* enum drm_t3_command_type */
	u32 rows; /* of dst, as row_bytes; TIMED: 0 */
	u32 row_bytes; /* TIMED: of the counts after the arguments */
	u32 op;		       /* UPDATE */
	u32 dtype;	       /* UPDATE, GEMM */
	u64 pattern;	       /* FILL */
	struct t3_operand src; /* bo NULL: FILL; GEMM: a; TIMED: the arguments */
	struct t3_operand dst; /* bo NULL: a space; TIMED: the result */
	struct t3_operand b;   /* this and the next three: GEMM */
	struct t3_gemm *gemm;
	u32 hw_space;
	u32 generation;
	u32 pieces;
};

enum t3_operand_place {
	T3_PLACE_ANY,
	T3_PLACE_DEVICE, /* memory of this device */
	T3_PLACE_HOST,	 /* host memory or an import */
};

/* An operand of a type of command: where it is, its shape, and in what memory it may be. */
struct t3_operand_rule {
	const char *name; /* in the user's struct */
	size_t user;	  /* offset there */
	size_t operand;	  /* offset in struct t3_command */
	size_t rows;	  /* offset there of the number of rows */
	size_t columns;	  /* likewise of the elements in a row */
	size_t bytes;	  /* or 0; else a single row of so many, and no such numbers */
	enum t3_operand_place place;
};

#define T3_OPERAND(type, member, slot, rows_member, columns_member, where)          \
	{                                                                           \
		.name = #member, .user = offsetof(struct type, member),             \
		.operand = offsetof(struct t3_command, slot),                       \
		.rows = offsetof(struct type, rows_member),                         \
		.columns = offsetof(struct type, columns_member), .place = (where), \
	}
#define T3_OPERAND_BYTES(type, member, slot, size, where)                                        \
	{                                                                                        \
		.name = #member, .user = offsetof(struct type, member),                          \
		.operand = offsetof(struct t3_command, slot), .bytes = (size), .place = (where), \
	}

/* One descriptor. The first step of a command holds its buffers; the others have none. */
struct t3_step {
	struct t3_descriptor descriptor;
	struct t3_gemm *gemm; /* GEMM: owned */
	struct t3_bo *dst;    /* NULL: none */
	struct t3_bo *reads[2];
};

/* t3_operand.c */
bool t3_rows_within(u64 offset, u64 pitch, u32 rows, u64 row_bytes, u64 size);
int t3_operand_check(struct drm_file *file, const struct drm_t3_operand *user, u32 rows,
		     u64 row_bytes);
int t3_operand_fit(struct drm_file *file, const struct drm_t3_operand *user, u32 rows,
		   u64 row_bytes, u64 size);
bool t3_operand_long_enough(u32 rows, u64 row_bytes, u64 size);
int t3_operands_get(struct drm_file *file, const void *user, const struct t3_operand_rule *rules,
		    size_t count, u32 unit, struct t3_command *command);
u64 t3_operand_address(const struct t3_operand *operand);

/* t3_command.c */
int t3_command_parse(struct drm_file *file, const union drm_t3_any_command *user,
		     struct t3_command *command, u32 max_pieces);
void t3_command_build(struct t3_command *command, struct t3_step *steps);
void t3_command_put(struct t3_command *command);
u64 t3_command_cost(const struct t3_command *command);

/* Of each type: a decoder for t3_command_parse(), and what makes its steps. */

/* t3_copy.c */
int t3_copy_decode(struct drm_file *file, const union drm_t3_any_command *any,
		   struct t3_command *command);
int t3_fill_decode(struct drm_file *file, const union drm_t3_any_command *any,
		   struct t3_command *command);
int t3_update_decode(struct drm_file *file, const union drm_t3_any_command *any,
		     struct t3_command *command);
u32 t3_copy_count(const struct t3_command *command, u32 max);
void t3_copy_build(struct t3_command *command, struct t3_step *steps);

/* t3_gemm.c */
int t3_gemm_decode(struct drm_file *file, const union drm_t3_any_command *any,
		   struct t3_command *command);
void t3_gemm_build(struct t3_command *command, struct t3_step *step);

/* t3_timed.c */
int t3_timed_decode(struct drm_file *file, const union drm_t3_any_command *any,
		    struct t3_command *command);
void t3_timed_build(struct t3_command *command, struct t3_step *step);

/* t3_step.c */
bool t3_step_repeatable(const struct t3_step *step);
int t3_step_error(const struct t3_step *step, int status);

#endif /* T3_COMMAND_H */
