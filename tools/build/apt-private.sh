# SPDX-License-Identifier: MIT
# apt with a state of its own, below the cache: it can see suites that the host
# does not have, changes nothing on the host, and needs no privileges.
# Source it after common.sh; call apt_setup first.
# shellcheck shell=bash

APT_DIR=$T3_CACHE/apt
APT_SOURCES=apt_usual_sources
APT_STATUS=/var/lib/dpkg/status
APT_ARCH=$(dpkg --print-architecture)

KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# apt_sources_of CODENAME LABEL: the place that this machine has that release from.
apt_sources_of() {
	apt-get indextargets --format '$(REPO_URI)' \
		'Created-By: Packages' 'Origin: Debian' "Codename: $1" "Label: $2" | sed -n 1p
}

# The mirror that this machine uses for its own release.
debian_mirror() {
	local uri

	uri=$(apt_sources_of "$1" Debian)
	[ -n "$uri" ] || die "apt lists no Debian mirror for '$1': run apt-get update first"
	echo "$uri"
}

# Sources for QEMU and for the usual kernel.
apt_usual_sources() {
	local kernel_suite

	case $1 in
	bookworm) kernel_suite=bookworm-backports ;;
	trixie) kernel_suite=trixie ;;
	*) die "this build supports Debian 12 and 13, not '$1'" ;;
	esac
	cat <<-LIST
		deb [signed-by=$KEYRING] $2 $kernel_suite main
		deb-src [signed-by=$KEYRING] $2 trixie main
	LIST
}

# Sources for all other kernels. A machine without security updates does without them here too.
apt_all_sources() {
	local suite security

	security=$(apt_sources_of "$1-security" Debian-Security)
	for suite in bookworm-backports trixie trixie-backports forky sid; do
		echo "deb [signed-by=$KEYRING] $2 $suite main"
	done
	for suite in bookworm-security trixie-security; do
		[ -z "$security" ] || echo "deb [signed-by=$KEYRING] $security $suite main"
	done
}

# apt_all_suites: from here on, look at the suites of all kernels. Their lists take 70 MB, so they
# have a folder of their own, which a usual build never makes.
apt_all_suites() {
	APT_DIR=$T3_CACHE/apt-all
	APT_SOURCES=apt_all_sources
}

# Sources of all QEMUs. sid is last to lose one.
apt_qemu_sources() {
	local suite

	apt_usual_sources "$@"
	for suite in trixie-backports forky sid; do
		echo "deb-src [signed-by=$KEYRING] $2 $suite main"
	done
}

# apt_all_qemus: from here on, look at the sources of all QEMUs, also in a folder of their own.
apt_all_qemus() {
	APT_DIR=$T3_CACHE/apt-qemu
	APT_SOURCES=apt_qemu_sources
}

# Sources of what is installed here.
apt_here_sources() {
	echo "deb-src [signed-by=$KEYRING] $2 $1 main"
}

# apt_sources_here: from here on, look at the sources of this machine's release.
apt_sources_here() {
	APT_DIR=$T3_CACHE/apt-here
	APT_SOURCES=apt_here_sources
}

# Sources of this machine's release, for packages of another architecture.
apt_own_sources() {
	echo "deb [signed-by=$KEYRING] $2 $1 main"
}

# apt_foreign ARCHITECTURE: from here on, look at that architecture alone, in a folder of its own, as
# if nothing were installed.
apt_foreign() {
	APT_DIR=$T3_CACHE/apt-$1
	APT_SOURCES=apt_own_sources
	APT_STATUS=$APT_DIR/installed
	APT_ARCH=$1
	mkdir -p "$APT_DIR"
	: >"$APT_STATUS"
}

# What the machine's answer depends on. A cache may have come from another machine.
apt_sources_key() {
	{
		cat /etc/os-release /etc/apt/sources.list /etc/apt/sources.list.d/* \
			"$T3_ROOT/tools/build/apt-private.sh"
		ls /var/lib/apt/lists || true
	} 2>/dev/null | sha256sum
}

# apt takes a second to say where the machine has its packages from, so it is asked once.
apt_write_sources() {
	local codename mirror key

	key=$(apt_sources_key)
	[ ! -e "$APT_DIR/sources.list" ] || [ "$(cat "$APT_DIR/.asked" 2>/dev/null)" != "$key" ] || return 0
	codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
	mirror=$(debian_mirror "$codename")
	"$APT_SOURCES" "$codename" "$mirror" | write_if_changed "$APT_DIR/sources.list"
	echo "$key" >"$APT_DIR/.asked"
}

apt_write_config() {
	write_if_changed "$APT_DIR/apt.conf" <<-CONF
		Dir::State "$APT_DIR/state";
		Dir::State::status "$APT_STATUS";
		Dir::Cache "$APT_DIR/cache";
		Dir::Etc::sourcelist "$APT_DIR/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		Acquire::Languages "none";
		Acquire::Retries "3";
		Acquire::http::Timeout "30";
		Acquire::Check-Valid-Until "false";
		APT::Sandbox::User "root";
		APT::Architecture "$APT_ARCH";
		APT::Architectures { "$APT_ARCH"; };
	CONF
}

# The host's own configuration counts after APT_CONFIG. That of a container may keep no index of the
# lists, which takes seconds to make.
apt_private() {
	local tool=$1

	shift
	APT_CONFIG=$APT_DIR/apt.conf timeout 1800 "$tool" -o Dir::Cache::pkgcache=pkgcache.bin "$@"
}

# All of the usual suites are needed. Of all others, a mirror may lack some.
apt_update_lists() {
	if [ "$APT_SOURCES" = apt_usual_sources ]; then
		apt_private apt-get -qq --error-on=any update
	else
		apt_private apt-get -qq update || [ -n "$(find "$APT_DIR/state/lists" -name '*_Packages*')" ]
	fi
}

apt_setup() {
	mkdir -p "$APT_DIR/state/lists/partial" "$APT_DIR/cache/archives/partial"
	take_lock 8 "$APT_DIR/.lock" "apt"
	apt_write_sources
	apt_write_config
	# Package lists become old: refresh them after a few hours.
	if [ -z "$(find "$APT_DIR/updated" -mmin -240 -newer "$APT_DIR/sources.list" 2>/dev/null)" ]; then
		apt_update_lists
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
