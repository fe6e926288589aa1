/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * T3 hardware interface: registers, admin commands, doorbells, event area and
 * fabric packets. qemu-device/SPEC.md is the manual; this file is its tables in C.
 *
 * All multi-byte fields are little-endian. Structures have no implicit padding
 * and their layout is asserted at the end of the file. "MBZ" = must be zero.
 * Sizes and offsets are bytes unless a comment says otherwise.
 *
 * Over 500 lines: it goes to other hosts, models and tests as one file.
 */
#ifndef T3_HW_H
#define T3_HW_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/types.h>
#else
#include <stddef.h>
#include <stdint.h>
#endif

/* ------------------------------------------------------------------- lists */

/*
 * T3_*_LIST(X, p) calls X(p, NAME, value) or X(p, NAME, value, "text") for each of an
 * enumeration, so that names are made from one list wherever they are wanted. p is the prefix
 * of the names that X makes, T3_ENUMERATOR's for one. A bit mask's value is the bit's number.
 * What an entry means stands behind it, or above it where there is no room.
 */
#define T3_FIRST(first, ...)	    first
#define T3_ENUMERATOR(p, name, ...) p##name = T3_FIRST(__VA_ARGS__, 0),
#define T3_MASK(p, name, ...)	    p##name = 1u << T3_FIRST(__VA_ARGS__, 0),
/* In an expression behind 0: all masks; is a name of another header another number? */
#define T3_OR(p, name, ...)	    | p##name
#define T3_DIFFERS(p, name, ...)    | ((int)p##name != (int)T3_FIRST(__VA_ARGS__, 0))

/* Entries of an array of strings: by value, by number of the bit, the text instead. */
#define T3_NAME(p, name, ...)	    [p##name] = #name,
#define T3_BIT_NAME(p, name, bit)   [bit] = #name,
#define T3_TEXT(p, name, value, text) [p##name] = text,

/* ------------------------------------------------------------ PCI identity */

#define T3_PCI_VENDOR_ID 0x1234 /* QEMU's experimental vendor */
#define T3_PCI_DEVICE_ID 0x7433 /* "t3" */
#define T3_PCI_CLASS	 0x1200 /* processing accelerator */
#define T3_PCI_REVISION	 0x01

#define T3_BAR_REGS	0 /* registers, MSI-X, doorbell pages */
#define T3_BAR_MEMORY	2 /* device memory, RAM */
#define T3_BAR_APERTURE 4 /* output aperture: tracked stores */

#define T3_PAGE_SIZE 4096u /* granule of aperture ranges, doorbells, event areas */

/* ------------------------------------------------------------------ limits */

#define T3_MAX_RANKS	  32u /* of a fabric */
#define T3_MAX_SPACES	  1024u /* per device */
#define T3_MAX_SEGMENTS	  4096u /* per device */
#define T3_SPACE_SEGMENTS 64u	/* per space: a segment mask is 64 bits */
#define T3_SPACE_ROUTES	  32u	/* per space: outgoing targets */
#define T3_SPACE_IMPORTS  32u	/* per space: incoming grants */
#define T3_SEG_SLOTS	  4u	/* staging slots per segment */
#define T3_MAX_UPDATES	  64u	/* updates per element */
#define T3_MAX_BLOCK_TILES 256u /* tiles of one DMA block */
#define T3_FAULT_RING	  16u	/* fault records kept in an event area */
#define T3_MAX_QUEUES	  64u	/* per device */
#define T3_MAX_FENCES	  256u	/* per device */
#define T3_MAX_CLIENTS	  256u	/* per device: who has spaces and queues */
#define T3_QUEUE_ENTRIES_MIN 16u /* of a ring */
#define T3_QUEUE_ENTRIES_MAX 4096u /* of a ring */
#define T3_MAX_PRIORITY	  3u /* of a queue; lowest 0 */
#define T3_MAX_COPY_BYTES (1u << 30) /* rows * row_bytes of one descriptor */
#define T3_MAX_DEPTH	  (1u << 20) /* K of a GEMM */
#define T3_TIMED_PARAMS	  45u	     /* of the timed model */
#define T3_TIMED_MAX_EXPERTS 512u /* of all ranks of a timed run */
#define T3_MAX_TILE_BYTES (1u << 20)
#define T3_MAX_STAGED_ROWS 4096u /* of a tile with staging, not REMOTE: a doorbell does all of it */
#define T3_MAX_WIDE_BYTES 32768u /* of a tile with accumulators: it is rounded at once */
#define T3_MAX_WIDE_ROWS  128u   /* of such a tile */
#define T3_TILE_QUERY_MAX 1024u /* tiles that one TILE_QUERY looks at */
#define T3_MAX_PITCH	  (1u << 24) /* bytes */
#define T3_MAX_VECTORS	  4u /* MSI-X */
#define T3_PACKET_PAYLOAD 1024u /* bytes of an UPDATE at most */
#define T3_INJECT_TEXT	  248u /* bytes of an INJECT_TEXT, the zero at its end included */
#define T3_SWITCH_RANK	  32u /* the switch in packets, routes and imports; no bit of a rank mask */
#define T3_SWITCH_PART	  33u /* plus a node's number: its part, in LINK_QUERY and injections */
#define T3_GROUP_MEMBERS  32u /* of a group */
#define T3_PORT_GROUPS	  32u /* that a device may have at a time */
#define T3_PORT_ENTRIES	  16384u /* reduction entries of a port at most; property switch-entries */

/* --------------------------------------------------- BAR0: register offsets */

#define T3_BAR_REGS_SIZE 0x800000u
#define T3_MSIX_TABLE	 0x10000u /* in BAR0 */
#define T3_MSIX_PBA	 0x10800u /* in BAR0 */
#define T3_DOORBELL_BASE 0x400000u /* page of space s: base + s * T3_PAGE_SIZE */

#define T3_REG_ID	     0x000u /* RO  T3_ID_VALUE */
#define T3_REG_VERSION	     0x004u /* RO  major << 16 | minor */
#define T3_REG_CAPS	     0x008u /* RO  T3_CAP_* */
#define T3_REG_CONTROL	     0x00cu /* RW  T3_CONTROL_* */
#define T3_REG_MEMORY_SIZE   0x010u /* RO64 bytes behind BAR2 */
#define T3_REG_APERTURE_SIZE 0x018u /* RO64 bytes of BAR4 */
#define T3_REG_MAX_SPACES    0x020u /* RO */
#define T3_REG_MAX_SEGMENTS  0x024u /* RO */
#define T3_REG_FABRIC_ID     0x028u /* RO64 equal on all devices of one fabric, never 0 */
#define T3_REG_RANK	     0x030u /* RO */
#define T3_REG_RANKS	     0x034u /* RO */
#define T3_REG_TOPOLOGY	     0x038u /* RO  T3_TOPOLOGY_* */
#define T3_REG_TRACKER	     0x03cu /* RO  entries << 8 | ways; entries up to 65536 */
#define T3_REG_VCLOCK	     0x040u /* RO64 the fabric's virtual clock, ns */
#define T3_REG_INCARNATION   0x048u /* RO  +1 for each reset of the function */
#define T3_REG_NODE_RANKS    0x04cu /* RO  bit rank: on this node, the own one included */
#define T3_REG_ERROR_STATUS  0x080u /* RW1C T3_ERROR_* */
#define T3_REG_ERROR_ENABLE  0x084u /* RW  T3_ERROR_* that raise ERROR_VECTOR */
#define T3_REG_EVENT_VECTOR  0x088u /* RW  MSI-X vector of space events, 0..3 */
#define T3_REG_ERROR_VECTOR  0x08cu /* RW  MSI-X vector of ERROR_STATUS, 0..3 */
#define T3_REG_EVENT_SUMMARY 0x090u /* RO  bit w: PENDING[w] & ENABLE[w] is not 0 */
#define T3_REG_QUEUE_VECTOR  0x094u /* RW  MSI-X vector of queues, 0..3 */
#define T3_REG_QUEUE_PENDING 0x098u /* RW1C 2 words, bit q % 32 of word q / 32 */
#define T3_REG_QUEUE_ENABLE  0x0a0u /* RW  2 words, same layout */
#define T3_REG_MAX_QUEUES    0x0a8u /* RO */
#define T3_REG_MAX_FENCES    0x0acu /* RO */
#define T3_REG_DMA_ADDRESS   0x0b0u /* RO64 first bus address that failed since HOST_DMA was 0 */
#define T3_REG_POISON_ADDRESS 0x0b8u /* RO64 first poisoned byte hit since POISON was 0 */
#define T3_REG_SPACE_PENDING 0x100u /* RW1C 32 words, bit s % 32 of word s / 32 */
#define T3_REG_SPACE_ENABLE  0x180u /* RW  32 words, same layout */
#define T3_REG_ADMIN_COMMAND 0x200u /* RW  writing T3_CMD_* runs the mailbox */
#define T3_REG_ADMIN_STATUS  0x204u /* RO  T3_ADMIN_* of the last command */
#define T3_REG_MAILBOX	     0x300u /* RW64 T3_MAILBOX_SIZE bytes */
#define T3_MAILBOX_SIZE	     0x100u
#define T3_REG_COUNTERS	     0x400u /* RO64 T3_COUNTER_* words of 8 bytes */
#define T3_REG_FENCE	     0x800u  /* RO64 T3_MAX_FENCES words of 8 bytes */
#define T3_REG_QUEUE_TAIL    0x1000u /* RW  T3_MAX_QUEUES words: the queue's doorbell */
#define T3_REG_QUEUE_HEAD    0x1100u /* RO  T3_MAX_QUEUES words: descriptors completed */
#define T3_REG_QUEUE_STATE   0x1200u /* RO  T3_MAX_QUEUES words: t3_queue_state */
#define T3_REG_END	     0x1300u

