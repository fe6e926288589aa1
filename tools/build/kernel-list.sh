# SPDX-License-Identifier: MIT
# Which kernels Debian offers, in all of its suites, and which of them a selector means.
# Source it after common.sh and apt-private.sh.
# shellcheck shell=bash

# A selector is the beginning of a version, or the newest of all.
SELECTOR='^([0-9]+(\.[0-9]+){0,2}(\+[a-z0-9.]+)?|newest)$'
# The exit status where there is no such kernel, so that a test may be skipped.
export NONE=77

# own_suffix: what this machine's release adds to a kernel's version, as +deb12.
own_suffix() {
	echo "+deb$(. /etc/os-release && echo "${VERSION_ID:-}")"
}

# order_kernels: releases on stdin, from the oldest to the newest. Of one version this machine's own
# comes last, and before it those for older releases, whose tools need less of the machine.
order_kernels() {
	awk -v own="$(own_suffix)" '{
		version = $1
		sub(/[+-].*/, "", version)
		print version, (index($1, own "-") ? 1 : 0), $1
	}' | sort -k1,1V -k2,2n -k3,3Vr | cut -d ' ' -f 3
}

# supported_kernels: those on stdin that the driver is for.
supported_kernels() {
	awk -F '[.+-]' '$1 > 6 || ($1 == 6 && $2 >= 12)'
}

# selected_kernels SELECTOR: those on stdin that it means.
selected_kernels() {
	awk -v wanted="$1" '
		wanted == "newest" { print; next }
		index($0, wanted) == 1 && substr($0, length(wanted) + 1) ~ /^([.+-]|$)/'
}

# kernel_names: the releases whose image and headers are both among the package names on stdin.
kernel_names() {
	sed -nE 's/^linux-(image|headers)-([0-9]+\.[0-9]+\.[0-9]+(\+[a-z0-9.]+)?-amd64)$/\2 \1/p' |
		sort -u | cut -d ' ' -f 1 | uniq -d
}

# offered_kernels: what the package lists have, ordered. Call apt_all_suites before.
offered_kernels() {
	apt_private apt-cache pkgnames linux- | kernel_names | supported_kernels | order_kernels
}

# offered_kernel SELECTOR: the newest that it means, or nothing.
offered_kernel() {
	offered_kernels | selected_kernels "$1" | tail -n 1
}

check_selector() {
	[[ $1 =~ $SELECTOR ]] || die "KERNEL must be the beginning of a version, as in 7.3 or" \
		"6.12.117, or newest, debian or debug; got '$1'"
}

# cached_kernels KEY: "RELEASE FOLDER" of each complete entry, whoever has fetched it.
cached_kernels() {
	local dir release

	for dir in "$T3_CACHE"/kernel-[0-9]*-"$1" "$T3_CACHE"/linux-[0-9]*-"$1"; do
		[ -e "$dir/.complete" ] || continue
		release=$(cat "$dir/release")
		echo "$release $dir"
	done
}

# cached_kernel SELECTOR KEY: the folder of the newest that it means, or nothing.
cached_kernel() {
	local release

	release=$(cached_kernels "$2" | cut -d ' ' -f 1 | selected_kernels "$1" | sort -u |
		order_kernels | tail -n 1)
	cached_kernels "$2" | awk -v release="$release" '$1 == release && !found++ { print $2 }'
}
