# SPDX-License-Identifier: MIT
"""The calls of a trace, and those of them that a step's time has: each once.

A trace has a call and all calls inside it. aten::linear makes a product by aten::addmm, which may
copy the bias before. What counts is what the recorder of t3.torch sees: aten::addmm alone.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import Any, Callable, Iterator

from t3.traces.files import TraceError, shown
from t3.workload import OTHER_ARITHMETIC, PRODUCTS, WITHOUT_BYTES

OPERATOR = re.compile(r"(\w+)::(\w+)")
# Groups of other libraries name their collectives so.
BACKEND = re.compile(r"(nccl|gloo|mpi|ucc|xccl|hccl|rccl):(\w+)")
COMMS = "record_param_comms"
FUNCTIONAL = ("_c10d_functional", "c10d_functional")
VIEW = re.compile(r"Tensor\(\w+\)")  # of a schema's returns: its memory is an argument's
# Products if the trace shows no smaller call inside, and others that are left out then.
WRAPPERS = ("linear", "matmul")
OPAQUE = ("bilinear cdist chain_matmul einsum gru gru_cell inner lstm lstm_cell rnn_relu "
          "rnn_tanh").split()
# Calls that only others inside make, by names that torch does not say in the trace.
COMPOSITE = frozenset(
    "adaptive_avg_pool1d alpha_dropout argwhere avg_pool1d batch_norm bilinear cartesian_prod "
    "cdist chain_matmul clip column_stack concat concatenate conv1d conv2d conv3d conv_transpose1d "
    "conv_transpose2d conv_transpose3d cosine_embedding_loss cosine_similarity cross "
    "cross_entropy_loss ctc_loss dropout dropout_ einsum embedding_bag feature_dropout group_norm "
    "gru gru_cell hstack inner instance_norm isclose isfinite item kl_div kron l1_loss layer_norm "
    "linalg_matmul linalg_multi_dot linalg_norm linear log_sigmoid log_softmax lstm lstm_cell "
    "margin_ranking_loss matmul max_pool1d max_pool2d max_pool3d meshgrid multilabel_margin_loss "
    "nll_loss nll_loss2d nll_loss_nd one_hot outer pad pad_sequence pairwise_distance "
    "poisson_nll_loss relu6 rms_norm rnn_relu rnn_tanh rrelu scaled_dot_product_attention selu "
    "softmax square tile triplet_margin_loss type_as vstack".split())


@dataclasses.dataclass
class Call:
    """A node. given() and made() are its arguments and results, read when they are wanted."""

    where: str  # for sentences
    id: int
    name: str
    parent: int | None
    given: Callable[[], list[Any]]
    made: Callable[[], list[Any]]
    schema: str = ""
    attrs: dict[str, Any] = dataclasses.field(default_factory=dict)
    kind: str = ""  # of a Chakra node that is no operator's
    depends: tuple[int, ...] = ()

    @functools.cached_property
    def operator(self) -> tuple[str, str]:
        """The namespace and the name, or two empty ones."""
        match = OPERATOR.fullmatch(self.name)
        return (match[1], match[2]) if match and not self.kind else ("", "")

    @property
    def is_product(self) -> bool:
        space, name = self.operator
        return space == "aten" and name in PRODUCTS

    @property
    def is_collective(self) -> bool:
        space = self.operator[0]
        return (space == "c10d" or space in FUNCTIONAL or self.name == COMMS
                or self.is_of_library)

    @property
    def is_kernel(self) -> bool:
        """One that a compiler has made, such as Triton's."""
        return not self.operator[0] and bool(self.attrs.get("kernel_backend"))

    @property
    def is_of_library(self) -> bool:
        """A call of the library below torch's operator of a collective, or its kernel."""
        return BACKEND.fullmatch(self.name) is not None or self.kind.startswith("COMM_")

    @property
    def is_late(self) -> bool:
        """gloo ends its calls in another thread: what follows may look as if it were inside."""
        return self.name.startswith("gloo:")

    @property
    def is_other_arithmetic(self) -> bool:
        space, name = self.operator
        return space == "aten" and (name.startswith(OTHER_ARITHMETIC) or name in OPAQUE)

    @property
    def is_view(self) -> bool:
        if self.operator == ("aten", "_unsafe_view"):
            return True
        return VIEW.search(self.schema.rpartition("->")[2]) is not None

    def refuse(self, text: str) -> TraceError:
        return TraceError(f"{self.where}: {text}")