#define T3_ID_VALUE	 0x57483354u /* "T3HW" */
#define T3_VERSION_VALUE 0x0001000au /* major << 16, minor */

#define T3_CAP_LIST(X, p) \
	X(p, STAGING, 0) /* staging slots and the TILE doorbell */ \
	X(p, MINMAX, 1)  /* ops MIN and MAX */ \
	X(p, QUEUES, 2)  /* queues and fences */ \
	X(p, MULTI, 3)   /* several routes for a segment */ \
	X(p, BLOCKS, 4)  /* several tiles for a DMA block */ \
	X(p, BYTES, 5)   /* dtypes U8 and I8 */ \
	X(p, INJECT, 6)  /* INJECT is allowed to the guest */ \
	X(p, GEMM, 7)    /* descriptor GEMM */ \
	X(p, TIMED, 8)   /* descriptor TIMED: the fabric was made with it */ \
	X(p, TILES, 9)   /* TILE_QUERY */ \
	X(p, KEYS, 10)   /* KEY_SET, ROUTE_CLAIM, ROUTE_QUERY */ \
	X(p, FAR_KEYS, 11) /* keys also from and to ranks of other nodes */ \
	X(p, TYPES, 12)    /* dtypes U32, I64, U64 and F64 */ \
	X(p, BYTE_OPS, 13) /* U8 and I8 with other ops than STORE */ \
	X(p, BITWISE, 14)  /* ops AND, OR and XOR */ \
	X(p, PRODUCT, 15)  /* op MUL */ \
	X(p, WIDEN, 16)    /* SEG_WIDEN */

enum { T3_CAP_LIST(T3_MASK, T3_CAP_) };

#define T3_CONTROL_RESET (1u << 0) /* write 1: function reset; reads 0 */

#define T3_TOPOLOGY_LIST(X, p) \
	X(p, NONE, 0, "none") /* a device without a fabric */ \
	X(p, RING, 1, "ring") /* rank r reaches r - 1 and r + 1 (mod ranks) */ \
	X(p, FULL, 2, "full") /* every rank reaches every other */ \
	X(p, SWITCH, 3, "switch") /* full, and a switch with groups: section 17 */

enum t3_topology { T3_TOPOLOGY_LIST(T3_ENUMERATOR, T3_TOPOLOGY_) };

#define T3_ERROR_LIST(X, p) \
	X(p, HOST_DMA, 0) /* host memory could not be accessed */ \
	X(p, GUEST, 1)    /* a rule of SPEC.md was broken */ \
	X(p, LINK, 2)     /* a link gave up after its retries */ \
	X(p, POISON, 3)   /* poisoned device memory was about to be used */ \
	X(p, QUEUE, 4)    /* a queue stopped at a descriptor */

enum { T3_ERROR_LIST(T3_MASK, T3_ERROR_) };
#define T3_ERROR_ALL (0u T3_ERROR_LIST(T3_OR, T3_ERROR_)) /* all that are defined */

/* Device counters; the value is the index into T3_REG_COUNTERS. All count since reset. */
#define T3_COUNTER_LIST(X, p) \
	X(p, TRACKER_HIT, 0, "tracker-hit")              /* updates that found their entry */ \
	X(p, TRACKER_ALLOC, 1, "tracker-alloc")          /* entries allocated */ \
	X(p, TRACKER_SPILL, 2, "tracker-spill")          /* entries written back to make room */ \
	X(p, TRACKER_FILL, 3, "tracker-fill") /* allocations that read a written-back count */ \
	X(p, TRACKER_LIVE, 4, "tracker-live")            /* entries in use now */ \
	X(p, TRACKER_PEAK, 5, "tracker-peak")            /* highest T3_COUNTER_TRACKER_LIVE */ \
	X(p, STORES, 6, "stores")                        /* tracked stores applied or forwarded */ \
	X(p, DOORBELLS, 7, "doorbells")                  /* tile doorbells accepted */ \
	X(p, TRIGGERS, 8, "triggers")                    /* tiles whose count was reached */ \
	X(p, DMA_BYTES, 9, "dma-bytes")                  /* bytes sent by triggered DMA */ \
	X(p, NMC_ELEMENTS, 10, "nmc-elements")           /* elements updated with op != STORE */ \
	X(p, LINK_TX_PACKETS, 11, "link-tx-packets")     /* first transmissions */ \
	X(p, LINK_TX_BYTES, 12, "link-tx-bytes") /* headers and payloads, first transmissions */ \
	X(p, LINK_RX_PACKETS, 13, "link-rx-packets")     /* accepted, duplicates not counted */ \
	X(p, LINK_RX_BYTES, 14, "link-rx-bytes")         /* headers and payloads, accepted */ \
	X(p, LINK_RETRIES, 15, "link-retries")           /* retransmissions */ \
	X(p, LINK_DUPLICATES, 16, "link-duplicates")     /* dropped before the update */ \
	X(p, NAKS, 17, "naks")                           /* packets this device rejected */ \
	X(p, FAULTS, 18, "faults")                       /* space faults recorded */ \
	X(p, DROPPED, 19, "dropped") /* updates dropped: space faulted or none there */ \
	/* messages raised, also those that were held, lost by LOSE_IRQ or raised with MSI-X */ \
	/* disabled */ \
	X(p, INTERRUPTS, 20, "interrupts") \
	X(p, LINK_ERRORS, 21, "link-errors") /* packets that arrived corrupt, dropped */ \
	X(p, LINK_DOWNS, 22, "link-downs")               /* times that a link gave up */ \
	/* reads and writes of host memory that failed */ \
	X(p, HOST_DMA_ERRORS, 23, "host-dma-errors") \
	X(p, POISON_HITS, 24, "poison-hits") /* uses of poisoned memory that were refused */ \
	X(p, QUEUE_DESCRIPTORS, 25, "queue-descriptors") /* completed, with any status */ \
	X(p, QUEUE_ERRORS, 26, "queue-errors")           /* completed with an error */ \
	X(p, QUEUE_BYTES, 27, "queue-bytes")             /* moved, filled or updated by queues */ \
	X(p, INJECTED, 28, "injected") /* injected faults that took effect at this device */ \
	/* units of work that the engine has done, for anybody */ \
	X(p, ENGINE_WORK, 29, "engine-work") \
	X(p, WRONG_KEYS, 30, "wrong-keys") /* claims that this device refused */

enum t3_counter_id {
	T3_COUNTER_LIST(T3_ENUMERATOR, T3_COUNTER_)
	T3_COUNTER_COUNT
};

/* -------------------------------------------------- doorbell page, per space */

#define T3_DB_ARM     0x00u /* W32 epoch */
#define T3_DB_RELEASE 0x08u /* W32 epoch */
#define T3_DB_TILE    0x10u /* W64 T3_DB_TILE_*: apply a staged tile */
#define T3_DB_STATE   0x18u /* R64 same word as t3_event_area.state */

#define T3_DB_TILE_SEGMENT_SHIFT 32 /* segment in the TILE doorbell */
#define T3_DB_TILE_SLOT_SHIFT	 40 /* slot in it */
#define T3_DB_TILE_VALUE(segment, slot, tile)                                 \
	((uint64_t)(tile) | (uint64_t)(segment) << T3_DB_TILE_SEGMENT_SHIFT | \
	 (uint64_t)(slot) << T3_DB_TILE_SLOT_SHIFT)

/* ---------------------------------------------------------- spaces, segments */

/* Space states, as in t3_event_area.state. SPEC.md has the transition table. */
#define T3_SPACE_STATE_LIST(X, p) \
	X(p, FREE, 0, "free")         /* no such space */ \
	X(p, IDLE, 1, "idle")         /* configured; epoch is the last one released, or 0 */ \
	X(p, ARMING, 2, "arming")     /* waits until each route's target reports the epoch */ \
	X(p, ARMED, 3, "armed")       /* updates are taken */ \
	X(p, COMPLETE, 4, "complete") /* all segments tracked and delivered */ \
	X(p, FAULTED, 5, "faulted")   /* left by RESET or DISABLE only */ \
	X(p, DISABLED, 6, "disabled") /* packets are still in flight */ \
	X(p, QUIESCED, 7, "quiesced") /* may be destroyed, memory may be freed */ \
	X(p, DEAD, 8, "dead")         /* written by software when the device has gone */

enum t3_space_state { T3_SPACE_STATE_LIST(T3_ENUMERATOR, T3_SPACE_) };

#define T3_SEGMENT_KIND_LIST(X, p) \
	X(p, LOCAL, 1, "local")   /* updates stay here */ \
	X(p, REMOTE, 2, "remote") /* each update goes to the peer; nothing is behind it */ \
	X(p, DMA, 3, "dma")       /* updates stay here; a complete tile is sent to the peer */

enum t3_segment_kind { T3_SEGMENT_KIND_LIST(T3_ENUMERATOR, T3_SEG_) };

#define T3_OP_LIST(X, p) \
	X(p, STORE, 0, "store") /* m = v */ \
	X(p, ADD, 1, "add")     /* m = m + v, section 4 */ \
	X(p, MIN, 2, "min")     /* section 4 */ \
	X(p, MAX, 3, "max")     /* section 4 */ \
	X(p, AND, 4, "and")     /* bit by bit, integers only; CAPS.BITWISE */ \
	X(p, OR, 5, "or")       /* the same */ \
	X(p, XOR, 6, "xor")     /* the same */ \
	X(p, MUL, 7, "mul")     /* m = m * v, section 4; CAPS.PRODUCT */

enum t3_op {
	T3_OP_LIST(T3_ENUMERATOR, T3_OP_)
	T3_OP_COUNT
};

