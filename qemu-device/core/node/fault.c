/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fault injection at the connection to another node. SPEC.md section 12.4. */
#include "node/node.h"

#define RANDOM_STALL 100u /* ms; the longest stall of NODE_RANDOM, the shortest is 1 */

const char *t3_name_node_fault(uint32_t kind)
{
	static const char *const names[] = { "node-cut", "node-stall", "node-random" };

	return kind >= T3_INJECT_NODE_CUT && kind < T3_INJECT_NODE_END
		       ? names[kind - T3_INJECT_NODE_CUT]
		       : "?";
}

/* ---------------------------------------------------------------- injecting */

static struct t3_peer *peer_of_node(const struct t3_fabric *fabric, uint32_t node)
{
	return node < T3_MAX_NODES ? fabric->peer[T3_SWITCH_PART + node] : NULL;
}

/* An injection that removes one may have any count and value. */
static bool counted_fits(const struct t3_cmd_inject *inject)
{
	uint64_t least = inject->kind == T3_INJECT_NODE_STALL ? 1 : 0;

	return !inject->nth ||
	       (inject->count && inject->value >= least && inject->value <= T3_NODE_FAULT_MOST_MS);
}

static bool values_fit(const struct t3_cmd_inject *inject)
{
	if (inject->mbz || inject->rank || inject->address)
		return false;
	if (inject->kind != T3_INJECT_NODE_RANDOM)
		return counted_fits(inject);
	return inject->nth < T3_INJECT_CHANCE && inject->count < T3_INJECT_CHANCE;
}

static void set_counted(struct t3_injection *injection, uint32_t *ms,
			const struct t3_cmd_inject *inject)
{
	injection->nth = inject->nth;
	injection->count = inject->nth ? inject->count : 0;
	*ms = (uint32_t)inject->value;
}

/* Each direction of each connection gets its own random sequence from the same seed. */
static void set_random(struct t3_peer *peer, const struct t3_cmd_inject *inject)
{
	uint64_t place = peer->config.own * T3_MAX_NODES + peer->config.node + 1;
	uint64_t state = inject->value ^ place * 0x9e3779b97f4a7c15ull;

	peer->injected.cut_chance = inject->nth;
	peer->injected.stall_chance = inject->count;
	peer->injected.seed = inject->value;
	peer->injected.random = state ? state : 1;
}

uint32_t t3_node_inject(struct t3_fabric *fabric, const struct t3_cmd_inject *inject)
{
	struct t3_peer *peer = peer_of_node(fabric, inject->peer);
	struct t3_node_injection *injected;

	if (!peer)
		return T3_ADMIN_NO_ROUTE;
	if (!values_fit(inject))
		return T3_ADMIN_BAD_VALUE;
	t3_remote_end_bursts(peer);
	injected = &peer->injected;
	if (inject->kind != T3_INJECT_NODE_RANDOM && !inject->nth && peer->ops.mend)
		peer->ops.mend(peer->opaque, inject->kind == T3_INJECT_NODE_CUT);
	if (inject->kind == T3_INJECT_NODE_CUT)
		set_counted(&injected->cut, &injected->cut_ms, inject);
	else if (inject->kind == T3_INJECT_NODE_STALL)
		set_counted(&injected->stall, &injected->stall_ms, inject);
	else
		set_random(peer, inject);
	return T3_ADMIN_OK;
}

static bool describe_counted(const struct t3_injection *injection, uint32_t ms,
			     struct t3_cmd_inject *inject)
{
	inject->nth = injection->nth;
	inject->count = injection->count;
	inject->value = ms;
	return injection->nth;
}

bool t3_peer_injection(const struct t3_peer *peer, uint32_t kind, struct t3_cmd_inject *inject)
{
	const struct t3_node_injection *injected = &peer->injected;

	*inject = (struct t3_cmd_inject){ .kind = kind, .peer = peer->config.node };
	if (kind == T3_INJECT_NODE_CUT)
		return describe_counted(&injected->cut, injected->cut_ms, inject);
	if (kind == T3_INJECT_NODE_STALL)
		return describe_counted(&injected->stall, injected->stall_ms, inject);
	inject->nth = injected->cut_chance;
	inject->count = injected->stall_chance;
	inject->value = injected->seed;
	return kind == T3_INJECT_NODE_RANDOM && (inject->nth || inject->count);
}

/* ------------------------------------------------------------------ hitting */

static bool by_chance(struct t3_node_injection *injected, uint32_t chance)
{
	return t3_random_next(&injected->random) >> 48 < chance;
}

static bool is_random(const struct t3_node_injection *injected)
{
	return injected->cut_chance || injected->stall_chance;
}

bool t3_node_any_injected(const struct t3_peer *peer)
{
	const struct t3_node_injection *injected = &peer->injected;

	return injected->cut.nth || injected->stall.nth || is_random(injected);
}

static void hit(struct t3_peer *peer, uint32_t rank, bool cut, uint32_t ms)
{
	t3_count_injected(peer->fabric, rank);
	if (peer->ops.fault)
		peer->ops.fault(peer->opaque, cut, ms);
}

static void stall(struct t3_peer *peer, uint32_t rank)
{
	struct t3_node_injection *injected = &peer->injected;
	uint32_t ms = 0;

	if (t3_injection_hits(&injected->stall))
		ms = injected->stall_ms;
	if (is_random(injected) && by_chance(injected, injected->stall_chance))
		ms += 1 + (uint32_t)(t3_random_next(&injected->random) % RANDOM_STALL);
	if (ms)
		hit(peer, rank, false, ms);
}

/* Evaluates both: skipping one would change when the other one hits. */
static bool cut(struct t3_peer *peer, uint32_t rank)
{
	struct t3_node_injection *injected = &peer->injected;
	bool counted = t3_injection_hits(&injected->cut);
	bool drawn = is_random(injected) && by_chance(injected, injected->cut_chance);

	if (!counted && !drawn)
		return false;
	injected->is_cut = peer->ops.fault;
	hit(peer, rank, true, counted ? injected->cut_ms : 0);
	return injected->is_cut;
}

/* Packets are counted while there is a connection, so that the same ones are hit in each run. */
bool t3_node_fault_hits(struct t3_peer *peer, uint32_t rank)
{
	if (!peer->info.up || peer->injected.is_cut)
		return peer->injected.is_cut;
	stall(peer, rank);
	return cut(peer, rank);
}
