# SPDX-License-Identifier: MIT
"""What collectives of the backend raise. torch's callers expect a RuntimeError."""

from __future__ import annotations


class CollectiveError(RuntimeError):
    """A collective failed. The text names collective, group, rank, and the rank that is to blame.

    ``collective`` is its name, ``rank`` this rank in the group, ``peer`` the rank in the group that
    ended, failed or is late, or None where nobody knows.
    """

    def __init__(self, text: str, collective: str = "", rank: int = -1,
                 peer: int | None = None) -> None:
        super().__init__(text)
        self.collective, self.rank, self.peer = collective, rank, peer


class Aborted(RuntimeError):
    """The group was aborted or destroyed while the collective waited."""


class NoWay(Exception):
    """The devices of this group cannot do it. All ranks of the group get this."""


class NoRoom(NoWay):
    """They have no memory for it."""
