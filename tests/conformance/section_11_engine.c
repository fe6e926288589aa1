// SPDX-License-Identifier: MIT
/* SPEC.md 11.4 and 11.5: the order of queues, the time of steps, and fences. */
#include "conf.h"
#include "queue.h"

CONF_SECTION("11.4", "engine and fences");

static const struct t3_descriptor nop;

/* One queue signals, the other waits. Either of them comes first. */
TEST("a signal ends a wait, whichever comes first", .rows = 4)
{
	struct t3_descriptor wait = desc_wait(17, 4), signal = desc_signal(17, 4);
	struct conf_device *d = conf_device(c, 0);
	struct queue waiter, signaller;

	queue_create(c, d, &waiter, row & 1, 0);
	queue_create(c, d, &signaller, !(row & 1), 0);
	queue_push(&waiter, &wait);
	queue_push(&signaller, &signal);
	if (row & 2) {
		queue_submit(&signaller);
		queue_expect(c, &signaller, 0, T3_DESC_OK, 0);
		queue_submit(&waiter);
	} else {
		queue_submit(&waiter);
		CHECK_EQUAL(c, "QUEUE_HEAD that waits", queue_reg(&waiter, T3_REG_QUEUE_HEAD), 0);
		CHECK_EQUAL(c, "completion", waiter.completions[0].word, 0);
		queue_submit(&signaller);
	}
	queue_expect(c, &waiter, 0, T3_DESC_OK, 0);
	queue_expect(c, &signaller, 0, T3_DESC_OK, 0);
	CHECK_EQUAL(c, "FENCE", queue_fence(d, 17), 4);
}

/* SIGNAL takes the larger of both; WAIT is over at its value and above. */
TEST("a fence takes the larger value")
{
	struct t3_descriptor wait = desc_wait(0, 10), signal = desc_signal(0, 10);
	struct conf_device *d = conf_device(c, 0);
	struct queue q;

	queue_create(c, d, &q, 0, 0);
	queue_push(&q, &wait);
	queue_submit(&q);
	queue_fence_set(c, d, 0, 9);
	CHECK_EQUAL(c, "QUEUE_HEAD below the value", queue_reg(&q, T3_REG_QUEUE_HEAD), 0);
	queue_fence_set(c, d, 1, 10);
	CHECK_EQUAL(c, "QUEUE_HEAD after another fence", queue_reg(&q, T3_REG_QUEUE_HEAD), 0);
	queue_fence_set(c, d, 0, 1ull << 63);
	queue_expect(c, &q, 0, T3_DESC_OK, 0);
	queue_do(c, &q, &signal);
	CHECK_EQUAL(c, "FENCE after a lower SIGNAL", queue_fence(d, 0), 1ull << 63);
	signal = desc_signal(0, ~0ull);
	queue_do(c, &q, &signal);
	CHECK_EQUAL(c, "FENCE after a higher SIGNAL", queue_fence(d, 0), ~0ull);
	queue_fence_set(c, d, 0, 0);
	queue_push(&q, &wait);
	queue_submit(&q);
	CHECK_EQUAL(c, "QUEUE_HEAD after a lower FENCE_SET", queue_reg(&q, T3_REG_QUEUE_HEAD), 3);
	/* The fence is lowered right after. The waiter still sees that it had the value. */
	queue_fence_set(c, d, 0, 10);
	queue_fence_set(c, d, 0, 0);
	queue_expect(c, &q, 3, T3_DESC_OK, 0);
}

/* Two queues take turns by two fences, several times around the rings. */
TEST("two queues take turns by two fences")
{
	struct conf_device *d = conf_device(c, 0);
	struct queue q[2];

	queue_create(c, d, &q[0], 0, 0);
	queue_create(c, d, &q[1], 1, T3_MAX_PRIORITY);
	for (uint32_t round = 1; round <= 40; round++) {
		for (unsigned i = 2; i--;) {
			struct t3_descriptor wait = desc_wait(i, i ? round : round - 1);
			struct t3_descriptor signal = desc_signal(!i, round);

			queue_push(&q[i], &wait);
			queue_push(&q[i], &signal);
			queue_submit(&q[i]);
		}
		for (unsigned i = 0; i < 2; i++)
			queue_expect(c, &q[i], q[i].tail - 1, T3_DESC_OK, 0);
	}
	CHECK_EQUAL(c, "FENCE", queue_fence(d, 0), 40);
}

/* ----------------------------------------------------------------- priority */

/* Both begin to run at once, when the fence that they wait for is set. */
static void start_together(struct conf *c, struct queue *first, struct queue *second,
			   const struct t3_descriptor *a, const struct t3_descriptor *b,
			   uint32_t count)
{
	struct t3_descriptor wait = desc_wait(0, 1);

	queue_push(first, &wait);
	queue_push(second, &wait);
	for (uint32_t i = 0; i < count; i++) {
		queue_push(first, a);
		queue_push(second, b);
	}
	queue_submit(first);
	queue_submit(second);
	queue_fence_set(c, first->dev, 0, 1);
	queue_expect(c, first, count, T3_DESC_OK, 0);
	queue_expect(c, second, count, T3_DESC_OK, 0);
}

