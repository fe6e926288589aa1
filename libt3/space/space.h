/* SPDX-License-Identifier: MIT */
/*
 * Room space: output address spaces, their segments, stores to them and waits for them. It uses
 * device. Plans use its public functions. The checker of T3_DEBUG=check uses this header, and
 * learns of each space by struct t3_hooks. Not installed.
 */
#ifndef T3_SPACE_SPACE_H
#define T3_SPACE_SPACE_H

#include "device/device.h"

struct t3_space {
	pid_t maker; /* as of struct t3_buffer */
	int fd;	     /* of the device, not owned */
	uint32_t handle;
	uint64_t size;
	volatile unsigned char *aperture;
	volatile unsigned char *doorbell;
	const volatile struct drm_t3_event_area *events;
	bool emulated; /* on an emulated processor: see t3_pause() */
	_Atomic uint64_t spin_ns;
	_Atomic uint64_t mapped; /* bit per segment */
	_Atomic uint64_t local;	 /* the segments that survive a reset */
	struct t3_check *check;	 /* the checker's data; NULL without a checker */
};

/* geometry.c: whether elements of dtype have the op, on any device. Any values. */
bool t3_dtype_has(uint32_t dtype, uint32_t op);

/* The call of the program that makes stores. */
struct t3_caller {
	const char *what; /* "t3_store_tile()" */
	const void *code; /* the call's return address */
};

/* The images of a segment's staging slots, `stride` bytes apart. */
struct t3_staging {
	unsigned char *image; /* of slot 0 */
	uint64_t stride;
	uint32_t slots; /* 0: no staging */
};

/*
 * The calls to the checker, which fills in all of them. The checker is a shared object of its own
 * (libt3-check.so.0), which exports the table as T3_HOOKS_NAME.
 */
struct t3_hooks {
	char version[16];    /* of libt3: another version has other structs */
	uint32_t size;	     /* of this struct */
	uint32_t space_size; /* of struct t3_space */

	/*
	 * Called before the first space exists. goes_on: go on after a report. Returns NULL, or why
	 * it cannot work here.
	 */
	const char *(*begin)(bool goes_on);

	/* --- life. An aperture that is shown instead of the space's own is a matter of these. */
	int (*create)(struct t3_space *space, uint64_t aperture_offset);
	void (*destroy)(struct t3_space *space);
	/* Before a reset or a destroy: report an epoch that was begun and not finished. */
	void (*unfinished)(struct t3_space *space, const char *what, const void *code);

	/* --- what was changed */
	void (*reset)(struct t3_space *space);
	void (*map)(struct t3_space *space, const struct t3_segment_desc *desc, uint32_t kind);
	void (*unmap)(struct t3_space *space, uint32_t segment);
	void (*stage_in)(struct t3_space *space, uint32_t segment,
			 const struct t3_staging *staging);
	void (*grant)(struct t3_space *space, uint32_t grant, uint64_t segment_mask); /* 0: none */
	void (*job)(const struct t3_space *space);

	/*
	 * Check and make one store of at most 8 bytes, or a run that is split as t3_store() does.
	 * False: dst is in no checked space.
	 */
	bool (*store)(volatile void *dst, const void *src, size_t bytes, bool single,
		      const struct t3_caller *caller);
	void (*stage)(const struct t3_view *view, uint64_t tile, const void *code);

	/* --- false: it was wrong, and is not to be made */
	bool (*doorbell)(struct t3_space *space, uint32_t segment, uint32_t slot, uint32_t tile,
			 const struct t3_caller *caller);
	bool (*arm)(struct t3_space *space, const void *code);
	bool (*release)(struct t3_space *space, uint32_t epoch, const void *code);

	void (*timeout)(struct t3_space *space, uint32_t epoch, uint64_t mask, const void *code);
};

#define T3_HOOKS_NAME "t3_check_hooks"

#pragma GCC visibility push(hidden)

/* Bytes of a tile's row from col on, at most up to the tile's edge. */
uint32_t t3_tile_room(const struct t3_segment_desc *desc, uint32_t col);

/* Bytes from the first to the last one of a checked desc, with padding. */
uint64_t t3_desc_extent(const struct t3_segment_desc *desc);

struct t3_producer;

/*
 * Let a producer stage in another image of its segment, at a multiple of 8 of that buffer, while the
 * space is idle. What a put finds in its place there is not copied. NULL and 0: the producer's own
 * image. Errors: -EOPNOTSUPP: it has no image of its own, or the buffer is another device's. Those of
 * t3_staging_bind().
 */
int t3_producer_move(struct t3_producer *producer, struct t3_buffer *buffer, uint64_t offset);
/* Bytes of a tile that were not put in this round. The tile is one of the segment's. */
uint64_t t3_producer_lacks(const struct t3_producer *producer, uint64_t tile);

/* One store of 1, 2, 4 or 8 bytes, aligned. */
void t3_store_one(volatile void *dst, uint64_t value, uint32_t width);

#pragma GCC visibility pop

#endif /* T3_SPACE_SPACE_H */
