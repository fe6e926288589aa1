#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The published sub-layers in virtual time, beside what T3's paper has.

usage: paper.py [--no-sweep] [--no-vm] [--out DIRECTORY]      (default: .build/paper)

Runs `t3 sim --model paper.model` for all configurations, prints each sub-layer and the
comparison with the published figures, and varies each assumed parameter on its own, all
others at their defaults. Some workloads are run again by driver and devices in a VM, in all
configurations, and every figure must be the same. Writes paper.json, and speedup and traffic
as SVG and PNG. Exits 1 when a run fails or the VM has another figure; a figure outside of what
is accepted is reported as MISSED, and is no failure of the run.
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import subprocess
import sys

import matplotlib
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402 (after the choice of a backend)

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
MODEL = pathlib.Path(__file__).with_name("paper.model")
VM = ROOT / "tools/vm/t3-vm"
VM_RANKS, VM_SECONDS = 4, 600
# The runs in the VM: (options of the workload, whether on all devices or mirrored on one).
VM_WORKLOADS = [
    ("--hidden 4256 --tokens 8192 --tp 8 --sublayer fc2", False),
    ("--hidden 3072 --tokens 16384 --tp 16 --sublayer op", False),
    (f"--hidden 4256 --tokens 8192 --tp {VM_RANKS} --sublayer op", True),
]
CONFIGS = ["ideal", "ideal-nmc", "t3", "t3-mca", "t3-mca-ag", "direct"]
RUN_SECONDS = 600
JOBS = int(os.environ.get("T3_JOBS", "2"))
KINDS = ["gemm_read", "gemm_write", "rs_read", "rs_write", "ag_read", "ag_write"]

# (figure, published value, accepted difference; None: reported only)
PUBLISHED = [
    ("RS reads fewer, TP 8", 2.5, 0.025),
    ("RS reads fewer, TP 16", 2.2, 0.022),
    ("RS+NMC over RS, TP 8", 1.07, 0.01),
    ("RS+NMC over RS, TP 16", 1.03, 0.01),
    ("Ideal overlap, geomean", 1.35, 0.03),
    ("Ideal overlap, max", 1.50, 0.04),
    ("T3-MCA, geomean", 1.30, 0.04),
    ("T3-MCA, max", 1.47, 0.06),
    ("T3, geomean", 1.20, 0.06),
    ("T3, max", 1.39, 0.12),
    ("DRAM traffic, geomean", -0.22, 0.03),
    ("DRAM traffic, max", -0.36, 0.11),
    ("GEMM and RS writes", -0.10, None),
    ("GEMM reads fewer, geomean", 1.56, None),
]


# --- running -----------------------------------------------------------------

def output_of(command, seconds):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=seconds, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def native(*options):
    return json.loads(output_of([BUILD / "t3", "sim", "--json", *options], RUN_SECONDS))


def simulate(*options):
    return native("--model", MODEL, *options)


# --- the same through the VM -------------------------------------------------

def vm_answers():
    """The answers of one boot, one for each workload."""
    jobs = [f"t3 sim --json --device{' --every-device' if every else ''} {options}"
            for options, every in VM_WORKLOADS]
    # A full fabric, for the direct reduce-scatter. It contains the rings of the others.
    text = output_of([VM, "run", "--ranks", str(VM_RANKS), "--topology", "full", "--name", "paper",
                      "--", "sh", "-ec", "; ".join(jobs)], VM_SECONDS)
    answers, decoder = [], json.JSONDecoder()
    while (at := text.find("{")) >= 0:
        answer, end = decoder.raw_decode(text[at:])
        answers.append(answer["workloads"][0])
        text = text[at + end:]
    if len(answers) != len(VM_WORKLOADS):
        raise RuntimeError(f"{len(answers)} answers of {len(VM_WORKLOADS)} runs in the VM")
    return answers


def first_difference(vm, here, path=""):
    """The place where two answers differ, or None."""
    if not isinstance(vm, dict) or not isinstance(here, dict):
        return None if vm == here else f"{path} is {vm}, and {here} natively"
    for key in sorted(vm.keys() | here.keys()):
        found = first_difference(vm.get(key), here.get(key), f"{path}/{key}")
        if found:
            return found
    return None


def run_vm():
    """The VM's workloads. Their figures must be those of the same run on the host."""
    works = vm_answers()
    for work, (options, every) in zip(works, VM_WORKLOADS):
        here = native(*options.split(), *(["--every-device"] if every else []))["workloads"][0]
        found = first_difference({key: value for key, value in work.items() if key != "device"},
                                 here)
        if found:
            raise RuntimeError(f"the VM's {options} is not the host's: {found}")
    return works


