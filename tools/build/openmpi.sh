#!/bin/bash
# SPDX-License-Identifier: MIT
# Print the compiler's options for a component of this machine's Open MPI. Debian 13's headers include
# some that its package leaves out. These are taken from its source, once, into the cache.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/apt-private.sh"

LEFT_OUT=opal/mca/threads/pthreads

# The newest source of the upstream version that is installed, as headers of another one do not fit.
download_source() {
	local upstream=$1 version

	version=$(apt_private apt-cache showsrc openmpi | sed -n 's/^Version: //p' | sort -uV |
		grep "^$upstream-" | tail -n 1)
	[ -n "$version" ] || die "the mirror has no source of openmpi $upstream, which is installed"
	apt_private apt-get -qq source --download-only "openmpi=$version"
}

# apt has verified the file against the signed index.
fetch_headers() {
	local dir=$1 upstream=$2

	apt_setup
	rm -rf "$dir"
	mkdir -p "$dir/deb" "$dir/include"
	(cd "$dir/deb" && download_source "$upstream")
	tar -x -f "$dir"/deb/*.orig.tar.* -C "$dir/include" --strip-components=1 --wildcards \
		"*/$LEFT_OUT/*.h"
	rm -rf "$dir/deb"
	touch "$dir/.complete"
}

# left_out_headers INCLUDE: print the folder that has them, or nothing where they are in the package.
left_out_headers() {
	local upstream dir

	grep -q "\"$LEFT_OUT/" "$1/opal_config.h" && [ ! -d "$1/$LEFT_OUT" ] || return 0
	upstream=$(dpkg-query -W -f '${source:Upstream-Version}' libopenmpi-dev)
	dir=$T3_CACHE/openmpi-$upstream-$(cache_key "$LEFT_OUT")
	lock_cache openmpi
	[ -e "$dir/.complete" ] ||
		stage openmpi "fetched headers of Open MPI $upstream" fetch_headers "$dir" "$upstream" >&2
	unlock_cache
	echo "$dir/include"
}

main() {
	local include folder options=()

	include=$(pkg-config --variable=includedir ompi-c) ||
		die "there are no headers of Open MPI: install libopenmpi-dev"
	for folder in "$include" "$include/openmpi" $(left_out_headers "$include/openmpi") \
		$(pkg-config --cflags-only-I pmix 2>/dev/null | sed 's/-I//g'); do
		options+=(-isystem "$folder")
	done
	echo "${options[*]}"
}

main