#define T3_DTYPE_LIST(X, p) \
	X(p, I32, 0, "i32")   /* signed, 4 bytes */ \
	X(p, F32, 1, "f32")   /* IEEE 754 binary32 */ \
	X(p, F16, 2, "f16")   /* IEEE 754 binary16 */ \
	X(p, BF16, 3, "bf16") /* upper half of binary32 */ \
	X(p, U8, 4, "u8")     /* 1 byte; ops but STORE with CAPS.BYTE_OPS, as I8 */ \
	X(p, I8, 5, "i8")     /* signed, 1 byte */ \
	X(p, U32, 6, "u32")   /* 4 bytes; CAPS.TYPES, as those below */ \
	X(p, I64, 7, "i64")   /* signed, 8 bytes */ \
	X(p, U64, 8, "u64")   /* 8 bytes */ \
	X(p, F64, 9, "f64")   /* IEEE 754 binary64 */

enum t3_dtype {
	T3_DTYPE_LIST(T3_ENUMERATOR, T3_DTYPE_)
	T3_DTYPE_COUNT
};

enum t3_init {
	T3_INIT_KEEP = 0, /* the tile keeps what it holds */
	T3_INIT_IDENTITY = 1, /* filled by ARM */
};

#define T3_FAULT_LIST(X, p) \
	X(p, NONE, 0, "none")                 /* no fault */ \
	X(p, UNMAPPED, 1, "unmapped")         /* access outside every segment, or in padding */ \
	X(p, WIDTH, 2, "width")               /* below element size, above 8, or misaligned */ \
	X(p, TILE_CROSS, 3, "tile-cross")     /* one store over a tile's edge */ \
	X(p, READ_REMOTE, 4, "read-remote")   /* read of a remote segment */ \
	X(p, NOT_ARMED, 5, "not-armed")       /* update outside ARMED */ \
	X(p, OVERSHOOT, 6, "overshoot")       /* more updates than the tile expects */ \
	/* unknown offset or width, bad segment, slot or tile */ \
	X(p, BAD_DOORBELL, 7, "bad-doorbell") \
	X(p, BAD_ARM, 8, "bad-arm")           /* ARM or RELEASE in the wrong state or order */ \
	X(p, LINK, 9, "link")                 /* replay buffer full or retries exhausted */ \
	X(p, REJECTED, 10, "rejected")        /* the target refused: detail = t3_nak */ \
	X(p, PEER_POISON, 11, "peer-poison")  /* a source of this space has faulted or gone */ \
	X(p, PEER_DEAD, 12, "peer-dead")      /* a target of this space has faulted or gone */ \
	X(p, HOST_DMA, 13, "host-dma")        /* the event area could not be written */ \
	X(p, COUNTER, 14, "counter")          /* counter table or tile list found corrupt */ \
	X(p, POISON, 15, "poison") /* poisoned memory under an update, a read or a DMA */

enum t3_fault_kind { T3_FAULT_LIST(T3_ENUMERATOR, T3_FAULT_) };

/* Why a target rejects a packet: status of the response, 0 = applied. */
#define T3_NAK_LIST(X, p) \
	X(p, NONE, 0, "none")             /* applied */ \
	X(p, NO_DEVICE, 1, "no-device")   /* no function at that rank */ \
	X(p, NO_SPACE, 2, "no-space")     /* free, disabled or quiesced */ \
	X(p, GENERATION, 3, "generation") /* not the space's */ \
	X(p, NO_GRANT, 4, "no-grant")     /* import entry, segment mask or op does not allow it */ \
	X(p, SEGMENT, 5, "segment")       /* segment not mapped, wrong type, or remote */ \
	X(p, BOUNDS, 6, "bounds")         /* outside the matrix */ \
	X(p, EPOCH, 7, "epoch")           /* not the space's */ \
	X(p, NOT_ARMED, 8, "not-armed")   /* the space is IDLE */ \
	X(p, FAULTED, 9, "faulted")       /* the space is FAULTED */ \
	/* a tile would pass its count, or the space is COMPLETE */ \
	X(p, OVERSHOOT, 10, "overshoot") \
	X(p, MALFORMED, 11, "malformed")  /* section 6.2, rule 1 */ \
	X(p, POISON, 12, "poison")        /* the target's memory is poisoned */ \
	/* CLAIM: too many wrong keys came from that rank; try again later */ \
	X(p, KEY_LIMIT, 13, "key-limit")

enum t3_nak { T3_NAK_LIST(T3_ENUMERATOR, T3_NAK_) };

/*
 * One record per tile in the space's counter table (device memory). Written
 * back by the tracker; SEG_MAP and SPACE_RESET zero it, software leaves it alone.
 */
struct t3_tile_record {
	uint32_t epoch; /* epoch of the other fields; another epoch reads as zeros */
	uint32_t count; /* update bytes counted */
	uint32_t next;	/* next tile of the ready list, T3_TILE_NONE at its end */
	uint16_t flags; /* T3_TILE_* */
	/*
	 * REMOTE: staging slot of a pending doorbell; DMA: done tiles of the block that
	 * starts here
	 */
	uint16_t slot;
};

#define T3_TILE_NONE	  0xffffffffu /* end of a ready list */
#define T3_TILE_LIST(X, p) \
	X(p, TRIGGERED, 0) /* count reached */ \
	X(p, READY, 1)     /* on the ready list; DMA: the block of this first tile */ \
	X(p, STARTED, 2)   /* has had its first update of the epoch */ \
	X(p, SENDING, 3)   /* TILE_QUERY alone: a link is at it */ \
	X(p, OPEN, 4)      /* TILE_QUERY alone: below its count, or READY, SENDING */ \
	X(p, POISONED, 5)  /* TILE_QUERY alone: its record is not to be read; OPEN */

enum { T3_TILE_LIST(T3_MASK, T3_TILE_) };

struct t3_fault_record {
	uint32_t kind;	  /* t3_fault_kind */
	uint32_t detail;  /* t3_nak for REJECTED, else 0 */
	uint32_t segment; /* ~0: none */
	uint32_t tile;	  /* ~0: none */
	uint64_t offset;  /* byte in the space, ~0: none */
	uint32_t epoch; /* of the space then */
	uint32_t src_rank; /* rank it came from or was sent to; own rank: the CPU */
	uint64_t vtime;	   /* virtual ns */
};

/* Event area: host memory, one page, written by the device alone. */
struct t3_event_area {
	uint64_t state; /* t3_space_state in [63:32], epoch in [31:0]: one store, never torn */
	uint32_t generation; /* of the space */
	uint32_t faults;  /* recorded since RESET; `fault` is the first of them */
	uint64_t dropped; /* updates dropped since RESET */
	struct t3_fault_record fault; /* t3_fault_record of the first fault */
	uint64_t segment[T3_SPACE_SEGMENTS];		    /* 64 words of 8 bytes: T3_SEG_WORD_* */
	/* [segment][slot], 4 bytes each: doorbells whose data has been read, mod 2^32 */
	uint32_t consumed[T3_SPACE_SEGMENTS][T3_SEG_SLOTS];
	/* 16 t3_fault_record: fault k at (k - 1) % T3_FAULT_RING */
	struct t3_fault_record ring[T3_FAULT_RING];
	uint8_t reserved[1856];
};

#define T3_SEG_WORD_EPOCH     0x00000000ffffffffull /* mask of the epoch in a segment word */
#define T3_SEG_WORD_TRACKED   (1ull << 32) /* every tile's count is reached */
#define T3_SEG_WORD_DELIVERED (1ull << 33) /* and the peer acknowledged all of it */

/* ----------------------------------------------------------- admin commands */

#define T3_ADMIN_OPCODE_LIST(X, p) \
	X(p, SPACE_CREATE, 1)   /* struct t3_cmd_space_create */ \
	X(p, SPACE_DISABLE, 2)  /* struct t3_cmd_space */ \
	X(p, SPACE_DESTROY, 3)  /* struct t3_cmd_space */ \
	X(p, SPACE_RESET, 4)    /* struct t3_cmd_space */ \
	X(p, SPACE_QUERY, 5)    /* struct t3_cmd_space */ \
	X(p, SEG_MAP, 6)        /* struct t3_cmd_seg_map */ \
	X(p, SEG_UNMAP, 7)      /* struct t3_cmd_index */ \
	X(p, SEG_STAGING, 8)    /* struct t3_cmd_seg_staging */ \
	X(p, SEG_STATS, 9)      /* struct t3_cmd_seg_stats */ \
	X(p, ROUTE_SET, 10)     /* struct t3_cmd_route_set */ \
	X(p, ROUTE_CLEAR, 11)   /* struct t3_cmd_index */ \
	X(p, IMPORT_SET, 12)    /* struct t3_cmd_import_set */ \
	X(p, IMPORT_CLEAR, 13)  /* struct t3_cmd_index */ \
	X(p, QUEUE_CREATE, 14)  /* struct t3_cmd_queue_create */ \
	X(p, QUEUE_DESTROY, 15) /* struct t3_cmd_queue */ \
	X(p, QUEUE_ABORT, 16)   /* struct t3_cmd_queue */ \
	X(p, QUEUE_QUERY, 17)   /* struct t3_cmd_queue */ \
	X(p, FENCE_SET, 18)     /* struct t3_cmd_fence_set */ \
	X(p, LINK_QUERY, 19)    /* struct t3_cmd_link_query */ \
	X(p, INJECT, 20)        /* struct t3_cmd_inject; with T3_CAP_INJECT only */ \
	X(p, TILE_QUERY, 21)    /* struct t3_cmd_tile_query */ \
	X(p, INJECT_TEXT, 22)   /* struct t3_cmd_inject_text; with T3_CAP_INJECT only */ \
	X(p, KEY_SET, 23)       /* struct t3_cmd_key_set; with T3_CAP_KEYS only */ \
	X(p, ROUTE_CLAIM, 24)   /* struct t3_cmd_route_claim; with T3_CAP_KEYS only */ \
	X(p, ROUTE_QUERY, 25)   /* struct t3_cmd_route_query; with T3_CAP_KEYS only */ \
	X(p, SEG_WIDEN, 26)     /* struct t3_cmd_seg_widen; with T3_CAP_WIDEN only */ \
	X(p, GROUP_CREATE, 27)  /* struct t3_cmd_group_create; with a switch only */ \
	X(p, GROUP_MEMBER, 28)  /* struct t3_cmd_group_member; with a switch only */ \
	X(p, GROUP_DESTROY, 29) /* struct t3_cmd_group; with a switch only */ \
	X(p, GROUP_QUERY, 30)   /* struct t3_cmd_group_query; with a switch only */ \
	X(p, SWITCH_QUERY, 31)  /* struct t3_cmd_switch_query; with a switch only */

