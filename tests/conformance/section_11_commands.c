// SPDX-License-Identifier: MIT
/* SPEC.md 11.1: commands of queues and fences, and the states they lead to. */
#include "conf.h"
#include "queue.h"

CONF_SECTION("11.1", "commands of queues");

/* clang-format off */
#define C(field) CONF_FIELD(t3_cmd_queue_create, field)

/* One field of a good QUEUE_CREATE of queue 1; queue 2 exists. */
static const struct conf_change creates[] = {
	{"good",                 C(client), 0, T3_ADMIN_OK},
	{"queue-63",             C(queue), T3_MAX_QUEUES - 1, T3_ADMIN_OK},
	{"queue-64",             C(queue), T3_MAX_QUEUES, T3_ADMIN_BAD_QUEUE},
	{"queue-max",            C(queue), 0xffffffff, T3_ADMIN_BAD_QUEUE},
	{"queue-in-use",         C(queue), 2, T3_ADMIN_EXISTS},
	{"client",               C(client), T3_MAX_CLIENTS, T3_ADMIN_BAD_VALUE},
	{"client-high",          C(client), 0x80000000, T3_ADMIN_BAD_VALUE},
	{"priority-3",           C(priority), T3_MAX_PRIORITY, T3_ADMIN_OK},
	{"priority-4",           C(priority), T3_MAX_PRIORITY + 1, T3_ADMIN_BAD_VALUE},
	{"priority-max",         C(priority), 0xffffffff, T3_ADMIN_BAD_VALUE},
	{"entries-0",            C(entries), 0, T3_ADMIN_BAD_VALUE},
	{"entries-1",            C(entries), 1, T3_ADMIN_BAD_VALUE},
	{"entries-8",            C(entries), 8, T3_ADMIN_BAD_VALUE},
	{"entries-15",           C(entries), 15, T3_ADMIN_BAD_VALUE},
	{"entries-17",           C(entries), 17, T3_ADMIN_BAD_VALUE},
	{"entries-48",           C(entries), 48, T3_ADMIN_BAD_VALUE},
	{"entries-4096",         C(entries), T3_QUEUE_ENTRIES_MAX, T3_ADMIN_OK},
	{"entries-8192",         C(entries), 8192, T3_ADMIN_BAD_VALUE},
	{"entries-high",         C(entries), 0x80000000, T3_ADMIN_BAD_VALUE},
	{"entries-max",          C(entries), 0xffffffff, T3_ADMIN_BAD_VALUE},
	{"ring-nowhere",         C(ring), 1ull << 62, T3_ADMIN_OK},
	{"ring-at-the-end",      C(ring), 0xfffffffffffffc00, T3_ADMIN_OK},
	{"ring-over-the-end",    C(ring), 0xfffffffffffffc40, T3_ADMIN_BAD_RANGE},
	{"ring-beyond",          C(ring), ~0x3full, T3_ADMIN_BAD_RANGE},
	{"ring-unaligned",       C(ring), 0x10000020, T3_ADMIN_BAD_RANGE},
	{"completions-at-the-end", C(completions), 0xfffffffffffffe00, T3_ADMIN_OK},
	{"completions-over-the-end", C(completions), 0xfffffffffffffe20, T3_ADMIN_BAD_RANGE},
	{"completions-beyond",   C(completions), ~0x1full, T3_ADMIN_BAD_RANGE},
	{"completions-unaligned", C(completions), 0x10000010, T3_ADMIN_BAD_RANGE},
};

static const uint32_t queue_opcodes[] = {
	T3_CMD_QUEUE_DESTROY, T3_CMD_QUEUE_ABORT, T3_CMD_QUEUE_QUERY,
};
/* clang-format on */

static const char *create_label(unsigned row)
{
	return creates[row].name;
}

TEST("each wrong value of a queue is refused", .rows = ARRAY_SIZE(creates), .label = create_label)
{
	bool good = creates[row].status == T3_ADMIN_OK;
	struct conf_device *d = conf_device(c, 0);
	struct queue q, other;

	queue_create(c, d, &other, 2, 0);
	queue_prepare(c, d, &q, 1, 0);
	conf_change(&q.args, &creates[row]);
	conf_try(c, d, T3_CMD_QUEUE_CREATE, &q.args, sizeof(q.args), creates[row].status);
	CHECK_EQUAL(c, "HOST_DMA_ERRORS", conf_counter(d, T3_COUNTER_HOST_DMA_ERRORS), 0);
	if (q.args.queue < T3_MAX_QUEUES && q.args.queue != 2)
		queue_check(c, &q, good ? T3_QUEUE_READY : T3_QUEUE_FREE, 0, 0);
	queue_check(c, &other, T3_QUEUE_READY, 0, 0);
}

