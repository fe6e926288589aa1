/* SPDX-License-Identifier: MIT */
/* assert_memory_equal() as these programs are linked with it: tests/unit/common/equal.c. */
#include "host.h"
#include "test.h"

#include <sys/wait.h>
#include <unistd.h>

static unsigned char here[4096], there[4096];

static void compare(void **unused)
{
	(void)unused;
	assert_memory_equal(here, there, sizeof(here));
}

/* In a process of its own, as cmocka counts and prints what fails. */
static int failures(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(compare) };
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(99);
		_exit(cmocka_run_group_tests(tests, NULL, NULL));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

TEST("a difference in any byte is found")
{
	static const size_t at[] = { 0, 1, 7, 2048, sizeof(here) - 1 };
	size_t i;

	assert_int_equal(failures(), 0);
	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		there[at[i]] ^= 0x80;
		assert_int_equal(failures(), 1);
		there[at[i]] ^= 0x80;
	}
	assert_memory_equal(NULL, NULL, 0);
}
