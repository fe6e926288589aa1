// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <getopt.h>
#include <sched.h>
#include <signal.h>

#include "child.h"
#include "ordeal.h"

#define TOLD 3 /* status of a process that has ended by an error and printed it */

struct ordeal ordeal;

void ordeal_parse(int argc, char **argv, uint32_t rounds)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "faults", no_argument, NULL, 'f' },
		{ 0 },
	};
	int option;

	ordeal = (struct ordeal){ .seed = (uint64_t)now_ns(), .rounds = rounds };
	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (option == 's')
			ordeal.seed = strtoull(optarg, NULL, 0);
		else if (option == 'r')
			ordeal.rounds = (uint32_t)strtoul(optarg, NULL, 10);
		else if (option == 'f')
			ordeal.faults = true;
		else
			exit(2);
	}
	printf("# --seed %llu\n", (unsigned long long)ordeal.seed);
	fflush(stdout);
}

void must(const struct t3_space *space, const char *what, int ret)
{
	char text[512] = "";

	if (!ret)
		return;
	if (space)
		t3_space_explain(space, ret, text, sizeof(text));
	if (!ordeal.faults)
		guest_fail(__FILE__, __LINE__, "%s: %d (%s). %s", what, ret, strerror(-ret), text);
	printf("# error: %s: %s. %s\n", what, strerror(-ret), text);
	fflush(stdout);
	_exit(TOLD);
}

struct start {
	void (*body)(int sock, void *arg);
	void *arg;
};

static void begin(int sock, void *arg)
{
	const struct start *start = arg;

	alarm(ORDEAL_MS / 1000);
	signal(SIGBUS, SIG_DFL); /* it ends stores to a device that was lost, not a test */
	start->body(sock, start->arg);
}

void ordeal_run(void (*body)(int sock, void *arg), void *arg)
{
	struct start start = { body, arg };
	struct child child;
	int status;

	child_start(&child, begin, &start);
	status = child_end(&child, ORDEAL_LIMIT_MS);
	if (ordeal.faults && status == 128 + SIGBUS)
		printf("# error: SIGBUS: the device was lost\n");
	else if (!ordeal.faults || status != TOLD)
		CHECK_EQ(status, 0);
}

void ordeal_stay(uint32_t thread)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(thread % (uint32_t)processors, &set);
	CHECK_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
}
