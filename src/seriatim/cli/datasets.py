"""seriatim datasets"""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from seriatim.cli.options import json_option
from seriatim.cli.screen import say


@click.command("datasets")
@json_option
def command(as_json: bool) -> None:
    """List the bundled data sets and the generated streams.

    \b
    seriatim datasets
    seriatim run sea:seed=7,noise=0.2 --limit 100000
    """
    from inspect import getdoc, signature

    from seriatim.data import datasets, drift

    if as_json:
        click.echo(json.dumps({name: asdict(about) for name, about in datasets().items()}))
        return
    for name, about in datasets().items():
        say(f"{name:<8}", bold=True, nl=False)
        say(f"{about.rows:,} x {len(about.feature_names)}, {len(about.labels)} labels: {about.summary}")
    say("", "Generated streams. They are endless: give --limit. Set options as in sea:seed=7,noise=0.2:")
    for name, stream in drift.STREAMS.items():
        options = ", ".join(option for option in signature(stream).parameters if option != "block")
        say(f"{name:<12}", bold=True, nl=False)
        say(f"{(getdoc(stream) or '').partition(chr(10))[0]} ({options})")