enum t3_admin_opcode { T3_ADMIN_OPCODE_LIST(T3_ENUMERATOR, T3_CMD_) };

#define T3_ADMIN_STATUS_LIST(X, p) \
	X(p, OK, 0)           /* done */ \
	X(p, BAD_OPCODE, 1)   /* no such command */ \
	X(p, BAD_SPACE, 2)    /* id out of range, or no such space */ \
	X(p, BAD_INDEX, 3)    /* segment, route or import out of range or unset */ \
	X(p, EXISTS, 4)       /* id, index or range already in use */ \
	X(p, BAD_RANGE, 5)    /* memory, aperture or counter range out of bounds */ \
	X(p, BAD_GEOMETRY, 6) /* rows, pitch, tiles or sizes of a segment */ \
	X(p, BAD_VALUE, 7)    /* an enum, flag or MBZ field */ \
	X(p, BAD_STATE, 8)    /* not allowed in the space's state */ \
	X(p, NO_ROUTE, 9)     /* the topology has no link to that rank */ \
	X(p, NO_RESOURCE, 10) /* all segments of the device are in use */ \
	X(p, BAD_QUEUE, 11)   /* id out of range, or no such queue */

enum t3_admin_status { T3_ADMIN_STATUS_LIST(T3_ENUMERATOR, T3_ADMIN_) };

/* SPACE_CREATE: FREE -> IDLE. */
struct t3_cmd_space_create {
	uint32_t space;		  /* 0 .. T3_MAX_SPACES - 1 */
	uint32_t generation;	  /* out */
	uint64_t aperture_offset; /* in BAR4, page multiple */
	uint64_t size;		  /* page multiple, at least one page */
	uint64_t buffer;	  /* device memory behind it, page multiple */
	uint64_t counters;	  /* device memory of t3_tile_record[], multiple of 16 */
	uint32_t counter_count;	  /* records, at least 1 */
	uint32_t client;	  /* 0 .. T3_MAX_CLIENTS - 1: whose share its work is of */
	uint64_t event_area; /* bus address, page multiple */
};

struct t3_cmd_space {
	uint32_t space; /* 0 .. T3_MAX_SPACES - 1 */
	uint32_t generation; /* out */
	uint32_t state;	     /* out: t3_space_state */
	uint32_t epoch;	     /* out */
	uint32_t in_flight;  /* out: packets sent and not answered */
	uint32_t mbz;
};

struct t3_cmd_index {
	uint32_t space; /* 0 .. T3_MAX_SPACES - 1 */
	uint32_t index; /* segment, route or import */
};

/*
 * SEG_MAP, in IDLE. Row i of the segment starts at byte offset + i * pitch of
 * the space, row_bytes long; tiles are numbered row-major. offset, pitch,
 * target_col and each *_bytes are multiples of the element size; a tile holds at
 * most T3_MAX_TILE_BYTES. With kind REMOTE or DMA, (row i, byte j) here is
 * (target_row + i, target_col + j) of segment target_segment behind each of the
 * routes. DMA block b is the tiles [b * block_tiles, (b + 1) * block_tiles), less at
 * the end; it is sent when the counts of all of them are reached.
 */
struct t3_cmd_seg_map {
	uint32_t space; /* 0 .. T3_MAX_SPACES - 1 */
	uint32_t segment; /* 0 .. T3_SPACE_SEGMENTS - 1 */
	uint8_t kind;	   /* t3_segment_kind */
	uint8_t op;	   /* t3_op of updates to this segment; REMOTE: MBZ */
	uint8_t dtype;	   /* t3_dtype */
	uint8_t init;	   /* t3_init; REMOTE: MBZ */
	uint8_t target_op; /* t3_op at the target; LOCAL: MBZ */
	uint8_t mbz[3];
	uint64_t offset;	 /* in the space */
	uint32_t updates;	 /* per element, 1 .. T3_MAX_UPDATES */
	uint32_t rows;		 /* at least 1 */
	uint32_t row_bytes;	 /* at least one element */
	uint32_t pitch;		 /* row_bytes .. T3_MAX_PITCH */
	uint32_t tile_rows;	 /* 1 .. rows */
	uint32_t tile_row_bytes; /* one element .. row_bytes */
	uint32_t counter_base;	 /* first record of this segment in the counter table */
	uint32_t routes;	 /* bit r: route r. LOCAL: MBZ, as the three target_* fields */
	uint32_t target_segment; /* segment at the target */
	uint32_t target_row; /* origin in it: row */
	uint32_t target_col;  /* origin in it: byte of the row */
	uint32_t block_tiles; /* DMA: 0 .. T3_MAX_BLOCK_TILES, 0 is 1; else MBZ */
};

/* SEG_STAGING, in IDLE: slots = 0 takes the staging buffer away. */
struct t3_cmd_seg_staging {
	uint32_t space; /* 0 .. T3_MAX_SPACES - 1 */
	uint32_t segment; /* 0 .. T3_SPACE_SEGMENTS - 1 */
	uint64_t address;     /* device memory, multiple of 8; rows at the segment's pitch */
	uint64_t slot_stride; /* multiple of 8, at least the segment's extent */
	uint32_t slots;	      /* 0 .. T3_SEG_SLOTS */
	uint32_t mbz;
};

/*
 * SEG_WIDEN, in IDLE: updates of a segment of kind LOCAL or DMA, of dtype F16 or BF16 and op ADD or
 * MUL, go to accumulators of dtype F32. A tile is rounded to the segment's memory when its count is
 * reached. Its bytes are at most T3_MAX_WIDE_BYTES, its rows T3_MAX_WIDE_ROWS.
 */
struct t3_cmd_seg_widen {
	uint32_t space; /* 0 .. T3_MAX_SPACES - 1 */
	uint32_t segment; /* 0 .. T3_SPACE_SEGMENTS - 1 */
	uint64_t address; /* device memory, multiple of 8; rows at twice the pitch */
	uint32_t widen;	  /* 1; 0: takes the accumulators away, and address is MBZ */
	uint32_t mbz;
};

/* SEG_STATS: counts since SEG_MAP or RESET. */
struct t3_cmd_seg_stats {
	uint32_t space; /* 0 .. T3_MAX_SPACES - 1 */
	uint32_t segment; /* 0 .. T3_SPACE_SEGMENTS - 1 */
	uint64_t stores;	/* out: tracked stores by the CPU */
	uint64_t doorbells;	/* out: TILE doorbells accepted */
	uint64_t local_bytes;	/* out: update bytes by stores and doorbells */
	uint64_t remote_bytes;	/* out: update bytes that arrived from peers */
	uint64_t triggers;	/* out: tiles whose count was reached */
	uint64_t dma_bytes;	/* out: payload sent by triggered DMA */
	uint64_t link_bytes;	/* out: payload and headers sent for this segment */
	uint64_t nmc_elements;	/* out: elements updated here with op != STORE */
	uint64_t tiles;		/* out: tiles of the segment */
	uint64_t tiles_tracked; /* out: of the current epoch */
};

/*
 * TILE_QUERY: looks at `tiles` tiles from `tile` on, or up to the segment's last, stops at
 * the first that is OPEN and describes the one that it looked at last.
 */
struct t3_cmd_tile_query {
	uint32_t space; /* 0 .. T3_MAX_SPACES - 1 */
	uint32_t segment; /* 0 .. T3_SPACE_SEGMENTS - 1 */
	uint32_t tile;	   /* in: the first to look at; out: the one described */
	uint32_t tiles;	   /* 1 .. T3_TILE_QUERY_MAX */
	uint32_t flags;	   /* out: T3_TILE_* */
	uint32_t state;	   /* out: t3_space_state */
	uint32_t epoch;	   /* out */
	uint32_t mbz;
	uint64_t counted;  /* out: update bytes of this epoch */
	uint64_t expected; /* out */
	/* out: bytes of the segment that targets have not applied in this epoch, sent or not */
	uint64_t unacknowledged;
};

/* ROUTE_SET, in IDLE: where segments of this space may send to. */
struct t3_cmd_route_set {
	uint32_t space; /* 0 .. T3_MAX_SPACES - 1 */
	uint32_t route;	    /* 0 .. T3_SPACE_ROUTES - 1 */
	uint32_t peer_rank; /* not the own rank */
	uint32_t peer_space; /* at peer_rank */
	uint32_t peer_generation; /* of that space */
	uint32_t peer_import; /* index in the peer's import table */
};

/* IMPORT_SET, in IDLE to FAULTED: who may send to this space. */
struct t3_cmd_import_set {
	uint32_t space; /* 0 .. T3_MAX_SPACES - 1 */
	uint32_t import; /* 0 .. T3_SPACE_IMPORTS - 1 */
	uint32_t src_rank; /* not the own rank */
	uint32_t src_space; /* at src_rank */
	uint32_t src_generation; /* of that space */
	uint32_t op_mask;      /* bit t3_op: may be used */
	uint64_t segment_mask; /* bit segment: may be sent to */
};

