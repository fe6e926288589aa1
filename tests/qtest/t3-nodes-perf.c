/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How fast two QEMUs reach each other, by each way that they have: only with -m perf, for `make
 * bench`. Beside them two processes wake each other by eventfds, and do nothing else.
 */
#include "qemu/osdep.h"
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include "qobject/qdict.h"
#include "t3-test.h"

#define TILE	      0x100000u /* bytes of a transfer: 1024 packets */
#define PACKET	      0x400u	/* of one that is one packet */
#define TRANSFERS     24u
#define TRIPS	      201u
#define TRIP_PAUSE_US 1000u
#define TURNS	      63u /* there and back, in one epoch */
#define EPOCHS	      21u
#define PING	      0x40u /* bytes of a packet */
#define PING_PAUSE_US 5000u

struct way {
	const char *name, *transport;
	const char *more; /* properties of the fabric */
	bool tcp;
};

static const struct way ways[] = {
	{ "shared-memory", "shared-memory", NULL, false },
	{ "unix", "unix", "\"shared-memory\": false, ", false },
	{ "tcp", "tcp", NULL, true },
};

static void print(const char *name, const char *what, double value)
{
	printf("# perf %s %s %.0f\n", name, what, value);
	fflush(stdout);
}

/* -------------------------------------------------------------- round trips */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return values[count / 2];
}

static double smoothed(struct t3_vm *vm, const char *transport)
{
	QDict *peer = node_peer(vm), *trip = qdict_get_qdict(peer, "round-trip-ns");
	double ns = trip ? qdict_get_int(trip, "smoothed") : 0;

	g_assert_cmpstr(qdict_get_str(peer, "transport"), ==, transport);
	qobject_unref(peer);
	return ns;
}

/*
 * Both sides sleep as often as they like to. The device itself measures (SPEC.md 16.3), and its
 * average, in which the newest trip has 1/8, tells each of them.
 */
static double trips(struct t3_vm *vm, struct t3_test_pair *pair, const char *transport)
{
	double old = smoothed(vm, transport), ns[TRIPS];
	uint32_t i;

	for (i = 0; i < TRIPS; i++) {
		double all;

		store32(&pair->source, i * 4, 1);
		g_usleep(TRIP_PAUSE_US);
		all = smoothed(vm, transport);
		ns[i] = old + 8 * (all - old);
		old = all;
	}
	return median(ns, TRIPS);
}

/* ---------------------------------------------------------------- ping-pong */

/*
 * Segment k of the first space sends to segment k of the second one, and that to segment k + 1 of
 * the first. So each packet triggers the next, and only the first needs a program.
 */
static void ping_map(struct t3_test_space *space, uint32_t segment, bool back)
{
	enum t3_segment_kind kind = back && segment == TURNS - 1 ? T3_SEG_LOCAL : T3_SEG_DMA;
	struct t3_cmd_seg_map map = seg_args(space, segment, segment * PING, PING, kind, 1);

	map.counter_base = segment;
	if (back && kind == T3_SEG_DMA)
		map.target_segment = segment + 1;
	seg_map(space, &map);
}

static struct t3_test_pair ping_pair(struct t3_test_dev *first, struct t3_test_dev *second)
{
	struct t3_test_pair pair = {
		.source = space_create(first, 50, 7),
		.target = space_create(second, 51, 7),
	};
	uint32_t i;

	space_route(&pair.source, &pair.target);
	space_route(&pair.target, &pair.source);
	space_import(&pair.target, &pair.source);
	space_import(&pair.source, &pair.target);
	for (i = 0; i < TURNS; i++) {
		ping_map(&pair.source, i, false);
		ping_map(&pair.target, i, true);
	}
	seg_staging(&pair.source, 0, PING, 1);
	return pair;
}