/* Where there are several errors the first in the order of the table is reported. */
TEST("the first of several errors is reported")
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_queue_create args;
	struct queue q;

	queue_create(c, d, &q, 1, 0);
	args = q.args;
	args.ring += 1;
	CHECK_EQUAL(c, "in use, and a bad ring",
		    conf_admin(d, T3_CMD_QUEUE_CREATE, &args, sizeof(args)), T3_ADMIN_EXISTS);
	args.entries = 3;
	CHECK_EQUAL(c, "and bad entries", conf_admin(d, T3_CMD_QUEUE_CREATE, &args, sizeof(args)),
		    T3_ADMIN_BAD_VALUE);
	args.queue = T3_MAX_QUEUES;
	CHECK_EQUAL(c, "and a bad queue", conf_admin(d, T3_CMD_QUEUE_CREATE, &args, sizeof(args)),
		    T3_ADMIN_BAD_QUEUE);
	queue_do(c, &q, &(struct t3_descriptor){ 0 });
}

TEST("queue commands are refused in the wrong state", .rows = ARRAY_SIZE(queue_opcodes))
{
	uint32_t opcode = queue_opcodes[row];
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_queue none = { .queue = 2 };
	struct queue q;

	queue_create(c, d, &q, 1, 0);
	conf_try(c, d, opcode, &(struct t3_cmd_queue){ .queue = T3_MAX_QUEUES }, sizeof(none),
		 T3_ADMIN_BAD_QUEUE);
	conf_try(c, d, opcode, &(struct t3_cmd_queue){ .queue = 0xffffffff }, sizeof(none),
		 T3_ADMIN_BAD_QUEUE);
	conf_try(c, d, opcode, &(struct t3_cmd_queue){ .queue = 1, .mbz = 1 }, sizeof(none),
		 T3_ADMIN_BAD_VALUE);
	queue_check(c, &q, T3_QUEUE_READY, 0, 0);
	if (opcode != T3_CMD_QUEUE_QUERY) {
		conf_try(c, d, opcode, &none, sizeof(none), T3_ADMIN_BAD_QUEUE);
		none.mbz = 1; /* The queue is looked for first. */
		conf_try(c, d, opcode, &none, sizeof(none), T3_ADMIN_BAD_QUEUE);
		return;
	}
	CHECK_EQUAL(c, "QUERY of a FREE queue", conf_admin(d, opcode, &none, sizeof(none)),
		    T3_ADMIN_OK);
	CHECK_EQUAL(c, "its state", none.state, T3_QUEUE_FREE);
}

/* After DESTROY the doorbell is ignored. CREATE starts from 0. */
TEST("a destroyed queue ignores its doorbell")
{
	struct conf_device *d = conf_device(c, 0);
	struct queue q;

	queue_create(c, d, &q, 5, 0);
	for (unsigned i = 0; i < 3; i++)
		queue_do(c, &q, &(struct t3_descriptor){ 0 });
	queue_check(c, &q, T3_QUEUE_READY, 3, 0);
	queue_command(c, &q, T3_CMD_QUEUE_DESTROY);
	conf_guest_error(d);
	queue_check(c, &q, T3_QUEUE_FREE, 0, 0);
	queue_push(&q, &(struct t3_descriptor){ 0 });
	queue_submit(&q);
	CHECK(c, conf_guest_error(d), "a doorbell of a FREE queue is no guest error");
	CHECK_EQUAL(c, "QUEUE_TAIL of a FREE queue", queue_reg(&q, T3_REG_QUEUE_TAIL), 0);
	queue_create(c, d, &q, 5, 0);
	queue_check(c, &q, T3_QUEUE_READY, 0, 0);
	queue_do(c, &q, &(struct t3_descriptor){ 0 });
}

/* A queue that waits, and one that has failed, can be destroyed without a completion. */
TEST("a busy queue can be destroyed", .rows = 2)
{
	struct t3_descriptor wait = desc_wait(3, 1), bad = { .opcode = 255 };
	struct conf_device *d = conf_device(c, 0);
	struct queue q;

	queue_create(c, d, &q, 0, 0);
	if (row)
		queue_run(c, &q, &bad);
	else
		queue_push(&q, &wait);
	queue_submit(&q);
	queue_command(c, &q, T3_CMD_QUEUE_DESTROY);
	queue_fence_set(c, d, 3, 1);
	CHECK_EQUAL(c, "QUEUE_STATE", queue_reg(&q, T3_REG_QUEUE_STATE), T3_QUEUE_FREE);
	if (!row)
		CHECK_EQUAL(c, "completion", q.completions[1].word, 0);
	CHECK_EQUAL(c, "QUEUE_PENDING", conf_reg(d, T3_REG_QUEUE_PENDING), row);
}

