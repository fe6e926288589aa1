/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the core's files offer each other. Data flows one way:
 *   regs/aperture -> doorbell, store -> tracker -> trigger -> link -> packet -> tracker ...
 * Everything that is not done within the access goes through the event heap.
 */
#ifndef T3_INTERNAL_H
#define T3_INTERNAL_H

#include "t3_objects.h"

/* fabric.c */
void t3_fabric_schedule(struct t3_fabric *fabric, struct t3_event *event, uint64_t time);
/* So much of a tile is touched at once: a run of events is to end earlier. */
void t3_fabric_charge(struct t3_fabric *fabric, uint32_t rows, uint32_t bytes);

/* share.c */
/* Where the client's next piece starts: who has the lowest is served next. */
uint64_t t3_share_start(const struct t3_share *share, uint32_t client);
/* Of those whose bit is set, the one with the lowest; T3_NONE32: there is none. */
uint32_t t3_share_next(const struct t3_share *share, const uint32_t waiting[T3_MAX_CLIENTS / 32]);
/* The client's piece is served, in its turn. */
void t3_share_serve(struct t3_share *share, uint32_t client, uint64_t work);
/* The same out of its turn, while others wait for theirs. */
void t3_share_charge(struct t3_share *share, uint32_t client, uint64_t work);
void t3_share_clear(struct t3_share *share);

/* inject.c */
uint32_t t3_inject(struct t3_fabric *fabric, const struct t3_cmd_inject *inject);
/* Each counts an event and tells whether it is to be hit. */
bool t3_accident(struct t3_link *link, uint32_t kind); /* t3_inject_kind, DROP .. DROP_RESPONSE */
uint64_t t3_accident_delay(struct t3_link *link);      /* ns; 0: none */
bool t3_irq_lost(struct t3_dev *dev);
bool t3_dma_fails(struct t3_dev *dev);
void t3_injected(struct t3_fabric *fabric, uint32_t rank);

/* poison.c: poisoned device memory */
static inline bool t3_poison_any(const struct t3_dev *dev)
{
	return dev->fabric && dev->fabric->mishaps[dev->rank].poisons;
}
bool t3_poisoned(const struct t3_dev *dev, uint64_t offset, uint64_t len, uint64_t *where);
uint32_t t3_poison_add(struct t3_mishaps *mishaps, uint64_t start, uint64_t end);
uint32_t t3_poison_remove(struct t3_mishaps *mishaps, uint64_t start, uint64_t end);
/* Reports a use that was refused: counter, POISON_ADDRESS, ERROR_STATUS. */
void t3_poison_report(struct t3_dev *dev, uint64_t where);
/* Would these bytes of a tile's row, or the tile's record, be poisoned? `where`: the first. */
bool t3_poison_in_update(struct t3_segment *segment, uint32_t tile, uint32_t row, uint32_t col,
			 uint32_t bytes, uint64_t *where);
bool t3_poison_in_run(struct t3_segment *segment, uint32_t row, uint32_t col, uint32_t bytes,
		      uint64_t *where);
bool t3_poison_in_doorbell(struct t3_segment *segment, uint32_t tile, uint32_t slot,
			   uint64_t *where);
bool t3_poison_in_record(const struct t3_segment *segment, uint32_t tile, uint64_t *where);
/* Reports, and faults the space. */
void t3_poison_fault(struct t3_space *space, const struct t3_segment *segment, uint32_t tile,
		     uint64_t where, uint32_t src_rank);

/*
 * record.c. The caller asks first whether there is a recorder, or a port: that is all
 * that not recording costs.
 */
struct t3_port;
struct t3_recorder;
void t3_record_access(struct t3_port *port, uint32_t type, uint64_t offset, uint64_t value,
		      uint32_t size);
void t3_record_device(struct t3_port *port, uint32_t type);
void t3_record_attach(struct t3_port *port, uint32_t rank);
void t3_record_fabric(struct t3_recorder *r, uint32_t type, uint64_t value);
void t3_record_inject(struct t3_recorder *r, const struct t3_cmd_inject *inject);
void t3_record_end(struct t3_recorder *r, uint64_t value, uint32_t size);
void t3_record_port_end(struct t3_port *port, uint64_t value, uint32_t size);
/* These ask themselves. */
int t3_record_adopt(struct t3_dev *dev, struct t3_fabric *fabric);
void t3_record_forget(struct t3_dev *dev);

