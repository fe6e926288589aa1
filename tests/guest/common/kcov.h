/* SPDX-License-Identifier: MIT */
/* Which code of the driver a thread has run, of CONFIG_KCOV. */
#ifndef T3_GUEST_KCOV_H
#define T3_GUEST_KCOV_H

#include "guest.h"

#define KCOV_THREADS 3u

/* Make one area for each thread. False: this kernel has no KCOV. As root. */
bool kcov_open(void);
/* Called in the thread, which may run as another user. It records until the thread ends. */
void kcov_start(unsigned int thread);
/* After the threads have ended: addresses that no earlier call has seen. */
size_t kcov_collect(void);
/* All that were seen. */
size_t kcov_count(void);

#endif /* T3_GUEST_KCOV_H */
