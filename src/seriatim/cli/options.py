"""The options that several commands share, and what the commands do with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from seriatim.cli.paths import Data, reads_named_in
from seriatim.cli.screen import say


def on_terminal(stream: Any) -> bool:
    """Whether the stream is a terminal. False if it is closed."""
    return stream is not None and stream.isatty()


def chosen(name: str) -> bool:
    """Whether the user gave this option."""
    return click.get_current_context().get_parameter_source(name) is not click.core.ParameterSource.DEFAULT


def build_model(algorithm: str, parameters: tuple[str, ...], features: Any = None) -> Any:
    """Build the model from `-a NAME -p name=value ...` and the feature options."""
    from seriatim import catalogue

    cls = catalogue.find_estimator(algorithm)
    model = cls(**parameters_of(cls, parameters), features=features)
    model.check()
    return model


def build_recommender(algorithm: str, parameters: tuple[str, ...]) -> Any:
    """Build a recommender from `-a NAME -p name=value ...`."""
    from seriatim import catalogue
    from seriatim.errors import ParameterError

    cls = catalogue.find(algorithm)
    if cls.task != "recommendation":
        there = [catalogue.command_name(one) for one in catalogue.algorithms().values() if one.task == "recommendation"]
        raise ParameterError(f"{algorithm} does {cls.task}, not recommendation; use one of {', '.join(there)}")
    model = cls(**parameters_of(cls, parameters))
    model.check()
    return model


def parameters_of(cls: Any, parameters: tuple[str, ...]) -> dict[str, Any]:
    """Parse `-p name=value ...` into the parameters of a class."""
    from seriatim.errors import ParameterError
    from seriatim.parameters import REQUIRED

    reads_named_in(parameters)
    values = {}
    for text in parameters:
        name, equals, value = text.partition("=")
        if not equals or name not in cls.parameters or name == "features":
            known = ", ".join(name for name in cls.parameters if name != "features")
            raise ParameterError(f"-p {text}: expected NAME=VALUE with a parameter of {cls.__name__}: {known}")
        values[name] = cls.parameters[name].parse(value)
    for name, parameter in cls.parameters.items():
        if parameter.default is REQUIRED and name not in values:
            raise ParameterError(f"{cls.__name__} needs -p {name}=...: {parameter.written}")
    return values


def algorithm_options(function: Any) -> Any:
    function = click.option(
        "-p", "parameters", multiple=True, metavar="NAME=VALUE", help="Set a parameter of the algorithm. Repeatable."
    )(function)
    about = "Name of the algorithm. `seriatim algorithms` lists all names."
    return click.option("-a", "--algorithm", metavar="NAME", default="pa", show_default=True, help=about)(function)


def data_argument(function: Any) -> Any:
    return click.argument("sources", metavar="DATA...", nargs=-1, required=True, type=Data())(function)


class TableChoice(click.Choice[str]):
    """The names in a table, which is imported when they are needed, because NumPy takes 0.1 seconds."""

    def __init__(self, table: Callable[[], Iterable[str]]) -> None:
        self.table = table
        super().__init__([])

    @property  # type: ignore[override]
    def choices(self) -> tuple[str, ...]:
        return tuple(self.table())

    @choices.setter
    def choices(self, value: tuple[str, ...]) -> None:
        pass


def formats() -> Iterable[str]:
    from seriatim.data.read.formats import FORMATS

    return FORMATS


def format_options(function: Any) -> Any:
    """How the data are stored."""
    for option in (
        click.option(
            "--skip-bad",
            is_flag=True,
            help="Skip lines with errors, and report how many. By default the first error stops the command.",
        ),
        click.option(
            "--header/--no-header",
            default=None,
            help="The first line of a table holds the column names, or data (default: detected).",
        ),
        click.option(
            "--format",
            type=TableChoice(formats),
            help="Input format (default: detected from file name and content). Give `text` for one document per line.",
        ),
    ):
        function = option(function)
    return function


limit_option = click.option("--limit", type=click.IntRange(1), metavar="N", help="Use only the first N examples.")
sample_option = click.option(
    "--sample",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="FRACTION",
    help="Use a random fraction of the examples, such as 0.1.",
)
shuffle_option = click.option(
    "--shuffle",
    type=click.IntRange(0),
    metavar="SEED",
    help="Shuffle the examples with this seed, using temporary files.",
)
passes_option = click.option(
    "--passes", type=click.IntRange(1), metavar="N", default=1, show_default=True, help="Read the data N times."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


def stream_options(function: Any) -> Any:
    """Which examples are used, and in which order."""
    for option in (
        click.option(
            "--delay",
            type=click.IntRange(0),
            default=0,
            metavar="N",
            help="Reveal each label N examples late.",
        ),
        limit_option,
        click.option("--skip", type=click.IntRange(0), default=0, metavar="N", help="Skip the first N examples."),
        sample_option,
        click.option(
            "--buffer",
            type=click.IntRange(1),
            metavar="N",
            help="With --shuffle: shuffle within blocks of N examples, in memory.",
        ),
        shuffle_option,
        passes_option,
    ):
        function = option(function)
    return format_options(function)


def scales() -> dict[str, str]:
    from seriatim.features.scaler import SCALES

    return SCALES


class ScaleOption(click.Option):
    """An option that describes the scalings."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        self.help = f"Scale the features: {'; '.join(f'{how} ({name})' for name, how in scales().items())}."
        return super().get_help_record(ctx)


