/* SPDX-License-Identifier: MIT */
/* A command that a subcommand runs. The subcommand passes on its status. */
#ifndef T3_CHILD_H
#define T3_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* As in env(1) and timeout(1): statuses that a command hardly uses itself. */
enum { EXIT_OWN_FAILURE = 125, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

/*
 * Start it. From then on the keyboard's signals go to the command alone, and SIGTERM and SIGHUP are
 * passed on to it, so that this program still says what it has measured. What the program inherited
 * as ignored stays so in both. Returns 0, or an exit code after one sentence: EXIT_NOT_FOUND,
 * EXIT_CANNOT_RUN, EXIT_OWN_FAILURE. One command at a time.
 */
int child_start(char **argv, pid_t *pid);
/* Say why the command could not be run. Returns the exit code. */
int command_refuse(const char *name, int error);
/* Wait for its end. Returns its status as a shell does: 128 + N when signal N ended it. */
int child_wait(pid_t pid);
/* The same, but -1 when it still runs after timeout_ns. */
int child_wait_for(pid_t pid, unsigned long timeout_ns);
/* As nohup(1) leaves SIGHUP, and a shell SIGINT and SIGQUIT for a job in the background. */
bool signal_is_ignored(int number);

#endif /* T3_CHILD_H */
