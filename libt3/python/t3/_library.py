# SPDX-License-Identifier: MIT
"""libt3 itself. It is opened at its first use, so that an import works without it."""

from __future__ import annotations

import errno
import os
from typing import Any

from t3 import _abi
from t3.errors import Error

ffi: Any = _abi.ffi
NAME = "libt3.so.0"


class Library:
    """The functions of libt3 as attributes. Calls release Python's lock."""

    def __init__(self) -> None:
        self._opened: Any = None

    def __getattr__(self, name: str) -> Any:
        if self._opened is None:
            self._opened = open_library()
        try:
            function = getattr(self._opened, name)
        except AttributeError as error:
            raise Error(errno.ENOSYS, f"the {NAME} of this machine has no {name}(): install the "
                                      "libt3 that this package came with") from error
        setattr(self, name, function)
        return function


def open_library() -> Any:
    try:
        return ffi.dlopen(NAME)
    except OSError as error:
        raise Error(errno.ENOENT, f"{NAME} cannot be loaded: {error}. Install libt3-0, or name its "
                                  "folder in LD_LIBRARY_PATH") from error


lib: Any = Library()


def text_by(function: Any, *arguments: Any) -> str:
    """What one of libt3's text functions writes, which take a buffer and its size last."""
    room = 512
    while True:
        text = ffi.new("char[]", room)
        length = function(*arguments, text, room)
        if length < room:
            return os.fsdecode(ffi.string(text))
        room = length + 1


def path_bytes(path: Any) -> bytes:
    """A path for C, where a null byte would end it. Errors: as open()."""
    text = os.fsencode(path)
    if b"\0" in text:
        raise ValueError("embedded null byte")
    return text


def string(pointer: Any) -> str:
    return os.fsdecode(ffi.string(pointer)) if pointer else ""
