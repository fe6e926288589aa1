# SPDX-License-Identifier: MIT
"""Collectives of a trace: what each is called, its bytes, its type, and how many ranks it has."""

from __future__ import annotations

import json
from typing import Any, Iterator

from t3.traces.calls import BACKEND, COMMS, FUNCTIONAL, Call, Tree
from t3.traces.files import TraceError, read, shown
from t3.traces.tensors import BYTES, SCALARS, Tensor, scalars_in, tensors_in
from t3.workload import MAX_RANKS, OF_FUNCTIONS, OF_PARTS, OF_TORCH

INIT = "process_group:init"  # a node that has the groups

# The names that libraries and their records have, without underscores.
OF_LIBRARIES = {
    "allreduce": "all_reduce", "allreducecoalesced": "all_reduce_coalesced",
    "allgather": "all_gather", "allgatherbase": "all_gather_into_tensor",
    "allgathercoalesced": "all_gather_coalesced",
    "allgatherintotensorcoalesced": "all_gather_into_tensor_coalesced",
    "reducescatter": "reduce_scatter", "reducescatterbase": "reduce_scatter_tensor",
    "reducescattertensorcoalesced": "reduce_scatter_tensor_coalesced",
    "broadcast": "broadcast", "broadcastoop": "broadcast", "reduce": "reduce",
    "reduceoop": "reduce", "alltoall": "all_to_all", "alltoallv": "all_to_all_single",
    "alltoallbase": "all_to_all_single", "alltoallsingle": "all_to_all_single",
    "gather": "gather", "scatter": "scatter", "send": "send", "recv": "recv",
    "recvanysource": "recv", "barrier": "barrier"}
# Records and operators that send nothing themselves.
SILENT = ("wait", "waittensor", "init", "startcoalescing", "endcoalescing")
# Chakra's types of collectives, by their numbers.
OF_CHAKRA = ("all_reduce", "reduce", "all_gather_into_tensor", "gather", "scatter", "broadcast",
             "all_to_all_single", "reduce_scatter_tensor", "reduce_scatter_tensor", "barrier")
# The places of a rank's part and of the whole, which say how many parts there are.
RATIOS = {"_allgather_base_": (1, 0), "_reduce_scatter_base_": (0, 1),
          "allgather_into_tensor_coalesced_": (1, 0), "reduce_scatter_tensor_coalesced_": (0, 1)}
LISTS = {"allgather_": 0, "reduce_scatter_": 1, "alltoall_": 1}


class Groups:
    """How many ranks each group has, by its name in the trace."""

    def __init__(self, ranks: int | None, path: str | None) -> None:
        self.ranks, self.assumed = ranks, 0
        self.is_cut = False  # whether a list of groups has no end
        self.sizes: dict[str, int] = {} if path is None else of_file(path)
        self.whole = max(self.sizes.values(), default=0)

    def learn(self, call: Call) -> None:
        """From a node that torch writes when the groups are known. Torch cuts long texts."""
        text = next((one for one in scalars_in(call.given()) if isinstance(one, str)), "")
        decoder, at = json.JSONDecoder(), text.find("{")
        while at >= 0:
            try:
                one, end = decoder.raw_decode(text, at)
            except (ValueError, RecursionError):
                self.is_cut = True
                return
            ranks = one.get("ranks")
            size = one.get("group_size", len(ranks) if isinstance(ranks, list) else 0)
            if not isinstance(size, int) or isinstance(size, bool) or size < 1:
                raise call.refuse("group_size of a group must be a number from 1 up")
            for key in ("pg_name", "backend_id"):
                if key in one:
                    self.sizes[str(one[key])] = size
            self.whole = max(self.whole, size)
            at = text.find("{", end)

    def size(self, call: Call, names: list[str]) -> int:
        """That of the first name that is known, of all ranks, or of all groups."""
        for name in names:
            if name in self.sizes:
                return self.sizes[name]
        if self.ranks:
            self.assumed += 1
            return self.ranks
        if not names and not self.is_cut and len(set(self.sizes.values())) == 1:
            return next(iter(self.sizes.values()))
        raise call.refuse("the trace does not say how many ranks its group has (no pg_size, and "
                          "pg_name is not known): say it by --ranks or --groups")


