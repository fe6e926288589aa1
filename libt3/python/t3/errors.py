# SPDX-License-Identifier: MIT
"""What calls of this package raise, each with libt3's sentence on what was wrong."""

from __future__ import annotations

import builtins
import errno
import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from t3.records import Fault, Refusal

# "rank 2 has ended", "rank 1 has given up: rank 2 did not come in time": the last one is the cause.
CAUSE = re.compile(r"\brank (\d+) (?:has ended|did not come|cannot join|has given up|faulted)")


class Error(OSError):
    """A call of libt3 failed. ``errno`` is its error number, ``strerror`` says why.

    ``refusal`` is the field of an argument that was refused, or None: errors of a state have none.
    """

    refusal: Refusal | None = None


class TimeoutError(Error, builtins.TimeoutError):  # pylint: disable=redefined-builtin
    """The time was up. ``strerror`` says what is missing: a tile, a rank, a device."""


class FaultError(Error):
    """The device recorded a fault of the space. Only a reset or close of the space ends that.

    ``fault`` is the record, or None when the device shows none.
    """

    fault: Fault | None = None


class PeerError(Error):
    """Another rank has ended, failed or faulted. Close the plan and the communicator.

    ``rank`` is that rank, or None where the library does not know it. ``fault`` is the record of
    this rank's space, if there is one.
    """

    rank: int | None = None
    fault: Fault | None = None


class DeviceGoneError(Error):
    """The device was removed, or its driver does not answer. Close it and open it again.

    A space that somebody destroyed by another handle is none: that is an Error with ENOENT.
    """


def text_of(error: int, sentence: str, what: str) -> str:
    """The message of an exception: what was tried, and the library's sentence or errno's."""
    return f"{what}: {sentence or os.strerror(-error)}"


def make(error: int, sentence: str = "", what: str = "libt3", fault: Fault | None = None) -> Error:
    """The exception for a negative error number of libt3."""
    from t3.records import new_refusal  # pylint: disable=import-outside-toplevel,cyclic-import

    text = text_of(error, sentence, what)
    refusal = new_refusal(error)
    if refusal and refusal.text not in text:
        text = f"{text}: {refusal.text}"
    kind = type_of(error, fault)
    made = kind(-error, text)
    made.refusal = refusal
    if isinstance(made, FaultError):
        made.fault = fault
    elif isinstance(made, PeerError):
        made.fault = fault
        causes = CAUSE.findall(sentence)
        made.rank = int(causes[-1]) if causes else None
    return made


def type_of(error: int, fault: Fault | None) -> type[Error]:
    if error == -errno.ETIMEDOUT:
        return TimeoutError
    if error == -errno.EPIPE or (fault is not None and fault.is_of_peer):
        return PeerError
    if error == -errno.EIO:
        return FaultError
    if error == -errno.ENODEV:
        return DeviceGoneError
    return Error
