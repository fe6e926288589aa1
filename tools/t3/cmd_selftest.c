// SPDX-License-Identifier: MIT
/* t3 selftest: checks the health of each device. Prints a line for each check. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "selftest/selftest.h"

#define GRACE_SECONDS 5
#define SHARES	      4 /* one check may use this part of the time */

static const struct check {
	const char *name;
	selftest_check run;
	uint32_t variants; /* 0: one variant, without a type */
} checks[] = {
	{ "version", selftest_version, 0 },	{ "node", selftest_node, 0 },
	{ "memory", selftest_memory, 0 },	{ "stores", selftest_store, 10 },
	{ "doorbells", selftest_doorbell, 10 }, { "polling", selftest_poll, 0 },
	{ "interrupt", selftest_interrupt, 0 }, { "fill, copy, update", selftest_copy, 0 },
	{ "product", selftest_gemm, 0 },	{ "updates of the next rank", selftest_remote, 0 },
};

/* Concerns all devices of a fabric. It runs once, with the first of them. */
static const struct check together = { "all-reduce of all ranks", selftest_all_reduce, 0 };

struct selftest_args {
	struct cmd_common common;
	uint64_t timeout;
};

/* The results up to now. */
struct tally {
	unsigned int passed, failed, skipped;
	json_t *list; /* NULL: printed */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct selftest_args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->common;
		return 0;
	case 't':
		args->timeout = cmdline_number(state, "--timeout", arg, 1, 3600);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void report(struct tally *tally, const struct selftest *test, const char *name, bool good)
{
	const char *result = test->skipped ? "skipped" : good ? "passed" : "failed";
	json_t *object;

	tally->skipped += test->skipped;
	tally->passed += good && !test->skipped;
	tally->failed += !good && !test->skipped;
	if (!tally->list) {
		printf("%-8s device %zu: %s%s%s\n", result, test->device->index, name,
		       *test->text ? ": " : "", test->text);
		fflush(stdout);
		return;
	}
	object = device_to_json(test->device);
	json_object_set_new(object, "check", json_string(name));
	json_object_set_new(object, "result", json_string(result));
	json_object_set_new(object, "text", json_string(test->text));
	json_array_append_new(tally->list, object);
}

static void run_check(struct tally *tally, struct selftest *test, const struct check *check)
{
	uint64_t now, left, share = test->timeout_ns / SHARES;
	char name[64];
	bool good;

	for (test->variant = 0; test->variant < (check->variants ? check->variants : 1);
	     test->variant++) {
		test->skipped = false;
		*test->text = '\0';
		snprintf(name, sizeof(name), "%s%s%s", check->name, check->variants ? " " : "",
			 check->variants ? t3_dtype_name(test->variant) : "");
		now = now_ns();
		left = test->end_ns > now ? test->end_ns - now : 0;
		/* A check that hangs leaves time for the next ones. */
		test->deadline = t3_deadline(left < share ? left : share);
		good = left ? check->run(test)
			    : selftest_fail(test, "no time is left for it: --timeout");
		report(tally, test, name, good);
	}
}

static int finish(struct tally *tally)
{
	int ret = tally->failed ? EXIT_FAIL : EXIT_OK;

	if (!tally->list) {
		printf("%u passed, %u failed, %u skipped\n", tally->passed, tally->failed,
		       tally->skipped);
		return ret;
	}
	if (print_json(json_pack("{s:i, s:i, s:i, s:o}", "passed", (int)tally->passed, "failed",
				 (int)tally->failed, "skipped", (int)tally->skipped, "checks",
				 tally->list)))
		return EXIT_FAIL;
	return ret;
}

static bool is_first_of_fabric(const struct selftest *test)
{
	const struct tool_device *other;

	for (other = test->devices->list; other < test->device; other++)
		if (other->info.fabric_id == test->device->info.fabric_id)
			return false;
	return true;
}

/* Ends a check that no deadline ends, such as a call that hangs in the kernel. */
static void on_alarm(int number)
{
	static const char text[] = "t3: the selftest did not end in time: a device hangs\n";

	(void)number;
	_exit(write(STDERR_FILENO, text, sizeof(text) - 1) < 0 ? EXIT_FAIL : EXIT_FAIL);
}

int cmd_selftest(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "timeout", 't', "SECONDS", 0, "time for all checks together, 1 to 3600 (60)", 0 },
		{ 0 },
	};
	static const struct argp_child children[] = { { &cmdline_device, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Check the health of devices: memory, stores and doorbells in each type, "
		       "waits, queues, links. It uses memory and spaces of its own and disturbs "
		       "nobody. The exit status is 1 when a check has failed.",
		.children = children,
	};
	struct selftest_args args = { .timeout = 60 };
	struct selftest test = { 0 };
	struct tally tally = { 0 };
	struct tool_devices devices;
	size_t i, k;
	int ret;

	cmdline_parse(&argp, argc, argv, 0, &args);
	signal(SIGALRM, on_alarm);
	alarm((unsigned int)args.timeout + GRACE_SECONDS);
	ret = devices_open(&args.common, &devices);
	if (ret)
		return ret;
	test.devices = &devices;
	test.timeout_ns = args.timeout * 1000000000ull;
	test.end_ns = now_ns() + test.timeout_ns;
	tally.list = args.common.json ? json_array() : NULL;
	for (i = 0; i < devices.count; i++) {
		test.device = &devices.list[i];
		for (k = 0; k < sizeof(checks) / sizeof(*checks); k++)
			run_check(&tally, &test, &checks[k]);
		if (is_first_of_fabric(&test))
			run_check(&tally, &test, &together);
	}
	ret = finish(&tally);
	devices_close(&devices);
	return ret;
}
