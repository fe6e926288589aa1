/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes from one node to another in memory that both share: two pipes, one each way, each with one
 * writer and one reader. SPEC.md section 16.4. The other side may change all of the memory at any
 * time. So a side keeps its own index apart, checks the other one's at each look, and copies bytes
 * out before it looks at them.
 *
 * A side that has nothing to do says in the memory that it sleeps. Who then writes, or reads, learns
 * that he must wake it. How is the host's business: a flag may be what it waits for, as a futex.
 */
#ifndef T3_PIPE_H
#define T3_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define T3_PIPE_SIZE 0x80000u /* bytes under way at most; a power of two */
#define T3_PIPE_HEAD 0x1000u  /* before the bytes: the indices of both pipes */

/* Of the whole shared memory. */
#define T3_PIPE_MEMORY (T3_PIPE_HEAD + 2 * (size_t)T3_PIPE_SIZE)

/* An index counts bytes modulo 2^32. Each side's is on a cache line of its own. */
struct t3_pipe_side {
	uint32_t index;
	uint32_t sleeps; /* set by this side, cleared by the one that wakes it */
	uint32_t mbz[14];
};

struct t3_pipe_indices {
	struct t3_pipe_side writer, reader;
};

/* One side of one pipe. Calls on it are serialised by the host. */
struct t3_pipe {
	struct t3_pipe_side *own, *other;
	uint8_t *bytes;
	uint32_t index; /* the right value of own->index */
};

/*
 * The side that made the memory, which was zero, writes pipe 0 and reads pipe 1; the other one the
 * other way round.
 */
void t3_pipe_writer(struct t3_pipe *pipe, void *memory, unsigned int number);
void t3_pipe_reader(struct t3_pipe *pipe, void *memory, unsigned int number);

/* False, from all of these: the other side's index is impossible. */

/* How many bytes the writer may write now. */
bool t3_pipe_room(const struct t3_pipe *pipe, uint32_t *bytes);
/* The bytes that have come, up to the end of the memory: `data` may change until it is copied. */
bool t3_pipe_look(const struct t3_pipe *pipe, const uint8_t **data, uint32_t *bytes);

/* Not more than there is room for. True: the reader sleeps, and the caller must wake it. */
bool t3_pipe_write(struct t3_pipe *pipe, const void *data, uint32_t bytes);
/* The first bytes of t3_pipe_look() were copied. True: the writer sleeps, and is to be woken. */
bool t3_pipe_take(struct t3_pipe *pipe, uint32_t bytes);

/*
 * Says that this side sleeps. Then it must look again: what came before needs no waking. Afterwards,
 * asleep or not, it says that it is awake.
 */
void t3_pipe_sleep(struct t3_pipe *pipe);
void t3_pipe_awake(struct t3_pipe *pipe);

#endif /* T3_PIPE_H */
