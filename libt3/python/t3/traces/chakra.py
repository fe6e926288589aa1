# SPDX-License-Identifier: MIT
"""Chakra's execution traces: GlobalMetadata and then nodes, each behind its length.

The schema is mlcommons/chakra's et_def.proto since October 2023, which says 0.0.4 and 1.0.0, with
the nodes of storage that came later. Its numbers are facts; the file is not here.
"""

from __future__ import annotations

import ast
import functools
import json
import re
import struct
from typing import Any

from t3.traces import wire
from t3.traces.calls import Call, where_of
from t3.traces.files import TraceError, shown
from t3.traces.tensors import arguments

TYPES = ("INVALID_NODE", "METADATA_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE",
         "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE", "STORAGE_NODE", "BATCH_NODE",
         "CHECKPOINT_NODE")
# The values that an attribute may have, by field: from 3 on, each followed by a list of it.
SCALARS = ("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32",
           "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes")
KINDS = {"double": "fixed64", "float": "fixed32", "string": "text", "bytes": "bytes",
         "fixed32": "fixed32", "sfixed32": "fixed32", "fixed64": "fixed64", "sfixed64": "fixed64"}
FORMATS = {"double": "<d", "float": "<f", "fixed32": "<I", "sfixed32": "<i", "fixed64": "<Q",
           "sfixed64": "<q"}
ATTRIBUTE: wire.Schema = {1: ("name", "text"), 2: ("doc_string", "text")}
for place, scalar in enumerate(SCALARS):
    kind = KINDS.get(scalar, "integer")
    ATTRIBUTE[3 + 2 * place] = (scalar, kind)
    # Numbers of fixed size lie in a list one behind the other.
    ATTRIBUTE[4 + 2 * place] = (f"{scalar} list", {
        1: ("values[]", kind if kind in ("integer", "text", "bytes") else "bytes")})
ARGUMENTS: wire.Schema = {1: ("values", "text"), 2: ("shapes", "text"), 3: ("types", "text")}
NODE: wire.Schema = {
    1: ("id", "integer"), 2: ("name", "text"), 3: ("type", "integer"),
    4: ("ctrl_deps[]", "integer"), 5: ("data_deps[]", "integer"),
    6: ("start_time_micros", "integer"), 7: ("duration_micros", "integer"),
    8: ("inputs", ARGUMENTS), 9: ("outputs", ARGUMENTS), 10: ("attr[]", ATTRIBUTE),
    11: ("storage", "bytes")}
# Attributes that are read, and others whose meaning is no matter of time or bytes.
READ = frozenset("comm_type comm_size tensor_size num_ops op_type op_schema pg_name comm_group "
                 "involved_dim is_cpu_op".split())
NO_MATTER = frozenset("rf_id scope fw_parent seq_id tid fw_tid stream comm_priority comm_tag "
                      "comm_src comm_dst kernel_backend kernel_file".split())
TEXT = re.compile(r"'([^'\\]*)'|\"([^\"\\]*)\"")
CALL = re.compile(r"\w+::|\w+:\w+|record_param_comms")
PART = re.compile(r"(\w+(?:::?\w+)?)\((\d{1,9})\)")
# Of Python's text of values: what JSON has, too, and what is neither of both.
LEXEME = re.compile(r"'[^'\"\\\x00-\x1f]*'|\"[^\"\\\x00-\x1f]*\"|True|False|None|([^\[\], \d.+\-eE]+)")
WORDS = {"True": "true", "False": "false", "None": "null"}
MAX_TEXT, MAX_PYTHON = 1 << 22, 1 << 16


def calls_of(data: bytes, path: str) -> tuple[list[Call], str, set[str]]:
    """The nodes, the version, and the fields and attributes that are not known."""
    calls, version = [], ""
    unknown: set[str] = set()
    for number, message in enumerate(wire.messages(data, path)):
        if not number:
            version = version_of(message, path)
        else:
            calls.append(call_of(message, f"{path}: message {number}", path, unknown))
    if not data:
        raise TraceError(f"{path} is empty")
    refuse_circles(calls)
    return without_kernels(joined(calls)), version, unknown


def joined(calls: list[Call]) -> list[Call]:
    """Chakra's converter of 2023 cuts a call where it starts a kernel: NAME(0), NAME(1) and so on,
    each with all arguments."""
    first: dict[tuple[str, str], int] = {}
    same = {call.id: first.setdefault((call.name, str(call.attrs.get("rf_id"))), call.id)
            for call in calls if "part" in call.attrs}
    for call in calls:
        if call.parent in same:
            call.parent = same[call.parent]
    return [call for call in calls if same.get(call.id, call.id) == call.id]


def without_kernels(calls: list[Call]) -> list[Call]:
    """If the trace has operators: kernels are how these are done, and call nothing."""
    if not any(call.operator[0] for call in calls):
        return calls
    kernels = {call.id for call in calls
               if call.kind == "COMP_NODE" and call.attrs.get("is_cpu_op") is False}
    return [call for call in calls if call.id not in kernels]


def version_of(message: bytes, path: str) -> str:
    """Of GlobalMetadata: it is field 1, where attributes were before."""
    version = ""
    for number, kind, value in wire.fields(message, f"{path}: GlobalMetadata"):
        if kind != wire.BYTES or number > 2:
            raise TraceError(f"{path}: GlobalMetadata has a field {number} that is none of its "
                             "own: this is no trace of Chakra since version 0.0.4")
        if number == 1 and not value.startswith(b"\n"):
            version = value.decode("utf-8", "replace")
    return version


