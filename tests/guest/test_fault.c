// SPDX-License-Identifier: MIT
/*
 * Each wrong access raises a fault with an exact record. RESET puts all back to the initial state.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "module.h"
#include "raw.h"

#define NONE32 0xffffffffu
#define NONE64 UINT64_MAX
#define EPOCH  4u
#define PITCH  80u /* 64 bytes of elements, 16 of padding */
#define TILE   24u /* 6 elements, so the third tile of a row is ragged */
#define BEHIND 1024u

/*
 * An action after ARM(EPOCH), and the record that it must leave. The segment has number 2, offset
 * 0, 4 rows of 64 bytes at PITCH, tiles of 2 rows x TILE bytes, f32.
 */
struct row {
	const char *what;
	void (*act)(const struct raw *raw);
	uint32_t kind, segment, tile;
	uint64_t offset;
	bool unarmed; /* do not arm first */
};

#define ACT(name, body)                         \
	static void name(const struct raw *raw) \
	{                                       \
		body;                           \
	}

ACT(byte_store, put8(raw->aperture + 4, 1))
ACT(word_store, put16(raw->aperture + 4, 1))
ACT(misaligned_4, put32(raw->aperture + 2, 1))
ACT(misaligned_8, put64(raw->aperture + 1, 1))
ACT(half_aligned_8, put64(raw->aperture + 3, 1))
ACT(padding, put32(raw->aperture + 64, 1))
ACT(row_end_and_padding, put64(raw->aperture + 2 * PITCH + 64, 1))
ACT(behind, put64(raw->aperture + BEHIND, 1))
ACT(last_bytes, put64(raw->aperture + PAGE - 8, 1))
ACT(over_the_edge, put64(raw->aperture + 40, 1))
ACT(before_arm, put64(raw->aperture + 8, 1))
ACT(tile_3_twice, put64(raw->aperture + 2 * PITCH, 1); put32(raw->aperture + 2 * PITCH, 1);
    put64(raw->aperture + 2 * PITCH + 8, 1); put64(raw->aperture + 2 * PITCH + 16, 1);
    put64(raw->aperture + 3 * PITCH, 1); put64(raw->aperture + 3 * PITCH + 8, 1);
    put64(raw->aperture + 3 * PITCH + 16, 1))

#define BELL(offset) (raw->doorbell + (offset))
ACT(arm_8, put64(BELL(DRM_T3_DOORBELL_ARM), 1))
ACT(arm_2, put16(BELL(DRM_T3_DOORBELL_ARM), 1))
ACT(arm_misaligned, put32(BELL(2), 1))
ACT(release_8, put64(BELL(DRM_T3_DOORBELL_RELEASE), 1))
ACT(tile_4, put32(BELL(DRM_T3_DOORBELL_TILE), 1))
ACT(nothing_there, put64(BELL(0x20), 1))
ACT(page_end, put32(BELL(PAGE - 4), 1))
ACT(load, (void)*(const volatile uint32_t *)BELL(DRM_T3_DOORBELL_ARM))
ACT(tile_of_no_segment, put64(BELL(DRM_T3_DOORBELL_TILE), DRM_T3_TILE_DOORBELL(1, 0, 0)))
ACT(tile_of_segment_255, put64(BELL(DRM_T3_DOORBELL_TILE), DRM_T3_TILE_DOORBELL(255, 0, 0)))
ACT(tile_high_bits, put64(BELL(DRM_T3_DOORBELL_TILE), DRM_T3_TILE_DOORBELL(2, 0, 0) | 1ull << 63))
ACT(tile_unstaged, put64(BELL(DRM_T3_DOORBELL_TILE), DRM_T3_TILE_DOORBELL(2, 0, 5)))
ACT(tile_slot_3, put64(BELL(DRM_T3_DOORBELL_TILE), DRM_T3_TILE_DOORBELL(2, 3, 1)))

ACT(arm_0, put32(BELL(DRM_T3_DOORBELL_ARM), 0))
ACT(arm_twice, put32(BELL(DRM_T3_DOORBELL_ARM), EPOCH))
ACT(arm_next, put32(BELL(DRM_T3_DOORBELL_ARM), EPOCH + 1))
ACT(release_early, put32(BELL(DRM_T3_DOORBELL_RELEASE), EPOCH))
ACT(release_other, put32(BELL(DRM_T3_DOORBELL_RELEASE), EPOCH + 1))

