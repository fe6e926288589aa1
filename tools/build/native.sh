#!/bin/bash
# SPDX-License-Identifier: MIT
# Build programs in C by Meson and ninja, in a build folder of T3_BUILD. It is configured when it is
# new, when it has moved, and when options, sources or packages have changed: what is compiled stays.
# Usage: native.sh FOLDER TARGET..., where FOLDER is native, sanitized, threads, fuzzing or installed,
# or native.sh PRODUCT, such as unit/test_core_link.
# T3_DIRECTORIES: for installed, Meson's options of where things are installed. V=1 shows whole
# commands.
set -euo pipefail
. "$(dirname "$0")/common.sh"

# The links in T3_BUILD by which users and scripts know the products: LINK, and FOLDER and file that
# it leads to.
LINKS="t3 native tools/t3/t3
t3-sanitized sanitized tools/t3/t3
libt3.so native libt3/libt3.so
libt3.so.0 native libt3/libt3.so.0
libt3-check.so.0 native libt3/libt3-check.so.0
mca_coll_t3.so native libt3/mca_coll_t3.so
t3-conformance native tests/conformance/t3-conformance
conformance-native native tests/conformance/conformance-native
conformance-native-sanitized sanitized tests/conformance/conformance-native
fuzz-seeds native tests/fuzz/fuzz-seeds
unit native tests/unit
unit-sanitized sanitized tests/unit
unit-threads threads tests/unit
spec sanitized tests/spec
coverage native tests/coverage
traced native tests/model
fuzzers fuzzing tests/fuzz
guest native tests/guest
guest32 native tests/guest32
examples native tests/examples
mpi native tests/mpi"

# Sets `options`, and the compiler.
choose_folder() {
	# A library may leave names to the sanitizer in the program.
	local checked="-Db_lundef=false -Doptimization=1"

	case $1 in
	native) options="" ;;
	sanitized) options="$checked -Db_sanitize=address,undefined" ;;
	threads) options="$checked -Db_sanitize=thread" ;;
	fuzzing)
		options="-Db_lundef=false -Db_sanitize=address,undefined -Dfuzzers=true"
		export CC=${FUZZ_CC:-clang}
		;;
	installed) options="-Dtests=false ${T3_DIRECTORIES:?}" ;;
	*) die "native.sh: no folder '$1'; there are native, sanitized, threads, fuzzing and installed" ;;
	esac
	if [ -n "$CROSS" ]; then
		options+=" --cross-file $T3_BUILD/$1.sysroot --cross-file $T3_ROOT/tools/build/arm64.ini"
		printf "[constants]\nsysroot = '%s'\n" "$T3_BUILD/sysroot" | write_if_changed "$T3_BUILD/$1.sysroot"
	fi
}

# All that Meson takes into account when it configures, except its own files.
configuration() {
	echo "$T3_ROOT $T3_BUILD $options"
	printf '%s=%s\n' CC "${CC:-}" CFLAGS "${CFLAGS:-}" CPPFLAGS "${CPPFLAGS:-}" LDFLAGS "${LDFLAGS:-}"
	cat "$T3_BUILD/openmpi.flags" 2>/dev/null || true
	pkg-config --modversion libdrm libpci jansson ncurses cmocka ompi-c 2>&1 || true
	cd "$T3_ROOT"
	find libt3 tools/t3 qemu-device/core tests -name '*.c' | sort
	grep -H '^\.Nm' libt3/man/*
	ls libt3/t3*.h
}

# Objects stay: ninja knows by its log with which command each was made.
configure() {
	local dir=$1

	rm -rf "$dir/.configuration" "$dir/build.ninja" "$dir/meson-private" "$dir/meson-info"
	# shellcheck disable=SC2086 # one word per option
	meson setup $options "$dir" "$T3_ROOT"
}

configure_if_changed() {
	local dir=$1 wanted

	wanted=$(configuration)
	if [ ! -e "$dir/build.ninja" ] || [ "$wanted" != "$(cat "$dir/.configuration" 2>/dev/null)" ]; then
		stage "meson-${dir##*/}" "configured ${dir##*/}" configure "$dir"
		echo "$wanted" >"$dir/.configuration"
	fi
}

# Only to what is there: a link that leads nowhere ends Open MPI's search for components
# (findings/openmpi-component-path-stops-at-a-dangling-link.sh). Where an older build had a folder
# or a file there is a link now.
publish() {
	local link folder file

	while read -r link folder file; do
		[ "$folder" = "$1" ] || continue
		link=$T3_BUILD/$link
		[ ! "$link" -ef "$T3_BUILD/$folder/$file" ] || continue
		if [ -e "$link" ] || [ -L "$link" ]; then
			rm -rf "$link"
		fi
		[ ! -e "$T3_BUILD/$folder/$file" ] || ln -s "$folder/$file" "$link"
	done <<<"$LINKS"
}

# FOLDER and target of a product.
find_product() {
	local link folder file

	while read -r link folder file; do
		[ "$link" != "${1%%/*}" ] || echo "$folder $file${1#"$link"}"
	done <<<"$LINKS"
}

main() {
	local product=$1 folder options

	# shellcheck disable=SC2046 # two words
	[ $# -gt 1 ] || set -- $(find_product "$product")
	[ $# -gt 1 ] || die "no rule makes $product"
	folder=$1
	shift
	choose_folder "$folder"
	# Goals of one make come here at the same time, and ninja has no lock.
	exec 6>"$T3_BUILD/.lock-$folder"
	flock 6
	configure_if_changed "$T3_BUILD/$folder"
	ninja -C "$T3_BUILD/$folder" -j "$T3_JOBS" ${V:+-v} "$@" |
		sed -u -e '/^ninja: Entering/d' -e '/^ninja: no work to do/d'
	publish "$folder"
}

main "$@"
