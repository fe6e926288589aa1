/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output address spaces: segments, epochs, tracked stores and doorbells, the tracker, and
 * their packets. SPEC.md sections 2 to 6. Queues store into spaces. The front configures
 * them and passes on the CPU's stores. The room above provides struct t3_space_ops.
 */
#ifndef T3_CORE_SPACE_H
#define T3_CORE_SPACE_H

#include "link/link.h"

/* Callbacks of spaces into the room above, which provides them when it creates a device. */
struct t3_space_ops {
	/* The link may have free slots: queues of its source that wait for it try again. */
	void (*credit)(struct t3_link *link);
	/* A space has to be prepared: call t3_prepare_step(). */
	void (*wake)(struct t3_dev *dev);
};

struct t3_tile_shape {
	uint32_t row, col; /* of its first element in the segment; col in bytes */
	uint32_t rows, row_bytes;
	uint32_t bytes;
	uint64_t expected;
};

/* A tile and its shape. The next packet from a peer is usually for it, too. */
struct t3_place {
	uint32_t tile;
	struct t3_tile_shape shape; /* rows 0: none */
};

/* Progress of preparing a space. In each segment the records come first, then the memory. */
struct t3_prepare {
	uint32_t segment; /* place in t3_space.sorted */
	uint32_t tile, row, col;
};

struct t3_segment {
	struct t3_space *space; /* NULL: free */
	struct t3_place
		arrived; /* of the last update from a peer; only geometry, so it stays valid */
	struct t3_segment *work_next;
	bool queued; /* on the work list of cur_route's link */
	uint32_t index;
	uint32_t kind, op, dtype, init, target_op, esize;
	uint64_t offset, extent; /* extent: bytes from the first to the last, with padding */
	uint32_t updates;
	uint32_t rows, row_bytes, pitch, tile_rows, tile_row_bytes;
	uint32_t tiles_x, tiles;
	uint32_t counter_base;
	bool stale;	 /* its counter records are not valid yet and count as zero */
	uint32_t routes; /* bit mask; 0: LOCAL */
	uint32_t target_segment, target_row, target_col;
	uint32_t block_tiles; /* DMA: tiles that are sent together */
	uint64_t staging, slot_stride;
	uint32_t slots;
	bool widens; /* updates go to accumulators of f32 */
	uint64_t accumulators;
	uint32_t consumed[T3_SEG_SLOTS];
	uint32_t live; /* entries of the tracker */
	/* of the current epoch */
	uint32_t tiles_tracked;
	uint64_t send_bytes;  /* to be sent in the whole epoch */
	uint64_t acked_bytes; /* applied by the targets */
	uint64_t word;
	/* ready list of blocks by their first tile, linked through the counter records */
	uint32_t ready_head, ready_tail, ready_count;
	/* the block being sent, on one route after the other */
	uint32_t cur_first; /* T3_TILE_NONE: no block */
	uint32_t cur_route; /* without a block: the first route */
	uint32_t cur_slot;  /* REMOTE: the staging slot that it is read from */
	uint32_t cur_tile, cur_row, cur_col;
	uint32_t busy; /* a lane changes counts; atomic */
	struct t3_seg_counts counts;
};

struct t3_route {
	bool used;
	uint8_t claim;	 /* t3_claim */
	uint8_t nak;	 /* REFUSED: as in t3_cmd_route_query */
	uint16_t serial; /* ASKED: of the CLAIM that is waited for */
	bool dead;	 /* the target takes nothing from dead_epoch on */
	uint32_t rank, space, generation, import;
	uint32_t peer_state, peer_epoch, dead_epoch;
	struct t3_link *link;
	struct t3_ctl ctl;
};

/* A route that was made by ROUTE_CLAIM, until its target has taken the key. */
enum t3_claim {
	T3_CLAIM_NONE,
	T3_CLAIM_ASKED,	  /* used, but it is not ready */
	T3_CLAIM_REFUSED, /* not used */
};

struct t3_import {
	bool used;
	bool keyed; /* by KEY_SET; then `used`: a source has claimed it */
	uint32_t rank_mask, key[T3_KEY_WORDS]; /* of KEY_SET */
	bool poisoned;			       /* the source sends nothing from poison_epoch on */
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
	uint16_t claims;    /* serial number of the last CLAIM */
	uint32_t in_flight; /* packets without response, control packets queued */
	uint32_t seg_count, segs_left;
	struct t3_segment *segment[T3_SPACE_SEGMENTS];
	struct t3_segment *sorted[T3_SPACE_SEGMENTS]; /* by offset */
	struct t3_segment *recent;
	uint32_t recent_at; /* its place in sorted when it was found */
	struct t3_route route[T3_SPACE_ROUTES];
	struct t3_import import[T3_SPACE_IMPORTS];
};

struct t3_entry {
	struct t3_segment *segment; /* NULL: free */
	uint32_t tile;
	uint32_t count; /* of update bytes */
	uint64_t used;
	uint32_t busy;	   /* a lane changes count, used and the tile; atomic */
	uint32_t apart[9]; /* no two entries share a line of a cache */
};

