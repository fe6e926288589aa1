#!/bin/bash
# SPDX-License-Identifier: MIT
# Fetch, configure and build QEMU with our device in it; link the build
# directory as .build/qemu. Usage: qemu.sh [qtest]: also build the qtest program.
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/apt-private.sh"
. "$(dirname "$0")/qemu-overlay.sh"

CONFIGURE=(
	--target-list=x86_64-softmmu --without-default-features
	--enable-tcg --enable-kvm --enable-fdt=system --enable-pixman
	--enable-attr --enable-virtfs --enable-trace-backends=log
	--disable-docs --disable-download --disable-install-blobs --disable-debug-info
)

# Newest 10.0.x in the source lists.
qemu_version() {
	apt_private apt-cache showsrc qemu | sed -n 's/^Version: //p' | grep -E '^([0-9]+:)?10\.0\.' |
		sort -V | tail -n 1
}

fetch_source() {
	local version=$1 dest=$2 tmp

	tmp=$(mktemp -d "$T3_CACHE/fetch.XXXXXX")
	(cd "$tmp" && apt_private apt-get -qq source --download-only "qemu=$version")
	# apt has verified the files against the signed index.
	dpkg-source --no-check -x "$tmp"/*.dsc "$dest"
	rm -rf "$tmp"
	qemu_hooks "$dest"
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

# The first build has hooks but none of our sources, so that a mistake in those
# cannot cost the cache entry.
configure_qemu() {
	local dir=$1

	make_meson_venv "$dir"
	mkdir -p "$dir/build" "$dir/nothing"
	T3_DEVICE_ROOT=$dir/nothing
	qemu_overlay "$dir/source" "$dir/build"
	cd "$dir/build" && ../source/configure --python="$dir/venv/bin/python3" "${CONFIGURE[@]}"
}

ninja_targets() {
	echo qemu-system-x86_64
	if [ "$1" = qtest ] && compgen -G "$T3_DEVICE_ROOT/tests/qtest/*.c" >/dev/null; then
		echo tests/qtest/t3/t3-qtest
	fi
}

build_qemu() {
	local targets

	mapfile -t targets < <(ninja_targets "$2")
	ninja -C "$1/build" -j "$T3_JOBS" "${targets[@]}"
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

	[ -e "$roms/config.mak" ] || optionrom_config "$1" >"$roms/config.mak"
	make -C "$roms" -j "$T3_JOBS"
	mkdir -p "$share"
	ln -sf /usr/share/seabios/*.bin "$1"/build/pc-bios/optionrom/*.bin "$share/"
}

new_entry() {
	local version dir

	stage qemu-lists "refreshed package lists" apt_setup
	version=$(qemu_version)
	[ -n "$version" ] || die "the mirror has no QEMU 10.0 source package"
	dir=$T3_CACHE/qemu-${version//[:~]/_}-$1
	rm -rf "$dir"
	mkdir -p "$dir"
	stage qemu-fetch "fetched and unpacked QEMU $version" fetch_source "$version" "$dir/source"
	stage qemu-configure "configured" configure_qemu "$dir"
	stage qemu-build "built QEMU (once, this takes minutes)" build_qemu "$dir" none
	stage qemu-firmware "added firmware" add_firmware "$dir"
	touch "$dir/.complete"
}

main() {
	local key entry

	key=$(cache_key "${CONFIGURE[*]}" "$(declare -f qapi_fabric qemu_hooks configure_qemu optionrom_config add_firmware)")
	lock_cache qemu
	entry=$(newest_entry qemu "$key")
	if [ -z "$entry" ]; then
		new_entry "$key"
		entry=$(newest_entry qemu "$key")
	fi
	qemu_overlay "$entry/source" "$entry/build"
	stage qemu "QEMU with the T3 device up to date" build_qemu "$entry" "${1:-none}"
	link_if_changed "$entry/build" "$T3_BUILD/qemu" || true
}

main "$@"