def print_vm(works):
    print("Through driver and devices in a VM: each figure and counter is the native one")
    print(f"{'':34}{'devices':>8}{'runs':>6}{'T3-MCA':>9}{'host-paced':>12}{'wall s':>8}")
    for work in works:
        device = work["device"]
        name = f"hidden {work['hidden']} TP {work['tp']} {work['sublayer']}"
        print(f"{name:34}{device['devices']:8}{len(device['runs']):6}"
              f"{work['configs']['t3-mca']['speedup']:9.3f}"
              f"{'yes' if device['host_paced'] else 'no':>12}{device['wall_seconds']:8.2f}")
    print(flush=True)


# --- figures -----------------------------------------------------------------

def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def speedups(workloads, config):
    return [work["configs"][config]["speedup"] for work in workloads]


def memory(work, config, *kinds):
    counted = work["configs"][config]["counters"]["memory_bytes"]
    return sum(counted[kind] for kind in kinds or KINDS)


def ratio(work, *kinds):
    """The speedup of T3-MCA over Sequential."""
    return memory(work, "sequential", *kinds) / memory(work, "t3-mca", *kinds)


def nmc_gain(workloads):
    return geomean([work["phases"]["reduce_scatter_ps"] / work["phases"]["reduce_scatter_nmc_ps"]
                    for work in workloads])


def figures(workloads):
    by_tp = {tp: [work for work in workloads if work["tp"] == tp] for tp in (8, 16)}
    traffic = [1 / ratio(work) - 1 for work in workloads]
    values = {
        "DRAM traffic, geomean": geomean([1 + change for change in traffic]) - 1,
        "DRAM traffic, max": min(traffic),
        "GEMM and RS writes":
            geomean([1 / ratio(work, "gemm_write", "rs_write") for work in workloads]) - 1,
        "GEMM reads fewer, geomean": geomean([ratio(work, "gemm_read") for work in workloads]),
    }
    for tp, works in by_tp.items():
        values[f"RS reads fewer, TP {tp}"] = geomean([ratio(work, "rs_read") for work in works])
        values[f"RS+NMC over RS, TP {tp}"] = nmc_gain(works)
    for name, config in (("Ideal overlap", "ideal"), ("T3-MCA", "t3-mca"), ("T3", "t3")):
        values[f"{name}, geomean"] = geomean(speedups(workloads, config))
        values[f"{name}, max"] = max(speedups(workloads, config))
    return values


def label(work):
    return f"{work['model']} {work['tp']} {work['sublayer']}"


def rules(workloads):
    """Sub-layers that break a rule, each as a sentence."""
    broken = []
    for work in workloads:
        speed = {config: work["configs"][config]["speedup"]
                 for config in ("ideal", "t3", "t3-mca")}
        if speed["t3"] > speed["t3-mca"] + 0.02:
            broken.append(f"{label(work)}: T3 {speed['t3']:.3f} > "
                          f"T3-MCA {speed['t3-mca']:.3f} + 0.02")
        if speed["t3-mca"] < speed["ideal"] - 0.08:
            broken.append(f"{label(work)}: T3-MCA {speed['t3-mca']:.3f} < "
                          f"Ideal {speed['ideal']:.3f} - 0.08")
    return broken


def verdict(value, published, accepted):
    if accepted is None:
        return "reported"
    return "reached" if abs(value - published) <= accepted + 1e-9 else "MISSED"


# --- output ------------------------------------------------------------------

def print_sublayers(workloads):
    print("Speed-up over Sequential (virtual time) and DRAM traffic of T3-MCA\n")
    print(f"{'':22}{'GEMM us':>9}{'RS us':>8}{'AG us':>8}", end="")
    print("".join(f"{config:>11}" for config in CONFIGS), f"{'DRAM':>9}")
    for work in workloads:
        phases = [work["phases"][key] / 1e6 for key in ("gemm_ps", "reduce_scatter_ps",
                                                        "all_gather_ps")]
        print(f"{label(work):22}{phases[0]:9.1f}{phases[1]:8.1f}{phases[2]:8.1f}", end="")
        print("".join(f"{work['configs'][config]['speedup']:11.3f}" for config in CONFIGS),
              f"{100 * (1 / ratio(work) - 1):7.1f} %")
    print(f"{'geomean':47}", end="")
    print("".join(f"{geomean(speedups(workloads, config)):11.3f}" for config in CONFIGS), "\n")


def print_comparison(values, broken):
    print(f"{'':28}{'published':>10}{'accepted':>10}{'here':>9}")
    for name, published, accepted in PUBLISHED:
        width = f"+-{accepted:.3f}" if accepted else ""
        print(f"{name:28}{published:10.2f}{width:>10}{values[name]:9.3f}  "
              f"{verdict(values[name], published, accepted)}")
    print("T3 <= T3-MCA + 0.02 and T3-MCA >= Ideal - 0.08 in each sub-layer:",
          "broken in" if broken else "reached")
    for sentence in broken:
        print("   ", sentence)
    print()


SWEPT = ["Ideal overlap, geomean", "T3, geomean", "T3-MCA, geomean", "T3-MCA, max",
         "DRAM traffic, geomean", "GEMM reads fewer, geomean"]


SWEPT_CONFIGS = ["sequential", "ideal", "ideal-nmc", "t3", "t3-mca"]


