/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The T3 core: the hardware in plain C, for any host (QEMU, unit tests, the native simulator).
 * SPEC.md describes the hardware; this header is the interface to hosts. The host provides
 * memory and callbacks. The core never blocks and keeps no global state. It allocates only in
 * *_new(), for a record and for a timed run.
 *
 * The host must serialise all calls on one fabric and its devices; t3_dev_aperture_store() says
 * where it may be called beside others. A callback must not call into the core, unless its comment
 * allows it.
 */
#ifndef T3_CORE_H
#define T3_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "t3_hw.h"

struct t3_fabric;
struct t3_dev;

/* ------------------------------------------------------------------- fabric */

struct t3_fabric_config {
	uint32_t topology;	 /* T3_TOPOLOGY_* */
	uint32_t ranks;		 /* 1 .. T3_MAX_RANKS; RING and FULL: at least 1 */
	uint32_t switch_entries; /* SWITCH: of a port, 1 .. T3_PORT_ENTRIES */
	uint64_t id;		 /* not 0 */
	bool timed;		 /* descriptor TIMED is allowed; its runs take memory of the host */
	/*
	 * Ranks of other nodes (t3_node.h), as a bit mask; not all. Such a fabric has no record and
	 * no switch.
	 */
	uint32_t remote;
};

/* Slices of a device's GEMMs. Their operands are copies, so they need no other state. */
struct t3_work;

struct t3_fabric_ops {
	/* Events are pending: call t3_fabric_run() soon, from the host's main loop. */
	void (*kick)(void *opaque);
	/*
	 * For hosts with threads to spare; the others set both NULL, and slices are multiplied in
	 * their events. The device of this rank has handed over a slice: call t3_work_run() for it.
	 */
	void (*work)(void *opaque, uint32_t rank, struct t3_work *work);
	/* Returns when the rank has no slices left and no thread is in t3_work_run() for it. */
	void (*work_wait)(void *opaque, uint32_t rank);
};

/*
 * Multiplies a slice. False: there is none. Threads call it beside all other calls on the fabric,
 * but for each device one at a time.
 */
bool t3_work_run(struct t3_work *work);

/* NULL: the configuration is out of range, or there is no memory. */
struct t3_fabric *t3_fabric_new(const struct t3_fabric_config *config,
				const struct t3_fabric_ops *ops, void *opaque);
/* All devices must be detached. */
void t3_fabric_free(struct t3_fabric *fabric);

/* Runs at most `budget` events; fewer if they process whole tiles. True: events are left. */
bool t3_fabric_run(struct t3_fabric *fabric, uint32_t budget);
/* The part of its budget that the last t3_fabric_run() took. One event may take more than all of it. */
uint64_t t3_fabric_spent(const struct t3_fabric *fabric);
/*
 * The ranks, as a bit mask, whose devices the next event may change. 0: no event is pending. So
 * t3_fabric_run(fabric, 1) may run beside t3_dev_aperture_store() for devices of other ranks.
 */
uint32_t t3_fabric_next_ranks(const struct t3_fabric *fabric);
/* The next event is a step of an engine, or of a timed run: many may follow it. */
bool t3_fabric_next_is_job(const struct t3_fabric *fabric);
/*
 * Sets the number of events that an access runs inline before it calls kick(). The default is
 * T3_INLINE_BUDGET. With 0, only t3_fabric_run() runs events.
 */
void t3_fabric_set_inline_budget(struct t3_fabric *fabric, uint32_t budget);
/*
 * Why t3_fabric_run() left events in spite of its budget: the next event needs slices of the rank.
 * NULL ops.work: never. An access leaves such events, too, and calls kick().
 */
bool t3_fabric_awaits(const struct t3_fabric *fabric, uint32_t *rank);
uint64_t t3_fabric_now(const struct t3_fabric *fabric); /* virtual ns */
uint64_t t3_fabric_id(const struct t3_fabric *fabric);	/* never 0 */

#define T3_INLINE_BUDGET 4096u
/* The most events of an access if events were pending before it. A store runs no jobs then. */
#define T3_BUSY_BUDGET 64u

