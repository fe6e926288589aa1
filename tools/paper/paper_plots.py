# SPDX-License-Identifier: MIT
"""The plots of `make paper`. Each says what it shows without another text beside it."""

import io

import matplotlib
matplotlib.use("Agg")
from matplotlib import lines, pyplot, ticker  # noqa: E402 (after the choice of a backend)

from paper_figures import (CONFIG_NAMES, KINDS, MODEL_NAMES, PUBLISHED_VALUES,  # noqa: E402
                           RANGED_CONFIGS, SUBLAYERS, geomean, label, memory, ratio, speedups)

COLOURS = {"ideal": "#999999", "ideal-nmc": "#666666", "t3": "#56b4e9", "t3-mca": "#0072b2",
           "t3-mca-ag": "#009e73", "direct": "#cc79a7", "switch": "#e69f00", "t3-switch": "#d55e00"}
KIND_NAMES = {"gemm_read": "GEMM reads", "gemm_write": "GEMM writes",
              "rs_read": "reduce-scatter reads", "rs_write": "reduce-scatter writes",
              "ag_read": "all-gather reads", "ag_write": "all-gather writes"}
KIND_COLOURS = dict(zip(KINDS, ("#1f5f99", "#7fb2dd", "#d1711d", "#f2b880", "#3f8f5f", "#9fd0ae")))
PHASE_STYLES = {"gemm_ps": ("GEMM", "#1f5f99"), "reduce_scatter_ps": ("reduce-scatter", "#d1711d"),
                "all_gather_ps": ("all-gather", "#3f8f5f")}
PUBLISHED_STYLE = {"marker": "D", "markersize": 6, "linestyle": "none", "color": "#d62728",
                   "markeredgecolor": "white", "markeredgewidth": 0.8, "zorder": 5}
RANGE_STYLE = {"ecolor": "black", "elinewidth": 1, "capsize": 2, "capthick": 1, "zorder": 4,
               "fmt": "none"}
GAP = 0.6  # between groups of bars
WIDTH = 0.8  # of a sub-layer's bars together

matplotlib.rcParams.update({
    "font.family": "sans-serif", "font.size": 10, "axes.spines.top": False,
    "axes.spines.right": False, "axes.titlesize": 13, "axes.titleweight": "bold",
    "axes.titlelocation": "left", "axes.axisbelow": True, "axes.grid": True, "axes.grid.axis": "y",
    "grid.color": "#e0e0e0", "svg.fonttype": "none", "svg.hashsalt": "t3"})


# --- what all have -----------------------------------------------------------

def caption(figure, text):
    """Below all that is drawn so far."""
    box = figure.get_tightbbox(figure.canvas.get_renderer())
    width, height = figure.get_size_inches()
    figure.text(box.x0 / width, (box.y0 - 0.12) / height, text, ha="left", va="top", fontsize=9,
                color="#333333", linespacing=1.4)


def published_text(value):
    return f"{value:.2f}" if value > 0 else f"{100 * value:.0f} %"


def save(figure, directory, name):
    """Both files; the SVG as text, for the page."""
    figure.savefig(directory / f"{name}.png", bbox_inches="tight", dpi=120)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", bbox_inches="tight",
                   metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    pyplot.close(figure)
    (directory / f"{name}.svg").write_text(buffer.getvalue(), encoding="utf-8")
    return buffer.getvalue()


def shapes(workloads):
    """[(name, workload)] once for each shape: sub-layers of one shape have the same figures."""
    found = {}
    for work in workloads:
        key = (work["model"], work["tp"], work["rows"], work["columns"], work["depth"])
        found.setdefault(key, []).append(work)
    return [(" = ".join(SUBLAYERS.get(work["sublayer"], work["sublayer"]) for work in works), works[0])
            for works in found.values()]


def places(workloads):
    """[(x, name, workload)] and [(x, group's name)]: a gap between the models and degrees."""
    bars, groups, at, before = [], {}, 0.0, None
    for name, work in shapes(workloads):
        group = f"{work['model']}, TP {work['tp']}"
        at += 0 if before is None else 1 + (GAP if group != before else 0)
        before = group
        bars.append((at, name, work))
        groups.setdefault(group, []).append(at)
    return bars, [(sum(xs) / len(xs), group) for group, xs in groups.items()]


