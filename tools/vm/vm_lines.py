# SPDX-License-Identifier: MIT
"""Passes on what comes out of a pipe in whole lines, each at once. So lines of several processes
never get mixed, and a launcher that labels what it reads labels lines.
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
        self.rest = b""
        os.set_blocking(pipe.fileno(), False)

    def write(self, lines):
        try:
            self.output.write(b"".join(self.label + line + b"\n" for line in lines))
            self.output.flush()
        except OSError as error:
            raise VmError(EXIT_DIED, f"the output could not be written: {error.strerror}") from error

    def take(self):
        """Passes on what is there. False at the end, where a last line may lack its end."""
        try:
            data = os.read(self.pipe.fileno(), READ_MAX)
        except BlockingIOError:
            return True
        *lines, self.rest = (self.rest + data).split(b"\n")
        if self.rest and (not data or len(self.rest) >= LINE_MAX):
            lines, self.rest = [*lines, self.rest], b""
        if lines:
            self.write(lines)
        return bool(data)

    def pass_on(self, seconds):
        """What comes within that time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self.pipe], [], [], left)[0] and not self.take():
                time.sleep(left)
                return

    def drain(self):
        """All that is left, when the writer has ended."""
        while self.take():
            pass
