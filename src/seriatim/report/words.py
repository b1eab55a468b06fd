"""Numbers and settings as text, the same on the page, in the terminal and in figures."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from seriatim.errors import DataError, SeriatimError

RATES = {"mistake rate", "accuracy", "balanced accuracy", "precision", "recall", "f1", "auc"}
COUNTS = {"updates", "mistakes", "nonzeros", "support vectors", "bytes"}
ORDER = ("updates", "support vectors", "nonzeros", "seconds")
NOTHING = "\N{EN DASH}"
SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
Figure = Sequence[float | None] | None  # mean and deviation
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def checked(result: Any) -> Mapping[str, Any]:
    """The result as a dict, from a dict or a Comparison. Raises DataError if it is incomplete.

    >>> checked({"title": "spam", "setting": {}, "measure": "mistake rate", "algorithms": []})
    Traceback (most recent call last):
        ...
    seriatim.errors.DataError: the result has no algorithms; run at least one
    """
    if hasattr(result, "as_dict"):
        result = result.as_dict()
    missing = [name for name in ("title", "setting", "measure", "algorithms") if name not in result]
    if missing:
        raise DataError(f"the result has no {missing[0]!r}; expected the dict that `Comparison.as_dict()` returns")
    if not result["algorithms"]:
        raise DataError("the result has no algorithms; run at least one")
    for entry in result["algorithms"]:
        if result["measure"] not in entry["figures"]:
            raise DataError(f"{entry['label']} has no {result['measure']!r} among its figures")
    return result


def finite(value: Any) -> bool:
    return value is not None and math.isfinite(value)


def number(name: str, value: float | None) -> str:
    """Format a figure by its name: 4 digits for a rate, separators for a count, a unit for a time.

    >>> number("mistake rate", 0.07938), number("updates", 12345.6), number("seconds", 0.0084)
    ('0.0794', '12,346', '8.4 ms')
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    if name == "seconds":
        scale, unit = unit_of(value)
        return f"{three_digits(value / scale)} {unit}"
    if name in RATES:
        return f"{value:.4f}"
    if name in COUNTS:
        return f"{value:,.0f}"
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e12 else f"{value:.4g}"


