// SPDX-License-Identifier: MIT
/*
 * The calls start from the right arguments of rows.c. Their results go into pools that all threads
 * share without locks. A stale handle is useful, too.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "child.h"
#include "fuzz.h"
#include "kcov.h"
#include "random.h"
#include "rows.h"

#define FRAGMENT_CALLS 32u
#define POOL	       64u
#define MAPS	       16u
#define MAP_PAGES_MAX  16u
#define FDS	       48u /* from world.first_fd on */
#define FILES_MAX      256u
#define WAIT_MS_MAX    20

struct mapping {
	uint8_t *at;
	size_t size;
};

static struct world world;
static volatile uint32_t words[POOL];	/* handles, counts, descriptors */
static volatile uint64_t offsets[POOL]; /* of mmap() */
static struct mapping maps[MAPS];
static struct fuzz_shared *results;

struct fuzzer {
	struct random random;
	struct world world; /* its pointers lead to memory of this thread */
	uint8_t arg[ROW_ARG_MAX];
};

static uint32_t below(struct fuzzer *f, uint32_t limit)
{
	return random_below(&f->random, limit);
}

static bool one_in(struct fuzzer *f, uint32_t limit)
{
	return below(f, limit) == 0;
}

/* ------------------------------------------------------------------------ values */

static int random_fd(struct fuzzer *f)
{
	switch (below(f, 8)) {
	case 0:
		return world.first_fd + (int)below(f, FDS);
	case 1:
		return world.grant_fd;
	case 2:
	case 3:
	case 4:
		return world.target.fd;
	default:
		return world.source.fd;
	}
}

static uint64_t random_value(struct fuzzer *f)
{
	switch (below(f, 8)) {
	case 0:
		return below(f, 5);
	case 1:
		return words[below(f, POOL)];
	case 2:
		return (1ull << below(f, 64)) - below(f, 2);
	case 3:
		return offsets[below(f, POOL)];
	case 4:
		return (uint32_t)random_fd(f);
	case 5:
		return ~0ull - below(f, 3);
	case 6:
		return below(f, 4096);
	default:
		return random_u64(&f->random);
	}
}

/* Give an aligned field of 4 or 8 bytes another value, or clear a bit. */
static void mutate(struct fuzzer *f, void *memory, size_t size)
{
	uint64_t value = random_value(f), old = 0;
	size_t width = size >= 8 && one_in(f, 2) ? 8 : 4;
	size_t at = below(f, (uint32_t)(size / width)) * width;

	memcpy(&old, (uint8_t *)memory + at, width);
	if (one_in(f, 4))
		value = old ^ 1ull << below(f, 8 * (uint32_t)width);
	memcpy((uint8_t *)memory + at, &value, width);
}

static void keep_results(struct fuzzer *f, size_t size)
{
	uint64_t wide;
	uint32_t word;
	size_t at;

	for (at = 0; at + 4 <= size; at += 4) {
		memcpy(&word, f->arg + at, 4);
		if (word && word < 1u << 20)
			words[below(f, POOL)] = word;
	}
	for (at = 0; at + 8 <= size; at += 8) {
		memcpy(&wide, f->arg + at, 8);
		if (wide >> 32 && wide % PAGE == 0)
			offsets[below(f, POOL)] = wide;
	}
}

static void count_call(int ret)
{
	__atomic_add_fetch(&results->calls, 1, __ATOMIC_RELAXED);
	if (ret >= 0)
		__atomic_add_fetch(&results->good, 1, __ATOMIC_RELAXED);
}

/* ----------------------------------------------------------------------- the calls */

/* A wait without an end would hold its thread until all are killed. */
static void shorten_wait(struct fuzzer *f, const struct row *row)
{
	struct drm_t3_space_wait *wait = (void *)f->arg;

	if (row->request == DRM_IOCTL_T3_SPACE_WAIT && !one_in(f, 50))
		wait->deadline_ns = one_in(f, 2) ? 0 : after_ms(below(f, WAIT_MS_MAX));
}

