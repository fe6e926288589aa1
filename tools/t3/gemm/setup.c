// SPDX-License-Identifier: MIT
/* The set-up of a rank, up to a space whose first epoch can be armed. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "groups.h"
#include "nodes.h"
#include "wire.h"

static int open_device(struct rank *r)
{
	struct drm_t3_device_info info;
	char why[GEMM_TEXT];
	int ret;

	if (r->cfg->choice.count)
		ret = t3_device_open_index(r->cfg->choice.index[r->rank], &r->dev);
	else
		ret = t3_device_open_rank(r->cfg->fabric_id, r->rank, &r->dev);
	if (ret) {
		t3_device_explain(NULL, ret, why, sizeof(why));
		return rank_fail(r, -ECANCELED, "%s", why);
	}
	ret = t3_device_info(r->dev, &info);
	if (ret)
		return rank_fail(r, ret, "the device did not say what it is");
	if (!r->cfg->choice.count && info.topology == DRM_T3_TOPOLOGY_RING &&
	    info.ranks != r->cfg->ranks)
		return rank_fail(r, -ECANCELED, "the fabric is a ring of %u: --ranks must be %u",
				 info.ranks, info.ranks);
	return 0;
}

static int make_space(struct rank *r)
{
	uint64_t tiles = r->layout.tiles * (r->layout.chunks + gemm_all_to_group(r->cfg));
	void *ptr;
	int ret;

	ret = t3_buffer_create(r->dev, r->layout.space_bytes, &r->buffer);
	if (!ret)
		ret = t3_buffer_map(r->buffer, &ptr);
	if (ret)
		return rank_fail(r, ret, "no output buffer of %llu bytes",
				 (unsigned long long)r->layout.space_bytes);
	r->result = (unsigned char *)ptr + (gemm_all_to_group(r->cfg) ? r->layout.result_offset
								      : r->rank * r->layout.stride);
	ret = t3_space_create(r->dev, r->buffer, (uint32_t)tiles, &r->space);
	if (ret)
		return rank_fail(r, ret, "no output address space");
	if (r->cfg->wait != GEMM_WAIT_AUTO)
		t3_space_set_spin(r->space, r->cfg->wait == GEMM_WAIT_SPIN ? UINT64_MAX : 0);
	return 0;
}

/* Grant the previous rank access. */
static int send_grant(struct rank *r)
{
	uint32_t grant;
	int fd, ret;

	ret = t3_grant_export(r->space, gemm_grant_mask(r->rank, r->cfg->ranks),
			      1u << DRM_T3_OP_ADD, &fd, &grant);
	if (ret)
		return rank_fail(r, ret, "no grant for the previous rank");
	ret = wire_send_fd(r->to_prev, fd);
	close(fd);
	return ret ? rank_fail(r, ret, "the previous rank has ended") : 0;
}

static int take_grant(struct rank *r, uint32_t next)
{
	int fd, ret;

	ret = wire_recv_fd(r->from_next, r->cfg->timeout_s, &fd);
	if (ret)
		return rank_fail(r, ret, "rank %u sent no grant", next);
	ret = t3_grant_import(r->space, fd, &r->import, NULL);
	close(fd);
	if (ret)
		return rank_fail(r, ret, "the grant of rank %u could not be imported", next);
	return 0;
}

/* Between neighbours on one node a descriptor passes, else a key. */
static int exchange(struct rank *r)
{
	uint32_t ranks = r->cfg->ranks, prev = (r->rank + ranks - 1) % ranks;
	uint32_t next = (r->rank + 1) % ranks;
	struct t3_key key;
	int ret = 0;

	if (r->cfg->grouped)
		return groups_join(r);
	if (gemm_is_here(r->cfg, prev))
		ret = send_grant(r);
	atomic_store(&r->shared->rank[r->rank].phase, PHASE_GRANT);
	if (!ret && r->cfg->nodes)
		ret = nodes_join(r);
	if (!ret && r->cfg->nodes)
		ret = nodes_exchange(r, gemm_grant_mask(r->rank, ranks), &key);
	if (ret)
		return ret;
	if (gemm_is_here(r->cfg, next))
		return take_grant(r, next);
	ret = t3_key_import(r->space, &key, &r->import, NULL);
	return ret ? rank_fail(r, ret, "the key of rank %u could not be imported", next) : 0;
}

