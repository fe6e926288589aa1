/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of a device of the timed model, and their functions for each other. SPEC.md 8.1. */
#ifndef T3_CORE_TIMED_PRIVATE_H
#define T3_CORE_TIMED_PRIVATE_H

#include "t3_timed.h"

#define TIMED_NONE 0xffffffffu
#define TIMED_NS   1000u /* picoseconds */

struct timed_device;

/* -------------------------------------------------------------------- events */

enum timed_event_kind {
	TIMED_EVENT_SLOT,
	TIMED_EVENT_NODE_LINK,
	TIMED_EVENT_COPY,     /* a sum that waited is written */
	TIMED_EVENT_RECALLED, /* a phase that another run had is over */
	TIMED_EVENT_MEMORY,
	TIMED_EVENT_LINK,
	TIMED_EVENT_ARRIVAL,
	TIMED_EVENT_PORT, /* a message that waited for the port, or came by a switch, is in */
};

/*
 * Events are ordered by time, then by rank of the device, then by `tie`: source, sequence of the
 * source. A peer as the source is its distance; the device itself comes last. So the order of a
 * device's events depends neither on its rank nor on the number of devices simulated. The low
 * bits of the device's own tie name the kind and the slot.
 */
struct timed_event {
	uint64_t time, tie;
};

/* Where a device's next event waits. */
enum timed_place_of_events {
	TIMED_AT_MEMORY,
	TIMED_AT_LINK,
	TIMED_AT_NEIGHBOUR,
	TIMED_AT_RUN,
	TIMED_AT_HEAP
};

/* Sorted, in a ring. Most events of slots come in order of time, so they join at its end. */
struct timed_run {
	struct timed_event *event; /* at the head: never, if it is empty */
	uint32_t head, mask, count;
};

struct timed_heap {
	struct timed_event *event; /* [0]: never, if it is empty */
	uint32_t count;
};

/*
 * The events of a device. Of the first three there is at most one each. All others share the run
 * and the heap. So a rare kind, as the node link's, costs the frequent ones nothing.
 */
struct timed_agenda {
	struct timed_event memory, link, neighbour; /* the last: the arrival from distance 1 */
	struct timed_run run;
	struct timed_heap heap; /* of those that are too early for the run's end */
	uint64_t sequence;
	struct timed_event first; /* of those that are not in the run */
	uint32_t at;		  /* its place */
	bool runs;		  /* the device's next event is in the run */
};

bool timed_agenda_init(struct timed_device *d, uint64_t events);
/* Schedules an event of the device itself. The memory and the link have at most one each. */
void timed_schedule(struct timed_device *d, uint64_t time, enum timed_event_kind kind,
		    uint32_t number);
/* Schedules the arrival of message number `sequence` from the peer at this distance. */
void timed_schedule_arrival(struct timed_device *d, uint64_t time, uint32_t distance,
			    uint64_t sequence);
/* Removes the device's next event, which there must be. `number`: the slot, or the distance. */
enum timed_event_kind timed_agenda_take(struct timed_device *d, uint32_t *number);
/* To be called when the device's events have changed. */
void timed_agenda_settle(struct timed_device *d);
/* Puts a device in its place again, which was settled in its turn. */
void timed_order_return(struct timed_device *d);

/* A tournament of the devices. Of events at one time, that of the lowest rank comes first. */
struct timed_order {
	uint64_t *next;	  /* the time of each device's next event */
	uint32_t *winner; /* devices; [1]: of all; [devices + rank]: the device itself */
};

bool timed_order_init(struct t3_timed *sim);

/* ------------------------------------------------------------------ geometry */

/*
 * The output is cut in row_blocks x column_blocks chunks of one size, one for each rank of a node.
 * Chunks at the end may be padded.
 */
struct timed_cut {
	uint32_t row_blocks, column_blocks;
	uint32_t rows, columns; /* elements of a chunk */
	bool down; /* the next chunk is in the next row block, not the next column block */
};

struct timed_cut timed_cut_choose(const struct t3_timed_setup *setup);
uint32_t timed_node_ranks(const struct t3_timed_workload *w); /* of one node */

/* A level of the group: a ring over the ranks of a node, or over the nodes. */
enum timed_level { TIMED_IN_NODE, TIMED_OVER_NODES, TIMED_LEVELS };

