#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""tools/paper: hypercube, parts, ranges, sweeps, iterations, plots and page; TAP on stdout.

usage: paper.py [NAME...]     (default: all tests)
"""

import html.parser
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import loop
from loop import ROOT, Skip, check, expect, run

PAPER = ROOT / "tools/paper/paper.py"
sys.path.insert(0, str(ROOT / "tools/paper"))
import paper_draws as draws  # noqa: E402
import paper_figures  # noqa: E402
import paper_iteration as iteration  # noqa: E402
import paper_model  # noqa: E402
import paper_page  # noqa: E402
import paper_sweeps as sweeps  # noqa: E402
import paper_trends  # noqa: E402

PARAMETERS = [
    {"name": "published", "low": 5, "high": 5, "default": 5},
    {"name": "switch", "low": 0, "high": 1, "default": 1},
    {"name": "rows", "low": 64, "high": 256, "default": 128},
    {"name": "percent", "low": 80, "high": 100, "default": 90},
    {"name": "wide", "low": 100, "high": 10000, "default": 3000},
    {"name": "shares", "low": 0, "high": 999, "default": 7},
]
MODEL = """[small]
hidden = 1024
tokens = 4096
tp = 8 16
sublayers = op fc2 fc1
"""
DRAWS = 6
PLOTS = ["distribution", "speedup", "traffic", "agreement", "effects", "variants"]
# A published name, so that there are iterations, and sub-layers that take milliseconds.
TINY = "[T-NLG]\nhidden = 256\ntokens = 1024\ntp = 4\nlayers = 78\nheads = 8\nsequence = 1024\n"


def script():
    """paper.py as a module; a test is called so, too."""
    spec = importlib.util.spec_from_file_location("paper_script", PAPER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def refuses(call, text):
    try:
        call()
    except (ValueError, draws.BadPart) as error:
        check(text in str(error), f"no '{text}' in", error)
        return
    raise AssertionError(f"nothing refuses what should be '{text}'")


# --- the hypercube -----------------------------------------------------------

def hypercube_has_each_part_once():
    points = draws.hypercube(PARAMETERS, 100, 1)
    check(all("published" not in point for point in points), "a published one is drawn", points)
    column = {name: sorted(point[name] for point in points) for name in points[0]}
    check([value // 10 for value in column["shares"]] == list(range(100)), "parts of", column)
    check(column["switch"] == [0] * 50 + [1] * 50, "both settings", column["switch"])
    check(set(column["rows"]) == {64, 128, 256}, "powers of two", column["rows"])
    check(all(32 <= column["rows"].count(value) <= 35 for value in (64, 128, 256)), "thirds",
          column["rows"])
    check(column["percent"][0] == 80 and column["percent"][-1] == 100, "both ends", column)
    # Evenly in the logarithm: half of them below the geometric mean of the ends.
    check(49 <= sum(value < 1000 for value in column["wide"]) <= 51, "middle", column["wide"])
    check(100 <= column["wide"][0] < 106 and 9500 < column["wide"][-1] <= 10000, "ends", column)


def hypercube_depends_on_seed_alone():
    """The same on each machine: parts are run on several."""
    first = draws.hypercube(PARAMETERS, 20, 7)
    check(first == draws.hypercube(PARAMETERS, 20, 7), "two runs differ")
    check(first != draws.hypercube(PARAMETERS, 20, 8), "the seed does nothing")
    check(draws.hypercube(PARAMETERS, 0, 7) == [], "no draws")
    got = [point["shares"] for point in draws.hypercube(PARAMETERS, 5, 7)]
    check(got == [618, 524, 890, 140, 344], "other numbers than ever", got)


def columns_are_not_related():
    """All parameters move on their own: what they do to a figure is told apart."""
    points = draws.hypercube(PARAMETERS, 200, 1)
    pairs = [(point["percent"] - 90, point["shares"] - 500) for point in points]
    product = sum(a * b for a, b in pairs)
    size = (sum(a * a for a, _ in pairs) * sum(b * b for _, b in pairs)) ** 0.5
    check(abs(product / size) < 0.2, "correlation", product / size)


# --- ranges ------------------------------------------------------------------

def quantiles():
    values = [5, 1, 4, 2, 3]
    for share, wanted in ((0, 1), (0.5, 3), (1, 5), (0.25, 2), (0.05, 1.2), (0.95, 4.8)):
        check(abs(draws.quantile(values, share) - wanted) < 1e-12, share, wanted)
    check(draws.spread([7]) == (7, 7, 7), "of one")
    check(draws.quantile([1, 2], 0.5) == 1.5, "of two")


def row_of(value):
    return {"figures": {"f": value}, "sublayers": {"s": {"t3": 2 * value}}}


def ranges_leave_out_what_is_refused():
    rows = [row_of(value) for value in range(21)] + [{"refused": "too large"}]
    check(draws.ranges(rows) == {"f": (1, 10, 19)}, "ranges", draws.ranges(rows))
    check(draws.sublayer_ranges(rows) == {"s": {"t3": (2, 20, 38)}}, "of a sub-layer")
    check(draws.ranges(rows[-1:]) == {} and draws.sublayer_ranges([]) == {}, "of none")


def strongest_effect_is_first():
    points = draws.hypercube(PARAMETERS, 90, 1)
    rows = [row_of(point["shares"] / 500 - point["switch"]) for point in points]
    found = draws.effects(points, rows, "f")
    check([name for name, *_ in found[:2]] == ["shares", "switch"], "order", found)
    check(found[0][1] < found[0][2] and found[1][1] > found[1][2], "directions", found)
    check(draws.effects(points[:2], rows[:2], "f") == [], "of too few")


def held_out_is_predicted():
    """Told as it falls, apart from what parameters were chosen with."""
    with tempfile.TemporaryDirectory() as folder:
        place, model = Place(folder), pathlib.Path(folder) / "larger.model"
        model.write_text(MODEL.replace("small", "PALM") + MODEL.replace("small", "MT-NLG"))
        place.run("out", "--held-out", model)
        facts = json.loads((place.folder / "out/paper.json").read_text())
        check((place.folder / "out/predicted.svg").stat().st_size > 10000, "no plot")
    rows = {row["figure"]: row for row in facts["comparison"]}
    row = rows["T3-MCA, PALM and MT-NLG, geomean"]
    check(row["published"] == 1.29 and row["verdict"] == "predicted" and "low" in row, "row", row)
    check(rows["T3, PALM and MT-NLG, max"]["published"] is None, "nothing is published")
    check(not any("GPT-3" in name for name in rows), "what is not there is predicted", rows)
    check(rows["T3, geomean"]["kind"] == "fitted", "kind", rows["T3, geomean"])


def published_figures_are_rounded():
    inside = paper_figures.is_inside
    check(inside("RS reads fewer, TP 16", 2.2, 2.214, 2.214), "2.2 is 2.15 to 2.25")
    check(not inside("GEMM and RS writes", -0.10, -0.094, -0.094), "-0.10 is not -0.094")
    row = paper_figures.comparison({"T3, max": 1.5}, {"T3, max": (1.41, 1.5, 1.6)})
    check(len(row) == 1 and not row[0]["published_in_range"], "row", row)
    check("low" not in paper_figures.comparison({"T3, max": 1.5}, {})[0], "no draws, no range")


# --- parts -------------------------------------------------------------------

IDENTITY = {"seed": 1, "draws": 7, "parameters": []}


def parts_of(count, identity=None):
    return [(f"part {number}",
             json.loads(json.dumps(draws.part(identity or IDENTITY, (number, count), rows={
                 index: row_of(index / 3) for index in draws.indices(7, (number, count))}))))
            for number in range(1, count + 1)]


def merged(parts):
    draws.check_identity(parts, IDENTITY)
    return draws.merge(parts, "rows", 7, "draw")


def parts_merge():
    whole = merged(parts_of(1))
    check(whole == [row_of(index / 3) for index in range(7)], "whole", whole)
    for count in (2, 3, 9):
        check(merged(parts_of(count)[::-1]) == whole, f"{count} parts")


def parts_that_do_not_fit_are_refused():
    parts = parts_of(3)
    refuses(lambda: merged(parts[:2]), "2 of 7 draws are in no part, the first is 2")
    refuses(lambda: merged(parts + parts[:1]), "draw 0, which another part has")
    other = parts_of(3, {**IDENTITY, "seed": 2})
    refuses(lambda: merged(parts[:2] + other[2:]), "part 3 has another seed")
    with tempfile.TemporaryDirectory() as place:
        path = pathlib.Path(place) / "part.json"
        for text in ("[]", "{}", '{"format": "t3 paper draws, 1"}', "no JSON"):
            path.write_text(text)
            refuses(lambda: draws.read_part(path), "part.json")


def parts_have_numbers():
    check(draws.shard_of("2/5") == (2, 5), "2/5")
    check(list(draws.indices(7, (2, 3))) == [1, 4], "draws of 2/3")
    for text in ("", "1", "0/2", "3/2", "1/2/3", "a/b", "-1/2", "1/0"):
        refuses(lambda text=text: draws.shard_of(text), "art " if re.match(r"\d+/\d+$", text)
                else "is not I/N")


# --- one run, and parts of it ------------------------------------------------

class Place:
    """A small model, and a folder for what is made of it."""

    def __init__(self, folder, model=MODEL, sweep="--no-sweep"):
        self.folder, self.sweep = pathlib.Path(folder), sweep
        self.model = self.folder / "small.model"
        self.model.write_text(model)

    def command(self, out, *options):
        return [PAPER, "--no-vm", self.sweep, "--model", self.model, "--draws", DRAWS, "--out",
                self.folder / out, *options]

    def hold_out(self, model):
        path = self.folder / "held-out.model"
        path.write_text(model)
        return ["--held-out", path]

    def run(self, out, *options):
        result = run(*self.command(out, *options))
        expect(result, 0)
        return result[1]


def table_of(text):
    """All tables: what does not tell a time."""
    return text[text.index("published"):text.index("million events")].rsplit("\n", 1)[0]


def same_results(place, one, other):
    """Bit for bit, also what is drawn."""
    read = lambda out, name: (place.folder / out / name).read_bytes()  # noqa: E731
    for name in ("index.html", *(path.name for path in (place.folder / one).glob("*.svg"))):
        check(read(one, name) == read(other, name), f"{name} of {one} and {other} differ")
    facts = [json.loads(read(out, "paper.json")) for out in (one, other)]
    for key in ("comparison", "sublayer_ranges", "broken_rules", "sweeps", "iterations", "trends"):
        check(facts[0][key] == facts[1][key], f"{key} of {one} and {other} differ")


def parts_give_what_one_run_gives():
    """Under mpirun, each rank runs a part; merged, nothing differs from one run."""
    if not shutil.which("mpirun"):
        raise Skip("there is no mpirun")
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder, TINY, "--points=2")
        held_out = place.hold_out(TINY.replace("T-NLG", "PALM"))
        whole = place.run("whole", "--jobs", 2, *held_out)
        words = " ".join(f"'{word}'" for word in place.command("parts", "--jobs", 1, *held_out))
        expect(run("mpirun", "-n", 2, "--oversubscribe", "sh", "-c",
                   f"{words} --shard $((OMPI_COMM_WORLD_RANK + 1))/$OMPI_COMM_WORLD_SIZE",
                   env={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}),
               0, r"draws-1-of-2\.json: draws 1, 3, \.\.\. of 6", r"draws-2-of-2\.json")
        parts = [place.folder / f"parts/draws-{number}-of-2.json" for number in (2, 1)]
        merged = place.run("merged", *held_out, "--merge", *parts)
        check(table_of(whole) == table_of(merged), "the tables differ", whole + merged)
        same_results(place, "whole", "merged")
        part = place.folder / "whole/draws.json"
        expect(run(*place.command("bad", "--points", 3, *held_out, "--merge", part)), 1,
               "^paper.py: .*draws.json has another set of sweeps than the run here")
        expect(run(*place.command("bad", *held_out, "--merge", parts[1])), 1,
               "^paper.py: 3 of 6 draws are in no part")


def refused_machine_is_a_result():
    """The model says so, and the other draws count."""
    with tempfile.TemporaryDirectory() as folder:
        model, bad = Place(folder).model, pathlib.Path(folder) / "bad.model"
        bad.write_text("[bad]\nhidden = 99999999\ntokens = 8\ntp = 2\n")
        run_draw = script().run_draw
        row, other = run_draw((model, None), {"tile_rows": 0}), run_draw((model, bad), {})
    check(set(row) == {"refused"} and "tile_rows is '0'" in row["refused"], "row", row)
    check("hidden is 99999999" in other.pop("held_out_refused"), "held out", other)
    check(set(other) == {"figures", "sublayers"}, "the others count", other)


def bad_use():
    for options, status, text in ((["--shard", "3/2"], 2, "part 3 of 2 does not exist"),
                                  (["--shard", "x"], 2, "'x' is not I/N"),
                                  (["--shard", "1/2", "--merge", "x"], 2, "--merge takes them"),
                                  (["--jobs", "0"], 2, "--jobs"), (["--draws", "-1"], 2, "--draws"),
                                  (["--points", "0"], 2, "--points takes a number from 1"),
                                  (["--model", "/nonexistent"], 1, "/nonexistent")):
        with tempfile.TemporaryDirectory() as folder:
            expect(run(PAPER, "--out", folder, *options), status, text)


# --- sweeps ------------------------------------------------------------------

def workloads_of(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "one.model"
        path.write_text(text)
        return sweeps.native("--model", path, "--config", "sequential")["workloads"]


def rises(table, column, least=1):
    """Whether the values of a column never fall, by more than rounding."""
    found = [row[column] for row in table]
    return all(after >= least * before for before, after in zip(found, found[1:]))


def sweeps_are_complete_and_monotone():
    """What physics says of one machine with more or less of something."""
    chosen = sweeps.chosen_sweeps([], 3)
    found = sweeps.run_all(chosen, workloads_of(TINY), 2)
    check(list(found) == sweeps.NAMES, "sweeps", list(found))
    for sweep in chosen:
        table = found[sweep.name]["table"]
        check([row["value"] for row in table] == list(sweep.values), f"values of {sweep.name}")
        missing = [(row["value"], name) for row in table for name in row if row[name] is None]
        check(not missing, f"{sweep.name} has no figure for", missing)
        check(not any("refused" in point for point in found[sweep.name]["points"]), "refused",
              found[sweep.name]["points"])
    table = {name: one["table"] for name, one in found.items()}
    for name in ("nodes", "fused"):
        check(all(row["Ideal"] >= 1 for row in table[name]), name, table[name])
    check(rises(table["bandwidth"][::-1], "Sequential us"), "a faster link", table["bandwidth"])
    check(table["bandwidth"][0]["T3-MCA us"] > table["bandwidth"][-1]["T3-MCA us"], "fused")
    check(rises(table["latency"], "Sequential us"), "a slower link", table["latency"])
    check(rises(table["tracker"][::-1], "T3-MCA spills, %"), "spills", table["tracker"])
    check(rises(table["units"], "GEMM alone us"), "fewer units for the GEMM", table["units"])
    check(rises(table["units"][::-1], "RS alone us"), "fewer units for both", table["units"])
    for name in sweeps.COLLECTIVES:
        check(rises(table["collectives"], f"{name} us"), "messages", table["collectives"])
        check(all(row[f"{name} GB/s"] <= 150 for row in table["collectives"]), "link", name)


def sweep_has_a_run_for_each_shape():
    """FC-1 has the shape of FC-2, and its figures; nothing is run twice."""
    planned = sweeps.plan(sweeps.chosen_sweeps(["bandwidth"], 2), workloads_of(MODEL))
    check(len(planned) == 12, "two degrees, three sub-layers, two values", len(planned))
    check(len(sweeps.runs_of(planned)) == 8, "without FC-1", sweeps.runs_of(planned))
    options = {facts["sublayer"]: options for _, facts, options in planned[:3]}
    check(options["fc1"] == options["fc2"] != options["op"], "options", options)
    ranks = sweeps.plan(sweeps.chosen_sweeps(["ranks"], 2), workloads_of(MODEL))
    check([options.count("--tp") for *_, options in ranks] == [1] * len(ranks), "degrees", ranks)
    check({facts["tp"] for _, facts, _ in ranks} == {2, 512}, "ranks", ranks)


def values_are_thinned_to_both_ends():
    values = (1, 2, 3, 4, 5)
    for count, wanted in ((None, values), (9, values), (1, (1,)), (2, (1, 5)), (3, (1, 3, 5))):
        got = sweeps.thinned(values, count)
        check(got == wanted, f"{count} of them", got)


def means_are_of_the_chosen_runs():
    point = lambda sublayer, value: {"value": 1, "sublayer": sublayer, "configs": {  # noqa: E731
        "t3": {"speedup": value, "tracker_percent": value}}}
    points = [point("op", 1), point("ip", 4), {"value": 1, "sublayer": "ip", "refused": "too big"}]
    check(sweeps.speedup("t3", "T3").of(points) == 2, "geometric")
    check(sweeps.Column("T3", "t3", "tracker_percent").of(points) == 2.5, "of percents")
    check(sweeps.speedup("t3", "T3", sublayer="ip").of(points) == 4, "of one sub-layer")
    check(sweeps.speedup("direct", "T3").of(points) is None, "of none")


def trends_are_told_as_they_are():
    table = [{"value": value, "T3-MCA FC-2": 1 + value, "T3-MCA OP": 1 + value} for value in (1, 2)]
    rows = paper_trends.trends({"compute": {"table": table}})
    check([row["verdict"] for row in rows] == ["as published", "MISSED", "not repeated"], "rows",
          rows)
    check("2.000 to 3.000" in rows[0]["here"], "figures", rows[0])
    check(paper_trends.trends({}) == [], "of no sweeps")


# --- iterations --------------------------------------------------------------

def iterations_are_those_of_the_tool():
    """Also GEMMs of the model are those of its workloads: none is left without a time."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "one.model"
        path.write_text(TINY)
        answer = sweeps.native("--model", path, "--attention", "separate")
    found, tools = iteration.iterations_of(answer)[0], answer["iterations"][0]
    works = {work["sublayer"]: work for work in answer["workloads"]}
    for phase, name in iteration.TOOLS_PHASES.items():
        times = {}
        for one in found[phase]["operators"]:
            times.setdefault(one["name"], one["ps"])
        check(min(times.values()) > 0, "an operator takes no time", times)
        check(times["QKV"] == works["ip"]["phases"]["gemm_ps"], "QKV", times)
        check(times["MLP down"] == works["fc2"]["configs"]["sequential"]["virtual_ps"], "FC-2", times)
        for config, got in found[phase]["configs"].items():
            check(got == tools[name]["iteration"]["configs"][config], "configuration", config)
        check(found[phase]["iteration_ps"] == 78 * found[phase]["layer_ps"], "layers", found[phase])
        check(abs(sum(found[phase]["shares"].values()) - 1) < 1e-12, "shares", found[phase])
    check(found["training"]["iteration_ps"] > found["prompt"]["iteration_ps"], "training", found)
    check(any("a plain MLP of 4 x hidden" in note for note in answer["semantics"]["approximated"]),
          "semantics", answer["semantics"])
    check(not found["fused_attention"] and found["heads"] == 8, "model", found)


