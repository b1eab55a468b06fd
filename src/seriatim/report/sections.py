"""The sections of the report. A section without data is an empty string."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from seriatim.report import words
from seriatim.report.words import followed, is_alike, number

MATRIX = 40  # most classes of a confusion matrix; with more, only a list of confusions is shown
ROOMY = 8  # most classes for cells with both the count and the fraction
CONFUSIONS = 10
PANELS = 30  # most classes with a plot of their largest weights
CHOICE = (
    '<p class="controls"><button type="button" data-shows="counts" aria-pressed="true">counts</button>'
    '<button type="button" data-shows="shares" aria-pressed="false">shares</button></p>'
)
TITLES = {"seconds": "time", "nonzeros": "non-zeros"}


def section(name: str, title: str, body: str, about: str = "") -> str:
    said = f'<p class="about">{about}</p>' if about else ""
    return f'<section id="{name}"><h2>{title}</h2>{said}\n{body}</section>'


def table(kind: str, heads: str, rows: Iterable[str]) -> str:
    lines = "\n".join(rows)
    return f'<div class="wide"><table class="{kind}"><thead>{heads}</thead>\n<tbody>\n{lines}\n</tbody></table></div>'


def sortable(name: str, kind: str = "") -> str:
    kind = f' class="{kind}"' if kind else ""
    return f'<th scope="col"{kind}><button type="button">{escape(name)}</button></th>'


def sorted_by(value: Any) -> str:
    """The attribute with the number by which a cell is sorted."""
    return f' data-value="{float(value)!r}"' if words.finite(value) else ""


def plot(name: str) -> str:
    return f'<figure class="plot" data-plot="{name}"></figure>'


def lead(result: Mapping[str, Any]) -> str:
    setting = result["setting"]
    outcome = words.outcome_in_words(result).replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")
    how = f"{words.data_in_words(setting)} {words.method_in_words(result)}".strip()
    return f'<p class="outcome">{escape(outcome)}</p>\n<p class="setting">{escape(how)}</p>'


def results(result: Mapping[str, Any]) -> str:
    """The table of results, in the order of the measure until a reader clicks on a heading."""
    names, entries = words.columns(result), result["algorithms"]
    columns = [column(name, [words.figure_of(entry, name) for entry in entries]) for name in names]
    columns.insert(1, strips([words.figure_of(entry, names[0]) for entry in entries]))
    heads, *rows = zip(*columns, strict=True)
    lines = (
        f"<tr{' class=best' if entry.get('best') else ''}>{row_head(entry)}{''.join(row)}</tr>"
        for entry, row in zip(entries, rows, strict=True)
    )
    made = table("results sortable", f"<tr>{sortable('algorithm')}{''.join(heads)}</tr>", lines)
    return section("results", "Results", made + results_note(entries))


def results_note(entries: list[Mapping[str, Any]]) -> str:
    notes = []
    if any(is_alike(entry) for entry in entries):
        notes.append('<span class="alike">≈</span> no significant difference from the best.')
    if any(runs_of(entry) > 1 for entry in entries):
        notes.append("Mean ± standard deviation over the orders.")
    return f'<p class="note">{" ".join(notes)}</p>' if notes else ""


def runs_of(entry: Mapping[str, Any]) -> int:
    return int(entry.get("runs") or 1)


def row_head(entry: Mapping[str, Any]) -> str:
    label, parameters, mark = str(entry["label"]), words.parameter_text(words.changed(entry)), ""
    if is_alike(entry):
        about = f"no significant difference from the best, p = {entry['p']:.2g}"
        mark = f' <span class="alike" role="img" title="{about}" aria-label="{about}">≈</span>'
    more = f' <span class="parameters">{escape(parameters)}</span>' if parameters else ""
    return f'<th scope="row" data-value="{escape(label)}"><span class="label">{escape(label)}</span>{mark}{more}</th>'


def column(name: str, figures: list[Any]) -> list[str]:
    """A heading and its figures. Means and deviations have separate cells, so that both are aligned."""
    made = [sortable(TITLES.get(name, name), "number") + '<td class="deviation"></td>']
    for (mean, deviation, unit), figure in zip(words.column(name, figures), figures, strict=True):
        around = f'<span class="around">± {deviation} </span>' if deviation else ""
        made.append(
            f'<td class="number"{sorted_by(figure and figure[0])}>{mean}</td><td class="deviation">{around}{unit}</td>'
        )
    return made


def strips(figures: list[Any]) -> list[str]:
    """A column with the means as dots and the deviations as lines, on the same scale in all rows."""
    known = [(mean, around or 0.0) for mean, around in figures if words.finite(mean)]
    low, high = ends_of(known) if known else (0.0, 1.0)

    def place(value: float) -> float:
        return 4 + 112 * min(max((value - low) / (high - low), 0.0), 1.03)

    made = ['<td class="strip"></td>']
    for mean, around in figures:
        shape = ""
        if words.finite(mean) and mean <= high:
            left, at, right = (place(mean + side * (around or 0.0)) for side in (-1, 0, 1))
            shape = f'<path d="M{left:.1f} 6H{right:.1f}"/><circle cx="{at:.1f}" cy="6" r="2.5"/>'
        elif words.finite(mean):
            shape = '<path d="M112 3l4 3-4 3"/>'  # an arrow: beyond the scale
        made.append(f'<td class="strip" aria-hidden="true"><svg viewBox="0 0 120 12">{shape}</svg></td>')
    return made


def ends_of(known: list[tuple[float, float]]) -> tuple[float, float]:
    """The scale of the strips. It excludes outliers that would squeeze all other dots together."""
    low, highs = min(mean - around for mean, around in known), sorted(mean + around for mean, around in known)
    middle = highs[len(highs) // 2]
    high = min(highs[-1], low + 3 * (middle - low)) if middle > low else highs[-1]
    return low, high if high > low else low + 1.0


def drawn(result: Mapping[str, Any], name: str) -> bool:
    return any(entry.get(name) for entry in result["algorithms"])


def curves(result: Mapping[str, Any]) -> str:
    if not drawn(result, "curve"):
        return ""
    several = any(runs_of(entry) > 1 for entry in result["algorithms"])
    band = ", with one standard deviation around it" if several else ""
    said = f"The {escape(followed(result))} of all predictions so far{band}."
    return section("curves", "Learning curves", plot("curves"), said)


def time(result: Mapping[str, Any]) -> str:
    if not drawn(result, "time"):
        return ""
    measure = escape(followed(result)).capitalize()
    return section("time", f"{measure} against time", plot("time"), "The measure after each amount of computing time.")


def updates(result: Mapping[str, Any]) -> str:
    if not drawn(result, "updates"):
        return ""
    return section("updates", "Updates", plot("updates"), "The number of examples so far that changed the model.")


def regret(result: Mapping[str, Any]) -> str:
    """The plot of regret and bounds, and the table of all bounds."""
    found, known = result.get("regret") or (), result.get("bounds") or ()
    if not found and not known:
        return ""
    said = "The loss so far minus the loss of the best fixed model in hindsight" if found else ""
    said += "; dotted, the bound." if any(one.get("bound") for one in found) else "." if found else ""
    title = " and ".join(filter(None, ("regret" if found else "", "bounds" if known else "")))
    body = (plot("regret") + comparators(found) if found else "") + (bounds_table(known) if known else "")
    return section("regret", title.capitalize(), body, said)


def comparators(found: Iterable[Mapping[str, Any]]) -> str:
    """The competitors that define the regret, as notes."""
    against: dict[str, list[str]] = {}
    for one in found:
        against.setdefault(str(one.get("comparator") or ""), []).append(str(one["label"]))
    notes = (
        f"{words.listed(labels)}: {rival}." if len(against) > 1 else f"{rival[:1].upper()}{rival[1:]}."
        for rival, labels in against.items()
        if rival
    )
    return "".join(f'<p class="note">{escape(note)}</p>' for note in notes)


def bounds_table(known: Iterable[Mapping[str, Any]]) -> str:
    kinds = {"algorithm": "", "quantity": "", "measured": "number", "bound": "number", "holds": "", "paper": ""}
    heads = "".join(sortable(name, kind) for name, kind in kinds.items())
    rows = (
        f'<tr><th scope="row">{escape(str(one["label"]))}</th><td>{escape(theorem(one))}</td>'
        f'<td class="number"{sorted_by(one["measured"])}>{number("", one["measured"])}</td>'
        f'<td class="number"{sorted_by(one["bound"])}>{number("", one["bound"])}</td>'
        f"<td>{'<span class=yes>yes</span>' if one['holds'] else '<span class=no>no</span>'}</td>"
        f"<td>{escape(str(one.get('paper') or ''))}</td></tr>"
        for one in known
    )
    return table("bounds sortable", f"<tr>{heads}</tr>", rows)


def theorem(one: Mapping[str, Any]) -> str:
    """The quantity that is bounded, and the name of the bound if there are several."""
    return ", ".join(str(one[name]) for name in ("quantity", "name") if one.get(name))


def confusion(result: Mapping[str, Any]) -> str:
    winner = result.get("winner") or {}
    counts = winner.get("confusion")
    if not counts:
        return ""
    classes = [str(name) for name in winner.get("classes") or range(len(counts))]
    body = matrix(classes, counts) if len(classes) <= MATRIX else ""
    if len(classes) > 2:
        body += gravest(classes, counts)
    label, orders = escape(str(winner["label"])), result["setting"].get("permutations") or 1
    first = f" in the first of the {orders:,} orders" if orders > 1 else ""
    said = f"The predictions of {label} for each true class{first}. Darker cells hold a larger fraction of the class."
    if untold := (result["setting"].get("examples") or 0) - sum(map(sum, counts)):
        said += f" {untold:,} examples came before the first known label and have no prediction."
    return section("confusion", "Confusion", body, said)


def matrix(classes: list[str], counts: list[list[int]]) -> str:
    """The confusion matrix with counts and fractions by true class. A large matrix shows one of them at a time."""
    roomy = len(classes) <= ROOMY
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in classes)
    heads = (
        f'<tr><th class="corner">true</th><th class="axis" colspan="{len(classes)}">predicted</th><td></td></tr>'
        f'<tr><td></td>{names}<th scope="col" class="total">all</th></tr>'
    )
    rows = []
    for i, (name, line) in enumerate(zip(classes, counts, strict=True)):
        cells = "".join(matrix_cell(count, sum(line), i == j, roomy) for j, count in enumerate(line))
        rows.append(f'<tr><th scope="row">{escape(name)}</th>{cells}<td class="total">{sum(line):,}</td></tr>')
    return ("" if roomy else CHOICE) + table(f"confusion {'roomy' if roomy else 'dense'}", heads, rows)


def matrix_cell(count: int, total: int, right: bool, roomy: bool) -> str:
    share = count / total if total else 0.0
    # The square root makes rare mistakes visible.
    level = max(1, round(10 * (share if right else math.sqrt(share)))) if count else 0
    kind = f"{'right' if right else 'wrong'} s{level}"
    if not count and not roomy:
        return f'<td class="{kind}"></td>'
    text = f"{share:.4f}" if roomy else f"{share:.2f}".removeprefix("0")
    return f'<td class="{kind}"><span class="count">{count:,}</span> <span class="share">{text}</span></td>'


def gravest(classes: list[str], counts: list[list[int]]) -> str:
    """A list of the most frequent confusions."""
    wrong = [
        (count, sum(line), classes[i], classes[j])
        for i, line in enumerate(counts)
        for j, count in enumerate(line)
        if i != j and count
    ]
    wrong.sort(key=lambda one: -one[0])
    items = "".join(
        f"<li><span><b>{escape(true)}</b> taken for <b>{escape(predicted)}</b></span> "
        f'<span class="times">{count:,} of {total:,}</span></li>'
        for count, total, true, predicted in wrong[:CONFUSIONS]
    )
    return f'<h3>Most frequent confusions</h3><ol class="gravest">{items}</ol>' if items else ""


def heaviest(winner: Mapping[str, Any]) -> list[tuple[str | None, list[tuple[str, float]]]]:
    """The features with the largest weights of each class, positive weights first."""
    groups: dict[str | None, list[tuple[str, float]]] = {}
    for label, feature, weight in winner.get("heaviest") or ():
        if words.finite(weight) and weight:
            groups.setdefault(None if label is None else str(label), []).append((str(feature), float(weight)))
    limit = 24 if len(groups) == 1 else 8 if len(groups) <= 12 else 6
    return [
        (label, sorted(weights[:limit], key=lambda pair: -pair[1])) for label, weights in [*groups.items()][:PANELS]
    ]


def features(result: Mapping[str, Any]) -> str:
    winner = result.get("winner") or {}
    groups = heaviest(winner)
    if not groups:
        return ""
    label = escape(str(winner["label"]))
    one = groups[0][0] if len(groups) == 1 else None
    if len(groups) > 1:
        said = f"The weights of {label} by class: positive ones are evidence for the class, negative ones against it."
    elif one is not None:
        said = f"The weights of {label}: positive weights are evidence for {escape(one)}, negative ones against it."
    else:
        said = f"The weights of {label}: positive weights raise the prediction, negative ones lower it."
    classes = len({str(label) for label, _, _ in winner["heaviest"]})
    note = f'<p class="note">The first {len(groups)} of {classes:,} classes.</p>' if classes > len(groups) else ""
    return section("features", "Heaviest features", plot("features") + note, said)


def file_order(result: Mapping[str, Any]) -> str:
    winner = result.get("winner") or {}
    order, marks = winner.get("file_order"), winner.get("drift")
    if not order:
        return ""
    recent = f", and of the last {order['window']:,}" if order.get("recent") else ""
    label, measure = escape(str(winner["label"])), escape(followed(result))
    said = f"{label} in file order: the {measure} of all examples so far{recent}."
    body = plot("order")
    if marks:
        body += drift_table(marks, followed(result))
    elif marks is not None:
        body += '<p class="note">No change was detected.</p>'
    return section("order", "In file order", body, said)


def drift_table(marks: Iterable[Mapping[str, Any]], measure: str) -> str:
    kinds = {"change found at": "number", "by": "", "before": "number", "after": "number"}
    heads = "".join(f'<th scope="col" class="{kind}">{name}</th>' for name, kind in kinds.items())
    rows = (
        f'<tr><td class="number">{mark["at"]:,}</td><td>{escape(str(mark.get("detector") or ""))}</td>'
        f'<td class="number">{number(measure, mark.get("before"))}</td>'
        f'<td class="number">{number(measure, mark.get("after"))}</td></tr>'
        for mark in marks
    )
    return table("drift", f"<tr>{heads}</tr>", rows)


def repeat(result: Mapping[str, Any]) -> str:
    """The command, the versions and the settings that reproduce the results."""
    setting = result["setting"]
    versions = ", ".join(f"{name} {version}" for name, version in (setting.get("versions") or {}).items())
    run = result.get("algorithms") or ()
    named = (f"{one['label']} {words.parameter_text(words.changed(one))}".strip() for one in run)
    facts = {**setting, "versions": versions or None, "algorithms": ", ".join(named) or None}
    told_by_command = () if setting.get("command") else ("data", "algorithms", "permutations", "tuning")
    lines = "".join(
        f"<dt>{name}</dt><dd>{escape(str(facts[name]))}</dd>"
        for name in (*told_by_command, "seed", "fingerprint", "versions", "machine", "date")
        if facts.get(name) is not None
    )
    body = f"<dl>{lines}</dl>" if lines else ""
    if setting.get("command"):
        block = f"<pre><code>{escape(str(setting['command']))}</code></pre>"
        copy = '<button type="button" class="copy" hidden>copy</button>'
        body = f'<div class="command">{block}{copy}</div>{body}'
    return section("repeat", "How to repeat it", body) if body else ""


ALL = (results, curves, time, updates, regret, confusion, features, file_order, repeat)
