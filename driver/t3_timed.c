// SPDX-License-Identifier: GPL-2.0-only
/*
 * TIMED commands: one descriptor. The arguments of the run, and the counts of a routing after them,
 * stay in the user's buffer. The device reads and checks them when it runs: no value in them makes
 * it touch anything but the bytes whose places are checked here.
 */
#include "t3_bo.h"
#include "t3_command.h"
#include "t3_device.h"
#include "t3_refuse.h"

#define T3_TIMED_ALIGN 64

static_assert(T3_MAX_RANKS * T3_TIMED_MAX_EXPERTS == DRM_T3_TIMED_COUNTS_MAX);

static const struct t3_rule t3_timed_rules[] = {
	T3_ZERO(drm_t3_timed, head.flags),
	T3_RANGE(drm_t3_timed, counts, 0, DRM_T3_TIMED_COUNTS_MAX),
	T3_ZERO(drm_t3_timed, pad),
	T3_CAUSE(-EOPNOTSUPP, drm_t3_timed, head.type, "a device with DRM_T3_FEATURE_TIMED"),
};

/* The bytes of counts are added to those of args. */
static const struct t3_operand_rule t3_timed_operands[] = {
	T3_OPERAND_BYTES(drm_t3_timed, args, src, sizeof(struct t3_timed_args), T3_PLACE_ANY),
	T3_OPERAND_BYTES(drm_t3_timed, result, dst, sizeof(struct t3_timed_result), T3_PLACE_HOST),
};

#define T3_TIMED_PLACE \
	"a multiple of 64 from which the struct ends before the next multiple of 4096"

static u32 t3_timed_args_bytes(const struct t3_command *command)
{
	return sizeof(struct t3_timed_args) + command->row_bytes;
}

static int t3_timed_get(struct drm_file *file, const struct drm_t3_timed *user,
			struct t3_command *command)
{
	struct t3_operand_rule rules[ARRAY_SIZE(t3_timed_operands)];

	memcpy(rules, t3_timed_operands, sizeof(rules));
	rules[0].bytes = t3_timed_args_bytes(command);
	return t3_operands_get(file, user, rules, ARRAY_SIZE(rules), 1, command);
}

/*
 * In host memory, the bytes lie within one page of the buffer, which is one range of the bus. A
 * buffer of another driver may be in pieces of any size. A buffer of device memory is one range.
 */
static int t3_timed_check_place(struct drm_file *file, const struct drm_t3_operand *user,
				const struct t3_operand *operand, size_t bytes, const char *name)
{
	u64 address, run = t3_bo_run(operand->bo, operand->offset, &address);
	bool host = operand->bo->kind != T3_BO_DEVICE;
	int ret = 0;

	if (user->offset % T3_TIMED_ALIGN ||
	    (host && user->offset % T3_PAGE_SIZE + bytes > T3_PAGE_SIZE))
		ret = t3_refuse(file, user, -EINVAL, offset, T3_TIMED_PLACE);
	else if (run < bytes || address % T3_TIMED_ALIGN)
		ret = t3_refuse(file, user, -EINVAL, offset, "where the import has a whole page");
	return t3_refused_in(file, ret, name);
}

/* The run would overwrite its own arguments, and could not be repeated. */
static bool t3_timed_overlap(const struct t3_command *command)
{
	u64 src = command->src.offset, dst = command->dst.offset;

	return command->src.bo == command->dst.bo && src < dst + sizeof(struct t3_timed_result) &&
	       dst < src + t3_timed_args_bytes(command);
}

/**
 * t3_timed_decode() - as t3_command_parse(), of a TIMED
 * @file: whose handles it names
 * @any: the command as user space gave it
 * @command: filled
 *
 * Return: 0, or an error that the comment of &struct drm_t3_timed lists.
 */
int t3_timed_decode(struct drm_file *file, const union drm_t3_any_command *any,
		    struct t3_command *command)
{
	const struct drm_t3_timed *user = &any->timed;
	int ret;

	ret = t3_check(file, user, t3_timed_rules);
	if (ret)
		return ret;
	if (!(t3_file_device(file)->caps.caps & T3_CAP_TIMED))
		return t3_explain(file, user, -EOPNOTSUPP, t3_timed_rules);
	command->row_bytes = user->counts * sizeof(u32);
	ret = t3_timed_get(file, user, command);
	if (ret)
		return ret;
	ret = t3_timed_check_place(file, &user->args, &command->src, t3_timed_args_bytes(command),
				   "args");
	if (ret)
		return ret;
	ret = t3_timed_check_place(file, &user->result, &command->dst,
				   sizeof(struct t3_timed_result), "result");
	if (ret)
		return ret;
	if (t3_timed_overlap(command))
		return t3_refuse(file, user, -EINVAL, result.offset, "no place that args overlaps");
	command->pieces = 1;
	return 0;
}

/**
 * t3_timed_build() - as t3_command_build(), of a TIMED
 * @command: from t3_timed_decode()
 * @step: the only one
 */
void t3_timed_build(struct t3_command *command, struct t3_step *step)
{
	step->descriptor = (struct t3_descriptor){
		.opcode = T3_DESC_TIMED,
		.src_kind = command->src.bo->kind == T3_BO_DEVICE ? T3_LOC_MEMORY : T3_LOC_HOST,
		.dst_kind = T3_LOC_HOST,
		.row_bytes = command->row_bytes,
		.src = t3_operand_address(&command->src),
		.dst = t3_operand_address(&command->dst),
	};
	step->dst = t3_bo_get(command->dst.bo);
	step->reads[0] = t3_bo_get(command->src.bo);
}
