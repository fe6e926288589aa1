/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The base of a device: host callbacks, device memory, counters, errors, injected faults and
 * its place in a fabric. SPEC.md section 1. The rooms from links upwards use it. Each room
 * above has its own structure for a device. That structure begins with the one of the room
 * below, so it begins with struct t3_dev and is found from it.
 */
#ifndef T3_CORE_DEVICE_H
#define T3_CORE_DEVICE_H

#include "clock/clock.h"

struct t3_link;
struct t3_link_ops;
struct t3_peer;
struct t3_port;
struct t3_recorder;
struct t3_switch;

/*
 * The ends of links: the ranks, the switch behind them (T3_SWITCH_RANK), and its parts on other nodes
 * (T3_SWITCH_PART and the node). In packets each part is T3_SWITCH_RANK.
 */
#define T3_FABRIC_ENDS (T3_SWITCH_PART + T3_MAX_RANKS)
#define T3_NO_PART     T3_FABRIC_ENDS

/* A counted injection: skips nth - 1 events, then hits `count` events. nth 0: off. */
struct t3_injection {
	uint32_t nth;
	uint32_t count;
};

struct t3_poison {
	uint64_t start, end;
};

/* The faults injected at a rank. They exist whether the rank has a device or not. */
struct t3_rank_injection {
	struct t3_injection irq, dma;
	uint32_t poisons; /* sorted, disjoint, with gaps */
	struct t3_poison poison[T3_POISON_RANGES];
};

/* Ranks, the links between them, and the one clock that all of them share. */
struct t3_fabric {
	struct t3_fabric_config config;
	struct t3_fabric_ops ops;
	void *opaque;
	struct t3_clock clock;
	uint32_t inline_budget;
	struct t3_recorder *recorder;		/* NULL: not recorded */
	struct t3_dev *dev[T3_SWITCH_RANK + 1]; /* that of the switch has counters alone */
	struct t3_rank_injection injected[T3_MAX_RANKS];
	struct t3_link *link[T3_FABRIC_ENDS][T3_FABRIC_ENDS]; /* [source][target] */
	struct t3_peer *peer[T3_FABRIC_ENDS]; /* of an end on another node; NULL: none */
	struct t3_switch *sw;		      /* NULL: none; its part on this node */
	/* The end that has the groups of a rank. T3_NO_PART: no peer has said which node that is. */
	uint32_t part[T3_MAX_RANKS];
	const struct t3_link_ops *part_ops; /* of links with parts on other nodes */
};

#define T3_HOST_LINE 64u /* bytes of a line of the host's cache; another size costs only time */

/* Device memory. The core uses it only through the t3_mem_*() functions below. */
struct t3_mem {
	uint8_t *view; /* the copy that the core works on */
	uint8_t *host; /* the memory that the guest sees; differs from view only in a recording */
	const struct t3_mem_watch *watch;
	void *opaque;
};

struct t3_dev {
	struct t3_dev_config config;
	struct t3_host_ops ops;
	void *opaque;
	struct t3_mem mem;
	struct t3_port *port; /* of its recorder; NULL: not recorded */
	struct t3_fabric *fabric;
	uint32_t rank;
	uint32_t incarnation;
	uint32_t error_status, error_enable, error_vector;
	uint64_t poison_address; /* latched with T3_ERROR_POISON */
	uint64_t dma_address;	 /* latched with T3_ERROR_HOST_DMA */
	uint64_t counter[T3_COUNTER_COUNT];
};

/* The rank's device is on another node. */
static inline bool t3_rank_is_remote(const struct t3_fabric *fabric, uint32_t rank)
{
	return rank < T3_MAX_RANKS && fabric->config.remote >> rank & 1;
}

/*
 * The end where the space, or the group, of a rank is. T3_NO_PART: a group of a node that is unknown.
 * The switch on this node refuses the numbers that no group has.
 */
static inline uint32_t t3_fabric_end(const struct t3_fabric *fabric, uint32_t rank, uint32_t space)
{
	uint32_t owner = space / T3_PORT_GROUPS;

	return rank == T3_SWITCH_RANK && owner < T3_MAX_RANKS ? fabric->part[owner] : rank;
}

/* From a rank of this node to the space, or the group, of another one. NULL: there is none. */
static inline struct t3_link *t3_fabric_link(const struct t3_fabric *fabric, uint32_t from,
					     uint32_t rank, uint32_t space)
{
	uint32_t end = t3_fabric_end(fabric, rank, space);

	return rank <= T3_SWITCH_RANK && end < T3_FABRIC_ENDS ? fabric->link[from][end] : NULL;
}

