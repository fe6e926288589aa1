# SPDX-License-Identifier: MIT
"""QEMU's own control protocol (QMP), over a socket that QEMU inherits."""

import contextlib
import json
import socket
import time

ANSWER_SECONDS = 60  # a command's, on a busy host


class QmpError(Exception):
    """A command that QEMU refuses, or a QEMU that has ended."""


class Qmp:
    """`fd` and `args` are for QEMU's start; begin() comes after that."""

    def __init__(self, ours, theirs):
        self.ours, self.theirs = ours, theirs
        self.lines = ours.makefile("rb")
        self.fd = theirs.fileno()
        self.args = ["-chardev", f"socket,id=launcher,fd={self.fd}",
                     "-mon", "chardev=launcher,mode=control"]

    def begin(self):
        """QEMU alone holds its end from now on, so a QEMU that has ended is seen."""
        self.theirs.close()
        self.read()
        self.command("qmp_capabilities")

    def read(self):
        try:
            line = self.lines.readline()
        except OSError as error:
            raise QmpError(f"no answer within {ANSWER_SECONDS} s ({error})") from error
        if not line:
            raise QmpError("QEMU has ended")
        return json.loads(line)

    def command(self, name, **arguments):
        """What it returns. Events meanwhile are left out."""
        try:
            self.ours.sendall(json.dumps({"execute": name, "arguments": arguments}).encode() + b"\n")
        except OSError as error:
            raise QmpError(str(error)) from error
        while True:
            answer = self.read()
            if "error" in answer:
                raise QmpError(f"{name}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]

    def migrated(self, limit):
        """Waits for the end of a transfer of the machine's state."""
        end = time.monotonic() + limit
        while (found := self.command("query-migrate")).get("status") != "completed":
            if found.get("status", "none") in ("none", "failed", "cancelled"):
                raise QmpError(found.get("error-desc", "it failed"))
            if time.monotonic() > end:
                raise QmpError(f"it takes more than {limit} s")
            time.sleep(0.005)

    def cancel(self):
        """Gives a transfer up, and waits until QEMU has."""
        self.command("migrate_cancel")
        with contextlib.suppress(QmpError):
            self.migrated(ANSWER_SECONDS)


@contextlib.contextmanager
def qmp():
    ours, theirs = socket.socketpair()
    ours.settimeout(ANSWER_SECONDS)
    with ours, theirs:
        yield Qmp(ours, theirs)
