#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A whole iteration of a Transformer with tensor parallelism: what T3 gains of it.

usage: paper_iteration.py [--param NAME=N]... [--fused-attention] [--operators] [--json]
       paper_iteration.py --hidden H --layers L --heads A --sequence S --batch B --tp N [OPTION...]

`t3 sim --model` adds up the operators of a layer, forward and backward. Sub-layers with an
all-reduce are simulated. GEMMs without one take as long as the GEMM phase of the sub-layer that has
as many operations. Other operators are bound by compute or memory. README.md lists all assumptions.

Without a model, it shows those of paper.model and larger.model. Nothing here is fitted.
"""

import argparse
import json
import pathlib
import sys
import tempfile

from paper_figures import CONFIG_NAMES, NEEDED_CONFIGS, RANGED_CONFIGS
from paper_run import REFUSED, Refused, native

SUBLAYER, GEMM, ATTENTION, MEMORY = "all-reduce sub-layers", "other GEMMs", \
    "attention", "memory-bound"
KINDS = [SUBLAYER, GEMM, ATTENTION, MEMORY]
TOOLS_KINDS = {"GEMM and collective": SUBLAYER, "other GEMM": GEMM, "attention": ATTENTION,
               "memory-bound": MEMORY}
PHASES = {"training": "training iteration", "prompt": "prompt phase"}
TOOLS_PHASES = {"training": "training", "prompt": "prefill"}
PUBLISHED = {"training": 1.12, "prompt": 1.15}  # the most that iterations gain, about
MODEL_FILES = [pathlib.Path(__file__).with_name(name) for name in ("paper.model", "larger.model")]

# (what, assumption, source); README.md and the page show it
ASSUMPTIONS = [
    ("Mega-GPT-2, T-NLG", "72 layers, 32 heads; 78 layers, 28 heads; sequence 1024",
     "publications"),
    ("GPT-3, PALM, MT-NLG", "layers 96, 118, 105; heads 96, 48, 128; sequence 2048",
     "publications"),
    ("batch", "tokens of the model file / sequence", "published tokens (uncertain)"),
    ("layer", "QKV, attention, OP, FC-1, GeLU, FC-2; 2 norms, 2 residuals",
     "assumed; PALM differs"),
    ("all-reduce", "by t3 sim: OP, FC-2 forward; FC-1, IP backward", "SPEC.md 8.1"),
    ("other GEMMs", "as the GEMM phase of equal operations: QKV as IP, FC-1 as FC-2",
     "assumed"),
    ("attention", "the longer of operations and bytes; all scores count; heads divide evenly", "assumed"),
    ("memory-bound", "each input read and each output written once at memory_gbps; no bias",
     "assumed"),
    ("bytes", "2 for an element, 1 for a mask; scores go to memory and back",
     "assumed; f16 published"),
    ("activations", "whole on each rank at norms and residuals; none recomputed", "assumed"),
    ("optimizer", "Adam, once in an iteration: 28 bytes for each weight of the rank", "assumed"),
    ("dropout", "in training alone", "usual"),
    ("left out", "embedding, output layer, loss; data and pipeline parallelism", "assumed")]


# --- times -------------------------------------------------------------------

def phase_of(found):
    """A phase of an iteration as t3 sim has it."""
    layer, configs = found["layers"][0], found["iteration"]["configs"]
    shares = found["iteration"]["shares"]
    return {"iteration_ps": configs["sequential"]["iteration_ps"],
            "layer_ps": layer["layer_ps"]["sequential"],
            "shares": {kind: shares[name] for name, kind in TOOLS_KINDS.items()},
            "configs": {config: configs[config] for config in RANGED_CONFIGS},
            "operators": [one | {"kind": TOOLS_KINDS[one["kind"]]} for one in layer["operators"]]}


def iteration_of(found):
    model = found["training"]["model"]
    return {"name": found["model"], "tp": found["tp"],
            **{key: model[key] for key in ("hidden", "layers", "heads", "sequence", "batch",
                                           "fused_attention")},
            **{phase: phase_of(found[name]) for phase, name in TOOLS_PHASES.items()}}


def iterations_of(*answers):
    """Of the models with layers in these answers of t3 sim."""
    return [iteration_of(found) for answer in answers for found in answer.get("iterations", [])]


def iteration_figures(found):
    """For the comparison with the published figures."""
    return {f"{name.capitalize()}, T3-MCA, max":
            max(one[phase]["configs"]["t3-mca"]["speedup"] for one in found)
            for phase, name in PHASES.items() if found}


# --- runs --------------------------------------------------------------------

CONFIG_OPTIONS = [word for config in NEEDED_CONFIGS if config != "ideal-nmc"
                  for word in ("--config", config)]


def run_model(path, args):
    words = [word for param in args.param for word in ("--param", param)]
    kind = "fused" if args.fused_attention else "separate"
    return native("--model", path, "--attention", kind, *CONFIG_OPTIONS, *words)


def run_own(args):
    with tempfile.NamedTemporaryFile("w", suffix=".model") as model:
        model.write(f"[your model]\nhidden = {args.hidden}\ntokens = {args.sequence * args.batch}\n"
                    f"tp = {args.tp}\nlayers = {args.layers}\nheads = {args.heads}\n"
                    f"sequence = {args.sequence}\n")
        model.flush()
        return iterations_of(run_model(model.name, args))


# --- output ------------------------------------------------------------------

def title(one):
    return f"{one['name']} TP {one['tp']}"


def print_iterations(found):
    print("A whole iteration: its time and the all-reduce sub-layers' share with Sequential, and "
          "the speed-up\n")
    for phase, name in PHASES.items():
        print(f"{name:22}{'ms':>10}{'share':>9}", end="")
        print("".join(f"{CONFIG_NAMES[config]:>15}" for config in RANGED_CONFIGS))
        for one in found:
            got = one[phase]
            print(f"{title(one):22}{got['iteration_ps'] / 1e9:10.2f}"
                  f"{100 * got['shares'][SUBLAYER]:7.1f} %", end="")
            print("".join(f"{got['configs'][config]['speedup']:15.3f}"
                          for config in RANGED_CONFIGS))
        if any(one["name"] != "your model" for one in found):
            print(f"{'published: up to about':22}{'':49}{PUBLISHED[phase]:15.2f}")
        print()


def print_operators(found):
    for one in found:
        for phase, name in PHASES.items():
            print(f"{title(one)}, {name}: a layer with Sequential")
            for operator in one[phase]["operators"]:
                print(f"    {operator['name']:36}{operator['kind']:24}"
                      f"{operator['ps'] / 1e6:10.1f} us")
            print()


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog="Assumptions: tools/paper/README.md. Exit "
        "status: 0 done, 1 failed, 2 wrong usage.")
    texts = {"hidden": "hidden size", "layers": "layers", "heads": "attention heads",
             "sequence": "tokens of a sequence", "batch": "sequences in an iteration",
             "tp": "ranks that share each layer"}
    for name, text in texts.items():
        parser.add_argument(f"--{name}", type=int, metavar="N", help=text)
    parser.add_argument("--param", action="append", default=[], metavar="NAME=N",
                        help="of the machine, as in t3 sim; may be given more than once")
    parser.add_argument("--fused-attention", action="store_true",
                        help="scores stay on the chip, and softmax moves no bytes")
    parser.add_argument("--operators", action="store_true", help="print each operator's time, too")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    given = [name for name in texts if getattr(args, name) is not None]
    if given and len(given) < len(texts):
        missing = " ".join(f"--{name}" for name in texts if name not in given)
        parser.error(f"a model needs {missing}, too")
    args.own = bool(given)
    return args


def main():
    args = arguments()
    found = run_own(args) if args.own \
        else iterations_of(*(run_model(path, args) for path in MODEL_FILES))
    if args.json:
        print(json.dumps({"published": PUBLISHED, "iterations": found}, indent=1))
        return
    print_iterations(found)
    if args.operators:
        print_operators(found)


if __name__ == "__main__":
    try:
        main()
    except Refused as error:
        print(f"paper_iteration.py: {error.sentence}", file=sys.stderr)
        sys.exit(REFUSED)
    except (RuntimeError, OSError) as error:
        sys.exit(f"paper_iteration.py: {error}")
