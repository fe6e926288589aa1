# SPDX-License-Identifier: MIT
"""The plots of sweeps and of whole iterations."""

from matplotlib import lines, patches, pyplot, ticker

from paper_figures import CONFIG_NAMES
from paper_iteration import KINDS, PHASES, PUBLISHED, title
from paper_plots import COLOURS, PUBLISHED_STYLE, caption, save
from paper_sweeps import SWEEPS

TOP = 0.84  # of the panels
LINES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
VALUES = ["#56b4e9", "#0072b2", "#009e73", "#cc79a7"]
KIND_COLOURS = dict(zip(KINDS, ("#0072b2", "#7fb2dd", "#d1711d", "#999999")))


def head(figure, text, inches):
    """A title above all panels, which begin TOP up."""
    figure.suptitle(text, x=0.125, ha="left", fontsize=13, fontweight="bold", va="bottom",
                    y=above(figure, inches))
    figure.subplots_adjust(top=TOP)


def above(figure, inches):
    return TOP + inches / figure.get_size_inches()[1]


def head_legend(figure, handles):
    figure.legend(handles=handles, ncol=len(handles), loc="lower left", frameon=False,
                  borderaxespad=0, bbox_to_anchor=(0.125, above(figure, 0.32)))


# --- sweeps ------------------------------------------------------------------

def colours_of(columns):
    """A configuration has its own colour, unless all columns are of one."""
    configs = [column.config for column in columns]
    if len(set(configs)) == len(configs):
        return [COLOURS.get(config, "#222222") for config in configs]
    return LINES


def drawn(rows, column):
    """The points that there are: ([value], [figure])."""
    found = [(row["value"], row[column.name]) for row in rows if row[column.name] is not None]
    return [value for value, _ in found], [figure for _, figure in found]


def scale_of_values(axes, sweep):
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(ticker.FixedLocator(sweep.values))
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.set_xticks(sweep.values, [sweep.value_name(value).replace(" ", "\n")
                                   for value in sweep.values])
    axes.set_xlabel(sweep.axis)
    if sweep.default:
        axes.axvline(sweep.default, color=PUBLISHED_STYLE["color"], linewidth=1, linestyle=":")


def line_panel(axes, sweep, panel, rows):
    for column, colour in zip(panel.columns, colours_of(panel.columns)):
        axes.plot(*drawn(rows, column), color=colour, marker="o", markersize=4, label=column.label)
    scale_of_values(axes, sweep)
    if panel.log:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))
        axes.yaxis.set_minor_locator(ticker.NullLocator())
    elif panel.axis.startswith("speed-up"):
        axes.axhline(1, color="black", linewidth=0.8, linestyle=(0, (4, 3)))
    else:
        axes.set_ylim(0, None)


def bar_panel(axes, sweep, panel, rows):
    count = len(rows)
    for number, (row, colour) in enumerate(zip(rows, VALUES)):
        xs = [at + (number - (count - 1) / 2) * 0.8 / count for at in range(len(panel.columns))]
        bars = axes.bar(xs, [row[column.name] or 0 for column in panel.columns], 0.8 / count,
                        color=colour, label=f"{sweep.value_name(row['value'])}")
        axes.bar_label(bars, fmt=f"%.{panel.columns[0].places - 1}f", fontsize=8, padding=1)
    axes.set_xticks(range(len(panel.columns)), [column.label for column in panel.columns])
    axes.tick_params(axis="x", length=0)
    axes.axhline(1, color="black", linewidth=0.8, linestyle=(0, (4, 3)))


def workload_text(points):
    """Which sub-layers were run."""
    models = {}
    for point in points:
        if "model" in point:
            models.setdefault(point["model"], set()).add(point["tp"])
    if not models:
        return ""
    return "\nSub-layers of " + ", ".join(
        f"{model}, TP {' and '.join(map(str, sorted(degrees)))}" if len(degrees) < 3 else model
        for model, degrees in models.items()) + "; several together are a geometric mean."


def plot_sweep(sweep, found, directory):
    sweep = sweep._replace(values=tuple(row["value"] for row in found["table"]))
    same = len({panel.axis for panel in sweep.panels}) == 1
    figure, all_axes = pyplot.subplots(1, len(sweep.panels), figsize=(13, 4), squeeze=False,
                                       sharey=same)
    for number, (axes, panel) in enumerate(zip(all_axes[0], sweep.panels)):
        (bar_panel if sweep.bars else line_panel)(axes, sweep, panel, found["table"])
        if not (same and number):
            axes.set_ylabel(panel.axis)
        axes.set_title(panel.title, fontsize=10.5, pad=24)
        axes.legend(loc="lower left", bbox_to_anchor=(-0.01, 0.99), ncol=4, frameon=False,
                    fontsize=8, handlelength=1, columnspacing=0.8, handletextpad=0.4)
    if sweep.bars:  # at last, as panels may share the axis
        all_axes[0][0].set_ylim(0, None)
    head(figure, sweep.title, 0.6)
    figure.subplots_adjust(wspace=0.08 if same else 0.28)
    text = sweep.caption + workload_text(found["points"])
    if sweep.default and not sweep.bars:
        text += " The dotted line is the published machine."
    if sweep.published:
        text += f"\nPublished, without figures: {sweep.published}."
    caption(figure, text)
    return save(figure, directory, f"sweep-{sweep.name}")