/* Fault injection from outside (SPEC.md section 12). Returns t3_admin_status. */
uint32_t t3_fabric_inject(struct t3_fabric *fabric, const struct t3_cmd_inject *inject);
/*
 * Injections as text, "KIND KEY=NUMBER...; ...": takes the first one and moves `text`
 * behind it. WRONG: `error` says why; text that is cut off at `size` still ends in 0.
 * explain() does the same for a refused one.
 */
enum t3_inject_found {
	T3_INJECT_FOUND_NONE,
	T3_INJECT_FOUND_ONE,
	T3_INJECT_FOUND_WRONG,
};

enum t3_inject_found t3_inject_parse(const char **text, struct t3_cmd_inject *inject, char *error,
				     size_t size);
void t3_inject_explain(const struct t3_cmd_inject *inject, uint32_t status, char *error,
		       size_t size);

/* ------------------------------------------------------------------- device */

/* Grants by key. SPEC.md section 6.5. */
enum t3_keys_allowed {
	T3_KEYS_OFF,
	T3_KEYS_NODE,	/* between ranks of this node */
	T3_KEYS_FABRIC, /* also from and to those of other nodes */
	T3_KEYS_COUNT
};

/* Capabilities that a device may lack: versions 1.9 and 1.10 of the hardware have added them. */
#define T3_CAPS_OPTIONAL \
	(T3_CAP_TYPES | T3_CAP_BYTE_OPS | T3_CAP_BITWISE | T3_CAP_PRODUCT | T3_CAP_WIDEN)

struct t3_dev_config {
	uint64_t memory_size;	  /* a multiple of T3_PAGE_SIZE, not 0 */
	uint64_t aperture_size;	  /* a multiple of T3_PAGE_SIZE, not 0 */
	uint32_t tracker_entries; /* 1 .. 65536, a multiple of ways */
	uint32_t tracker_ways;	  /* 1 .. 64; entries / ways is a power of two */
	bool guest_inject;	  /* the guest may inject faults at its own rank */
	bool reset_generations;	  /* a reset sets generations to 1, for fuzzers that cannot read */
	uint32_t keys;		  /* t3_keys_allowed */
	uint32_t without_caps;	  /* T3_CAP_* of T3_CAPS_OPTIONAL that the device lacks */
};

struct t3_host_ops {
	/* Access guest memory. Return false if a byte is not in plain accessible memory. */
	bool (*dma_read)(void *opaque, uint64_t addr, void *buf, size_t len);
	bool (*dma_write)(void *opaque, uint64_t addr, const void *buf, size_t len);
	/* Sends an MSI-X vector, 0 .. T3_MAX_VECTORS - 1. */
	void (*irq)(void *opaque, uint32_t vector);
	/* The core changed device memory; may be NULL. */
	void (*dirty)(void *opaque, uint64_t offset, uint64_t len);
	/* The guest's driver made a mistake; may be NULL. */
	void (*guest_error)(void *opaque, const char *what);
	/* All that follow are for trace events, and may be NULL. */
	/* A space's state changed; `from` and `to` are enum t3_space_state. */
	void (*trace_state)(void *opaque, uint32_t space, uint32_t from, uint32_t to,
			    uint32_t epoch);
	/* A fault was recorded. */
	void (*trace_fault)(void *opaque, uint32_t space, const struct t3_fault_record *record);
	/* A tile reached its count. */
	void (*trace_trigger)(void *opaque, uint32_t space, uint32_t segment, uint32_t tile);
	/* A queue's state changed; `from` and `to` are enum t3_queue_state. */
	void (*trace_queue)(void *opaque, uint32_t queue, uint32_t from, uint32_t to);
	/* A descriptor was completed. */
	void (*trace_descriptor)(void *opaque, uint32_t queue, uint32_t index, uint32_t opcode,
				 uint32_t status);
	/*
	 * The sending of a REMOTE segment's tile, or of the DMA block that begins with it, has
	 * begun, or has ended on all routes (`sent`).
	 */
	void (*trace_block)(void *opaque, uint32_t space, uint32_t segment, uint32_t tile,
			    bool sent);
	/* The response to packets timed out: they are sent again, or the link gives up. */
	void (*trace_timeout)(void *opaque, uint32_t peer, uint32_t packets, bool given_up);
	/* An injection set the link to `peer` down or up. */
	void (*trace_link)(void *opaque, uint32_t peer, bool down);
	/*
	 * An injected fault hit a packet to `peer`, or the response to it. kind: enum
	 * t3_inject_kind; LINK_DOWN: it was lost, because the link is down.
	 */
	void (*trace_accident)(void *opaque, uint32_t peer, uint32_t kind, uint64_t sequence);
	/* The device learned that the one at `peer` was reset or detached. */
	void (*trace_loss)(void *opaque, uint32_t peer);
	/* A received packet was rejected; `nak` is enum t3_nak. */
	void (*trace_nak)(void *opaque, const struct t3_packet *packet, uint32_t nak);
};

