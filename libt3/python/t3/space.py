# SPDX-License-Identifier: MIT
"""Output address spaces: mappings, grants, epochs, waits and stores."""

from __future__ import annotations

import dataclasses
import errno
from typing import TYPE_CHECKING, Any, Callable, Iterable

from t3 import _waits, dtypes, errors
from t3._library import ffi, lib, text_by
from t3._names import Feature, Op, Progress, SpaceState
from t3._resource import Handle, Resource
from t3.records import Fault, SegmentStats, TileStats
from t3.segment import Segment, Target

if TYPE_CHECKING:
    from t3.buffer import Buffer
    from t3.device import Device

# Ops that not every device has, with their feature.
NEWER_OPS = {Op.AND: Feature.BITWISE, Op.OR: Feature.BITWISE, Op.XOR: Feature.BITWISE,
             Op.MUL: Feature.PRODUCT}


def mask_of(numbers: Iterable[int]) -> int:
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


@dataclasses.dataclass(frozen=True)
class Import:
    """A grant that a space has imported: what it may do there."""

    number: int
    segment_mask: int
    op_mask: int
    rank: int

    @classmethod
    def of(cls, number: int, struct: Any) -> Import:
        return cls(number, struct.segment_mask, struct.op_mask, struct.rank)


class BorrowedSpace(Resource):
    """What can be done with any space, also with that of a plan.

    Several threads may use a space at once, if a method does not say otherwise. After -EIO the
    Error is a FaultError or PeerError with the device's record.
    """

    def _check(self, result: int, what: str, is_wait: bool = False) -> None:
        """explain() is about waits; of another call it tells only what the space has become."""
        if result:
            tells = is_wait or result in (-errno.EIO, -errno.ENODEV) or (
                result == -errno.ENOENT and self.state is SpaceState.DEAD)
            raise errors.make(result, self.explain(result) if tells else "", what,
                              self.fault if result == -errno.EIO else None)

    def explain(self, error: int = 0) -> str:
        """A sentence about the space now: which tile lacks how much, or what faulted."""
        return self._call(lambda pointer: text_by(lib.t3_space_explain, pointer, error))

    @property
    def state(self) -> SpaceState:
        out = ffi.new("enum drm_t3_space_state *")
        self._check(self._call(lib.t3_poll_state, out, ffi.NULL), "state")
        return SpaceState(int(ffi.cast("uint32_t *", out)[0]))

    @property
    def epoch(self) -> int:
        """The epoch of `state`: the one in progress, or the last one released."""
        out = ffi.new("uint32_t *")
        self._check(self._call(lib.t3_poll_state, ffi.NULL, out), "state")
        return int(out[0])

    @property
    def fault(self) -> Fault | None:
        """The first fault since the last reset."""
        out = ffi.new("struct drm_t3_fault *")
        return None if self._call(lib.t3_space_fault, out) else Fault.of(out[0])

    def faults(self, room: int = 16) -> list[Fault]:
        """The newest faults, oldest first. The device keeps at least 15."""
        out = ffi.new("struct drm_t3_fault[]", room)
        count = self._call(lib.t3_space_faults, out, room, ffi.NULL)
        self._check(min(count, 0), "faults")
        return [Fault.of(out[index]) for index in range(count)]

    def segment_stats(self, segment: int) -> SegmentStats:
        """Counters of a segment. Errors: ENOENT: it is not mapped."""
        out = ffi.new("struct drm_t3_space_stats *")
        self._check(self._call(lib.t3_segment_stats, segment, out), f"segment {segment}")
        return SegmentStats.of(out)

    def open_tile(self, segment: int, start: int = 0) -> TileStats:
        """The first tile from `start` on that is not done."""
        return self._tile(lib.t3_tile_stats, segment, start)

    def tile_stats(self, segment: int, tile: int) -> TileStats:
        """One tile, done or not. Errors: EINVAL: there is no such tile."""
        return self._tile(lib.t3_tile_look, segment, tile)

    def _tile(self, function: Any, segment: int, tile: int) -> TileStats:
        out = ffi.new("struct drm_t3_space_tile *")
        self._check(self._call(function, segment, tile, out), f"tile of segment {segment}")
        return TileStats.of(out)

    def wait_armed(self, epoch: int, timeout: float | None = None) -> None:
        """Wait up to `timeout` seconds until the space and its targets are armed."""
        self._wait(lambda pointer, end: lib.t3_wait_armed(pointer, epoch, end), timeout)

    def wait(self, epoch: int, segments: Iterable[int] = (), timeout: float | None = None,
             progress: Progress = Progress.DELIVERED) -> None:
        """Wait until these segments (all, without one) are tracked or delivered in an epoch.

        Errors: TimeoutError says which tile lacks what; FaultError; PeerError; ENOENT: the space
        was closed.
        """
        mask = mask_of(segments)
        self._wait(lambda pointer, end: lib.t3_wait(pointer, epoch, mask, progress, end), timeout)

    def _wait(self, call: Callable[[Any, int], int], timeout: float | None) -> None:
        end = _waits.deadline(timeout)
        result = self._call(lambda pointer: _waits.in_slices(lambda part: call(pointer, part), end))
        self._check(result, "wait", is_wait=True)

    def wait_fd(self, segments: Iterable[int]) -> int:
        """A descriptor for poll(): POLLIN delivered, POLLERR faulted, POLLHUP dead. Close it."""
        out = ffi.new("int *")
        self._check(self._call(lib.t3_space_wait_fd, mask_of(segments), out), "wait descriptor")
        return int(out[0])

    def set_eventfd(self, segments: Iterable[int], fd: int | None) -> None:
        """Signal an eventfd when these segments are delivered, in each epoch. None ends that."""
        self._check(self._call(lib.t3_space_eventfd, mask_of(segments), -1 if fd is None else fd),
                    "eventfd")