def name_places(axes, bars, groups, below=-0.13):
    axes.set_xticks([x for x, *_ in bars], [name.replace(" = ", " =\n") for _, name, *_ in bars])
    axes.tick_params(axis="x", length=0)
    for x, group in groups:
        axes.text(x, below, group, transform=axes.get_xaxis_transform(), ha="center", va="top",
                  fontweight="bold")


def error_bars(axes, xs, spreads):
    """From 5 % to 95 %, whatever the bar's own height is."""
    if spreads:
        middles = [(low + high) / 2 for low, _, high in spreads]
        axes.errorbar(xs, middles, [(high - low) / 2 for low, _, high in spreads], **RANGE_STYLE)


def offsets(count):
    return [(index - (count - 1) / 2) * WIDTH / count for index in range(count)]


def legend(axes, handles, columns, above=1.02):
    axes.legend(handles=handles, ncol=columns, loc="lower left", bbox_to_anchor=(0, above),
                frameon=False, borderaxespad=0, handlelength=1.4, columnspacing=1.4)


def published_handle():
    return lines.Line2D([], [], label="published (T3, ASPLOS 2024)", **PUBLISHED_STYLE)


def range_handle():
    return lines.Line2D([], [], color="black", marker="|", linestyle="-", linewidth=1,
                        label="5-95 % of the draws")


# --- speed-up ----------------------------------------------------------------

def summary_bars(axes, columns, values, ranges, start):
    """Bars of all sub-layers together, with what is published: [(name, {config: figure})]."""
    for number, (_, names) in enumerate(columns):
        for config, offset in zip(RANGED_CONFIGS, offsets(len(RANGED_CONFIGS))):
            name, x = names[config], start + number + offset
            axes.bar(x, values[name], WIDTH / len(RANGED_CONFIGS), color=COLOURS[config])
            error_bars(axes, [x], [ranges[name]] if name in ranges else [])
            if PUBLISHED_VALUES[name] is not None:
                axes.plot(x, PUBLISHED_VALUES[name], **PUBLISHED_STYLE)


def speedup_bars(axes, workloads, columns, group, values, ranges, by_sublayer):
    bars, groups = places(workloads)
    handles = []
    for config, offset in zip(RANGED_CONFIGS, offsets(len(RANGED_CONFIGS))):
        xs = [x + offset for x, *_ in bars]
        handles.append(axes.bar(xs, speedups([work for *_, work in bars], config),
                                WIDTH / len(RANGED_CONFIGS), color=COLOURS[config],
                                label=CONFIG_NAMES[config]))
        names = [label(work) for *_, work in bars]
        error_bars(axes, xs, [by_sublayer[name][config] for name in names]
                   if all(name in by_sublayer for name in names) else [])
    start = bars[-1][0] + 1 + GAP
    summary_bars(axes, columns, values, ranges, start)
    axes.axhline(1, color="black", linewidth=0.8, linestyle=(0, (4, 3)))
    name_places(axes, bars + [(start + number, name) for number, (name, _) in enumerate(columns)],
                groups + [(start + (len(columns) - 1) / 2, group)])
    axes.set_ylim(0, None)
    axes.set_ylabel("speed-up over Sequential")
    legend(axes, handles + [published_handle()] + ([range_handle()] if ranges else []), 5)


def columns_of(more):
    return [(what, {config: f"{CONFIG_NAMES[config]}{more}, {what}" for config in RANGED_CONFIGS})
            for what in ("geomean", "max")]


def plot_speedups(workloads, values, ranges, by_sublayer, directory):
    figure, axes = pyplot.subplots(figsize=(13, 4.8))
    speedup_bars(axes, workloads, columns_of(""), f"all {len(workloads)}", values, ranges,
                 by_sublayer)
    axes.set_title("Speed-up of Transformer sub-layers over Sequential", pad=30)
    caption(figure, "Sequential (1.0, dashed) runs GEMM, ring reduce-scatter and all-gather one "
            "after the other. Ideal overlap hides the shorter one of GEMM and reduce-scatter.\n"
            "T3 runs the reduce-scatter inside the GEMM; MCA also gives the GEMM's memory requests "
            "precedence. Bars: default parameters of the timed model (virtual time)."
            + ("\nBlack ranges: all assumed parameters drawn jointly from their ranges."
               if ranges else "")
            + " Sub-layers with \"=\" have one shape, and so the same bars.")
    return save(figure, directory, "speedup")


