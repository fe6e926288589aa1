#!/bin/bash
# SPDX-License-Identifier: MIT
# Build the debug kernel of `make check-debug`: see kernel-guest.sh, kernel-debug.config.
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/apt-private.sh"
. "$(dirname "$0")/kernel-source.sh"
. "$(dirname "$0")/kernel-guest.sh"

# PVH's entry calls memcmp() before KASAN has its memory where gcc 14 or later has compiled it.
KERNEL_MAKE+=(KASAN_SANITIZE_string.o=n)

# All of these are used there.
# shellcheck disable=SC2034
{
	NAME=kernel-debug
	IMAGE=vmlinux
	# A report ends the VM at once and stays on the console. T3_SLOW reaches the tests through
	# init's environment and makes their limits longer.
	APPEND="panic_on_warn=1 kasan.fault=panic kmemleak=on T3_SLOW=10"
	# Every object that a sanitizer follows takes memory.
	MEMORY=3G
}

build_kernel_entry
