#!/bin/bash
# SPDX-License-Identifier: MIT
# Install the library, its headers and manual, and the tool, below DESTDIR, or take them away.
# The directories come from the environment, as make exports them.
# Usage: install.sh needs | install TOOL VERSION | uninstall TOOL VERSION
set -euo pipefail
. "$(dirname "$0")/common.sh"
shopt -s nullglob

NEEDS="libdrm libpci jansson ncurses"

# An install changes nothing else on the machine. It asks for packages and installs none. This check
# comes first, so that a wrong directory is reported before the build.
needs() {
	local missing="gcc make meson pkg-config libdrm-dev libpci-dev libjansson-dev libncurses-dev"

	check_directories
	# shellcheck disable=SC2086 # one word per package
	command -v "${CC:-cc}" meson ninja pkg-config >/dev/null && pkg-config --exists $NEEDS ||
		die "make install needs a C compiler, Meson, pkg-config, $NEEDS: apt-get install $missing"
}

# These values are written into pkg-config's file and into the tool.
check_directories() {
	local name

	for name in PREFIX BINDIR LIBDIR INCLUDEDIR DATADIR MANDIR; do
		[[ ${!name} =~ ^/[A-Za-z0-9/._+~:@-]*$ ]] ||
			die "$name must be an absolute path without blanks, and is '${!name}'"
	done
	[ -z "${DESTDIR:-}" ] || [[ $DESTDIR = /* ]] || die "DESTDIR must be absolute, and is '$DESTDIR'"
}

# The names that a page documents, from its section NAME.
page_names() {
	sed -n '/^\.Sh NAME/,/^\.Nd/s/^\.Nm \([a-z0-9_]*\).*/\1/p' "$1"
}

# The installed files, a line each: kind or mode, source, target.
list_files() {
	local tool=$1 version=$2 header page name section

	printf '%s\t%s\t%s\n' 755 "$tool" "$BINDIR/t3" \
		644 "$T3_BUILD/libt3.so.0" "$LIBDIR/libt3.so.$version" \
		link "libt3.so.$version" "$LIBDIR/libt3.so.0" \
		link libt3.so.0 "$LIBDIR/libt3.so" \
		644 "$T3_BUILD/libt3-check.so.0" "$LIBDIR/libt3-check.so.0" \
		644 "$T3_BUILD/native/libt3/libt3.a" "$LIBDIR/libt3.a" \
		pc "$T3_ROOT/libt3/libt3.pc.in" "$LIBDIR/pkgconfig/libt3.pc" \
		cmake "$T3_ROOT/libt3/t3-config.cmake.in" "$LIBDIR/cmake/t3/t3-config.cmake" \
		cmake "$T3_ROOT/libt3/t3-config-version.cmake.in" "$LIBDIR/cmake/t3/t3-config-version.cmake" \
		644 "$T3_ROOT/tools/t3/t3.1" "$MANDIR/man1/t3.1"
	for header in "$T3_ROOT"/libt3/t3*.h "$T3_ROOT/uapi/t3_accel.h" "$T3_ROOT/uapi/t3_hw.h"; do
		printf '644\t%s\t%s\n' "$header" "$INCLUDEDIR/t3/${header##*/}"
	done
	for page in "$T3_ROOT"/libt3/man/*.[1-9]; do
		section=${page##*.}
		printf '644\t%s\t%s\n' "$page" "$MANDIR/man$section/${page##*/}"
		for name in $(page_names "$page"); do
			[ "$name.$section" = "${page##*/}" ] ||
				printf 'so\tman%s/%s\t%s\n' "$section" "${page##*/}" "$MANDIR/man$section/$name.$section"
		done
	done
	printf '644\t%s\t%s\n' \
		"$T3_ROOT/tools/t3/t3.bash-completion" "$DATADIR/bash-completion/completions/t3" \
		"$T3_ROOT/tools/t3/t3.fish" "$DATADIR/fish/vendor_completions.d/t3.fish" \
		"$T3_ROOT/tools/t3/_t3" "$DATADIR/zsh/site-functions/_t3"
}

# below_prefix DIR: the form for pkg-config's files, so that the prefix can be changed there.
below_prefix() {
	case $1 in
	"$PREFIX"/*) echo "\${prefix}/${1#"$PREFIX"/}" ;;
	*) echo "$1" ;;
	esac
}

pkgconfig() {
	sed -e "s|@PREFIX@|$PREFIX|; s|@LIBDIR@|$(below_prefix "$LIBDIR")|" \
		-e "s|@INCLUDEDIR@|$(below_prefix "$INCLUDEDIR")|; s|@VERSION@|$2|" "$1"
}

# cmake_package TEMPLATE VERSION: the headers' folder is named from that of the file.
cmake_package() {
	sed -e "s|@INCLUDES@|$(realpath -ms --relative-to="$LIBDIR/cmake/t3" "$INCLUDEDIR/t3")|" \
		-e "s|@VERSION@|$2|" "$1"
}

install_files() {
	local version=$2 kind source target

	list_files "$@" | while IFS=$'\t' read -r kind source target; do
		target=${DESTDIR:-}$target
		mkdir -p "${target%/*}"
		case $kind in
		link) ln -sfn "$source" "$target" ;;
		so) echo ".so $source" | install -m 644 /dev/stdin "$target" ;;
		pc) pkgconfig "$source" "$version" | install -m 644 /dev/stdin "$target" ;;
		cmake) cmake_package "$source" "$version" | install -m 644 /dev/stdin "$target" ;;
		*) install -m "$kind" "$source" "$target" ;;
		esac
	done
	echo "installed below ${DESTDIR:-}$PREFIX; where programs do not find $LIBDIR/libt3.so.0: ldconfig"
}

# Files that only other versions have installed stay.
uninstall_files() {
	local kind source target

	list_files "$@" | while IFS=$'\t' read -r kind source target; do
		rm -f "${DESTDIR:-}$target"
	done
	rmdir --ignore-fail-on-non-empty "${DESTDIR:-}$INCLUDEDIR/t3" "${DESTDIR:-}$LIBDIR/cmake/t3" \
		2>/dev/null || true
}

main() {
	case $#${1:-} in
	1needs) needs ;;
	3install) check_directories && install_files "$2" "$3" ;;
	3uninstall) check_directories && uninstall_files "$2" "$3" ;;
	*) die "usage: install.sh needs | install TOOL VERSION | uninstall TOOL VERSION" ;;
	esac
}

main "$@"
