// SPDX-License-Identifier: MIT
/* Time limits, failures and signals. */
#include <signal.h>
#include <time.h>

#include "guest.h"

#define LIMIT_S	     30
#define SLOW_LIMIT_S 120
#define DEVICES	     8u /* whose memory is watched */

bool guest_in_child;

static uint64_t memory_before[DEVICES];

void guest_fail(const char *file, int line, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (guest_in_child) {
		fprintf(stderr, "# %s:%d: in a child: %s\n", file, line, text);
		_exit(1);
	}
	print_error("%s\n", text);
	_fail(file, line);
	abort();
}

void guest_equal(const char *file, int line, const char *what, long long got, long long want)
{
	if (got != want)
		guest_fail(file, line, "%s is %lld (%#llx), not %lld (%#llx)", what, got,
			   (unsigned long long)got, want, (unsigned long long)want);
}

int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

int64_t after_ms(int64_t ms)
{
	return now_ns() + ms * 1000000;
}

void nap_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* A kernel whose command line says T3_SLOW=N takes N times as long. */
unsigned int guest_slowness(void)
{
	const char *text = getenv("T3_SLOW");
	unsigned long factor = text ? strtoul(text, NULL, 10) : 1;

	return factor < 1 || factor > 100 ? 1 : (unsigned int)factor;
}

static void out_of_time(int number)
{
	static const char text[] = "# out of time: this test hangs\n";

	(void)number;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(125);
	_exit(124);
}

static int begin(unsigned int limit)
{
	struct sigaction action = { .sa_handler = out_of_time };
	uint32_t rank;

	sigaction(SIGALRM, &action, NULL);
	alarm(limit * guest_slowness());
	for (rank = 0; rank < guest_ranks() && rank < DEVICES; rank++)
		memory_before[rank] = memory_free(rank);
	return 0;
}

int guest_begin(void)
{
	return begin(LIMIT_S);
}

int guest_begin_slow(void)
{
	return begin(SLOW_LIMIT_S);
}

int guest_end(void)
{
	uint32_t rank;

	for (rank = 0; rank < guest_ranks() && rank < DEVICES; rank++)
		check_memory(rank, memory_before[rank]);
	alarm(0);
	return 0;
}

static sigjmp_buf signal_exit;

static void on_signal(int number)
{
	siglongjmp(signal_exit, number);
}

static void catch_signals(struct sigaction old[3])
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGBUS, &action, &old[0]);
	sigaction(SIGSEGV, &action, &old[1]);
	sigaction(SIGILL, &action, &old[2]);
}

static int restore_signals(const struct sigaction old[3], int number)
{
	sigaction(SIGBUS, &old[0], NULL);
	sigaction(SIGSEGV, &old[1], NULL);
	sigaction(SIGILL, &old[2], NULL);
	return number;
}

int signal_of(void (*act)(const void *), const void *arg)
{
	struct sigaction old[3];
	int number;

	catch_signals(old);
	number = sigsetjmp(signal_exit, 1);
	if (!number)
		act(arg);
	return restore_signals(old, number);
}

int signal_of_load(const volatile void *at)
{
	struct sigaction old[3];
	int number;

	catch_signals(old);
	number = sigsetjmp(signal_exit, 1);
	if (!number)
		(void)*(const volatile uint32_t *)at;
	return restore_signals(old, number);
}

int signal_of_store(volatile void *at)
{
	struct sigaction old[3];
	int number;

	catch_signals(old);
	number = sigsetjmp(signal_exit, 1);
	if (!number)
		put32(at, 0);
	return restore_signals(old, number);
}
