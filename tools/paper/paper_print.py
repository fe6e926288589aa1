# SPDX-License-Identifier: MIT
"""The tables that `make paper` prints."""

import paper_draws as draws
from paper_figures import (ACCEPTED, CONFIGS, FIGURE_KINDS, NEEDED_CONFIGS, geomean, label,
                           ratio, speedups)

VARIED = ["Ideal overlap, geomean", "T3, geomean", "T3-MCA, geomean", "T3-MCA, max",
          "DRAM traffic, geomean", "GEMM reads fewer, geomean"]


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
    text = f"    {row['figure']:47}{published:>11}{row['here']:9.3f}"
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
    for kind, name in FIGURE_KINDS.items():
        rows = [row for row in compared if row["kind"] == kind]
        if rows:
            print(name)
        for row in rows:
            print_row(row)
    print(f"reached: not more than {ACCEPTED} off. "
          "T3 <= T3-MCA + 0.02 and T3-MCA >= Ideal - 0.08 in each sub-layer:",
          "broken in" if broken else "reached")
    for sentence in broken:
        print("   ", sentence)
    print()


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


def print_variation(rows):
    print("Each assumed parameter alone, from the least to the most that it may be\n")
    print(f"{'':22}{'values':>20}", "".join(f"{name.replace(', geomean', ''):>24}"
                                              for name in VARIED))
    for name, row in rows.items():
        text = " ".join(str(value) for value, _ in row)
        print(f"{name:22}{text:>20}", end=" ")
        for figure in VARIED:
            seen = " ".join(f"{got[figure]:.3f}" if got else "refused" for _, got in row)
            print(f"{seen:>24}", end="")
        print()
    print()


def print_trends(trends):
    print("Published as a trend, without figures\n")
    for one in trends:
        print(f"    {one['trend']:52}{one['here']:44}{one['verdict']}")
    print()


def print_seconds(parts):
    """CPU time of each part, with the programs that it ran."""
    print("CPU seconds:", ", ".join(f"{name} {seconds:.1f}" for name, seconds in parts.items()))
