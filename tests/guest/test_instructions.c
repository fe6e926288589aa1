// SPDX-License-Identifier: MIT
/*
 * As how many tracked stores an instruction arrives. The tables of t3_store(3) and SPEC.md 3 have
 * these rows. They hold for QEMU's translator (TCG). Another accelerator or a real bus may cut wide
 * stores in another way.
 */
#include <signal.h>
#include <sys/mman.h>

#include "raw.h"

#define SLOT 256u /* bytes of the aperture that a row of the table may use */

struct way {
	const char *name;
	void (*store)(volatile uint8_t *at);
	uint32_t offset; /* from a multiple of SLOT */
	uint32_t bytes, stores;
	const char *feature; /* of the processor, or NULL: each has it */
};

#if defined(__x86_64__)
static void mov8(volatile uint8_t *at)
{
	__asm__ volatile("movq %%rax, (%0)" ::"r"(at), "a"(0x0101010101010101ull) : "memory");
}

static void movups(volatile uint8_t *at)
{
	__asm__ volatile("movups %%xmm0, (%0)" ::"r"(at) : "memory");
}

static void vmovups(volatile uint8_t *at)
{
	__asm__ volatile("vmovups %%ymm0, (%0); vzeroupper" ::"r"(at) : "memory");
}

static void vmovntps(volatile uint8_t *at)
{
	__asm__ volatile("vmovntps %%ymm0, (%0); vzeroupper" ::"r"(at) : "memory");
}

static void vmaskmovps(volatile uint8_t *at)
{
	__asm__ volatile("vpcmpeqd %%xmm1, %%xmm1, %%xmm1; vinsertf128 $1, %%xmm1, %%ymm1, %%ymm1;"
			 "vmaskmovps %%ymm0, %%ymm1, (%0); vzeroupper" ::"r"(at)
			 : "memory");
}

static void rep_movsb(volatile uint8_t *at)
{
	static const uint8_t source[16];
	const void *from = source;
	uint64_t count = sizeof(source);

	__asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(count)::"memory");
}

static void rep_stosq(volatile uint8_t *at)
{
	uint64_t count = 2;

	__asm__ volatile("rep stosq" : "+D"(at), "+c"(count) : "a"(0) : "memory");
}

static const struct way ways[] = {
	{ "mov of 8 bytes", mov8, 0, 8, 1, NULL },
	{ "mov of 8 bytes at 4 mod 8", mov8, 4, 8, 2, NULL },
	{ "mov of 8 bytes at 2 mod 8", mov8, 2, 8, 4, NULL },
	{ "mov of 8 bytes at an odd offset", mov8, 1, 8, 8, NULL },
	{ "rep stosq of 16 bytes", rep_stosq, 0, 16, 2, NULL },
	{ "rep movsb of 16 bytes", rep_movsb, 0, 16, 16, NULL },
	{ "movups", movups, 0, 16, 2, NULL },
	{ "movups at 8 mod 16", movups, 8, 16, 2, NULL },
	{ "movups at 4 mod 8", movups, 4, 16, 4, NULL },
	{ "vmovups of 32 bytes", vmovups, 0, 32, 4, "avx" },
	{ "vmovups of 32 bytes at 4 mod 8", vmovups, 4, 32, 8, "avx" },
	{ "vmovntps of 32 bytes", vmovntps, 0, 32, 4, "avx" },
	{ "vmaskmovps of 8 lanes", vmaskmovps, 0, 32, 8, "avx2" },
};
#elif defined(__aarch64__)
static void str_x(volatile uint8_t *at)
{
	__asm__ volatile("str xzr, [%0]" ::"r"(at) : "memory");
}

static void stp_w(volatile uint8_t *at)
{
	__asm__ volatile("stp wzr, wzr, [%0]" ::"r"(at) : "memory");
}

static void stp_x(volatile uint8_t *at)
{
	__asm__ volatile("stp xzr, xzr, [%0]" ::"r"(at) : "memory");
}

static void str_q(volatile uint8_t *at)
{
	__asm__ volatile("str q0, [%0]" ::"r"(at) : "memory");
}

static void dc_zva(volatile uint8_t *at)
{
	__asm__ volatile("dc zva, %0" ::"r"(at) : "memory");
}

static const struct way ways[] = {
	{ "STR of an X register", str_x, 0, 8, 1, NULL },
	{ "STP of two W registers", stp_w, 0, 8, 1, NULL },
	{ "STP of two X registers", stp_x, 0, 16, 2, NULL },
	{ "STR of a Q register", str_q, 0, 16, 2, NULL },
	{ "DC ZVA", dc_zva, 0, 64, 64, NULL },
};
#endif

static bool has_feature(const char *name)
{
	char line[8192], word[32];
	bool found = false;
	FILE *file;

	if (!name)
		return true;
	snprintf(word, sizeof(word), " %s ", name);
	file = fopen("/proc/cpuinfo", "r");
	CHECK(file);
	while (!found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = ' ';
		found = !strncmp(line, "flags", 5) && strstr(line, word);
	}
	fclose(file);
	return found;
}

TEST("instructions arrive as the table says")
{
	struct drm_t3_space_stats before, after;
	struct drm_t3_segment_map segment;
	struct raw raw;
	uint32_t i, run = 0;

	raw_open(&raw, 0, 2 * PAGE);
	segment = raw_segment(&raw);
	segment.op = DRM_T3_OP_STORE;
	segment.dtype = DRM_T3_U8;
	segment.rows = segment.tile_rows = 1;
	segment.row_bytes = segment.pitch = segment.tile_row_bytes = 2 * PAGE;
	CHECK_EQ(raw_map(&raw, &segment), 0);
	raw_arm_wait(&raw, 1);
	for (i = 0; i < ROWS(ways); i++) {
		if (!has_feature(ways[i].feature)) {
			printf("# %s: this processor has no %s\n", ways[i].name, ways[i].feature);
			continue;
		}
		CHECK_EQ(raw_stats(&raw, 0, &before), 0);
		ways[i].store(raw.aperture + i * SLOT + ways[i].offset);
		CHECK_EQ(raw_stats(&raw, 0, &after), 0);
		printf("# %s: %llu stores of %llu bytes\n", ways[i].name,
		       (unsigned long long)(after.stores - before.stores),
		       (unsigned long long)(after.local_bytes - before.local_bytes));
		CHECK_EQ(after.local_bytes - before.local_bytes, ways[i].bytes);
		CHECK_EQ(after.stores - before.stores, ways[i].stores);
		run++;
	}
	CHECK(run);
	CHECK_EQ(raw_state(&raw), DRM_T3_SPACE_ARMED);
	raw_close(&raw);
}

static void put_misaligned(const void *at)
{
	put64((void *)(uintptr_t)at, 0);
}

/* The last row: a processor that refuses a misaligned store to a device. */
TEST("a refused store does not arrive")
{
	struct drm_t3_space_stats before, after;
	struct raw raw;
	int number;

	raw_open(&raw, 0, PAGE);
	raw_map_local(&raw);
	raw_arm_wait(&raw, 1);
	CHECK_EQ(raw_stats(&raw, 0, &before), 0);
	number = signal_of(put_misaligned, (const void *)(uintptr_t)(raw.aperture + 4));
	CHECK_EQ(number, REFUSES_MISALIGNED ? SIGBUS : 0);
	CHECK_EQ(raw_stats(&raw, 0, &after), 0);
	CHECK_EQ(after.stores - before.stores, REFUSES_MISALIGNED ? 0 : 2);
	raw_close(&raw);
}
