// SPDX-License-Identifier: GPL-2.0-only
/*
 * The text of a dump that fits into its buffer, and of one that does not.
 */
#include "t3_kunit.h"

static void t3_dump_test_check(struct kunit *test, unsigned int lines, const char *want)
{
	char buffer[32], copy[sizeof(buffer) + sizeof(T3_DUMP_TRUNCATED)];
	struct seq_buf text;
	unsigned int i;
	size_t length;

	seq_buf_init(&text, buffer, sizeof(buffer));
	for (i = 0; i < lines; i++)
		seq_buf_printf(&text, "line %u\n", i);
	length = t3_dump_copy(&text, copy);
	KUNIT_ASSERT_LT(test, length, sizeof(copy));
	copy[length] = 0;
	KUNIT_EXPECT_STREQ(test, copy, want);
}

static void t3_dump_test_lengths(struct kunit *test)
{
	t3_dump_test_check(test, 0, "");
	t3_dump_test_check(test, 4, "line 0\nline 1\nline 2\nline 3\n");
	t3_dump_test_check(test, 5, "line 0\nline 1\nline 2\nline 3\ntruncated\n");
	t3_dump_test_check(test, 9, "line 0\nline 1\nline 2\nline 3\ntruncated\n");
}

static struct kunit_case t3_dump_cases[] = {
	KUNIT_CASE(t3_dump_test_lengths),
	{}
};

static struct kunit_suite t3_dump_suite = {
	.name = "t3_dump",
	.test_cases = t3_dump_cases,
};

kunit_test_suite(t3_dump_suite);
