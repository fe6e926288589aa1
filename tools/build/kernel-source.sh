# SPDX-License-Identifier: MIT
# The kernel's source from Debian's packages linux-source-X.Y, fetched by a private apt.
# Source it after common.sh and apt-private.sh; call apt_setup first.
# shellcheck shell=bash

# offered_sources: the packages that the package lists have, from the oldest to the newest.
offered_sources() {
	apt_private apt-cache pkgnames linux-source- |
		sed -nE '/^linux-source-[0-9]+\.[0-9]+$/p' | sort -V
}

# source_candidate PACKAGE: the version that apt would take.
source_candidate() {
	apt_private apt-cache show --no-all-versions "$1" | sed -n 's/^Version: //p'
}

# unpack_source PACKAGE DIR: download it, and unpack the tree into DIR.
unpack_source() {
	deb_fetch "$1" "$2.deb"
	mkdir -p "$2"
	tar -xf "$2.deb/usr/src/$1.tar.xz" -C "$2" --strip-components=1
	rm -rf "$2.deb"
}