/* What the public functions of entry.c are made of. */
bool t3_heap_run(struct t3_fabric *fabric, uint32_t budget); /* fabric.c */
void t3_dev_renew(struct t3_dev *dev);			     /* dev.c */
void t3_dev_wipe(struct t3_dev *dev);
uint64_t t3_regs_read(struct t3_dev *dev, uint64_t offset, uint32_t size); /* regs.c */
void t3_regs_write(struct t3_dev *dev, uint64_t offset, uint64_t value, uint32_t size);
uint64_t t3_aperture_read(struct t3_dev *dev, uint64_t offset, uint32_t size); /* store.c */
void t3_aperture_write(struct t3_dev *dev, uint64_t offset, uint64_t value, uint32_t size);

/* link.c */
void t3_link_init(struct t3_link *link, struct t3_fabric *fabric, uint32_t src, uint32_t dst);
uint32_t t3_link_free_slots(const struct t3_link *link);
/* The caller checked t3_link_free_slots(). Returns where to put the payload. */
void t3_link_send(struct t3_link *link, const struct t3_packet *packet, const void *payload);
void t3_link_wipe(struct t3_link *link); /* state_link.c */
void t3_link_drop_all(struct t3_link *link);
/* The sender has been reset or has gone: the other end will notice, or notices now. */
void t3_link_lose(struct t3_link *link);
void t3_link_notice_loss(struct t3_link *link);
/* False: so many slots are not free, and waiting for them is not possible here. */
bool t3_link_make_room(struct t3_link *link, uint32_t slots);

/* turn.c: which client's packets a link takes next */
bool t3_turn_waits(const struct t3_link *link);
/* To be called when one of the client's lists has changed. */
void t3_turn_note(struct t3_link *link, uint32_t client);
uint32_t t3_turn_next(const struct t3_link *link); /* T3_NONE32: nobody waits */
/* Bytes that are sent without a turn: by a store. A queue asks before. */
void t3_turn_charge(struct t3_link *link, uint32_t client, uint32_t bytes);
bool t3_turn_may_send(const struct t3_link *link, uint32_t client);
void t3_turn_clear(struct t3_link *link);

/* pump.c: what waits for a link */
void t3_pump_fire(struct t3_event *event);
void t3_pump_kick(struct t3_link *link);
void t3_pump_control(struct t3_space *space, struct t3_link *link, struct t3_ctl *ctl,
		     const struct t3_packet *packet);
void t3_pump_forget_control(struct t3_ctl *ctl);
void t3_pump_append_control(struct t3_link *link, struct t3_ctl *ctl);
void t3_pump_forget_all(struct t3_link *link);
void t3_pump_response(struct t3_link *link, const struct t3_packet *packet, uint32_t status);

/* block.c: updates and blocks of tiles for the routes of a segment */
/* Updates that the links of all routes can take now. */
uint32_t t3_block_room(const struct t3_segment *segment);
/* Runs what was left undone until there is room; the space's state may change. */
void t3_block_make_room(const struct t3_segment *segment);
/* Routes of the segment, from `route` on down, that share its link. */
uint32_t t3_block_routes_on_link(const struct t3_segment *segment, uint32_t route);
/* On every route; the caller checked t3_block_room(). */
void t3_block_update(struct t3_segment *segment, uint32_t row, uint32_t col, const void *payload,
		     uint32_t bytes);
/* True: the block of this first tile was appended. False: it is on the list already. */
bool t3_block_push(struct t3_segment *segment, uint32_t first, uint32_t slot);
void t3_block_append_work(struct t3_link *link, struct t3_segment *segment);
void t3_block_add_work(struct t3_segment *segment);
void t3_block_forget(struct t3_segment *segment);
/* One packet of the client's first segment with ready tiles. Returns its bytes, maybe 0. */
uint32_t t3_block_serve(struct t3_link *link, uint32_t client);

/* packet.c: the receiving side. Returns t3_nak. */
uint32_t t3_packet_receive(struct t3_link *link, const struct t3_packet *packet,
			   const uint8_t *payload);

