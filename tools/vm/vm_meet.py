# SPDX-License-Identifier: MIT
"""Where the nodes of one job meet: a folder of theirs on one machine.

Each node has a file in it, node-N, locked as long as the node lives, and appends lines to it:
`ranks COUNT` (its devices), `fabric UUID` (node 0, of the fabric of all), `nodes COUNT`, `up`,
`done STATUS` (its job has ended) and last `left STATUS`, or `followed STATUS` when it ended because
of another node. The kernel gives up the lock of a killed process. So a file without a lock and
without a last line is of a node that was killed. A node that is started again, while others are
there, replaces its file. What is there when nobody is, is of an earlier job, and the first node to
come removes it.
"""

import contextlib
import fcntl
import os
import time

from vm_base import EXIT_DIED, EXIT_TIMEOUT, EXIT_USAGE, VmError, is_private

MEET_SECONDS = 60
POLL_SECONDS = 0.05
LOCK = ".lock"
SOCKET_PATH_MAX = 107  # of a Unix socket


# --- the folder --------------------------------------------------------------

def make_folder(folder):
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if not is_private(folder):
        raise VmError(EXIT_USAGE, f"{folder} is not a folder of yours alone (mode 700): remove it, "
                      "or name another one by --meet")


def open_lock(folder):
    """The locked file, or None where the folder went away meanwhile."""
    with contextlib.suppress(FileNotFoundError):
        lock = open(folder / LOCK, "a", encoding="utf-8")
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.fstat(lock.fileno()).st_nlink:
            return lock
        lock.close()
    return None


@contextlib.contextmanager
def alone_in(folder):
    """Nobody else comes or goes meanwhile. Makes the folder where there is none."""
    lock = None
    while lock is None:
        try:
            make_folder(folder)
        except OSError as error:
            raise VmError(EXIT_USAGE, f"the nodes cannot meet in {folder}: {error.strerror}") from error
        lock = open_lock(folder)
    with lock:
        yield


def is_held(file):
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(file, fcntl.LOCK_UN)
    return False


def somebody_is_there(folder):
    for path in folder.glob("node-*"):
        with open(path, "rb") as file:
            if is_held(file):
                return True
    return False


def clear_if_left(folder):
    """Removes what the nodes made, unless one is there. Call it alone_in() the folder. False: one is."""
    if somebody_is_there(folder):
        return False
    for path in (*folder.glob("node-*"), *folder.glob(".*.new"), *folder.glob("net-*"),
                 *folder.glob("fabric-*")):
        path.unlink(missing_ok=True)
    return True


def remove_if_left(folder):
    """The same, and the folder goes as well."""
    if not clear_if_left(folder):
        return
    (folder / LOCK).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


def has_followed(folder, node):
    """Whether that node has ended because of another one. For those who are no node themselves."""
    with contextlib.suppress(FileNotFoundError):
        said = (folder / f"node-{node}").read_text(encoding="utf-8").split("\n")[:-1]
        return bool(said) and said[-1].startswith("followed ")
    return False


# --- one node in it ----------------------------------------------------------

class Meeting:
    """What this node says to the others, and what they have said."""

    def __init__(self, folder, node, nodes):
        self.folder, self.node, self.nodes = folder, node, nodes
        self.files = {}
        self.left = f"left {EXIT_DIED}"  # this node's last word, until it is known

    def path(self, node):
        return self.folder / f"node-{node}"

    def join(self, facts=()):
        """The file gets its name with the lock held: others never see it without."""
        if self.seen(self.node):
            raise VmError(EXIT_USAGE, f"node {self.node} is already in {self.folder}: give each node "
                          "a number, and each job a folder (--meet)")
        new = self.folder / f".{self.node}.new"
        new.unlink(missing_ok=True)
        self.files[self.node] = open(new, "a+b", buffering=0)
        fcntl.flock(self.files[self.node], fcntl.LOCK_EX)
        for line in (*facts, f"nodes {self.nodes}"):
            self.say(line)
        new.rename(self.path(self.node))

    def say(self, line):
        self.files[self.node].write(f"{line}\n".encode())

    def seen(self, node):
        """Whether that node has come. Its file stays open, and so its last words can be read."""
        if node in self.files:
            return True
        with contextlib.suppress(FileNotFoundError):
            file = open(self.path(node), "rb")
            if is_held(file):
                self.files[node] = file
                return True
            file.close()
        return False

    def lines(self, node):
        """What that node has said: complete lines, split into words."""
        if not self.seen(node):
            return []
        text = os.pread(self.files[node].fileno(), 4096, 0).decode()
        return [line.split() for line in text.split("\n")[:-1]]

    def missing(self, word):
        """The nodes that have not said it."""
        return [node for node in range(self.nodes)
                if word not in (line[0] for line in self.lines(node))]

    def check_count(self):
        for node in range(self.nodes):
            for word, count in (line[:2] for line in self.lines(node) if line[0] == "nodes"):
                if int(count) != self.nodes:
                    raise VmError(EXIT_USAGE, f"node {node} is one of {count} nodes, and node "
                                  f"{self.node} one of {self.nodes}: the number must be the same")

    def await_all(self, seconds=MEET_SECONDS, check=lambda: None):
        """All nodes have come. `check` may raise what ends the wait."""
        end = time.monotonic() + seconds
        while missing := self.missing("nodes"):
            self.check_count()
            check()
            if time.monotonic() >= end:
                raise VmError(EXIT_TIMEOUT, f"{names(missing)} did not come to {self.folder} within "
                              f"{seconds:g} s (all nodes must run on one machine)")
            time.sleep(POLL_SECONDS)
        self.check_count()

    def fact(self, node, word):
        """What follows the word in that node's file, which has come."""
        return next(line[1] for line in self.lines(node) if line[0] == word)

    def look_again(self, node):
        """A node that has ended may have been started again: then its new file counts."""
        with contextlib.suppress(FileNotFoundError):
            file = open(self.path(node), "rb")
            if is_held(file):
                file, self.files[node] = self.files[node], file
            file.close()

    def failure_of(self, node):
        """(status, how it ended) of another node that has failed by itself, or None."""
        if node in self.files and not is_held(self.files[node]):
            self.look_again(node)
        held = node in self.files and is_held(self.files[node])
        said = self.lines(node)  # after the lock, which goes last
        for line in said:
            if line[0] in ("done", "left") and line[1] != "0":
                return int(line[1]), f"ended with status {line[1]}"
        if said and not held and said[-1][0] not in ("left", "followed"):
            return EXIT_DIED, "was killed"
        return None

    def failure(self):
        """(node, status, how it ended) of the first of the others that has failed, or None."""
        for node in range(self.nodes):
            found = None if node == self.node else self.failure_of(node)
            if found:
                return node, *found
        return None

    def close(self):
        for file in self.files.values():
            file.close()


def names(nodes):
    return ("node " if len(nodes) == 1 else "nodes ") + ", ".join(map(str, nodes))


@contextlib.contextmanager
def meeting(folder, node, nodes, facts=lambda folder: ()):
    """This node among the others, to whom it says the facts first: what the function returns that is
    called alone_in() the folder. The block sets its last word: `left`."""
    if len(str(folder / f"fabric-{nodes}")) > SOCKET_PATH_MAX:
        raise VmError(EXIT_USAGE, f"{folder} is too long for the path of a socket: name a shorter "
                      "folder by --meet")
    here = Meeting(folder, node, nodes)
    with alone_in(folder):
        clear_if_left(folder)
        here.join(facts(folder))
    try:
        yield here
    finally:
        with alone_in(folder):
            here.say(here.left)
            here.close()
            remove_if_left(folder)
