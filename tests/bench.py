#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How fast the models are on this host.

usage: bench.py [--no-vm]

The timed model: the whole table of published sub-layers, in each configuration, on one core.
Then, in a VM, a published sub-layer by driver and device, which the guest computes itself, too, with
the boot's time taken off, and what a product and its reduce-scatter take by each way for a write to count. Prints
the figures; exits 1 when a run fails or a figure is beyond its bound. The table's time is the
process's CPU time, on which another load of the host has little influence; the VM's is the clock's.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
MODEL = ROOT / "tools/paper/paper.model"
VM = ROOT / "tools/vm/t3-vm"
TRIES = 3  # the best of them: the others had less of the host's caches
TABLE_SECONDS, TABLE_BYTES, EVENTS_PER_SECOND = 10.0, 200 << 20, 10e6
RANKS, SIDE, ITERATIONS = 4, 256, 4
WRITES = ("store", "doorbell", "gemm")
VM_SECONDS = 300
SUBLAYER = "--hidden 4256 --tokens 8192 --tp 8 --sublayer fc2"
SUBLAYER_SECONDS = 3.0


def row(what, figure, bound="", good=True):
    print(f"{what:44} {figure:>22}   {bound}{'' if good else '   MISSED'}".rstrip(), flush=True)
    return good


# --- the timed model -------------------------------------------------------------

def table():
    """(its answer, CPU seconds, largest memory in bytes) of one run."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        process = subprocess.Popen([BUILD / "t3", "sim", "--json", "--model", MODEL],
                                   stdin=subprocess.DEVNULL, stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"t3 sim ended with {process.returncode}")
        output.seek(0)
        return json.load(output), usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def bench_table():
    runs = [table() for _ in range(TRIES)]
    answer, seconds, memory = min(runs, key=lambda run: run[1])
    rate = answer["events"] / seconds
    good = [row("timed model, the whole table", f"{seconds:.2f} s CPU",
                f"at most {TABLE_SECONDS:.0f} s", seconds <= TABLE_SECONDS),
            row("  its memory", f"{memory / (1 << 20):.0f} MB",
                f"at most {TABLE_BYTES >> 20} MB", memory <= TABLE_BYTES),
            row("  its events", f"{rate / 1e6:.1f} million/s",
                f"at least {EVENTS_PER_SECOND / 1e6:.0f}", rate >= EVENTS_PER_SECOND)]
    return all(good)


# --- the VM ----------------------------------------------------------------------

def run_vm(name, *command):
    """(standard output, seconds)"""
    start = time.monotonic()
    done = subprocess.run([VM, "run", "--ranks", str(RANKS), "--name", name, "--", *command],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=VM_SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout, time.monotonic() - start


def wall_seconds(text):
    """Of the slowest rank; the answer begins with the first brace."""
    answer = json.loads(text[text.index("{"):text.rindex("}") + 1])
    if not answer["pass"]:
        raise RuntimeError(answer.get("reason", "wrong results"))
    return max(rank["varying"]["wall_ns"] for rank in answer["ranks"]) / 1e9


def sublayer(boot, *options):
    """(seconds beyond boot, of them on the device) of the best of some runs."""
    command = ["t3", "sim", "--json", "--device", *SUBLAYER.split(), *options]
    text, seconds = min((run_vm("bench", *command) for _ in range(TRIES)), key=lambda run: run[1])
    answer = json.loads(text[text.index("{"):text.rindex("}") + 1])
    return seconds - boot, answer["workloads"][0]["device"]["wall_seconds"]


def bench_sublayer(boot):
    """The rest of the time is the guest's own run of the same, to compare all counters with."""
    seconds, device = sublayer(boot, "--config", "t3-mca")
    good = row("  T-NLG TP 8 FC-2: Sequential and T3-MCA", f"{seconds:.1f} s beyond boot",
               f"at most {SUBLAYER_SECONDS:.0f} s", seconds <= SUBLAYER_SECONDS)
    row("    on the device", f"{device:.2f} s")
    seconds, device = sublayer(boot)
    row("  all configurations", f"{seconds:.1f} s beyond boot")
    row("    on the device", f"{device:.2f} s")
    return good


def bench_vm():
    boot = min(run_vm("bench", "true")[1] for _ in range(TRIES))
    row("VM, boot and end", f"{boot:.1f} s")
    good = bench_sublayer(boot)
    for write in WRITES:
        text, _ = run_vm("bench", "t3", "gemm-rs", "--json", "--ranks", str(RANKS), "--shape",
                         f"{SIDE}x{SIDE}x{SIDE}", "--iters", str(ITERATIONS), "--write", write)
        seconds = wall_seconds(text) / ITERATIONS
        row(f"  gemm-rs {SIDE}^3 on {RANKS} ranks, {write}", f"{1000 * seconds:.0f} ms/iteration")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--no-vm", action="store_true", help="the timed model alone")
    options = parser.parse_args()
    try:
        good = bench_table()
        if not options.no_vm:
            good = bench_vm() and good
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        sys.exit(f"bench: {error}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