#define T3_KEY_WORDS 4u /* of a key: 128 bits */

/*
 * KEY_SET, in IDLE to FAULTED: the first space that claims the entry with this key may send to this
 * one, as by IMPORT_SET. IMPORT_CLEAR ends it before and after.
 */
struct t3_cmd_key_set {
	uint32_t space; /* 0 .. T3_MAX_SPACES - 1 */
	uint32_t import; /* 0 .. T3_SPACE_IMPORTS - 1 */
	uint32_t rank_mask; /* bit rank: may claim it; not 0 */
	uint32_t op_mask;      /* bit t3_op: may be used */
	uint64_t segment_mask; /* bit segment: may be sent to */
	uint32_t key[T3_KEY_WORDS]; /* random, not 0 */
};

/* ROUTE_CLAIM, in IDLE: a ROUTE_SET that has to show the peer a key first. See ROUTE_QUERY. */
struct t3_cmd_route_claim {
	struct t3_cmd_route_set to;
	uint32_t key[T3_KEY_WORDS]; /* of KEY_SET at the peer */
};

#define T3_ROUTE_STATE_LIST(X, p) \
	X(p, UNSET, 0)   /* no such route */ \
	X(p, SET, 1)     /* by ROUTE_SET, or the peer has taken the key */ \
	X(p, ASKED, 2)   /* ROUTE_CLAIM is not answered yet */ \
	X(p, REFUSED, 3) /* the answer was no; until ROUTE_CLEAR, ROUTE_SET or ROUTE_CLAIM */

enum t3_route_state { T3_ROUTE_STATE_LIST(T3_ENUMERATOR, T3_ROUTE_) };

#define T3_ROUTE_NO_ANSWER 0xffu /* in t3_cmd_route_query.nak */

/* ROUTE_QUERY: what became of a route. */
struct t3_cmd_route_query {
	uint32_t space; /* 0 .. T3_MAX_SPACES - 1 */
	uint32_t route; /* 0 .. T3_SPACE_ROUTES - 1 */
	uint32_t state; /* out: t3_route_state */
	uint32_t nak; /* out: REFUSED: t3_nak; ROUTE_NO_ANSWER: the link or the space ended */
	uint32_t dead; /* out: 1: its target has ended */
	uint32_t mbz;
};

/* ------------------------------------------------------------------- groups */

#define T3_GROUP_KIND_LIST(X, p) \
	X(p, REDUCE, 1, "reduce")       /* several sources, one target: updates are merged */ \
	X(p, MULTICAST, 2, "multicast") /* one source, several targets: updates are copied */

enum t3_group_kind { T3_GROUP_KIND_LIST(T3_ENUMERATOR, T3_GROUP_) };

#define T3_GROUP_ORDERED 1u /* REDUCE: updates are added in the order of members */

#define T3_GROUP_STATE_LIST(X, p) \
	X(p, FREE, 0, "free")     /* no such group */ \
	X(p, OPEN, 1, "open")     /* takes updates */ \
	X(p, ENDED, 2, "ended")   /* takes none from end_epoch on */ \
	X(p, CLOSED, 3, "closed") /* destroyed; its members are still to be told */

enum t3_group_state { T3_GROUP_STATE_LIST(T3_ENUMERATOR, T3_GROUP_STATE_) };

/* GROUP_CREATE, in IDLE to FAULTED: a group that ends in this space, or begins there. */
struct t3_cmd_group_create {
	uint32_t space; /* REDUCE: the target; MULTICAST: the source */
	uint32_t kind; /* t3_group_kind */
	uint32_t import; /* REDUCE: entry of the space's import table; MULTICAST: MBZ */
	uint32_t members; /* REDUCE: sources; MULTICAST: targets; 1 .. T3_GROUP_MEMBERS */
	uint32_t group; /* out: peer_space of routes, src_space of imports */
	uint32_t generation; /* out: of the group */
	uint32_t flags; /* T3_GROUP_ORDERED, or 0 */
	uint32_t places; /* ORDERED: a source sends to so many in an epoch at most; else 0 */
};

/* GROUP_MEMBER, in IDLE to FAULTED: a source of a REDUCE group, a target of a MULTICAST one. */
struct t3_cmd_group_member {
	uint32_t space; /* the group's own */
	uint32_t group; /* of GROUP_CREATE */
	uint32_t generation; /* of the group */
	uint32_t member; /* 0 .. members - 1; REDUCE: peer_import of the source's route */
	uint32_t peer_rank; /* with a key MBZ, as the next three */
	uint32_t peer_space; /* at peer_rank */
	uint32_t peer_generation; /* of that space */
	uint32_t peer_import; /* MULTICAST: entry of its import table; REDUCE: MBZ */
	uint32_t rank_mask; /* REDUCE: bit rank: may claim the place by the key; 0: no key */
	uint32_t key[T3_KEY_WORDS]; /* random, not 0; without rank_mask 0 */
	uint32_t mbz;
};

struct t3_cmd_group {
	uint32_t space; /* the group's own */
	uint32_t group; /* of GROUP_CREATE */
	uint32_t generation; /* of the group */
	uint32_t mbz;
};

/* GROUP_QUERY, of the group's own space or a member. */
struct t3_cmd_group_query {
	uint32_t space; /* 0 .. T3_MAX_SPACES - 1 */
	uint32_t group; /* of GROUP_CREATE */
	uint32_t generation; /* of the group */
	uint32_t state; /* out: t3_group_state */
	uint32_t kind; /* out: t3_group_kind */
	uint32_t members; /* out: of GROUP_CREATE */
	uint32_t bound; /* out: bit member: it is set, or has been claimed */
	uint32_t done; /* out: REDUCE: bit member: it has sent all of `epoch` */
	uint32_t epoch; /* out: that the target, or the slowest one, has reported */
	uint32_t entries; /* out: that wait for members */
	uint32_t end_epoch; /* out: ENDED, CLOSED: first epoch without it; 0: all */
	uint32_t cause; /* out: ENDED, CLOSED: t3_fault_kind; NONE: GROUP_DESTROY */
	uint32_t detail; /* out: cause REJECTED: t3_nak */
	uint32_t cause_rank; /* out: where it came from */
	uint64_t merged; /* out: updates that were added to an entry */
	uint64_t alone; /* out: updates of REDUCE that went on without an entry */
	uint64_t copies; /* out: updates that MULTICAST sent */
	uint32_t flags; /* out: of GROUP_CREATE */
	uint32_t places; /* out: of GROUP_CREATE */
};

/* SWITCH_QUERY: the port of this device. */
struct t3_cmd_switch_query {
	uint32_t entries; /* out: of the port */
	uint32_t used; /* out: in use now */
	uint32_t most; /* out: in use at most */
	uint32_t groups; /* out: of this device */
	uint32_t ready; /* out: sums that wait for the link to this device */
	uint32_t mbz;
	uint64_t taken; /* out: entries that updates from this device have taken */
	uint64_t merged; /* out: updates from this device that were added to one */
	uint64_t alone; /* out: updates of REDUCE that went on without an entry */
	uint64_t full; /* out: of these, because all entries of the port were in use */
	uint64_t partial; /* out: entries of the port that left without some members */
	uint64_t sums; /* out: entries of the port that have left, `partial` included */
	uint64_t copies; /* out: updates that MULTICAST sent of one from this device */
	uint64_t busy; /* out: updates that were answered BUSY */
	uint64_t refused; /* out: packets that the switch has refused */
	uint64_t wrong_keys; /* out: claims among them */
};

/* ------------------------------------------------------------------- queues */

#define T3_QUEUE_STATE_LIST(X, p) \
	X(p, FREE, 0)  /* no such queue */ \
	X(p, READY, 1) /* works when head is not tail */ \
	/* stopped behind a failed descriptor, left by QUEUE_ABORT or QUEUE_DESTROY */ \
	X(p, ERROR, 2)

enum t3_queue_state { T3_QUEUE_STATE_LIST(T3_ENUMERATOR, T3_QUEUE_) };

/* QUEUE_CREATE: FREE -> READY with head = tail = 0. */
struct t3_cmd_queue_create {
	uint32_t queue;	      /* 0 .. T3_MAX_QUEUES - 1 */
	uint32_t priority;    /* 0 .. T3_MAX_PRIORITY; higher is served first */
	uint64_t ring;	      /* bus address of t3_descriptor[entries], multiple of 64 */
	uint64_t completions; /* bus address of t3_completion[entries], multiple of 32 */
	uint32_t entries;     /* power of two, T3_QUEUE_ENTRIES_MIN .. T3_QUEUE_ENTRIES_MAX */
	uint32_t client;      /* 0 .. T3_MAX_CLIENTS - 1: whose share its work is of */
};

struct t3_cmd_queue {
	uint32_t queue; /* 0 .. T3_MAX_QUEUES - 1 */
	uint32_t state;	 /* out: t3_queue_state */
	uint32_t head;	 /* out: descriptors completed, mod 2^32 */
	uint32_t tail;	 /* out: descriptors submitted, mod 2^32 */
	uint32_t status; /* out: t3_descriptor_status of the last error since CREATE or ABORT */
	uint32_t mbz;
	uint64_t served; /* out: units of work that the engine has done for it since CREATE */
};

/* FENCE_SET: any value, also a lower one; queues that wait look again. */
struct t3_cmd_fence_set {
	uint32_t fence; /* 0 .. T3_MAX_FENCES - 1 */
	uint32_t mbz;
	uint64_t value; /* new value */
};

