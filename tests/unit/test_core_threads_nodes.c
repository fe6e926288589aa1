/* SPDX-License-Identifier: MIT */
/*
 * Two nodes with a device each, as threads of this process and as processes. Each node has a fabric
 * of its own, and nothing but a socket to the other one. Both send an update to each other in each
 * epoch, at the speed that they happen to have. Also built with ThreadSanitizer.
 */
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host.h"
#include "t3_node.h"
#include "test.h"

#define SPACE	   1u
#define INPUT	   0u /* segments */
#define OUTPUT	   1u
#define BYTES	   64u /* of each */
#define EPOCHS	   200u
#define QUEUE	   0x100000u
#define LIMIT_MS   60000
#define OWN_RANK   (node->number)
#define OTHER_RANK (node->number ^ 1)

struct node {
	uint32_t number;
	int socket;
	uint32_t *ended; /* how many of the nodes; both see it */
	struct host *host;
	struct host_dev *dev;
	struct t3_peer *peer;
	uint8_t *queue; /* to be written */
	size_t queued;
	int64_t start, ticked; /* ms */
};

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

/* -------------------------------------------------------------------- bytes */

static bool output(void *opaque, const void *data, size_t len, bool may_lose)
{
	struct node *node = opaque;

	if (may_lose && node->queued > QUEUE / 2)
		return false;
	assert(node->queued + len <= QUEUE);
	memcpy(node->queue + node->queued, data, len);
	node->queued += len;
	return true;
}

static bool write_some(struct node *node)
{
	ssize_t done = node->queued ? send(node->socket, node->queue, node->queued,
					   MSG_DONTWAIT | MSG_NOSIGNAL)
				    : 0;

	if (done <= 0)
		return false;
	node->queued -= (size_t)done;
	memmove(node->queue, node->queue + done, node->queued);
	return true;
}

static bool read_some(struct node *node)
{
	uint8_t data[777]; /* frames come in pieces */
	ssize_t done = recv(node->socket, data, sizeof(data), MSG_DONTWAIT);

	if (done <= 0)
		return false;
	assert(!t3_peer_input(node->peer, data, (size_t)done));
	return true;
}

static void tick(struct node *node)
{
	int64_t now = now_ms();

	assert(now - node->start < LIMIT_MS);
	if (now - node->ticked < (int64_t)T3_PEER_TICK_MS)
		return;
	node->ticked = now;
	assert(!t3_peer_tick(node->peer));
}

static void work(struct node *node)
{
	struct pollfd ready = { .fd = node->socket, .events = POLLIN };
	bool busy = t3_fabric_run(node->host->fabric, 50);

	busy |= write_some(node);
	busy |= read_some(node);
	tick(node);
	if (!busy)
		poll(&ready, 1, 1);
}

/* ---------------------------------------------------------------------- job */

static void await_state(struct node *node, uint32_t state)
{
	while (host_state(node->dev, SPACE) != state) {
		assert(host_state(node->dev, SPACE) != T3_SPACE_FAULTED);
		work(node);
	}
}

/* Both nodes run the same commands, so the other one's space has the generation of this one's. */
static void connect_space(struct node *node, uint32_t generation)
{
	struct t3_cmd_route_set route = {
		.space = SPACE,
		.peer_rank = OTHER_RANK,
		.peer_space = SPACE,
		.peer_generation = generation,
	};
	struct t3_cmd_import_set import = {
		.space = SPACE,
		.src_rank = OTHER_RANK,
		.src_space = SPACE,
		.src_generation = generation,
		.op_mask = (1u << T3_OP_COUNT) - 1,
		.segment_mask = ~0ull,
	};

	assert(host_command(node->dev, T3_CMD_ROUTE_SET, &route, sizeof(route)) == T3_ADMIN_OK);
	assert(host_command(node->dev, T3_CMD_IMPORT_SET, &import, sizeof(import)) == T3_ADMIN_OK);
}

static void set_up(struct node *node)
{
	struct t3_cmd_seg_map map =
		host_segment(SPACE, OUTPUT, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);

	connect_space(node, host_space(node->dev, SPACE));
	host_local(node->dev, SPACE, INPUT);
	map.target_segment = INPUT;
	host_map(node->dev, &map);
}

