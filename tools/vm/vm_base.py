# SPDX-License-Identifier: MIT
"""What the launcher's parts share: places, exit codes, and how a run that cannot go on ends."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
CACHE = pathlib.Path(os.environ.get("T3_CACHE", ROOT / ".cache"))

EXIT_TIMEOUT = 124
EXIT_DIED = 125
EXIT_USAGE = 126


class VmError(Exception):
    """A run that ends with an exit code of the launcher. The text is for the user."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


def read_text(path):
    return path.read_text(errors="replace") if path.exists() else ""
