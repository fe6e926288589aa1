/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the core consists of: constants and structures. t3_internal.h has what is done with them. */
#ifndef T3_OBJECTS_H
#define T3_OBJECTS_H

#include <stdlib.h>
#include <string.h>

#include "t3_core.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the core keeps guest structures in host order: little-endian hosts only"
#endif

/* clang-format off */
#define t3_container_of(ptr, type, member) ((type *)(void *)((char *)(ptr) - offsetof(type, member)))
/* clang-format on */

#define T3_NONE32	  0xffffffffu
#define T3_NONE64	  (~(uint64_t)0)
#define T3_LINK_SLOTS	  64u
#define T3_LINK_RESERVE	  16u /* slots left to stores of the CPU */
#define T3_LINK_RETRIES	  7u
#define T3_LINK_LATENCY	  500u	 /* ns, published */
#define T3_LINK_RATE	  150u	 /* bytes per ns, published: 150 GB/s */
#define T3_LINK_TIMEOUT	  10000u /* ns */
#define T3_LINK_RESPONSES 128u
/* Far enough from the end of the clock for all that is ever added to it. */
#define T3_TIME_MAX	 (1ull << 62)
#define T3_STATUS_LINK	 0xffu	/* beside t3_nak: no response after all retries */
#define T3_PUMP_BATCH	 16u	/* packets for one event */
#define T3_ENGINE_PIECE	 4096u	/* bytes of a queue's step, at most */
#define T3_EVENT_WORK	 4096u	/* bytes of a tile that cost the host as much as an event */
#define T3_ROW_WORK	 64u	/* and a row is as much as so many bytes */
#define T3_STEP_WORK	 256u	/* and a step of the engine, whatever it does */
#define T3_PREPARE_PIECE 16384u /* bytes of memory that are prepared at a time */
#define T3_PREPARE_NOW	 65536u /* units of work that ARM does itself */
#define T3_MEMORY_RATE	 1000u	/* bytes per ns, published: HBM 1 TB/s */
#define T3_HOST_RATE	 32u	/* bytes per ns, published: PCIe 32 GB/s */
/* Slots that queues leave free; fewer than tiles do, which would take all others. */
#define T3_LINK_ENGINE_RESERVE (T3_LINK_RESERVE / 2)

/* ------------------------------------------------------------- event heap */

struct t3_event {
	uint64_t time;
	uint64_t seq;
	uint32_t rank;
	uint32_t pos; /* place in the heap + 1; 0: not scheduled */
	void (*fire)(struct t3_event *event);
};

struct t3_heap {
	struct t3_event **slot;
	uint32_t count;
	uint32_t capacity; /* events that exist: each is in the heap at most once */
	uint64_t seq;
};

int t3_heap_init(struct t3_heap *heap, uint32_t capacity);
void t3_heap_add(struct t3_heap *heap, struct t3_event *event, uint64_t time);
void t3_heap_restore(struct t3_heap *heap, struct t3_event *event);
void t3_heap_remove(struct t3_heap *heap, struct t3_event *event);
struct t3_event *t3_heap_pop(struct t3_heap *heap);

/* ------------------------------------------------------------------ shares */

/* share.c: of one resource, in units of work. */
struct t3_share {
	uint64_t now;  /* start of the piece served last */
	uint64_t last; /* and its work */
	uint64_t end[T3_MAX_CLIENTS];
};

/* ------------------------------------------------------------------- links */

/* A control packet that waits for its link: at most one for each route and import. */
struct t3_ctl {
	struct t3_ctl *next;
	struct t3_link *link; /* not NULL: queued there */
	struct t3_space *space;
	struct t3_packet packet; /* complete but for the link's fields */
};

/* An injected fault: counts events down, then hits `count` of them. nth 0: off. */
struct t3_trip {
	uint32_t nth;
	uint32_t count;
};

enum t3_held {
	T3_HELD_NOT,
	T3_HELD_LATE, /* injected: the next to arrive does so later than its slot says */
	T3_HELD_SWAP, /* injected: it does so behind its successor */
};

#define T3_INJECT_MAX_DELAY 1000000000u /* ns */
#define T3_INJECT_CHANCE    65536u

