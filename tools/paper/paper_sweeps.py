#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What one quantity does to the sub-layers: tracker, link, compute, ranks, units, collectives.

usage: paper_sweeps.py [--sweep NAME]... [--points N] [--model FILE] [--jobs N] [--json]
       paper_sweeps.py --list

SWEEPS is the table of all sweeps. A sweep runs `t3 sim` once for each value and workload, and has
a table of its own: a row for each value, and a column for each figure made of the runs.
"""

import argparse
import json
import os
import pathlib
import sys
from typing import NamedTuple

import paper_draws as draws
from paper_figures import SUBLAYERS, geomean
from paper_run import Refused, native, workload_options

MODEL = pathlib.Path(__file__).with_name("paper.model")
ALL, ONE, NONE = "all sub-layers of the model", "one model at one degree", "no sub-layer"
RANKS = (2, 4, 8, 16, 32, 64, 128, 256, 512)
COLLECTIVES = ("reduce-scatter", "all-gather", "all-reduce", "all-to-all")
PUBLISHED_UNITS = 80
NODE_RANKS = 8
TRACKER_KINDS = ("tracker_read", "tracker_write")


# --- figures of one row ------------------------------------------------------

class Column(NamedTuple):
    """The mean of one number over the runs of a row, which `only` may restrict."""

    name: str
    config: str
    what: str = "speedup"  # a key of kept()
    places: int = 3
    only: dict = {}
    label: str = ""  # in a plot

    def of(self, points):
        """None: nothing was run, or the model refused it."""
        found = [point["configs"][self.config][self.what] for point in points
                 if self.config in point.get("configs", {})
                 and all(point[key] == value for key, value in self.only.items())]
        found = [value for value in found if value is not None]
        if not found:
            return None
        return sum(found) / len(found) if self.what.endswith("percent") else geomean(found)


class Ratio(NamedTuple):
    """Of two columns. The mean of ratios is the ratio of the means."""

    name: str
    above: Column
    below: Column
    places: int = 3
    label: str = ""

    @property
    def config(self):
        return self.below.config

    def of(self, points):
        above, below = self.above.of(points), self.below.of(points)
        return above / below if above and below else None


def speedup(config, name, label="", **only):
    return Column(name, config, only=only, label=label or name)


def time_us(config, label, **only):
    return Column(f"{label} us", config, "us", 1, only, label)


def by_sublayer(config, name):
    return [speedup(config, f"{name} {text}", text, sublayer=key)
            for key, text in SUBLAYERS.items() if key != "fc1"]


def of_series(name, config, what, label, **only):
    return Column(name, config, what, 1, only, label)


SPEEDS = [speedup("ideal", "Ideal"), speedup("t3", "T3"), speedup("t3-mca", "T3-MCA")]
TIMES = [time_us("sequential", "Sequential"), time_us("t3", "T3"), time_us("t3-mca", "T3-MCA")]
FUSED = by_sublayer("t3-mca", "T3-MCA")


# --- the table of sweeps -----------------------------------------------------

class Panel(NamedTuple):
    """A part of a plot: columns with one y axis."""

    title: str
    axis: str
    columns: list
    log: bool = False


SPEED_PANEL = Panel("Speed-up, geomean", "speed-up over Sequential", SPEEDS)
SUBLAYER_PANEL = Panel("T3-MCA by sub-layer", "speed-up over Sequential", FUSED)
TIME_PANEL = Panel("Time, geomean", "µs", TIMES)


class Sweep(NamedTuple):
    name: str
    title: str
    axis: str
    values: tuple
    options: str  # of t3 sim; {value} and what given() adds are replaced
    over: str
    panels: list
    caption: str
    published: str = ""
    configs: tuple = ("sequential", "ideal", "t3", "t3-mca")
    series: dict = {"": ""}  # {name: more options}: each is run for each value
    bars: bool = False  # values are no scale
    default: object = None  # the published value
    unit: str = ""  # after a value in a legend

    def value_name(self, value):
        if self.unit != "bytes":
            return f"{value} {self.unit}".strip()
        place = min(3, (value.bit_length() - 1) // 10)
        return f"{value >> 10 * place} {('B', 'KiB', 'MiB', 'GiB')[place]}"

    @property
    def columns(self):
        return [column for panel in self.panels for column in panel.columns]


SWEEPS = [
    Sweep("tracker", "Tracker entries", "entries of the tracker",
          (16, 32, 64, 128, 256, 512, 1024), "--param tracker_entries={value}", ALL,
          [SPEED_PANEL, SUBLAYER_PANEL,
           Panel("Spilled records", "% of the DRAM bytes",
                 [Column("T3-MCA spills, %", "t3-mca", "tracker_percent", label="T3-MCA")])],
          "A tracker that is full spills a record to memory, and reads it again later.",
          default=256),
    Sweep("bandwidth", "Link bandwidth", "GB/s of a link, per direction",
          (50, 75, 100, 150, 200, 300, 400, 600), "--param link_gbps={value}", ALL,
          [TIME_PANEL, SPEED_PANEL, SUBLAYER_PANEL],
          "T3 gains most where GEMM and reduce-scatter take equally long.",
          default=150),
    Sweep("latency", "Link latency", "ns of a link", (100, 200, 500, 1000, 2000, 5000),
          "--param link_latency_ns={value}", ALL, [TIME_PANEL, SPEED_PANEL, SUBLAYER_PANEL],
          "A ring's step begins when the last one's chunk is complete. T3 sends on piece by piece.",
          default=500),
    Sweep("compute", "Twice the compute", "operations of a unit in a clock", (1024, 2048),
          "--param flops_per_clock={value}", ALL, [SUBLAYER_PANEL, SPEED_PANEL],
          "The published machine has 1024. All else stays as it is.",
          published="FC sub-layers gain more, and OP less", bars=True,
          unit="operations in a clock", default=1024),
    Sweep("ranks", "Ranks, and a ring against a full fabric", "ranks that divide K", RANKS,
          "--tp {value}", ONE,
          [Panel(text, "speed-up over Sequential",
                 [speedup(config, f"{name} {text}", name, sublayer=key) for config, name in
                  (("ideal", "Ideal"), ("t3", "T3"), ("t3-mca", "T3-MCA, ring"),
                   ("direct", "T3-MCA, direct"))])
           for key, text in SUBLAYERS.items() if key != "fc1"],
          "The same output and K on more ranks: less compute for each, and as many bytes on its "
          "link. Direct: a full fabric, where each store goes to the owner of its chunk.\n"
          "A ring's step begins when the last one's chunk is complete; T3 sends on piece by piece. "
          "So with many ranks it is faster than Ideal, which hides a ring.",
          configs=("sequential", "ideal", "t3", "t3-mca", "direct")),
    Sweep("units", "Compute units divided between GEMM and collective",
          "compute units of the reduce-scatter", (1, 2, 4, 8, 16, 32, 64), "",
          ONE,
          [Panel("OP: each alone", "µs",
                 [of_series("GEMM alone us", "sequential", "gemm_us", "GEMM on the rest",
                            sublayer="op", series="rest"),
                  of_series("RS alone us", "sequential", "rs_us", "reduce-scatter",
                            sublayer="op", series="both")], True),
           Panel("OP: both at once", "µs",
                 [of_series("GEMM us", "shared", "gemm_us", "GEMM on the rest", sublayer="op",
                            series="both"),
                  of_series("RS us", "shared", "rs_us", "reduce-scatter", sublayer="op",
                            series="both")], True),
           Panel("Overlap by software, and by T3", "speed-up over Sequential",
                 [*(Ratio(f"divided {text}",
                          time_us("sequential", "", sublayer=key, series="whole"),
                          time_us("shared", "", sublayer=key, series="both"),
                          label=f"{text}, divided")
                    for key, text in (("op", "OP"), ("fc2", "FC-2"))),
                  *(speedup("t3-mca", f"T3-MCA {text}", f"{text}, T3-MCA", sublayer=key,
                            series="whole") for key, text in (("op", "OP"), ("fc2", "FC-2")))])],
          "Divided: the GEMM runs on the rest of the 80 units, while an independent reduce-scatter "
          "of the same size runs on these. Then follows the all-gather, on all units.\n"
          "Sequential and T3-MCA have all 80 units for each, so their figures are the same "
          "everywhere.",
          published="a GEMM given fewer units slows down, and so does a reduce-scatter given few",
          configs=(), series={
              "rest": "--config sequential --param compute_units={rest}",
              "both": "--config shared --config sequential --param collective_units={value}",
              "whole": "--config sequential --config t3-mca"}),
    Sweep("collectives", "Collectives alone, by the size of the message",
          "bytes of a rank's buffer", tuple(1 << power for power in range(16, 31, 2)),
          "--message {value} --tp 8", NONE,
          [Panel("Time", "µs", [of_series(f"{name} us", "alone", "us", name, series=name)
                                for name in COLLECTIVES], True),
           Panel("Bus bandwidth: what each link carries", "GB/s",
                 [of_series(f"{name} GB/s", "alone", "bus_gbps", name, series=name)
                  for name in COLLECTIVES])],
          "8 ranks. A link carries 150 GB/s at most. Small messages "
          "are bound by the latency of the ring's steps; all-to-all has one step alone.",
          unit="bytes", configs=("alone",),
          series={name: f"--collective {name}" for name in COLLECTIVES}),
    Sweep("fused", "Other collectives, fused with the GEMM", "collective after the GEMM",
          COLLECTIVES, "--collective {value}", ONE, [SPEED_PANEL, SUBLAYER_PANEL],
          "Sequential runs the GEMM, then the collective. All-gather: each rank computes one "
          "chunk. All-to-all: it computes one for each rank. Both have the whole K.\n"
          "All-reduce is what the sub-layers above have.", bars=True),
    Sweep("nodes", "Groups of several nodes", f"nodes of {NODE_RANKS} ranks", (1, 2, 4, 8, 16),
          "--nodes {value} --tp {ranks}", ONE, [TIME_PANEL, SPEED_PANEL, SUBLAYER_PANEL],
          "K is divided among all ranks. In a node, reduce-scatter and all-gather run as above; "
          "between them, each device's chunk is reduced over the nodes, on a link of 25 GB/s."),
]
NAMES = [sweep.name for sweep in SWEEPS]


# --- running -----------------------------------------------------------------

def one_model(workloads):
    """The sub-layers of the last model at its lowest degree."""
    model = workloads[-1]["model"]
    tp = min(work["tp"] for work in workloads if work["model"] == model)
    return [work for work in workloads if (work["model"], work["tp"]) == (model, tp)]


def shape_of(work):
    return work["rows"], work["columns"], work["depth"], work["tp"]


def given(sweep, value, series):
    """The options of a value, without those of the workload."""
    fields = {"value": value}
    if isinstance(value, int):
        fields |= {"rest": PUBLISHED_UNITS - value, "ranks": NODE_RANKS * value}
    words = f"{sweep.options} {sweep.series[series]}".format(**fields)
    return words.split() + [word for config in sweep.configs for word in ("--config", config)]


def workload_with(options, more):
    """Of an option that both have, the later one counts, as t3 sim takes each once."""
    words, tail = list(options), list(more)
    if "--tp" in words and "--tp" in tail:
        at = tail.index("--tp")
        words[words.index("--tp") + 1] = tail[at + 1]
        del tail[at:at + 2]
    return words + tail


def plan(sweeps, workloads):
    """[(sweep, facts of the point, options)]: sub-layers of one shape have the same options."""
    found = []
    for sweep in sweeps:
        works = {ALL: workloads, ONE: one_model(workloads), NONE: [None]}[sweep.over]
        for value in sweep.values:
            for series in sweep.series:
                first = {}
                for work in works:
                    facts, options = {"value": value, "series": series}, []
                    if work:
                        options = workload_options(first.setdefault(shape_of(work), work))
                        facts |= {key: work[key] for key in ("model", "sublayer")}
                    options = workload_with(options, given(sweep, value, series))
                    if work:
                        facts["tp"] = int(options[options.index("--tp") + 1])
                    found.append((sweep, facts, tuple(map(str, options))))
    return found


def runs_of(planned):
    """Each set of options once, in order."""
    return list(dict.fromkeys(options for _, _, options in planned))


def kept(name, config, work):
    """Of one configuration's answer."""
    gemm = scatter = None  # when they are over, or how long each takes alone
    if name == "shared":
        gemm, scatter = (config["phases"][key]["end_ps"] / 1e6
                         for key in ("gemm", "reduce_scatter"))
    elif name == "sequential":
        gemm, scatter = (work["phases"].get(key, 0) / 1e6
                         for key in ("gemm_ps", "reduce_scatter_ps"))
    memory = config["counters"]["memory_bytes"] if "counters" in config else {}
    record = sum(memory.get(kind, 0) for kind in TRACKER_KINDS)
    return {"us": config["virtual_ps"] / 1e6, "speedup": config.get("speedup"),
            "gemm_us": gemm, "rs_us": scatter, "bus_gbps": config.get("bus_gbps"),
            "dram": sum(memory.values()),
            "tracker_percent": 100 * record / sum(memory.values()) if memory else None}


