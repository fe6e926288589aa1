# SPDX-License-Identifier: MIT
"""The format of `t3 sim --workload`, and what a step's operations are.

The recorder of t3.torch and the reader of traces share this. Neither torch nor libt3 is needed.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from typing import Any

FORMAT, VERSION = "t3-workload", 1
MAX_OPERATIONS = 65536  # distinct ones, as t3 sim reads
MAX_DIFFERENT = 4096  # of these, products and collectives
MAX_NOTES = 64
MAX_EXTENT = 1 << 24  # of M, N, K and batch
MAX_BYTES = 1 << 40  # of an operation
MAX_COUNT = 1 << 32
MAX_RANKS, MAX_WORLD = 512, 1 << 24  # of a group, and of all
MAX_FILE = 1 << 24

# The places of the two factors in the arguments of a matrix product.
PRODUCTS = {"mm": (0, 1), "addmm": (1, 2), "addmm_": (1, 2), "_addmm_activation": (1, 2),
            "bmm": (0, 1), "baddbmm": (1, 2), "baddbmm_": (1, 2), "addbmm": (1, 2),
            "addbmm_": (1, 2), "mv": (0, 1), "addmv": (1, 2), "addmv_": (1, 2),
            "_int_mm": (0, 1), "_scaled_mm": (0, 1)}
# Operations whose arithmetic is neither a product nor bound by memory.
OTHER_ARITHMETIC = ("conv", "slow_conv", "mkldnn_", "_scaled_dot_product", "_flash", "_efficient",
                    "scaled_dot_product_attention",
                    "_thnn_fused", "linalg_", "_linalg", "_fft", "_cdist", "cholesky",
                    "_grouped_mm", "_scaled_grouped_mm", "_weight_int")
# Operations whose tensors have no values yet.
WITHOUT_BYTES = ("empty", "new_empty", "_efficientzerotensor")
# Operations that do not read what they write to.
OVERWRITING = ("copy_", "fill_", "zero_", "normal_", "uniform_", "random_", "bernoulli_")
# Operations that read as many bytes as they write, whatever the size of the table.
LOOKUPS = ("embedding", "index", "index_select", "gather")
# torch's operators of collectives: the name in t3.torch.counts(), and the place of what is sent.
OF_TORCH = {"allreduce_": ("all_reduce", 0), "allreduce_coalesced_": ("all_reduce_coalesced", 0),
            "broadcast_": ("broadcast", 0), "reduce_": ("reduce", 0),
            "allgather_": ("all_gather", 1), "_allgather_base_": ("all_gather_into_tensor", 1),
            "allgather_coalesced_": ("all_gather_coalesced", 1),
            "allgather_into_tensor_coalesced_": ("all_gather_into_tensor_coalesced", 1),
            "reduce_scatter_": ("reduce_scatter", 1),
            "_reduce_scatter_base_": ("reduce_scatter_tensor", 1),
            "reduce_scatter_tensor_coalesced_": ("reduce_scatter_tensor_coalesced", 1),
            "gather_": ("gather", 1), "scatter_": ("scatter", 0), "alltoall_": ("all_to_all", 1),
            "alltoall_base_": ("all_to_all_single", 1), "barrier": ("barrier", None),
            "send": ("send", 0), "recv_": ("recv", 0), "recv_any_source_": ("recv", 0)}
# Functional operators: the name in t3.torch.counts(), and the place of the group's size, if any.
# Until torch 2.2 they are c10d_functional's, and it is the last argument of each.
OF_FUNCTIONS = {
    "all_reduce": ("all_reduce", None), "all_reduce_": ("all_reduce", None),
    "all_reduce_coalesced": ("all_reduce_coalesced", None),
    "all_reduce_coalesced_": ("all_reduce_coalesced", None),
    "all_gather_into_tensor": ("all_gather_into_tensor", 1),
    "all_gather_into_tensor_out": ("all_gather_into_tensor", 1),
    "all_gather_into_tensor_coalesced": ("all_gather_into_tensor_coalesced", 1),
    "reduce_scatter_tensor": ("reduce_scatter_tensor", 2),
    "reduce_scatter_tensor_coalesced": ("reduce_scatter_tensor_coalesced", 2),
    "all_to_all_single": ("all_to_all_single", None), "broadcast": ("broadcast", None),
    "broadcast_": ("broadcast", None)}
# Each rank sends this to all, and the whole is what all send.
OF_PARTS = ("all_gather", "gather", "scatter")
SUMS = ("all_reduce", "reduce_scatter_tensor")  # that a product may go into as one tensor


class TooManyOperations(RuntimeError):
    """The step has more distinct operations than a file may have."""


class Operations:
    """In the order of their first calls, with the number of calls of each. Threads may share it."""

    def __init__(self, limit: int = MAX_OPERATIONS) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}  # by the JSON of an operation
        self._notes: dict[str, None] = {}

    def add(self, operation: dict[str, Any], where: str, in_place_of: str = "") -> str:
        """Count a call in the pass `where`, or in that of one whose place it takes: its key."""
        if in_place_of:
            where = json.loads(in_place_of)["pass"]
        key = json.dumps({**operation, "pass": where})
        with self._lock:
            if key not in self._counts and len(self._counts) >= self.limit:
                raise TooManyOperations(f"t3: a step has more than {self.limit} distinct "
                                        "operations; record one step")
            self._counts[key] = self._counts.get(key, 0) + 1
            if in_place_of:
                self._counts[in_place_of] -= 1
        return key

    def note(self, text: str) -> None:
        """A sentence that the file has, and that t3 sim repeats."""
        self._notes[text] = None

    def workload(self, by: str, rank: int, ranks: int) -> dict[str, Any]:
        """The content of the file."""
        operations = [{**json.loads(key), "count": count}
                      for key, count in self._counts.items() if count]
        return {"format": FORMAT, "version": VERSION, "by": by, "rank": rank, "ranks": ranks,
                "operations": operations, "notes": list(self._notes)}


def text_of(workload: dict[str, Any]) -> str:
    """JSON with an operation in a line."""
    head = {key: value for key, value in workload.items() if key != "operations"}
    lines = ",\n".join(f"  {json.dumps(one)}" for one in workload["operations"])
    return json.dumps(head, indent=1)[:-2] + ',\n "operations": [\n' + lines + "\n ]\n}\n"


def write(path: str | os.PathLike[str], workload: dict[str, Any]) -> None:
    """The file is there as a whole or not at all."""
    text, name = text_of(workload), os.fspath(path)
    if os.path.exists(name) and not os.path.isfile(name):  # a pipe or a terminal
        with open(name, "w", encoding="ascii") as file:
            file.write(text)
        return
    handle, partial = tempfile.mkstemp(dir=os.path.dirname(name) or ".", prefix=".t3-workload-")
    try:
        with open(handle, "w", encoding="ascii") as file:
            file.write(text)
            os.fchmod(file.fileno(), 0o666 & ~umask())
        os.replace(partial, name)
    except BaseException:
        os.unlink(partial)
        raise


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