/* What is injected at a link. */
struct t3_accidents {
	bool down;					  /* nothing arrives */
	struct t3_trip trip[T3_INJECT_DROP_RESPONSE + 1]; /* by t3_inject_kind */
	uint64_t delay;					  /* ns, of trip[DELAY] */
	uint32_t chance;				  /* in 65536; 0: nothing at random */
	uint64_t random;				  /* xorshift, never 0 */
};

struct t3_poison {
	uint64_t start, end;
};

/* What is injected at a rank, whether a device is there or not. */
struct t3_mishaps {
	struct t3_trip irq, dma;
	uint32_t poisons; /* sorted, disjoint, with gaps */
	struct t3_poison poison[T3_POISON_RANGES];
};

struct t3_slot {
	struct t3_packet packet;
	uint64_t arrival;
	uint32_t status; /* t3_nak, valid once applied */
	bool answered;	 /* the source has seen the response */
	uint8_t payload[T3_PACKET_PAYLOAD];
};

/* What waits for a link, of one client. */
struct t3_turn {
	struct t3_ctl *ctl_head, *ctl_tail;
	struct t3_segment *work_head, *work_tail;
};

struct t3_response {
	uint64_t time;
	uint64_t seq;
	uint32_t status;
};

/*
 * One direction from src to dst. Sequence numbers are 64-bit here, their low
 * halves travel. una <= next; [una, next) lie in slots.
 */
struct t3_link {
	struct t3_fabric *fabric;
	uint32_t src;
	uint32_t dst;
	uint32_t incarnation;
	uint32_t retries;
	uint64_t una;	  /* oldest packet without response */
	uint64_t next;	  /* next to be sent first */
	uint64_t deliver; /* next to arrive */
	uint64_t expect;  /* the receiver's next */
	uint64_t busy;	  /* the wire is occupied until */
	uint32_t resp_head, resp_count;
	bool engine_waits; /* queues of the source wait for room */
	uint32_t wanted;   /* slots that a store of the CPU waits for: within a call */
	uint32_t held;	   /* t3_held of packet `deliver` */
	struct t3_accidents accidents;
	struct t3_share share; /* in bytes, among the source's clients */
	struct t3_turn turn[T3_MAX_CLIENTS];
	uint32_t waiting[T3_MAX_CLIENTS / 32]; /* bit: one of the client's lists is not empty */
	struct t3_event on_arrival, on_response, on_timeout, on_pump, on_loss;
	struct t3_response response[T3_LINK_RESPONSES];
	struct t3_slot slot[T3_LINK_SLOTS];
};

/* The timed run that goes on. Its ranks' queues have the phase TIMED. */
struct t3_gang {
	bool running;
	bool host_paced;
	uint32_t left; /* rank + 1 of one that has left it: it ends for the others; 0: none */
	uint64_t start;
	uint64_t tickets;     /* given to those who waited */
	struct t3_timed *run; /* NULL: to be made of the arguments */
	struct t3_event event;
};

struct t3_fabric {
	struct t3_fabric_config config;
	struct t3_fabric_ops ops;
	void *opaque;
	uint64_t now;
	uint32_t inline_budget;
	struct t3_heap heap;
	bool running;		      /* in t3_heap_run() */
	uint64_t work;		      /* of its events, not yet taken off the budget */
	struct t3_recorder *recorder; /* NULL: not recorded */
	struct t3_dev *dev[T3_MAX_RANKS];
	struct t3_mishaps mishaps[T3_MAX_RANKS];
	struct t3_link *link[T3_MAX_RANKS][T3_MAX_RANKS];
	struct t3_gang gang;
};

/* ---------------------------------------------------------- spaces, segments */

/* A tile's part of one row: where a producer's next store most often goes, too. */
struct t3_run {
	uint64_t offset;  /* in the space */
	uint64_t address; /* in device memory */
	uint32_t bytes;	  /* 0: none */
	uint32_t tile;
	uint64_t expected; /* of the tile */
};

/* How far a space has been prepared: in records of a segment first, then in its memory. */
struct t3_prepare {
	uint32_t segment; /* place in t3_space.sorted */
	uint32_t tile, row, col;
};

