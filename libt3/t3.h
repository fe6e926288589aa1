/* SPDX-License-Identifier: MIT */
/*
 * libt3 - map a program's outputs so that its stores count toward triggers.
 *
 * Conventions, true of every function unless its comment says otherwise:
 *  - 0 is success, a negative errno is failure; nothing is printed; a failed call
 *    changes nothing. Any ioctl may also fail with -ENODEV (the device has gone)
 *    or -ENOMEM. -EINVAL: an argument is NULL or outside its range.
 *  - Sizes, offsets and columns are bytes. Epochs are 32-bit, never 0.
 *  - Deadlines are absolute CLOCK_MONOTONIC nanoseconds: INT64_MAX never ends, 0
 *    asks once. See t3_deadline().
 *  - A function may be called from several threads at once, also on one handle,
 *    but never while another thread destroys that handle. Exceptions say "one
 *    thread at a time".
 *  - Descriptors are O_CLOEXEC. Handles do not survive fork(): open after it.
 *  - Enumerations are those of t3_accel.h (DRM_T3_*).
 *
 * With T3_DEBUG=check in the environment when the first space is created, what the
 * process stores to its spaces is checked before the device sees it: stores that are
 * made twice, are missing, misaligned, too narrow, over a tile's edge, outside the
 * segments or the epoch, no plain moves (memcpy), and doorbells of wrong tiles. A
 * mistake is reported on stderr with the segment, the tile, the bytes and the line of
 * code, and is the process's end by SIGABRT; with T3_DEBUG=check,continue the wrong
 * store is left out. Missing stores are said at a wait that times out, and that is no
 * end. A store takes microseconds then, and SIGSEGV is the checker's: handlers of it
 * are installed before the first space. The checker is an object of its own,
 * libt3-check.so.0, which is installed beside libt3: without it stderr hears that
 * nothing is checked.
 *
 * A device that is unplugged or a space that is destroyed loses its mappings: a
 * later store to the aperture or a doorbell is SIGBUS. Waits then say -ENODEV, or
 * -ENOENT when the space was destroyed below a sleeping one.
 */
#ifndef T3_H
#define T3_H

#include <stddef.h>
#include <stdint.h>

#include "t3_accel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define T3_API __attribute__((visibility("default")))

struct t3_device_list;
struct t3_device;
struct t3_buffer;
struct t3_space;
struct t3_queue;

/* ---------------------------------------------------------------- discovery */

/* One PCI function 1234:7433. Grows at its end. */
struct t3_device_entry {
	char bdf[24];  /* PCI address, "0000:00:04.0" */
	char node[40]; /* "/dev/accel/accel0"; "" when no driver is bound */
};

/*
 * Find all T3 functions, in the order of their PCI addresses. Free the list with
 * t3_device_list_free(). An empty list is no error.
 * Errors: -ENOSYS no PCI in sysfs; -EAGAIN devices came and went during the scan.
 */
T3_API int t3_device_list(struct t3_device_list **list);
T3_API void t3_device_list_free(struct t3_device_list *list);
/* Number of entries; entry @index, or NULL from the end on. Valid until the free. */
T3_API size_t t3_device_list_count(const struct t3_device_list *list);
T3_API const struct t3_device_entry *t3_device_list_get(const struct t3_device_list *list,
							size_t index);

/*
 * Open a device: by its node, by its index in t3_device_list(), by its rank in a
 * fabric (fabric_id 0: that of the environment's T3_FABRIC, as 0x1; any without it), or from a
 * descriptor, which is duplicated.
 * Errors: those of open(); -EPROTO not the t3 driver, or another major version;
 * -ENODEV no such index or rank, or it has no driver; -ENOTUNIQ no fabric is named
 * and several have that rank; -EINVAL also a T3_FABRIC that is no number of a fabric; -EBADF; by
 * index and rank those of t3_device_list().
 */
T3_API int t3_device_open(const char *path, struct t3_device **dev);
T3_API int t3_device_open_index(size_t index, struct t3_device **dev);
T3_API int t3_device_open_rank(uint64_t fabric_id, uint32_t rank, struct t3_device **dev);
T3_API int t3_device_open_fd(int fd, struct t3_device **dev);

