/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calls of hosts while the machine runs. SPEC.md sections 8 and 14. Each call does its work,
 * then runs events as far as the inline budget allows. A record has an entry for each call.
 */
#include "front/front.h"

/*
 * The budget of an access. Events that are pending before it belong to other accesses or to a
 * long job. So the access runs only a few of them.
 */
static uint32_t budget_of(const struct t3_fabric *fabric)
{
	if (!fabric)
		return 0;
	if (fabric->clock.heap.count && fabric->inline_budget > T3_BUSY_BUDGET)
		return T3_BUSY_BUDGET;
	return fabric->inline_budget;
}

static void settle(struct t3_fabric *fabric, uint32_t budget)
{
	if (fabric && fabric->clock.heap.count && t3_clock_run(&fabric->clock, budget))
		fabric->ops.kick(fabric->opaque);
}

static bool pending(const struct t3_fabric *fabric)
{
	return fabric && fabric->clock.heap.count;
}

/*
 * After a store to the aperture. A tile's first and last stores come here, and would wait for jobs
 * each time. So jobs that were pending before are left to the host's loop.
 */
static void settle_store(struct t3_fabric *fabric, uint32_t budget, bool busy)
{
	if (!busy)
		settle(fabric, budget);
	else if (t3_clock_run_no_job(&fabric->clock, budget))
		fabric->ops.kick(fabric->opaque);
}

/* Leaves events to the host's loop. So in a machine reset peers learn of it after all resets. */
static void leave_rest(struct t3_fabric *fabric)
{
	if (fabric && fabric->clock.heap.count)
		fabric->ops.kick(fabric->opaque);
}

uint32_t t3_fabric_next_ranks(const struct t3_fabric *fabric)
{
	const struct t3_clock *clock = &fabric->clock;

	if (!clock->heap.count)
		return 0;
	if (clock->heap.slot[0]->rank == T3_MAX_RANKS) /* a timed run, or the switch */
		return T3_NONE32;
	return 1u << clock->heap.slot[0]->rank;
}

bool t3_fabric_next_is_job(const struct t3_fabric *fabric)
{
	return t3_clock_next_is_job(&fabric->clock);
}

bool t3_fabric_run(struct t3_fabric *fabric, uint32_t budget)
{
	bool left;

	if (fabric->recorder)
		t3_record_fabric(fabric->recorder, T3_REC_RUN, budget);
	left = t3_clock_run(&fabric->clock, budget);
	if (fabric->recorder)
		t3_record_end(fabric->recorder, left, 1);
	return left;
}

uint64_t t3_fabric_spent(const struct t3_fabric *fabric)
{
	return fabric->clock.spent;
}

bool t3_fabric_awaits(const struct t3_fabric *fabric, uint32_t *rank)
{
	*rank = fabric->clock.stalled - 1;
	return fabric->clock.stalled;
}

void t3_fabric_set_inline_budget(struct t3_fabric *fabric, uint32_t budget)
{
	fabric->inline_budget = budget;
	if (!fabric->recorder)
		return;
	t3_record_fabric(fabric->recorder, T3_REC_BUDGET, budget);
	t3_record_end(fabric->recorder, 0, 0);
}

uint32_t t3_fabric_inject(struct t3_fabric *fabric, const struct t3_cmd_inject *inject)
{
	uint32_t status;

	if (fabric->recorder)
		t3_record_inject(fabric->recorder, inject);
	if (inject->kind >= T3_INJECT_NODE_CUT && inject->kind < T3_INJECT_NODE_END)
		status = t3_node_inject(fabric, inject);
	else
		status = t3_inject(fabric, inject);
	leave_rest(fabric); /* the end of a hang may have scheduled the engine */
	if (fabric->recorder)
		t3_record_end(fabric->recorder, status, 1);
	return status;
}

void t3_dev_reset(struct t3_dev *dev)
{
	if (dev->port)
		t3_record_device(dev->port, T3_REC_RESET);
	t3_dev_function_reset(dev);
	leave_rest(dev->fabric);
	if (dev->port)
		t3_record_port_end(dev->port, 0, 0);
}

/* Clears bits beyond the size of the access. */
static uint64_t cut(uint64_t value, uint32_t size)
{
	return size < 8 ? value & ((1ull << 8 * size) - 1) : value;
}

uint64_t t3_dev_regs_read(struct t3_dev *dev, uint64_t offset, uint32_t size)
{
	uint32_t budget = budget_of(dev->fabric);
	uint64_t value;

	if (dev->port)
		t3_record_access(dev->port, T3_REC_REGS_READ, offset, 0, size);
	value = t3_regs_read(dev, offset, size);
	settle(dev->fabric, budget);
	if (dev->port)
		t3_record_port_end(dev->port, value, size);
	return value;
}

void t3_dev_regs_write(struct t3_dev *dev, uint64_t offset, uint64_t value, uint32_t size)
{
	uint32_t budget = budget_of(dev->fabric);

	value = cut(value, size);
	if (dev->port)
		t3_record_access(dev->port, T3_REC_REGS_WRITE, offset, value, size);
	t3_regs_write(dev, offset, value, size);
	settle(dev->fabric, budget);
	if (dev->port)
		t3_record_port_end(dev->port, 0, 0);
}

uint64_t t3_dev_aperture_read(struct t3_dev *dev, uint64_t offset, uint32_t size)
{
	uint32_t budget = budget_of(dev->fabric);
	uint64_t value;

	if (dev->port)
		t3_record_access(dev->port, T3_REC_APERTURE_READ, offset, 0, size);
	value = t3_aperture_read(dev, offset, size);
	settle(dev->fabric, budget);
	if (dev->port)
		t3_record_port_end(dev->port, value, size);
	return value;
}

static void record_aperture_write(struct t3_dev *dev, uint64_t offset, uint64_t value,
				  uint32_t size)
{
	uint32_t budget = budget_of(dev->fabric);
	bool busy = pending(dev->fabric);

	value = cut(value, size);
	t3_record_access(dev->port, T3_REC_APERTURE_WRITE, offset, value, size);
	t3_gang_host(dev->fabric);
	t3_aperture_write(dev, offset, value, size);
	settle_store(dev->fabric, budget, busy);
	t3_record_port_end(dev->port, 0, 0);
}

/* Records and timed runs must see each store in the order of all calls. */
bool t3_dev_aperture_store(struct t3_dev *dev, uint32_t lane, uint64_t offset, uint64_t value,
			   uint32_t size)
{
	if (dev->port || !dev->fabric || t3_gang_running(dev->fabric))
		return false;
	return t3_lane_store(dev, lane, offset, value, size);
}

/* Every tracked store uses this, so the recording path is a separate function. */
bool t3_dev_aperture_waits(struct t3_dev *dev, uint64_t offset, uint32_t size)
{
	return dev->fabric && dev->fabric->config.remote && t3_aperture_waits(dev, offset, size);
}

void t3_dev_aperture_write(struct t3_dev *dev, uint64_t offset, uint64_t value, uint32_t size)
{
	uint32_t budget = budget_of(dev->fabric);
	bool busy = pending(dev->fabric);

	if (dev->port) {
		record_aperture_write(dev, offset, value, size);
		return;
	}
	t3_gang_host(dev->fabric);
	t3_aperture_write(dev, offset, value, size);
	settle_store(dev->fabric, budget, busy);
}