static uint32_t value_of(uint32_t rank, uint32_t epoch, uint32_t at)
{
	return (rank + 1) * 1000003u * epoch + at;
}

static void produce(struct node *node, uint32_t epoch)
{
	uint64_t base = SPACE * (uint64_t)HOST_SPACE_SIZE + OUTPUT * 0x400;
	uint32_t at;

	for (at = 0; at < BYTES; at += 4) {
		while (t3_dev_aperture_waits(node->dev->dev, base + at, 4))
			work(node);
		t3_dev_aperture_write(node->dev->dev, base + at, value_of(OWN_RANK, epoch, at), 4);
	}
}

static void check_input(struct node *node, uint32_t epoch)
{
	const uint8_t *input = host_buffer(node->dev, SPACE);
	uint32_t at, found;

	for (at = 0; at < BYTES; at += 4) {
		memcpy(&found, input + at, 4);
		assert(found == value_of(OTHER_RANK, epoch, at));
	}
}

static void run_epochs(struct node *node)
{
	uint32_t epoch;

	for (epoch = 1; epoch <= EPOCHS; epoch++) {
		host_arm(node->dev, SPACE, epoch);
		await_state(node, T3_SPACE_ARMED);
		produce(node, epoch);
		await_state(node, T3_SPACE_COMPLETE);
		check_input(node, epoch);
		host_release(node->dev, SPACE, epoch);
	}
}

/* --------------------------------------------------------------------- nodes */

static void start(struct node *node)
{
	static const struct t3_peer_ops ops = { .output = output };
	struct host_config config = { T3_TOPOLOGY_RING, 2, 256, 8, T3_KEYS_FABRIC };
	struct t3_peer_config peer = {
		.fabric = "of two nodes",
		.nodes = 2,
		.own = node->number,
		.node = node->number ^ 1,
		.ranks = 1u << OTHER_RANK,
		.silence = T3_PEER_SILENCE,
	};

	node->start = node->ticked = now_ms();
	node->queue = malloc(QUEUE);
	node->host = host_new_node(&config, OWN_RANK);
	node->dev = &node->host->dev[OWN_RANK];
	node->peer = t3_peer_new(node->host->fabric, &peer, &ops, node);
	assert(node->queue && node->peer);
	t3_peer_connect(node->peer);
}

/* The other node may still need answers of this one. */
static void finish(struct node *node)
{
	struct t3_peer_info info;

	__atomic_add_fetch(node->ended, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(node->ended, __ATOMIC_SEQ_CST) < 2)
		work(node);
	t3_peer_info(node->peer, &info);
	assert(info.up && info.connections == 1 && info.sent_packets >= EPOCHS);
	t3_peer_free(node->peer);
	host_free(node->host);
	free(node->queue);
}

static void *run_node(void *opaque)
{
	struct node *node = opaque;
	struct t3_peer_info info;

	start(node);
	set_up(node);
	do {
		work(node);
		t3_peer_info(node->peer, &info);
	} while (!info.up);
	run_epochs(node);
	finish(node);
	return NULL;
}

static void make_pair(struct node *node)
{
	int pair[2];
	uint32_t *ended = mmap(NULL, sizeof(*ended), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(ended != MAP_FAILED);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	node[0] = (struct node){ .number = 0, .socket = pair[0], .ended = ended };
	node[1] = (struct node){ .number = 1, .socket = pair[1], .ended = ended };
}

static void end_pair(struct node *node)
{
	close(node[0].socket);
	close(node[1].socket);
	munmap(node[0].ended, sizeof(*node[0].ended));
}

TEST("nodes may be threads")
{
	struct node node[2];
	pthread_t thread;

	make_pair(node);
	assert_int_equal(pthread_create(&thread, NULL, run_node, &node[1]), 0);
	run_node(&node[0]);
	assert_int_equal(pthread_join(thread, NULL), 0);
	end_pair(node);
}

TEST("nodes may be processes")
{
	struct node node[2];
	int status;
	pid_t child;

	make_pair(node);
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		run_node(&node[1]);
		_exit(0);
	}
	run_node(&node[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	end_pair(node);
}
