/* SPDX-License-Identifier: MIT */
/*
 * Migration of a machine at work: SPEC.md section 13. A copy taken at any event
 * boundary goes on as the original does: same writes in the same order, same bits.
 */
#include "migrate.h"
#include "queue.h"
#include "queue/queue.h"
#include "ring.h"
#include "test.h"

#define RANKS 3u

static void expect_same_log(struct host_dev *a, uint32_t from, struct host_dev *b)
{
	uint32_t i;

	assert_int_equal(a->logged - from, b->logged);
	for (i = 0; i < b->logged; i++) {
		const struct host_log *x = &a->log[from + i], *y = &b->log[i];

		assert_int_equal(x->kind, y->kind);
		assert_int_equal(x->vector, y->vector);
		assert_int_equal(x->offset, y->offset);
		assert_int_equal(x->len, y->len);
		assert_int_equal(x->seen, y->seen);
	}
}

static void expect_same(struct host *a, const uint32_t *from, struct host *b)
{
	struct blobs first, second;
	uint32_t i;

	assert_int_equal(t3_fabric_now(a->fabric), t3_fabric_now(b->fabric));
	for (i = 0; i < a->ranks; i++) {
		assert_memory_equal(a->dev[i].memory, b->dev[i].memory, HOST_MEMORY);
		assert_memory_equal(a->dev[i].pages, b->dev[i].pages, HOST_PAGES * T3_PAGE_SIZE);
		expect_same_log(&a->dev[i], from[i], &b->dev[i]);
	}
	blobs_save(&first, a);
	blobs_save(&second, b);
	blobs_expect_equal(&first, &second);
	blobs_free(&first);
	blobs_free(&second);
}

/* Brings a ring to where all ranks have produced epoch 1 and no event has run. */
static struct ring ring_at(struct host *host, bool staged)
{
	struct ring ring = ring_open(host, 1, T3_DTYPE_F32);
	uint32_t r;

	ring_arm(&ring, 1);
	host_drain(host);
	for (r = 0; r < host->ranks; r++)
		host_set(&host->dev[r], T3_REG_SPACE_ENABLE, 2, 4);
	t3_fabric_set_inline_budget(host->fabric, 0);
	for (r = 0; r < host->ranks; r++)
		ring_produce(&ring, r, 1, staged);
	return ring;
}

static struct host *new_ring(uint32_t lost)
{
	struct host_config config = { T3_TOPOLOGY_RING, RANKS, 4, 2, T3_KEYS_FABRIC };
	struct host *host = host_new(&config);

	if (lost)
		assert_true(host_inject(host->fabric, 1, 2, T3_INJECT_DROP, lost));
	return host;
}

static void expect_end(struct ring ring, struct host *host, bool staged)
{
	ring.host = host;
	ring_expect_state(&ring, T3_SPACE_COMPLETE, 1);
	ring_expect_sums(&ring, 1);
	ring_expect_counts(&ring, 1, staged);
}

/* One machine runs through; another stops now and then, and a copy of it goes on. */
static void copy_on_the_way(bool staged, uint32_t lost, uint32_t stride)
{
	struct host *whole = new_ring(lost), *step = new_ring(lost), *copy = new_ring(0);
	struct ring ring = ring_at(whole, staged);
	uint32_t from[RANKS], events = 0, r;
	bool more = true;

	host_drain(whole);
	for (ring_at(step, staged); more; events++) {
		host_copy(copy, step);
		for (r = 0; r < RANKS; r++)
			from[r] = step->dev[r].logged;
		host_drain(copy);
		expect_same(whole, from, copy);
		more = t3_fabric_run(step->fabric, stride);
	}
	assert_true(events > 50 / stride);
	expect_end(ring, whole, staged);
	expect_end(ring, copy, staged);
	host_free(whole);
	host_free(step);
	host_free(copy);
}

TEST("a copy at every event of stores goes on the same")
{
	copy_on_the_way(false, 0, 1);
}

TEST("a copy at every event of doorbells goes on the same")
{
	copy_on_the_way(true, 0, 1);
}

TEST("a copy with a lost packet goes on the same")
{
	copy_on_the_way(true, 3, 3);
}

