/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The connections to other nodes in the fabric's `status` property. SPEC.md section 16.3. */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "qobject/qlist.h"
#include "nodes/peer_status.h"

static void put_word(QDict *dict, const char *key, const char *word)
{
	if (word)
		qdict_put_str(dict, key, word);
	else
		qdict_put_null(dict, key);
}

static void put_ranks(QDict *dict, uint32_t ranks)
{
	QList *list = qlist_new();

	for (; ranks; ranks &= ranks - 1)
		qlist_append_int(list, ctz32(ranks));
	qdict_put(dict, "ranks", list);
}

static QDict *direction(uint64_t frames, uint64_t bytes, uint64_t packets)
{
	QDict *dict = qdict_new();

	qdict_put_int(dict, "frames", frames);
	qdict_put_int(dict, "bytes", bytes);
	qdict_put_int(dict, "packets", packets);
	return dict;
}

/* Null: no packet was answered yet. */
static void put_round_trip(QDict *dict, const struct t3_peer_info *info)
{
	QDict *ns;

	if (!info->round_trips) {
		qdict_put_null(dict, "round-trip-ns");
		return;
	}
	ns = qdict_new();
	qdict_put_int(ns, "smoothed", info->rtt_ns);
	qdict_put_int(ns, "least", info->rtt_least_ns);
	qdict_put_int(ns, "most", info->rtt_most_ns);
	qdict_put_int(ns, "samples", info->round_trips);
	qdict_put(dict, "round-trip-ns", ns);
}

/* Uses the keys of the `inject` property. */
static QDict *injection(const struct t3_cmd_inject *what)
{
	bool random = what->kind == T3_INJECT_NODE_RANDOM;
	QDict *dict = qdict_new();

	qdict_put_str(dict, "kind", t3_name_node_fault(what->kind));
	qdict_put_int(dict, random ? "cut" : "nth", what->nth);
	qdict_put_int(dict, random ? "stall" : "count", what->count);
	qdict_put_int(dict, random ? "seed" : "ms", what->value);
	return dict;
}

static void put_injections(QDict *dict, const struct t3_peer *core)
{
	QList *list = qlist_new();
	struct t3_cmd_inject what;
	uint32_t kind;

	for (kind = T3_INJECT_NODE_CUT; kind < T3_INJECT_NODE_END; kind++)
		if (t3_peer_injection(core, kind, &what))
			qlist_append(list, injection(&what));
	qdict_put(dict, "injections", list);
}

QDict *t3_peer_status(T3Peer *peer, uint32_t node, uint32_t ranks)
{
	QDict *dict = qdict_new();
	T3PeerState look;

	t3_peer_get_state(peer, &look);
	qdict_put_int(dict, "node", node);
	put_ranks(dict, ranks);
	qdict_put_str(dict, "state", look.state);
	put_word(dict, "transport", look.transport);
	qdict_put_int(dict, "connections", look.info.connections);
	put_word(dict, "last-end", look.last_end);
	qdict_put(dict, "sent",
		  direction(look.info.sent, look.info.sent_bytes, look.info.sent_packets));
	qdict_put(dict, "received",
		  direction(look.info.received, look.info.received_bytes,
			    look.info.received_packets));
	qdict_put_int(dict, "lost", look.info.lost);
	qdict_put_int(dict, "refused", look.info.refused);
	qdict_put_int(dict, "queued-bytes", look.queued);
	qdict_put_int(dict, "queued-bytes-most", look.queued_most);
	put_round_trip(dict, &look.info);
	put_injections(dict, look.core);
	g_free(look.last_end);
	return dict;
}
