// SPDX-License-Identifier: MIT
/* The main() of a test program that has none of its own. */
#include "test.h"

int main(void)
{
	return test_run(NULL, NULL);
}