/* The pieces that a ring at this level passes on: a chunk of the output, or parts of a chunk. */
struct timed_ring_shape {
	uint32_t ranks;
	uint32_t numbers; /* of pieces, for each chunk */
	uint32_t pieces;  /* of a chunk, that exist */
};

/* An expert of the device. Its rows are in the order of the distance of the ranks that sent them. */
struct timed_expert {
	uint32_t rows;
	uint32_t grid_rows; /* tile rows */
	uint32_t first_row; /* tile rows of the experts before */
	uint32_t first_tile, tiles;
	uint32_t *start; /* [distance]: rows that come from nearer ranks; [ranks]: all */
};

/*
 * Tiles are numbered in the order in which the device produces them, chunk by chunk. The chunk
 * at position 0 is sent at once; the one at position ranks - 1 is the device's own. A tile is
 * tracked in pieces. Positions are relative to the rank, so all devices work alike.
 */
struct timed_shape {
	uint32_t ranks; /* of a node */
	uint32_t nodes;
	struct timed_cut cut;
	uint32_t tile_rows, tile_columns; /* a full tile */
	uint32_t element_bytes;
	uint32_t grid_rows, grid_columns; /* tiles of a chunk */
	uint32_t chunk_tiles, tiles;
	uint32_t first_tile;   /* that the GEMM computes; those from there on follow */
	uint32_t piece_rows;   /* of a full piece */
	uint32_t tile_pieces;  /* of a full tile */
	uint32_t pieces;       /* tiles * tile_pieces, the limit of piece numbers */
	uint32_t chunk_pieces; /* pieces that exist in a chunk: ragged tiles have fewer */
	struct timed_ring_shape ring[TIMED_LEVELS];
	uint32_t request_bytes;
	uint64_t part_bytes;  /* of a chunk's part, one for each node */
	uint32_t copy_pieces; /* the limit of piece numbers in a collective */
	uint32_t k_steps;
	uint32_t k_block, k_last;	    /* elements of a step, and of the last one */
	uint32_t a_parts, b_parts;	    /* requests for a step's block of A, of B */
	uint32_t block_pieces, tile_blocks; /* DMA blocks */
	/* most pieces that wait for the link, that the DMA reads ahead, that a copy works on */
	uint32_t link_queue, read_ahead, copy_window;
	uint32_t copy_held; /* most pieces of one step that it works on */
	uint32_t raster_rows;
	uint16_t *piece_bytes; /* [piece]; 0: the tile has no such piece */
	struct timed_expert *expert;
	uint32_t experts; /* of this device; 0: the output is cut in chunks */
};

struct timed_place {
	uint32_t row, column;	/* in tiles, from the first chunk produced */
	uint32_t rows, columns; /* elements */
};

void timed_shape_init(struct timed_shape *shape, const struct t3_timed_setup *setup);
/* Gives a rank the shape of its experts' rows. False: no memory. */
bool timed_experts_init(struct timed_shape *shape, const struct t3_timed_setup *setup,
			uint32_t rank);
void timed_experts_free(struct timed_shape *shape);
void timed_experts_tile(const struct timed_shape *shape, uint32_t tile, struct timed_place *place);
/* The order of the tiles in a grid. */
void timed_shape_raster(const struct timed_shape *shape, uint32_t grid_rows, uint32_t i,
			uint32_t *row, uint32_t *column);
void timed_shape_tile(const struct timed_shape *shape, uint32_t tile, struct timed_place *place);
/* Fills in piece_bytes. */
bool timed_shape_measure(struct timed_shape *shape);
/* The bytes of a piece of a collective at this level. */
uint32_t timed_shape_copy_bytes(const struct timed_shape *shape, enum timed_level level,
				uint32_t piece);
/* Pieces that the tile has. */
uint32_t timed_shape_tile_pieces(const struct timed_shape *shape, uint32_t tile);
/* Rows and columns of tiles of the whole output. */
uint32_t timed_shape_rows(const struct timed_shape *shape);
uint32_t timed_shape_columns(const struct timed_shape *shape);
uint64_t timed_shape_blocks(const struct timed_shape *shape); /* the limit of block numbers */
uint32_t timed_position(const struct timed_shape *shape, uint32_t piece);

