# SPDX-License-Identifier: MIT
"""Writes what `make paper` has computed: the page, the plots and paper.json."""

import json
import tempfile

import paper_draws as draws
import paper_page
import paper_sweeps
from paper_figures import CONFIGS, NEEDED_CONFIGS, PREDICTED, label, ratio
from paper_run import native, values_of, workload_options

TIMELINE_CONFIGS = {"sequential": "Sequential", "t3-mca": "T3-MCA"}


def timeline_of(work, options, title, parameters):
    """One sub-layer of an answer, which these options run again, sequential and fused, for the page."""
    values, runs = values_of(parameters), []
    for config, name in TIMELINE_CONFIGS.items():
        with tempfile.NamedTemporaryFile("r", encoding="utf-8", suffix=".json") as file:
            found = native(*options, "--config", config, "--timeline", file.name)
            times = [one["configs"][config]["virtual_ps"] for one in (work, *found["workloads"])]
            if times[0] != times[1]:
                raise RuntimeError(f"{title}, {name}: the timeline's run took {times[1]} ps, and not {times[0]}")
            runs.append(paper_page.read_timeline(file, f"{title}, {name}"))
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
             "by tracking and triggering at the memory. Here its evaluation runs on a timed model "
             "of such devices, in virtual time."]
    if rows:
        facts.append(f"{args.draws} joint draws of all assumed parameters, seed {args.seed}; "
                     f"the model refuses {len(rows) - len(draws.taken(rows))} of them.")
    return facts + [f"A rule is broken: {sentence}." for sentence in broken]


# --- plots: sections of the page, {section: {name: SVG}} ----------------------

def sublayer_plots(out, result, compared, rows):
    import paper_plots  # here, as a part needs no matplotlib

    spreads, by_sublayer = draws.ranges(rows), draws.sublayer_ranges(rows)
    workloads, values = result["workloads"], {row["figure"]: row["here"] for row in compared}
    plots = {"distribution": paper_plots.plot_distribution(workloads, out),
             "speedup": paper_plots.plot_speedups(workloads, values, spreads, by_sublayer, out)}
    if PREDICTED in (row["kind"] for row in compared):
        plots["predicted"] = paper_plots.plot_predicted(result["held_out"]["workloads"], values,
                                                        spreads, by_sublayer, out)
    plots["traffic"] = paper_plots.plot_traffic(workloads, spreads, by_sublayer, out)
    plots["variants"] = paper_plots.plot_variants(workloads, out)
    return plots


def uncertainty_plots(out, compared, rows, points):
    import paper_plots

    spreads = draws.ranges(rows)
    plots = {"agreement": paper_plots.plot_agreement(compared, out)}
    effects = {name: found for name in ("T3, geomean", "T3-MCA, geomean")
               if (found := draws.effects(points, rows, name))}
    if effects:
        plots["effects"] = paper_plots.plot_effects(
            effects, {name: spreads[name][1] for name in effects}, out)
    return plots


def all_plots(args, result, found):
    import paper_sweep_plots

    rows, compared = found["rows"], found["comparison"]
    points = draws.hypercube(result["parameters"], args.draws, args.seed) if rows else []
    return {"sublayers": sublayer_plots(args.out, result, compared, rows),
            "iterations": paper_sweep_plots.iteration_plots(found["iterations"], args.out),
            "sweeps": paper_sweep_plots.sweep_plots(found["sweeps"], args.out),
            "uncertainty": uncertainty_plots(args.out, compared, rows, points)}


# --- files -------------------------------------------------------------------

def facts(result, found):
    """paper.json"""
    return {**{name: part for name, part in found.items() if name != "rows"},
            "sublayer_ranges": draws.sublayer_ranges(found["rows"]), **result}


def sweep_tables(sweeps):
    """{name: (headings, rows of texts)}"""
    return {sweep.name: paper_sweeps.texts(sweep, sweeps[sweep.name]["table"])
            for sweep in paper_sweeps.SWEEPS if sweep.name in sweeps}


def write(args, result, found):
    """The names of the plots."""
    workloads, plots = result["workloads"], all_plots(args, result, found)
    shown = next((work for work in workloads if work["sublayer"] == "fc2"), workloads[0])
    (args.out / "index.html").write_text(paper_page.page(
        facts_of(args, found["rows"], found["broken_rules"]), found, plots,
        sublayer_rows(workloads, CONFIGS)
        + sublayer_rows(result["held_out"].get("workloads", []), NEEDED_CONFIGS[1:]),
        sweep_tables(found["sweeps"]), result["parameters"],
        timeline_of(shown, workload_options(shown), label(shown), result["parameters"])),
        encoding="utf-8")
    (args.out / "paper.json").write_text(json.dumps(facts(result, found), indent=1))
    return [name for section in plots.values() for name in section]
