/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared memory of two nodes. See t3_ring.h. */
#include "qemu/osdep.h"
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "qapi/error.h"
#include "qemu/atomic.h"
#include "qemu/memfd.h"
#include "t3_ring.h"

/* Its size stays as it is checked, or an access may end this process. */
#define T3_RING_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

struct T3Ring {
	void *memory;
	int fd;
	struct t3_pipe in, out;
	GByteArray *spill; /* has not fitted yet; its bytes before `spilled` are written */
	size_t spilled;
	bool wrong;
};

/* The node that made the memory writes pipe 0. */
static T3Ring *ring_of(int fd, void *memory, bool own)
{
	T3Ring *ring = g_new0(T3Ring, 1);

	ring->memory = memory;
	ring->fd = fd;
	ring->spill = g_byte_array_new();
	t3_pipe_writer(&ring->out, memory, own ? 0 : 1);
	t3_pipe_reader(&ring->in, memory, own ? 1 : 0);
	return ring;
}

T3Ring *t3_ring_new(Error **errp)
{
	int fd;
	void *memory = qemu_memfd_alloc("t3-nodes", T3_PIPE_MEMORY, T3_RING_SEALS, &fd, errp);

	return memory ? ring_of(fd, memory, true) : NULL;
}

static bool check_memory(int fd, Error **errp)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat stat;

	if (seals < 0 || (seals & T3_RING_SEALS) != T3_RING_SEALS)
		error_setg(errp, "it is no memory of a fixed size (sealed, see SPEC.md 16.4)");
	else if (fstat(fd, &stat) || stat.st_size != T3_PIPE_MEMORY)
		error_setg(errp, "its size is not %zu bytes", T3_PIPE_MEMORY);
	else
		return true;
	return false;
}

static void *map_memory(int fd, Error **errp)
{
	void *memory;

	if (!check_memory(fd, errp))
		return NULL;
	memory = mmap(NULL, T3_PIPE_MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory != MAP_FAILED)
		return memory;
	error_setg_errno(errp, errno, "it cannot be mapped");
	return NULL;
}

T3Ring *t3_ring_open(int fd, Error **errp)
{
	void *memory = map_memory(fd, errp);

	close(fd);
	return memory ? ring_of(-1, memory, false) : NULL;
}

int t3_ring_fd(const T3Ring *ring)
{
	return ring->fd;
}

void t3_ring_free(T3Ring *ring)
{
	if (!ring)
		return;
	qemu_memfd_free(ring->memory, T3_PIPE_MEMORY, ring->fd);
	g_byte_array_unref(ring->spill);
	g_free(ring);
}

/* ------------------------------------------------------------------- output */

size_t t3_ring_waiting(const T3Ring *ring)
{
	return ring->spill->len - ring->spilled;
}

/* How many bytes there is room for; 0, too, if the other node's index is impossible. */
static uint32_t room(T3Ring *ring)
{
	uint32_t bytes;

	if (!t3_pipe_room(&ring->out, &bytes))
		ring->wrong = true;
	return bytes;
}

/* True: some of it fitted. */
static bool flush_once(T3Ring *ring, bool *wake)
{
	size_t part = MIN(t3_ring_waiting(ring), room(ring));

	if (!part)
		return false;
	*wake |= t3_pipe_write(&ring->out, ring->spill->data + ring->spilled, part);
	ring->spilled += part;
	return true;
}

/*
 * The writer says that it sleeps, and looks again. So either it finds room, or who makes room wakes
 * it. Each turn moves something: another node that plays with its index cannot keep this one here.
 */
void t3_ring_flush(T3Ring *ring, bool *wake)
{
	do {
		t3_pipe_sleep(&ring->out);
	} while (flush_once(ring, wake));
	if (t3_ring_waiting(ring))
		return;
	t3_pipe_awake(&ring->out);
	g_byte_array_set_size(ring->spill, 0);
	ring->spilled = 0;
}

static void append(T3Ring *ring, const void *data, size_t len)
{
	if (ring->spilled && ring->spilled >= t3_ring_waiting(ring)) {
		g_byte_array_remove_range(ring->spill, 0, ring->spilled);
		ring->spilled = 0;
	}
	g_byte_array_append(ring->spill, data, len);
}

bool t3_ring_write(T3Ring *ring, const void *data, size_t len, size_t most, bool hold, bool *wake)
{
	if (!hold && !t3_ring_waiting(ring) && room(ring) >= len) {
		*wake |= t3_pipe_write(&ring->out, data, len);
		return true;
	}
	if (ring->wrong || t3_ring_waiting(ring) + len > most)
		return false;
	append(ring, data, len);
	if (!hold)
		t3_ring_flush(ring, wake);
	return true;
}

bool t3_ring_is_wrong(const T3Ring *ring)
{
	return ring->wrong;
}

struct t3_pipe *t3_ring_input(T3Ring *ring)
{
	return &ring->in;
}

/* -------------------------------------------------------------------- sleep */

/*
 * The word that says that a reader sleeps is what it waits for. A call that wakes it never waits,
 * whatever the other side does with the word: with an eventfd, it could fill the counter.
 */
static void wake_word(uint32_t *sleeps)
{
	qatomic_set(sleeps, 0);
	syscall(__NR_futex, sleeps, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void t3_ring_sleep(T3Ring *ring, unsigned int ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	syscall(__NR_futex, &ring->in.own->sleeps, FUTEX_WAIT, 1, &time, NULL, 0);
}

void t3_ring_wake(T3Ring *ring)
{
	wake_word(&ring->out.other->sleeps);
}

void t3_ring_rouse(T3Ring *ring)
{
	wake_word(&ring->in.own->sleeps);
}
