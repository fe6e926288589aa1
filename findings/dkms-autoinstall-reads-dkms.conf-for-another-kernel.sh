#!/bin/bash
# SPDX-License-Identifier: MIT
# dkms 3.0.10 of Debian 12 (dkms=3.0.10-8+deb12u1): `dkms autoinstall -k KERNEL` reads dkms.conf
# with another kernel in $kernelver, or with none, and takes AUTOINSTALL from that. dkms(8) says
# that $kernelver is the kernel in question. So a file that sets AUTOINSTALL for some kernels only
# decides by the kernel that already has the module built.
#
# Seen, of a module with BUILD_EXCLUSIVE_KERNEL and AUTOINSTALL for 6.99 alone:
#     autoinstall -k 6.99.0-new, nothing built yet:    status 0, and nothing is built
#     autoinstall -k 6.0.0-old, built for 6.99.0-new:  status 11, as the module is refused for 6.0
# Such a refused module counts as a failed one, and a kernel package's hook ends with the same
# status. dkms 3.2.2 of Debian 13 reads the file for the right kernel, and skips what is refused.
# A file for both can say `(unset kernelver; echo "$kernelver")`: bash then shows the variable of
# the function that called, which is the kernel of -k.
#
# The package is unpacked below a temporary folder, by the sources of this machine's apt, which
# must have Debian 12's. The kernels are made up, with nothing but a folder. It needs gcc, and no
# root where a user may make namespaces.
set -euo pipefail

VERSION=3.0.10-8+deb12u1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

(cd "$place" && apt-get -qq download "dkms=$VERSION" 2>/dev/null && dpkg -x dkms_*.deb root)
mkdir -p "$place"/{tree,source/tiny-1,lib/6.{0.0-old,99.0-new}/build/include}
echo "int tiny;" >"$place/source/tiny-1/tiny.c"
cat >"$place/source/tiny-1/dkms.conf" <<'CONF'
PACKAGE_NAME=tiny
PACKAGE_VERSION=1
BUILT_MODULE_NAME[0]=tiny
DEST_MODULE_LOCATION[0]=/updates
MAKE[0]="gcc -c -o tiny.ko tiny.c"
CLEAN="rm -f tiny.ko"
STRIP[0]=no
BUILD_EXCLUSIVE_KERNEL="^6\.99\."
[[ $kernelver != 6.99.* ]] || AUTOINSTALL=yes
echo "read for ${kernelver:-none}, called for $(unset kernelver; echo "$kernelver")" >>"$NOTES"
CONF
export NOTES=$place/notes

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(unshare --map-root-user)

# run ARGUMENT...: dkms in its own folders. Prints its status, what it said of a refusal, and how it
# read the file.
run() {
	local status=0

	: >"$NOTES"
	"${as_root[@]}" "$place/root/usr/sbin/dkms" "$@" --dkmstree "$place/tree" \
		--sourcetree "$place/source" --installtree "$place/lib" >"$place/said" 2>&1 || status=$?
	echo "status $status; $(grep -c 'includes a BUILD_EXCLUSIVE' "$place/said" || true) refused;" \
		"$(grep -v 'read for \(.*\), called for \1$' "$NOTES" | sort -u)"
}

expect() {
	echo "$1: $3"
	[ "$2" = "$3" ] || { echo "expected: $2" >&2 && cat "$place/said" >&2 && exit 1; }
}

"$place/root/usr/sbin/dkms" --version
run add tiny/1 >/dev/null
expect "nothing built" "status 0; 0 refused; read for none, called for 6.99.0-new" \
	"$(run autoinstall -k 6.99.0-new)"
[ ! -e "$place/tree/tiny/1/6.99.0-new" ] || { echo "expected: nothing is built" >&2 && exit 1; }
run build tiny/1 -k 6.99.0-new --kernelsourcedir "$place/lib/6.99.0-new/build" >/dev/null
[ -e "$place/tree/tiny/1/6.99.0-new" ] || { cat "$place/said" >&2 && exit 1; }
expect "built for 6.99.0-new" "status 11; 1 refused; read for 6.99.0-new, called for 6.0.0-old" \
	"$(run autoinstall -k 6.0.0-old)"
