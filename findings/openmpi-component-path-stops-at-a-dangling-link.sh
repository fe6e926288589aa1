#!/bin/bash
# SPDX-License-Identifier: MIT
# Open MPI 4.1.4 of Debian 12 (openmpi-bin=4.1.4-3+b1): a symbolic link that leads nowhere, in one
# folder of mca_base_component_path, hides the components of all folders after it. mpirun then does
# not know its own options, and names neither the folder nor the link.
#
# Seen: with the link's folder first, `mpirun --oversubscribe -n 1 true` ends with status 1 and
#     mpirun: Error: unknown option "--oversubscribe"
# With the folder last, or without the link, it ends with status 0.
#
# The packages and all that they need are unpacked below a temporary folder, by the sources of this
# machine's apt, which must have Debian 12's. Needs no root.
set -euo pipefail

VERSION=4.1.4-3+b1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

mkdir -p "$place"/{apt/partial,root,empty,link}
: >"$place/status"
apt-get -qq -y -o Dir::State::status="$place/status" -o Dir::Cache::archives="$place/apt" \
	-o Debug::NoLocking=1 -o APT::Sandbox::User="$(id -un)" --download-only \
	--no-install-recommends install "openmpi-bin=$VERSION" "libopenmpi3=$VERSION" \
	openmpi-common=4.1.4-3 >/dev/null
for package in "$place"/apt/*.deb; do
	case ${package##*/} in
	libc6_* | libgcc-s1_* | libstdc++6_* | dpkg_* | perl* | debconf_*) ;;
	*) dpkg -x "$package" "$place/root" ;;
	esac
done
ln -s /nonexistent "$place/link/nowhere"

libs=$place/root/usr/lib/x86_64-linux-gnu
components=$libs/openmpi/lib/openmpi3
export OPAL_PREFIX=$place/root/usr OPAL_LIBDIR=$libs OPAL_PKGLIBDIR=$components
export OPAL_PKGDATADIR=$place/root/usr/share/openmpi OPAL_SYSCONFDIR=$place/root/etc
export LD_LIBRARY_PATH=$libs:$libs/openmpi/lib
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_plm=isolated OMPI_MCA_btl=self

# run PATH: mpirun with these folders of components. Prints its status and its first line.
run() {
	local status=0 said

	said=$(OMPI_MCA_mca_base_component_path=$1 "$place/root/usr/bin/mpirun.openmpi" \
		--oversubscribe -n 1 true 2>&1) || status=$?
	said=${said%%$'\n'*}
	echo "$status ${said##*/}"
}

expect() {
	echo "$1: $3"
	[ "$2" = "$3" ] || { echo "expected: $2" >&2 && exit 1; }
}

"$place/root/usr/bin/mpirun.openmpi" --version | sed -n 1p
expect "an empty folder first" "0 " "$(run "$place/empty:$components")"
expect "the link's folder first" '1 mpirun.openmpi: Error: unknown option "--oversubscribe"' \
	"$(run "$place/link:$components")"
expect "the link's folder last" "0 " "$(run "$components:$place/link")"