static int map_chunk(struct rank *r, uint32_t chunk)
{
	struct t3_target target = {
		.import = r->cfg->grouped ? r->imports[chunk] : r->import,
		.op = DRM_T3_OP_ADD,
		.segment = gemm_all_to_group(r->cfg) ? GEMM_RESULT_SEGMENT : chunk,
	};
	struct t3_segment_desc desc;

	gemm_chunk_desc(r->cfg, r->rank, chunk, &desc);
	switch (gemm_kind(r->cfg, r->rank, chunk)) {
	case DRM_T3_SEGMENT_LOCAL:
		return t3_local_map(r->space, &desc);
	case DRM_T3_SEGMENT_REMOTE:
		return t3_remote_map(r->space, &desc, &target);
	default:
		return t3_dma_map(r->space, &desc, &target);
	}
}

/* The destination of the producer's tiles of a chunk. */
static int view_chunk(struct rank *r, uint32_t chunk, unsigned char *staging)
{
	struct t3_view *view = &r->output.view[chunk];
	uint64_t offset = chunk * r->layout.stride;
	struct t3_segment_desc desc;
	int ret;

	gemm_chunk_desc(r->cfg, r->rank, chunk, &desc);
	if (!staging)
		return t3_view_aperture(r->space, &desc, view);
	ret = t3_staging_bind(r->space, chunk, r->staging, offset, r->layout.stride, 1);
	return ret ? ret : t3_view_memory(staging + offset, &desc, view);
}

static int map_result(struct rank *r)
{
	struct t3_segment_desc desc;
	int ret;

	if (!gemm_all_to_group(r->cfg))
		return 0;
	gemm_result_desc(r->cfg, &desc);
	ret = t3_local_map(r->space, &desc);
	return ret ? rank_fail(r, ret, "the result could not be mapped") : 0;
}

static int map_chunks(struct rank *r)
{
	void *staging = NULL;
	uint32_t chunk;
	int ret;

	ret = map_result(r);
	if (ret)
		return ret;
	if (r->cfg->write == GEMM_WRITE_DOORBELL) {
		ret = t3_buffer_create(r->dev, r->layout.space_bytes, &r->staging);
		if (!ret)
			ret = t3_buffer_map(r->staging, &staging);
		if (ret)
			return rank_fail(r, ret, "no staging buffer");
	}
	for (chunk = 0; chunk < r->layout.chunks; chunk++) {
		ret = map_chunk(r, chunk);
		if (!ret)
			ret = view_chunk(r, chunk, staging);
		if (ret)
			return rank_fail(r, ret, "chunk %u could not be mapped", chunk);
	}
	r->output.space = r->space;
	output_init(&r->output, r->cfg->write);
	return 0;
}

static int make_device_producer(struct rank *r)
{
	int ret;

	r->device.space = r->space;
	r->device.layout = &r->layout;
	ret = device_init(&r->device, r->dev, &r->producer);
	if (ret == -EOPNOTSUPP)
		return rank_fail(r, -ECANCELED, "the device cannot multiply matrices");
	return ret ? rank_fail(r, ret, "no queue, or no buffers for A and B") : 0;
}

static int make_producer(struct rank *r)
{
	int ret;

	r->producer = (struct producer){
		.dtype = r->cfg->dtype,
		.chunk_rows = r->layout.chunk_rows,
		.cols = r->cfg->n,
		.depth = r->cfg->k / r->cfg->ranks,
		.tile_rows = r->cfg->tile_rows,
		.tile_cols = r->cfg->tile_cols,
	};
	ret = producer_init(&r->producer, r->cfg->m);
	if (ret)
		return rank_fail(r, ret, "no memory for its slices of A and B");
	return r->cfg->write == GEMM_WRITE_GEMM ? make_device_producer(r) : 0;
}

int rank_setup(struct rank *r)
{
	int ret;

	atomic_store(&r->shared->rank[r->rank].phase, PHASE_SETUP);
	gemm_layout_init(&r->layout, r->cfg);
	gemm_order(r->cfg, r->rank, r->order);
	ret = open_device(r);
	if (!ret)
		ret = make_space(r);
	if (!ret)
		ret = exchange(r);
	if (!ret)
		ret = map_chunks(r);
	if (!ret)
		ret = make_producer(r);
	if (ret)
		return ret;
	ret = t3_device_counters(r->dev, &r->before);
	return ret ? rank_fail(r, ret, "the device's counters could not be read") : 0;
}