/* space.c */
struct t3_space *t3_space_slot(struct t3_dev *dev, uint32_t id); /* id < T3_MAX_SPACES */
bool t3_space_live(const struct t3_space *space);		 /* IDLE .. FAULTED */
uint32_t t3_space_generation(const struct t3_space *space);
void t3_space_next_generation(struct t3_dev *dev, uint32_t id);
void t3_space_open(struct t3_dev *dev, const struct t3_cmd_space_create *cmd);
/* For a create command that was checked; the state stays FREE. */
struct t3_space *t3_space_place(struct t3_dev *dev, const struct t3_cmd_space_create *cmd);
void t3_space_wipe(struct t3_space *space);
void t3_space_renew(struct t3_space *space);
void t3_space_disable(struct t3_space *space);
/* Without telling anybody; t3_notify_state() does. */
void t3_space_put_state(struct t3_space *space, uint32_t state);
void t3_space_set_state(struct t3_space *space, uint32_t state);
void t3_space_settle_in_flight(struct t3_space *space);
void t3_space_drop_state(struct t3_space *space);
void t3_space_fail(struct t3_space *space, const struct t3_fault_record *record);
void t3_space_fail_cpu(struct t3_space *space, uint32_t kind, const struct t3_segment *segment,
		       uint32_t tile, uint64_t offset);
void t3_space_drop(struct t3_space *space);

/* epoch.c */
void t3_epoch_arm(struct t3_space *space, uint32_t epoch);
void t3_epoch_release(struct t3_space *space, uint32_t epoch);
void t3_epoch_prepared(struct t3_space *space);
void t3_epoch_try_armed(struct t3_space *space);
bool t3_epoch_route_ready(const struct t3_route *route, uint32_t epoch);
void t3_epoch_peer_state(struct t3_space *space, struct t3_route *route, uint32_t state,
			 uint32_t epoch);
void t3_epoch_poisoned(struct t3_space *space, struct t3_import *import, uint32_t epoch);
void t3_epoch_tell_import(struct t3_space *space, struct t3_import *import, uint32_t state,
			  uint32_t epoch);
void t3_epoch_peer_lost(struct t3_space *space, uint32_t rank, const struct t3_dev *peer);
void t3_epoch_tell_peers_gone(struct t3_space *space, uint32_t state);
uint32_t t3_epoch_first_undone(const struct t3_space *space);
void t3_epoch_segment_tracked(struct t3_segment *segment);
void t3_epoch_segment_acked(struct t3_segment *segment, uint32_t bytes);

/* prepare.c: a space's memory before an epoch */
/* ARM. True: all is done, or the space has faulted. False: t3_epoch_prepared() follows. */
bool t3_prepare_begin(struct t3_space *space);
void t3_prepare_append(struct t3_space *space); /* to its client's list */
/* Whose turn it is, T3_NONE32: nobody's. */
uint32_t t3_prepare_client(const struct t3_dev *dev);
uint32_t t3_prepare_step(struct t3_dev *dev, uint32_t client); /* returns the work */
void t3_prepare_stop(struct t3_space *space);
void t3_prepare_clear(struct t3_dev *dev);
const char *t3_prepare_check(const struct t3_space *space);

/* segment.c */
struct t3_segment *t3_segment_find(struct t3_space *space, uint64_t offset);
/* The segment whose extent holds the offset, or NULL. */
static inline struct t3_segment *t3_segment_at(struct t3_space *space, uint64_t offset)
{
	struct t3_segment *recent = space->recent;

	return recent && offset - recent->offset < recent->extent ? recent
								  : t3_segment_find(space, offset);
}

