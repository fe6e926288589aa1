// SPDX-License-Identifier: MIT
/* t3 selftest: the results of a check. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "selftest/selftest.h"

bool selftest_fail(struct selftest *test, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(test->text, sizeof(test->text), format, args);
	va_end(args);
	return false;
}

bool selftest_skip(struct selftest *test, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(test->text, sizeof(test->text), format, args);
	va_end(args);
	test->skipped = true;
	return true;
}

bool selftest_good(struct selftest *test, const char *what, int ret)
{
	return !ret || selftest_fail(test, "%s: %s", what, strerror(-ret));
}
