# SPDX-License-Identifier: MIT
"""One HTML page with table, plots and a timeline: nothing is loaded, so it can be sent and kept."""

import html
import json
import pathlib
import re

from paper_figures import CONFIG_NAMES, FIGURE_KINDS, RANGED_CONFIGS
from paper_iteration import ASSUMPTIONS, KINDS, PHASES, PUBLISHED, title

MODEL_PARTS = ("GEMMS", "WORKS", "LAYERS", "SEMANTICS")  # of a model's page alone: paper_model.py
TEMPLATE = pathlib.Path(__file__).with_name("page.html")
TIMELINE_FIELDS = re.compile(r'"ph":"(.)","name":"([^"]*)","pid":(\d+)(?:,"tid":(\d+))?'
                             r',"ts":([\d.]+)(?:,"dur":([\d.]+))?,"args":(\{[^}]*\})')
ROW_NAME = re.compile(r'"name":"thread_name","pid":0,"tid":(\d+),"args":\{"name":"([^"]*)"')
UNIT = re.compile(r"compute unit (\d+)$")
COUNTERS = {"memory bytes in 1 us": "memory", "link bytes in 1 us": "link",
            "tracker entries, most in 1 us": "tracker"}


# --- the timeline ------------------------------------------------------------

def nanoseconds(microseconds):
    return round(float(microseconds) * 1000)


def read_timeline(lines, title):
    """What the page draws of a `t3 sim --timeline` of one device: phases, workgroups, counters.

    Single transfers are left out: they are most of the file, and the counters have their bytes.
    """
    rows, phases, groups, kinds = {}, [], [], []
    counters = {name: [] for name in COUNTERS.values()}
    for line in lines:
        named = ROW_NAME.search(line)
        if named:
            rows[named[1]] = named[2]
            continue
        found = TIMELINE_FIELDS.search(line)
        if not found or found[3] != "0":
            continue
        if found[1] == "C" and found[2] in COUNTERS:
            values = json.loads(found[7])
            kinds = list(values) if COUNTERS[found[2]] == "memory" else kinds
            counters[COUNTERS[found[2]]].append([int(found[5]), *values.values()])
        elif found[1] == "X":
            start, took = nanoseconds(found[5]), nanoseconds(found[6])
            row = rows.get(found[4], "")
            unit = UNIT.match(row)
            if row.startswith("phases: "):
                phases.append([row.removeprefix("phases: "), found[2], start, start + took])
            elif unit:
                groups.append([int(unit[1]), json.loads(found[7])["tile"], start, start + took])
    if not phases or not kinds:
        raise RuntimeError(f"the timeline of {title} has no phases or counters")
    return {"title": title, "end": max(phase[3] for phase in phases), "phases": phases,
            "groups": groups, "kinds": kinds, **counters}


# --- tables ------------------------------------------------------------------

def cell(value, places=3):
    return "" if value is None else f"{value:.{places}f}"


def table_rows(rows):
    return "".join(f"<tr><th scope=row>{html.escape(row[0])}</th>"
                   + "".join(f"<td>{html.escape(text)}</td>" for text in row[1:]) + "</tr>"
                   for row in rows)


def grouped_table(headings, groups):
    """`groups` of [(name, rows)], a name may be ""; the first text of a row is its name."""
    head = "".join(f"<th scope=col>{html.escape(text)}</th>" for text in headings)
    body = "".join(
        "<tbody>" + (f'<tr><th scope=rowgroup class="group" colspan="{len(headings)}">'
                     f"{html.escape(name)}</th></tr>" if name else "")
        + table_rows(rows) + "</tbody>" for name, rows in groups)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead>{body}</table></div>'


def table(headings, rows):
    return grouped_table(headings, [("", rows)])


def comparison_row(row):
    spread = f"{row['low']:.3f} to {row['high']:.3f}" if "low" in row else ""
    inside = {True: "yes", False: "no"}.get(row.get("published_in_range"), "")
    return [row["figure"], cell(row["published"], 2), cell(row["here"]),
            row["verdict"] if row["verdict"] != row["kind"] else "", cell(row.get("median")),
            spread, inside]


def comparison_table(comparison):
    """Fitted, compared and predicted figures apart."""
    groups = [(name, [comparison_row(row) for row in comparison if row["kind"] == kind])
              for kind, name in FIGURE_KINDS.items()]
    return grouped_table(["figure", "published", "here", "", "median of draws", "5 to 95 %",
                          "published is inside"], [(name, rows) for name, rows in groups if rows])


def trend_table(trends):
    return table(["published as a trend", "here", ""],
                 [[one["trend"], one["here"], one["verdict"]] for one in trends])


