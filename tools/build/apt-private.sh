# SPDX-License-Identifier: MIT
# apt with a state of its own, below the cache: it can see suites that the host
# does not have, changes nothing on the host, and needs no privileges.
# Source it after common.sh; call apt_setup first.
# shellcheck shell=bash

APT_DIR=$T3_CACHE/apt

# The mirror that this machine uses for its own release.
debian_mirror() {
	local uri

	uri=$(apt-get indextargets --format '$(REPO_URI)' \
		'Created-By: Packages' 'Origin: Debian' "Codename: $1" | head -n 1)
	[ -n "$uri" ] || die "apt lists no Debian mirror for '$1': run apt-get update first"
	echo "$uri"
}

apt_write_sources() {
	local codename mirror keyring=/usr/share/keyrings/debian-archive-keyring.gpg kernel_suite

	codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
	case $codename in
	bookworm) kernel_suite=bookworm-backports ;;
	trixie) kernel_suite=trixie ;;
	*) die "this build supports Debian 12 and 13, not '$codename'" ;;
	esac
	mirror=$(debian_mirror "$codename")
	write_if_changed "$APT_DIR/sources.list" <<-LIST
		deb [signed-by=$keyring] $mirror $kernel_suite main
		deb-src [signed-by=$keyring] $mirror trixie main
	LIST
}

apt_write_config() {
	write_if_changed "$APT_DIR/apt.conf" <<-CONF
		Dir::State "$APT_DIR/state";
		Dir::State::status "/var/lib/dpkg/status";
		Dir::Cache "$APT_DIR/cache";
		Dir::Etc::sourcelist "$APT_DIR/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		Acquire::Languages "none";
		Acquire::Retries "3";
		Acquire::http::Timeout "30";
		Acquire::Check-Valid-Until "false";
		APT::Sandbox::User "root";
	CONF
}

apt_private() {
	local tool=$1

	shift
	APT_CONFIG=$APT_DIR/apt.conf timeout 1800 "$tool" "$@"
}

apt_setup() {
	mkdir -p "$APT_DIR/state/lists/partial" "$APT_DIR/cache/archives/partial"
	take_lock 8 "$APT_DIR/.lock" "apt"
	apt_write_sources
	apt_write_config
	# Package lists become old: refresh them after a few hours.
	if [ -z "$(find "$APT_DIR/updated" -mmin -240 -newer "$APT_DIR/sources.list" 2>/dev/null)" ]; then
		apt_private apt-get -qq --error-on=any update
		touch "$APT_DIR/updated"
	fi
	exec 8>&-
}

# deb_fetch PACKAGE DIR: download a binary package and unpack it below DIR.
deb_fetch() {
	local tmp=$2.deb.d

	rm -rf "$tmp"
	mkdir -p "$tmp" "$2"
	(cd "$tmp" && apt_private apt-get -qq download "$1")
	dpkg-deb -x "$tmp"/*.deb "$2"
	rm -rf "$tmp"
}