static const struct row rows[] = {
	{ "1-byte store", byte_store, DRM_T3_FAULT_WIDTH, 2, NONE32, 4, false },
	{ "2-byte store", word_store, DRM_T3_FAULT_WIDTH, 2, NONE32, 4, false },
	{ "misaligned 4", misaligned_4, DRM_T3_FAULT_WIDTH, 2, NONE32, 2, false },
	{ "misaligned 8", misaligned_8, DRM_T3_FAULT_WIDTH, 2, NONE32, 1, false },
	{ "misaligned 8 at 3", half_aligned_8, DRM_T3_FAULT_WIDTH, 2, NONE32, 3, false },
	{ "padding", padding, DRM_T3_FAULT_UNMAPPED, 2, NONE32, 64, false },
	{ "padding of row 2", row_end_and_padding, DRM_T3_FAULT_UNMAPPED, 2, NONE32, 2 * PITCH + 64,
	  false },
	{ "outside", behind, DRM_T3_FAULT_UNMAPPED, NONE32, NONE32, BEHIND, false },
	{ "end of the space", last_bytes, DRM_T3_FAULT_UNMAPPED, NONE32, NONE32, PAGE - 8, false },
	{ "not armed", before_arm, DRM_T3_FAULT_NOT_ARMED, 2, NONE32, 8, true },
	{ "outside, not armed", behind, DRM_T3_FAULT_NOT_ARMED, NONE32, NONE32, BEHIND, true },
	{ "overshoot", tile_3_twice, DRM_T3_FAULT_OVERSHOOT, 2, 3, 3 * PITCH + 16, false },
	{ "arm, 8 bytes", arm_8, DRM_T3_FAULT_BAD_DOORBELL, NONE32, NONE32, NONE64, false },
	{ "arm, 2 bytes", arm_2, DRM_T3_FAULT_BAD_DOORBELL, NONE32, NONE32, NONE64, false },
	{ "arm, misaligned", arm_misaligned, DRM_T3_FAULT_BAD_DOORBELL, NONE32, NONE32, NONE64,
	  false },
	{ "release, 8 bytes", release_8, DRM_T3_FAULT_BAD_DOORBELL, NONE32, NONE32, NONE64, false },
	{ "tile, 4 bytes", tile_4, DRM_T3_FAULT_BAD_DOORBELL, NONE32, NONE32, NONE64, false },
	{ "no doorbell", nothing_there, DRM_T3_FAULT_BAD_DOORBELL, NONE32, NONE32, NONE64, false },
	{ "end of the page", page_end, DRM_T3_FAULT_BAD_DOORBELL, NONE32, NONE32, NONE64, false },
	{ "load", load, DRM_T3_FAULT_BAD_DOORBELL, NONE32, NONE32, NONE64, false },
	{ "no such segment", tile_of_no_segment, DRM_T3_FAULT_BAD_DOORBELL, NONE32, 0, NONE64,
	  false },
	{ "segment 255", tile_of_segment_255, DRM_T3_FAULT_BAD_DOORBELL, NONE32, 0, NONE64, false },
	{ "tile, high bits", tile_high_bits, DRM_T3_FAULT_BAD_DOORBELL, 2, 0, NONE64, false },
	{ "no staging", tile_unstaged, DRM_T3_FAULT_BAD_DOORBELL, 2, 5, NONE64, false },
	{ "no such slot", tile_slot_3, DRM_T3_FAULT_BAD_DOORBELL, 2, 1, NONE64, false },
	{ "arm 0", arm_0, DRM_T3_FAULT_BAD_ARM, NONE32, NONE32, NONE64, true },
	{ "arm twice", arm_twice, DRM_T3_FAULT_BAD_ARM, NONE32, NONE32, NONE64, false },
	{ "arm the next", arm_next, DRM_T3_FAULT_BAD_ARM, NONE32, NONE32, NONE64, false },
	{ "release early", release_early, DRM_T3_FAULT_BAD_ARM, NONE32, NONE32, NONE64, false },
	{ "release another", release_other, DRM_T3_FAULT_BAD_ARM, NONE32, NONE32, NONE64, false },
	{ "release idle", release_other, DRM_T3_FAULT_BAD_ARM, NONE32, NONE32, NONE64, true },
};

static void open_segment(struct raw *raw, uint32_t tile_row_bytes)
{
	struct drm_t3_segment_map segment;

	raw_open(raw, 0, PAGE);
	segment = raw_segment(raw);
	segment.segment = 2;
	segment.dtype = DRM_T3_F32;
	segment.pitch = PITCH;
	segment.tile_row_bytes = tile_row_bytes;
	CHECK_EQ(raw_map(raw, &segment), 0);
}

