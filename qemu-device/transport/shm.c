/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared memory of two nodes. See shm.h. */
#include "qemu/osdep.h"
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "qapi/error.h"
#include "qemu/atomic.h"
#include "qemu/memfd.h"
#include "transport/shm.h"

/* With these seals the memory keeps the size that was checked; else an access may end this process. */
#define T3_SHM_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

struct T3Shm {
	void *memory;
	int fd;
	struct t3_pipe in, out;
	GByteArray *spill; /* has not fitted yet; its bytes before `spilled` are written */
	size_t spilled;
	bool wrong;
};

/* The node that made the memory writes pipe 0. */
static T3Shm *new_shm(int fd, void *memory, bool own)
{
	T3Shm *shm = g_new0(T3Shm, 1);

	shm->memory = memory;
	shm->fd = fd;
	shm->spill = g_byte_array_new();
	t3_pipe_writer(&shm->out, memory, own ? 0 : 1);
	t3_pipe_reader(&shm->in, memory, own ? 1 : 0);
	return shm;
}

T3Shm *t3_shm_new(Error **errp)
{
	int fd;
	void *memory = qemu_memfd_alloc("t3-nodes", T3_PIPE_MEMORY, T3_SHM_SEALS, &fd, errp);

	return memory ? new_shm(fd, memory, true) : NULL;
}

static bool check_memory(int fd, Error **errp)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat stat;

	if (seals < 0 || (seals & T3_SHM_SEALS) != T3_SHM_SEALS)
		error_setg(errp, "the memfd lacks the size seals that SPEC.md 16.4 requires");
	else if (fstat(fd, &stat) || stat.st_size != T3_PIPE_MEMORY)
		error_setg(errp, "the size of the memfd is not %zu bytes", T3_PIPE_MEMORY);
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
	error_setg_errno(errp, errno, "cannot map the memfd");
	return NULL;
}

T3Shm *t3_shm_open(int fd, Error **errp)
{
	void *memory = map_memory(fd, errp);

	close(fd);
	return memory ? new_shm(-1, memory, false) : NULL;
}

int t3_shm_fd(const T3Shm *shm)
{
	return shm->fd;
}

void t3_shm_free(T3Shm *shm)
{
	if (!shm)
		return;
	qemu_memfd_free(shm->memory, T3_PIPE_MEMORY, shm->fd);
	g_byte_array_unref(shm->spill);
	g_free(shm);
}

/* ------------------------------------------------------------------- output */

size_t t3_shm_waiting(const T3Shm *shm)
{
	return shm->spill->len - shm->spilled;
}

/* How many bytes there is room for; 0, too, if the other node's index is impossible. */
static uint32_t room(T3Shm *shm)
{
	uint32_t bytes;

	if (!t3_pipe_room(&shm->out, &bytes))
		shm->wrong = true;
	return bytes;
}

/* True: some of it fitted. */
static bool flush_once(T3Shm *shm, bool *wake)
{
	size_t part = MIN(t3_shm_waiting(shm), room(shm));

	if (!part)
		return false;
	*wake |= t3_pipe_write(&shm->out, shm->spill->data + shm->spilled, part);
	shm->spilled += part;
	return true;
}

/*
 * The writer says that it sleeps, and looks again. So either it finds room, or who makes room wakes
 * it. Each turn moves something: another node that plays with its index cannot keep this one here.
 */
void t3_shm_flush(T3Shm *shm, bool *wake)
{
	do {
		t3_pipe_sleep(&shm->out);
	} while (flush_once(shm, wake));
	if (t3_shm_waiting(shm))
		return;
	t3_pipe_awake(&shm->out);
	g_byte_array_set_size(shm->spill, 0);
	shm->spilled = 0;
}

static void append(T3Shm *shm, const void *data, size_t len)
{
	if (shm->spilled && shm->spilled >= t3_shm_waiting(shm)) {
		g_byte_array_remove_range(shm->spill, 0, shm->spilled);
		shm->spilled = 0;
	}
	g_byte_array_append(shm->spill, data, len);
}

bool t3_shm_write(T3Shm *shm, const void *data, size_t len, size_t most, bool hold, bool *wake)
{
	if (!hold && !t3_shm_waiting(shm) && room(shm) >= len) {
		*wake |= t3_pipe_write(&shm->out, data, len);
		return true;
	}
	if (shm->wrong || t3_shm_waiting(shm) + len > most)
		return false;
	append(shm, data, len);
	if (!hold)
		t3_shm_flush(shm, wake);
	return true;
}

bool t3_shm_is_wrong(const T3Shm *shm)
{
	return shm->wrong;
}

struct t3_pipe *t3_shm_input(T3Shm *shm)
{
	return &shm->in;
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

void t3_shm_sleep(T3Shm *shm, unsigned int ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	syscall(__NR_futex, &shm->in.own->sleeps, FUTEX_WAIT, 1, &time, NULL, 0);
}

void t3_shm_wake(T3Shm *shm)
{
	wake_word(&shm->out.other->sleeps);
}

void t3_shm_rouse(T3Shm *shm)
{
	wake_word(&shm->in.own->sleeps);
}
