# SPDX-License-Identifier: MIT
"""The versions of torch that this backend was written for."""

from __future__ import annotations

import re
import warnings

OLDEST, NEWEST = (1, 13), (2, 14)


def check(text: str) -> None:
    """Refuse an older one, and warn of a newer one, of whose calls nothing is known."""
    found = re.match(r"(\d+)\.(\d+)", text)
    version = (int(found[1]), int(found[2])) if found else OLDEST
    if version < OLDEST:
        raise ImportError(f"t3.torch needs torch {name(OLDEST)} or later, and this is {text}")
    if version > NEWEST:
        warnings.warn(f"t3.torch is written for torch {name(OLDEST)} to {name(NEWEST)}, and this "
                      f"is {text}: a call that torch has renamed fails, and says so",
                      RuntimeWarning, stacklevel=3)


def name(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
