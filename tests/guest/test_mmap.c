// SPDX-License-Identifier: MIT
/* mmap() of the node: buffers, apertures, doorbell pages, event areas. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include "child.h"
#include "raw.h"

#define SIZE (4 * PAGE)

enum { BUFFER, APERTURE, DOORBELL, EVENT, KINDS };

static const char *const names[] = { "buffer", "aperture", "doorbell", "event area" };

struct area {
	uint64_t offset, size;
};

static struct area area_of(const struct raw *raw, int kind)
{
	struct area area = { 0, kind == BUFFER || kind == APERTURE ? SIZE : PAGE };

	switch (kind) {
	case BUFFER:
		CHECK_EQ(bo_offset(raw->fd, raw->bo, &area.offset), 0);
		break;
	case APERTURE:
		area.offset = raw->made.aperture_offset;
		break;
	case DOORBELL:
		area.offset = raw->made.doorbell_offset;
		break;
	default:
		area.offset = raw->made.event_offset;
	}
	return area;
}

/* 0 and unmapped again, or a negative errno. */
static int try_map(int fd, uint64_t offset, uint64_t size, int prot, int flags)
{
	void *ptr = mmap(NULL, size, prot, flags, fd, (off_t)offset);

	if (ptr == MAP_FAILED)
		return -errno;
	munmap(ptr, size);
	return 0;
}

/* The longest mapping that a kind allows. */
static int prot_of(int kind)
{
	return kind == EVENT ? PROT_READ : PROT_READ | PROT_WRITE;
}

static void check_map(const struct raw *raw, int kind, int fd, int64_t delta, int64_t grow,
		      int flags, int want)
{
	struct area area = area_of(raw, kind);
	int got = try_map(fd, area.offset + delta, area.size + grow, prot_of(kind), flags);

	if (got != want)
		guest_fail(__FILE__, __LINE__,
			   "%s, offset %+lld, size %+lld, flags %#x: %d, not %d", names[kind],
			   (long long)delta, (long long)grow, flags, got, want);
}

TEST("mappings have the right sizes and offsets")
{
	struct raw raw;
	int kind;

	raw_open(&raw, 0, SIZE);
	for (kind = 0; kind < KINDS; kind++) {
		check_map(&raw, kind, raw.fd, 0, 0, MAP_SHARED, 0);
		check_map(&raw, kind, raw.fd, 0, PAGE, MAP_SHARED, -EINVAL);
		check_map(&raw, kind, raw.fd, 0, 1 << 30, MAP_SHARED, -EINVAL);
		check_map(&raw, kind, raw.fd, 1ll << 44, 0, MAP_SHARED, -EINVAL);
	}
	for (kind = BUFFER; kind <= APERTURE; kind++) {
		check_map(&raw, kind, raw.fd, 0, -(int64_t)PAGE, MAP_SHARED, 0);
		check_map(&raw, kind, raw.fd, 0, -3 * (int64_t)PAGE, MAP_SHARED, 0);
		/* Whole or from the start: no offsets inside. */
		check_map(&raw, kind, raw.fd, PAGE, -(int64_t)PAGE, MAP_SHARED, -EINVAL);
		check_map(&raw, kind, raw.fd, PAGE, 0, MAP_SHARED, -EINVAL);
	}
	raw_close(&raw);
}

TEST("private mappings are refused")
{
	struct raw raw;
	int kind;

	raw_open(&raw, 0, SIZE);
	for (kind = 0; kind < KINDS; kind++) {
		check_map(&raw, kind, raw.fd, 0, 0, MAP_PRIVATE, -EINVAL);
		CHECK_EQ(try_map(raw.fd, area_of(&raw, kind).offset, PAGE, PROT_READ, MAP_PRIVATE),
			 -EINVAL);
	}
	raw_close(&raw);
}

TEST("offsets that nobody has are refused")
{
	static const uint64_t offsets[] = {
		0,
		PAGE,
		1ull << 20,
		1ull << 31,
		1ull << 40,
		1ull << 63,
		0ull - PAGE /* ends where offsets wrap */,
	};
	int fd = open_rank(0);
	size_t i;

	for (i = 0; i < ROWS(offsets); i++)
		CHECK(try_map(fd, offsets[i], PAGE, PROT_READ, MAP_SHARED) < 0);
	close(fd);
}

