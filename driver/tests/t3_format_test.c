// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which operations each type of element has, and which capabilities these need.
 */
#include "t3_kunit.h"

static const struct t3_format_case {
	u32 dtype, size;
	bool is_float;
	u32 caps;
} t3_format_types[] = {
	{ T3_DTYPE_I32, 4, false, 0 },
	{ T3_DTYPE_F32, 4, true, 0 },
	{ T3_DTYPE_F16, 2, true, 0 },
	{ T3_DTYPE_BF16, 2, true, 0 },
	{ T3_DTYPE_U8, 1, false, 0 },
	{ T3_DTYPE_I8, 1, false, 0 },
	{ T3_DTYPE_U32, 4, false, T3_CAP_TYPES },
	{ T3_DTYPE_I64, 8, false, T3_CAP_TYPES },
	{ T3_DTYPE_U64, 8, false, T3_CAP_TYPES },
	{ T3_DTYPE_F64, 8, true, T3_CAP_TYPES },
};

static const u32 t3_format_ops[T3_OP_COUNT] = {
	[T3_OP_AND] = T3_CAP_BITWISE, [T3_OP_OR] = T3_CAP_BITWISE,
	[T3_OP_XOR] = T3_CAP_BITWISE, [T3_OP_MUL] = T3_CAP_PRODUCT,
};

static void t3_format_test_ops(struct kunit *test)
{
	const struct t3_format_case *c = t3_format_types;
	u32 op;

	KUNIT_ASSERT_EQ(test, ARRAY_SIZE(t3_format_types), T3_DTYPE_COUNT);
	for (; c < t3_format_types + T3_DTYPE_COUNT; c++) {
		KUNIT_EXPECT_EQ(test, t3_dtype_size(c->dtype), c->size);
		for (op = 0; op < T3_OP_COUNT + 2; op++)
			KUNIT_EXPECT_EQ(test, t3_op_valid(c->dtype, op),
					op < T3_OP_COUNT &&
					!(c->is_float && t3_format_ops[op] == T3_CAP_BITWISE));
	}
}

static void t3_format_test_needs(struct kunit *test)
{
	const struct t3_format_case *c = t3_format_types;
	u32 op;

	for (; c < t3_format_types + ARRAY_SIZE(t3_format_types); c++)
		for (op = 0; op < T3_OP_COUNT; op++)
			KUNIT_EXPECT_EQ(test, t3_op_needs(c->dtype, op),
					c->caps | t3_format_ops[op] |
					(c->size == 1 && op ? T3_CAP_BYTE_OPS : 0));
	KUNIT_EXPECT_EQ(test, t3_ops_need(0xf), 0);
	KUNIT_EXPECT_EQ(test, t3_ops_need(0xff), T3_CAP_BITWISE | T3_CAP_PRODUCT);
}

static struct kunit_case t3_format_cases[] = {
	KUNIT_CASE(t3_format_test_ops),
	KUNIT_CASE(t3_format_test_needs),
	{}
};

static struct kunit_suite t3_format_suite = {
	.name = "t3_format",
	.test_cases = t3_format_cases,
};

kunit_test_suite(t3_format_suite);
