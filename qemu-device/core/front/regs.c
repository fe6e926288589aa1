/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BAR0: the register map as a table. SPEC.md section 1.1. */
#include "front/front.h"

enum { RO, RW };

struct reg {
	uint32_t offset;
	uint32_t bytes; /* of the whole array */
	uint32_t width; /* 4, or 8: may be read as two halves too */
	uint32_t access;
	uint64_t (*read)(struct t3_dev *dev, uint32_t index);
	void (*write)(struct t3_dev *dev, uint32_t index, uint64_t value);
};

static uint64_t read_id(struct t3_dev *dev, uint32_t index)
{
	static const uint32_t value[] = { T3_ID_VALUE, T3_VERSION_VALUE,
					  T3_CAP_STAGING | T3_CAP_MINMAX | T3_CAP_QUEUES |
						  T3_CAP_MULTI | T3_CAP_BLOCKS | T3_CAP_BYTES |
						  T3_CAP_GEMM | T3_CAP_TILES | T3_CAP_TYPES |
						  T3_CAP_BYTE_OPS | T3_CAP_BITWISE |
						  T3_CAP_PRODUCT | T3_CAP_WIDEN };

	if (index != 2)
		return value[index];
	return (value[index] & ~dev->config.without_caps) |
	       (dev->config.guest_inject ? T3_CAP_INJECT : 0) |
	       (t3_timed_allowed(dev) ? T3_CAP_TIMED : 0) |
	       (dev->config.keys != T3_KEYS_OFF ? T3_CAP_KEYS : 0) |
	       (dev->config.keys == T3_KEYS_FABRIC ? T3_CAP_FAR_KEYS : 0);
}

static uint64_t read_zero(struct t3_dev *dev, uint32_t index)
{
	(void)dev;
	(void)index;
	return 0;
}

static uint64_t read_sizes(struct t3_dev *dev, uint32_t index)
{
	return index ? dev->config.aperture_size : dev->config.memory_size;
}

static uint64_t read_limits(struct t3_dev *dev, uint32_t index)
{
	(void)dev;
	return index ? T3_MAX_SEGMENTS : T3_MAX_SPACES;
}

static uint64_t read_fabric_id(struct t3_dev *dev, uint32_t index)
{
	(void)index;
	return dev->fabric ? dev->fabric->config.id : 0;
}

static uint64_t read_place(struct t3_dev *dev, uint32_t index)
{
	const struct t3_fabric *fabric = dev->fabric;

	switch (index) {
	case 0:
		return dev->rank;
	case 1:
		return fabric ? fabric->config.ranks : 1;
	case 2:
		return fabric ? fabric->config.topology : T3_TOPOLOGY_NONE;
	default:
		return dev->config.tracker_entries << 8 | dev->config.tracker_ways;
	}
}

static uint64_t read_clock(struct t3_dev *dev, uint32_t index)
{
	(void)index;
	return t3_fabric_now(dev->fabric);
}

static uint64_t read_node_ranks(struct t3_dev *dev, uint32_t index)
{
	const struct t3_fabric *fabric = dev->fabric;

	(void)index;
	if (!fabric)
		return 1;
	return ~fabric->config.remote & (uint32_t)((1ull << fabric->config.ranks) - 1);
}

static uint64_t read_incarnation(struct t3_dev *dev, uint32_t index)
{
	(void)index;
	return dev->incarnation;
}

static void write_control(struct t3_dev *dev, uint32_t index, uint64_t value)
{
	(void)index;
	if (value & ~(uint64_t)T3_CONTROL_RESET)
		t3_guest_error(dev, "CONTROL: unknown bit");
	if (value & T3_CONTROL_RESET)
		t3_dev_function_reset(dev);
}

static uint64_t read_error(struct t3_dev *dev, uint32_t index)
{
	return index ? dev->error_enable : dev->error_status;
}

static void write_error(struct t3_dev *dev, uint32_t index, uint64_t value)
{
	if (index)
		dev->error_enable = value & T3_ERROR_ALL;
	else
		dev->error_status &= ~(uint32_t)value;
}

static uint64_t read_poison_address(struct t3_dev *dev, uint32_t index)
{
	(void)index;
	return dev->poison_address;
}

static uint64_t read_vector(struct t3_dev *dev, uint32_t index)
{
	return index ? dev->error_vector : t3_spaces(dev)->event_vector;
}

static void write_vector(struct t3_dev *dev, uint32_t index, uint64_t value)
{
	if (value >= T3_MAX_VECTORS)
		t3_guest_error(dev, "interrupt vector out of range");
	else if (index)
		dev->error_vector = (uint32_t)value;
	else
		t3_spaces(dev)->event_vector = (uint32_t)value;
}

