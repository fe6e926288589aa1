/* SPDX-License-Identifier: MIT */
/*
 * TAP for a program that needs no library: cmocka exists for the host's own word size
 * only. Each test may need those before it, so a failed check ends the program.
 */
#ifndef T3_TAP_H
#define T3_TAP_H

#include <stdio.h>
#include <stdlib.h>

#include "test.h"

static struct test *tap_tests;
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

/* By their lines, as constructors run in an order of the compiler's. */
void test_add(struct test *test)
{
	struct test **at = &tap_tests;

	while (*at && (*at)->line < test->line)
		at = &(*at)->next;
	test->next = *at;
	*at = test;
}

int main(void)
{
	unsigned int count = 0;

	for (const struct test *test = tap_tests; test; test = test->next)
		count++;
	printf("1..%u\n", count);
	for (const struct test *test = tap_tests; test; test = test->next) {
		tap_number++;
		tap_name = test->name;
		fflush(stdout);
		test->run();
		printf("ok %u - %s\n", tap_number, tap_name);
	}
	return count ? 0 : 1;
}

#endif /* T3_TAP_H */
