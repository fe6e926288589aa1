// SPDX-License-Identifier: MIT
/* Collectives on a ring, with faults injected. */
#include "collinject.h"

int main(void)
{
	return collinject_main(EVEN_CASES);
}
