/* SPDX-License-Identifier: MIT */
/*
 * libt3 - map a program's outputs so that its stores count toward triggers.
 *
 * These rules hold for every function, unless its comment says otherwise:
 *  - 0 is success. A negative errno is failure. Nothing is printed. A failed call changes nothing.
 *  - Any ioctl may also fail with -ENODEV (the device was removed) or -ENOMEM.
 *  - -EINVAL means that an argument is NULL or outside its range. t3_refusal() says which field.
 *  - Sizes, offsets and columns are bytes. Epochs are 32-bit and never 0.
 *  - Deadlines are absolute nanoseconds of CLOCK_MONOTONIC. INT64_MAX never ends. 0 asks once and
 *    does not wait. t3_deadline() makes one.
 *  - Several threads may call a function at once, also on one handle. No thread may use a handle
 *    while another thread destroys it. Functions with "one thread at a time" are exceptions.
 *  - Descriptors are O_CLOEXEC. Handles do not survive fork(): open the device after it.
 *  - Enumerations are those of t3_accel.h (DRM_T3_*).
 *
 * T3_DEBUG=check in the environment starts the checker. libt3 reads the variable when the process
 * creates its first space. The checker looks at each store to a space and each doorbell before the
 * device sees it. It reports:
 *  - stores that are made twice, missing, misaligned, narrower than an element, over a tile's edge,
 *    or outside the segments or the epoch;
 *  - stores by other instructions than plain moves, such as those of memcpy;
 *  - doorbells of wrong tiles.
 *
 * A report goes to stderr. It has the segment, the tile, the bytes and the line of code. Then the
 * process ends by SIGABRT. With T3_DEBUG=check,continue the checker leaves out the wrong store, and
 * the process goes on. Missing stores are reported by a wait that times out, which does not end the
 * process.
 *
 * A checked store takes microseconds. The checker needs SIGSEGV: install a handler of your own
 * before the first space. The checker is a shared object, libt3-check.so.0, installed beside libt3.
 * When it is missing or cannot work, a line on stderr says that nothing is checked.
 *
 * A device that is unplugged and a space that is destroyed lose their mappings. A later store to
 * the aperture or a doorbell raises SIGBUS. Waits then return -ENODEV, or -ENOENT when the space
 * was destroyed.
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

/* One PCI function 1234:7433. Later versions may add fields at the end. */
struct t3_device_entry {
	char bdf[24];  /* PCI address, "0000:00:04.0" */
	char node[40]; /* "/dev/accel/accel0"; "" when no driver is bound */
};

/*
 * Find all T3 functions, in the order of their PCI addresses. An empty list is no error. Free the
 * list with t3_device_list_free().
 * Errors: -ENOSYS: sysfs has no PCI. -EAGAIN: devices came and went during the scan.
 */
T3_API int t3_device_list(struct t3_device_list **list);
T3_API void t3_device_list_free(struct t3_device_list *list);
/*
 * Return the number of entries, and the entry @index. The entry is NULL when @index is not below
 * the number. It is valid until the list is freed.
 */
T3_API size_t t3_device_list_count(const struct t3_device_list *list);
T3_API const struct t3_device_entry *t3_device_list_get(const struct t3_device_list *list,
							size_t index);

/*
 * Open a device: by its node, by its index in t3_device_list(), by its rank in a fabric, or from an
 * open descriptor. The library duplicates the descriptor. fabric_id 0 means the fabric in the
 * environment variable T3_FABRIC (a number such as 0x1). Without the variable it means any fabric.
 * Errors: those of open(). -EPROTO: not the t3 driver, or another major version of it. -ENODEV: no
 * device has that index or rank, or it has no driver. -ENOTUNIQ: no fabric is named and several
 * have that rank. -EINVAL: also when T3_FABRIC is no number such as 0x1. -EBADF: fd is not open. By
 * index and rank also those of t3_device_list().
 */
T3_API int t3_device_open(const char *path, struct t3_device **dev);
T3_API int t3_device_open_index(size_t index, struct t3_device **dev);
T3_API int t3_device_open_rank(uint64_t fabric_id, uint32_t rank, struct t3_device **dev);
T3_API int t3_device_open_fd(int fd, struct t3_device **dev);

/*
 * Write a sentence that says why an open failed and what to do. The reasons that it tells apart:
 *  - no such device or no driver, and which devices there are;
 *  - no permission: the node, its group, and how to join the group;
 *  - another driver, or another version of it;
 *  - several fabrics with that rank.
 *
 * error is what the open returned. path is what t3_device_open() got, and NULL after the other
 * functions. The text is about the machine as it is now, and always terminated. Returns the length
 * that the whole text needs, as snprintf() does.
 */
T3_API int t3_device_explain(const char *path, int error, char *text, size_t size);

