# SPDX-License-Identifier: MIT
"""Several commands in one VM, one after the other (guest-batch), and what each of them did."""

import collections
import re

# status None: it did not end, or did not begin. log: the file that has the text, if there is one.
Ran = collections.namedtuple("Ran", "status text log seconds")

PART = re.compile(r"^@@ begin (\d+) (\S+)\n(.*?)(?:^@@ end \1 (\S+) (\d+)$|\Z)", re.M | re.S)


def batch_command(seconds, commands):
    """What the guest runs: each is a shell command that has so many seconds."""
    return ["guest-batch", str(seconds), *commands]


def read_batch(text, count, log=None):
    """A Ran for each of `count` commands, from the output of all."""
    found = [Ran(None, "", log, 0)] * count
    for part in PART.finditer(text.replace("\r", "")):
        number, begun, output, ended, status = part.groups()
        # The end has a line of its own, so an end of line comes before it.
        found[int(number)] = Ran(int(status) if status else None, output[:-1] if ended else output, log,
                                 float(ended or begun) - float(begun))
    return found
