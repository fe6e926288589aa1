/* SPDX-License-Identifier: MIT */
/*
 * Room check: checks what a program stores to its spaces, before the device sees it. This header is
 * not installed. The room is no part of libt3, but a shared object that libt3 loads for
 * T3_DEBUG=check. It uses copies of those functions of space and device that have no state. For all
 * else libt3 calls it by struct t3_hooks. So it works the same for libt3.so and libt3.a.
 *
 * The program gets a second mapping of its aperture, which is read-only. A store to it traps. The
 * checker decodes it, judges it, and makes it on the real mapping. libt3's own stores are judged
 * without a trap. One lock guards all state. A trap may take it, because the lock's holder never
 * stores to the aperture.
 *
 * The checker does not catch:
 *  - reads of remote segments, for which the device raises a fault;
 *  - updates by GEMM jobs and peers;
 *  - staging images that are filled without t3_stage_tile();
 *  - stores by system calls, which fail with EFAULT;
 *  - stores after the program has replaced the handler of SIGSEGV, or by threads that block it.
 *
 * Of a tile that a producer has staged in part, all bytes count as missing, because none has been
 * applied. t3_producer_missing() is exact there. A setcc to memory is reported as no plain move,
 * although a device would accept it.
 */
#ifndef T3_CHECK_CHECK_H
#define T3_CHECK_CHECK_H

#include "space/space.h"

#define CHECK_GRANTS 64u
#define CHECK_NONE   UINT64_MAX

enum check_mistake {
	CHECK_RIGHT = 0,
	CHECK_OUTSIDE, /* beyond the space's end */
	CHECK_NOT_ARMED,
	CHECK_UNMAPPED, /* between two segments */
	CHECK_PADDING,	/* between two rows */
	CHECK_ROW_END,	/* over the end of a row */
	CHECK_NARROW,	/* part of an element */
	CHECK_MISALIGNED,
	CHECK_TILE_CROSS, /* over a tile's edge */
	CHECK_TWICE,	  /* more often than this process's share */
	CHECK_NO_MOVE,	  /* not a plain move of 1 to 8 bytes */
	CHECK_BAD_DOORBELL,
	CHECK_NOT_STAGED,   /* the doorbell\'s tile was not staged */
	CHECK_STAGED_EARLY, /* again, before the device has consumed it */
	CHECK_ARM,	    /* while another epoch is not complete */
	CHECK_RELEASE,
	CHECK_MISSING, /* the wait or the space ends, and bytes are missing */
};

/* One thing that the program did: by which code, and at which place of the space. */
struct check_event {
	enum check_mistake mistake;
	const char *what; /* "mov", "t3_store_tile()" */
	const void *code; /* the instruction, or the call's return address */
	bool exact;	  /* the instruction */
	uint64_t offset;  /* in the space; CHECK_NONE: none */
	uint32_t width;
	uint32_t state, epoch; /* of the space */
	uint32_t segment;      /* T3_SEGMENTS: none */
	uint64_t tile;	       /* CHECK_NONE: none */
	uint32_t row, col;
	uint32_t slot;
	const void *earlier; /* code that stored there before, or NULL */
};

/* A tile in a staging slot. ring: the number of its last doorbell, from 1 on; 0 for none. */
struct check_stage {
	uint32_t ring;
	bool staged;
};

struct check_segment {
	bool mapped;
	uint32_t kind; /* enum drm_t3_segment_kind */
	struct t3_segment_desc desc;
	unsigned char *image; /* of slot 0; NULL: no staging */
	uint64_t stride;
	uint32_t slots;
	uint32_t rung[T3_SLOTS];   /* doorbells since `base` */
	uint32_t base[T3_SLOTS];   /* doorbells consumed before `rung` began at 0 */
	struct check_stage *stage; /* one tile for each slot, slot by slot */
};

struct t3_check {
	struct t3_space *space;
	uintptr_t shown; /* the aperture as the program knows it */
	uint64_t size;
	volatile unsigned char *real;
	uint32_t rank;
	uint32_t epoch, generation; /* the epoch of the counts */
	uint32_t said;		    /* the epoch whose missing stores were reported */
	bool jobs;		    /* jobs also write here */
	unsigned char *count;	    /* number of stores of each byte */
	const void **last;	    /* code that stored last to each 8 bytes */
	struct check_segment segment[T3_SEGMENTS];
	struct {
		uint32_t grant;
		uint64_t mask;
	} grants[CHECK_GRANTS];
};

#pragma GCC visibility push(hidden)

/* ------------------------------------ what struct t3_hooks leads to, file by file */

/* trap.c: installs the handler of SIGSEGV, and tries it. Returns NULL, or why it does not work. */
const char *t3_check_begin(bool goes_on);
/* check.c */
int t3_check_create(struct t3_space *space, uint64_t aperture_offset);
void t3_check_destroy(struct t3_space *space);
void t3_check_reset(struct t3_space *space);
void t3_check_map(struct t3_space *space, const struct t3_segment_desc *desc, uint32_t kind);
void t3_check_unmap(struct t3_space *space, uint32_t segment);
void t3_check_stage_in(struct t3_space *space, uint32_t segment, const struct t3_staging *staging);
void t3_check_grant(struct t3_space *space, uint32_t grant, uint64_t segment_mask);
void t3_check_job(const struct t3_space *space);
/* judge.c */
bool t3_check_store(volatile void *dst, const void *src, size_t bytes, bool single,
		    const struct t3_caller *caller);
/* tile.c */
void t3_check_stage(const struct t3_view *view, uint64_t tile, const void *code);
bool t3_check_doorbell(struct t3_space *space, uint32_t segment, uint32_t slot, uint32_t tile,
		       const struct t3_caller *caller);
/* epoch.c */
bool t3_check_arm(struct t3_space *space, const void *code);
bool t3_check_release(struct t3_space *space, uint32_t epoch, const void *code);
void t3_check_timeout(struct t3_space *space, uint32_t epoch, uint64_t mask, const void *code);
void t3_check_unfinished(struct t3_space *space, const char *what, const void *code);

/* --------------------------------------------------------- between its own files */

void t3_check_lock(void);
void t3_check_unlock(void);
/* After a report, without the lock: ends the process, unless T3_DEBUG has `continue`. */
void t3_check_end(void);
extern bool t3_check_goes_on;

/* The functions below need the lock. Returns the space that shows this address, or NULL. */
struct t3_check *t3_check_find(uintptr_t address);
/* Return the next space from *index on, or NULL. */
struct t3_check *t3_check_next(uint32_t *index);
/* Read the event area, and clear the stores when the epoch is new. */
void t3_check_update_epoch(struct t3_check *check);
/* Read state and epoch from the event area. */
void t3_check_now(const struct t3_check *check, struct check_event *event);
/* Find segment, row, byte and tile of an event. A result other than RIGHT: no such place. */
enum check_mistake t3_check_place(const struct t3_check *check, struct check_event *event);
/* Return how often this process may store each byte of a segment in an epoch. */
uint32_t t3_check_share(const struct t3_check *check, uint32_t segment);
void t3_check_report(const struct t3_check *check, const struct check_event *event);
void t3_check_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void t3_check_flush(void);

/* Judge, report or make a store. Called without the lock. */
void t3_check_one(struct t3_check *check, struct check_event *event, uint64_t value);

/* Write one line about an address: function, object, offset, and the source line if it is known. */
void t3_symbol_text(const void *address, bool exact, char *text, size_t size);

#pragma GCC visibility pop

#endif /* T3_CHECK_CHECK_H */