/*
 * Get the field that made this thread's last call fail: which struct, which value, what is allowed.
 * error is what that call returned. The driver's names are those of t3_accel.h. Where the library
 * itself has refused a field, request is 0, the struct is of this header, and serial counts these.
 *
 * Most errors come from the driver. A function that refuses a NULL or a state by itself keeps no
 * field: then the refusal is that of an earlier call with the same error, if there was one. Errors:
 * -ENODATA: no call of this thread has failed with this error since the last one that failed
 * otherwise. -EINVAL: also an error that is not negative.
 */
T3_API int t3_refusal(int error, struct drm_t3_refusal *refusal);

/*
 * Write a refusal in words, such as "drm_t3_segment_map.pitch is 60; allowed: 64 to 16777216". The
 * text is always terminated, and empty when no field is known. Returns the length that the whole
 * text needs, as snprintf() does.
 */
T3_API int t3_refusal_text(const struct drm_t3_refusal *refusal, char *text, size_t size);

/* Close the device. Destroy its spaces, buffers and queues first. NULL is allowed. */
T3_API void t3_device_close(struct t3_device *dev);

/* Return the descriptor, for fstat() or for ioctls. The device owns it: do not close it. */
T3_API int t3_device_fd(const struct t3_device *dev);

/* Read facts and counters. A field that an older driver does not know is 0. */
T3_API int t3_device_info(const struct t3_device *dev, struct drm_t3_device_info *info);
T3_API int t3_device_counters(const struct t3_device *dev, struct drm_t3_counters *counters);
/* The same of the switch's port of this device. Errors: -EOPNOTSUPP: no DRM_T3_FEATURE_GROUPS. */
T3_API int t3_device_switch(const struct t3_device *dev, struct drm_t3_switch_info *info);

/* Indices of drm_t3_counters.value. All but LIVE and PEAK only grow. */
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
	T3_DEVICE_WRONG_KEYS,
	T3_DEVICE_COUNTER_COUNT
};

/* ------------------------------------------------------------------ buffers */

/*
 * Allocate zeroed device memory. The size is rounded up to pages.
 * Errors: -EINVAL: size is 0 or above the device's memory. -ENOSPC: no free range is long enough.
 * -EDQUOT: above the limit of the user (t3_device_info()).
 */
T3_API int t3_buffer_create(struct t3_device *dev, uint64_t size, struct t3_buffer **buffer);
/*
 * Allocate host memory, for jobs that copy, fill or run the timed model. It cannot be behind a
 * space.
 * Errors: as above. -EOPNOTSUPP: the device's DMA is not coherent.
 */
T3_API int t3_buffer_create_host(struct t3_device *dev, uint64_t size, struct t3_buffer **buffer);
/*
 * Make a dma-buf descriptor of a buffer, for other processes and devices. Close it after you have
 * passed it on.
 * Errors: -EMFILE.
 */
T3_API int t3_buffer_export(const struct t3_buffer *buffer, int *fd);
/*
 * Make a buffer of a dma-buf. On the device that it came from it is the same buffer. On another
 * device it is an operand of jobs, as a host buffer is. fd stays the caller's. Import a dma-buf
 * once for each device: the first destroy of several imports ends them all.
 * Errors: -EBADF. -EINVAL: not a dma-buf. -EXDEV: device memory of another fabric. -EOPNOTSUPP: its
 * owner does not give it to this device. -ENODEV: its owner was removed.
 */
T3_API int t3_buffer_import(struct t3_device *dev, int fd, struct t3_buffer **buffer);
/* Return the GEM handle, for ioctls. The buffer owns it. Returns 0 for NULL. */
T3_API uint32_t t3_buffer_handle(const struct t3_buffer *buffer);
/* Unmap and free a buffer. First destroy the spaces and stagings that use it. NULL is allowed. */
T3_API void t3_buffer_destroy(struct t3_buffer *buffer);
/*
 * Map a buffer, for fast plain reads and writes that are not tracked. Each call returns the same
 * pointer. It is valid until the buffer is destroyed. One thread at a time.
 * Errors: those of mmap().
 */
T3_API int t3_buffer_map(struct t3_buffer *buffer, void **ptr);
T3_API uint64_t t3_buffer_size(const struct t3_buffer *buffer);

/* ------------------------------------------------------------------- spaces */

/*
 * Create an output address space over a buffer. Byte x of the space is byte x of the buffer.
 * max_tiles is the number of tiles of all its segments together, 1 .. 2^20.
 * Errors: -EBUSY: the buffer is behind another space. -ENOSPC: no space, aperture or device memory
 * is left. -EDQUOT: above the limit of the user. -EOPNOTSUPP: the buffer is not memory of this
 * device. -EIO: the function was reset during the call. Also those of mmap().
 */
T3_API int t3_space_create(struct t3_device *dev, struct t3_buffer *buffer, uint32_t max_tiles,
			   struct t3_space **space);
/*
 * Destroy a space. Spaces that send to it raise a fault. The handle is invalid afterwards, also
 * when the call fails.
 * Errors: -EIO: the device did not come to rest and was reset.
 */
