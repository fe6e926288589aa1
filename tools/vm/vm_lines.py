# SPDX-License-Identifier: MIT
"""Passes on what comes out of pipes in whole lines, each at once. So lines of several processes
never get mixed, and a launcher that labels what it reads labels lines.

While the reader of the output takes nothing, lines wait and the pipe fills. Who relays goes on.
"""

import os
import select
import time

from vm_base import EXIT_DIED, VmError

LINE_MAX = 65536  # a longer one is cut
READ_MAX = 65536


class Lines:
    def __init__(self, pipe, output, label=""):
        self.pipe, self.output, self.label = pipe, output.buffer, label.encode()
        self.rest = b""  # of a line
        self.waiting = []  # lines that the output did not take yet
        os.set_blocking(pipe.fileno(), False)

    def fileno(self):
        return self.pipe.fileno()

    def write(self, lines):
        try:
            self.output.write(b"".join(lines))
            self.output.flush()
        except OSError as error:
            raise VmError(EXIT_DIED, f"the output could not be written: {error.strerror}") from error

    def next_lines(self):
        """So many of those that wait as a pipe takes at once, which polls as writable."""
        size = count = 0
        while count < len(self.waiting) and size + len(self.waiting[count]) <= select.PIPE_BUF:
            size += len(self.waiting[count])
            count += 1
        count = max(count, 1)  # a line that is longer by itself
        lines, self.waiting = self.waiting[:count], self.waiting[count:]
        return lines

    def print(self, wait=False):
        """What waits; without `wait` as far as the output takes it now."""
        while self.waiting and (wait or select.select([], [self.output], [], 0)[1]):
            self.write(self.next_lines())

    def take(self):
        """Passes on what is there. False at the end, where a last line may lack its end."""
        try:
            data = os.read(self.pipe.fileno(), READ_MAX)
        except BlockingIOError:
            return True
        *lines, self.rest = (self.rest + data).split(b"\n")
        if self.rest and (not data or len(self.rest) >= LINE_MAX):
            lines, self.rest = [*lines, self.rest], b""
        self.waiting += [self.label + line + b"\n" for line in lines]
        self.print()
        return bool(data)

    def pass_on(self, seconds):
        """What comes within that time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not relay([self], left):
                time.sleep(max(end - time.monotonic(), 0))
                return

    def drain(self):
        """All that is left, when the writer has ended. It waits for the reader of the output."""
        self.print(wait=True)
        while self.take():
            self.print(wait=True)
        self.print(wait=True)


def relay(some, seconds):
    """Passes on what comes first within that time. Returns those of some Lines that go on."""
    full = [lines for lines in some if lines.waiting]
    to_read, to_write, _ = select.select([lines for lines in some if not lines.waiting],
                                         {lines.output for lines in full}, [], seconds)
    for lines in full:
        if lines.output in to_write:
            lines.print()
    return [lines for lines in some if lines not in to_read or lines.take() or lines.waiting]