def plot_predicted(workloads, values, ranges, by_sublayer, directory):
    figure, axes = pyplot.subplots(figsize=(13, 4.8))
    group = "PALM and MT-NLG"
    speedup_bars(axes, workloads, columns_of(f", {group}"), group, values, ranges, by_sublayer)
    axes.set_title("Predicted: larger models, which no parameter was fitted to", pad=30)
    caption(figure, "As above, with 2 K tokens over 32 ranks. The parameters were chosen before "
            "these models were run. Published are the T3-MCA figures of PALM and MT-NLG together;\n"
            "the maximum of 1.35 is less certain.")
    return save(figure, directory, "predicted")


def plot_distribution(workloads, directory):
    """What a sub-layer's time consists of."""
    figure, axes = pyplot.subplots(figsize=(13, 4.2))
    bars, groups = places(workloads)
    bottom = [0.0] * len(bars)
    for key, (name, colour) in PHASE_STYLES.items():
        parts = [100 * work["phases"][key] / work["configs"]["sequential"]["virtual_ps"]
                 for *_, work in bars]
        drawn = axes.bar([x for x, *_ in bars], parts, WIDTH, bottom, color=colour, label=name)
        axes.bar_label(drawn, fmt="%.0f", label_type="center", color="white", fontsize=9)
        bottom = [below + part for below, part in zip(bottom, parts)]
    name_places(axes, bars, groups)
    axes.set_ylim(0, 100)
    axes.set_ylabel("% of Sequential's time")
    axes.set_title("What the time of a sub-layer consists of, Sequential", pad=30)
    legend(axes, axes.get_legend_handles_labels()[0], 3)
    caption(figure, "T3 can hide the shorter one of GEMM and reduce-scatter. The all-gather "
            "stays as it is. Default parameters of the timed model.")
    return save(figure, directory, "distribution")


def plot_variants(workloads, directory):
    shown = ["t3-mca", "t3-mca-ag", "direct", "ideal-nmc"]
    figure, axes = pyplot.subplots(figsize=(13, 4.8))
    bars, groups = places(workloads)
    start, handles = bars[-1][0] + 1 + GAP, []
    for config, offset in zip(shown, offsets(len(shown))):
        values = speedups([work for *_, work in bars], config)
        handles.append(axes.bar([x + offset for x, *_ in bars] + [start + offset],
                                values + [geomean(speedups(workloads, config))],
                                WIDTH / len(shown), color=COLOURS[config],
                                label=CONFIG_NAMES[config]))
    axes.axhline(1, color="black", linewidth=0.8, linestyle=(0, (4, 3)))
    name_places(axes, bars + [(start, "geomean")], groups + [(start, f"all {len(workloads)}")])
    axes.set_ylim(0, None)
    axes.set_ylabel("speed-up over Sequential")
    axes.set_title("What the paper discusses without figures", pad=30)
    legend(axes, handles, 4)
    caption(figure, "T3-MCA as above, then with the all-gather triggered tile by tile, then with a "
            "direct reduce-scatter on a full fabric (each store goes to the chunk's owner).\n"
            "Ideal, RS+NMC: ideal overlap with a reduce-scatter that adds in memory. Default "
            "parameters; nothing is published to compare these with.")
    return save(figure, directory, "variants")


# --- a model by its config.json ----------------------------------------------

def plot_model_speedups(workloads, directory):
    shown = [config for config in MODEL_NAMES if any(config in work["configs"] for work in workloads)]
    figure, axes = pyplot.subplots(figsize=(13, 4.8))
    bars, groups = places(workloads)
    handles = []
    for config, offset in zip(shown, offsets(len(shown))):
        have = [(x, work) for x, _, work in bars if config in work["configs"]]
        handles.append(axes.bar([x + offset for x, _ in have], speedups([work for _, work in have], config),
                                WIDTH / len(shown), color=COLOURS[config], label=MODEL_NAMES[config]))
    axes.axhline(1, color="black", linewidth=0.8, linestyle=(0, (4, 3)))
    name_places(axes, [(x, wrapped(name), work) for x, name, work in bars], groups, -0.28)
    axes.set_ylim(0, None)
    axes.set_ylabel("speed-up over Sequential")
    axes.set_title("Speed-up of sub-layers over Sequential", pad=30)
    legend(axes, handles, 6)
    caption(figure, "Sequential (1.0, dashed) runs the GEMM, then its collective. Sub-layers with \"=\" "
            "have one shape, and so the same bars.")
    return save(figure, directory, "model-speedup")


def wrapped(name):
    """A word a line, as bars are narrow."""
    return name.replace(" = ", " =\n").replace(" ", "\n").replace("\n=", " =")