/* All state that software can read and set, on a machine that does not run. */
TEST("registers are migrated")
{
	struct host *host = host_ring(2), *clone;
	uint32_t offset;

	host_space(&host->dev[0], 5);
	host_set(&host->dev[0], T3_REG_SPACE_ENABLE, 0x20, 4);
	host_set(&host->dev[0], T3_REG_ERROR_ENABLE, 3, 4);
	host_set(&host->dev[0], T3_REG_EVENT_VECTOR, 1, 4);
	host_set(&host->dev[0], T3_REG_ERROR_VECTOR, 2, 4);
	host_set(&host->dev[0], 0x3f8, 0x1122334455667788ull, 8);
	host_local(&host->dev[0], 5, 0);
	host_poison(&host->dev[0], 5 * HOST_SPACE_SIZE, T3_POISON_GRANULE);
	host_load(&host->dev[0], 5, 8, 8);
	assert_int_equal(host_get(&host->dev[0], T3_REG_POISON_ADDRESS, 8),
			 5 * HOST_SPACE_SIZE + 8);
	host_set(&host->dev[0], T3_REG_ADMIN_COMMAND, 99, 4);
	clone = host_clone(host);
	for (offset = 0; offset < T3_REG_END; offset += 4)
		assert_int_equal(host_reg(&host->dev[0], offset), host_reg(&clone->dev[0], offset));
	assert_int_equal(host_reg(&clone->dev[0], T3_REG_ADMIN_STATUS), T3_ADMIN_BAD_OPCODE);
	host_free(clone);
	host_free(host);
}

/* Each state of a space is migrated, with its doorbell page and its event area. */
TEST("each state of a space is migrated")
{
	uint32_t wanted;

	for (wanted = T3_SPACE_FREE; wanted <= T3_SPACE_QUIESCED; wanted++) {
		struct host *host = host_in_state(wanted), *clone;

		clone = host_clone(host);
		assert_int_equal(host_state(&clone->dev[0], 1), host_state(&host->dev[0], 1));
		assert_int_equal(host_query(&clone->dev[0], 1).generation,
				 host_query(&host->dev[0], 1).generation);
		host_drain(host);
		host_drain(clone);
		assert_int_equal(host_state(&clone->dev[0], 1), host_state(&host->dev[0], 1));
		host_free(clone);
		host_free(host);
	}
}

/* In places of their own in memory and aperture, which their numbers do not fit. */
static void connect_spaces(struct host *host, const uint32_t *id, uint32_t count)
{
	uint32_t i, r;

	for (i = 0; i < count; i++) {
		struct t3_cmd_space_create cmd = host_space_args(i);

		cmd.space = id[i];
		cmd.event_area = host_space_args(id[i]).event_area;
		for (r = 0; r < 2; r++)
			assert_int_equal(host_command(&host->dev[r], T3_CMD_SPACE_CREATE, &cmd,
						      sizeof(cmd)),
					 T3_ADMIN_OK);
		host_connect(&host->dev[0], &host->dev[1], id[i]);
		host_local(&host->dev[0], id[i], 0);
		host_local(&host->dev[1], id[i], 0);
		host_arm(&host->dev[0], id[i], 1);
		host_arm(&host->dev[1], id[i], 1);
	}
}

/* They migrate, and the loss of the peer reaches them, whatever their numbers are. */
TEST("spaces of any number are migrated")
{
	static const uint32_t id[] = { 0, 1, 31, 32, 62, 65, 1000, T3_MAX_SPACES - 1 };
	uint32_t count = sizeof(id) / sizeof(id[0]), i;
	struct host *host = host_ring(2), *copy;

	connect_spaces(host, id, count);
	copy = host_clone(host);
	host_free(host);
	for (i = 0; i < count; i++)
		host_expect(&copy->dev[0], id[i], T3_SPACE_ARMED, 1);
	t3_dev_reset(copy->dev[1].dev);
	host_drain(copy);
	for (i = 0; i < count; i++)
		host_expect_peer_fault(&copy->dev[0], id[i], T3_FAULT_PEER_DEAD, 1);
	host_free(copy);
}

/* A machine that is about to arm, after something has happened to rank 1 or its link. */
static void expect_fault_of_copy(void (*happen)(struct host *host), uint32_t kind)
{
	struct host *host = host_ring(2), *copy;

	ring_open(host, 1, T3_DTYPE_I32);
	happen(host);
	copy = host_clone(host);
	host_arm(&copy->dev[0], 1, 1);
	host_drain(copy);
	host_expect_peer_fault(&copy->dev[0], 1, kind, 1);
	host_free(copy);
	host_free(host);
}

static void take_link_down(struct host *host)
{
	assert_true(host_inject(host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 1));
}

/* Its peers have not noticed yet. */
static void reset_peer(struct host *host)
{
	t3_dev_reset(host->dev[1].dev);
}