/* Returns 0 if the tile has no such piece. */
static inline uint32_t timed_shape_piece_bytes(const struct timed_shape *shape, uint32_t piece)
{
	return shape->piece_bytes[piece];
}

/* -------------------------------------------------------------------- memory */

enum timed_stream { TIMED_COMPUTE, TIMED_COMMUNICATION, TIMED_STREAMS };

enum timed_owner {
	TIMED_OWNER_NONE,
	TIMED_OWNER_WRITTEN,  /* writes a cache block of the output */
	TIMED_OWNER_LINE,     /* fills cache line `number` */
	TIMED_OWNER_SLOT,     /* loads for slot `number`, which found no line to fill */
	TIMED_OWNER_UPDATE,   /* updates piece `number` */
	TIMED_OWNER_STORED,   /* stores a piece that is not tracked */
	TIMED_OWNER_RECORD,   /* reads the tracker's record of tile `number` */
	TIMED_OWNER_DMA,      /* a triggered DMA reads piece `number` */
	TIMED_OWNER_COPY,     /* a collective reads piece `number` */
	TIMED_OWNER_RESULT,   /* a collective writes its result, piece `number` */
	TIMED_OWNER_RECEIVED, /* writes received data of a reduce-scatter, piece `number` */
	TIMED_OWNER_GATHERED, /* writes received data of an all-gather or all-to-all */
	TIMED_OWNER_ROUTED,   /* reads rows that go to a peer */
	TIMED_OWNER_CAME,   /* writes or adds rows of a peer; of tile row `number`, if dispatched */
	TIMED_OWNER_ADDED,  /* a unit reads the own piece `number`, to which it adds what came */
	TIMED_OWNER_SUMMED, /* and writes it */
};

/*
 * The caller that adds a request sets number, bytes, kind, owner and update. They are apart, so that the
 * compiler does not load several at once that were stored one by one: a host waits for that.
 */
struct timed_request {
	uint32_t next;
	uint32_t number;
	uint64_t since;	  /* the time when it was added */
	uint32_t entries; /* that it takes in each channel's queue */
	uint32_t ps;	  /* that it takes to serve, without what the order of requests adds */
	uint32_t bytes;
	uint8_t kind; /* enum t3_timed_bytes */
	uint8_t stream;
	uint8_t owner; /* enum timed_owner */
	bool update;   /* a near-memory update */
};

struct timed_fifo {
	uint32_t head, tail;
};

struct timed_memory {
	struct timed_request *request;
	uint32_t free, unused; /* those from `unused` on were never used: the host gives no pages */
	struct timed_fifo stream[TIMED_STREAMS];
	struct timed_fifo queue[2]; /* reads, writes */
	uint64_t entries;	    /* queue entries in use */
	uint64_t changed;	    /* the time of the last change of `entries` */
	uint32_t current;	    /* the request in service; TIMED_NONE: idle */
	uint64_t started;
	uint64_t run; /* bytes served since the last change of direction */
	bool writes;  /* the current direction */
	bool mca, turns;
	int64_t lead;	       /* bytes that compute was admitted more, while both waited */
	uint8_t turn, last;    /* streams: admitted last, served last */
	uint64_t communicated; /* the time when communication was admitted last */
	bool staged;	       /* the first stage has ended and the threshold is set */
	uint64_t threshold;
	uint64_t first_busy; /* ps that compute requests took in the first stage */
};

bool timed_memory_init(struct timed_device *d, uint64_t requests);
void timed_memory_add(struct timed_device *d, enum timed_stream stream,
		      const struct timed_request *request);
void timed_memory_event(struct timed_device *d);
void timed_memory_first_stage(struct timed_device *d);

/* --------------------------------------------------------------------- cache */

struct timed_line {
	uint64_t ready; /* ps; T3_TIMED_NEVER: being filled */
	uint32_t block; /* TIMED_NONE: empty */
	uint32_t bytes;
	uint32_t waiter; /* the first waiter for it */
	bool dirty;
};

struct timed_cache {
	struct timed_line *line;
	uint64_t *used;	 /* of a line: the clock at the last use; later ones: it is being filled */
	uint32_t *where; /* line of a block, or TIMED_NONE */
	uint32_t sets, ways;
	uint64_t clock;
	uint32_t writing; /* blocks being written to memory */
	bool flushed;
	uint64_t free; /* ps; the time when the data path is free */
	uint64_t busy; /* ps; that the data path moved bytes */
};

