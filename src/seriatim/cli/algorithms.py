"""seriatim algorithms"""

from __future__ import annotations

import inspect
import json

import click

from seriatim.cli.options import json_option
from seriatim.cli.screen import say, show_table


@click.command("algorithms")
@click.argument("name", required=False)
@json_option
def command(name: str | None, as_json: bool) -> None:
    """List the algorithms, or describe the algorithm NAME.

    \b
    seriatim algorithms
    seriatim algorithms pa
    """
    from seriatim import catalogue
    from seriatim.parameters import REQUIRED

    if name and not as_json:
        cls = catalogue.find(name)
        say(f"{catalogue.command_name(cls)}: {cls.__name__}{inspect.signature(cls)}", bold=True)
        say(*(inspect.getdoc(cls) or "").splitlines())
        searched = {name: parameter.search for name, parameter in cls.parameters.items() if parameter.search}
        say(
            "",
            "Values that `seriatim tune` tries:" if searched else "`seriatim tune` needs --over: no values are preset.",
        )
        for name, values in searched.items():
            say(f"  {name:<5} {' '.join(f'{value:g}' for value in values)}")
        return
    known = [catalogue.find(name)] if name else [*catalogue.algorithms().values()]
    if as_json:
        about = {
            catalogue.command_name(cls): {
                "class": cls.__name__,
                "family": cls.family,
                "task": cls.task,
                "paper": cls.paper,
                "parameters": {
                    name: {"range": parameter.range}
                    | ({} if parameter.default is REQUIRED else {"default": parameter.default})
                    | ({"search": parameter.search} if parameter.search else {})
                    for name, parameter in cls.parameters.items()
                },
            }
            for cls in known
        }
        click.echo(json.dumps(about))
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in ("algorithm", "family", "task", "parameters", "paper"):
        table.add_column(title, no_wrap=title == "algorithm", overflow="fold", header_style="bold")
    for cls in known:
        own = {
            name: p.default
            for name, p in cls.parameters.items()
            if name not in ("fit_intercept", "classes", "features")
        }
        shown = " ".join(name if value is REQUIRED else f"{name}={value}" for name, value in own.items())
        table.add_row(catalogue.command_name(cls), cls.family, cls.task, shown, cls.paper)
    show_table(table)
