// SPDX-License-Identifier: MIT
/*
 * Producers. A put goes to the aperture as tracked stores, or to a staging image with one doorbell
 * for each whole tile.
 *
 * One staging slot is enough for all epochs. The device reads a staged tile of a local or dma
 * segment before the doorbell's store completes. It reads a tile of a remote segment when it makes
 * the packets. But a space is COMPLETE only when each byte sent was acknowledged, so after all
 * packets were made. So no read of the last epoch's image is left in the next epoch. Within an
 * epoch a tile is staged once, because each byte is put once.
 *
 * A caller may still begin too early. `consumed` shows that: the device counts a doorbell there
 * when its last route has read the tile.
 */
#include <stdlib.h>
#include <string.h>

#include "space/private.h"
#include "t3_producer.h"

#define SLOT 0u

/*
 * A count of another round than the producer's means 0 bytes. So a begin need not clear the tiles.
 */
struct tile_count {
	uint32_t round;
	uint32_t bytes;
};

struct t3_producer {
	struct t3_space *space;
	struct t3_view view; /* the segment in the aperture, or its staging image */
	struct t3_buffer *own;
	uint64_t tiles;
	uint64_t put;	 /* bytes put in this round */
	uint32_t across; /* tiles in a row of tiles */
	uint32_t path;
	uint32_t round;
	uint32_t rung;	     /* doorbells since the last reset, modulo 2^32 */
	uint32_t generation; /* of the space: a reset clears the consumed counts */
	struct tile_count count[];
};

/* The rest of a tile's row, from a byte on. */
struct part {
	uint32_t tile;
	uint32_t room;
	uint32_t whole; /* bytes of the tile */
};

/* ---------------------------------------------------------- create, destroy */

static uint32_t stores_of_a_tile(const struct t3_segment_desc *desc)
{
	return desc->tile_rows * ((desc->tile_row_bytes + 7) / 8);
}

static int stage_in(struct t3_producer *p, struct t3_buffer *buffer, uint64_t offset)
{
	const struct t3_segment_desc *desc = &p->view.desc;
	uint64_t stride = (t3_desc_extent(desc) + 7) & ~UINT64_C(7);
	void *ptr;
	int ret;

	ret = t3_buffer_map(buffer, &ptr);
	if (ret)
		return ret;
	ret = t3_staging_bind(p->space, desc->segment, buffer, offset, stride, 1);
	if (ret)
		return ret;
	p->view.base = (unsigned char *)ptr + offset;
	p->path = T3_PATH_DOORBELL;
	return 0;
}

static int stage_in_own(struct t3_producer *p, struct t3_device *dev)
{
	int ret = t3_buffer_create(dev, t3_desc_extent(&p->view.desc), &p->own);

	if (ret)
		return ret;
	ret = stage_in(p, p->own, 0);
	if (ret) {
		t3_buffer_destroy(p->own);
		p->own = NULL;
	}
	return ret;
}

static int choose_path(struct t3_producer *p, struct t3_device *dev,
		       const struct t3_producer_desc *desc)
{
	bool store = stores_of_a_tile(&p->view.desc) <= T3_PATH_AUTO_STORES ||
		     p->view.desc.tile_rows > DRM_T3_STAGED_ROWS_MAX;
	int ret;

	p->path = T3_PATH_STORE;
	if (desc->path == T3_PATH_STORE || (desc->path == T3_PATH_AUTO && store))
		return 0;
	ret = desc->staging ? stage_in(p, desc->staging, desc->staging_offset)
			    : stage_in_own(p, dev);
	if (desc->path == T3_PATH_AUTO && (ret == -ENOSPC || ret == -EDQUOT || ret == -EOPNOTSUPP))
		return 0;
	return ret;
}

static void note_generation(struct t3_producer *p)
{
	p->generation = t3_load32(&p->space->events->generation);
	p->rung = t3_slot_consumed(p->space, p->view.desc.segment, SLOT);
}

static int check_desc(const struct t3_device *dev, const struct t3_space *space,
		      const struct t3_producer_desc *desc)
{
	if (!dev || !space || !desc || dev->fd != space->fd || desc->path > T3_PATH_DOORBELL ||
	    desc->pad || (desc->staging && desc->staging->fd != space->fd))
		return -EINVAL;
	if (desc->staging ? desc->path == T3_PATH_STORE : !!desc->staging_offset)
		return -EINVAL;
	return t3_desc_check(desc->segment);
}