bool timed_cache_init(struct timed_device *d);
/*
 * Loads so many bytes for the slot, from the block `first` on. Returns when it has those that are in
 * the cache; 0: none is. The others are pending, and timed_ops.loaded() follows for each.
 */
uint64_t timed_cache_load(struct timed_device *d, uint32_t slot, uint32_t first, uint32_t bytes);
void timed_cache_store(struct timed_device *d, uint32_t block, uint32_t bytes);
void timed_cache_filled(struct timed_device *d, uint32_t line);
void timed_cache_flush(struct timed_device *d);
void timed_cache_written(struct timed_device *d);

/* ---------------------------------------------------------------------- GEMM */

enum timed_slot_state {
	TIMED_SLOT_IDLE,
	TIMED_SLOT_LOADING, /* loads operands, while it may compute the step before */
	TIMED_SLOT_WAITING, /* waits for its compute unit */
	TIMED_SLOT_LAST,    /* computes its last step */
	TIMED_SLOT_STORING, /* stores its tile */
	TIMED_SLOT_BLOCKED, /* its stores wait for the link */
	TIMED_SLOT_ROWS,    /* waits for rows of its tile */
};

struct timed_slot {
	uint32_t tile;
	struct timed_place place; /* of the tile */
	uint32_t step;		  /* the step being loaded, or the last step being computed */
	uint32_t a, b;		  /* the first cache block of the step's block of A, of B */
	uint32_t pending;
	uint32_t next_blocked;
	uint8_t state;
	uint64_t ready; /* ps; operands are loaded and the step before is computed */
	uint64_t started;
};

struct timed_gemm {
	struct timed_slot *slot;
	uint64_t *unit_free; /* ps */
	uint32_t *waiter;    /* the next after waiter number slot << waiter_shift | part */
	uint32_t slots, units;
	uint32_t waiter_shift; /* a slot has at least as many waiters as a step has loads */
	uint32_t next_tile, finished;
	uint32_t stored; /* pieces in memory that are not tracked */
	uint32_t staged; /* workgroups of this stage that have not ended */
	uint64_t step_ps;
	struct timed_fifo blocked;
};

bool timed_gemm_init(struct timed_device *d);
void timed_gemm_start(struct timed_device *d);
void timed_gemm_event(struct timed_device *d, uint32_t slot);
void timed_gemm_loaded(struct timed_device *d, uint32_t slot, uint64_t time);
void timed_gemm_link_has_room(struct timed_device *d);
void timed_gemm_stored(struct timed_device *d);
/* The rows of this tile row have come. */
void timed_gemm_rows_came(struct timed_device *d, uint32_t tile_row);

/* ---------------------------------------------------------------------- link */

enum timed_message_kind {
	TIMED_MESSAGE_UPDATE, /* a near-memory update of the receiver's piece */
	TIMED_MESSAGE_DATA,   /* data of the baseline's reduce-scatter */
	TIMED_MESSAGE_GATHER, /* data of an all-gather or all-to-all */
	TIMED_MESSAGE_ROWS,   /* rows of an expert layer */
	TIMED_MESSAGE_SUM,    /* the same, which are added at the receiver's memory */
};

enum timed_sender {
	TIMED_SENDER_STORE,
	TIMED_SENDER_DMA,
	TIMED_SENDER_COPY,
	TIMED_SENDER_ROUTED,
	TIMED_SENDER_SUM,   /* a unit that has a sum */
	TIMED_SENDER_ENTRY, /* the switch, from an entry that is free when the message has come */
};

/* The distance of the peer in the next node, which the node link leads to. */
#define TIMED_NEXT_NODE T3_TIMED_MAX_RANKS
/* Not a distance: a switch copies the message to all. Its piece is that of the next device. */
#define TIMED_TO_ALL (T3_TIMED_MAX_RANKS + 1)

struct timed_message {
	uint64_t time;	/* the earliest departure; in flight, the arrival */
	uint32_t piece; /* the piece's number at the receiver */
	uint32_t bytes;
	uint16_t distance; /* in the node, TIMED_NEXT_NODE or TIMED_TO_ALL */
	uint8_t kind, sender;
};

