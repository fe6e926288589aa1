#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The published sub-layers in virtual time, beside what T3's paper has.

usage: paper.py [--draws N] [--seed S] [--jobs N] [--no-sweep] [--no-vm] [--out DIRECTORY]
       paper.py --shard I/N [--draws N] [--seed S] [--jobs N] [--out DIRECTORY]
       paper.py --merge FILE...

Runs `t3 sim --model paper.model` for all configurations, and larger.model, which is held out from
the choice of parameters. Prints each sub-layer and the comparison with the published figures.

Draws all assumed parameters jointly from their ranges (--draws, a Latin hypercube of --seed,
--jobs at a time), and prints the median and the range from 5 % to 95 % beside each published
figure. Varies each of them on its own, too, all others at their defaults.

Some workloads are run again by driver and devices in a VM, in all configurations, and every figure
must be the same. Writes paper.json, draws.json, plots as SVG and PNG, and index.html, which has
all of it and a timeline.

--shard runs only each N-th draw, from the I-th on, and writes draws-I-of-N.json. --merge takes
such files instead of running draws: table and plots are the same as those of one run.

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
import tempfile
import time

import paper_draws as draws
import paper_page
from paper_figures import (ACCEPTED, CONFIGS, NEEDED_CONFIGS, PREDICTED, comparison, figures,
                           geomean, held_out_figures, label, ratio, rules, speedups, sublayers)

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
MODEL = pathlib.Path(__file__).with_name("paper.model")
HELD_OUT = MODEL.with_name("larger.model")
VM = ROOT / "tools/vm/t3-vm"
VM_RANKS, VM_SECONDS = 4, 600
# The runs in the VM: (options of the workload, whether on all devices or mirrored on one).
VM_WORKLOADS = [
    ("--hidden 4256 --tokens 8192 --tp 8 --sublayer fc2", False),
    ("--hidden 3072 --tokens 16384 --tp 16 --sublayer op", False),
    (f"--hidden 4256 --tokens 8192 --tp {VM_RANKS} --sublayer op", True),
]
RUN_SECONDS = 600
REFUSED = 2  # t3's status for arguments that it does not take
DRAWS, SEED = 200, 1
TIMELINE_CONFIGS = {"sequential": "Sequential", "t3-mca": "T3-MCA"}


# --- running -----------------------------------------------------------------

class Refused(RuntimeError):
    """The arguments, by t3: `sentence` says why."""

    def __init__(self, text):
        super().__init__(text)
        self.sentence = text.rsplit(": ", 1)[-1]