T3_API int t3_space_destroy(struct t3_space *space);
/*
 * Put a space back to IDLE, from any state, also FAULTED. Local segments stay. The reset removes
 * remote and dma segments, imports and grants. The next arm may name any epoch. One thread at a
 * time.
 * Errors: -EIO: the device did not come to rest and was reset.
 */
T3_API int t3_space_reset(struct t3_space *space);

/* Return the tracked aperture, its size, and the event area. They are valid until the destroy. */
T3_API volatile void *t3_space_aperture(const struct t3_space *space);
T3_API uint64_t t3_space_size(const struct t3_space *space);
T3_API const volatile struct drm_t3_event_area *t3_space_events(const struct t3_space *space);

/* ----------------------------------------------------------------- geometry */

/*
 * A segment is a row-major matrix at `offset` of the space. It is cut into tiles that are numbered
 * row-major. offset, row_bytes, pitch and tile_row_bytes are multiples of an element's size. pitch
 * is row_bytes .. 2^24. A tile has at most 1 MiB.
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

/* Where a remote or dma segment sends to. Its byte (0, 0) arrives at (row, col) there. */
struct t3_target {
	uint32_t import;  /* of t3_grant_import() */
	uint32_t op;	  /* enum drm_t3_op at the target */
	uint32_t segment; /* index in the target's space */
	uint32_t row;
	uint32_t col;
	/* The rest is 0 unless the device has DRM_T3_FEATURE_BLOCKS, DRM_T3_FEATURE_MULTI. */
	uint32_t block_tiles;	 /* dma: tiles sent together, 0 .. 256; 0 means 1 */
	uint32_t import_count;	 /* more targets: each store or tile goes to all */
	const uint32_t *imports; /* NULL when import_count is 0 */
};

/*
 * A tile: its first row and first byte of a row in the segment, and its size. Tiles at the right
 * and lower edges may be smaller.
 */
struct t3_tile {
	uint32_t row;
	uint32_t rows;
	uint32_t col;
	uint32_t row_bytes;
	uint64_t offset; /* of its first byte from the segment's first */
	uint64_t bytes;
};

/* Return the size of an element in bytes, or 0 for an unknown type. */
T3_API uint32_t t3_dtype_bytes(uint32_t dtype);
/* Check all of desc that can be checked without a device. Errors: -EINVAL. */
T3_API int t3_desc_check(const struct t3_segment_desc *desc);
/* Return the number of tiles of a checked desc. */
T3_API uint64_t t3_desc_tiles(const struct t3_segment_desc *desc);
/* Describe tile number @index of a checked desc. Errors: -ERANGE: no such tile. */
T3_API int t3_desc_tile(const struct t3_segment_desc *desc, uint64_t index, struct t3_tile *tile);
/* Find the tile that holds a byte of a checked desc. Errors: -ERANGE: outside the segment. */
T3_API int t3_desc_locate(const struct t3_segment_desc *desc, uint32_t row, uint32_t col,
			  uint64_t *index);

/* ------------------------------------------------------------------ mapping */

/*
 * Say what a store to a range of the space means. The space must be IDLE.
 *  - local: the update stays here.
 *  - remote: the update goes to the peer at once, and nothing is kept here.
 *  - dma: the update stays here. Each tile goes to the peer when its count is reached.
 *
 * Errors: -EINVAL: index, geometry, range or enumeration. -EEXIST: the index is in use, or segments
 * overlap. -ENOSPC: more tiles than max_tiles, or the device has no segment left. -EDQUOT: the
 * user has as many segments as he may. -EBUSY: the space is not idle. -ENOENT: no such import.
 * -EACCES: the grant does not allow the target segment or op. -EOWNERDEAD: the grant was revoked,
 * or its space no longer exists. -ERANGE: outside the target segment, or its type differs.
 */
T3_API int t3_local_map(struct t3_space *space, const struct t3_segment_desc *desc);
T3_API int t3_remote_map(struct t3_space *space, const struct t3_segment_desc *desc,
			 const struct t3_target *target);
T3_API int t3_dma_map(struct t3_space *space, const struct t3_segment_desc *desc,
		      const struct t3_target *target);
/* Remove a segment. Errors: -ENOENT: no such segment. -EBUSY: the space is not idle. */
T3_API int t3_unmap(struct t3_space *space, uint32_t segment);

/*
 * Give a segment `slots` (0 .. 4) staging images. Image s is at offset + s * stride of a buffer and
 * has the segment's pitch. offset and stride are multiples of 8. slots 0 with buffer NULL removes
 * the staging.
 * Errors: -ENOENT: no such segment. -EINVAL: range. -EBUSY: the space is not idle. -EOPNOTSUPP: the
 * buffer is not memory of this device.
 */
T3_API int t3_staging_bind(struct t3_space *space, uint32_t segment, struct t3_buffer *buffer,
			   uint64_t offset, uint64_t stride, uint32_t slots);