TEST("offsets of other files are refused")
{
	int same = open_rank(0), other = open_rank(1), kind;
	struct raw raw;

	raw_open(&raw, 0, SIZE);
	for (kind = 0; kind < KINDS; kind++) {
		check_map(&raw, kind, same, 0, 0, MAP_SHARED, -EACCES);
		CHECK(try_map(other, area_of(&raw, kind).offset, PAGE, PROT_READ, MAP_SHARED) < 0);
	}
	close(same);
	close(other);
	raw_close(&raw);
}

TEST("the event area is read-only")
{
	struct raw raw;
	struct area area;

	raw_open(&raw, 0, SIZE);
	area = area_of(&raw, EVENT);
	CHECK_EQ(try_map(raw.fd, area.offset, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED), -EACCES);
	CHECK_EQ(try_map(raw.fd, area.offset, PAGE, PROT_WRITE, MAP_SHARED), -EACCES);
	CHECK_EQ(mprotect((void *)(uintptr_t)raw.events, PAGE, PROT_READ | PROT_WRITE), -1);
	CHECK_EQ(errno, EACCES);
	CHECK_EQ(signal_of_store((void *)(uintptr_t)raw.events), SIGSEGV);
	CHECK_EQ(signal_of_load(raw.events), 0);
	raw_close(&raw);
}