def iteration_table(iterations):
    rows = []
    for phase, name in PHASES.items():
        rows.append((f"{name.capitalize()}: published up to about {PUBLISHED[phase]:.2f}", [
            [title(one), cell(one[phase]["iteration_ps"] / 1e9, 1),
             *(cell(100 * share, 1) for share in one[phase]["shares"].values()),
             *(cell(config["speedup"]) for config in one[phase]["configs"].values())]
            for one in iterations]))
    return grouped_table(["model", "Sequential, ms", *(f"{kind}, %" for kind in KINDS),
                          *(CONFIG_NAMES[config] for config in RANGED_CONFIGS)], rows)


def sublayer_table(rows):
    """[(name, {column: text})], all with the same columns."""
    return table(["sub-layer", *rows[0][1]], [[name, *values.values()] for name, values in rows])


def value_text(one):
    """The default, and the value of this run if that is another one."""
    text = f"{one['default']} {one['unit']}".strip()
    return text if one.get("value", one["default"]) == one["default"] else f"{text}; here {one['value']}"


def parameter_table(parameters):
    return table(["parameter", "default", "drawn from", "source"],
                 [[one["name"], value_text(one),
                   f"{one['low']} to {one['high']}" if one["low"] != one["high"] else "published",
                   one["source"]] for one in parameters])


# --- the page ----------------------------------------------------------------

def inline_svg(name, text):
    """An SVG file as part of the page: names in it are its own, and it scales."""
    text = text[text.index("<svg"):]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r'\bid="([^"]*)"', rf'id="{name}-\1"', text)
    text = re.sub(r'\b(?:xlink:)?href="#([^"]*)"', rf'href="#{name}-\1"', text)
    text = re.sub(r"url\(#([^)]*)\)", rf"url(#{name}-\1)", text)
    return re.sub(r'<svg ([^>]*?)width="[^"]*"', rf'<svg role="img" aria-label="{name}" \1', text,
                  count=1).replace('height="', 'data-height="', 1)


def figure(name, svg):
    return f'<figure id="plot-{name}">{inline_svg(name, svg)}</figure>'


def as_script(value):
    """JSON that no text of which ends the script element."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def without_parts(text, parts):
    """The template without the sections of these @NAME@s, and without links to them."""
    gone = [(found[0], found[1]) for found in re.finditer(r'<section id="(\w+)">.*?</section>\n', text, re.S)
            if set(re.findall(r"@([A-Z]+)@", found[0])) & set(parts)
            or (found[1] == "overlap" and "TIMELINE" in parts)]
    for section, name in gone:
        text = text.replace(section, "")
        text = re.sub(rf'<a\s+href="#{name}">[^<]*</a>', "", text)
    if "TIMELINE" in parts:
        text = re.sub(r"<script .*</script>\n", "", text, flags=re.S)
    return text


def fill(values, parts=MODEL_PARTS):
    """The template without `parts` and with each other @NAME@ replaced; all are there, and no other."""
    text = without_parts(TEMPLATE.read_text(encoding="utf-8"), parts)
    names = set(re.findall(r"@([A-Z]+)@", text))
    if names != set(values):
        raise RuntimeError(f"page.html has {sorted(names)}, not {sorted(values)}")
    return re.sub(r"@([A-Z]+)@", lambda found: values[found[1]], text)


def figures(plots):
    return "\n".join(figure(name, svg) for name, svg in plots.items())


NOT_RUN = "<p>Not run.</p>"


def sweep_section(plots, tables):
    """Each plot with its table below."""
    return "\n".join(
        figure(f"sweep-{name}", plots[f"sweep-{name}"])
        + f"<details><summary>as a table</summary>{table(*shown)}</details>"
        for name, shown in tables.items()) or NOT_RUN


def iteration_section(plots, iterations):
    if not iterations:
        return NOT_RUN
    assumptions = table(["operator", "assumption", "source"], ASSUMPTIONS)
    return (figures(plots) + iteration_table(iterations)
            + f'<h3>Assumptions</h3><div class="texts">{assumptions}</div>')


def page(facts, found, plots, sublayers, tables, parameters, timeline):
    """`plots`: {section: {name: SVG}}"""
    return fill({
        "TITLE": "T3's published evaluation, in virtual time",
        "FACTS": "".join(f"<p>{html.escape(fact)}</p>" for fact in facts),
        "COMPARISON": comparison_table(found["comparison"])
                      + (trend_table(found["trends"]) if found["trends"] else ""),
        "PLOTS": figures(plots["sublayers"]),
        "ITERATIONS": iteration_section(plots["iterations"], found["iterations"]),
        "SWEEPS": sweep_section(plots["sweeps"], tables),
        "UNCERTAINTY": figures(plots["uncertainty"]),
        "SUBLAYERS": sublayer_table(sublayers),
        "PARAMETERS": parameter_table(parameters),
        "TIMELINE": as_script(timeline)})
