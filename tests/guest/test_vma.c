// SPDX-License-Identifier: MIT
/*
 * Operations of a process on mappings of each kind: split, shrink, move, protect, pin, fork,
 * revoke, and a debugger's. test_mmap.c tests how they are made.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "child.h"
#include "memory.h"
#include "raw.h"

#define PAGES 4u
#define SIZE  (PAGES * PAGE)

enum { BUFFER, HOST, APERTURE, DOORBELL, EVENT, KINDS };

static const char *const names[] = { "buffer", "host buffer", "aperture", "doorbell", "events" };
static const bool registers[] = { true, false, true, true, false };

struct maps {
	struct raw raw;
	uint32_t host;
	uint64_t offset[KINDS];
	uint64_t size[KINDS];
	volatile uint8_t *at[KINDS];
};

static void *map_kind(const struct maps *m, int kind)
{
	int prot = kind == EVENT ? PROT_READ : PROT_READ | PROT_WRITE;
	void *at = mmap(NULL, m->size[kind], prot, MAP_SHARED, m->raw.fd, (off_t)m->offset[kind]);

	CHECK(at != MAP_FAILED);
	return at;
}

static void maps_open(struct maps *m)
{
	struct raw *raw = &m->raw;
	int kind;

	raw_open(raw, 0, SIZE);
	CHECK_EQ(bo_create_host(raw->fd, SIZE, &m->host), 0);
	CHECK_EQ(bo_offset(raw->fd, raw->bo, &m->offset[BUFFER]), 0);
	CHECK_EQ(bo_offset(raw->fd, m->host, &m->offset[HOST]), 0);
	m->offset[APERTURE] = raw->made.aperture_offset;
	m->offset[DOORBELL] = raw->made.doorbell_offset;
	m->offset[EVENT] = raw->made.event_offset;
	for (kind = 0; kind < KINDS; kind++) {
		m->size[kind] = kind <= APERTURE ? SIZE : PAGE;
		m->at[kind] = map_kind(m, kind);
	}
}

static void maps_close(struct maps *m)
{
	int kind;

	for (kind = 0; kind < KINDS; kind++)
		munmap((void *)(uintptr_t)m->at[kind], m->size[kind]);
	raw_close(&m->raw);
}

static void *plain(volatile uint8_t *at)
{
	return (void *)(uintptr_t)at;
}

/* ----------------------------------------------------------------- attributes */

static bool has_flag(const char *flags, const char *flag)
{
	const char *found = strstr(flags, flag);

	return found && found[-1] == ' ';
}

/* The VmFlags line of the mapping at an address. */
static void read_flags(const volatile uint8_t *at, char *line, size_t size)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	unsigned long start;
	bool inside = false;
	char word;

	CHECK(file);
	while (fgets(line, (int)size, file)) {
		if (sscanf(line, "%lx-%*x %c", &start, &word) == 2)
			inside = start == (uintptr_t)at;
		else if (inside && strncmp(line, "VmFlags:", 8) == 0)
			break;
	}
	CHECK(strncmp(line, "VmFlags:", 8) == 0);
	fclose(file);
}

/* All: shared, no growth, no core dump, copied by fork. Registers: no struct page. */
TEST("mappings have the right flags")
{
	struct maps m;
	char flags[512];
	int kind;

	maps_open(&m);
	for (kind = 0; kind < KINDS; kind++) {
		read_flags(m.at[kind], flags, sizeof(flags));
		if (!has_flag(flags, "sh") || !has_flag(flags, "de") || !has_flag(flags, "dd") ||
		    has_flag(flags, "dc") || has_flag(flags, "io") != registers[kind] ||
		    has_flag(flags, "pf") != registers[kind] ||
		    has_flag(flags, "mw") != (kind != EVENT))
			guest_fail(__FILE__, __LINE__, "%s: %s", names[kind], flags);
	}
	maps_close(&m);
}

/* ----------------------------------------------------------------------- size */

