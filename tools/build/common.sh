# SPDX-License-Identifier: MIT
# Shared by the build scripts (source it after `set -euo pipefail`).
# Needs nothing but bash and coreutils: it runs before any package is installed.
# shellcheck shell=bash

T3_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
T3_BUILD=${T3_BUILD:-$T3_ROOT/.build}
T3_CACHE=${T3_CACHE:-$T3_ROOT/.cache}
T3_JOBS=${T3_JOBS:-2}
mkdir -p "$T3_CACHE" "$T3_BUILD/log"
T3_CACHE=$(cd "$T3_CACHE" && pwd -P)
T3_BUILD=$(cd "$T3_BUILD" && pwd -P)

# Debian keeps depmod and modprobe where an ordinary user's PATH does not look.
PATH=$PATH:/usr/sbin:/sbin

# The makes below are not part of the one that calls us.
unset MAKEFLAGS MFLAGS MAKELEVEL

die() {
	echo "t3: $*" >&2
	exit 1
}

# The part of the environment that every cached build depends on. The path is in
# it because build trees hold absolute paths: a moved cache must not match.
cache_key() {
	{
		echo "$T3_CACHE"
		uname -m
		(. /etc/os-release && echo "$ID ${VERSION_ID:-$VERSION_CODENAME}")
		printf '%s\n' "$@"
	} | sha256sum | cut -c1-10
}

# newest_entry PREFIX KEY: the newest complete cache entry PREFIX-<version>-KEY,
# or nothing. Only entries whose stamp was written, after success, count.
newest_entry() {
	local dir

	for dir in "$T3_CACHE/$1"-*-"$2"; do
		[ ! -e "$dir/.complete" ] || echo "$dir"
	done | sort -V | tail -n 1
}

# lock_cache NAME: one writer at a time, also when several clones share the cache.
lock_cache() {
	exec 9>"$T3_CACHE/.lock-$1"
	flock -w 3600 9 || die "another build has held $T3_CACHE/.lock-$1 for an hour"
}

# stage NAME WHAT COMMAND...: run COMMAND with its output in a log, say how long
# it took, and show the end of the log when it fails.
stage() {
	local name=$1 what=$2 log=$T3_BUILD/log/$1.log start status tenths

	shift 2
	start=${EPOCHREALTIME//[.,]/}
	# Not `COMMAND || status=$?`: bash would ignore set -e inside COMMAND.
	set +e
	(set -e && "$@") >"$log" 2>&1 9>&-
	status=$?
	set -e
	if [ "$status" -ne 0 ]; then
		echo "[$name] $what: FAILED with status $status; end of $log:" >&2
		tail -n 25 "$log" >&2
		exit "$status"
	fi
	tenths=$(((${EPOCHREALTIME//[.,]/} - start) / 100000))
	echo "[$name] $what ($((tenths / 10)).$((tenths % 10)) s)"
}

# write_if_changed FILE: stdin to FILE, leaving its time stamp alone when equal.
write_if_changed() {
	local tmp=$1.tmp.$$

	cat >"$tmp"
	if cmp -s "$tmp" "$1"; then
		rm -f "$tmp"
	else
		mv -f "$tmp" "$1"
	fi
}

# link_if_changed TARGET LINK: returns 0 when the link was made or retargeted.
link_if_changed() {
	[ "$(readlink "$2" 2>/dev/null)" != "$1" ] || return 1
	ln -sfn "$1" "$2"
}
