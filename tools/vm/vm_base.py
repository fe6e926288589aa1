# SPDX-License-Identifier: MIT
"""What the launcher's parts share: places, exit codes, and how a run that cannot go on ends."""

import os
import pathlib
import stat
import sys

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


# --- places ------------------------------------------------------------------

def can_make(path):
    """Whether this user can write to the folder, or make it."""
    there = next(folder for folder in (path, *path.parents) if folder.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def is_private(path):
    """Whether it is a folder to which nobody else has access."""
    found = path.lstat()
    return (stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
            and not found.st_mode & 0o077)


def refuse_folder(why):
    print(f"t3-vm: {why}, or set XDG_CACHE_HOME to a folder that you can write to", file=sys.stderr)
    sys.exit(EXIT_USAGE)


def private_folder(path):
    """A folder in a place where everybody writes. One that somebody else has made is refused."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError as error:
        refuse_folder(f"{path} cannot be made: {error.strerror}: set TMPDIR")
    if not is_private(path):
        refuse_folder(f"{path} is not a folder of yours alone: remove it")
    return path


def state_folder():
    """Where a user of the installed t3-vm has logs and what was found out about the machine."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    cache = cache if os.path.isabs(cache) else os.path.expanduser("~/.cache")
    folder = pathlib.Path(cache) / "t3-vm"
    if folder.is_absolute() and can_make(folder):
        return folder
    temporary = os.environ.get("TMPDIR", "")
    temporary = temporary if os.path.isabs(temporary) else "/tmp"
    return private_folder(pathlib.Path(temporary) / f"t3-vm-{os.getuid()}")


# PARTS has QEMU, GUEST what depends on the guest's kernel: its link, the module, the images. BUILD
# is written to, too. A package puts the parts into `guest` beside the launcher. In the source tree
# all are the build folder, but for another kernel (T3_GUEST).
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PARTS = HERE / "guest"
IS_INSTALLED = PARTS.is_dir()
if IS_INSTALLED:
    BUILD = CACHE = state_folder()
    GUEST = PARTS
else:
    PARTS = BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
    CACHE = pathlib.Path(os.environ.get("T3_CACHE", ROOT / ".cache"))
    GUEST = pathlib.Path(os.environ.get("T3_GUEST", BUILD))
