/* SPDX-License-Identifier: MIT */
/*
 * The subcommands of t3. They are the top room: each uses the rooms below, and no room uses them.
 */
#ifndef T3_COMMANDS_H
#define T3_COMMANDS_H

/* Each gets its own argv, with its name in argv[0], and returns an exit code. */
int cmd_list(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_launch(int argc, char **argv);
int cmd_gemm_rs(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_perf(int argc, char **argv);
int cmd_sim(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_inject(int argc, char **argv);
int cmd_reset(int argc, char **argv);
int cmd_selftest(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_mpi(int argc, char **argv);

/* t3 sim without --replay. */
int sim_timed(int argc, char **argv);

#endif /* T3_COMMANDS_H */
