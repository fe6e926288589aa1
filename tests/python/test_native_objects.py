# SPDX-License-Identifier: MIT
"""Handles, waits, element types and segments, without a device."""

import copy
import errno
import gc
import os
import pickle
import signal
import threading
import time
import types
import warnings

import numpy as np
import pytest

import t3
from t3 import _waits, comm, dtypes
from t3._library import ffi
from t3._resource import Handle, Resource
from t3.buffer import array_of, view_of


class Thing(Resource):
    def __init__(self, ended, name, parents=(), result=0):
        self._own(Handle(name, lambda pointer: ended.append(pointer) or result,
                         [parent._live() for parent in parents]))


# --- handles

def test_a_parent_ends_after_its_children():
    ended = []
    parent = Thing(ended, "parent")
    child = Thing(ended, "child", [parent])
    parent.close()
    assert ended == [] and parent.closed
    child.close()
    assert ended == ["child", "parent"]


def test_what_is_closed_says_so():
    thing = Thing([], "thing")
    thing.close()
    thing.close()
    with pytest.raises(ValueError, match="this Thing is closed"):
        thing._call(lambda pointer: pointer)
    with pytest.raises(ValueError, match="closed"):
        with thing:
            pass


def test_a_call_keeps_its_handle():
    ended = []
    thing = Thing(ended, "thing")

    def closing(_pointer):
        thing.close()
        return list(ended)

    assert thing._call(closing) == []
    assert ended == ["thing"]


def test_a_forgotten_object_warns_and_ends():
    ended = []
    with pytest.warns(ResourceWarning, match="was not closed"):
        Thing(ended, "thing")
        gc.collect()
    assert ended == ["thing"]


def test_a_with_block_closes_and_does_not_warn():
    ended = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Thing(ended, "thing"):
            pass
        gc.collect()
    assert ended == ["thing"]


def test_memory_is_used_as_long_as_an_array_of_it_lives():
    ended = []
    memory = ffi.new("char[]", 64)
    thing = Thing(ended, memory)
    array = array_of(view_of(thing._live(), memory, 64), t3.Dtype.F32, 4)
    part = array[1:3]
    thing.close()
    del array
    gc.collect()
    assert ended == []
    part[:] = 1
    assert ffi.buffer(memory)[4:8] == b"\0\0\x80\x3f"
    del part
    gc.collect()
    assert ended == [memory]


def test_a_failed_close_is_raised():
    with pytest.raises(t3.FaultError):
        Thing([], "thing", result=-errno.EIO).close()


@pytest.mark.parametrize("make", [
    copy.copy, copy.deepcopy, pickle.dumps, lambda thing: copy.deepcopy([thing]),
    lambda thing: thing.__reduce__(), lambda thing: copy.copy(thing._handle),
    lambda thing: pickle.dumps(thing._handle)])
def test_copies_are_refused(make):
    """Two objects would end one handle twice, and the second time below an array of it."""
    ended = []
    with Thing(ended, "thing") as thing:
        with pytest.raises(TypeError, match="Thing|Handle"):
            make(thing)
    assert ended == ["thing"]


def test_a_copy_by_force_ends_nothing_twice():
    """What copies the attributes by hand has the same handle: closing one closes both."""
    ended = []
    memory = ffi.new("char[]", 64)
    thing, other = Thing(ended, memory), Thing.__new__(Thing)
    other.__dict__.update(thing.__dict__)
    data = array_of(view_of(thing._live(), memory, 64), t3.Dtype.F32, 4)
    thing.close()
    other.close()
    assert thing.closed and other.closed and ended == []
    with pytest.raises(ValueError, match="this Thing is closed"):
        other._call(lambda pointer: pointer)
    data[:] = 1
    del data
    gc.collect()
    assert ended == [memory]


