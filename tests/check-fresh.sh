#!/bin/bash
# SPDX-License-Identifier: MIT
# Run README's first command and all tests on a Debian machine that has nothing but git and make: a
# release that debootstrap installs now, a clone of HEAD, an empty cache.
# Usage: RELEASE=trixie check-fresh.sh
# The machine's /dev is no part of it: a test that breaks /dev breaks its own. All mounts and processes
# are in namespaces that end with the command in them, however that ends: nothing has to be undone.
set -euo pipefail

case ${RELEASE-} in
bookworm | trixie) ;;
*)
	echo "t3: RELEASE must be bookworm or trixie (Debian 12 or 13); got '${RELEASE-}'" >&2
	exit 2
	;;
esac

. "$(dirname "${BASH_SOURCE[0]}")/../tools/build/common.sh"
. "$T3_ROOT/tools/build/apt-private.sh"

PLACE=$T3_BUILD/fresh/$RELEASE
ROOT=$PLACE/root
LOG=$T3_BUILD/log/fresh-$RELEASE.log

# The first process there, `enter ROOT COMMAND`.
# shellcheck disable=SC2016 # that shell expands it
ENTER='
set -e
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t tmpfs -o mode=755,size=1m dev dev
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,mode=620,ptmxmode=666,gid=5 devpts dev/pts
mount -t tmpfs -o mode=1777 shm dev/shm
while read -r name major minor; do
	mknod -m 666 "dev/$name" c "$major" "$minor"
done <<-NODES
	null 1 3
	zero 1 5
	full 1 7
	random 1 8
	urandom 1 9
	tty 5 0
NODES
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
for stream in stdin:0 stdout:1 stderr:2; do
	ln -s "fd/${stream#*:}" "dev/${stream%:*}"
done
pivot_root . mnt
umount -l /mnt
cd /root
env -i HOME=/root TERM=dumb LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
	PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -c "$2" </dev/null
'

# in_namespaces COMMAND...: all that it starts ends with it, and with this shell. unshare lets no signal
# but SIGKILL end it.
in_namespaces() {
	local status=0

	set -m # or the command would ignore SIGINT, as what runs beside a script does
	setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc "$@" &
	set +m
	wait $! || status=$?
	return $status
}

# inside COMMAND: run it as root of the fresh machine.
inside() {
	in_namespaces bash -c "$ENTER" enter "$ROOT" "$1"
}

install_tools() {
	"$T3_ROOT/tools/build/deps.sh" fresh
}

# How the machine reaches its mirror, such as by a proxy, the fresh one has to know.
install_release() {
	local mirror file

	mirror=$(debian_mirror "$(. /etc/os-release && echo "$VERSION_CODENAME")")
	in_namespaces debootstrap --variant=minbase --include=git,make,ca-certificates "$RELEASE" \
		"$ROOT" "$mirror"
	cp /etc/resolv.conf "$ROOT/etc/resolv.conf"
	for file in /etc/apt/apt.conf.d/*; do
		! grep -q '^[[:space:]]*Acquire\b' "$file" || cp "$file" "$ROOT/etc/apt/apt.conf.d/"
	done
}

# The tree may be another user's, whose repository root's git refuses otherwise.
tree_git() {
	git -c safe.directory="$T3_ROOT" -C "$T3_ROOT" "$@"
}

# By a bundle, which git takes from any user.
clone_head() {
	tree_git bundle create "$ROOT/root/t3.bundle" HEAD
	inside "git -c advice.detachedHead=false -c init.defaultBranch=main clone -q t3.bundle t3"
}

remove_machine() {
	[ ! -e "$PLACE" ] || rm -rf --one-file-system "$PLACE"
}

# Not `wait` for all: a tee of main() ends with this shell.
end() {
	local status=$? begun

	trap - EXIT
	mapfile -t begun < <(jobs -p)
	[ ${#begun[@]} -eq 0 ] || { kill -KILL "${begun[@]}" && wait "${begun[@]}"; } 2>/dev/null || true
	if [ "$status" -eq 1 ] && [ -e "$ROOT/root/t3" ]; then
		echo "t3: the fresh $RELEASE stays in $ROOT until the next check-fresh; its tree is root/t3 there" >&2
	else
		remove_machine
	fi
	exit "$status"
}

main() {
	local goal

	[ "$(id -u)" -eq 0 ] || die "check-fresh installs a Debian, and needs root for that"
	mkdir -p "$PLACE"
	exec 8>"$T3_BUILD/fresh/.lock-$RELEASE"
	flock -n 8 || die "another check-fresh of $RELEASE runs in $PLACE"
	install_tools
	tree_git diff --quiet HEAD || echo "t3: check-fresh tests HEAD, without what is not committed" >&2
	remove_machine
	mkdir -p "$ROOT"
	trap end EXIT
	trap 'exit 130' HUP INT TERM
	stage fresh "installed a fresh $RELEASE" install_release
	stage fresh-clone "cloned $(tree_git rev-parse --short HEAD)" clone_head
	: >"$LOG"
	for goal in run check-all; do
		inside "cd t3 && make $goal" > >(tee -a "$LOG") 2>&1 8>&- ||
			die "make $goal failed on a fresh $RELEASE: see $LOG"
	done
}

# The functions are tested apart.
[ "${BASH_SOURCE[0]}" != "$0" ] || main