ITERATION = ROOT / "tools/paper/paper_iteration.py"
OWN = {"--hidden": 256, "--layers": 2, "--heads": 4, "--sequence": 512, "--batch": 2, "--tp": 4}


def words_of(options):
    return [str(word) for pair in options.items() for word in pair]


def own_model_is_run():
    result = run(ITERATION, *words_of(OWN), "--operators", "--param", "link_gbps=300")
    expect(result, 0, "^your model TP 4 ", "training iteration", "prompt phase", "optimizer")
    result = run(ITERATION, *words_of(OWN), "--json")
    expect(result, 0)
    one = json.loads(result[1])["iterations"][0]
    check(one["tp"] == 4 and len(one["training"]["operators"]) > 30, "model", one)
    speed = {config: got["speedup"] for config, got in one["training"]["configs"].items()}
    check(set(speed) == {"ideal", "t3", "t3-mca"} and speed["ideal"] > 1, "configurations", speed)
    fused = run(ITERATION, *words_of(OWN), "--json", "--fused-attention")
    shorter = json.loads(fused[1])["iterations"][0]
    check(shorter["prompt"]["iteration_ps"] < one["prompt"]["iteration_ps"], "fused attention")
    expect(run(ITERATION, "--help"), 0, "--sequence N", "Exit status: 0 done")