/* Nobody looks meanwhile, as a look needs a processor. */
static void ping_pong(struct t3_test_pair *pair, uint32_t epoch)
{
	db_arm(&pair->target, epoch);
	db_arm(&pair->source, epoch);
	wait_state(&pair->target, T3_SPACE_ARMED, epoch);
	wait_state(&pair->source, T3_SPACE_ARMED, epoch);
	db_tile(&pair->source, 0, 0, 0);
	g_usleep(PING_PAUSE_US);
	wait_state(&pair->source, T3_SPACE_COMPLETE, epoch);
	wait_state(&pair->target, T3_SPACE_COMPLETE, epoch);
	db_release(&pair->source, epoch);
	db_release(&pair->target, epoch);
}

/* The device's average after an epoch is that of its last trips. */
static double pings(struct t3_vm *a, struct t3_vm *b, const char *transport)
{
	struct t3_test_pair pair = ping_pair(&a->dev[0], &b->dev[0]);
	double ns[EPOCHS];
	uint32_t i;

	for (i = 0; i < EPOCHS; i++) {
		ping_pong(&pair, i + 1);
		ns[i] = smoothed(a, transport);
	}
	return median(ns, EPOCHS);
}

/* ---------------------------------------------------------------- transfers */

/* A staged tile that the source's DMA sends to the target, once in each epoch. */
static struct t3_test_pair transfer_pair(struct t3_test_dev *source, struct t3_test_dev *target,
					 uint32_t bytes)
{
	uint32_t space = bytes == TILE ? 60 : 62, slot = bytes == TILE ? 5 : 3;
	struct t3_test_pair pair = {
		.source = space_create(source, space, slot),
		.target = space_create(target, space + 1, slot + 1),
	};
	struct t3_cmd_seg_map map = seg_args(&pair.target, 0, 0, bytes, T3_SEG_LOCAL, 1);

	seg_map(&pair.target, &map);
	space_route(&pair.source, &pair.target);
	space_import(&pair.target, &pair.source);
	map = seg_args(&pair.source, 0, 0, bytes, T3_SEG_DMA, 1);
	seg_map(&pair.source, &map);
	seg_staging(&pair.source, 0, bytes, 1);
	return pair;
}

static double transfer(struct t3_test_pair *pair, uint32_t epoch)
{
	gint64 start;

	db_arm(&pair->target, epoch);
	db_arm(&pair->source, epoch);
	wait_state(&pair->source, T3_SPACE_ARMED, epoch);
	start = g_get_monotonic_time();
	db_tile(&pair->source, 0, 0, 0);
	while (event_read(&pair->source).state >> 32 == T3_SPACE_ARMED)
		g_assert_cmpint(g_get_monotonic_time() - start, <, 10 * G_TIME_SPAN_SECOND);
	start = g_get_monotonic_time() - start;
	wait_state(&pair->source, T3_SPACE_COMPLETE, epoch);
	wait_state(&pair->target, T3_SPACE_COMPLETE, epoch);
	db_release(&pair->source, epoch);
	db_release(&pair->target, epoch);
	return start;
}

/* The median of several, in us. */
static double transfers(struct t3_test_dev *source, struct t3_test_dev *target, uint32_t bytes)
{
	struct t3_test_pair pair = transfer_pair(source, target, bytes);
	double us[TRANSFERS];
	uint32_t i;

	for (i = 0; i < TRANSFERS; i++)
		us[i] = transfer(&pair, i + 1);
	return median(us, TRANSFERS);
}

/* This program looks whether the source has all answers, so a look is a part of the time. */
static void measure_transfers(const char *name, struct t3_test_dev *source,
			      struct t3_test_dev *target)
{
	print(name, "bytes-per-second", TILE / transfers(source, target, TILE) * 1e6);
	print(name, "packet-ns", transfers(source, target, PACKET) * 1e3);
}

/* ---------------------------------------------------------------- the sides */

static void measure_way(const struct way *way)
{
	struct t3_test_place place = place_new();
	struct t3_vm *a, *b;
	struct t3_test_pair pair;

	place.more = way->more;
	if (way->tcp)
		place_on_tcp(&place);
	a = node_start(&place, 0);
	b = node_start(&place, 1);
	pair = remote_pair(&a->dev[0], &b->dev[0], 1, TRIPS * 4);
	print(way->name, "ping-pong-ns", pings(a, b, way->transport));
	print(way->name, "round-trip-ns", trips(a, &pair, way->transport));
	measure_transfers(way->name, &a->dev[0], &b->dev[0]);
	vm_end(b);
	vm_end(a);
	place_free(&place);
}

