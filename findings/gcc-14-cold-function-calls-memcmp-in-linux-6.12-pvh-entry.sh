#!/bin/bash
# SPDX-License-Identifier: MIT
# gcc 14.2.0 of Debian 13 with its linux-source-6.12: __builtin_memcmp() of 12 bytes for equality, which
# gcc compares in place, is a call of memcmp() in a cold function, also with -O2. Linux's
# hypervisor_cpuid_base() uses the builtin so that no call is made, as a comment of it says: PVH's
# entry uses it before KASAN has its shadow memory. That entry is __init. From gcc 14 on, which has
# -fmin-function-alignment, __init functions are cold. So the object of the entry calls memcmp(), which
# KASAN instruments: such a kernel, 6.12.117 with KASAN and PVH, ended in a triple fault at its first
# instructions in QEMU 10.0.13. Built by gcc 12.2 of Debian 12, where __init is not cold, it boots.
#
# Seen: one call in the cold function, and none in the same function that is not; and memcmp among
# what arch/x86/platform/pvh/enlighten.o needs.
#
# The source is unpacked below a temporary folder (1.6 GB), by the sources of this machine's apt, which
# must have Debian 13's. Needs gcc 14.2.0, make, bc, bison, flex, libelf-dev and xz-utils, and no root.
set -euo pipefail

VERSION=6.12.117-1

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

expect() {
	echo "$1: $3"
	[ "$2" = "$3" ] || { echo "expected: $2" >&2 && exit 1; }
}

expect "gcc" "14.2.0" "$(gcc -dumpfullversion)"

program() {
	cat <<-END
		$1 int is_it(const unsigned int *words)
		{
			return !__builtin_memcmp("KVMKVMKVM\0\0\0", words, 12);
		}
	END
}

calls() {
	program "$1" | gcc -O2 -x c -S -o - - | grep -Ec '(call|jmp)\s+memcmp' || true
}

expect "calls of memcmp in a function" 0 "$(calls "")"
expect "calls of memcmp in a cold function" 1 "$(calls "__attribute__((cold))")"

cd "$place"
apt-get -qq -o APT::Sandbox::User="$(id -un)" download "linux-source-6.12=$VERSION" >/dev/null
dpkg -x linux-source-6.12_*.deb .
tar -xf usr/src/linux-source-6.12.tar.xz
cd linux-source-6.12
make -s tinyconfig
scripts/config -e 64BIT -e HYPERVISOR_GUEST -e PVH -e KASAN -d CC_OPTIMIZE_FOR_SIZE \
	-e CC_OPTIMIZE_FOR_PERFORMANCE
make -s olddefconfig
make -s -j"$(nproc)" arch/x86/platform/pvh/enlighten.o >/dev/null
expect "Linux" "${VERSION%-*}" "$(make -s kernelversion)"
expect "KASAN and PVH" "CONFIG_KASAN=y CONFIG_PVH=y" \
	"$(grep -E '^CONFIG_(KASAN|PVH)=y' .config | sort | xargs)"
expect "what the entry needs" "memcmp" "$(nm -u arch/x86/platform/pvh/enlighten.o | grep -o memcmp)"
