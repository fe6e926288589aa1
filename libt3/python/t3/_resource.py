# SPDX-License-Identifier: MIT
"""Handles of libt3 with a count of their users, and the objects that own them.

A handle ends when nobody uses it: not its object, no object below it, no array of its memory and no
call that still runs. So the order in which a program closes things is free, and an array can never
look at memory that is gone.
"""

from __future__ import annotations

import threading
import warnings
from types import TracebackType
from typing import Any, Callable, Sequence, TypeVar

from t3 import errors

Self = TypeVar("Self", bound="Resource")


class Handle:
    """A C pointer, how to end it, and the handles that must outlive it."""

    def __init__(self, pointer: Any, destroy: Callable[[Any], Any],
                 parents: Sequence[Handle] = ()) -> None:
        self.pointer = pointer
        self._destroy = destroy
        self._users = 1
        self._lock = threading.Lock()
        self._parents = tuple(parents)
        for parent in self._parents:
            parent.retain()

    def retain(self) -> None:
        with self._lock:
            if not self._users:
                raise ValueError("it is closed")
            self._users += 1

    def release(self) -> int:
        """One user less. Returns what the destroy of the last one returned, else 0."""
        with self._lock:
            self._users -= 1
            if self._users:
                return 0
        result = self._destroy(self.pointer)
        for parent in self._parents:
            parent.release()
        return result or 0

    @property
    def users(self) -> int:
        return self._users


class Resource:
    """What has a handle: a context manager that is closed once.

    close() ends the object for its user: each later call raises ValueError. Forgetting it is a
    ResourceWarning, and the object then closes itself.
    """

    _handle: Handle | None = None

    def close(self) -> None:
        """End this object. Closing twice is allowed."""
        handle, self._handle = self._handle, None
        if handle is not None:
            result = handle.release()
            if result < 0:
                raise errors.make(result, what=f"close of {type(self).__name__}")

    @property
    def closed(self) -> bool:
        return self._handle is None

    def _live(self) -> Handle:
        handle = self._handle
        if handle is None:
            raise ValueError(f"this {type(self).__name__} is closed")
        return handle

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """function(pointer, *arguments), during which the handle cannot end."""
        handle = self._live()
        handle.retain()
        try:
            return function(handle.pointer, *arguments)
        finally:
            handle.release()

    def __enter__(self: Self) -> Self:
        self._live()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        if self._handle is not None:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, source=self)
            self.close()
