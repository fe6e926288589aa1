// SPDX-License-Identifier: MIT
/* Collectives on a full fabric, with faults injected (vm-options). */
#include "collinject.h"

int main(void)
{
	return collinject_main(ODD_CASES);
}