static void check_record(const char *what, const struct drm_t3_fault *got, const struct row *want,
			 uint32_t epoch)
{
	if (got->kind == want->kind && got->detail == 0 && got->segment == want->segment &&
	    got->tile == want->tile && got->offset == want->offset && got->epoch == epoch &&
	    got->src_rank == 0)
		return;
	guest_fail(__FILE__, __LINE__,
		   "%s: kind %u detail %u segment %#x tile %#x offset %#llx epoch %u rank %u; "
		   "wanted %u 0 %#x %#x %#llx %u 0",
		   what, got->kind, got->detail, got->segment, got->tile,
		   (unsigned long long)got->offset, got->epoch, got->src_rank, want->kind,
		   want->segment, want->tile, (unsigned long long)want->offset, epoch);
}

static void check_fault(const struct raw *raw, const struct row *row, uint32_t epoch)
{
	struct drm_t3_fault fault;

	CHECK_EQ(raw_state(raw), DRM_T3_SPACE_FAULTED);
	memcpy(&fault, (const void *)(uintptr_t)&raw->events->fault, sizeof(fault));
	check_record(row->what, &fault, row, epoch);
	memcpy(&fault, (const void *)(uintptr_t)&raw->events->ring[0], sizeof(fault));
	check_record(row->what, &fault, row, epoch);
	CHECK_EQ(raw_wait_fault(raw, EPOCH + 1, &fault), -EIO);
	check_record(row->what, &fault, row, epoch);
}

/* Fill the whole segment by 4-byte stores: no effect of the fault is left. */
static void check_works(const struct raw *raw, uint32_t epoch)
{
	uint32_t row, col;

	raw_arm(raw, epoch);
	for (row = 0; row < 4; row++)
		for (col = 0; col < 64; col += 4)
			put32(raw->aperture + row * PITCH + col, 0x3f800000 + (row << 16) + col);
	CHECK_EQ(raw_state(raw), DRM_T3_SPACE_COMPLETE);
	for (row = 0; row < 4; row++)
		for (col = 0; col < 64; col += 4)
			CHECK_EQ(*(volatile uint32_t *)(raw->memory + row * PITCH + col),
				 0x3f800000 + (row << 16) + col);
	raw_release(raw, epoch);
	CHECK_EQ(raw_state(raw), DRM_T3_SPACE_IDLE);
}

struct attempt {
	const struct raw *raw;
	const struct row *row;
};

static void make_attempt(const void *arg)
{
	const struct attempt *attempt = arg;

	attempt->row->act(attempt->raw);
}

/* The device sees nothing of what the processor refuses. */
static bool refused_by_processor(const struct raw *raw, const struct row *row)
{
	bool misaligned = row->act == misaligned_4 || row->act == misaligned_8 ||
			  row->act == half_aligned_8 || row->act == arm_misaligned;
	struct attempt attempt = { raw, row };
	int number = signal_of(make_attempt, &attempt);

	CHECK_EQ(number, misaligned && REFUSES_MISALIGNED ? SIGBUS : 0);
	return number;
}

static void check_row(const struct raw *raw, const struct row *row)
{
	uint64_t dropped;

	if (!row->unarmed)
		raw_arm(raw, EPOCH);
	if (refused_by_processor(raw, row)) {
		CHECK_EQ(raw_state(raw), DRM_T3_SPACE_ARMED);
		CHECK_EQ(raw->events->faults, 0);
		CHECK_EQ(space_reset(raw->fd, raw->space), 0);
		return;
	}
	check_fault(raw, row, row->unarmed ? 0 : EPOCH);
	dropped = raw->events->dropped;
	put64(raw->aperture, 1);
	CHECK(raw->events->dropped > dropped);
	CHECK_EQ(space_reset(raw->fd, raw->space), 0);
	CHECK_EQ(raw_state(raw), DRM_T3_SPACE_IDLE);
	CHECK_EQ(raw->events->faults, 0);
	CHECK_EQ(raw->events->dropped, 0);
	check_works(raw, EPOCH);
	CHECK_EQ(space_reset(raw->fd, raw->space), 0);
}

TEST("each wrong access raises a fault with an exact record")
{
	struct raw raw;
	size_t i;

	open_segment(&raw, TILE);
	for (i = 0; i < ROWS(rows); i++)
		check_row(&raw, &rows[i]);
	raw_close(&raw);
}