def wrong_models_are_refused():
    for change, text in (({"--heads": 5}, "hidden 256 is no multiple of heads, 5"),
                         ({"--tp": 8}, "tp 8 is more than heads, 4"),
                         ({"--layers": 10001}, "layers is 10001 and must be 1 to 10000"),
                         ({"--tp": 1}, "tp is '1' and must be 2 to 512"),
                         ({"--layers": 0}, "layers is '0' and must be a number from 1"),
                         ({"--batch": "x"}, "argument --batch: invalid int value: 'x'"),
                         ({"--sequence": 1 << 24}, "tokens is 33554432 and must be 1 to 16777216"),
                         ({"--param": "link_gbps=0"}, "link_gbps is '0' and must be"),
                         ({"--param": "no=1"}, "there is no parameter 'no'")):
        expect(run(ITERATION, *words_of(OWN | change)), 2, re.escape(text))
    expect(run(ITERATION, "--hidden", 256, "--tp", 4), 2,
           "a model needs --layers --heads --sequence --batch, too")


def assumptions_are_documented():
    text = " ".join((ROOT / "tools/paper/README.md").read_text().split())
    for row in iteration.ASSUMPTIONS:
        check(f"| {' | '.join(row)} |" in text, "README.md has not", row)


def sweeps_command():
    command = ROOT / "tools/paper/paper_sweeps.py"
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder, TINY)
        words = ["--model", place.model, "--sweep", "latency", "--points", 2]
        expect(run(command, *words), 0, r"^Link latency", r"^5000 ")
        result = run(command, *words, "--json")
        expect(result, 0)
        check(list(json.loads(result[1])) == ["latency"], "sweeps", result[1])
    expect(run(command, "--list"), 0, r"^tracker +Tracker entries", "16, 32, 64")
    expect(run(command, "--sweep", "none"), 2, "invalid choice: 'none'")
    expect(run(command, "--points", 0), 2, "--points takes a number from 1")
    expect(run(command, "--jobs", 0), 2, "--jobs takes a number from 1")
    expect(run(command, "--model", "/nonexistent"), 1, "/nonexistent")


