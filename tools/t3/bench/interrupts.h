/* SPDX-License-Identifier: MIT */
/* The processor that a device's interrupts go to. */
#ifndef T3_BENCH_INTERRUPTS_H
#define T3_BENCH_INTERRUPTS_H

#define BENCH_VECTORS 8u

struct bench_interrupts {
	unsigned int count;
	unsigned int number[BENCH_VECTORS];
	char before[BENCH_VECTORS][64];
};

/* For all vectors of a PCI function. A vector that cannot be moved stays where it is. */
void bench_interrupts_to(struct bench_interrupts *irqs, const char *bdf, unsigned int cpu);
void bench_interrupts_back(const struct bench_interrupts *irqs);

#endif /* T3_BENCH_INTERRUPTS_H */
