# SPDX-License-Identifier: MIT
"""The device of this process, which all its groups use."""

from __future__ import annotations

import os
import threading

import t3

_lock = threading.Lock()
_device: t3.Device | None = None
_users = 0


def acquire(rank: int) -> t3.Device | None:
    """The device of this process, or None where T3_TORCH_DEVICE is none.

    `rank` is that of the group that asks first. Each acquire() is followed by one release().
    """
    global _device, _users  # pylint: disable=global-statement
    if os.environ.get("T3_TORCH_DEVICE") == "none":
        return None
    with _lock:
        if _device is None:
            _device = open_device(rank)
        _users += 1
        return _device


def release() -> None:
    global _device, _users  # pylint: disable=global-statement
    with _lock:
        _users -= 1
        if not _users and _device is not None:
            _device.close()
            _device = None


def open_device(rank: int) -> t3.Device:
    """By T3_TORCH_DEVICE, else by the launcher's local rank, else the one with this rank."""
    index = index_of(os.environ)
    try:
        return t3.Device.of_rank(rank) if index is None else t3.Device(index)
    except OSError as error:
        raise RuntimeError(f"t3: rank {rank} has no device: {error.strerror}"
                           f"{advice()}") from error


def index_of(environment: os._Environ[str] | dict[str, str]) -> int | None:
    """The index of `t3 list` that the environment says, or None where it says nothing."""
    local = environment.get("LOCAL_RANK", "")
    wanted = environment.get("T3_TORCH_DEVICE", "auto")
    if wanted == "auto":
        return int(local) if local else None
    indexes = wanted.split(",")
    if not all(one.isdecimal() for one in indexes):
        raise RuntimeError(f"t3: T3_TORCH_DEVICE is auto, none or a list of indexes such as "
                           f"0,1,2,3; it is {wanted!r}")
    place = int(local or environment.get("RANK", "0"))
    if place >= len(indexes):
        raise RuntimeError(f"t3: T3_TORCH_DEVICE lists {len(indexes)} devices, and this process is "
                           f"rank {place} of its node")
    return int(indexes[place])


def advice() -> str:
    """What a user can do. Without libt3 the error itself says it."""
    try:
        found = len(t3.devices())
    except OSError:
        return ""
    if not found:
        return (". This machine has none: run the program in a VM by t3-vm run --root host, or, to "
                "try it without devices, with T3_TORCH_DEVICE=none")
    return (f". This machine has {found} (see t3 list): start as many ranks as there are devices, "
            "or name them by T3_TORCH_DEVICE=0,1,..")
