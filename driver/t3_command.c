// SPDX-License-Identifier: GPL-2.0
/*
 * A user's command into descriptors. The device knows device memory and the bus as a whole
 * and no buffers, so all that it is told is checked before.
 *
 * Each type of command has a decoder, which checks the user's struct, looks up the objects
 * that it names and fills struct t3_command: see t3_copy.c, t3_gemm.c and t3_timed.c.
 */
#include <linux/slab.h>
#include <linux/string.h>

#include "t3_command.h"

/* Returns the size of a type's struct, or 0: no such type. */
static size_t t3_command_size(u32 type)
{
	switch (type) {
	case DRM_T3_COMMAND_COPY:
		return sizeof(struct drm_t3_copy);
	case DRM_T3_COMMAND_FILL:
		return sizeof(struct drm_t3_fill);
	case DRM_T3_COMMAND_UPDATE:
		return sizeof(struct drm_t3_update);
	case DRM_T3_COMMAND_GEMM:
		return sizeof(struct drm_t3_gemm);
	case DRM_T3_COMMAND_TIMED:
		return sizeof(struct drm_t3_timed);
	default:
		return 0;
	}
}

static int t3_command_decode(struct drm_file *file, const union drm_t3_any_command *user,
			     struct t3_command *command)
{
	switch (user->head.type) {
	case DRM_T3_COMMAND_COPY:
		return t3_copy_decode(file, &user->copy, command);
	case DRM_T3_COMMAND_FILL:
		return t3_fill_decode(file, &user->fill, command);
	case DRM_T3_COMMAND_UPDATE:
		return t3_update_decode(file, &user->update, command);
	case DRM_T3_COMMAND_GEMM:
		return t3_gemm_decode(file, &user->gemm, command);
	default:
		return t3_timed_decode(file, &user->timed, command);
	}
}

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
	size_t size = t3_command_size(user->head.type);
	int ret;

	if (!size)
		return -EINVAL;
	if (memchr_inv((const u8 *)user + size, 0, sizeof(*user) - size))
		return -E2BIG;
	command->type = user->head.type;
	ret = t3_command_decode(file, user, command);
	if (ret)
		return ret;
	if (!command->pieces)
		command->pieces = t3_copy_count(command, max_pieces);
	return command->pieces > max_pieces ? -EFBIG : 0;
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
	switch (command->type) {
	case DRM_T3_COMMAND_GEMM:
		t3_gemm_build(command, steps);
		break;
	case DRM_T3_COMMAND_TIMED:
		t3_timed_build(command, steps);
		break;
	default:
		t3_copy_build(command, steps);
	}
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

static u64 t3_step_end(u64 start, u64 pitch, const struct t3_descriptor *descriptor)
{
	return start + (descriptor->rows - 1) * pitch + descriptor->row_bytes;
}

/**
 * t3_step_repeatable() - check whether a step may be done twice
 * @step: of a job
 *
 * A second run is harmless if the step reads nothing that it writes. Two addresses of the bus may
 * be one page of the host.
 *
 * Return: true if a second run gives the result of the first.
 */
bool t3_step_repeatable(const struct t3_step *step)
{
	const struct t3_descriptor *d = &step->descriptor;

	if (d->opcode == T3_DESC_GEMM)
		return t3_gemm_repeatable(step);
	if (d->opcode == T3_DESC_FILL || d->opcode == T3_DESC_TIMED)
		return true;
	if (d->opcode == T3_DESC_UPDATE && d->op == T3_OP_ADD)
		return false;
	if (d->src_kind != d->dst_kind)
		return true;
	if (d->src_kind == T3_LOC_HOST)
		return false;
	return t3_step_end(d->src, d->src_pitch, d) <= d->dst ||
	       t3_step_end(d->dst, d->dst_pitch, d) <= d->src;
}

/**
 * t3_step_error() - translate the status of a refused step
 * @step: of a job
 * @status: T3_DESC_* of its completion, not T3_DESC_OK
 *
 * Return: the error of the job's fence.
 */
int t3_step_error(const struct t3_step *step, int status)
{
	return step->descriptor.opcode == T3_DESC_TIMED ? t3_timed_error(status) : -EIO;
}

#ifdef T3_KUNIT
#include "tests/t3_command_test.c"
#endif
