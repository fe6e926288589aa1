// SPDX-License-Identifier: MIT
#include <sys/mman.h>

#include "shared.h"

struct gemm_shared *shared_create(const struct gemm_config *cfg)
{
	struct gemm_layout layout;
	struct gemm_shared *shared;
	uint64_t slot, bytes;
	uint32_t slots;

	gemm_layout_init(&layout, cfg);
	slot = layout.chunk_bytes * layout.chunks;
	slots = slot * cfg->iterations <= GEMM_KEEP_BYTES ? cfg->iterations : 2;
	bytes = sizeof(*shared) + slot * slots;
	shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return NULL;
	shared->bytes = bytes;
	shared->slot_bytes = slot;
	shared->slots = slots;
	return shared;
}

void shared_destroy(struct gemm_shared *shared)
{
	if (shared)
		munmap(shared, shared->bytes);
}

unsigned char *shared_result(struct gemm_shared *shared, const struct gemm_config *cfg,
			     uint32_t iteration, uint32_t chunk)
{
	uint64_t chunk_bytes = shared->slot_bytes / cfg->ranks;
	uint32_t slot;

	if (shared->slots == cfg->iterations)
		slot = iteration - 1;
	else if (iteration == 1 || iteration == cfg->iterations)
		slot = iteration != 1;
	else
		return NULL;
	return shared->results + slot * shared->slot_bytes + chunk * chunk_bytes;
}

uint64_t fnv1a(uint64_t hash, const void *data, size_t size)
{
	const unsigned char *byte = data, *end = byte + size;

	while (byte < end)
		hash = (hash ^ *byte++) * 0x100000001b3ull;
	return hash;
}
