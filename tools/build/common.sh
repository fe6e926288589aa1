# SPDX-License-Identifier: MIT
# Shared by the build scripts (source it after `set -euo pipefail`).
# Needs nothing but bash and coreutils: it runs before any package is installed.
# shellcheck shell=bash

# The caller's environment decides nothing here: not how tools sort, spell and complain, who may read
# what is made, what `cd` prints, or where and for whom a kernel's makefiles build.
export LC_ALL=C.UTF-8
umask 022
unset LANGUAGE CDPATH GREP_OPTIONS TAR_OPTIONS NINJA_STATUS POSIXLY_CORRECT PYTHONHOME \
	ARCH SUBARCH CROSS_COMPILE LLVM LLVM_IAS KBUILD_OUTPUT KBUILD_EXTMOD KBUILD_EXTRA_SYMBOLS \
	KBUILD_VERBOSE KCONFIG_CONFIG KCFLAGS KCPPFLAGS KAFLAGS INSTALL_MOD_PATH LOCALVERSION

T3_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
T3_BUILD=${T3_BUILD:-$T3_ROOT/.build}
T3_CACHE=${T3_CACHE:-$T3_ROOT/.cache}
T3_JOBS=${T3_JOBS:-2}
# What depends on the guest's kernel: its link, the module, the images.
T3_GUEST=${T3_GUEST:-$T3_BUILD}
# The guest's processor, and what builds programs and kernels for it on this machine.
T3_ARCH=${T3_ARCH:-amd64}
case $T3_ARCH in
arm64)
	CROSS=aarch64-linux-gnu-
	KERNEL_MAKE=(ARCH=arm64 "CROSS_COMPILE=$CROSS")
	;;
*)
	CROSS=
	KERNEL_MAKE=()
	;;
esac
export CROSS KERNEL_MAKE

die() {
	echo "t3: $*" >&2
	exit 1
}

# usable_folder VARIABLE DIR: check that it exists and is writable, or say why not.
usable_folder() {
	local error probe=$2/.probe.$$

	error=$({ mkdir -p "$2" && echo probe >"$probe" && rm "$probe"; } 2>&1) && return
	rm -f "$probe"
	[ ! -e "$2" ] || error+=", it belongs to $(stat -c %U "$2"), you are $(id -un)"
	die "cannot write to $2 (${error##*: }): set $1 to a folder that you can write to," \
		"on a disk with space left, or mend this one"
}

usable_folder T3_CACHE "$T3_CACHE"
usable_folder T3_BUILD "$T3_BUILD/log"
T3_CACHE=$(cd "$T3_CACHE" && pwd -P)
T3_BUILD=$(cd "$T3_BUILD" && pwd -P)
mkdir -p "$T3_GUEST"
T3_GUEST=$(cd "$T3_GUEST" && pwd -P)

# Debian has depmod and modprobe in a folder that is not in an ordinary user's PATH.
PATH=$PATH:/usr/sbin:/sbin

# The makes below are independent of the make that calls this script.
unset MAKEFLAGS MFLAGS MAKELEVEL

