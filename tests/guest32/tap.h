/* SPDX-License-Identifier: MIT */
/*
 * TAP for a program that needs no library: cmocka exists for the host's own word size
 * only. A failed check ends the program.
 */
#ifndef T3_TAP_H
#define T3_TAP_H

#include <stdio.h>
#include <stdlib.h>

struct tap_test {
	const char *name;
	void (*run)(void);
};

static unsigned int tap_number;
static const char *tap_name;

static inline _Noreturn void tap_fail(int line, const char *what, long long got, long long want)
{
	printf("not ok %u - %s\n", tap_number, tap_name);
	printf("# line %d: %s is %lld (%#llx), not %lld (%#llx)\n", line, what, got,
	       (unsigned long long)got, want, (unsigned long long)want);
	fflush(stdout);
	_Exit(1);
}

#define CHECK_EQ(got, want)                                                   \
	do {                                                                  \
		long long got_ = (long long)(got), want_ = (long long)(want); \
		if (got_ != want_)                                            \
			tap_fail(__LINE__, #got, got_, want_);                \
	} while (0)
#define CHECK(condition) CHECK_EQ(!!(condition), 1)

static inline int tap_run(const struct tap_test *tests, unsigned int count)
{
	printf("1..%u\n", count);
	for (tap_number = 1; tap_number <= count; tap_number++) {
		tap_name = tests[tap_number - 1].name;
		fflush(stdout);
		tests[tap_number - 1].run();
		printf("ok %u - %s\n", tap_number, tap_name);
	}
	return 0;
}

#endif /* T3_TAP_H */
