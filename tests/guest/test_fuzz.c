// SPDX-License-Identifier: MIT
/*
 * Random calls of an unprivileged user. Nothing that the user does may harm the kernel or the
 * device, or outlive the user's processes. Where the kernel has KCOV, programs that reach new code
 * of the driver are kept and continued.
 *
 * usage: test_fuzz [--seconds N] [--seed N] [--program SEED,SEED,...]
 *
 * Each program is printed before it runs: the last one is the one to repeat, by
 * --program. --seed repeats a whole run, as far as coverage does not depend on timing.
 */
#include <getopt.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "child.h"
#include "fuzz.h"
#include "kcov.h"
#include "module.h"
#include "random.h"
#include "rows.h"

#define SECONDS	    6 /* times guest_slowness() */
#define PROGRESS_MS 10000
#define CORPUS	    512u

static struct {
	long seconds;
	uint64_t seed;
	struct fuzz_program program; /* count 0: random ones */
} opts;

static struct {
	struct fuzz_program kept[CORPUS];
	unsigned int count;
	unsigned long programs, calls, good, killed, faulted, orphans;
} fuzz;

static struct fuzz_shared *shared;

/* A program that hangs in a wait is killed. Nothing else may take so long. */
static int64_t program_limit_ms(void)
{
	return 3000 + 500 * (int64_t)guest_slowness();
}

static void print_program(const struct fuzz_program *program)
{
	unsigned int i;

	printf("# --program ");
	for (i = 0; i < program->count; i++)
		printf("%s%llx", i ? "," : "", (unsigned long long)program->fragments[i]);
	printf("\n");
	fflush(stdout);
}

/* A new program, or the beginning of one that has reached new code, with a new rest. */
static struct fuzz_program next_program(struct random *random)
{
	struct fuzz_program program = { 0 };
	unsigned int more = 1 + random_below(random, 4);

	if (fuzz.count && random_below(random, 4)) {
		program = fuzz.kept[random_below(random, fuzz.count)];
		program.count = 1 + random_below(random, program.count);
	}
	for (; more > 0 && program.count < FUZZ_FRAGMENTS; more--)
		program.fragments[program.count++] = random_u64(random);
	return program;
}

static void keep_program(const struct fuzz_program *program, struct random *random)
{
	unsigned int at = fuzz.count < CORPUS ? fuzz.count++ : random_below(random, CORPUS);

	fuzz.kept[at] = *program;
}

static void await_end(pid_t pid)
{
	int64_t deadline = now_ns() + program_limit_ms() * 1000000;
	bool killed = false;
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (now_ns() >= deadline && !killed) {
			kill(pid, SIGKILL);
			killed = true;
			fuzz.killed++;
			/* A task that cannot be killed runs into the alarm. */
		}
		nap_ms(1);
	}
	if (WIFSIGNALED(status) ? WTERMSIG(status) == SIGSEGV : WEXITSTATUS(status) != 0)
		fuzz.faulted++;
}

/* Its children may outlive it. They are then this process's children, and in its group. */
static void end_orphans(pid_t group)
{
	kill(-group, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		fuzz.orphans++;
	CHECK_EQ(errno, ECHILD);
}

/* Whatever it did, all that it held is freed with it. */
static void run_program(const struct fuzz_program *program)
{
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	print_program(program);
	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		guest_in_child = true;
		CHECK_EQ(setpgid(0, 0), 0);
		fuzz_run(program, shared);
	}
	await_end(pid);
	end_orphans(pid);
	CHECK(shared->ready);
	module_await_unused();
	fuzz.programs++;
	fuzz.calls += shared->calls;
	fuzz.good += shared->good;
}

static void progress(void)
{
	printf("# %lu programs, %lu calls (%lu succeeded), %lu killed, %lu faulted, "
	       "%lu orphans, %zu addresses covered, %u programs kept\n",
	       fuzz.programs, fuzz.calls, fuzz.good, fuzz.killed, fuzz.faulted, fuzz.orphans,
	       kcov_count(), fuzz.count);
	fflush(stdout);
}

static void run_all(void)
{
	int64_t end = after_ms(1000 * opts.seconds), next = after_ms(PROGRESS_MS);
	struct random random = random_seed(opts.seed);
	struct fuzz_program program;

	while (now_ns() < end) {
		alarm(120 * guest_slowness());
		program = next_program(&random);
		run_program(&program);
		if (kcov_collect())
			keep_program(&program, &random);
		if (now_ns() >= next) {
			progress();
			next = after_ms(PROGRESS_MS);
		}
	}
}

SLOW_TEST("random calls of a user do no harm")
{
	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	CHECK_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	if (!kcov_open())
		printf("# no coverage: this kernel has no KCOV\n");
	if (opts.program.count)
		run_program(&opts.program);
	else
		run_all();
	kcov_collect();
	progress();
	CHECK(fuzz.calls > 0);
	CHECK(fuzz.good > 0);
	/* Some write over their own data. When many do, the calls themselves are wrong. */
	CHECK(fuzz.faulted <= 1 + fuzz.programs / 4);
}

TEST("the devices work after the random calls")
{
	struct world world;

	world_open(&world);
	world_close(&world);
}

TEST("the kernel's log is clean")
{
	check_kernel_log();
}

static void parse_program(const char *text)
{
	char *end;

	do {
		CHECK(opts.program.count < FUZZ_FRAGMENTS);
		opts.program.fragments[opts.program.count++] = strtoull(text, &end, 16);
		text = end + 1;
	} while (*end == ',');
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 't' },
		{ "seed", required_argument, NULL, 's' },
		{ "program", required_argument, NULL, 'p' },
		{ 0 },
	};
	int option;

	opts.seconds = SECONDS * (long)guest_slowness();
	opts.seed = (uint64_t)now_ns();
	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (option == 't')
			opts.seconds = strtol(optarg, NULL, 10);
		else if (option == 's')
			opts.seed = strtoull(optarg, NULL, 0);
		else if (option == 'p')
			parse_program(optarg);
		else
			exit(2);
	}
	printf("# --seed %llu\n", (unsigned long long)opts.seed);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	parse(argc, argv);
	return test_run(NULL, NULL);
}