uint32_t t3_segment_map(struct t3_space *space, const struct t3_cmd_seg_map *cmd);
/* As SEG_MAP, but the counter records keep what they hold. */
uint32_t t3_segment_insert(struct t3_space *space, const struct t3_cmd_seg_map *cmd);
uint32_t t3_segment_staging(struct t3_space *space, const struct t3_cmd_seg_staging *cmd);
void t3_segment_unmap(struct t3_segment *segment);
void t3_segment_new_epoch(struct t3_segment *segment);
uint32_t t3_segment_tile(const struct t3_segment *segment, uint32_t row, uint32_t col);
/* A tile's counter record; t3_segment_record_done() at once after changing it. */
struct t3_tile_record *t3_segment_record(const struct t3_segment *segment, uint32_t tile);
uint64_t t3_segment_record_address(const struct t3_segment *segment, uint32_t tile);
/* For reports only. */
const struct t3_tile_record *t3_segment_look(const struct t3_segment *segment, uint32_t tile);
void t3_segment_record_done(const struct t3_segment *segment, uint32_t tile);
/* In device memory, of (row, byte col). */
static inline uint64_t t3_segment_address(const struct t3_segment *segment, uint32_t row,
					  uint32_t col)
{
	return segment->space->buffer + segment->offset + (uint64_t)row * segment->pitch + col;
}

struct t3_tile_shape {
	uint32_t row, col; /* origin in the segment: row, byte */
	uint32_t rows, row_bytes;
	uint32_t bytes;
	uint64_t expected;
};
struct t3_tile_shape t3_segment_tile_shape(const struct t3_segment *segment, uint32_t tile);
/* Of the block that begins with tile `first`: the tile behind its last. */
uint32_t t3_segment_block_end(const struct t3_segment *segment, uint32_t first);

/* tracker.c */
enum t3_track { T3_TRACK_OVERSHOOT = -1, T3_TRACK_COUNTED, T3_TRACK_DONE };
/* Begins this epoch's record, if nobody has. */
struct t3_tile_record *t3_tracker_record(struct t3_segment *segment, uint32_t tile);
int t3_tracker_init(struct t3_tracker *tracker, uint32_t entries, uint32_t ways);
/* OVERSHOOT: nothing was counted. */
enum t3_track t3_tracker_add(struct t3_segment *segment, uint32_t tile, uint32_t bytes,
			     uint64_t expected);
/* The entry's tile has all its updates: write back, and free it. */
void t3_tracker_done(struct t3_dev *dev, struct t3_entry *entry);
uint32_t t3_tracker_count(struct t3_segment *segment, uint32_t tile);
uint32_t t3_tracker_look(struct t3_segment *segment, uint32_t tile); /* for reports */
void t3_tracker_forget(struct t3_segment *segment);
void t3_tracker_forget_space(struct t3_space *space);
void t3_tracker_clear(struct t3_dev *dev);

/* update.c: counted updates of one tile */
void t3_update_run(struct t3_segment *segment, uint32_t row, uint32_t col, const void *data,
		   uint32_t bytes);
bool t3_update_fits(struct t3_segment *segment, uint32_t row, uint32_t col, uint32_t bytes);
/* Applies values that are counted already: to one row, by its address or by row and column. */
void t3_update_at(struct t3_segment *segment, uint64_t address, const void *data, uint32_t bytes);
void t3_update_apply(struct t3_segment *segment, uint32_t row, uint32_t col, const void *data,
		     uint32_t bytes);
void t3_update_done(struct t3_segment *segment, uint32_t tile);

/*
 * store.c: what producers (the CPU, queues) store. A store lies in one row of one
 * tile. place and commit return t3_fault_kind, and then have faulted the space.
 */
struct t3_store {
	struct t3_segment *segment;
	uint64_t offset; /* in the space */
	uint32_t row, col, tile, bytes;
	uint64_t expected; /* of the tile */
};
/* The beginning of `bytes` bytes at `offset`, as far as one store reaches. */
uint32_t t3_store_place(struct t3_space *space, uint64_t offset, uint32_t bytes,
			struct t3_store *store);
/* REMOTE: the caller checked the room on the links. */
uint32_t t3_store_commit(const struct t3_store *store, const void *data);

/* nmc.c */
uint32_t t3_dtype_size(uint32_t dtype); /* dtype < T3_DTYPE_COUNT */
#define T3_F32_NAN 0x7fc00000u		/* the one that results have */
bool t3_nmc_allowed(uint32_t dtype, uint32_t op);
void t3_nmc_apply(uint32_t dtype, uint32_t op, void *dst, const void *src, size_t bytes);
/* What it is made of, but for STORE: the definition, and the beginning that is faster. */
void t3_nmc_apply_narrow(uint32_t dtype, uint32_t op, uint8_t *dst, const uint8_t *src,
			 size_t bytes);
