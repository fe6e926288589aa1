/* SPDX-License-Identifier: MIT */
#include "arena.h"
#include "nodes.h"
#include "queue/queue.h"
#include "rewind.h"
#include "switch/switch.h"

/* ------------------------------------------------------------------- memory */

static void clear_memory(uint8_t *memory, size_t size)
{
	uint8_t *start = memory + (-(uintptr_t)memory & (ARENA_PAGE - 1));
	size_t head = (size_t)(start - memory), pages = (size - head) / ARENA_PAGE;

	memset(memory, 0, head);
	arena_clear(start, pages);
	memset(start + pages * ARENA_PAGE, 0, size - head - pages * ARENA_PAGE);
}

/* ------------------------------------------------------------------ devices */

static void rewind_core(struct t3_dev *dev)
{
	uint32_t i;

	for (i = 0; i < T3_MAX_SPACES; i++)
		t3_spaces(dev)->generation[i] = 1;
	for (i = 0; i < T3_MAX_SEGMENTS; i++)
		t3_spaces(dev)->free_segment[i] = T3_MAX_SEGMENTS - 1 - i;
	dev->incarnation = 1;
	t3_spaces(dev)->tracker.clock = 0;
	dev->error_status = 0;
	memset(dev->counter, 0, sizeof(dev->counter));
	t3_share_clear(&t3_queues(dev)->engine_share);
	t3_queues(dev)->engine_turns = 0;
	t3_queues(dev)->engine_busy = 0;
}

static void rewind_device(struct host_dev *d)
{
	clear_memory(d->memory, d->memory_size);
	clear_memory(d->data, HOST_DATA_SIZE);
	clear_memory(d->pages, HOST_PAGES * T3_PAGE_SIZE);
	memset(d->irqs, 0, sizeof(d->irqs));
	memset(d->completed, 0, sizeof(d->completed));
	memset(&d->traced, 0, sizeof(d->traced));
	d->fail_after = HOST_NONE32;
	d->fail_data = 0;
	d->guest_errors = d->triggers = d->logged = d->stores = 0;
}

/* ------------------------------------------------------------------ fabrics */

static void rewind_link(struct t3_link *link)
{
	struct t3_fabric *fabric = link->fabric;
	const struct t3_link_ops *ops = link->ops;
	uint32_t from = link->from, to = link->to, keeps = link->burst_keeps;

	memset(link, 0, sizeof(*link));
	t3_link_init(link, fabric, from, to, ops);
	link->burst_keeps = keeps;
}

static void rewind_links(struct t3_fabric *fabric)
{
	uint32_t a, b;

	for (a = 0; a <= T3_SWITCH_RANK; a++)
		for (b = 0; b <= T3_SWITCH_RANK; b++)
			if (fabric->link[a][b])
				rewind_link(fabric->link[a][b]);
}

static void rewind_fabric(struct t3_fabric *fabric)
{
	assert_int_equal(fabric->clock.heap.count, 0);
	rewind_links(fabric);
	if (fabric->sw)
		t3_switch_clear(fabric->sw);
	memset(fabric->injected, 0, sizeof(fabric->injected));
	fabric->clock.now = 0;
	fabric->clock.heap.seq = 0;
}

void rewind_host(struct host *host)
{
	uint32_t r;

	for (r = 0; r < host->ranks; r++)
		t3_dev_reset(host->dev[r].dev);
	host_drain(host);
	for (r = 0; r < host->ranks; r++)
		rewind_device(&host->dev[r]);
	host->kicks = 0;
	if (host->nodes)
		return;
	t3_fabric_set_inline_budget(host->fabric, T3_INLINE_BUDGET);
	for (r = 0; r < host->ranks; r++)
		rewind_core(host->dev[r].dev);
	rewind_fabric(host->fabric);
}

static void expect_zero(const uint8_t *memory, size_t size)
{
	assert_false(memory[0] || memcmp(memory, memory + 1, size - 1));
}

void rewind_expect_clear(struct host *host)
{
	uint32_t r;

	for (r = 0; r < host->ranks; r++) {
		expect_zero(host->dev[r].memory, host->dev[r].memory_size);
		expect_zero(host->dev[r].data, HOST_DATA_SIZE);
		expect_zero(host->dev[r].pages, HOST_PAGES * T3_PAGE_SIZE);
	}
}
