#!/bin/bash
# SPDX-License-Identifier: MIT
# Print the folder of the newest linux-source that Debian's suites offer, unpacked in the cache.
# It is only read there. Without a mirror it is the newest in the cache.
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/apt-private.sh"
. "$(dirname "$0")/kernel-source.sh"

# fetch_tree PACKAGE VERSION: make its entry in the cache, once.
fetch_tree() {
	local dir=$T3_CACHE/linux-source-$2-$KEY

	[ ! -e "$dir/.complete" ] || return 0
	rm -rf "$dir"
	stage series-source "fetched and unpacked $1 $2" unpack_source "$1" "$dir/source" >&2
	touch "$dir/.complete"
}

main() {
	local package entry

	KEY=$(cache_key "$(declare -f unpack_source)")
	lock_cache linux-source
	apt_all_suites
	if (stage series-lists "refreshed package lists" apt_setup) >&2; then
		package=$(offered_sources | tail -n 1)
		[ -n "$package" ] || die "the mirror has no linux-source package: name a tree by TREE=DIR"
		fetch_tree "$package" "$(source_candidate "$package")"
	fi
	entry=$(newest_entry linux-source "$KEY")
	[ -n "$entry" ] || die "no mirror, and no linux-source in the cache: name a tree by TREE=DIR"
	echo "$entry/source"
}

main