static void call_row(struct fuzzer *f)
{
	const struct row *row = &abi_rows[below(f, DRM_T3_IOCTL_COUNT)];
	size_t size = _IOC_SIZE(row->request);
	int fd = row->at_target ? world.target.fd : world.source.fd, ret;
	uint32_t i;

	memset(f->arg, 0, sizeof(f->arg));
	row->fill(&f->world, f->arg);
	for (i = below(f, 4); i > 0; i--)
		mutate(f, f->arg, size);
	if (one_in(f, 8))
		mutate(f, f->world.commands, sizeof(f->world.commands));
	if (one_in(f, 8))
		mutate(f, f->world.ins, sizeof(f->world.ins));
	if (one_in(f, 8))
		mutate(f, f->world.outs, sizeof(f->world.outs));
	shorten_wait(f, row);
	if (one_in(f, 6))
		fd = random_fd(f);
	if (one_in(f, 20))
		size = below(f, ROW_ARG_MAX);
	ret = ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, 'd', _IOC_NR(row->request), size), f->arg);
	count_call(ret);
	if (ret >= 0)
		keep_results(f, _IOC_SIZE(row->request));
}

/* The DRM core's ioctls that work on objects of this driver. */
static void call_core(struct fuzzer *f)
{
	static const unsigned long requests[] = {
		DRM_IOCTL_GEM_CLOSE,
		DRM_IOCTL_PRIME_HANDLE_TO_FD,
		DRM_IOCTL_PRIME_FD_TO_HANDLE,
		DRM_IOCTL_SYNCOBJ_CREATE,
		DRM_IOCTL_SYNCOBJ_DESTROY,
		DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD,
		DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE,
		DRM_IOCTL_SYNCOBJ_TRANSFER,
		DRM_IOCTL_GET_UNIQUE,
		DRM_IOCTL_GET_MAGIC,
		DRM_IOCTL_GET_CLIENT,
		DRM_IOCTL_GET_CAP,
		DRM_IOCTL_GEM_FLINK,
		DRM_IOCTL_GEM_OPEN,
	};
	unsigned long request = requests[below(f, ROWS(requests))];
	uint32_t i;
	int ret;

	memset(f->arg, 0, sizeof(f->arg));
	for (i = 0; i < _IOC_SIZE(request); i += 4)
		if (one_in(f, 2))
			memcpy(f->arg + i, (uint32_t[]){ words[below(f, POOL)] }, 4);
	if (one_in(f, 2))
		mutate(f, f->arg, _IOC_SIZE(request) & ~3u);
	ret = ioctl(random_fd(f), request, f->arg);
	count_call(ret);
	if (ret >= 0)
		keep_results(f, _IOC_SIZE(request));
}

/* Arrays of syncobjs. Counts above the size of memory are never passed on. */
static void call_syncobjs(struct fuzzer *f)
{
	uint32_t handles[4];
	uint64_t points[4];
	struct drm_syncobj_timeline_wait wait = { 0 };
	struct drm_syncobj_timeline_array array = { 0 };
	size_t i;

	for (i = 0; i < ROWS(handles); i++) {
		handles[i] = one_in(f, 2) ? f->world.sync : words[below(f, POOL)];
		points[i] = below(f, 4);
	}
	wait.handles = array.handles = (uintptr_t)handles;
	wait.points = array.points = (uintptr_t)points;
	wait.count_handles = array.count_handles = below(f, ROWS(handles) + 1);
	wait.flags = below(f, 16);
	array.flags = below(f, 4);
	if (one_in(f, 4))
		count_call(ioctl(world.source.fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait));
	else
		count_call(ioctl(world.source.fd,
				 one_in(f, 2) ? DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL
					      : DRM_IOCTL_SYNCOBJ_QUERY,
				 &array));
}

