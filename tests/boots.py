#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Boot many VMs on a busy host and count how they end.

usage: boots.py COUNT

A kernel that dies while it boots does so once in hundreds of boots, and on a host whose
processors are all taken. So each processor here has a process that does nothing else.
It ends with 1 when a boot failed; the logs of that one are in .build/run/boots.
"""

import collections
import contextlib
import os
import subprocess
import sys
import time

from loop import BUILD, VM

BOOT_SECONDS = 120
SAY_EVERY = 50


@contextlib.contextmanager
def busy_host():
    workers = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
               for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


def boot():
    """"ok", or what the kernel said first."""
    done = subprocess.run([VM, "run", "--name", "boots", "--no-devices", "--no-driver", "--timeout",
                           str(BOOT_SECONDS), "--", "true"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors="replace", check=False)
    if done.returncode == 0:
        return "ok"
    lines = [line for line in done.stderr.splitlines() if "logs are in" not in line]
    return lines[0].removeprefix("t3-vm: ").split(";")[0] if lines else f"status {done.returncode}"


def main():
    if len(sys.argv) != 2 or not sys.argv[1].isdecimal() or int(sys.argv[1]) < 1:
        print(f"usage: boots.py COUNT (a whole number from 1); got '{' '.join(sys.argv[1:])}'",
              file=sys.stderr)
        return 2
    count, ends, start = int(sys.argv[1]), collections.Counter(), time.monotonic()
    with busy_host():
        for number in range(1, count + 1):
            end = boot()
            ends[end] += 1
            if end != "ok":
                print(f"[boots] {number}: {end}", flush=True)
                break
            if number % SAY_EVERY == 0:
                print(f"[boots] {number} of {count}, {time.monotonic() - start:.0f} s", flush=True)
    print(f"boots: {ends['ok']} of {count} ended well"
          + ("" if ends["ok"] == count else f"; see {BUILD / 'run/boots'}"))
    return 0 if ends["ok"] == count else 1


if __name__ == "__main__":
    sys.exit(main())
