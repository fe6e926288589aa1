#!/bin/bash
# SPDX-License-Identifier: MIT
# PyTorch 2.6.0 of Debian 13 (python3-torch 2.6.0+dfsg-7): fully_shard() (FSDP2) takes a module on the
# processor, over gloo, and shards it. Its first forward pass then ends in an AttributeError: the
# gather asks a stream for record_event(), and the stream that torch gives for the processor has none.
# One process is enough. FullyShardedDataParallel (FSDP1) trains the same module there.
#
# Seen: "AttributeError: 'Stream' object has no attribute 'record_event'" from the forward pass of
# fully_shard(), and gradients of FullyShardedDataParallel.
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
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard

dist.init_process_group("gloo", init_method=f"file://{sys.argv[2]}/{sys.argv[1]}", rank=0,
                        world_size=1)
module = torch.nn.Linear(4, 4)
if sys.argv[1] == "fully_shard":
    fully_shard(module)
else:
    module = FullyShardedDataParallel(module, device_id=torch.device("cpu"))
try:
    module(torch.ones(2, 4)).sum().backward()
    print("gradients" if next(module.parameters()).grad is not None else "no gradients")
except AttributeError as error:
    print(f"AttributeError: {error}")
dist.destroy_process_group()
END

said() {
	GLOO_SOCKET_IFNAME=lo python3 "$place/program.py" "$1" "$place" 2>"$place/errors" ||
		{ cat "$place/errors" >&2 && exit 1; }
}

expect "version" "$VERSION" "$(dpkg-deb -f "$place"/apt/python3-torch_*.deb Version)"
expect "fully_shard" "AttributeError: 'Stream' object has no attribute 'record_event'" \
	"$(said fully_shard)"
expect "FullyShardedDataParallel" "gradients" "$(said FullyShardedDataParallel)"
