#!/bin/bash
# SPDX-License-Identifier: MIT
# Fetch, configure and build QEMU in the cache, once for all clones; then compile and link
# this clone's device with its objects, in .build/qemu.
# Usage: qemu.sh [fetch|qtest]: only download the source; also build the qtest program.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# The usual QEMU is Debian 13's. T3_QEMU asks for another one, by the start of its version.
USUAL_QEMU=10.0
T3_QEMU=${T3_QEMU:-$USUAL_QEMU}
[[ $T3_QEMU =~ ^[0-9]+(\.[0-9]+)+$ ]] ||
	die "QEMU is '$T3_QEMU' and must be the start of a version, such as 10.0 or 10.2.2"
. "$(dirname "${BASH_SOURCE[0]}")/apt-private.sh"
[ "$T3_QEMU" = "$USUAL_QEMU" ] || apt_all_qemus
. "$(dirname "${BASH_SOURCE[0]}")/qemu-overlay.sh"

DEVICE=$T3_ROOT/tools/build/qemu-device.py

# The processor of the guest, and of the machine that runs QEMU, as Debian calls them.
HOST=${T3_HOST:-amd64}
declare -A TARGETS=([amd64]=x86_64 [arm64]=aarch64)
TARGET=${TARGETS[$T3_ARCH]}
PROGRAM=qemu-system-$TARGET
CONFIGURE=(
	--target-list="$TARGET-softmmu" --without-default-features
	--without-default-devices "--with-devices-$TARGET=t3"
	--enable-tcg --enable-membarrier --enable-fdt=system --enable-pixman
	--enable-attr --enable-virtfs --enable-trace-backends=log --enable-gnutls
	--disable-docs --disable-download --disable-install-blobs --disable-debug-info
	"--extra-cflags=-pthread -Wno-invalid-pch" # see precompile_header
)
[ "$T3_ARCH" != "$HOST" ] || CONFIGURE+=(--enable-kvm)

# For another machine than this one: with the libraries that sysroot.sh has unpacked. Their place
# stays in each command of this QEMU, so it is part of its cache key.
cross_build() {
	local root triplet=${TARGETS[$HOST]}-linux-gnu

	root=$(readlink -e "$T3_BUILD/sysroot") || die "no libraries for $HOST: run sysroot.sh first"
	export PKG_CONFIG=pkg-config PKG_CONFIG_SYSROOT_DIR=$root
	export PKG_CONFIG_LIBDIR=$root/usr/lib/$triplet/pkgconfig:$root/usr/share/pkgconfig
	CONFIGURE+=("--cross-prefix=$triplet-" "--cc=$triplet-gcc --sysroot=$root")
}
[ "$HOST" = amd64 ] || cross_build

listed_versions() {
	apt_private apt-cache showsrc qemu | sed -n 's/^Version: //p' | sort -uV
}

# The newest version that begins with T3_QEMU in the source lists, or nothing.
qemu_version() {
	listed_versions | { grep -E "^([0-9]+:)?${T3_QEMU//./\\.}([.+~-]|\$)" || true; } | tail -n 1
}

download_source() {
	local version=$1 dir=$2

	(cd "$dir/deb" && apt_private apt-get -qq source --download-only "qemu=$version")
}