#define T3_DESCRIPTOR_OPCODE_LIST(X, p) \
	X(p, NOP, 0)    /* completes */ \
	X(p, COPY, 1)   /* dst = src */ \
	X(p, FILL, 2)   /* dst = the 8 bytes of src, repeated from each row's start */ \
	X(p, UPDATE, 3) /* dst = op(dst, src), element by element; both device memory */ \
	X(p, WAIT, 4)   /* until fence dst >= src */ \
	X(p, SIGNAL, 5) /* fence dst = max(fence dst, src) */ \
	X(p, GEMM, 6)   /* dst = A * B; src: bus address of struct t3_gemm */ \
	X(p, TIMED, 7)  /* a run of the timed model; src: address of struct t3_timed_args */

enum t3_descriptor_opcode { T3_DESCRIPTOR_OPCODE_LIST(T3_ENUMERATOR, T3_DESC_) };

/* Where an operand lies. */
enum t3_location {
	T3_LOC_MEMORY = 0, /* device memory: byte offset in BAR2 */
	T3_LOC_HOST = 1,   /* bus address */
	/* dst of COPY, FILL, GEMM: byte offset in space `space`: tracked stores */
	T3_LOC_SPACE = 2,
};

/*
 * 64 bytes in host memory. The operands of COPY, FILL and UPDATE are `rows` rows of
 * `row_bytes` bytes, *_pitch apart; of GEMM its output. What an opcode does not use MBZ.
 */
struct t3_descriptor {
	uint8_t opcode;	  /* t3_descriptor_opcode */
	uint8_t flags;	  /* T3_DESC_FLAG_* */
	uint8_t op;	  /* UPDATE: t3_op */
	uint8_t dtype;	  /* UPDATE: t3_dtype; GEMM: I32 .. BF16 */
	uint8_t src_kind; /* COPY: t3_location; GEMM: HOST; TIMED: MEMORY, HOST */
	uint8_t dst_kind; /* COPY, FILL: t3_location; GEMM: MEMORY, SPACE; TIMED: HOST */
	uint16_t mbz;
	uint32_t rows;	     /* at least 1; rows * row_bytes <= T3_MAX_COPY_BYTES */
	/*
	 * at least 1; UPDATE, GEMM: multiple of the element size. SPACE: not checked here, a
	 * piece that is none faults the space WIDTH. TIMED: of the counts after the arguments
	 */
	uint32_t row_bytes;
	/* address; FILL: pattern; WAIT, SIGNAL: value; GEMM, TIMED: multiple of 64 */
	uint64_t src;
	uint64_t dst;	     /* address; WAIT, SIGNAL: fence; TIMED: multiple of 64 */
	uint64_t src_pitch;  /* at least row_bytes where rows > 1, else MBZ; GEMM: MBZ */
	uint64_t dst_pitch;  /* at least row_bytes where rows > 1, else MBZ */
	uint32_t space;	     /* dst_kind SPACE */
	uint32_t generation; /* dst_kind SPACE: of the space, or the descriptor fails */
	uint64_t cookie;     /* any value, returned in the completion */
};

#define T3_DESC_FLAG_IRQ (1u << 0) /* QUEUE_PENDING and its interrupt at completion */

/*
 * What a GEMM descriptor points to: 64 bytes in host memory, read once. The output is
 * the descriptor's: rows x columns elements of dtype, columns = row_bytes / element size. A
 * is rows x depth, B depth x columns, both device memory, row-major, of the same dtype.
 *
 * The order of the output, from outside inwards: chunks of chunk_rows rows, from first_chunk
 * downwards (CHUNKS_UP: upwards), around the end; in a chunk, workgroups of
 * group_rows x group_columns, in bands of raster_rows of them, column by column; in a workgroup,
 * tiles of tile_rows x tile_columns row by row. What does not divide leaves less at the ends.
 */
struct t3_gemm {
	uint64_t a;		/* address */
	uint64_t b;		/* address */
	uint64_t a_pitch;	/* at least a row where rows > 1, else MBZ */
	uint64_t b_pitch;	/* at least row_bytes where depth > 1, else MBZ */
	uint32_t depth;		/* 1 .. T3_MAX_DEPTH */
	uint32_t chunk_rows;	/* 1 .. rows */
	uint32_t first_chunk;	/* below the number of chunks */
	uint16_t group_rows;	/* 1 .. chunk_rows */
	uint16_t group_columns; /* 1 .. columns */
	uint16_t tile_rows;	/* 1 .. group_rows */
	uint16_t tile_columns;	/* 1 .. group_columns */
	uint16_t raster_rows;	/* at least 1 */
	uint16_t flags;		/* T3_GEMM_* */
	uint64_t mbz;
};

#define T3_GEMM_CHUNKS_UP (1u << 0) /* chunks upwards from the first */

/*
 * A run of the timed model (SPEC.md section 8.1): what a TIMED descriptor points to, read
 * once. `params` are the machine's, by t3_timed_param_id; their ranges and usual values are
 * that section's. What it refuses as a whole, a run that is too large for one, has the detail of
 * `rows`. With experts, ranks * experts counts of 4 bytes follow: the rows that the tokens of each
 * rank send to each expert, rank by rank. `rows` is their sum.
 */
struct t3_timed_args {
	uint32_t program;	/* t3_timed_program */
	uint32_t flags;		/* T3_TIMED_* */
	uint32_t ranks;		/* 2 .. T3_MAX_RANKS; not MIRRORED: of the fabric, all of them */
	uint32_t element_bytes; /* 1, 2, 4 or 8 */
	uint64_t rows;		/* of the output */
	uint64_t columns;	/* of the output */
	uint64_t depth;		/* K of one device */
	uint64_t chunks;	/* t3_timed_chunks */
	uint32_t collective;	/* t3_timed_collective */
	uint32_t nodes;		/* 0 or 1: none; else a divisor of ranks, see NODE_LINK_GBPS */
	uint32_t experts;	/* of all ranks, at most T3_TIMED_MAX_EXPERTS; 0: no routing */
	uint32_t way;		/* t3_timed_way; MBZ without experts */
	uint64_t params[T3_TIMED_PARAMS]; /* of the machine, in the order of section 8.1 */
};

/* one device that is its own neighbour stands for all */
#define T3_TIMED_MIRRORED (1u << 0)

/* How the output is cut in chunks, one for each rank. SPEC.md section 8.1 has AUTO's rule. */
enum t3_timed_chunks {
	T3_TIMED_CHUNKS_AUTO = 0,    /* whatever computes and reads least */
	T3_TIMED_CHUNKS_ROWS = 1,    /* blocks of rows */
	T3_TIMED_CHUNKS_COLUMNS = 2, /* blocks of columns */
};

/* What follows the GEMM. N: ranks. */
enum t3_timed_collective {
	T3_TIMED_COLLECTIVE_ALL_REDUCE = 0,     /* reduce-scatter, then all-gather */
	T3_TIMED_COLLECTIVE_REDUCE_SCATTER = 1, /* each rank ends with the sum of one chunk */
	T3_TIMED_COLLECTIVE_ALL_GATHER = 2,     /* each rank computes one chunk, ends with all */
	T3_TIMED_COLLECTIVE_ALL_TO_ALL = 3,     /* each rank sends one chunk to each other */
	T3_TIMED_COLLECTIVES = 4,    /* number of them */
};

/* The GEMM of experts: rows go back to their tokens' ranks after it, or come before it. */
enum t3_timed_way {
	T3_TIMED_COMBINE = 0,  /* rows of `columns` elements go back after it */
	T3_TIMED_DISPATCH = 1, /* rows of `depth` elements come before it */
};

enum t3_timed_program {
	T3_TIMED_SEQUENTIAL = 0, /* GEMM, then its collective, run by compute units */
	T3_TIMED_RS_NMC = 1,	 /* ring reduce-scatter with near-memory updates, alone */
	T3_TIMED_T3 = 2,	 /* GEMM fused with its collective, round-robin */
	T3_TIMED_T3_MCA = 3,	 /* with communication-aware arbitration */
	T3_TIMED_T3_MCA_AG = 4,	 /* the all-gather is triggered, too, tile by tile */
	T3_TIMED_DIRECT = 5,	 /* direct reduce-scatter on a full fabric, MCA; all-gather */
	T3_TIMED_ALONE = 6,	 /* the collective alone, run by compute units */
	T3_TIMED_SHARED = 7,	 /* GEMM beside an independent reduce-scatter; all-gather */
	T3_TIMED_PROGRAMS = 8, /* number of them */
};