/* Tiles of 44 bytes: bytes 40 .. 47 are in two of them. */
TEST("a store over the edge of a tile faults")
{
	static const struct row row = {
		"tile edge", over_the_edge, DRM_T3_FAULT_TILE_CROSS, 2, NONE32, 40, false,
	};
	struct raw raw;

	open_segment(&raw, 44);
	check_row(&raw, &row);
	raw_close(&raw);
}

TEST("a store after COMPLETE faults")
{
	static const struct row row = {
		"after complete", NULL, DRM_T3_FAULT_NOT_ARMED, 2, NONE32, 0, false,
	};
	uint32_t i, col;
	struct raw raw;

	open_segment(&raw, TILE);
	raw_arm(&raw, EPOCH);
	for (i = 0; i < 4; i++)
		for (col = 0; col < 64; col += 8)
			put64(raw.aperture + i * PITCH + col, 0);
	CHECK_EQ(raw_state(&raw), DRM_T3_SPACE_COMPLETE);
	put64(raw.aperture, 1);
	check_fault(&raw, &row, EPOCH);
	raw_close(&raw);
}

/* After RELEASE only the next epoch may be armed. */
TEST("only the next epoch may be armed")
{
	static const struct row row = {
		"skipped epoch", NULL, DRM_T3_FAULT_BAD_ARM, NONE32, NONE32, NONE64, false,
	};
	uint32_t wrong[] = { EPOCH, EPOCH - 1, EPOCH + 2, 0, 1 };
	struct raw raw;
	size_t i;

	open_segment(&raw, TILE);
	for (i = 0; i < ROWS(wrong); i++) {
		check_works(&raw, EPOCH);
		raw_arm(&raw, wrong[i]);
		check_fault(&raw, &row, EPOCH);
		CHECK_EQ(space_reset(raw.fd, raw.space), 0);
	}
	raw_close(&raw);
}

/* The first record stays; later faults are counted. */
TEST("the first fault is kept")
{
	static const struct row row = {
		"first", NULL, DRM_T3_FAULT_WIDTH, 2, NONE32, 4, false,
	};
	struct raw raw;

	open_segment(&raw, TILE);
	raw_arm(&raw, EPOCH);
	put8(raw.aperture + 4, 1);
	put64(raw.aperture + BEHIND, 1);
	raw_arm(&raw, EPOCH);
	check_fault(&raw, &row, EPOCH);
	CHECK_EQ(raw.events->faults, 1);
	CHECK_EQ(raw.events->dropped, 2);
	raw_close(&raw);
}

/* --------------------------------------------------------------- memcpy() */

#define LONGEST 1024u

typedef void *copy_fn(void *to, const void *from, size_t bytes);

struct copying {
	copy_fn *copy;
	void *to;
	const void *from;
	size_t bytes;
};

static void copy_it(const void *arg)
{
	const struct copying *c = arg;

	c->copy(c->to, c->from, c->bytes);
}

/* One row of `bytes` at `offset`, filled by memcpy(): right, or a fault, or a signal. */
static void check_memcpy(struct raw *raw, copy_fn *copy, uint32_t offset, uint32_t bytes,
			 uint32_t *faults)
{
	static float source[LONGEST / 4];
	struct drm_t3_segment_map segment = raw_segment(raw);
	uint32_t i;
	int number;

	for (i = 0; i < bytes / 4; i++)
		source[i] = (float)(i + 1);
	segment.dtype = DRM_T3_F32;
	segment.offset = offset;
	segment.rows = segment.tile_rows = 1;
	segment.row_bytes = segment.pitch = segment.tile_row_bytes = bytes;
	CHECK_EQ(raw_map(raw, &segment), 0);
	raw_arm(raw, 1);
	number = signal_of(copy_it,
			   &(struct copying){ copy, (void *)(uintptr_t)(raw->aperture + offset),
					      source, bytes });
	/* Under KVM a trapped store of AVX is refused where the host's kernel cannot emulate it. */
	if (number)
		CHECK(number == SIGILL || (REFUSES_MISALIGNED && number == SIGBUS));
	if (number == SIGILL)
		CHECK(raw_state(raw) != DRM_T3_SPACE_COMPLETE);
	else if (number || raw_state(raw) == DRM_T3_SPACE_FAULTED)
		++*faults;
	else if (raw_state(raw) != DRM_T3_SPACE_COMPLETE ||
		 memcmp(raw->memory + offset, source, bytes))
		guest_fail(__FILE__, __LINE__, "memcpy of %u bytes to %u: a wrong sum, no fault",
			   bytes, offset);
	CHECK_EQ(space_reset(raw->fd, raw->space), 0);
	CHECK_EQ(raw_unmap_segment(raw, 0), 0);
}

