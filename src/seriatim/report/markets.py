"""The results of portfolio strategies: an HTML page with wealth curves, and a table for the terminal.

Both take a dict with title, setting, and for each strategy its label, figures and wealth curve.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from html import escape
from typing import Any

from seriatim.core.text import printable
from seriatim.errors import DataError
from seriatim.report import sections, words
from seriatim.report.html import filled, maker_of, thin, write_text

# Columns: heading, name of the figure, format.
COLUMNS = (
    ("wealth", "final_wealth", "wealth"),
    ("annual return", "annual_return", "percent"),
    ("volatility", "volatility", "percent"),
    ("Sharpe", "sharpe", "ratio"),
    ("drawdown", "max_drawdown", "percent"),
    ("turnover", "turnover", "percent"),
    ("alpha a day", "alpha", "fine"),
    ("p", "p", "chance"),
)
NARROW = ("volatility", "alpha a day")  # dropped in a narrow terminal


def written(value: float | None, kind: str) -> str:
    """
    >>> written(5.138e15, "wealth"), written(27.0752, "wealth"), written(0.1036, "percent"), written(1e-9, "chance")
    ('5.138e+15', '27.08', '10.4%', '<0.0001')
    """
    if not words.finite(value):
        return words.NOTHING
    assert value is not None
    if kind == "wealth":
        return f"{value:.4g}" if not 1e4 <= value < 1e6 else f"{value:,.0f}"
    if kind == "percent":
        return f"{value:.1%}" if abs(value) < 100 else f"{value:.3g}x"
    if kind == "fine":
        return f"{value:.3%}"
    if kind == "chance":
        return f"{value:.4f}" if value >= 1e-4 else "<0.0001"
    return f"{value:.2f}"


def checked(result: Mapping[str, Any]) -> Mapping[str, Any]:
    if not result["strategies"]:
        raise DataError("the result has no strategies; run at least one")
    return result


def table(result: Mapping[str, Any], width: int = 160) -> Any:
    """The strategies by final wealth. Strategies that know the future are grey."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from seriatim.report.tables import PLAIN_HEAD, ascii_text, not_unicode

    plain = not_unicode()
    columns = [one for one in COLUMNS if width >= 110 or one[0] not in NARROW]
    made = Table(box=PLAIN_HEAD if plain else SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    made.add_column("strategy", no_wrap=True)
    for title, _, _ in columns:
        made.add_column(title, justify="right", no_wrap=True)
    strategies = checked(result)["strategies"]
    best = next((one for one in strategies if not one.get("hindsight")), None)
    for one in strategies:
        line = [str(one["label"]), *(written(one["figures"].get(name), kind) for _, name, kind in columns)]
        style = "bold" if one is best else "dim" if one.get("hindsight") else None
        made.add_row(*(Text(printable(ascii_text(text) if plain else text)) for text in line), style=style)
    return made


def page(result: Mapping[str, Any]) -> str:
    """The page of a market as one HTML file.

    >>> figures = {"final_wealth": 2.0, "annual_return": 0.1}
    >>> strategy = {"label": "pamr", "figures": figures, "wealth": {"days": [1, 2], "value": [1.5, 2.0]}}
    >>> "2 days" in page({"title": "mine", "setting": {"days": 2, "assets": 3}, "strategies": [strategy]})
    True
    """
    result = checked(result)
    parts = (results, wealth, drawdowns, sections.repeat)
    drawn = [
        {"label": str(one["label"])} | {name: thin(one[name]) for name in ("wealth", "drawdown") if one.get(name)}
        for one in result["strategies"]
    ]
    return filled(
        title=str(result["title"]),
        kind="strategies on a market",
        lead=lead(result),
        sections="\n".join(filter(None, (part(result) for part in parts))),
        maker=maker_of(result["setting"]),
        data={"measure": "wealth", "algorithms": drawn, "regret": [], "heaviest": [], "order": None, "drift": []},
    )


def write(result: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the page. The file is written completely or not at all."""
    write_text(page(result), path)


def lead(result: Mapping[str, Any]) -> str:
    setting = result["setting"]
    online = [one for one in result["strategies"] if not one.get("hindsight")]
    outcome = ""
    if online:
        best = online[0]
        outcome = f"{best['label']} made {written(best['figures']['final_wealth'], 'wealth')} of 1"
        market = next((one for one in online if one.get("market")), None)
        if market is not None and market is not best:
            outcome += f"; the market, {written(market['figures']['final_wealth'], 'wealth')}"
        outcome = f'<p class="outcome">{escape(outcome)}.</p>\n'
    costs = f"transaction costs of {setting['cost']:.3g} of the traded amount" if setting.get("cost") else "no costs"
    how = f"{setting['days']:,} days, {setting['assets']:,} assets, {costs}."
    return f'{outcome}<p class="setting">{escape(how)}</p>'


def results(result: Mapping[str, Any]) -> str:
    heads = sections.sortable("strategy") + "".join(sections.sortable(title, "number") for title, _, _ in COLUMNS)
    best = next((one for one in result["strategies"] if not one.get("hindsight")), None)
    rows = []
    for one in result["strategies"]:
        label = escape(str(one["label"]))
        more = ' <span class="parameters">in hindsight</span>' if one.get("hindsight") else ""
        cells = "".join(
            f'<td class="number"{sections.sorted_by(one["figures"].get(name))}>'
            f"{escape(written(one['figures'].get(name), kind))}</td>"
            for _, name, kind in COLUMNS
        )
        kind = " class=best" if one is best else ""
        rows.append(
            f'<tr{kind}><th scope="row" data-value="{label}"><span class="label">{label}</span>{more}</th>{cells}</tr>'
        )
    note = (
        '<p class="note">Wealth: the final wealth from a start of 1. Return and volatility: per year of 252 days. '
        "Sharpe: the return above 4%, divided by the volatility. Drawdown: the largest loss since a peak. Turnover: "
        "the fraction traded per day. Alpha: the daily return beyond that of the market in equal parts. p: "
        "one-sided t-test of alpha. Strategies in hindsight knew all days in advance.</p>"
    )
    return sections.section("results", "Results", sections.table("results sortable", f"<tr>{heads}</tr>", rows) + note)


def wealth(result: Mapping[str, Any]) -> str:
    if not any(one.get("wealth") for one in result["strategies"]):
        return ""
    return sections.section("wealth", "Wealth", sections.plot("wealth"), "The wealth from a start of 1, day by day.")


def drawdowns(result: Mapping[str, Any]) -> str:
    if not any(one.get("drawdown") for one in result["strategies"]):
        return ""
    said = "The loss on each day since the highest wealth before."
    return sections.section("drawdown", "Drawdown", sections.plot("drawdown"), said)