TEST("setting a fence checks its arguments", .rows = 5)
{
	static const struct {
		uint32_t fence, mbz, status;
	} cases[] = {
		{ 0, 0, T3_ADMIN_OK },
		{ T3_MAX_FENCES - 1, 0, T3_ADMIN_OK },
		{ T3_MAX_FENCES, 0, T3_ADMIN_BAD_INDEX },
		{ 0xffffffff, 0, T3_ADMIN_BAD_INDEX },
		{ 1, 1, T3_ADMIN_BAD_VALUE },
	};
	struct t3_cmd_fence_set args = { cases[row].fence, cases[row].mbz, 0x123456789abcdef0 };
	struct conf_device *d = conf_device(c, 0);

	queue_needed(c, d);
	CHECK_EQUAL(c, "ADMIN_STATUS", conf_admin(d, T3_CMD_FENCE_SET, &args, sizeof(args)),
		    cases[row].status);
	CHECK_EQUAL(c, "guest error", conf_guest_error(d), cases[row].status != T3_ADMIN_OK);
	for (uint32_t i = 0; i < T3_MAX_FENCES; i++)
		CHECK_EQUAL(c, "FENCE", queue_fence(d, i),
			    i == cases[row].fence && cases[row].status == T3_ADMIN_OK
				    ? 0x123456789abcdef0
				    : 0);
	if (cases[row].status != T3_ADMIN_OK)
		return;
	queue_fence_set(c, d, cases[row].fence, 7);
	CHECK_EQUAL(c, "FENCE after a lower value", queue_fence(d, cases[row].fence), 7);
}

/* All queues at once, each with one descriptor. */
TEST("all queues work at once")
{
	struct conf_device *d = conf_device(c, 0);
	static struct queue q[T3_MAX_QUEUES];

	for (uint32_t i = 0; i < T3_MAX_QUEUES; i++)
		queue_create(c, d, &q[i], i, i % (T3_MAX_PRIORITY + 1));
	for (uint32_t i = 0; i < T3_MAX_QUEUES; i++)
		queue_do(c, &q[i], &(struct t3_descriptor){ 0 });
	for (uint32_t i = 0; i < T3_MAX_QUEUES; i++)
		queue_check(c, &q[i], T3_QUEUE_READY, 1, 0);
	CHECK_EQUAL(c, "QUEUE_DESCRIPTORS", conf_counter(d, T3_COUNTER_QUEUE_DESCRIPTORS),
		    T3_MAX_QUEUES);
}

TEST("a reset frees queues and clears fences", .rows = 2)
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_descriptor with = { .flags = T3_DESC_FLAG_IRQ }, wait = desc_wait(0, 9);
	struct queue q, failed;

	queue_create(c, d, &failed, 63, 0);
	failed.tail = 99;
	queue_submit(&failed);
	queue_wait_state(c, &failed, T3_QUEUE_ERROR);
	conf_reg_write(d, T3_REG_QUEUE_PENDING + 4, 1u << 31);
	queue_create(c, d, &q, 33, 0);
	queue_do(c, &q, &with);
	CHECK_EQUAL(c, "QUEUE_PENDING before", conf_reg(d, T3_REG_QUEUE_PENDING + 4), 2);
	queue_fence_set(c, d, 0, 8);
	queue_push(&q, &wait);
	queue_submit(&q);
	if (row)
		conf_flr(c, d);
	else
		conf_reset(d);
	conf_bus_master(c, d, true);
	queue_check(c, &q, T3_QUEUE_FREE, 0, 0);
	CHECK_EQUAL(c, "FENCE", queue_fence(d, 0), 0);
	queue_fence_set(c, d, 0, 9);
	CHECK_EQUAL(c, "completion", q.completions[1].word, 0);
	CHECK_EQUAL(c, "QUEUE_PENDING", conf_reg(d, T3_REG_QUEUE_PENDING + 4), 0);
	queue_check(c, &failed, T3_QUEUE_FREE, 0, 0);
	queue_create(c, d, &q, 33, 0);
	for (uint32_t i = 0; i < 2 * T3_QUEUE_ENTRIES_MIN; i++)
		queue_do(c, &q, &(struct t3_descriptor){ 0 });
}
