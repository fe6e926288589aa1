#!/bin/bash
# SPDX-License-Identifier: MIT
# Pack the last commit of this tree as t3-VERSION.tar.gz. The bytes depend on the commit alone:
# not on the folder, the user, git's settings, the time zone, the umask or the locale.
# Usage: dist.sh FOLDER
set -euo pipefail
. "$(dirname "$0")/../build/common.sh"

export LC_ALL=C TZ=UTC GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
unset GIT_DIR GIT_WORK_TREE GIT_ATTR_SOURCE GZIP

# The settings of the clone itself, which the variables above do not turn off.
in_git() {
	git -C "$T3_ROOT" -c safe.directory="$T3_ROOT" -c tar.umask=0022 -c core.autocrlf=false \
		-c core.eol=lf -c core.attributesFile=/dev/null "$@"
}

main() {
	local folder=${1:-} version

	[ $# -eq 1 ] || die "usage: dist.sh FOLDER"
	command -v git >/dev/null || die "make dist needs git: apt-get install git"
	[ "$(in_git rev-parse --show-toplevel 2>/dev/null)" = "$T3_ROOT" ] ||
		die "make dist packs a commit, and $T3_ROOT is no clone with git's history"
	version=$(in_git show HEAD:tools/packaging/VERSION) ||
		die "the last commit has no tools/packaging/VERSION: make dist packs that commit"
	[ -z "$(in_git status --porcelain)" ] ||
		echo "t3: the tarball has the last commit, and not what was changed since" >&2
	mkdir -p "$folder"
	in_git archive --format=tar --prefix="t3-$version/" HEAD |
		gzip --no-name >"$folder/t3-$version.tar.gz.new"
	mv "$folder/t3-$version.tar.gz.new" "$folder/t3-$version.tar.gz"
	echo "packed $folder/t3-$version.tar.gz"
}

main "$@"
