/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * T3 accel driver: the ioctl interface of /dev/accel/accelN.
 *
 *   open file
 *    |
 *    +- buffer (GEM handle) ---- mmap: memory of the device, or of the machine
 *    |   `- dma-buf fd --------- other files, devices and drivers
 *    |
 *    +- space over a buffer ---- mmap: aperture (each store is tracked), doorbell page,
 *    |   |                             event area (progress and faults, read only)
 *    |   +- segments ----------- LOCAL; REMOTE: stores to a peer; DMA: tiles to peers
 *    |   |   `- staging slots -- images in a buffer, for tile doorbells
 *    |   +- grant fd ----------> import in a space of another device: it may send here
 *    |   +- group in the switch: several sources of this space, or several targets
 *    |   `- events ------------- the event area, a wait, an eventfd, a pollable wait fd
 *    |
 *    `- queue ------------------ jobs, one after the other
 *        `- job ---------------- commands; points of syncobjs to wait for and to signal
 *
 * The rules that hold for all ioctls follow the list of ioctls.
 *
 * Over 500 lines: user space includes an ABI as one header, and the comments are its manual.
 */
#ifndef T3_ACCEL_H
#define T3_ACCEL_H

#ifdef __KERNEL__
#include <drm/drm.h>
#else
#include <drm.h> /* pkg-config --cflags libdrm */
#endif

#if defined(__cplusplus)
extern "C" {
#endif

/* of DRM_IOCTL_VERSION */
#define T3_DRIVER_NAME	"t3"
#define T3_DRIVER_MAJOR 2
#define T3_DRIVER_MINOR 5

/* Numbers, relative to DRM_COMMAND_BASE. */
#define DRM_T3_QUERY		0x00
#define DRM_T3_BO_CREATE	0x01
#define DRM_T3_BO_MMAP_OFFSET	0x02
#define DRM_T3_SPACE_CREATE	0x03
#define DRM_T3_SPACE_DESTROY	0x04
#define DRM_T3_SPACE_RESET	0x05
#define DRM_T3_SPACE_WAIT	0x06
#define DRM_T3_SPACE_EVENTFD	0x07
#define DRM_T3_SPACE_WAIT_FD	0x08
#define DRM_T3_SPACE_STATS	0x09
#define DRM_T3_SEGMENT_MAP	0x0a
#define DRM_T3_SEGMENT_UNMAP	0x0b
#define DRM_T3_SEGMENT_STAGING	0x0c
#define DRM_T3_GRANT_EXPORT	0x0d
#define DRM_T3_GRANT_REVOKE	0x0e
#define DRM_T3_GRANT_IMPORT	0x0f
#define DRM_T3_GRANT_RELEASE	0x10
#define DRM_T3_QUEUE_CREATE	0x11
#define DRM_T3_QUEUE_DESTROY	0x12
#define DRM_T3_QUEUE_SUBMIT	0x13
#define DRM_T3_SPACE_TILE	0x14
#define DRM_T3_KEY_EXPORT	0x15
#define DRM_T3_KEY_IMPORT	0x16
#define DRM_T3_REFUSAL		0x17
#define DRM_T3_SEGMENT_WIDEN	0x18
#define DRM_T3_GROUP_CREATE	0x19
#define DRM_T3_GROUP_MEMBER	0x1a
#define DRM_T3_GROUP_JOIN	0x1b
#define DRM_T3_GROUP_DESTROY	0x1c
#define DRM_T3_GROUP_QUERY	0x1d
#define DRM_T3_IOCTL_COUNT	0x1e /* how many there are; grows */

/* IOW: nothing is returned in the struct. IOWR: its "out:" fields are. */
#define DRM_T3_IOW(nr, type)  DRM_IOW(DRM_COMMAND_BASE + (nr), struct type)
#define DRM_T3_IOWR(nr, type) DRM_IOWR(DRM_COMMAND_BASE + (nr), struct type)

#define DRM_IOCTL_T3_QUERY		DRM_T3_IOWR(DRM_T3_QUERY, drm_t3_query)
#define DRM_IOCTL_T3_BO_CREATE		DRM_T3_IOWR(DRM_T3_BO_CREATE, drm_t3_bo_create)
#define DRM_IOCTL_T3_BO_MMAP_OFFSET	DRM_T3_IOWR(DRM_T3_BO_MMAP_OFFSET, drm_t3_bo_mmap_offset)
#define DRM_IOCTL_T3_SPACE_CREATE	DRM_T3_IOWR(DRM_T3_SPACE_CREATE, drm_t3_space_create)
#define DRM_IOCTL_T3_SPACE_DESTROY	DRM_T3_IOW(DRM_T3_SPACE_DESTROY, drm_t3_space)
#define DRM_IOCTL_T3_SPACE_RESET	DRM_T3_IOW(DRM_T3_SPACE_RESET, drm_t3_space)
#define DRM_IOCTL_T3_SPACE_WAIT		DRM_T3_IOWR(DRM_T3_SPACE_WAIT, drm_t3_space_wait)
#define DRM_IOCTL_T3_SPACE_EVENTFD	DRM_T3_IOW(DRM_T3_SPACE_EVENTFD, drm_t3_space_eventfd)
#define DRM_IOCTL_T3_SPACE_WAIT_FD	DRM_T3_IOWR(DRM_T3_SPACE_WAIT_FD, drm_t3_space_wait_fd)
#define DRM_IOCTL_T3_SPACE_STATS	DRM_T3_IOWR(DRM_T3_SPACE_STATS, drm_t3_space_stats)
#define DRM_IOCTL_T3_SEGMENT_MAP	DRM_T3_IOW(DRM_T3_SEGMENT_MAP, drm_t3_segment_map)
#define DRM_IOCTL_T3_SEGMENT_UNMAP	DRM_T3_IOW(DRM_T3_SEGMENT_UNMAP, drm_t3_segment_unmap)
#define DRM_IOCTL_T3_SEGMENT_STAGING	DRM_T3_IOW(DRM_T3_SEGMENT_STAGING, drm_t3_segment_staging)
#define DRM_IOCTL_T3_GRANT_EXPORT	DRM_T3_IOWR(DRM_T3_GRANT_EXPORT, drm_t3_grant_export)
#define DRM_IOCTL_T3_GRANT_REVOKE	DRM_T3_IOW(DRM_T3_GRANT_REVOKE, drm_t3_grant_revoke)
#define DRM_IOCTL_T3_GRANT_IMPORT	DRM_T3_IOWR(DRM_T3_GRANT_IMPORT, drm_t3_grant_import)
#define DRM_IOCTL_T3_GRANT_RELEASE	DRM_T3_IOW(DRM_T3_GRANT_RELEASE, drm_t3_grant_release)
#define DRM_IOCTL_T3_QUEUE_CREATE	DRM_T3_IOWR(DRM_T3_QUEUE_CREATE, drm_t3_queue_create)
#define DRM_IOCTL_T3_QUEUE_DESTROY	DRM_T3_IOW(DRM_T3_QUEUE_DESTROY, drm_t3_queue_destroy)
#define DRM_IOCTL_T3_QUEUE_SUBMIT	DRM_T3_IOW(DRM_T3_QUEUE_SUBMIT, drm_t3_queue_submit)
#define DRM_IOCTL_T3_SPACE_TILE		DRM_T3_IOWR(DRM_T3_SPACE_TILE, drm_t3_space_tile)
#define DRM_IOCTL_T3_KEY_EXPORT		DRM_T3_IOWR(DRM_T3_KEY_EXPORT, drm_t3_key_export)
#define DRM_IOCTL_T3_KEY_IMPORT		DRM_T3_IOWR(DRM_T3_KEY_IMPORT, drm_t3_key_import)
#define DRM_IOCTL_T3_REFUSAL		DRM_T3_IOWR(DRM_T3_REFUSAL, drm_t3_refusal)
#define DRM_IOCTL_T3_SEGMENT_WIDEN	DRM_T3_IOW(DRM_T3_SEGMENT_WIDEN, drm_t3_segment_widen)
#define DRM_IOCTL_T3_GROUP_CREATE	DRM_T3_IOWR(DRM_T3_GROUP_CREATE, drm_t3_group_create)
#define DRM_IOCTL_T3_GROUP_MEMBER	DRM_T3_IOWR(DRM_T3_GROUP_MEMBER, drm_t3_group_member)
#define DRM_IOCTL_T3_GROUP_JOIN		DRM_T3_IOWR(DRM_T3_GROUP_JOIN, drm_t3_group_join)
#define DRM_IOCTL_T3_GROUP_DESTROY	DRM_T3_IOW(DRM_T3_GROUP_DESTROY, drm_t3_group_destroy)
#define DRM_IOCTL_T3_GROUP_QUERY	DRM_T3_IOWR(DRM_T3_GROUP_QUERY, drm_t3_group_query)

/*
 * Extension rules
 *  - Structs have multiples of 8 bytes, no implicit holes, no bitfields, and pointers as __u64.
 *    So 32- and 64-bit layouts are the same. Sizes are bytes unless said otherwise.
 *  - A struct grows only at its end, and keeps its number. The size in the request says how
 *    much the caller has. The driver reads missing fields of a shorter struct as zeros and
 *    writes no result there. So zero in a new field means the old behaviour.
 *  - The driver neither reads nor changes the surplus fields of a longer struct: the DRM core
 *    reports no error for it. A newer program looks at the driver's minor version first, which
 *    each addition bumps. Structs in arrays have a stride, and a stricter rule: see &struct
 *    drm_t3_queue_submit.
 *  - A capability of the hardware has a DRM_T3_FEATURE_* bit, too; one of the driver alone has a
 *    bit from 32 on.
 *  - Bits of `flags` without a name (MBZ: all of them), every `pad` and every field marked
 *    "else 0" must be zero: -EINVAL. Unknown values of an enum are -EINVAL.
 *
 * Order of checks: flags, pads and values that need no object, then pointers in the argument,
 * then handles. Unless said otherwise, an ioctl that fails has changed nothing, and its
 * argument neither. There is one exception: the argument of an IOWR that can be read but not
 * written. Then -EFAULT comes after the effect, and the caller gets no results.
 *
 * Every ioctl may return these errors: -ENODEV (the device has gone, its driver has left it, or
 * it does not answer any more), -EINVAL (a flag, pad or value outside its range), -EFAULT (the
 * argument, or a pointer in it), -ENOMEM, -EINTR. An ioctl that configures a space may also
 * return -EIO: a reset of the function has ended the space, and only DESTROY is left. Other
 * errors stand at the ioctl. -ENOENT always means: no such handle in this open file.
 * DRM_IOCTL_T3_REFUSAL tells which field of which struct was refused, and what is allowed there.
 *
 * Handles of spaces, imports and queues belong to one open file. Files share only through file
 * descriptors (DRM_IOCTL_T3_GRANT_EXPORT, DRM_IOCTL_PRIME_HANDLE_TO_FD).
 *
 * A forked child has the file and the mappings of its parent. It may do all that the parent
 * may. An object that either of them destroys is gone for both. All objects end with the last
 * of the two. A program that does not want that closes the file in the child, or uses
 * MADV_DONTFORK.
 *
 * mmap() of the node takes MAP_SHARED only (-EINVAL) and an offset that an ioctl returned. The
 * length is at most the size that belongs to the offset (-EINVAL). The caller is the file that
 * got the offset (-EACCES). Mappings cannot grow (mremap: -EFAULT). They may be cut, moved and
 * protected, and are not in core dumps. Aperture, doorbell page and device memory have no
 * struct page, so they cannot be pinned (-EFAULT). A debugger (ptrace, /proc/PID/mem) may read
 * and write buffers, and device memory as long as the device is there (-EIO). It may read event
 * areas. It cannot access aperture and doorbell page (-EIO), where its stores would count.
 *
 * A 32-bit program: mmap() offsets are above 4 GiB (_FILE_OFFSET_BITS=64), and 8-byte words of
 * doorbell page and event area need one 8-byte access (SSE2's movq).
 *
 * The driver resets the function as its last resort, or for an administrator. The contents of
 * buffers stay. All spaces of the device end: the event area says DEAD, waits return -ENODEV,
 * configuration -EIO. Spaces of peers that they were connected to fault. Queues stay. Their jobs
 * go on, or end if an administrator has asked the driver for it: see &struct drm_t3_queue_submit.
 *
 * When the device has gone, all ioctls return -ENODEV, spaces are DEAD and jobs fail with
 * -ENODEV. A touch of a mapping gives SIGBUS, except for the event area's, which stays
 * readable.
 *
 * Suspend to idle changes nothing. A suspend that would take the device's power fails with
 * -EBUSY as long as any of the device's memory is in use.
 */

/*
 * Limits of this version. A name in parentheses is a field of &struct drm_t3_device_info,
 * where a device may have a lower limit.
 */
#define DRM_T3_PAGE_SIZE		4096		/* of doorbell pages and event areas */
#define DRM_T3_SEGMENTS_MAX		64		/* of a space (space_segments) */
#define DRM_T3_SLOTS_MAX		4		/* of a segment (staging_slots) */
#define DRM_T3_IMPORTS_MAX		32		/* of a space (space_imports) */
#define DRM_T3_GROUPS_MAX		32		/* of a device, in the switch */
#define DRM_T3_GROUP_MEMBERS_MAX	32		/* of a group */
#define DRM_T3_UPDATES_MAX		64		/* per element (max_updates) */
#define DRM_T3_TILES_MAX		1048576		/* of a space */
#define DRM_T3_PITCH_MAX		16777216	/* of a segment */
#define DRM_T3_BLOCK_TILES_MAX		256		/* sent together */
#define DRM_T3_WIDE_BYTES_MAX		32768		/* of a tile with accumulators */
#define DRM_T3_WIDE_ROWS_MAX		128		/* of such a tile */
#define DRM_T3_STAGED_ROWS_MAX		4096		/* of a tile that a doorbell applies here */
#define DRM_T3_EVENTFDS_MAX		64		/* of a space */
#define DRM_T3_QUEUES_MAX		64		/* of a device */
#define DRM_T3_CLIENTS_MAX		256		/* of a device: users with any */
#define DRM_T3_QUEUE_PRIORITY_MAX	3
#define DRM_T3_QUEUE_JOBS_MAX		1024		/* of a queue, not over */
#define DRM_T3_SUBMIT_COMMANDS_MAX	256
#define DRM_T3_SUBMIT_PIECES_MAX	4096		/* of all commands of a job */
#define DRM_T3_SUBMIT_SYNCS_MAX		64		/* in_count, out_count */
#define DRM_T3_SUBMIT_STRIDE_MAX	4096		/* command_stride, sync_stride */
#define DRM_T3_COPY_BYTES_MAX		1073741824	/* rows * row_bytes of a command */
#define DRM_T3_GEMM_DEPTH_MAX		1048576
#define DRM_T3_GEMM_GROUP_MAX		65535		/* group_*, tile_*, raster_rows */
#define DRM_T3_GEMM_WORK_MAX		4294967296	/* rows * columns * depth: some seconds */
#define DRM_T3_SYNCOBJS_MAX		4096		/* in one DRM_IOCTL_SYNCOBJ_* */

/* -------------------------------------------------------------------- query */

/**
 * enum drm_t3_query_type - what to ask for
 * @DRM_T3_QUERY_DEVICE: &struct drm_t3_device_info
 * @DRM_T3_QUERY_COUNTERS: &struct drm_t3_counters
 * @DRM_T3_QUERY_SWITCH: &struct drm_t3_switch_info
 */
enum drm_t3_query_type {
	DRM_T3_QUERY_DEVICE = 0,
	DRM_T3_QUERY_COUNTERS = 1,
	DRM_T3_QUERY_SWITCH = 2,
};

/**
 * struct drm_t3_query - ask for device facts
 *
 * With data = 0, size returns the full size of the answer. Otherwise the driver copies at most
 * size bytes, and size returns how many it copied. It cuts a longer answer of a newer driver. A
 * shorter answer of an older driver ends where size says.
 *
 * Errors: -EINVAL unknown type; -EFAULT size bytes cannot be written at data; -EOPNOTSUPP SWITCH
 * without DRM_T3_FEATURE_GROUPS.
 */
struct drm_t3_query {
	/** @type: enum drm_t3_query_type */
	__u32 type;
	/** @size: in: bytes at data; out: see above */
	__u32 size;
	/** @data: user pointer, or 0 */
	__u64 data;
};

/**
 * enum drm_t3_topology - which ranks of a fabric have a link between them
 * @DRM_T3_TOPOLOGY_NONE: there is no fabric
 * @DRM_T3_TOPOLOGY_RING: each to the next and the one before
 * @DRM_T3_TOPOLOGY_FULL: each to each
 * @DRM_T3_TOPOLOGY_SWITCH: each to each, and to a switch with groups
 */
enum drm_t3_topology {
	DRM_T3_TOPOLOGY_NONE = 0,
	DRM_T3_TOPOLOGY_RING = 1,
	DRM_T3_TOPOLOGY_FULL = 2,
	DRM_T3_TOPOLOGY_SWITCH = 3,
};

/* Capabilities of the hardware: do not use one whose bit is not set. */
#define DRM_T3_FEATURE_STAGING (1ull << 0) /* DRM_IOCTL_T3_SEGMENT_STAGING, tile doorbells */
#define DRM_T3_FEATURE_MINMAX  (1ull << 1) /* DRM_T3_OP_MIN, DRM_T3_OP_MAX */
#define DRM_T3_FEATURE_QUEUES  (1ull << 2) /* queues and jobs */
#define DRM_T3_FEATURE_MULTI   (1ull << 3) /* several imports for a segment */
#define DRM_T3_FEATURE_BLOCKS  (1ull << 4) /* drm_t3_segment_map.block_tiles */
#define DRM_T3_FEATURE_BYTES   (1ull << 5) /* DRM_T3_U8, DRM_T3_I8 */
#define DRM_T3_FEATURE_GEMM    (1ull << 7) /* DRM_T3_COMMAND_GEMM */
#define DRM_T3_FEATURE_TIMED   (1ull << 8) /* DRM_T3_COMMAND_TIMED */
#define DRM_T3_FEATURE_TILES   (1ull << 9) /* DRM_IOCTL_T3_SPACE_TILE */
#define DRM_T3_FEATURE_KEYS    (1ull << 10) /* DRM_IOCTL_T3_KEY_EXPORT, DRM_IOCTL_T3_KEY_IMPORT */
#define DRM_T3_FEATURE_FAR_KEYS (1ull << 11) /* keys also for and from ranks of other nodes */
#define DRM_T3_FEATURE_TYPES   (1ull << 12) /* DRM_T3_U32, I64, U64 and F64; since version 2.3 */
#define DRM_T3_FEATURE_BYTE_OPS (1ull << 13) /* U8, I8 with any op; since version 2.3 */
#define DRM_T3_FEATURE_BITWISE (1ull << 14) /* DRM_T3_OP_AND, OR, XOR; since version 2.3 */
#define DRM_T3_FEATURE_PRODUCT (1ull << 15) /* DRM_T3_OP_MUL; since version 2.3 */
#define DRM_T3_FEATURE_WIDEN   (1ull << 16) /* DRM_IOCTL_T3_SEGMENT_WIDEN; since version 2.4 */
#define DRM_T3_FEATURE_REFUSALS (1ull << 32) /* DRM_IOCTL_T3_REFUSAL; since version 2.1 */
#define DRM_T3_FEATURE_GROUPS  (1ull << 33) /* DRM_IOCTL_T3_GROUP_*; since version 2.5 */

/**
 * struct drm_t3_device_info - answer of DRM_T3_QUERY_DEVICE
 *
 * While the device is bound, only memory_free and file_* change.
 *
 * Limits are the user's, since version 2.2 (before, each open file had its own). A file counts for
 * the user who opened it (his effective uid), whoever uses it later. A user of a user namespace
 * counts for its owner; if root made it, for the user who is its uid 0.
 *
 * Of device memory, aperture, queues, spaces and segments of a device a user may have as much as he
 * leaves free, and of the machine's memory, for host buffers of all devices, as much as he leaves
 * free of half of it. The module parameters user_memory_mb, user_host_mb, user_queues, user_spaces
 * and user_segments set another limit. More is -EDQUOT. A caller with CAP_SYS_RESOURCE may have all
 * that there is (-ENOSPC), but the parameters for memory hold for him, too. The memory that spaces
 * take for their tiles counts as device memory. Host buffers are also charged to the memory cgroup
 * of the caller (-ENOMEM), and not to RLIMIT_MEMLOCK.
 */
struct drm_t3_device_info {
	/** @features: DRM_T3_FEATURE_* */
	__u64 features;
	/** @memory_size: bytes of device memory */
	__u64 memory_size;
	/** @memory_free: bytes not allocated now, by any process */
	__u64 memory_free;
	/** @aperture_size: bytes of output aperture */
	__u64 aperture_size;
	/** @fabric_id: equal on all devices of one fabric, never 0 */
	__u64 fabric_id;
	/** @hw_version: major << 16 | minor */
	__u32 hw_version;
	/** @rank: of this device in its fabric, 0 .. ranks - 1 */
	__u32 rank;
	/** @ranks: of the fabric, 1 without a fabric */
	__u32 ranks;
	/** @topology: enum drm_t3_topology */
	__u32 topology;
	/** @tracker_entries: tiles that the tracker holds at once */
	__u32 tracker_entries;
	/** @tracker_ways: associativity */
	__u32 tracker_ways;
	/** @max_spaces: per device */
	__u32 max_spaces;
	/** @space_segments: per space */
	__u32 space_segments;
	/** @space_imports: grants that one space may import, and that one may hold */
	__u32 space_imports;
	/** @max_updates: per element */
	__u32 max_updates;
	/** @max_tile_bytes: bytes of one tile */
	__u32 max_tile_bytes;
	/** @staging_slots: per segment */
	__u32 staging_slots;
	/**
	 * @file_memory_limit: bytes of device memory that this file may have now: what it has, and
	 * what its user may have beside all that he has
	 */
	__u64 file_memory_limit;
	/** @file_memory_used: bytes of it that this file has */
	__u64 file_memory_used;
	/** @file_host_limit: the same of host buffers */
	__u64 file_host_limit;
	/**
	 * @file_host_used: the same of host buffers. A buffer counts until it is freed. Pages
	 * that something else has pinned (RDMA, O_DIRECT, io_uring) stay allocated after that.
	 * They count no more: the pin's own limit (RLIMIT_MEMLOCK) holds.
	 */
	__u64 file_host_used;
	/** @node_ranks: bit rank: its device is in this machine; the others are on other nodes */
	__u32 node_ranks;
	/** @pad: 0 */
	__u32 pad;
};

/**
 * enum drm_t3_counter_id - indices of drm_t3_counters.value
 * @DRM_T3_COUNTER_TRACKER_HIT: updates that found their entry
 * @DRM_T3_COUNTER_TRACKER_ALLOC: entries allocated
 * @DRM_T3_COUNTER_TRACKER_SPILL: entries written back to make room
 * @DRM_T3_COUNTER_TRACKER_FILL: allocations that read a written-back count
 * @DRM_T3_COUNTER_TRACKER_LIVE: entries in use now
 * @DRM_T3_COUNTER_TRACKER_PEAK: highest DRM_T3_COUNTER_TRACKER_LIVE
 * @DRM_T3_COUNTER_STORES: tracked stores applied or forwarded
 * @DRM_T3_COUNTER_DOORBELLS: tile doorbells accepted
 * @DRM_T3_COUNTER_TRIGGERS: tiles whose count was reached
 * @DRM_T3_COUNTER_DMA_BYTES: bytes sent by triggered DMA
 * @DRM_T3_COUNTER_NMC_ELEMENTS: elements updated with op other than STORE
 * @DRM_T3_COUNTER_LINK_TX_PACKETS: first transmissions
 * @DRM_T3_COUNTER_LINK_TX_BYTES: headers and payloads, first transmissions
 * @DRM_T3_COUNTER_LINK_RX_PACKETS: accepted, duplicates not counted
 * @DRM_T3_COUNTER_LINK_RX_BYTES: headers and payloads, accepted
 * @DRM_T3_COUNTER_LINK_RETRIES: retransmissions
 * @DRM_T3_COUNTER_LINK_DUPLICATES: dropped before the update
 * @DRM_T3_COUNTER_NAKS: packets this device rejected
 * @DRM_T3_COUNTER_FAULTS: space faults recorded
 * @DRM_T3_COUNTER_DROPPED: updates dropped: space faulted or none there
 * @DRM_T3_COUNTER_INTERRUPTS: raised
 * @DRM_T3_COUNTER_LINK_ERRORS: packets that arrived corrupt, dropped
 * @DRM_T3_COUNTER_LINK_DOWNS: times that a link gave up
 * @DRM_T3_COUNTER_HOST_DMA_ERRORS: reads and writes of host memory that failed
 * @DRM_T3_COUNTER_POISON_HITS: uses of poisoned memory that were refused
 * @DRM_T3_COUNTER_QUEUE_DESCRIPTORS: completed, with any status
 * @DRM_T3_COUNTER_QUEUE_ERRORS: completed with an error
 * @DRM_T3_COUNTER_QUEUE_BYTES: moved, filled or updated by queues
 * @DRM_T3_COUNTER_INJECTED: injected faults that took effect at this device
 * @DRM_T3_COUNTER_ENGINE_WORK: units of work that the engine has done, for anybody; a unit is
 *     about 1/16 ns of the host, by a fixed table
 * @DRM_T3_COUNTER_WRONG_KEYS: keys that were shown to this device and refused
 *
 * All count since the device's last reset; TRACKER_LIVE and TRACKER_PEAK may fall.
 */
enum drm_t3_counter_id {
	DRM_T3_COUNTER_TRACKER_HIT = 0,
	DRM_T3_COUNTER_TRACKER_ALLOC = 1,
	DRM_T3_COUNTER_TRACKER_SPILL = 2,
	DRM_T3_COUNTER_TRACKER_FILL = 3,
	DRM_T3_COUNTER_TRACKER_LIVE = 4,
	DRM_T3_COUNTER_TRACKER_PEAK = 5,
	DRM_T3_COUNTER_STORES = 6,
	DRM_T3_COUNTER_DOORBELLS = 7,
	DRM_T3_COUNTER_TRIGGERS = 8,
	DRM_T3_COUNTER_DMA_BYTES = 9,
	DRM_T3_COUNTER_NMC_ELEMENTS = 10,
	DRM_T3_COUNTER_LINK_TX_PACKETS = 11,
	DRM_T3_COUNTER_LINK_TX_BYTES = 12,
	DRM_T3_COUNTER_LINK_RX_PACKETS = 13,
	DRM_T3_COUNTER_LINK_RX_BYTES = 14,
	DRM_T3_COUNTER_LINK_RETRIES = 15,
	DRM_T3_COUNTER_LINK_DUPLICATES = 16,
	DRM_T3_COUNTER_NAKS = 17,
	DRM_T3_COUNTER_FAULTS = 18,
	DRM_T3_COUNTER_DROPPED = 19,
	DRM_T3_COUNTER_INTERRUPTS = 20,
	DRM_T3_COUNTER_LINK_ERRORS = 21,
	DRM_T3_COUNTER_LINK_DOWNS = 22,
	DRM_T3_COUNTER_HOST_DMA_ERRORS = 23,
	DRM_T3_COUNTER_POISON_HITS = 24,
	DRM_T3_COUNTER_QUEUE_DESCRIPTORS = 25,
	DRM_T3_COUNTER_QUEUE_ERRORS = 26,
	DRM_T3_COUNTER_QUEUE_BYTES = 27,
	DRM_T3_COUNTER_INJECTED = 28,
	DRM_T3_COUNTER_ENGINE_WORK = 29,
	DRM_T3_COUNTER_WRONG_KEYS = 30,
};

#define DRM_T3_COUNTERS_MAX 32 /* entries of drm_t3_counters.value */

/**
 * struct drm_t3_counters - answer of DRM_T3_QUERY_COUNTERS: since the device's last reset
 */
struct drm_t3_counters {
	/** @vtime_ns: the fabric's virtual clock */
	__u64 vtime_ns;
	/** @count: valid entries of value */
	__u32 count;
	/** @pad: 0 */
	__u32 pad;
	/** @value: by enum drm_t3_counter_id */
	__u64 value[DRM_T3_COUNTERS_MAX];
};

#define DRM_T3_SWITCH_RANK 32 /* the switch, where a rank is named: of keys, faults, events */

/**
 * struct drm_t3_switch_info - answer of DRM_T3_QUERY_SWITCH: the switch's port of this device
 *
 * All counts are since the last reset of the switch.
 */
struct drm_t3_switch_info {
	/** @entries: of the port, for sums that are not complete */
	__u32 entries;
	/** @entries_used: now */
	__u32 entries_used;
	/** @entries_most: in use at most */
	__u32 entries_most;
	/** @groups: of this device, of any user */
	__u32 groups;
	/** @ready: sums that wait for the link to this device */
	__u32 ready;
	/** @pad: 0 */
	__u32 pad;
	/** @taken: entries that updates of this device have taken */
	__u64 taken;
	/** @merged: updates of this device that were added to an entry */
	__u64 merged;
	/** @alone: updates to REDUCE groups that went on without an entry */
	__u64 alone;
	/** @full: of these, because all entries of the port were in use */
	__u64 full;
	/** @partial: entries of the port that left without some members */
	__u64 partial;
	/** @sums: entries of the port that have left, the partial ones included */
	__u64 sums;
	/** @copies: updates that MULTICAST groups of this device have sent */
	__u64 copies;
	/** @busy: updates that the switch could not take at once */
	__u64 busy;
	/** @refused: packets of this device that the switch refused */
	__u64 refused;
	/** @wrong_keys: keys among them */
	__u64 wrong_keys;
};

/* ----------------------------------------------------------------- refusals */

/* drm_t3_refusal.what */
#define DRM_T3_REFUSAL_VALUE  (1u << 0) /* value is the field's */
#define DRM_T3_REFUSAL_SIGNED (1u << 1) /* value, minimum and maximum are signed */
#define DRM_T3_REFUSAL_RANGE  (1u << 2) /* minimum and maximum are the limits */

#define DRM_T3_REFUSAL_NAME 32	/* bytes of struct_name and field */
#define DRM_T3_REFUSAL_TEXT 128 /* bytes of allowed */

/**
 * struct drm_t3_refusal - why the calling thread's last ioctl on this open file failed
 *
 * The answer describes the last ioctl of this thread that failed, on this open file: of this
 * driver or of the DRM core. Ioctls that succeed do not change it, nor does this ioctl where it
 * returns -ENODATA. Errors with which a wait ends are no refusals: -EINTR, -ETIME, -ETIMEDOUT.
 *
 * A thread never gets another thread's refusal. An open file has those of its last 16 threads.
 * Where more are refused at the same time, the answer of one may have an empty @field.
 *
 * struct_name and field are names of this header or of drm.h. "dst.pitch" is a member of the
 * member dst. In an array, index says which element, and struct_name is the element's struct, if
 * it has one. struct_name "ioctl" means a parameter of ioctl(2): "request" or "argp". An error
 * without a cause in the argument, such as -ENOMEM, has an empty field.
 *
 * Programs decide by error, field and index. The texts of allowed are for people, and change.
 *
 * Errors: -ENODATA no ioctl of this thread has failed, or its record was given to another thread.
 */
struct drm_t3_refusal {
	/** @flags: MBZ */
	__u32 flags;
	/** @request: out: the ioctl, as it was called */
	__u32 request;
	/** @error: out: errno of the ioctl, positive */
	__u32 error;
	/** @index: out: of an array's element, or ~0 */
	__u32 index;
	/** @what: out: DRM_T3_REFUSAL_* */
	__u32 what;
	/** @pad: MBZ */
	__u32 pad;
	/** @serial: out: not 0; another one than that of each other refusal of this open file */
	__u64 serial;
	/** @value: out: of the field, with VALUE */
	__u64 value;
	/** @minimum: out: least value allowed, with RANGE */
	__u64 minimum;
	/** @maximum: out: greatest value allowed, with RANGE */
	__u64 maximum;
	/** @struct_name: out: such as "drm_t3_segment_map" */
	char struct_name[DRM_T3_REFUSAL_NAME];
	/** @field: out: such as "pitch" */
	char field[DRM_T3_REFUSAL_NAME];
	/** @allowed: out: what is allowed in the field, in words */
	char allowed[DRM_T3_REFUSAL_TEXT];
};

/* ------------------------------------------------------------------ buffers */

/* drm_t3_bo_create.flags */
#define DRM_T3_BO_HOST (1u << 0) /* memory of the machine */

/**
 * struct drm_t3_bo_create - allocate zeroed memory
 *
 * By default the memory is contiguous memory of the device, mapped write-combined. It may back
 * a space or a staging buffer, and be an operand of every command of a job; of TIMED, args.
 *
 * With DRM_T3_BO_HOST it is memory of the machine, mapped cached, which the device reaches by
 * DMA. It may be an operand of COPY, FILL and TIMED, and of nothing else.
 *
 * The handle is a GEM handle of this file (close it with DRM_IOCTL_GEM_CLOSE). The buffer ends
 * with its last user: handle, mapping, dma-buf, job, space. Until then it counts toward the
 * limits of the user of the file (see &struct drm_t3_device_info), whoever uses it.
 *
 * Buffers are shared by DRM_IOCTL_PRIME_HANDLE_TO_FD and DRM_IOCTL_PRIME_FD_TO_HANDLE. An
 * import on the same device is the same buffer. An import on another device may be an operand
 * of COPY, FILL and TIMED. That holds for a host buffer and for another driver's buffer in
 * system memory. It also holds for device memory of a T3 of the same fabric (reached over PCIe:
 * nothing is copied). Jobs of all devices that use a buffer respect each other's order. A
 * mapping of an import is the exporter's. The access mode of a dma-buf bounds mmap() of its
 * descriptor alone: a process that may import it may write.
 *
 * Errors of the import: -EXDEV device memory of another fabric; -EOPNOTSUPP the exporter does
 * not give it to this device, or its DMA is not coherent; -ENODEV the exporting device has
 * gone; -EINVAL not a whole number of pages. Another driver imports device memory only by
 * peer-to-peer DMA where the kernel allows it (CONFIG_PCI_P2PDMA), else -EOPNOTSUPP.
 *
 * When the device goes, mappings of its own memory give SIGBUS. Host buffers stay.
 *
 * Errors: -EINVAL size 0 or above the memory there is; -ENOSPC no contiguous room in the
 * device; -EDQUOT above the user's limit; -EOPNOTSUPP HOST, and DMA is not coherent.
 */
struct drm_t3_bo_create {
	/** @size: in: bytes; out: rounded up to pages */
	__u64 size;
	/** @flags: DRM_T3_BO_HOST, or 0 */
	__u32 flags;
	/** @handle: out */
	__u32 handle;
};

/**
 * struct drm_t3_bo_mmap_offset - offset to pass to mmap() of the node
 *
 * Errors: -ENOENT.
 */
struct drm_t3_bo_mmap_offset {
	/** @handle: GEM handle */
	__u32 handle;
	/** @pad: MBZ */
	__u32 pad;
	/** @offset: out */
	__u64 offset;
};

/* ------------------------------------------------------------------- spaces */

/**
 * struct drm_t3_space_create - create an output address space over a buffer
 *
 * Byte x of the space is byte x of the buffer. The space pins the buffer. It has three
 * mappings, through mmap(MAP_SHARED) of the node at the offsets below. No mapping may be longer
 * than its size. The event area can be mapped PROT_READ only.
 *
 * Errors: -ENOENT; -EINVAL max_tiles; -EOPNOTSUPP the buffer is not memory of this
 * device, or DMA is not coherent; -ENOSPC no space id, aperture range or device memory
 * left, or DRM_T3_CLIENTS_MAX users have queues or spaces; -EDQUOT above the user's
 * limit; -EBUSY the buffer is already behind a space; -EIO the function was reset meanwhile:
 * another try may succeed.
 */
struct drm_t3_space_create {
	/** @bo_handle: GEM handle of this file */
	__u32 bo_handle;
	/** @flags: MBZ */
	__u32 flags;
	/** @max_tiles: tiles of all segments together, 1 .. DRM_T3_TILES_MAX */
	__u32 max_tiles;
	/** @space: out: handle, never 0 */
	__u32 space;
	/** @size: out: bytes of the aperture mapping = of the buffer */
	__u64 size;
	/** @aperture_offset: out: for mmap; a store here is a tracked store */
	__u64 aperture_offset;
	/** @doorbell_offset: out: for mmap of DRM_T3_PAGE_SIZE bytes, write only in effect */
	__u64 doorbell_offset;
	/** @event_offset: out: for mmap of DRM_T3_PAGE_SIZE bytes, &struct drm_t3_event_area */
	__u64 event_offset;
};

/**
 * struct drm_t3_space - DESTROY and RESET
 *
 * DESTROY ends the space. It removes the mappings of aperture and doorbell page: a later touch
 * gives SIGBUS. The event area stays readable and says DEAD. DESTROY revokes the space's grants
 * and frees the handle. A wait for the space returns -ENOENT. DESTROY sleeps until nothing of the
 * space is under way. A node that does not answer may keep it for up to 10 s.
 *
 * RESET leaves any state but DISABLED. It drops counts and ready tiles. It cuts imports and
 * routes on both sides: segments that used them are unmapped, and grants stay revoked. Local
 * segments stay mapped, and the generation changes. After RESET the first ARM may name any
 * epoch.
 *
 * Errors: -ENOENT; -EIO of DESTROY: the space is gone, but it did not quiesce, so the driver
 * reset the function. Every other space of the device is DEAD then: waits return -ENODEV,
 * configuration -EIO, and only DESTROY is left.
 */
struct drm_t3_space {
	/** @space: handle */
	__u32 space;
	/** @flags: MBZ */
	__u32 flags;
};

/**
 * enum drm_t3_segment_kind - where updates of a segment go
 * @DRM_T3_SEGMENT_LOCAL: they are applied here
 * @DRM_T3_SEGMENT_REMOTE: each store is sent to the peer, and nothing is kept here
 * @DRM_T3_SEGMENT_DMA: they are applied here, and a tile that is complete is sent to the
 *     peer
 */
enum drm_t3_segment_kind {
	DRM_T3_SEGMENT_LOCAL = 1,
	DRM_T3_SEGMENT_REMOTE = 2,
	DRM_T3_SEGMENT_DMA = 3,
};

/**
 * enum drm_t3_op - how an update changes an element
 * @DRM_T3_OP_STORE: the update replaces the element
 * @DRM_T3_OP_ADD: sum; integers wrap
 * @DRM_T3_OP_MIN: the lesser (DRM_T3_FEATURE_MINMAX)
 * @DRM_T3_OP_MAX: the greater (DRM_T3_FEATURE_MINMAX)
 * @DRM_T3_OP_AND: each bit, of integers only (DRM_T3_FEATURE_BITWISE)
 * @DRM_T3_OP_OR: the same
 * @DRM_T3_OP_XOR: the same
 * @DRM_T3_OP_MUL: product; integers wrap (DRM_T3_FEATURE_PRODUCT)
 */
enum drm_t3_op {
	DRM_T3_OP_STORE = 0,
	DRM_T3_OP_ADD = 1,
	DRM_T3_OP_MIN = 2,
	DRM_T3_OP_MAX = 3,
	DRM_T3_OP_AND = 4,
	DRM_T3_OP_OR = 5,
	DRM_T3_OP_XOR = 6,
	DRM_T3_OP_MUL = 7,
};

/**
 * enum drm_t3_dtype - type of an element, little-endian
 * @DRM_T3_I32: signed, 4 bytes
 * @DRM_T3_F32: IEEE 754 binary32
 * @DRM_T3_F16: IEEE 754 binary16
 * @DRM_T3_BF16: bfloat16
 * @DRM_T3_U8: 1 byte (DRM_T3_FEATURE_BYTES); with another op than STORE, also
 *     DRM_T3_FEATURE_BYTE_OPS
 * @DRM_T3_I8: signed, 1 byte, the same
 * @DRM_T3_U32: 4 bytes (DRM_T3_FEATURE_TYPES)
 * @DRM_T3_I64: signed, 8 bytes (DRM_T3_FEATURE_TYPES)
 * @DRM_T3_U64: 8 bytes (DRM_T3_FEATURE_TYPES)
 * @DRM_T3_F64: IEEE 754 binary64 (DRM_T3_FEATURE_TYPES)
 */
enum drm_t3_dtype {
	DRM_T3_I32 = 0,
	DRM_T3_F32 = 1,
	DRM_T3_F16 = 2,
	DRM_T3_BF16 = 3,
	DRM_T3_U8 = 4,
	DRM_T3_I8 = 5,
	DRM_T3_U32 = 6,
	DRM_T3_I64 = 7,
	DRM_T3_U64 = 8,
	DRM_T3_F64 = 9,
};

/**
 * enum drm_t3_init - contents of a segment before an epoch's first update
 * @DRM_T3_INIT_KEEP: those that the buffer held
 * @DRM_T3_INIT_IDENTITY: the op's identity: 0; the greatest or least value for MIN and MAX;
 *     all bits for AND; 1 for MUL
 */
enum drm_t3_init {
	DRM_T3_INIT_KEEP = 0,
	DRM_T3_INIT_IDENTITY = 1,
};

/**
 * struct drm_t3_segment_map - define the meaning of stores to a range of the space
 *
 * The segment is a row-major matrix: row i starts at byte offset + i * pitch of the space.
 * offset, row_bytes, pitch, tile_row_bytes and target_col are multiples of the element size.
 * Tiles are numbered row-major. Tiles at the edges may be smaller. Segments of a space may not
 * overlap.
 *
 * LOCAL: updates are applied here. REMOTE: each store is sent to the peer, and nothing is kept
 * here. DMA: updates are applied here. A tile is sent to the peer when its count is reached, or
 * block_tiles tiles when the counts of all of them are. With further imports, each store or
 * tile is sent through every one of them.
 *
 * Errors: -ENOENT space or an import; -EINVAL segment index, geometry, range, enum, an op that
 * dtype never has, an import named twice; -EOPNOTSUPP a dtype, op or target_op whose
 * DRM_T3_FEATURE_* this device lacks; -EFAULT imports; -EEXIST index in use, or overlap; -ENOSPC
 * more tiles than max_tiles, or no segment left on the device; -EDQUOT the user has as many
 * segments as he may; -EBUSY the space is armed, complete or faulted; -EACCES the grant behind
 * an import does not allow target_segment or target_op; -EOWNERDEAD the grant was revoked or its
 * owner is gone; -ERANGE the target range is outside the target segment, or its type or op
 * differs. The driver checks that if the target segment is mapped already, else the device does
 * at the first update.
 */
struct drm_t3_segment_map {
	/** @space: handle */
	__u32 space;
	/** @segment: index, 0 .. space_segments - 1 */
	__u32 segment;
	/** @kind: enum drm_t3_segment_kind */
	__u32 kind;
	/** @op: enum drm_t3_op of updates to this segment; 0 for REMOTE */
	__u32 op;
	/** @dtype: enum drm_t3_dtype */
	__u32 dtype;
	/** @init: enum drm_t3_init; 0 for REMOTE */
	__u32 init;
	/** @updates: expected per element, 1 .. max_updates */
	__u32 updates;
	/** @flags: MBZ */
	__u32 flags;
	/** @offset: first byte in the space */
	__u64 offset;
	/** @rows: at least 1 */
	__u32 rows;
	/** @row_bytes: at least one element */
	__u32 row_bytes;
	/** @pitch: bytes from row to row, row_bytes .. DRM_T3_PITCH_MAX */
	__u32 pitch;
	/** @tile_rows: 1 .. rows */
	__u32 tile_rows;
	/** @tile_row_bytes: one element .. row_bytes */
	__u32 tile_row_bytes;
	/** @import: REMOTE, DMA: handle of DRM_IOCTL_T3_GRANT_IMPORT; LOCAL: 0 */
	__u32 import;
	/** @target_op: REMOTE, DMA: enum drm_t3_op at the target; LOCAL: 0 */
	__u32 target_op;
	/** @target_segment: index in the target space; LOCAL: 0, as the next two */
	__u32 target_segment;
	/** @target_row: row of the target segment that row 0 goes to */
	__u32 target_row;
	/** @target_col: byte in the target's row that byte 0 goes to */
	__u32 target_col;
	/** @block_tiles: DMA: tiles sent together, 0 .. DRM_T3_BLOCK_TILES_MAX, 0 is 1; else 0 */
	__u32 block_tiles;
	/** @import_count: further imports, below space_imports; LOCAL: 0 */
	__u32 import_count;
	/** @imports: user pointer to import_count handles (__u32), or 0 */
	__u64 imports;
};

/**
 * struct drm_t3_segment_unmap - remove a segment from its space
 *
 * Errors: -ENOENT space, or nothing is mapped there; -EINVAL segment index; -EBUSY as
 * DRM_IOCTL_T3_SEGMENT_MAP.
 */
struct drm_t3_segment_unmap {
	/** @space: handle */
	__u32 space;
	/** @segment: index */
	__u32 segment;
	/** @flags: MBZ */
	__u32 flags;
	/** @pad: MBZ */
	__u32 pad;
};

/**
 * struct drm_t3_segment_staging - give a segment a staging buffer
 *
 * Slot s holds an image of the segment at offset + s * slot_stride of the
 * buffer, rows at the segment's pitch. slots = 0 removes the buffer. The
 * segment pins the buffer.
 *
 * Errors: -ENOENT space, segment or buffer; -EINVAL segment index, slots, stride or range, or
 * not 0 where slots = 0 needs it; -EINVAL (also) tiles of more than DRM_T3_STAGED_ROWS_MAX rows
 * in a segment that is not REMOTE, as a doorbell applies all of a tile; -EOPNOTSUPP the buffer
 * is not memory of this device; -EBUSY as DRM_IOCTL_T3_SEGMENT_MAP.
 */
struct drm_t3_segment_staging {
	/** @space: handle */
	__u32 space;
	/** @segment: index */
	__u32 segment;
	/** @bo_handle: GEM handle; 0 when slots is 0 */
	__u32 bo_handle;
	/** @slots: 0 .. staging_slots */
	__u32 slots;
	/** @offset: of slot 0 in the buffer, multiple of 8; 0 when slots is 0 */
	__u64 offset;
	/**
	 * @slot_stride: multiple of 8, at least (rows - 1) * pitch + row_bytes; 0 when
	 * slots is 0
	 */
	__u64 slot_stride;
	/** @flags: MBZ */
	__u32 flags;
	/** @pad: MBZ */
	__u32 pad;
};

/**
 * struct drm_t3_segment_widen - give a segment accumulators, or take them away
 *
 * Since version 2.4, with DRM_T3_FEATURE_WIDEN. Updates of the segment are combined in elements of
 * DRM_T3_F32 at offset of the buffer, rows at twice the segment's pitch. A tile is rounded to the
 * segment when its count is reached. So each element is rounded once in an epoch. The segment is
 * LOCAL or DMA, of dtype F16 or BF16 and op ADD or MUL, with tiles of at most DRM_T3_WIDE_ROWS_MAX
 * rows and DRM_T3_WIDE_BYTES_MAX bytes. The accumulators take 2 * ((rows - 1) * pitch + row_bytes)
 * bytes, which are apart from the segment's own. If something else changes these while the space is
 * armed, the sums are wrong. The segment pins the buffer.
 *
 * Errors: -ENOENT space, segment or buffer; -EINVAL segment index, kind, dtype, op, tiles, offset;
 * -EOPNOTSUPP the device lacks the feature, or the buffer is not memory of this device; -EBUSY as
 * DRM_IOCTL_T3_SEGMENT_MAP.
 */
struct drm_t3_segment_widen {
	/** @space: handle */
	__u32 space;
	/** @segment: index */
	__u32 segment;
	/** @bo_handle: GEM handle; 0 takes the accumulators away */
	__u32 bo_handle;
	/** @flags: MBZ */
	__u32 flags;
	/** @offset: of the accumulators in the buffer, multiple of 8; 0 without a buffer */
	__u64 offset;
};

/* ------------------------------------------------------------------- grants */

/**
 * struct drm_t3_grant_export - make a grant: the holder of the fd may send updates
 *
 * The fd is O_CLOEXEC. It may be passed to other processes and be imported once. A close of the
 * fd without an import drops the grant.
 *
 * Errors: -ENOENT; -EINVAL empty mask, an op that does not exist, or a rank that the
 * fabric does not have; -EOPNOTSUPP an op whose DRM_T3_FEATURE_* this device lacks; -EMFILE,
 * -ENFILE no file; -ENOSPC the space has space_imports grants.
 */
struct drm_t3_grant_export {
	/** @space: handle of the space that receives */
	__u32 space;
	/** @op_mask: bit enum drm_t3_op, not 0 */
	__u32 op_mask;
	/** @segment_mask: bit segment index, not 0 */
	__u64 segment_mask;
	/** @flags: MBZ */
	__u32 flags;
	/** @grant: out: handle for DRM_IOCTL_T3_GRANT_REVOKE, never 0 */
	__u32 grant;
	/** @fd: out */
	__s32 fd;
	/** @rank_mask: bit rank: whose spaces may import it; 0: any rank's */
	__u32 rank_mask;
};

/**
 * struct drm_t3_grant_revoke - revoke one grant
 *
 * After the ioctl returns, no update of that importer is applied.
 *
 * Errors: -ENOENT space or grant (also: revoked already, or dropped with its fd).
 */
struct drm_t3_grant_revoke {
	/** @space: handle */
	__u32 space;
	/** @grant: handle of DRM_IOCTL_T3_GRANT_EXPORT */
	__u32 grant;
	/** @flags: MBZ */
	__u32 flags;
	/** @pad: MBZ */
	__u32 pad;
};

/**
 * struct drm_t3_grant_import - bind a grant to a sending space of this file
 *
 * The grant is bound to this device's rank and this space's generation.
 *
 * Errors: -ENOENT space; -EBADF; -EINVAL fd is not a grant; -EXDEV another
 * fabric; -EHOSTUNREACH no link to that rank (or the own device); -EACCES the grant is
 * not for this device's rank; -EBUSY imported already, or the space is armed; -ENOSPC
 * tables full (a revoked import counts until DRM_IOCTL_T3_GRANT_RELEASE); -EEXIST a message of
 * or to the table entry's last user is still under way: try again; -EOWNERDEAD revoked or the
 * owner has gone.
 */
struct drm_t3_grant_import {
	/** @space: handle of the space that sends */
	__u32 space;
	/** @fd: grant */
	__s32 fd;
	/** @flags: MBZ */
	__u32 flags;
	/** @import: out: handle, never 0 */
	__u32 import;
	/** @rank: out: of the device that owns the target space */
	__u32 rank;
	/** @pad: MBZ */
	__u32 pad;
	/** @segment_mask: out: what the grant allows */
	__u64 segment_mask;
	/** @op_mask: out: what the grant allows */
	__u32 op_mask;
	/** @pad2: MBZ */
	__u32 pad2;
};

#define DRM_T3_KEY_SECRET 16 /* bytes */

/**
 * struct drm_t3_key - a grant that can leave its machine
 *
 * It is bytes: whoever has them may import it, on any node of the fabric. The target's device
 * judges the secret. The other fields say where to go and what to expect; a change of them gives
 * no rights.
 */
struct drm_t3_key {
	/** @secret: random */
	__u8 secret[DRM_T3_KEY_SECRET];
	/** @fabric_id: of the target's device */
	__u64 fabric_id;
	/** @segment_mask: what the grant allows */
	__u64 segment_mask;
	/** @op_mask: what the grant allows */
	__u32 op_mask;
	/** @rank: of the target's device */
	__u32 rank;
	/** @space: the target, as its device knows it */
	__u32 space;
	/** @generation: of the target: a reset of it ends the key */
	__u32 generation;
	/** @import: entry in the target's import table */
	__u32 import;
	/** @pad: 0 */
	__u32 pad;
};

/**
 * struct drm_t3_key_export - make a grant: the holder of the key may send updates
 *
 * As DRM_IOCTL_T3_GRANT_EXPORT, but the grant lasts until DRM_IOCTL_T3_GRANT_REVOKE or until the
 * space is reset or destroyed. The first space that imports the key has the grant.
 *
 * Errors: -ENOENT; -EINVAL empty mask, an op that does not exist, or a rank that the fabric does
 * not have; -ENOSPC the space has space_imports grants; -EEXIST a message to the table entry's
 * last user is still under way: try again; -EOPNOTSUPP no DRM_T3_FEATURE_KEYS, or an op whose
 * DRM_T3_FEATURE_* this device lacks; -EPERM the module parameter `keys` allows no keys, or none
 * for these ranks.
 */
struct drm_t3_key_export {
	/** @space: handle of the space that receives */
	__u32 space;
	/** @op_mask: bit enum drm_t3_op, not 0 */
	__u32 op_mask;
	/** @segment_mask: bit segment index, not 0 */
	__u64 segment_mask;
	/** @flags: MBZ */
	__u32 flags;
	/** @rank_mask: bit rank: whose spaces may import it; 0: all for which keys are allowed */
	__u32 rank_mask;
	/** @grant: out: handle for DRM_IOCTL_T3_GRANT_REVOKE, never 0 */
	__u32 grant;
	/** @pad: MBZ */
	__u32 pad;
	/** @key: out */
	struct drm_t3_key key;
};

/**
 * struct drm_t3_key_import - bind a grant to a sending space of this file, by its key
 *
 * As DRM_IOCTL_T3_GRANT_IMPORT. The call asks the target's device, which says no more than yes or
 * no, and waits for its answer for up to 10 s. The same space may import the same key again after
 * DRM_IOCTL_T3_GRANT_RELEASE, other spaces may not. Whether a segment fits the target's is seen
 * when it sends: SEGMENT_MAP gives no -ERANGE for it. A key of a group has the rank
 * DRM_T3_SWITCH_RANK: the switch is asked, and the space becomes that member.
 *
 * A user who showed 8 wrong keys may show one more each second. A key whose answer a signal cut off
 * counts as wrong. Keys that wait for their answer count, too, and the call waits for those. In a
 * user namespace the user is the owner of the outermost one; where root owns that, its own root.
 *
 * Errors: -ENOENT space; -EINVAL the key has a value that no key has; -EOPNOTSUPP no
 * DRM_T3_FEATURE_KEYS; -EPERM the module parameter `keys` allows no keys, or none of that rank;
 * -EXDEV another fabric; -EHOSTUNREACH no link to that rank (or the own device), or no device
 * there; -EACCES the target refuses the key; -EDQUOT this user showed too many wrong keys
 * (CAP_SYS_RESOURCE has no such limit), or too many came from this device's rank; -EBUSY the space
 * is armed;
 * -ENOSPC the space's table is full; -EEXIST an import of the same entry is not released, or a
 * message of the table entry's last user still waits for its link; -ETIMEDOUT no answer; -EINTR.
 */
struct drm_t3_key_import {
	/** @space: handle of the space that sends */
	__u32 space;
	/** @flags: MBZ */
	__u32 flags;
	/** @import: out: handle, never 0 */
	__u32 import;
	/** @pad: MBZ */
	__u32 pad;
	/** @key: of DRM_IOCTL_T3_KEY_EXPORT */
	struct drm_t3_key key;
};

/**
 * struct drm_t3_grant_release - release an import
 *
 * The grant stays used up: it cannot be imported again.
 *
 * Errors: -ENOENT space or import; -EBUSY a segment uses it, or the space is armed.
 */
struct drm_t3_grant_release {
	/** @space: handle */
	__u32 space;
	/** @import: handle of DRM_IOCTL_T3_GRANT_IMPORT */
	__u32 import;
	/** @flags: MBZ */
	__u32 flags;
	/** @pad: MBZ */
	__u32 pad;
};

/* ------------------------------------------------------------------- groups */

/**
 * enum drm_t3_group_kind - what a group of the switch does with an update
 * @DRM_T3_GROUP_REDUCE: the updates of several sources for the same bytes are merged by their op
 *     in the switch, and leave as one for the group's own space, the target
 * @DRM_T3_GROUP_MULTICAST: each update of the group's own space, the source, goes to all targets
 */
enum drm_t3_group_kind {
	DRM_T3_GROUP_REDUCE = 1,
	DRM_T3_GROUP_MULTICAST = 2,
};

/**
 * struct drm_t3_group_ticket - a MULTICAST group, for a space that joins it
 *
 * It gives no right: the source names the targets, and each target says which segments.
 */
struct drm_t3_group_ticket {
	/** @fabric_id: of the group's device */
	__u64 fabric_id;
	/** @number: of the group in the switch */
	__u32 number;
	/** @generation: of the group */
	__u32 generation;
};

/**
 * struct drm_t3_group_target - a space that has joined a MULTICAST group, for the group's owner
 *
 * It gives no right: the switch sends nothing to an entry that does not name the group.
 */
struct drm_t3_group_target {
	/** @fabric_id: of the target's device */
	__u64 fabric_id;
	/** @rank: of the target's device */
	__u32 rank;
	/** @space: the target, as its device knows it */
	__u32 space;
	/** @generation: of the target */
	__u32 generation;
	/** @import: entry in the target's import table */
	__u32 import;
};

#define DRM_T3_GROUP_ORDERED (1u << 0) /* REDUCE: see &struct drm_t3_group_create */

/**
 * struct drm_t3_group_create - make a group in the switch, at the space in which it ends or begins
 *
 * REDUCE: the space is the target. DRM_IOCTL_T3_GROUP_MEMBER makes a key for each source, which
 * imports it by DRM_IOCTL_T3_KEY_IMPORT. Its segments have target_op ADD, or another op but STORE.
 * The group takes one of the grants of the space.
 *
 * MULTICAST: the space is the source. import is for its segments of kind REMOTE and DMA. Each
 * target joins by DRM_IOCTL_T3_GROUP_JOIN, and DRM_IOCTL_T3_GROUP_MEMBER names it to the group.
 *
 * All members must be there before the space and its peers are armed. A tile of a target counts
 * the updates that the sources sent, however many of them the switch has merged. A segment that
 * sends to a group is DELIVERED when the switch has all of it; the target's TRACKED says that it
 * came.
 *
 * The group ends with its space, with DRM_IOCTL_T3_SPACE_RESET of it, and with
 * DRM_IOCTL_T3_GROUP_DESTROY. When a member fails or goes, all others fault: PEER_DEAD or
 * PEER_POISON with src_rank DRM_T3_SWITCH_RANK. DRM_IOCTL_T3_GROUP_QUERY tells who it was.
 *
 * With DRM_T3_GROUP_ORDERED a REDUCE group adds the updates of a place in the order of its members,
 * so that sums of floats have bits that do not depend on the timing. A place is what one update of
 * a segment covers: at most 1024 bytes of a row of a tile. The group keeps places * members entries
 * of the device's port for itself. A source that sends two updates to a place ends the group. So
 * do sources whose segments have other tiles.
 *
 * A device has DRM_T3_GROUPS_MAX groups. Of these a user may have as many as he leaves free, or
 * the module parameter user_groups.
 *
 * Errors: -ENOENT; -EINVAL no such kind, members 0 or above DRM_T3_GROUP_MEMBERS_MAX, an empty
 * mask, an op that does not exist, STORE for REDUCE, ORDERED for MULTICAST, places that are 0 with
 * ORDERED or not 0 without; -EOPNOTSUPP no DRM_T3_FEATURE_GROUPS, or an
 * op whose DRM_T3_FEATURE_* this device lacks; -EDQUOT the user has as many groups as he may;
 * -ENOSPC the device has no group left, its port too few entries for ORDERED, or the space no grant
 * or import; -EBUSY MULTICAST: the
 * space is not IDLE, REDUCE: it is being destroyed; -EEXIST a message of or to the table entry's
 * last user is still under way: try again.
 */
struct drm_t3_group_create {
	/** @space: handle of the target of REDUCE, of the source of MULTICAST */
	__u32 space;
	/** @kind: enum drm_t3_group_kind */
	__u32 kind;
	/** @members: sources of REDUCE, targets of MULTICAST: 1 .. DRM_T3_GROUP_MEMBERS_MAX */
	__u32 members;
	/** @op_mask: bit enum drm_t3_op: with which ops updates may come or go, not 0 */
	__u32 op_mask;
	/** @segment_mask: bit segment index: of which segments of the targets, not 0 */
	__u64 segment_mask;
	/** @flags: DRM_T3_GROUP_ORDERED or 0 */
	__u32 flags;
	/** @group: out: handle, never 0 */
	__u32 group;
	/** @import: out: MULTICAST: handle as of DRM_IOCTL_T3_GRANT_IMPORT; REDUCE: 0 */
	__u32 import;
	/** @places: ORDERED: to how many a source sends in an epoch at most; else 0 */
	__u32 places;
	/** @ticket: out: for DRM_IOCTL_T3_GROUP_JOIN */
	struct drm_t3_group_ticket ticket;
};

/**
 * struct drm_t3_group_member - give a place in a group
 *
 * REDUCE: makes a key for the source with that number. The first space that imports it has the
 * place. MULTICAST: names the target with that number.
 *
 * Errors: -ENOENT space or group; -EINVAL no such member, a rank that the fabric does not have,
 * rank_mask for MULTICAST, target for REDUCE; -EXDEV a target of another fabric; -EEXIST the
 * place is taken, or another target has the same rank; -EBUSY the group has ended; -EPERM REDUCE:
 * the module parameter `keys` allows no keys, or none for these ranks.
 */
struct drm_t3_group_member {
	/** @space: handle of the group's own space */
	__u32 space;
	/** @group: handle of DRM_IOCTL_T3_GROUP_CREATE */
	__u32 group;
	/** @member: 0 .. members - 1 */
	__u32 member;
	/** @rank_mask: REDUCE: bit rank: who may import it; 0: all for which keys are allowed */
	__u32 rank_mask;
	/** @flags: MBZ */
	__u32 flags;
	/** @pad: MBZ */
	__u32 pad;
	/** @target: MULTICAST: of DRM_IOCTL_T3_GROUP_JOIN; else 0 */
	struct drm_t3_group_target target;
	/** @key: out: REDUCE: for DRM_IOCTL_T3_KEY_IMPORT; else 0 */
	struct drm_t3_key key;
};

/**
 * struct drm_t3_group_join - let a MULTICAST group send to a space
 *
 * Makes a grant that the group has. DRM_IOCTL_T3_GRANT_REVOKE ends it, and so the group.
 *
 * Errors: -ENOENT; -EINVAL an empty mask, an op that does not exist, a ticket that no group has;
 * -EXDEV a ticket of another fabric; -EOPNOTSUPP no DRM_T3_FEATURE_GROUPS, or an op whose
 * DRM_T3_FEATURE_* this device lacks; -ENOSPC the space has space_imports grants; -EEXIST a
 * message of or to the table entry's last user is still under way: try again; -EBUSY the space is
 * being destroyed.
 */
struct drm_t3_group_join {
	/** @space: handle of the space that receives */
	__u32 space;
	/** @op_mask: bit enum drm_t3_op, not 0 */
	__u32 op_mask;
	/** @segment_mask: bit segment index, not 0 */
	__u64 segment_mask;
	/** @flags: MBZ */
	__u32 flags;
	/** @grant: out: handle for DRM_IOCTL_T3_GRANT_REVOKE, never 0 */
	__u32 grant;
	/** @ticket: of DRM_IOCTL_T3_GROUP_CREATE */
	struct drm_t3_group_ticket ticket;
	/** @target: out: for DRM_IOCTL_T3_GROUP_MEMBER */
	struct drm_t3_group_target target;
};

/**
 * struct drm_t3_group_destroy - end a group
 *
 * Members that are in the middle of an epoch fault. The import of a MULTICAST group stays until
 * DRM_IOCTL_T3_GRANT_RELEASE.
 *
 * Errors: -ENOENT space or group.
 */
struct drm_t3_group_destroy {
	/** @space: handle of the group's own space */
	__u32 space;
	/** @group: handle of DRM_IOCTL_T3_GROUP_CREATE */
	__u32 group;
	/** @flags: MBZ */
	__u32 flags;
	/** @pad: MBZ */
	__u32 pad;
};

/**
 * enum drm_t3_group_state - state of a group
 * @DRM_T3_GROUP_FREE: the switch has no such group any more
 * @DRM_T3_GROUP_OPEN: takes updates
 * @DRM_T3_GROUP_ENDED: takes none from end_epoch on
 * @DRM_T3_GROUP_CLOSED: destroyed; its members are still to be told
 */
enum drm_t3_group_state {
	DRM_T3_GROUP_FREE = 0,
	DRM_T3_GROUP_OPEN = 1,
	DRM_T3_GROUP_ENDED = 2,
	DRM_T3_GROUP_CLOSED = 3,
};

/**
 * struct drm_t3_group_query - ask for the state of a group, at any of its spaces
 *
 * On a fabric of several nodes only the spaces on the node of the group's own space can ask. To
 * others it is FREE.
 *
 * Errors: -ENOENT space, or no such handle, or it is of no group.
 */
struct drm_t3_group_query {
	/** @space: handle of the group's own space, or of a member */
	__u32 space;
	/**
	 * @group: handle of DRM_IOCTL_T3_GROUP_CREATE; of an import by a key of the group; of a
	 * grant of DRM_IOCTL_T3_GROUP_JOIN
	 */
	__u32 group;
	/** @flags: MBZ */
	__u32 flags;
	/** @state: out: enum drm_t3_group_state; FREE: the other results are 0 */
	__u32 state;
	/** @kind: out: enum drm_t3_group_kind */
	__u32 kind;
	/** @members: out: of DRM_IOCTL_T3_GROUP_CREATE */
	__u32 members;
	/** @bound: out: bit member: it is named, or has imported its key */
	__u32 bound;
	/** @done: out: REDUCE: bit member: it has sent all of epoch */
	__u32 done;
	/** @epoch: out: that the target, or the slowest one, has reported */
	__u32 epoch;
	/** @entries: out: of the switch, that wait for members */
	__u32 entries;
	/** @end_epoch: out: ENDED, CLOSED: the first epoch without it; 0: all */
	__u32 end_epoch;
	/** @cause: out: ENDED, CLOSED: enum drm_t3_fault_kind; NONE: it was destroyed */
	__u32 cause;
	/** @detail: out: cause REJECTED: enum drm_t3_nak */
	__u32 detail;
	/** @cause_rank: out: ENDED, CLOSED: rank that the cause came from */
	__u32 cause_rank;
	/** @number: out: of the group in the switch, as traces and debugfs name it */
	__u32 number;
	/** @generation: out: of the group */
	__u32 generation;
	/** @merged: out: updates that were added to another one in the switch */
	__u64 merged;
	/** @alone: out: updates to REDUCE that went on without an entry */
	__u64 alone;
	/** @copies: out: updates that MULTICAST has sent */
	__u64 copies;
	/** @group_flags: out: of DRM_IOCTL_T3_GROUP_CREATE */
	__u32 group_flags;
	/** @places: out: of DRM_IOCTL_T3_GROUP_CREATE */
	__u32 places;
};

/* -------------------------------------------------------------------- waits */

/* drm_t3_space_wait.what */
#define DRM_T3_WAIT_ARMED     0 /* the space is armed (or past it) in epoch */
#define DRM_T3_WAIT_TRACKED   1 /* counts of all segments in mask are reached */
#define DRM_T3_WAIT_DELIVERED 2 /* and their targets acknowledged */

/**
 * struct drm_t3_fault - one fault of a space
 */
struct drm_t3_fault {
	/** @kind: enum drm_t3_fault_kind */
	__u32 kind;
	/** @detail: REJECTED: enum drm_t3_nak, else 0 */
	__u32 detail;
	/** @segment: index, ~0: none */
	__u32 segment;
	/** @tile: of the segment, ~0: none */
	__u32 tile;
	/** @offset: byte in the space, ~0: none */
	__u64 offset;
	/** @epoch: in which it happened */
	__u32 epoch;
	/** @src_rank: rank it came from or was sent to; own rank: the CPU */
	__u32 src_rank;
	/** @vtime_ns: the fabric's virtual clock */
	__u64 vtime_ns;
};

/**
 * struct drm_t3_space_wait - wait for progress of a space
 *
 * A wait for an epoch that was released already succeeds. The call is restartable: the deadline
 * is absolute, and no input is changed.
 *
 * A fault ends all waits of its epoch, also for segments that had come so far before it. An update
 * that the device refuses after the last one that counted is such a fault. The device handles a
 * store or doorbell before the processor goes on, so a wait reports all those made before it.
 *
 * Errors: -ENOENT (also: destroyed meanwhile); -ETIMEDOUT; -EIO the space is faulted:
 * fault is filled; -ENODEV the space is DEAD; -EINTR a signal whose handler has no
 * SA_RESTART; -EINVAL what, epoch 0, a negative deadline, or the mask names a segment
 * that is not mapped.
 */
struct drm_t3_space_wait {
	/** @space: handle */
	__u32 space;
	/** @what: DRM_T3_WAIT_* */
	__u32 what;
	/** @epoch: the epoch waited for, not 0 */
	__u32 epoch;
	/** @flags: MBZ */
	__u32 flags;
	/** @segment_mask: 0: all that are mapped; not used for ARMED */
	__u64 segment_mask;
	/** @deadline_ns: CLOCK_MONOTONIC, absolute; 0 polls, negative is -EINVAL */
	__s64 deadline_ns;
	/** @fault: out: with -EIO the first since RESET, else zeros */
	struct drm_t3_fault fault;
};

/**
 * struct drm_t3_space_eventfd - signal an eventfd once per epoch
 *
 * The driver signals it when all segments in mask are delivered, and when the space faults or
 * is DEAD. A fault may follow a delivery of the same epoch: a SPACE_WAIT with deadline 0 tells.
 * Each mask has at most one eventfd. fd = -1 removes the eventfd of that mask.
 *
 * Errors: -ENOENT (also: nothing to remove); -EBADF; -EINVAL fd is no eventfd, or the
 * mask is 0; -EEXIST the mask has one; -ENOSPC the space has DRM_T3_EVENTFDS_MAX.
 */
struct drm_t3_space_eventfd {
	/** @space: handle */
	__u32 space;
	/** @fd: an eventfd, or -1 */
	__s32 fd;
	/** @segment_mask: not 0 */
	__u64 segment_mask;
	/** @flags: MBZ */
	__u32 flags;
	/** @pad: MBZ */
	__u32 pad;
};

/**
 * struct drm_t3_space_wait_fd - get a pollable file for a segment mask
 *
 * poll(): POLLIN the mask is delivered in the current epoch, POLLERR faulted (then without POLLIN),
 * POLLHUP the space or device is gone. The fd is O_CLOEXEC.
 *
 * Errors: -ENOENT; -EINVAL mask 0; -EMFILE, -ENFILE no file.
 */
struct drm_t3_space_wait_fd {
	/** @space: handle */
	__u32 space;
	/** @fd: out */
	__s32 fd;
	/** @segment_mask: not 0 */
	__u64 segment_mask;
	/** @flags: MBZ */
	__u32 flags;
	/** @pad: MBZ */
	__u32 pad;
};

/**
 * struct drm_t3_space_stats - counters of one segment, since its map or reset
 *
 * Errors: -ENOENT space, or nothing is mapped there; -EINVAL segment index.
 */
struct drm_t3_space_stats {
	/** @space: handle */
	__u32 space;
	/** @segment: index */
	__u32 segment;
	/** @stores: out: tracked stores by the CPU */
	__u64 stores;
	/** @doorbells: out: staged tiles applied */
	__u64 doorbells;
	/** @local_bytes: out: update bytes by stores and doorbells */
	__u64 local_bytes;
	/** @remote_bytes: out: update bytes that arrived from peers */
	__u64 remote_bytes;
	/** @triggers: out: tiles whose count was reached */
	__u64 triggers;
	/** @dma_bytes: out: payload that triggered DMA sent */
	__u64 dma_bytes;
	/** @link_bytes: out: payload and headers sent for this segment */
	__u64 link_bytes;
	/** @nmc_elements: out: elements reduced here */
	__u64 nmc_elements;
	/** @tiles: out: tiles of the segment */
	__u64 tiles;
	/** @tiles_tracked: out: of the current epoch */
	__u64 tiles_tracked;
	/** @space_state: out: enum drm_t3_space_state */
	__u32 space_state;
	/** @epoch: out */
	__u32 epoch;
	/** @hw_space: out: id in the device, as traces and debugfs name it */
	__u32 hw_space;
	/** @generation: out */
	__u32 generation;
	/** @flags: MBZ */
	__u32 flags;
	/** @pad: MBZ */
	__u32 pad;
};

#define DRM_T3_SPACE_TILE_AT (1u << 0) /* drm_t3_space_tile.flags: this one, open or not */

/* drm_t3_space_tile.tile_flags */
#define DRM_T3_TILE_TRIGGERED (1u << 0) /* the count is reached */
#define DRM_T3_TILE_READY     (1u << 1) /* it, or the dma block that it begins, waits for a link */
#define DRM_T3_TILE_STARTED   (1u << 2) /* has had an update in this epoch */
#define DRM_T3_TILE_SENDING   (1u << 3) /* a link is at it */
#define DRM_T3_TILE_OPEN      (1u << 4) /* the count is not reached, or READY, or SENDING */
#define DRM_T3_TILE_POISONED  (1u << 5) /* its record is poisoned: counted is 0; OPEN */

#define DRM_T3_TILE_NONE 0xffffffffu /* drm_t3_space_tile.tile: none is open */

/**
 * struct drm_t3_space_tile - the first open tile, and what it lacks
 *
 * The answer describes the first tile of a segment from @tile on that is DRM_T3_TILE_OPEN. With
 * DRM_T3_SPACE_TILE_AT it describes the tile @tile, open or not. The tiles of a remote segment
 * count what was stored, whether it has arrived or not. If no tile is open, only
 * acknowledgements are missing: @unacknowledged.
 *
 * The call changes nothing. Its answer about a tile was true at one moment. Tiles before it may
 * have changed meanwhile, and an epoch may have begun. The answer is exact from ARMED on. For a
 * space that is FAULTED, @counted may lack updates from before the fault.
 *
 * Errors: -ENOENT space, or nothing is mapped there; -EINVAL segment index, or with
 * DRM_T3_SPACE_TILE_AT the segment has no such tile; -EOPNOTSUPP no DRM_T3_FEATURE_TILES;
 * -EINTR only to a process that is being killed. Other signals wait until the search is over,
 * which looks at DRM_T3_TILES_MAX tiles at most.
 */
struct drm_t3_space_tile {
	/** @space: handle */
	__u32 space;
	/** @segment: index */
	__u32 segment;
	/** @flags: DRM_T3_SPACE_TILE_AT or 0 */
	__u32 flags;
	/** @tile: in: first to look at, any number; out: the tile found, or DRM_T3_TILE_NONE */
	__u32 tile;
	/** @tile_flags: out: DRM_T3_TILE_*; 0 if there is none */
	__u32 tile_flags;
	/** @space_state: out: enum drm_t3_space_state */
	__u32 space_state;
	/** @epoch: out: of the space; counted is of this epoch */
	__u32 epoch;
	/** @tiles: out: of the segment */
	__u32 tiles;
	/** @counted: out: update bytes counted; 0 if there is no such tile */
	__u64 counted;
	/** @expected: out: update bytes that make it complete; 0 if there is no such tile */
	__u64 expected;
	/**
	 * @unacknowledged: out: remote, dma: bytes of the whole segment that targets have not
	 * applied in this epoch, sent or not; local: 0
	 */
	__u64 unacknowledged;
};

/* ------------------------------------------------------------ queues and jobs */

/**
 * struct drm_t3_queue_create - make a queue that runs jobs in order
 *
 * Queues run beside each other. At every step the device's engine serves a higher priority
 * first. So it overtakes a long job of a lower priority. At equal priority users share the
 * engine's time, then the queues of a user share what he has: many queues or files get no more
 * than one. Of n users that keep the engine busy each gets 1/n of its time, whatever the commands
 * are. The time of a command is that of a fixed table (SPEC.md, section 8.2), not of a clock.
 * Stores to a space wait for no job. A queue that is kept busy starves those of lower priority,
 * and their jobs then fail with -ETIME. So all priorities above 0 are for privileged callers.
 *
 * Errors: -EINVAL priority above DRM_T3_QUEUE_PRIORITY_MAX; -EACCES priority above 0
 * without CAP_SYS_NICE; -EDQUOT the user has as many as he may; -ENOSPC the device has
 * DRM_T3_QUEUES_MAX queues, or DRM_T3_CLIENTS_MAX users have queues or spaces;
 * -EOPNOTSUPP no DRM_T3_FEATURE_QUEUES.
 */
struct drm_t3_queue_create {
	/** @priority: 0 .. DRM_T3_QUEUE_PRIORITY_MAX, 0 is the lowest */
	__u32 priority;
	/** @flags: MBZ */
	__u32 flags;
	/** @queue: out: handle, never 0 */
	__u32 queue;
	/** @pad: MBZ */
	__u32 pad;
};

/**
 * struct drm_t3_queue_destroy - destroy a queue
 *
 * Jobs that were submitted run to their end and signal their fences, as long as the file is open.
 * Its last close (also by the end of the process) ends all its queues and their jobs at once: see
 * &struct drm_t3_queue_submit.
 *
 * Errors: -ENOENT.
 */
struct drm_t3_queue_destroy {
	/** @queue: handle */
	__u32 queue;
	/** @flags: MBZ */
	__u32 flags;
};

/* ----------------------------------------------------------------- commands */

/**
 * enum drm_t3_command_type - what a command does
 * @DRM_T3_COMMAND_COPY: dst = src; &struct drm_t3_copy
 * @DRM_T3_COMMAND_FILL: dst = a pattern; &struct drm_t3_fill
 * @DRM_T3_COMMAND_UPDATE: dst = op(dst, src), element by element; &struct drm_t3_update
 * @DRM_T3_COMMAND_GEMM: dst = a * b, matrices; &struct drm_t3_gemm (DRM_T3_FEATURE_GEMM)
 * @DRM_T3_COMMAND_TIMED: a run of the timed model; &struct drm_t3_timed
 *     (DRM_T3_FEATURE_TIMED)
 */
enum drm_t3_command_type {
	DRM_T3_COMMAND_COPY = 1,
	DRM_T3_COMMAND_FILL = 2,
	DRM_T3_COMMAND_UPDATE = 3,
	DRM_T3_COMMAND_GEMM = 4,
	DRM_T3_COMMAND_TIMED = 5,
};

/**
 * struct drm_t3_command - the head of each command: one step of a job
 *
 * The commands of a job are an array of elements, command_stride bytes apart. Each element is
 * one of the structs below, and its type says which. All of them begin with this head.
 *
 * An element ends with its stride. The driver reads missing fields of its struct as zeros. So
 * an array of COPY alone needs no more than sizeof(struct drm_t3_copy). The bytes after the
 * struct that the driver knows for its type must be zero, up to the stride. See &union
 * drm_t3_any_command for arrays of several types.
 *
 * The driver reads an element once. Then it checks the type, then the tail, then the fields.
 * Last it looks up the objects that the element names.
 *
 * Floats follow the arithmetic of stores to a segment. Two operands in device memory may
 * overlap. Their bytes move in rows and pieces of at most 4096 bytes from the start upwards.
 * Each piece is read whole before it is written. For other operands the order of the bytes is
 * not defined.
 *
 * Errors, of all types: -EINVAL type; -E2BIG bytes beyond the struct are not zero; -ENOENT
 * buffer or space; -EINVAL a field out of range, or an operand outside its buffer.
 */
struct drm_t3_command {
	/** @type: enum drm_t3_command_type */
	__u32 type;
	/** @flags: GEMM: DRM_T3_GEMM_*; else MBZ */
	__u32 flags;
};

/**
 * struct drm_t3_operand - where the rows of an operand lie
 *
 * Row i starts at byte offset + i * pitch of the buffer, and all rows lie inside it. Other
 * fields of the command give the number of rows and their bytes.
 */
struct drm_t3_operand {
	/** @handle: GEM handle of this file */
	__u32 handle;
	/** @pad: MBZ */
	__u32 pad;
	/** @offset: first byte, any alignment */
	__u64 offset;
	/** @pitch: at least a row's bytes where there are several rows, else 0 */
	__u64 pitch;
};

/**
 * struct drm_t3_copy - dst = src
 *
 * Both may be memory of this device, host buffers or imports.
 */
struct drm_t3_copy {
	/** @head: type is DRM_T3_COMMAND_COPY */
	struct drm_t3_command head;
	/** @rows: at least 1; rows * row_bytes is at most DRM_T3_COPY_BYTES_MAX */
	__u32 rows;
	/** @row_bytes: at least 1 */
	__u32 row_bytes;
	/** @dst: what is written */
	struct drm_t3_operand dst;
	/** @src: what is read */
	struct drm_t3_operand src;
};

/**
 * struct drm_t3_fill - byte j of each row of dst = byte j % 8 of pattern
 *
 * dst may be memory of this device, a host buffer or an import.
 */
struct drm_t3_fill {
	/** @head: type is DRM_T3_COMMAND_FILL */
	struct drm_t3_command head;
	/** @rows: as of &struct drm_t3_copy */
	__u32 rows;
	/** @row_bytes: as of &struct drm_t3_copy */
	__u32 row_bytes;
	/** @dst: what is written */
	struct drm_t3_operand dst;
	/** @pattern: 8 bytes, little-endian */
	__u64 pattern;
};

/**
 * struct drm_t3_update - dst = op(dst, src), element by element
 *
 * Errors: -EINVAL (also) an op that dtype never has; -EOPNOTSUPP an operand is not memory of this
 * device, or a dtype or op whose DRM_T3_FEATURE_* the device lacks.
 */
struct drm_t3_update {
	/** @head: type is DRM_T3_COMMAND_UPDATE */
	struct drm_t3_command head;
	/** @rows: as of &struct drm_t3_copy */
	__u32 rows;
	/** @row_bytes: as of &struct drm_t3_copy; whole elements */
	__u32 row_bytes;
	/** @dst: what is updated */
	struct drm_t3_operand dst;
	/** @src: what is read */
	struct drm_t3_operand src;
	/** @op: enum drm_t3_op */
	__u32 op;
	/** @dtype: enum drm_t3_dtype */
	__u32 dtype;
};

/* drm_t3_gemm.head.flags */
#define DRM_T3_GEMM_CHUNKS_UP (1u << 0) /* chunks upwards from first_chunk, else downwards */

/**
 * struct drm_t3_gemm - dst = a * b: rows x columns, rows x depth, depth x columns elements
 *
 * The matrices are row-major and of one dtype. Each sum begins at 0 and takes its products in
 * order. Each product and sum is rounded to f32 (i32: modulo 2^32), and the sum is rounded to
 * dtype once, when it is stored.
 *
 * The fields from chunk_rows on do not change a result. They give the order in which the output
 * is produced. It is cut into chunks of chunk_rows rows, beginning with first_chunk. A chunk
 * has workgroups of group_rows x group_columns, in bands of raster_rows of them, column by
 * column. A workgroup has tiles of tile_rows x tile_columns. See SPEC.md, section 11.7.
 *
 * With space, dst.offset and dst.pitch lead into the space instead of a buffer: the output is
 * made of tracked stores. The job fails (-EIO) if the space is not ARMED when the job begins or
 * does not stay so, or has another dtype there. The job does not wait for either. It is over
 * when all is stored or sent. For delivery, wait for the space.
 *
 * Errors: -EOPNOTSUPP no DRM_T3_FEATURE_GEMM, or an operand is not memory of this device;
 * -EFBIG rows * columns * depth is above DRM_T3_GEMM_WORK_MAX: submit it in parts.
 */
struct drm_t3_gemm {
	/** @head: type is DRM_T3_COMMAND_GEMM */
	struct drm_t3_command head;
	/** @rows: at least 1; rows * columns are at most DRM_T3_COPY_BYTES_MAX bytes */
	__u32 rows;
	/** @columns: at least 1 */
	__u32 columns;
	/** @depth: 1 .. DRM_T3_GEMM_DEPTH_MAX */
	__u32 depth;
	/** @dtype: DRM_T3_I32, F32, F16 or BF16 */
	__u32 dtype;
	/** @a: rows of depth elements */
	struct drm_t3_operand a;
	/** @b: depth rows, of columns elements */
	struct drm_t3_operand b;
	/** @dst: rows of columns elements; with space: handle is 0 */
	struct drm_t3_operand dst;
	/** @space: handle of a space of this file, or 0 */
	__u32 space;
	/** @chunk_rows: 1 .. rows */
	__u32 chunk_rows;
	/** @first_chunk: below the number of chunks */
	__u32 first_chunk;
	/** @raster_rows: 1 .. DRM_T3_GEMM_GROUP_MAX */
	__u32 raster_rows;
	/** @group_rows: 1 .. chunk_rows, at most DRM_T3_GEMM_GROUP_MAX, as the next three */
	__u32 group_rows;
	/** @group_columns: 1 .. columns */
	__u32 group_columns;
	/** @tile_rows: 1 .. group_rows */
	__u32 tile_rows;
	/** @tile_columns: 1 .. group_columns */
	__u32 tile_columns;
};

/**
 * struct drm_t3_timed - a run of the timed model
 *
 * The device reads &struct t3_timed_args at args when the job runs, and the counts after it, and
 * writes &struct t3_timed_result at result. The result is in a host buffer or an import; args may
 * also be memory of this device. Both offsets are multiples of 64. Where they are not memory of
 * this device, neither result nor args with its counts crosses a multiple of 4096. So each is one
 * range of the bus. The two do not overlap. See "Timed runs" below.
 *
 * Errors: -EOPNOTSUPP no DRM_T3_FEATURE_TIMED, or result is memory of this device; -EINVAL
 * (also) too many counts, a place as above, or an import whose page is not whole there; -E2BIG
 * the driver is older than version 2.5, which has counts.
 */
struct drm_t3_timed {
	/** @head: type is DRM_T3_COMMAND_TIMED */
	struct drm_t3_command head;
	/** @args: pitch is 0 */
	struct drm_t3_operand args;
	/** @result: pitch is 0 */
	struct drm_t3_operand result;
	/**
	 * @counts: of 4 bytes each that follow args: ranks times experts, or 0 without experts.
	 * At most DRM_T3_TIMED_COUNTS_MAX
	 */
	__u32 counts;
	/** @pad: MBZ */
	__u32 pad;
};

#define DRM_T3_TIMED_COUNTS_MAX 16384

/**
 * union drm_t3_any_command - an element of an array of several types
 *
 * Zero all of it before its fields are set. An initialiser of one member need not touch the
 * bytes after that member, and they must be zero.
 */
union drm_t3_any_command {
	/** @head: of each */
	struct drm_t3_command head;
	/** @copy: DRM_T3_COMMAND_COPY */
	struct drm_t3_copy copy;
	/** @fill: DRM_T3_COMMAND_FILL */
	struct drm_t3_fill fill;
	/** @update: DRM_T3_COMMAND_UPDATE */
	struct drm_t3_update update;
	/** @gemm: DRM_T3_COMMAND_GEMM */
	struct drm_t3_gemm gemm;
	/** @timed: DRM_T3_COMMAND_TIMED */
	struct drm_t3_timed timed;
};

/*
 * Timed runs, DRM_T3_COMMAND_TIMED: the timed model of a sharded GEMM and its collectives.
 *
 * Arguments and result are in the hardware's format, &struct t3_timed_args and &struct
 * t3_timed_result of t3_hw.h, which is installed beside this header. The driver checks where
 * they lie. The device checks the arguments themselves, when the job runs.
 *
 * With experts the model is that of an expert layer: an all-to-all before or after the GEMMs, of
 * as many rows as the counts say. For each rank, and for each expert of all ranks, there is one:
 * the rows that this rank's tokens send there. drm_t3_timed.counts is their number. It must be
 * what the arguments say. More counts than fit in a page with the arguments need memory of the
 * device.
 *
 * The devices compute no data. They compute when each byte would move, in virtual time
 * (SPEC.md, section 8.1). The counters depend on the arguments alone: not on the machine, its
 * load or other work of the devices. They are those of `t3 sim` to the bit.
 *
 * With T3_TIMED_MIRRORED the device runs alone, as soon as the command is the next in its
 * queue. Without it the run is one of a gang. The gang is complete when on every rank of the
 * fabric a queue has come to a TIMED command with the same arguments and counts, byte by byte.
 * Its run begins on all ranks at one virtual instant. It does not matter which process or
 * queue that is: all have the same result. A rank that waits blocks only its own queue.
 *
 * No other rank of the gang may use a rank's result buffer. Jobs wait for the writer of a
 * buffer that they use, so such a gang would never meet. All ranks may use one buffer of
 * arguments. Two gangs of the same queues need the same order on each rank.
 *
 * A fabric has one run at a time, of all its users. The next run is that of the user (of the
 * first rank) who has had none for longest. Of one user's gangs the one that was complete
 * first is next. The others wait, and their time runs. Every user may run it. A run is bounded,
 * reads and writes no memory but the two structs and the counts, and keeps no engine of a
 * device from other queues. It takes the emulator's time and memory.
 *
 * The result is written when the run has ended, before the job's fence signals. A job that
 * fails may leave the result as it was, or written.
 *
 * The job fails with these errors: -EINVAL an argument is outside its range, or the run as a
 * whole is too large; -ENOMEM the emulator has no memory for it; -ECANCELED another rank left
 * the gang during the run, because its queue or function was reset or it has gone; -ETIME a
 * gang was not complete, or a run did not end, in job_timeout_ms; -EIO a struct could not be
 * read or written.
 *
 * As every job, it holds its fence up for no longer than job_timeout_ms, whatever user space
 * does on other ranks. After -ETIME the rank leaves the gang. A function that is reset begins
 * the command again: it waits for a gang again.
 */

/* --------------------------------------------------------------- submission */

/**
 * struct drm_t3_sync - a syncobj, or a point of a timeline syncobj
 */
struct drm_t3_sync {
	/** @handle: DRM syncobj handle of this file */
	__u32 handle;
	/** @flags: MBZ */
	__u32 flags;
	/** @point: 0: the syncobj is used as a binary one */
	__u64 point;
};

/**
 * struct drm_t3_queue_submit - submit a job: commands that run in order
 *
 * A job begins when the jobs before it in its queue are over and its in points have signalled.
 * It also waits for earlier jobs of any queue that write a buffer that it uses, or read a
 * buffer that it writes. When all its commands are done its out points signal.
 *
 * The out points never wait for a space, a trigger or a peer, with two exceptions. A GEMM that
 * stores to a peer waits for room on the link. The room comes, or the link gives up and the
 * space faults. A TIMED waits for the other ranks of its gang, no longer than job_timeout_ms.
 *
 * A job that fails, fails alone: its fence gets an error (see SYNC_IOC_FILE_INFO of its
 * sync_file). What it moved stays moved, and later jobs run. The errors are: -EIO the device
 * refused a command, or memory failed (poison); -ETIME the job used the engine itself for the
 * module parameter job_timeout_ms, or the queue got no work done for so long (others' work does
 * not count); -ENODEV the device went.
 *
 * With the last close of the file, its jobs end with -ECANCELED: those that wait are not run, and
 * the one that runs ends in the middle. This holds also if others wait for their fences or share
 * their buffers: wait for a job before you leave. A job that waits for others' fences ends after
 * these. All jobs that are not over when an administrator asks the driver for a reset (debugfs,
 * `t3 reset`) end in the same way.
 *
 * The driver may reset the function because of another job, or restart the queue because of a
 * late job. Then a job goes on where it was. There is one exception: a job in the middle of a
 * command that must not be done twice fails with -ECANCELED. Such commands are UPDATE with op
 * ADD, a command with src and dst in one buffer (except TIMED), and a GEMM into a space. "Timed
 * runs" above has the other errors of a TIMED.
 *
 * A command on device memory is one piece. On a host buffer or an import it has one piece for
 * each part that is a range of its own on the bus. With an IOMMU that is in general one for
 * all,
 * else down to one for each page.
 *
 * The job holds its buffers and its queue: handles may be closed at once. The driver looks up
 * the queue first. Then it reads each array, with the objects that it names: commands, in
 * points, out points.
 *
 * Errors: those of the commands; -ENOENT queue or syncobj; -EINVAL a count or stride out of
 * range, an in point without a fence; -EFBIG above DRM_T3_SUBMIT_PIECES_MAX: submit it in
 * parts; -ENODEV (also) the exporter of a buffer has gone; -E2BIG (also) bytes of a sync
 * beyond the struct that the driver knows are not zero; -EBUSY DRM_T3_QUEUE_JOBS_MAX jobs
 * of the queue are not over, or those of the user on this device need, by the driver's estimate,
 * more time of the engine than the module parameter user_queued_ms (with CAP_SYS_RESOURCE there is
 * no such limit; one job alone may always need more); -EIO a reset has ended the queue, destroy
 * it. A failed call has changed nothing.
 */
struct drm_t3_queue_submit {
	/** @queue: handle */
	__u32 queue;
	/** @flags: MBZ */
	__u32 flags;
	/** @command_count: 1 .. DRM_T3_SUBMIT_COMMANDS_MAX */
	__u32 command_count;
	/**
	 * @command_stride: bytes from command to command, sizeof(struct drm_t3_command) ..
	 * DRM_T3_SUBMIT_STRIDE_MAX
	 */
	__u32 command_stride;
	/** @commands: user pointer to the first: see &struct drm_t3_command */
	__u64 commands;
	/** @in_count: points to wait for, 0 .. DRM_T3_SUBMIT_SYNCS_MAX */
	__u32 in_count;
	/** @out_count: points to signal, 0 .. DRM_T3_SUBMIT_SYNCS_MAX */
	__u32 out_count;
	/** @in_syncs: user pointer to struct drm_t3_sync; 0 when in_count is 0 */
	__u64 in_syncs;
	/** @out_syncs: the same for out_count */
	__u64 out_syncs;
	/** @sync_stride: of both arrays, at most DRM_T3_SUBMIT_STRIDE_MAX; 0 without syncs */
	__u32 sync_stride;
	/** @pad: MBZ */
	__u32 pad;
};

/* ------------------------------------------------- doorbell page, event area */

/*
 * Doorbell page: naturally aligned stores of the given width. Any other access is a fault of
 * the space (BAD_DOORBELL).
 */
#define DRM_T3_DOORBELL_ARM	0x00 /* __u32 epoch: last one + 1, or any after RESET */
#define DRM_T3_DOORBELL_RELEASE 0x08 /* __u32 epoch: its results have been read */
#define DRM_T3_DOORBELL_TILE	0x10 /* __u64 DRM_T3_TILE_DOORBELL() */

#define DRM_T3_TILE_DOORBELL(segment, slot, tile) \
	((__u64)(tile) | (__u64)(segment) << 32 | (__u64)(slot) << 40)

/**
 * enum drm_t3_space_state - state of a space, as SPEC.md describes them
 * @DRM_T3_SPACE_IDLE: configured; epoch is the last one released, or 0
 * @DRM_T3_SPACE_ARMING: waits until all targets report the epoch
 * @DRM_T3_SPACE_ARMED: takes updates
 * @DRM_T3_SPACE_COMPLETE: all segments are tracked and delivered; until RELEASE
 * @DRM_T3_SPACE_FAULTED: left by RESET or DESTROY only
 * @DRM_T3_SPACE_DISABLED: being destroyed, packets are in flight
 * @DRM_T3_SPACE_QUIESCED: being destroyed, nothing is in flight
 * @DRM_T3_SPACE_DEAD: the device or the space is gone
 */
enum drm_t3_space_state {
	DRM_T3_SPACE_IDLE = 1,
	DRM_T3_SPACE_ARMING = 2,
	DRM_T3_SPACE_ARMED = 3,
	DRM_T3_SPACE_COMPLETE = 4,
	DRM_T3_SPACE_FAULTED = 5,
	DRM_T3_SPACE_DISABLED = 6,
	DRM_T3_SPACE_QUIESCED = 7,
	DRM_T3_SPACE_DEAD = 8,
};

/**
 * enum drm_t3_fault_kind - what went wrong
 * @DRM_T3_FAULT_NONE: nothing
 * @DRM_T3_FAULT_UNMAPPED: access outside every segment, or in padding
 * @DRM_T3_FAULT_WIDTH: below element size, above 8, or misaligned
 * @DRM_T3_FAULT_TILE_CROSS: one store over a tile's edge
 * @DRM_T3_FAULT_READ_REMOTE: read of a remote segment
 * @DRM_T3_FAULT_NOT_ARMED: update outside ARMED
 * @DRM_T3_FAULT_OVERSHOOT: more updates than the tile expects
 * @DRM_T3_FAULT_BAD_DOORBELL: unknown offset or width, bad segment, slot or tile
 * @DRM_T3_FAULT_BAD_ARM: ARM or RELEASE in the wrong state or order
 * @DRM_T3_FAULT_LINK: replay buffer full or retries exhausted
 * @DRM_T3_FAULT_REJECTED: by the target: detail is &enum drm_t3_nak
 * @DRM_T3_FAULT_PEER_POISON: a source of this space has faulted or gone
 * @DRM_T3_FAULT_PEER_DEAD: a target of this space has faulted or gone
 * @DRM_T3_FAULT_HOST_DMA: the event area could not be written
 * @DRM_T3_FAULT_COUNTER: counter table or tile list found corrupt
 * @DRM_T3_FAULT_POISON: poisoned memory under an update, a read or a DMA
 */
enum drm_t3_fault_kind {
	DRM_T3_FAULT_NONE = 0,
	DRM_T3_FAULT_UNMAPPED = 1,
	DRM_T3_FAULT_WIDTH = 2,
	DRM_T3_FAULT_TILE_CROSS = 3,
	DRM_T3_FAULT_READ_REMOTE = 4,
	DRM_T3_FAULT_NOT_ARMED = 5,
	DRM_T3_FAULT_OVERSHOOT = 6,
	DRM_T3_FAULT_BAD_DOORBELL = 7,
	DRM_T3_FAULT_BAD_ARM = 8,
	DRM_T3_FAULT_LINK = 9,
	DRM_T3_FAULT_REJECTED = 10,
	DRM_T3_FAULT_PEER_POISON = 11,
	DRM_T3_FAULT_PEER_DEAD = 12,
	DRM_T3_FAULT_HOST_DMA = 13,
	DRM_T3_FAULT_COUNTER = 14,
	DRM_T3_FAULT_POISON = 15,
};

/**
 * enum drm_t3_nak - why a target rejected an update
 * @DRM_T3_NAK_NONE: no rejection
 * @DRM_T3_NAK_NO_DEVICE: no device of that rank answers
 * @DRM_T3_NAK_NO_SPACE: the space is destroyed, or is being destroyed
 * @DRM_T3_NAK_GENERATION: the space was reset
 * @DRM_T3_NAK_NO_GRANT: revoked, or segment or op not granted
 * @DRM_T3_NAK_SEGMENT: not mapped, of another type, or remote
 * @DRM_T3_NAK_BOUNDS: outside the segment
 * @DRM_T3_NAK_EPOCH: the target is in another epoch
 * @DRM_T3_NAK_NOT_ARMED: the target is not ARMED
 * @DRM_T3_NAK_FAULTED: the target is FAULTED
 * @DRM_T3_NAK_OVERSHOOT: more updates than the tile expects
 * @DRM_T3_NAK_MALFORMED: a field of the packet is not legal
 * @DRM_T3_NAK_POISON: the target's memory is poisoned
 * @DRM_T3_NAK_KEY_LIMIT: too many wrong keys came from that rank
 */
enum drm_t3_nak {
	DRM_T3_NAK_NONE = 0,
	DRM_T3_NAK_NO_DEVICE = 1,
	DRM_T3_NAK_NO_SPACE = 2,
	DRM_T3_NAK_GENERATION = 3,
	DRM_T3_NAK_NO_GRANT = 4,
	DRM_T3_NAK_SEGMENT = 5,
	DRM_T3_NAK_BOUNDS = 6,
	DRM_T3_NAK_EPOCH = 7,
	DRM_T3_NAK_NOT_ARMED = 8,
	DRM_T3_NAK_FAULTED = 9,
	DRM_T3_NAK_OVERSHOOT = 10,
	DRM_T3_NAK_MALFORMED = 11,
	DRM_T3_NAK_POISON = 12,
	DRM_T3_NAK_KEY_LIMIT = 13,
};

#define DRM_T3_FAULT_RING     16 /* entries of drm_t3_event_area.ring */
#define DRM_T3_EVENT_RESERVED 1856 /* bytes at the end of struct drm_t3_event_area */

/* drm_t3_event_area.segment */
#define DRM_T3_WORD_EPOCH     0x00000000ffffffffull
#define DRM_T3_WORD_TRACKED   (1ull << 32) /* every tile's count is reached */
#define DRM_T3_WORD_DELIVERED (1ull << 33) /* and the peers acknowledged all of it */

/**
 * struct drm_t3_event_area - progress, written by the device
 *
 * Read each word with one aligned load (acquire). Tile data is visible before the segment's
 * word, and the word before the interrupt.
 */
struct drm_t3_event_area {
	/** @state: enum drm_t3_space_state << 32 | epoch */
	__u64 state;
	/** @generation: changes with RESET */
	__u32 generation;
	/** @faults: recorded since RESET; fault is the first */
	__u32 faults;
	/** @dropped: updates dropped since RESET */
	__u64 dropped;
	/** @fault: valid when faults is not 0 */
	struct drm_t3_fault fault;
	/** @segment: epoch | DRM_T3_WORD_*, of the last epoch with progress */
	__u64 segment[DRM_T3_SEGMENTS_MAX];
	/** @consumed: doorbells whose slot is free again, modulo 2^32 */
	__u32 consumed[DRM_T3_SEGMENTS_MAX][DRM_T3_SLOTS_MAX];
	/** @ring: fault k (of 1 .. faults) at (k - 1) % DRM_T3_FAULT_RING */
	struct drm_t3_fault ring[DRM_T3_FAULT_RING];
	/** @reserved: zeros */
	__u8 reserved[DRM_T3_EVENT_RESERVED];
};

#if defined(__cplusplus)
}
#endif

#endif /* T3_ACCEL_H */
