#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The page of one model, which `t3 sim --config FILE --html PAGE` writes with this.

usage: paper_model.py --check          (exits 0 if it can make plots)
       paper_model.py PAGE < JSON      (what `t3 sim --config FILE --json` prints)

Tables and plots are those of `make paper`, where a model has them.
"""

import html
import json
import pathlib
import sys
import tempfile

import paper_page
from paper_figures import MODEL_NAMES
from paper_files import TIMELINE_CONFIGS, timeline_of

PAPER_PARTS = ("COMPARISON", "PLOTS", "ITERATIONS", "SWEEPS", "UNCERTAINTY", "SUBLAYERS")
DTYPES = {1: "u8", 2: "f16", 4: "f32", 8: "f64"}
TIMELINE_EVENTS = 12e6  # of all runs of a sub-layer: a timeline of more takes minutes to read
NO_TIMELINE = ("There is no timeline: it shows a sub-layer with an all-reduce, Sequential and T3-MCA, of at most "
               f"{TIMELINE_EVENTS / 1e6:.0f} million events")
NAMES = {"sequential": "Sequential"} | MODEL_NAMES
SEMANTICS = {"exact": "Exact", "approximated": "Approximated", "left_out": "Left out"}
NO_PLOTS = "the page's plots need matplotlib: install python3-matplotlib"
PS_PER_MS, PS_PER_US = 1e9, 1e6


def plots_module():
    try:
        import paper_plots  # here, as only this needs matplotlib
    except ImportError as error:
        raise RuntimeError(f"{NO_PLOTS} ({error})") from error
    return paper_plots


# --- sections ----------------------------------------------------------------

def facts(found):
    model = found["model"]
    experts = (f"; {model['experts']} experts, {model['experts_of_a_token']} of them for a token"
               if model["experts"] else "")
    ways = f"TP {model['tp']}" + (f", EP {model['ep']}" if model["ep"] > 1 else "")
    phase = {"training": "A training iteration", "prefill": "The prompt phase",
             "decode": "A step of decoding"}[model["phase"]]
    yield (f"{model['file']}: {model['model_type']}, {model['layers']} layers, hidden {model['hidden']}, "
           f"{model['heads']} heads, {model['kv_heads']} key heads{experts}.")
    yield (f"{phase} with {ways}: {model['batch']} sequences of {model['sequence']} tokens, "
           f"{model['element_bytes']} bytes an element. Times are virtual.")
    yield from (f"Warning: {warning}." for warning in found["warnings"])


def gemm_table(found):
    return paper_page.table(
        ["GEMM", "M", "N", "K", "collective", "ranks", "in an iteration"],
        [[one["name"], *(str(one[key]) for key in ("m", "n", "k")), one["collective"],
          str(one["ranks"]), str(one["count"])] for one in found["gemms"]])


def configs_of(found):
    return [config for config in NAMES if config in found["iteration"]["configs"]]


def work_table(found):
    configs = configs_of(found)
    return paper_page.table(
        ["sub-layer", "Sequential, us", *(NAMES[config] for config in configs[1:])],
        [[work["sublayer"], f"{work['configs']['sequential']['virtual_ps'] / PS_PER_US:.1f}",
          *(f"{work['configs'][config]['speedup']:.3f}" if config in work["configs"] else ""
            for config in configs[1:])] for work in found["workloads"]])


def layer_table(found):
    configs, times = configs_of(found), found["iteration"]["configs"]
    rows = [[f"{one['count']} layers: {one['kind']}",
             *(f"{one['layer_ps'][config] / PS_PER_MS:.3f}" for config in configs)]
            for one in found["layers"]]
    rows += [["iteration", *(f"{times[config]['iteration_ps'] / PS_PER_MS:.3f}" for config in configs)],
             ["speed-up", *(f"{times[config]['speedup']:.3f}" for config in configs)]]
    return paper_page.table(["ms", *(NAMES[config] for config in configs)], rows)


def expert_table(found):
    """The runs with a routing, if there is one."""
    if "experts" not in found:
        return ""
    load = found["experts"]
    configs = [config for config in NAMES if config in load["runs"][0]["configs"]]
    rows = [[f"{run['gemm']}, {run['way']}", f"{run['gemm_ps'] / PS_PER_US:.1f}",
             f"{run['all_to_all_ps'] / PS_PER_US:.1f}",
             *(f"{run['configs'][config]['virtual_ps'] / PS_PER_US:.1f}" for config in configs)]
            for run in load["runs"]]
    text = (f"Routing {load['routing']}: ranks have {load['least_rows']} to {load['most_rows']} rows, "
            f"{load['mean_rows']} in the mean. Times of the last rank:")
    return f"<p>{html.escape(text)}</p>" + paper_page.table(
        ["us", "GEMMs", "all-to-all", *(NAMES[config] for config in configs)], rows)


def semantics_table(found):
    return '<div class="texts">' + paper_page.grouped_table(
        ["what the figures are made of"],
        [(name, [[text] for text in found["semantics"][key]]) for key, name in SEMANTICS.items()]) + "</div>"


# --- the timeline ------------------------------------------------------------

def most_of_the_time(found):
    """The sub-layer with which Sequential spends most of an iteration, of those that can be shown. Or None."""
    counts = {}
    for one in found["gemms"]:
        counts[one.get("workload")] = counts.get(one.get("workload"), 0) + one["count"]
    works = [work for work in found["workloads"]
             if work["collective"] == "all-reduce" and work["events"] <= TIMELINE_EVENTS
             and set(TIMELINE_CONFIGS) <= set(work["configs"])]
    return max(works, default=None, key=lambda work: (
        counts.get(work["sublayer"], 0) * work["configs"]["sequential"]["virtual_ps"]))


def options_of(work, parameters):
    """The options by which t3 sim runs the sub-layer again, alone."""
    chunks = ("rows" if work["chunk_columns"] == work["columns"] else
              "columns" if work["chunk_rows"] == work["rows"] else "auto")
    options = ["--m", work["rows"], "--n", work["columns"], "--k", work["depth"] * work["tp"],
               "--tp", work["tp"], "--dtype", DTYPES[work["element_bytes"]], "--chunks", chunks]
    options += [] if work["mirrored"] else ["--every-device"]
    return options + [word for one in parameters for word in ("--param", f"{one['name']}={one['value']}")]


def timeline(found):
    """What the page draws, or None."""
    work = most_of_the_time(found)
    return work and timeline_of(work, options_of(work, found["parameters"]), work["sublayer"],
                                found["parameters"])


# --- the page ----------------------------------------------------------------

def page(found):
    plots, drawn_time = plots_module(), timeline(found)
    notes = [*facts(found), *([] if drawn_time else [f"{NO_TIMELINE}."])]
    parts = {"TIMELINE": paper_page.as_script(drawn_time)} if drawn_time else {}
    with tempfile.TemporaryDirectory() as folder:
        drawn = plots.model_plots(found["workloads"], found["iteration"], pathlib.Path(folder))
    works = paper_page.figures({name: svg for name, svg in drawn.items() if name != "model-iteration"})
    return paper_page.fill({
        "TITLE": f"What T3 gains of {html.escape(found['model']['model_type'])}, in virtual time",
        "FACTS": "".join(f"<p>{html.escape(fact)}</p>" for fact in notes),
        "GEMMS": gemm_table(found),
        "WORKS": works + (work_table(found) if found["workloads"] else paper_page.NOT_RUN),
        "LAYERS": paper_page.figure("model-iteration", drawn["model-iteration"]) + layer_table(found)
                  + expert_table(found),
        "SEMANTICS": semantics_table(found),
        "PARAMETERS": paper_page.parameter_table(found["parameters"]), **parts},
        PAPER_PARTS + (() if drawn_time else ("TIMELINE",)))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("usage: ")[1].split("\n\n", maxsplit=1)[0])
    if sys.argv[1] == "--check":
        plots_module()
        return
    text = page(json.load(sys.stdin))
    pathlib.Path(sys.argv[1]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, OSError) as error:
        sys.exit(f"paper_model.py: {error}")
