/* SPDX-License-Identifier: MIT */
/*
 * The ends of ranks: the message about the rank that failed first comes first, and its status
 * counts.
 */
#ifndef T3_LAUNCH_ENDS_H
#define T3_LAUNCH_ENDS_H

#include "launch/launch.h"

/*
 * Print how ranks have ended, and set launch->status. Without `all`, wait while another rank is
 * about to end that may have failed before them.
 */
void launch_tell_ends(struct launch *launch, bool all);

#endif /* T3_LAUNCH_ENDS_H */