def output_of(command, seconds):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=seconds, check=False)
    if done.returncode:
        kind = Refused if done.returncode == REFUSED else RuntimeError
        raise kind(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def native(*options):
    return json.loads(output_of([BUILD / "t3", "sim", "--json", *options], RUN_SECONDS))


def simulate_with(model, values):
    """The configurations that the published figures are made of, with these parameters."""
    options = ["--model", model]
    for config in NEEDED_CONFIGS:
        options += ["--config", config]
    for name, value in values.items():
        options += ["--param", f"{name}={value}"]
    return native(*options)["workloads"]


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


# --- output ------------------------------------------------------------------

def print_rows(workloads, configs):
    print(f"{'':22}{'GEMM us':>9}{'RS us':>8}{'AG us':>8}", end="")
    print("".join(f"{config:>11}" for config in configs), f"{'DRAM':>9}")
    for work in workloads:
        phases = [work["phases"][key] / 1e6 for key in ("gemm_ps", "reduce_scatter_ps",
                                                        "all_gather_ps")]
        print(f"{label(work):22}{phases[0]:9.1f}{phases[1]:8.1f}{phases[2]:8.1f}", end="")
        print("".join(f"{work['configs'][config]['speedup']:11.3f}" for config in configs),
              f"{100 * (1 / ratio(work) - 1):7.1f} %")


def print_sublayers(workloads):
    print("Speed-up over Sequential (virtual time) and DRAM traffic of T3-MCA\n")
    print_rows(workloads, CONFIGS)
    print(f"{'geomean':47}", end="")
    print("".join(f"{geomean(speedups(workloads, config)):11.3f}" for config in CONFIGS), "\n")


def print_held_out(held_out):
    if not held_out:
        return
    print("Held out: no parameter was fitted to these\n")
    if "refused" in held_out:
        print(f"    the model refuses them: {held_out['refused']}\n")
        return
    print_rows(held_out["workloads"], NEEDED_CONFIGS[1:])
    print()


def print_row(row):
    published = f"{row['published']:.2f}" if row["published"] is not None else ""
    text = f"{row['figure']:40}{row['kind']:>11}{published:>11}{row['here']:9.3f}"
    if row["verdict"] != row["kind"] or "low" in row:
        text += f"  {row['verdict'] if row['verdict'] != row['kind'] else '':8}"
    if "low" in row:
        text += f"{row['median']:9.3f}{row['low']:9.3f} to {row['high']:6.3f}"
    if "published_in_range" in row:
        text += "  inside" if row["published_in_range"] else "  outside"
    print(text)


def print_comparison(compared, broken):
    print(f"{'':51}{'published':>11}{'here':>9}", end="")
    print(f"{'median':>19}{'5 to 95 %':>16}  published is" if "low" in compared[0] else "")
    for number, row in enumerate(compared):
        if number and row["kind"] == PREDICTED != compared[number - 1]["kind"]:
            print()
        print_row(row)
    print(f"reached: not more than {ACCEPTED} off. "
          "T3 <= T3-MCA + 0.02 and T3-MCA >= Ideal - 0.08 in each sub-layer:",
          "broken in" if broken else "reached")
    for sentence in broken:
        print("   ", sentence)
    print()


# --- joint draws -------------------------------------------------------------

def run_draw(models, point):
    """What is kept of one draw. That the model refuses such a machine is a result, too."""
    model, held_out = models
    try:
        workloads = simulate_with(model, point)
    except Refused as error:
        return {"refused": error.sentence}
    row = {"figures": figures(workloads), "sublayers": sublayers(workloads)}
    if held_out:
        try:
            workloads = simulate_with(held_out, point)
            row["figures"] |= held_out_figures(workloads)
            row["sublayers"] |= sublayers(workloads)
        except Refused as error:
            row["held_out_refused"] = error.sentence
    return row


def identity_of(args, result):
    """What must be equal for parts to be parts of one run."""
    answer = json.dumps([result["workloads"], result["held_out"]], sort_keys=True)
    return {"seed": args.seed, "draws": args.draws, "parameters": result["parameters"],
            "model's answer": hashlib.sha256(answer.encode()).hexdigest()}


def write_part(args, identity, shard, rows):
    name = "draws.json" if shard == (1, 1) else f"draws-{shard[0]}-of-{shard[1]}.json"
    (args.out / name).write_text(json.dumps(draws.part(identity, shard, rows)))
    return name


def run_draws(args, result, shard):
    """The rows of this part, by their numbers; they are written, too."""
    points = draws.hypercube(result["parameters"], args.draws, args.seed)
    rows = draws.run("draws", points, draws.indices(args.draws, shard),
                     lambda point: run_draw((args.model, args.held_out), point), args.jobs)
    name = write_part(args, identity_of(args, result), shard, rows)
    return rows, name


def merge(args, result):
    """The rows of all parts. Seed and number are theirs, not the command line's."""
    parts = [(path, draws.read_part(path)) for path in args.merge]
    args.seed, args.draws = (parts[0][1]["identity"][key] for key in ("seed", "draws"))
    return draws.merge(parts, identity_of(args, result))


def all_draws(args, result):
    if args.merge:
        return merge(args, result)
    rows, _ = run_draws(args, result, (1, 1))
    return [rows[index] for index in sorted(rows)]


def print_refused(rows, key, what):
    found = [row[key] for row in rows if key in row]
    print(f"{len(found)} of them the model refuses{what}")
    for sentence in sorted(set(found)):
        print("   ", sentence)


def print_draws(args, result, rows):
    count = len(draws.assumed(result["parameters"]))
    print(f"{args.draws} joint draws of {count} assumed parameters, seed {args.seed}")
    print_refused(rows, "refused", "")
    if args.held_out:
        print_refused(rows, "held_out_refused", ", for the held-out workloads alone")
    print()


# --- each on its own ---------------------------------------------------------

SWEPT = ["Ideal overlap, geomean", "T3, geomean", "T3-MCA, geomean", "T3-MCA, max",
         "DRAM traffic, geomean", "GEMM reads fewer, geomean"]


def swept_run(model, point):
    try:
        return figures(simulate_with(model, point))
    except Refused:
        return None


def sweep(model, parameters, defaults, jobs):
    """For each assumed parameter: [(value, figures)], by value; None: the model refuses it."""
    assumed = draws.assumed(parameters)
    points = [{one["name"]: value} for one in assumed
              for value in sorted({one["low"], one["high"]} - {one["default"]})]
    ran = draws.run("sweep", points, range(len(points)), lambda point: swept_run(model, point),
                    jobs)
    rows = {one["name"]: [(one["default"], defaults)] for one in assumed}
    for index, point in enumerate(points):
        for name, value in point.items():
            rows[name].append((value, ran[index]))
    return {name: sorted(row, key=lambda pair: pair[0]) for name, row in rows.items()}


def print_sweep(rows):
    print("Each assumed parameter alone, from the least to the most that it may be\n")
    print(f"{'':22}{'values':>20}", "".join(f"{name.replace(', geomean', ''):>24}"
                                              for name in SWEPT))
    for name, row in rows.items():
        text = " ".join(str(value) for value, _ in row)
        print(f"{name:22}{text:>20}", end=" ")
        for figure in SWEPT:
            seen = " ".join(f"{got[figure]:.3f}" if got else "refused" for _, got in row)
            print(f"{seen:>24}", end="")
        print()
    print()


# --- files -------------------------------------------------------------------

def timeline_of(work, parameters):
    """One sub-layer, sequential and fused, for the page."""
    values, runs = {one["name"]: one["value"] for one in parameters}, []
    options = ["--hidden", work["hidden"], "--tokens", work["tokens"], "--tp", work["tp"],
               "--sublayer", work["sublayer"]]
    for config, name in TIMELINE_CONFIGS.items():
        with tempfile.NamedTemporaryFile("r", encoding="utf-8", suffix=".json") as file:
            native(*map(str, options), "--config", config, "--timeline", file.name)
            runs.append(paper_page.read_timeline(file, f"{label(work)}, {name}"))
    return {"runs": runs, "units": values["compute_units"], "memory_gbps": values["memory_gbps"],
            "link_gbps": values["link_gbps"], "tracker_entries": values["tracker_entries"]}


def sublayer_rows(workloads, configs):
    """For the page; what was not run is left out."""
    return [(label(work), {**{config: f"{work['configs'][config]['speedup']:.3f}"
                              if config in configs else "" for config in CONFIGS},
                           "DRAM": f"{100 * (1 / ratio(work) - 1):.1f} %"})
            for work in workloads]


def facts_of(args, rows, broken):
    """Sentences above the page's table."""
    facts = ["T3 (ASPLOS 2024, arXiv 2401.16677) overlaps a sharded GEMM with its reduce-scatter "
             "by tracking and triggering at the memory. Here its published sub-layers run on a "
             "timed model of such devices."]
    if rows:
        facts.append(f"{args.draws} joint draws of all assumed parameters, seed {args.seed}; "
                     f"the model refuses {len(rows) - len(draws.taken(rows))} of them.")
    return facts + [f"A rule is broken: {sentence}." for sentence in broken]


def draw_plots(out, result, compared, rows, points):
    import paper_plots  # here, as a part needs no matplotlib

    spreads, by_sublayer = draws.ranges(rows), draws.sublayer_ranges(rows)
    workloads, values = result["workloads"], {row["figure"]: row["here"] for row in compared}
    plots = {"speedup": paper_plots.plot_speedups(workloads, values, spreads, by_sublayer, out)}
    if PREDICTED in (row["kind"] for row in compared):
        plots["predicted"] = paper_plots.plot_predicted(result["held_out"]["workloads"], values,
                                                        spreads, by_sublayer, out)
    plots["traffic"] = paper_plots.plot_traffic(workloads, spreads, by_sublayer, out)
    plots["agreement"] = paper_plots.plot_agreement(compared, out)
    effects = {name: found for name in ("T3, geomean", "T3-MCA, geomean")
               if (found := draws.effects(points, rows, name))}
    if effects:
        plots["effects"] = paper_plots.plot_effects(
            effects, {name: spreads[name][1] for name in effects}, out)
    plots["variants"] = paper_plots.plot_variants(workloads, out)
    return plots


def write_files(args, result, compared, rows, more):
    out, workloads = args.out, result["workloads"]
    points = draws.hypercube(result["parameters"], args.draws, args.seed) if rows else []
    plots = draw_plots(out, result, compared, rows, points)
    shown = next((work for work in workloads if work["sublayer"] == "fc2"), workloads[0])
    (out / "index.html").write_text(paper_page.page(
        facts_of(args, rows, more["broken_rules"]), compared,
        sublayer_rows(workloads, CONFIGS)
        + sublayer_rows(result["held_out"].get("workloads", []), NEEDED_CONFIGS[1:]),
        result["parameters"], plots, timeline_of(shown, result["parameters"])), encoding="utf-8")
    (out / "paper.json").write_text(json.dumps(
        {"comparison": compared, "sublayer_ranges": draws.sublayer_ranges(rows), **more, **result},
        indent=1))
    print(f"{out}: index.html, paper.json, {', '.join(plots)} (.svg, .png)")


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
    parser.add_argument("--no-sweep", action="store_true", help="vary no parameter on its own")
    parser.add_argument("--no-vm", action="store_true", help="natively alone")
    parser.add_argument("--out", type=pathlib.Path, default=BUILD / "paper", metavar="DIRECTORY")
    args = parser.parse_args()
    if args.draws < 0 or args.jobs < 1:
        parser.error("--draws takes a number from 0, and --jobs from 1")
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
        return {"workloads": simulate_with(model, {})} if model else {}
    except Refused as error:
        return {"refused": error.sentence}


def run_shard(args, result):
    _, name = run_draws(args, result, args.shard)
    print(f"{args.out / name}: draws {args.shard[0]}, {args.shard[0] + args.shard[1]}, ... "
          f"of {args.draws}")


def run_all(args, result):
    began = time.monotonic()
    workloads, values = result["workloads"], figures(result["workloads"])
    broken = rules(workloads)
    print_sublayers(workloads)
    print_held_out(result["held_out"])
    rows = all_draws(args, result) if args.draws or args.merge else []
    compared = comparison(
        values | held_out_figures(result["held_out"].get("workloads", [])), draws.ranges(rows))
    print_comparison(compared, broken)
    if rows:
        print_draws(args, result, rows)
    millions = result["events"] / 1e6
    print(f"{millions:.1f} million events in {result['cpu_seconds']:.2f} s of this host's CPU "
          f"time, {millions / result['cpu_seconds']:.1f} million a second\n", flush=True)
    vm_works = [] if args.no_vm else run_vm()
    if vm_works:
        print_vm(vm_works)
    swept = {} if args.no_sweep else sweep(args.model, result["parameters"], values, args.jobs)
    if swept:
        print_sweep(swept)
    write_files(args, result, compared, rows,
                {"broken_rules": broken, "vm": vm_works, "sweep": swept})
    print(f"{draws.duration(time.monotonic() - began)} in all")


def main():
    args = arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    result = native("--model", args.model)
    result["held_out"] = predict(args.held_out)
    (run_shard if args.shard else run_all)(args, result)


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, draws.BadPart, subprocess.TimeoutExpired, OSError) as error:
        sys.exit(f"paper.py: {error}")