class Space(BorrowedSpace):
    """An output address space over a buffer, as Device.space() makes it.

    Byte x of the space is byte x of the buffer. Map segments while it is IDLE. Then each epoch is:
    arm(), wait_armed(), store() or a Producer, wait(), read the buffer, release().
    """

    def __init__(self, device: Device, buffer: Buffer, max_tiles: int) -> None:
        out = ffi.new("struct t3_space **")
        result = device._call(
            lambda pointer: buffer._call(lambda memory: lib.t3_space_create(
                pointer, memory, max_tiles, out)))
        if result:
            raise errors.make(result, what="space")
        parent = device._live()
        self._own(Handle(out[0], lib.t3_space_destroy, (parent, buffer._live())))
        self._device = parent
        self._maker = device

    # --- mappings

    def map_local(self, segment: Segment) -> None:
        """Updates stay here."""
        self._check(self._call(lib.t3_local_map, segment._desc()), f"segment {segment.index}")

    def map_remote(self, segment: Segment, target: Target) -> None:
        """Each update goes to the target at once, and nothing is kept here."""
        struct, _more = target._struct(segment.element)
        self._check(self._call(lib.t3_remote_map, segment._desc(remote=True), struct),
                    f"segment {segment.index}")

    def map_dma(self, segment: Segment, target: Target) -> None:
        """Updates stay here. Each tile goes to the target when its count is reached."""
        struct, _more = target._struct(segment.element)
        self._check(self._call(lib.t3_dma_map, segment._desc(), struct),
                    f"segment {segment.index}")

    def unmap(self, segment: int) -> None:
        """Remove a segment. Errors: ENOENT: it is not mapped; EBUSY: the space is not idle."""
        self._check(self._call(lib.t3_unmap, segment), f"segment {segment}")

    # --- grants

    def _all_ops(self) -> tuple[Op, ...]:
        features = self._maker.info.features
        return tuple(op for op in Op if NEWER_OPS.get(op, features) & features)

    def export_grant(self, segments: Iterable[int], ops: Iterable[Op] | None = None,
                     ranks: Iterable[int] = ()) -> tuple[int, int]:
        """(descriptor, number) of a grant: who has the descriptor may send to these segments.

        Without ops it has all of the device, and without ranks it is for any. Pass the descriptor
        to one peer, then close it.
        """
        fd, number = ffi.new("int *"), ffi.new("uint32_t *")
        self._check(self._call(lib.t3_grant_export_to, mask_of(ranks), mask_of(segments),
                               mask_of(self._all_ops() if ops is None else ops), fd, number),
                    "grant")
        return int(fd[0]), int(number[0])

    def import_grant(self, fd: int) -> Import:
        """Bind a grant to this space, which then may send. The descriptor stays the caller's."""
        number, info = ffi.new("uint32_t *"), ffi.new("struct t3_import_info *")
        self._check(self._call(lib.t3_grant_import, fd, number, info), "import of a grant")
        return Import.of(number[0], info)

    def export_key(self, segments: Iterable[int], ops: Iterable[Op] | None = None,
                   ranks: Iterable[int] = ()) -> tuple[bytes, int]:
        """(key, number) of a grant that can leave this machine. Keep the key secret."""
        key, number = ffi.new("struct t3_key *"), ffi.new("uint32_t *")
        self._check(self._call(lib.t3_key_export, mask_of(ranks), mask_of(segments),
                               mask_of(self._all_ops() if ops is None else ops), key, number),
                    "key")
        return bytes(ffi.buffer(key)), int(number[0])

    def import_key(self, key: bytes) -> Import:
        """As import_grant(), by a key. Errors: EACCES: the target refuses it."""
        struct = ffi.new("struct t3_key *")
        if len(key) != ffi.sizeof(struct[0]):
            raise ValueError(f"a key has {ffi.sizeof(struct[0])} bytes, not {len(key)}")
        ffi.memmove(struct, key, len(key))
        number, info = ffi.new("uint32_t *"), ffi.new("struct t3_import_info *")
        self._check(self._call(lib.t3_key_import, struct, number, info), "import of a key")
        return Import.of(number[0], info)

    def revoke(self, grant: int) -> None:
        """No update of the grant's importer is applied after this. Errors: ENOENT."""
        self._check(self._call(lib.t3_grant_revoke, grant), f"grant {grant}")

    def release_import(self, number: int) -> None:
        """Give up an import. Errors: EBUSY: a segment uses it, or the space is not idle."""
        self._check(self._call(lib.t3_grant_release, number), f"import {number}")

    # --- epochs and stores

    def arm(self, epoch: int) -> None:
        """Start an epoch, without a system call: the last one + 1, or any after a reset."""
        self._check(self._call(lib.t3_arm, epoch), f"arm of epoch {epoch}")

    def release(self, epoch: int) -> None:
        """The results of a complete epoch have been read: peers may send their next updates."""
        self._check(self._call(lib.t3_release, epoch), f"release of epoch {epoch}")

    def reset(self) -> None:
        """Back to IDLE from any state. Only local segments stay. One thread at a time."""
        self._check(self._call(lib.t3_space_reset), "reset")

    def set_spin(self, seconds: float) -> None:
        """How long waits poll before they sleep. 0 sleeps at once; the default is 20 us."""
        self._call(lib.t3_space_set_spin, int(seconds * 1e9))

    def store(self, segment: Segment, row: int, column: int, data: Any) -> None:
        """Make tracked stores of an array into one row of a segment. Errors: ERANGE: outside."""
        array = dtypes.input_array(data, dtypes.dtype_of(segment.dtype))
        view = self._view(segment)
        self._stored(self._call(lambda _: lib.t3_store_run(
            view, row, column * segment.element, ffi.cast("void *", dtypes.address(array)),
            array.nbytes)), f"store at ({row}, {column})")

    def store_tile(self, segment: Segment, tile: int, data: Any) -> None:
        """Make tracked stores of a whole tile, of an array with the tile's shape."""
        shape = segment.tile(tile)
        array = dtypes.input_array(data, dtypes.dtype_of(segment.dtype))
        if array.size != shape.rows * shape.columns:
            raise ValueError(f"tile {tile} has {shape.rows} x {shape.columns} elements, and the "
                             f"array {array.shape}")
        view = self._view(segment)
        self._stored(self._call(lambda _: lib.t3_store_tile(
            view, tile, ffi.cast("void *", dtypes.address(array)),
            shape.columns * segment.element)), f"store of tile {tile}")

    def _view(self, segment: Segment) -> Any:
        view = ffi.new("struct t3_view *")
        self._stored(self._call(lib.t3_view_aperture, segment._desc(), view), "segment")
        return view

    @staticmethod
    def _stored(result: int, what: str) -> None:
        if result:
            raise errors.make(result, what=what)
