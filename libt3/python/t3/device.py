# SPDX-License-Identifier: MIT
"""Devices: finding, opening and asking them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from t3 import errors
from t3._library import ffi, lib, path_bytes, string, text_by
from t3._resource import Handle, Resource
from t3.records import Counters, DeviceEntry, DeviceInfo

if TYPE_CHECKING:
    from t3.buffer import Buffer
    from t3.queue import Queue
    from t3.space import Space


def devices() -> list[DeviceEntry]:
    """All T3 functions of this machine, in the order of their PCI addresses. May be empty."""
    out = ffi.new("struct t3_device_list **")
    result = lib.t3_device_list(out)
    if result:
        raise errors.make(result, what="list of devices")
    try:
        entries = [lib.t3_device_list_get(out[0], index)
                   for index in range(lib.t3_device_list_count(out[0]))]
        return [DeviceEntry(string(entry.bdf), string(entry.node)) for entry in entries]
    finally:
        lib.t3_device_list_free(out[0])


class Device(Resource):
    """An open device. Several threads may use it at once.

    Device(path) opens a node such as "/dev/accel/accel0", and Device(index) the device with this
    place in devices(). A failed open raises an Error that says what to do: load the driver, join a
    group, take another rank.
    """

    def __init__(self, which: str | os.PathLike[str] | int = 0) -> None:
        if isinstance(which, int):
            self._open(lib.t3_device_open_index, which)
        else:
            self._open(lib.t3_device_open, path_bytes(which))

    @classmethod
    def of_rank(cls, rank: int, fabric: int = 0) -> Device:
        """The device of a rank. Fabric 0 is that of T3_FABRIC, or without the variable any."""
        made = cls.__new__(cls)
        made._open(lib.t3_device_open_rank, fabric, rank)
        return made

    @classmethod
    def of_fd(cls, fd: int) -> Device:
        """The device of an open descriptor, which stays the caller's."""
        made = cls.__new__(cls)
        made._open(lib.t3_device_open_fd, fd)
        return made

    def _open(self, function: Any, *which: Any) -> None:
        out = ffi.new("struct t3_device **")
        result = function(*which, out)
        if result:
            path = which[0] if isinstance(which[0], bytes) else ffi.NULL
            raise errors.make(result, text_by(lib.t3_device_explain, path, result), "open")
        self._own(Handle(out[0], lib.t3_device_close))

    def fileno(self) -> int:
        """The descriptor, for t3.uapi and fstat(). The device owns it."""
        return int(self._call(lib.t3_device_fd))

    @property
    def info(self) -> DeviceInfo:
        """Facts and limits, read anew."""
        struct = ffi.new("struct drm_t3_device_info *")
        self._check(self._call(lib.t3_device_info, struct), "device info")
        return DeviceInfo.of(struct)

    def counters(self) -> Counters:
        """Counters since the reset of the device. Subtract two of them."""
        struct = ffi.new("struct drm_t3_counters *")
        self._check(self._call(lib.t3_device_counters, struct), "device counters")
        return Counters.of(struct)

    def buffer(self, size: int, host: bool = False) -> Buffer:
        """`size` bytes of zeroed device memory, rounded up to pages.

        With host=True it is memory of the machine, which queues can copy and fill. Errors: ENOSPC
        and EDQUOT: there is not enough; EOPNOTSUPP: host, and the device's DMA is not coherent.
        """
        from t3.buffer import Buffer  # pylint: disable=import-outside-toplevel

        return Buffer(self, size, host)

    def import_buffer(self, fd: int) -> Buffer:
        """The buffer of a dma-buf. Close it before another import of the same dma-buf."""
        from t3.buffer import Buffer  # pylint: disable=import-outside-toplevel

        return Buffer.of_dma_buf(self, fd)

    def space(self, buffer: Buffer, max_tiles: int) -> Space:
        """An output address space over a buffer, with room for that many tiles, 1 to 2**20."""
        from t3.space import Space  # pylint: disable=import-outside-toplevel

        return Space(self, buffer, max_tiles)

    def queue(self, priority: int = 0) -> Queue:
        """A queue of jobs. A priority above 0, up to 3, needs CAP_SYS_NICE."""
        from t3.queue import Queue  # pylint: disable=import-outside-toplevel

        return Queue(self, priority)

    @staticmethod
    def _check(result: int, what: str) -> None:
        if result:
            raise errors.make(result, what=what)
