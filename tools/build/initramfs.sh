#!/bin/bash
# SPDX-License-Identifier: MIT
# Pack the guest's root: busybox, t3.ko with the modules it needs, our programs
# with their libraries, and /init. Usage: initramfs.sh OUTPUT
# It is not compressed: that would cost boot time, and QEMU loads it at once.
set -euo pipefail
. "$(dirname "$0")/common.sh"

# What the driver's own code or its debug variants may ask for by name, what gives a
# device to a program, and another driver to share buffers with.
EXTRA_MODULES="drm drm_buddy drm_exec gpu-sched drm_shmem_helper vfio-pci vfio_iommu_type1 vgem"

find_module() {
	find "$1" -name "$2.ko" -o -name "$2.ko.xz" | head -n 1
}

# modules_needed: the closure of t3.ko's dependencies and the extras, by name.
modules_needed() {
	local dep=$1/modules.dep name

	{
		echo "$EXTRA_MODULES" | tr ' ' '\n'
		[ ! -e "$T3_BUILD/module/t3.ko" ] ||
			modinfo -F depends "$T3_BUILD/module/t3.ko" | tr ',' '\n'
	} | sed '/^$/d; s/[-_]/[-_]/g' | while read -r name; do
		grep -E "/$name\.ko(\.xz)?:" "$dep" | tr -d ':' | tr ' ' '\n'
	done | sort -u
}

add_modules() {
	local root=$1 release from to file

	release=$(cat "$T3_BUILD/kernel/release")
	from=$T3_BUILD/kernel/lib/modules/$release
	to=$root/lib/modules/$release
	mkdir -p "$to"
	cp "$from"/modules.{order,builtin,builtin.modinfo} "$to/"
	modules_needed "$from" | while read -r file; do
		[ -n "$file" ] || continue
		case $file in
		*.xz) xz -dc "$from/$file" >"$to/$(basename "$file" .xz)" ;;
		*) cp "$from/$file" "$to/" ;;
		esac
	done
	if [ -e "$T3_BUILD/module/t3.ko" ]; then
		strip --strip-debug -o "$to/t3.ko" "$T3_BUILD/module/t3.ko"
	fi
	depmod -b "$root" "$release"
}

# Our shared library is found in .build, everything else where ldd says.
add_libraries() {
	local root=$1 lib

	LD_LIBRARY_PATH=$T3_BUILD ldd "${@:2}" | grep -o '/[^ ]*\.so[^ ]*' | grep -v ':$' | sort -u |
		while read -r lib; do
			case $lib in
			"$T3_BUILD"/*) cp -L "$lib" "$root/usr/lib/" ;;
			*) mkdir -p "$root${lib%/*}" && cp -L "$lib" "$root$lib" ;;
			esac
		done
}

add_programs() {
	local root=$1 program test programs=()

	mkdir -p "$root/usr/bin" "$root/usr/lib/t3/tests"
	for program in "$T3_BUILD/t3" "$T3_BUILD/t3-conformance"; do
		[ -e "$program" ] || continue
		strip -g -o "$root/usr/bin/${program##*/}" "$program"
		programs+=("$program")
	done
	for test in "$T3_BUILD"/guest/test_* "$T3_BUILD"/guest/removal; do
		[ -x "$test" ] && [ -f "$test" ] || continue
		case $test in *.[od]) continue ;; esac
		strip -g -o "$root/usr/lib/t3/tests/${test##*/}" "$test"
		programs+=("$test")
	done
	[ ${#programs[@]} -eq 0 ] || add_libraries "$root" "${programs[@]}"
}

# udev with our rule alone, for the tests to start.
add_udev() {
	local root=$1 udevadm

	udevadm=$(command -v udevadm)
	mkdir -p "$root"/usr/lib/{systemd,udev/rules.d}
	cp "$udevadm" "$root/usr/bin/udevadm"
	ln -s ../../bin/udevadm "$root/usr/lib/systemd/systemd-udevd"
	cp "$T3_ROOT/driver/60-t3.rules" "$root/usr/lib/udev/rules.d/"
	add_libraries "$root" "$udevadm"
}

# The 32-bit clients are static. They run by the kernel's leave.
add_programs32() {
	local root=$1 test

	for test in "$T3_BUILD"/guest32/test_*; do
		[ -x "$test" ] || continue
		grep -q '^CONFIG_IA32_EMULATION=y' "$T3_BUILD"/kernel/boot/config-* ||
			die "the guest's kernel runs no 32-bit program (CONFIG_IA32_EMULATION)"
		strip -g -o "$root/usr/lib/t3/tests/${test##*/}" "$test"
	done
}

add_busybox() {
	local root=$1 applet busybox

	busybox=$(command -v busybox)
	mkdir -p "$root"/{bin,sbin,usr/bin,usr/sbin,etc,proc,sys,dev,tmp,run,root}
	cp "$busybox" "$root/bin/busybox"
	"$busybox" --list-full | while read -r applet; do
		[ -e "$root/$applet" ] || ln -s /bin/busybox "$root/$applet"
	done
}

add_accounts() {
	local etc=$1/etc

	cat >"$etc/passwd" <<-'PASSWD'
		root:x:0:0:root:/root:/bin/sh
		user:x:1000:1000:unprivileged, in group render:/tmp:/bin/sh
		nobody:x:65534:65534:unprivileged:/tmp:/bin/sh
	PASSWD
	cat >"$etc/group" <<-'GROUP'
		root:x:0:
		tty:x:5:
		render:x:105:user
		user:x:1000:
		nogroup:x:65534:
	GROUP
	echo t3-guest >"$etc/hostname"
	echo 'LD_LIBRARY_PATH is not needed: libraries are in /usr/lib' >"$etc/motd"
}

pack() {
	local output=$1 root

	root=$(mktemp -d "$T3_BUILD/initramfs.XXXXXX")
	chmod 755 "$root"
	# Debian merges /usr; the loader's path must work all the same.
	mkdir -p "$root"/usr/{bin,sbin,lib,lib64}
	ln -s usr/bin "$root/bin"
	ln -s usr/sbin "$root/sbin"
	ln -s usr/lib "$root/lib"
	ln -s usr/lib64 "$root/lib64"
	add_busybox "$root"
	add_modules "$root"
	add_programs "$root"
	add_programs32 "$root"
	add_udev "$root"
	add_accounts "$root"
	install -m 755 "$T3_ROOT/tools/build/guest-init" "$root/init"
	install -m 755 "$T3_ROOT/tools/build/guest-batch" "$root/usr/bin/guest-batch"
	(cd "$root" && find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0) >"$output.new"
	mv "$output.new" "$output"
	rm -rf "$root"
}

main() {
	[ $# -eq 1 ] || die "usage: initramfs.sh OUTPUT"
	stage initramfs "packed ${1##*/}" pack "$1"
}

main "$@"