enum t3_timed_param_id {
	T3_TIMED_PARAM_COMPUTE_UNITS = 0, /* number of them */
	T3_TIMED_PARAM_CLOCK_MHZ = 1, /* of a compute unit */
	T3_TIMED_PARAM_FLOPS_PER_CLOCK = 2, /* of one unit, f16; n bytes: 2/n of it */
	T3_TIMED_PARAM_COMPUTE_PERCENT = 3, /* share of that rate which the main loop reaches */
	T3_TIMED_PARAM_GROUPS_PER_UNIT = 4, /* workgroups that a unit holds */
	T3_TIMED_PARAM_UNIT_STORE_GBPS = 5, /* rate of one unit's stores, GB/s */
	/* 1: workgroups are dispatched stage by stage, 0: singly */
	T3_TIMED_PARAM_STAGE_BARRIER = 6,
	T3_TIMED_PARAM_TILE_ROWS = 7, /* of a workgroup's tile */
	T3_TIMED_PARAM_TILE_COLUMNS = 8, /* of a workgroup's tile */
	T3_TIMED_PARAM_K_BLOCK = 9, /* depth that is loaded at once */
	T3_TIMED_PARAM_RASTER_ROWS = 10, /* tile rows that are walked together */
	T3_TIMED_PARAM_CACHE_KIB = 11, /* last-level cache, KiB */
	T3_TIMED_PARAM_CACHE_WAYS = 12, /* its associativity */
	T3_TIMED_PARAM_CACHE_GBPS = 13, /* its rate, GB/s */
	T3_TIMED_PARAM_CACHE_LATENCY_NS = 14, /* of a hit, ns */
	/* a tracked piece of a tile, cache block, request and packet */
	T3_TIMED_PARAM_REQUEST_BYTES = 15,
	T3_TIMED_PARAM_MEMORY_GBPS = 16, /* of all channels, GB/s */
	T3_TIMED_PARAM_MEMORY_LATENCY_NS = 17, /* of a read, ns */
	T3_TIMED_PARAM_MEMORY_CHANNELS = 18, /* number of them */
	T3_TIMED_PARAM_QUEUE_ENTRIES = 19, /* of a channel */
	T3_TIMED_PARAM_ENTRY_BYTES = 20, /* that one of them stands for */
	T3_TIMED_PARAM_TURNAROUND_NS = 21, /* from reads to writes or back, ns */
	T3_TIMED_PARAM_RUN_KIB = 22, /* served in one direction while the other waits, KiB */
	T3_TIMED_PARAM_ROW_CONFLICT_NS = 23, /* when the streams alternate, ns */
	T3_TIMED_PARAM_UPDATE_PERCENT = 24, /* time of an update, of a write's */
	/* entries in use from which communication waits, at high intensity */
	T3_TIMED_PARAM_THRESHOLD_HIGH = 25,
	T3_TIMED_PARAM_THRESHOLD_MIDDLE = 26, /* the same at middle intensity */
	T3_TIMED_PARAM_THRESHOLD_LOW = 27, /* the same at low intensity */
	/* from this percentage of the memory's time in the first stage */
	T3_TIMED_PARAM_INTENSITY_HIGH = 28,
	T3_TIMED_PARAM_INTENSITY_MIDDLE = 29, /* the same for middle */
	T3_TIMED_PARAM_INTENSITY_LOW = 30, /* the same for low; below it there is no threshold */
	T3_TIMED_PARAM_STARVATION_NS = 31, /* communication is admitted once in this time, ns */
	T3_TIMED_PARAM_LINK_GBPS = 32, /* each direction, GB/s */
	T3_TIMED_PARAM_LINK_LATENCY_NS = 33, /* ns */
	/* stores that wait for the link before workgroups do, KiB */
	T3_TIMED_PARAM_LINK_QUEUE_KIB = 34,
	T3_TIMED_PARAM_DMA_TILES = 35, /* pieces of a triggered block */
	T3_TIMED_PARAM_DMA_READ_AHEAD_KIB = 36, /* KiB */
	/* what one compute unit has under way in a collective, KiB */
	T3_TIMED_PARAM_COPY_UNIT_KIB = 37,
	T3_TIMED_PARAM_TRACKER_ENTRIES = 38, /* of the device */
	T3_TIMED_PARAM_TRACKER_WAYS = 39, /* its associativity */
	T3_TIMED_PARAM_TRACKER_RECORD_BYTES = 40, /* of a record in memory */
	T3_TIMED_PARAM_COLLECTIVE_UNITS = 41, /* compute units that run a collective */
	T3_TIMED_PARAM_COPY_UNIT_GBPS = 42, /* rate of one of them, GB/s */
	T3_TIMED_PARAM_NODE_LINK_GBPS = 43, /* of a device's link to other nodes, GB/s */
	T3_TIMED_PARAM_NODE_LINK_LATENCY_NS = 44, /* of that link, ns */
};

/* In the order in which they end. In SHARED, GEMM may end before, between or after 1 and 2. */
enum t3_timed_phase {
	T3_TIMED_GEMM = 0,
	T3_TIMED_REDUCE_SCATTER = 1,
	T3_TIMED_NODE_REDUCE_SCATTER = 2, /* over the nodes; only if there are several */
	T3_TIMED_NODE_ALL_GATHER = 3,
	T3_TIMED_ALL_GATHER = 4, /* or the all-to-all */
	T3_TIMED_PHASES = 5, /* number of them */
};

enum t3_timed_bytes {
	T3_TIMED_GEMM_READ = 0,
	T3_TIMED_GEMM_WRITE = 1,
	T3_TIMED_RS_READ = 2,
	T3_TIMED_RS_WRITE = 3, /* the baseline's stores, or T3's updates */
	T3_TIMED_AG_READ = 4,  /* or of an all-to-all */
	T3_TIMED_AG_WRITE = 5, /* or of an all-to-all */
	T3_TIMED_TRACKER_READ = 6,
	T3_TIMED_TRACKER_WRITE = 7,
	T3_TIMED_BYTES = 8, /* number of them */
};

/* Of one device in one run. ps: virtual picoseconds from its start. */
struct t3_timed_counters {
	uint64_t end;			     /* ps; when the last phase was over */
	uint64_t phase_end[T3_TIMED_PHASES]; /* ps; 0: not in this program */
	uint64_t memory_bytes[T3_TIMED_BYTES]; /* by t3_timed_bytes */
	uint64_t memory_busy;	 /* ps */
	uint64_t memory_turns;	 /* changes of direction */
	uint64_t queue_peak;	 /* entries of a channel */
	uint64_t queue_entry_ps; /* integral of the entries in use over time */
	uint64_t starved;	 /* requests that the starvation limit admitted */
	uint64_t threshold;	 /* of the arbiter, as chosen */
	uint64_t intensity;	 /* per mille of the memory's time, in the first stage */
	uint64_t compute_busy;	 /* ps, summed over the compute units */
	uint64_t groups;	 /* workgroups computed */
	uint64_t cache_hits;
	uint64_t cache_misses;
	uint64_t link_bytes;
	uint64_t link_messages;
	uint64_t link_busy;   /* ps */
	uint64_t link_stalls; /* workgroups that had to wait to store */
	uint64_t received_bytes; /* from both links */
	uint64_t triggers; /* DMA blocks started by a trigger */
	uint64_t tracker_updates;
	uint64_t tracker_allocs;
	uint64_t tracker_spills;
	uint64_t tracker_fills;
	uint64_t tracker_live;
	uint64_t tracker_peak;
	uint64_t node_link_bytes; /* to other nodes; not in link_bytes */
	uint64_t node_link_messages;
	uint64_t node_link_busy; /* ps */
};

/* Written to dst before the descriptor is completed. */
struct t3_timed_result {
	uint64_t start;	 /* virtual ns of the fabric, for all ranks the same */
	uint64_t events; /* of the model, of all devices */
	uint32_t flags;	 /* T3_TIMED_HOST_PACED */
	uint32_t rank; /* of the device */
	uint64_t mbz;
	struct t3_timed_counters counters; /* of the device at this rank */
};

/* a CPU stored to a space, rang a doorbell or gave a command within the run */
#define T3_TIMED_HOST_PACED (1u << 0)

#define T3_DESCRIPTOR_STATUS_LIST(X, p) \
	X(p, OK, 0)             /* done */ \
	/* opcode, flag, enum or MBZ field; detail: byte offset in it, in what src leads to: */ \
	/* + 64 */ \
	X(p, BAD_DESCRIPTOR, 1) \
	X(p, BAD_RANGE, 2)      /* outside device memory or the fences; detail: address */ \
	X(p, HOST_DMA, 3)       /* host memory could not be accessed; detail: bus address */ \
	X(p, POISON, 4)         /* poisoned device memory; detail: address */ \
	X(p, SPACE, 5) /* no such space or generation, not ARMED; detail: t3_space_state */ \
	X(p, FAULT, 6)          /* the stores faulted the space; detail: t3_fault_kind */ \
	X(p, ABORTED, 7)        /* by QUEUE_ABORT */ \
	/* tail was moved beyond head + entries; a state of the queue, never in a completion */ \
	X(p, OVERRUN, 8) \
	X(p, DTYPE, 9)          /* GEMM into a segment of another dtype; detail: segment */ \
	X(p, MEMORY, 10)        /* TIMED: the emulator has no memory for the run; detail: 0 */ \
	X(p, GANG, 11) /* TIMED: another rank of the run has left it; detail: that rank */

enum t3_descriptor_status { T3_DESCRIPTOR_STATUS_LIST(T3_ENUMERATOR, T3_DESC_) };

/*
 * 32 bytes in host memory. Descriptor i (counted from CREATE) is completed at
 * completions[i % entries]; `word` is written last, in one store.
 */
struct t3_completion {
	uint64_t cookie; /* of the descriptor */
	uint64_t detail; /* see t3_descriptor_status */
	uint64_t vtime;	 /* virtual ns */
	/*
	 * index in [31:0], t3_descriptor_status in [47:32], phase in [48]; written last, in
	 * one store
	 */
	uint64_t word;
};

/* index: i mod 2^32. phase: 1 in the first pass over the ring, 0 in the second, ... */
#define T3_COMPLETION_WORD(index, status, phase) \
	((uint64_t)(index) | (uint64_t)(status) << 32 | (uint64_t)(phase) << 48)

/* ------------------------------------------------------- links and injection */

struct t3_cmd_link_query {
	uint32_t peer_rank; /* the link from this device to that rank */
	uint32_t flags;	    /* out: T3_LINK_* */
	uint32_t unanswered; /* out: packets sent and not answered */
	uint32_t retries;    /* out: retransmissions in a row without progress */
	uint32_t waiting_segments; /* out: segments with ready tiles */
	uint32_t waiting_control;  /* out: control packets that wait */
	uint64_t next;		   /* out: sequence number of the next packet */
	uint32_t incarnation;	   /* out */
	uint32_t mbz;
};

#define T3_LINK_DOWN (1u << 0) /* injected: nothing arrives */