/*
 * Give a local or dma segment accumulators: its updates are combined in DRM_T3_F32, and each element
 * is rounded to the segment's dtype once, when its tile's count is reached. Accumulators take
 * 2 * ((rows - 1) * pitch + row_bytes) bytes of the buffer, at offset, a multiple of 8, apart from the
 * segment's own. Nothing else may use these bytes while the space is armed. buffer NULL with offset 0 takes them away. The dtype
 * is F16 or BF16, op is ADD or MUL, and a tile has at most DRM_T3_WIDE_ROWS_MAX rows and
 * DRM_T3_WIDE_BYTES_MAX bytes.
 * Errors: -ENOENT: no such segment. -EINVAL: range, or a segment that cannot widen. -EBUSY: the space
 * is not idle. -EOPNOTSUPP: the device lacks DRM_T3_FEATURE_WIDEN, or the buffer is not its memory.
 */
T3_API int t3_widen_bind(struct t3_space *space, uint32_t segment, struct t3_buffer *buffer,
			 uint64_t offset);

/* ------------------------------------------------------------------- grants */

/* The result of t3_grant_import(). Later versions may add fields at the end. */
struct t3_import_info {
	uint64_t segment_mask;
	uint32_t op_mask; /* bit i: enum drm_t3_op i */
	uint32_t rank;	  /* of the target's device */
};

/*
 * Let the holder of *fd send updates to this space: with the ops in op_mask, to the segments in
 * segment_mask. Pass fd to one peer, then close it. *grant is the number to revoke.
 * Errors: -EINVAL: a mask is empty. -EMFILE. -ENOSPC: too many grants.
 */
T3_API int t3_grant_export(struct t3_space *space, uint64_t segment_mask, uint32_t op_mask, int *fd,
			   uint32_t *grant);
/*
 * As t3_grant_export(), for spaces of some ranks alone. Bit r of rank_mask is rank r. 0 means any
 * rank.
 * Errors: as above. -EINVAL: also a rank that the fabric does not have.
 */
T3_API int t3_grant_export_to(struct t3_space *space, uint32_t rank_mask, uint64_t segment_mask,
			      uint32_t op_mask, int *fd, uint32_t *grant);

/*
 * A grant that leaves its machine: bytes to be copied anywhere. Whoever has them may bind the
 * grant, so give them to one peer only, on a way that others cannot read.
 */
struct t3_key {
	unsigned char bytes[56]; /* struct drm_t3_key */
};

/*
 * As t3_grant_export_to(), with a key in place of a descriptor. The grant lasts until it is revoked
 * or the space is reset or destroyed.
 * Errors: as t3_grant_export_to(). -EOPNOTSUPP: the device has no keys. -EPERM: this machine's
 * administrator allows no keys, or none for these ranks.
 */
T3_API int t3_key_export(struct t3_space *space, uint32_t rank_mask, uint64_t segment_mask,
			 uint32_t op_mask, struct t3_key *key, uint32_t *grant);
/*
 * As t3_grant_import(), with a key. info->segment_mask and op_mask are what the key says. The
 * target device judges the key. It tells no more than yes or no. The call may wait for it up to 10
 * s. Errors: -EACCES: the target refused the key: wrong, for another rank, used by another space,
 * revoked, or the space was reset. -EINVAL: not a key. -EXDEV: another fabric. -EHOSTUNREACH: no
 * link to that rank, or no device there. -ETIMEDOUT: the target did not answer. -EDQUOT: this user
 * showed 8 wrong keys; one more is allowed each second. -EOPNOTSUPP, -EPERM: as t3_key_export().
 * -EBUSY, -ENOSPC: as t3_grant_import(). -EEXIST: an import from the same entry is not released
 * yet.
 */
T3_API int t3_key_import(struct t3_space *space, const struct t3_key *key, uint32_t *import,
			 struct t3_import_info *info);
/* Revoke a grant. No update of its importer is applied after the call. Errors: -ENOENT. */
T3_API int t3_grant_revoke(struct t3_space *space, uint32_t grant);
/*
 * Bind a grant to this space, which then may send. info may be NULL. fd stays the caller's.
 * Errors: -EBADF. -EINVAL: not a grant. -EXDEV: another fabric. -EHOSTUNREACH: no link to that
 * rank. -EACCES: the grant is not for this rank. -EBUSY: imported already, or the space is not
 * idle. -ENOSPC: a table is full. -EEXIST: a message of or to the entry's last user is still under
 * way, so try again. -EOWNERDEAD: the grant was revoked, or its space no longer exists.
 */
T3_API int t3_grant_import(struct t3_space *space, int fd, uint32_t *import,
			   struct t3_import_info *info);
/* Give up an import. Errors: -ENOENT. -EBUSY: a segment uses it, or the space is not idle. */
T3_API int t3_grant_release(struct t3_space *space, uint32_t import);

