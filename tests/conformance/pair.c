// SPDX-License-Identifier: MIT
#include "pair.h"

void pair_prepare(struct conf *c, struct pair *pair, uint8_t kind)
{
	conf_space_create(c, conf_device(c, 1), &pair->target, 4 * T3_PAGE_SIZE, 64);
	conf_space_create(c, conf_device(c, 0), &pair->source, 4 * T3_PAGE_SIZE, 64);
	conf_connect(c, &pair->source, 0, &pair->target, 0);
	pair->to = conf_segment(&pair->target, 0);
	pair->from = conf_segment(&pair->source, 0);
	pair->from.kind = kind;
	pair->from.routes = 1;
	pair->from.target_op = T3_OP_ADD;
	if (kind == T3_SEG_REMOTE)
		pair->from.op = pair->from.init = 0;
}

void pair_map(struct conf *c, struct pair *pair)
{
	conf_map(c, &pair->target, &pair->to);
	conf_map(c, &pair->source, &pair->from);
}

void pair_arm(struct conf *c, struct pair *pair, uint32_t epoch)
{
	conf_arm_wait(c, &pair->target, epoch);
	conf_arm_wait(c, &pair->source, epoch);
}

void pair_ready(struct conf *c, struct pair *pair, uint8_t kind)
{
	pair_prepare(c, pair, kind);
	pair_map(c, pair);
	pair_arm(c, pair, 1);
}

void pair_store(struct conf_space *s, uint32_t first)
{
	for (uint32_t i = 0; i < 16; i += 2)
		conf_store(s, 4 * i, 8, (uint64_t)(first + i + 1) << 32 | (first + i));
}

void pair_check(struct conf *c, struct conf_space *s, uint32_t first, const char *what)
{
	for (uint32_t i = 0; i < 16; i++)
		CHECK_EQUAL(c, what, conf_buffer(s, 4 * i, 4), first + i);
}