#define T3_NMC_WIDE 32u /* bytes at a time */
/* nmc_wide.c: returns how many bytes were done, maybe 0. */
size_t t3_nmc_apply_wide(uint32_t dtype, uint32_t op, uint8_t *dst, const uint8_t *src,
			 size_t bytes);
void t3_nmc_identity(uint32_t dtype, uint32_t op, void *dst, size_t bytes);
/* Exact; rounded to nearest even, a NaN canonical. F32, F16, BF16. */
void t3_nmc_widen(uint32_t dtype, const void *src, float *dst, uint32_t count);
void t3_nmc_narrow(uint32_t dtype, const float *src, void *dst, uint32_t count);

/* doorbell.c, admin.c */
void t3_doorbell_write(struct t3_dev *dev, uint64_t offset, uint64_t value, uint32_t size);
uint64_t t3_doorbell_read(struct t3_dev *dev, uint64_t offset, uint32_t size);
/* The commands of these names, and their rules. Return t3_admin_status. */
uint32_t t3_check_space_create(const struct t3_dev *dev, const struct t3_cmd_space_create *cmd);
uint32_t t3_route_set(struct t3_space *space, const struct t3_cmd_route_set *cmd);
uint32_t t3_import_set(struct t3_space *space, const struct t3_cmd_import_set *cmd);
uint32_t t3_tile_query(struct t3_space *space, struct t3_cmd_tile_query *cmd); /* tile_query.c */
void t3_admin_run(struct t3_dev *dev, uint32_t opcode);

/* queue.c */
void t3_queues_init(struct t3_dev *dev);
void t3_queues_clear(struct t3_dev *dev);
void t3_queues_wipe(struct t3_dev *dev);
void t3_queue_submit(struct t3_dev *dev, uint32_t id, uint32_t tail);
uint32_t t3_queue_make(struct t3_dev *dev, const struct t3_cmd_queue_create *cmd);
uint32_t t3_queue_command(struct t3_dev *dev, uint32_t opcode);
/* Injection: the queue makes no progress until QUEUE_ABORT or hung = false. */
void t3_queue_hang(struct t3_dev *dev, uint32_t id, bool hung);

/* ring.c */
uint32_t t3_queue_id(const struct t3_queue *q);
void t3_queue_set_state(struct t3_queue *q, uint32_t state);
void t3_queue_enable(struct t3_dev *dev, uint32_t word, uint32_t value);
void t3_queue_stop(struct t3_queue *q, uint32_t status);
uint64_t t3_ring_address(const struct t3_queue *q);
int t3_ring_fetch(struct t3_queue *q);
void t3_ring_complete(struct t3_queue *q, uint32_t status, uint64_t detail);

/* descriptor.c. Returns t3_descriptor_status. */
uint32_t t3_descriptor_check(const struct t3_dev *dev, const struct t3_descriptor *d,
			     uint64_t *detail);
/* Do all rows end at or below `limit`? The last byte may be byte 2^64 - 1. */
bool t3_rows_fit(uint64_t start, uint64_t pitch, uint32_t rows, uint32_t bytes, uint64_t limit);

/* move.c. Return t3_descriptor_status. */
uint32_t t3_move_space(const struct t3_queue *q, uint64_t *detail);
/* One store of the queue, from `offset` in its space. OK with 0 bytes: the queue sleeps. */
uint32_t t3_move_place(struct t3_queue *q, uint64_t offset, uint32_t bytes, struct t3_store *store,
		       uint64_t *detail);
uint32_t t3_move_piece(struct t3_queue *q, uint32_t *bytes, uint64_t *detail);

/* gemm_plan.c: what a GEMM's parameters mean */
struct t3_gemm_rect {
	uint32_t row, col, rows, cols; /* elements of the output */
};
/* The same as t3_descriptor_check(), of the parameters of a descriptor that it accepts. */
uint32_t t3_gemm_check(const struct t3_dev *dev, const struct t3_descriptor *d,
		       const struct t3_gemm *g, uint64_t *detail);
/* Sums from one row of a block to the next. */
uint32_t t3_gemm_stride(const struct t3_gemm_rect *block);
/* The block that the run is at. False: there is none such. */
bool t3_gemm_block(const struct t3_descriptor *d, const struct t3_gemm_run *run,
		   struct t3_gemm_rect *block);