static void call_mmap(struct fuzzer *f)
{
	static const int prots[] = { PROT_READ, PROT_READ | PROT_WRITE, PROT_NONE,
				     PROT_READ | PROT_WRITE | PROT_EXEC };
	size_t size = PAGE * (one_in(f, 3) ? 1 + below(f, MAP_PAGES_MAX) : 1);
	uint64_t offset = offsets[below(f, POOL)];
	void *at;

	if (one_in(f, 6))
		offset += PAGE * (uint64_t)below(f, 8);
	at = mmap(NULL, size, prots[below(f, ROWS(prots))],
		  one_in(f, 10) ? MAP_PRIVATE : MAP_SHARED, random_fd(f), (off_t)offset);
	count_call(at == MAP_FAILED ? -1 : 0);
	if (at != MAP_FAILED)
		maps[below(f, MAPS)] = (struct mapping){ at, size };
}

/* Only mappings made here. Whatever is at the address by now still belongs to this process. */
static void change_map(struct fuzzer *f)
{
	struct mapping map = maps[below(f, MAPS)];
	size_t size;

	if (!map.size)
		return;
	size = PAGE * (1 + below(f, (uint32_t)(map.size / PAGE)));
	switch (below(f, 4)) {
	case 0:
		count_call(mprotect(map.at, size, below(f, 4)));
		break;
	case 1:
		count_call(madvise(map.at, size, one_in(f, 2) ? MADV_DONTNEED : MADV_DOFORK));
		break;
	default:
		count_call(munmap(map.at, size));
	}
}

static __thread sigjmp_buf touch_exit;
static __thread volatile sig_atomic_t touching;

/*
 * A call with a changed pointer can write over this program's own data. A fault that follows from
 * that is not in touch(), so there is no frame to go back to.
 */
static void on_fault(int number)
{
	if (!touching)
		_exit(128 + number);
	siglongjmp(touch_exit, number);
}

static void store_or_load(uint8_t *at, uint32_t how, uint64_t value)
{
	switch (how) {
	case 0:
		(void)*(volatile uint8_t *)at;
		break;
	case 1:
		(void)*(volatile uint64_t *)at;
		break;
	case 2:
		put8(at, (uint8_t)value);
		break;
	case 3:
		put16(at, (uint16_t)value);
		break;
	case 4:
		put32(at, (uint32_t)value);
		break;
	default:
		put64(at, value);
	}
}

static void touch(uint8_t *at, uint32_t how, uint64_t value)
{
	touching = 1;
	if (!sigsetjmp(touch_exit, 1))
		store_or_load(at, how, value);
	touching = 0;
}

static void touch_map(struct fuzzer *f)
{
	struct mapping map = maps[below(f, MAPS)];
	uint64_t value = random_value(f);

	if (map.size)
		touch(map.at + below(f, (uint32_t)map.size - 8), below(f, 6), value);
}

/* One step of an epoch of a normal program. */
static void epoch_step(struct fuzzer *f)
{
	const struct raw *raw = one_in(f, 2) ? &world.source : &world.target;
	uint32_t epoch = 1 + below(f, 4);

	switch (below(f, 4)) {
	case 0:
		touch((uint8_t *)raw->doorbell + DRM_T3_DOORBELL_ARM, 4, epoch);
		break;
	case 1:
		touch((uint8_t *)raw->doorbell + DRM_T3_DOORBELL_RELEASE, 4, epoch);
		break;
	case 2:
		touch((uint8_t *)raw->doorbell + DRM_T3_DOORBELL_TILE, 5,
		      DRM_T3_TILE_DOORBELL(below(f, 2), below(f, 2), below(f, 4)));
		break;
	default:
		touch((uint8_t *)raw->aperture + 8 * below(f, RAW_SEGMENT_BYTES / 8), 5, epoch);
	}
}

static void change_files(struct fuzzer *f)
{
	int fd = world.first_fd + (int)below(f, FDS);

	if (one_in(f, 3))
		count_call(close(fd));
	else if (one_in(f, 2))
		count_call(dup(fd));
	else
		count_call(open(guest_node(below(f, 2)), O_RDWR | O_CLOEXEC));
}

static void look_at_files(struct fuzzer *f)
{
	struct pollfd poller = { .fd = world.first_fd + (int)below(f, FDS),
				 .events = (short)below(f, 64) };

	count_call(poll(&poller, 1, 0));
	if (poller.fd == world.event_fd && poller.revents & POLLIN)
		count_call((int)read(poller.fd, f->arg, 8));
}

