#!/bin/bash
# SPDX-License-Identifier: MIT
# PyTorch 1.13.1 of Debian 12 (python3-torch 1.13.1+dfsg-4): the observer of torch.profiler that writes
# execution traces puts the name of each call into the file as it is, without JSON's escapes. So a
# trace is no JSON as soon as one name has a quotation mark or a backslash, such as that of
# record_function() with a file's path or a shape in it, and each reader of traces refuses the whole
# file. 2.6.0 of Debian 13 does the same.
#
# Seen: a trace with the name "forward" is read, and one with say "hi" ends in a JSONDecodeError.
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
import json
import sys
import torch

path, name = sys.argv[1:]
observer = torch.profiler.ExecutionGraphObserver()
observer.register_callback(path)
observer.start()
with torch.autograd.profiler.record_function(name):
    torch.ones(2)
observer.stop()
observer.unregister_callback()
try:
    with open(path, encoding="utf-8") as file:
        print("read" if any(node["name"] == name for node in json.load(file)["nodes"]) else "not there")
except json.JSONDecodeError:
    print("JSONDecodeError")
END
expect "a call named forward" "read" "$(python3 "$place/program.py" "$place/plain.json" forward)"
expect 'a call named say "hi"' "JSONDecodeError" \
	"$(python3 "$place/program.py" "$place/quoted.json" 'say "hi"')"
