"""The report: one HTML file that needs nothing else, on the screen and on paper."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from seriatim.report import words
from seriatim.report.words import is_alike, mean_and_deviation, number, spread

POINTS = 600  # of a curve; more are not seen, and make the file large
MATRIX = 40  # classes of a confusion matrix that is still read; of more only the gravest confusions are told
ROOMY = 8  # classes up to which a cell holds both the count and the share
CONFUSIONS = 10
PANELS = 30  # classes whose heaviest features are shown


def html(result: Mapping[str, Any]) -> str:
    """The page of a comparison, from what `Comparison.as_dict()` gives.

    Parts of the result that are absent or None have no section. Nothing is loaded from elsewhere when it is opened.

    >>> entry = {"label": "pa", "figures": {"mistake rate": [0.1, 0.01]}, "best": True}
    >>> page = html({"title": "mine", "setting": {"examples": 9}, "measure": "mistake rate", "algorithms": [entry]})
    >>> "<title>mine" in page, "https://" in page
    (True, False)
    """
    words.checked(result)
    style, script = part("style.css"), part("plots.js")
    sections = (results, curves, time, updates, regret, confusion, features, file_order, repeat)
    return Template(part("page.html")).substitute(
        policy=escape(policy(style, script)),
        style=style,
        script=script,
        title=escape(str(result["title"])),
        lead=lead(result),
        sections="\n".join(filter(None, (section(result) for section in sections))),
        maker=escape(f"Seriatim {(result['setting'].get('versions') or {}).get('seriatim', '')}".strip()),
        data=embedded(plotted(result)),
    )


def write(result: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the page of a comparison; the file is there when it is whole, or stays as it was.

    >>> import pathlib, tempfile
    >>> entry = {"label": "pa", "figures": {"mean loss": [0.1, None]}, "best": True}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "report.html")
    ...     write({"title": "mine", "setting": {}, "measure": "mean loss", "algorithms": [entry]}, path)
    ...     path.read_text()[:15]
    '<!doctype html>'
    """
    from seriatim.modelfile import whole_file

    text = html(result)
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def part(name: str) -> str:
    return files("seriatim.report").joinpath(name).read_text(encoding="utf-8")


def policy(style: str, script: str) -> str:
    """Only our own style and script, known by their digests, and nothing from anywhere."""

    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    return f"default-src 'none'; style-src {digest(style)}; script-src {digest(script)}; base-uri 'none'; form-action 'none'"


def embedded(value: Any) -> str:
    """JSON for a script element: no text in it can end the element or open another.

    >>> embedded("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


# What the script draws


def plotted(result: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a result that is drawn, with no more digits and points than are seen."""
    winner = result.get("winner") or {}
    order = winner.get("file_order")
    return {
        "measure": str(result["measure"]),
        "algorithms": [
            {"label": str(entry["label"])} | {name: thin(entry[name]) for name in ("curve", "updates", "time") if entry.get(name)}
            for entry in result["algorithms"]
        ],
        "regret": [
            {"label": str(one["label"])} | thin({name: one.get(name) for name in ("examples", "regret", "bound")})
            for one in result.get("regret") or ()
        ],
        "heaviest": [{"class": name, "features": weights} for name, weights in heaviest(winner)],
        "order": thin(order) if order else None,
        "drift": [slim(mark) for mark in winner.get("drift") or ()],
    }


def thin(curve: Mapping[str, Any]) -> dict[str, Any]:
    """A curve of at most so many points, among them the last."""
    length = max((len(values) for values in curve.values() if isinstance(values, list | tuple)), default=0)
    step = math.ceil(length / POINTS) or 1
    return {
        name: slim(values[::-1][::step][::-1] if isinstance(values, list | tuple) else values)
        for name, values in curve.items()
    }


