# SPDX-License-Identifier: MIT
"""Devices, buffers and queues, in a VM."""

import copy
import errno
import gc
import os
import pickle
import threading

import numpy as np
import pytest
from conftest import RANKS, SECONDS

import t3


def test_devices_are_found_and_opened_in_each_way():
    found = t3.devices()
    assert len(found) == RANKS and all(entry.bdf and entry.node for entry in found)
    with t3.Device(found[1].node) as by_path, t3.Device(1) as by_index, \
            t3.Device.of_rank(1) as by_rank, t3.Device.of_fd(by_path.fileno()) as by_fd:
        assert [one.info.rank for one in (by_path, by_index, by_rank, by_fd)] == [1] * 4


def test_a_wrong_rank_is_told_with_those_there_are():
    with pytest.raises(t3.DeviceGoneError, match="rank"):
        t3.Device.of_rank(31)


def test_facts_of_a_device(device):
    info = device.info
    assert (info.rank, info.ranks, info.space_segments) == (0, RANKS, 64)
    assert t3.Feature.QUEUES in info.features and info.topology is t3.Topology.RING
    before = info.memory_free
    with device.buffer(8192):
        assert before - device.info.memory_free == 8192
    assert device.info.memory_free == before


def test_arrays_look_at_the_memory_itself(device):
    with device.buffer(5000) as buffer:
        assert buffer.size == 8192
        first, again = buffer.array("f32", (2, 100)), buffer.array("i32", 200)
        first[:] = 1
        assert (again == 0x3f800000).all()
        assert buffer.array("bf16", 3, offset=2)[0] == 0x3f80
        assert buffer.array("f32", offset=8184).shape == (2,)
        assert np.asarray(buffer).nbytes == buffer.memoryview().nbytes == 8192
        assert buffer.memoryview()[:4].hex() == "0000803f"
        for bad in (lambda: buffer.array("f32", 2049), lambda: buffer.array("u8", 1, 8192),
                    lambda: buffer.array("u8", (-1, -1)), lambda: buffer.array("u8", 1, -1)):
            with pytest.raises(ValueError):
                bad()


def test_a_buffer_is_not_copied_and_made_once(device):
    """Two objects of one buffer, both closed, unmapped it below its arrays."""
    buffer = device.buffer(4096)
    array = buffer.array("i32")
    array[:] = 7
    for way in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="a Buffer cannot be copied"):
            way(buffer)
    free = device.info.memory_free
    with pytest.raises(TypeError, match="second __init__"):
        buffer.__init__(device, 8192)
    assert device.info.memory_free == free
    buffer.close()
    with pytest.raises(TypeError, match="second __init__"):
        buffer.__init__(device, 8192)
    assert device.info.memory_free == free and buffer.closed
    assert (array == 7).all()


def test_queues_spaces_and_devices_are_made_once(device):
    with device.buffer(4096) as buffer, device.queue() as queue, \
            device.space(buffer, 1) as space, t3.Device(0) as again, device.buffer(4096) as other:
        for made, arguments in ((queue, (device,)), (space, (device, other, 1)), (again, (0,))):
            with pytest.raises(TypeError, match="second __init__"):
                made.__init__(*arguments)
        assert space.state is t3.SpaceState.IDLE and again.info.rank == device.info.rank


def test_an_array_keeps_the_memory_of_a_closed_buffer(device):
    buffer = device.buffer(4096)
    free = device.info.memory_free
    array = buffer.array("i32")
    array[:] = 7
    part, exports = array[10:20], buffer.exports
    del array
    buffer.close()
    assert exports == 1 and device.info.memory_free == free
    assert (part == 7).all()
    with pytest.raises(ValueError, match="closed"):
        buffer.array()
    del part
    gc.collect()
    assert device.info.memory_free == free + 4096


def test_a_device_ends_after_its_buffers():
    device = t3.Device(0)
    fd = device.fileno()
    buffer = device.buffer(4096)
    device.close()
    os.fstat(fd)
    assert buffer.size == 4096
    buffer.close()
    with pytest.raises(OSError):
        os.fstat(fd)


def test_a_dma_buf_is_the_same_buffer(device):
    with device.buffer(4096) as buffer:
        fd = buffer.export()
        buffer.array()[:] = 5
        with device.import_buffer(fd) as other:
            os.close(fd)
            assert (other.array() == 5).all()


@pytest.mark.parametrize("size, number", [(0, errno.EINVAL), (2**60, errno.EINVAL)])
def test_a_wrong_size_is_an_error(device, size, number):
    with pytest.raises(t3.Error, match=f"buffer of {size} bytes") as caught:
        device.buffer(size)
    assert caught.value.errno == number


# --- queues

def test_jobs_copy_fill_and_update(device):
    with device.queue() as queue, device.buffer(4096) as x, device.buffer(4096) as y:
        with queue.fill(x, 0x3f8000003f800000, 4096), queue.copy(y, x, 4096), \
                queue.update(y, x, columns=512) as last:
            last.wait(SECONDS)
        assert (y.array("f32")[:512] == 2).all() and (y.array("f32")[512:] == 1).all()
        with queue.copy(t3.Operand(y, 0, 64), t3.Operand(x, 1024, 32), 8, rows=4) as job:
            job.wait(SECONDS)
        assert [int(value) for value in y.array("f32")[:40:16]] == [1, 1, 1]
        assert y.array("f32")[2] == 2


def test_a_host_buffer_is_copied(device):
    with device.queue() as queue, device.buffer(4096, host=True) as host, \
            device.buffer(4096) as buffer:
        host.array("i32")[:] = np.arange(1024, dtype="i4")
        with queue.copy(buffer, host, 4096) as job:
            job.wait(SECONDS)
        assert (buffer.array("i32") == np.arange(1024)).all()


def test_a_product(device):
    rows, columns, depth = 8, 12, 16
    random = np.random.default_rng(1)
    with device.queue() as queue, device.buffer(4096) as a, device.buffer(4096) as b, \
            device.buffer(4096) as c:
        a.array("i32", (rows, depth))[:] = random.integers(-9, 9, (rows, depth))
        b.array("i32", (depth, columns))[:] = random.integers(-9, 9, (depth, columns))
        with queue.gemm(a, b, c, (rows, columns, depth), "i32", tile_rows=4) as job:
            job.wait(SECONDS)
        assert (c.array("i32", (rows, columns)) ==
                a.array("i32", (rows, depth)) @ b.array("i32", (depth, columns))).all()
        with pytest.raises(TypeError, match="tile_rows"):
            queue.gemm(a, b, c, (rows, columns, depth), "i32", tiles=4)


def test_a_wrong_job_is_an_error(device):
    with device.queue() as queue, device.buffer(4096) as buffer, \
            device.buffer(4096, host=True) as host:
        for job, number in ((lambda: queue.fill(buffer, 0, 4097), errno.EINVAL),
                            (lambda: queue.update(buffer, host, 4), errno.EOPNOTSUPP)):
            with pytest.raises(t3.Error) as caught:
                job()
            assert caught.value.errno == number


def test_threads_share_a_device(device):
    wrong = []

    def work(number):
        try:
            with device.buffer(4096) as buffer, device.queue() as queue:
                with queue.fill(buffer, number, 4096) as job:
                    job.wait(SECONDS)
                assert (buffer.array("u8")[::8] == number).all()
        except BaseException as error:  # told by the thread that can fail the test
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
