// SPDX-License-Identifier: MIT
/*
 * Runs some of a program's tests: T3_TEST_FILTER names one, and * and ? are wildcards. cmocka's own
 * filter, which 2.x also takes from the environment, would pass when nothing matches. A teardown of
 * the group that fails makes the program fail, which cmocka only prints. Linked with
 * --wrap=_cmocka_run_group_tests.
 */
#include "guest.h"

#include <fnmatch.h>

int __real__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
				   CMFixtureFunction setup, CMFixtureFunction teardown);
int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
				   CMFixtureFunction setup, CMFixtureFunction teardown);

static size_t choose(const char *filter, const struct CMUnitTest *tests, size_t count,
		     struct CMUnitTest *chosen)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		if (fnmatch(filter, tests[i].name, 0) == 0)
			chosen[found++] = tests[i];
	return found;
}

static void refuse(const char *filter, const struct CMUnitTest *tests, size_t count)
{
	printf("Bail out! there is no test '%s'; there are:\n", filter);
	for (size_t i = 0; i < count; i++)
		printf("# %s\n", tests[i].name);
}

static CMFixtureFunction own_teardown;
static bool teardown_failed;

static int tear_down(void **state)
{
	teardown_failed = own_teardown(state) != 0;
	return teardown_failed;
}

int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
				   CMFixtureFunction setup, CMFixtureFunction teardown)
{
	const char *filter = getenv("T3_TEST_FILTER");
	struct CMUnitTest *chosen;
	int failed = EXIT_FAILURE;
	size_t found;

	unsetenv("CMOCKA_TEST_FILTER");
	unsetenv("CMOCKA_SKIP_FILTER");
	chosen = calloc(count, sizeof(*chosen));
	if (!chosen)
		return EXIT_FAILURE;
	own_teardown = teardown;
	found = choose(filter ? filter : "*", tests, count, chosen);
	if (found)
		failed = __real__cmocka_run_group_tests(name, chosen, found, setup,
							teardown ? tear_down : NULL);
	else
		refuse(filter, tests, count);
	free(chosen);
	return failed ? failed : teardown_failed;
}
