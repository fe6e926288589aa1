#!/bin/bash
# SPDX-License-Identifier: MIT
# PyTorch 2.6.0 of Debian 13 (python3-torch 2.6.0+dfsg-7): a DTensor on the processor that goes from
# columns to rows, redistribute(Shard(1) -> Shard(0)), moves by an all-gather, so each rank receives
# the whole tensor and cuts its part out. One would expect an all-to-all, which moves 1/N of that. A
# warning says that process groups of the processor have none. Gloo's has one in the same package: its
# all_to_all_single() gives the right values. So any backend for the processor sees all-gathers there.
#
# Seen, with two ranks over gloo: one "all_gather_into_tensor" and no all-to-all by CommDebugMode, the
# warning "does not support alltoall yet", and [0, 2] from all_to_all_single() of [0, 1] and [2, 3].
#
# The packages are unpacked below a temporary folder (1.7 GB), by the sources of this machine's apt,
# which must have Debian 13's. Needs Python 3.13, and no root.
set -euo pipefail

VERSION=2.6.0+dfsg-7
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

mkdir -p "$place"/{apt/partial,root}
: >"$place/status"
apt-get -qq -y -o Dir::State::status="$place/status" -o Dir::Cache::archives="$place/apt" \
	-o Debug::NoLocking=1 -o APT::Sandbox::User="$(id -un)" --download-only \
	--no-install-recommends install "python3-torch=$VERSION" >/dev/null
for package in "$place"/apt/*.deb; do
	case ${package##*/} in
	# The machine's own Python runs what is unpacked.
	libc6_* | libc-bin_* | python3_* | python3-minimal_* | python3.13* | libpython3* | perl* | \
		dpkg_* | gcc-*-base_*) ;;
	*) dpkg -x "$package" "$place/root" ;;
	esac
done

libs=$place/root/usr/lib/x86_64-linux-gnu
LD_LIBRARY_PATH=$libs:$(dirname "$(find "$place/root" -name 'libblas.so.3' | head -n 1)"):$(
	dirname "$(find "$place/root" -name 'liblapack.so.3' | head -n 1)")
export LD_LIBRARY_PATH PYTHONPATH=$place/root/usr/lib/python3/dist-packages

expect() {
	echo "$1: $3"
	[ "$2" = "$3" ] || { echo "expected: $2" >&2 && exit 1; }
}

cat >"$place/program.py" <<'END'
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
from torch.distributed.tensor.debug import CommDebugMode


def run(rank, place):
    dist.init_process_group("gloo", init_method=f"file://{place}/join", rank=rank, world_size=2)
    mesh = init_device_mesh("cpu", (2,))
    columns = distribute_tensor(torch.arange(16.0).reshape(4, 4), mesh, [Shard(1)])
    with CommDebugMode() as calls:
        rows = columns.redistribute(mesh, [Shard(0)])
    right = rows.to_local().tolist() == torch.arange(16.0).reshape(4, 4)[2 * rank:][:2].tolist()
    received = torch.zeros(2)
    dist.all_to_all_single(received, torch.arange(2.0) + 2 * rank)
    if rank == 0:
        for call, times in calls.get_comm_counts().items():
            print(f"call: {str(call).split('.')[-1]} {times}")
        print(f"rows: {'right' if right else 'wrong'}")
        print(f"all_to_all_single: {received.tolist()}")
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(run, args=(sys.argv[1],), nprocs=2)
END

GLOO_SOCKET_IFNAME=lo timeout 300 python3 "$place/program.py" "$place" >"$place/said" \
	2>"$place/errors" || { cat "$place/errors" >&2 && exit 1; }

said() {
	sed -n "s/^$1: //p" "$place/said"
}

expect "version" "$VERSION" "$(dpkg-deb -f "$place"/apt/python3-torch_*.deb Version)"
expect "collectives of redistribute()" "all_gather_into_tensor 1" "$(said call)"
expect "its rows" "right" "$(said rows)"
expect "all_to_all_single() of gloo" "[0.0, 2.0]" "$(said all_to_all_single)"
expect "warnings" "yes" "$(grep -q 'does not support alltoall yet' "$place/errors" && echo yes)"
