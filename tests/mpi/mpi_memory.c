// SPDX-License-Identifier: MIT
/*
 * Memory of MPI_Alloc_mem with the component coll/t3:
 *
 *	mpirun -n 4 --mca coll_t3_piece 65536 --mca coll_t3_device_min 4096 \
 *		--mca btl_vader_single_copy_mechanism emulated mpi_memory [device|ordinary [threads]]
 *
 * The word says which memory the program must get: that of its device (the default), as the
 * component's counters and the process's mappings show, or ordinary memory. Collectives from it and to
 * it have the same bits as with ordinary memory. Messages, windows and frees work. The second word
 * takes threads instead.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK (1 << 20)

static int rank, ranks, in_device = 1;
static unsigned long checks, failures;

static void expect(int good, const char *what, const char *how)
{
	checks++;
	if (good)
		return;
	failures++;
	fprintf(stderr, "rank %d of %d: %s: %s\n", rank, ranks, what, how);
}

static void *must_have(void *memory)
{
	if (!memory)
		MPI_Abort(MPI_COMM_WORLD, 2);
	return memory;
}

static void *ordinary(size_t bytes)
{
	return must_have(calloc(bytes, 1));
}

static void *alloc(size_t bytes)
{
	void *at = NULL;

	MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &at);
	return must_have(at);
}

/* ---------------------------------------------------------------------- counters */

enum counter { INPUT, RESULT, MEMORY, COUNTERS };

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[COUNTERS];

static void open_counter(enum counter c, const char *name, int class)
{
	int index, count;

	handles[c] = MPI_T_PVAR_HANDLE_NULL;
	if (MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS)
		MPI_T_pvar_handle_alloc(session, index, NULL, &handles[c], &count);
}

static void open_counters(void)
{
	int given;

	MPI_T_init_thread(MPI_THREAD_SINGLE, &given);
	MPI_T_pvar_session_create(&session);
	open_counter(INPUT, "coll_t3_device_input", MPI_T_PVAR_CLASS_COUNTER);
	open_counter(RESULT, "coll_t3_device_result", MPI_T_PVAR_CLASS_COUNTER);
	open_counter(MEMORY, "coll_t3_device_memory", MPI_T_PVAR_CLASS_LEVEL);
}

static unsigned long long value_of(enum counter c)
{
	unsigned long long value = 0;

	if (handles[c] != MPI_T_PVAR_HANDLE_NULL)
		MPI_T_pvar_read(session, handles[c], &value);
	return value;
}

/* Whether the process has an address by a mapping of a device. */
static int is_mapped(const void *at)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char line[512];
	int found = 0;

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && (uintptr_t)at >= from &&
		    (uintptr_t)at < to)
			found = strstr(line, "/dev/accel/") != NULL;
	if (maps)
		fclose(maps);
	return found;
}

/* ---------------------------------------------------------------------- life */

static void lives(void)
{
	unsigned long long before = value_of(MEMORY);
	unsigned char *at = alloc(BLOCK + 5), *small = alloc(100);
	size_t i;
	int good = 1;

	expect(is_mapped(at) == in_device, "MPI_Alloc_mem", "the other kind of memory");
	expect(!is_mapped(small), "MPI_Alloc_mem of 100 bytes", "device memory");
	expect(value_of(MEMORY) - before == (in_device ? BLOCK + 5 : 0), "MPI_Alloc_mem",
	       "coll_t3_device_memory is wrong");
	for (i = 0; i < BLOCK + 5; i++)
		at[i] = (unsigned char)(i * 7 + i / 4099);
	for (i = 0; i < BLOCK + 5; i++)
		good &= at[i] == (unsigned char)(i * 7 + i / 4099);
	expect(good, "loads and stores", "wrong bytes");
	MPI_Free_mem(at);
	MPI_Free_mem(small);
	expect(value_of(MEMORY) == before, "MPI_Free_mem", "coll_t3_device_memory is wrong");
}

static void comes_and_goes(void)
{
	unsigned long long before = value_of(MEMORY);
	enum { TIMES = 60 }; /* which is more than the device has */
	int i, mapped = 0;
	char *at;

	for (i = 0; i < TIMES; i++) {
		at = alloc(16 * BLOCK);
		mapped += is_mapped(at);
		at[0] = at[16 * BLOCK - 1] = 1;
		MPI_Free_mem(at);
	}
	expect(mapped == (in_device ? TIMES : 0), "MPI_Alloc_mem again and again",
	       "the memory leaks");
	expect(value_of(MEMORY) == before, "MPI_Free_mem again and again", "the memory leaks");
}

