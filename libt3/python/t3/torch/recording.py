# SPDX-License-Identifier: MIT
"""What a step computes and sends, as a workload of `t3 sim`.

torch's dispatcher shows each operation, forward and backward. Groups and layers of t3.torch say
themselves what they do, and hide how they do it.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
import threading
from typing import Any, Iterable, Iterator, Sequence

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode

from t3.workload import (LOOKUPS, MAX_OPERATIONS, OF_FUNCTIONS, OF_PARTS, OF_TORCH,
                         OTHER_ARITHMETIC, OVERWRITING, PRODUCTS, SUMS, WITHOUT_BYTES, Operations,
                         write)

# Functional operators that send nothing. The second one is torch 2.14's.
WITHOUT_WORK = ("wait_tensor", "_wrap_tensor_autograd")

_lock = threading.Lock()
_active: Recording | None = None
_here = threading.local()


class Recording(TorchDispatchMode):
    """The operations of a step, in the order of their first calls, and how often each was made."""

    def __init__(self) -> None:
        super().__init__()
        self._operations = Operations(MAX_OPERATIONS)
        self._products: dict[int, tuple[torch.Size, torch.dtype, str]] = {}  # by their memory
        self._collectives = 0
        self._thread = threading.get_ident()

    # --- what groups and layers say

    def collective(self, name: str, ranks: int, tensors: Sequence[torch.Tensor]) -> None:
        """A call on these tensors, which this rank gives, or for scatter gets."""
        self._collectives += 1
        size = bytes_of(tensors) * (ranks if name.startswith(OF_PARTS) else 1)
        if ranks < 2 or (not size and tensors):
            return
        what = {"name": name, "bytes": size, "ranks": ranks,
                "dtype": name_of(tensors[0].dtype) if tensors else "uint8"}
        made = self._made(tensors[0]) if name in SUMS and len(tensors) == 1 else None
        if made is None:
            self._add({"collective": what})
        else:
            self._add({**json.loads(made), "collective": what, "summed": "afterwards"}, made)
        self._forget(tensors)

    def summed_product(self, name: str, ranks: int, left: torch.Tensor, right: torch.Tensor,
                       dtype: torch.dtype) -> None:
        """A layer's product in this type, which goes into its sum while it is made."""
        self._collectives += 1
        shape = gemm_of(left, right, dtype)
        if shape is None:
            return
        if ranks < 2:
            self._add({"gemm": shape})
            return
        size = shape["m"] * shape["n"] * torch.empty(0, dtype=dtype).element_size()
        self._add({"gemm": shape, "summed": "while made", "collective": {
            "name": name, "bytes": size, "ranks": ranks, "dtype": name_of(dtype)}})

    def written(self, tensor: torch.Tensor) -> None:
        """What is hidden has made this: its memory is that of no earlier product any more."""
        self._forget([tensor])

    def product(self, left: torch.Tensor, right: torch.Tensor, dtype: torch.dtype) -> None:
        """A product that is made in another way than a device of this type would."""
        shape = gemm_of(left, right, dtype)
        if shape is not None:
            self._add({"gemm": shape})

    # --- what the dispatcher says

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (),
                           kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if is_hidden() or _active is not self or threading.get_ident() != self._thread:
            return func(*args, **kwargs)  # gloo's threads have the mode of their caller in torch 2
        if any(is_wrapper(kind) for kind in types):
            return NotImplemented  # what it does with the tensors inside comes here
        if is_fake(types):
            return func(*args, **kwargs)
        if is_composite(func):  # in inference mode nobody has taken it apart yet
            with self:
                return func.decompose(*args, **kwargs)
        if func.namespace.endswith("c10d_functional"):
            return self._of_functions(func, args, kwargs)
        if func.namespace.endswith("c10d"):
            return self._of_torch(func, args, kwargs)
        if func.namespace == "symm_mem":
            return self._of_fused(func, args, kwargs)
        result = func(*args, **kwargs)
        if is_fake(map(type, tensors_in(result))):
            return result
        name = func._schema.name.partition("::")[2]
        if is_view(func) or name == "_unsafe_view":
            self._pass_on(args[0], result)
        elif name.startswith(WITHOUT_BYTES):
            self._forget(tensors_in(result))
        else:
            self._note(name, args, kwargs, result)
        return result

    def _note(self, name: str, args: Any, kwargs: Any, result: Any) -> None:
        made = tensors_in(result)
        self._forget(made)
        factors = PRODUCTS.get(name)
        if factors:
            left, right = (args[place] for place in factors)
            shape = gemm_of(left, right, left.dtype)
            if shape is None:
                return
            key = self._add({"gemm": shape})
            # A sum of products and a bias or another matrix is none of products alone.
            if name == "mm" and memory_of(result):
                self._products[memory_of(result)] = result.shape, result.dtype, key
        elif name.startswith(OTHER_ARITHMETIC):
            self._add({"left_out": {"name": f"aten.{name}"}})
        else:
            given = tensors_in((args, kwargs))
            if name in LOOKUPS:
                given = [*given[1:], *made]
            elif name.startswith(OVERWRITING):
                given = given[1:]
            if size := bytes_of(given) + bytes_of(made):
                self._add({"memory": {"name": f"aten.{name}", "bytes": size}})

    def _of_torch(self, func: Any, args: Any, kwargs: Any) -> Any:
        """A collective that C++ begins, or of another backend. Groups of ours say it themselves."""
        before = self._collectives
        short = func._schema.name.partition("::")[2]
        name, place = OF_TORCH.get(short, (None, None))
        result = func(*args, **kwargs)
        if self._collectives > before:
            return result
        if name is None:
            self._add({"left_out": {"name": f"c10d.{short}"}})
        else:
            self.collective(name, self._ranks_of(args),
                            [] if place is None else tensors_in(args[place]))
        return result

    def _of_functions(self, func: Any, args: Any, kwargs: Any) -> Any:
        """A collective whose result is another tensor, as DTensor has them, of any backend."""
        with hidden():  # a group of ours would name the copy that torch has made
            result = func(*args, **kwargs)
        short = func._schema.name.partition("::")[2]
        if short in OF_FUNCTIONS:
            given = named(func, args, kwargs)
            ranks = given.get("group_size") or size_of_group(given["group_name"])
            self.collective(OF_FUNCTIONS[short][0], ranks, tensors_in(next(iter(given.values()))))
        elif short not in WITHOUT_WORK:
            self._add({"left_out": {"name": f"{func.namespace}.{short}"}})
        self._forget(tensors_in(result))
        return result

    def _of_fused(self, func: Any, args: Any, kwargs: Any) -> Any:
        """A product and a collective in one, see symm_mem.py; on meta torch has its shapes."""
        with hidden():
            result = func(*args, **kwargs)
        short, given = func._schema.name.partition("::")[2], named(func, args, kwargs)
        if short == "fused_matmul_reduce_scatter":
            left = given["A"]
            self.summed_product("matmul_reduce_scatter", size_of_group(given["group_name"]),
                                left.reshape(-1, left.shape[-1]), given["B"], left.dtype)
        elif short == "fused_all_gather_matmul":
            self.collective("all_gather_into_tensor", size_of_group(given["group_name"]),
                            [given["A"]])
            for right, made in zip(given["Bs"], result[1]):
                rows = made.numel() // max(1, right.shape[1])
                self.product(right.new_empty((rows, right.shape[0]), device="meta"), right,
                             right.dtype)
        else:
            self._add({"left_out": {"name": f"{func.namespace}.{short}"}})
        self._forget(tensors_in(result))
        return result

    def _ranks_of(self, args: Any) -> int:
        """Of the group of an operator, which torch 1.13 does not show to Python."""
        for one in args:
            if isinstance(one, torch.ScriptObject) and hasattr(dist.ProcessGroup, "unbox"):
                with contextlib.suppress(RuntimeError, TypeError):
                    return int(dist.ProcessGroup.unbox(one).size())
        if group := calling_group():
            return int(group.size())
        sizes = {group.size() for group in groups() if group.size() > 1}
        if len(sizes) > 1:
            self.note("groups have several sizes, and torch does not say which one a collective "
                      f"of C++ has: it was taken as all {dist.get_world_size()} ranks")
        return sizes.pop() if len(sizes) == 1 else int(dist.get_world_size())

    # --- the list

    def note(self, text: str) -> None:
        """A sentence that the file has, and that t3 sim repeats."""
        self._operations.note(text)

    def _add(self, operation: dict[str, Any], in_place_of: str = "") -> str:
        """Count it. One that takes another's place was made in the other's pass."""
        return self._operations.add(operation, current_pass(), in_place_of)

    def _made(self, tensor: torch.Tensor) -> str | None:
        """The product that this tensor is, as a whole and unchanged."""
        found = self._products.get(memory_of(tensor))
        if found is None or not tensor.is_contiguous() or tensor.storage_offset():
            return None
        shape, dtype, key = found
        return key if (tensor.numel(), tensor.dtype) == (shape.numel(), dtype) else None

    def _pass_on(self, tensor: Any, result: Any) -> None:
        """What is seen of a product is it, if it is all of it."""
        found = (self._products.get(memory_of(tensor)) if isinstance(tensor, torch.Tensor)
                 else None)
        self._forget([one for one in tensors_in(result) if found is None])
        if found is not None:
            self._products.update((memory_of(one), found) for one in tensors_in(result))

    def _forget(self, tensors: Sequence[torch.Tensor]) -> None:
        """Their memory has something else now."""
        for tensor in tensors:
            self._products.pop(memory_of(tensor), None)

    def workload(self) -> dict[str, Any]:
        """What the file has."""
        is_joined = dist.is_initialized()
        return self._operations.workload(f"t3.torch, torch {torch.__version__}",
                                         dist.get_rank() if is_joined else 0,
                                         dist.get_world_size() if is_joined else 1)


