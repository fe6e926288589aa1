/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fault injection: checks a command and sets the fault. SPEC.md section 12. */
#include "front/front.h"

/* ----------------------------------------------------------------- arguments */

enum target { AT_LINK, AT_RANK, AT_MEMORY, AT_QUEUE };

/* The target of a kind, and the other fields that it uses. All others must be zero. */
struct rule {
	enum target target;
	bool counted; /* nth, count */
	bool value;
};

static enum target target_of(uint32_t keys)
{
	if (keys >> T3_INJECT_KEY_PEER & 1)
		return AT_LINK;
	if (keys >> T3_INJECT_KEY_ADDRESS & 1)
		return AT_MEMORY;
	return keys >> T3_INJECT_KEY_QUEUE & 1 ? AT_QUEUE : AT_RANK;
}

static struct rule rule_of(uint32_t kind)
{
	uint32_t keys = t3_inject_rule(kind)->needs | t3_inject_rule(kind)->takes;

	return (struct rule){
		.target = target_of(keys),
		.counted = keys >> T3_INJECT_KEY_COUNT & 1,
		.value = (keys >> T3_INJECT_KEY_VALUE | keys >> T3_INJECT_KEY_SEED) & 1,
	};
}

/* A command that cancels an injection may have any count and value. */
static bool values_fit(const struct rule *rule, const struct t3_cmd_inject *inject)
{
	bool random = inject->kind == T3_INJECT_LINK_RANDOM;

	if (inject->mbz || (inject->address && rule->target != AT_MEMORY) ||
	    (inject->peer && rule->target != AT_LINK && rule->target != AT_QUEUE))
		return false;
	if (rule->counted && !inject->nth)
		return true;
	if (rule->counted ? !inject->count : inject->count != 0)
		return false;
	if (!rule->counted && inject->nth >= (random ? T3_INJECT_CHANCE : 1))
		return false;
	if (inject->kind == T3_INJECT_DELAY)
		return inject->value && inject->value <= T3_INJECT_MAX_DELAY;
	return rule->value || !inject->value;
}

static uint32_t check(const struct t3_fabric *fabric, const struct t3_cmd_inject *inject)
{
	struct rule rule;

	if (!inject->kind || inject->kind >= T3_INJECT_KIND_COUNT)
		return T3_ADMIN_BAD_VALUE;
	rule = rule_of(inject->kind);
	if (rule.target == AT_LINK &&
	    (inject->rank > T3_SWITCH_RANK || inject->peer >= T3_FABRIC_ENDS ||
	     t3_rank_is_remote(fabric, inject->rank) || !fabric->link[inject->rank][inject->peer]))
		return T3_ADMIN_NO_ROUTE;
	if (inject->kind == T3_INJECT_PORT_RESET && !fabric->sw)
		return T3_ADMIN_NO_ROUTE;
	if (inject->rank == T3_SWITCH_RANK &&
	    (rule.target == AT_LINK || inject->kind == T3_INJECT_PORT_RESET))
		return values_fit(&rule, inject) ? T3_ADMIN_OK : T3_ADMIN_BAD_VALUE;
	if (inject->rank >= fabric->config.ranks || fabric->config.remote >> inject->rank & 1 ||
	    !values_fit(&rule, inject))
		return T3_ADMIN_BAD_VALUE;
	return T3_ADMIN_OK;
}

/* ------------------------------------------------------------------- setting */

static void set_counted(struct t3_injection *injection, const struct t3_cmd_inject *inject)
{
	injection->nth = inject->nth;
	injection->count = inject->nth ? inject->count : 0;
}

/* Each link gets its own random sequence from the same seed. */
static void set_random(struct t3_link *link, const struct t3_cmd_inject *inject)
{
	/* Links of the switch are behind all others, and its parts on other nodes behind them. */
	uint64_t place = link->to < T3_MAX_RANKS ? link->src * T3_MAX_RANKS + link->dst + 1
						 : (link->to + 1) * T3_MAX_RANKS + link->src + 1;
	uint64_t state = inject->value ^ place * 0x9e3779b97f4a7c15ull;

	link->injected.chance = inject->nth;
	link->injected.random = state ? state : 1;
}

