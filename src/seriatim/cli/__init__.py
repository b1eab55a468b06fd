"""The command line. Each command is a module of this package and is imported when it runs."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

import click

from seriatim import __version__
from seriatim.cli.interrupts import interrupts
from seriatim.cli.screen import print_anything, say
from seriatim.files import NO_ROOM

COMMANDS = {
    "run": "Run one algorithm over a file and report how well it predicts.",
    "compare": "Compare many algorithms over random orders of a file.",
    "tune": "Search parameters on the first examples and evaluate them on the rest.",
    "train": "Learn from a file and save the model.",
    "topics": "Learn the topics of documents and print them.",
    "predict": "Predict the labels of a file with a saved model.",
    "recommend": "Learn from a file of ratings and recommend items.",
    "inspect": "Show a saved model and its features with the largest weights.",
    "algorithms": "List the algorithms and their parameters.",
    "describe": "Summarize a file: rows, features, labels, scales, warnings.",
    "portfolio": "Run portfolio strategies over a market and compare them.",
    "convert": "Convert data to another format.",
    "datasets": "List the bundled data sets and the generated streams.",
    "play": "Play rock, paper, scissors against a learning opponent.",
}


class Commands(click.Group):
    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        return importlib.import_module(f"seriatim.cli.{name}").command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="seriatim %(version)s")
def command() -> None:
    """Online learning: models that learn from a stream, one example at a time.

    \b
    seriatim compare spam                        compare a dozen algorithms on a bundled data set
    seriatim run spam -a pa                      run one algorithm: passive-aggressive
    seriatim run mail.svm -a ogd -p eta=0.1      run over your file, with a parameter
    seriatim run mail.csv.gz --label spam --text subject --normalize unit
    seriatim train mail.svm -a pa -o mail.model  learn and save the model
    seriatim predict mail.model new.svm          predict with the saved model
    seriatim recommend u.data --user 196         learn ratings and recommend items
    seriatim describe mail.csv                   summarize a file before learning
    """
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        click.get_current_context().color = False


def main() -> None:
    """Run a command. A user error prints one line to stderr and exits with status 2."""
    # NumPy's linear algebra keeps a thread spinning on each core. The command needs these cores to parse.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    hold_standard_files()
    print_anything()
    try:
        with interrupts:
            status = status_of(lambda: command.main(prog_name="seriatim", standalone_mode=False))
            if problem := unprinted():
                status = status or told(f"standard output: {problem}")
    except KeyboardInterrupt:  # after the command has ended
        status = 130
    sys.exit(interrupts.status(status))


def status_of(run: Callable[[], Any]) -> int:
    """Run a command, print its error if there is one, and return the exit status."""
    from seriatim.errors import SeriatimError

    try:
        return run() or 0
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.UsageError as error:
        help_ = f" (see `{error.ctx.command_path} --help`)" if error.ctx else ""
        return told(f"{' '.join(error.format_message().split())}{help_}")
    except click.Abort:
        return 130
    except (click.ClickException, SeriatimError) as error:
        return told(str(error))
    except OSError as error:
        if error.filename is None and error.errno in NO_ROOM:  # errors of output files have a file name
            unprinted()
            return told(f"standard output: {error.strerror}")
        return told(f"{os.fsdecode(error.filename)}: {error.strerror}" if error.filename else str(error))
    except MemoryError as error:
        return told(f"out of memory: {error}" if str(error) else "out of memory")


def told(problem: str) -> int:
    """Print an error and return its exit status."""
    say(f"seriatim: {problem}", err=True)
    return 2


def hold_standard_files() -> None:
    """Open closed standard files on /dev/null. Otherwise the next opened file takes the number of one of them."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def unprinted() -> str | None:
    """Flush standard output. If that fails, return why, and discard the output so that Python does not try again."""
    try:
        if sys.stdout is not None:  # None if it was closed at the start
            sys.stdout.flush()
    except OSError as error:
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        os.dup2(nowhere, 1)
        os.close(nowhere)
        return error.strerror or str(error)
    return None