/* ------------------------------------------------- groups of the fabric's switch */

/* A multicast group, for a space that joins it. Bytes to be copied anywhere; no secret. */
struct t3_group_ticket {
	unsigned char bytes[16]; /* struct drm_t3_group_ticket */
};

/* A space that has joined, for the group's source. Bytes to be copied anywhere; no secret. */
struct t3_group_target {
	unsigned char bytes[24]; /* struct drm_t3_group_target */
};

/*
 * Make a group of that many sources (1 .. 32), of which this space is the target. Their updates for
 * the same bytes are combined in the switch, and arrive as one. They may reach the segments in
 * segment_mask, with the ops in op_mask, which has no STORE. Each source imports a key of
 * t3_group_key() by t3_key_import().
 * Errors: -EINVAL: members, or a mask. -EOPNOTSUPP: the fabric has no switch. -EDQUOT: the user has
 * as many groups as he may. -ENOSPC: the device has no group left, or the space no grant. -EEXIST:
 * as t3_grant_import().
 */
T3_API int t3_group_create_reduce(struct t3_space *space, uint32_t members, uint64_t segment_mask,
				  uint32_t op_mask, uint32_t *group);
/*
 * The same, where the switch combines the updates of a place in the order of the sources, whatever
 * the order of their arrival. A place is what one update of a segment covers: at most 1024 bytes of
 * a row of a tile. The group keeps places * members entries of the switch for itself; a source sends
 * to that many places in an epoch at most, once to each.
 * Errors: also -EINVAL: places is 0. -ENOSPC: the port of the device has too few entries.
 */
T3_API int t3_group_create_ordered(struct t3_space *space, uint32_t members, uint32_t places,
				   uint64_t segment_mask, uint32_t op_mask, uint32_t *group);
/*
 * Make a key for source `member` (from 0 on). The first space that imports it is that source. Bit r
 * of rank_mask is rank r; 0: all for which keys are allowed.
 * Errors: -ENOENT: no such group. -EINVAL: no such member or rank. -EEXIST: it has a key. -EBUSY:
 * the group has ended. -EPERM: as t3_key_export().
 */
T3_API int t3_group_key(struct t3_space *space, uint32_t group, uint32_t member, uint32_t rank_mask,
			struct t3_key *key);
/*
 * Make a group of that many targets (1 .. 32), to all of which the switch sends each update of this
 * space. *import is for struct t3_target; the masks limit it. The ticket is for t3_group_join() of
 * each target.
 * Errors: as t3_group_create_reduce(). -ENOSPC: also too many imports. -EBUSY: the space is not
 * idle.
 */
T3_API int t3_group_create_multicast(struct t3_space *space, uint32_t members,
				     uint64_t segment_mask, uint32_t op_mask, uint32_t *group,
				     uint32_t *import, struct t3_group_ticket *ticket);
/*
 * Let a multicast group send to this space, as t3_grant_export() does with a peer. Its source passes
 * *target to t3_group_add(). *grant is the number to revoke, which ends the group.
 * Errors: -EINVAL: a mask is empty, or not a ticket. -EXDEV: another fabric. -EOPNOTSUPP. -ENOSPC:
 * too many grants. -EEXIST: as t3_grant_import().
 */
T3_API int t3_group_join(struct t3_space *space, const struct t3_group_ticket *ticket,
			 uint64_t segment_mask, uint32_t op_mask, struct t3_group_target *target,
			 uint32_t *grant);
/*
 * Make a space that has joined the target `member` of the group.
 * Errors: -ENOENT: no such group. -EINVAL: no such member. -EXDEV: another fabric. -EEXIST: the
 * place is taken, or another target has the same rank. -EBUSY: the group has ended.
 */
T3_API int t3_group_add(struct t3_space *space, uint32_t group, uint32_t member,
			const struct t3_group_target *target);
/* End a group. Members in the middle of an epoch fault. Errors: -ENOENT. */
T3_API int t3_group_drop(struct t3_space *space, uint32_t group);
/*
 * Read the state of a group, at its own space or at a member. `group` is the number of the group, of
 * an import by a key of it, or of a grant of t3_group_join(). Errors: -ENOENT: none of these.
 */
T3_API int t3_group_stats(const struct t3_space *space, uint32_t group,
			  struct drm_t3_group_query *state);

/* ------------------------------------------------------------------- epochs */

enum t3_progress {
	T3_TRACKED = DRM_T3_WAIT_TRACKED,     /* the counts are reached */
	T3_DELIVERED = DRM_T3_WAIT_DELIVERED, /* and all targets have acknowledged */
};

/* Return now + timeout_ns as a deadline, or INT64_MAX when that is too far. */
T3_API int64_t t3_deadline(uint64_t timeout_ns);

