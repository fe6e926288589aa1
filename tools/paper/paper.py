#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The published sub-layers in virtual time, beside what T3's paper has.

usage: paper.py [--draws N] [--seed S] [--jobs N] [--points N] [--no-sweep] [--no-vm] [--json]
                [--out DIRECTORY]
       paper.py --shard I/N [--draws N] [--seed S] [--jobs N] [--points N] [--out DIRECTORY]
       paper.py --merge FILE...

Runs `t3 sim --model paper.model` for all configurations, and larger.model, which is held out from
the choice of parameters. Prints each sub-layer and the comparison with the published figures.

Draws all assumed parameters jointly from their ranges (--draws, a Latin hypercube of --seed,
--jobs at a time), and prints the median and the range from 5 % to 95 % beside each published
figure. Varies each of them on its own, too, all others at their defaults. Runs all sweeps of
paper_sweeps.py, and adds up whole iterations by paper_iteration.py.

Some workloads are run again by driver and devices in a VM, in all configurations, and every figure
must be the same. Writes paper.json, draws.json, plots as SVG and PNG, and index.html, which has
all of it and a timeline.

--shard runs only each N-th draw and run of the sweeps, from the I-th on, and writes
draws-I-of-N.json. --merge takes such files instead: table and plots are those of one run.

Exits 1 when a run fails, parts do not fit, or the VM has another figure. A figure that is too far
from the published one is reported as MISSED, and is no failure of the run.
"""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time

import paper_draws as draws
import paper_files
import paper_iteration
import paper_print as prints
import paper_sweeps
from paper_figures import (NEEDED_CONFIGS, comparison, figures, held_out_figures, rules,
                           sublayers)
from paper_run import BUILD, CpuSeconds, Refused, native
from paper_trends import trends
from paper_vm import print_vm, run_vm

MODEL = pathlib.Path(__file__).with_name("paper.model")
HELD_OUT = MODEL.with_name("larger.model")
DRAWS, SEED = 200, 1


# --- running -----------------------------------------------------------------

def simulate_with(model, values):
    """The answer for the configurations of the published figures, with these parameters."""
    options = ["--model", model, "--attention", "separate"]
    for config in NEEDED_CONFIGS:
        options += ["--config", config]
    for name, value in values.items():
        options += ["--param", f"{name}={value}"]
    return native(*options)


def all_figures(answer, held_out):
    """`held_out` is an answer, or {} without workloads."""
    more = held_out.get("workloads", [])
    iterations = paper_iteration.iterations_of(answer, held_out)
    return (figures(answer["workloads"]) | held_out_figures(more)
            | paper_iteration.iteration_figures(iterations))


# --- joint draws -------------------------------------------------------------

def run_draw(models, point):
    """What is kept of one draw. That the model refuses such a machine is a result, too."""
    model, held_out = models
    row, more = {}, {}
    try:
        answer = simulate_with(model, point)
    except Refused as error:
        return {"refused": error.sentence}
    try:
        more = simulate_with(held_out, point) if held_out else {}
    except Refused as error:
        row["held_out_refused"] = error.sentence
    return {"figures": all_figures(answer, more),
            "sublayers": sublayers(answer["workloads"] + more.get("workloads", [])), **row}


def identity_of(args, result):
    """What must be equal for parts to be parts of one run."""
    answer = json.dumps([result["workloads"], result["held_out"]], sort_keys=True)
    return {"seed": args.seed, "draws": args.draws, "parameters": result["parameters"],
            "set of sweeps": paper_sweeps.runs_of(planned_sweeps(args, result)),
            "model's answer": hashlib.sha256(answer.encode()).hexdigest()}


def planned_sweeps(args, result):
    chosen = [] if args.no_sweep else paper_sweeps.chosen_sweeps([], args.points)
    return paper_sweeps.plan(chosen, result["workloads"])


def run_part(args, result, shard):
    """The draws and sweeps of this part, by their numbers; they are written, too."""
    points = draws.hypercube(result["parameters"], args.draws, args.seed)
    planned, name = planned_sweeps(args, result), "draws.json"
    with args.spent.on("draws"):
        rows = draws.run("draws", points, draws.indices(args.draws, shard),
                         lambda point: run_draw((args.model, args.held_out), point), args.jobs)
    with args.spent.on("sweeps"):
        count = len(paper_sweeps.runs_of(planned))
        swept = paper_sweeps.run_chosen(planned, draws.indices(count, shard), args.jobs)
    if shard != (1, 1):
        name = f"draws-{shard[0]}-of-{shard[1]}.json"
    (args.out / name).write_text(json.dumps(
        draws.part(identity_of(args, result), shard, rows=rows, sweeps=swept)))
    return draws.part({}, shard, rows=rows, sweeps=swept), name


def merge(args, result):
    """All parts. Seed and number are theirs, not the command line's."""
    parts = [(path, draws.read_part(path)) for path in args.merge]
    args.seed, args.draws = (parts[0][1]["identity"][key] for key in ("seed", "draws"))
    identity = json.loads(json.dumps(identity_of(args, result)))
    draws.check_identity(parts, identity)
    return parts


def draws_and_sweeps(args, result):
    """The rows of all draws, and what assemble() makes of all sweeps."""
    parts = merge(args, result) if args.merge else [("", run_part(args, result, (1, 1))[0])]
    planned = planned_sweeps(args, result)
    rows = draws.merge(parts, "rows", args.draws, "draw")
    swept = draws.merge(parts, "sweeps", len(paper_sweeps.runs_of(planned)), "run of sweep")
    return rows, paper_sweeps.assemble(planned, swept)


# --- each on its own ---------------------------------------------------------