# --- the page ----------------------------------------------------------------

class Page(html.parser.HTMLParser):
    """Elements, what they refer to, and the text of scripts."""

    EMPTY = {"meta", "br", "path", "use", "rect", "image", "line"}
    REFERRING = {"src", "href", "xlink:href", "data", "action", "poster", "srcset", "background"}

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.references, self.identifiers = [], [], [], []
        self.policy, self.scripts = "", []
        self.feed(text)
        self.close()
        check(not self.open, "not ended", self.open)

    def handle_startendtag(self, tag, attrs):
        self.attributes(tag, dict(attrs))

    def handle_starttag(self, tag, attrs):
        self.attributes(tag, dict(attrs))
        if tag not in self.EMPTY:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def attributes(self, tag, attrs):
        self.tags.append(tag)
        self.references += [value for name, value in attrs.items() if name in self.REFERRING]
        self.identifiers += [attrs["id"]] if "id" in attrs else []
        if attrs.get("http-equiv") == "Content-Security-Policy":
            self.policy = attrs["content"]

    def handle_endtag(self, tag):
        check(tag in self.EMPTY or self.open.pop() == tag, f"</{tag}> ends another element")

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data


def page_refers_to_nothing_outside(text, page):
    check(page.policy.startswith("default-src 'none';"), "policy", page.policy)
    check("http" not in page.policy and "'self'" not in page.policy, "policy", page.policy)
    check(all(value.startswith("#") for value in page.references), "outside", page.references)
    check(not {"link", "iframe", "img", "object", "embed", "base"} & set(page.tags), "elements")
    missing = {value[1:] for value in page.references} - set(page.identifiers)
    check(not missing, "it refers to what is not there", missing)
    check(len(page.identifiers) == len(set(page.identifiers)), "a name twice")
    spaces = set(re.findall(r"https?://[^\"' <)]*", text)) - {
        "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    check(not spaces, "an address", spaces)
    found = re.search(r"@import|url\((?!#)|\b(fetch|XMLHttpRequest|WebSocket|import|eval)\b *\(",
                      text)
    check(not found, "it loads", found and found[0])


def timeline_shows_overlap(runs):
    check([run["title"].rsplit(", ", 1)[1] for run in runs] == ["Sequential", "T3-MCA"], "runs")
    for one in runs:
        times = {name: (start, end) for _, name, start, end in one["phases"]}
        check(set(times) == {"GEMM", "reduce-scatter", "all-gather"}, "phases", times)
        overlap = times["GEMM"][1] - times["reduce-scatter"][0]
        check((overlap > 0) == one["title"].endswith("MCA"), f"{one['title']}: {overlap} ns")
        check(one["groups"] and all(len(group) == 4 for group in one["groups"]), "workgroups")
        check(all(len(sample) == 1 + len(one["kinds"]) for sample in one["memory"]), "samples")
        check(sum(sample[1] for sample in one["link"]) > 0, "nothing on the link")
    check(max(sample[1] for sample in runs[1]["tracker"]) > 0, "nothing in the tracker")


def page_is_complete():
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder)
        printed = place.run("out")
        check("\nsmall TP 8 FC-1 " in printed, "names", printed)
        out = place.folder / "out"
        text = (out / "index.html").read_text(encoding="utf-8")
        facts = json.loads((out / "paper.json").read_text())
    page = Page(text)
    page_refers_to_nothing_outside(text, page)
    check(page.tags.count("svg") == len(PLOTS), "plots", page.tags.count("svg"))
    for row in facts["comparison"]:
        for words in (row["figure"], f"{row['median']:.3f}", f"{row['low']:.3f} to"):
            check(f">{words}" in text, f"no {words}")
    for one in facts["parameters"]:
        check(f">{one['name']}<" in text, f"no parameter {one['name']}")
    timeline_shows_overlap(json.loads(page.scripts[0])["runs"])
    check(text.count("<p>Not run.</p>") == 2, "sweeps and iterations were not run")
    for name, words in (("speedup", "Speed-up of Transformer sub-layers over Sequential"),
                        ("traffic", "DRAM traffic by kind"), ("agreement", "Published figures"),
                        ("effects", "Which assumption moves"), ("variants", "without figures")):
        svg = text[text.index(f'id="plot-{name}"'):]
        svg = svg[:svg.index("</svg>")]
        check(words in svg and svg.count("<text") > 10, f"no title in {name}")
        check(name in ("agreement", "effects") or re.search(">0(.0)?<", svg), f"{name} is cut")
        check(name not in ("speedup", "traffic") or "published (T3" in svg, f"{name} has no marks")
    # Sub-layers of one shape are one group of bars.
    check("FC-2 =" in text and text.count("small, TP 16") == 4, "bars")