def test_threads_that_close_at_once_end_it_once():
    for _ in range(50):
        ended = []
        thing, start = Thing(ended, "thing"), threading.Barrier(4)
        threads = [threading.Thread(target=lambda: start.wait() >= 0 and thing.close())
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert ended == ["thing"]


def test_another_class_is_refused():
    class Other(Thing):
        pass

    with Thing([], "thing") as thing:
        with pytest.raises(TypeError, match="class of a Thing"):
            thing.__class__ = Other
        assert type(thing) is Thing


OWNERS = [t3.Device, t3.Buffer, t3.Space, t3.Producer, t3.Queue, t3.Fence, t3.Comm, t3.Plan,
          t3.PlanSpace]


ARGUMENTS = {(t3.Producer, "put"): 3, (t3.Producer, "put_tile"): 2, (t3.Plan, "put"): 2,
             (t3.Plan, "put_tile"): 3}


@pytest.mark.parametrize("kind", OWNERS)
def test_an_object_without_init_is_closed(kind):
    made = kind.__new__(kind)
    assert made.closed
    made.close()
    with pytest.raises(ValueError, match=f"this {kind.__name__} is closed"):
        with made:
            pass
    for name in ("put", "put_tile"):
        if (kind, name) in ARGUMENTS:
            with pytest.raises(ValueError, match="closed"):
                getattr(made, name)(*[0] * (ARGUMENTS[kind, name] - 1), np.zeros(1, "f4"))


@pytest.mark.parametrize("closed", [False, True])
def test_init_runs_once(closed):
    ended = []
    thing = Thing(ended, "first")
    if closed:
        thing.close()
    with pytest.raises(TypeError, match="second __init__"):
        Thing.__init__(thing, ended, "second")
    thing.close()
    assert ended == (["first", "second"] if closed else ["second", "first"])


def test_del_by_hand_closes_once():
    ended = []
    thing = Thing(ended, "thing")
    with pytest.warns(ResourceWarning):
        thing.__del__()
    thing.__del__()
    assert ended == ["thing"]


# --- waits

def test_timeouts():
    assert _waits.deadline(None) == 2**63 - 1
    assert _waits.deadline(0) == 0
    assert _waits.deadline(1e300) <= 2**63 - 1
    before = time.monotonic_ns()
    assert before + 2e9 <= _waits.deadline(2) <= time.monotonic_ns() + 2e9
    for bad in (-1, float("nan")):
        with pytest.raises(ValueError, match="timeout"):
            _waits.deadline(bad)


def test_a_wait_is_cut_into_slices_up_to_its_deadline():
    asked = []
    end = time.monotonic_ns() + 3 * _waits.SLICE_NS

    def call(deadline):
        asked.append(deadline)
        time.sleep(max(0, deadline - time.monotonic_ns()) / 1e9)
        return -errno.ETIMEDOUT

    assert _waits.in_slices(call, end) == -errno.ETIMEDOUT
    assert len(asked) > 1 and asked[-1] == end and all(one <= end for one in asked)


def test_a_wait_that_ends_is_not_repeated():
    asked = []
    assert _waits.in_slices(lambda end: asked.append(end) or -errno.EIO, 2**63 - 1) == -errno.EIO
    assert len(asked) == 1


def interrupt(call):
    """call(), out of which a signal's handler leads."""
    old = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            call()
    finally:
        signal.signal(signal.SIGALRM, old)


def test_ctrl_c_leads_out_of_a_call_that_goes_on():
    hold, ended = threading.Event(), threading.Event()
    interrupt(lambda: _waits.interruptible(lambda: hold.wait() and ended.set()))
    assert _waits.interruptible(lambda: 5) == 5  # by another worker
    assert not ended.is_set()
    hold.set()
    assert ended.wait(60)


def test_a_forked_child_has_a_worker_of_its_own():
    assert _waits.interruptible(lambda: 4) == 4
    pid = os.fork()
    if not pid:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(30)
        os._exit(_waits.interruptible(lambda: 5))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5


def test_a_calls_exception_is_raised_here():
    def call():
        raise LookupError("words")

    with pytest.raises(LookupError, match="words"):
        _waits.interruptible(call)


def test_other_threads_need_no_worker():
    found = []
    thread = threading.Thread(target=lambda: found.append(
        _waits.interruptible(threading.current_thread)))
    thread.start()
    thread.join()
    assert found == [thread]


# --- paths

@pytest.mark.parametrize("path", ["/dev/accel/accel0\0x", b"/dev/accel/accel0\0x",
                                  os.fspath("a\0"), "\0"])
def test_a_null_byte_is_in_no_path(path):
    with pytest.raises(ValueError, match="null byte"):
        t3.Device(path)
    with Thing([], "device") as device:
        with pytest.raises(ValueError, match="null byte"):
            t3.Comm.in_directory(device, path, 0, 2)


# --- communicators

def test_a_join_that_was_interrupted_ends_what_it_gets(monkeypatch):
    hold, ended, order = threading.Event(), threading.Event(), []

    def create(_device, desc, _end, out):
        hold.wait()
        order.append(ffi.string(desc.dir))
        ffi.memmove(desc.text, b"x" * desc.text_size, desc.text_size)
        out[0] = ffi.cast("struct t3_comm *", 4096)
        return 0

    monkeypatch.setattr(comm, "lib", types.SimpleNamespace(
        t3_comm_create=create, t3_comm_destroy=lambda _: order.append("comm")))
    device = Thing([], "device")
    device._handle._destroy = lambda _: order.append("device") or ended.set()
    interrupt(lambda: t3.Comm.in_directory(device, "/run/ranks", 0, 2))
    device.close()
    gc.collect()
    others = [ffi.new("char[]", bytes(size)) for size in (10, 255) for _ in range(50)]
    hold.set()
    assert ended.wait(60)
    assert order == [b"/run/ranks", "comm", "device"]
    assert not any(b"x" in bytes(ffi.buffer(other)) for other in others)


def test_a_mistake_is_no_interruption():
    made = t3.Comm._with(Handle("comm", lambda _: 0))
    for _ in range(3):
        with pytest.raises(OverflowError):
            made._whole("sum", lambda pointer, end: ffi.new("uint32_t *", -1), None)
    assert made._whole("sum", lambda pointer, end: 0, None) == 0
    assert len([thread for thread in threading.enumerate() if thread.name == "t3-call"]) <= 3
    interrupt(lambda: made._whole("sum", lambda pointer, end: time.sleep(0.5) or 0, None))
    with pytest.raises(t3.Error, match="only close"):
        made.barrier()
    made.close()


# --- element types

@pytest.mark.parametrize("name, kind", [
    ("float32", t3.Dtype.F32), ("f16", t3.Dtype.F16), ("BF16", t3.Dtype.BF16),
    (np.int32, t3.Dtype.I32), (np.dtype("int8"), t3.Dtype.I8), (t3.Dtype.U8, t3.Dtype.U8),
    (float, t3.Dtype.F64), ("u64", t3.Dtype.U64), (np.int64, t3.Dtype.I64),
    ("uint32", t3.Dtype.U32)])
def test_names_of_element_types(name, kind):
    assert dtypes.dtype_of(name) is kind


@pytest.mark.parametrize("name", ["float128", "complex64", "uint16", "words"])
def test_other_types_are_refused(name):
    with pytest.raises(TypeError):
        dtypes.dtype_of(name)


def test_sizes_are_the_librarys():
    for kind, size in dtypes.SIZES.items():
        assert t3._library.lib.t3_dtype_bytes(kind) == size
        assert dtypes.numpy_dtype(kind).itemsize == size


def test_values_are_never_converted():
    with pytest.raises(TypeError, match="astype"):
        dtypes.input_array(np.zeros(3), t3.Dtype.F32)
    assert dtypes.input_array(np.zeros(3, "u2"), t3.Dtype.BF16).dtype == np.uint16


def test_results_need_a_fitting_array():
    good = np.zeros((2, 2), "f4")
    assert dtypes.output_array(good, t3.Dtype.F32, 4) is good
    frozen = good.copy()
    frozen.flags.writeable = False
    for bad, count in ((frozen, 4), (good.T, 4), (good, 5), (np.zeros(8, "f4")[::2], 4)):
        with pytest.raises(ValueError):
            dtypes.output_array(bad, t3.Dtype.F32, count)


# --- segments

@pytest.mark.parametrize("element", [1, 2, 4, 8])
def test_the_column_of_a_target_reaches_the_device_in_bytes(element):
    made, _ = t3.Target(3, row=2, column=5)._struct(element)
    assert (made.row, made.col) == (2, 5 * element)


def test_tiles_of_a_segment():
    segment = t3.Segment(0, rows=8, columns=10, tile_rows=4, tile_columns=3)
    assert segment.tiles == 8
    assert segment.tile(7) == t3.Tile(row=4, rows=4, column=9, columns=1, offset=196, bytes=16)
    assert segment.locate(5, 9) == 7
    for call in (lambda: segment.tile(8), lambda: segment.locate(8, 0)):
        with pytest.raises(t3.Error) as caught:
            call()
        assert caught.value.errno == errno.ERANGE


@pytest.mark.parametrize("change", [
    {"rows": 0}, {"columns": 0}, {"updates": 0}, {"updates": 65}, {"tile_rows": 9},
    {"tile_columns": 11}, {"offset": 2}, {"pitch": 36}, {"index": 64}])
def test_a_segment_out_of_range_names_its_fields(change):
    fields = {"index": 0, "rows": 8, "columns": 10, **change}
    with pytest.raises(t3.Error, match="Segment") as caught:
        t3.Segment(**fields).tiles
    assert caught.value.errno == errno.EINVAL


def test_words_that_are_no_choice_list_the_choices():
    with pytest.raises(ValueError, match="store, add, min, max, and, or, xor, mul"):
        t3.Segment(0, 1, 1, op="sub").tiles
