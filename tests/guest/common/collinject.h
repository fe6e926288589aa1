/* SPDX-License-Identifier: MIT */
/* Collectives among faults: the same tests for a ring and for a full fabric. */
#ifndef T3_GUEST_COLLINJECT_H
#define T3_GUEST_COLLINJECT_H

/* Of the cases: each of two fabrics runs one half. */
enum collinject_half {
	EVEN_CASES,
	ODD_CASES,
};

/* A test program's main(). */
int collinject_main(enum collinject_half of_this_fabric);

#endif /* T3_GUEST_COLLINJECT_H */
