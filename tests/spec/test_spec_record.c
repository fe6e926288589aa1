/* SPDX-License-Identifier: MIT */
/* The stream of recorded calls: its version and its types against SPEC.md section 14.1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "spec_tables.h"
#include "t3_record.h"

static void test_version(void **state)
{
	(void)state;
	assert_int_equal(T3_RECORD_VERSION, SPEC_RECORD_VERSION);
}

static void test_types(void **state)
{
	uint32_t types = 1; /* the end, which has no name in the table */

	(void)state;
#define CHECK(name, type)                              \
	do {                                           \
		assert_int_equal(T3_REC_##name, type); \
		types++;                               \
	} while (0);
	SPEC_RECORDS(CHECK)
	assert_int_equal(types, T3_REC_COUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
