/* SPDX-License-Identifier: MIT */
#include "nodes.h"
#include "trail.h"

#define PIPE	    0x400000u /* bytes: more than can be under way */
#define SETTLE_MOST 400u      /* ticks */

/* From one node to another. */
struct pipe {
	struct t3_peer *from; /* at the node that sends */
	uint32_t source, target;
	struct host *host;
	uint8_t *data;
	size_t len;
	bool open;
	struct nodes_faults *faults;
	const char *why; /* the source closed it for this reason */
};

struct nodes {
	uint32_t count;
	uint64_t random;
	size_t bound, piece;
	uint64_t now; /* ns of real time */
	struct t3_fabric *fabric[T3_MAX_NODES];
	bool stopped[T3_MAX_NODES];
	struct pipe pipe[T3_MAX_NODES][T3_MAX_NODES];
};

#define for_pairs(nodes, a, b)                             \
	for ((a) = 0; (a) < (nodes)->count; (a)++)         \
		for ((b) = 0; (b) < (nodes)->count; (b)++) \
			if ((a) != (b))

uint32_t nodes_count(const struct host *host)
{
	return host->nodes->count;
}

uint32_t nodes_of(const struct host *host, uint32_t rank)
{
	return rank * host->nodes->count / host->ranks;
}

static uint32_t ranks_of(const struct host *host, uint32_t node)
{
	uint32_t rank, mask = 0;

	for (rank = 0; rank < host->ranks; rank++)
		if (nodes_of(host, rank) == node)
			mask |= 1u << rank;
	return mask;
}

/* -------------------------------------------------------------------- bytes */

static bool output(void *opaque, const void *data, size_t len, bool may_lose)
{
	struct pipe *pipe = opaque;

	if (!pipe->open || (may_lose && pipe->len > pipe->host->nodes->bound))
		return false;
	assert_true(pipe->len + len <= PIPE);
	memcpy(pipe->data + pipe->len, data, len);
	pipe->len += len;
	trail_add(data, len);
	return true;
}

static void fault(void *opaque, bool cut, uint32_t ms)
{
	struct pipe *pipe = opaque;
	struct nodes_faults *faults = pipe->faults;

	if (faults->count == NODES_FAULTS)
		return; /* a long run of a fuzzer, which does not look at them */
	faults->list[faults->count++] = (struct nodes_fault){
		.cut = cut,
		.ms = ms,
		.packets = nodes_info(pipe->host, pipe->source, pipe->target).sent_packets,
	};
}

static void mend(void *opaque, bool cut)
{
	struct pipe *pipe = opaque;

	pipe->faults->mended[cut]++;
}

static uint64_t now(void *opaque)
{
	const struct pipe *pipe = opaque;

	return pipe->host->nodes->now;
}

/* The target has found a reason to close, or has none. */
static void close_for(struct host *host, uint32_t node, uint32_t peer, const char *why)
{
	if (!why)
		return;
	host->nodes->pipe[node][peer].why = why;
	trail_text(why);
	nodes_cut(host, node, peer);
}

/* The target takes the first bytes. */
static void deliver(struct pipe *pipe)
{
	struct nodes *nodes = pipe->host->nodes;
	size_t most = host_below(&nodes->random, 4) ? nodes->piece : 12;
	size_t part = 1 + host_below(&nodes->random, (uint32_t)most);
	uint8_t *data;

	part = part < pipe->len ? part : pipe->len;
	data = malloc(part); /* so that a sanitizer sees its end */
	assert_non_null(data);
	memcpy(data, pipe->data, part);
	pipe->len -= part;
	memmove(pipe->data, pipe->data + part, pipe->len);
	close_for(pipe->host, pipe->target, pipe->source,
		  t3_peer_input(nodes->pipe[pipe->target][pipe->source].from, data, part));
	free(data);
}

static bool deliver_some(struct host *host)
{
	struct nodes *nodes = host->nodes;
	uint32_t from = host_below(&nodes->random, nodes->count * nodes->count), i;

	for (i = 0; i < nodes->count * nodes->count; i++) {
		uint32_t at = (from + i) % (nodes->count * nodes->count);
		struct pipe *pipe = &nodes->pipe[at / nodes->count][at % nodes->count];

		if (!pipe->len || nodes->stopped[pipe->target])
			continue;
		deliver(pipe);
		return true;
	}
	return false;
}

