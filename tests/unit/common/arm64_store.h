/* SPDX-License-Identifier: MIT */
/* A store of arm64 that has trapped on a write-protected page: what it is, and the value. */
#ifndef T3_ARM64_STORE_H
#define T3_ARM64_STORE_H

#ifdef __aarch64__

#include <stdint.h>
#include <ucontext.h>

struct arm64_store {
	uint32_t width; /* 0: another instruction */
	uint64_t value;
};

/*
 * Take "str", "strh" or "strb" of one general register to the address in another, without an
 * offset: the one form that an emulating hypervisor can be told in full. Steps over it.
 */
static inline struct arm64_store arm64_store_take(void *context)
{
	mcontext_t *cpu = &((ucontext_t *)context)->uc_mcontext;
	uint32_t code = *(const uint32_t *)(uintptr_t)cpu->pc, from = code & 31;
	struct arm64_store store = { .value = from == 31 ? 0 : cpu->regs[from] };

	if ((code & 0x3ffffc00) == 0x39000000)
		store.width = 1u << (code >> 30);
	cpu->pc += sizeof(code);
	return store;
}

#endif

#endif /* T3_ARM64_STORE_H */
