# SPDX-License-Identifier: MIT
"""T3 accelerators: programs whose outputs are summed and sent while they are made.

Device, Buffer, Space, Segment, Target, Producer and Queue are libt3's objects, Comm and Plan its
collectives. Sizes are bytes if they are not said to be elements. Timeouts are seconds, and None
waits without an end. Calls release Python's lock. Handles do not survive fork(): open the device
after it. That a child closes or forgets its copies ends nothing of the parent's. ``t3.uapi`` has
the driver's ioctls.
"""

from t3._names import (Algorithm, Collective, Dtype, FaultKind, Feature, Init, Nak, Op, Path,
                       Progress, SpaceState, Topology)
from t3.buffer import Buffer
from t3.comm import Comm
from t3.device import Device, devices
from t3.errors import DeviceGoneError, Error, FaultError, PeerError, TimeoutError
from t3.plan import Plan, PlanSpace
from t3.producer import Producer
from t3.queue import Fence, Operand, Queue
from t3.records import (Counters, DeviceEntry, DeviceInfo, Fault, Refusal, SegmentStats,
                        TileStats)
from t3.segment import Segment, Target, Tile
from t3.space import Import, Space

__all__ = [
    "Algorithm", "Buffer", "Collective", "Comm", "Counters", "Device", "DeviceEntry",
    "DeviceGoneError", "DeviceInfo", "Dtype", "Error", "Fault", "FaultError", "FaultKind",
    "Feature", "Fence", "Import", "Init", "Nak", "Op", "Operand", "Path", "PeerError", "Plan",
    "PlanSpace", "Producer", "Progress", "Queue", "Refusal", "Segment", "SegmentStats", "Space",
    "SpaceState", "Target", "Tile", "TileStats", "TimeoutError", "Topology", "devices"]