/* Says which field of the configuration is wrong, and what is allowed. NULL: none is wrong. */
const char *t3_dev_config_error(const struct t3_dev_config *config);

/*
 * `memory` has config->memory_size bytes. The host owns it, and keeps it until t3_dev_free().
 * Returns NULL if the configuration is wrong or there is no memory.
 */
struct t3_dev *t3_dev_new(const struct t3_dev_config *config, uint8_t *memory,
			  const struct t3_host_ops *ops, void *opaque);
/*
 * Callbacks for a replay: the core is about to read a range of device memory, or has written
 * one.
 */
struct t3_mem_watch {
	void (*fetch)(void *opaque, uint64_t offset, uint64_t len);
	void (*stored)(void *opaque, uint64_t offset, uint64_t len);
};
void t3_dev_watch(struct t3_dev *dev, const struct t3_mem_watch *watch, void *opaque);

/* The device must be detached. */
void t3_dev_free(struct t3_dev *dev);

enum t3_attach {
	T3_ATTACH_OK,
	T3_ATTACH_NO_RANK,   /* the fabric has fewer ranks */
	T3_ATTACH_TAKEN,     /* another device has the rank */
	T3_ATTACH_TWICE,     /* the device is attached already */
	T3_ATTACH_NO_MEMORY, /* for its record */
	T3_ATTACH_REMOTE,    /* the rank is on another node */
};

enum t3_attach t3_dev_attach(struct t3_dev *dev, struct t3_fabric *fabric, uint32_t rank);
/* Resets the device. Its peers learn that it is gone. */
void t3_dev_detach(struct t3_dev *dev);

/* Function reset (SPEC.md section 10); may be called at any time. */
void t3_dev_reset(struct t3_dev *dev);

/* BAR0. size is 1, 2, 4 or 8; any offset. */
uint64_t t3_dev_regs_read(struct t3_dev *dev, uint64_t offset, uint32_t size);
void t3_dev_regs_write(struct t3_dev *dev, uint64_t offset, uint64_t value, uint32_t size);

/* BAR4. size is 1, 2, 4 or 8; any offset. */
uint64_t t3_dev_aperture_read(struct t3_dev *dev, uint64_t offset, uint32_t size);
void t3_dev_aperture_write(struct t3_dev *dev, uint64_t offset, uint64_t value, uint32_t size);
/*
 * For a fabric of several nodes, before a store: must it wait for another node's response? Then the
 * host tries again after t3_peer_input() or t3_peer_tick(), and stores when it need not: slots are
 * reserved for it. A store that does not wait faults its space. It ends, because the link gives up.
 */
bool t3_dev_aperture_waits(struct t3_dev *dev, uint64_t offset, uint32_t size);
/*
 * A store that changes nothing but memory and counts of this device, as most of a producer's do. It
 * completes no tile, raises no interrupt and leaves no event. `lane` is 0 .. T3_LANES - 1, and best
 * always the same for a vCPU. Calls of this function with different lanes may run at the same time;
 * no other call on the fabric may run beside them, but see t3_fabric_next_ranks(). False: the store
 * is of another kind, or another lane was busy here for long, and nothing was done; call
 * t3_dev_aperture_write().
 */
