// SPDX-License-Identifier: MIT
/* Collectives on a full fabric, among mishaps (vm-options). */
#include "collmishap.h"

int main(void)
{
	return collmishap_main();
}