/*
 * A lane's store moves the tracker's clock by 1 at most. Doorbells, arrivals and new entries move it
 * by this: at least any number of ways, so that each lane sees it (lane.c).
 */
#define T3_AGE_STEP 64u

struct t3_tracker {
	struct t3_entry *entry;
	struct t3_entry *recent; /* found last; checked before the set of a tile */
	uint32_t sets, ways;
	uint64_t clock;
};

/*
 * Stores of different lanes run at the same time: lane.c. A lane has the part of one row that lies
 * in one tile, because a producer's next store is usually in it, too; and what its stores add to
 * counts, which all lanes would else write.
 */
struct t3_lane {
	uint64_t offset;   /* of the part in the aperture */
	uint64_t address;  /* in device memory */
	uint64_t expected; /* of the tile */
	uint32_t bytes;	   /* 0: none */
	uint32_t tile;
	struct t3_segment *segment; /* of the last store; NULL: none */
	uint32_t at;		    /* its place in space->sorted */
	struct t3_entry *entry;	    /* of the last store */
	uint64_t used;		    /* its value when the lane set it */
	uint64_t stores, stored;    /* not yet added to the segment's counts; stored: bytes */
	uint64_t all_stores, all_elements; /* of earlier segments, not yet added to the device's */
	uint64_t apart[8]; /* no two lanes share a line of a cache, whatever its place */
};

/* The spaces of one client that are being prepared. */
struct t3_prepares {
	struct t3_space *head, *tail;
};

/* A device with its spaces. */
struct t3_spaces {
	struct t3_dev dev;
	const struct t3_space_ops *ops;
	struct t3_tracker tracker;
	struct t3_lane lane[T3_LANES];
	uint16_t *page_space;	    /* aperture page -> space id + 1, 0: none */
	struct t3_space *space;	    /* T3_MAX_SPACES */
	struct t3_segment *segment; /* T3_MAX_SEGMENTS */
	uint32_t *free_segment;	    /* stack of indices */
	uint32_t free_segments;
	uint32_t generation[T3_MAX_SPACES];
	uint32_t event_vector;
	uint32_t used[T3_MAX_SPACES / 32];  /* bit: the space is not FREE */
	uint32_t slots[T3_MAX_SPACES / 32]; /* bit: the space's slot is not all 0 */
	uint32_t pending[T3_MAX_SPACES / 32], enable[T3_MAX_SPACES / 32];
	struct t3_prepares prepares[T3_MAX_CLIENTS];
	uint32_t preparing[T3_MAX_CLIENTS / 32]; /* bit: the client's list is not empty */
};

static inline struct t3_spaces *t3_spaces(const struct t3_dev *dev)
{
	return t3_container_of(dev, struct t3_spaces, dev);
}

/* The space is not FREE. A space takes 10 KiB, so a loop over all of them looks here. */
static inline bool t3_space_used(const struct t3_dev *dev, uint32_t id)
{
	return t3_spaces(dev)->used[id / 32] >> id % 32 & 1;
}

/* The first one from `id` on that is not FREE, or T3_MAX_SPACES. */
static inline uint32_t t3_space_next(const struct t3_dev *dev, uint32_t id)
{
	uint32_t bits;

	for (; id < T3_MAX_SPACES; id = (id | 31) + 1) {
		bits = t3_spaces(dev)->used[id / 32] >> id % 32;
		if (bits)
			return id + (uint32_t)__builtin_ctz(bits);
	}
	return T3_MAX_SPACES;
}

static inline bool t3_space_live(const struct t3_space *space)
{
	return space->state >= T3_SPACE_IDLE && space->state <= T3_SPACE_FAULTED;
}

static inline uint32_t t3_space_generation(const struct t3_space *space)
{
	return t3_spaces(space->dev)->generation[space->id];
}

/* spaces.c: all spaces of a device */
/* `dev` is the first member of a struct t3_spaces. False: no memory; call t3_spaces_fini(). */
bool t3_spaces_init(struct t3_dev *dev, const struct t3_space_ops *ops);
void t3_spaces_fini(struct t3_dev *dev);
/* Function reset. The peers learn of it from the links. */
void t3_spaces_reset(struct t3_dev *dev);
/* Clears all spaces. Of their state it trusts only which slots are in use. */
void t3_spaces_clear(struct t3_dev *dev);

/* arrival.c: initialises a link that carries packets of spaces */
void t3_space_link_init(struct t3_link *link, struct t3_fabric *fabric, uint32_t src, uint32_t dst);
extern const struct t3_link_ops t3_space_link_ops; /* its callbacks */

/* space_life.c */
struct t3_space *t3_space_slot(struct t3_dev *dev, uint32_t id); /* id < T3_MAX_SPACES */
void t3_space_open(struct t3_dev *dev, const struct t3_cmd_space_create *cmd);
void t3_space_begin_generation(struct t3_space *space); /* RESET */
void t3_space_disable(struct t3_space *space);
/* DESTROY and function reset: drops all state without telling the peers. */
void t3_space_drop_state(struct t3_space *space);

