/* SPDX-License-Identifier: MIT */
/* The stream of recorded calls: its version and its types against SPEC.md section 14.1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "spec_tables.h"
#include "t3_record.h"
#include "test.h"

TEST("the record has the manual's version")
{
	assert_int_equal(T3_RECORD_VERSION, SPEC_RECORD_VERSION);
}

TEST("the record has the manual's types")
{
	uint32_t types = 1; /* the end, which has no name in the table */

#define CHECK(name, type)                              \
	do {                                           \
		assert_int_equal(T3_REC_##name, type); \
		types++;                               \
	} while (0);
	SPEC_RECORDS(CHECK)
	assert_int_equal(types, T3_REC_COUNT);
}