/* --------------------------------------------------------------------- time */

bool nodes_step(struct host *host)
{
	struct nodes *nodes = host->nodes;
	uint32_t node = host_below(&nodes->random, nodes->count), i;

	if (host_below(&nodes->random, 2) && deliver_some(host))
		return true;
	for (i = 0; i < nodes->count; i++) {
		uint32_t at = (node + i) % nodes->count;
		uint32_t before = (uint32_t)t3_fabric_next_ranks(nodes->fabric[at]);

		if (!before || nodes->stopped[at])
			continue;
		t3_fabric_run(nodes->fabric[at], 1 + host_below(&nodes->random, 20));
		return true;
	}
	return deliver_some(host);
}

void nodes_tick(struct host *host)
{
	struct nodes *nodes = host->nodes;
	uint32_t a, b;

	for_pairs(nodes, a, b)
	{
		if (!nodes->stopped[a])
			close_for(host, a, b, t3_peer_tick(nodes->pipe[a][b].from));
	}
}

void nodes_pass(struct host *host, uint64_t ns)
{
	host->nodes->now += ns;
}

void nodes_drain(struct host *host)
{
	uint32_t steps = 0;

	while (nodes_step(host))
		assert_true(++steps < 10000000);
}

/* The ranks, the switch, and its parts on other nodes. */
static bool is_still(const struct t3_fabric *fabric, uint32_t ends)
{
	struct t3_link_info info;
	uint32_t a, b;

	for (a = 0; a < ends; a++)
		for (b = 0; b < ends; b++)
			if (t3_fabric_link_info(fabric, a, b, &info) &&
			    (info.unanswered || info.waiting_control || info.waiting_segments))
				return false;
	return true;
}

static bool is_settled(struct host *host)
{
	bool has_switch = host->config.topology == T3_TOPOLOGY_SWITCH;
	uint32_t ends = has_switch ? T3_SWITCH_PART + host->nodes->count : host->ranks, node;

	for (node = 0; node < host->nodes->count; node++)
		if (!is_still(host->nodes->fabric[node], ends))
			return false;
	return true;
}

void nodes_settle(struct host *host)
{
	uint32_t ticks = 0;

	nodes_drain(host);
	while (!is_settled(host)) {
		assert_true(++ticks < SETTLE_MOST);
		nodes_tick(host);
		nodes_drain(host);
	}
}

/* -------------------------------------------------------------- connections */

void nodes_connect(struct host *host, uint32_t a, uint32_t b)
{
	struct nodes *nodes = host->nodes;

	nodes->pipe[a][b].open = nodes->pipe[b][a].open = true;
	t3_peer_connect(nodes->pipe[a][b].from);
	t3_peer_connect(nodes->pipe[b][a].from);
}

void nodes_cut(struct host *host, uint32_t a, uint32_t b)
{
	struct nodes *nodes = host->nodes;

	if (!nodes->pipe[a][b].open)
		return;
	nodes->pipe[a][b].open = nodes->pipe[b][a].open = false;
	nodes->pipe[a][b].len = nodes->pipe[b][a].len = 0;
	t3_peer_disconnect(nodes->pipe[a][b].from);
	t3_peer_disconnect(nodes->pipe[b][a].from);
}

void nodes_connect_all(struct host *host)
{
	uint32_t a, b;

	for_pairs(host->nodes, a, b)
	{
		if (a < b)
			nodes_connect(host, a, b);
	}
	nodes_drain(host);
	for_pairs(host->nodes, a, b)
	{
		assert_true(nodes_info(host, a, b).up);
	}
}

void nodes_stop(struct host *host, uint32_t node, bool stopped)
{
	host->nodes->stopped[node] = stopped;
}

void nodes_bound(struct host *host, size_t bytes)
{
	host->nodes->bound = bytes;
}

void nodes_piece(struct host *host, size_t bytes)
{
	host->nodes->piece = bytes;
}

/* --------------------------------------------------------------------- look */

struct t3_fabric *nodes_fabric(struct host *host, uint32_t rank)
{
	return host->nodes->fabric[nodes_of(host, rank)];
}

void nodes_check(struct host *host)
{
	uint32_t node;

	for (node = 0; node < host->nodes->count; node++)
		if (t3_fabric_check(host->nodes->fabric[node]))
			fail_msg("node %u: %s", node, t3_fabric_check(host->nodes->fabric[node]));
}

