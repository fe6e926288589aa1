# SPDX-License-Identifier: MIT
"""The bytes of a trace, and the sentence about what is wrong with it."""

from __future__ import annotations

import gzip
import os
import zlib

MAX_TRACE = 1 << 29  # bytes, unpacked
GZIP = b"\x1f\x8b"


class TraceError(ValueError):
    """A sentence that names the file, the node and the field."""


def shown(text: str, most: int = 64) -> str:
    """Another program's text, for a sentence: printable, in a line, not too long."""
    clean = "".join(one if one.isprintable() else "?" for one in text)
    return clean if len(clean) <= most else clean[:most - 3] + "..."


def read(path: str) -> bytes:
    """All of a file, unpacked if it is gzip's."""
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == GZIP
            file.seek(0)
            source = gzip.GzipFile(fileobj=file) if packed else file
            data = source.read(MAX_TRACE + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise TraceError(f"{path} cannot be unpacked: {error}") from error
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror}") from error
    if len(data) > MAX_TRACE:
        raise TraceError(f"{path} has more than {MAX_TRACE >> 20} MiB; trace one step")
    return data


def is_chakra(path: str) -> bool:
    """By its name, as NAME.0.et, packed or not."""
    name = os.path.basename(path)
    return name.removesuffix(".gz").endswith(".et")
