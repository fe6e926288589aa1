/* SPDX-License-Identifier: MIT */
/* A command that a subcommand runs and whose status it passes on. */
#ifndef T3_CHILD_H
#define T3_CHILD_H

#include <sys/types.h>

/* As env(1) and timeout(1): what no command of one's own is likely to end with. */
enum { EXIT_OWN_FAILURE = 125, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

/*
 * Start it; from then on the keyboard's signals are the command's alone. Returns 0, or an
 * exit code after one sentence: EXIT_NOT_FOUND, EXIT_CANNOT_RUN, EXIT_OWN_FAILURE.
 */
int child_start(char **argv, pid_t *pid);
/* Its status as a shell has it: 128 + N when signal N ended it. */
int child_wait(pid_t pid);
/* The same, -1 after timeout_ns if it goes on. */
int child_wait_for(pid_t pid, unsigned long timeout_ns);

#endif /* T3_CHILD_H */