/*
 * Say in words, always terminated, why an open failed and what to do: no such device or driver (and which
 * there are), no permission (the node, its group, how to get into it), another driver or version, several
 * fabrics. error: what the open returned; path: what t3_device_open() got, NULL after the others. Looks
 * at the machine as it is now. Returns the length that the text needs, as snprintf().
 */
T3_API int t3_device_explain(const char *path, int error, char *text, size_t size);

/* Close it, after its spaces and buffers were destroyed. NULL is fine. */
T3_API void t3_device_close(struct t3_device *dev);

/* The descriptor, for poll, fstat and the like. It stays the device's. */
T3_API int t3_device_fd(const struct t3_device *dev);

/* Facts and counters; fields that an older driver does not know are 0. */
T3_API int t3_device_info(const struct t3_device *dev, struct drm_t3_device_info *info);
T3_API int t3_device_counters(const struct t3_device *dev, struct drm_t3_counters *counters);

/* Indices of drm_t3_counters.value; all but LIVE and PEAK only grow. */
enum t3_device_counter {
	T3_DEVICE_TRACKER_HIT,
	T3_DEVICE_TRACKER_ALLOC,
	T3_DEVICE_TRACKER_SPILL,
	T3_DEVICE_TRACKER_FILL,
	T3_DEVICE_TRACKER_LIVE,
	T3_DEVICE_TRACKER_PEAK,
	T3_DEVICE_STORES,
	T3_DEVICE_DOORBELLS,
	T3_DEVICE_TRIGGERS,
	T3_DEVICE_DMA_BYTES,
	T3_DEVICE_NMC_ELEMENTS,
	T3_DEVICE_LINK_TX_PACKETS,
	T3_DEVICE_LINK_TX_BYTES,
	T3_DEVICE_LINK_RX_PACKETS,
	T3_DEVICE_LINK_RX_BYTES,
	T3_DEVICE_LINK_RETRIES,
	T3_DEVICE_LINK_DUPLICATES,
	T3_DEVICE_NAKS,
	T3_DEVICE_FAULTS,
	T3_DEVICE_DROPPED,
	T3_DEVICE_INTERRUPTS,
	T3_DEVICE_LINK_ERRORS,
	T3_DEVICE_LINK_DOWNS,
	T3_DEVICE_HOST_DMA_ERRORS,
	T3_DEVICE_POISON_HITS,
	T3_DEVICE_QUEUE_DESCRIPTORS,
	T3_DEVICE_QUEUE_ERRORS,
	T3_DEVICE_QUEUE_BYTES,
	T3_DEVICE_INJECTED,
	T3_DEVICE_ENGINE_WORK,
	T3_DEVICE_COUNTER_COUNT
};

/* ------------------------------------------------------------------ buffers */

/*
 * Allocate zeroed device memory; size is rounded up to pages.
 * Errors: -EINVAL size 0 or above the device's memory; -ENOSPC no room; -EDQUOT above the
 * limit of an open file (t3_device_info()).
 */
T3_API int t3_buffer_create(struct t3_device *dev, uint64_t size, struct t3_buffer **buffer);
/*
 * The same of the machine's memory, for jobs that copy, fill or run the timed model; no
 * space is made of it.
 * Errors: as above; -EOPNOTSUPP the device's DMA is not coherent.
 */
T3_API int t3_buffer_create_host(struct t3_device *dev, uint64_t size, struct t3_buffer **buffer);
/*
 * Get a dma-buf of it, for other processes and devices; close it when it is passed on.
 * Errors: -EMFILE.
 */
T3_API int t3_buffer_export(const struct t3_buffer *buffer, int *fd);
/*
 * Make a buffer of a dma-buf: the same one on the same device, else an operand of jobs
 * as a host buffer is. fd stays the caller's. Import a dma-buf once for each device, as
 * the first destroy of several ends them all.
 * Errors: -EBADF; -EINVAL no dma-buf; -EXDEV device memory of another fabric;
 * -EOPNOTSUPP its owner does not give it to this device; -ENODEV the owner has gone.
 */
