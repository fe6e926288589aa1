# SPDX-License-Identifier: MIT
"""The JSON of torch's observers: ExecutionGraphObserver of 1.13, ExecutionTraceObserver since."""

from __future__ import annotations

import functools
import json
from typing import Any

from t3.traces.calls import Call, where_of
from t3.traces.files import TraceError, shown
from t3.traces.tensors import arguments, is_count

OLD = ("1.0.0", "1.0.1")  # schemas whose nodes have no objects for inputs and outputs
NEW = ("1.0.2-", "1.0.3-", "1.1.0-", "1.1.1-")


def calls_of(data: bytes, path: str) -> tuple[list[Call], str, bool]:
    """The nodes, the schema, and whether tensors have strides."""
    try:
        found = json.loads(data, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        why = "lists in lists, too many" if isinstance(error, RecursionError) else error
        raise TraceError(f"{path} is no JSON that can be read (a trace of Chakra is called .et): "
                         f"{why}") from error
    if not isinstance(found, dict) or not isinstance(found.get("nodes"), list):
        raise TraceError(f"{path} has no list nodes: torch's observer of execution traces has not "
                         "written it")
    schema = found.get("schema")
    if not isinstance(schema, str) or not (schema in OLD or schema.startswith(NEW)):
        raise TraceError(f"{path}: schema is {shown(str(schema))}, and {OLD[-1]} to 1.1.1 are "
                         "known")
    make = old_call if schema in OLD else new_call
    calls = [make(one, place, path) for place, one in enumerate(found["nodes"])]
    has_strides = any(isinstance(one.get("inputs"), dict) and "strides" in one["inputs"]
                      for one in found["nodes"])
    return calls, schema, has_strides


def refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def old_call(node: Any, place: int, path: str) -> Call:
    node, number, name, where = head_of(node, place, path)

    def part(which: str) -> Any:
        return arguments(node.get(f"{which}s"), node.get(f"{which}_shapes"),
                         node.get(f"{which}_types"), None, f"{where}: {which}s")

    return Call(where, number, name, parent_of(node, "parent", where),
                functools.partial(part, "input"), functools.partial(part, "output"),
                schema=str(node.get("op_schema", "")))


def new_call(node: Any, place: int, path: str) -> Call:
    node, number, name, where = head_of(node, place, path)
    attrs = node.get("attrs", [])
    if not isinstance(attrs, list) or not all(
            isinstance(one, dict) and isinstance(one.get("name"), str) for one in attrs):
        raise TraceError(f"{where}: attrs must be a list of objects with a name")
    named = {one["name"]: one.get("value") for one in attrs}

    def part(which: str) -> Any:
        fields = node.get(which)
        if not isinstance(fields, dict):
            raise TraceError(f"{where}: {which} must be an object")
        return arguments(fields.get("values"), fields.get("shapes"), fields.get("types"),
                         fields.get("strides"), f"{where}: {which}")

    return Call(where, number, name, parent_of(node, "ctrl_deps", where),
                functools.partial(part, "inputs"), functools.partial(part, "outputs"),
                schema=str(named.get("op_schema", "")), attrs=named)


def head_of(node: Any, place: int, path: str) -> tuple[dict[str, Any], int, str, str]:
    if not isinstance(node, dict):
        raise TraceError(f"{path}: nodes[{place}] must be an object")
    number, name = node.get("id"), node.get("name")
    if not is_count(number):
        raise TraceError(f"{path}: nodes[{place}].id must be a number")
    if not isinstance(name, str):
        raise TraceError(f"{path}: nodes[{place}].name must be a string")
    return node, number, name, where_of(path, number, name)


def parent_of(node: dict[str, Any], field: str, where: str) -> int:
    parent = node.get(field)
    if not is_count(parent):
        raise TraceError(f"{where}: {field} must be the number of a node")
    return parent
