// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/node.h"
#include "nodes.h"
#include "t3_coll.h"

#define PIECE (256u << 10) /* bytes of a rank's result that are gathered at once */

int nodes_join(struct rank *r)
{
	char why[T3_COMM_TEXT_SIZE] = "";
	struct t3_comm_desc desc = { .text = why, .text_size = sizeof(why) };
	int ret;

	if (!node_set_rank(r->rank, r->cfg->ranks))
		return rank_fail(r, -ENOMEM, "the environment cannot be changed");
	ret = t3_comm_create(r->dev, &desc, r->deadline, &r->comm);
	return ret ? rank_fail(r, -ECANCELED, "%s", why) : 0;
}

/* Each rank brings `bytes` bytes, and gets those of all. */
static int gather(struct rank *r, const void *mine, void *all, uint64_t bytes)
{
	int ret = t3_all_gather(r->comm, mine, all, bytes * r->cfg->ranks, DRM_T3_U8, r->deadline);

	return ret ? rank_fail(r, -ECANCELED, "%s", t3_comm_error(r->comm)) : 0;
}

int nodes_exchange(struct rank *r, uint64_t segments, struct t3_key *key)
{
	uint32_t ranks = r->cfg->ranks, prev = (r->rank + ranks - 1) % ranks, grant;
	struct t3_key mine, all[GEMM_MAX_RANKS];
	int ret = 0;

	memset(&mine, 0, sizeof(mine));
	if (!gemm_is_here(r->cfg, prev))
		ret = t3_key_export(r->space, 1u << prev, segments, 1u << DRM_T3_OP_ADD, &mine,
				    &grant);
	if (ret)
		return rank_fail(r, ret, "no key for rank %u on another node", prev);
	ret = gather(r, &mine, all, sizeof(mine));
	if (!ret)
		*key = all[(r->rank + 1) % ranks];
	return ret;
}

int nodes_exchange_all(struct rank *r, const struct t3_key *keys, struct t3_key *mine)
{
	uint32_t ranks = r->cfg->ranks, target;
	struct t3_key *all = calloc((size_t)ranks * ranks, sizeof(*all));
	int ret;

	if (!all)
		return rank_fail(r, -ENOMEM, "no memory for all ranks' keys");
	ret = gather(r, keys, all, ranks * sizeof(*all));
	for (target = 0; target < ranks && !ret; target++)
		mine[target] = all[target * ranks + r->rank];
	free(all);
	return ret;
}

static int gather_reports(struct rank *r)
{
	struct gemm_rank_report *all = calloc(r->cfg->ranks, sizeof(*all));
	uint32_t i;
	int ret;

	if (!all)
		return rank_fail(r, -ENOMEM, "no memory for all ranks' reports");
	ret = gather(r, &r->shared->rank[r->rank].report, all, sizeof(*all));
	for (i = 0; !ret && r->rank == r->cfg->first && i < r->cfg->ranks; i++)
		r->shared->rank[i].report = all[i];
	free(all);
	return ret;
}

/* `bytes` bytes from `offset` on of each rank's chunk of an iteration, to rank 0. */
static int gather_piece(struct rank *r, unsigned char *slot, uint64_t offset, uint64_t bytes,
			unsigned char *all)
{
	uint64_t chunk_bytes = r->layout.chunk_bytes;
	uint32_t i;
	int ret;

	ret = gather(r, slot + r->rank * chunk_bytes + offset, all, bytes);
	for (i = 1; !ret && !r->rank && i < r->cfg->ranks; i++)
		if (!gemm_is_here(r->cfg, i))
			memcpy(slot + i * chunk_bytes + offset, all + i * bytes, bytes);
	return ret;
}

static int gather_results(struct rank *r)
{
	unsigned char *all = malloc((size_t)PIECE * r->cfg->ranks), *results;
	uint64_t left, offset, bytes;
	uint32_t slot;
	int ret = 0;

	if (!all)
		return rank_fail(r, -ENOMEM, "no memory for all ranks' results");
	for (slot = 0; slot < r->shared->slots && !ret; slot++) {
		results = r->shared->results + slot * r->shared->slot_bytes;
		left = r->layout.chunk_bytes;
		for (offset = 0; left && !ret; left -= bytes, offset += bytes) {
			bytes = left < PIECE ? left : PIECE;
			ret = gather_piece(r, results, offset, bytes, all);
		}
	}
	free(all);
	return ret;
}

int nodes_gather(struct rank *r)
{
	int ret;

	ret = gather_reports(r);
	if (!ret)
		ret = gather_results(r);
	if (!ret && t3_comm_barrier(r->comm, r->deadline))
		ret = rank_fail(r, -ECANCELED, "%s", t3_comm_error(r->comm));
	return ret;
}