/* epoch.c */
bool t3_epoch_route_ready(const struct t3_route *route, uint32_t epoch);
void t3_epoch_send_state(struct t3_space *space, struct t3_import *import, uint32_t state,
			 uint32_t epoch);
uint32_t t3_epoch_first_undone(const struct t3_space *space);

/* pump.c: a message about the entry is under way to that source. NULL: to any, as for a key. */
bool t3_pump_has_state(const struct t3_space *space, uint32_t import,
		       const struct t3_cmd_import_set *source);

/* key.c. The first two return t3_admin_status, the third t3_nak. */
uint32_t t3_key_set(struct t3_space *space, const struct t3_cmd_key_set *cmd);
/* `route` is new. */
uint32_t t3_key_ask(struct t3_space *space, struct t3_route *route, const uint32_t *key);
uint32_t t3_key_claimed(struct t3_link *link, const struct t3_packet *packet);
void t3_key_answered(struct t3_space *space, const struct t3_packet *packet, uint32_t status);
/* ROUTE_CLEAR, or the space ends: no answer is waited for. True: the target may have the key. */
bool t3_key_forget(struct t3_route *route);

/*
 * computes.c. Does the device have the op for the type? Any values; without a device: does any? Is
 * the mask of ops not 0, and does it have each of them for some type?
 */
bool t3_computes(const struct t3_dev *dev, uint32_t dtype, uint32_t op);
bool t3_computes_ops(const struct t3_dev *dev, uint32_t mask);

/* map.c. Return t3_admin_status. */
uint32_t t3_segment_map(struct t3_space *space, const struct t3_cmd_seg_map *cmd);
uint32_t t3_segment_staging(struct t3_space *space, const struct t3_cmd_seg_staging *cmd);
void t3_segment_unmap(struct t3_segment *segment);

/* widen.c. Returns t3_admin_status. */
uint32_t t3_segment_widen(struct t3_space *space, const struct t3_cmd_seg_widen *cmd);

/* segment.c */
struct t3_tile_shape t3_segment_tile_shape(const struct t3_segment *segment, uint32_t tile);
/* For reports only: not recorded. */
const struct t3_tile_record *t3_segment_look(const struct t3_segment *segment, uint32_t tile);
uint32_t t3_tracker_look(struct t3_segment *segment, uint32_t tile); /* tracker.c */

/* tile_query.c. Returns t3_admin_status. */
uint32_t t3_tile_query(struct t3_space *space, struct t3_cmd_tile_query *cmd);

/* notify.c: a write to the SPACE_ENABLE register */
void t3_notify_enable(struct t3_dev *dev, uint32_t word, uint32_t value);

/* doorbell.c. `offset` counts from T3_DOORBELL_BASE. */
void t3_doorbell_write(struct t3_dev *dev, uint64_t offset, uint64_t value, uint32_t size);
uint64_t t3_doorbell_read(struct t3_dev *dev, uint64_t offset, uint32_t size);

/*
 * store.c: stores of producers (the CPU, queues). A store lies in one row of one tile.
 * t3_store_place() and t3_store_commit() return t3_fault_kind; if it is not NONE, they have
 * faulted the space.
 */
uint64_t t3_aperture_read(struct t3_dev *dev, uint64_t offset, uint32_t size);
void t3_aperture_write(struct t3_dev *dev, uint64_t offset, uint64_t value, uint32_t size);
bool t3_aperture_waits(struct t3_dev *dev, uint64_t offset, uint32_t size);
struct t3_store {
	struct t3_segment *segment;
	uint64_t offset; /* in the space */
	uint32_t row, col, tile, bytes;
	uint64_t expected; /* of the tile */
};
/* Places the first of `bytes` bytes at `offset`, as many as one store may hold. */
uint32_t t3_store_place(struct t3_space *space, uint64_t offset, uint32_t bytes,
			struct t3_store *store);
/* For a REMOTE segment, the caller has checked the room on its links. */
uint32_t t3_store_commit(const struct t3_store *store, const void *data);

/* lane.c */
/*
 * A store that only changes the device's memory and counts. Those of different lanes may run at
 * the same time. False: nothing was done.
 */
bool t3_lane_store(struct t3_dev *dev, uint32_t lane, uint64_t offset, uint64_t value,
		   uint32_t size);
/* Adds the lanes' counts to the others. Call it before you use counts of stores. */
void t3_lanes_count(const struct t3_dev *dev);
/* The same, and the lanes forget all segments. Call it before one of them goes. */
void t3_lanes_forget(const struct t3_dev *dev);

/* block.c: number of the segment's routes up to `route` that share the link of `route` */
uint32_t t3_block_routes_on_link(const struct t3_segment *segment, uint32_t route);

/* prepare.c: prepares the memory of spaces for an epoch, as work of the engine */
/* The client whose turn it is by the engine's shares; T3_NONE32: none has work. */
uint32_t t3_prepare_client(const struct t3_dev *dev, const struct t3_share *share);
uint32_t t3_prepare_step(struct t3_dev *dev, uint32_t client); /* returns the work */
void t3_prepare_clear(struct t3_dev *dev);

#endif /* T3_CORE_SPACE_H */