/* On to the next; false: that was the last. */
bool t3_gemm_next(const struct t3_descriptor *d, struct t3_gemm_run *run);

/* gemm_math.c: sum += A slice * B slice */
struct t3_gemm_slice {
	uint32_t dtype, rows, cols, depth, stride; /* of the block, and of K */
	const uint8_t *a, *b;
	uint64_t a_pitch, b_pitch;
};
void t3_gemm_multiply(const struct t3_gemm_slice *slice, struct t3_gemm_run *run);

/* gemm.c. Return t3_descriptor_status. */
struct t3_gemm_run *t3_gemm_of(const struct t3_queue *q);
uint32_t t3_gemm_begin(struct t3_queue *q, uint64_t *detail);
/* `bytes`: of memory that it took; 0 with status OK: the queue sleeps. */
uint32_t t3_gemm_step(struct t3_queue *q, uint32_t *bytes, bool *done, uint64_t *detail);

/* gang_args.c, gang.c: timed runs */
struct t3_timed_args *t3_gang_args(const struct t3_queue *q);
uint32_t t3_gang_begin(struct t3_queue *q, uint64_t *detail); /* t3_descriptor_status */
struct t3_timed *t3_gang_new(const struct t3_queue *q);
void t3_gang_init(struct t3_fabric *fabric);
void t3_gang_join(struct t3_queue *q);
void t3_gang_wake(const struct t3_queue *q);
void t3_gang_leave(struct t3_queue *q);
void t3_gang_abandon(struct t3_fabric *fabric);
/* While a store waits for other events. True: to be resumed. */
bool t3_gang_pause(struct t3_fabric *fabric);
void t3_gang_resume(struct t3_fabric *fabric);
/* What was computed of the run: it is computed again. */
void t3_gang_drop(struct t3_fabric *fabric);
void t3_gang_wipe(struct t3_fabric *fabric);
const char *t3_gang_check(const struct t3_fabric *fabric);
const char *t3_gang_check_queue(const struct t3_queue *q);

static inline bool t3_timed_allowed(const struct t3_dev *dev)
{
	return dev->fabric && dev->fabric->config.timed;
}

/* A CPU does something that a device alone would not have done then. */
static inline void t3_gang_host(struct t3_fabric *fabric)
{
	if (fabric && fabric->gang.running)
		fabric->gang.host_paced = true;
}

/* engine.c */
void t3_engine_fire(struct t3_event *event);
bool t3_engine_has_work(const struct t3_dev *dev);
void t3_engine_wake(struct t3_dev *dev);
void t3_engine_attach(struct t3_dev *dev);
void t3_engine_clear(struct t3_dev *dev);
/* False: the queue sleeps until t3_engine_credit() finds credit for it. */
bool t3_engine_has_credit(struct t3_queue *q, struct t3_link *link, uint32_t packets);
void t3_engine_credit(struct t3_link *link);
void t3_fence_set(struct t3_dev *dev, uint32_t fence, uint64_t value);

/* hostmem.c. Return 0, or -1 when host memory is out of reach. */
int t3_host_read(struct t3_dev *dev, uint64_t address, void *data, size_t len);
int t3_host_write(struct t3_dev *dev, uint64_t address, const void *data, size_t len);

/* notify.c */
void t3_interrupt(struct t3_dev *dev, uint32_t vector);
void t3_notify_word(struct t3_space *space, size_t offset, const void *data, size_t len);
void t3_notify_state(struct t3_space *space);
void t3_notify_consumed(struct t3_segment *segment, uint32_t slot);
void t3_notify_all(struct t3_space *space);
void t3_notify_event(struct t3_space *space);
void t3_notify_enable(struct t3_dev *dev, uint32_t word, uint32_t value);
void t3_error_raise(struct t3_dev *dev, uint32_t bit);
void t3_guest_error(struct t3_dev *dev, const char *what);

static inline bool t3_serial_after(uint32_t a, uint32_t b) /* a is a later epoch than b */
{
	return (int32_t)(a - b) > 0;
}

#include "t3_inline.h"

#endif /* T3_INTERNAL_H */