def plot_model_parts(workloads, directory):
    """What a sub-layer's time consists of: an all-to-all is no reduce-scatter, and counts as all-gather."""
    figure, axes = pyplot.subplots(figsize=(13, 4.2))
    bars, groups = places(workloads)
    bottom = [0.0] * len(bars)
    for key, (name, colour) in PHASE_STYLES.items():
        name = "all-gather or all-to-all" if key == "all_gather_ps" else name
        parts = [100 * work["phases"][key] / work["configs"]["sequential"]["virtual_ps"]
                 for *_, work in bars]
        drawn = axes.bar([x for x, *_ in bars], parts, WIDTH, bottom, color=colour, label=name)
        axes.bar_label(drawn, [f"{part:.0f}" if part >= 4 else "" for part in parts], label_type="center",
                       color="white", fontsize=9)
        bottom = [below + part for below, part in zip(bottom, parts)]
    name_places(axes, [(x, wrapped(name), work) for x, name, work in bars], groups, -0.28)
    axes.set_ylim(0, 100)
    axes.set_ylabel("% of Sequential's time")
    axes.set_title("What the time of a sub-layer consists of, Sequential", pad=30)
    legend(axes, axes.get_legend_handles_labels()[0], 3)
    return save(figure, directory, "model-parts")


def plot_model_iteration(iteration, directory):
    """Shares of the kinds of operators, and the time of each configuration."""
    names = {"sequential": "Sequential"} | MODEL_NAMES
    configs = [config for config in names if config in iteration["configs"]][::-1]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, 0.34 * len(configs) + 1.6))
    kinds = [(kind, 100 * share) for kind, share in iteration["shares"].items()][::-1]
    for axes, rows, places_of, what in (
            (left, [share for _, share in kinds], [kind for kind, _ in kinds], "% of the time, Sequential"),
            (right, [iteration["configs"][config]["iteration_ps"] / 1e9 for config in configs],
             [names[config] for config in configs], "ms")):
        drawn = axes.barh(range(len(rows)), rows, 0.7, color=COLOURS["t3-mca"])
        axes.bar_label(drawn, [f"{value:.1f}" for value in rows], padding=3, fontsize=8)
        axes.set_yticks(range(len(rows)), places_of)
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False)
        axes.set_xlabel(what)
    left.set_title("What an iteration consists of")
    right.set_title("Its time in each configuration")
    figure.subplots_adjust(wspace=0.45)
    return save(figure, directory, "model-iteration")


def model_plots(workloads, iteration, directory):
    """{name: SVG}"""
    plots = {}
    if any(set(work["configs"]) & set(MODEL_NAMES) for work in workloads):
        plots["model-speedup"] = plot_model_speedups(workloads, directory)
    if workloads:
        plots["model-parts"] = plot_model_parts(workloads, directory)
    return plots | {"model-iteration": plot_model_iteration(iteration, directory)}


# --- traffic -----------------------------------------------------------------

def traffic_stack(axes, bars, config, offset):
    bottom = [0.0] * len(bars)
    for kind in KINDS:
        values = [memory(work, config, kind) / memory(work, "sequential") for *_, work in bars]
        axes.bar([x + offset for x, *_ in bars], values, WIDTH / 2 - 0.03, bottom,
                 color=KIND_COLOURS[kind], label=KIND_NAMES[kind])
        bottom = [below + value for below, value in zip(bottom, values)]


