# SPDX-License-Identifier: MIT
"""A watch on /dev while tests run. As root a program may replace a device by a file, such as /dev/null
by what it would write there, and other programs of the machine fail later, without a cause.

Devices come and go, as udev finds them. What no test may do: replace something by something else,
change who may use it, remove what each machine has, or leave files.
"""

import contextlib
import os
import stat
import threading

SECONDS = 0.5  # from one look to the next
# Each machine has these: (major, minor).
ALWAYS = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9), "tty": (5, 0)}
LINKS = ("ptmx", "fd", "stdin", "stdout", "stderr")
# Terminals of users, and memory and queues of programs.
OTHERS = ("pts", "shm", "mqueue", "hugepages", "fd")


def look(root="/dev"):
    """{name: what it is}; what goes meanwhile is left out."""
    found, folders = {}, [""]
    while folders:
        folder = folders.pop()
        with contextlib.suppress(OSError), os.scandir(os.path.join(root, folder)) as entries:
            for entry in entries:
                name = os.path.join(folder, entry.name)
                with contextlib.suppress(OSError):
                    state = entry.stat(follow_symlinks=False)
                    found[name] = (stat.S_IFMT(state.st_mode), state.st_rdev, stat.S_IMODE(state.st_mode),
                                   state.st_uid, state.st_gid)
                    if stat.S_ISDIR(state.st_mode) and name not in OTHERS:
                        folders.append(name)
    return found


def describe(state):
    kind, device, mode, user, group = state
    names = {stat.S_IFREG: "an ordinary file", stat.S_IFDIR: "a folder", stat.S_IFLNK: "a link",
             stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    name = names.get(kind, f"device {os.major(device)}:{os.minor(device)}")
    return f"{name}, mode {mode:o} of {user}:{group}"


def complaints(before, now):
    """(name, sentence) of each change that no test may make."""
    for name in sorted(before.keys() | now.keys()):
        old, new = before.get(name), now.get(name)
        if old and new and old[:2] != new[:2]:
            yield name, f"/dev/{name} was {describe(old)}, and is {describe(new)}"
        elif name in ALWAYS and old and not new:
            yield name, f"/dev/{name} has gone"
        elif name in ALWAYS and old != new:
            yield name, f"/dev/{name} was {describe(old)}, and is {describe(new)}"
        elif name in LINKS and old and not new:
            yield name, f"/dev/{name} has gone"
        elif new and not old and new[0] == stat.S_IFREG:
            yield name, f"/dev/{name} is new, and {describe(new)}"


def wrong_devices(now):
    """What each machine has, and this one has otherwise."""
    for name, numbers in ALWAYS.items():
        state = now.get(name)
        if not state or state[0] != stat.S_IFCHR or state[1] != os.makedev(*numbers):
            yield f"/dev/{name} must be the character device {numbers[0]}:{numbers[1]}, and is " \
                f"{describe(state) if state else 'not there'}"


class Watch:
    """`suites`: a function that says what runs now. `say`: what takes a sentence at once, as later
    nothing may work any more. `found`: all sentences."""

    def __init__(self, suites, say, root="/dev"):
        self.suites, self.say, self.root = suites, say, root
        self.found = []
        self.last = look(root)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.follow, daemon=True)

    def compare(self):
        before, self.last = self.last, look(self.root)
        for _, sentence in complaints(before, self.last):
            self.found.append(f"{sentence} (while {self.suites()} ran)")
            self.say(self.found[-1])

    def follow(self):
        while not self.over.wait(SECONDS):
            self.compare()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.compare()