/* Refuse for stores what staging would refuse, too. */
static int check_space(const struct t3_space *space, uint32_t segment)
{
	enum drm_t3_space_state state;

	if (!(atomic_load(&space->mapped) >> segment & 1))
		return -ENOENT;
	t3_poll_state(space, &state, NULL);
	return state == DRM_T3_SPACE_IDLE ? 0 : -EBUSY;
}

int t3_producer_create(struct t3_device *dev, struct t3_space *space,
		       const struct t3_producer_desc *desc, struct t3_producer **out)
{
	struct t3_producer *p;
	uint64_t tiles;
	int ret;

	if (!out)
		return -EINVAL;
	ret = check_desc(dev, space, desc);
	if (!ret)
		ret = check_space(space, desc->segment->segment);
	if (ret)
		return ret;
	tiles = t3_desc_tiles(desc->segment);
	p = calloc(1, sizeof(*p) + tiles * sizeof(p->count[0]));
	if (!p)
		return -ENOMEM;
	p->space = space;
	p->tiles = tiles;
	p->round = 1;
	ret = t3_view_aperture(space, desc->segment, &p->view);
	if (!ret)
		ret = choose_path(p, dev, desc);
	if (ret) {
		free(p);
		return ret;
	}
	p->across = (p->view.desc.row_bytes - 1) / p->view.desc.tile_row_bytes + 1;
	note_generation(p);
	*out = p;
	return 0;
}

int t3_producer_move(struct t3_producer *p, struct t3_buffer *buffer, uint64_t offset)
{
	int ret;

	/* A producer that stores has no image, and a caller's staging is the caller's. */
	if (!p->own || (buffer && buffer->fd != p->space->fd))
		return -EOPNOTSUPP;
	ret = stage_in(p, buffer ? buffer : p->own, offset);
	if (!ret)
		note_generation(p);
	return ret;
}

void t3_producer_destroy(struct t3_producer *p)
{
	if (!p)
		return;
	/* A space that is not idle refuses this. The segment then keeps the buffer. */
	if (p->path == T3_PATH_DOORBELL && t3_is_maker(p->space->maker))
		t3_staging_bind(p->space, p->view.desc.segment, NULL, 0, 0, 0);
	t3_buffer_destroy(p->own);
	free(p);
}

uint32_t t3_producer_path(const struct t3_producer *p)
{
	return p ? p->path : 0;
}

/* ------------------------------------------------------------------- counts */

static struct part part_at(const struct t3_producer *p, uint32_t row, uint32_t col)
{
	const struct t3_segment_desc *desc = &p->view.desc;
	uint32_t down = row / desc->tile_rows, over = col / desc->tile_row_bytes;
	uint32_t rows = desc->rows - down * desc->tile_rows;
	uint32_t wide = desc->row_bytes - over * desc->tile_row_bytes;

	rows = rows < desc->tile_rows ? rows : desc->tile_rows;
	wide = wide < desc->tile_row_bytes ? wide : desc->tile_row_bytes;
	return (struct part){
		.tile = down * p->across + over,
		.room = wide - (col - over * desc->tile_row_bytes),
		.whole = rows * wide,
	};
}

static uint32_t count_of(const struct t3_producer *p, uint64_t tile)
{
	const struct tile_count *count = &p->count[tile];

	return count->round == p->round ? count->bytes : 0;
}

/* Count the bytes, and ring the doorbell when the tile is whole. */
static void add(struct t3_producer *p, const struct part *part, uint32_t bytes,
		const struct t3_caller *caller)
{
	uint32_t sum = count_of(p, part->tile) + bytes;

	p->count[part->tile] = (struct tile_count){ .round = p->round, .bytes = sum };
	p->put += bytes;
	if (p->path != T3_PATH_DOORBELL || sum != part->whole)
		return;
	if (t3_ring_tile(p->space, p->view.desc.segment, SLOT, part->tile, caller))
		p->rung++;
}

int t3_producer_begin(struct t3_producer *p)
{
	if (!p)
		return -EINVAL;
	if (t3_load32(&p->space->events->generation) != p->generation)
		note_generation(p);
	if (p->path == T3_PATH_DOORBELL &&
	    t3_slot_consumed(p->space, p->view.desc.segment, SLOT) != p->rung)
		return -EBUSY;
	p->put = 0;
	if (++p->round)
		return 0;
	/*
	 * Round 0 is skipped, because all counts begin with it. This happens once in 2^32 rounds.
	 */
	memset(p->count, 0, p->tiles * sizeof(p->count[0]));
	p->round = 1;
	return 0;
}