def of_file(path: str) -> dict[str, int]:
    """The groups of ASTRA-sim: an object with a list of ranks for each name."""
    try:
        found = json.loads(read(path))
    except (ValueError, RecursionError) as error:
        if isinstance(error, TraceError):
            raise
        raise TraceError(f"{path} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise TraceError(f"{path} must be an object with a list of ranks for each group")
    for name, ranks in found.items():
        if not isinstance(ranks, list) or not ranks:
            raise TraceError(f"{path}: {shown(name)} must be a list of ranks")
    return {name: len(ranks) for name, ranks in found.items()}


class Exchange:
    """A collective: name, bytes, ranks and dtype, and the tensors that this rank gives."""

    def __init__(self, name: str, tensors: list[Tensor], ranks: int, size: int | None = None,
                 dtype: str = "") -> None:
        parts = ranks if name.startswith(OF_PARTS) else 1
        self.name, self.tensors, self.ranks = name, tensors, ranks
        self.bytes = sum(one.bytes for one in tensors) * parts if size is None else size * parts
        self.dtype = tensors[0].dtype if tensors else "uint8" if name == "barrier" else dtype

    def operation(self) -> dict[str, Any]:
        return {"name": self.name, "bytes": self.bytes, "ranks": self.ranks, "dtype": self.dtype}


def name_of(call: Call) -> str:
    """In t3.torch.counts(), or nothing: it sends nothing, or no such collective is known."""
    space, name = call.operator
    if call.kind == "COMM_COLL_NODE":
        kind = call.attrs.get("comm_type")
        if not isinstance(kind, int) or not 0 <= kind < len(OF_CHAKRA):
            raise call.refuse(f"comm_type is {shown(str(kind))} and must be 0 to "
                              f"{len(OF_CHAKRA) - 1}")
        return OF_CHAKRA[kind]
    if call.kind:
        return "send" if call.kind == "COMM_SEND_NODE" else "recv"
    if space == "c10d" and name in OF_TORCH:
        return OF_TORCH[name][0]
    if space in FUNCTIONAL and name in OF_FUNCTIONS:
        return OF_FUNCTIONS[name][0]
    if call.name == COMMS:
        name = str(call.attrs.get("collective_name") or next(
            (one for one in scalars_in(call.given()) if isinstance(one, str)
             and known(one)), "record_param_comms"))
    elif match := BACKEND.fullmatch(call.name):
        name = match[2]
    return known(name) if known(name) != "(silent)" else ""


def left_out_name(call: Call) -> str:
    """Of a collective that t3 sim does not have."""
    if call.operator[0]:
        return ".".join(call.operator)
    return f"{call.name} {call.attrs.get('collective_name', '')}".replace(":", ".").rstrip()


def known(name: str) -> str:
    plain = name.replace("_", "").lower()
    if plain in SILENT:
        return "(silent)"
    return OF_LIBRARIES.get(plain, "")


def exchange_of(call: Call, name: str, tree: Tree, groups: Groups) -> Exchange | None:
    """The collective, or None: its group has one rank, or its tensors have no elements."""
    if call.kind:
        found = of_chakra(call, name, groups)
    else:
        given = call.given()
        sent = given
        if call.operator[0] == "c10d":
            place = OF_TORCH[call.operator[1]][1]
            sent = [] if place is None else given[place:place + 1]
        elif call.operator[0] in FUNCTIONAL or call.name == COMMS:
            sent = given[:1]
        tensors = tensors_in(sent)
        ranks = ranks_of(call, given, tree, groups)
        found = Exchange(name, tensors, ranks)
        if not tensors and call.name == COMMS:
            found = of_record(call, name, ranks)
    if found.ranks < 2 or (not found.bytes and found.tensors):
        return None
    if found.ranks > MAX_RANKS:
        raise call.refuse(f"its group has {found.ranks} ranks, and t3 sim has at most {MAX_RANKS}")
    return found


def of_record(call: Call, name: str, ranks: int) -> Exchange:
    """By the attributes of a record whose tensors the trace does not have."""
    dtype = SCALARS.get(str(call.attrs.get("dtype")), "")
    count = call.attrs.get("in_msg_nelems", 0)
    if not isinstance(count, int) or count < 0:
        raise call.refuse("in_msg_nelems must be a number from 0 up")
    return Exchange(name, [], ranks, count * BYTES.get(dtype, 0), dtype or "uint8")


def of_chakra(call: Call, name: str, groups: Groups) -> Exchange:
    """comm_size is what this rank gives, as ASTRA-sim takes it."""
    size = call.attrs.get("comm_size", call.attrs.get("tensor_size"))
    if name == "barrier":
        size = 0
    if not isinstance(size, int) or size < 0:
        raise call.refuse("comm_size is missing" if size is None else
                          f"comm_size is {shown(str(size))} and must be a number from 0 up")
    if name in ("send", "recv"):
        return Exchange(name, [], 2, size, "uint8")
    names = [str(call.attrs[key]) for key in ("pg_name", "comm_group") if key in call.attrs]
    dims = call.attrs.get("involved_dim")
    if not names and isinstance(dims, list) and not all(dims):
        raise call.refuse("involved_dim leaves out dimensions, whose sizes no trace has: it needs "
                          "pg_name and --groups")
    return Exchange(name, tensors_in(call.given()), groups.size(call, names), size)


def ranks_of(call: Call, given: list[Any], tree: Tree, groups: Groups) -> int:
    """Of its group: by what the trace says of it, by its arguments, or by the group's name."""
    records = [call, *(one for one in tree.all_inside(call) if one.name == COMMS)]
    for one in records:
        size = one.attrs.get("pg_size")
        if isinstance(size, int) and size > 0:
            return size
    space, name = call.operator
    if space == "c10d" and (found := by_arguments(name, given)):
        return found
    if space in FUNCTIONAL:
        place = -1 if space == "c10d_functional" else OF_FUNCTIONS[name][1]
        if place is not None and place < len(given) and isinstance(given[place], int):
            return int(given[place])
    return groups.size(call, list(names_in(records, space)))


def by_arguments(name: str, given: list[Any]) -> int:
    """0: they do not say it."""
    if name in LISTS and len(given) > LISTS[name]:
        whole = given[LISTS[name]]
        if name != "alltoall_":
            whole = whole[0] if isinstance(whole, list) and whole else []
        return len(whole) if isinstance(whole, list) else 0
    if name in RATIOS and len(given) > 1:
        part, whole = (sum(one.bytes for one in tensors_in(given[place])) for place in RATIOS[name])
        return whole // part if part and whole % part == 0 else 0
    return 0


def names_in(records: list[Call], space: str) -> Iterator[str]:
    """Texts that may be a group's name, in the order in which they are looked up."""
    for one in records:
        if "pg_name" in one.attrs:
            yield str(one.attrs["pg_name"])
    for one in records:
        if one.name == COMMS or space in FUNCTIONAL:
            places = one.given()[-1:] if one.name != COMMS else group_places(one.given())
            yield from (str(value) for value in scalars_in(places))


def group_places(given: list[Any]) -> list[Any]:
    """A tuple of the group's name and description. Before torch 2.2: the number of its backend,
    which is an address."""
    return [one for one in given
            if (isinstance(one, list) and len(one) == 2 and all(isinstance(part, str)
                                                                for part in one))
            or (isinstance(one, int) and not isinstance(one, bool) and one > MAX_RANKS)]
