"""The plots of the report as matplotlib figures, for papers and notebooks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seriatim.errors import DataError, ParameterError, SeriatimError
from seriatim.report import words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# The colours of the page. From the eighth line on they repeat with dashes.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b0578f", "#d08f00", "#4aaee6", "#5c6066")
DASHES = ("-", (0, (4, 2)), (0, (1, 1.5)), "-.")
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8a8f96",
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "grid.color": "#e3e3df",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "xtick.color": "#666b72",
    "ytick.color": "#666b72",
    "svg.hashsalt": "seriatim",  # makes the file reproducible
}
BARS = 20  # most features in a figure
PANELS = 12  # most classes in a figure
Result = Mapping[str, Any]


def figure(result: Result, kind: str) -> Figure:
    """One plot of a result: curves, time, updates, regret, confusion, features or drift.

    >>> curve = {"examples": [10, 20], "mean": [0.4, 0.3], "deviation": [0.1, 0.05]}
    >>> entry = {"label": "pa", "figures": {"mistake rate": [0.3, 0.05]}, "best": True, "curve": curve}
    >>> result = {"title": "mine", "setting": {}, "measure": "mistake rate", "algorithms": [entry]}
    >>> [line.get_label() for line in figure(result, "curves").axes[0].lines]
    ['pa']
    """
    result = words.checked(result)
    if kind not in KINDS:
        raise ParameterError(f"{kind!r} is not a figure; use one of {words.listed(KINDS)}")
    if not has(result, kind):
        raise DataError(f"the result has no data for the figure {kind!r}")
    matplotlib = imported()
    with matplotlib.rc_context(STYLE):
        return KINDS[kind](result)


def save_figures(result: Result, folder: str | os.PathLike[str], format: Literal["png", "svg"] = "png") -> list[Path]:
    """Write each plot that the result has data for to a file named by its kind. Creates the folder if necessary.

    >>> import tempfile
    >>> time = {"seconds": [1, 2], "value": [0.4, 0.3]}
    >>> entry = {"label": "pa", "figures": {"mistake rate": [0.3, 0.05]}, "time": time}
    >>> result = {"title": "mine", "setting": {}, "measure": "mistake rate", "algorithms": [entry]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save_figures(result, folder, "svg")]
    ['time.svg']
    """
    from seriatim.files import whole_file

    if format not in ("png", "svg"):
        raise ParameterError(f"format={format!r}: must be png or svg")
    result = words.checked(result)
    matplotlib = imported()
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    written = []
    for kind in KINDS:
        if has(result, kind):
            path = place / f"{kind}.{format}"
            with whole_file(path) as temporary, matplotlib.rc_context(STYLE):
                metadata = {"Date": None} if format == "svg" else None
                figure(result, kind).savefig(temporary, format=format, dpi=160, bbox_inches="tight", metadata=metadata)
            written.append(path)
    return written


def imported() -> Any:
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError:
        raise SeriatimError("figures need matplotlib: pip install 'seriatim[report]'") from None
    return matplotlib


def has(result: Result, kind: str) -> bool:
    """Whether the result has data for this figure."""
    winner = result.get("winner") or {}
    where = {"curves": "curve", "time": "time", "updates": "updates"}
    if kind in where:
        return any(entry.get(where[kind]) for entry in result["algorithms"])
    if kind == "regret":
        return bool(result.get("regret"))
    return bool(winner.get({"confusion": "confusion", "features": "heaviest", "drift": "file_order"}[kind]))


def blank(width: float = 7.0, height: float = 4.0) -> Figure:
    return imported().figure.Figure(figsize=(width, height), layout="constrained")


def axes_of(made: Figure, name_x: str, name_y: str) -> Axes:
    axes = made.add_subplot()
    axes.set_xlabel(name_x)
    axes.set_ylabel(name_y)
    return axes


def look(result: Result) -> dict[str, dict[str, Any]]:
    """The colour and the dashes of each label, the same in all figures."""
    labels = dict.fromkeys(str(one["label"]) for one in (*result["algorithms"], *(result.get("regret") or ())))
    return {
        label: {
            "color": COLOURS[i % len(COLOURS)],
            "linestyle": DASHES[i // len(COLOURS) % len(DASHES)],
            "linewidth": 2.0 if i == 0 else 1.2,
            "zorder": 3 if i == 0 else 2,
        }
        for i, label in enumerate(labels)
    }


def numbers(values: Iterable[float | None]) -> list[float]:
    return [float("nan") if value is None else float(value) for value in values]


def lines(axes: Axes, result: Result, name: str, x: str, y: str) -> None:
    """Draw a line for each algorithm, with a band of one deviation. The legend has the order of the line ends."""
    looks = look(result)
    for entry in result["algorithms"]:
        if curve := entry.get(name):
            style = looks[str(entry["label"])]
            places, values = numbers(curve[x]), numbers(curve[y])
            axes.plot(places, values, label=text(entry["label"]), **style)
            around = [0.0 if value is None else value for value in curve.get("deviation") or ()]
            if any(around):
                low = [value - one for value, one in zip(values, around, strict=True)]
                high = [value + one for value, one in zip(values, around, strict=True)]
                axes.fill_between(places, low, high, color=style["color"], alpha=0.13, linewidth=0)
    legend_by_end(axes)


def text(label: Any) -> str:
    """Escape a label: matplotlib reads dollars as mathematics and hides labels that begin with _."""
    plain = str(label).replace("$", r"\$")
    return f"\N{ZERO WIDTH SPACE}{plain}" if plain.startswith("_") else plain


def legend_by_end(axes: Axes) -> None:
    def end(line: Line2D) -> float:
        values = np.asarray(line.get_ydata(), dtype=float)
        return values[np.isfinite(values)][-1] if np.isfinite(values).any() else -np.inf

    axes.legend(handles=sorted(axes.lines, key=end, reverse=True), loc="center left", bbox_to_anchor=(1.0, 0.5))


def settled(axes: Axes, result: Result) -> None:
    """Cut off the high values of the first examples if they would flatten the rest of the curves."""
    found = [
        (value, at >= 0.03 * entry["curve"]["examples"][-1])
        for entry in result["algorithms"]
        if entry.get("curve")
        for at, value in zip(entry["curve"]["examples"], entry["curve"]["mean"], strict=True)
        if words.finite(value)
    ]
    top, late = (
        max((value for value, _ in found), default=0),
        max((value for value, is_late in found if is_late), default=0),
    )
    if 0 < late < 0.8 * top:
        axes.set_ylim(top=late * 1.08)


def curves(result: Result) -> Figure:
    made = blank()
    axes = axes_of(made, "examples", words.followed(result))
    lines(axes, result, "curve", "examples", "mean")
    settled(axes, result)
    thousands(axes)
    return made


def time(result: Result) -> Figure:
    made = blank()
    axes = axes_of(made, "seconds", words.followed(result))
    axes.set_xscale("log")
    lines(axes, result, "time", "seconds", "value")
    return made


def updates(result: Result) -> Figure:
    made = blank()
    axes = axes_of(made, "examples", "updates")
    lines(axes, result, "updates", "examples", "mean")
    thousands(axes, both=True)
    return made


def regret(result: Result) -> Figure:
    """Regret as a line, its bound dotted. Positive values have logarithmic axes, where powers of T are straight."""
    made = blank()
    axes = axes_of(made, "examples", "regret")
    looks, ends = look(result), []
    for one in result["regret"]:
        style = looks[str(one["label"])]
        axes.plot(one["examples"], numbers(one["regret"]), label=text(one["label"]), **style)
        ends += [one["regret"][-1]]
        if one.get("bound"):
            axes.plot(
                one["examples"],
                numbers(one["bound"]),
                **style | {"linestyle": (0, (1, 2))},
                label=text(f"{one['label']}, bound"),
            )
            ends += [one["bound"][-1]]
    if all(words.finite(end) and end > 0 for end in ends):
        axes.set_xscale("log")
        axes.set_yscale("log")
    legend_by_end(axes)
    return made


def confusion(result: Result) -> Figure:
    """Counts, shaded by their fraction of the true class."""
    winner = result["winner"]
    counts = winner["confusion"]
    names = [text(name) for name in winner.get("classes") or range(len(counts))]
    shares = [[count / (sum(row) or 1) for count in row] for row in counts]
    size = min(12.0, 2.2 + 0.36 * len(names))
    made = blank(size, size)
    axes = axes_of(made, "predicted", "true")
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.set_xticks(range(len(names)), names, rotation=90 if max(map(len, names)) > 3 and len(names) > 4 else 0)
    axes.set_yticks(range(len(names)), names)
    if len(names) <= 30:
        for i, row in enumerate(counts):
            for j, count in enumerate(row):
                if count:
                    shade, size = "white" if shares[i][j] > 0.55 else "#1b1d20", 9 if len(names) < 10 else 7
                    cell = axes.text(j, i, f"{count:,}", ha="center", va="center", color=shade, fontsize=size)
                    cell.set_in_layout(False)  # saves the layout from measuring hundreds of texts
    return made


def features(result: Result) -> Figure:
    """The features with the largest weights, one panel per class."""
    groups: dict[Any, list[tuple[str, float]]] = {}
    for label, name, weight in result["winner"]["heaviest"]:
        groups.setdefault(label, []).append((text(name), float(weight)))
    shown = list(groups.items())[:PANELS]
    limit, across = (BARS, 1) if len(shown) == 1 else (8, 3)
    down = -(-len(shown) // across)
    longest = max(len(weights[:limit]) for _, weights in shown)
    made = blank(7.0 if across == 1 else 9.0, down * (0.6 + 0.2 * longest))
    panels = made.subplots(down, across, squeeze=False, sharex=True).flat
    for axes, (label, weights) in zip(panels, shown, strict=False):
        picked = sorted(weights[:limit], key=lambda pair: pair[1])
        values = [weight for _, weight in picked]
        axes.barh(range(len(picked)), values, color=[COLOURS[weight < 0] for weight in values], height=0.62)
        axes.set_yticks(range(len(picked)), [name for name, _ in picked])
        axes.tick_params(axis="y", length=0)
        axes.grid(False)
        axes.spines["left"].set_visible(False)
        axes.axvline(0, color="#8a8f96", linewidth=0.8)
        if label is not None:
            axes.set_title(text(label) if len(shown) > 1 else f"weights for {text(label)}")
    for axes in list(panels):
        axes.set_visible(False)
    return made


def drift(result: Result) -> Figure:
    """The measure in file order, with the detected changes."""
    winner = result["winner"]
    order = winner["file_order"]
    made = blank()
    axes = axes_of(made, "examples", words.followed(result))
    if order.get("recent"):
        axes.plot(
            order["examples"],
            numbers(order["recent"]),
            color=COLOURS[0],
            linewidth=1.8,
            label=f"last {order['window']:,}",
        )
    axes.plot(order["examples"], numbers(order["value"]), color=COLOURS[6], linewidth=1.2, label="so far")
    free, room = -np.inf, 0.17 * order["examples"][-1]  # the width of one text above the frame
    for mark in winner.get("drift") or ():
        axes.axvline(mark["at"], color="#1b1d20", linewidth=0.8, linestyle=":")
        if mark["at"] >= free and words.finite(mark.get("before")) and words.finite(mark.get("after")):
            free = mark["at"] + room
            said = f"{mark['before']:.4f} → {mark['after']:.4f}"
            axes.annotate(
                said, (mark["at"], 1.0), xycoords=("data", "axes fraction"), ha="center", va="bottom", fontsize=7
            )
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    thousands(axes)
    return made


def thousands(axes: Axes, both: bool = False) -> None:
    for axis in (axes.xaxis, axes.yaxis) if both else (axes.xaxis,):
        axis.set_major_formatter("{x:,.0f}")


KINDS: dict[str, Callable[[Result], Figure]] = {
    "curves": curves,
    "time": time,
    "updates": updates,
    "regret": regret,
    "confusion": confusion,
    "features": features,
    "drift": drift,
}