/*
 * Start epoch e with one doorbell store and no system call. The space must be IDLE. e is the last
 * epoch + 1, or any epoch after a create or reset. Else the space raises a fault (BAD_ARM).
 * Errors: -EIO: the space is already FAULTED. -ENOENT: it was destroyed by other means than this
 * handle.
 */
T3_API int t3_arm(struct t3_space *space, uint32_t epoch);
/*
 * Tell the device that the results of epoch e have been read. Then peers may send their next
 * updates. The space must be COMPLETE(e), as t3_wait(.., e, 0, T3_DELIVERED, ..) ensures. It takes
 * one store and no system call.
 * Errors: -EIO: the space is already FAULTED.
 */
T3_API int t3_release(struct t3_space *space, uint32_t epoch);

/*
 * Set how long waits poll the event area before they sleep in the kernel. The default is 20 us. 0
 * sleeps at once. UINT64_MAX never sleeps: waits make no system call. With deadline INT64_MAX they
 * do not read the clock either.
 */
T3_API void t3_space_set_spin(struct t3_space *space, uint64_t ns);

/*
 * Wait until the space is armed in an epoch, or until the segments in mask have made the progress
 * `what`. Mask 0 means all segments, and with T3_DELIVERED that the space is COMPLETE. An epoch
 * that was released before counts as reached.
 * Errors: -ETIMEDOUT. -EIO: the space is FAULTED, see t3_space_fault(); also for segments whose
 * progress came before the fault. -ENODEV: also when the event area says DEAD. -ENOENT: the space
 * was destroyed by other means, or during the wait. -EINVAL: also a mask with a segment that is not
 * mapped.
 */
T3_API int t3_wait_armed(struct t3_space *space, uint32_t epoch, int64_t deadline_ns);
T3_API int t3_wait(struct t3_space *space, uint32_t epoch, uint64_t mask, enum t3_progress what,
		   int64_t deadline_ns);

/* Read state and epoch from the event area. Either pointer may be NULL. */
T3_API int t3_poll_state(const struct t3_space *space, enum drm_t3_space_state *state,
			 uint32_t *epoch);
/* Copy the first fault since the last reset. Errors: -ENODATA: there is none. */
T3_API int t3_space_fault(const struct t3_space *space, struct drm_t3_fault *fault);
/*
 * Copy the newest faults, oldest first, at most room of them. The device keeps at least the last
 * 15. Returns the number copied. *total, if not NULL, is the number since the last reset.
 */
T3_API int t3_space_faults(const struct t3_space *space, struct drm_t3_fault *faults, uint32_t room,
			   uint32_t *total);

/*
 * t3_space_eventfd() signals an eventfd when all segments in mask are delivered, in
 * each epoch, and at a fault. fd -1 ends that. t3_space_wait_fd() returns a file that can be polled
 * for the same: POLLIN is delivered, POLLERR faulted, POLLHUP dead.
 * Errors: -EBADF. -EINVAL: not an eventfd, or an empty mask. -EEXIST: the mask has one. -ENOENT:
 * nothing to end. -ENOSPC: more than 64. -EMFILE.
 */
T3_API int t3_space_eventfd(struct t3_space *space, uint64_t mask, int fd);
T3_API int t3_space_wait_fd(struct t3_space *space, uint64_t mask, int *fd);

/*
 * Write a sentence about the state of a space, after a call returned error, or with error 0 at any
 * time. Of an armed space it names the segments that are not delivered. Of each it tells the first
 * tile that is not done and how much that tile lacks. Of a faulted space it tells the first fault.
 * The text is always terminated. Returns the length that the whole text needs, as snprintf() does.
 */
T3_API int t3_space_explain(const struct t3_space *space, int error, char *text, size_t size);

/* Read the counters of a segment since its map or reset. Errors: -ENOENT: no such segment. */
T3_API int t3_segment_stats(const struct t3_space *space, uint32_t segment,
			    struct drm_t3_space_stats *stats);

/*
 * Find the first tile of a segment, from number `from` on, that is not done. stats tells its epoch,
 * its update bytes so far and those it expects. Its flags (DRM_T3_TILE_*) say whether it waits for
 * its link. stats->tile is DRM_T3_TILE_NONE when all tiles are done. What a wait still lacks then
 * is stats->unacknowledged bytes. For the next one call again with from = stats->tile + 1. The call
 * changes no counter and no tracker entry.
 * Errors: -ENOENT: no such segment. -EOPNOTSUPP: no DRM_T3_FEATURE_TILES.
 */
T3_API int t3_tile_stats(const struct t3_space *space, uint32_t segment, uint32_t from,
			 struct drm_t3_space_tile *stats);
/* Read the same of one tile, done or not. Errors: as above. -EINVAL: also no such tile. */
T3_API int t3_tile_look(const struct t3_space *space, uint32_t segment, uint32_t tile,
			struct drm_t3_space_tile *stats);

/* ---------------------------------------------------------------- producers */