/* Two devices of one QEMU, whose fabric has a thread as that of nodes has. */
static void measure_one(void)
{
	struct t3_vm *vm = vm_start_raw(
		"-object iothread,id=io -object t3-fabric,id=f0,ranks=2,iothread=io "
		"-device t3,fabric=f0,rank=0,memory-size=64M,aperture-size=32M,addr=4 "
		"-device t3,fabric=f0,rank=1,memory-size=64M,aperture-size=32M,addr=5");
	unsigned int i;

	for (i = 0; i < 2; i++) {
		vm_add_dev(vm, QPCI_DEVFN(4 + i, 0));
		dev_map(&vm->dev[i]);
	}
	measure_transfers("one-process", &vm->dev[0], &vm->dev[1]);
	vm_end(vm);
}

static void answer(int in, int out)
{
	uint64_t one;
	uint32_t i;

	for (i = 0; i < 2 * TRIPS; i++)
		if (read(in, &one, sizeof(one)) != sizeof(one) ||
		    write(out, &one, sizeof(one)) != sizeof(one))
			_exit(1);
	_exit(0);
}

static double turn(int to, int from)
{
	struct timespec begin, end;
	uint64_t one = 1;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	g_assert_cmpint(write(to, &one, sizeof(one)), ==, sizeof(one));
	g_assert_cmpint(read(from, &one, sizeof(one)), ==, sizeof(one));
	clock_gettime(CLOCK_MONOTONIC, &end);
	return (end.tv_sec - begin.tv_sec) * 1e9 + end.tv_nsec - begin.tv_nsec;
}

/* The first or the last CPU of those allowed. */
static void move_to(const cpu_set_t *allowed, bool last)
{
	cpu_set_t one;
	int i, cpu = -1;

	for (i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, allowed) && (last || cpu < 0))
			cpu = i;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	g_assert_cmpint(sched_setaffinity(0, sizeof(one), &one), ==, 0);
}

/* With a pause, each of them sleeps before a turn, as in trips(). Without it: a ping-pong. */
static double turns(int to, int from, uint32_t pause_us)
{
	double ns[TRIPS];
	uint32_t i;

	for (i = 0; i < TRIPS; i++) {
		if (pause_us)
			g_usleep(pause_us);
		ns[i] = turn(to, from);
	}
	return median(ns, TRIPS);
}

/*
 * Linux puts two such processes on one CPU, where a wake-up takes no interrupt. Nodes that work have
 * a CPU each, as these have if they are `apart`.
 */
static void measure_eventfds(const char *name, bool apart)
{
	int to = eventfd(0, 0), from = eventfd(0, 0), status;
	cpu_set_t allowed;
	pid_t pid;

	g_assert_cmpint(sched_getaffinity(0, sizeof(allowed), &allowed), ==, 0);
	if (apart)
		move_to(&allowed, false);
	pid = fork();
	if (!pid) {
		if (apart)
			move_to(&allowed, true);
		answer(to, from);
	}
	print(name, "ping-pong-ns", turns(to, from, 0));
	print(name, "round-trip-ns", turns(to, from, TRIP_PAUSE_US));
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_cmpint(status, ==, 0);
	g_assert_cmpint(sched_setaffinity(0, sizeof(allowed), &allowed), ==, 0);
	close(to);
	close(from);
}

static void measure(void)
{
	unsigned int i;

	measure_eventfds("eventfd", false);
	measure_eventfds("eventfd-apart", true);
	measure_one();
	for (i = 0; i < G_N_ELEMENTS(ways); i++)
		measure_way(&ways[i]);
}

void add_nodes_perf(void)
{
	if (g_test_perf())
		qtest_add_func("/t3/nodes/perf", measure);
}
