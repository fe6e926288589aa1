#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Options of `make run`; TAP on stdout.

usage: options.py
"""

import os
import subprocess

from tap import FAIL, LOGS, PASS, ROOT, Result, report, run_suite

OPTIONS = {"RANKS": "4", "NODES": "1", "TOPOLOGY": "ring", "SHAPE": "256x256x256", "TILE": "32x32",
           "DTYPE": "f32", "WRITE": "store", "ITERS": "4", "SEED": "1"}
OPTIONS_ALLOWED = ["", "RANKS=2", "RANKS=32", "NODES=2 RANKS=8", "NODES=4", "TOPOLOGY=full",
                   "TOPOLOGY=switch", "TOPOLOGY=full NODES=2", "TOPOLOGY=switch NODES=2",
                   "SHAPE=4x1x4", "SHAPE=68x35x20 TILE=16x5",
                   "DTYPE=i32", "DTYPE=f16", "DTYPE=bf16", "WRITE=doorbell", "ITERS=100000",
                   "SEED=0", "SEED=18446744073709551615", "TILE=1024x1024"]
OPTIONS_REFUSED = ["RANKS=", "RANKS=0", "RANKS=1", "RANKS=33", "RANKS=-4", "RANKS=4x", "RANKS=0x4",
                   "NODES=", "NODES=0", "NODES=3", "NODES=5", "NODES=8", "NODES=02", "NODES=2x",
                   "TOPOLOGY=", "TOPOLOGY=star",
                   "RANKS=3", "RANKS=99999999999999999999", "SHAPE=", "SHAPE=256", "SHAPE=256x256",
                   "SHAPE=0x4x4", "SHAPE=4x0x4", "SHAPE=4x4x0", "SHAPE=4x4x4x4", "SHAPE=6x4x4",
                   "SHAPE=4x4x6", "SHAPE=65540x4x4", "SHAPE=-4x4x4", "SHAPE=65536x65536x4",
                   "DTYPE=", "DTYPE=f64", "DTYPE=F32", "WRITE=", "WRITE=both", "ITERS=0",
                   "ITERS=-1", "ITERS=100001", "SEED=", "SEED=-1", "SEED=18446744073709551616",
                   "SEED=1e3", "TILE=", "TILE=32", "TILE=0x4", "TILE=1025x1",
                   "SHAPE=4096x4096x64 TILE=1x1"]


def options_suite():
    """`make run`'s options: a refusal is one sentence on stderr that names the option."""
    log = LOGS / "options.log"
    results = []
    with open(log, "w", encoding="utf-8") as output:
        for text in OPTIONS_ALLOWED + OPTIONS_REFUSED:
            changed = dict(part.split("=", 1) for part in text.split())
            done = subprocess.run([ROOT / "tools/build/options.py"], timeout=60,
                                  capture_output=True, text=True, check=False,
                                  env={**os.environ, **OPTIONS, **changed})
            output.write(f"{text or '(defaults)'}: {done.returncode} {done.stderr}\n")
            if text in OPTIONS_ALLOWED:
                good = done.returncode == 0 and not done.stderr
            else:
                good = (done.returncode == 2 and len(done.stderr.splitlines()) == 1
                        and any(name in done.stderr for name in changed))
            results.append(Result(f"options/{text or 'defaults'}", PASS if good else FAIL, log))
    report(results)


if __name__ == "__main__":
    run_suite("options", options_suite)