T3_API int t3_buffer_import(struct t3_device *dev, int fd, struct t3_buffer **buffer);
/* Its GEM handle, for ioctls of one's own. It stays the buffer's. 0: NULL. */
T3_API uint32_t t3_buffer_handle(const struct t3_buffer *buffer);
/* Unmap and free it, after the spaces and stagings that use it. NULL is fine. */
T3_API void t3_buffer_destroy(struct t3_buffer *buffer);
/*
 * Map it, for fast plain reads and writes that are not tracked. The same pointer
 * each time, valid until the destroy. One thread at a time.
 * Errors: those of mmap().
 */
T3_API int t3_buffer_map(struct t3_buffer *buffer, void **ptr);
T3_API uint64_t t3_buffer_size(const struct t3_buffer *buffer);

/* ------------------------------------------------------------------- spaces */

/*
 * Create an output address space over a buffer: byte x of the space is byte x of
 * the buffer. max_tiles: of all its segments together, 1 .. 2^20.
 * Errors: -EBUSY the buffer is behind a space already; -ENOSPC no space, aperture
 * or device memory left; -EDQUOT above the limit of an open file; -EOPNOTSUPP the buffer
 * is not memory of this device; -EIO the function was reset meanwhile; those of mmap().
 */
T3_API int t3_space_create(struct t3_device *dev, struct t3_buffer *buffer, uint32_t max_tiles,
			   struct t3_space **space);
/*
 * Destroy it; its peers fault. The handle is gone whatever is returned.
 * Errors: -EIO the device did not come to rest and was reset.
 */
T3_API int t3_space_destroy(struct t3_space *space);
/*
 * Leave any state for IDLE, also FAULTED. Remote and dma segments, imports and
 * grants are gone, local segments stay; the next arm may name any epoch. One
 * thread at a time.
 * Errors: -EIO as above.
 */
T3_API int t3_space_reset(struct t3_space *space);

/* The tracked aperture and its size, and the event area, until the destroy. */
T3_API volatile void *t3_space_aperture(const struct t3_space *space);
T3_API uint64_t t3_space_size(const struct t3_space *space);
T3_API const volatile struct drm_t3_event_area *t3_space_events(const struct t3_space *space);

/* ----------------------------------------------------------------- geometry */

/*
 * A segment: a row-major matrix at `offset` of the space, cut into tiles that are
 * numbered row-major. offset, row_bytes, pitch and tile_row_bytes are multiples of
 * the element; pitch row_bytes .. 2^24, a tile at most 1 MiB.
 */
struct t3_segment_desc {
	uint32_t segment; /* index in the space, 0 .. 63 */
	uint32_t op;	  /* enum drm_t3_op of an update; 0 for a remote segment */
	uint32_t dtype;	  /* enum drm_t3_dtype */
	uint32_t init;	  /* enum drm_t3_init; 0 for a remote segment */
	uint32_t updates; /* expected per element, 1 .. 64 */
	uint32_t rows;
	uint64_t offset;
	uint32_t row_bytes;
	uint32_t pitch;
	uint32_t tile_rows;	 /* 1 .. rows */
	uint32_t tile_row_bytes; /* one element .. row_bytes */
};

/* Where a remote or dma segment sends to. Byte (0, 0) arrives at (row, col). */
struct t3_target {
	uint32_t import;  /* of t3_grant_import() */
	uint32_t op;	  /* enum drm_t3_op at the target */
	uint32_t segment; /* index in the target's space */
	uint32_t row;
	uint32_t col;
	/* With DRM_T3_FEATURE_BLOCKS and DRM_T3_FEATURE_MULTI (t3_device_info()); else 0. */
	uint32_t block_tiles;	 /* dma: tiles sent together, 0 .. 256, 0 is 1 */
	uint32_t import_count;	 /* further imports: each store or tile goes to all */
	const uint32_t *imports; /* NULL when import_count is 0 */
};

/* A tile: its first row and byte in the segment, and its size, ragged or not. */
struct t3_tile {
	uint32_t row;
	uint32_t rows;
	uint32_t col;
	uint32_t row_bytes;
	uint64_t offset; /* of its first byte from the segment's first */
	uint64_t bytes;
};