def run(options):
    """What is kept of one run. That the model refuses it is a result, too."""
    try:
        work = native(*options)["workloads"][0]
    except Refused as error:
        return {"refused": error.sentence}
    return {"configs": {name: kept(name, config, work) for name, config in work["configs"].items()}}


def run_chosen(planned, chosen, jobs):
    """{index of runs_of(): row}"""
    return draws.run("sweeps", runs_of(planned), chosen, run, jobs)


# --- tables ------------------------------------------------------------------

def assemble(planned, rows):
    """{name: {"points", "table"}}; `rows` are those of all runs."""
    row_of, found = dict(zip(runs_of(planned), rows)), {}
    for sweep, facts, options in planned:
        one = found.setdefault(sweep.name, {"title": sweep.title, "axis": sweep.axis,
                                            "published": sweep.published, "points": []})
        one["points"].append({**facts, **row_of[options]})
    for sweep in {id(sweep): sweep for sweep, _, _ in planned}.values():
        found[sweep.name]["table"] = table(sweep, found[sweep.name]["points"])
    return found


def table(sweep, points):
    """[{"value": value, column: figure}]"""
    return [{"value": value, **{column.name: column.of([point for point in points
                                                        if point["value"] == value])
                                for column in sweep.columns}}
            for value in sweep.values]


