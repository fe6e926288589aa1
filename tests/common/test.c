// SPDX-License-Identifier: MIT
/*
 * The tests of a program, run by cmocka. T3_TEST_FILTER names one: * and ? are wildcards, and _
 * stands for a blank. cmocka's own filter, which 2.x also takes from the environment, would pass
 * when nothing matches. cmocka only prints that a function before or after all tests has failed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test.h"

static struct test *tests;

static bool comes_before(const struct test *a, const struct test *b)
{
	if (strcmp(a->file, b->file))
		return true;
	return a->line < b->line || (a->line == b->line && strcmp(a->name, b->name) < 0);
}

/* Constructors run in an order of the compiler's. */
void test_add(struct test *test)
{
	struct test **at = &tests;

	while (*at && comes_before(*at, test))
		at = &(*at)->next;
	test->next = *at;
	*at = test;
}

static void run(void **state)
{
	const struct test *test = *state;

	test->run();
}

static int set_up(void **state)
{
	const struct test *test = *state;

	return test->setup();
}

static int tear_down(void **state)
{
	const struct test *test = *state;

	return test->teardown();
}

static int (*group_setup)(void), (*group_teardown)(void);
static bool group_failed;

static int group_begin(void **state)
{
	(void)state;
	group_failed = group_setup && group_setup();
	return group_failed;
}

static int group_end(void **state)
{
	(void)state;
	group_failed |= group_teardown && group_teardown();
	return group_failed;
}

static bool is_wanted(const char *name, const char *filter)
{
	char pattern[256];

	if (!filter)
		return true;
	snprintf(pattern, sizeof(pattern), "%s", filter);
	for (char *at = pattern; *at; at++)
		if (*at == '_')
			*at = ' ';
	return fnmatch(pattern, name, 0) == 0;
}

static bool is_repeated(const struct test *test)
{
	for (const struct test *other = test->next; other; other = other->next)
		if (!strcmp(test->name, other->name))
			return true;
	return false;
}

static size_t choose(struct CMUnitTest *chosen, const char *filter)
{
	size_t count = 0;

	for (struct test *test = tests; test; test = test->next) {
		if (!is_wanted(test->name, filter))
			continue;
		if (chosen) {
			chosen[count].name = test->name;
			chosen[count].test_func = run;
			chosen[count].setup_func = test->setup ? set_up : NULL;
			chosen[count].teardown_func = test->teardown ? tear_down : NULL;
			chosen[count].initial_state = test;
		}
		count++;
	}
	return count;
}

int test_run(int (*setup)(void), int (*teardown)(void))
{
	const char *filter = getenv("T3_TEST_FILTER");
	size_t count = choose(NULL, filter);
	struct CMUnitTest *chosen;
	int failed;

	for (const struct test *test = tests; test; test = test->next) {
		if (is_repeated(test)) {
			printf("Bail out! two tests have the name '%s'\n", test->name);
			return EXIT_FAILURE;
		}
	}
	if (!count) {
		printf("Bail out! there is no test '%s'; there are:\n", filter ? filter : "*");
		for (const struct test *test = tests; test; test = test->next)
			printf("# %s\n", test->name);
		return EXIT_FAILURE;
	}
	unsetenv("CMOCKA_TEST_FILTER");
	unsetenv("CMOCKA_SKIP_FILTER");
	chosen = calloc(count, sizeof(*chosen));
	if (!chosen)
		return EXIT_FAILURE;
	choose(chosen, filter);
	group_setup = setup;
	group_teardown = teardown;
	failed = _cmocka_run_group_tests(program_invocation_short_name, chosen, count, group_begin,
					 group_end);
	free(chosen);
	return failed || group_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