def varied_run(model, point):
    try:
        return figures(simulate_with(model, point)["workloads"])
    except Refused:
        return None


def vary(args, parameters, defaults):
    """For each assumed parameter: [(value, figures)], by value; None: the model refuses it."""
    assumed = draws.assumed(parameters)
    others = args.points - 1 if args.points else 2  # beside the default
    points = [{one["name"]: value} for one in assumed
              for value in sorted({one["low"], one["high"]} - {one["default"]})[:others]]
    ran = draws.run("parameters", points, range(len(points)),
                    lambda point: varied_run(args.model, point), args.jobs)
    rows = {one["name"]: [(one["default"], defaults)] for one in assumed}
    for index, point in enumerate(points):
        for name, value in point.items():
            rows[name].append((value, ran[index]))
    return {name: sorted(row, key=lambda pair: pair[0]) for name, row in rows.items()}


# --- all of it ---------------------------------------------------------------

def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=DRAWS, metavar="N",
                        help=f"joint draws ({DRAWS}); 0: none")
    parser.add_argument("--seed", type=int, default=SEED, metavar="S",
                        help=f"of the draws ({SEED})")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N",
                        help="runs at a time (the processors that it may use)")
    parser.add_argument("--shard", metavar="I/N",
                        help="run and write part I of N of the draws only")
    parser.add_argument("--merge", type=pathlib.Path, nargs="+", metavar="FILE", default=[],
                        help="take the draws from these parts")
    parser.add_argument("--model", type=pathlib.Path, metavar="FILE", help="other workloads")
    parser.add_argument("--held-out", type=pathlib.Path, metavar="FILE",
                        help="other workloads that are predicted; with --model: none")
    parser.add_argument("--no-sweep", action="store_true",
                        help="no sweeps, and no parameter on its own")
    parser.add_argument("--points", type=int, metavar="N",
                        help="at most N values of each sweep and parameter (all)")
    parser.add_argument("--no-vm", action="store_true", help="natively alone")
    parser.add_argument("--json", action="store_true", help="print one JSON object, no tables")
    parser.add_argument("--out", type=pathlib.Path, default=BUILD / "paper", metavar="DIRECTORY")
    args = parser.parse_args()
    args.spent = CpuSeconds()
    if args.draws < 0 or args.jobs < 1:
        parser.error("--draws takes a number from 0, and --jobs from 1")
    if args.points is not None and args.points < 1:
        parser.error("--points takes a number from 1")
    if args.shard and args.merge:
        parser.error("--shard runs draws, and --merge takes them from files")
    if not args.model:
        args.model, args.held_out = MODEL, args.held_out or HELD_OUT
    try:
        args.shard = draws.shard_of(args.shard) if args.shard else None
    except ValueError as error:
        parser.error(f"--shard: {error}")
    return args


def predict(model):
    """The held-out workloads, if there are any."""
    try:
        answer = simulate_with(model, {}) if model else {}
        return {key: answer[key] for key in ("workloads", "iterations") if key in answer}
    except Refused as error:
        return {"refused": error.sentence}


def run_shard(args, result):
    _, name = run_part(args, result, args.shard)
    print(f"{args.out / name}: draws {args.shard[0]}, {args.shard[0] + args.shard[1]}, ... "
          f"of {args.draws}")


def compute(args, result):
    """All that is shown: {name: part}."""
    values = all_figures(result, result["held_out"])
    rows, swept = draws_and_sweeps(args, result)
    with args.spent.on("VM"):
        vm_works = [] if args.no_vm else run_vm()
    with args.spent.on("each parameter"):
        varied = {} if args.no_sweep else vary(args, result["parameters"], values)
    return {"comparison": comparison(values, draws.ranges(rows)), "trends": trends(swept),
            "iterations": paper_iteration.iterations_of(result, result["held_out"]),
            "broken_rules": rules(result["workloads"]), "rows": rows, "sweeps": swept,
            "vm": vm_works, "variation": varied}


def show(args, result, found):
    prints.print_sublayers(result["workloads"])
    prints.print_held_out(result["held_out"])
    prints.print_comparison(found["comparison"], found["broken_rules"])
    if found["rows"]:
        prints.print_draws(args, result, found["rows"])
    if found["trends"]:
        prints.print_trends(found["trends"])
    if found["iterations"]:
        paper_iteration.print_iterations(found["iterations"])
    paper_sweeps.print_sweeps(found["sweeps"])
    if found["vm"]:
        print_vm(found["vm"])
    if found["variation"]:
        prints.print_variation(found["variation"])
    millions = result["events"] / 1e6
    print(f"{millions:.1f} million events in {result['cpu_seconds']:.2f} s of this host's CPU "
          f"time, {millions / result['cpu_seconds']:.1f} million a second", flush=True)


def run_all(args, result):
    began = time.monotonic()
    found = compute(args, result)
    if not args.json:
        show(args, result, found)
    with args.spent.on("plots and page"):
        names = paper_files.write(args, result, found)
    found["cpu_seconds"] = args.spent.seconds
    if args.json:
        print(json.dumps(paper_files.facts(result, found), indent=1))
        return
    print(f"{args.out}: index.html, paper.json, {', '.join(names)} (.svg, .png)")
    prints.print_seconds(args.spent.seconds)
    print(f"{draws.duration(time.monotonic() - began)} in all")


def main():
    args = arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    with args.spent.on("published sub-layers"):
        result = native("--model", args.model, "--seconds")
        result["held_out"] = predict(args.held_out)
    (run_shard if args.shard else run_all)(args, result)


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, draws.BadPart, subprocess.TimeoutExpired, OSError) as error:
        sys.exit(f"paper.py: {error}")