/* Bytes of an element, 0 for an unknown type. */
T3_API uint32_t t3_dtype_bytes(uint32_t dtype);
/* Check everything in desc that needs no device. Errors: -EINVAL. */
T3_API int t3_desc_check(const struct t3_segment_desc *desc);
/* Number of tiles of a checked desc. */
T3_API uint64_t t3_desc_tiles(const struct t3_segment_desc *desc);
/* Describe tile number @index of a checked desc. Errors: -ERANGE no such tile. */
T3_API int t3_desc_tile(const struct t3_segment_desc *desc, uint64_t index, struct t3_tile *tile);
/* The tile that holds a byte of a checked desc. Errors: -ERANGE outside. */
T3_API int t3_desc_locate(const struct t3_segment_desc *desc, uint32_t row, uint32_t col,
			  uint64_t *index);

/* ------------------------------------------------------------------ mapping */

/*
 * Say what a store to a range of the space means: it stays here (local); it goes
 * to the peer at once and nothing is kept (remote); it stays here, and each tile
 * goes to the peer when its count is reached (dma). The space must be idle.
 * Errors: -EINVAL index, geometry, range, enumeration; -EEXIST the index is in use,
 * or an overlap; -ENOSPC more tiles than max_tiles, or no segment left on the
 * device; -EDQUOT the open file has as many segments as it may; -EBUSY the space is not idle; -ENOENT no such import; -EACCES the grant
 * does not allow target segment or op; -EOWNERDEAD it was revoked or its owner has
 * gone; -ERANGE outside the target segment, or its type differs.
 */
T3_API int t3_local_map(struct t3_space *space, const struct t3_segment_desc *desc);
T3_API int t3_remote_map(struct t3_space *space, const struct t3_segment_desc *desc,
			 const struct t3_target *target);
T3_API int t3_dma_map(struct t3_space *space, const struct t3_segment_desc *desc,
		      const struct t3_target *target);
/* Errors: -ENOENT no such segment; -EBUSY the space is not idle. */
T3_API int t3_unmap(struct t3_space *space, uint32_t segment);

/*
 * Give a segment `slots` (0 .. 4) staging images at offset + s * stride of a
 * buffer, with the segment's pitch; both multiples of 8. slots 0 and buffer NULL
 * take it away.
 * Errors: -ENOENT no such segment; -EINVAL range; -EBUSY the space is not idle;
 * -EOPNOTSUPP the buffer is not memory of this device.
 */
T3_API int t3_staging_bind(struct t3_space *space, uint32_t segment, struct t3_buffer *buffer,
			   uint64_t offset, uint64_t stride, uint32_t slots);

/* ------------------------------------------------------------------- grants */

/* What t3_grant_import() learned. Grows at its end. */
struct t3_import_info {
	uint64_t segment_mask;
	uint32_t op_mask; /* bit enum drm_t3_op */
	uint32_t rank;	  /* of the target's device */
};

/*
 * Let the holder of *fd send updates with the ops in op_mask to the segments in
 * segment_mask. Pass fd to one peer, then close it; *grant is for the revoke.
 * Errors: -EINVAL an empty mask; -EMFILE; -ENOSPC too many grants.
 */
T3_API int t3_grant_export(struct t3_space *space, uint64_t segment_mask, uint32_t op_mask, int *fd,
			   uint32_t *grant);
/*
 * The same for spaces of some ranks alone: bit rank of rank_mask; 0: any rank.
 * Errors: as above; -EINVAL a rank that the fabric does not have.
 */
T3_API int t3_grant_export_to(struct t3_space *space, uint32_t rank_mask, uint64_t segment_mask,
			      uint32_t op_mask, int *fd, uint32_t *grant);
/* When it returns, nothing of that importer is applied any more. Errors: -ENOENT. */
T3_API int t3_grant_revoke(struct t3_space *space, uint32_t grant);
/*
 * Bind a grant to this space, which sends. info may be NULL. fd stays the caller's.
 * Errors: -EBADF; -EINVAL not a grant; -EXDEV another fabric; -EHOSTUNREACH no link
 * to that rank; -EACCES not for this rank; -EBUSY imported already, or not idle; -ENOSPC tables full;
 * -EEXIST a message of the entry's last user waits for its link, try again; -EOWNERDEAD
 * revoked, or the owner has gone.
 */
T3_API int t3_grant_import(struct t3_space *space, int fd, uint32_t *import,
			   struct t3_import_info *info);
/* Errors: -ENOENT; -EBUSY a segment uses it, or not idle. */
T3_API int t3_grant_release(struct t3_space *space, uint32_t import);

