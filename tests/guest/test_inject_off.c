// SPDX-License-Identifier: MIT
/* debugfs' inject of a device that does not allow it: the error names the property to set. */
#include "debugfs.h"
#include "module.h"

static void test_says_so(void **state)
{
	const char *text = debugfs_read(0, "inject");

	(void)state;
	debugfs_expect(text, "inject enabled=0 rank=0");
	CHECK(!strstr(text, "kind="));
}

static void test_refuses(void **state)
{
	(void)state;
	CHECK(!kernel_log_has("guest-inject=on"));
	CHECK_EQ(debugfs_write(0, "inject", "lose-irq"), -EOPNOTSUPP);
	CHECK_EQ(debugfs_write(0, "inject", "nonsense"), -EOPNOTSUPP);
	CHECK(kernel_log_has("start it with the property guest-inject=on"));
}

static void test_no_trouble_in_the_kernel_log(void **state)
{
	(void)state;
	check_kernel_log();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_says_so),
		TEST(test_refuses),
		TEST(test_no_trouble_in_the_kernel_log),
	};

	return cmocka_run_group_tests_name("inject_off", tests, NULL, NULL);
}
