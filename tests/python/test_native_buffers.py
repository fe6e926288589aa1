# SPDX-License-Identifier: MIT
"""What else reads arrays of device memory by the buffer protocol, without a device."""

import array
import os
import struct
import subprocess
import sys

import numpy as np
import pytest
from conftest import WATCHDOG

import t3
from t3._library import ffi
from t3._resource import Handle
from t3.buffer import array_of, view_of

KINDS = {t3.Dtype.F32: "f", t3.Dtype.F16: "e", t3.Dtype.I32: "i", t3.Dtype.U8: "B",
         t3.Dtype.I8: "b"}


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_are_native_for_all_who_read_them(kind):
    code, memory = KINDS[kind], ffi.new("char[]", 64)
    data = array_of(ffi.buffer(memory, 64), kind, 8)
    assert data.dtype.isnative and data.dtype == np.dtype(data.dtype.name)
    assert data.dtype.byteorder in "=|"
    view = memoryview(data)
    assert view.format == code and view.itemsize == struct.calcsize(code)
    struct.pack_into(f"={code}", view.cast("B"), 5 * view.itemsize, 9)
    assert struct.unpack(f"=8{code}", view) == tuple(data) == (0, 0, 0, 0, 0, 9, 0, 0)
    if code != "e":  # which Python's own memoryview and array do not know
        view[3] = 7
        assert view.tolist() == data.tolist() == [0, 0, 0, 7, 0, 9, 0, 0]
        assert view.cast("B").cast(code).tolist() == data.tolist()
        assert array.array(code, data.tobytes()) == array.array(code, view.tolist())
    assert (ffi.from_buffer("char[]", data) + 0) == memory + 0
    assert bytes(bytearray(data)) == data.tobytes()


def test_memory_without_a_type_is_bytes():
    memory = ffi.new("char[]", 64)
    view = memoryview(view_of(Handle(memory, lambda _: 0), memory, 64))
    assert (view.format, view.itemsize, view.nbytes, view.readonly) == ("B", 1, 64, False)
    view.cast("i")[2] = -5
    assert view.tolist()[8:12] == [0xfb, 0xff, 0xff, 0xff]


MPI = """
import numpy, t3
from mpi4py import MPI
from t3._library import ffi
from t3.buffer import array_of
for kind in (t3.Dtype.F32, t3.Dtype.I32, t3.Dtype.I8, t3.Dtype.U8):
    data = array_of(ffi.buffer(ffi.new("char[]", 64), 64), kind, 8)
    data[:] = range(8)
    total = numpy.zeros_like(data)
    MPI.COMM_SELF.Allreduce(data, total)
    MPI.COMM_SELF.Bcast(memoryview(data))
    assert total.tolist() == data.tolist() == list(range(8)), (kind, total)
print("equal")
"""


def test_mpi4py_takes_arrays():
    mpi = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run([sys.executable, "-c", MPI], capture_output=True, text=True, check=False,
                          env={**os.environ, **mpi}, timeout=WATCHDOG)
    assert done.stdout == "equal\n", done.stderr
