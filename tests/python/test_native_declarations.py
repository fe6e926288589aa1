# SPDX-License-Identifier: MIT
"""The declarations that the package has are those of the compiler and of libt3."""

import os
import re
import subprocess

import pytest
from conftest import ROOT

from t3 import _abi, _names, uapi

ffi = _abi.ffi
HEADERS = [ROOT / "libt3/t3.h", ROOT / "libt3/t3_coll.h", ROOT / "libt3/t3_producer.h",
           ROOT / "uapi/t3_accel.h"]


def structs():
    return sorted(name for name in ffi.list_types()[1] if name.startswith(("t3_", "drm_")))


def questions():
    """C expressions, and what the package says of them."""
    for name in structs():
        kind = ffi.typeof(f"struct {name}")
        if kind.fields is None:
            continue  # opaque
        yield f"sizeof(struct {name})", ffi.sizeof(kind)
        for field, about in kind.fields:
            if about.bitsize < 0:
                yield f"offsetof(struct {name}, {field})", about.offset
    for name, value in vars(_names).items():
        if name.startswith(("DRM_", "T3_")) and isinstance(value, int):
            yield name, value
    for name, (number, struct) in uapi.IOCTLS.items():
        for macro in (f"DRM_IOCTL_T3_{name.upper()}", f"DRM_IOCTL_{name.upper()}"):
            if getattr(_names, macro, None) == number:
                yield macro, number
        yield f"sizeof({struct})", number >> 16 & 0x3fff
    yield "DRM_T3_TILE_DOORBELL(63, 3, 0xfffff)", _names.DRM_T3_TILE_DOORBELL(63, 3, 0xfffff)


def test_sizes_offsets_and_numbers_are_the_compilers(tmp_path):
    asked = list(questions())
    assert len(asked) > 500
    lines = "".join(f"\tprintf(\"%llu\\n\", (unsigned long long)({what}));\n" for what, _ in asked)
    source = tmp_path / "ask.c"
    source.write_text("#include <stddef.h>\n#include <stdio.h>\n#include \"t3_coll.h\"\n"
                      f"int main(void)\n{{\n{lines}}}\n")
    flags = subprocess.run(["pkg-config", "--cflags", "libdrm"], check=True, capture_output=True,
                           text=True).stdout.split()
    subprocess.run(["gcc", f"-I{ROOT}/libt3", f"-I{ROOT}/uapi", *flags, "-o", tmp_path / "ask",
                    source], check=True)
    told = subprocess.run([tmp_path / "ask"], check=True, capture_output=True,
                          text=True).stdout.split()
    wrong = [f"{what}: the package says {value}, the compiler {other}"
             for (what, value), other in zip(asked, told) if value % 2**64 != int(other)]
    assert not wrong


def test_each_function_of_the_headers_is_declared_and_exported():
    lib = ffi.dlopen("libt3.so.0")
    text = "".join(path.read_text() for path in HEADERS[:3])
    names = re.findall(r"^T3_API [\w\s*]*?\*?(t3_\w+)\(", text, re.M)
    assert len(names) > 90
    for name in names:
        assert getattr(lib, name)


def test_each_ioctl_of_the_header_is_known():
    text = HEADERS[3].read_text()
    names = re.findall(r"^#define DRM_IOCTL_T3_(\w+)", text, re.M)
    assert len(names) == _names.DRM_T3_IOCTL_COUNT
    assert {name.lower() for name in names} <= set(uapi.IOCTLS)


def test_an_import_opens_no_library_and_no_numpy():
    code = "import sys, t3, t3.uapi; from t3._library import lib; " \
           "sys.exit('numpy' in sys.modules or lib._opened is not None)"
    assert subprocess.run(["/usr/bin/python3", "-c", code], check=False).returncode == 0


def test_a_missing_library_is_told():
    code = "import t3\ntry:\n    t3.devices()\nexcept t3.Error as error:\n    print(error)"
    done = subprocess.run(["/usr/bin/python3", "-c", code], check=True, capture_output=True,
                          text=True, env={**os.environ, "LD_LIBRARY_PATH": ""})
    if "cannot be loaded" not in done.stdout:
        pytest.skip("libt3 is installed on this machine")
    assert "LD_LIBRARY_PATH" in done.stdout
