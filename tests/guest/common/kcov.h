/* SPDX-License-Identifier: MIT */
/* Which code of the driver a thread has run, of CONFIG_KCOV. */
#ifndef T3_GUEST_KCOV_H
#define T3_GUEST_KCOV_H

#include "guest.h"

#define KCOV_THREADS 3u

/* One area for each thread; false: this kernel has none. As root. */
bool kcov_open(void);
/* In the thread, which may be another user's: from here on, until it ends. */
void kcov_start(unsigned int thread);
/* When the threads have ended: addresses that no earlier call has seen. */
size_t kcov_collect(void);
/* All that were seen. */
size_t kcov_count(void);

#endif /* T3_GUEST_KCOV_H */
