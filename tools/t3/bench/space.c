// SPDX-License-Identifier: MIT
/* One segment in a space of its own, and loops of plain stores. */
#include <errno.h>
#include <string.h>

#include "bench/bench.h"

static int add_slot(struct t3_device *dev, enum bench_staging staging, struct bench_space *s)
{
	uint64_t size = t3_buffer_size(s->buffer);
	struct t3_buffer *slots = s->buffer;
	void *ptr;
	int ret;

	if (staging == BENCH_NO_SLOT)
		return 0;
	if (staging == BENCH_SLOT) {
		ret = t3_buffer_create(dev, size, &s->staging);
		if (ret)
			return ret;
		slots = s->staging;
	}
	ret = t3_staging_bind(s->space, s->desc.segment, slots, 0, size, 1);
	if (!ret)
		ret = t3_buffer_map(slots, &ptr);
	if (!ret)
		s->slot = ptr;
	return ret;
}

int bench_space_open(struct t3_device *dev, const struct t3_segment_desc *desc,
		     enum bench_staging staging, struct bench_space *s)
{
	uint64_t size = (uint64_t)(desc->rows - 1) * desc->pitch + desc->row_bytes;
	void *ptr;
	int ret;

	memset(s, 0, sizeof(*s));
	s->desc = *desc;
	ret = t3_buffer_create(dev, size, &s->buffer);
	if (!ret)
		ret = t3_buffer_map(s->buffer, &ptr);
	if (!ret) {
		s->output = ptr;
		ret = t3_space_create(dev, s->buffer, (uint32_t)t3_desc_tiles(desc), &s->space);
	}
	if (!ret)
		ret = t3_local_map(s->space, desc);
	if (!ret)
		ret = add_slot(dev, staging, s);
	if (ret)
		bench_space_close(s);
	return ret;
}

int bench_space_arm(struct bench_space *s)
{
	int ret = t3_arm(s->space, ++s->epoch);

	return ret ? ret : t3_wait_armed(s->space, s->epoch, t3_deadline(BENCH_WAIT_NS));
}

int bench_space_end(struct bench_space *s)
{
	int ret = t3_wait(s->space, s->epoch, 0, T3_DELIVERED, t3_deadline(BENCH_WAIT_NS));

	return ret ? ret : t3_release(s->space, s->epoch);
}

void bench_space_close(struct bench_space *s)
{
	if (s->space)
		t3_space_destroy(s->space);
	t3_buffer_destroy(s->staging);
	t3_buffer_destroy(s->buffer);
	memset(s, 0, sizeof(*s));
}

/*
 * One move of 8 bytes each. A compiler could merge them to wider moves, which the device refuses.
 */
__attribute__((noinline)) void bench_store_words(volatile void *to, uint64_t word, size_t words)
{
	volatile uint64_t *at = to, *end = at + words;

	for (; at < end; at++)
#ifdef __aarch64__
		__asm__ volatile("str %x1, %0" : "=Q"(*at) : "r"(word));
#else
		__asm__ volatile("movq %1, %0" : "=m"(*at) : "r"(word));
#endif
}

#ifdef __x86_64__
/* The same by one string instruction. */
__attribute__((noinline)) void bench_store_string(volatile void *to, uint64_t word, size_t words)
{
	__asm__ volatile("rep stosq" : "+D"(to), "+c"(words) : "a"(word) : "memory");
}

/* The same by moves of 32 bytes, for processors with AVX2. */
__attribute__((noinline, target("avx2"))) void bench_store_wide(volatile void *to, uint64_t word,
								size_t words)
{
	volatile unsigned char *at = to, *end = at + words * 8;

	__asm__ volatile("vmovq %0, %%xmm0\n\tvpbroadcastq %%xmm0, %%ymm0" : : "r"(word) : "xmm0");
	for (; at < end; at += 32)
		__asm__ volatile("vmovdqu %%ymm0, (%0)" : : "r"(at) : "memory");
	__asm__ volatile("vzeroupper" : : : "xmm0");
}

bool bench_has_wide(void)
{
	return __builtin_cpu_supports("avx2");
}
#else
bool bench_has_wide(void)
{
	return false;
}
#endif

__attribute__((noinline)) void bench_store_bytes(volatile void *to, uint8_t value, size_t count)
{
	volatile uint8_t *at = to, *end = at + count;

	for (; at < end; at++)
#ifdef __aarch64__
		__asm__ volatile("strb %w1, %0" : "=Q"(*at) : "r"(value));
#else
		__asm__ volatile("movb %1, %0" : "=m"(*at) : "q"(value));
#endif
}