#define T3_LANES 8u
bool t3_dev_aperture_store(struct t3_dev *dev, uint32_t lane, uint64_t offset, uint64_t value,
			   uint32_t size);

/* -------------------------------------------------------------------- words */

/* The name of a value of an enumeration of t3_hw.h; "?" if it has none. */
const char *t3_name_space_state(uint32_t state);
const char *t3_name_fault(uint32_t kind);
const char *t3_name_segment_kind(uint32_t kind);
const char *t3_name_op(uint32_t op);
const char *t3_name_dtype(uint32_t dtype);
const char *t3_name_topology(uint32_t topology);
const char *t3_name_counter(uint32_t counter);
const char *t3_name_nak(uint32_t nak);
const char *t3_name_packet(uint32_t type);
const char *t3_name_queue_state(uint32_t state);
const char *t3_name_opcode(uint32_t opcode); /* of a descriptor */
const char *t3_name_descriptor_status(uint32_t status);
const char *t3_name_admin_command(uint32_t command);
const char *t3_name_admin_status(uint32_t status);
/* Names of bits, by their number. */
const char *t3_name_cap(uint32_t bit);
const char *t3_name_error(uint32_t bit);
const char *t3_name_tile_flag(uint32_t bit);
const char *t3_name_inject(uint32_t kind); /* as t3_inject_parse() takes it */
const char *t3_name_group_kind(uint32_t kind);
const char *t3_name_group_state(uint32_t state);

/* ------------------------------------------------------------------ reports */

/*
 * Copies of the state, for monitors and debuggers. They change nothing. False, or ~0: the object
 * does not exist. A callback for trace events may call those of its own device.
 */
struct t3_space_info {
	uint32_t state, epoch, generation;
	uint32_t in_flight; /* packets without response, control packets queued */
	uint32_t faults;
	uint32_t segments;
	uint32_t segments_left; /* segments that are not delivered in this epoch */
	uint64_t dropped;
	uint64_t aperture, size;
};
bool t3_dev_space_info(const struct t3_dev *dev, uint32_t space, struct t3_space_info *info);

struct t3_route_info {
	uint32_t rank, space, generation; /* of the target */
	uint32_t peer_state, peer_epoch;  /* last reported by the target */
	bool dead;
	bool ready; /* the target has reported the current epoch or a later one */
};
/* `rank` may be T3_SWITCH_RANK; then `space` is a group. */
bool t3_dev_route_info(const struct t3_dev *dev, uint32_t space, uint32_t route,
		       struct t3_route_info *info);

struct t3_seg_counts {
	uint64_t stores, doorbells, local_bytes, remote_bytes;
	uint64_t triggers, dma_bytes, link_bytes, nmc_elements;
};

struct t3_segment_info {
	uint32_t kind, op, dtype, updates;
	uint32_t tiles, tiles_tracked, tiles_ready;
	uint32_t rows, row_bytes;
	uint32_t routes;		  /* bit mask; 0 for LOCAL */
	uint32_t target_ranks;		  /* bit mask; 0 for LOCAL */
	uint32_t target_segment;	  /* at each target */
	uint64_t send_bytes, acked_bytes; /* of this epoch; 0 for LOCAL */
	struct t3_seg_counts counts;
};
bool t3_dev_segment_info(const struct t3_dev *dev, uint32_t space, uint32_t segment,
			 struct t3_segment_info *info);

struct t3_tile_info {
	uint32_t tile;
	uint64_t count, expected; /* update bytes */
	bool ready;		  /* waits for its turn on a link */
	bool sending;
};
/* The first tile in [from, end) that is not finished in the current epoch. */
uint32_t t3_dev_next_waiting_tile(const struct t3_dev *dev, uint32_t space, uint32_t segment,
				  uint32_t from, uint32_t end, struct t3_tile_info *info);

struct t3_link_info {
	bool down;
	uint32_t unanswered, retries, incarnation;
	uint32_t waiting_segments, waiting_control;
	uint64_t next;
};
/* Ranks, T3_SWITCH_RANK, or T3_SWITCH_PART and a node. */
bool t3_fabric_link_info(const struct t3_fabric *fabric, uint32_t src, uint32_t dst,
			 struct t3_link_info *info);

