#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The driver for hours: removals, killed clients, random calls.

usage: soak.py ROUNDS CLIENTS SECONDS HOGS

ROUNDS passes over the removal matrix, CLIENTS killed clients, random calls for SECONDS,
and for HOGS seconds an honest client among four that want all of a device.
Shows how far it is. Exits 1 when a test failed, the guest's kernel complained, or the
guest has MEMORY_BOUND less memory afterwards.
"""

import re
import subprocess
import sys
import tempfile

import hotplug

MEMORY_BOUND = 4 << 20  # bytes; slabs do not come back to the object
GUEST_LIMIT = 7 * 24 * 3600

# The first round fills caches and pools that stay. The processors' lists of free pages,
# which grow to tens of megabytes, are not in MemFree: zoneinfo counts them.
SCRIPT = """
free_memory() {{
	sleep 2; sync; echo 3 >/proc/sys/vm/drop_caches; sleep 1
	awk '/^(MemFree|SReclaimable):/ {{ sum += $2 * 1024 }}
		$1 == "count:" {{ sum += $2 * 4096 }}
		END {{ print "memory '$1'", sum }}' /proc/meminfo /proc/zoneinfo
}}
test_removal --host --clients 100 && test_fuzz --seconds 5 && test_hogs --seconds 5 || exit 1
free_memory before
test_removal --host --rounds {rounds} --clients {clients} && test_fuzz --seconds {seconds} &&
	test_hogs --seconds {hogs} || exit 1
free_memory after
echo "soak passed"
"""


def memory(line):
    match = re.fullmatch(r"memory (before|after) (\d+)", line)
    return (match[1], int(match[2])) if match else None


def worth_showing(line):
    """Not each cell of the matrix and not each program: they are in the log."""
    return not re.match(r"# (--program|round \d)|host: (pull|unplug|plug)", line)


def run(guest, log):
    """Serve the guest to its end. Returns its memory before and after."""
    seen = {}

    def watch(line):
        log.write(line + "\n")
        log.flush()
        found = memory(line)
        if found:
            seen[found[0]] = found[1]
        return worth_showing(line)

    guest.serve("soak passed", watch)
    guest.end()
    return seen["before"], seen["after"]


def main():
    if len(sys.argv) != 5 or not all(text.isdecimal() for text in sys.argv[1:]):
        print(__doc__.split("\n")[2], file=sys.stderr)
        return 2
    rounds, clients, seconds, hogs = sys.argv[1:]
    script = SCRIPT.format(rounds=rounds, clients=clients, seconds=seconds, hogs=hogs)
    path = hotplug.BUILD / "log/soak.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory, open(path, "w", encoding="utf-8") as log:
        guest = None
        try:
            guest = hotplug.Guest(directory, script, seconds=GUEST_LIMIT, name="soak-driver")
            before, after = run(guest, log)
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
            print(f"soak: {error}; see {path}", file=sys.stderr)
            return 1
        finally:
            if guest:
                guest.stop()
    print(f"free memory: {before >> 10} KiB before, {after >> 10} KiB after "
          f"(bound: {MEMORY_BOUND >> 10} KiB less)")
    return 1 if after < before - MEMORY_BOUND else 0


if __name__ == "__main__":
    sys.exit(main())
