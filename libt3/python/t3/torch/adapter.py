# SPDX-License-Identifier: MIT
"""The backend as torch calls it: a process group of Python's.

torch 1.13 and 2.6 call the names of old, and 2.14 the new ones (`all_gather_single`). What torch's
C++ calls (DDP, functional collectives) comes here, too.
"""

from __future__ import annotations

import datetime
import weakref
from typing import Any, Sequence

import torch
import torch.distributed as dist

from t3.torch.gloo import Gloo
from t3.torch.group import Group
from t3.torch.reduction import name_of
from t3.torch.work import Work

Tensors = Sequence[torch.Tensor]


class ProcessGroup(dist.ProcessGroup):
    """The group of `init_process_group("t3")` and `new_group()`."""

    def __init__(self, store: Any, rank: int, ranks: int, timeout: datetime.timedelta) -> None:
        super().__init__(rank, ranks)
        self.t3_group = Group(store, rank, ranks, timeout)
        self._close = weakref.finalize(self, self.t3_group.close_at_exit)
        if hasattr(self, "_register_backend"):
            # torch 2 keeps the group's name in a backend inside. It calls this object nevertheless.
            gloo = self.t3_group.gloo or Gloo(dist.PrefixStore("t3/name", store), 0, 1, timeout)
            self._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO,
                                   gloo.group)

    def getBackendName(self) -> str:
        return "t3"

    def name(self) -> str:
        return "t3"

    def getRank(self) -> int:
        return self.t3_group.rank

    def getSize(self) -> int:
        return self.t3_group.ranks

    rank, size = getRank, getSize

    def abort(self) -> None:
        """End all calls that wait, with an error. The group is of no use then."""
        self.t3_group.abort()

    _abort = abort

    def shutdown(self) -> None:
        self._close()

    # --- reductions

    def allreduce(self, tensors: Tensors, opts: Any = None) -> Work:
        op, tensor = op_of(opts), one_of(tensors)
        return self.t3_group.submit("all_reduce", list(tensors),
                                    lambda call: call.all_reduce(tensor, op), [tensor])

    def allreduce_coalesced(self, tensors: Tensors, opts: Any = None) -> Work:
        op, every = op_of(opts), list(tensors)
        return self.t3_group.submit("all_reduce_coalesced", every,
                                    lambda call: call.all_reduce_coalesced(every, op), every)

    def reduce(self, tensors: Tensors, opts: Any) -> Work:
        op, tensor, root = op_of(opts), one_of(tensors), opts.rootRank
        return self.t3_group.submit("reduce", list(tensors),
                                    lambda call: call.reduce(tensor, op, root), [tensor])

    def reduce_scatter(self, outputs: Tensors, inputs: Sequence[Tensors],
                       opts: Any = None) -> Work:
        op, output, parts = op_of(opts), one_of(outputs), list(one_of(inputs))
        return self.t3_group.submit("reduce_scatter", list(outputs),
                                    lambda call: call.reduce_scatter(output, parts, op), parts)

    def reduce_scatter_single(self, output: torch.Tensor, whole: torch.Tensor,
                              opts: Any = None) -> Work:
        op = op_of(opts)
        return self.t3_group.submit("reduce_scatter_tensor", [output],
                                    lambda call: call.reduce_scatter_tensor(output, whole, op),
                                    [whole])

    def reduce_scatter_single_coalesced(self, outputs: Tensors, inputs: Tensors,
                                        opts: Any = None) -> Work:
        op, pairs = op_of(opts), list(zip(outputs, inputs))
        return self.t3_group.submit("reduce_scatter_tensor_coalesced", list(outputs),
                                    lambda call: call.reduce_scatter_tensors(pairs, op),
                                    list(inputs))

    _reduce_scatter_base = reduce_scatter_single
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    # --- moves

    def broadcast(self, tensors: Tensors, opts: Any = None) -> Work:
        tensor, root = one_of(tensors), 0 if opts is None else opts.rootRank
        return self.t3_group.submit("broadcast", list(tensors),
                                    lambda call: call.broadcast(tensor, root), [tensor])

    def allgather(self, outputs: Sequence[Tensors], inputs: Tensors, opts: Any = None) -> Work:
        rows, tensor = list(one_of(outputs)), one_of(inputs)
        return self.t3_group.submit("all_gather", [rows],
                                    lambda call: call.all_gather(rows, tensor), [tensor])

    def allgather_coalesced(self, outputs: Sequence[Tensors], inputs: Tensors,
                            opts: Any = None) -> Work:
        """outputs[r][i] is for tensor i of rank r."""
        every, tensors = [list(rows) for rows in outputs], list(inputs)
        return self.t3_group.submit("all_gather_coalesced", every,
                                    lambda call: call.all_gather_coalesced(every, tensors),
                                    tensors)

    def all_gather_single(self, output: torch.Tensor, tensor: torch.Tensor,
                          opts: Any = None) -> Work:
        return self.t3_group.submit("all_gather_into_tensor", [output],
                                    lambda call: call.all_gather_into_tensor(output, tensor),
                                    [tensor])

    def all_gather_single_coalesced(self, outputs: Tensors, inputs: Tensors,
                                    opts: Any = None) -> Work:
        pairs = list(zip(outputs, inputs))
        return self.t3_group.submit("all_gather_into_tensor_coalesced", list(outputs),
                                    lambda call: call.all_gather_into_tensors(pairs),
                                    list(inputs))

    _allgather_base = all_gather_single
    allgather_into_tensor_coalesced = all_gather_single_coalesced

    def gather(self, outputs: Sequence[Tensors], inputs: Tensors, opts: Any) -> Work:
        rows, tensor, root = list(outputs[0]) if outputs else [], one_of(inputs), opts.rootRank
        return self.t3_group.submit("gather", [rows],
                                    lambda call: call.gather(rows, tensor, root), [tensor])

    def scatter(self, outputs: Tensors, inputs: Sequence[Tensors], opts: Any) -> Work:
        tensor, parts, root = one_of(outputs), list(inputs[0]) if inputs else [], opts.rootRank
        return self.t3_group.submit("scatter", list(outputs),
                                    lambda call: call.scatter(tensor, parts, root), [tensor])

    def all_to_all_single(self, output: torch.Tensor, tensor: torch.Tensor,
                          output_splits: Sequence[int], input_splits: Sequence[int],
                          opts: Any = None) -> Work:
        sent, due = list(input_splits or ()), list(output_splits or ())
        return self.t3_group.submit(
            "all_to_all_single", [output],
            lambda call: call.all_to_all_single(output, tensor, due, sent), [tensor])

    alltoall_base = all_to_all_single

    def alltoall(self, outputs: Tensors, inputs: Tensors, opts: Any = None) -> Work:
        due, sent = list(outputs), list(inputs)
        return self.t3_group.submit("all_to_all", due,
                                    lambda call: call.all_to_all(due, sent), sent)

    def barrier(self, opts: Any = None) -> Work:
        return self.t3_group.submit("barrier", [], lambda call: call.barrier())

    # --- messages

    def send(self, tensors: Tensors, peer: int, tag: int = 0) -> Work:
        return self.t3_group.send(tensors, peer, tag)

    def recv(self, tensors: Tensors, peer: int, tag: int = 0) -> Work:
        return self.t3_group.receive(tensors, peer, tag)

    def recv_anysource(self, tensors: Tensors, tag: int = 0) -> Work:
        return self.t3_group.receive(tensors, None, tag)

    def monitored_barrier(self, timeout: Any = None, wait_all_ranks: bool = False) -> None:
        self.t3_group.monitored_barrier(timeout, wait_all_ranks)


def op_of(opts: Any) -> str:
    return "SUM" if opts is None else name_of(opts.reduceOp)


def one_of(tensors: Sequence[Any]) -> Any:
    """torch's lists are for several devices of a rank, which has one here."""
    if len(tensors) != 1:
        raise ValueError(f"the backend t3 takes one tensor of each rank, and not {len(tensors)}")
    return tensors[0]
