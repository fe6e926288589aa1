#!/bin/bash
# SPDX-License-Identifier: MIT
# Open MPI 4.1.4 of Debian 12 (libopenmpi3=4.1.4-3+b1): MPI_MAX and MPI_MIN of MPI_UNSIGNED_LONG
# take numbers from 2^63 on for less than smaller ones, as if they were signed. So a job that
# finds its greatest 64-bit hash or address gets a wrong one and no error. This is not the AVX
# component of operations: without that one the result is the same.
#
# Seen, for 5 and 2^63 + 5: the maximum is 5, and the minimum is 2^63 + 5.
#
# The packages are unpacked below a temporary folder, by the sources of this machine's apt, which
# must have Debian 12's. Needs a C compiler, and no root.
set -euo pipefail

VERSION=4.1.4-3+b1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

mkdir -p "$place"/{apt/partial,root}
: >"$place/status"
apt-get -qq -y -o Dir::State::status="$place/status" -o Dir::Cache::archives="$place/apt" \
	-o Debug::NoLocking=1 -o APT::Sandbox::User="$(id -un)" --download-only \
	--no-install-recommends install "libopenmpi-dev=$VERSION" "libopenmpi3=$VERSION" \
	openmpi-common=4.1.4-3 >/dev/null
for package in "$place"/apt/*.deb; do
	case ${package##*/} in
	libopenmpi* | openmpi* | libhwloc* | libpmix* | libevent* | libucx* | libfabric* | libpsm* | \
		libibverbs* | librdmacm* | libnl-* | libnuma* | libmunge* | zlib1g_* | libltdl* | libmd0_* | \
		libbsd0_* | libxnvctrl* | libx11* | libxcb* | libxau* | libxdmcp* | libxext* | ocl-icd* | \
		libze* | libudev* | libcap2_*) dpkg -x "$package" "$place/root" ;;
	*) ;;
	esac
done

libs=$place/root/usr/lib/x86_64-linux-gnu
export OPAL_PREFIX=$place/root/usr OPAL_LIBDIR=$libs OPAL_PKGLIBDIR=$libs/openmpi/lib/openmpi3
export OPAL_PKGDATADIR=$place/root/usr/share/openmpi OPAL_SYSCONFDIR=$place/root/etc
export LD_LIBRARY_PATH=$libs:$libs/openmpi/lib
export OMPI_MCA_plm=isolated OMPI_MCA_btl=self OMPI_MCA_mca_base_component_path=$OPAL_PKGLIBDIR
cat >"$place/program.c" <<'END'
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	unsigned long low = 5, high = (1ul << 63) + 5, max = low, min = high;

	MPI_Init(&argc, &argv);
	MPI_Reduce_local(&high, &max, 1, MPI_UNSIGNED_LONG, MPI_MAX);
	MPI_Reduce_local(&low, &min, 1, MPI_UNSIGNED_LONG, MPI_MIN);
	printf("maximum %lu, minimum %lu\n", max, min);
	return MPI_Finalize();
}
END
cc -o "$place/program" "$place/program.c" -I"$libs/openmpi/include" -L"$libs/openmpi/lib" \
	-Wl,--allow-shlib-undefined -lmpi

expect() {
	echo "$1: $3"
	[ "$2" = "$3" ] || { echo "expected: $2" >&2 && exit 1; }
}

expect "of 5 and 9223372036854775813" "maximum 5, minimum 9223372036854775813" "$("$place/program")"
expect "the same without the AVX component" "maximum 5, minimum 9223372036854775813" \
	"$(OMPI_MCA_op=^avx "$place/program")"