#define T3_INJECT_LIST(X, p) \
	X(p, DROP, 1, "drop")                   /* link: packet is lost */ \
	X(p, DUPLICATE, 2, "duplicate")         /* link: packet arrives twice */ \
	X(p, CORRUPT, 3, "corrupt") /* link: packet arrives with a wrong checksum: dropped */ \
	X(p, REORDER, 4, "reorder")             /* link: packet arrives behind its successor */ \
	X(p, DELAY, 5, "delay") /* link: packet and all behind it arrive `value` ns later */ \
	X(p, DROP_RESPONSE, 6, "drop-response") /* link: the response to a packet is lost */ \
	X(p, LINK_DOWN, 7, "link-down")         /* link: nothing arrives until LINK_UP */ \
	X(p, LINK_UP, 8, "link-up")             /* link: ends LINK_DOWN */ \
	X(p, LINK_RANDOM, 9, "link-random") /* link: each of 1 to 6 at nth / 65536; seed: value */ \
	X(p, POISON, 10, "poison")              /* memory [address, address + value) */ \
	X(p, UNPOISON, 11, "unpoison")          /* memory: the same; value 0: all */ \
	X(p, LOSE_IRQ, 12, "lose-irq")          /* interrupts are not sent */ \
	X(p, FAIL_DMA, 13, "fail-dma")          /* accesses to host memory fail */ \
	/* queue `peer` makes no progress until QUEUE_ABORT or UNHANG */ \
	X(p, HANG_QUEUE, 14, "hang-queue") \
	X(p, UNHANG_QUEUE, 15, "unhang-queue")  /* queue `peer` goes on */ \
	/* the switch's port of `rank`; T3_SWITCH_RANK: the whole switch */ \
	X(p, PORT_RESET, 16, "port-reset")

enum t3_inject_kind {
	T3_INJECT_LIST(T3_ENUMERATOR, T3_INJECT_)
	T3_INJECT_KIND_COUNT
};

/*
 * INJECT. Kinds 1 to 6, 12 and 13 hit events number nth, nth + 1, ... nth + count - 1
 * from now on (1: the next). A new injection of a kind at a place replaces the old one;
 * nth = 0 takes it away. What a kind does not use MBZ.
 */
struct t3_cmd_inject {
	uint32_t kind;	  /* t3_inject_kind */
	uint32_t rank;	  /* the device; link: its source. From the guest: the own rank */
	uint32_t peer;	  /* link: its destination; queues: the queue */
	uint32_t nth;	  /* 1 ..; 0: cancel; LINK_RANDOM: 0 .. 65535 */
	uint32_t count;	  /* 1 .. */
	uint32_t mbz;
	uint64_t address; /* POISON: multiple of T3_POISON_GRANULE */
	uint64_t value;	  /* POISON: bytes, multiple of T3_POISON_GRANULE */
};

/*
 * INJECT_TEXT. kind 0: injects what the text says (SPEC.md section 12.2), at the own rank; if it
 * is refused, text is the sentence that says why. Another kind: text is what that kind takes.
 */
struct t3_cmd_inject_text {
	uint32_t kind; /* 0, or t3_inject_kind to be described */
	uint32_t mbz;
	uint8_t text[T3_INJECT_TEXT]; /* with a zero byte at its end */
};

#define T3_POISON_GRANULE 64u /* bytes */
#define T3_POISON_RANGES  16u /* per device */

/* ------------------------------------------------------------------- fabric */

#define T3_PACKET_TYPE_LIST(X, p) \
	X(p, UPDATE, 1)    /* length bytes of one row of a segment */ \
	X(p, ARM_QUERY, 2) /* source asks its target for its state */ \
	X(p, STATE, 3)     /* target tells a source its state: arg = t3_space_state */ \
	X(p, POISON, 4)    /* source tells its target that it has faulted or gone */ \
	X(p, CLAIM, 5)     /* source shows its target the key of an import entry */ \
	X(p, DONE, 6)      /* source tells a group that it has sent all of the epoch */

enum t3_packet_type { T3_PACKET_TYPE_LIST(T3_ENUMERATOR, T3_PKT_) };

/*
 * For STATE the packet travels from the granting space (target of updates) to
 * the source of updates: src_* and dst_* name sender and receiver of this
 * packet; the receiver looks the sender and `import` up in its route table.
 */
struct t3_packet {
	uint8_t type; /* t3_packet_type */
	uint8_t op;    /* UPDATE: t3_op */
	uint8_t dtype; /* UPDATE: t3_dtype */
	uint8_t more; /* UPDATE of the switch: contributions in it beyond the first; else 0 */
	uint16_t src_rank; /* of this packet's sender */
	uint16_t dst_rank; /* of its receiver */
	uint32_t src_space; /* at the sender */
	uint32_t src_generation; /* of that space */
	uint32_t dst_space; /* at the receiver */
	uint32_t dst_generation; /* of that space */
	/* UPDATE, ARM_QUERY: of the source; STATE, POISON: section 6.2; CLAIM: word 0 of the key */
	uint32_t epoch;
	uint16_t import;      /* index in the import table of the space that receives updates */
	uint16_t segment;     /* UPDATE: of the target */
	uint32_t row;	      /* UPDATE: in the target segment; CLAIM: word 1 */
	uint32_t col;	      /* UPDATE: byte in that row; CLAIM: word 2 */
	uint32_t length;      /* UPDATE: payload bytes, a multiple of the element size; else 0 */
	/* STATE: t3_space_state; CLAIM: word 3; UPDATE: bytes of each row of a burst of several */
	uint32_t arg;
	uint32_t incarnation; /* of the link */
	uint32_t sequence;    /* of the link */
	uint16_t src_segment; /* UPDATE: of the source; CLAIM: a serial number; for the response */
	uint16_t reserved;
	uint32_t reserved2;
};

/* ------------------------------------------------------------------- layout */

#ifdef __KERNEL__
#define T3_HW_ASSERT(cond) static_assert(cond)
#elif defined(__cplusplus)
#define T3_HW_ASSERT(cond) static_assert(cond, #cond)
#else
#define T3_HW_ASSERT(cond) _Static_assert(cond, #cond)
#endif

T3_HW_ASSERT(sizeof(struct t3_tile_record) == 16);
T3_HW_ASSERT(sizeof(struct t3_fault_record) == 40);
T3_HW_ASSERT(sizeof(struct t3_event_area) == 4096);
T3_HW_ASSERT(offsetof(struct t3_event_area, fault) == 24);
T3_HW_ASSERT(offsetof(struct t3_event_area, segment) == 64);
T3_HW_ASSERT(offsetof(struct t3_event_area, consumed) == 576);
T3_HW_ASSERT(sizeof(struct t3_cmd_space_create) == 56);
T3_HW_ASSERT(sizeof(struct t3_cmd_space) == 24);
T3_HW_ASSERT(sizeof(struct t3_cmd_index) == 8);
T3_HW_ASSERT(sizeof(struct t3_cmd_seg_map) == 72);
T3_HW_ASSERT(offsetof(struct t3_cmd_seg_map, offset) == 16);
T3_HW_ASSERT(sizeof(struct t3_cmd_seg_staging) == 32);
T3_HW_ASSERT(sizeof(struct t3_cmd_seg_widen) == 24);
T3_HW_ASSERT(sizeof(struct t3_cmd_seg_stats) == 88);
T3_HW_ASSERT(offsetof(struct t3_event_area, ring) == 1600);
T3_HW_ASSERT(sizeof(struct t3_cmd_queue_create) == 32);
T3_HW_ASSERT(sizeof(struct t3_cmd_queue) == 32);
T3_HW_ASSERT(sizeof(struct t3_cmd_fence_set) == 16);
T3_HW_ASSERT(sizeof(struct t3_cmd_link_query) == 40);
T3_HW_ASSERT(sizeof(struct t3_cmd_key_set) == 40);
T3_HW_ASSERT(sizeof(struct t3_cmd_route_claim) == 40);
T3_HW_ASSERT(sizeof(struct t3_cmd_route_query) == 24);
T3_HW_ASSERT(sizeof(struct t3_cmd_group_create) == 32);
T3_HW_ASSERT(sizeof(struct t3_cmd_group_member) == 56);
T3_HW_ASSERT(sizeof(struct t3_cmd_group) == 16);
T3_HW_ASSERT(sizeof(struct t3_cmd_group_query) == 88);
T3_HW_ASSERT(sizeof(struct t3_cmd_switch_query) == 104);
T3_HW_ASSERT(sizeof(struct t3_cmd_inject) == 40);
T3_HW_ASSERT(sizeof(struct t3_cmd_inject_text) == T3_MAILBOX_SIZE);
T3_HW_ASSERT(sizeof(struct t3_cmd_tile_query) == 56);
T3_HW_ASSERT(sizeof(struct t3_descriptor) == 64);
T3_HW_ASSERT(offsetof(struct t3_descriptor, space) == 48);
T3_HW_ASSERT(sizeof(struct t3_gemm) == 64);
T3_HW_ASSERT(offsetof(struct t3_gemm, group_rows) == 44);
T3_HW_ASSERT(sizeof(struct t3_timed_args) == 64 + 8 * T3_TIMED_PARAMS);
T3_HW_ASSERT(sizeof(struct t3_timed_counters) == 320);
T3_HW_ASSERT(sizeof(struct t3_timed_result) == 32 + 320);
T3_HW_ASSERT(sizeof(struct t3_completion) == 32);
T3_HW_ASSERT(sizeof(struct t3_cmd_route_set) == 24);
T3_HW_ASSERT(sizeof(struct t3_cmd_import_set) == 32);
T3_HW_ASSERT(sizeof(struct t3_packet) == 64);
T3_HW_ASSERT(offsetof(struct t3_packet, row) == 32);
T3_HW_ASSERT(T3_REG_COUNTERS + 8 * T3_COUNTER_COUNT <= T3_REG_FENCE);
T3_HW_ASSERT(sizeof(struct t3_cmd_seg_stats) <= T3_MAILBOX_SIZE);

#endif /* T3_HW_H */
