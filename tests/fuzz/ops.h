/* SPDX-License-Identifier: MIT */
/*
 * Operation codes of the targets' inputs, for the targets and for seeds.c. New ones
 * go to the end: the corpus is made of these numbers.
 */
#ifndef T3_FUZZ_OPS_H
#define T3_FUZZ_OPS_H

enum op_regs {
	OP_REG_READ,
	OP_REG_WRITE,
	OP_RAW_READ,
	OP_RAW_WRITE,
	OP_ADMIN,
	OP_BUILD,
	OP_DOORBELL_WRITE,
	OP_DOORBELL_READ,
	OP_ARM,
	OP_ARM_ALL,
	OP_RELEASE,
	OP_TILE,
	OP_STORE,
	OP_FILL,
	OP_LOAD,
	OP_RAW_STORE,
	OP_SCRIBBLE,
	OP_SCRIBBLE_RECORD,
	OP_RESET,
	OP_REPLUG,
	OP_BUDGET,
	OP_EVENTS,
	OP_DMA_FAILS,
	OP_INJECT,
	OP_HOSTILE,
	OP_REGS_COUNT
};

enum op_packet {
	OP_PKT_UPDATE,
	OP_PKT_CONTROL,
	OP_PKT_RAW,
	OP_PKT_FILL,
	OP_PKT_ARM,
	OP_PKT_RELEASE,
	OP_PKT_EVENTS,
	OP_PKT_COMMAND,
	OP_PACKET_COUNT
};

#endif
