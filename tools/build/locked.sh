#!/bin/bash
# SPDX-License-Identifier: MIT
# Run a make that builds while no other one builds in the same folder: they would write,
# and after a failure delete, each other's files. Usage: locked.sh NAME COMMAND...
# The lock is on descriptor 7, which COMMAND inherits: it ends with the last process that
# has it, however that ends, or by `flock -u 7` where the building is over.
set -euo pipefail
flags=${MAKEFLAGS-}
level=${MAKELEVEL-}
. "$(dirname "$0")/common.sh"

name=$1
shift
take_lock 7 "$T3_BUILD/.lock" "$name"
export MAKEFLAGS=$flags MAKELEVEL=$level T3_LOCKED=$T3_BUILD
exec "$@"
