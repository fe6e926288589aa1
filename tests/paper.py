#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""tools/paper: its hypercube, parts, ranges, plots and page; TAP on stdout.

usage: paper.py [NAME...]     (default: all tests)
"""

import html.parser
import importlib.util
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

import loop
from loop import ROOT, Skip, check, expect, run

PAPER = ROOT / "tools/paper/paper.py"
sys.path.insert(0, str(ROOT / "tools/paper"))
import paper_draws as draws  # noqa: E402
import paper_figures  # noqa: E402
import paper_page  # noqa: E402

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
PLOTS = ["speedup", "traffic", "agreement", "effects", "variants"]


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
             json.loads(json.dumps(draws.part(identity or IDENTITY, (number, count), {
                 index: row_of(index / 3) for index in draws.indices(7, (number, count))}))))
            for number in range(1, count + 1)]


def parts_merge():
    whole = draws.merge(parts_of(1), IDENTITY)
    check(whole == [row_of(index / 3) for index in range(7)], "whole", whole)
    for count in (2, 3, 9):
        check(draws.merge(parts_of(count)[::-1], IDENTITY) == whole, f"{count} parts")


def parts_that_do_not_fit_are_refused():
    parts = parts_of(3)
    refuses(lambda: draws.merge(parts[:2], IDENTITY), "2 of 7 draws are in no part, the first is 2")
    refuses(lambda: draws.merge(parts + parts[:1], IDENTITY), "draw 0, which another part has")
    other = parts_of(3, {**IDENTITY, "seed": 2})
    refuses(lambda: draws.merge(parts[:2] + other[2:], IDENTITY), "part 3 has another seed")
    with tempfile.TemporaryDirectory() as place:
        path = pathlib.Path(place) / "part.json"
        for text in ("[]", "{}", '{"format": "t3 paper draws, 0"}', "no JSON"):
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

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.model = self.folder / "small.model"
        self.model.write_text(MODEL)

    def command(self, out, *options):
        return [PAPER, "--no-vm", "--no-sweep", "--model", self.model, "--draws", DRAWS, "--out",
                self.folder / out, *options]

    def run(self, out, *options):
        result = run(*self.command(out, *options))
        expect(result, 0)
        return result[1]


def table_of(text):
    """From the comparison to the draws: what does not tell a time."""
    return text[text.index("published"):text.index("million events")].rsplit("\n", 1)[0]


def same_results(place, one, other):
    """Bit for bit, also what is drawn."""
    read = lambda out, name: (place.folder / out / name).read_bytes()  # noqa: E731
    for name in ("index.html", *(f"{plot}.svg" for plot in PLOTS)):
        check(read(one, name) == read(other, name), f"{name} of {one} and {other} differ")
    facts = [json.loads(read(out, "paper.json")) for out in (one, other)]
    for key in ("comparison", "sublayer_ranges", "broken_rules"):
        check(facts[0][key] == facts[1][key], f"{key} of {one} and {other} differ")


def parts_give_what_one_run_gives():
    """Under mpirun, each rank runs a part; merged, nothing differs from one run."""
    if not shutil.which("mpirun"):
        raise Skip("there is no mpirun")
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder)
        whole = place.run("whole", "--jobs", 2)
        words = " ".join(f"'{word}'" for word in place.command("parts", "--jobs", 1))
        expect(run("mpirun", "-n", 2, "--oversubscribe", "sh", "-c",
                   f"{words} --shard $((OMPI_COMM_WORLD_RANK + 1))/$OMPI_COMM_WORLD_SIZE",
                   env={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}),
               0, r"draws-1-of-2\.json: draws 1, 3, \.\.\. of 6", r"draws-2-of-2\.json")
        merged = place.run("merged", "--merge", *(place.folder / f"parts/draws-{number}-of-2.json"
                                                  for number in (2, 1)))
        check(table_of(whole) == table_of(merged), "the tables differ", whole + merged)
        same_results(place, "whole", "merged")
        place.run("again", "--merge", place.folder / "whole/draws.json")
        same_results(place, "whole", "again")
        expect(run(*place.command("bad", "--merge", place.folder / "parts/draws-1-of-2.json")), 1,
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
                                  (["--model", "/nonexistent"], 1, "/nonexistent")):
        with tempfile.TemporaryDirectory() as folder:
            expect(run(PAPER, "--out", folder, *options), status, text)


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
    for name, words in (("speedup", "Speed-up of Transformer sub-layers over Sequential"),
                        ("traffic", "DRAM traffic by kind"), ("agreement", "Published figures"),
                        ("effects", "Which assumption moves"), ("variants", "without figures")):
        svg = text[text.index(f'id="plot-{name}"'):]
        svg = svg[:svg.index("</svg>")]
        check(words in svg and svg.count("<text") > 10, f"no title in {name}")
        check(name in ("agreement", "effects") or ">0.0<" in svg, f"axis of {name} is cut")
        check(name not in ("speedup", "traffic") or "published (T3" in svg, f"{name} has no marks")
    # Sub-layers of one shape are one group of bars.
    check("FC-2 =" in text and text.count("small, TP 16") == 3, "bars")


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
         refused_machine_is_a_result, bad_use, page_is_complete, page_is_filled_or_fails,
         timeline_is_read]

if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    sys.exit(loop.main(TESTS))
