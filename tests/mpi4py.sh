#!/bin/bash
# SPDX-License-Identifier: MIT
# Print the folder that has mpi4py's own tests, of the version that is installed. Debian has them in
# its source package alone, which is fetched once, into the cache. Ends with 77 and says why where the
# mirror does not give it.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../tools/build/common.sh"
. "$T3_ROOT/tools/build/apt-private.sh"

# A mirror may list a source and not have its files.
download_source() {
	apt_private apt-get -qq source --tar-only "mpi4py=$1" >&2 && return
	echo "skipped: the mirror does not give the source of mpi4py $1" >&2
	exit 77
}

# apt has verified the file against the signed index.
fetch_tests() {
	local dir=$1 version=$2

	apt_sources_here
	apt_setup
	rm -rf "$dir"
	mkdir -p "$dir/deb" "$dir/source"
	(cd "$dir/deb" && download_source "$version")
	tar -x -f "$dir"/deb/*.orig.tar.* -C "$dir/source" --strip-components=1 --wildcards "*/test/*"
	rm -rf "$dir/deb"
	touch "$dir/.complete"
}

version=$(dpkg-query -W -f '${source:Version}' python3-mpi4py) || die "python3-mpi4py is not installed"
dir=$T3_CACHE/mpi4py-$version
lock_cache mpi4py
[ -e "$dir/.complete" ] || fetch_tests "$dir" "$version"
unlock_cache
echo "$dir/source/test"
