#!/bin/bash
# SPDX-License-Identifier: MIT
# Open MPI 4.1.4 of Debian 12 (libopenmpi3=4.1.4-3+b1): MPI_SUM of 8-bit integers saturates where
# the component of operations is "avx", which is the default on a processor with AVX2, and wraps
# around where it is not, as C's arithmetic does. So the result of a job depends on the processor of
# each node. And the same sum of the same array has both: the last elements of an array that do not
# fill a vector wrap around. MPI says nothing of overflow, but has one result for one operation, and
# integers of other sizes wrap around with the component, too. 5.0.7 of Debian 13 saturates as well.
#
# Seen, for 200 + 200 of MPI_UINT8_T and 100 + 100 of MPI_INT8_T: 255 and 127 with the component, 144
# and -56 without it.
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
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 4099 }; /* no multiple of a vector */

int main(int argc, char **argv)
{
	uint8_t in[COUNT], sum[COUNT];
	int8_t signed_in[COUNT], signed_sum[COUNT];

	MPI_Init(&argc, &argv);
	memset(in, 200, COUNT);
	memset(sum, 200, COUNT);
	memset(signed_in, 100, COUNT);
	memset(signed_sum, 100, COUNT);
	MPI_Reduce_local(in, sum, COUNT, MPI_UINT8_T, MPI_SUM);
	MPI_Reduce_local(signed_in, signed_sum, COUNT, MPI_INT8_T, MPI_SUM);
	printf("first %d and %d, last %d and %d\n", sum[0], signed_sum[0], sum[COUNT - 1],
	       signed_sum[COUNT - 1]);
	return MPI_Finalize();
}
END
cc -o "$place/program" "$place/program.c" -I"$libs/openmpi/include" -L"$libs/openmpi/lib" \
	-Wl,--allow-shlib-undefined -lmpi

expect() {
	echo "$1: $3"
	[ "$2" = "$3" ] || { echo "expected: $2" >&2 && exit 1; }
}

# The component has nothing to do without it.
grep -qw avx2 /proc/cpuinfo || { echo "this processor has no AVX2, so there is nothing to see" >&2 && exit 1; }
expect "200 + 200 and 100 + 100" "first 255 and 127, last 144 and -56" "$("$place/program")"
expect "the same without the AVX component" "first 144 and -56, last 144 and -56" \
	"$(OMPI_MCA_op=^avx "$place/program")"
