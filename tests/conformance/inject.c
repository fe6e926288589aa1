// SPDX-License-Identifier: MIT
#include "inject.h"

#include "run.h"

void inject_needed(struct conf *c, struct conf_device *d)
{
	if (!(conf_reg(d, T3_REG_CAPS) & T3_CAP_INJECT))
		conf_skip(c, "needs CAPS.INJECT: a device with guest-inject=on");
}

uint32_t inject_try(struct conf *c, struct conf_device *d, struct t3_cmd_inject args)
{
	inject_needed(c, d);
	c->injected = true;
	args.rank = d->rank;
	return conf_admin(d, T3_CMD_INJECT, &args, sizeof(args));
}

void inject(struct conf *c, struct conf_device *d, struct t3_cmd_inject args)
{
	CHECK_EQUAL(c, "status of INJECT", inject_try(c, d, args), T3_ADMIN_OK);
}

/* ------------------------------------------------------------------ cleaning */

/* A command about a link that does not exist is refused and does no harm. */
static void cancel(struct conf_device *d, uint32_t kind, uint32_t peer)
{
	struct t3_cmd_inject args = { .kind = kind, .rank = d->rank, .peer = peer };

	conf_admin(d, T3_CMD_INJECT, &args, sizeof(args));
}

static void cancel_link(struct conf_device *d, uint32_t peer)
{
	for (uint32_t kind = T3_INJECT_DROP; kind <= T3_INJECT_DROP_RESPONSE; kind++)
		cancel(d, kind, peer);
	cancel(d, T3_INJECT_LINK_RANDOM, peer);
	cancel(d, T3_INJECT_LINK_UP, peer);
}

static void cancel_all(struct conf_device *d)
{
	for (uint32_t peer = 0; peer < d->ranks; peer++)
		cancel_link(d, peer);
	cancel_link(d, T3_SWITCH_RANK);
	cancel(d, T3_INJECT_UNPOISON, 0);
	cancel(d, T3_INJECT_LOSE_IRQ, 0);
	cancel(d, T3_INJECT_FAIL_DMA, 0);
}

void conf_inject_clear(struct conf *c)
{
	for (unsigned i = 0; c->injected && i < c->count; i++)
		if (conf_reg(&c->device[i], T3_REG_CAPS) & T3_CAP_INJECT)
			cancel_all(&c->device[i]);
	c->injected = false;
}
