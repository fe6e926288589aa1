# SPDX-License-Identifier: MIT
"""Spaces, producers and grants, in a VM."""

import contextlib
import errno
import os
import select

import numpy as np
import pytest
from conftest import SECONDS

import t3

SEGMENT = t3.Segment(0, rows=4, columns=256, tile_rows=2, tile_columns=128)
TILE = np.ones((2, 128), "f4")


@contextlib.contextmanager
def space_of(device, segment=SEGMENT):
    with device.buffer(4096) as buffer, device.space(buffer, 64) as space:
        if segment:
            space.map_local(segment)
        yield space, buffer


def test_an_epoch_of_stores(device):
    before = device.counters()
    with space_of(device) as (space, buffer):
        assert (space.state, space.epoch) == (t3.SpaceState.IDLE, 0)
        for epoch in (1, 2):
            space.arm(epoch)
            space.wait_armed(epoch, SECONDS)
            for tile in range(SEGMENT.tiles):
                space.store_tile(SEGMENT, tile, TILE * tile * epoch)
            space.wait(epoch, timeout=SECONDS)
            assert space.state is t3.SpaceState.COMPLETE
            assert (buffer.array("f32", (4, 256))[::2, ::128] == np.array([[0, 1], [2, 3]])
                    * epoch).all()
            space.release(epoch)
        stats = space.segment_stats(0)
        assert (stats.tiles, stats.triggers, stats.local_bytes) == (4, 8, 8192)
        assert space.tile_stats(0, 1).counted == 1024
    # A store has at most 8 bytes.
    assert (device.counters() - before)["stores"] == 8192 // 8


def test_a_timeout_says_which_tile_lacks_what(device):
    with space_of(device) as (space, _):
        space.arm(1)
        for tile in (0, 1, 3):
            space.store_tile(SEGMENT, tile, TILE)
        space.store(SEGMENT, 2, 0, TILE[0])
        with pytest.raises(t3.TimeoutError, match="tile 2 of 4.*512 of its 1024"):
            space.wait(1, timeout=0.2)
        assert space.open_tile(0).tile == 2
        space.store(SEGMENT, 3, 0, TILE[1])
        space.wait(1, timeout=SECONDS)
        assert space.open_tile(0).tile is None
        space.wait(1, segments=[0], timeout=0)


def test_a_store_that_is_not_due_raises_the_devices_record(device):
    with space_of(device) as (space, _):
        space.store(SEGMENT, 1, 64, TILE[0])
        with pytest.raises(t3.FaultError) as caught:
            space.wait(1, timeout=SECONDS)
        fault = caught.value.fault
        assert (fault.kind, fault.segment, fault.offset) == (t3.FaultKind.NOT_ARMED, 0, 1280)
        assert caught.value.errno == errno.EIO and space.faults()[0] == fault
        space.reset()
        assert space.fault is None
        space.arm(7)
        space.wait_armed(7, SECONDS)


def test_stores_outside_are_refused_before_the_device(device):
    with space_of(device) as (space, _):
        for bad in (lambda: space.store(SEGMENT, 4, 0, TILE[0]),
                    lambda: space.store(SEGMENT, 0, 200, TILE[0]),
                    lambda: space.store_tile(SEGMENT, 4, TILE)):
            with pytest.raises(t3.Error) as caught:
                bad()
            assert caught.value.errno == errno.ERANGE
        with pytest.raises(ValueError, match="2 x 128"):
            space.store_tile(SEGMENT, 0, TILE[0])
        with pytest.raises(TypeError):
            space.store(SEGMENT, 0, 0, np.zeros(4))
        assert space.fault is None


@pytest.mark.parametrize("path", ["store", "doorbell"])
def test_a_producer(device, path):
    with space_of(device) as (space, buffer), t3.Producer(space, SEGMENT, path) as producer:
        assert producer.path is t3.Path[path.upper()]
        producer.begin()
        space.arm(1)
        space.wait_armed(1, SECONDS)
        producer.put_tile(0, TILE)
        producer.put(0, 128, TILE[0])
        assert producer.missing() == (1, 512) and producer.bytes == 1536
        producer.put(1, 128, TILE[0])
        for tile in (2, 3):
            producer.put_tile(tile, TILE)
        assert producer.missing() is None
        with pytest.raises(t3.Error) as caught:
            producer.put_tile(0, TILE)
        assert caught.value.errno == errno.EOVERFLOW
        space.wait(1, timeout=SECONDS)
        assert (buffer.array("f32", 1024) == 1).all()