/* ------------------------------------------------------------------- epochs */

enum t3_progress {
	T3_TRACKED = DRM_T3_WAIT_TRACKED,     /* the counts are reached */
	T3_DELIVERED = DRM_T3_WAIT_DELIVERED, /* and the targets acknowledged */
};

/* now + timeout_ns as a deadline; too far is INT64_MAX. */
T3_API int64_t t3_deadline(uint64_t timeout_ns);

/*
 * Start epoch e: one doorbell store, no system call. The space must be IDLE, and e
 * the last epoch + 1 (after create or reset: any), or the space faults (BAD_ARM).
 * Errors: -EIO it is faulted already.
 */
T3_API int t3_arm(struct t3_space *space, uint32_t epoch);
/*
 * The results of epoch e have been read: peers' next updates may come. The space
 * must be COMPLETE(e), as t3_wait(.., e, 0, T3_DELIVERED, ..) ensures. One store.
 * Errors: -EIO it is faulted already.
 */
T3_API int t3_release(struct t3_space *space, uint32_t epoch);

/*
 * How long waits look at the event area before they sleep in the kernel: 20 us if
 * not set. 0 sleeps at once; UINT64_MAX never sleeps: then waits make no system
 * call, and with deadline INT64_MAX they do not read the clock either.
 */
T3_API void t3_space_set_spin(struct t3_space *space, uint64_t ns);

/*
 * Wait until the space is armed in an epoch, or until the segments in mask (0: all,
 * and with T3_DELIVERED: until the space is COMPLETE) have come so far. An epoch
 * that was released already counts as reached.
 * Errors: -ETIMEDOUT; -EIO the space is faulted, see t3_space_fault(); -ENODEV also
 * when the event area says DEAD; -ENOENT the space was destroyed below a sleeping wait;
 * -EINVAL mask names a segment that is not mapped.
 */
T3_API int t3_wait_armed(struct t3_space *space, uint32_t epoch, int64_t deadline_ns);
T3_API int t3_wait(struct t3_space *space, uint32_t epoch, uint64_t mask, enum t3_progress what,
		   int64_t deadline_ns);

/* Read state and epoch from the event area; either pointer may be NULL. */
T3_API int t3_poll_state(const struct t3_space *space, enum drm_t3_space_state *state,
			 uint32_t *epoch);
/* Copy the first fault since the last reset. Errors: -ENODATA there is none. */
T3_API int t3_space_fault(const struct t3_space *space, struct drm_t3_fault *fault);
/*
 * Copy the newest faults, oldest first: as many as fit into room and the device keeps
 * (the last 15 are sure). Returns how many; *total, if not NULL: since the last reset.
 */
T3_API int t3_space_faults(const struct t3_space *space, struct drm_t3_fault *faults, uint32_t room,
			   uint32_t *total);

/*
 * Signal an eventfd in each epoch when all segments in mask are delivered, and at a
 * fault; fd -1 ends that. Or get a file that can be polled for the same (POLLIN
 * delivered, POLLERR faulted, POLLHUP gone).
 * Errors: -EBADF; -EINVAL no eventfd, empty mask; -EEXIST the mask has one;
 * -ENOENT nothing to end; -ENOSPC more than 64; -EMFILE.
 */
T3_API int t3_space_eventfd(struct t3_space *space, uint64_t mask, int fd);
T3_API int t3_space_wait_fd(struct t3_space *space, uint64_t mask, int *fd);

/*
 * Say in words, always terminated, what a space is at: after a wait or another call returned error, or
 * with 0 at any time. Of an armed one the segments that are not delivered, of each the first tile that is
 * not done and how much it lacks; of a faulted one the first fault. Returns the length that the text
 * needs, as snprintf().
 */
T3_API int t3_space_explain(const struct t3_space *space, int error, char *text, size_t size);

/* Counters of a segment since its map or reset. Errors: -ENOENT no such segment. */
T3_API int t3_segment_stats(const struct t3_space *space, uint32_t segment,
			    struct drm_t3_space_stats *stats);

/*
 * The first tile of a segment from number `from` on that is not done: how many update bytes
 * have come of how many (DRM_T3_TILE_*: or that it waits for its link), in which epoch.
 * stats->tile is DRM_T3_TILE_NONE when all are: then what a wait misses are
 * stats->unacknowledged bytes. Go on behind one with from = stats->tile + 1. No counter
 * and no tracker entry is changed.
 * Errors: -ENOENT no such segment; -EOPNOTSUPP no DRM_T3_FEATURE_TILES.
 */
