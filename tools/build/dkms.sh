#!/bin/bash
# SPDX-License-Identifier: MIT
# Install what DKMS needs to build t3.ko for each kernel of a machine, and the udev rule,
# below DESTDIR. The version is the module's own. Usage: dkms.sh DESTDIR
set -euo pipefail
. "$(dirname "$0")/common.sh"

number() {
	sed -n "s/^#define T3_DRIVER_$1 \([0-9]*\)$/\1/p" "$T3_ROOT/uapi/t3_accel.h"
}

install_sources() {
	local dest=$1 dir

	rm -rf "$dest"
	for dir in driver uapi LICENSES; do
		(cd "$T3_ROOT" && find "$dir" -name '*.[ch]' -o -name probe.sh -o -path 'LICENSES/*' -type f) |
			while read -r file; do
				install -D -m 644 "$T3_ROOT/$file" "$dest/$file"
			done
	done
	install -m 644 "$T3_ROOT/Kbuild" "$dest/Kbuild"
}

main() {
	local root version dest

	[ $# -eq 1 ] || die "usage: dkms.sh DESTDIR"
	root=$1
	version=$(number MAJOR).$(number MINOR).0
	[[ $version =~ ^[0-9]+\.[0-9]+\.0$ ]] || die "uapi/t3_accel.h tells no version"
	dest=$root/usr/src/t3-$version
	install_sources "$dest"
	sed "s/@VERSION@/$version/" "$T3_ROOT/driver/dkms.conf.in" >"$dest/dkms.conf"
	install -D -m 644 "$T3_ROOT/driver/60-t3.rules" "$root/usr/lib/udev/rules.d/60-t3.rules"
	echo "installed $dest; now: dkms install t3/$version"
}

main "$@"
