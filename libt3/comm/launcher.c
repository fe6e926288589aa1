// SPDX-License-Identifier: MIT
/*
 * Report to `t3 launch` for which rank this one gave up. The launcher sees ranks end, and one
 * that fails because of another may end before it: the kernel closes the sockets of a process long
 * before its parent can wait for it.
 */
#define _GNU_SOURCE /* secure_getenv */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/private.h"

static bool is_number(const char *name, uint32_t value)
{
	const char *text = secure_getenv(name);
	char digits[12];

	snprintf(digits, sizeof(digits), "%u", value);
	return text && !strcmp(text, digits);
}

/*
 * A symbolic link is there as a whole or not at all, and no reader of it waits. Ranks of a
 * communicator of some of the launcher's ranks have other numbers, which say nothing there.
 */
void t3_comm_report_cause(const struct t3_comm *comm, uint32_t rank, bool late)
{
	const char *dir = secure_getenv("T3_LAUNCH_DIR");
	char cause[32], to[4096], from[4096];

	if (!dir || !is_number("T3_RANK", comm->rank) || !is_number("T3_RANKS", comm->ranks))
		return;
	snprintf(cause, sizeof(cause), "%u %s", rank, late ? "late" : "gone");
	if (snprintf(to, sizeof(to), "%s/cause-%u", dir, comm->rank) >= (int)sizeof(to) ||
	    snprintf(from, sizeof(from), "%s/new-%u", dir, comm->rank) >= (int)sizeof(from))
		return;
	unlink(from);
	if (!symlink(cause, from) && rename(from, to))
		unlink(from);
}