struct timed_ring {
	struct timed_message *message;
	uint32_t head, count, size;
};

/* From each peer: messages in flight, and their number so far. */
struct timed_inbox {
	struct timed_ring ring;
	uint64_t came;
};

struct timed_link {
	struct timed_ring out;
	struct timed_inbox *in; /* [distance - 1]; of a node link, the only one */
	uint32_t peers;
	uint64_t started;
};

bool timed_ring_init(struct timed_ring *ring, uint64_t size);
/* Returns where the message is now. */
static inline struct timed_message *timed_ring_push(struct timed_ring *ring,
						    const struct timed_message *message)
{
	uint32_t at = ring->head + ring->count++;
	struct timed_message *pushed = &ring->message[at < ring->size ? at : at - ring->size];

	*pushed = *message;
	return pushed;
}

static inline struct timed_message timed_ring_pop(struct timed_ring *ring)
{
	struct timed_message *message = &ring->message[ring->head];

	ring->head = ring->head + 1 < ring->size ? ring->head + 1 : 0;
	ring->count--;
	return *message;
}

/* How far, in ns, devices may be ahead of each other in turns. 0: they take no turns. */
uint64_t timed_ahead_ns(const struct t3_timed_setup *setup);
/* The most messages in flight from one peer of the node, and from the one in the node before. */
uint64_t timed_in_flight(const struct t3_timed_setup *setup, uint64_t pieces);
uint64_t timed_node_in_flight(const struct t3_timed_setup *setup, uint64_t pieces);
bool timed_link_init(struct timed_device *d);
void timed_link_free(struct timed_device *d);
void timed_link_send(struct timed_device *d, const struct timed_message *message);
bool timed_link_has_room(const struct timed_device *d);
void timed_link_event(struct timed_device *d);
void timed_node_link_event(struct timed_device *d);
void timed_link_arrival(struct timed_device *d, uint32_t distance);
/* The message is at the device: its request goes to memory. */
void timed_link_receive(struct timed_device *d, const struct timed_message *message);

/* -------------------------------------------------------------- tracker, DMA */

struct timed_entry {
	uint32_t tile; /* TIMED_NONE: free */
	uint64_t used;
};

/* The tracker's knowledge of a tile, whether its record is in an entry or in memory. */
struct timed_tile {
	uint16_t left;	  /* pieces that are not complete */
	uint16_t filling; /* reads of its record under way: completions wait for them */
	bool spilled;	  /* its record is in memory */
};

struct timed_tracker {
	struct timed_entry *entry;
	uint32_t sets, ways;
	uint64_t clock;
	uint16_t *count; /* of a piece: its updates, or its reads in a copy */
	struct timed_tile *tile;
	uint32_t complete; /* complete pieces of the own chunk */
	uint32_t passed;   /* complete pieces of chunks that are sent on */
};

bool timed_tracker_init(struct timed_device *d);
void timed_tracker_update(struct timed_device *d, uint32_t piece);
void timed_tracker_filled(struct timed_device *d, uint32_t tile);

/* The triggered DMA: complete blocks, in the order of completion. */
struct timed_dma {
	uint32_t *ready; /* block number, with TIMED_DMA_GATHER for an all-gather */
	uint32_t head, count, size;
	uint8_t *left;	 /* of a block: pieces that are not complete */
	uint32_t part;	 /* next piece of the block at the head */
	uint32_t flying; /* pieces that are being read or wait for the link */
	uint32_t sent;
};

#define TIMED_DMA_GATHER 0x80000000u

bool timed_dma_init(struct timed_device *d);
void timed_dma_piece_complete(struct timed_device *d, uint32_t piece, bool gather);
void timed_dma_pump(struct timed_device *d);
void timed_dma_read(struct timed_device *d, const struct timed_request *request);
void timed_dma_sent(struct timed_device *d);

/* --------------------------------------------------------------- collectives */

enum timed_copy_kind {
	TIMED_COPY_NONE,
	TIMED_COPY_RS,
	TIMED_COPY_RS_NMC,
	TIMED_COPY_AG,
	TIMED_COPY_ALL_TO_ALL,
	TIMED_COPY_ROUTED, /* timed_routed.c runs it */
	TIMED_COPY_REDUCE, /* timed_switch.c runs it, and the next one */
	TIMED_COPY_MULTICAST,
};

