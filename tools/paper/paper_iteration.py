#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A whole iteration of a Transformer with tensor parallelism: what T3 gains of it.

usage: paper_iteration.py [--param NAME=N]... [--fused-attention] [--operators] [--json]
       paper_iteration.py --hidden H --layers L --heads A --sequence S --batch B --tp N [OPTION...]

Adds up the operators of a layer, forward and backward. Sub-layers with an all-reduce take as long
as in `t3 sim`. GEMMs without one take as long as the GEMM phase of the sub-layer that has as many
operations. Other operators are bound by compute or memory. README.md lists all assumptions.

Without a model, it shows those of paper.model and larger.model. Nothing here is fitted.
"""

import argparse
import json
import pathlib
import sys
from typing import NamedTuple

from paper_figures import CONFIG_NAMES, NEEDED_CONFIGS, RANGED_CONFIGS
from paper_run import REFUSED, Refused, native, values_of

ELEMENT = 2  # bytes: f16
MASK = 1  # bytes of a dropout decision
# Adam, mixed precision: reads f16 gradient, f32 weight and two f32 moments; writes these and f16.
OPTIMIZER_BYTES = 2 + 3 * 4 + 3 * 4 + 2
SUBLAYER, GEMM, ATTENTION, MEMORY = "all-reduce sub-layers", "other GEMMs", \
    "attention", "memory-bound"
KINDS = [SUBLAYER, GEMM, ATTENTION, MEMORY]
PHASES = {"training": "training iteration", "prompt": "prompt phase"}
PUBLISHED = {"training": 1.12, "prompt": 1.15}  # the most that iterations gain, about
MODEL_FILES = [pathlib.Path(__file__).with_name(name) for name in ("paper.model", "larger.model")]
LIMITS = {"hidden": 1 << 24, "layers": 10000, "heads": 1 << 16, "sequence": 1 << 24,
          "batch": 1 << 20, "tp": 512}
MAX_TOKENS = 1 << 24


class Model(NamedTuple):
    name: str
    hidden: int
    layers: int
    heads: int
    sequence: int
    batch: int
    tp: int

    @property
    def tokens(self):
        return self.sequence * self.batch


class Operator(NamedTuple):
    """One of a layer, on one rank. `sublayer`: that of t3 sim which says its time."""

    name: str
    kind: str
    sublayer: str = ""
    flops: float = 0
    bytes: float = 0


class BadModel(Exception):
    """A model that cannot be: the text says why."""


# (layers, heads, tokens of a sequence), by their publications
PUBLISHED_MODELS = {"Mega-GPT-2": (72, 32, 1024), "T-NLG": (78, 28, 1024), "GPT-3": (96, 96, 2048),
                    "PALM": (118, 48, 2048), "MT-NLG": (105, 128, 2048)}


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


# --- operators ---------------------------------------------------------------

class Sizes:
    """Elements on one rank: `act` is whole on each, the others are divided among the ranks."""

    def __init__(self, model):
        tokens, hidden = model.tokens, model.hidden
        self.act = tokens * hidden
        self.part = tokens * hidden / model.tp
        self.middle = 4 * self.part
        self.scores = tokens * model.sequence * model.heads / model.tp
        self.score_flops = 2 * self.part * model.sequence
        self.weights = 12 * hidden * hidden / model.tp


def moved(name, elements, count, masks=0):
    """An operator that reads and writes `count` arrays, and masks of as many elements."""
    return Operator(name, MEMORY, bytes=elements * (count * ELEMENT + masks * MASK))


def attention(name, flops, elements):
    return Operator(name, ATTENTION, flops=flops, bytes=elements * ELEMENT)


def attention_forward(size, training, fused):
    if fused:
        return [attention("fused attention", 2 * size.score_flops, 4 * size.part)]
    one = size.scores + 2 * size.part
    return [attention("scores", size.score_flops, one), moved("softmax", size.scores, 2),
            *([moved("dropout of scores", size.scores, 2, 1)] if training else []),
            attention("context", size.score_flops, one)]


def attention_backward(size, fused):
    if fused:  # it computes the scores once more
        return [attention("fused attention, backward", 5 * size.score_flops, 8 * size.part)]
    one = size.scores + 2 * size.part
    return [*(attention(f"gradient of {name}", size.score_flops, one)
              for name in ("V", "scores", "Q", "K")),
            moved("dropout of scores, backward", size.scores, 2, 1),
            moved("softmax, backward", size.scores, 3)]


def forward(size, training, fused):
    residual = moved("bias, dropout, residual" if training else "bias, residual", size.act, 3,
                     1 if training else 0)
    norm = moved("layer norm", size.act, 2)
    return [norm, Operator("QKV", GEMM, "ip"), *attention_forward(size, training, fused),
            Operator("OP", SUBLAYER, "op"), residual,
            norm, Operator("FC-1", GEMM, "fc1"), moved("GeLU", size.middle, 2),
            Operator("FC-2", SUBLAYER, "fc2"), residual]


def backward(size, fused):
    dropout = moved("dropout, backward", size.act, 2, 1)
    norm = moved("layer norm, backward, and residual", size.act, 4)
    weights = [Operator(f"weights of {name}", GEMM, sublayer) for name, sublayer in
               (("OP", "op"), ("FC-2", "fc2"), ("FC-1", "fc1"), ("QKV", "ip"))]
    return [dropout, Operator("FC-2, backward", GEMM, "fc2"),
            moved("GeLU, backward", size.middle, 3),
            Operator("FC-1, backward", SUBLAYER, "fc1"), norm,
            dropout, Operator("OP, backward", GEMM, "op"), *attention_backward(size, fused),
            Operator("IP, backward", SUBLAYER, "ip"), norm, *weights,
            Operator("optimizer", MEMORY, bytes=size.weights * OPTIMIZER_BYTES)]


def operators(model, phase, fused):
    """Of one layer, in order."""
    size = Sizes(model)
    if phase == "prompt":
        return forward(size, False, fused)
    return forward(size, True, fused) + backward(size, fused)


# --- times -------------------------------------------------------------------

class Machine(NamedTuple):
    flops: float  # in a picosecond
    bytes: float

    @classmethod
    def of(cls, values):
        """From the parameters of t3 sim."""
        clock = values["compute_units"] * values["flops_per_clock"] * values["clock_mhz"] / 1e6
        return cls(clock * values["compute_percent"] / 100, values["memory_gbps"] / 1e3)


def time_of(operator, config, sublayers, machine):
    """Picoseconds. `sublayers`: {name: {config: ps, "gemm": ps}}."""
    if operator.kind == SUBLAYER:
        return sublayers[operator.sublayer][config]
    if operator.kind == GEMM:
        return sublayers[operator.sublayer]["gemm"]
    return max(operator.flops / machine.flops, operator.bytes / machine.bytes)


def run_phase(model, phase, sublayers, machine, fused=False):
    found = operators(model, phase, fused)
    times = {config: [time_of(one, config, sublayers, machine) for one in found]
             for config in ("sequential", *RANGED_CONFIGS)}
    whole = sum(times["sequential"])
    parts = {kind: sum(took for one, took in zip(found, times["sequential"]) if one.kind == kind)
             for kind in KINDS}
    return {"iteration_ps": model.layers * whole, "layer_ps": whole,
            "shares": {kind: took / whole for kind, took in parts.items()},
            "configs": {config: {"iteration_ps": model.layers * sum(times[config]),
                                 "speedup": whole / sum(times[config])}
                        for config in RANGED_CONFIGS},
            "operators": [{"name": one.name, "kind": one.kind, "ps": took}
                          for one, took in zip(found, times["sequential"])]}


def run_model(model, sublayers, values, fused=False):
    machine = Machine.of(values)
    return {**model._asdict(), "fused_attention": fused,
            **{phase: run_phase(model, phase, sublayers, machine, fused) for phase in PHASES}}


def sublayer_times(work):
    """What the iteration takes of one workload of t3 sim."""
    return {"gemm": work["phases"]["gemm_ps"],
            **{config: work["configs"][config]["virtual_ps"]
               for config in ("sequential", *RANGED_CONFIGS)}}


def published_models(workloads, values, fused=False):
    """Of those workloads that are published models with all four sub-layers."""
    groups = {}
    for work in workloads:
        groups.setdefault((work["model"], work["tp"]), {})[work["sublayer"]] = work
    found = []
    for (name, tp), works in groups.items():
        if name not in PUBLISHED_MODELS or len(works) < 4:
            continue
        layers, heads, sequence = PUBLISHED_MODELS[name]
        one, sequence = works["op"], min(sequence, works["op"]["tokens"])
        model = Model(name, one["hidden"], layers, heads, sequence, one["tokens"] // sequence, tp)
        found.append(run_model(model, {sub: sublayer_times(work) for sub, work in works.items()},
                               values, fused))
    return found


def iteration_figures(found):
    """For the comparison with the published figures."""
    return {f"{name.capitalize()}, T3-MCA, max":
            max(one[phase]["configs"]["t3-mca"]["speedup"] for one in found)
            for phase, name in PHASES.items() if found}


# --- a model of the user's ---------------------------------------------------

def check(model):
    for name, most in LIMITS.items():
        least = 2 if name == "tp" else 1
        if not least <= getattr(model, name) <= most:
            raise BadModel(f"--{name} is {getattr(model, name)} and must be {least} to {most}")
    if model.hidden % model.heads:
        raise BadModel(f"--hidden {model.hidden} is no multiple of --heads {model.heads}")
    if model.tokens > MAX_TOKENS:
        raise BadModel(f"--sequence x --batch is {model.tokens} tokens; at most {MAX_TOKENS}")


def options_of(params):
    return [word for param in params for word in ("--param", param)]


CONFIG_OPTIONS = [word for config in NEEDED_CONFIGS if config != "ideal-nmc"
                  for word in ("--config", config)]


def run_own(model, params, fused):
    """FC-1 has the shape of FC-2, so one run is for both."""
    sublayers, answer = {}, {}
    for sublayer in ("op", "fc2", "ip"):
        answer = native("--hidden", model.hidden, "--tokens", model.tokens, "--tp", model.tp,
                        "--sublayer", sublayer, *CONFIG_OPTIONS, *options_of(params))
        sublayers[sublayer] = sublayer_times(answer["workloads"][0])
    sublayers["fc1"] = sublayers["fc2"]
    return [run_model(model, sublayers, values_of(answer["parameters"]), fused)]


def run_published(params, fused):
    found = []
    for path in MODEL_FILES:
        answer = native("--model", path, *CONFIG_OPTIONS, *options_of(params))
        found += published_models(answer["workloads"], values_of(answer["parameters"]), fused)
    return found


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
        if any(one["name"] in PUBLISHED_MODELS for one in found):
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
        parser.add_argument(f"--{name}", type=int, metavar="N",
                            help=f"{text}, up to {LIMITS[name]}")
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
    args.own = None
    if given:
        args.own = Model("your model", *(getattr(args, name) for name in texts))
        try:
            check(args.own)
        except BadModel as error:
            parser.error(str(error))
    return args


def main():
    args = arguments()
    found = run_own(args.own, args.param, args.fused_attention) if args.own \
        else run_published(args.param, args.fused_attention)
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
