#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""t3's subcommands: their command lines here, the rest in a VM; TAP on stdout.

Exits 1 when a test failed.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools/build"))

from check import BUILD, guest_batch  # noqa: E402

T3 = BUILD / "t3"
SECONDS = 60

# By argp: --help, and what is wrong usage of each.
USAGE = {
    "top": ["--interval 0", "--interval 1x", "--interval 3601", "--interval 1.", "--interval .5",
            "--interval 0.0000000001", "--count 0", "--count -1", "--count", "-d 256", "-d x"],
    "status": ["-d", "-d -1", "-d 18446744073709551616", "--json=1"],
    "stat": ["", "--", "--output", "-d x -- true"],
}
COMMON = ["--no-such-option", "argument too", "-d 1 argument"]

# A job that waits for rank 0, which sleeps before its last step but one.
SLEEPER = ("t3 gemm-rs --ranks 4 --iters 2 --delay-rank 0 --delay-step 3 --delay-ms 3000 "
           ">/tmp/out 2>&1 & sleep 1.5; ")
COUNTERS = ("stores", "triggers", "link-tx-bytes", "link-rx-bytes", "tracker-hit")


class Failure(Exception):
    """Why a test has failed."""


def need(condition, why):
    if not condition:
        raise Failure(why)


# --- command lines -----------------------------------------------------------

def t3(arguments):
    return subprocess.run([T3, *arguments.split()], stdin=subprocess.DEVNULL, timeout=10,
                          capture_output=True, text=True, check=False, cwd=ROOT)


def check_help(command):
    done = t3(f"{command} --help")
    need(done.returncode == 0 and not done.stderr, f"status {done.returncode}, {done.stderr}")
    need(done.stdout.startswith(f"Usage: t3 {command} "), done.stdout)
    with open("/dev/full", "w", encoding="utf-8") as full:
        status = subprocess.run([T3, command, "--help"], stdout=full, stderr=subprocess.DEVNULL,
                                timeout=10, check=False).returncode
    need(status == 1, f"status {status} when the help cannot be written")


def check_wrong(command, arguments):
    done = t3(f"{command} {arguments}")
    need(done.returncode == 2, f"status {done.returncode}")
    need(not done.stdout and done.stderr.startswith(f"t3 {command}: "),
         f"{done.stdout!r} {done.stderr!r}")


def check_no_device(command, status):
    done = t3(command)
    need(done.returncode == status and len(done.stderr.splitlines()) == 1 and not done.stdout,
         f"status {done.returncode}, {done.stderr!r}")


def usage_tests():
    for command, wrong in USAGE.items():
        yield f"{command} --help", check_help, (command,)
        extra = COMMON[:1] if "-- CMD" in t3(f"{command} --help").stdout else COMMON
        for arguments in wrong + extra:
            yield f"{command} {arguments}: wrong usage", check_wrong, (command, arguments)
    for command, status in (("top --once", 1), ("status", 1), ("stat -- true", 125)):
        yield f"{command}: no device", check_no_device, (command, status)


# --- in the VM: each takes status and output of its command ------------------

def check_status(status, output):
    need(status == 0, f"status {status}")
    need(re.search(r"^rank 0 space 0 \(pid \d+ t3\): epoch 1 ARMED\n    segment 0: \d+ of 16 tiles "
                   r"wait for updates, first: tile \d+ has (at least )?\d+ of 8192 bytes$", output,
                   re.M), "rank 0 does not wait for updates")
    need(re.search(r"^rank 3 space 0 .*: epoch 2 ARMING\n    waits until rank 0 space 0 has armed "
                   r"it, which is ARMED in epoch 1$", output, re.M),
         "rank 3 does not wait for rank 0 to arm")


def check_status_json(status, output):
    need(status == 0, f"status {status}")
    root = json.loads(output)
    need([device["rank"] for device in root["devices"]] == [0, 1, 2, 3], "not all devices")
    need(root["devices"][0]["spaces"][0]["state"] == "ARMED", "state")
    tile = root["devices"][0]["tiles"][0]["parts"][0]
    need(tile["record"] == "tile" and tile["expected"] == 8192, f"tile {tile}")
    need(len(root["in_flight"]) >= 4, "sentences")


def check_status_one(status, output):
    need(status == 0, f"status {status}")
    need(re.search("^rank 2 ", output, re.M) and "rank 0 space 0 (" not in output, "ranks")


def check_idle(status, output):
    need((status, output.strip()) == (0, "nothing is in flight on 4 devices"), output)


def check_top(status, output):
    need(status == 0, f"status {status}")
    need("\033" not in output, "it clears what is no terminal")
    rows = re.findall(r"^ +(\d) +(\d) +[\d.]+ ", output, re.M)
    need(rows == [(f"{i}", f"{i}") for i in range(4)], f"devices {rows}")
    need(re.search(r"^ +\d+  t3 +0 +0\.0 +\d+ +0  1 ARMED$", output, re.M), "rank 0's process")
    need(re.search(r"^ +\d+  t3 +3 .* 1 ARMING$", output, re.M), "rank 3's process")


