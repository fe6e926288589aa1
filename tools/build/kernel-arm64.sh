#!/bin/bash
# SPDX-License-Identifier: MIT
# Build the kernel of an arm64 guest, because Debian's has no DRM_ACCEL: see kernel-guest.sh,
# kernel-arm64.config.
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/apt-private.sh"
. "$(dirname "$0")/kernel-source.sh"
. "$(dirname "$0")/kernel-guest.sh"

# All of these are used there.
# shellcheck disable=SC2034
{
	NAME=kernel-arm64
	IMAGE=arch/arm64/boot/Image
	APPEND=
	MEMORY=
}

build_kernel_entry