# The inputs of every cached build. No path is among them, so a finished entry may be moved or
# copied.
cache_key() {
	{
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

# begun_entry PREFIX KEY: an entry that has its source, packed or unpacked, but no finished build.
begun_entry() {
	local dir

	for dir in "$T3_CACHE/$1"-*-"$2"; do
		[ -e "$dir/.fetched" ] || [ -e "$dir/.downloaded" ] || continue
		[ -e "$dir/.complete" ] || echo "$dir"
	done | sort -V | tail -n 1
}

# take_lock FD FILE WHO: hold the lock until FD is closed everywhere. FILE names its holder for
# those that wait. A `make clean` may remove FILE during the wait: then lock the new one.
take_lock() {
	while true; do
		eval "exec $1>>\"\$2\""
		flock -n "$1" || await_lock "$@"
		[ ! "$2" -ef "/proc/$BASHPID/fd/$1" ] || break
	done
	echo "$3 (process $$)" >"$2"
}

await_lock() {
	echo "t3: $3 (process $$) waits for $(cat "$2" 2>/dev/null), which holds $2" >&2
	flock -w 3600 "$1" ||
		die "$3 has waited for an hour for $(cat "$2" 2>/dev/null), which holds $2"
}

# lock_cache NAME: allow one writer at a time, also when several clones share the cache.
lock_cache() {
	take_lock 9 "$T3_CACHE/.lock-$1" "the build of $1 for $T3_ROOT"
}

unlock_cache() {
	exec 9>&-
}

# What a tool's message means here, and what to do: (pattern of the message, our sentence).
EXPLAINED=(
	"No space left on device|the disk is full: free some of it, or set T3_CACHE and T3_BUILD to folders on another one (QEMU and the kernel take 3 GB there)"
	"Read-only file system|the file system is read-only: set T3_CACHE and T3_BUILD to folders that can be written to"
	"Permission denied|the folder is not yours: set T3_CACHE and T3_BUILD to folders of yours, or give them back to yourself with chown"
	"Could not get lock|another apt or dpkg is running: wait for its end, then make again"
	"Temporary failure resolving|the Debian mirror cannot be reached: check the network and apt's proxy, then make again; what is there is kept"
	"Could not connect to|the Debian mirror cannot be reached: check the network and apt's proxy, then make again; what is there is kept"
	"404  Not Found|the mirror's package list names a file that the mirror does not have: make again later, or ask for another version"
	"Unable to locate package|apt does not know a package: run apt-get update, and see that its sources have Debian's main section"
)

explain_failure() {
	local line

	for line in "${EXPLAINED[@]}"; do
		if grep -qF -- "${line%%|*}" "$1" 2>/dev/null; then
			echo "t3: ${line#*|}"
			return
		fi
	done
}

# progress LOG SECONDS: show how far a stage is after that time, by its log. ninja counts its steps.
# dpkg goes twice over the packages that apt has counted.
progress() {
	awk -v seconds="$2" '
		match($0, /^\[[0-9]+\/[0-9]+\]/) { split(substr($0, 2, RLENGTH - 2), step, "/") }
		/ newly installed, / { step[2] = 2 * ($1 + $3) }
		/^(Unpacking|Setting up) / && step[2] { step[1]++ }
		/^  CC / { files++ }
		END {
			if (step[1] && step[2]) {
				printf "%d of %d steps", step[1], step[2]
				if (step[1] * 20 > step[2])
					printf ", about %d s left", seconds * (step[2] - step[1]) / step[1]
			} else
				printf "%s%d s so far", files ? files " files compiled, " : "", seconds
		}' "$1"
}

# say_progress NAME LOG: do so each PROGRESS_SECONDS, until it is killed or its parent has ended. It
# waits without a child process, which would outlive it.
PROGRESS_SECONDS=8
say_progress() {
	local pause ticks=0

	exec {pause}<> <(:)
	while kill -0 $$ 2>/dev/null; do
		read -r -t 1 -u "$pause" _ || true
		ticks=$((ticks + 1))
		[ $((ticks % PROGRESS_SECONDS)) -ne 0 ] || echo "[$1] $(progress "$2" "$ticks")"
	done
}

# stage NAME WHAT COMMAND...: run COMMAND with its output in a log. Show its progress and its time,
# and the end of the log when it fails.
stage() {
	local name=$1 what=$2 log=$T3_BUILD/log/$1.log start status tenths teller

	shift 2
	start=${EPOCHREALTIME//[.,]/}
	: >"$log"
	say_progress "$name" "$log" 7>&- 8>&- 9>&- &
	teller=$!
	# Not `COMMAND || status=$?`, because bash would ignore set -e inside COMMAND.
	set +e
	(set -e && "$@") >"$log" 2>&1 9>&-
	status=$?
	kill "$teller"
	wait "$teller" 2>/dev/null
	set -e
	if [ "$status" -ne 0 ]; then
		echo "[$name] $what: FAILED with status $status; end of $log:" >&2
		tail -n 25 "$log" >&2 || true
		explain_failure "$log" >&2
		exit "$status"
	fi
	tenths=$(((${EPOCHREALTIME//[.,]/} - start) / 100000))
	echo "[$name] $what ($((tenths / 10)).$((tenths % 10)) s)"
}

# write_if_changed FILE: write stdin to FILE. An equal file keeps its time stamp.
write_if_changed() {
	local tmp=$1.tmp.$$

	cat >"$tmp"
	if cmp -s "$tmp" "$1"; then
		rm -f "$tmp"
	else
		mv -f "$tmp" "$1"
	fi
}

# link_if_changed TARGET LINK: return 0 when the link is new or has a new target.
link_if_changed() {
	[ "$(readlink "$2" 2>/dev/null)" != "$1" ] || return 1
	ln -sfn "$1" "$2"
}