/* The higher queue ends before the lower one's descriptor begins, in either order of submission. */
TEST("the higher queue goes first", .rows = 6)
{
	struct t3_descriptor high_fill = desc_fill(T3_LOC_MEMORY, 0, 2, 16 * T3_PAGE_SIZE);
	struct t3_descriptor low_fill = desc_fill(T3_LOC_MEMORY, 0, 1, 8);
	struct conf_device *d = conf_device(c, 0);
	uint32_t low_priority = row / 2;
	struct queue low, high;

	queue_create(c, d, &low, row & 1, low_priority);
	queue_create(c, d, &high, !(row & 1), low_priority + 1);
	if (row & 1)
		start_together(c, &high, &low, &high_fill, &low_fill, 1);
	else
		start_together(c, &low, &high, &low_fill, &high_fill, 1);
	CHECK(c, high.completions[1].vtime < low.completions[1].vtime,
	      "the lower queue was done at %llu ns, the higher at %llu ns",
	      (unsigned long long)low.completions[1].vtime,
	      (unsigned long long)high.completions[1].vtime);
	CHECK_EQUAL(c, "who wrote last", conf_read(d->memory, 0, 8), 1);
	CHECK_EQUAL(c, "the rest", conf_read(d->memory, 8, 8), 2);
}

/* In the middle of a long copy, at the next piece: not only between descriptors. */
TEST("a higher queue overtakes in the middle of a copy")
{
	const uint32_t bytes = 64 * T3_PAGE_SIZE;
	struct t3_descriptor copy = desc_copy(T3_LOC_MEMORY, 0, T3_LOC_MEMORY, bytes, bytes);
	struct t3_descriptor signal = desc_signal(1, 1), wait = desc_wait(1, 1);
	struct conf_device *d = conf_device(c, 0);
	struct queue low, high, third;
	uint64_t taken;

	queue_create(c, d, &low, 0, 0);
	queue_create(c, d, &third, 1, 0);
	queue_create(c, d, &high, 2, T3_MAX_PRIORITY);
	queue_push(&high, &wait);
	queue_submit(&high);
	/* The signal of an equal queue comes after the first pieces of the copy. */
	start_together(c, &low, &third, &copy, &signal, 1);
	queue_expect(c, &high, 0, T3_DESC_OK, 0);
	taken = low.completions[1].vtime - high.completions[0].vtime;
	CHECK(c, high.completions[0].vtime < low.completions[1].vtime && taken > bytes / 2000,
	      "the higher queue was served %llu ns before the end of the copy",
	      (unsigned long long)taken);
}

/* Equal queues take turns, one step each. */
TEST("equal queues take turns", .rows = 4)
{
	struct t3_descriptor fill = desc_fill(T3_LOC_MEMORY, 0, 0, 8);
	struct conf_device *d = conf_device(c, 0);
	struct queue a, b;
	bool a_first;

	queue_create(c, d, &a, 3, row);
	queue_create(c, d, &b, 60, row);
	start_together(c, &a, &b, &fill, &fill, 10);
	a_first = a.completions[1].vtime < b.completions[1].vtime;
	for (uint32_t i = 1; i <= 10; i++) {
		uint64_t x = a.completions[i].vtime, y = b.completions[i].vtime;
		uint64_t next = (a_first ? a : b).completions[i + 1].vtime;

		CHECK(c, x != y && (x < y) == a_first, "out of turn at descriptor %u", i);
		CHECK(c, i == 10 || (a_first ? y : x) < next, "out of turn after descriptor %u", i);
	}
}

/* The step after one that moved bytes starts that much later, rounded up. */
TEST("time passes with the bytes", .rows = 8)
{
	static const struct {
		bool host;
		uint32_t bytes, ns;
	} cases[] = {
		{ false, 1, 1 }, { false, 1000, 1 }, { false, 1001, 2 }, { false, 4096, 5 },
		{ true, 1, 1 },	 { true, 33, 2 },    { true, 64, 2 },	 { true, 4096, 128 },
	};
	struct t3_descriptor wait = desc_wait(0, 1), fill;
	struct conf_device *d = conf_device(c, 0);
	struct queue q;
	uint64_t iova;

	queue_create(c, d, &q, 0, 0);
	conf_page(c, &iova);
	fill = cases[row].host ? desc_fill(T3_LOC_HOST, iova, 0, cases[row].bytes)
			       : desc_fill(T3_LOC_MEMORY, 0, 0, cases[row].bytes);
	queue_push(&q, &wait);
	queue_push(&q, &fill);
	queue_push(&q, &nop);
	queue_push(&q, &nop);
	queue_submit(&q);
	queue_fence_set(c, d, 0, 1);
	queue_expect(c, &q, 3, T3_DESC_OK, 0);
	CHECK_EQUAL(c, "ns after what moved bytes", q.completions[2].vtime - q.completions[1].vtime,
		    cases[row].ns);
	CHECK_EQUAL(c, "ns after what moved none", q.completions[3].vtime - q.completions[2].vtime,
		    1);
	CHECK(c, q.completions[3].vtime <= conf_reg64(d, T3_REG_VCLOCK), "vtime is in the future");
}
