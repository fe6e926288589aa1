# SPDX-License-Identifier: MIT
"""The backend "t3" of torch.distributed: collectives of PyTorch by T3 devices.

After ``import t3.torch`` a program calls ``torch.distributed.init_process_group("t3")``. counts()
says which collectives the devices did, and which went another way. RANK, WORLD_SIZE, MASTER_ADDR
and MASTER_PORT are taken from `t3 launch`, mpirun or srun where they are not set.
"""

from __future__ import annotations

import datetime
import os
from typing import Any

try:
    import torch
    import torch.distributed as dist
except ImportError as error:
    raise ImportError(f"t3.torch needs PyTorch, and it cannot be imported: {error}. On Debian "
                      "install python3-torch; in a VM by --root host install it on the host"
                      ) from error
if not dist.is_available():
    raise ImportError(f"t3.torch needs torch.distributed, which this torch {torch.__version__} is "
                      "built without")

from t3.torch import launcher, symm_mem, versions
from t3.torch.adapter import ProcessGroup
from t3.torch.counts import counts, reset_counts
from t3.torch.errors import CollectiveError
from t3.torch.layers import ColumnParallelLinear, RowParallelLinear
from t3.torch.recording import profile

__all__ = ["CollectiveError", "ColumnParallelLinear", "ProcessGroup", "RowParallelLinear", "abort",
           "counts", "monitored_barrier", "profile", "reset_counts"]


def create(store: Any, rank: int, ranks: int, timeout: datetime.timedelta) -> ProcessGroup:
    """What torch calls for a new group."""
    return ProcessGroup(store, rank, ranks, timeout)


def group_of(group: Any) -> ProcessGroup:
    found = group if group is not None else dist.distributed_c10d._get_default_group()
    if not isinstance(found, ProcessGroup):
        raise ValueError(f"this group is of another backend than t3: {found!r}")
    return found


def abort(group: Any = None) -> None:
    """End all calls of the group, or of the default group, that wait. The group is lost then."""
    group_of(group).abort()


def monitored_barrier(group: Any = None, timeout: datetime.timedelta | None = None,
                      wait_all_ranks: bool = False) -> None:
    """A barrier at which rank 0 names the rank that does not come, or with wait_all_ranks all.

    torch.distributed.monitored_barrier() itself refuses each backend but gloo.
    """
    group_of(group).monitored_barrier(timeout, wait_all_ranks)


def register() -> None:
    """torch keeps the backend by its name. From 2.0 on it wants to know for which devices."""
    if hasattr(dist.Backend, "backend_type_map") or hasattr(dist.Backend, "backend_capability"):
        dist.Backend.register_backend("t3", create, devices=["cpu"])
    else:
        dist.Backend.register_backend("t3", create)


versions.check(torch.__version__)
launcher.complete(os.environ)
register()
symm_mem.register()
