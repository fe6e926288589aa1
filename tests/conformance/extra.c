// SPDX-License-Identifier: MIT
/* Capabilities that only some hosts have: enum conf_capability. */
#include "run.h"

static bool all_inject(struct conf *c, unsigned devices)
{
	for (unsigned i = 0; i < devices; i++)
		if (!(conf_reg(&c->device[i], T3_REG_CAPS) & T3_CAP_INJECT))
			return false;
	return true;
}

static bool all_switched(struct conf *c, unsigned devices)
{
	for (unsigned i = 0; i < devices; i++)
		if (c->device[i].topology != T3_TOPOLOGY_SWITCH)
			return false;
	return true;
}

const char *conf_lacks(struct conf *c, unsigned devices, unsigned needs)
{
	if (needs & CONF_STEP && !conf_extra.step)
		return "needs STEP: a host that does the devices' work event by event";
	if (needs & CONF_WATCH && !conf_extra.watch)
		return "needs WATCH: a host that sees each DMA write and interrupt";
	if (needs & CONF_TRACKER && !conf_extra.tracker)
		return "needs TRACKER: a host that makes devices with another tracker";
	if (needs & CONF_INJECT && !all_inject(c, devices))
		return "needs CAPS.INJECT: devices with guest-inject=on";
	if (needs & CONF_SWITCH && !all_switched(c, devices))
		return "needs SWITCH: devices whose fabric has topology=switch";
	return NULL;
}

void conf_hold(struct conf *c)
{
	c->held = true;
	conf_extra.hold(c, true);
}

bool conf_step(struct conf *c, unsigned events)
{
	return conf_extra.step(c, events);
}

void conf_let_go(struct conf *c)
{
	while (c->held && conf_extra.step(c, 1000))
		;
	conf_extra.hold(c, false);
	c->held = false;
}

void conf_watch(struct conf_device *d, uint64_t offset)
{
	conf_extra.watch(d, offset);
}

unsigned conf_watched(struct conf_device *d, const struct conf_action **actions)
{
	return conf_extra.watched(d, actions);
}

void conf_tracker(struct conf *c, struct conf_device *d, uint32_t entries, uint32_t ways)
{
	d->remade = true;
	CHECK(c, conf_extra.tracker(d, entries, ways), "no device with %u x %u entries", entries,
	      ways);
	d->memory_used = d->aperture_used = 0;
	d->spaces_used = 0;
}

/* After a test: all devices go on, and are as they were made at first. */
void conf_extra_restore(struct conf *c)
{
	if (c->held)
		conf_let_go(c);
	for (unsigned i = 0; i < c->count; i++) {
		if (c->device[i].remade)
			conf_extra.tracker(&c->device[i], 0, 0);
		c->device[i].remade = false;
	}
}
