// SPDX-License-Identifier: MIT
/*
 * Runs paper_model.py, which is a part of T3's sources: it is found from where this program is, or by the
 * environment variable T3_PAPER. Its messages go to standard error.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/message.h"
#include "timed/page.h"

#define PROGRAM "paper_model.py"

static bool is_there(char *path, size_t size, const char *folder, const char *below)
{
	int length = snprintf(path, size, "%s%s/" PROGRAM, folder, below);

	return length > 0 && (size_t)length < size && !access(path, X_OK);
}

/* A build folder is somewhere in the sources. */
static bool find_program(char *path, size_t size)
{
	const char *given = getenv("T3_PAPER");
	char here[PATH_MAX], *end;
	ssize_t length;

	if (given)
		return is_there(path, size, given, "");
	length = readlink("/proc/self/exe", here, sizeof(here) - 1);
	if (length <= 0)
		return false;
	here[length] = '\0';
	while ((end = strrchr(here, '/'))) {
		*end = '\0';
		if (is_there(path, size, here, "/tools/paper"))
			return true;
	}
	return false;
}

/* The page's timeline is of runs by this very t3. */
static bool name_program(void)
{
	char here[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", here, sizeof(here) - 1);

	if (length <= 0)
		return false;
	here[length] = '\0';
	return !setenv("T3_PROGRAM", here, 1);
}

/* The program with one argument, and a file as its input. */
static int run(const char *argument, FILE *input)
{
	char path[PATH_MAX];
	int status;
	pid_t pid;

	if (!find_program(path, sizeof(path)))
		return complain(EXIT_FAIL,
				"--html needs " PROGRAM " of T3's sources: set T3_PAPER to their "
				"folder tools/paper");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (dup2(fileno(input), STDIN_FILENO) >= 0 && name_program())
			execl(path, path, argument, (char *)NULL);
		_exit(127);
	}
	if (pid < 0)
		return complain(EXIT_FAIL, "--html cannot start a process: %s", strerror(errno));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return complain(EXIT_FAIL, "--html: %s", strerror(errno));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return complain(EXIT_FAIL, "--html cannot run %s: is Python installed?", path);
	return status ? complain(EXIT_FAIL, "--html: the page is not made") : EXIT_OK;
}

int timed_page_check(const char *page)
{
	FILE *nothing = fopen("/dev/null", "r"), *file;
	int ret = nothing ? run("--check", nothing) : EXIT_FAIL;

	if (nothing)
		fclose(nothing);
	if (ret != EXIT_OK)
		return ret;
	file = fopen(page, "a");
	if (!file)
		return complain(EXIT_FAIL, "%s cannot be written: %s", page, strerror(errno));
	fclose(file);
	return EXIT_OK;
}

int timed_page_write(const char *page, json_t *root)
{
	FILE *file = tmpfile();
	int ret = EXIT_FAIL;

	if (!file || json_dumpf(root, file, JSON_COMPACT) || fflush(file))
		complain(EXIT_FAIL, "--html cannot write a temporary file: %s", strerror(errno));
	else if (lseek(fileno(file), 0, SEEK_SET) == 0)
		ret = run(page, file);
	if (file)
		fclose(file);
	json_decref(root);
	return ret;
}
