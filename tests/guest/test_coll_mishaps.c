// SPDX-License-Identifier: MIT
/* Collectives on a ring, among mishaps. */
#include "collmishap.h"

int main(void)
{
	return collmishap_main();
}
