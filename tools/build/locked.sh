#!/bin/bash
# SPDX-License-Identifier: MIT
# Run a make that builds while no other make builds in the same folder. They would write each
# other's files, and delete them after a failure. Usage: locked.sh NAME COMMAND... COMMAND inherits
# the lock on descriptor 7. The lock ends with the last process that has the descriptor, or by
# `flock -u 7` after the build.
set -euo pipefail
flags=${MAKEFLAGS-}
level=${MAKELEVEL-}
. "$(dirname "$0")/common.sh"

name=$1
shift
take_lock 7 "$T3_BUILD/.lock" "$name"
# Where its programs were compiled, for a debugger in a copy of the tree (vm_gdb.py).
grep -qxF "$T3_ROOT $T3_BUILD" "$T3_BUILD/trees" 2>/dev/null ||
	{ echo "$T3_ROOT $T3_BUILD" >>"$T3_BUILD/trees"; } 2>/dev/null || :
export MAKEFLAGS=$flags MAKELEVEL=$level T3_LOCKED=$T3_BUILD
exec "$@"
