// SPDX-License-Identifier: MIT
#define _GNU_SOURCE /* accept4 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/devices.h"
#include "nodes/gather.h"

#define MAGIC	    0x7265687461673354ull
#define NS_PER_MS   1000000u
#define RETRY_NS    50000000u
#define ACK_NS	    1000000000u /* one byte, so only a broken connection keeps it */
#define GREETING_NS 3000000000u /* for the first head of a connection */

static const char ACK = 'A';

static void drop(struct gather_peer *peer)
{
	if (peer->fd >= 0)
		close(peer->fd);
	free(peer->data);
	*peer = (struct gather_peer){ .fd = -1, .node = GATHER_NODES };
}

struct gather *gather_new(enum gather_kind kind)
{
	struct gather *gather = calloc(1, sizeof(*gather));
	uint32_t i;

	if (!gather) {
		complain(EXIT_FAIL, "no memory for the other nodes");
		return NULL;
	}
	gather->kind = kind;
	gather->fd = -1;
	for (i = 0; i < GATHER_PEERS; i++)
		gather->peer[i] = (struct gather_peer){ .fd = -1, .node = GATHER_NODES };
	if (node_read("--nodes", &gather->place))
		return gather;
	gather_free(gather);
	return NULL;
}

void gather_free(struct gather *gather)
{
	uint32_t i;

	if (!gather)
		return;
	for (i = 0; i < GATHER_PEERS; i++)
		drop(&gather->peer[i]);
	if (gather->fd >= 0)
		close(gather->fd);
	free(gather);
}

/* -------------------------------------------------------------------- node 0 */

int gather_listen(struct gather *gather, uint64_t until_ns)
{
	gather->fd = gather_socket(true, until_ns);
	if (gather->fd >= 0)
		return EXIT_OK;
	return complain(EXIT_FAIL, "node 0 cannot listen at %s: %s", gather_place(),
			strerror(errno));
}

static void welcome(struct gather *gather)
{
	int fd = accept4(gather->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	uint32_t i;

	if (fd < 0)
		return;
	for (i = 0; i < GATHER_PEERS; i++) {
		if (gather->peer[i].fd >= 0)
			continue;
		gather->peer[i].fd = fd;
		gather->peer[i].since = now_ns();
		return;
	}
	close(fd);
}

/* Is the head one of a node of this cluster, which runs this command? */
static bool head_fits(const struct gather *gather, struct gather_peer *peer)
{
	const struct gather_head *head = &peer->head;
	uint32_t i;

	for (i = 0; i < GATHER_PEERS; i++)
		if (&gather->peer[i] != peer && gather->peer[i].node == head->node)
			return false;
	if (head->magic != MAGIC || head->kind != gather->kind ||
	    head->nodes != gather->place.nodes || !head->node || head->node >= head->nodes ||
	    head->bytes > GATHER_MOST || (peer->node != GATHER_NODES && peer->node != head->node))
		return false;
	peer->node = head->node;
	peer->data = malloc(head->bytes + 1); /* and a zero */
	return peer->data;
}

/* Read what has come, up to the end of a head or of a message. False: the connection ends. */
static bool read_some(struct gather *gather, struct gather_peer *peer)
{
	size_t head = sizeof(peer->head);
	bool in_head = peer->got < head, good;
	size_t want = in_head ? head - peer->got : head + peer->head.bytes - peer->got;
	char *at = in_head ? (char *)&peer->head + peer->got : peer->data + (peer->got - head);
	ssize_t got = recv(peer->fd, at, want, MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (got <= 0)
		return false;
	peer->got += (size_t)got;
	if (peer->got == head && in_head && !head_fits(gather, peer))
		return false;
	if (peer->got < head || peer->got < head + peer->head.bytes)
		return true;
	peer->data[peer->head.bytes] = '\0';
	good = gather->take(gather->opaque, peer->node, peer->fd, peer->data, peer->head.bytes);
	free(peer->data);
	peer->data = NULL;
	peer->got = 0;
	return good && gather_write(peer->fd, &ACK, 1, now_ns() + ACK_NS);
}

void gather_serve(struct gather *gather, uint64_t until_ns, bool (*done)(void *opaque))
{
	struct pollfd at[GATHER_PEERS + 1];
	struct gather_peer *peer;
	uint64_t now, ms;
	uint32_t i;

	for (now = now_ns(); now < until_ns && !(done && done(gather->opaque)); now = now_ns()) {
		/* At most a tenth of a second, so that silent strangers leave. */
		ms = (until_ns - now) / NS_PER_MS;
		for (i = 0; i < GATHER_PEERS; i++)
			at[i] = (struct pollfd){ .fd = gather->peer[i].fd, .events = POLLIN };
		at[GATHER_PEERS] = (struct pollfd){ .fd = gather->fd, .events = POLLIN };
		if (poll(at, GATHER_PEERS + 1, ms < 100 ? (int)ms : 100) <= 0)
			memset(at, 0, sizeof(at));
		for (i = 0; i < GATHER_PEERS; i++) {
			peer = &gather->peer[i];
			if (peer->fd < 0)
				continue;
			if (at[i].revents && at[i].fd == peer->fd && !read_some(gather, peer))
				drop(peer);
			else if (peer->node == GATHER_NODES && now_ns() - peer->since > GREETING_NS)
				drop(peer);
		}
		if (at[GATHER_PEERS].revents)
			welcome(gather);
	}
}

/* ----------------------------------------------------------------- the others */

static bool lost(struct gather *gather)
{
	int error = errno;

	if (gather->fd >= 0)
		close(gather->fd);
	gather->fd = -1;
	errno = error;
	return false;
}

bool gather_connect(struct gather *gather, uint64_t until_ns)
{
	if (gather->fd < 0)
		gather->fd = gather_socket(false, until_ns);
	return gather->fd >= 0;
}

bool gather_post(struct gather *gather, const void *data, size_t size, uint64_t until_ns)
{
	struct gather_head head = {
		.magic = MAGIC,
		.kind = gather->kind,
		.node = gather->place.node,
		.nodes = gather->place.nodes,
		.bytes = (uint32_t)size,
	};

	errno = EMSGSIZE;
	if (size > GATHER_MOST)
		return false;
	return (gather_write(gather->fd, &head, sizeof(head), until_ns) &&
		gather_write(gather->fd, data, size, until_ns)) ||
	       lost(gather);
}

bool gather_answer(struct gather *gather, void *data, size_t size, uint64_t until_ns)
{
	return gather_read(gather->fd, data, size, until_ns) || lost(gather);
}

bool gather_acknowledged(struct gather *gather, uint64_t until_ns)
{
	char ack;

	return gather_answer(gather, &ack, 1, until_ns);
}

int gather_complain(void)
{
	if (errno == EMSGSIZE)
		return complain(EXIT_FAIL, "there is too much for node 0: allowed are %u bytes",
				GATHER_MOST);
	return complain(EXIT_FAIL,
			"node 0 does not answer at %s: %s. Does it run the same command?",
			gather_place(), strerror(errno));
}

int gather_bring(struct gather *gather, const void *data, size_t size, uint64_t until_ns)
{
	do {
		if (gather_connect(gather, until_ns) && gather_post(gather, data, size, until_ns) &&
		    gather_acknowledged(gather, until_ns))
			return EXIT_OK;
		if (errno == EMSGSIZE)
			break;
		sleep_ns(RETRY_NS);
	} while (now_ns() < until_ns);
	return gather_complain();
}
