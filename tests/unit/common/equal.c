/* SPDX-License-Identifier: MIT */
/*
 * cmocka compares a byte at a time, which took most of the time of tests that compare whole memories.
 * It still tells what differs. Linked with --wrap=_assert_memory_equal.
 */
#include "host.h"

void __real__assert_memory_equal(const void *a, const void *b, size_t size, const char *file,
				 int line);
void __wrap__assert_memory_equal(const void *a, const void *b, size_t size, const char *file,
				 int line);

void __wrap__assert_memory_equal(const void *a, const void *b, size_t size, const char *file,
				 int line)
{
	if (size && memcmp(a, b, size))
		__real__assert_memory_equal(a, b, size, file, line);
}