# apt has verified the files against the signed index.
unpack_source() {
	local dir=$1

	rm -rf "$dir/source"
	dpkg-source --no-check -x "$dir"/deb/*.dsc "$dir/source"
	qemu_fitting_hooks "$dir/source"
	touch "$dir/.fetched"
	rm -rf "$dir/deb" "$dir"/*.orig.tar.*
}

# Debian 12's meson is too old, and installing the backported package would pull
# more along: unpack it and let a virtual environment find it.
make_meson_venv() {
	local dir=$1 site

	deb_fetch meson "$dir/meson"
	/usr/bin/python3 -m venv --without-pip --system-site-packages "$dir/venv"
	site=$("$dir/venv/bin/python3" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
	ln -s "$dir"/meson/usr/lib/python3/dist-packages/* "$site/"
}

configure_qemu() {
	local dir=$1

	rm -rf "$dir/meson" "$dir/venv"
	make_meson_venv "$dir"
	mkdir -p "$dir/build"
	cd "$dir/build"
	../source/configure --python="$dir/venv/bin/python3" "${CONFIGURE[@]}"
	precompile_header "$(listed_target lib{common,system}.a.p/hw_pci_pci.c.o)" \
		"$(listed_target "libqemu-$TARGET-softmmu.a.p/target_"{i386_cpu,arm_cpu64}.c.o)"
}

# The first of these objects that this QEMU has: 10.0 has most in libcommon, 10.2 in libsystem.
listed_target() {
	local object

	for object; do
		if ninja -t query "$object" >/dev/null 2>&1; then
			echo "$object"
			return
		fi
	done
	die "this QEMU is not supported: it has none of the objects $*"
}

# Each file of QEMU begins with osdep.h, and most are read faster than that is: compiled
# beforehand, it saves a quarter of the build. gcc takes the one of the folder that fits the
# flags of a file. There are two kinds of them, each with an object's flags for all: with
# -pthread everywhere (CONFIGURE), the rest is the same. Ours have other flags and read the text.
precompile_header() {
	local object command text=../source/include/qemu/osdep.h header=qemu/osdep.h

	ninja config-poison.h # the one header of its that is made
	rm -rf "$header.gch"
	mkdir -p "$header.gch"
	# A header that includes it again looks for the text beside it.
	ln -sfn "../$text" "$header"
	for object; do
		command=$(ninja -t commands "$object" | tail -n 1)
		eval "${command% -MD *} -x c-header -o $header.gch/${object%%/*} -c $text"
	done
}

build_qemu() {
	ninja -C "$1/build" -j "$T3_JOBS" "$PROGRAM"
}

# What qtest programs are linked with.
build_qtest() {
	ninja -C "$1/build" -j "$T3_JOBS" tests/qtest/t3/t3-qtest
	touch "$1/.qtest"
}

# Configure leaves this out where it finds no 32-bit compiler; -m16 is enough.
optionrom_config() {
	cat <<-CONFIG
		TOPSRC_DIR=$1/source
		CC=gcc
		CCAS=gcc
		LD=ld
		OBJCOPY=objcopy
	CONFIG
}

# Without linuxboot_dma.bin a guest given with -kernel hangs; Debian's source
# comes without firmware images, the BIOS is from the seabios package.
add_firmware() {
	local roms=$1/build/pc-bios/optionrom share=$1/build/qemu-bundle/usr/local/share/qemu

	optionrom_config "$1" >"$roms/config.mak"
	make -C "$roms" -j "$T3_JOBS"
	mkdir -p "$share"
	ln -sf /usr/share/seabios/*.bin "$share/"
	ln -srf "$roms"/*.bin "$share/"
}

finish_entry() {
	add_firmware "$1"
	"$DEVICE" commands "$1"
}

# done_here DIR STEP: whether an earlier run has done that step of this entry, at this place.
done_here() {
	[ "$(cat "$1/.$2" 2>/dev/null)" = "$1" ]
}

# A build that was stopped goes on where it was: the source stays, and ninja knows which
# objects are whole. Where the entry has moved, it is configured again, as meson keeps paths.
build_entry() {
	local dir=$1

	[ -e "$dir/.fetched" ] || stage qemu-unpack "unpacked its source" unpack_source "$dir"
	if ! done_here "$dir" configured; then
		stage qemu-configure "configured" configure_qemu "$dir"
		echo "$dir" >"$dir/.configured"
	fi
	stage qemu-build "built QEMU (once, this takes minutes)" build_qemu "$dir"
	stage qemu-finish "added firmware" finish_entry "$dir"
	touch "$dir/.complete"
}

# It needs nothing but apt, and so goes on beside the installation of the packages.
fetch_entry() {
	local version dir

	stage qemu-lists "refreshed package lists" apt_setup
	version=$(qemu_version)
	[ -n "$version" ] || die "the mirror has no source package of QEMU $T3_QEMU; it lists" \
		"$(listed_versions | tr '\n' ' ')"
	dir=$T3_CACHE/qemu-${version//[:~]/_}-$1
	rm -rf "$dir"
	mkdir -p "$dir/deb"
	stage qemu-fetch "fetched QEMU $version" download_source "$version" "$dir"
	touch "$dir/.downloaded"
}

new_entry() {
	local dir

	dir=$(begun_entry qemu "$1")
	[ ! -e "$dir/.fetched" ] || echo "[qemu] goes on with a build that was stopped"
	if [ -z "$dir" ]; then
		fetch_entry "$1"
		dir=$(begun_entry qemu "$1")
	fi
	build_entry "$dir"
}

# An entry that has moved is built anew at its place: meson keeps paths.
add_qtest() {
	done_here "$1" configured || build_entry "$1"
	stage qemu-qtest "built QEMU's library of tests (once)" build_qtest "$1"
}

# What depends on this clone: its device and qtest program, compiled and linked here.
build_device() {
	local entry=$1 folder=$T3_BUILD/qemu

	shift
	"$DEVICE" ninja "$entry" "$folder" "$T3_ROOT"
	ninja -C "$folder" -j "$T3_JOBS" "$@"
}

# A folder of another QEMU, or the link that earlier versions of this script made.
drop_others() {
	local folder=$T3_BUILD/qemu name=${1##*/}

	if [ -L "$folder" ] || [ "$(cat "$folder/.of" 2>/dev/null)" != "$name" ]; then
		rm -rf "$folder"
		mkdir -p "$folder"
		echo "$name" >"$folder/.of"
	fi
}

