#!/bin/bash
# SPDX-License-Identifier: MIT
# Fetch one of Debian's kernels (image, modules, headers) and unpack it in the cache; nothing is
# installed on the host. Links the result as `kernel` in T3_GUEST, with `vmlinux`, `release` and
# `lib/modules/<release>`. T3_KERNEL says which: `kernel` is the 6.12 of this Debian release, else
# it is a selector (kernel-list.sh). Ends with 77 where the mirror has no such kernel.
# Usage: kernel.sh [fetch|checkpatch|list]: only fetch and unpack; fetch `checkpatch/` into it, too,
# which lint needs; say what there is.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/apt-private.sh"
. "$(dirname "${BASH_SOURCE[0]}")/kernel-list.sh"
. "$(dirname "${BASH_SOURCE[0]}")/kernel-adapt.sh"

T3_KERNEL=${T3_KERNEL:-kernel}
# What its entries in the cache are called.
PREFIX=$([ "$T3_KERNEL" = kernel ] && echo kernel || echo linux)

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
		! -path '*/virt/*' ! -path '*/crypto/*' ! -path '*/kernel/lib/*' \
		! -path '*/overlayfs/*' ! -name 'virtio_net.ko*' ! -name '*failover.ko*' -delete
}

# image_packages RELEASE: one package up to 6.12; later ones are in three.
image_packages() {
	if apt_private apt-cache pkgnames "linux-modules-$1" | grep -x "linux-modules-$1" >/dev/null; then
		echo "linux-binary-$1 linux-modules-$1 linux-base-$1"
	else
		echo "linux-image-$1"
	fi
}

fetch_kernel() {
	local root=$1 release=$2 package

	for package in $(image_packages "$release"); do
		deb_fetch "$package" "$root"
	done
	forget_modules "$root"
	deb_fetch "linux-headers-$release" "$root"
	deb_fetch "linux-headers-${release%-amd64}-common" "$root"
	deb_fetch "linux-kbuild-${release%-amd64}" "$root"
	fetch_libraries "$root"
	# Since Debian 13 modules are below /usr.
	[ -e "$root/lib" ] || ln -s usr/lib "$root/lib"
}

# find_image ROOT RELEASE: later kernels have image and configuration beside their modules.
find_image() {
	local name

	mkdir -p "$1/boot"
	for name in vmlinuz config; do
		[ -e "$1/boot/$name-$2" ] || ln -srf "$1/lib/modules/$2/$name" "$1/boot/$name-$2"
	done
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

	find_image "$root" "$release"
	relocate_headers "$root" "$release"
	adapt_tools "$root"
	adapt_compiler "$root/usr/src/linux-headers-$release"
	depmod -b "$root" "$release"
	extract_vmlinux "$root/boot/vmlinuz-$release" "$root/vmlinux"
	echo "$release" >"$root/release"
	make -s -C "$root/lib/modules/$release/build" kernelversion
}

# wanted_release: what to fetch, or nothing.
wanted_release() {
	if [ "$T3_KERNEL" = kernel ]; then
		kernel_release
	else
		offered_kernel "$T3_KERNEL"
	fi
}

nothing_offered() {
	[ "$T3_KERNEL" != kernel ] || die "the mirror has no Linux 6.12 for amd64"
	echo "t3: the mirror has no Linux $T3_KERNEL for amd64; it has:" \
		"$(offered_kernels | sed 's/-amd64$//' | tr '\n' ' ')" >&2
	exit "$NONE"
}

# Fetching needs nothing but apt and dpkg, so it runs beside the installation of the packages.
fetch_entry() {
	local release dir

	stage kernel-lists "refreshed package lists" apt_setup
	release=$(wanted_release)
	[ -n "$release" ] || nothing_offered
	dir=$T3_CACHE/$PREFIX-$release-$1
	rm -rf "$dir"
	stage kernel-fetch "fetched and unpacked Linux $release" fetch_kernel "$dir" "$release"
	echo "$release" >"$dir/.fetched"
}

# begun_kernel KEY: an entry of what is wanted that is fetched, and not prepared.
begun_kernel() {
	local dir release

	if [ "$T3_KERNEL" = kernel ]; then
		begun_entry kernel "$1"
		return
	fi
	for dir in "$T3_CACHE"/linux-*-"$1"; do
		if [ -e "$dir/.fetched" ] && [ ! -e "$dir/.complete" ]; then
			cat "$dir/.fetched"
		fi
	done | selected_kernels "$T3_KERNEL" | order_kernels | tail -n 1 | while read -r release; do
		echo "$T3_CACHE/linux-$release-$1"
	done
}

new_entry() {
	local dir

	dir=$(begun_kernel "$1")
	if [ -z "$dir" ]; then
		fetch_entry "$1"
		dir=$(begun_kernel "$1")
	fi
	stage kernel-prepare "relocated its headers" prepare_kernel "$dir" "$(cat "$dir/.fetched")"
	touch "$dir/.complete"
}

# What is in the cache is enough, except where the newest of all is wanted.
ready_entry() {
	case $T3_KERNEL in
	kernel) newest_entry kernel "$1" ;;
	newest) ready_newest "$1" ;;
	*) cached_kernel "$T3_KERNEL" "$1" ;;
	esac
}

# Without lists, as there is no mirror, that is the newest in the cache.
ready_newest() {
	local release

	apt_setup >/dev/null 2>&1 || true
	release=$(offered_kernel newest)
	cached_kernel "${release:-newest}" "$1"
}

# list_kernels KEY: each kernel that is offered or in the cache, and what to call it.
list_kernels() {
	local offered cached release state

	apt_all_suites
	stage kernel-lists "refreshed package lists" apt_setup
	offered=$(offered_kernels)
	cached=$(cached_kernels "$1" | cut -d ' ' -f 1)
	printf '%s\n' "$offered" "$cached" | sed '/^$/d' | sort -u | order_kernels |
		while read -r release; do
			state=
			! grep -qxF "$release" <<<"$cached" || state=" in the cache"
			grep -qxF "$release" <<<"$offered" || state+=" (no longer offered)"
			printf 'KERNEL=%-20s%s\n' "${release%-amd64}" "$state"
		done
}

main() {
	local key entry

	key=$(cache_key "$(declare -f relocate_headers forget_modules image_packages fetch_kernel \
		find_image extract_vmlinux prepare_kernel fetch_libraries foreign_tools adapt_tools \
		compiler_can adapt_compiler)" "${COMPILER_CAN[@]}")
	lock_cache kernel
	if [ "${1:-}" = list ]; then
		list_kernels "$key"
		return
	fi
	if [ "$T3_KERNEL" != kernel ]; then
		check_selector "$T3_KERNEL"
		apt_all_suites
	fi
	entry=$(ready_entry "$key")
	if [ "${1:-}" = fetch ]; then
		[ -n "$entry$(begun_kernel "$key")" ] || fetch_entry "$key"
		return
	fi
	if [ -z "$entry" ]; then
		new_entry "$key"
		entry=$(ready_entry "$key")
	fi
	if [ "${1:-}" = checkpatch ] && [ ! -e "$entry/checkpatch" ]; then
		stage kernel-checkpatch "fetched checkpatch" fetch_checkpatch "$entry"
	fi
	link_if_changed "$entry" "$T3_GUEST/kernel" || true
	echo "${entry##*/}" | write_if_changed "$T3_GUEST/kernel.stamp"
}

# Its functions are tested apart.
[ "${BASH_SOURCE[0]}" != "$0" ] || main "$@"
