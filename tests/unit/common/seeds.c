// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

#include "seeds.h"

static uint64_t current; /* 0: no seed has failed */
static uint64_t last;

static uint64_t from_env(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

bool seeds_single(void)
{
	return from_env("T3_SEED", 0);
}

uint64_t seeds_first(uint64_t count)
{
	uint64_t only = from_env("T3_SEED", 0);

	last = only ? only : from_env("T3_SEEDS", count);
	current = only ? only : last > 0;
	return current;
}

uint64_t seeds_next(void)
{
	current = current < last ? current + 1 : 0;
	return current;
}

int seeds_report(void)
{
	if (current)
		print_message("failed at T3_SEED=%llu\n", (unsigned long long)current);
	return 0;
}
