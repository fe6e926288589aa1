#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Boot many VMs on a busy host and count how they end.

usage: boots.py COUNT

A kernel that dies while it boots does so once in hundreds of boots, and on a host whose
processors are all taken. So four virtual processors share each one of the host: twice as many
VMs boot at once as there are processors. It ends with 1 when a boot failed; the logs of that
one are in .build/run/boots-N.
"""

import collections
import concurrent.futures
import os
import subprocess
import sys
import threading
import time

from loop import BUILD, VM

BOOT_SECONDS = 120
SAY_EVERY = 50
AT_ONCE = 2 * (os.cpu_count() or 1)


def boot(name):
    """"ok", or the kernel's first report."""
    done = subprocess.run([VM, "run", "--name", name, "--no-saved", "--no-devices", "--no-driver",
                           "--timeout", str(BOOT_SECONDS), "--", "true"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors="replace", check=False)
    if done.returncode == 0:
        return "ok"
    lines = [line for line in done.stderr.splitlines() if "logs are in" not in line]
    return lines[0].removeprefix("t3-vm: ").split(";")[0] if lines else f"status {done.returncode}"


class Boots:
    """Runs COUNT boots, AT_ONCE at a time. After the first failure it starts no more."""

    def __init__(self, count):
        self.count, self.started, self.failed = count, 0, ""
        self.ends, self.lock, self.start = collections.Counter(), threading.Lock(), time.monotonic()

    def take(self):
        with self.lock:
            if self.failed or self.started == self.count:
                return False
            self.started += 1
            return True

    def note(self, name, end):
        with self.lock:
            self.ends[end] += 1
            number, seconds = self.ends.total(), time.monotonic() - self.start
            if end != "ok":
                self.failed = self.failed or name
                print(f"[boots] {number}: {end}; see {BUILD / 'run' / name}", flush=True)
            elif number % SAY_EVERY == 0:
                print(f"[boots] {number} of {self.count}, {seconds:.0f} s", flush=True)

    def work(self, slot):
        while self.take():
            self.note(f"boots-{slot}", boot(f"boots-{slot}"))

    def run(self):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(self.work, range(AT_ONCE)))


def main():
    if len(sys.argv) != 2 or not sys.argv[1].isdecimal() or int(sys.argv[1]) < 1:
        print(f"usage: boots.py COUNT (a whole number from 1); got '{' '.join(sys.argv[1:])}'",
              file=sys.stderr)
        return 2
    boots = Boots(int(sys.argv[1]))
    boots.run()
    print(f"boots: {boots.ends['ok']} of {boots.count} ended well, {AT_ONCE} at a time")
    return 0 if boots.ends["ok"] == boots.count else 1


if __name__ == "__main__":
    sys.exit(main())
