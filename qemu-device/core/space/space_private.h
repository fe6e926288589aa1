/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interface between the files of space/. Of the other rooms only state/ includes it. */
#ifndef T3_CORE_SPACE_PRIVATE_H
#define T3_CORE_SPACE_PRIVATE_H

#include "nmc/nmc.h"
#include "space/space.h"

#define T3_PUMP_BATCH	 16u	/* packets for one event */
#define T3_PACKETS_AHEAD 2u	/* the best of 1 to 4, by a few percent */
#define T3_PREPARE_PIECE 16384u /* bytes of memory prepared in one step */
#define T3_PREPARE_NOW	 65536u /* ARM itself does at most so many units of work */

/* space_life.c */
void t3_space_next_generation(struct t3_dev *dev, uint32_t id);
/* `cmd` has been checked. The state stays FREE. */
struct t3_space *t3_space_place(struct t3_dev *dev, const struct t3_cmd_space_create *cmd);
void t3_space_clear(struct t3_space *space);
/* fault.c */
/* Sets the state without a trace event and without notifying the guest. */
void t3_space_put_state(struct t3_space *space, uint32_t state);
void t3_space_set_state(struct t3_space *space, uint32_t state);
void t3_space_settle_in_flight(struct t3_space *space);
void t3_space_fail(struct t3_space *space, const struct t3_fault_record *record);
void t3_space_fail_cpu(struct t3_space *space, uint32_t kind, const struct t3_segment *segment,
		       uint32_t tile, uint64_t offset);
void t3_space_drop_update(struct t3_space *space);
/* Stops preparing, counting and sending. */
void t3_space_stop_work(struct t3_space *space);

/* epoch.c */
void t3_epoch_arm(struct t3_space *space, uint32_t epoch);
void t3_epoch_release(struct t3_space *space, uint32_t epoch);
void t3_epoch_prepared(struct t3_space *space);
void t3_epoch_try_armed(struct t3_space *space);
void t3_epoch_peer_state(struct t3_space *space, struct t3_route *route, uint32_t state,
			 uint32_t epoch);
void t3_epoch_poisoned(struct t3_space *space, struct t3_import *import, uint32_t epoch);
/* The target has taken the route's key, or refused it. */
void t3_epoch_route_answered(struct t3_space *space, struct t3_route *route);
void t3_epoch_peer_lost(struct t3_space *space, uint32_t end, const uint32_t *generation);
void t3_epoch_send_gone(struct t3_space *space, uint32_t state);
void t3_epoch_segment_tracked(struct t3_segment *segment);
void t3_epoch_segment_acked(struct t3_segment *segment, uint32_t bytes);

/*
 * Clears the segment's state for a new epoch. A completed epoch leaves blocks or tracker entries
 * only if a guest changed counter records.
 */
void t3_segment_new_epoch(struct t3_segment *segment);

/* prepare.c: prepares a space's memory for an epoch */
/* ARM. True: it is done, or the space has faulted. False: t3_epoch_prepared() is called later. */
bool t3_prepare_begin(struct t3_space *space);
void t3_prepare_append(struct t3_space *space); /* to the list of its client */
void t3_prepare_stop(struct t3_space *space);
const char *t3_prepare_check(const struct t3_space *space);

/* map.c: SEG_MAP without marking the counter records stale, for a loaded state */
uint32_t t3_segment_insert(struct t3_space *space, const struct t3_cmd_seg_map *cmd);

/* segment.c */
/*
 * The place in space->sorted of the segment whose extent holds the offset; T3_NONE32: none. `last`
 * is any number; best the place of a store before.
 */
uint32_t t3_segment_search(const struct t3_space *space, uint64_t offset, uint32_t last);
struct t3_segment *t3_segment_find(struct t3_space *space, uint64_t offset);
/* The segment whose extent holds the offset, or NULL. */
static inline struct t3_segment *t3_segment_at(struct t3_space *space, uint64_t offset)
{
	struct t3_segment *recent = space->recent;

	return recent && offset - recent->offset < recent->extent ? recent
								  : t3_segment_find(space, offset);
}