/* A segment as memory: its desc and the address of its first byte, in the aperture or elsewhere. */
struct t3_view {
	volatile unsigned char *base;
	struct t3_segment_desc desc;
};

/* Make a view of a segment through the aperture. Errors: -ERANGE: outside the space. */
T3_API int t3_view_aperture(const struct t3_space *space, const struct t3_segment_desc *desc,
			    struct t3_view *view);
/* Make a view of an image of a segment, such as a staging slot. Its first byte is at ptr. */
T3_API int t3_view_memory(void *ptr, const struct t3_segment_desc *desc, struct t3_view *view);

/* Make one tracked store. dst is aligned to the width of the store. */
T3_API void t3_store32(volatile void *dst, uint32_t value);
T3_API void t3_store64(volatile void *dst, uint64_t value);
/*
 * Make tracked stores of bytes that lie in one row of one tile. The stores are aligned 8-byte
 * moves, with 4 and 2 bytes at the ends. Each byte is stored once, in rising order. src needs no
 * alignment.
 * Errors: -EINVAL: dst or bytes is odd. Only segments with elements of 1 byte take odd stores.
 * t3_store_run() and t3_store_tile() know the type and handle them.
 */
T3_API int t3_store(volatile void *dst, const void *src, size_t bytes);
/*
 * Store a run of bytes in one row of a view. The stores are split at tile edges.
 * Errors: -ERANGE: outside the row. -EINVAL: not whole elements.
 */
T3_API int t3_store_run(const struct t3_view *view, uint32_t row, uint32_t col, const void *src,
			uint32_t bytes);
/*
 * Store a whole tile. Row i of it is at src + i * src_pitch.
 * Errors: -ERANGE: no such tile. -EINVAL: src_pitch is below the tile's row.
 */
T3_API int t3_store_tile(const struct t3_view *view, uint64_t tile, const void *src,
			 size_t src_pitch);
/*
 * Fill a tile of a staging image with plain wide copies, which are not tracked. One
 * t3_doorbell_tile() then counts as a store of the whole tile. Errors: as above.
 */
T3_API int t3_stage_tile(const struct t3_view *view, uint64_t tile, const void *src,
			 size_t src_pitch);

/*
 * Apply a staged tile of a slot as one update per element. The device sees all that was written to
 * the staging image before, also through a write-combined mapping.
 * Errors: -EINVAL: segment is 0 .. 63, slot 0 .. 3. A number in this range that the segment does
 * not have makes the space raise a fault (BAD_DOORBELL).
 */
T3_API int t3_doorbell_tile(struct t3_space *space, uint32_t segment, uint32_t slot, uint32_t tile);
/*
 * Return how many doorbells of a slot the device has consumed, modulo 2^32. When that equals the
 * number rung, the slot may be filled again. Returns 0 unless segment is 0 .. 63 and slot 0 .. 3.
 */
T3_API uint32_t t3_slot_consumed(const struct t3_space *space, uint32_t segment, uint32_t slot);

/* ------------------------------------------------------------------- queues */

/*
 * Create a queue for jobs of the device. Its jobs run in order. priority is 0 .. 3, and 3 goes
 * first. After a destroy the jobs in the queue still run to their end, until the device is closed:
 * that ends them; their fences say so (t3_fence_wait()). Destroying NULL is allowed. Errors:
 * -EOPNOTSUPP: the device has no queues. -EACCES: a priority above 0 needs CAP_SYS_NICE. -EDQUOT:
 * the user has as many queues as he may. -ENOSPC: all queues are in use.
 */
T3_API int t3_queue_create(struct t3_device *dev, uint32_t priority, struct t3_queue **queue);
T3_API void t3_queue_destroy(struct t3_queue *queue);

/* A row-major operand. Row i is at offset + i * pitch of a buffer of device memory. */
struct t3_matrix {
	const struct t3_buffer *buffer;
	uint64_t offset;
	uint64_t pitch; /* 0: rows follow each other without gaps */
};

/*
 * C = A * B in I32, F32, F16 or BF16. C has rows x columns, A rows x depth, B depth x
 * columns. With a space, c.buffer is NULL, and c.offset and c.pitch are in the space. Each element
 * of C is then one update of the segment at its place. The fields after dtype give the order in
 * which C is made. They never change its bits. 0 takes the default. See struct drm_t3_gemm.
 */
struct t3_gemm_desc {
	struct t3_matrix a, b, c;
	const struct t3_space *space;
	uint32_t rows, columns, depth;
	uint32_t dtype;
	uint32_t chunk_rows; /* 0: rows */
	uint32_t first_chunk;
	uint32_t chunks_up; /* not 0: upwards; 0: downwards */
	uint32_t raster_rows;
	uint32_t group_rows, group_columns;
	uint32_t tile_rows, tile_columns;
};

