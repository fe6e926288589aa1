# SPDX-License-Identifier: MIT
"""torch's gloo: messages between two ranks, and the way of a group without one by its devices."""

from __future__ import annotations

import collections
import datetime
import os
from typing import Any

import torch
import torch.distributed as dist


class Gloo:
    """Moves of bytes by gloo. Reductions are left to the caller: reduces() is never true."""

    name = "gloo"

    def __init__(self, store: Any, rank: int, ranks: int, timeout: datetime.timedelta) -> None:
        self.rank, self.ranks = rank, ranks
        options = dist.ProcessGroupGloo._Options()
        options._devices = [create_device()]
        options._timeout = timeout
        self.group: Any = dist.ProcessGroupGloo(store, rank, ranks, options)
        # The end of gloo's group waits for its threads, with Python's lock held. A thread that has
        # the last reference to a tensor waits for that lock. So it never has: the last tensors stay.
        self._recent: collections.deque[Any] = collections.deque(maxlen=16)

    @staticmethod
    def reduces(_dtype: torch.dtype, _op: str) -> bool:
        return False

    def all_gather(self, source: torch.Tensor, target: torch.Tensor) -> None:
        rows, mine = list(as_bytes(target).view(self.ranks, -1)), as_bytes(source)
        self._recent.append((rows, mine))
        self.group.allgather([rows], [mine]).wait()

    def all_to_all(self, source: torch.Tensor, target: torch.Tensor) -> None:
        received, sent = as_bytes(target), as_bytes(source)
        self._recent.append((received, sent))
        self.group.alltoall_base(received, sent, [], []).wait()

    def broadcast(self, data: torch.Tensor, root: int) -> None:
        options = dist.BroadcastOptions()
        options.rootRank, options.rootTensor = root, 0
        whole = as_bytes(data)
        self._recent.append(whole)
        self.group.broadcast([whole], options).wait()

    def barrier(self) -> None:
        self.group.barrier().wait()

    def close(self) -> None:
        self.group = None
        self._recent.clear()


def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.view(-1).view(torch.uint8)


def create_device() -> Any:
    """On the address by which others reach this rank: a node's, or that of this machine alone.

    gloo itself would take that of the host's name, which need not have one.
    """
    if interface := os.environ.get("GLOO_SOCKET_IFNAME"):
        return dist.ProcessGroupGloo.create_device(interface=interface.split(",")[0])
    if address := os.environ.get("T3_NODE_ADDRESS"):
        return dist.ProcessGroupGloo.create_device(hostname=address)
    if os.environ.get("MASTER_ADDR") in ("localhost", "127.0.0.1"):
        return dist.ProcessGroupGloo.create_device(hostname="127.0.0.1")
    return dist.ProcessGroupGloo.create_default_device()