def check_top_json(status, output):
    need(status == 0, f"status {status}")
    samples = [json.loads(line) for line in output.splitlines() if line]
    need(len(samples) == 3, f"{len(samples)} samples")
    need(samples[0]["time_ns"] < samples[1]["time_ns"] < samples[2]["time_ns"], "times")
    need(all(sample["interval_ns"] >= 300_000_000 for sample in samples), "intervals")
    total = sum(device["changes"]["stores"] for sample in samples
                for device in sample["devices"])
    rate = sum(device["per_second"]["stores"] * sample["interval_ns"] / 1e9
               for sample in samples for device in sample["devices"])
    need(total > 0 and abs(rate - total) < 1e-6 * total, f"{total} stores, {rate} by their rates")
    mine = [process for sample in samples for process in sample["processes"]]
    need(any(process["process"] == "t3" and process["spaces"] for process in mine), "processes")


def check_unprivileged(status, output):
    need(status == 1 and "is for root alone" in output, f"status {status}: {output}")


def check_stat(status, output):
    need(status == 0, f"status {status}")
    root = json.loads(output)
    need(root["status"] == 0 and root["wall_ns"] > 0, "status, time")
    each = [device["counters"] for device in root["devices"]]
    # 4 ranks: the product's 64x64 i32, in two iterations, each element by 8-byte stores.
    need([counters["stores"] for counters in each] == [4096] * 4, "stores")
    need([counters["nmc-elements"] > 0 for counters in each] == [True] * 4, "elements")
    for name in COUNTERS:
        need(root["total"][name] == sum(counters[name] for counters in each), name)
    need(root["total"]["link-tx-packets"] == root["total"]["link-rx-packets"], "packets")


def check_stat_table(status, output):
    need(status == 0, f"status {status}")
    need(re.search(r"^  stores +16384( +4096){4}$", output, re.M), "stores")
    need("PASS" in output and "tracker hits" in output, "output")


def check_stat_one(status, output):
    need(status == 3, f"status {status}")
    root = json.loads(output)
    need([device["index"] for device in root["devices"]] == [2], "devices")


def ends(wanted, *texts):
    def check(status, output):
        need(status == wanted, f"status {status}")
        for text in texts:
            need(text in output, f"not said: {text}")
    return check


GEMM = "t3 gemm-rs --ranks 4 --shape 64x64x64 --dtype i32 --iters 2"
GUEST = [
    ("status", SLEEPER + "t3 status", check_status),
    ("status --json", "sleep 2; " + SLEEPER + "t3 status --json", check_status_json),
    ("status -d", SLEEPER + "t3 status -d 2; wait", check_status_one),
    ("status, idle", "t3 status", check_idle),
    ("status, unprivileged", "su user -c 't3 status'", check_unprivileged),
    ("top, unprivileged", "t3 gemm-rs --iters 300 >/tmp/out & sleep 0.5; su user -c "
     "'t3 top --once --interval 0.1'", ends(0, "4 devices")),
    ("top", SLEEPER + "t3 top --once --interval 0.2; wait", check_top),
    ("top --json", "t3 gemm-rs --ranks 4 --shape 64x64x64 --iters 20000 --timeout 30 >/tmp/out & "
     "sleep 0.5; t3 top --json --count 3 --interval 0.3; kill $!", check_top_json),
    ("stat", f"t3 stat -- {GEMM}", check_stat_table),
    ("stat --json", f"t3 stat --json -o /tmp/stat -- {GEMM} >/dev/null; cat /tmp/stat",
     check_stat),
    ("stat -d", "t3 stat -d 2 --json -o /tmp/stat -- sh -c 'exit 3'; e=$?; cat /tmp/stat; exit $e",
     check_stat_one),
    ("stat, no command", "t3 stat -- no-such-command", ends(127, "no-such-command")),
    ("stat, no program", "t3 stat -- /tmp", ends(126, "'/tmp' could not be run")),
    ("stat, killed", "t3 stat -- sh -c 'kill -9 $$'", ends(137, "status 137")),
    ("stat, no output", "t3 stat -o /nonexistent/x -- true", ends(125, "/nonexistent/x")),
    ("stat, full output", "t3 stat -o /dev/full -- true", ends(125, "could not be written")),
    ("no such device", "t3 top -d 9", ends(1, "there is no device 9")),
]


def guest_tests():
    status, batch = guest_batch("tool", ["--ranks", "4"], [command for _, command, _ in GUEST],
                                SECONDS)
    for (name, _, check), (_, ended, output, _) in zip(GUEST, batch):
        yield name, check, (ended, output)
    yield "the VM ends well", ends(0), (status, "")


# --- TAP ---------------------------------------------------------------------

def run(number, name, check, arguments):
    try:
        check(*arguments)
    except (Failure, ValueError, KeyError, IndexError, subprocess.TimeoutExpired) as error:
        text = f"{type(error).__name__}: {error}".replace("\n", "\n# ")
        print(f"not ok {number} - {name.replace(' ', '_')}\n# {text}", flush=True)
        return False
    print(f"ok {number} - {name.replace(' ', '_')}", flush=True)
    return True


def main():
    passed = [run(number, *test) for number, test in
              enumerate([test for source in (usage_tests, guest_tests) for test in source()], 1)]
    print(f"1..{len(passed)}")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