/* A collective that compute units run step by step. */
struct timed_copy {
	uint8_t kind, level;
	uint32_t window; /* most pieces that it works on */
	bool is_paced;	 /* its compute units load at `gbps`, which is less than memory does */
	uint64_t gbps;
	uint32_t step;
	uint32_t next; /* next piece of the step */
	uint32_t flying, done;
	uint64_t received, gathered; /* pieces so far, in all steps */
	uint64_t started;
	uint64_t passed;	/* ps; when the piece before was passed on; 0: none was */
	struct timed_ring sums; /* that wait for their time */
};

/* At least one request, so that there is progress. */
uint32_t timed_window(const struct t3_timed_params *p, uint64_t kib);
bool timed_copy_init(struct timed_device *d);
/* Gives the collective of copy.kind its compute units. */
void timed_copy_hire(struct timed_device *d);
/* The time when the units pass on a piece that is loaded by `ready`: they load at their rate. */
uint64_t timed_copy_pace(struct timed_device *d, uint64_t ready, uint32_t bytes);
void timed_copy_start(struct timed_device *d, enum timed_copy_kind kind, enum timed_level level);
void timed_copy_event(struct timed_device *d);
void timed_copy_read(struct timed_device *d, const struct timed_request *request);
void timed_copy_sent(struct timed_device *d);
void timed_copy_written(struct timed_device *d);
void timed_copy_received(struct timed_device *d);
void timed_copy_gathered(struct timed_device *d, uint32_t piece);

/* --------------------------------------------------------------- expert layers */

/* The next rows that the device sends. */
struct timed_cursor {
	uint32_t expert;   /* of the rank that has it */
	uint32_t distance; /* from the rank of the tokens to that of the expert */
	uint32_t row;	   /* of the expert */
	uint64_t sent;	   /* bytes of the run that begins with this row */
};

/* Rows between the ranks of tokens and those of experts. */
struct timed_routed {
	uint64_t *left; /* [tile row]: bytes that have not come, of a dispatch */
	uint64_t expected, came;
	uint64_t to_send, taken,
		sent; /* bytes; `taken`: those that are read, or about to be, too */
	uint32_t flying, window;
	bool is_paced;
	struct timed_cursor next;
	struct timed_ring reads; /* in order */
	struct timed_ring port;	 /* messages that wait for the port */
	uint64_t port_free;
};

bool timed_routed_init(struct timed_device *d);
void timed_routed_free(struct timed_device *d);
/* The most requests that rows from peers, and rows that are stored, make at once. */
uint64_t timed_routed_requests(const struct timed_device *d);
/* Enters the all-to-all, which begins when all devices have. */
void timed_routed_enter(struct timed_device *d);
/* Sends the rows of a dispatch while the GEMM runs. */
void timed_routed_dispatch(struct timed_device *d);
void timed_routed_read(struct timed_device *d, const struct timed_request *request);
void timed_routed_sent(struct timed_device *d, uint32_t bytes);
/* A message has come to the port. */
void timed_routed_arrival(struct timed_device *d, const struct timed_message *message);
void timed_routed_port(struct timed_device *d);
void timed_routed_came(struct timed_device *d, const struct timed_request *request);
/* All rows have been sent, and those from peers have come. */
bool timed_routed_over(const struct timed_device *d);
/* Until its next phase, or the end, the device neither sends rows nor gets any. */
bool timed_routed_alone(const struct timed_device *d);
bool timed_routed_has_rows(const struct timed_device *d, uint32_t tile_row);
/* Of a combine whose rows are stored to their tokens' ranks: does the tile leave this device? */
bool timed_routed_leaves(const struct timed_device *d, const struct timed_place *place);
void timed_routed_store(struct timed_device *d, const struct timed_place *place);
/* Pieces of a combine that stay on this device. */
uint32_t timed_routed_stores(const struct timed_device *d);

/* -------------------------------------------------------------------- switch */

/* A piece of the device's chunk, as the switch and the device's unit know it. */
struct timed_switched_piece {
	uint16_t came;	/* updates */
	uint16_t sent;	/* messages to the device, which has to add them */
	uint16_t added; /* of them, by a unit */
	bool held;	/* has an entry */
};

