#!/bin/bash
# SPDX-License-Identifier: MIT
# Install the packages of packages.txt that are missing; do nothing otherwise.
# Usage: deps.sh SET...: those of its sets; check: all of them but deb, fresh, arm64, cluster, torch,
# series and check-series.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# The release's own compiler, which may not be installed yet.
gcc_version() {
	case $(. /etc/os-release && echo "${VERSION_CODENAME:-}") in
	bookworm) echo 12 ;;
	trixie) echo 14 ;;
	*) gcc -dumpversion ;;
	esac
}

# wanted_packages SET...: the packages of these sets.
wanted_packages() {
	SETS=" $* " awk '/^\[/ { wanted = index(ENVIRON["SETS"], " " substr($0, 2, length($0) - 2) " ") ||
			(index(ENVIRON["SETS"], " check ") && $0 !~ /^.(deb|fresh|arm64|cluster|torch|(check-)?series).$/) }
		wanted && /^[a-z]/' "$T3_ROOT/tools/build/packages.txt" |
		sed "s/-GCC-/-$(gcc_version)-/" | sort -u
}

installed_packages() {
	# apt fails when any package is unknown, but what it prints is right.
	wanted_packages "$@" | xargs dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' 2>/dev/null |
		sed -n 's/^.i. *//p' || true
}

missing_packages() {
	comm -23 <(wanted_packages "$@") <(installed_packages "$@" | sort)
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

apt_install() {
	as_root env DEBIAN_FRONTEND=noninteractive timeout 1800 apt-get -y \
		-o DPkg::Lock::Timeout=300 install --no-install-recommends "$@"
}

# Foreign repositories on the host may be unreachable. That is no reason to stop; a package that
# cannot be found is.
apt_update() {
	as_root timeout 600 apt-get -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 \
		-o Acquire::Retries=1 update || true
}

# The package lists may be missing or older than the mirror's pool.
install_packages() {
	apt_install "$@" || { apt_update && apt_install "$@"; }
}

main() {
	local missing what="installed"

	command -v apt-get >/dev/null || die "needs a Debian 12 or 13 machine (no apt-get found)"
	missing=$(missing_packages "$@" | tr '\n' ' ')
	[ -n "$missing" ] || return 0
	if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
		die "as root, run: apt-get install --no-install-recommends $missing"
	fi
	# The packages of `make run` are a part of all sets. When they are there, the rest is for
	# tests.
	[ -n "$(missing_packages run)" ] || what="installed for what is more than make run:"
	# shellcheck disable=SC2086 # one word per package
	stage deps "$what $missing" install_packages $missing
}

# Its functions are tested apart.
[ "${BASH_SOURCE[0]}" != "$0" ] || main "$@"
