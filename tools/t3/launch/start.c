// SPDX-License-Identifier: MIT
/* Starts a rank: its directory, environment and streams. */
#define _GNU_SOURCE /* pipe2 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/fabric.h"
#include "launch/launch.h"
#include "common/message.h"
#include "common/node.h"

#define DIR_NAME "/t3-launch-XXXXXX"

int launch_make_dir(struct launch *launch)
{
	const char *base = getenv("TMPDIR");

	if (!base || !*base || strlen(base) + sizeof(DIR_NAME) > sizeof(launch->dir))
		base = "/tmp";
	snprintf(launch->dir, sizeof(launch->dir), "%s%s", base, DIR_NAME);
	if (mkdtemp(launch->dir))
		launch->dir_fd = open(launch->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (launch->dir_fd >= 0)
		return 0;
	return complain(EXIT_OWN_FAILURE, "cannot make a directory below %s: %s", base,
			strerror(errno));
}

/*
 * Remove the directory with the leftovers of killed ranks. It goes by descriptor, so a later
 * directory of the same name is safe.
 */
void launch_remove_dir(const struct launch *launch)
{
	DIR *dir = fdopendir(launch->dir_fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	if (rmdir(launch->dir))
		complain(EXIT_OWN_FAILURE, "%s could not be removed: %s", launch->dir,
			 strerror(errno));
}

/* -------------------------------------------------------------- in the child */

/* The rank has its own process group, so that its children get the signals, too. */
static bool prepare(const struct launch *launch, uint32_t rank, pid_t parent,
		    int (*out)[LAUNCH_STREAMS])
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), i;
	char fabric[24];

	if (setpgid(0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL) || null < 0 || dup2(null, 0) < 0)
		return false;
	if (getppid() != parent) {
		errno = ESRCH;
		return false;
	}
	for (i = 0; i < LAUNCH_STREAMS; i++)
		if ((*out)[i] >= 0 && dup2((*out)[i], 1 + i) < 0)
			return false;
	/* Ranks of several nodes join at MASTER_ADDR, which is set, and others in the directory. */
	if (!node_set_rank(launch->args->first + rank, launch->args->all) ||
	    setenv("T3_LAUNCH_DIR", launch->dir, 1) ||
	    (!launch->args->nodes && setenv("T3_COMM_DIR", launch->dir, 1)))
		return false;
	snprintf(fabric, sizeof(fabric), "0x%llx", (unsigned long long)launch->args->fabric);
	if (launch->args->fabric && setenv(FABRIC_ENVIRONMENT, fabric, 1))
		return false;
	return !sigprocmask(SIG_SETMASK, &launch->old_mask, NULL);
}

/* The child sends the errno by the pipe when it could not become the command. */
__attribute__((noreturn)) static void become(const struct launch *launch, uint32_t rank,
					     pid_t parent, int (*out)[LAUNCH_STREAMS], int why)
{
	int error;

	signal(SIGPIPE, SIG_DFL);
	if (prepare(launch, rank, parent, out))
		execvp(launch->args->command[0], launch->args->command);
	error = errno;
	_exit(write(why, &error, sizeof(error)) == sizeof(error) ? EXIT_CANNOT_RUN
								 : EXIT_OWN_FAILURE);
}

/* ------------------------------------------------------------- in the parent */

/* The rank's ends of its labelled streams, or -1. */
static bool open_streams(struct launch *launch, uint32_t rank, int (*out)[LAUNCH_STREAMS])
{
	int pipes[2], i;

	for (i = 0; i < LAUNCH_STREAMS && launch->args->label; i++) {
		if (pipe2(pipes, O_CLOEXEC))
			return false;
		launch->rank[rank].stream[i].fd = pipes[0];
		(*out)[i] = pipes[1];
		if (fcntl(pipes[0], F_SETFL, O_NONBLOCK))
			return false;
	}
	return true;
}

int launch_start(struct launch *launch, uint32_t rank)
{
	int out[LAUNCH_STREAMS] = { -1, -1 }, why[2] = { -1, -1 }, error = 0, ret = 0, i;
	pid_t parent = getpid(), pid = -1;
	ssize_t got;

	if (!open_streams(launch, rank, &out) || pipe2(why, O_CLOEXEC)) {
		ret = complain(EXIT_OWN_FAILURE, "cannot make a pipe: %s", strerror(errno));
		goto close_all;
	}
	fflush(NULL);
	pid = fork();
	if (!pid)
		become(launch, rank, parent, &out, why[1]);
	if (pid < 0) {
		ret = complain(EXIT_OWN_FAILURE, "rank %u cannot be started: %s",
			       launch->args->first + rank, strerror(errno));
		goto close_all;
	}
	/* When the pipe closes without a byte, the child has become the command. */
	close(why[1]);
	why[1] = -1;
	do
		got = read(why[0], &error, sizeof(error));
	while (got < 0 && errno == EINTR);
	if (got == sizeof(error)) {
		ret = command_refuse(launch->args->command[0], error);
		waitpid(pid, NULL, 0);
		goto close_all;
	}
	reaper_add(&launch->reaper, rank, pid);

close_all:
	for (i = 0; i < LAUNCH_STREAMS; i++)
		if (out[i] >= 0)
			close(out[i]);
	for (i = 0; i < 2; i++)
		if (why[i] >= 0)
			close(why[i]);
	return ret;
}
