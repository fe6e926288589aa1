#!/bin/bash
# SPDX-License-Identifier: MIT
# PyTorch 1.13.1 of Debian 12 (python3-torch 1.13.1+dfsg-4): DistributedDataParallel over gloo takes no
# module with a buffer of bool or int16, such as the mask of an attention. The constructor sends the
# module's buffers from rank 0 to the others, whatever `broadcast_buffers` says, and gloo has neither
# type. The error names neither the buffer nor its type, and each rank gets it. A buffer of uint8 with
# the same values is sent.
#
# Seen: "Invalid scalar type" of bool and int16, and no error of uint8 and float32.
#
# The packages are unpacked below a temporary folder (1.5 GB), by the sources of this machine's apt,
# which must have Debian 12's. Needs Python 3.11, and no root.
set -euo pipefail

VERSION=1.13.1+dfsg-4
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
	libc6_* | libc-bin_* | python3_* | python3-minimal_* | python3.11* | libpython3* | perl* | \
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


def rank(number, folder, name):
    dist.init_process_group("gloo", init_method=f"file://{folder}/{name}", rank=number, world_size=2)
    module = torch.nn.Linear(2, 2)
    module.register_buffer("mask", torch.ones(4, dtype=getattr(torch, name)))
    try:
        torch.nn.parallel.DistributedDataParallel(module, broadcast_buffers=False)
        said = "no error"
    except RuntimeError as error:
        said = str(error).splitlines()[0]
    if number == 0:
        print(said)


if __name__ == "__main__":
    torch.multiprocessing.spawn(rank, sys.argv[1:], nprocs=2)
END
for type in bool int16; do
	expect "DDP of a module with a buffer of $type" "Invalid scalar type" \
		"$(timeout 120 python3 "$place/program.py" "$place" $type)"
done
for type in uint8 float32; do
	expect "DDP of a module with a buffer of $type" "no error" \
		"$(timeout 120 python3 "$place/program.py" "$place" $type)"
done