static uint64_t read_summary(struct t3_dev *dev, uint32_t index)
{
	uint32_t summary = 0, word;

	(void)index;
	for (word = 0; word < T3_MAX_SPACES / 32; word++)
		if (t3_spaces(dev)->pending[word] & t3_spaces(dev)->enable[word])
			summary |= 1u << word;
	return summary;
}

static uint64_t read_pending(struct t3_dev *dev, uint32_t index)
{
	return t3_spaces(dev)->pending[index];
}

static void write_pending(struct t3_dev *dev, uint32_t index, uint64_t value)
{
	t3_spaces(dev)->pending[index] &= ~(uint32_t)value;
}

static uint64_t read_enable(struct t3_dev *dev, uint32_t index)
{
	return t3_spaces(dev)->enable[index];
}

static void write_enable(struct t3_dev *dev, uint32_t index, uint64_t value)
{
	t3_notify_enable(dev, index, (uint32_t)value);
}

static uint64_t read_admin(struct t3_dev *dev, uint32_t index)
{
	(void)index;
	return t3_front(dev)->admin_command;
}

static void write_admin(struct t3_dev *dev, uint32_t index, uint64_t value)
{
	(void)index;
	t3_admin_run(dev, (uint32_t)value);
}

static uint64_t read_status(struct t3_dev *dev, uint32_t index)
{
	(void)index;
	return t3_front(dev)->admin_status;
}

static uint64_t read_mailbox(struct t3_dev *dev, uint32_t index)
{
	return t3_front(dev)->mailbox[index];
}

static void write_mailbox(struct t3_dev *dev, uint32_t index, uint64_t value)
{
	t3_front(dev)->mailbox[index] = value;
}

static uint64_t read_counter(struct t3_dev *dev, uint32_t index)
{
	if (index >= T3_COUNTER_COUNT)
		return 0;
	t3_lanes_count(dev);
	return dev->counter[index];
}

static uint64_t read_queue_vector(struct t3_dev *dev, uint32_t index)
{
	(void)index;
	return t3_queues(dev)->queue_vector;
}

static void write_queue_vector(struct t3_dev *dev, uint32_t index, uint64_t value)
{
	(void)index;
	if (value >= T3_MAX_VECTORS)
		t3_guest_error(dev, "interrupt vector out of range");
	else
		t3_queues(dev)->queue_vector = (uint32_t)value;
}

static uint64_t read_queue_pending(struct t3_dev *dev, uint32_t index)
{
	return t3_queues(dev)->queue_pending[index];
}

static void write_queue_pending(struct t3_dev *dev, uint32_t index, uint64_t value)
{
	t3_queues(dev)->queue_pending[index] &= ~(uint32_t)value;
}

static uint64_t read_queue_enable(struct t3_dev *dev, uint32_t index)
{
	return t3_queues(dev)->queue_enable[index];
}

static void write_queue_enable(struct t3_dev *dev, uint32_t index, uint64_t value)
{
	t3_queue_enable(dev, index, (uint32_t)value);
}

static uint64_t read_queue_limits(struct t3_dev *dev, uint32_t index)
{
	(void)dev;
	return index ? T3_MAX_FENCES : T3_MAX_QUEUES;
}

static uint64_t read_dma_address(struct t3_dev *dev, uint32_t index)
{
	(void)index;
	return dev->dma_address;
}

static uint64_t read_fence(struct t3_dev *dev, uint32_t index)
{
	return t3_queues(dev)->fence[index];
}

static uint64_t read_tail(struct t3_dev *dev, uint32_t index)
{
	return t3_queues(dev)->queue[index].tail;
}

static void write_tail(struct t3_dev *dev, uint32_t index, uint64_t value)
{
	t3_gang_host(dev->fabric);
	t3_queue_submit(dev, index, (uint32_t)value);
}

static uint64_t read_head(struct t3_dev *dev, uint32_t index)
{
	return t3_queues(dev)->queue[index].head;
}

static uint64_t read_queue_state(struct t3_dev *dev, uint32_t index)
{
	return t3_queues(dev)->queue[index].state;
}

