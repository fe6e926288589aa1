#!/bin/bash
# SPDX-License-Identifier: MIT
# Build t3.ko against the cached kernel, in a mirror of the source tree made of
# symlinks: kbuild writes its products beside the sources it is given.
# Usage: module.sh [sparse]: check with sparse and the compiler's own analyser, in a
# mirror of its own, instead.
set -euo pipefail
. "$(dirname "$0")/common.sh"

MIRRORED=(driver uapi)

mirror_sources() {
	local dest=$1 dir

	# Objects of another kernel cannot be used.
	cmp -s "$T3_GUEST/kernel.stamp" "$dest/kernel.stamp" || rm -rf "$dest"
	mkdir -p "$dest"
	cp "$T3_GUEST/kernel.stamp" "$dest/"
	find "$dest" -xtype l -delete
	link_if_changed "$T3_ROOT/Kbuild" "$dest/Kbuild" || true
	for dir in "${MIRRORED[@]}"; do
		(cd "$T3_ROOT" && find "$dir" -name '*.[chS]' -o -name probe.sh -o -name Kbuild -o -name Makefile) |
			while read -r file; do
				mkdir -p "$dest/${file%/*}"
				link_if_changed "$T3_ROOT/$file" "$dest/$file" || true
			done
	done
}

# CONFIG_DEBUG_INFO_BTF_MODULES would need pahole and vmlinux.
kbuild() {
	local dest=$1 release

	shift
	release=$(cat "$T3_GUEST/kernel/release")
	make -C "$T3_GUEST/kernel/lib/modules/$release/build" M="$dest" -j "$T3_JOBS" \
		"${KERNEL_MAKE[@]}" CONFIG_DEBUG_INFO_BTF_MODULES= "$@" modules
}

build_module() {
	mirror_sources "$T3_GUEST/module"
	kbuild "$T3_GUEST/module" W=1 KCFLAGS=-Werror
	# Kbuild may have nothing to do for a newer file that it does not use.
	touch "$T3_GUEST/module/t3.ko"
}

# The warnings that -Wextra adds to the kernel's choice, except those that its headers cause.
# KUnit tests are compiled there, too, as only the debug kernel runs them. Debian's kernels are without
# KUnit, whose headers leave out a part then.
ANALYSE="-fanalyzer -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers"

# Kbuild runs sparse before the compiler, whose objects nobody uses: they need no debug data. Any line
# of theirs on our files is an error.
sparse_module() {
	local dest=$T3_GUEST/module-sparse report=$T3_BUILD/log/sparse-report.txt

	mirror_sources "$dest"
	kbuild "$dest" C=2 CF=-D__CHECK_ENDIAN__ W=1 KBUILD_MODPOST_WARN=1 \
		KCFLAGS="$ANALYSE -g0 -DT3_KUNIT -DCONFIG_KUNIT=1" 2>&1 | tee "$report"
	! grep -E '^[^ ]*(driver|uapi)/[^ ]*: (warning|error):' "$report"
}

main() {
	[ -e "$T3_ROOT/Kbuild" ] || die "no Kbuild: there is no module to build"
	case ${1:-build} in
	build) stage module "built t3.ko" build_module ;;
	sparse) sparse_module ;;
	*) die "usage: module.sh [sparse]" ;;
	esac
}

main "$@"
