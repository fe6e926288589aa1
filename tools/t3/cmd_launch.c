// SPDX-License-Identifier: MIT
/* t3 launch -n N -- CMD: the ranks of a program, one process each. */
#include "commands.h"
#include "common/child.h"
#include "common/cmdline.h"
#include "common/fabric.h"
#include "launch/launch.h"
#include "common/message.h"

#define SECONDS_MAX    1000000
#define GRACE_USUAL_NS 5000000000

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct launch_args *args = state->input;

	switch (key) {
	case 'n':
		args->ranks = cmdline_number(state, "-n", arg, 1, T3_COMM_RANKS_MAX);
		return 0;
	case 't':
		args->timeout_ns = cmdline_seconds(state, "--timeout", arg, SECONDS_MAX);
		return 0;
	case 'g':
		args->grace_ns = cmdline_seconds(state, "--grace", arg, SECONDS_MAX);
		return 0;
	case 'f':
		args->fabric_text = arg;
		return 0;
	case 'N':
		args->nodes = true;
		return 0;
	case 'l':
		args->label = true;
		return 0;
	case ARGP_KEY_ARG:
		args->command = cmdline_command(state);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "a command must follow, as in: t3 launch -n 4 -- CMD ARG...");
		return 0;
	case ARGP_KEY_END:
		if (!args->ranks)
			argp_error(state, "-n must say how many ranks there are");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_launch(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "ranks", 'n', "N", 0, "start N processes, up to 32", 0 },
		{ "timeout", 't', "SEC", 0, "end all ranks after this time", 0 },
		{ "grace", 'g', "SEC", 0, "time for the others to end after a rank has failed (5)",
		  0 },
		{ "fabric", 'f', "FABRIC", 0,
		  "the fabric whose ranks they open: a number such as 0x1, or the index of one "
		  "of its devices in `t3 list`",
		  0 },
		{ "nodes", 'N', NULL, 0,
		  "the ranks of all nodes of a cluster are one communicator, with N on each", 0 },
		{ "label", 'l', NULL, 0, "print each line of output after its rank: [2] text", 0 },
		{ 0 },
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "-n N -- CMD [ARG...]",
		.doc = "Run a command N times, as the ranks of one communicator. Each process "
		       "gets T3_COMM_DIR, T3_RANK and T3_RANKS, which t3_comm_create() reads. "
		       "With --nodes they meet at MASTER_ADDR instead. "
		       "Standard input is empty.\vWhen a rank fails, the others may go on "
		       "for the grace time. Then they get SIGTERM, and SIGKILL 2 s later. A line"
		       " on stderr says how each rank ended, the one that failed first before "
		       "those that failed because of it. Signals INT, TERM, HUP, QUIT, USR1 "
		       "and USR2 are passed on. The exit status is 0, or that of the rank that "
		       "failed first (128 + N when signal N ended it). It is 124 when the time "
		       "was over before, 125 when t3 itself failed, 126 when the command could "
		       "not be run, and 127 when it does not exist.",
	};
	struct launch_args args = { .grace_ns = GRACE_USUAL_NS };

	int ret;

	cmdline_parse(&argp, argc, argv, ARGP_IN_ORDER, &args);
	ret = args.fabric_text ? fabric_choose(args.fabric_text, &args.fabric) : EXIT_OK;
	if (ret != EXIT_OK)
		return ret == EXIT_USAGE ? ret : EXIT_OWN_FAILURE;
	ret = launch_count(&args);
	return ret ? ret : launch_run(&args);
}
