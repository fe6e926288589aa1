# SPDX-License-Identifier: MIT
"""What is made of the answers of `t3 sim --json`: figures, and how they compare with T3's paper."""

import math

KINDS = ["gemm_read", "gemm_write", "rs_read", "rs_write", "ag_read", "ag_write"]
CONFIG_NAMES = {"ideal": "Ideal overlap", "ideal-nmc": "Ideal, RS+NMC", "t3": "T3",
                "t3-mca": "T3-MCA", "t3-mca-ag": "T3-MCA, chained AG", "direct": "direct RS"}
CONFIGS = list(CONFIG_NAMES)
# Those that the published figures are made of; a draw runs no others.
NEEDED_CONFIGS = ["sequential", "ideal", "ideal-nmc", "t3", "t3-mca"]
RANGED_CONFIGS = ["ideal", "t3", "t3-mca"]
SUBLAYERS = {"op": "OP", "fc2": "FC-2", "fc1": "FC-1", "ip": "IP"}

# (figure, published, how far off is accepted; None: reported only)
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
# What a published figure may be off by, as it is printed with one or two decimals.
ROUNDED = {"RS reads fewer, TP 8": 0.05, "RS reads fewer, TP 16": 0.05}
ROUNDED_TO = 0.005
PUBLISHED_VALUES = {name: value for name, value, _ in PUBLISHED}


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def speedups(workloads, config):
    return [work["configs"][config]["speedup"] for work in workloads]


def memory(work, config, *kinds):
    counted = work["configs"][config]["counters"]["memory_bytes"]
    return sum(counted[kind] for kind in kinds or KINDS)


def ratio(work, *kinds):
    """Sequential over T3-MCA."""
    return memory(work, "sequential", *kinds) / memory(work, "t3-mca", *kinds)


def nmc_gain(workloads):
    return geomean([work["phases"]["reduce_scatter_ps"] / work["phases"]["reduce_scatter_nmc_ps"]
                    for work in workloads])


def figures(workloads):
    """By name. Those of a TP are there when the workloads have it."""
    traffic = [1 / ratio(work) for work in workloads]
    values = {
        "DRAM traffic, geomean": geomean(traffic) - 1,
        "DRAM traffic, max": min(traffic) - 1,
        "GEMM and RS writes":
            geomean([1 / ratio(work, "gemm_write", "rs_write") for work in workloads]) - 1,
        "GEMM reads fewer, geomean": geomean([ratio(work, "gemm_read") for work in workloads]),
    }
    for tp in sorted({work["tp"] for work in workloads}):
        works = [work for work in workloads if work["tp"] == tp]
        if tp > 2:  # with two ranks, T3 reads nothing for the reduce-scatter
            values[f"RS reads fewer, TP {tp}"] = geomean([ratio(work, "rs_read") for work in works])
        values[f"RS+NMC over RS, TP {tp}"] = nmc_gain(works)
    for name, config in (("Ideal overlap", "ideal"), ("T3-MCA", "t3-mca"), ("T3", "t3")):
        values[f"{name}, geomean"] = geomean(speedups(workloads, config))
        values[f"{name}, max"] = max(speedups(workloads, config))
    return values


def label(work):
    return f"{work['model']} TP {work['tp']} {SUBLAYERS[work['sublayer']]}"


def sublayers(workloads):
    """Of each sub-layer what the plots show with its range."""
    return {label(work): {**{config: work["configs"][config]["speedup"]
                             for config in RANGED_CONFIGS},
                          "dram": 1 / ratio(work)}
            for work in workloads}


def rules(workloads):
    """Sub-layers that break a rule, each as a sentence."""
    broken = []
    for work in workloads:
        speed = {config: work["configs"][config]["speedup"] for config in RANGED_CONFIGS}
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


def is_inside(name, published, low, high):
    """Whether a range has the published figure, which is rounded."""
    half = ROUNDED.get(name, ROUNDED_TO)
    return low - half <= published <= high + half


def comparison(values, ranges):
    """A row for each published figure that the workloads have; `ranges` may be empty."""
    rows = []
    for name, published, accepted in PUBLISHED:
        if name not in values:
            continue
        row = {"figure": name, "published": published, "accepted": accepted,
               "here": values[name], "verdict": verdict(values[name], published, accepted)}
        if name in ranges:
            low, median, high = ranges[name]
            row |= {"low": low, "median": median, "high": high,
                    "published_in_range": is_inside(name, published, low, high)}
        rows.append(row)
    return rows
