#!/bin/bash
# SPDX-License-Identifier: MIT
# Write the series of patches into .build/series/patches. Usage: series.sh [TREE]: the kernel's
# tree; default: the newest linux-source that Debian's suites offer. .build/series/source leads to
# it.
set -euo pipefail
. "$(dirname "$0")/../build/common.sh"

main() {
	local tree=${1:-}

	mkdir -p "$T3_BUILD/series"
	if [ -z "$tree" ]; then
		tree=$("$T3_ROOT/tools/build/kernel-tree.sh")
	fi
	[ -d "$tree" ] || die "TREE must be the folder of a kernel's source; there is no folder '$tree'"
	python3 "$T3_ROOT/tools/series/series.py" "$tree" "$T3_BUILD/series/patches"
	link_if_changed "$(cd "$tree" && pwd -P)" "$T3_BUILD/series/source" || true
}

main "$@"