/* As memcpy() under KVM: the first bytes, then an instruction that the processor refuses. */
static void *copy_and_stop(void *to, const void *from, size_t bytes)
{
	uint32_t first;

	memcpy(&first, from, sizeof(first));
	put32(to, first);
	if (bytes > sizeof(first))
		__asm__ volatile(UNDEFINED);
	return to;
}

/* Reading the doorbell page 40 times raises 40 faults. The last 16 are in their places. */
TEST("the ring keeps the last 16 faults")
{
	struct drm_t3_fault first, fault;
	struct raw raw;
	uint32_t k;

	open_segment(&raw, TILE);
	raw_arm(&raw, EPOCH);
	put8(raw.aperture + 3, 1);
	CHECK_EQ(raw_state(&raw), DRM_T3_SPACE_FAULTED);
	memcpy(&first, (const void *)(uintptr_t)&raw.events->fault, sizeof(first));
	for (k = raw.events->faults + 1; k <= 40; k++) {
		CHECK_EQ(*(volatile uint32_t *)raw.doorbell, UINT32_MAX);
		CHECK_EQ(raw.events->faults, k);
		memcpy(&fault, (const void *)(uintptr_t)&raw.events->ring[(k - 1) % 16],
		       sizeof(fault));
		CHECK_EQ(fault.kind, DRM_T3_FAULT_BAD_DOORBELL);
		CHECK_EQ(fault.epoch, EPOCH);
	}
	memcpy(&fault, (const void *)(uintptr_t)&raw.events->fault, sizeof(fault));
	CHECK_EQ(fault.kind, first.kind);
	CHECK_EQ(fault.offset, first.offset);
	CHECK_EQ(space_reset(raw.fd, raw.space), 0);
	CHECK_EQ(raw.events->ring[0].kind, DRM_T3_FAULT_NONE);
	raw_close(&raw);
}

/* A fault concerns one space. Its neighbour in the same file goes on. */
TEST("other spaces go on after a fault")
{
	struct raw bad, good;

	open_segment(&bad, TILE);
	raw_create(&good, bad.fd, PAGE);
	raw_map_local(&good);
	raw_arm(&bad, EPOCH);
	raw_arm(&good, 1);
	put8(bad.aperture, 1);
	raw_fill(&good, 0, RAW_SEGMENT_BYTES, 2);
	CHECK_EQ(raw_state(&bad), DRM_T3_SPACE_FAULTED);
	CHECK_EQ(raw_state(&good), DRM_T3_SPACE_COMPLETE);
	CHECK_EQ(good.events->faults, 0);
	raw_destroy(&good);
	raw_close(&bad);
}

TEST("memcpy never gives a wrong sum")
{
	copy_fn *copy = (copy_fn *)dlsym(RTLD_DEFAULT, "memcpy");
	uint32_t offset, bytes, faults = 0;
	struct raw raw;

	CHECK(copy); /* not the compiler's own */
	raw_open(&raw, 0, PAGE);
	for (offset = 0; offset <= 12; offset += 4)
		for (bytes = 4; bytes <= LONGEST; bytes += bytes < 160 ? 4 : 76)
			check_memcpy(&raw, copy, offset, bytes, &faults);
	CHECK(faults > 0);
	raw_close(&raw);
}

TEST("a refused store completes nothing")
{
	uint32_t faults = 0;
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	check_memcpy(&raw, copy_and_stop, 0, 4, &faults);
	check_memcpy(&raw, copy_and_stop, 0, 64, &faults);
	CHECK_EQ(faults, 0);
	raw_close(&raw);
}

#ifdef __x86_64__
#define NOT_CANONICAL (1ull << 63)

/* The kernel logs the end of such a program. check_kernel_log() looks for faults of the kernel. */
TEST("a program's fault is none of the kernel's")
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		signal(SIGSEGV, SIG_DFL); /* cmocka has one */
		put8((volatile uint8_t *)NOT_CANONICAL, 1);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ(WTERMSIG(status), SIGSEGV);
	CHECK(kernel_log_has("] general protection fault ip:"));
	check_kernel_log();
}
#endif
