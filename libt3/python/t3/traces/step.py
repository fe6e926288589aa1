# SPDX-License-Identifier: MIT
"""The operations of a step, from the calls of a trace."""

from __future__ import annotations

import collections
import itertools
import json
import math
import re
from typing import Any, Hashable

from t3.traces import collectives
from t3.traces.calls import COMMS, WRAPPERS, Call, Tree
from t3.traces.collectives import Exchange, Groups
from t3.traces.files import shown
from t3.traces.tensors import BYTES, Tensor, scalars_in, tensors_in
from t3.workload import (LOOKUPS, MAX_BYTES, MAX_EXTENT, MAX_OPERATIONS, OF_TORCH, OVERWRITING,
                         PRODUCTS, SUMS, Operations)

# A class of Python whose forward is recorded, but not what it calls in C++.
FUNCTION = re.compile(r"[A-Z]\w*(?<!Backward)(?<!Backward\d)")


class Step:
    """Calls become operations one by one, in the order of the program."""

    def __init__(self, groups: Groups, dtype: str) -> None:
        self.operations = Operations(MAX_OPERATIONS)
        self.groups, self.dtype = groups, dtype
        self.counts: collections.Counter[str] = collections.Counter()
        self.unknown: dict[str, set[str]] = collections.defaultdict(set)
        self._products: dict[Hashable, tuple[Tensor, int]] = {}  # the calls' numbers, by memory
        self._made: dict[int, tuple[int, str]] = {}  # bytes and key of a product without a sum
        self._begun: set[tuple[str, Hashable]] = set()
        self.left_ops = self.left_micros = 0
        self.has_passes = False

    def add_all(self, tree: Tree) -> None:
        for call in tree.by_id.values():
            if collectives.INIT in call.name:
                self.groups.learn(call)
            elif (FUNCTION.fullmatch(call.name) and not call.kind and call.id not in tree.inside
                  and tensors_in(call.given())):
                self.unknown["functions without calls inside"].add(shown(call.name))
        leaves = tree.leaves()
        # A library's call may be no operator's inside, by gloo's threads and Chakra's kernels.
        for call in tree.by_id.values():
            if call.is_collective and not call.is_of_library:
                self._begun.update(beginnings(call))
        for call, where in leaves:
            self._add(call, where, tree)
        self.has_passes = any(where != "forward" for _, where in leaves)

    def _add(self, call: Call, where: str, tree: Tree) -> None:
        space, name = call.operator
        if call.is_collective:
            self._collective(call, where, tree)
        elif call.kind:
            self._node(call, where)
        elif call.is_kernel:
            self._leave_out(f"kernel {call.name}", where)
        elif call.is_product:
            self._product(call, where, *PRODUCTS[name])
        elif call.is_view:
            self._pass_on(call)
        elif space == "aten" and name in WRAPPERS:
            self._wrapper(call, where)
        elif space != "aten" or call.is_other_arithmetic:
            self._leave_out(f"{space}.{name}", where)
        else:
            self._memory(call, where)

    # --- products

    def _product(self, call: Call, where: str, left_place: int, right_place: int) -> None:
        given, made = call.given(), tensors_in(call.made())
        self._forget(made)
        if len(given) <= right_place or not all(
                isinstance(given[place], Tensor) for place in (left_place, right_place)):
            raise call.refuse(f"inputs has no tensors at the places {left_place} and {right_place}")
        left, right = given[left_place], given[right_place]
        if not left.shape and not right.shape:  # torch.compile has none yet
            self._leave_out(f"aten.{call.operator[1]} without shapes", where)
            return
        if len(left.shape) < 2 or not right.shape:
            raise call.refuse(f"inputs.shapes has {left.shape} and {right.shape}, which are none "
                              "of a product")
        batch = left.shape[0] if len(left.shape) == 3 else 1
        m, k = left.shape[-2:]
        n = right.shape[-1] if len(right.shape) > 1 else 1
        if k != right.shape[-2 if len(right.shape) > 1 else 0]:
            raise call.refuse(f"inputs.shapes has {left.shape} times {right.shape}")
        key = self._gemm(call, where, m, n, k, batch, left.dtype)
        if key and call.operator[1] == "mm" and len(made) == 1:
            self._made[call.id] = made[0].bytes, key
            if made[0].memory is not None:
                self._products[made[0].memory] = made[0], call.id

    def _wrapper(self, call: Call, where: str) -> None:
        """A product that the trace shows by its outermost call alone."""
        given = tensors_in(call.given()[:2])
        self._forget(tensors_in(call.made()))
        if len(given) < 2 or not all(one.shape for one in given):
            self._leave_out("aten." + call.operator[1], where)
            return
        (left, right), turned = given, call.operator[1] == "linear"
        rows, k, batch = math.prod(left.shape[:-1]), left.shape[-1], 1
        if len(right.shape) > 2:
            rows = left.shape[-2] if len(left.shape) > 1 else 1
            batch = math.prod(max(both) for both in itertools.zip_longest(
                reversed(left.shape[:-2]), reversed(right.shape[:-2]), fillvalue=1))
        n = right.shape[0] if turned else right.shape[-1] if len(right.shape) > 1 else 1
        inner = right.shape[-1] if turned else right.shape[-2 if len(right.shape) > 1 else 0]
        if inner != k:
            raise call.refuse(f"inputs.shapes has {left.shape} times {right.shape}")
        self._gemm(call, where, rows, n, k, batch, left.dtype)

    def _gemm(self, call: Call, where: str, m: int, n: int, k: int, batch: int, dtype: str) -> str:
        """The key of the operation. Empty: it has no elements, or no type that is known."""
        for name, value in (("m", m), ("n", n), ("k", k), ("batch", batch)):
            if value > MAX_EXTENT:
                raise call.refuse(f"inputs.shapes gives {name} {value}, and t3 sim has at most "
                                  f"{MAX_EXTENT}")
        if not m * n * k * batch:
            return ""
        if dtype.startswith("<"):
            self.unknown["types"].add(shown(dtype))
            self._leave_out(f"product of {dtype}", where)
            return ""
        self.counts["products"] += 1
        return self.operations.add(
            {"gemm": {"m": m, "n": n, "k": k, "batch": batch, "dtype": dtype}}, where)

    # --- collectives

    def _collective(self, call: Call, where: str, tree: Tree) -> None:
        if call.is_of_library and not self._begun.isdisjoint(beginnings(call)):
            return
        name = collectives.name_of(call)
        if not name:
            if not is_silent(call):
                self._leave_out(collectives.left_out_name(call), where)
            return
        found = collectives.exchange_of(call, name, tree, self.groups)
        if found is None:
            return
        if not found.bytes and name != "barrier":
            self._leave_out(f"{name} of no bytes", where)
            return
        if found.bytes > MAX_BYTES:
            raise call.refuse(f"it has {shown(str(found.bytes))} bytes, and t3 sim has at most "
                              f"{MAX_BYTES}")
        if found.dtype.startswith("<"):
            self.unknown["types"].add(shown(found.dtype))
            self._leave_out(f"{name} of {found.dtype}", where)
            return
        self._exchange(call, where, found)
        self._forget(found.tensors)

    def _exchange(self, call: Call, where: str, found: Exchange) -> None:
        self.counts["collectives"] += 1
        product = self._product_in(found)
        is_by_order = product is None
        if product is None:
            product = self._product_before(call, found)
        if product is not None and product in self._made:
            size, made = self._made[product]
            gemm = json.loads(made)["gemm"]
            if size == found.bytes == gemm["m"] * gemm["n"] * BYTES[gemm["dtype"]]:
                del self._made[product]
                self.counts["depends"] += is_by_order
                found.dtype = gemm["dtype"]
                self.operations.add({"gemm": gemm, "collective": found.operation(),
                                     "summed": "afterwards"}, where, made)
                return
        if not found.dtype:
            self.counts["untyped"] += 1
            found.dtype = self.dtype
        self.operations.add({"collective": found.operation()}, where)

    def _product_in(self, found: Exchange) -> int | None:
        """The product that the tensor is, as a whole and unchanged."""
        if found.name not in SUMS or len(found.tensors) != 1:
            return None
        tensor = found.tensors[0]
        product, number = self._products.get(tensor.memory, (None, None))
        same = (product is not None and tensor.is_whole
                and (tensor.elements, tensor.dtype) == (product.elements, product.dtype))
        return number if same else None

    def _product_before(self, call: Call, found: Exchange) -> int | None:
        """The only product that a node of Chakra waits for, if it has as many bytes."""
        numbers = [one for one in call.depends if one in self._made]
        if not call.kind or found.name not in SUMS or len(numbers) != 1:
            return None
        return numbers[0] if self._made[numbers[0]][0] == found.bytes else None

    # --- the others

    def _pass_on(self, call: Call) -> None:
        """A view of a product is the product, if it is all of it."""
        given, made = tensors_in(call.given()[:1]), tensors_in(call.made())
        product = self._products.get(given[0].memory) if given else None
        for one in made:
            if product is not None and one.memory is not None:
                self._products[one.memory] = product

    def _memory(self, call: Call, where: str) -> None:
        name = call.operator[1]
        given, made = tensors_in(call.given()), tensors_in(call.made())
        self._forget(made)
        if name in LOOKUPS:
            given = [*given[1:], *made]
        elif name.startswith(OVERWRITING):
            given = given[1:]
        self._bytes(call, f"aten.{name}", sum(one.bytes for one in [*given, *made]), where)

    def _bytes(self, call: Call, name: str, size: int, where: str) -> None:
        if size > MAX_BYTES:
            raise call.refuse(f"it moves {shown(str(size))} bytes, and t3 sim has at most "
                              f"{MAX_BYTES}")
        if size:
            self.counts["memory"] += 1
            self.operations.add({"memory": {"name": name, "bytes": size}}, where)

    def _node(self, call: Call, where: str) -> None:
        """A node of Chakra without an operator's arguments."""
        size, ops = call.attrs.get("tensor_size", 0), call.attrs.get("num_ops", 0)
        for name, value in (("tensor_size", size), ("num_ops", ops)):
            if not isinstance(value, int) or value < 0:
                raise call.refuse(f"{name} is {shown(str(value))} and must be a number from 0 up")
        if call.kind in ("MEM_LOAD_NODE", "MEM_STORE_NODE") and size:
            self.counts["remote"] += 1
            self._bytes(call, call.kind, size, where)
        elif call.kind == "COMP_NODE" and size and not ops:
            self._bytes(call, call.kind, size, where)
        elif call.kind != "METADATA_NODE":
            kind = call.attrs.get("op_type")
            self._leave_out(f"{call.kind} {shown(str(kind))}" if kind else call.kind, where)
            if call.kind == "COMP_NODE":
                self.counts["shapeless"] += 1
                self.left_ops += ops
                self.left_micros += call.attrs.get("duration_micros", 0)

    def _leave_out(self, name: str, where: str) -> None:
        self.counts["left out"] += 1
        self.operations.add({"left_out": {"name": shown(name)}}, where)

    def _forget(self, tensors: list[Tensor]) -> None:
        """The memory of these has something else now."""
        for tensor in tensors:
            self._products.pop(tensor.memory, None)


def is_silent(call: Call) -> bool:
    """A record or an operator that waits, and sends nothing."""
    names = [call.operator[1], str(call.attrs.get("collective_name", ""))]
    if call.name == COMMS:
        names += [one for one in scalars_in(call.given()) if isinstance(one, str)]
    return any(collectives.known(one) == "(silent)" for one in names)


def beginnings(call: Call) -> set[tuple[str, Hashable]]:
    """By which a library's call is known to be an operator's: the kind of the collective, and the
    memory of each tensor."""
    name, place = collectives.name_of(call), None
    if not name:
        return set()
    family = next((one for one in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
                   if name.startswith(one)), name)
    given = call.given()
    if call.operator[0] == "c10d":
        place = OF_TORCH[call.operator[1]][1]
        given = [] if place is None else given[place:place + 1]
    tensors = tensors_in(given)
    if tensors:
        return {(family, one.memory) for one in tensors if one.memory is not None}
    return {(family, None)} if family == "barrier" else set()