TEST("a link that is down fails in the copy, too")
{
	expect_fault_of_copy(take_link_down, T3_FAULT_LINK);
}

TEST("a loss under way reaches the copy")
{
	expect_fault_of_copy(reset_peer, T3_FAULT_PEER_DEAD);
}

/* It is hung in the copy, too, until that is taken back there. */
TEST("a hung queue is hung in the copy")
{
	struct host *host = host_ring(2), *copy;
	struct queue q = queue_new(&host->dev[0], 0, 0);
	struct t3_descriptor fill = queue_fill(0x10000, HOST_NONE64, 64);

	t3_queue_hang(host->dev[0].dev, 0, true);
	queue_submit(&q, &fill);
	host_drain(host);
	copy = host_clone(host);
	host_free(host);
	q.d = &copy->dev[0];
	host_drain(copy);
	queue_expect_state(&q, T3_QUEUE_READY, 0, 0);
	t3_queue_hang(copy->dev[0].dev, 0, false);
	host_drain(copy);
	queue_expect_state(&q, T3_QUEUE_READY, 1, 0);
	host_free(copy);
}

/* Injections of each kind, in a machine that is otherwise new. */
TEST("injections of each kind are migrated")
{
	struct host *host = host_ring(2), *copy;
	uint32_t kind;

	for (kind = 1; kind < T3_INJECT_KIND_COUNT; kind++) {
		struct t3_cmd_inject inject = { .kind = kind, .nth = 5, .count = 7, .value = 64 };

		if (kind <= T3_INJECT_LINK_RANDOM)
			inject.peer = 1;
		if (kind == T3_INJECT_LINK_DOWN || kind == T3_INJECT_LINK_UP ||
		    kind == T3_INJECT_POISON || kind == T3_INJECT_UNPOISON)
			inject.nth = 0;
		if (!inject.nth || kind == T3_INJECT_LINK_RANDOM)
			inject.count = 0;
		if (kind != T3_INJECT_DELAY && kind != T3_INJECT_LINK_RANDOM &&
		    kind != T3_INJECT_POISON && kind != T3_INJECT_UNPOISON)
			inject.value = 0;
		if (kind == T3_INJECT_HANG_QUEUE || kind == T3_INJECT_UNHANG_QUEUE)
			continue; /* "a hung queue is hung in the copy" */
		if (kind == T3_INJECT_PORT_RESET)
			continue; /* it is over at once */
		assert_int_equal(t3_fabric_inject(host->fabric, &inject), T3_ADMIN_OK);
		copy = host_clone(host); /* compares the bytes */
		host_free(copy);
	}
	host_free(host);
}

/* A rank without a device accepts any address. A device that comes later bounds it. */
TEST("poison beyond the memory is bounded by a later device")
{
	static const uint64_t ranges[][2] = { { HOST_MEMORY - 64, 128 },
					      { HOST_MEMORY + 4096, 64 },
					      { HOST_NONE64 - 191, 128 } };
	struct host *host = host_ring(2);
	uint32_t i;

	t3_dev_detach(host->dev[1].dev);
	for (i = 0; i < 3; i++) {
		struct t3_cmd_inject inject = { .kind = T3_INJECT_POISON,
						.rank = 1,
						.address = ranges[i][0],
						.value = ranges[i][1] };

		assert_int_equal(t3_fabric_inject(host->fabric, &inject), T3_ADMIN_OK);
	}
	host_attach(host, 1);
	host_free(host_clone(host)); /* compares the bytes */
	host_free(host);
}

/* A target finished epoch 1 and left. Its source, which is saved then, may still do that epoch. */
TEST("a target's end counts for its own epoch")
{
	struct host *host = host_ring(2), *copy;
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];

	host_space(a, 0);
	host_space(b, 0);
	host_connect(a, b, 0);
	host_arm(b, 0, 1);
	host_expect(b, 0, T3_SPACE_COMPLETE, 1); /* no segments: at once */
	assert_int_equal(host_space_command(b, T3_CMD_SPACE_DISABLE, 0), T3_ADMIN_OK);
	host_drain(host);
	copy = host_clone(host);
	host_arm(&copy->dev[0], 0, 1);
	host_expect(&copy->dev[0], 0, T3_SPACE_COMPLETE, 1);
	host_release(&copy->dev[0], 0, 1);
	host_arm(&copy->dev[0], 0, 2);
	host_expect_peer_fault(&copy->dev[0], 0, T3_FAULT_PEER_DEAD, 1);
	host_free(copy);
	host_free(host);
}
