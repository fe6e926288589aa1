#!/bin/bash
# SPDX-License-Identifier: MIT
# Unpack libraries for another processor than this machine's in the cache: those of this machine's
# Debian release, with their headers. T3_ARCH=arm64: for a guest, with a static busybox and udev;
# T3_HOST=arm64: for a QEMU. Nothing is installed. Links the result as `sysroot` in T3_BUILD.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/apt-private.sh"

ARCH=${T3_HOST:-$T3_ARCH}
# apt finds out what these depend on.
PACKAGES=(libc6-dev libgcc-s1 libstdc++6)
if [ -n "${T3_HOST:-}" ]; then
	PACKAGES+=(libglib2.0-dev libpixman-1-dev libfdt-dev libattr1-dev zlib1g-dev libgnutls28-dev)
else
	PACKAGES+=(libdrm-dev libpci-dev libjansson-dev libncurses-dev libdw-dev libcmocka-dev
		busybox-static udev)
fi

# All of an architecture's packages are downloaded, and none is taken for installed.
fetch_packages() {
	apt_private apt-get -qq -y --no-install-recommends --download-only \
		-o Dir::Cache::archives="$1" install "${PACKAGES[@]}"
}

# merge_usr DIR: as in an installed Debian, whose packages say /lib here and /usr/lib there.
merge_usr() {
	local name

	for name in bin sbin lib; do
		mkdir -p "$1/usr/$name"
		ln -sfn "usr/$name" "$1/$name"
	done
}

# Links to a file by its whole path would lead out of the tree.
relative_links() {
	local link

	find "$1" -type l -lname '/*' | while read -r link; do
		ln -srfn "$1$(readlink "$link")" "$link"
	done
}

unpack_packages() {
	local dir=$1 file

	merge_usr "$dir/root"
	for file in "$dir"/debs/*.deb; do
		dpkg-deb --fsys-tarfile "$file" | tar -x -C "$dir/root" --keep-directory-symlink \
			--exclude=./usr/share/doc --exclude=./usr/share/man --exclude=./usr/share/locale
	done
	relative_links "$dir/root"
	# A program run by qemu-user would find these in place of this machine's.
	[ -z "${T3_HOST:-}" ] || rm -rf "$dir/root/usr/bin" "$dir/root/usr/sbin"
	rm -rf "$dir/debs"
}

build_entry() {
	mkdir -p "$1/debs/partial"
	stage sysroot-lists "refreshed package lists of $ARCH" apt_setup
	stage sysroot-fetch "fetched the libraries of $ARCH" fetch_packages "$1/debs"
	stage sysroot-unpack "unpacked them" unpack_packages "$1"
	touch "$1/.complete"
}

main() {
	local key entry

	key=$(cache_key "$ARCH ${PACKAGES[*]}" "$(declare -f fetch_packages merge_usr relative_links \
		unpack_packages)")
	apt_foreign "$ARCH"
	lock_cache "sysroot"
	entry=$T3_CACHE/sysroot-$ARCH-$key
	if [ ! -e "$entry/.complete" ]; then
		rm -rf "$entry"
		build_entry "$entry"
	fi
	link_if_changed "$entry/root" "$T3_BUILD/sysroot" || true
}

main
