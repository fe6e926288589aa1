#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How `t3-vm run` ends, whatever its guest does; TAP on stdout.

usage: launcher.py
"""

from tap import FAIL, PASS, Result, execute, report, run_suite
from vm import VM

# The links that udev makes on a machine.
STREAMS = """set -e
[ "$(echo out >/dev/stdout)" = out ]
[ "$({ echo err >/dev/stderr; } 2>&1 >/dev/null)" = err ]
[ "$(echo in | cat /dev/stdin)" = in ]
[ "$(echo three | cat /dev/fd/3 3<&0)" = three ]"""
# What a run of the launcher must end with: (name, its arguments, status, on stderr).
LAUNCHER = [
    ("no-command", ["--", "no-such-command"], 127, "--root host"),
    ("panic", ["--", "sh", "-c", "echo c >/proc/sysrq-trigger; sleep 60"], 125, "console.log"),
    ("known-trouble", ["--known-trouble", "WARNING: a.*\\n.*known$", "--", "sh", "-c",
                       "echo 'WARNING: a fault' >/dev/kmsg; echo known >/dev/kmsg"], 0, None),
    ("other-trouble", ["--known-trouble", "WARNING: a.*\\n.*known$", "--", "sh", "-c",
                       "echo 'WARNING: a fault' >/dev/kmsg; echo new >/dev/kmsg"], 125, "a fault"),
    ("power-off", ["--", "poweroff", "-f"], 125, "console.log"),
    ("streams", ["--", "sh", "-c", STREAMS], 0, None),
    ("bad-ranks", ["--ranks", "33", "--", "true"], 126, "32"),
    ("fabric", ["--ranks", "1", "--fabric", "f1:ranks=2,topology=full,device.memory-size=32M", "--", "sh",
                "-c", "t3 list && t3 gemm-rs --fabric 1 --ranks 2"], 0, "PASS"),
    ("bad-fabric", ["--fabric", "f1:ranks=9", "--", "true"], 126, "ranks must be 1..8"),
    ("bad-fabric-name", ["--fabric", "f0:ranks=2", "--", "true"], 126, "another one than f0"),
    ("bad-fabric-item", ["--fabric", "f1:ranks=2,ring", "--", "true"], 126, "'ring' is not K=V"),
    ("bad-regex", ["--known-trouble", "(", "--", "true"], 126, "regular"),
    ("no-such-option", ["--no-such-option"], 126, "no-such-option"),
]


def launcher_suite():
    """t3-vm's exit codes: whatever the guest does, the command ends and says why."""
    for name, arguments, wanted, text in LAUNCHER:
        options = ["--name", f"launcher-{name}"] if "--" in arguments else []
        status, log = execute(f"launcher-{name}", [VM, "run", *options, *arguments])
        good = status == wanted and (not text or text in log.read_text(errors="replace"))
        report([Result(f"launcher/{name}", PASS if good else FAIL, log)])


if __name__ == "__main__":
    run_suite("launcher", launcher_suite)
