"""The report: one HTML file without other files, for the screen and for paper."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from numbers import Integral, Real
from string import Template
from typing import Any

from seriatim.report import sections, words

SCRIPTS = ("drawing.js", "lines.js", "bars.js", "plots.js")
SCRIPT = '"use strict";\n{{\n{}}}\n'  # the block keeps its names out of the global scope
POINTS = 600  # points of a curve: more would be invisible and make the file large


def html(result: Mapping[str, Any]) -> str:
    """The page of a comparison, from the dict that `Comparison.as_dict()` returns.

    Parts of the result that are absent or None get no section. The page loads nothing from other places.

    >>> entry = {"label": "pa", "figures": {"mistake rate": [0.1, 0.01]}, "best": True}
    >>> page = html({"title": "mine", "setting": {"examples": 9}, "measure": "mistake rate", "algorithms": [entry]})
    >>> "<title>mine" in page, "https://" in page
    (True, False)
    """
    result = words.checked(result)
    return filled(
        title=str(result["title"]),
        kind="a comparison of online learners",
        lead=sections.lead(result),
        sections="\n".join(filter(None, (section(result) for section in sections.ALL))),
        maker=maker_of(result["setting"]),
        data=plotted(result),
    )


def filled(*, title: str, kind: str, lead: str, sections: str, maker: str, data: Any) -> str:
    """Fill the page: title, kind and maker are text, lead and sections are HTML, data goes to the plots."""
    style, script = part("style.css"), SCRIPT.format("\n".join(map(part, SCRIPTS)))
    return Template(part("page.html")).substitute(
        policy=escape(policy(style, script)),
        style=style,
        script=script,
        title=escape(title),
        kind=escape(kind),
        lead=lead,
        sections=sections,
        maker=escape(maker),
        data=embedded(data),
    )


def maker_of(setting: Mapping[str, Any]) -> str:
    return f"Seriatim {(setting.get('versions') or {}).get('seriatim', '')}".strip()


def write(result: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the page of a comparison. The file is written completely or not at all.

    >>> import pathlib, tempfile
    >>> entry = {"label": "pa", "figures": {"mean loss": [0.1, None]}, "best": True}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "report.html")
    ...     write({"title": "mine", "setting": {}, "measure": "mean loss", "algorithms": [entry]}, path)
    ...     path.read_text()[:15]
    '<!doctype html>'
    """
    write_text(html(result), path)


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    from seriatim.files import whole_file

    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")  # file names may not be UTF-8


def part(name: str) -> str:
    return files("seriatim.report").joinpath("static", name).read_text(encoding="utf-8")


def policy(style: str, script: str) -> str:
    """The content security policy: only the style and the script of the page, identified by their digests."""

    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    own = f"style-src {digest(style)}; script-src {digest(script)}"
    return f"default-src 'none'; {own}; base-uri 'none'; form-action 'none'"


def embedded(value: Any) -> str:
    """JSON for a script element. Escapes keep a text from ending the element or starting another one.

    >>> embedded("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def plotted(result: Mapping[str, Any]) -> dict[str, Any]:
    """The data of the plots, with only as many digits and points as are visible."""
    winner = result.get("winner") or {}
    order = winner.get("file_order")
    return {
        "measure": words.followed(result),
        "algorithms": [
            {"label": str(entry["label"])}
            | {name: thin(entry[name]) for name in ("curve", "updates", "time") if entry.get(name)}
            for entry in result["algorithms"]
        ],
        "regret": [
            {"label": str(one["label"])} | thin({name: one.get(name) for name in ("examples", "regret", "bound")})
            for one in result.get("regret") or ()
        ],
        "heaviest": [{"class": name, "features": slim(weights)} for name, weights in sections.heaviest(winner)],
        "order": thin(order) if order else None,
        "drift": [slim(mark) for mark in winner.get("drift") or ()],
    }


def thin(curve: Mapping[str, Any]) -> dict[str, Any]:
    """A curve with at most POINTS points, including the last one."""
    length = max((len(values) for values in curve.values() if isinstance(values, list | tuple)), default=0)
    step = math.ceil(length / POINTS) or 1
    return {
        name: slim(values[::-1][::step][::-1] if isinstance(values, list | tuple) else values)
        for name, values in curve.items()
    }


def slim(value: Any) -> Any:
    """A value as JSON types, with 8 digits per number and None for NaN and infinity."""
    if isinstance(value, Mapping):
        return {str(key): slim(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [slim(one) for one in value]
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Integral):
        return int(value)
    if not isinstance(value, Real):
        return str(value)
    if not math.isfinite(value):
        return None
    short = float(f"{float(value):.8g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
