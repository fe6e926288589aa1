// SPDX-License-Identifier: GPL-2.0-only
/*
 * A user's command into descriptors. The device knows device memory and the bus as a whole
 * and no buffers, so all that it is told is checked before.
 *
 * Each type of command has a decoder, which checks the user's struct by tables of its fields and
 * operands, and fills struct t3_command: see t3_copy.c, t3_gemm.c and t3_timed.c.
 */
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "t3_bo.h"
#include "t3_command.h"
#include "t3_format.h"
#include "t3_refuse.h"

struct t3_command_type {
	const char *name; /* NULL: no such type */
	size_t size;
	int (*decode)(struct drm_file *file, const union drm_t3_any_command *any,
		      struct t3_command *command);
	void (*build)(struct t3_command *command, struct t3_step *steps);
};

#define T3_COMMAND_TYPE(struct_name, decoder, builder)                                         \
	{                                                                                      \
		.name = #struct_name, .size = sizeof(struct struct_name), .decode = (decoder), \
		.build = (builder),                                                            \
	}

static const struct t3_command_type t3_command_types[] = {
	[DRM_T3_COMMAND_COPY] = T3_COMMAND_TYPE(drm_t3_copy, t3_copy_decode, t3_copy_build),
	[DRM_T3_COMMAND_FILL] = T3_COMMAND_TYPE(drm_t3_fill, t3_fill_decode, t3_copy_build),
	[DRM_T3_COMMAND_UPDATE] = T3_COMMAND_TYPE(drm_t3_update, t3_update_decode, t3_copy_build),
	[DRM_T3_COMMAND_GEMM] = T3_COMMAND_TYPE(drm_t3_gemm, t3_gemm_decode, t3_gemm_build),
	[DRM_T3_COMMAND_TIMED] = T3_COMMAND_TYPE(drm_t3_timed, t3_timed_decode, t3_timed_build),
};

static const struct t3_rule t3_command_rules[] = {
	T3_RANGE(drm_t3_command, type, DRM_T3_COMMAND_COPY, DRM_T3_COMMAND_TIMED),
};

/**
 * t3_command_parse() - check a command and look up what it names
 * @file: whose handles it names
 * @user: the only copy of what user space gave: nothing is read twice from there
 * @command: zeros; filled. t3_command_put() puts what it holds, also after a failure
 * @max_pieces: descriptors that there is room for
 *
 * The device is not touched.
 *
 * Context: process context; may sleep, no lock held.
 * Return: 0; -EINVAL no such type; -E2BIG bytes behind the type's struct are not 0; -EFBIG more
 *   than @max_pieces; or an error as the comment of the type's struct says.
 */
int t3_command_parse(struct drm_file *file, const union drm_t3_any_command *user,
		     struct t3_command *command, u32 max_pieces)
{
	const struct t3_command_type *type;
	int ret;

	ret = t3_check(file, &user->head, t3_command_rules);
	if (ret)
		return t3_refused_struct(file, ret, "drm_t3_command");
	command->type = array_index_nospec(user->head.type, ARRAY_SIZE(t3_command_types));
	type = &t3_command_types[command->type];
	if (memchr_inv((const u8 *)user + type->size, 0, sizeof(*user) - type->size)) {
		ret = t3_refuse(file, user, -E2BIG, head.type,
				"a type whose struct has all bytes that are not 0");
		return t3_refused_struct(file, ret, type->name);
	}
	ret = type->decode(file, user, command);
	if (ret)
		return t3_refused_struct(file, ret, type->name);
	if (!command->pieces)
		command->pieces = t3_copy_count(command, max_pieces);
	if (command->pieces <= max_pieces)
		return 0;
	ret = t3_refuse_value(file, -EFBIG, "rows", command->rows,
			      "so few that the job has at most DRM_T3_SUBMIT_PIECES_MAX pieces");
	return t3_refused_struct(file, ret, type->name);
}

/**
 * t3_command_build() - make the steps of a command
 * @command: from t3_command_parse()
 * @steps: as many as it has pieces
 *
 * The first step holds references of the buffers too. So t3_command_put() may be called when no
 * lock of theirs is held any more.
 */
void t3_command_build(struct t3_command *command, struct t3_step *steps)
{
	t3_command_types[command->type].build(command, steps);
}

/**
 * t3_command_put() - put what a command holds
 * @command: from t3_command_parse(), which may have failed
 *
 * Context: process context.
 */
void t3_command_put(struct t3_command *command)
{
	t3_bo_put(command->src.bo);
	t3_bo_put(command->dst.bo);
	t3_bo_put(command->b.bo);
	kfree(command->gemm);
}

/*
 * Time of the engine as it was measured on the emulator, which is the only device so far: what a
 * descriptor and a row cost beside their bytes, 4 products in a nanosecond, and the usual run of a
 * timed model. An estimate is enough: see user_queued_ms.
 */
#define T3_COST_STEP_NS	    1000
#define T3_COST_ROW_NS	    64
#define T3_COST_PRODUCTS_NS 4
#define T3_COST_TIMED_NS    (100 * NSEC_PER_MSEC)

/**
 * t3_command_cost() - estimate the time of the engine that a command needs
 * @command: from t3_command_parse()
 *
 * Return: nanoseconds, not 0.
 */
u64 t3_command_cost(const struct t3_command *command)
{
	u64 ns = (u64)command->pieces * T3_COST_STEP_NS + (u64)command->rows * T3_COST_ROW_NS;
	u64 bytes = (u64)command->rows * command->row_bytes;

	switch (command->type) {
	case DRM_T3_COMMAND_GEMM:
		/* DRM_T3_GEMM_WORK_MAX bounds the number of products. */
		return ns + bytes / t3_dtype_size(command->dtype) * command->gemm->depth /
				    T3_COST_PRODUCTS_NS;
	case DRM_T3_COMMAND_TIMED:
		return ns + T3_COST_TIMED_NS;
	default:
		return ns + bytes;
	}
}

#ifdef T3_KUNIT
#include "tests/t3_command_test.c"
#endif