/* ---------------------------------------------------------------------- put */

static int check_run(const struct t3_producer *p, uint32_t row, uint32_t col, uint32_t bytes)
{
	const struct t3_segment_desc *desc = &p->view.desc;
	struct part part;
	uint32_t n;

	if ((col | bytes) % t3_dtype_bytes(desc->dtype))
		return -EINVAL;
	if (row >= desc->rows || col > desc->row_bytes || bytes > desc->row_bytes - col)
		return -ERANGE;
	for (; bytes; bytes -= n, col += n) {
		part = part_at(p, row, col);
		n = part.room < bytes ? part.room : bytes;
		if (n > part.whole - count_of(p, part.tile))
			return -EOVERFLOW;
	}
	return 0;
}

/* Data that lies in the image already is where the device reads it. */
static void stage(volatile unsigned char *to, const unsigned char *from, uint32_t bytes)
{
	if (to != from)
		memcpy((unsigned char *)(uintptr_t)to, from, bytes);
}

int t3_producer_put(struct t3_producer *p, uint32_t row, uint32_t col, const void *src,
		    uint32_t bytes)
{
	const struct t3_caller caller = T3_CALLER("t3_producer_put()");
	const unsigned char *from = src;
	volatile unsigned char *to;
	struct part part;
	uint32_t n;
	int ret;

	if (!p || !src)
		return -EINVAL;
	ret = check_run(p, row, col, bytes);
	if (ret)
		return ret;
	to = p->view.base + (uint64_t)row * p->view.desc.pitch + col;
	for (; bytes; bytes -= n, col += n, from += n, to += n) {
		part = part_at(p, row, col);
		n = part.room < bytes ? part.room : bytes;
		if (p->path == T3_PATH_DOORBELL)
			stage(to, from, n);
		else
			t3_store_row(to, from, n, &caller);
		add(p, &part, n, &caller);
	}
	return 0;
}

static int stage_tile(const struct t3_producer *p, uint64_t index, const struct t3_tile *tile,
		      const void *src, size_t src_pitch)
{
	if (src == p->view.base + tile->offset && src_pitch == p->view.desc.pitch)
		return 0;
	return t3_stage_rows(&p->view, index, src, src_pitch);
}

int t3_producer_put_tile(struct t3_producer *p, uint64_t index, const void *src, size_t src_pitch)
{
	const struct t3_caller caller = T3_CALLER("t3_producer_put_tile()");
	struct t3_tile tile;
	struct part part;
	int ret;

	if (!p || !src)
		return -EINVAL;
	ret = t3_desc_tile(&p->view.desc, index, &tile);
	if (ret)
		return ret;
	if (count_of(p, index))
		return -EOVERFLOW;
	ret = p->path == T3_PATH_DOORBELL ? stage_tile(p, index, &tile, src, src_pitch)
					  : t3_store_rows(&p->view, index, src, src_pitch, &caller);
	if (ret)
		return ret;
	part = (struct part){ .tile = (uint32_t)index, .whole = (uint32_t)tile.bytes };
	add(p, &part, part.whole, &caller);
	return 0;
}

/* --------------------------------------------------------------- what lacks */

uint64_t t3_producer_lacks(const struct t3_producer *p, uint64_t tile)
{
	struct t3_tile t;

	t3_desc_tile(&p->view.desc, tile, &t);
	return t.bytes - count_of(p, tile);
}

uint64_t t3_producer_bytes(const struct t3_producer *p)
{
	return p ? p->put : 0;
}

int t3_producer_missing(const struct t3_producer *p, uint64_t *tile, uint64_t *bytes)
{
	struct t3_tile t;
	uint64_t i;

	if (!p || !tile)
		return -EINVAL;
	if (*tile >= p->tiles)
		return -ERANGE;
	for (i = *tile; i < p->tiles; i++) {
		t3_desc_tile(&p->view.desc, i, &t);
		if (count_of(p, i) == t.bytes)
			continue;
		*tile = i;
		if (bytes)
			*bytes = t.bytes - count_of(p, i);
		return 0;
	}
	return -ENODATA;
}
