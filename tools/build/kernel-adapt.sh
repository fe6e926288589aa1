# SPDX-License-Identifier: MIT
# Make a kernel's headers of another Debian release work with this machine's C library and compiler.
# Source it after common.sh and apt-private.sh.
# shellcheck shell=bash

# The programs that the build of a module starts, and the libraries that they need.
TOOLS="modpost* objtool* fixdep genksyms"
LIBRARIES="libc6 libelf1t64 zlib1g libzstd1"

# foreign_tools ROOT: those that this machine's C library is too old for.
foreign_tools() {
	local pattern file

	for pattern in $TOOLS; do
		find "$1"/usr/lib/linux-kbuild-* -type f -name "$pattern" ! -name '*.elf'
	done | while read -r file; do
		! LC_ALL=C ldd "$file" 2>&1 | grep "version .GLIBC_.* not found" >/dev/null || echo "$file"
	done
}

# The libraries are small, and of whichever newer release the lists have.
fetch_libraries() {
	local package

	[ -n "$(foreign_tools "$1")" ] || return 0
	for package in $LIBRARIES; do
		deb_fetch "$package" "$1/libraries"
	done
}

# Such a program is started by the loader that belongs to its C library. All paths are relative, so
# that the entry can be moved.
adapt_tools() {
	local root=$1 file here

	foreign_tools "$root" | while read -r file; do
		here=$(realpath --relative-to="${file%/*}" "$root/libraries/usr")
		mv "$file" "$file.elf"
		cat >"$file" <<-TOOL
			#!/bin/sh
			usr=\${0%/*}/$here
			exec "\$usr/lib64/ld-linux-x86-64.so.2" --library-path "\$usr/lib/x86_64-linux-gnu" \\
				"\$0.elf" "\$@"
		TOOL
		chmod 755 "$file"
	done
}

# What a kernel's configuration says that its compiler can do: the CONFIG_ symbol, an option that
# this takes, and a C text.
COMPILER_CAN=(
	"CC_HAS_MIN_FUNCTION_ALIGNMENT|-fmin-function-alignment=16|"
	"CC_HAS_COUNTED_BY||struct s { int n; int a[] __attribute__((__counted_by__(n))); };"
	"CC_HAS_COUNTED_BY_PTR||struct s { int n; int *a __attribute__((__counted_by__(n))); };"
	"CC_HAS_MULTIDIMENSIONAL_NONSTRING||char a[][4] __attribute__((__nonstring__)) = { };"
)

# compiler_can OPTION TEXT: whether this machine's compiler takes both without a warning.
compiler_can() {
	# shellcheck disable=SC2086 # there may be no option
	echo "$2" | gcc -Werror $1 -c -x c -o /dev/null - 2>/dev/null
}

# adapt_compiler HEADERS: where the compiler that they name is not here, take the machine's own; the
# configuration forgets what that one cannot do.
adapt_compiler() {
	local headers=$1 named line symbol option text

	named=$(sed -n 's/^CC = .*)\([a-z0-9-]*\)$/\1/p' "$headers/.kernelvariables")
	[ -n "$named" ] || return 0
	if [ "$named" != gcc ]; then
		! command -v "$named" >/dev/null || return 0
		sed -i "/^CC = /s/$named\$/gcc/" "$headers/.kernelvariables"
	fi
	for line in "${COMPILER_CAN[@]}"; do
		IFS='|' read -r symbol option text <<<"$line"
		! compiler_can "$option" "$text" || continue
		sed -i "/^CONFIG_$symbol=/d" "$headers/include/config/auto.conf"
		sed -i "/^#define CONFIG_$symbol /d" "$headers/include/generated/autoconf.h"
	done
}
