# SPDX-License-Identifier: MIT
"""Handles of libt3 with a count of their users, and the objects that own them.

A handle ends when nobody uses it: not its object, no object below it, no array of its memory and no
call that still runs. So the order in which a program closes things is free, and an array can never
look at memory that is gone.

A forked child has copies of all of them. libt3 knows that they are copies: what ends one there frees
memory of the child, and nothing of the parent's.
"""

from __future__ import annotations

import os
import threading
import warnings
from types import TracebackType
from typing import Any, Callable, Sequence, TypeVar

from t3 import errors

Self = TypeVar("Self", bound="Resource")

# Guards the counts of all handles. Reentrant, as a finalizer may run at any place. No thread has it
# while a child is forked, which could not take it otherwise.
_counts = threading.RLock()
os.register_at_fork(before=_counts.acquire, after_in_parent=_counts.release,
                    after_in_child=_counts.release)


class Single:
    """What is there once, as it ends what C has made: copies and another class are refused."""

    def __reduce_ex__(self, _protocol: Any = 0) -> Any:
        """copy, deepcopy and pickle ask here."""
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled: it stands for what "
                        "the device has once")

    __reduce__ = __reduce_ex__

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "__class__":
            raise TypeError(f"the class of a {type(self).__name__} cannot be changed")
        super().__setattr__(name, value)


class Handle(Single):
    """A C pointer, how to end it, and the handles that must outlive it.

    Its first user is the object that owns it, which gives it up by end().
    """

    def __init__(self, pointer: Any, destroy: Callable[[Any], Any],
                 parents: Sequence[Handle] = ()) -> None:
        self.pointer = pointer
        self._destroy = destroy
        self._users = 1
        self._ended = False
        self._maker = os.getpid()
        self._parents = tuple(parents)
        for parent in self._parents:
            parent.retain()

    def retain(self) -> None:
        with _counts:
            if not self._users:
                raise ValueError("it is closed")
            self._users += 1

    def release(self) -> int:
        """One user less. Returns what the destroy of the last one returned, else 0."""
        with _counts:
            self._users -= 1
            if self._users:
                return 0
        result = self._destroy(self.pointer)
        for parent in self._parents:
            parent.release()
        return result or 0

    def end(self) -> int:
        """The owner's use ends, and once only: threads may close at once, and owners be copied."""
        with _counts:
            if self._ended:
                return 0
            self._ended = True
        return self.release()

    @property
    def is_copy(self) -> bool:
        """Whether this is a forked child, and its parent has the handle."""
        return os.getpid() != self._maker

    @property
    def ended(self) -> bool:
        return self._ended

    @property
    def users(self) -> int:
        return self._users


class Resource(Single):
    """What has a handle: a context manager that is closed once.

    close() ends the object for its user: each later call raises ValueError. Forgetting it is a
    ResourceWarning, and the object then closes itself.
    """

    _handle: Handle | None = None
    _made = False

    def _own(self, handle: Handle) -> None:
        """Take what was made for this object. What else it knows is set after this."""
        if self._made:
            handle.end()
            raise TypeError(f"a second __init__ of this {type(self).__name__}: it is made once")
        self._made = True
        self._handle = handle

    def close(self) -> None:
        """End this object. Closing twice is allowed."""
        handle, self._handle = self._handle, None
        if handle is not None:
            result = handle.end()
            if result < 0:
                raise errors.make(result, what=f"close of {type(self).__name__}")

    @property
    def closed(self) -> bool:
        return self._handle is None or self._handle.ended

    def _live(self) -> Handle:
        handle = self._handle
        if handle is None or handle.ended:
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
        handle = self._handle
        if handle is None or handle.ended:
            return
        if not handle.is_copy:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, source=self)
        self.close()