/*
 * Submit a product. *fence, if fence is not NULL, is a sync_file that is readable when the job has
 * ended. Close it. The job fails when its space is not ARMED at its start, or raises a fault. The
 * fence does not cover what the space sends on: use t3_wait() for that.
 * Errors: -EINVAL: sizes, an operand outside its buffer, or both or neither of space and c.buffer.
 * -EOPNOTSUPP: the device has no GEMM, or a buffer is not its memory. -EFBIG: rows * columns *
 * depth is above DRM_T3_GEMM_WORK_MAX. -EBUSY: 1024 jobs of the queue have not ended, or the
 * jobs of the user need too much time (t3(4)). -EMFILE: there is no fence, but the job runs.
 */
T3_API int t3_queue_gemm(struct t3_queue *queue, const struct t3_gemm_desc *desc, int *fence);

/*
 * Submit a job of one command of t3_accel.h, such as struct drm_t3_copy. command is its head, and
 * size the size of the whole struct, at most DRM_T3_SUBMIT_STRIDE_MAX. Operands name buffers by
 * t3_buffer_handle(). *fence is as above. Errors: those of the command in t3_accel.h, mostly
 * -EINVAL, -ENOENT and -EOPNOTSUPP. -EINVAL: also size. -E2BIG: the driver does not know all of the
 * struct. -EFBIG: the work is too much for a job. -EBUSY, -EMFILE: as above.
 */
T3_API int t3_queue_job(struct t3_queue *queue, const struct drm_t3_command *command, size_t size,
			int *fence);

/*
 * Timed runs use the hardware's structs, struct t3_timed_args and struct t3_timed_result of
 * t3_hw.h. Programs include that header for them.
 */
struct t3_timed_args;

/*
 * Set args to the machine of T3's paper, with f16 and without a shape. The program then changes
 * what it needs.
 */
T3_API void t3_timed_args_init(struct t3_timed_args *args);

/*
 * Both are buffers of the queue's device, the result's one of host memory. Each struct is at a
 * multiple of 64, and in host memory within one page.
 */
struct t3_timed_desc {
	const struct t3_buffer *args; /* struct t3_timed_args, read when the job runs */
	uint64_t args_offset;
	const struct t3_buffer *result; /* struct t3_timed_result */
	uint64_t result_offset;
};

/*
 * Submit a run of the timed model. *fence is as above. The result is valid when the fence's status
 * is 0. A run that is not MIRRORED is part of a gang. It begins when every rank of the fabric has a
 * run with equal args at the head of a queue. Submit all of them before you wait, each with a
 * result buffer of its own. When one never comes, the others end after the driver's job_timeout_ms.
 * Errors: -EINVAL: a struct is outside its buffer, not aligned or over a page's end, or the two
 * overlap. -EOPNOTSUPP: the fabric was made without timed=on, the result is in device memory, or
 * a buffer is not of this device. -EBUSY, -EMFILE: as above. The job itself ends with, by
 * t3_fence_wait(): -EINVAL: the args. -ENOMEM. -ECANCELED: another rank has left the run. -ETIME
 * ("Timed runs" in t3_accel.h).
 */
T3_API int t3_queue_timed(struct t3_queue *queue, const struct t3_timed_desc *desc, int *fence);

/*
 * The same run of an expert layer: args->experts is not 0, and that many counts of 4 bytes follow
 * for each of args->ranks. They are the rows that the tokens of the rank send to each expert, and
 * args->rows is their sum. counts is their number. With more than fit in the page of the args, the
 * buffer has to be device memory. All ranks of a gang have equal args and equal counts.
 * Errors: as of t3_queue_timed(). -EINVAL: more than DRM_T3_TIMED_COUNTS_MAX counts. -E2BIG: the
 * driver is older than 2.5.
 */
T3_API int t3_queue_timed_experts(struct t3_queue *queue, const struct t3_timed_desc *desc,
				  uint32_t counts, int *fence);

/*
 * Wait for the sync_file of a job.
 * Errors: -ETIMEDOUT. -EBADF. -EINVAL: not a sync_file. Else the job's own error: -EIO, -ETIME,
 * -ENODEV, -ECANCELED (struct drm_t3_queue_submit), or those of t3_queue_timed().
 */
T3_API int t3_fence_wait(int fence, int64_t deadline_ns);

/* -------------------------------------------------------------------- names */

/* Names in lower case. A value outside the enumeration is "unknown". Never NULL. */
T3_API const char *t3_state_name(uint32_t state);
T3_API const char *t3_fault_name(uint32_t kind);
T3_API const char *t3_nak_name(uint32_t nak);
T3_API const char *t3_kind_name(uint32_t kind);
T3_API const char *t3_op_name(uint32_t op);
T3_API const char *t3_dtype_name(uint32_t dtype);
T3_API const char *t3_topology_name(uint32_t topology);
T3_API const char *t3_counter_name(uint32_t counter);
/* Write a fault as a sentence, always terminated. Returns its length, as snprintf() does. */
T3_API int t3_fault_text(const struct drm_t3_fault *fault, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* T3_H */