# What another processor of the guest makes different.
# shellcheck source=tools/build/qemu-arm64.sh
[ "$T3_ARCH" = amd64 ] || . "$T3_ROOT/tools/build/qemu-$T3_ARCH.sh"

# All that is done to a source before it is built, and how it is built.
qemu_key() {
	local hooks

	mapfile -t hooks < <(sed -n 's/^\([a-z_0-9]*\)() [{(]$/\1/p' "$T3_ROOT/tools/build/qemu-overlay.sh")
	cache_key "${CONFIGURE[*]}" "$QEMU_HOOKS" "$(declare -f "${hooks[@]}" configure_qemu listed_target \
		precompile_header optionrom_config add_firmware)" ${T3_QEMU#"$USUAL_QEMU"}
}

main() {
	local key entry targets=("$PROGRAM")

	key=$(qemu_key)
	lock_cache "qemu-$key"
	entry=$(newest_entry qemu "$key")
	if [ "${1:-}" = fetch ]; then
		[ -n "$entry$(begun_entry qemu "$key")" ] || fetch_entry "$key"
		return
	fi
	if [ -z "$entry" ]; then
		new_entry "$key"
		entry=$(newest_entry qemu "$key")
	fi
	if [ "${1:-}" = qtest ]; then
		targets+=(tests/qtest/t3/t3-qtest tests/qtest/t3/t3-conformance)
		[ -e "$entry/.qtest" ] || add_qtest "$entry"
	fi
	unlock_cache
	# A VM that starts looks at this lock: its program is not replaced meanwhile.
	take_lock 9 "$T3_BUILD/.lock-qemu" "the build of the device"
	drop_others "$entry"
	stage qemu "QEMU with the T3 device up to date" build_device "$entry" "${targets[@]}"
}

# Its functions are tested apart.
[ "${BASH_SOURCE[0]}" != "$0" ] || main "$@"