static void check_refused(const struct maps *m, int kind, size_t old, size_t new, int flags)
{
	if (mremap(plain(m->at[kind]), old, new, flags) != MAP_FAILED)
		guest_fail(__FILE__, __LINE__, "%s: mremap %zu, %zu, %#x", names[kind], old, new,
			   flags);
}

/* A mapping cannot be longer, be mapped twice (old size 0), or be copied (DONTUNMAP). */
TEST("mappings do not grow and are not copied")
{
	struct maps m;
	int kind;

	maps_open(&m);
	for (kind = 0; kind < KINDS; kind++) {
		check_refused(&m, kind, m.size[kind], m.size[kind] + PAGE, MREMAP_MAYMOVE);
		check_refused(&m, kind, m.size[kind], m.size[kind] + PAGE, 0);
		check_refused(&m, kind, 0, m.size[kind], MREMAP_MAYMOVE);
		check_refused(&m, kind, 0, 64 * PAGE, MREMAP_MAYMOVE);
		check_refused(&m, kind, m.size[kind], m.size[kind],
			      MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
	}
	maps_close(&m);
}

/* A piece that was cut off cannot grow into another mapping's part. */
TEST("a piece of a mapping cannot grow into another's part")
{
	struct maps m;
	int kind;

	maps_open(&m);
	for (kind = BUFFER; kind <= APERTURE; kind++) {
		CHECK_EQ(munmap(plain(m.at[kind] + PAGE), PAGE), 0);
		CHECK_EQ(signal_of_load(m.at[kind]), 0);
		CHECK_EQ(signal_of_load(m.at[kind] + PAGE), SIGSEGV);
		CHECK_EQ(signal_of_load(m.at[kind] + 2 * PAGE), 0);
		check_refused(&m, kind, PAGE, 2 * PAGE, 0);
		check_refused(&m, kind, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
		CHECK(mremap(plain(m.at[kind] + 2 * PAGE), 2 * PAGE, PAGE, 0) != MAP_FAILED);
		CHECK_EQ(signal_of_load(m.at[kind] + 3 * PAGE), SIGSEGV);
		CHECK_EQ(mprotect(plain(m.at[kind] + 2 * PAGE), PAGE, PROT_READ), 0);
		CHECK_EQ(signal_of_store(m.at[kind] + 2 * PAGE), SIGSEGV);
		CHECK_EQ(signal_of_load(m.at[kind] + 2 * PAGE), 0);
	}
	maps_close(&m);
}

/* Each page of a piece is the same page as before. */
TEST("the pieces of a mapping show the right pages")
{
	volatile uint8_t *moved;
	struct maps m;
	uint32_t page;
	int kind;

	maps_open(&m);
	for (kind = BUFFER; kind <= HOST; kind++) {
		for (page = 0; page < PAGES; page++)
			*(volatile uint32_t *)(m.at[kind] + page * PAGE) = 100 + page;
		moved = mremap(plain(m.at[kind] + 2 * PAGE), PAGE, PAGE,
			       MREMAP_MAYMOVE | MREMAP_FIXED,
			       mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
		CHECK((void *)(uintptr_t)moved != MAP_FAILED);
		CHECK_EQ(*(volatile uint32_t *)moved, 102);
		CHECK_EQ(madvise(plain(moved), PAGE, MADV_DONTNEED),
			 registers[kind] ? -1 : 0); /* PFN mappings refuse it */
		CHECK_EQ(*(volatile uint32_t *)moved, 102);
		munmap(plain(moved), PAGE);
	}
	maps_close(&m);
}

/* ------------------------------------------------------------------------ move */

/* Revoking finds a mapping wherever it is. */
TEST("moved mappings die too")
{
	static const int want[] = { 0, 0, SIGBUS, SIGBUS, 0 };
	volatile uint8_t *fresh;
	struct maps m;
	int kind;

	maps_open(&m);
	for (kind = 0; kind < KINDS; kind++) {
		fresh = mmap(NULL, m.size[kind], PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK_EQ(signal_of_load(m.at[kind]), 0);
		CHECK(mremap(plain(m.at[kind]), m.size[kind], m.size[kind],
			     MREMAP_MAYMOVE | MREMAP_FIXED, fresh) == plain(fresh));
		m.at[kind] = fresh;
		CHECK_EQ(signal_of_load(m.at[kind]), 0);
	}
	CHECK_EQ(space_destroy(m.raw.fd, m.raw.space), 0);
	for (kind = 0; kind < KINDS; kind++)
		CHECK_EQ(signal_of_load(m.at[kind]), want[kind]);
	maps_close(&m);
}

/* ------------------------------------------------------------------------- pin */

/* Memory on the bus cannot be pinned. */
TEST("memory can be pinned, and registers cannot")
{
	int pipes[2], kind;
	struct maps m;

	CHECK_EQ(pipe(pipes), 0);
	maps_open(&m);
	for (kind = 0; kind < KINDS; kind++) {
		struct iovec iov = { plain(m.at[kind]), 1 };

		CHECK_EQ(signal_of_load(m.at[kind]), 0);
		CHECK_EQ(vmsplice(pipes[1], &iov, 1, 0), registers[kind] ? -1 : 1);
	}
	close(pipes[0]);
	close(pipes[1]);
	maps_close(&m);
}

/* -------------------------------------------------------------------- debugger */

/* As gdb does it: /proc/PID/mem. */
static int open_memory(pid_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}

static ssize_t peek(int memory, const volatile void *at, void *bytes, size_t size)
{
	return pread(memory, bytes, size, (off_t)(uintptr_t)at);
}

static ssize_t poke(int memory, const volatile void *at, const void *bytes, size_t size)
{
	return pwrite(memory, bytes, size, (off_t)(uintptr_t)at);
}

/*
 * Buffers and event areas are memory. A read of a register may change it, and a store to an
 * aperture counts, so a debugger sees neither.
 */
TEST("a debugger sees memory and no registers")
{
	static const bool readable[] = { true, true, false, false, true };
	static const bool writable[] = { true, true, false, false, false };
	int memory = open_memory(getpid()), kind;
	struct maps m;
	uint32_t word;

	maps_open(&m);
	for (kind = 0; kind < KINDS; kind++) {
		ssize_t got = peek(memory, m.at[kind], &word, sizeof(word));

		if (got != (readable[kind] ? 4 : -1))
			guest_fail(__FILE__, __LINE__, "%s: read %zd", names[kind], got);
		word = 5;
		got = poke(memory, m.at[kind], &word, sizeof(word));
		if (got != (writable[kind] ? 4 : -1))
			guest_fail(__FILE__, __LINE__, "%s: wrote %zd", names[kind], got);
	}
	CHECK_EQ(raw_state(&m.raw), DRM_T3_SPACE_IDLE);
	CHECK_EQ(m.raw.events->faults, 0);
	close(memory);
	maps_close(&m);
}

static void check_same_bytes(int memory, volatile uint8_t *at, size_t size)
{
	uint8_t bytes[SIZE];
	size_t i;

	CHECK(size <= sizeof(bytes));
	CHECK_EQ(peek(memory, at, bytes, size), size);
	for (i = 0; i < size; i++)
		if (bytes[i] != at[i])
			guest_fail(__FILE__, __LINE__, "byte %zu is %u, not %u", i, bytes[i],
				   at[i]);
	for (i = 0; i < size; i++)
		bytes[i] = (uint8_t)(bytes[i] + 1);
	CHECK_EQ(poke(memory, at, bytes, size), size);
	for (i = 0; i < size; i++)
		if (at[i] != bytes[i])
			guest_fail(__FILE__, __LINE__, "written byte %zu is %u, not %u", i, at[i],
				   bytes[i]);
}

/* Any place and length; a mapping that begins inside the buffer; never beyond its end. */
TEST("a debugger sees the right bytes")
{
	int memory = open_memory(getpid()), kind;
	volatile uint8_t *piece;
	uint8_t bytes[2 * PAGE];
	struct maps m;
	size_t i;

	maps_open(&m);
	for (kind = BUFFER; kind <= HOST; kind++) {
		for (i = 0; i < SIZE; i++)
			m.at[kind][i] = (uint8_t)(i * 7 + i / PAGE);
		order_stores();
		check_same_bytes(memory, m.at[kind], SIZE);
		check_same_bytes(memory, m.at[kind] + PAGE - 3, 7);
		check_same_bytes(memory, m.at[kind] + SIZE - 1, 1);
		/* The next page is not mapped. */
		CHECK_EQ(munmap(plain(m.at[kind]), PAGE), 0);
		CHECK_EQ(munmap(plain(m.at[kind] + 2 * PAGE), 2 * PAGE), 0);
		piece = m.at[kind] + PAGE;
		check_same_bytes(memory, piece, PAGE);
		CHECK_EQ(peek(memory, piece + PAGE - 5, bytes, sizeof(bytes)), 5);
		CHECK_EQ(peek(memory, piece - 1, bytes, 1), -1);
	}
	close(memory);
	maps_close(&m);
}

/* A file that was opened to read gives no way to write, and PROT_READ none that mprotect() does not. */
TEST("a debugger writes no mapping that is to read")
{
	int fd = open(guest_node(0), O_RDONLY | O_CLOEXEC), memory = open_memory(getpid());
	uint32_t bo, word = 5;
	uint64_t offset;
	volatile uint32_t *at;

	CHECK(fd >= 0);
	CHECK_EQ(bo_create(fd, PAGE, &bo), 0);
	CHECK_EQ(bo_offset(fd, bo, &offset), 0);
	at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, (off_t)offset);
	CHECK((void *)(uintptr_t)at != MAP_FAILED);
	CHECK_EQ(poke(memory, at, &word, sizeof(word)), -1);
	CHECK_EQ(peek(memory, at, &word, sizeof(word)), 4);
	CHECK_EQ(word, 0);
	munmap((void *)(uintptr_t)at, PAGE);
	close(memory);
	close(fd);
}

static void wait_with_words(int sock, void *arg)
{
	struct maps *m = arg;

	*(volatile uint32_t *)m->at[BUFFER] = 0x11223344;
	order_stores();
	CHECK_EQ(ptrace(PTRACE_TRACEME, 0, NULL, NULL), 0);
	(void)sock;
	raise(SIGSTOP);
	CHECK_EQ(*(volatile uint32_t *)(m->at[BUFFER] + 8), 0x55667788);
}

/* Another process, by ptrace() itself, and a mapping by way of a dma-buf on another device. */
TEST("an imported buffer can be read by ptrace")
{
	int other = open_rank(1), dmabuf, status;
	struct child child;
	struct maps m;
	uint32_t handle;
	uint64_t offset;
	long word;

	maps_open(&m);
	dmabuf = prime_share(m.raw.fd, m.raw.bo);
	CHECK_EQ(prime_import(other, dmabuf, &handle), 0);
	CHECK_EQ(bo_offset(other, handle, &offset), 0);
	munmap(plain(m.at[BUFFER]), SIZE);
	m.at[BUFFER] = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, other, (off_t)offset);
	CHECK(plain(m.at[BUFFER]) != MAP_FAILED);
	child_start(&child, wait_with_words, &m);
	CHECK_EQ(waitpid(child.pid, &status, 0), child.pid);
	CHECK(WIFSTOPPED(status));
	errno = 0;
	word = ptrace(PTRACE_PEEKDATA, child.pid, m.at[BUFFER], NULL);
	CHECK_EQ(errno, 0);
	CHECK_EQ((uint32_t)word, 0x11223344);
	CHECK_EQ(ptrace(PTRACE_POKEDATA, child.pid, m.at[BUFFER] + 8, 0x55667788L), 0);
	CHECK_EQ(ptrace(PTRACE_DETACH, child.pid, NULL, NULL), 0);
	CHECK_EQ(child_end(&child, 5000), 0);
	close(dmabuf);
	close(other);
	maps_close(&m);
}

/* ------------------------------------------------------------------------ fork */

static void child_has_all(int sock, void *arg)
{
	struct maps *m = arg;
	int kind;

	for (kind = 0; kind < KINDS; kind++)
		CHECK_EQ(signal_of_load(m->at[kind]), 0);
	*(volatile uint32_t *)m->at[BUFFER] = 11;
	*(volatile uint32_t *)m->at[HOST] = 12;
	order_stores();
	send_u32(sock, 1);
	receive_u32(sock);
	/* A mapping that the parent has removed still exists here, and may be mapped again. */
	CHECK_EQ(*(volatile uint32_t *)m->at[BUFFER], 21);
	CHECK_EQ(*(volatile uint32_t *)m->at[HOST], 22);
	for (kind = 0; kind < KINDS; kind++)
		CHECK_EQ(munmap(map_kind(m, kind), m->size[kind]), 0);
}

TEST("a child has the same mappings")
{
	struct child child;
	struct maps m;
	int kind;

	maps_open(&m);
	child_start(&child, child_has_all, &m);
	receive_u32(child.sock);
	CHECK_EQ(*(volatile uint32_t *)m.at[BUFFER], 11);
	CHECK_EQ(*(volatile uint32_t *)m.at[HOST], 12);
	*(volatile uint32_t *)m.at[BUFFER] = 21;
	*(volatile uint32_t *)m.at[HOST] = 22;
	order_stores();
	for (kind = 0; kind < KINDS; kind++) {
		munmap(plain(m.at[kind]), m.size[kind]);
		m.at[kind] = map_kind(&m, kind);
	}
	send_u32(child.sock, 1);
	CHECK_EQ(child_end(&child, 5000), 0);
	maps_close(&m);
}

/* A child does not inherit a mapping with MADV_DONTFORK. */
static void child_has_none(int sock, void *arg)
{
	struct maps *m = arg;
	int kind;

	(void)sock;
	for (kind = 0; kind < KINDS; kind++)
		CHECK_EQ(signal_of_load(m->at[kind]), SIGSEGV);
}

TEST("a child has no mappings that it shall not have")
{
	struct child child;
	struct maps m;
	int kind;

	maps_open(&m);
	for (kind = 0; kind < KINDS; kind++)
		CHECK_EQ(madvise(plain(m.at[kind]), m.size[kind], MADV_DONTFORK), 0);
	child_start(&child, child_has_none, &m);
	CHECK_EQ(child_end(&child, 5000), 0);
	maps_close(&m);
}

static void work_alone(struct maps *m, int sock, pid_t parent)
{
	struct drm_t3_segment_map segment = raw_segment(&m->raw);

	while (getppid() == parent)
		nap_ms(1);
	CHECK_EQ(raw_map(&m->raw, &segment), 0);
	raw_run_epoch(&m->raw, 1);
	CHECK_EQ(signal_of_store(m->at[HOST]), 0);
	send_u32(sock, raw_state(&m->raw));
}

/* Opens all, forks a child, and is killed. */
static void die_with_a_child(int sock, void *arg)
{
	pid_t parent = getpid();
	struct maps m;

	(void)arg;
	maps_open(&m);
	if (fork() == 0) {
		work_alone(&m, sock, parent);
		_exit(0);
	}
	kill(parent, SIGKILL);
}

/* The child also has the file. All goes on until the child ends, too. */
TEST("a child outlives its parent with all mappings")
{
	uint64_t before = memory_free(0);
	struct child child;

	child_start(&child, die_with_a_child, NULL);
	CHECK_EQ(receive_u32(child.sock), DRM_T3_SPACE_IDLE);
	CHECK_EQ(child_end(&child, 5000), 128 + SIGKILL);
	check_memory(0, before);
}