def page_has_all_sections():
    """Sweeps and iterations, too; --json prints what the page is made of."""
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder, TINY, "--points=2")
        result = run(*place.command("out", "--draws", 2, "--json"))
        expect(result, 0)
        text = (place.folder / "out/index.html").read_text(encoding="utf-8")
        written = json.loads((place.folder / "out/paper.json").read_text())
    facts = json.loads(result[1])
    check({key for key in facts if facts[key] != written.get(key)} <= {"cpu_seconds"}, "facts")
    page = Page(text)
    page_refers_to_nothing_outside(text, page)
    for name in ("comparison", "plots", "iterations", "sweeps", "uncertainty", "overlap",
                 "sublayers", "parameters"):
        check(f'<section id="{name}">' in text and f'href="#{name}"' in text, f"no {name}")
    check("Not run." not in text, "something was not run")
    names = ["iteration", "iteration-shares", *(f"sweep-{name}" for name in sweeps.NAMES)]
    check({f"plot-{name}" for name in names} <= set(page.identifiers), "plots", page.identifiers)
    check(page.tags.count("details") == len(sweeps.NAMES), "tables of sweeps")
    for words in (*(one["trend"] for one in facts["trends"]),
                  *(row[0] for row in iteration.ASSUMPTIONS), "Training iteration, T3-MCA, max"):
        check(f">{words}<" in text, f"no {words}")
    check("published: up to about" in text, "no published mark of iterations")