def plot_traffic(workloads, ranges, by_sublayer, directory):
    figure, axes = pyplot.subplots(figsize=(13, 4.8))
    bars, groups = places(workloads)
    for config, offset in zip(("sequential", "t3-mca"), offsets(2)):
        traffic_stack(axes, bars, config, offset)
    handles = axes.get_legend_handles_labels()[0][:len(KINDS)]
    right = offsets(2)[1]
    if by_sublayer:
        error_bars(axes, [x + right for x, *_ in bars],
                   [by_sublayer[label(work)]["dram"] for *_, work in bars])
    start = bars[-1][0] + 1 + GAP
    relative = [1 / ratio(work) for work in workloads]
    for number, (what, of) in enumerate((("geomean", geomean), ("max", min))):
        name, x = f"DRAM traffic, {what}", start + number
        axes.bar([x + offset for offset in offsets(2)], [1, of(relative)], WIDTH / 2 - 0.03,
                 color="#bbbbbb")
        if name in ranges:
            error_bars(axes, [x + right], [tuple(1 + value for value in ranges[name])])
        axes.plot(x + right, 1 + PUBLISHED_VALUES[name], **PUBLISHED_STYLE)
    name_places(axes, bars + [(start, "geomean"), (start + 1, "most\nsaved")],
                groups + [(start + 0.5, f"all {len(workloads)}")])
    axes.set_ylim(0, None)
    axes.set_ylabel("DRAM bytes, Sequential = 1")
    axes.set_title("DRAM traffic by kind: Sequential (left bar) and T3-MCA (right bar)", pad=46)
    legend(axes, handles + [published_handle()] + ([range_handle()] if ranges else []), 4)
    caption(figure, "T3 writes the first chunk straight to the neighbour, adds updates in memory "
            "(near-memory compute) and reads a chunk only to send it on;\nits output does not "
            "pass the last-level cache, so more of the GEMM's operands stay there."
            + (" Black ranges: all assumed parameters drawn jointly." if ranges else ""))
    return save(figure, directory, "traffic")


# --- figures -----------------------------------------------------------------

def plot_agreement(comparison, directory):
    """Each published figure on a scale of its own: the difference, in percent of it."""
    comparison = [row for row in comparison if row["published"] is not None]
    figure, axes = pyplot.subplots(figsize=(9, 0.36 * len(comparison) + 1.2))
    for place, row in enumerate(reversed(comparison)):
        off = lambda value, row=row: 100 * (value / row["published"] - 1)  # noqa: E731
        if "low" in row:
            axes.plot([off(row["low"]), off(row["high"])], [place] * 2, color="black",
                      linewidth=1.2)
            axes.plot(off(row["median"]), place, marker="|", markersize=12, color="black")
        axes.plot(off(row["here"]), place, marker="o", markersize=7, color=COLOURS["t3-mca"])
    axes.axvline(0, color=PUBLISHED_STYLE["color"], linewidth=1)
    axes.set_yticks(range(len(comparison)),
                    [f"{row['figure']}: {published_text(row['published'])}"
                     for row in reversed(comparison)])
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("difference from the published figure, in percent of it")
    axes.set_title("Published figures, and how far the model is from each", pad=30, loc="left")
    handles = [lines.Line2D([], [], color=PUBLISHED_STYLE["color"], label="published"),
               lines.Line2D([], [], color=COLOURS["t3-mca"], marker="o", linestyle="none",
                            label="default parameters")]
    if any("low" in row for row in comparison):
        handles.append(lines.Line2D([], [], color="black", marker="|", markersize=10,
                                    label="median and 5-95 % of the draws"))
    legend(axes, handles, 3)
    caption(figure, "The number after each name is the published value: a speed-up, a ratio of "
            "reads, or a change of traffic.\nA range that crosses the red line holds the published "
            "value.")
    return save(figure, directory, "agreement")


def plot_effects(effects, middles, directory, count=12):
    """`effects`: {figure: draws.effects()}, `middles`: {figure: median}."""
    figure, all_axes = pyplot.subplots(1, len(effects), figsize=(13, 0.34 * count + 1.4),
                                       squeeze=False)
    for axes, (name, found) in zip(all_axes[0], effects.items()):
        shown = found[:count][::-1]
        for place, (_, low, high) in enumerate(shown):
            for value, colour in ((low, "#e69f00"), (high, "#0072b2")):
                axes.barh(place, value - middles[name], color=colour, height=0.7)
        axes.axvline(0, color="black", linewidth=0.8)
        axes.xaxis.set_major_locator(ticker.MaxNLocator(6, steps=[1, 2, 5, 10]))
        axes.set_yticks(range(len(shown)), [parameter for parameter, *_ in shown])
        axes.grid(axis="x")
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(f"{name}: change of the median, which is {middles[name]:.3f}")
    all_axes[0][0].set_title("Which assumption moves the result", pad=30, loc="left")
    legend(all_axes[0][0], [pyplot.Rectangle((0, 0), 1, 1, color=colour, label=text)
                            for text, colour in (("parameter in its lowest third", "#e69f00"),
                                                 ("in its highest third", "#0072b2"))], 2)
    figure.subplots_adjust(wspace=0.45)
    caption(figure, "Of the joint draws: the median of those in which a parameter is in the lowest "
            "or highest third of its range, less the median of all.\nThe "
            f"{count} strongest are shown. Bars of a length near the last ones are chance.")
    return save(figure, directory, "effects")
