/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output to another node: by a thread that writes to the socket, or at once into shared memory.
 */
#include "qemu/osdep.h"
#include "qemu/thread.h"
#include "qemu/units.h"
#include "nodes/peer_private.h"
#include "trace.h"

/* Frames of links are lost when so much waits: all slots of some links. */
#define T3_QUEUE_USUAL (2 * MiB)
/* The rest ends the connection: a guest may reset its devices as often as it likes. */
#define T3_QUEUE_MOST (16 * MiB)

static void append(T3Peer *peer, const void *data, size_t len)
{
	if (!peer->queue->len)
		qemu_cond_broadcast(&peer->changed);
	g_byte_array_append(peer->queue, data, len);
	peer->queued_most = MAX(peer->queued_most, peer->queue->len);
}

size_t t3_peer_queued(const T3Peer *peer)
{
	return peer->queue->len + (peer->shm ? t3_shm_waiting(peer->shm) : 0);
}

/* With the mutex. */
static bool is_stalled(const T3Peer *peer)
{
	return peer->stall_until && get_clock() < peer->stall_until;
}

static bool output_shared(T3Peer *peer, const void *data, size_t len, size_t most)
{
	bool wake = false;
	bool fits = t3_shm_write(peer->shm, data, len, most, is_stalled(peer), &wake);

	if (wake)
		t3_shm_wake(peer->shm);
	peer->queued_most = MAX(peer->queued_most, t3_shm_waiting(peer->shm));
	if (t3_shm_is_wrong(peer->shm))
		t3_peer_break(peer, "the other node's index in the shared memory is impossible");
	return fits;
}

static bool output_socket(T3Peer *peer, const void *data, size_t len, size_t most)
{
	bool fits = peer->queue->len + len <= most;

	if (fits)
		append(peer, data, len);
	return fits;
}

static bool output(void *opaque, const void *data, size_t len, bool may_lose)
{
	T3Peer *peer = opaque;
	size_t most = may_lose ? T3_QUEUE_USUAL : T3_QUEUE_MOST;
	bool fits;

	QEMU_LOCK_GUARD(&peer->mutex);
	if (peer->broken)
		return false;
	fits = peer->moved ? output_shared(peer, data, len, most)
			   : output_socket(peer, data, len, most);
	if (!fits && !may_lose)
		t3_peer_break(peer, "the other node reads nothing");
	if (!fits)
		trace_t3_node_queue_full(peer->node, t3_peer_queued(peer), may_lose);
	return fits;
}

static uint64_t now(void *opaque)
{
	return (uint64_t)get_clock();
}

static void fault(void *opaque, bool cut, uint32_t ms)
{
	T3Peer *peer = opaque;
	int64_t until = get_clock() + (int64_t)ms * SCALE_MS;

	trace_t3_node_fault(peer->node, cut ? "cut" : "stall", ms);
	QEMU_LOCK_GUARD(&peer->mutex);
	if (cut) {
		peer->cut_until = until;
		t3_peer_break(peer, "a fault was injected: node-cut");
	} else {
		peer->stall_until = MAX(peer->stall_until, until);
	}
}

static void mend(void *opaque, bool cut)
{
	T3Peer *peer = opaque;

	QEMU_LOCK_GUARD(&peer->mutex);
	if (cut)
		peer->cut_until = 0;
	else
		peer->stall_until = 0;
	qemu_cond_broadcast(&peer->changed);
}

const struct t3_peer_ops t3_peer_output_ops = {
	.output = output,
	.fault = fault,
	.mend = mend,
	.now = now,
};

/* With the mutex: waits for something to write, and for the end of a stall. */
static void wait_for_output(T3Peer *peer)
{
	int64_t left = peer->stall_until - get_clock();

	if (!peer->queue->len)
		qemu_cond_wait(&peer->changed, &peer->mutex);
	else if (left > 0)
		qemu_cond_timedwait(&peer->changed, &peer->mutex, (int)(left / SCALE_MS) + 1);
}

static bool may_write(const T3Peer *peer)
{
	return peer->broken || (peer->queue->len ? !is_stalled(peer) : peer->ending);
}

/* NULL: the connection ends, or all is written and nothing more is to be. */
static GByteArray *next_output(T3Peer *peer)
{
	GByteArray *full = NULL;

	QEMU_LOCK_GUARD(&peer->mutex);
	while (!may_write(peer))
		wait_for_output(peer);
	if (!peer->broken && peer->queue->len) {
		full = peer->queue;
		peer->queue = g_byte_array_new();
	}
	return full;
}

/*
 * The memory is offered with the greeting, which comes first. A node that knows nothing of it does
 * not see it.
 */
void *t3_peer_run_writer(void *opaque)
{
	T3Peer *peer = opaque;
	int fd = peer->shm ? t3_shm_fd(peer->shm) : -1;
	GByteArray *full;
	bool good = true;

	while (good && (full = next_output(peer))) {
		good = t3_connection_write(peer->conn, full->data, full->len, fd);
		g_byte_array_unref(full);
		fd = -1;
	}
	QEMU_LOCK_GUARD(&peer->mutex);
	peer->written = good;
	qemu_cond_broadcast(&peer->changed);
	return NULL;
}

void t3_peer_flush(T3Peer *peer)
{
	bool wake = false;

	QEMU_LOCK_GUARD(&peer->mutex);
	if (peer->broken || !t3_shm_waiting(peer->shm) || is_stalled(peer))
		return;
	t3_shm_flush(peer->shm, &wake);
	if (wake)
		t3_shm_wake(peer->shm);
}