T3 = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build")) / "t3"
PLACE_OF_PAPER = {"T3_PAPER": str(ROOT / "tools/paper")}  # a build folder may be anywhere
DRAWN = ("model-speedup", "model-parts", "model-iteration")


def page_of(folder, model, *options):
    """(the JSON, the page's text) of a file of tests/transformers."""
    path = pathlib.Path(folder) / "page.html"
    result = run(T3, "sim", "--config", ROOT / f"tests/transformers/{model}.json", "--json", "--html", path,
                 *options, env=PLACE_OF_PAPER)
    expect(result, 0)
    return json.loads(result[1]), path.read_text(encoding="utf-8")


def model_has_a_page():
    """`t3 sim --config FILE --html PAGE`: its figures are those of --json."""
    with tempfile.TemporaryDirectory() as folder:
        found, text = page_of(folder, "some-experts", "--tp", 2, "--tokens", 256, "--param", "link_gbps=99")
        again = page_of(folder, "some-experts", "--tp", 2, "--tokens", 256, "--param", "link_gbps=99")[1]
    check(text == again, "equal runs have other pages")
    page = Page(text)
    page_refers_to_nothing_outside(text, page)
    check(page.tags.count("svg") == len(DRAWN), "plots")
    timeline_shows_overlap(json.loads(page.scripts[0])["runs"])
    check({f"plot-{name}" for name in DRAWN} | {"gemms", "works", "layers", "overlap", "semantics", "parameters"}
          <= set(page.identifiers), "sections", page.identifiers)
    check("Published and here" not in text, "the paper's figures are no model's")
    wanted = [f">{work['configs'][config]['speedup']:.3f}<" for work in found["workloads"]
              for config in ("t3", "t3-mca", "direct")]
    wanted += [f">{one['iteration_ps'] / 1e9:.3f}<" for one in found["iteration"]["configs"].values()]
    wanted += [f">{note}<" for notes in found["semantics"].values() for note in notes if "'" not in note]
    wanted += [f">{one['name']}<" for one in found["gemms"]] + [">150 GB/s; here 99<"]
    for words in wanted:
        check(words in text, f"no {words}")