/* fabric is NULL if the device is not attached. */
static inline void t3_fabric_charge(struct t3_fabric *fabric, uint32_t rows, uint32_t bytes)
{
	if (fabric)
		t3_clock_charge(&fabric->clock, rows, bytes);
}

static inline bool t3_timed_allowed(const struct t3_dev *dev)
{
	return dev->fabric && dev->fabric->config.timed;
}

/* ----------------------------------------------------------- device memory */

/*
 * Device memory is RAM, and the guest writes it without a call of the core. So each read is
 * input, which a recording must contain. These functions are the only access to it.
 */

/* For reading [offset, offset + len), or for changing bytes after reading them. */
static inline void *t3_mem_read(const struct t3_dev *dev, uint64_t offset, uint64_t len)
{
	if (dev->mem.watch)
		dev->mem.watch->fetch(dev->mem.opaque, offset, len);
	return dev->mem.view + offset;
}

/* For overwriting all of [offset, offset + len). */
static inline void *t3_mem_write(const struct t3_dev *dev, uint64_t offset, uint64_t len)
{
	(void)len;
	return dev->mem.view + offset;
}

/* For reports, unrecorded: the bytes read must not change the device's state. */
static inline const void *t3_mem_look(const struct t3_dev *dev, uint64_t offset)
{
	return dev->mem.view + offset;
}

/*
 * The host's processor fetches bytes that will probably be used soon. This is no access: it changes
 * and reports nothing.
 */
static inline void t3_mem_expect(const struct t3_dev *dev, uint64_t offset, uint32_t len)
{
	uint32_t at;

	if (offset + len > dev->config.memory_size)
		return;
	for (at = 0; at < len; at += T3_HOST_LINE)
		__builtin_prefetch(dev->mem.view + offset + at);
}

/* Reports exactly the bytes that were changed, none that was neither read nor written. */
static inline void t3_mem_stored(const struct t3_dev *dev, uint64_t offset, uint64_t len)
{
	if (dev->mem.watch)
		dev->mem.watch->stored(dev->mem.opaque, offset, len);
}

/* Reports a range that contains all changed bytes. A migration sends it again. */
static inline void t3_mem_dirty(const struct t3_dev *dev, uint64_t offset, uint64_t len)
{
	if (dev->ops.dirty)
		dev->ops.dirty(dev->opaque, offset, len);
}

/* Reports one changed range to both. */
static inline void t3_mem_written(struct t3_dev *dev, uint64_t offset, uint64_t len)
{
	t3_mem_stored(dev, offset, len);
	t3_mem_dirty(dev, offset, len);
}

/* poison_set.c: the ranges of device memory that the device must not use */
static inline bool t3_poison_any(const struct t3_dev *dev)
{
	return dev->fabric && dev->fabric->injected[dev->rank].poisons;
}
bool t3_poisoned(const struct t3_dev *dev, uint64_t offset, uint64_t len, uint64_t *where);
uint32_t t3_poison_add(struct t3_rank_injection *injected, uint64_t start, uint64_t end);
uint32_t t3_poison_remove(struct t3_rank_injection *injected, uint64_t start, uint64_t end);
/* Reports a refused use of poisoned memory: counter, POISON_ADDRESS, ERROR_STATUS. */
void t3_poison_report(struct t3_dev *dev, uint64_t where);

/* -------------------------------------------------------------------- host */

/* hostmem.c. Return false if host memory cannot be accessed there. */
bool t3_host_read(struct t3_dev *dev, uint64_t address, void *data, size_t len);
bool t3_host_write(struct t3_dev *dev, uint64_t address, const void *data, size_t len);

/* interrupt.c */
void t3_interrupt(struct t3_dev *dev, uint32_t vector);
void t3_error_raise(struct t3_dev *dev, uint32_t bit);
void t3_guest_error(struct t3_dev *dev, const char *what);

/* injection.c. Each counts one event. True: the fault hits this event. */
bool t3_injection_hits(struct t3_injection *injection);
bool t3_irq_lost(struct t3_dev *dev);
bool t3_dma_fails(struct t3_dev *dev);
/* The next number of a random sequence (xorshift64*); its state is never 0. */
uint64_t t3_random_next(uint64_t *state);
/* Counts an injected fault of the rank that took effect. */
void t3_count_injected(struct t3_fabric *fabric, uint32_t rank);

#endif /* T3_CORE_DEVICE_H */