uint32_t t3_segment_tile(const struct t3_segment *segment, uint32_t row, uint32_t col);
/* A tile's counter record. After a change call t3_segment_record_done() at once. */
struct t3_tile_record *t3_segment_record(const struct t3_segment *segment, uint32_t tile);
uint64_t t3_segment_record_address(const struct t3_segment *segment, uint32_t tile);
void t3_segment_record_done(const struct t3_segment *segment, uint32_t tile);
/* The device memory address of an element. `col` is in bytes. */
static inline uint64_t t3_segment_address(const struct t3_segment *segment, uint32_t row,
					  uint32_t col)
{
	return segment->space->buffer + segment->offset + (uint64_t)row * segment->pitch + col;
}

/*
 * Packets of a tile follow each other, and they wait for the host's memory. So the bytes of a later
 * one are fetched while other links have their turns. This packet's are at `address`, in a row of
 * the tile with `row_bytes` bytes. After a burst of rows, as many rows are fetched.
 */
static inline void t3_segment_expect(const struct t3_segment *segment, uint64_t address,
				     uint32_t bytes, uint32_t rows, uint32_t row_bytes)
{
	uint64_t step = bytes < row_bytes ? bytes : segment->pitch;

	address += (rows > 1 ? rows : T3_PACKETS_AHEAD) * step;
	for (; rows; rows--, address += segment->pitch)
		t3_mem_expect(segment->space->dev, address, bytes);
}

/* The first tile after the block that begins with tile `first`. */
uint32_t t3_segment_block_end(const struct t3_segment *segment, uint32_t first);

/* store.c */
/* The space whose range contains all `size` bytes, or NULL. */
struct t3_space *t3_space_at(const struct t3_dev *dev, uint64_t offset, uint32_t size);
/* Is it one that SPEC.md allows? The offset counts from any page. */
bool t3_store_width(const struct t3_segment *segment, uint64_t offset, uint32_t size);

/* tracker.c */
enum t3_track { T3_TRACK_OVERSHOOT = -1, T3_TRACK_COUNTED, T3_TRACK_DONE };
/* The tile's record, cleared for this epoch if that has not been done yet. */
struct t3_tile_record *t3_tracker_record(struct t3_segment *segment, uint32_t tile);
bool t3_tracker_init(struct t3_tracker *tracker, uint32_t entries, uint32_t ways);
/* Uses of an entry that are counted and age others, before another one: a burst is one update. */
void t3_tracker_again(struct t3_dev *dev, uint32_t times);
/* OVERSHOOT: nothing was counted. */
enum t3_track t3_tracker_add(struct t3_segment *segment, uint32_t tile, uint32_t bytes,
			     uint64_t expected);
/* NULL: the tracker does not hold the tile. */
struct t3_entry *t3_tracker_entry(struct t3_tracker *tracker, const struct t3_segment *segment,
				  uint32_t tile);
uint32_t t3_tracker_count(struct t3_segment *segment, uint32_t tile);
void t3_tracker_drop(struct t3_segment *segment);
void t3_tracker_drop_space(struct t3_space *space);
void t3_tracker_clear(struct t3_dev *dev);

/* update.c: counted updates */
/*
 * An update from a peer: bytes in one row, which may cross tiles, or in each of several rows of one
 * tile. tiles: their number. fits: would the counts accept it? run: counts and applies it; fits is
 * true. It counts as `weight` updates.
 */
uint32_t t3_update_tiles(struct t3_segment *segment, uint32_t row, uint32_t col, uint32_t bytes,
			 uint32_t rows);
bool t3_update_fits(struct t3_segment *segment, uint32_t row, uint32_t col, uint32_t bytes,
		    uint32_t rows, uint32_t weight);
void t3_update_run(struct t3_segment *segment, uint32_t row, uint32_t col, const void *data,
		   uint32_t bytes, uint32_t rows, uint32_t weight);
/* Applies values to memory. Nothing is counted. */
void t3_update_memory(const struct t3_segment *segment, uint64_t address, const void *data,
		      uint32_t bytes);
/* Applies values to one row. The tracker has counted them. */
void t3_update_apply(struct t3_segment *segment, uint32_t row, uint32_t col, const void *data,
		     uint32_t bytes, uint32_t rows);
void t3_update_done(struct t3_segment *segment, uint32_t tile);

/*
 * widen.c: accumulators of a segment that widens. `address` is that of the element itself, and the
 * bytes are those of its type, in one row.
 */
static inline uint64_t t3_widen_address(const struct t3_segment *segment, uint64_t address)
{
	return segment->accumulators + 2 * (address - segment->space->buffer - segment->offset);
}