def swept_run(parameter, value):
    options = ["--param", f"{parameter['name']}={value}"]
    for config in SWEPT_CONFIGS:
        options += ["--config", config]
    return figures(simulate(*options)["workloads"])


def sweep(parameters, defaults):
    """For each assumed parameter: [(value, figures)], by value."""
    rows = {}
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for parameter in parameters:
            low, high, default = (parameter[key] for key in ("low", "high", "default"))
            if low == high:
                continue
            row = {value: pool.submit(swept_run, parameter, value)
                   for value in {low, high} - {default}}
            rows[parameter["name"]] = row
        return {name: sorted([(value, run.result()) for value, run in row.items()]
                             + [(default_of(parameters, name), defaults)],
                             key=lambda pair: pair[0])
                for name, row in rows.items()}


def default_of(parameters, name):
    return next(each["default"] for each in parameters if each["name"] == name)


def print_sweep(rows):
    print("Each assumed parameter alone, from the least to the most that it may be\n")
    print(f"{'':22}{'values':>20}", "".join(f"{name.replace(', geomean', ''):>24}"
                                              for name in SWEPT))
    for name, row in rows.items():
        text = " ".join(str(value) for value, _ in row)
        print(f"{name:22}{text:>20}", end=" ")
        for figure in SWEPT:
            seen = " ".join(f"{got[figure]:.3f}" for _, got in row)
            print(f"{seen:>24}", end="")
        print()
    print()


# --- plots -------------------------------------------------------------------

def save(figure, directory, name):
    for suffix in ("svg", "png"):
        figure.savefig(directory / f"{name}.{suffix}", bbox_inches="tight", dpi=120)
    pyplot.close(figure)


def plot_speedups(workloads, directory):
    figure, axes = pyplot.subplots(figsize=(15, 4.5))
    names = [label(work) for work in workloads] + ["geomean"]
    width = 0.8 / len(CONFIGS)
    for index, config in enumerate(CONFIGS):
        values = speedups(workloads, config)
        axes.bar([x + (index - (len(CONFIGS) - 1) / 2) * width for x in range(len(names))],
                 values + [geomean(values)], width, label=config)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_ylim(0.9, None)
    axes.set_ylabel("speed-up over Sequential, virtual time")
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
    axes.legend(ncol=len(CONFIGS), loc="upper center", bbox_to_anchor=(0.5, 1.12), frameon=False)
    save(figure, directory, "speedup")


def plot_traffic(workloads, directory):
    figure, axes = pyplot.subplots(figsize=(15, 4.5))
    for index, config in enumerate(("sequential", "t3-mca")):
        places = [x + (index - 0.5) * 0.4 for x in range(len(workloads))]
        bottom = [0.0] * len(workloads)
        for number, kind in enumerate(KINDS):
            values = [memory(work, config, kind) / memory(work, "sequential")
                      for work in workloads]
            axes.bar(places, values, 0.36, bottom, color=f"C{number}",
                     label=kind.replace("_", " ") if index == 0 else None)
            bottom = [below + value for below, value in zip(bottom, values)]
    axes.set_ylabel("DRAM bytes: Sequential, T3-MCA")
    axes.set_xticks(range(len(workloads)), map(label, workloads), rotation=45, ha="right")
    axes.legend(ncol=len(KINDS), loc="upper center", bbox_to_anchor=(0.5, 1.12), frameon=False)
    save(figure, directory, "traffic")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-sweep", action="store_true", help="the defaults alone")
    parser.add_argument("--no-vm", action="store_true", help="natively alone")
    parser.add_argument("--out", type=pathlib.Path, default=BUILD / "paper")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    result = simulate()
    workloads, values = result["workloads"], figures(result["workloads"])
    broken = rules(workloads)
    print_sublayers(workloads)
    print_comparison(values, broken)
    print(f"{result['events'] / 1e6:.1f} million events in {result['cpu_seconds']:.2f} s of this "
          f"host's CPU time, {result['events'] / result['cpu_seconds'] / 1e6:.1f} million a second\n",
          flush=True)
    vm_works = [] if args.no_vm else run_vm()
    if vm_works:
        print_vm(vm_works)
    rows = {} if args.no_sweep else sweep(result["parameters"], values)
    if rows:
        print_sweep(rows)
    plot_speedups(workloads, args.out)
    plot_traffic(workloads, args.out)
    comparison = [{"figure": name, "published": published, "accepted": accepted,
                   "here": values[name], "verdict": verdict(values[name], published, accepted)}
                  for name, published, accepted in PUBLISHED]
    (args.out / "paper.json").write_text(json.dumps(
        {"comparison": comparison, "broken_rules": broken, "vm": vm_works, "sweep": rows,
         **result}, indent=1))
    print(f"{args.out}: paper.json, speedup.svg, speedup.png, traffic.svg, traffic.png")


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, subprocess.TimeoutExpired, OSError) as error:
        sys.exit(f"paper.py: {error}")
