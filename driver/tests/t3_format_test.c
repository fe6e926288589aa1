// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which operations each type of element has.
 */
#include "t3_kunit.h"

static void t3_format_test_ops(struct kunit *test)
{
	u32 dtype, op;

	for (dtype = 0; dtype < T3_DTYPE_COUNT; dtype++)
		for (op = 0; op < T3_OP_COUNT + 2; op++)
			KUNIT_EXPECT_EQ(test, t3_op_valid(dtype, op),
					op < T3_OP_COUNT &&
					(op == T3_OP_STORE || t3_dtype_size(dtype) > 1));
}

static struct kunit_case t3_format_cases[] = {
	KUNIT_CASE(t3_format_test_ops),
	{}
};

static struct kunit_suite t3_format_suite = {
	.name = "t3_format",
	.test_cases = t3_format_cases,
};

kunit_test_suite(t3_format_suite);