/* More than the device has. Plans must still be possible. */
static void too_much(void)
{
	enum { BLOCKS = 40 };
	float *at[BLOCKS], *sum = alloc(BLOCK);
	int i, mapped = 0;

	for (i = 0; i < BLOCKS; i++) {
		at[i] = alloc(16 * BLOCK);
		mapped += is_mapped(at[i]);
		at[i][0] = at[i][16 * BLOCK / 4 - 1] = 1;
		at[i][1] = 0;
	}
	expect(in_device ? mapped > 0 && mapped < BLOCKS : !mapped, "640 MiB",
	       "all of it is device memory, or none");
	for (i = 0; i < BLOCKS; i += BLOCKS - 1) {
		MPI_Allreduce(at[i], sum, 30011, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		expect(sum[0] == (float)ranks && sum[1] == 0, "a full device", "a wrong sum");
	}
	for (i = 0; i < BLOCKS; i++)
		MPI_Free_mem(at[i]);
	MPI_Free_mem(sum);
}

/* ---------------------------------------------------------------------- collectives */

/* Floats of all sizes, and integers that overflow. */
static void fill(void *to, int count, int seed, int floats)
{
	uint64_t x;
	int i;

	for (i = 0; i < count; i++) {
		x = (uint64_t)(i + 1) * 0x9e3779b97f4a7c15u ^
		    (uint64_t)(seed + 1) * 0xd1b54a32d192ed03u;
		if (floats)
			((float *)to)[i] = (float)(int32_t)(x >> 24) / 1000;
		else
			((int32_t *)to)[i] = (int32_t)(x >> 24);
	}
}

struct call {
	const char *name;
	int input, result; /* parts, of which there is one for each rank: 0, or the one part: 1 */
	int can_be_in_place;
};

enum { ALLREDUCE, REDUCE, REDUCE_SCATTER, ALLGATHER, ALLTOALL, BCAST, IALLREDUCE };

static const struct call calls[] = {
	{ "allreduce", 1, 1, 1 },  { "reduce", 1, 1, 0 },   { "reduce_scatter", 0, 1, 1 },
	{ "allgather", 1, 0, 1 },  { "alltoall", 0, 0, 1 }, { "bcast", 1, 1, 0 },
	{ "iallreduce", 1, 1, 0 },
};

static void run(int call, const void *in, void *out, int count, MPI_Datatype type, MPI_Comm comm)
{
	MPI_Request request;

	switch (call) {
	case ALLREDUCE:
		MPI_Allreduce(in, out, count, type, MPI_SUM, comm);
		break;
	case REDUCE:
		MPI_Reduce(in, out, count, type, MPI_SUM, 1, comm);
		break;
	case REDUCE_SCATTER:
		MPI_Reduce_scatter_block(in, out, count, type, MPI_SUM, comm);
		break;
	case ALLGATHER:
		MPI_Allgather(in, count, type, out, count, type, comm);
		break;
	case ALLTOALL:
		MPI_Alltoall(in, count, type, out, count, type, comm);
		break;
	case BCAST:
		memcpy(out, in, (size_t)count * 4);
		MPI_Bcast(out, count, type, 1, comm);
		break;
	case IALLREDUCE:
		MPI_Iallreduce(in, out, count, type, MPI_SUM, comm, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		break;
	}
}

/* Where a test has its input and its result. */
struct memory {
	char *in, *out;
	int in_is_device, out_is_device; /* by MPI_Alloc_mem */
};

/* The device must have moved the input or the result by itself, if the memory is its own. */
static void expect_moved(const char *name, enum counter c, unsigned long long before, int wanted)
{
	unsigned long long bytes = value_of(c) - before;

	if (!in_device || !wanted)
		expect(!bytes, name, "the device has moved bytes of ordinary memory");
	else
		expect(bytes != 0, name,
		       c == INPUT ? "input was copied" : "the result was copied by a processor");
}

/* Input and result of a call, at an offset, against the same call with ordinary memory. */
static void compare(int call, const struct memory *m, size_t offset, int count, int floats,
		    MPI_Comm comm)
{
	MPI_Datatype type = floats ? MPI_FLOAT : MPI_INT;
	int in_count = count * (calls[call].input ? 1 : ranks);
	int out_count = count * (calls[call].result ? 1 : ranks);
	void *in = ordinary((size_t)in_count * 4), *out = ordinary((size_t)out_count * 4);
	unsigned long long input = value_of(INPUT), result = value_of(RESULT);
	int has_result = call != REDUCE || rank == 1, has_input = call != BCAST || rank == 1;
	char what[120];

	snprintf(what, sizeof(what), "%s of %d %s from %s to %s memory at %zu", calls[call].name,
		 count, floats ? "floats" : "integers", m->in_is_device ? "device" : "ordinary",
		 m->out_is_device ? "device" : "ordinary", offset);
	fill(in, in_count, rank, floats);
	memcpy(m->in + offset, in, (size_t)in_count * 4);
	if (call == IALLREDUCE) /* which needs the plans of a blocking call */
		run(ALLREDUCE, in, out, count, type, comm);
	run(call, in, out, count, type, comm);
	expect_moved(what, INPUT, input, 0);
	expect_moved(what, RESULT, result, 0);
	input = value_of(INPUT);
	result = value_of(RESULT);
	run(call, m->in + offset, m->out + offset, count, type, comm);
	if (has_result)
		expect(!memcmp(m->out + offset, out, (size_t)out_count * 4), what, "other bits");
	expect(!memcmp(m->in + offset, in, (size_t)in_count * 4), what, "the input has changed");
	/* A broadcast has its input where its result is. Not all chunks are multiples of 8. */
	if (call == BCAST ? m->out_is_device : m->in_is_device) {
		if (has_input && !(offset % 8))
			expect_moved(what, INPUT, input, 1);
	} else {
		expect_moved(what, INPUT, input, 0);
	}
	/* A call that does not block waits for no copy of the device's. */
	if (call != BCAST || rank != 1)
		expect_moved(what, RESULT, result,
			     m->out_is_device && has_result && call != IALLREDUCE);
	free(in);
	free(out);
}

static void in_place(int call, char *at, size_t offset, int count, MPI_Comm comm)
{
	int all = count * (call == ALLREDUCE ? 1 : ranks);
	int out_count = call == REDUCE_SCATTER ? count : all;
	float *in = ordinary((size_t)all * 4), *out = ordinary((size_t)all * 4);
	unsigned long long input = value_of(INPUT), result = value_of(RESULT);
	char *data = at + offset;

	fill(in, all, rank, 1);
	memcpy(data, in, (size_t)all * 4);
	run(call, MPI_IN_PLACE, data, count, MPI_FLOAT, comm);
	run(call, call == ALLGATHER ? in + rank * count : in, out, count, MPI_FLOAT, comm);
	expect(!memcmp(data, out, (size_t)out_count * 4), calls[call].name, "in place: other bits");
	expect_moved(calls[call].name, RESULT, result, 1);
	if (!(offset % 8) && !(count % 2))
		expect_moved(calls[call].name, INPUT, input, 1);
	free(in);
	free(out);
}

/* At the end of the block, at an offset that is no multiple of 8, and with an odd length. */
static void collectives(MPI_Comm comm)
{
	const struct {
		size_t offset;
		int count;
	} cases[] = { { 65536, 16384 }, { 65544, 30010 }, { 65548, 30011 }, { 65536, 30011 } };
	const size_t bytes = 4 * BLOCK;
	char *device[2] = { alloc(bytes), alloc(bytes) };
	char *plain[2] = { ordinary(bytes), ordinary(bytes) };
	struct memory m;
	size_t call, i;
	int kind;

	for (kind = 1; kind < 4; kind++) {
		m.in_is_device = kind & 1;
		m.out_is_device = kind >> 1;
		m.in = (m.in_is_device ? device : plain)[0];
		m.out = (m.out_is_device ? device : plain)[1];
		for (call = 0; call < sizeof(calls) / sizeof(*calls); call++)
			for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
				compare((int)call, &m, cases[i].offset, cases[i].count, (int)i & 1,
					comm);
	}
	for (call = 0; call < sizeof(calls) / sizeof(*calls); call++)
		for (i = 0; calls[call].can_be_in_place && i < 4; i++)
			in_place((int)call, device[0], cases[i].offset, cases[i].count, comm);
	for (i = 0; i < 2; i++) {
		MPI_Free_mem(device[i]);
		free(plain[i]);
	}
}

/* Memory outlives communicators, and communicators memory. */
static void outlives(void)
{
	float *at = alloc(BLOCK), *sum = alloc(BLOCK);
	MPI_Comm comm;
	int i;

	for (i = 0; i < 3; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		at[0] = (float)i;
		MPI_Allreduce(at, sum, 30010, MPI_FLOAT, MPI_SUM, comm);
		expect(sum[0] == (float)(i * ranks), "a communicator of its own", "a wrong sum");
		if (i)
			MPI_Comm_free(&comm);
		at[1] = 5;
		sum[1] = at[1];
		expect(sum[1] == 5, "a communicator that was freed", "a wrong load");
		MPI_Free_mem(at);
		at = alloc(BLOCK);
		if (!i)
			MPI_Comm_free(&comm);
	}
	MPI_Free_mem(at);
	MPI_Free_mem(sum);
}

/* ---------------------------------------------------------------------- messages */

static void message(char *from, char *to, size_t bytes)
{
	int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks, good = 1;
	size_t i;

	for (i = 0; i < bytes; i++)
		from[i] = (char)(i * 3 + i / 257 + (size_t)rank);
	memset(to, 0, bytes);
	MPI_Sendrecv(from, (int)bytes, MPI_BYTE, next, 7, to, (int)bytes, MPI_BYTE, last, 7,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (i = 0; i < bytes; i++)
		good &= to[i] == (char)(i * 3 + i / 257 + (size_t)last);
	expect(good, "a message", "wrong bytes");
}

static void messages(void)
{
	char *device[2] = { alloc(BLOCK), alloc(BLOCK) };
	char *plain = ordinary(BLOCK);
	const size_t sizes[] = { 1, 3000, 40001, BLOCK };
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		message(device[0], device[1], sizes[i]);
		message(device[0], plain, sizes[i]);
		message(plain, device[1], sizes[i]);
	}
	MPI_Free_mem(device[0]);
	MPI_Free_mem(device[1]);
	free(plain);
}

static void window(void)
{
	int *at = alloc(BLOCK), next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks, i;
	int *from = alloc(BLOCK), good = 1;
	const int count = BLOCK / 4;
	MPI_Win win;

	for (i = 0; i < count; i++)
		from[i] = i + rank;
	MPI_Win_create(at, BLOCK, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	MPI_Put(from, count, MPI_INT, next, 0, count, MPI_INT, win);
	MPI_Win_fence(0, win);
	for (i = 0; i < count; i++)
		good &= at[i] == i + last;
	MPI_Win_free(&win);
	expect(good, "MPI_Put", "wrong elements");
	MPI_Free_mem(at);
	MPI_Free_mem(from);
}

/* ---------------------------------------------------------------------- threads */

#define THREADS 3

struct thread {
	pthread_t id;
	MPI_Comm comm;
	int wrong;
};

static void *work(void *arg)
{
	struct thread *t = arg;
	int i, round, count = 30010;
	int *in, *out;

	for (round = 0; round < 10; round++) {
		in = alloc(BLOCK);
		out = alloc(BLOCK);
		for (i = 0; i < count; i++)
			in[i] = i + rank * round;
		MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, t->comm);
		for (i = 0; i < count; i++)
			t->wrong += out[i] != i * ranks + round * ranks * (ranks - 1) / 2;
		MPI_Free_mem(in);
		MPI_Free_mem(out);
	}
	return NULL;
}

static void threads(void)
{
	struct thread t[THREADS];
	int i;

	for (i = 0; i < THREADS; i++) {
		t[i].wrong = 0;
		MPI_Comm_dup(MPI_COMM_WORLD, &t[i].comm);
	}
	for (i = 0; i < THREADS; i++)
		pthread_create(&t[i].id, NULL, work, &t[i]);
	for (i = 0; i < THREADS; i++) {
		pthread_join(t[i].id, NULL);
		expect(!t[i].wrong, "a thread", "wrong sums");
		MPI_Comm_free(&t[i].comm);
	}
}

static void run_all(void)
{
	lives();
	messages();
	window();
	collectives(MPI_COMM_WORLD);
	outlives();
	comes_and_goes();
	too_much();
}

/* With threads, Open MPI 4.1 has no windows where no process may read another one's memory. */
int main(int argc, char **argv)
{
	int with_threads = argc > 2 && !strcmp(argv[2], "threads"), given;
	unsigned long mine[2], all[2];

	MPI_Init_thread(&argc, &argv, with_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
			&given);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	in_device = argc < 2 || strcmp(argv[1], "ordinary");
	open_counters();
	if (with_threads)
		threads();
	else
		run_all();
	alloc(BLOCK); /* MPI_Finalize() frees it */
	mine[0] = checks;
	mine[1] = failures;
	MPI_Reduce(mine, all, 2, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%lu checks on %d ranks, %lu failed\n", all[0], ranks, all[1]);
	MPI_T_finalize();
	MPI_Finalize();
	return failures ? 1 : 0;
}