struct t3_segment {
	struct t3_space *space; /* NULL: free */
	struct t3_run run;	/* of the CPU's last store; geometry alone, so never out of date */
	struct t3_segment *work_next;
	bool queued; /* on the work list of cur_route's link */
	uint32_t index;
	uint32_t kind, op, dtype, init, target_op, esize;
	uint64_t offset, extent; /* bytes from first to behind last */
	uint32_t updates;
	uint32_t rows, row_bytes, pitch, tile_rows, tile_row_bytes;
	uint32_t tiles_x, tiles;
	uint32_t counter_base;
	bool stale;	 /* its counter records are not its own yet: they count as zero */
	uint32_t routes; /* bit mask; 0: LOCAL */
	uint32_t target_segment, target_row, target_col;
	uint32_t block_tiles; /* DMA: tiles that are sent together */
	uint64_t staging, slot_stride;
	uint32_t slots;
	uint32_t consumed[T3_SEG_SLOTS];
	uint32_t live; /* entries of the tracker */
	/* of the current epoch */
	uint32_t tiles_tracked;
	uint64_t send_bytes;  /* that will be sent in all */
	uint64_t acked_bytes; /* that targets applied */
	uint64_t word;
	/* ready list of blocks by their first tile, linked through the counter records */
	uint32_t ready_head, ready_tail, ready_count;
	/* block being sent: on one route after the other */
	uint32_t cur_first; /* T3_TILE_NONE: no block */
	uint32_t cur_route; /* without a block: the first route */
	uint32_t cur_slot;  /* REMOTE: staging slot it is read from */
	uint32_t cur_tile, cur_row, cur_col;
	struct t3_seg_counts counts;
};

struct t3_route {
	bool used;
	bool dead; /* the target takes nothing from dead_epoch on */
	uint32_t rank, space, generation, import;
	uint32_t peer_state, peer_epoch, dead_epoch;
	struct t3_link *link;
	struct t3_ctl ctl;
};

struct t3_import {
	bool used;
	bool poisoned; /* the source sends nothing from poison_epoch on */
	uint32_t rank, space, generation, op_mask;
	uint32_t poison_epoch;
	uint64_t segment_mask;
	struct t3_ctl ctl;
};

struct t3_space {
	struct t3_dev *dev;
	uint32_t id;
	uint32_t state, epoch;
	bool fresh;	/* no epoch since CREATE or RESET */
	bool mute;	/* the event area could not be written */
	bool preparing; /* ARMING, on its client's list */
	struct t3_prepare prepare;
	struct t3_space *prepare_next;
	uint64_t aperture, size, buffer, counters, event_area;
	uint32_t counter_count;
	uint32_t client;
	uint32_t faults;
	uint64_t dropped;
	uint32_t in_flight; /* packets without response, control packets queued */
	uint32_t seg_count, segs_left;
	struct t3_segment *segment[T3_SPACE_SEGMENTS];
	struct t3_segment *sorted[T3_SPACE_SEGMENTS]; /* by offset */
	struct t3_segment *recent;
	uint32_t recent_at; /* where it was in sorted */
	struct t3_route route[T3_SPACE_ROUTES];
	struct t3_import import[T3_SPACE_IMPORTS];
};

/* ------------------------------------------------------------------- tracker */

struct t3_entry {
	struct t3_segment *segment; /* NULL: free */
	uint32_t tile;
	uint32_t count;
	uint64_t used;
};

struct t3_tracker {
	struct t3_entry *entry;
	struct t3_entry *recent; /* found last; looked at before its set is */
	uint32_t sets, ways;
	uint64_t clock;
};

/* -------------------------------------------------------------------- queues */

/* What is done about descriptor `head`. */
enum t3_queue_phase {
	T3_PHASE_NONE = 0, /* not read yet */
	T3_PHASE_MOVE,	   /* up to (row, col) */
	T3_PHASE_WAIT,	   /* the fence has not been reached */
	T3_PHASE_REACHED,  /* it has, whatever it is now */
	T3_PHASE_GEMM,	   /* see struct t3_gemm_run */
	T3_PHASE_GANG,	   /* other ranks' descriptors are awaited, or another run's end */
	T3_PHASE_TIMED,	   /* it takes part in the fabric's run */
};