static void set_down(struct t3_link *link, bool down)
{
	const struct t3_dev *dev = link->fabric->dev[link->src];

	if (dev && dev->ops.trace_link && link->injected.down != down)
		dev->ops.trace_link(dev->opaque, link->dst, down);
	link->injected.down = down;
}

/* A fault hits a packet, and not a burst. */
static uint32_t inject_link(struct t3_link *link, const struct t3_cmd_inject *inject)
{
	t3_burst_end_all(link);
	switch (inject->kind) {
	case T3_INJECT_LINK_DOWN:
	case T3_INJECT_LINK_UP:
		set_down(link, inject->kind == T3_INJECT_LINK_DOWN);
		break;
	case T3_INJECT_LINK_RANDOM:
		set_random(link, inject);
		break;
	default:
		set_counted(&link->injected.counted[inject->kind], inject);
		if (inject->kind == T3_INJECT_DELAY)
			link->injected.delay = inject->value;
		break;
	}
	return T3_ADMIN_OK;
}

static uint32_t inject_memory(struct t3_fabric *fabric, const struct t3_cmd_inject *inject)
{
	struct t3_rank_injection *injected = &fabric->injected[inject->rank];
	const struct t3_dev *dev = fabric->dev[inject->rank];
	uint64_t size = dev ? dev->config.memory_size : T3_NONE64 - T3_NONE64 % T3_POISON_GRANULE;
	bool add = inject->kind == T3_INJECT_POISON;

	if (inject->address % T3_POISON_GRANULE || inject->value % T3_POISON_GRANULE)
		return T3_ADMIN_BAD_VALUE;
	if (!inject->value && (add || inject->address))
		return T3_ADMIN_BAD_VALUE;
	if (!inject->value) {
		injected->poisons = 0;
		return T3_ADMIN_OK;
	}
	if (inject->address > size || inject->value > size - inject->address)
		return T3_ADMIN_BAD_RANGE;
	return (add ? t3_poison_add : t3_poison_remove)(injected, inject->address,
							inject->address + inject->value);
}

static uint32_t inject_queue(struct t3_fabric *fabric, const struct t3_cmd_inject *inject)
{
	struct t3_dev *dev = fabric->dev[inject->rank];

	if (!dev || inject->peer >= T3_MAX_QUEUES ||
	    t3_queues(dev)->queue[inject->peer].state == T3_QUEUE_FREE)
		return T3_ADMIN_BAD_QUEUE;
	t3_queue_hang(dev, inject->peer, inject->kind == T3_INJECT_HANG_QUEUE);
	return T3_ADMIN_OK;
}

uint32_t t3_inject(struct t3_fabric *fabric, const struct t3_cmd_inject *inject)
{
	struct t3_rank_injection *injected;
	uint32_t status = check(fabric, inject);

	if (status != T3_ADMIN_OK)
		return status;
	t3_gang_host(fabric);
	if (inject->kind == T3_INJECT_PORT_RESET) {
		t3_switch_reset(fabric->sw, inject->rank);
		return T3_ADMIN_OK;
	}
	if (inject->rank == T3_SWITCH_RANK)
		return inject_link(fabric->link[inject->rank][inject->peer], inject);
	injected = &fabric->injected[inject->rank];
	switch (rule_of(inject->kind).target) {
	case AT_LINK:
		return inject_link(fabric->link[inject->rank][inject->peer], inject);
	case AT_MEMORY:
		return inject_memory(fabric, inject);
	case AT_QUEUE:
		return inject_queue(fabric, inject);
	default:
		set_counted(inject->kind == T3_INJECT_LOSE_IRQ ? &injected->irq : &injected->dma,
			    inject);
		return T3_ADMIN_OK;
	}
}