static const struct reg regs[] = {
	{ T3_REG_ID, 12, 4, RO, read_id, NULL },
	{ T3_REG_CONTROL, 4, 4, RW, read_zero, write_control },
	{ T3_REG_MEMORY_SIZE, 16, 8, RO, read_sizes, NULL },
	{ T3_REG_MAX_SPACES, 8, 4, RO, read_limits, NULL },
	{ T3_REG_FABRIC_ID, 8, 8, RO, read_fabric_id, NULL },
	{ T3_REG_RANK, 16, 4, RO, read_place, NULL },
	{ T3_REG_VCLOCK, 8, 8, RO, read_clock, NULL },
	{ T3_REG_INCARNATION, 4, 4, RO, read_incarnation, NULL },
	{ T3_REG_NODE_RANKS, 4, 4, RO, read_node_ranks, NULL },
	{ T3_REG_ERROR_STATUS, 8, 4, RW, read_error, write_error },
	{ T3_REG_EVENT_VECTOR, 8, 4, RW, read_vector, write_vector },
	{ T3_REG_EVENT_SUMMARY, 4, 4, RO, read_summary, NULL },
	{ T3_REG_QUEUE_VECTOR, 4, 4, RW, read_queue_vector, write_queue_vector },
	{ T3_REG_QUEUE_PENDING, T3_MAX_QUEUES / 8, 4, RW, read_queue_pending, write_queue_pending },
	{ T3_REG_QUEUE_ENABLE, T3_MAX_QUEUES / 8, 4, RW, read_queue_enable, write_queue_enable },
	{ T3_REG_MAX_QUEUES, 8, 4, RO, read_queue_limits, NULL },
	{ T3_REG_DMA_ADDRESS, 8, 8, RO, read_dma_address, NULL },
	{ T3_REG_POISON_ADDRESS, 8, 8, RO, read_poison_address, NULL },
	{ T3_REG_SPACE_PENDING, T3_MAX_SPACES / 8, 4, RW, read_pending, write_pending },
	{ T3_REG_SPACE_ENABLE, T3_MAX_SPACES / 8, 4, RW, read_enable, write_enable },
	{ T3_REG_ADMIN_COMMAND, 4, 4, RW, read_admin, write_admin },
	{ T3_REG_ADMIN_STATUS, 4, 4, RO, read_status, NULL },
	{ T3_REG_MAILBOX, T3_MAILBOX_SIZE, 8, RW, read_mailbox, write_mailbox },
	{ T3_REG_COUNTERS, 8 * T3_COUNTER_COUNT, 8, RO, read_counter, NULL },
	{ T3_REG_FENCE, T3_MAX_FENCES * 8, 8, RO, read_fence, NULL },
	{ T3_REG_QUEUE_TAIL, T3_MAX_QUEUES * 4, 4, RW, read_tail, write_tail },
	{ T3_REG_QUEUE_HEAD, T3_MAX_QUEUES * 4, 4, RO, read_head, NULL },
	{ T3_REG_QUEUE_STATE, T3_MAX_QUEUES * 4, 4, RO, read_queue_state, NULL },
};

/* The registers are in the order of their offsets, and the first one is at 0. */
static const struct reg *reg_at(uint64_t offset, uint32_t size)
{
	size_t low = 0, high = sizeof(regs) / sizeof(regs[0]);

	if ((size != 4 && size != 8) || offset % size)
		return NULL;
	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (offset < regs[middle].offset)
			high = middle;
		else
			low = middle;
	}
	return offset - regs[low].offset < regs[low].bytes && size <= regs[low].width ? &regs[low]
										      : NULL;
}

static uint64_t read_part(uint64_t value, uint64_t offset, uint32_t size)
{
	if (size == 8)
		return value;
	return (uint32_t)(value >> (offset % 8 ? 32 : 0));
}

uint64_t t3_regs_read(struct t3_dev *dev, uint64_t offset, uint32_t size)
{
	const struct reg *reg;
	uint32_t index;

	if (offset >= T3_DOORBELL_BASE && offset < T3_BAR_REGS_SIZE)
		return t3_doorbell_read(dev, offset - T3_DOORBELL_BASE, size);
	reg = reg_at(offset, size);
	if (!reg) {
		t3_guest_error(dev, "read of no register, or of an illegal width");
		return 0;
	}
	index = (uint32_t)(offset - reg->offset) / reg->width;
	if (reg->width == 4)
		return reg->read(dev, index);
	return read_part(reg->read(dev, index), offset, size);
}

/* A 4-byte write to an 8-byte register replaces that half. */
static uint64_t merge(uint64_t old, uint64_t offset, uint64_t value)
{
	uint64_t half = 0xffffffffull << (offset % 8 ? 32 : 0);

	return (old & ~half) | ((value << (offset % 8 ? 32 : 0)) & half);
}

void t3_regs_write(struct t3_dev *dev, uint64_t offset, uint64_t value, uint32_t size)
{
	const struct reg *reg;
	uint32_t index;

	if (offset >= T3_DOORBELL_BASE && offset < T3_BAR_REGS_SIZE) {
		t3_gang_host(dev->fabric);
		t3_doorbell_write(dev, offset - T3_DOORBELL_BASE, value, size);
		return;
	}
	reg = reg_at(offset, size);
	if (!reg || reg->access == RO) {
		t3_guest_error(dev,
			       "write to no register or a read-only one, or of an illegal width");
		return;
	}
	index = (uint32_t)(offset - reg->offset) / reg->width;
	if (size < reg->width)
		value = merge(reg->read(dev, index), offset, value);
	else if (size == 4)
		value = (uint32_t)value;
	reg->write(dev, index, value);
}
