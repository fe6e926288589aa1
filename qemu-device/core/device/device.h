/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What all parts of a device stand on: its host's callbacks and memory, its own memory, its
 * counters and errors, what is injected at it, and the fabric that it is in. Rooms from links
 * on up use it. A room above has data of its own for each device: its structure begins with
 * the one of the room below, and so with struct t3_dev, from which it is found.
 */
#ifndef T3_CORE_DEVICE_H
#define T3_CORE_DEVICE_H

#include "clock/clock.h"

struct t3_link;
struct t3_port;
struct t3_recorder;

/* An injected fault: counts events down, then hits `count` of them. nth 0: off. */
struct t3_injection {
	uint32_t nth;
	uint32_t count;
};

struct t3_poison {
	uint64_t start, end;
};

/* What is injected at a rank, whether a device is there or not. */
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
	struct t3_recorder *recorder; /* NULL: not recorded */
	struct t3_dev *dev[T3_MAX_RANKS];
	struct t3_rank_injection injected[T3_MAX_RANKS];
	struct t3_link *link[T3_MAX_RANKS][T3_MAX_RANKS]; /* [source][target] */
};

/* Device memory: t3_mem_read(), t3_mem_write(), t3_mem_written() below, nothing else. */
struct t3_mem {
	uint8_t *view; /* what the core works on */
	uint8_t *host; /* what others see; another place only while it is recorded */
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

/* A NULL fabric: the device is in none. */
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
 * Device memory is RAM that others write without our knowledge, so that each read is
 * input, of which a record has to know. These are the only way to it.
 */

/* To read [offset, offset + len), or to change what is there. */
static inline void *t3_mem_read(const struct t3_dev *dev, uint64_t offset, uint64_t len)
{
	if (dev->mem.watch)
		dev->mem.watch->fetch(dev->mem.opaque, offset, len);
	return dev->mem.view + offset;
}

/* To overwrite all of [offset, offset + len). */
static inline void *t3_mem_write(const struct t3_dev *dev, uint64_t offset, uint64_t len)
{
	(void)len;
	return dev->mem.view + offset;
}

/* To look without a trace: what is seen must not come into the device's state. */
static inline const void *t3_mem_look(const struct t3_dev *dev, uint64_t offset)
{
	return dev->mem.view + offset;
}

/* Exactly this range was changed: no byte may be named that was not read or written. */
static inline void t3_mem_stored(const struct t3_dev *dev, uint64_t offset, uint64_t len)
{
	if (dev->mem.watch)
		dev->mem.watch->stored(dev->mem.opaque, offset, len);
}

/* What was changed is within this range, which a migration sends again. */
static inline void t3_mem_dirty(const struct t3_dev *dev, uint64_t offset, uint64_t len)
{
	if (dev->ops.dirty)
		dev->ops.dirty(dev->opaque, offset, len);
}

/* Both. */
static inline void t3_mem_written(struct t3_dev *dev, uint64_t offset, uint64_t len)
{
	t3_mem_stored(dev, offset, len);
	t3_mem_dirty(dev, offset, len);
}

/* poison_set.c: ranges of device memory that the device must not use */
static inline bool t3_poison_any(const struct t3_dev *dev)
{
	return dev->fabric && dev->fabric->injected[dev->rank].poisons;
}
bool t3_poisoned(const struct t3_dev *dev, uint64_t offset, uint64_t len, uint64_t *where);
uint32_t t3_poison_add(struct t3_rank_injection *injected, uint64_t start, uint64_t end);
uint32_t t3_poison_remove(struct t3_rank_injection *injected, uint64_t start, uint64_t end);
/* Reports a use that was refused: counter, POISON_ADDRESS, ERROR_STATUS. */
void t3_poison_report(struct t3_dev *dev, uint64_t where);

/* -------------------------------------------------------------------- host */

/* hostmem.c. Return 0, or -1 when host memory is out of reach. */
int t3_host_read(struct t3_dev *dev, uint64_t address, void *data, size_t len);
int t3_host_write(struct t3_dev *dev, uint64_t address, const void *data, size_t len);

/* interrupt.c */
void t3_interrupt(struct t3_dev *dev, uint32_t vector);
void t3_error_raise(struct t3_dev *dev, uint32_t bit);
void t3_guest_error(struct t3_dev *dev, const char *what);

/* injection.c. Each counts an event and tells whether it is to be hit. */
bool t3_injection_hits(struct t3_injection *injection);
bool t3_irq_lost(struct t3_dev *dev);
bool t3_dma_fails(struct t3_dev *dev);
/* What was injected at the rank has happened. */
void t3_count_injected(struct t3_fabric *fabric, uint32_t rank);

#endif /* T3_CORE_DEVICE_H */
