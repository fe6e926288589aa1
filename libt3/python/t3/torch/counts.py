# SPDX-License-Identifier: MIT
"""How each collective went: what the devices did, and what went another way."""

from __future__ import annotations

import threading

DEVICE = "device"        # moved and reduced by T3 devices
CONVERTED = "converted"  # by T3 devices, in another type that holds each value exactly
COMBINED = "combined"    # moved by T3 devices, reduced by torch on the processor, in rank order
GLOO = "gloo"            # moved by gloo, as there is no way between the devices
ALONE = "alone"          # a group of one rank: nothing to do
WAYS = (DEVICE, CONVERTED, COMBINED, GLOO, ALONE)

_lock = threading.Lock()
_counts: dict[str, dict[str, int]] = {}


def count(collective: str, way: str) -> None:
    with _lock:
        ways = _counts.setdefault(collective, {})
        ways[way] = ways.get(way, 0) + 1


def counts() -> dict[str, dict[str, int]]:
    """{collective: {way: calls}} of this process, since its start or reset_counts().

    Ways: "device": T3 devices did all of it. "converted": they did, in another type, exactly.
    "combined": they moved the data, and torch reduced it on the processor in the order of the
    ranks. "gloo": gloo moved the data, as there is no way between the devices. "alone": the group
    has one rank. A call that is several collectives counts as one, by the last way in this order.
    """
    with _lock:
        return {name: dict(ways) for name, ways in sorted(_counts.items())}


def reset_counts() -> None:
    with _lock:
        _counts.clear()