def timeline_shows_most_of_the_time():
    """Of sub-layers that can be shown: small ones, by an all-reduce, in both configurations."""
    def work(name, ps, events=1000, collective="all-reduce", configs=("sequential", "t3-mca")):
        return {"sublayer": name, "events": events, "collective": collective,
                "configs": {config: {"virtual_ps": ps} for config in configs}}

    works = [work("few", 5), work("often", 3), work("large", 99, 10 ** 9), work("sent", 99, 9, "all-to-all"),
             work("alone", 99, 9, "all-reduce", ("sequential", "t3"))]
    gemms = [{"workload": one["sublayer"], "count": 1 + (one["sublayer"] == "often")} for one in works]
    found = {"gemms": [*gemms, {"count": 7}], "workloads": works}
    check(paper_model.most_of_the_time(found)["sublayer"] == "often", "another one is shown")
    check(paper_model.most_of_the_time({**found, "workloads": works[2:]}) is None, "one is shown")


def timeline_has_the_chunks_of_the_sub_layer():
    """Rows, columns, or a grid of both, which only auto makes."""
    work = {"rows": 64, "columns": 32, "depth": 8, "tp": 4, "element_bytes": 2, "mirrored": True}
    for rows, columns, wanted in ((16, 32, "rows"), (64, 8, "columns"), (32, 16, "auto")):
        options = paper_model.options_of({**work, "chunk_rows": rows, "chunk_columns": columns},
                                         [{"name": "link_gbps", "value": 99}])
        got = dict(zip(options[::2], options[1::2]))
        check(got == {"--m": 64, "--n": 32, "--k": 32, "--tp": 4, "--dtype": "f16", "--chunks": wanted,
                      "--param": "link_gbps=99"}, "options", got)


def page_without_a_timeline_says_why():
    with tempfile.TemporaryDirectory() as folder:
        _, text = page_of(folder, "few-kv-heads", "--tp", 2, "--tokens", 128, "--config", "t3")
    check(">There is no timeline: it shows a sub-layer with an all-reduce" in text, "no sentence")
    check('id="overlap"' not in text and not Page(text).scripts, "there is one")


def page_of_a_model_has_a_switch_that_was_asked_for():
    with tempfile.TemporaryDirectory() as folder:
        found, text = page_of(folder, "some-experts", "--tp", 4, "--tokens", 256, "--config", "t3-mca",
                              "--config", "switch", "--config", "t3-switch")
    for config in ("switch", "t3-switch"):
        check(f">{found['iteration']['configs'][config]['iteration_ps'] / 1e9:.3f}<" in text, config)
    check(text.count("T3 through a switch") >= 3, "its name in tables and plots")