struct t3_peer *nodes_peer(struct host *host, uint32_t node, uint32_t peer)
{
	return host->nodes->pipe[node][peer].from;
}

void nodes_forget(struct host *host, uint32_t node, uint32_t peer)
{
	host->nodes->pipe[node][peer].from = NULL;
}

struct t3_peer_info nodes_info(struct host *host, uint32_t node, uint32_t peer)
{
	struct t3_peer_info info;

	t3_peer_info(nodes_peer(host, node, peer), &info);
	return info;
}

const struct nodes_faults *nodes_faults(const struct host *host, uint32_t node, uint32_t peer)
{
	return host->nodes->pipe[node][peer].faults;
}

const char *nodes_why(struct host *host, uint32_t node, uint32_t peer)
{
	return host->nodes->pipe[node][peer].why;
}

bool nodes_inject(struct host *host, const struct t3_cmd_inject *inject)
{
	return t3_fabric_inject(nodes_fabric(host, inject->rank), inject) == T3_ADMIN_OK;
}

/* --------------------------------------------------------------------- life */

static void no_kick(void *opaque)
{
	(void)opaque;
}

static void add_fabric(struct host *host, uint32_t node)
{
	static const struct t3_fabric_ops ops = { .kick = no_kick };
	uint32_t all = ~(uint32_t)0 >> (32 - host->ranks);
	struct t3_fabric_config config = {
		.timed = true,
		.switch_entries = host->switch_entries,
		.topology = host->config.topology,
		.ranks = host->ranks,
		.id = 0x1122334455667788ull,
		.remote = all & ~ranks_of(host, node),
	};

	host->nodes->fabric[node] = t3_fabric_new(&config, &ops, host);
	assert_non_null(host->nodes->fabric[node]);
}

static void add_peer(struct host *host, uint32_t node, uint32_t peer)
{
	static const struct t3_peer_ops ops = {
		.output = output, .fault = fault, .mend = mend, .now = now
	};
	struct pipe *pipe = &host->nodes->pipe[node][peer];
	struct t3_peer_config config = {
		.fabric = "one of the tests",
		.nodes = host->nodes->count,
		.own = node,
		.node = peer,
		.ranks = ranks_of(host, peer),
		.silence = T3_PEER_SILENCE,
	};

	pipe->host = host;
	pipe->source = node;
	pipe->target = peer;
	pipe->data = malloc(PIPE);
	pipe->faults = calloc(1, sizeof(*pipe->faults));
	pipe->from = t3_peer_new(host->nodes->fabric[node], &config, &ops, pipe);
	assert_true(pipe->data && pipe->faults && pipe->from);
}

static struct host *make(const struct host_config *config, uint32_t entries, uint32_t count,
			 uint64_t seed)
{
	struct host *host = calloc(1, sizeof(*host));
	uint32_t i, a, b;

	assert_non_null(host);
	host->nodes = calloc(1, sizeof(*host->nodes));
	assert_non_null(host->nodes);
	host->config = *config;
	host->ranks = config->ranks;
	host->switch_entries = entries;
	host->nodes->count = count;
	host->nodes->random = seed * 0x9e3779b97f4a7c15ull + 1;
	host->nodes->bound = PIPE / 2;
	host->nodes->piece = 4000;
	for (i = 0; i < count; i++)
		add_fabric(host, i);
	for_pairs(host->nodes, a, b)
	{
		add_peer(host, a, b);
	}
	host_add_devices(host);
	return host;
}

struct host *nodes_new(const struct host_config *config, uint32_t count, uint64_t seed)
{
	return make(config, 0, count, seed);
}

struct host *nodes_switch(uint32_t ranks, uint32_t entries, uint32_t count, uint64_t seed)
{
	struct host_config config = { T3_TOPOLOGY_SWITCH, ranks, 256, 8, T3_KEYS_FABRIC };
	struct host *host = make(&config, entries, count, seed);

	nodes_connect_all(host);
	return host;
}

void nodes_free(struct host *host)
{
	uint32_t i, a, b;

	for_pairs(host->nodes, a, b)
	{
		t3_peer_free(host->nodes->pipe[a][b].from);
		free(host->nodes->pipe[a][b].data);
		free(host->nodes->pipe[a][b].faults);
	}
	for (i = 0; i < host->nodes->count; i++)
		t3_fabric_free(host->nodes->fabric[i]);
	free(host->nodes);
}