/* Starts accumulators at what the segment's memory holds. */
void t3_widen_start(const struct t3_segment *segment, uint64_t address, uint32_t bytes);
void t3_widen_update(const struct t3_segment *segment, uint64_t address, const void *data,
		     uint32_t bytes);
/* Rounds a tile whose count is reached to its memory, which has no poison. */
void t3_widen_round(const struct t3_segment *segment, uint32_t tile);

/* pump.c: packets that wait for a link */
void t3_pump_fire(struct t3_link *link);
void t3_pump_kick(struct t3_link *link);
void t3_pump_control(struct t3_space *space, struct t3_link *link, struct t3_ctl *ctl,
		     const struct t3_packet *packet);
void t3_pump_drop_control(struct t3_ctl *ctl);
void t3_pump_append_control(struct t3_link *link, struct t3_ctl *ctl);
void t3_pump_drop_all(struct t3_link *link);
void t3_pump_response(struct t3_link *link, const struct t3_packet *packet, uint32_t status);

/* block.c: sends updates and blocks of tiles on the routes of a segment */
/* The number of updates that the links of all routes can accept now. */
uint32_t t3_block_room(const struct t3_segment *segment);
/* Runs pending events until there is room. The space's state may change. */
void t3_block_make_room(const struct t3_segment *segment);
/*
 * Must a store wait until another node makes room? Then slots are reserved for it, so that tiles and
 * queues do not take them. They are until it has stored, or cannot any more.
 */
bool t3_block_remote_waits(const struct t3_segment *segment);
void t3_block_end_wait(const struct t3_segment *segment);
/* Sends an update on every route. The caller has checked t3_block_room(). */
void t3_block_update(struct t3_segment *segment, uint32_t row, uint32_t col, const void *payload,
		     uint32_t bytes);
/* Makes the block with this first tile ready. False: it was ready already. */
bool t3_block_push(struct t3_segment *segment, uint32_t first, uint32_t slot);
void t3_block_append_work(struct t3_link *link, struct t3_segment *segment);
void t3_block_add_work(struct t3_segment *segment);
void t3_block_drop_all(struct t3_segment *segment);
/* Sends one packet of the client's first segment with ready tiles. Returns its bytes, or 0. */
uint32_t t3_block_serve(struct t3_link *link, uint32_t client);

/* packet.c: the receiving side. Returns t3_nak. */
uint32_t t3_packet_receive(struct t3_link *link, const struct t3_packet *packet,
			   const uint8_t *payload);
/* From the switch: an update may have `more` contributions. */
uint32_t t3_packet_receive_group(struct t3_link *link, const struct t3_packet *packet,
				 const uint8_t *payload);

/* poison.c: would an update use poisoned memory? `where` is the first such address. */
/* Looks at bytes in a tile's row, and at the tile's record. */
bool t3_poison_in_update(struct t3_segment *segment, uint32_t tile, uint32_t row, uint32_t col,
			 uint32_t bytes, uint64_t *where);
bool t3_poison_in_run(struct t3_segment *segment, uint32_t row, uint32_t col, uint32_t bytes,
		      uint64_t *where);
bool t3_poison_in_doorbell(struct t3_segment *segment, uint32_t tile, uint32_t slot,
			   uint64_t *where);
bool t3_poison_in_record(const struct t3_segment *segment, uint32_t tile, uint64_t *where);
/* A whole tile of a segment with memory, and its accumulators. */
bool t3_poison_in_tile(const struct t3_segment *segment, uint32_t tile, uint64_t *where);
/* Reports the use of poisoned memory and faults the space. */
void t3_poison_fault(struct t3_space *space, const struct t3_segment *segment, uint32_t tile,
		     uint64_t where, uint32_t src_rank);

/* notify.c */
void t3_notify_word(struct t3_space *space, size_t offset, const void *data, size_t len);
void t3_notify_state(struct t3_space *space);
void t3_notify_consumed(struct t3_segment *segment, uint32_t slot);
void t3_notify_all(struct t3_space *space);
void t3_notify_event(struct t3_space *space);

/* The number of elements that an update reduces into memory. */
static inline uint64_t t3_update_elements(const struct t3_segment *segment, uint64_t bytes)
{
	return segment->op == T3_OP_STORE ? 0 : bytes >> __builtin_ctz(segment->esize);
}

#endif /* T3_CORE_SPACE_PRIVATE_H */
