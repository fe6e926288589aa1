// SPDX-License-Identifier: MIT
/*
 * Each event of a device, with each kind of client that it may happen to, and a job on the device
 * after each. The seed gives the order.
 *
 * usage: test_removal [--rounds N] [--clients N] [--seed N] [--host]
 *
 * --rounds:  passes over the whole matrix (1)
 * --clients: clients killed at some moment (50)
 * --host:    also what needs the machine: asked for by a line on stdout, "host: pull",
 *            "host: unplug", "host: plug"
 */
#include <dirent.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>

#include "load.h"
#include "module.h"
#include "queue.h"
#include "random.h"
#include "raw.h"

#define PROGRESS_MS 5000

enum event { REMOVE, UNBIND, KILL, RMMOD, FLR, PULL, UNPLUG, EVENTS };

static const char *const event_names[EVENTS] = { "remove", "unbind", "kill",  "rmmod",
						 "flr",	   "pull",   "unplug" };

static struct {
	unsigned long rounds, clients;
	uint64_t seed;
	bool host;
} opts = { .rounds = 1, .clients = 50 };

static struct random order_random;
static char bdf[32];

/* --------------------------------------------------------------------- devices */

/* A node exists a moment before it can be opened. */
static bool can_open(const char *name)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "/dev/accel/%s", name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static unsigned int count_nodes(void)
{
	unsigned int count = 0;
	struct dirent *entry;
	DIR *dir = opendir("/dev/accel");

	while (dir && (entry = readdir(dir)))
		count += entry->d_name[0] != '.' && can_open(entry->d_name);
	if (dir)
		closedir(dir);
	return count;
}

