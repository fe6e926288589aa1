# SPDX-License-Identifier: MIT
"""The driver's ioctls by t3.uapi, in a VM."""

import errno
import re
import select

import pytest
from conftest import ROOT

from t3 import uapi


def test_objects_are_made_and_mapped(node):
    made = uapi.ioctl(node, "bo_create", size=100)
    assert (made.size, made.handle > 0) == (4096, True)
    space = uapi.ioctl(node, "space_create", bo_handle=made.handle, max_tiles=4)
    with uapi.mmap(node, space.event_offset, writable=False) as mapping:
        area = uapi.event_area(mapping)
        assert area.state >> 32 == uapi.SpaceState.IDLE
        del area
    uapi.ioctl(node, "segment_map", space=space.space, kind=uapi.SegmentKind.LOCAL,
               op=uapi.Op.ADD, dtype=uapi.Dtype.F32, updates=1, rows=1, row_bytes=64, pitch=64,
               tile_rows=1, tile_row_bytes=64)
    assert uapi.ioctl(node, "space_stats", space=space.space).tiles == 1
    uapi.ioctl(node, "space_destroy", space=space.space)
    uapi.ioctl(node, "gem_close", handle=made.handle)


def test_a_pointer_is_an_address(node):
    info = uapi.struct("drm_t3_device_info")
    asked = uapi.ioctl(node, "query", type=uapi.DRM_T3_QUERY_DEVICE,
                       size=uapi.sizeof("drm_t3_device_info"), data=uapi.address(info))
    assert asked.size == uapi.sizeof("drm_t3_device_info") and info.ranks == 4


def test_a_job_with_a_syncobj(node):
    memory = uapi.ioctl(node, "bo_create", size=4096)
    queue = uapi.ioctl(node, "queue_create").queue
    done = uapi.ioctl(node, "syncobj_create").handle
    fill = uapi.array("drm_t3_fill", [{
        "head": {"type": uapi.CommandType.FILL}, "rows": 1, "row_bytes": 4096,
        "dst": {"handle": memory.handle}, "pattern": 0x0101010101010101}])
    out = uapi.array("drm_t3_sync", [uapi.struct("drm_t3_sync", handle=done)])
    uapi.ioctl(node, "queue_submit", queue=queue, command_count=1,
               command_stride=uapi.sizeof("drm_t3_fill"), commands=uapi.address(fill), out_count=1,
               out_syncs=uapi.address(out), sync_stride=uapi.sizeof("drm_t3_sync"))
    fence = uapi.ioctl(node, "syncobj_handle_to_fd", handle=done, flags=1, fd=-1).fd
    assert select.select([fence], [], [], 60)[0]
    offset = uapi.ioctl(node, "bo_mmap_offset", handle=memory.handle).offset
    with uapi.mmap(node, offset) as mapping:
        assert mapping[:8] == b"\1" * 8


@pytest.mark.parametrize("size, tail", [(8, b""), (24, b""), (24, b"\1")])
def test_shorter_and_longer_arguments(node, size, tail):
    """The rules of extension: missing fields are zeros, the surplus is not looked at."""
    made = uapi.ioctl(node, "bo_create", argument_size=size, tail=tail, size=4096)
    assert made.size == 4096 and (made.handle > 0) == (size > 8)


def test_errors_name_the_field(node):
    with pytest.raises(uapi.Refused) as caught:
        uapi.ioctl(node, "bo_create", flags=2, size=1)
    error = caught.value
    assert (error.ioctl, error.struct, error.field) == ("bo_create", "drm_t3_bo_create", "flags")
    assert (error.value, error.index, error.allowed) == (2, None, "DRM_T3_BO_HOST or 0")
    assert "drm_t3_bo_create.flags is 2; allowed: DRM_T3_BO_HOST or 0" in str(error)
    with pytest.raises(uapi.Refused) as caught:
        uapi.ioctl(node, "space_wait", what=0, epoch=1, deadline_ns=-5)
    assert (caught.value.field, caught.value.value) == ("deadline_ns", -5)


@pytest.mark.parametrize("fields, number", [
    ({"flags": 2, "size": 1}, errno.EINVAL), ({"size": 0}, errno.EINVAL),
    ({"size": 2**63}, errno.EINVAL)])
def test_errors_name_the_ioctl(node, fields, number):
    with pytest.raises(OSError, match="bo_create") as caught:
        uapi.ioctl(node, "bo_create", **fields)
    assert caught.value.errno == number


def test_wrong_names_list_the_right_ones(node):
    with pytest.raises(TypeError, match="it has size, flags, handle"):
        uapi.ioctl(node, "bo_create", length=1)
    with pytest.raises(ValueError, match="space_create"):
        uapi.ioctl(node, "space_make")
    with pytest.raises(OverflowError):
        uapi.ioctl(node, "bo_create", flags=2**32)


def test_the_test_of_the_uapis_readme_passes(node):
    text = (ROOT / "uapi/README.md").read_text()
    program = re.search(r"^```python\n(.*?)^```", text, re.M | re.S)[1]
    names = {"pytest": pytest, "uapi": uapi, "errno": errno}
    exec(compile(program, "uapi/README.md", "exec"), names)
    names["test_a_space_needs_a_buffer"](node)