T3_API int t3_tile_stats(const struct t3_space *space, uint32_t segment, uint32_t from,
			 struct drm_t3_space_tile *stats);
/* The same of one tile, done or not. Errors: as above; -EINVAL also no such tile. */
T3_API int t3_tile_look(const struct t3_space *space, uint32_t segment, uint32_t tile,
			struct drm_t3_space_tile *stats);

/* ---------------------------------------------------------------- producers */

/* A segment as memory: its desc and its first byte, in the aperture or elsewhere. */
struct t3_view {
	volatile unsigned char *base;
	struct t3_segment_desc desc;
};

/* View of a segment through the aperture. Errors: -ERANGE outside the space. */
T3_API int t3_view_aperture(const struct t3_space *space, const struct t3_segment_desc *desc,
			    struct t3_view *view);
/* View of an image of it whose first byte is at ptr, such as a staging slot. */
T3_API int t3_view_memory(void *ptr, const struct t3_segment_desc *desc, struct t3_view *view);

/* One tracked store; dst is aligned to its width. */
T3_API void t3_store32(volatile void *dst, uint32_t value);
T3_API void t3_store64(volatile void *dst, uint64_t value);
/*
 * Tracked stores of bytes that lie in one row of one tile: aligned 8-byte moves,
 * 4 and 2 at ragged ends, each byte once, in rising order. src needs no alignment.
 * Errors: -EINVAL dst or bytes is odd: only segments of bytes take that, and
 * t3_store_run() and t3_store_tile() know what a segment is of.
 */
T3_API int t3_store(volatile void *dst, const void *src, size_t bytes);
/*
 * The same for a run in one row of a view, split at tile edges.
 * Errors: -ERANGE outside the row; -EINVAL not whole elements.
 */
T3_API int t3_store_run(const struct t3_view *view, uint32_t row, uint32_t col, const void *src,
			uint32_t bytes);
/*
 * The same for a whole tile; row i of it is at src + i * src_pitch.
 * Errors: -ERANGE no such tile; -EINVAL src_pitch below the tile's rows.
 */
T3_API int t3_store_tile(const struct t3_view *view, uint64_t tile, const void *src,
			 size_t src_pitch);
/*
 * Fill a tile of a staging image with plain wide copies, not tracked; one
 * t3_doorbell_tile() then counts as a store of all of it. Errors as above.
 */
T3_API int t3_stage_tile(const struct t3_view *view, uint64_t tile, const void *src,
			 size_t src_pitch);

/*
 * Apply staged tile of slot as one update per element. What was written to the
 * staging image before is seen, also through a write-combined mapping.
 * Errors: -EINVAL segment 0 .. 63 or slot 0 .. 3; a number that the segment does not
 * have faults the space (BAD_DOORBELL).
 */
T3_API int t3_doorbell_tile(struct t3_space *space, uint32_t segment, uint32_t slot, uint32_t tile);
/*
 * Doorbells of a slot (segment 0 .. 63, slot 0 .. 3, else 0) whose staged data has been
 * read, modulo 2^32: when it equals the number rung, the slot may be filled again.
 */
T3_API uint32_t t3_slot_consumed(const struct t3_space *space, uint32_t segment, uint32_t slot);

/* ------------------------------------------------------------------- queues */

/*
 * A queue for jobs of the device, which run in order; priority 0 .. 3, 3 goes first.
 * After destroy its jobs still run to their end. NULL is fine.
 * Errors: -EOPNOTSUPP the device has none; -EACCES priority above 0 without CAP_SYS_NICE;
 * -EDQUOT the open file has as many as it may; -ENOSPC all are in use.
 */
T3_API int t3_queue_create(struct t3_device *dev, uint32_t priority, struct t3_queue **queue);
T3_API void t3_queue_destroy(struct t3_queue *queue);

/* A row-major operand: row i is at offset + i * pitch of a buffer of device memory. */
struct t3_matrix {
	const struct t3_buffer *buffer;
	uint64_t offset;
	uint64_t pitch; /* 0: rows follow each other without a gap */
};

