// SPDX-License-Identifier: GPL-2.0
/*
 * TIMED commands: one descriptor. The arguments of the run stay in the user's buffer. The device
 * reads and checks them when it runs: no value in them makes it touch anything but the two structs
 * whose places are checked here.
 */
#include "t3_command.h"

#define T3_TIMED_ALIGN 64

/* Within one page of the buffer, which is one range of the bus. */
static bool t3_timed_place_valid(u64 offset, size_t bytes)
{
	return offset % T3_TIMED_ALIGN == 0 && offset % T3_PAGE_SIZE + bytes <= T3_PAGE_SIZE;
}

static bool t3_timed_valid(const struct drm_t3_timed *user)
{
	return !user->head.flags && t3_operand_valid(&user->args, 1, 0) &&
	       t3_operand_valid(&user->result, 1, 0) &&
	       t3_timed_place_valid(user->args.offset, sizeof(struct t3_timed_args)) &&
	       t3_timed_place_valid(user->result.offset, sizeof(struct t3_timed_result));
}

/* A buffer of another driver may be in pieces of any size. */
static bool t3_timed_in_one_range(const struct t3_operand *operand, size_t bytes)
{
	u64 address, run = t3_bo_run(operand->bo, operand->offset, &address);

	return run >= bytes && address % T3_TIMED_ALIGN == 0;
}

static int t3_timed_operand(struct drm_file *file, struct t3_operand *operand,
			    const struct drm_t3_operand *user, size_t bytes)
{
	int ret = t3_operand_get(file, operand, user, 1, bytes);

	if (ret)
		return ret;
	if (operand->bo->kind == T3_BO_DEVICE)
		return -EOPNOTSUPP;
	return t3_timed_in_one_range(operand, bytes) ? 0 : -EINVAL;
}

/* The run would overwrite its own arguments, and could not be repeated. */
static bool t3_timed_overlap(const struct t3_command *command)
{
	u64 src = command->src.offset, dst = command->dst.offset;

	return command->src.bo == command->dst.bo &&
	       src < dst + sizeof(struct t3_timed_result) &&
	       dst < src + sizeof(struct t3_timed_args);
}

/**
 * t3_timed_decode() - as t3_command_parse(), of a TIMED
 * @file: whose handles it names
 * @user: the command as user space gave it
 * @command: filled
 *
 * Return: 0, or an error that the comment of &struct drm_t3_timed lists.
 */
int t3_timed_decode(struct drm_file *file, const struct drm_t3_timed *user,
		    struct t3_command *command)
{
	int ret;

	if (!t3_timed_valid(user))
		return -EINVAL;
	if (!(t3_file_device(file)->caps.caps & T3_CAP_TIMED))
		return -EOPNOTSUPP;
	ret = t3_timed_operand(file, &command->src, &user->args, sizeof(struct t3_timed_args));
	if (ret)
		return ret;
	ret = t3_timed_operand(file, &command->dst, &user->result, sizeof(struct t3_timed_result));
	if (ret)
		return ret;
	command->pieces = 1;
	return t3_timed_overlap(command) ? -EINVAL : 0;
}

/**
 * t3_timed_build() - as t3_command_build(), of a TIMED
 * @command: from t3_timed_decode()
 * @step: the only one
 */
void t3_timed_build(const struct t3_command *command, struct t3_step *step)
{
	step->descriptor = (struct t3_descriptor){
		.opcode = T3_DESC_TIMED,
		.src_kind = T3_LOC_HOST,
		.dst_kind = T3_LOC_HOST,
		.src = t3_operand_address(&command->src),
		.dst = t3_operand_address(&command->dst),
	};
	step->dst = t3_bo_get(command->dst.bo);
	step->reads[0] = t3_bo_get(command->src.bo);
}

/**
 * t3_timed_error() - translate the status of a TIMED that failed
 * @status: T3_DESC_* of its completion. The driver's part of the descriptor is right, so
 *   T3_DESC_BAD_DESCRIPTOR means bad arguments of the run
 *
 * Return: the error of the job's fence: -EINVAL, -ENOMEM, -ECANCELED another rank of the gang has
 *   failed, or -EIO.
 */
int t3_timed_error(int status)
{
	switch (status) {
	case T3_DESC_BAD_DESCRIPTOR:
		return -EINVAL;
	case T3_DESC_MEMORY:
		return -ENOMEM;
	case T3_DESC_GANG:
		return -ECANCELED;
	default:
		return -EIO;
	}
}