def where_of(path: str, number: int, name: str) -> str:
    return f'{path}: node {number} "{shown(name)}"'


class Tree:
    """The calls of a trace by what has called them."""

    def __init__(self, calls: list[Call]) -> None:
        self.by_id: dict[int, Call] = {}
        self.inside: dict[int | None, list[Call]] = {None: []}
        for call in calls:
            if call.id in self.by_id:
                raise call.refuse("its id is that of another node")
            self.by_id[call.id] = call
        for call in sorted(calls, key=lambda one: one.id):
            is_root = call.parent == call.id or call.parent not in self.by_id
            self.inside.setdefault(None if is_root else call.parent, []).append(call)
        self._refuse_circles()
        self.deep = self._of_interest()

    def _refuse_circles(self) -> None:
        """No root leads to calls that are each other's parents."""
        seen, todo = set(), list(self.inside[None])
        while todo:
            call = todo.pop()
            seen.add(call.id)
            todo.extend(self.inside.get(call.id, ()))
        for number, call in self.by_id.items():
            if number not in seen:
                raise call.refuse("its parents (ctrl_deps) form a circle")

    def _of_interest(self) -> set[int]:
        """Calls with a product, a collective or other arithmetic inside, or with anything if only
        calls inside make them."""
        found: set[int] = set()
        for call in self.by_id.values():
            if call.operator[1] in COMPOSITE and call.id in self.inside:
                found.add(call.id)
            if call.is_product or call.is_collective or call.is_other_arithmetic:
                parent = call.parent
                while parent in self.by_id and parent not in found:
                    found.add(parent)
                    parent = self.by_id[parent].parent
        return found

    def all_inside(self, call: Call) -> Iterator[Call]:
        """Without those inside a library's call: they are its kernels, or only look so, as gloo's
        calls end late."""
        todo = [call]
        while todo:
            one = todo.pop()
            if one is not call:
                yield one
            if not one.is_of_library:
                todo.extend(self.inside.get(one.id, ()))

    def leaves(self) -> list[tuple[Call, str]]:
        """The calls that count and their passes, in the order in which they began."""
        found = []
        todo = [(call, "forward", False) for call in self.inside[None]]
        while todo:
            call, where, is_within = todo.pop()
            where = pass_of(call, where)
            if is_within and not call.is_of_library:
                counts, goes_on = False, call.name == COMMS
            else:
                counts, goes_on = self._sort(call)
                is_within = call.is_collective and not call.is_late
            if counts:
                found.append((call, where))
            if goes_on:
                todo.extend((one, where, is_within) for one in self.inside.get(call.id, ()))
        return sorted(found, key=lambda one: one[0].id)

    def _sort(self, call: Call) -> tuple[bool, bool]:
        """Whether it counts, and whether calls inside it may."""
        space, name = call.operator
        if call.is_collective:
            return True, True
        if call.kind or call.is_kernel:
            return True, False
        if not space or space in ("profiler", "prim"):
            return False, True
        if space == "aten" and name.startswith(WITHOUT_BYTES):
            return False, False
        # A tensor of DTensor is one of all ranks, and the call inside is this rank's.
        if any(one.operator == call.operator for one in self.inside.get(call.id, ())):
            return False, True
        if call.is_product:
            return True, False
        if call.is_view:
            return True, True
        is_whole = call.id not in self.deep or (call.is_other_arithmetic and name not in COMPOSITE)
        return is_whole, not is_whole


def pass_of(call: Call, outer: str) -> str:
    if call.name.startswith("Optimizer."):
        return "optimizer"
    if call.name.startswith("autograd::engine::evaluate_function"):
        return "backward"
    return outer