static void await_nodes(unsigned int count)
{
	int64_t deadline = after_ms(20000 * guest_slowness());

	while (count_nodes() != count) {
		CHECK(now_ns() < deadline);
		nap_ms(2);
	}
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void write_device(const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", bdf, name);
	write_file(path, "1");
}

static void ask_host(const char *what)
{
	printf("host: %s\n", what);
	fflush(stdout);
}

/* ---------------------------------------------------------------------- events */

/* What has happened to the device. A client that ends by itself is not asked (0). */
static enum fate happen(enum event event, struct child *child, unsigned int nodes)
{
	switch (event) {
	case REMOVE:
		write_device("remove");
		return FATE_GONE;
	case UNBIND:
		driver_unbind(LOAD_RANK, bdf, sizeof(bdf));
		return FATE_GONE;
	case FLR:
		write_device("reset");
		return FATE_LOST;
	case KILL:
		child_kill(child);
		return 0;
	case RMMOD:
		CHECK_EQ(module_unload(), -EWOULDBLOCK);
		return FATE_WORKS;
	default:
		ask_host(event == PULL ? "pull" : "unplug");
		await_nodes(nodes - 1);
		return FATE_GONE;
	}
}

static void restore(enum event event, unsigned int nodes)
{
	if (event == UNBIND) {
		driver_bind(bdf);
		return;
	}
	if (event == REMOVE)
		write_file("/sys/bus/pci/rescan", "1");
	else if (event == PULL || event == UNPLUG)
		ask_host("plug");
	else
		return;
	await_nodes(nodes);
	module_open_nodes();
}

/* An epoch over the link in both directions, and a job. */
static void smoke(void)
{
	union drm_t3_any_command command;
	struct operand operand;
	struct raw raw, peer;
	uint32_t queue, sync;

	raw_open(&peer, 0, PAGE);
	raw_open(&raw, LOAD_RANK, PAGE);
	operand_open(&operand, raw.fd, PAGE, 1);
	CHECK_EQ(queue_create(raw.fd, 0, &queue), 0);
	sync = sync_create(raw.fd);
	command = command_fill(operand.handle, 0, PAGE, 0x77);
	CHECK_EQ(submit_one(raw.fd, queue, &command, sync), 0);
	CHECK_EQ(sync_wait(raw.fd, sync, 0, 5000 * (int)guest_slowness()), 0);
	CHECK_EQ(sync_status(raw.fd, sync), 1);
	model_run(&command, &operand, NULL);
	operand_check(&operand);
	operand_drop(&operand);
	raw_close(&raw);
	raw_close(&peer);
}

static void smoke_epoch(uint32_t from, uint32_t to)
{
	struct drm_t3_segment_map segment;
	struct raw source, target;

	raw_open(&source, from, PAGE);
	raw_open(&target, to, PAGE);
	raw_map_local(&target);
	segment = raw_sender(&source, DRM_T3_SEGMENT_DMA, raw_join(&source, &target), 0);
	CHECK_EQ(raw_map(&source, &segment), 0);
	raw_arm(&target, 1);
	raw_arm(&source, 1);
	CHECK_EQ(raw_wait(&source, DRM_T3_WAIT_ARMED, 1, 0, after_ms(5000)), 0);
	raw_fill(&source, 0, RAW_SEGMENT_BYTES, 77);
	CHECK_EQ(raw_wait(&target, DRM_T3_WAIT_DELIVERED, 1, 0, after_ms(5000)), 0);
	CHECK_EQ(*(volatile uint32_t *)(target.memory + 252), 77);
	raw_close(&source);
	raw_close(&target);
}

/* No process has an object of any device. */
static void check_nothing_left(void)
{
	struct drm_t3_device_info info;
	uint32_t rank;
	int fd;

	for (rank = 0; rank < guest_ranks(); rank++) {
		fd = open_rank(rank);
		device_info(fd, &info);
		close(fd);
		check_memory(rank, info.memory_size);
	}
}

static void run_cell(enum event event, enum load load)
{
	unsigned int nodes = count_nodes();
	struct child child;
	enum fate fate;

	device_bdf(LOAD_RANK, bdf, sizeof(bdf));
	load_start(&child, load);
	nap_ms(random_below(&order_random, 10));
	fate = happen(event, &child, nodes);
	if (fate)
		CHECK_EQ(load_end(&child, fate), 0);
	restore(event, nodes);
	smoke();
	smoke_epoch(0, LOAD_RANK);
	smoke_epoch(LOAD_RANK, 0);
	check_nothing_left();
}

/* ----------------------------------------------------------------------- tests */

static void progress(const char *what, unsigned long done, unsigned long all, bool now)
{
	static int64_t next;

	if (now_ns() < next && !now)
		return;
	next = after_ms(PROGRESS_MS);
	printf("# %s: %lu of %lu\n", what, done, all);
	fflush(stdout);
}

/* Fisher and Yates. */
static void shuffle(uint32_t *order, uint32_t count)
{
	uint32_t i, j, kept;

	for (i = count; i > 1; i--) {
		j = random_below(&order_random, i);
		kept = order[i - 1];
		order[i - 1] = order[j];
		order[j] = kept;
	}
}

SLOW_TEST("each event ends well under each kind of client")
{
	uint32_t loads = load_count(), order[EVENTS * LOADS], i;
	uint32_t count = (opts.host ? EVENTS : PULL) * loads;
	unsigned long round;

	alarm(0); /* the clients and the kernel requests below have limits */
	for (i = 0; i < count; i++)
		order[i] = i;
	for (round = 0; round < opts.rounds; round++) {
		shuffle(order, count);
		for (i = 0; i < count; i++) {
			enum event event = order[i] / loads;
			enum load load = order[i] % loads;

			alarm(120 * guest_slowness());
			printf("# round %lu: %s, %s\n", round, event_names[event],
			       load_names[load]);
			run_cell(event, load);
		}
		progress("rounds", round + 1, opts.rounds, true);
	}
}

/* At any moment, also while they start. */
SLOW_TEST("clients may be killed at any moment")
{
	uint32_t loads = load_count();
	unsigned long i;
	struct child child;

	for (i = 0; i < opts.clients; i++) {
		alarm(120 * guest_slowness());
		load_start_quickly(&child, random_below(&order_random, loads));
		nap_ms(random_below(&order_random, 12 * guest_slowness()));
		child_kill(&child);
		progress("killed clients", i + 1, opts.clients, i + 1 == opts.clients);
	}
	check_nothing_left();
	smoke();
}

TEST("the kernel's log is clean")
{
	check_kernel_log();
}

static unsigned long number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 0);

	if (!*text || *end) {
		fprintf(stderr, "test_removal: '%s' is no number\n", text);
		exit(2);
	}
	return value;
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "rounds", required_argument, NULL, 'r' },
		{ "clients", required_argument, NULL, 'c' },
		{ "seed", required_argument, NULL, 's' },
		{ "host", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option;

	opts.seed = (uint64_t)now_ns();
	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (option == 'r')
			opts.rounds = number(optarg);
		else if (option == 'c')
			opts.clients = number(optarg);
		else if (option == 's')
			opts.seed = number(optarg);
		else if (option == 'h')
			opts.host = true;
		else
			exit(2);
	}
	order_random = random_seed(opts.seed);
	printf("# --seed %llu\n", (unsigned long long)opts.seed);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int failed;

	parse(argc, argv);
	failed = test_run(NULL, NULL);
	if (opts.host)
		ask_host("done");
	return failed;
}