@contextlib.contextmanager
def profile(path: str | os.PathLike[str], rank: int = 0) -> Iterator[Recording]:
    """Record the step that runs inside, and write it to a file that `t3 sim --workload` reads.

    All ranks call it, and `rank` writes. The step runs as it does without it, but slower: record
    one, after the first. An exception of the step leaves no file. A model on the device "meta" has
    shapes and no values: it is recorded without being computed or sent, by groups of t3.
    Errors: RuntimeError: another one is active. OSError: the file cannot be written.
    """
    global _active
    recording = Recording()
    with _lock:
        if _active is not None:
            raise RuntimeError("t3.torch.profile: another one is active in this process")
        _active = recording
    try:
        with recording:
            yield recording
    finally:
        _active = None
    found = recording.workload()
    if found["rank"] == rank:
        write(path, found)


# --- for groups and layers

def active() -> Recording | None:
    """The recording that wants to know what this thread does."""
    return None if is_hidden() else _active


@contextlib.contextmanager
def hidden() -> Iterator[None]:
    """What this thread does inside is how an operation is made, and none of the program's."""
    before = is_hidden()
    _here.is_hidden = True
    try:
        yield
    finally:
        _here.is_hidden = before


def is_hidden() -> bool:
    return getattr(_here, "is_hidden", False)