def page_of_a_routing_has_its_load():
    with tempfile.TemporaryDirectory() as folder:
        found, text = page_of(folder, "local-experts", "--tp", 2, "--ep", 4, "--tokens", 256, "--routing",
                              "uniform", "--config", "t3-mca", "--phase", "prefill")
    load = found["experts"]
    check(f"{load['least_rows']} to {load['most_rows']} rows" in text, "load")
    for one in load["runs"]:
        check(f">{one['gemm']}, {one['way']}<" in text and f">{one['gemm_ps'] / 1e6:.1f}<" in text, "runs")


def page_without_matplotlib_is_refused():
    """Before anything is simulated, and nothing is written."""
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / "matplotlib.py").write_text("raise ImportError('there is none')\n")
        done = subprocess.run([T3, "sim", "--config", ROOT / "tests/transformers/some-experts.json", "--tp", "2",
                               "--tokens", "256", "--html", place / "page.html"], capture_output=True, text=True,
                              check=False, timeout=60, env={**os.environ, **PLACE_OF_PAPER, "PYTHONPATH": folder})
        check((done.returncode, done.stdout) == (1, ""), "status", done)
        check("the page's plots need matplotlib: install python3-matplotlib" in done.stderr, "sentence", done)
        check(not (place / "page.html").exists(), "a page is there")


def page_is_filled_or_fails():
    refuses_all = {"FACTS": "", "PLOTS": ""}
    try:
        paper_page.fill(refuses_all)
    except RuntimeError as error:
        check("TIMELINE" in str(error), "sentence", error)
    else:
        raise AssertionError("a page without its parts is made")
    check("<" not in paper_page.as_script({"name": "</script>"}), "a text ends the script")
    check(json.loads(paper_page.as_script(["</script>"])) == ["</script>"], "another text")


def timeline_is_read():
    lines = [
        '{"ph":"M","name":"thread_name","pid":0,"tid":0,"args":{"name":"phases: compute"}},',
        '{"ph":"M","name":"thread_name","pid":0,"tid":9,"args":{"name":"compute unit 2"}},',
        '{"ph":"X","name":"GEMM","pid":0,"tid":0,"ts":0.000000,"dur":2.500000,"args":{}},',
        '{"ph":"X","name":"workgroup","pid":0,"tid":9,"ts":1.000500,"dur":1.0,"args":{"tile":7}},',
        '{"ph":"X","name":"send","pid":0,"tid":5,"ts":1.0,"dur":1.0,"args":{"bytes":7}},',
        '{"ph":"X","name":"GEMM","pid":1,"tid":0,"ts":0.000000,"dur":9.0,"args":{}},',
        '{"ph":"C","name":"memory bytes in 1 us","pid":0,"ts":3,"args":{"a":1,"b":2}},',
        '{"ph":"C","name":"link bytes in 1 us","pid":0,"ts":3,"args":{"bytes":4}}']
    got = paper_page.read_timeline(lines, "t")
    check(got == {"title": "t", "end": 2500, "phases": [["compute", "GEMM", 0, 2500]],
                  "groups": [[2, 7, 1000, 2000]], "kinds": ["a", "b"], "memory": [[3, 1, 2]],
                  "link": [[3, 4]], "tracker": []}, "timeline", got)
    try:
        paper_page.read_timeline([], "t")
    except RuntimeError:
        return
    raise AssertionError("an empty timeline is taken")


TESTS = [hypercube_has_each_part_once, hypercube_depends_on_seed_alone, columns_are_not_related,
         quantiles, ranges_leave_out_what_is_refused, strongest_effect_is_first,
         published_figures_are_rounded, held_out_is_predicted, parts_merge,
         parts_that_do_not_fit_are_refused, parts_have_numbers, parts_give_what_one_run_gives,
         refused_machine_is_a_result, bad_use, sweeps_are_complete_and_monotone,
         sweep_has_a_run_for_each_shape, values_are_thinned_to_both_ends,
         means_are_of_the_chosen_runs, trends_are_told_as_they_are,
         iterations_are_those_of_the_tool, own_model_is_run, wrong_models_are_refused,
         assumptions_are_documented, sweeps_command, page_is_complete, page_has_all_sections,
         page_is_filled_or_fails, model_has_a_page, timeline_shows_most_of_the_time,
         timeline_has_the_chunks_of_the_sub_layer, page_without_a_timeline_says_why, page_of_a_routing_has_its_load,
         page_of_a_model_has_a_switch_that_was_asked_for,
         page_without_matplotlib_is_refused,
         timeline_is_read]

if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    sys.exit(loop.main(TESTS))
