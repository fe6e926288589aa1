// SPDX-License-Identifier: MIT
#include "timed.h"

/* clang-format off */
const uint64_t timed_machine[T3_TIMED_PARAMS] = {
	80, 1400, 1024, 90, 1, 90, 0, 128, 128, 32, 8,	  /* compute */
	16384, 16, 2867, 150, 4096,			  /* cache, request */
	1024, 200, 32, 64, 64, 15, 64, 11, 200,		  /* memory */
	5, 10, 30, 50, 25, 10, 2000,			  /* arbiter */
	150, 500, 256, 8, 512, 16,			  /* link, DMA, collectives */
	256, 4, 76,					  /* tracker */
	80, 45, 25, 2000,				  /* collectives, nodes */
};
/* clang-format on */