struct t3_queue {
	struct t3_dev *dev;
	uint32_t state, status, priority, entries, client;
	uint32_t head, tail;
	uint64_t ring, completions;
	bool hung;	  /* injected */
	uint32_t blocked; /* rank + 1 of the peer whose link has no room, 0: none */
	uint32_t phase;
	uint32_t row, col; /* of the next piece */
	uint64_t served;   /* units of work since CREATE */
	uint64_t turn;	   /* of the engine, when it was served last */
	uint64_t ticket;   /* since when it has waited for a timed run, or waited last */
	struct t3_descriptor desc;
};

#define T3_GEMM_SUMS	1024u  /* of a block, in one queue */
#define T3_GEMM_COLUMNS 256u   /* of a block, at most */
#define T3_GEMM_LANES	8u     /* a block's rows are padded to as many sums */
#define T3_GEMM_WORK	65536u /* products of a step, at most */
#define T3_GEMM_SLICE	512u   /* of K, of a step, at most */

/*
 * A queue's GEMM, while its phase is GEMM: the sums of the block it is at, over the
 * first `k` of K. When that is all of it, the queue's row and col say how much is stored.
 */
struct t3_gemm_run {
	struct t3_gemm args;
	uint32_t chunk, group, tile, block; /* done, of each in the one around it */
	uint32_t k;
	union {
		float f[T3_GEMM_SUMS];
		uint32_t i[T3_GEMM_SUMS];
	} sum;
};

/* -------------------------------------------------------------------- device */

/* Device memory: t3_mem_read(), t3_mem_write(), t3_mem_written() below, nothing else. */
struct t3_mem {
	uint8_t *view; /* what the core works on */
	uint8_t *host; /* what others see; another place only while it is recorded */
	const struct t3_mem_watch *watch;
	void *opaque;
};

/* Spaces of a client that are being prepared. */
struct t3_prepares {
	struct t3_space *head, *tail;
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
	struct t3_tracker tracker;
	uint16_t *page_space; /* aperture page -> space id + 1, 0: none */
	uint32_t generation[T3_MAX_SPACES];
	struct t3_space *space;	    /* T3_MAX_SPACES */
	struct t3_segment *segment; /* T3_MAX_SEGMENTS */
	uint32_t *free_segment;	    /* stack of indices */
	uint32_t free_segments;
	/* registers */
	uint32_t error_status, error_enable, event_vector, error_vector;
	uint64_t poison_address;	   /* latched with T3_ERROR_POISON */
	uint32_t used[T3_MAX_SPACES / 32]; /* bit: the space is not FREE */
	uint32_t pending[T3_MAX_SPACES / 32], enable[T3_MAX_SPACES / 32];
	uint32_t admin_command, admin_status;
	uint64_t mailbox[T3_MAILBOX_SIZE / 8];
	uint64_t counter[T3_COUNTER_COUNT];
	uint64_t dma_address;
	/* queues */
	struct t3_queue queue[T3_MAX_QUEUES];
	struct t3_gemm_run *gemm;    /* T3_MAX_QUEUES */
	struct t3_timed_args *timed; /* T3_MAX_QUEUES, while the phase is GANG or TIMED */
	uint64_t fence[T3_MAX_FENCES];
	uint32_t queue_vector;
	uint32_t queue_pending[T3_MAX_QUEUES / 32], queue_enable[T3_MAX_QUEUES / 32];
	struct t3_event engine;
	struct t3_share engine_share; /* of the engine, among the clients */
	uint64_t engine_turns;	      /* steps so far */
	struct t3_prepares prepares[T3_MAX_CLIENTS];
	uint64_t gang_served[T3_MAX_CLIENTS];	 /* ticket of the client's last timed run */
	uint32_t preparing[T3_MAX_CLIENTS / 32]; /* bit: the client's list is not empty */
	uint64_t engine_busy;			 /* until */
	uint8_t bounce[T3_ENGINE_PIECE];	 /* within a step only */
};

#endif /* T3_OBJECTS_H */
