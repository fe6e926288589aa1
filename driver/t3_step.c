// SPDX-License-Identifier: GPL-2.0-only
/*
 * The steps of a job, after the device has done them or failed to.
 */
#include "t3_command.h"

static u64 t3_step_end(u64 start, u64 pitch, const struct t3_descriptor *descriptor)
{
	return start + (descriptor->rows - 1) * pitch + descriptor->row_bytes;
}

/* A space counts each store; and a space of a device that was reset does not exist any more. */
static bool t3_gemm_repeatable(const struct t3_step *step)
{
	return step->descriptor.dst_kind == T3_LOC_MEMORY && step->dst != step->reads[0] &&
	       step->dst != step->reads[1];
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
	if (d->opcode == T3_DESC_UPDATE &&
	    (d->op == T3_OP_ADD || d->op == T3_OP_XOR || d->op == T3_OP_MUL))
		return false;
	if (d->src_kind != d->dst_kind)
		return true;
	if (d->src_kind == T3_LOC_HOST)
		return false;
	return t3_step_end(d->src, d->src_pitch, d) <= d->dst ||
	       t3_step_end(d->dst, d->dst_pitch, d) <= d->src;
}

/*
 * The driver's part of the descriptor is right, so T3_DESC_BAD_DESCRIPTOR means bad arguments of
 * the run. -ECANCELED: another rank of the gang has failed.
 */
static int t3_timed_error(int status)
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
