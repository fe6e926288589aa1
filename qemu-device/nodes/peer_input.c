/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Input from another node: by the socket first, and then in shared memory, if there is one. */
#include "qemu/osdep.h"
#include "qemu/processor.h"
#include "qemu/units.h"
#include "nodes/peer_private.h"
#include "trace.h"

#define T3_READ_BYTES (64 * KiB)
/* A machine that is stopped looks so often whether the connection has ended. */
#define T3_STOPPED_MS 200
/*
 * A reader of shared memory looks for so long before it sleeps, about as long as it takes to be
 * woken on the same CPU. Two readers that answer each other are often on one CPU: each look of the
 * one keeps the other from its answer. With 10 us a ping-pong took twice as long, and bulk was no
 * faster; without looks, bulk took twice as long (tools/t3/bench/README.md).
 */
#define T3_SPIN_NS 3000
/* So many pieces of shared memory are read before a look whether the socket has ended. */
#define T3_LOOK_PIECES 64
/* The longest sleep of a reader: the other node may have been killed. */
#define T3_SLEEP_MS 100

#define T3_CLOSED "the other node has closed the connection"

void t3_peer_enter(T3Peer *peer)
{
	T3Fabric *fabric = peer->fabric;
	bool ends = false;

	for (;;) {
		t3_fabric_enter(fabric);
		if (fabric->events.running)
			return;
		WITH_QEMU_LOCK_GUARD(&peer->mutex)
		ends = peer->stop || peer->broken;
		if (ends)
			return;
		t3_fabric_leave(fabric);
		WITH_QEMU_LOCK_GUARD(&peer->mutex)
		qemu_cond_timedwait(&peer->changed, &peer->mutex, T3_STOPPED_MS);
	}
}

/* Interrupts were raised, or a store that waits may go on. */
static void announce(T3Fabric *fabric)
{
	if (qatomic_read(&fabric->raised))
		t3_events_deliver_later(fabric);
	t3_store_wait_wake(&fabric->store_wait);
}

void t3_peer_leave(T3Peer *peer)
{
	t3_fabric_leave(peer->fabric);
	announce(peer->fabric);
}

/*
 * Between enter and leave. This node's frames move when the other one's have, or with the greeting,
 * if the other one has offered the memory.
 */
static void move_output(T3Peer *peer)
{
	if (!peer->shm || peer->moved || (peer->address && !t3_peer_moved(peer->core)) ||
	    !t3_peer_move(peer->core))
		return;
	trace_t3_node_shared(peer->node);
	QEMU_LOCK_GUARD(&peer->mutex);
	peer->moved = true;
	peer->transport = "shared-memory";
}

/*
 * NULL, or why the connection is to end. What the input has begun is done by this thread at once, as
 * an access does it: another one would have to wake up first, and has not the data in its cache.
 */
static const char *take_input(T3Peer *peer, const void *data, size_t len)
{
	T3Fabric *fabric = peer->fabric;
	const char *why;
	uint32_t budget;

	t3_peer_enter(peer);
	t3_events_begin_access(fabric);
	why = t3_peer_input(peer->core, data, len);
	move_output(peer);
	budget = t3_events_end_access(fabric, false);
	t3_fabric_leave(fabric);
	if (budget)
		t3_events_run_input(fabric, budget);
	announce(fabric);
	return why;
}

/* Until the connection ends, or the other node's frames have moved. */
static const char *read_socket(T3Peer *peer)
{
	g_autofree char *data = g_malloc(T3_READ_BYTES);
	const char *why = NULL;
	ssize_t len;

	if (peer->conn->greeted)
		why = take_input(peer, peer->conn->greeting, sizeof(peer->conn->greeting));
	while (!why && !t3_peer_moved(peer->core)) {
		len = t3_connection_read(peer->conn, data, T3_READ_BYTES);
		why = len > 0 ? take_input(peer, data, len) : T3_CLOSED;
	}
	return why;
}

/* ------------------------------------------------------------ shared memory */

/* True: something has come, or can never come. */
static bool has_input(const struct t3_pipe *in)
{
	const uint8_t *data;
	uint32_t bytes;

	return !t3_pipe_look(in, &data, &bytes) || bytes;
}

/* False: the socket has ended. It is looked at when nothing has come for long. */
static bool sleep_for_input(T3Peer *peer, struct t3_pipe *in)
{
	int64_t end = get_clock() + T3_SPIN_NS;

	do {
		if (has_input(in))
			return true;
		cpu_relax();
	} while (get_clock() < end);
	t3_pipe_sleep(in);
	t3_peer_flush(peer);
	if (!has_input(in))
		t3_shm_sleep(peer->shm, T3_SLEEP_MS);
	t3_pipe_awake(in);
	return has_input(in) || !t3_connection_has_ended(peer->conn);
}

/* The core copies the bytes before it looks at them. */
static const char *read_shared(T3Peer *peer)
{
	struct t3_pipe *in = t3_shm_input(peer->shm);
	const char *why = NULL;
	unsigned int pieces = 0;
	const uint8_t *data;
	uint32_t bytes;

	while (!why && !qatomic_read(&peer->broken)) {
		t3_peer_flush(peer);
		if (!t3_pipe_look(in, &data, &bytes))
			return "the other node's index in the shared memory is impossible";
		if (!bytes) {
			if (!sleep_for_input(peer, in))
				return T3_CLOSED;
			continue;
		}
		bytes = MIN(bytes, T3_READ_BYTES);
		why = take_input(peer, data, bytes);
		if (t3_pipe_take(in, bytes))
			t3_shm_wake(peer->shm);
		if (++pieces % T3_LOOK_PIECES == 0 && t3_connection_has_ended(peer->conn))
			return T3_CLOSED;
	}
	return why ?: T3_CLOSED;
}

const char *t3_peer_read_all(T3Peer *peer)
{
	const char *why = read_socket(peer);

	return why ?: read_shared(peer);
}