/* The child has all mappings and files, for a moment. */
static void fork_child(struct fuzzer *f)
{
	pid_t pid = fork();

	count_call(pid);
	if (pid > 0) {
		if (one_in(f, 2))
			kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	if (pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	touch_map(f);
	epoch_step(f);
	touch_map(f);
	_exit(0);
}

static void one_call(struct fuzzer *f)
{
	uint32_t kind = below(f, 100);

	if (kind < 58)
		call_row(f);
	else if (kind < 64)
		call_core(f);
	else if (kind < 68)
		call_syncobjs(f);
	else if (kind < 75)
		call_mmap(f);
	else if (kind < 78)
		change_map(f);
	else if (kind < 85)
		touch_map(f);
	else if (kind < 93)
		epoch_step(f);
	else if (kind < 96)
		change_files(f);
	else if (kind < 99)
		look_at_files(f);
	else
		fork_child(f);
}

/* --------------------------------------------------------------------- the process */

struct thread {
	unsigned int index;
	const struct fuzz_program *program;
};

static void *run_thread(void *arg)
{
	struct thread *thread = arg;
	static struct fuzzer fuzzers[KCOV_THREADS];
	struct fuzzer *f = &fuzzers[thread->index];
	uint32_t i, call;

	f->world = world;
	kcov_start(thread->index);
	for (i = 0; i < thread->program->count; i++) {
		f->random = random_seed(thread->program->fragments[i] + thread->index);
		for (call = 0; call < FRAGMENT_CALLS; call++)
			one_call(f);
	}
	return NULL;
}

/* The pools begin with the objects of the world. */
static void fill_pools(void)
{
	const uint32_t first[] = {
		world.source.space, world.target.space,	 world.source.bo, world.spare_bo,
		world.import,	    world.second_import, world.grant,	  world.queue,
		world.idle_queue,   world.sync,		 world.done_sync,
	};
	const struct raw *raws[] = { &world.source, &world.target };
	uint32_t i;

	for (i = 0; i < POOL; i++) {
		words[i] = first[i % ROWS(first)];
		offsets[i] = i % 3 == 0	  ? raws[i % 2]->made.aperture_offset
			     : i % 3 == 1 ? raws[i % 2]->made.doorbell_offset
					  : raws[i % 2]->made.event_offset;
	}
	maps[0] = (struct mapping){ world.source.memory, PAGE };
	maps[1] = (struct mapping){ (uint8_t *)(uintptr_t)world.source.aperture, PAGE };
	maps[2] = (struct mapping){ (uint8_t *)(uintptr_t)world.target.aperture, PAGE };
	maps[3] = (struct mapping){ (uint8_t *)(uintptr_t)world.target.doorbell, PAGE };
}

static void limit_process(void)
{
	struct rlimit files = { FILES_MAX, FILES_MAX }, none = { 0, 0 };
	struct sigaction action = { .sa_handler = on_fault };

	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
	CHECK_EQ(setrlimit(RLIMIT_CORE, &none), 0);
	CHECK_EQ(sigaction(SIGBUS, &action, NULL), 0);
	CHECK_EQ(sigaction(SIGSEGV, &action, NULL), 0);
}

void fuzz_run(const struct fuzz_program *program, struct fuzz_shared *shared)
{
	struct thread threads[KCOV_THREADS];
	pthread_t ids[KCOV_THREADS];
	unsigned int i;

	results = shared;
	become(UID_USER, true);
	world_open(&world);
	fill_pools();
	limit_process();
	shared->ready = 1;
	for (i = 0; i < KCOV_THREADS; i++) {
		threads[i] = (struct thread){ i, program };
		CHECK_EQ(pthread_create(&ids[i], NULL, run_thread, &threads[i]), 0);
	}
	for (i = 0; i < KCOV_THREADS; i++)
		pthread_join(ids[i], NULL);
	_exit(0);
}
