/* SPDX-License-Identifier: MIT */
/* Collectives among faults: the same tests for a ring and for a full fabric. */
#ifndef T3_GUEST_COLLINJECT_H
#define T3_GUEST_COLLINJECT_H

/* Of the cases, which a slow kernel runs. Others run all. */
enum collinject_half {
	EVEN_CASES,
	ODD_CASES,
};

/* A test program's main(). */
int collinject_main(enum collinject_half of_slow);

#endif /* T3_GUEST_COLLINJECT_H */
