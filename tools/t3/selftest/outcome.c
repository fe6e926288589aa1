// SPDX-License-Identifier: MIT
/* t3 selftest: the results of a check. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/message.h"
#include "selftest/selftest.h"

#define ENOUGH (1u << 20) /* bytes of memory, and of aperture, with which no check lacks any */

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

bool selftest_too_small(struct selftest *test, const char *what, int ret)
{
	const struct drm_t3_device_info *info = &test->device->info;

	if ((ret != -ENOSPC && ret != -EINVAL) ||
	    (info->memory_size >= ENOUGH && info->aperture_size >= ENOUGH))
		return false;
	return selftest_skip(test, "%s: the device has %llu KiB of memory and %llu of aperture",
			     what, (unsigned long long)info->memory_size / 1024,
			     (unsigned long long)info->aperture_size / 1024);
}

bool selftest_good(struct selftest *test, const char *what, int ret)
{
	if (!ret)
		return true;
	return !selftest_too_small(test, what, ret) &&
	       selftest_fail(test, "%s: %s", what, error_words(ret));
}