/*
 * C = A * B, of one dtype (no bytes): rows x columns, rows x depth, depth x columns. With
 * a space, c.buffer is NULL, c.offset and c.pitch lie in the space, and each element is one
 * update of the segment that is there. What follows dtype gives the order of the output,
 * and never changes its bits; 0: a usual one. See struct drm_t3_gemm.
 */
struct t3_gemm_desc {
	struct t3_matrix a, b, c;
	const struct t3_space *space;
	uint32_t rows, columns, depth;
	uint32_t dtype;
	uint32_t chunk_rows; /* 0: rows */
	uint32_t first_chunk;
	uint32_t chunks_up; /* not 0: upwards, else downwards */
	uint32_t raster_rows;
	uint32_t group_rows, group_columns;
	uint32_t tile_rows, tile_columns;
};

/*
 * Submit a product. *fence, if not NULL: a sync_file, readable when the job is over; close
 * it. A job whose space is not ARMED when it begins, or faults, fails; what a space sends
 * on is waited for with t3_wait().
 * Errors: -EINVAL sizes, an operand outside its buffer, both or neither of space and
 * c.buffer; -EOPNOTSUPP the device has no GEMM, or a buffer is not its memory; -EFBIG rows *
 * columns * depth above DRM_T3_GEMM_WORK_MAX; -EBUSY 1024 jobs of the queue are not over;
 * -EMFILE the fence: the job runs.
 */
T3_API int t3_queue_gemm(struct t3_queue *queue, const struct t3_gemm_desc *desc, int *fence);

/*
 * Timed runs speak the hardware's format: struct t3_timed_args and struct t3_timed_result
 * of t3_hw.h, which a program includes for them.
 */
struct t3_timed_args;

/*
 * The machine as T3's paper has it, f16, and no shape: what a program changes of it
 * is its own.
 */
T3_API void t3_timed_args_init(struct t3_timed_args *args);

/* Host buffers of the queue's device; each struct at a multiple of 64, in one page. */
struct t3_timed_desc {
	const struct t3_buffer *args; /* struct t3_timed_args, read when the job runs */
	uint64_t args_offset;
	const struct t3_buffer *result; /* struct t3_timed_result */
	uint64_t result_offset;
};

/*
 * Submit a run of the timed model; *fence as above, and there is a result when it says 0. A
 * run that is not MIRRORED begins when all ranks of the fabric have one with equal args in
 * front of a queue: submit all of them before waiting, each with a result buffer that
 * no other one uses. One that never comes ends the others after the driver's job_timeout_ms.
 * Errors: -EINVAL a place outside its buffer, not aligned or over a page's end, or the
 * two overlap; -EOPNOTSUPP the fabric was made without timed=on, or a buffer is device
 * memory; -EBUSY, -EMFILE as above. The job's own, by t3_fence_wait(): -EINVAL the args,
 * -ENOMEM, -ECANCELED another rank has left the run, -ETIME ("Timed runs" in t3_accel.h).
 */
T3_API int t3_queue_timed(struct t3_queue *queue, const struct t3_timed_desc *desc, int *fence);

/*
 * Wait for a sync_file of any job.
 * Errors: -ETIMEDOUT; -EBADF; -EINVAL no sync_file; else what the job ended with: -EIO,
 * -ETIME, -ENODEV, -ECANCELED (struct drm_t3_queue_submit), those of t3_queue_timed().
 */
T3_API int t3_fence_wait(int fence, int64_t deadline_ns);

/* -------------------------------------------------------------------- names */

/* Lower-case words, "unknown" for a value outside the enumeration. Never NULL. */
T3_API const char *t3_state_name(uint32_t state);
T3_API const char *t3_fault_name(uint32_t kind);
T3_API const char *t3_nak_name(uint32_t nak);
T3_API const char *t3_kind_name(uint32_t kind);
T3_API const char *t3_op_name(uint32_t op);
T3_API const char *t3_dtype_name(uint32_t dtype);
T3_API const char *t3_topology_name(uint32_t topology);
T3_API const char *t3_counter_name(uint32_t counter);
/* Write a fault in words, always terminated; the length it needs, as snprintf(). */
T3_API int t3_fault_text(const struct drm_t3_fault *fault, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* T3_H */
