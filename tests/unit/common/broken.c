/* SPDX-License-Identifier: MIT */
#include "broken.h"

void expect_broken(struct host *host, void *part, const void *value, size_t size, const char *want)
{
	uint8_t before[1024];
	const char *broken;

	assert_true(size <= sizeof(before));
	memcpy(before, part, size);
	memcpy(part, value, size);
	broken = t3_fabric_check(host->fabric);
	assert_non_null(broken);
	assert_string_equal(broken, want);
	memcpy(part, before, size);
	assert_null(t3_fabric_check(host->fabric));
}
