#!/bin/bash
# SPDX-License-Identifier: MIT
# Open MPI 5.0.7 with PMIx 5.0.7, as Debian 13 packages them (openmpi-bin=5.0.7-1,
# libpmix2t64=5.0.7-1): mpirun puts OMPI_MCA_mca_base_component_path into the environment of each
# process, with the folder of PMIx's own components. Open MPI there looks for its components
# nowhere else: neither in its own folder, nor in ~/.openmpi/components, where a user's are.
#
# Seen, of the folders that ompi_info names, and of whether it loads a file mca_coll_mine.so of
# the user:
#     ompi_info alone:                Open MPI's folder and the user's; loaded
#     below mpirun:                   /usr/lib/x86_64-linux-gnu/pmix2/lib/pmix; not loaded
#     below mpirun -x VARIABLE=...:   the same
#     below mpirun, VARIABLE=SYS_DEFAULT:USER_DEFAULT before mpirun:  that value; loaded
# No message says so. Debian's own components are part of the library, and are found anyway.
#
# Debian 13's packages are fetched by an apt of its own, from the mirror that this machine has for
# its release, and unpacked below a temporary folder, in which mpirun runs by chroot. They take 76
# MB. It needs gcc, and no root where a user may make namespaces.
set -euo pipefail

VERSION=5.0.7-1
VARIABLE=OMPI_MCA_mca_base_component_path
place=$(mktemp -d)
trap 'rm -rf --one-file-system "$place"' EXIT

mkdir -p "$place"/{state/lists,cache/archives}/partial "$place/root"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
	'Label: Debian' "Codename: $(. /etc/os-release && echo "$VERSION_CODENAME")")
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keyring] ${mirror%%$'\n'*} trixie main" >"$place/sources.list"
: >"$place/status"
cat >"$place/apt.conf" <<-CONF
	Dir::State "$place/state";
	Dir::State::status "$place/status";
	Dir::Cache "$place/cache";
	Dir::Etc::sourcelist "$place/sources.list";
	Dir::Etc::sourceparts "/dev/null";
	Acquire::Languages "none";
	APT::Sandbox::User "$(id -un)";
CONF
export APT_CONFIG=$place/apt.conf
apt-get -qq update
apt-get -qq -y --download-only --no-install-recommends install "openmpi-bin=$VERSION" \
	"libpmix2t64=$VERSION" coreutils >/dev/null
for package in "$place"/cache/archives/*.deb; do
	dpkg -x "$package" "$place/root"
done
for folder in bin lib lib64; do
	[ -e "$place/root/$folder" ] || ln -s "usr/$folder" "$place/root/$folder"
done
mkdir -p "$place/root"/{dev,proc,tmp,root/.openmpi/components}

# The file is no component. Open MPI loads a file with such a name, looks into it and leaves it out.
echo '#include <unistd.h>
__attribute__((constructor)) static void begin(void) { (void)!write(2, "mine is loaded\n", 15); }' |
	gcc -shared -fPIC -o "$place/root/root/.openmpi/components/mca_coll_mine.so" -x c -

namespaces=(unshare --mount --pid --fork)
[ "$(id -u)" -eq 0 ] || namespaces+=(--map-root-user)

# inside COMMAND...: run it in Debian 13's folder, with VARIABLE as it is here.
# shellcheck disable=SC2016 # that shell expands it
inside() {
	timeout 60 "${namespaces[@]}" bash -c 'cd "$1" && mount --rbind /dev dev &&
		mount -t proc proc proc && shift && exec chroot . "$@"' inside "$place/root" \
		env -i PATH=/usr/bin HOME=/root OMPI_ALLOW_RUN_AS_ROOT=1 \
		OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ${!VARIABLE:+"$VARIABLE=${!VARIABLE}"} "$@"
}

# look COMMAND...: ompi_info by this command. Prints its folders and whether the file was loaded.
look() {
	inside "$@" ompi_info --all --parsable >"$place/said" 2>&1
	sed -n 's/.*param:mca_base_component_path:value:"\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' "$place/said"
	! grep -q '^mine is loaded' "$place/said" || echo loaded
}

expect() {
	echo "$1: ${3//$'\n'/, }"
	[ "$2" = "$3" ] || { echo "expected: $2" >&2 && exit 1; }
}

libs=/usr/lib/x86_64-linux-gnu
unset "$VARIABLE"
inside mpirun.openmpi --version | sed -n 1p
expect "alone" "$libs/openmpi/lib/openmpi40:/root/.openmpi/components"$'\nloaded' "$(look)"
expect "below mpirun" "$libs/pmix2/lib/pmix" "$(look mpirun.openmpi -n 1)"
expect "below mpirun -x" "$libs/pmix2/lib/pmix" \
	"$(look mpirun.openmpi -n 1 -x "$VARIABLE=SYS_DEFAULT:USER_DEFAULT")"
export "$VARIABLE=SYS_DEFAULT:USER_DEFAULT"
expect "below mpirun, set before" $'SYS_DEFAULT:USER_DEFAULT\nloaded' "$(look mpirun.openmpi -n 1)"