def test_a_wait_descriptor_is_polled(device):
    with space_of(device) as (space, _):
        fd = space.wait_fd([0])
        events = os.eventfd(0)
        space.set_eventfd([0], events)
        space.arm(1)
        assert not select.select([fd], [], [], 0)[0]
        for tile in range(4):
            space.store_tile(SEGMENT, tile, TILE)
        assert select.select([fd], [], [], SECONDS)[0]
        assert os.eventfd_read(events) == 1
        space.set_eventfd([0], None)
        os.close(fd)
        os.close(events)


@pytest.mark.parametrize("kind", ["remote", "dma"])
@pytest.mark.parametrize("key", [False, True])
def test_a_grant_lets_a_peer_send(device, kind, key):
    with t3.Device.of_rank(1) as peer, space_of(peer) as (target, memory), \
            space_of(device, None) as (source, _):
        if key:
            text, number = target.export_key([0], [t3.Op.ADD], ranks=[0])
            granted = source.import_key(text)
        else:
            fd, number = target.export_grant([0], [t3.Op.ADD])
            granted = source.import_grant(fd)
            os.close(fd)
        assert (granted.rank, granted.segment_mask) == (1, 1)
        getattr(source, f"map_{kind}")(SEGMENT, t3.Target(granted.number))
        target.arm(1)
        source.arm(1)
        source.wait_armed(1, SECONDS)
        for tile in range(4):
            source.store_tile(SEGMENT, tile, TILE)
        target.wait(1, timeout=SECONDS)
        source.wait(1, timeout=SECONDS)
        assert (memory.array("f32", 1024) == 1).all()
        target.revoke(number)
        with pytest.raises(t3.Error) as caught:
            target.revoke(number)
        assert caught.value.errno == errno.ENOENT


def test_a_peer_that_ends_is_a_peer_error(device):
    with space_of(device, None) as (source, _):
        with t3.Device.of_rank(1) as peer, space_of(peer) as (target, _):
            fd, _ = target.export_grant([0])
            source.map_dma(SEGMENT, t3.Target(source.import_grant(fd).number))
            os.close(fd)
            target.arm(1)
            source.arm(1)
            source.wait_armed(1, SECONDS)
        with pytest.raises(t3.PeerError) as caught:
            source.wait(1, timeout=SECONDS)
        assert caught.value.fault.is_of_peer


def test_a_segment_that_overlaps_is_an_error(device):
    with space_of(device) as (space, _):
        with pytest.raises(t3.Error, match="segment 1") as caught:
            space.map_local(t3.Segment(1, 1, 16))
        assert caught.value.errno == errno.EEXIST
        refusal = caught.value.refusal
        assert (refusal.ioctl, refusal.struct) == ("segment_map", "drm_t3_segment_map")
        assert (refusal.field, refusal.value, refusal.index) == ("offset", 0, None)
        assert refusal.text in str(caught.value)
        space.unmap(0)
        space.map_local(t3.Segment(1, 1, 16))


def test_a_gemm_into_a_space(device):
    with space_of(device, t3.Segment(0, 8, 8, "i32", tile_rows=8)) as (space, buffer), \
            device.queue() as queue, device.buffer(4096) as a, device.buffer(4096) as b:
        a.array("i32", (8, 8))[:] = b.array("i32", (8, 8))[:] = np.arange(64).reshape(8, 8)
        space.arm(1)
        space.wait_armed(1, SECONDS)
        with queue.gemm(a, b, space, (8, 8, 8), "i32") as job:
            job.wait(SECONDS)
        space.wait(1, timeout=SECONDS)
        assert (buffer.array("i32", (8, 8)) ==
                a.array("i32", (8, 8)) @ b.array("i32", (8, 8))).all()