/* The switch's port that leads to the device: its adder, its entries, its queue. */
struct timed_port {
	struct timed_ring out;		    /* messages to the device, in order */
	uint64_t free, adder_free;	    /* ps */
	struct timed_switched_piece *piece; /* of the own chunk */
	uint32_t entries;		    /* in use */
	uint32_t whole, writing; /* pieces that units have summed up; their writes under way */
	struct t3_timed_switch_counters counters;
};

bool timed_switch_init(struct timed_device *d);
/* The device's message has left for the switch. */
void timed_switch_count(struct timed_device *d, const struct timed_message *message);
/* A message is at the port. */
void timed_switch_arrival(struct timed_device *d, const struct timed_message *message);
/* The first message of the port's queue is at the device. */
void timed_switch_port(struct timed_device *d);
/* Updates that complete the piece of the own chunk. TIMED_NONE: more may leave the switch. */
uint32_t timed_switch_updates(const struct timed_device *d, uint32_t piece);
/* A collective of compute units, which loads, sends and adds pieces. */
void timed_switch_start(struct timed_device *d, enum timed_copy_kind kind);
void timed_switch_read(struct timed_device *d, const struct timed_request *request);
void timed_switch_sent(struct timed_device *d);
void timed_switch_added(struct timed_device *d, const struct timed_request *request);
void timed_switch_written(struct timed_device *d);
void timed_switch_advance(struct timed_device *d);

/* -------------------------------------------------------------------- recall */

/* The phase that a device is in: recalled from another run, or kept for other runs. */
struct timed_recording {
	const struct timed_past *from;
	struct timed_past *to;
	uint64_t started, events;
	uint64_t queue_peak; /* of the phases before */
};

/* True: the phase is known, and timed_recall_event() ends it. */
bool timed_recall_begin(struct timed_device *d, enum timed_copy_kind kind, enum timed_level level);
/* The phase that began is over. */
void timed_recall_end(struct timed_device *d);
void timed_recall_event(struct timed_device *d);

/* -------------------------------------------------------------------- device */

struct timed_device {
	struct t3_timed *sim;
	uint32_t rank, node; /* the lowest rank of its node */
	struct timed_agenda agenda;
	const struct timed_shape *shape;
	struct timed_shape own; /* its shape, if it is not that of all */
	uint8_t phase;		/* enum t3_timed_phase; T3_TIMED_PHASES: done */
	bool beside;		/* a GEMM runs beside this phase, which is a collective's */
	uint64_t phase_started;
	struct timed_recording recording;
	struct timed_memory memory;
	struct timed_cache cache;
	struct timed_gemm gemm;
	struct timed_link link, node_link;
	struct timed_tracker tracker;
	struct timed_dma dma;
	struct timed_copy copy;
	struct timed_routed routed;
	struct timed_port port;
	struct t3_timed_counters counters;
	struct t3_timed_use before[T3_TIMED_PHASES], use[T3_TIMED_PHASES]; /* of each phase */
};

/* Callbacks from a part of a device to the other parts. */
struct timed_ops {
	/* The memory has served a request. */
	void (*served)(struct timed_device *d, const struct timed_request *request);
	/* A block that the slot loads is available from `time` on. */
	void (*loaded)(struct timed_device *d, uint32_t slot, uint64_t time);
	/* A message has left the link, which has room again. */
	void (*sent)(struct timed_device *d, const struct timed_message *message);
	/* The phase may be complete. */
	void (*progress)(struct timed_device *d);
};

/* The most bytes of a request, a message or a record. */
#define TIMED_MOST_BYTES 8192u

/* A message takes at least a nanosecond, which bounds the number of messages in flight. */
#define TIMED_SHORTEST_PS TIMED_NS

/* Times to move so many bytes, in ps. Few sizes occur, each many times. */
struct timed_cost {
	uint32_t entries; /* of each channel's queue; 0: not computed yet */
	uint32_t memory, update;
	uint32_t cache, link;
};

