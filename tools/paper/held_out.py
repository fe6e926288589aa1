#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Predictions: larger.model, which no parameter was fitted to, beside what T3's paper has.

usage: held_out.py

paper.py prints the same table. README.md has the answers of the first run.
"""

import json
import math
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
MODEL = pathlib.Path(__file__).with_name("larger.model")
CONFIGS = ["ideal", "t3", "t3-mca"]
RUN_SECONDS = 600
# (models, configuration, published geometric mean)
GROUPS = [
    (("PALM", "MT-NLG"), "ideal", None),
    (("PALM", "MT-NLG"), "t3", None),
    (("PALM", "MT-NLG"), "t3-mca", 1.29),
    (("GPT-3",), "ideal", None),
    (("GPT-3",), "t3", None),
    (("GPT-3",), "t3-mca", None),
]


def run():
    options = [text for config in CONFIGS for text in ("--config", config)]
    done = subprocess.run([BUILD / "t3", "sim", "--model", MODEL, "--json", *options],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=RUN_SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(f"t3 sim --model {MODEL}: {done.stderr.strip()}")
    return json.loads(done.stdout)["workloads"]


def speedups(workloads, models, config):
    return [work["configs"][config]["speedup"] for work in workloads if work["model"] in models]


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def print_sublayers(workloads):
    print("Predicted: TP 32, which no parameter was fitted to\n")
    print(f"{'':22}{'GEMM us':>9}{'RS us':>8}{'AG us':>8}",
          "".join(f"{config:>9}" for config in CONFIGS))
    for work in workloads:
        name = f"{work['model']} {work['tp']} {work['sublayer']}"
        gemm, scatter, gather = (work["phases"][key] / 1e6 for key in (
            "gemm_ps", "reduce_scatter_ps", "all_gather_ps"))
        print(f"{name:22}{gemm:9.1f}{scatter:8.1f}{gather:8.1f}",
              "".join(f"{work['configs'][config]['speedup']:9.3f}" for config in CONFIGS))
    print()


def print_groups(workloads):
    print(f"{'':28}{'published':>10}{'predicted':>11}{'max':>8}")
    for models, config, published in GROUPS:
        values = speedups(workloads, models, config)
        name = f"{' and '.join(models)}, {config}"
        print(f"{name:28}{published or '':>10}{geomean(values):11.3f}{max(values):8.3f}")
    print()


def print_table():
    """What paper.py needs: the table, and the workloads for its JSON."""
    workloads = run()
    print_sublayers(workloads)
    print_groups(workloads)
    return workloads


if __name__ == "__main__":
    try:
        print_table()
    except (RuntimeError, subprocess.TimeoutExpired, OSError) as error:
        sys.exit(f"held_out.py: {error}")
