# SPDX-License-Identifier: MIT
"""What devices and spaces tell, as frozen dataclasses. Sizes are bytes, times nanoseconds."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any, ClassVar, Protocol, TypeVar

from t3._library import ffi, lib, string, text_by
from t3._names import (DRM_T3_REFUSAL_RANGE, DRM_T3_REFUSAL_SIGNED, DRM_T3_REFUSAL_VALUE,
                       DRM_T3_TILE_NONE, IOCTLS, CounterId, FaultKind, Feature, Nak, SpaceState,
                       Topology)


class Dataclass(Protocol):
    """Any dataclass, as dataclasses.fields() takes it."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


Record = TypeVar("Record", bound=Dataclass)
NONE32, NONE64 = 2**32 - 1, 2**64 - 1


def record_of(record: type[Record], struct: Any, **more: Any) -> Record:
    """The fields of a struct that the dataclass has, too."""
    names = {field.name for field in dataclasses.fields(record)} - set(more)
    return record(**{name: getattr(struct, name) for name in names}, **more)


@dataclasses.dataclass(frozen=True)
class DeviceEntry:
    """A PCI function. ``node`` is "" when no driver is bound."""

    bdf: str
    node: str


@dataclasses.dataclass(frozen=True)
class DeviceInfo:
    """Facts of a device: struct drm_t3_device_info of t3_accel.h."""

    features: Feature
    memory_size: int
    memory_free: int
    aperture_size: int
    fabric_id: int
    hw_version: int
    rank: int
    ranks: int
    topology: Topology
    tracker_entries: int
    tracker_ways: int
    max_spaces: int
    space_segments: int
    space_imports: int
    max_updates: int
    max_tile_bytes: int
    staging_slots: int
    file_memory_limit: int
    file_memory_used: int
    file_host_limit: int
    file_host_used: int
    node_ranks: int

    @classmethod
    def of(cls, struct: Any) -> DeviceInfo:
        return record_of(cls, struct, features=Feature(struct.features),
                         topology=Topology(struct.topology))


@dataclasses.dataclass(frozen=True)
class Counters:
    """Counters of a device since its reset, by names such as "stores" and "dma_bytes".

    The difference of two of them is what happened in between.
    """

    vtime_ns: int
    values: dict[str, int]

    @classmethod
    def of(cls, struct: Any) -> Counters:
        known = [counter for counter in CounterId if counter < struct.count]
        return cls(struct.vtime_ns, {counter.name.lower(): struct.value[counter]
                                     for counter in known})

    def __getitem__(self, name: str) -> int:
        return self.values[name]

    def __sub__(self, other: Counters) -> Counters:
        return Counters(self.vtime_ns - other.vtime_ns,
                        {name: value - other.values.get(name, 0)
                         for name, value in self.values.items()})


@dataclasses.dataclass(frozen=True)
class Fault:
    """A fault of a space. ``segment``, ``tile`` and ``offset`` are None where it has none."""

    kind: FaultKind
    detail: Nak
    segment: int | None
    tile: int | None
    offset: int | None
    epoch: int
    src_rank: int
    vtime_ns: int
    text: str

    @classmethod
    def of(cls, struct: Any) -> Fault:
        return record_of(cls, struct, kind=FaultKind(struct.kind), detail=Nak(struct.detail),
                         segment=None if struct.segment == NONE32 else struct.segment,
                         tile=None if struct.tile == NONE32 else struct.tile,
                         offset=None if struct.offset == NONE64 else struct.offset,
                         text=text_by(lib.t3_fault_text, ffi.addressof(struct)))

    @property
    def is_of_peer(self) -> bool:
        """Whether another rank's end or fault caused it."""
        return self.kind in (FaultKind.PEER_POISON, FaultKind.PEER_DEAD)


@dataclasses.dataclass(frozen=True)
class Refusal:
    """Which field made a call fail: struct drm_t3_refusal. ``text`` says all of it.

    ``ioctl`` is its name as in ``t3.uapi``, "" where libt3 refused the field, and the number where
    the DRM core has that ioctl. ``index`` is the element of an array.
    """

    ioctl: str
    struct: str
    field: str
    index: int | None
    value: int | None
    minimum: int | None
    maximum: int | None
    allowed: str
    text: str

    @classmethod
    def of(cls, struct: Any) -> Refusal:
        def number(known: int, value: int) -> int | None:
            if not struct.what & known:
                return None
            sign = struct.what & DRM_T3_REFUSAL_SIGNED and value >> 63
            return int(value - (1 << 64 if sign else 0))

        names = [name for name, known in IOCTLS.items() if known[0] == struct.request]
        ioctl = names[0] if names else f"{struct.request:#x}" if struct.request else ""
        return cls(ioctl=ioctl, struct=string(struct.struct_name), field=string(struct.field),
                   index=None if struct.index == NONE32 else struct.index,
                   value=number(DRM_T3_REFUSAL_VALUE, struct.value),
                   minimum=number(DRM_T3_REFUSAL_RANGE, struct.minimum),
                   maximum=number(DRM_T3_REFUSAL_RANGE, struct.maximum),
                   allowed=string(struct.allowed),
                   text=text_by(lib.t3_refusal_text, ffi.addressof(struct)))


_told = threading.local()


def new_refusal(error: int) -> Refusal | None:
    """This thread's last refusal, if it is of this error and was not returned before."""
    out = ffi.new("struct drm_t3_refusal *")
    try:
        known = lib.t3_refusal(error, out) == 0
    except OSError:  # a libt3 without it, or none
        return None
    if not known or out.struct_name[0] == b"\0":
        return None
    raw = bytes(ffi.buffer(out))
    if getattr(_told, "raw", None) == raw:
        return None
    _told.raw = raw
    return Refusal.of(out[0])


@dataclasses.dataclass(frozen=True)
class SegmentStats:
    """Counters of a segment since its map or reset: struct drm_t3_space_stats."""

    stores: int
    doorbells: int
    local_bytes: int
    remote_bytes: int
    triggers: int
    dma_bytes: int
    link_bytes: int
    nmc_elements: int
    tiles: int
    tiles_tracked: int
    space_state: SpaceState
    epoch: int
    hw_space: int
    generation: int

    @classmethod
    def of(cls, struct: Any) -> SegmentStats:
        return record_of(cls, struct, space_state=SpaceState(struct.space_state))


@dataclasses.dataclass(frozen=True)
class TileStats:
    """What a tile has counted and what it lacks: struct drm_t3_space_tile.

    ``tile`` is None when no tile is open: then only ``unacknowledged`` bytes are missing.
    """

    tile: int | None
    tile_flags: int
    space_state: SpaceState
    epoch: int
    tiles: int
    counted: int
    expected: int
    unacknowledged: int

    @classmethod
    def of(cls, struct: Any) -> TileStats:
        return record_of(cls, struct, space_state=SpaceState(struct.space_state),
                         tile=None if struct.tile == DRM_T3_TILE_NONE else struct.tile)