FEATURES: dict[str, dict[str, Any]] = {
    "--label": {
        "metavar": "COLUMN",
        "help": "The column that holds the label: its name, or its number (1 is the first, -1 the last).",
    },
    "--drop": {
        "metavar": "COLUMN",
        "multiple": True,
        "help": "Ignore this column; '*' ignores all but the --text columns. Repeatable.",
    },
    "--text": {"metavar": "COLUMN", "multiple": True, "help": "Turn this text column into word counts. Repeatable."},
    "--ngram": {"type": click.IntRange(1, 10), "metavar": "N", "help": "Also count sequences of 2 to N words."},
    "--lower/--no-lower": {"default": None, "help": "Convert words to lower case (default: yes)."},
    "--token": {"metavar": "REGEX", "help": "Regular expression that matches a word (default: \\w+)."},
    "--missing": {
        "type": click.Choice(["skip", "count"]),
        "help": "`skip`: ignore missing values (the default). `count`: turn each into a feature such as age?",
    },
    "--cross": {
        "nargs": 2,
        "multiple": True,
        "metavar": "A B",
        "help": "Add the products of the features of columns A and B. Repeatable.",
    },
    "--bits": {"type": click.IntRange(1, 28), "metavar": "BITS", "help": "Hash feature names to 2^BITS columns."},
    "--normalize": {"cls": ScaleOption, "type": TableChoice(scales)},
}


def feature_options(function: Any) -> Any:
    """How columns become features."""
    for name, about in reversed(FEATURES.items()):
        function = click.option(name, **about)(function)
    return function


def features_of(options: dict[str, Any]) -> Any:
    """Remove the feature options from `options` and return them as Features; None if there are none."""
    from seriatim.features import Features

    names = [name.partition("/")[0].lstrip("-") for name in FEATURES]
    given = {name: options.pop(name) for name in names}
    given = {name: value for name, value in given.items() if value not in (None, ())}
    return Features(**given) if given else None


def load_estimator(path: str) -> Any:
    """Load a model, and check that it learns from rows."""
    from seriatim import catalogue, load

    model = load(path)
    catalogue.expect_estimator(type(model))
    return model


def open_stream(sources: tuple[str, ...], model: Any, **options: Any) -> Any:
    """Open the data with the features of the model."""
    from seriatim import data

    if options.get("skip") and options.get("shuffle") is not None:  # a stream skips before it shuffles
        if options["passes"] > 1:
            raise click.UsageError("--skip with --shuffle works for one pass only; remove --passes or one of the two")
        skip, delay = options.pop("skip"), options.pop("delay")
        return data.stream(open_stream(sources, model, **options), skip=skip, delay=delay)
    source = sources[0] if len(sources) == 1 else list(sources)
    options = {"labelled": model.labelled, **options}
    return data.stream(source, features=model.features_, schema=model.schema_, **options)


class PrefixType(click.ParamType):
    """A fraction, or a number of examples."""

    name = "prefix"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            prefix = float(value) if "." in str(value) else int(value)
        except ValueError:
            prefix = 0
        if prefix <= 0 or (isinstance(prefix, float) and prefix >= 1):
            self.fail(f"{value}: give a fraction such as 0.2 or a number of examples such as 5000", param, ctx)
        return prefix


def collisions_of(stream: Any) -> float | None:
    """The fraction of hashed columns that several names share; None without hashing."""
    plan = getattr(stream, "plan", None)
    return plan.crowd.share() if plan is not None and plan.bits else None


def report_skipped(stream: Any) -> None:
    if stream.skipped_count:
        lines = "1 bad line" if stream.skipped_count == 1 else f"{stream.skipped_count:,} bad lines"
        say(f"seriatim: {lines} skipped; the first:", err=True)
        for line in stream.skipped:
            say(f"  {line}", err=True)


def report(run: Any, stream: Any) -> None:
    """Warnings to stderr. A stream without examples is an error."""
    from seriatim.errors import DataError

    report_skipped(stream)
    if not run.examples and not run.interrupted:
        if warmed := run.warm_up - run.judge.skip:
            raise DataError(f"{stream.name}: all {warmed:,} examples are warm-up; give a smaller --warm-up")
        raise DataError(f"{stream.name}: no examples")
    if diverged(run.model):
        say(
            "seriatim: the model diverged: its weights exceed 1e50; take smaller steps or --normalize",
            err=True,
        )
    if run.interrupted:
        say("seriatim: interrupted; the results cover the examples so far", err=True)


def diverged(model: Any) -> bool:
    try:
        largest = abs(model.coef_).max(initial=0.0)
    except (AttributeError, ValueError):  # no weights over features, or nothing learned
        return False
    return not largest <= 1e50