TEST("a read-only file maps nothing to write")
{
	uint64_t offset;
	uint32_t bo;
	int fd = open(guest_node(0), O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(bo_create(fd, PAGE, &bo), 0);
	CHECK_EQ(bo_offset(fd, bo, &offset), 0);
	CHECK_EQ(try_map(fd, offset, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED), -EACCES);
	CHECK_EQ(try_map(fd, offset, PAGE, PROT_READ, MAP_SHARED), 0);
	close(fd);
}

TEST("mappings cannot grow")
{
	struct raw raw;

	raw_open(&raw, 0, SIZE);
	CHECK(mremap(raw.memory, SIZE, 2 * SIZE, MREMAP_MAYMOVE) == MAP_FAILED);
	CHECK(mremap((void *)(uintptr_t)raw.aperture, SIZE, 2 * SIZE, MREMAP_MAYMOVE) ==
	      MAP_FAILED);
	CHECK(mremap((void *)(uintptr_t)raw.doorbell, PAGE, 2 * PAGE, MREMAP_MAYMOVE) ==
	      MAP_FAILED);
	CHECK(mremap((void *)(uintptr_t)raw.events, PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
	raw_close(&raw);
}

/* A second mapping shows the same data. Unmapping one keeps the other. */
TEST("a second mapping shows the same data")
{
	uint32_t *second;
	struct raw raw;

	raw_open(&raw, 0, SIZE);
	second = bo_map(raw.fd, raw.bo, SIZE);
	second[77] = 99;
	order_stores();
	CHECK_EQ(((volatile uint32_t *)raw.memory)[77], 99);
	CHECK_EQ(((volatile uint32_t *)raw.aperture)[77], 99);
	munmap(second, SIZE);
	CHECK_EQ(((volatile uint32_t *)raw.memory)[77], 99);
	raw_close(&raw);
}

/* Every page of the aperture reads as the same page of the buffer. */
TEST("the aperture shows the buffer")
{
	struct raw raw;
	uint32_t i;

	raw_open(&raw, 0, 64 * PAGE);
	for (i = 0; i < 64; i++)
		((volatile uint32_t *)raw.memory)[i * PAGE / 4 + i] = i + 1;
	order_stores();
	for (i = 0; i < 64; i++)
		CHECK_EQ(((volatile uint32_t *)raw.aperture)[i * PAGE / 4 + i], i + 1);
	raw_close(&raw);
}

TEST("mappings of a destroyed space raise SIGBUS")
{
	struct area area[KINDS];
	struct raw raw;
	int kind;

	raw_open(&raw, 0, SIZE);
	for (kind = 0; kind < KINDS; kind++)
		area[kind] = area_of(&raw, kind);
	CHECK_EQ(signal_of_load(raw.aperture), 0);
	CHECK_EQ(space_destroy(raw.fd, raw.space), 0);
	CHECK_EQ(signal_of_load(raw.aperture), SIGBUS);
	CHECK_EQ(signal_of_store(raw.aperture), SIGBUS);
	CHECK_EQ(signal_of_load(raw.aperture + 3 * PAGE), SIGBUS);
	CHECK_EQ(signal_of_load(raw.doorbell), SIGBUS);
	CHECK_EQ(signal_of_store(raw.doorbell), SIGBUS);
	/* The event area and the buffer stay. */
	CHECK_EQ(signal_of_load(raw.events), 0);
	CHECK_EQ(raw_state(&raw), DRM_T3_SPACE_DEAD);
	CHECK_EQ(signal_of_store(raw.memory), 0);
	for (kind = APERTURE; kind < KINDS; kind++)
		CHECK(try_map(raw.fd, area[kind].offset, PAGE, PROT_READ, MAP_SHARED) < 0);
	raw_close(&raw);
}

/* A mapping that was never touched is revoked as well. */
TEST("a mapping that was never touched raises SIGBUS, too")
{
	struct raw raw;

	raw_open(&raw, 0, SIZE);
	CHECK_EQ(space_destroy(raw.fd, raw.space), 0);
	CHECK_EQ(signal_of_store(raw.aperture), SIGBUS);
	CHECK_EQ(signal_of_store(raw.doorbell), SIGBUS);
	CHECK_EQ(signal_of_load(raw.events), 0);
	raw_close(&raw);
}

/* Mappings hold the file, so its space lives on without the descriptor. */
TEST("a space lives while it is mapped")
{
	struct raw raw;

	raw_open(&raw, 0, SIZE);
	raw_map_local(&raw);
	close(raw.fd);
	raw_arm(&raw, 1);
	raw_fill(&raw, 0, RAW_SEGMENT_BYTES, 9);
	CHECK_EQ(raw_state(&raw), DRM_T3_SPACE_COMPLETE);
	CHECK_EQ(((volatile uint32_t *)raw.memory)[0], 9);
	raw_unmap(&raw);
}

/* ------------------------------------------------------------------ fork */

static void child_finishes_the_epoch(int sock, void *arg)
{
	const struct raw *raw = arg;

	receive_u32(sock);
	raw_fill(raw, 0, RAW_SEGMENT_BYTES, 6);
	CHECK_EQ(raw_state(raw), DRM_T3_SPACE_COMPLETE);
	CHECK_EQ(raw_wait(raw, DRM_T3_WAIT_DELIVERED, 1, 1, after_ms(2000)), 0);
}

/* fork() duplicates file and mappings. The child's end destroys nothing. */
TEST("a fork shares the space")
{
	struct child child;
	struct raw raw;

	raw_open(&raw, 0, SIZE);
	raw_map_local(&raw);
	child_start(&child, child_finishes_the_epoch, &raw);
	raw_arm(&raw, 1);
	send_u32(child.sock, 1);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_DELIVERED, 1, 1, after_ms(5000)), 0);
	CHECK_EQ(child_end(&child, 5000), 0);
	CHECK_EQ(((volatile uint32_t *)raw.memory)[63], 6);
	raw_release(&raw, 1);
	raw_run_epoch(&raw, 2);
	raw_close(&raw);
}

static void child_finds_it_dead(int sock, void *arg)
{
	const struct raw *raw = arg;

	CHECK_EQ(signal_of_load(raw->aperture), 0);
	send_u32(sock, 1);
	receive_u32(sock);
	CHECK_EQ(signal_of_load(raw->aperture), SIGBUS);
	CHECK_EQ(signal_of_store(raw->doorbell), SIGBUS);
	CHECK_EQ(raw_state(raw), DRM_T3_SPACE_DEAD);
}

TEST("the end of a space reaches the child's mappings")
{
	struct child child;
	struct raw raw;

	raw_open(&raw, 0, SIZE);
	child_start(&child, child_finds_it_dead, &raw);
	receive_u32(child.sock);
	CHECK_EQ(space_destroy(raw.fd, raw.space), 0);
	send_u32(child.sock, 1);
	CHECK_EQ(child_end(&child, 5000), 0);
	raw_close(&raw);
}