struct t3_timed {
	struct t3_timed_setup setup;
	struct t3_timed_routing routing;	      /* the setup's; its counts may be gone */
	struct timed_cost cost[TIMED_MOST_BYTES + 1]; /* [bytes], see timed_cost() */
	const struct timed_ops *ops;
	struct timed_shape shape;
	struct timed_order order;
	uint64_t now, events, recalled;
	uint64_t work; /* requests and loads so far: the host's work */
	uint32_t devices, done;
	uint32_t
		entered; /* devices that wait for the others to begin an all-to-all of routed rows */
	uint64_t entered_at; /* the time of the last one */
	uint64_t ahead;	     /* ps; how far devices may be ahead of each other in turns */
	uint64_t turn_end;   /* a turn has no events from then on */
	const struct timed_device *turn; /* the device that has the turn, or NULL */
	uint32_t pause_tile; /* when a workgroup begins it, the run pauses; TIMED_NONE: never */
	bool paused;
	struct timed_device *device;
};

/* timed_phase.c */
extern const struct timed_ops timed_device_ops;
void timed_phase_first(struct timed_device *d);
void timed_phase_begun(struct timed_device *d);
/* timed_program.c */
bool timed_mca(const struct t3_timed *sim);
bool timed_turns(const struct t3_timed *sim); /* the arbiter serves the streams in long turns */
bool timed_fused(const struct t3_timed *sim);
uint32_t timed_peers(const struct t3_timed_setup *setup);
bool timed_stores_direct(const struct t3_timed *sim);
bool timed_triggers_gather(const struct t3_timed *sim);
bool timed_plain_stores(const struct t3_timed *sim);
bool timed_takes_turns(const struct t3_timed_setup *setup);
bool timed_multicasts_sums(const struct t3_timed *sim);
uint32_t timed_updates(const struct t3_timed *sim);
bool timed_shares(const struct t3_timed *sim); /* a GEMM runs beside a collective */
bool timed_updates_in_memory(const struct t3_timed *sim);
bool timed_routes(const struct t3_timed *sim);	   /* the rows of an expert layer */
bool timed_dispatches(const struct t3_timed *sim); /* fused: tiles wait for their rows */
bool timed_combines(const struct t3_timed *sim); /* fused: rows are added at their tokens' ranks */
/* T3_TIMED_PHASES: there is none. */
uint32_t timed_first_phase(const struct t3_timed *sim);
uint32_t timed_next_phase(const struct t3_timed *sim, uint32_t phase);
/* timed_run.c */
uint64_t timed_request_bound(const struct timed_device *d);
uint64_t timed_event_bound(const struct timed_device *d);
/* timed_base.c */
uint64_t timed_ps(uint64_t bytes, uint64_t gbps); /* rounded up */
void timed_cost_compute(const struct t3_timed_setup *setup, uint32_t bytes,
			struct timed_cost *cost);
void timed_span(struct timed_device *d, uint32_t track, const char *what, uint64_t number,
		uint64_t start);
/* The compute units of the GEMM. A collective beside it has the others. */
uint64_t timed_gemm_units(const struct t3_timed_setup *setup);
/* The number of workgroups that run at a time: one for each slot, but at most one per tile. */
uint64_t timed_slots(const struct t3_timed_setup *setup, uint64_t tiles);
uint64_t timed_step_ps(const struct t3_timed_setup *setup); /* the time to compute one step */
/* The compute units that run a collective of this kind. */
uint64_t timed_copy_units(const struct t3_timed_setup *setup, enum timed_copy_kind kind);
/* The most that any of the run's collectives works on, in KiB. */
uint64_t timed_copy_kib(const struct t3_timed_setup *setup);

static inline const struct t3_timed_params *timed_params(const struct timed_device *d)
{
	return &d->sim->setup.params;
}

static inline bool timed_switched(const struct t3_timed *sim)
{
	return t3_timed_switched(sim->setup.program);
}

/* The device whose event is next. */
static inline uint32_t timed_order_first(const struct t3_timed *sim)
{
	return sim->devices > 1 ? sim->order.winner[1] : 0;
}

static inline const struct timed_shape *timed_shape(const struct timed_device *d)
{
	return d->shape;
}

/* False: timed_span() does nothing. */
static inline bool timed_traces(const struct timed_device *d)
{
	return d->sim->setup.trace.span;
}

static inline const struct timed_cost *timed_cost(const struct timed_device *d, uint32_t bytes)
{
	struct timed_cost *cost = &d->sim->cost[bytes];

	if (!cost->entries)
		timed_cost_compute(&d->sim->setup, bytes, cost);
	return cost;
}

#endif /* T3_CORE_TIMED_PRIVATE_H */