# --- iterations --------------------------------------------------------------

def plot_shares(found, directory):
    """What an iteration consists of with Sequential."""
    figure, all_axes = pyplot.subplots(1, 2, figsize=(13, 0.42 * len(found) + 1.2), sharey=True)
    for axes, (phase, name) in zip(all_axes, PHASES.items()):
        left = [0.0] * len(found)
        for kind in KINDS:
            widths = [100 * one[phase]["shares"][kind] for one in reversed(found)]
            bars = axes.barh(range(len(found)), widths, 0.7, left, color=KIND_COLOURS[kind])
            axes.bar_label(bars, [f"{width:.0f}" if width >= 4 else "" for width in widths],
                           label_type="center", fontsize=8,
                           color="black" if kind in ("other GEMMs", "memory-bound") else "white")
            left = [before + width for before, width in zip(left, widths)]
        axes.set_yticks(range(len(found)), [title(one) for one in reversed(found)])
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False)
        axes.set_xlim(0, 100)
        axes.set_xlabel("% of the time, Sequential")
        axes.set_title(name.capitalize(), fontsize=10.5)
    head(figure, "What a whole iteration consists of", 0.62)
    handles = [patches.Patch(color=KIND_COLOURS[kind], label=kind) for kind in KINDS]
    head_legend(figure, handles)
    figure.subplots_adjust(wspace=0.06)
    caption(figure, "All-reduce sub-layers: GEMM, reduce-scatter and all-gather of OP and FC-2 "
            "(forward), FC-1 and IP (backward). Only these become faster.\nMemory-bound: layer "
            "norm, softmax, dropout, GeLU, residual, optimizer; they take "
            "as long as their bytes need at the memory's full rate.")
    return save(figure, directory, "iteration-shares")


def plot_iterations(found, directory):
    figure, all_axes = pyplot.subplots(1, 2, figsize=(13, 4.2), sharey=True)
    for axes, (phase, phase_name) in zip(all_axes, PHASES.items()):
        for number, config in enumerate(("ideal", "t3", "t3-mca")):
            xs = [at + (number - 1) * 0.27 for at in range(len(found))]
            axes.bar(xs, [100 * (one[phase]["configs"][config]["speedup"] - 1) for one in found],
                     0.27, color=COLOURS[config], label=CONFIG_NAMES[config])
        axes.axhline(100 * (PUBLISHED[phase] - 1), color=PUBLISHED_STYLE["color"], linewidth=1.2,
                     linestyle=(0, (4, 3)))
        names = [one["name"].replace("Mega-", "Mega-\n") for one in found]
        axes.set_xticks(range(len(found)), [f"{name}\nTP {one['tp']}" for name, one in
                                           zip(names, found)], fontsize=8.5)
        axes.tick_params(axis="x", length=0)
        axes.set_title(phase_name.capitalize(), fontsize=10.5)
    all_axes[0].set_ylim(0, None)
    all_axes[0].set_ylabel("faster than Sequential, %")
    head(figure, "What a whole iteration gains", 0.62)
    handles = all_axes[0].get_legend_handles_labels()[0] + [
        lines.Line2D([], [], color=PUBLISHED_STYLE["color"], linestyle=(0, (4, 3)),
                     label="published: up to about, T3-MCA")]
    head_legend(figure, handles)
    figure.subplots_adjust(wspace=0.06)
    caption(figure, "The gain of the all-reduce sub-layers, spread over a whole iteration. "
            "Published are only the most that training (12 %) and prompt phase (15 %) gain, "
            "about.\nDefault parameters; nothing is fitted to these.")
    return save(figure, directory, "iteration")


def iteration_plots(iterations, directory):
    """{name: SVG}"""
    if not iterations:
        return {}
    return {"iteration-shares": plot_shares(iterations, directory),
            "iteration": plot_iterations(iterations, directory)}


def sweep_plots(found, directory):
    """{name: SVG} of those that were run."""
    return {f"sweep-{sweep.name}": plot_sweep(sweep, found[sweep.name], directory)
            for sweep in SWEEPS if sweep.name in found}
