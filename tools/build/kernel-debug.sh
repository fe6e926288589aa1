#!/bin/bash
# SPDX-License-Identifier: MIT
# Build a debug kernel from Debian's linux-source-6.12 (tinyconfig and
# kernel-debug.config) in the cache. Links the result as .build/kernel, with the same
# members as kernel.sh's, and `memory` and `append` for t3-vm.
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/apt-private.sh"

FRAGMENT=$T3_ROOT/tools/build/kernel-debug.config
# A report ends the VM at once and stays on the console. T3_SLOW reaches the tests through init's
# environment and makes their limits longer.
APPEND="panic_on_warn=1 kasan.fault=panic kmemleak=on T3_SLOW=10"
# Every object that a sanitizer follows takes memory.
MEMORY=3G

source_version() {
	apt_private apt-cache show linux-source-6.12 | sed -n 's/^Version: //p' | sort -V | tail -n 1
}

fetch_source() {
	local dir=$1

	deb_fetch linux-source-6.12 "$dir/deb"
	mkdir -p "$dir/source"
	tar -xf "$dir/deb/usr/src/linux-source-6.12.tar.xz" -C "$dir/source" --strip-components=1
	rm -rf "$dir/deb"
}

# Kconfig silently drops a line whose dependencies are not met.
check_config() {
	local line name

	grep '^CONFIG_' "$FRAGMENT" | while read -r line; do
		name=${line%%=*}
		case $line in
		*=n) ! grep -q "^$name=" .config ;;
		*) grep -qxF -- "$line" .config ;;
		esac || die "this kernel's configuration did not take $line"
	done
}

build_kernel() {
	local root=$1 release

	cd "$root/source"
	make -s tinyconfig
	scripts/kconfig/merge_config.sh -m .config "$FRAGMENT"
	make -s olddefconfig
	check_config
	make -j "$T3_JOBS" vmlinux modules
	make -s modules_install INSTALL_MOD_PATH="$root"
	release=$(make -s kernelrelease)
	ln -sfn ../../../source "$root/lib/modules/$release/build"
	mkdir -p "$root/boot"
	cp .config "$root/boot/config-$release"
	strip -g -o "$root/vmlinux" vmlinux
	echo "$release" >"$root/release"
	echo "$APPEND" >"$root/append"
	echo "$MEMORY" >"$root/memory"
}

# A build that was stopped continues: the source stays, and make knows the rest.
build_entry() {
	local dir=$1 version=$2

	if [ ! -e "$dir/.fetched" ]; then
		rm -rf "$dir"
		mkdir -p "$dir"
		stage kernel-debug-fetch "fetched and unpacked linux-source-6.12 $version" fetch_source "$dir"
		touch "$dir/.fetched"
	fi
	stage kernel-debug-build "built a debug kernel (once)" build_kernel "$dir"
	touch "$dir/.complete"
}

new_entry() {
	local version dir

	dir=$(begun_entry kernel-debug "$1")
	if [ -n "$dir" ]; then
		echo "[kernel-debug] goes on with a build that was stopped"
		build_entry "$dir" ""
		return
	fi
	stage kernel-debug-lists "refreshed package lists" apt_setup
	version=$(source_version)
	[ -n "$version" ] || die "the mirror has no linux-source-6.12"
	build_entry "$T3_CACHE/kernel-debug-$version-$1" "$version"
}

main() {
	local key entry

	key=$(cache_key "$(declare -f fetch_source build_kernel)" "$APPEND $MEMORY" "$(cat "$FRAGMENT")")
	lock_cache kernel-debug
	entry=$(newest_entry kernel-debug "$key")
	if [ -z "$entry" ]; then
		new_entry "$key"
		entry=$(newest_entry kernel-debug "$key")
	fi
	link_if_changed "$entry" "$T3_GUEST/kernel" || true
	echo "${entry##*/}" | write_if_changed "$T3_GUEST/kernel.stamp"
}

main
