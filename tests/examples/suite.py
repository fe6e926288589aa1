#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The example of Open MPI, in the guest; TAP on stdout.

usage: suite.py
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from tap import FAIL, GUEST, PASS, Result, execute, report, run_suite  # noqa: E402
from vm import VM  # noqa: E402

# On other devices than one for each rank in the fabric's order, too: (name, ranks, VM options).
RUNS = [("ring", 4, ["--ranks", "4"]),
        ("full", 3, ["--ranks", "4", "--topology", "full"])]


def examples_suite():
    """Open MPI starts the ranks, in the guest; its only transport is shared memory."""
    for name, ranks, options in RUNS:
        command = ["mpirun", "-n", str(ranks), "mpi_all_reduce"]  # as its header says
        status, log = execute(f"examples-{name}",
                              [VM, "run", *options, "--name", f"examples-{name}", "--initramfs",
                               GUEST / "mpi.img", "--", *command])
        lines = re.findall(rf"^rank \d of {ranks}: 5 sums of 10007 elements are MPI's\r?$",
                           log.read_text(errors="replace"), re.M)
        good = status == 0 and len(set(lines)) == ranks
        report([Result(f"examples/mpi_all_reduce, {name}", PASS if good else FAIL, log)])


if __name__ == "__main__":
    run_suite("examples", examples_suite)