# --- torch

@functools.lru_cache(maxsize=None)
def is_composite(func: Any) -> bool:
    name = func._schema.name + (f".{func._schema.overload_name}" if func._schema.overload_name
                                else "")
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd"))


@functools.lru_cache(maxsize=None)
def is_view(func: Any) -> bool:
    """Whether its result has the memory of an argument, and writes none."""
    infos = [one.alias_info for one in func._schema.returns]
    return any(info is not None and not info.is_write for info in infos)


def is_wrapper(kind: type) -> bool:
    """Whether its tensors hold others, with which they do everything. torch 1.13 has none."""
    return hasattr(kind, "__tensor_flatten__")


def is_fake(kinds: Iterable[type]) -> bool:
    """Whether a call only asks for shapes, as DTensor does before it computes."""
    return any(kind.__name__ == "FakeTensor" for kind in kinds)


def current_pass() -> str:
    """By the functions that have called: backward, optimizer, or else forward."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_filename.endswith("torch/autograd/__init__.py") and code.co_name in ("backward",
                                                                                         "grad"):
            return "backward"
        if "/torch/optim/" in code.co_filename:
            return "optimizer"
        frame = frame.f_back  # type: ignore[assignment]
    return "forward"


def calling_group() -> Any:
    """That of torch's function of Python which has called, or None: C++ has."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.endswith("distributed_c10d.py"):
            group = frame.f_locals.get("group")
            return group if hasattr(group, "size") else dist.distributed_c10d._get_default_group()
        frame = frame.f_back  # type: ignore[assignment]
    return None


def named(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by their names, in their order."""
    return {**{one.name: value for one, value in zip(func._schema.arguments, args)}, **kwargs}


def size_of_group(name: str) -> int:
    return int(dist.distributed_c10d._resolve_process_group(name).size())


def groups() -> list[Any]:
    world = getattr(dist.distributed_c10d, "_world", None)
    made = world.pg_map if world is not None else dist.distributed_c10d._pg_map
    return [group for group in made if hasattr(group, "size")]


def gemm_of(left: torch.Tensor, right: torch.Tensor, dtype: torch.dtype) -> dict[str, Any] | None:
    """left @ right; a vector is a matrix of one column. None: it has no elements."""
    batch = left.shape[0] if left.dim() == 3 else 1
    m, k = left.shape[-2:]
    n = right.shape[-1] if right.dim() > 1 else 1
    if not batch * m * n * k:
        return None
    return {"m": m, "n": n, "k": k, "batch": batch, "dtype": name_of(dtype)}


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).partition(".")[2]


def tensors_in(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return []
    return [tensor for one in value for tensor in tensors_in(one)]


def bytes_of(tensors: Sequence[torch.Tensor]) -> int:
    """In memory: what is expanded is there once."""
    total = 0
    for tensor in tensors:
        count = tensor.element_size() if tensor.numel() else 0
        if tensor.layout == torch.strided:
            for size, stride in zip(tensor.shape, tensor.stride()):
                count *= size if stride else 1
        else:
            count *= tensor.numel()
        total += count
    return total


def memory_of(tensor: torch.Tensor) -> int:
    """Its address; 0 if other tensors have it. One of the device meta has that of itself."""
    if tensor.is_meta:
        return -int(tensor._cdata)
    if tensor.layout != torch.strided or is_wrapper(type(tensor)):
        return 0
    if hasattr(tensor, "untyped_storage"):
        return int(tensor.untyped_storage().data_ptr())
    return int(tensor.storage().data_ptr())