def texts(sweep, rows):
    """(headings, rows of texts)"""
    shown = [[sweep.value_name(row["value"]), *("" if row[column.name] is None
                                   else f"{row[column.name]:.{column.places}f}"
                                   for column in sweep.columns)] for row in rows]
    return ["", *(column.name for column in sweep.columns)], shown


def print_sweeps(found):
    for sweep in SWEEPS:
        if sweep.name not in found:
            continue
        headings, rows = texts(sweep, found[sweep.name]["table"])
        widths = [max(map(len, column)) for column in zip(headings, *rows)]
        print(f"{sweep.title} ({sweep.axis})\n")
        for row in (headings, *rows):
            print("  ".join(text.rjust(width) for text, width in zip(row, widths)))
        refused = {point["refused"] for point in found[sweep.name]["points"] if "refused" in point}
        for sentence in sorted(refused):
            print(f"    the model refuses some: {sentence}")
        print()


# --- the command -------------------------------------------------------------

def thinned(values, count):
    """At most `count` of the values: both ends, and evenly between."""
    if count is None or count >= len(values):
        return values
    last = len(values) - 1
    return tuple(values[round(at * last / max(1, count - 1))] for at in range(count))


def chosen_sweeps(names, points=None):
    return [sweep._replace(values=thinned(sweep.values, points)) for sweep in SWEEPS
            if not names or sweep.name in names]


