# SPDX-License-Identifier: MIT
"""Traces of other programs as workloads of `t3 sim`: Chakra's, and those of torch's observer.

``convert()`` makes what `t3 sim --workload` reads, and ``python3 -m t3.traces`` is the command. No
torch and no device is needed.
"""

from __future__ import annotations

from typing import Any, Sequence

from t3.traces import chakra, observer
from t3.traces.calls import Tree
from t3.traces.collectives import Groups
from t3.traces.files import TraceError, is_chakra, read, shown
from t3.traces.step import Step
from t3.workload import (MAX_DIFFERENT, MAX_FILE, MAX_WORLD, TooManyOperations, text_of)

MAX_NAMES = 8  # in a sentence

__all__ = ["TraceError", "convert"]


def convert(paths: Sequence[str], rank: int = 0, ranks: int | None = None,
            groups: str | None = None, dtype: str = "bfloat16") -> dict[str, Any]:
    """The step of `rank`, whose trace is the first path, or that of all ranks in their order.

    `ranks` is the size of groups that the trace does not say, `groups` a file of ASTRA-sim with the
    ranks of each group, and `dtype` the type of collectives that have none.
    Errors: TraceError: a sentence that names the file, the node and the field.
    """
    if len(paths) > 1:
        ranks = ranks or len(paths)
        if rank >= len(paths):
            raise TraceError(f"rank {rank} has no trace: there are {len(paths)}")
    found = [workload_of(path, place if len(paths) > 1 else rank, ranks, groups, dtype)
             for place, path in enumerate(paths)]
    wanted = found[rank if len(paths) > 1 else 0]
    others = [str(place) for place, one in enumerate(found)
              if one["operations"] != wanted["operations"]]
    if others:
        wanted["notes"].append(f"other operations than those of rank {rank}, whose step this is, "
                               f"have the ranks {listed(others)}")
    return wanted


def workload_of(path: str, rank: int, ranks: int | None, groups: str | None,
                dtype: str) -> dict[str, Any]:
    step = Step(Groups(ranks, groups), dtype)
    data = read(path)
    if is_chakra(path):
        calls, version, unknown = chakra.calls_of(data, path)
        step.unknown["fields"] |= unknown
        by, has_strides = f"a trace of Chakra {shown(version)}".rstrip(), False
    else:
        calls, schema, has_strides = observer.calls_of(data, path)
        by = f"a trace of torch with schema {shown(schema)}"
    try:
        step.add_all(Tree(calls))
    except TooManyOperations as error:
        raise TraceError(f"{path}: {str(error).removeprefix('t3: ')}") from error
    except RecursionError as error:
        raise TraceError(f"{path} has lists in lists, too many") from error
    return finished(step, path, f"t3.traces, from {by}", rank, has_strides)


def finished(step: Step, path: str, by: str, rank: int, has_strides: bool) -> dict[str, Any]:
    """The whole workload. Limits of t3 sim are refused here, where the trace has a name."""
    for sentence in sentences(step, has_strides):
        step.operations.note(sentence)
    workload = step.operations.workload(by, rank, 1)
    operations = workload["operations"]
    if all("left_out" in one for one in operations):
        raise TraceError(f"{path} has no product, no collective and no other operation whose bytes "
                         f"are known, in {len(operations)} kinds of nodes")
    different = sum("gemm" in one or "collective" in one for one in operations)
    if different > MAX_DIFFERENT:
        raise TraceError(f"{path} has {different} different products and collectives, and t3 sim "
                         f"reads at most {MAX_DIFFERENT}; trace one step")
    workload["ranks"] = max([step.groups.ranks or 1, step.groups.whole,
                             *(one["collective"]["ranks"] for one in operations
                               if "collective" in one)])
    if not rank < workload["ranks"] <= MAX_WORLD:
        raise TraceError(f"{path}: rank {rank} of {workload['ranks']} is none: --ranks says how "
                         f"many there are, at most {MAX_WORLD}")
    if len(text_of(workload)) > MAX_FILE:
        raise TraceError(f"{path}: its step has more than {MAX_FILE >> 20} MiB; trace one step")
    return workload


def sentences(step: Step, has_strides: bool) -> list[str]:
    """Notes: how much is exact, what was approximated, and what was left out."""
    counts, groups = step.counts, step.groups
    found = [f"as the trace has them: {counts['products']} products and {counts['collectives']} "
             f"collectives; by the bytes of their tensors: {counts['memory']} other operations; "
             f"left out by name: {counts['left out']}"]
    for is_so, sentence in (
            (counts["untyped"], f"{counts['untyped']} collectives have no type in the trace, and "
                                f"were taken as {step.dtype} (--dtype)"),
            (groups.assumed, f"{groups.assumed} collectives have no group whose size the trace "
                             f"says, and were taken as all {groups.ranks} ranks (--ranks)"),
            (groups.is_cut, "a list of groups is cut, so that the trace says the size of some alone"),
            (counts["depends"], f"{counts['depends']} collectives wait for a product with as many "
                                "bytes (data_deps), and were taken as its sums"),
            (counts["remote"], f"{counts['remote']} memory nodes move their tensor_size at "
                               "memory_gbps, wherever their memory is"),
            (counts["shapeless"], f"{counts['shapeless']} compute nodes name no shapes, and are "
                                  f"left out: num_ops {step.left_ops} and duration_micros "
                                  f"{step.left_micros} in all"),
            (not step.has_passes, "the trace does not say what is backward or in the optimizer: "
                                  "all calls count as forward"),
            (counts["memory"] and not has_strides, "the trace has no strides, so that an expanded "
                                                   "tensor counts in full"),
            *((names, f"{what} that the reader does not know: {listed(sorted(names))}")
              for what, names in sorted(step.unknown.items()))):
        if is_so:
            found.append(sentence)
    return found


def listed(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