def slim(value: Any) -> Any:
    """As JSON has it: numbers with the digits that are seen, and none that JSON does not know."""
    if isinstance(value, Mapping):
        return {str(key): slim(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [slim(one) for one in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    if not isinstance(value, float):
        return str(value)
    if not math.isfinite(value):
        return None
    short = float(f"{value:.5g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def heaviest(winner: Mapping[str, Any]) -> list[tuple[str | None, list[tuple[str, float]]]]:
    """The heaviest features class by class, those that speak for it first."""
    groups: dict[str | None, list[tuple[str, float]]] = {}
    for label, feature, weight in winner.get("heaviest") or ():
        if words.finite(weight) and weight:
            groups.setdefault(None if label is None else str(label), []).append((str(feature), slim(float(weight))))
    limit = 24 if len(groups) == 1 else 8 if len(groups) <= 12 else 6
    return [(label, sorted(weights[:limit], key=lambda pair: -pair[1])) for label, weights in [*groups.items()][:PANELS]]


# The sections, each "" where there is nothing to show


def section(name: str, title: str, body: str, about: str = "") -> str:
    said = f'<p class="about">{about}</p>' if about else ""
    return f'<section id="{name}"><h2>{title}</h2>{said}\n{body}</section>'


def plot(name: str) -> str:
    return f'<figure class="plot" data-plot="{name}"></figure>'


def lead(result: Mapping[str, Any]) -> str:
    setting = result["setting"]
    said = [words.outcome_in_words(result), words.data_in_words(setting) + " " + words.method_in_words(result)]
    return f'<p class="outcome">{escape(said[0])}</p>\n<p class="setting">{escape(sentence(said[1]))}</p>'


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:] if text.startswith("the ") else text


def results(result: Mapping[str, Any]) -> str:
    """The table; its order is that of the measure until a heading is clicked."""
    names, entries = words.columns(result), result["algorithms"]
    strip = scale([entry["figures"][names[0]] for entry in entries])
    heads = [f'<th scope="col"><button type="button">{escape(name)}</button></th>' for name in names]
    heads.insert(1, '<th class="strip" scope="col" aria-hidden="true"></th>')
    rows = "\n".join(row(entry, names, strip) for entry in entries)
    notes = []
    if any(is_alike(entry) for entry in entries):
        notes.append('<span class="alike">≈</span> does not differ significantly from the best (paired over the orders, 5 %, Holm).')
    if any(runs_of(entry) > 1 for entry in entries):
        notes.append("Mean ± standard deviation over the orders.")
    table = (
        f'<div class="wide"><table class="results sortable"><thead><tr><th scope="col"><button type="button">algorithm</button></th>'
        f'{"".join(heads)}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div><p class="note">{" ".join(notes)}</p>'
    )
    return section("results", "Results", table)


def runs_of(entry: Mapping[str, Any]) -> int:
    return int(entry.get("runs") or 1)


def row(entry: Mapping[str, Any], names: list[str], strip: tuple[float, float]) -> str:
    label, parameters = str(entry["label"]), words.parameter_text(words.changed(entry))
    mark = p_mark(entry)
    head = f'<th scope="row" data-value="{escape(label)}"><span class="label">{escape(label)}</span>{mark}'
    head += f' <span class="parameters">{escape(parameters)}</span></th>' if parameters else "</th>"
    cells = [cell(name, entry["figures"].get(name), runs_of(entry)) for name in names]
    cells.insert(1, f'<td class="strip" aria-hidden="true">{whisker(entry["figures"][names[0]], strip)}</td>')
    return f'<tr{" class=best" if entry.get("best") else ""}>{head}{"".join(cells)}</tr>'


def p_mark(entry: Mapping[str, Any]) -> str:
    if not is_alike(entry):
        return ""
    about = f"does not differ significantly from the best, p = {entry['p']:.2g}"
    return f' <span class="alike" role="img" title="{about}" aria-label="{about}">≈</span>'


def cell(name: str, figure: Any, runs: int) -> str:
    if not figure or not words.finite(figure[0]):
        return f'<td class="number">{words.NOTHING}</td>'
    mean, deviation, unit = spread(name, figure)
    around = f' <span class="deviation">± {deviation}</span>' if deviation and runs > 1 else ""
    unit = f' <span class="unit">{unit}</span>' if unit else ""
    return f'<td class="number" data-value="{figure[0]!r}"><b>{mean}</b>{around}{unit}</td>'


def scale(figures: list[Any]) -> tuple[float, float]:
    """From the least to the greatest mean, deviations included; what lies far beyond the others is cut off."""
    known = [(mean, deviation or 0.0) for mean, deviation in figures if words.finite(mean)]
    lows, highs = [m - d for m, d in known], sorted(m + d for m, d in known)
    if not known:
        return 0.0, 1.0
    low, middle = min(lows), highs[len(highs) // 2]
    high = min(highs[-1], low + 5 * (middle - low)) if middle > low else highs[-1]
    return low, high if high > low else low + 1.0


def whisker(figure: Any, ends: tuple[float, float]) -> str:
    """Mean and deviation as a dot on a line."""
    mean, deviation = figure[0], figure[1] or 0.0
    if not words.finite(mean):
        return ""
    at, left, right = (4 + 112 * (value - ends[0]) / (ends[1] - ends[0]) for value in (mean, mean - deviation, mean + deviation))
    if at > 118:
        return '<svg viewBox="0 0 120 12"><path d="M112 3l4 3-4 3"/></svg>'
    return f'<svg viewBox="0 0 120 12"><path d="M{left:.1f} 6H{min(right, 120):.1f}"/><circle cx="{at:.1f}" cy="6" r="3"/></svg>'


def drawn(result: Mapping[str, Any], name: str) -> bool:
    return any(entry.get(name) for entry in result["algorithms"])


def curves(result: Mapping[str, Any]) -> str:
    if not drawn(result, "curve"):
        return ""
    band = ", with one standard deviation around it" if any(runs_of(entry) > 1 for entry in result["algorithms"]) else ""
    said = f"The {escape(str(result['measure']))} of all predictions so far{band}."
    return section("curves", "Learning curves", plot("curves"), said)


def time(result: Mapping[str, Any]) -> str:
    if not drawn(result, "time"):
        return ""
    measure = escape(str(result["measure"])).capitalize()
    return section("time", f"{measure} against time", plot("time"), "How low each had come after how much computing.")


def updates(result: Mapping[str, Any]) -> str:
    if not drawn(result, "updates"):
        return ""
    return section("updates", "Updates", plot("updates"), "How many of the examples so far changed the model.")


def regret(result: Mapping[str, Any]) -> str:
    """Regret beside its bound, and the table of all bounds."""
    found, known = result.get("regret") or (), result.get("bounds") or ()
    body, said = "", ""
    if found:
        bounded = any(one.get("bound") for one in found)
        said = "The loss so far, less that of the best fixed model in hindsight" + ("; dashed, the bound." if bounded else ".")
        against: dict[str, list[str]] = {}
        for one in found:
            against.setdefault(str(one.get("comparator", "")), []).append(str(one["label"]))
        notes = [f"{words.listed(labels)}: {rival}." if len(against) > 1 else f"{rival}." for rival, labels in against.items() if rival]
        body = plot("regret") + "".join(f'<p class="note">{escape(capital(note))}</p>' for note in notes)
    if known:
        body += bounds_table(known)
    return section("regret", "Regret and bounds" if found and known else "Regret" if found else "Bounds", body, said) if body else ""


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def bounds_table(known: Iterable[Mapping[str, Any]]) -> str:
    rows = "\n".join(
        f'<tr><th scope="row">{escape(str(one["label"]))}</th><td>{escape(str(one["quantity"]))}</td>'
        f'<td class="number" data-value="{one["measured"]!r}">{number("", one["measured"])}</td>'
        f'<td class="number" data-value="{one["bound"]!r}">{number("", one["bound"])}</td>'
        f"<td>{'<span class=yes>yes</span>' if one['holds'] else '<span class=no>no</span>'}</td>"
        f"<td>{escape(str(one.get('paper') or ''))}</td></tr>"
        for one in known
    )
    heads = "".join(
        f'<th scope="col"><button type="button">{name}</button></th>'
        for name in ("algorithm", "quantity", "measured", "bound", "holds", "paper")
    )
    return f'<div class="wide"><table class="bounds sortable"><thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>'


def confusion(result: Mapping[str, Any]) -> str:
    winner = result.get("winner") or {}
    counts = winner.get("confusion")
    if not counts:
        return ""
    classes = [str(name) for name in winner.get("classes") or range(len(counts))]
    body = matrix(classes, counts) if len(classes) <= MATRIX else ""
    if len(classes) > 2:
        body += gravest(classes, counts)
    said = f"What {escape(str(winner['label']))} predicted for each true class; the darker, the larger the share of that class."
    return section("confusion", "Confusion", body, said)


def matrix(classes: list[str], counts: list[list[int]]) -> str:
    """A table of counts and of shares by true class, of which one is shown at a time when there are many classes."""
    roomy = len(classes) <= ROOMY
    choice = "" if roomy else (
        '<p class="controls"><button type="button" data-shows="counts" aria-pressed="true">counts</button>'
        '<button type="button" data-shows="shares" aria-pressed="false">shares</button></p>'
    )  # fmt: skip
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in classes)
    rows = []
    for i, (name, line) in enumerate(zip(classes, counts, strict=True)):
        total = sum(line)
        cells = "".join(matrix_cell(count, total, i == j, roomy) for j, count in enumerate(line))
        rows.append(f'<tr><th scope="row">{escape(name)}</th>{cells}<td class="total">{total:,}</td></tr>')
    return (
        f'{choice}<div class="wide"><table class="confusion {"roomy" if roomy else "dense"}"><thead>'
        f'<tr><th class="corner"><span>true</span></th><th class="axis" colspan="{len(classes)}">predicted</th><td></td></tr>'
        f'<tr><td></td>{heads}<th scope="col" class="total">all</th></tr></thead>\n<tbody>{"".join(rows)}</tbody></table></div>'
    )


def matrix_cell(count: int, total: int, right: bool, roomy: bool) -> str:
    share = count / total if total else 0.0
    level = 0 if not count else max(1, round(10 * share))
    kind = f"{'right' if right else 'wrong'} s{level}"
    if not count and not roomy:
        return f'<td class="{kind}"></td>'
    text = f"{share:.4f}" if roomy else f"{share:.2f}".removeprefix("0")
    return f'<td class="{kind}"><span class="count">{count:,}</span> <span class="share">{text}</span></td>'


def gravest(classes: list[str], counts: list[list[int]]) -> str:
    """The most frequent confusions, in words."""
    wrong = [
        (count, sum(line), classes[i], classes[j])
        for i, line in enumerate(counts)
        for j, count in enumerate(line)
        if i != j and count
    ]
    wrong.sort(key=lambda one: -one[0])
    items = "".join(
        f"<li><b>{escape(true)}</b> taken for <b>{escape(predicted)}</b> <span>{count:,} of {total:,}</span></li>"
        for count, total, true, predicted in wrong[:CONFUSIONS]
    )
    return f'<h3>Most frequent confusions</h3><ol class="gravest">{items}</ol>' if items else ""


def features(result: Mapping[str, Any]) -> str:
    winner = result.get("winner") or {}
    groups = heaviest(winner)
    if not groups:
        return ""
    label = escape(str(winner["label"]))
    one = groups[0][0] if len(groups) == 1 else None
    if len(groups) > 1:
        said = f"The weights of {label}, class by class: positive ones speak for the class, negative ones against it."
    elif one is not None:
        said = f"The weights of {label}: positive ones speak for {escape(one)}, negative ones against it."
    else:
        said = f"The weights of {label}: positive ones raise the prediction, negative ones lower it."
    classes = len({str(label) for label, _, _ in winner["heaviest"]})
    note = f'<p class="note">The first {len(groups)} of {classes:,} classes.</p>' if classes > len(groups) else ""
    return section("features", "Heaviest features", plot("features") + note, said)


def file_order(result: Mapping[str, Any]) -> str:
    winner = result.get("winner") or {}
    order, marks = winner.get("file_order"), winner.get("drift") or ()
    if not order:
        return ""
    said = f"{escape(str(winner['label']))} on the examples as they come in the file: so far, and over the last {order.get('window', 0):,}."
    body = plot("order") + (drift_table(marks) if marks else '<p class="note">No change was detected.</p>')
    return section("order", "In the order of the file", body, said)


def drift_table(marks: Iterable[Mapping[str, Any]]) -> str:
    rows = "\n".join(
        f'<tr><td class="number">{mark["at"]:,}</td><td>{escape(str(mark.get("detector", "")))}</td>'
        f'<td class="number">{number("mistake rate", mark.get("before"))}</td>'
        f'<td class="number">{number("mistake rate", mark.get("after"))}</td></tr>'
        for mark in marks
    )
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("change found at", "by", "before", "after"))
    return f'<div class="wide"><table class="drift"><thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>'


def repeat(result: Mapping[str, Any]) -> str:
    """Everything somebody needs who wants the same figures."""
    setting = result["setting"]
    command = setting.get("command")
    block = (
        f'<div class="command"><pre><code>{escape(command)}</code></pre>'
        '<button type="button" class="copy" hidden>copy</button></div>'
        if command
        else ""
    )
    versions = ", ".join(f"{name} {version}" for name, version in (setting.get("versions") or {}).items())
    facts = {
        "seed": setting.get("seed"),
        "versions": versions or None,
        "machine": setting.get("machine"),
        "date": setting.get("date"),
    }
    lines = "".join(f"<dt>{name}</dt><dd>{escape(str(value))}</dd>" for name, value in facts.items() if value is not None)
    body = block + (f"<dl>{lines}</dl>" if lines else "")
    return section("repeat", "How to repeat it", body) if body else ""