def run_all(sweeps, workloads, jobs):
    planned = plan(sweeps, workloads)
    rows = run_chosen(planned, range(len(runs_of(planned))), jobs)
    return assemble(planned, [rows[index] for index in sorted(rows)])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sweep", action="append", metavar="NAME", choices=NAMES, default=[],
                        help="one of " + ", ".join(NAMES) + "; may be given more than once (all)")
    parser.add_argument("--list", action="store_true", help="show the sweeps and their values")
    parser.add_argument("--model", type=pathlib.Path, metavar="FILE", default=MODEL,
                        help="other workloads than paper.model")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N",
                        help="runs at a time (the processors that it may use)")
    parser.add_argument("--points", type=int, metavar="N",
                        help="at most N values of each sweep (all)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    if args.jobs < 1:
        parser.error("--jobs takes a number from 1")
    if args.points is not None and args.points < 1:
        parser.error("--points takes a number from 1")
    return args


def show_list(as_json):
    if as_json:
        print(json.dumps([{"name": sweep.name, "title": sweep.title, "axis": sweep.axis,
                           "values": sweep.values} for sweep in SWEEPS], indent=1))
        return
    for sweep in SWEEPS:
        print(f"{sweep.name:14}{sweep.title} ({sweep.axis}): "
              f"{', '.join(map(str, sweep.values))}; {sweep.over}")


def main():
    args = arguments()
    if args.list:
        show_list(args.json)
        return
    workloads = native("--model", args.model, "--config", "sequential")["workloads"]
    found = run_all(chosen_sweeps(args.sweep, args.points), workloads, args.jobs)
    if args.json:
        print(json.dumps(found, indent=1))
    else:
        print_sweeps(found)


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, OSError) as error:
        sys.exit(f"paper_sweeps.py: {error}")
