"""seriatim datasets"""

from __future__ import annotations

import json
from dataclasses import asdict

import click


@click.command("datasets")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_json: bool) -> None:
    """List the bundled data sets.

    \b
    seriatim datasets
    """
    from seriatim.data import datasets

    if as_json:
        click.echo(json.dumps({name: asdict(about) for name, about in datasets().items()}))
        return
    for name, about in datasets().items():
        click.secho(f"{name:<8}", bold=True, nl=False)
        click.echo(f"{about.rows:,} x {len(about.feature_names)}, {len(about.labels)} labels: {about.summary}")