/* The port of a rank, as SWITCH_QUERY there shows it. False: there is no switch, or no such port. */
bool t3_fabric_port_info(const struct t3_fabric *fabric, uint32_t rank,
			 struct t3_cmd_switch_query *info);
/* A group, as GROUP_QUERY shows it. `own`: rank and space that made it. False: it is FREE. */
struct t3_group_info {
	uint32_t own_rank, own_space, own_generation;
	struct t3_cmd_group_query query; /* `space` is own_space */
};
bool t3_fabric_group_info(const struct t3_fabric *fabric, uint32_t group,
			  struct t3_group_info *info);
/* T3_COUNTER_COUNT words, of the switch's ends of links. NULL: there is no switch. */
const uint64_t *t3_fabric_switch_counters(const struct t3_fabric *fabric);

enum t3_queue_wait {
	T3_QUEUE_WAITS_NOT, /* the queue works, or has nothing to do */
	T3_QUEUE_WAITS_FENCE,
	T3_QUEUE_WAITS_LINK,
	T3_QUEUE_WAITS_HUNG, /* injected */
	T3_QUEUE_WAITS_GANG, /* for TIMED descriptors of other ranks, or for another run's end */
};

struct t3_queue_info {
	uint32_t state, status, priority, entries;
	uint32_t head, tail;
	uint32_t waits; /* t3_queue_wait */
	uint32_t rank;	/* LINK: the target of the link */
	uint32_t fence; /* FENCE: its number, value, and the value waited for */
	uint64_t fence_value, fence_wanted;
};
/* False: there is no such queue. */
bool t3_dev_queue_info(const struct t3_dev *dev, uint32_t queue, struct t3_queue_info *info);
/*
 * The descriptor that the queue has read last, which trace_descriptor() is about; `gemm` is what it
 * points to if it is a GEMM that has begun, else 0.
 */
bool t3_dev_queue_descriptor(const struct t3_dev *dev, uint32_t queue,
			     struct t3_descriptor *descriptor, struct t3_gemm *gemm);

/*
 * The next pending injection at a rank, in the form for t3_fabric_inject(). nth and count are
 * what remains of them. `from` is 0 first, then the last result + 1. Returns ~0: no more.
 */
uint32_t t3_fabric_next_injection(const struct t3_fabric *fabric, uint32_t rank, uint32_t from,
				  struct t3_cmd_inject *inject);

/* T3_COUNTER_COUNT words. */
const uint64_t *t3_dev_counters(const struct t3_dev *dev);

/* -------------------------------------------------------------------- state */

typedef void t3_sink(void *opaque, const void *data, size_t len);

/*
 * Migration (SPEC.md section 13). A state can be saved between any two calls into the core. It is
 * loaded into devices and a fabric of the same configuration: load all of them in any order, call
 * t3_fabric_check(), then go on. The host transfers device memory and host memory.
 */
void t3_dev_save(struct t3_dev *dev, t3_sink *sink, void *opaque);
void t3_fabric_save(struct t3_fabric *fabric, t3_sink *sink, void *opaque);
/*
 * The state is not trusted. Returns NULL, or in words why the state is refused. A refused device
 * state clears the device; a refused fabric state clears the fabric and all its devices. The device
 * must be attached. While the fabric is recorded, a load is refused and changes nothing.
 */
const char *t3_dev_load(struct t3_dev *dev, const void *data, size_t len);
const char *t3_fabric_load(struct t3_fabric *fabric, const void *data, size_t len);
/*
 * Checks the rules that hold between any two calls. Returns NULL, or the rule that does not hold.
 * After a load that breaks a rule, only t3_fabric_clear() may be called.
 */
const char *t3_fabric_check(const struct t3_fabric *fabric);
/* Clears the fabric and all its devices in any state, and ends the record. */
void t3_fabric_clear(struct t3_fabric *fabric);

#endif /* T3_CORE_H */
