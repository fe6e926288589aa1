/* SPDX-License-Identifier: MIT */
/* Queues of a device without a fabric, and their trace. Their commands are in tests/conformance. */
#include "queue.h"
#include "test.h"

/* Without a fabric nothing runs. It runs after the device is attached. */
TEST("a detached device runs nothing")
{
	struct host *host = host_ring(2);
	struct host_dev *d = &host->dev[1];
	struct t3_descriptor nop = queue_nop();
	struct queue q;
	uint32_t kicks;

	t3_dev_detach(d->dev);
	q = queue_new(d, 0, 0);
	queue_submit(&q, &nop);
	assert_int_equal(queue_head(&q), 0);
	kicks = host->kicks;
	host_attach(host, 1);
	assert_int_equal(host->kicks, kicks + 1);
	host_drain(host);
	queue_expect(&q, 0, T3_DESC_OK, 0);
	host_free(host);
}

TEST("the trace names the job that ended")
{
	struct host *host = host_ring(1);
	struct queue q = queue_new(&host->dev[0], 3, 0);
	struct t3_descriptor nop = queue_nop();
	uint32_t i;

	for (i = 0; i < 3; i++) {
		queue_submit(&q, &nop);
		host_drain(host);
		assert_int_equal(host->dev[0].completed[T3_DESC_OK], i + 1);
		assert_int_equal(host->dev[0].last_completed, i);
	}
	host_free(host);
}
