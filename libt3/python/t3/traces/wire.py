# SPDX-License-Identifier: MIT
"""Messages of protobuf, by the fields of their schema.

A library would drop a field whose wire type is another one, and would not say which node it was in.
A trace is another program's, so both are said here.
"""

from __future__ import annotations

from typing import Any, Iterator

from t3.traces.files import TraceError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
WIRES = {VARINT: "a varint", FIXED64: "8 bytes", BYTES: "a length and bytes", FIXED32: "4 bytes"}
MAX_MESSAGE = 1 << 26
MASK = (1 << 64) - 1

# A schema: the name and the kind of each field. A kind is a wire's name, or a schema of its own; a
# field whose name ends with [] may be there again and again.
Schema = dict[int, tuple[str, Any]]
KINDS = {"integer": VARINT, "text": BYTES, "bytes": BYTES, "fixed32": FIXED32, "fixed64": FIXED64}


def varint(data: bytes, at: int, where: str) -> tuple[int, int]:
    """A number of at most 10 bytes, and where the next one begins."""
    value = shift = 0
    while shift < 70:
        if at >= len(data):
            raise TraceError(f"{where} ends inside a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        if byte < 0x80:
            return value & MASK, at
        shift += 7
    raise TraceError(f"{where} has a number of more than 10 bytes")


def messages(data: bytes, path: str) -> Iterator[bytes]:
    """All messages of a file, each behind its length."""
    at = number = 0
    while at < len(data):
        where = f"{path}: message {number}"
        length, at = varint(data, at, where)
        if length > MAX_MESSAGE:
            raise TraceError(f"{where} has a length of {length} bytes, and at most {MAX_MESSAGE} "
                             "are read")
        if at + length > len(data):
            raise TraceError(f"{where} has a length of {length} bytes, and the file ends after "
                             f"{len(data) - at} of them")
        yield data[at:at + length]
        at += length
        number += 1


def fields(data: bytes, where: str) -> Iterator[tuple[int, int, Any]]:
    """(number, wire type, value) of each field. A value is a number, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at, where)
        number, wire = key >> 3, key & 7
        value: Any
        if not number or number >= 1 << 29:
            raise TraceError(f"{where} has a field of number {number}")
        if wire == VARINT:
            value, at = varint(data, at, f"{where} field {number}")
        elif wire in (BYTES, FIXED32, FIXED64):
            length = {FIXED32: 4, FIXED64: 8}.get(wire, 0)
            if wire == BYTES:
                length, at = varint(data, at, f"{where} field {number}")
            if at + length > len(data):
                raise TraceError(f"{where} field {number} has {length} bytes, and its message ends "
                                 f"after {len(data) - at} of them")
            value = data[at:at + length]
            at += length
        else:
            raise TraceError(f"{where} field {number} has the wire type {wire}, which no message "
                             "of this format has")
        yield number, wire, value


def message(data: bytes, schema: Schema, where: str, unknown: set[str]) -> dict[str, Any]:
    """The fields by their names. Numbers that the schema does not have go to `unknown`."""
    found: dict[str, Any] = {}
    for number, wire, value in fields(data, where):
        if number not in schema:
            unknown.add(f"field {number}")
            continue
        name, kind = schema[number]
        field = f"{where} {name.removesuffix('[]')}"
        if name.endswith("[]"):
            values = found.setdefault(name[:-2], [])
            if kind == "integer" and wire == BYTES:
                values.extend(packed(value, field))
            else:
                values.append(one(value, wire, kind, field, unknown))
        else:
            found[name] = one(value, wire, kind, field, unknown)
    return found


def one(value: Any, wire: int, kind: Any, field: str, unknown: set[str]) -> Any:
    wanted = BYTES if isinstance(kind, dict) else KINDS[kind]
    if wire != wanted:
        raise TraceError(f"{field} is {WIRES[wire]} and must be {WIRES[wanted]}")
    if isinstance(kind, dict):
        return message(value, kind, field, unknown)
    if kind == "text":
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as error:
            raise TraceError(f"{field} is no text in UTF-8") from error
    return value


def packed(data: bytes, field: str) -> list[int]:
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at, field)
        values.append(value)
    return values


def signed(value: int) -> int:
    """A number of 64 bits in two's complement."""
    return value - (1 << 64) if value >> 63 else value