def call_of(message: bytes, where: str, path: str, unknown: set[str]) -> Call:
    node = wire.message(message, NODE, where, unknown)
    name, number = node.get("name", ""), node.get("id", 0)
    where = where_of(path, number, name)
    if not 0 < node.get("type", 0) < len(TYPES):
        raise TraceError(f"{where}: type is {node.get('type', 0)} and must be 1 to "
                         f"{len(TYPES) - 1}")
    kind = TYPES[node["type"]]
    attrs = {}
    for one in node.get("attr", []):
        key = one.get("name", "")
        attrs[key] = value_of(one, f"{where}: attribute {shown(key)}")
        if key not in READ and key not in NO_MATTER:
            unknown.add(f"attribute {shown(key)}")
    attrs["duration_micros"] = node.get("duration_micros", 0)
    is_operator = (attrs.get("is_cpu_op", True) and "inputs" in node and "num_ops" not in attrs
                   and (not kind.startswith("COMM_") or CALL.match(name) is not None))
    parents = node.get("ctrl_deps", [])
    if is_operator and (part := PART.fullmatch(name)):
        name, attrs["part"] = part[1], int(part[2])
    return Call(where, number, name, parents[0] if parents else None,
                functools.partial(part_of, node.get("inputs", {}), f"{where}: inputs"),
                functools.partial(part_of, node.get("outputs", {}), f"{where}: outputs"),
                schema=str(attrs.get("op_schema", "")), attrs=attrs,
                kind="" if is_operator else kind, depends=tuple(node.get("data_deps", [])))


def value_of(attribute: dict[str, Any], where: str) -> Any:
    """The number, the text or the list that it has."""
    for scalar in SCALARS:
        if scalar in attribute:
            return number_of(scalar, attribute[scalar])
        if f"{scalar} list" in attribute:
            values = attribute[f"{scalar} list"].get("values", [])
            if scalar in FORMATS:
                size = struct.calcsize(FORMATS[scalar])
                whole = b"".join(values)
                if len(whole) % size:
                    raise TraceError(f"{where} has {len(whole)} bytes of numbers of {size}")
                values = [whole[at:at + size] for at in range(0, len(whole), size)]
            return [number_of(scalar, one) for one in values]
    return 0  # a value of 0 need not be written


def number_of(scalar: str, value: Any) -> Any:
    if scalar in FORMATS:
        return struct.unpack(FORMATS[scalar], value)[0]
    if scalar in ("int32", "int64"):
        return wire.signed(value)
    if scalar in ("sint32", "sint64"):
        return value >> 1 ^ -(value & 1)
    return bool(value) if scalar == "bool" else value


def part_of(fields: dict[str, str], where: str) -> list[Any]:
    """Arguments, which are Python's text of torch's lists."""
    shapes_text, types_text = fields.get("shapes", ""), fields.get("types", "")
    if not shapes_text and not types_text:
        return []
    try:
        shapes = json.loads(shapes_text)
    except (ValueError, RecursionError) as error:
        raise TraceError(f"{where}.shapes is {shown(shapes_text)}, which is no list") from error
    types = [one or other for one, other in TEXT.findall(types_text)]
    return arguments(values_of(fields.get("values", ""), where, types), shapes, types, None, where)


def values_of(text: str, where: str, types: list[str]) -> list[Any]:
    if not text:
        return [None] * len(types)
    if len(text) > MAX_TEXT:
        raise TraceError(f"{where}.values has {len(text)} characters, and at most {MAX_TEXT} are "
                         "read")
    found = plain_values(text)
    # Python's parser takes 450 bytes and 7 us for a character.
    if found is None and len(text) > MAX_PYTHON:
        raise TraceError(f"{where}.values has {len(text)} characters and is no JSON with Python's "
                         f"words: of other text at most {MAX_PYTHON} are read")
    try:
        found = ast.literal_eval(text) if found is None else found
    except (ValueError, TypeError, ArithmeticError, SyntaxError, RecursionError,
            MemoryError) as error:
        raise TraceError(f"{where}.values is {shown(text)}, which is no list of values") from error
    if not isinstance(found, list):
        raise TraceError(f"{where}.values is {shown(text)}, which is no list")
    return found


def plain_values(text: str) -> Any:
    """Values that JSON has, too, whose parser takes a tenth of the time. None: there are others."""
    def as_json(lexeme: re.Match[str]) -> str:
        if lexeme[1]:
            raise ValueError(f"{shown(lexeme[1])} is nothing of JSON")
        return WORDS.get(lexeme[0]) or f'"{lexeme[0][1:-1]}"'

    try:
        return json.loads(LEXEME.sub(as_json, text))
    except (ValueError, RecursionError):
        return None


def refuse_circles(calls: list[Call]) -> None:
    """A node that waits for itself never begins. Those that nothing waits for are taken away."""
    waits = {call.id: sum(1 for one in call.depends) for call in calls}
    waited: dict[int, list[int]] = {}
    for call in calls:
        for one in call.depends:
            if one in waits:
                waited.setdefault(one, []).append(call.id)
            else:
                waits[call.id] -= 1
    todo = [number for number, count in waits.items() if not count]
    while todo:
        for one in waited.get(todo.pop(), ()):
            waits[one] -= 1
            if not waits[one]:
                todo.append(one)
    for call in calls:
        if waits[call.id]:
            raise call.refuse("its data_deps form a circle")
