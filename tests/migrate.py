#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Live migration of a guest to a second QEMU in the middle of a job; TAP on stdout.

The job verifies its own results, so it passes in the second QEMU only if nothing of
the devices, the fabric, device memory or interrupts was lost. Exits 1 when a test failed.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

from hotplug import ROOT, SECONDS, VM, Qmp

RANKS = 3
# The job dirties memory as fast as it is sent: without these the switch would come when
# the job has ended. Bytes per second (0: no limit), and milliseconds of standstill.
AT_ONCE = {"max-bandwidth": 0, "downtime-limit": 60000}

SCRIPT = """
t3 gemm-rs --ranks {ranks} --shape 96x96x96 --dtype f32 --write {write} --iters {iters} \
	>/tmp/out 2>&1 &
sleep 1
kill -0 $! && echo "job runs"
wait $! && echo "job passed"
tail -n 3 /tmp/out
"""


class Machine:
    """One QEMU; of the two the second waits for the first one's state."""

    def __init__(self, directory, name, script, *options):
        path = pathlib.Path(directory) / name
        self.process = subprocess.Popen(
            [VM, "run", "--name", f"migrate-{name}", "--ranks", str(RANKS), "--strict",
             "--timeout", str(2 * SECONDS), "--qemu-arg=-qmp",
             f"--qemu-arg=unix:{path},server=on,wait=off",
             *(f"--qemu-arg={option}" for option in options), "--", "sh", "-c", script],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.qmp = self.connect(path)

    def connect(self, path):
        end = time.monotonic() + SECONDS
        while True:
            try:
                return Qmp(path)
            except OSError as error:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise RuntimeError("QEMU did not start") from error
                time.sleep(0.05)

    def expect(self, line):
        for text in self.process.stdout:
            print("#", text.rstrip(), flush=True)
            if text.strip() == line:
                return
        raise RuntimeError(f"the guest ended before it said '{line}'")

    def wait_migrated(self):
        end = time.monotonic() + SECONDS
        while (status := self.qmp.command("query-migrate").get("status")) != "completed":
            if status == "failed" or time.monotonic() > end:
                raise RuntimeError(f"the migration is {status}")
            time.sleep(0.05)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def migrate(directory, write, iters):
    """The job starts in the first QEMU and passes in the second."""
    script = SCRIPT.format(ranks=RANKS, write=write, iters=iters)
    uri = f"unix:{directory}/{write}-stream"
    first = Machine(directory, f"{write}-from", script)
    try:
        second = Machine(directory, f"{write}-to", script, "-incoming", uri)
        try:
            first.expect("job runs")
            first.qmp.command("migrate-set-parameters", **AT_ONCE)
            first.qmp.command("migrate", uri=uri)
            first.wait_migrated()
            first.qmp.command("quit")
            second.expect("job passed")
            second.process.stdout.read()
            if second.process.wait(SECONDS):
                raise RuntimeError("the second VM did not end well")
        finally:
            second.stop()
    finally:
        first.stop()


def main():
    failed = False
    print("1..2")
    for number, (write, iters) in enumerate([("store", 250), ("doorbell", 600)], 1):
        why = ""
        with tempfile.TemporaryDirectory() as directory:
            try:
                migrate(directory, write, iters)
            except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                why, failed = f": {error}", True
        print(f"{'not ok' if why else 'ok'} {number} - {write}{why}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    os.environ.setdefault("T3_BUILD", str(ROOT / ".build"))
    sys.exit(main())
