#!/bin/bash
# SPDX-License-Identifier: MIT
# Fetch Debian's Linux 6.12 (image, modules, headers) and unpack it in the cache;
# nothing is installed on the host. Links the result as .build/kernel, with
# `vmlinux`, `release` and `lib/modules/<release>`.
# Usage: kernel.sh [fetch|checkpatch]: only fetch and unpack; fetch `checkpatch/` into it, too,
# which lint needs.
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/apt-private.sh"

# Newest 6.12 kernel: its flavour-independent release, e.g. 6.12.9+deb12-amd64.
kernel_release() {
	apt_private apt-cache depends linux-image-amd64 linux-headers-amd64 |
		sed -n 's/^ *Depends: linux-headers-\(6\.12\..*-amd64\)$/\1/p' | sort -V | tail -n 1
}

# The headers' Makefile and the module tree's links name /usr/src and /lib. Relative links replace
# these, so that the whole folder can be moved.
relocate_headers() {
	local root=$1 release=$2 link
	local headers=$1/usr/src/linux-headers-$2 modules=$1/lib/modules/$2

	sed -i "s|/usr/src/|../|g" "$headers/Makefile"
	find "$headers" "$root/usr/src" -maxdepth 1 -type l | while read -r link; do
		case $(readlink "$link") in
		/usr/*) ln -srfn "$root$(readlink "$link")" "$link" ;;
		esac
	done
	ln -srfn "$headers" "$modules/build"
	ln -srfn "$root/usr/src/linux-headers-${release%-amd64}-common" "$modules/source"
}

# Only the kernel's source package has checkpatch. Keep just those files.
fetch_checkpatch() {
	local root=$1 tmp=$1/source-deb scripts

	scripts=usr/src/linux-headers-$(sed 's/-amd64$//' "$root/release")-common/scripts
	if [ -e "$root/$scripts/checkpatch.pl" ]; then
		ln -s "$scripts" "$root/checkpatch"
		return
	fi
	apt_setup
	deb_fetch linux-source-6.12 "$tmp"
	rm -rf "$root/checkpatch.new"
	mkdir -p "$root/checkpatch.new"
	tar -xf "$tmp"/usr/src/linux-source-6.12.tar.xz -C "$root/checkpatch.new" --strip-components=2 \
		linux-source-6.12/scripts/{checkpatch.pl,spelling.txt,const_structs.checkpatch,spdxcheck.py,kernel-doc}
	mv "$root/checkpatch.new" "$root/checkpatch"
	rm -rf "$tmp"
}

# The guest uses few of the 4200 modules: EXTRA_MODULES of initramfs.sh, the driver's dependencies,
# and theirs. depmod reads all that are there.
forget_modules() {
	find "$1" -name '*.ko*' ! -path '*/drm/*' ! -path '*/9p/*' ! -path '*/netfs/*' \
		! -path '*/drivers/vfio/*' ! -path '*/drivers/virtio/*' ! -path '*/drivers/iommu/*' \
		! -path '*/virt/*' ! -path '*/crypto/*' ! -path '*/kernel/lib/*' -delete
}

fetch_kernel() {
	local root=$1 release=$2

	deb_fetch "linux-image-$release" "$root"
	forget_modules "$root"
	deb_fetch "linux-headers-$release" "$root"
	deb_fetch "linux-headers-${release%-amd64}-common" "$root"
	deb_fetch "linux-kbuild-${release%-amd64}" "$root"
	# Debian 13 keeps modules below /usr.
	[ -e "$root/lib" ] || ln -s usr/lib "$root/lib"
}

# word_at FILE OFFSET BYTES: an unsigned little-endian number.
word_at() {
	od -An -v "-tu$3" -j "$2" -N "$3" "$1" | tr -d ' '
}

# Extract the kernel from its self-extracting wrapper. QEMU starts it through its PVH entry, so that
# emulation need not decompress it (0.7 s of a 4 s boot). Documentation/arch/x86/boot.rst has the
# offsets.
extract_vmlinux() {
	local image=$1 setup start length

	setup=$(word_at "$image" 497 1)
	start=$(((setup + 1) * 512 + $(word_at "$image" 584 4)))
	# The payload ends with its unpacked size, which is not part of the stream.
	length=$(($(word_at "$image" 588 4) - 4))
	tail -c "+$((start + 1))" "$image" | head -c "$length" >"$2.packed" || true
	case $(od -An -tx1 -N 4 "$2.packed" | tr -d ' ') in
	28b52ffd) zstd -qdc "$2.packed" >"$2" ;;
	fd377a58) xz -dc "$2.packed" >"$2" ;;
	*) die "unknown compression in $image" ;;
	esac
	rm "$2.packed"
	readelf -h "$2" >/dev/null
}

prepare_kernel() {
	local root=$1 release=$2

	relocate_headers "$root" "$release"
	depmod -b "$root" "$release"
	extract_vmlinux "$root/boot/vmlinuz-$release" "$root/vmlinux"
	echo "$release" >"$root/release"
	make -s -C "$root/lib/modules/$release/build" kernelversion
}

# Fetching needs nothing but apt and dpkg, so it runs beside the installation of the packages.
fetch_entry() {
	local release dir

	stage kernel-lists "refreshed package lists" apt_setup
	release=$(kernel_release)
	[ -n "$release" ] || die "the mirror has no Linux 6.12 for amd64"
	dir=$T3_CACHE/kernel-$release-$1
	rm -rf "$dir"
	stage kernel-fetch "fetched and unpacked Linux $release" fetch_kernel "$dir" "$release"
	echo "$release" >"$dir/.fetched"
}

new_entry() {
	local dir

	dir=$(begun_entry kernel "$1")
	if [ -z "$dir" ]; then
		fetch_entry "$1"
		dir=$(begun_entry kernel "$1")
	fi
	stage kernel-prepare "relocated its headers" prepare_kernel "$dir" "$(cat "$dir/.fetched")"
	touch "$dir/.complete"
}

main() {
	local key entry

	key=$(cache_key "$(declare -f relocate_headers forget_modules fetch_kernel extract_vmlinux \
		prepare_kernel)")
	lock_cache kernel
	entry=$(newest_entry kernel "$key")
	if [ "${1:-}" = fetch ]; then
		[ -n "$entry$(begun_entry kernel "$key")" ] || fetch_entry "$key"
		return
	fi
	if [ -z "$entry" ]; then
		new_entry "$key"
		entry=$(newest_entry kernel "$key")
	fi
	if [ "${1:-}" = checkpatch ] && [ ! -e "$entry/checkpatch" ]; then
		stage kernel-checkpatch "fetched checkpatch" fetch_checkpatch "$entry"
	fi
	link_if_changed "$entry" "$T3_BUILD/kernel" || true
	echo "${entry##*/}" | write_if_changed "$T3_BUILD/kernel.stamp"
}

main "$@"