def column(name: str, figures: Sequence[Figure]) -> list[tuple[str, str, str]]:
    """Format the means, deviations and units of a column, with the same unit and number of digits in all rows.

    If the means differ by orders of magnitude, each row has its own number of digits.

    >>> column("seconds", [[0.0084, 0.00031], [0.0125, None]])
    [('8.4', '0.3', 'ms'), ('12.5', '', 'ms')]
    >>> column("mean loss", [[0.01204, 0.0002], [83887.2, 13722.1]])
    [('0.01204', '0.00020', ''), ('83,887', '13,722', '')]
    """
    sizes = sorted(abs(figure[0]) for figure in figures if figure and finite(figure[0]) and figure[0]) or [1.0]
    middle = sizes[len(sizes) // 2]
    scale, unit = unit_of(middle) if name == "seconds" else (1.0, "")
    apart = sizes[-1] > 1e4 * sizes[0]
    made = []
    for figure in figures:
        mean, around = figure if figure and finite(figure[0]) else (None, None)
        places = places_of(name, (mean if apart and mean else middle) / scale)
        made.append((rounded(mean, scale, places) or NOTHING, rounded(around, scale, places), unit))
    return made


def places_of(name: str, size: float) -> int:
    """Digits after the point: 4 for rates, 0 for counts, else enough for 3 or 4 significant digits."""
    if name in RATES or name in COUNTS:
        return 4 if name in RATES else 0
    return max(0, (2 if name == "seconds" else 3) - math.floor(math.log10(abs(size))))


def filled(texts: Sequence[str]) -> list[str]:
    """Pad texts to the same length: on the left if their lengths differ by at most 2, else on the right.

    >>> filled(["41", "421"]), filled(["0.006", "2,607,377"])
    ([' 41', '421'], ['0.006    ', '2,607,377'])
    """
    widths = [len(text) for text in texts if text] or [0]
    side = ">" if max(widths) - min(widths) <= 2 else "<"
    return [f"{text:{side}{max(widths)}}" for text in texts]


def rounded(value: float | None, scale: float, places: int) -> str:
    if value is None or not math.isfinite(value):
        return ""
    value /= scale
    if places > 6 or abs(value) >= 1e9:
        return f"{value:.3g}"
    return f"{value:,.{places if abs(value) < 1e4 else 0}f}"


def mean_and_deviation(name: str, figure: Figure) -> str:
    """Format a figure with its deviation.

    >>> mean_and_deviation("mistake rate", [0.07938, 0.00123])
    '0.0794 ± 0.0012'
    """
    mean, deviation, unit = column(name, [figure])[0]
    both = f"{mean} ± {deviation}" if deviation else mean
    return f"{both} {unit}".strip()


def unit_of(seconds: float) -> tuple[float, str]:
    return next(((scale, unit) for scale, unit in UNITS if abs(seconds) >= scale), UNITS[0 if not seconds else -1])


def three_digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1e3 else f"{value:.3g}"


def words(n: int) -> str:
    """Small numbers as words, for the beginning of a sentence.

    >>> words(3), words(4601)
    ('three', '4,601')
    """
    return SMALL[n] if n < len(SMALL) else f"{n:,}"


def listed(items: Iterable[str]) -> str:
    """
    >>> listed(["pa", "scw", "arow"])
    'pa, scw and arow'
    """
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last


def figure_of(entry: Mapping[str, Any], name: str) -> Figure:
    """Mean and deviation of a figure. A single run has no deviation."""
    figure = entry["figures"].get(name)
    return figure if figure is None or int(entry.get("runs") or 1) > 1 else (figure[0], None)


def columns(result: Mapping[str, Any]) -> list[str]:
    """The names of the figures in a table: the measure first, the costs last."""
    found = dict.fromkeys(name for entry in result["algorithms"] for name in entry["figures"])
    others = [name for name in found if name != result["measure"] and name not in ORDER]
    return [result["measure"], *others, *(name for name in ORDER if name in found)]


def changed(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of an algorithm that differ from the defaults and are not in its label.

    >>> changed({"label": "pa C=0.5", "parameters": {"C": 0.5, "variant": "II", "average": False}})
    {'variant': 'II'}
    >>> changed({"label": "pa:variant=II", "parameters": {"C": 0.5, "variant": "II", "average": False}})
    {'C': 0.5}
    """
    from seriatim import catalogue

    name, *told = re.split("[ :,]", str(entry["label"]))
    try:
        declared = catalogue.find(name).parameters
    except SeriatimError:
        declared = {}
    known = {key: declared[key].default for key in declared}
    shown = {text.partition("=")[0] for text in told}
    parameters = entry.get("parameters") or {}
    return {
        key: value
        for key, value in parameters.items()
        if key not in shown and key != "features" and value is not None and (key not in known or known[key] != value)
    }


def parameter_text(parameters: Mapping[str, Any]) -> str:
    """
    >>> parameter_text({"C": 0.50, "variant": "II"})
    'C=0.5 variant=II'
    """
    return " ".join(
        f"{key}={value:.6g}" if isinstance(value, float) else f"{key}={value}" for key, value in parameters.items()
    )


def alike(result: Mapping[str, Any]) -> list[str]:
    """The algorithms that do not differ significantly from the best one."""
    return [str(entry["label"]) for entry in result["algorithms"] if is_alike(entry)]


def is_alike(entry: Mapping[str, Any]) -> bool:
    return not entry.get("best") and entry.get("p") is not None and not entry.get("differs")


def best(result: Mapping[str, Any]) -> Mapping[str, Any]:
    return next((entry for entry in result["algorithms"] if entry.get("best")), result["algorithms"][0])


def data_in_words(setting: Mapping[str, Any]) -> str:
    """
    >>> data_in_words({"data": "spam", "examples": 4601, "features": 57, "labels": {"ham": 2788, "spam": 1813}})
    'spam has 4,601 examples of 57 features, labelled ham (2,788) and spam (1,813).'
    """
    if not setting.get("examples"):
        return ""
    text = f"{setting.get('data') or 'The stream'} has {setting['examples']:,} examples"
    if setting.get("features"):
        text += f" of {setting['features']:,} features"
    labels = setting.get("labels")
    if not labels:
        return f"{text}."
    if len(labels) <= 6:
        return f"{text}, labelled {listed(f'{name} ({n:,})' for name, n in labels.items())}."
    rare, common = min(labels, key=labels.get), max(labels, key=labels.get)
    ends = f"from {rare} ({labels[rare]:,}) to {common} ({labels[common]:,})"
    return f"{text} and {len(labels):,} labels, {ends}."


def method_in_words(result: Mapping[str, Any]) -> str:
    """The procedure of the comparison, as text."""
    setting, n = result["setting"], len(result["algorithms"])
    orders = setting.get("permutations") or 0
    data = "it" if setting.get("examples") else "the data"
    went = f"{words(n).capitalize()} algorithm{'' if n == 1 else 's'} ran over {data}"
    if orders == 1:
        went += " in one random order"
    elif orders:
        went += f" in {words(orders)} random orders{', the same for all' if n > 1 else ''}"
    else:
        went += " in the order of the file"
    seed = f" (seed {setting['seed']})" if orders and setting.get("seed") is not None else ""
    tuning = setting.get("tuning")
    chosen = f"Parameters were tuned: {tuning}." if tuning else "Nothing was tuned."
    return f"{went}{seed}. Every example was predicted before it was learned. {chosen}"


def followed(result: Mapping[str, Any]) -> str:
    """The quantity of the curves: the measure, unless it is defined only for a whole run."""
    return str(result.get("followed") or result["measure"])


def outcome_in_words(result: Mapping[str, Any]) -> str:
    """The outcome in one or two sentences."""
    winner, measure = best(result), result["measure"]
    figure = mean_and_deviation(measure, figure_of(winner, measure))
    if len(result["algorithms"]) == 1:
        return f"{winner['label']} has a {measure} of {figure}."
    text = f"{winner['label']} has the {'highest' if result.get('high') else 'lowest'} {measure}: {figure}."
    others = alike(result)
    tested = any(entry.get("p") is not None for entry in result["algorithms"])
    if 0 < len(others) <= 4:
        text += f" {listed(others)} {'does' if len(others) == 1 else 'do'} not differ from it significantly."
    elif others:
        text += f" {words(len(others)).capitalize()} others do not differ from it significantly."
    elif tested:
        text += " All others differ from it significantly."
    return text
