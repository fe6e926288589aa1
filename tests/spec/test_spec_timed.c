/* SPDX-License-Identifier: MIT */
/* The timed model's parameters against the table of SPEC.md section 8.1, in its order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "spec_tables.h"
#include "t3_timed.h"
#include "test.h"

TEST("the parameters are those of the table")
{
	size_t i;

	assert_int_equal(sizeof(spec_timed) / sizeof(spec_timed[0]), t3_timed_param_count);
	for (i = 0; i < t3_timed_param_count; i++) {
		assert_string_equal(t3_timed_params[i].name, spec_timed[i].name);
		assert_int_equal(t3_timed_params[i].value, spec_timed[i].value);
		assert_int_equal(t3_timed_params[i].low, spec_timed[i].low);
		assert_int_equal(t3_timed_params[i].high, spec_timed[i].high);
		assert_string_equal(t3_timed_params[i].unit, spec_timed[i].unit);
		assert_string_equal(t3_timed_params[i].source, spec_timed[i].source);
	}
}
