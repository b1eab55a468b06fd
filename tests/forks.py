"""Commands in forked processes, which start in a millisecond because all modules are imported already."""

from __future__ import annotations

import importlib
import os
import shlex
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from seriatim.catalogue import algorithms
from seriatim.cli import COMMANDS, main
from seriatim.cli.interrupts import ENDING

# What a command imports when it is needed takes it a fifth of a second.
for name in (
    *(f"seriatim.cli.{name}" for name in COMMANDS), "rich.console", "rich.table", "safetensors.numpy", "csv", "gzip",
    "seriatim.data.read.ratings", "seriatim.data.write.convert", "seriatim.evaluate.comparison.store",
    "seriatim.evaluate.regret_bounds.of_comparison", "seriatim.evaluate.comparison.significance",
    "seriatim.portfolio.backtest", "seriatim.report.markets", "seriatim.cli.live",
):  # fmt: skip
    importlib.import_module(name)
algorithms()


class Forked:
    """A command line that runs in a process of its own, its output in files without a name.

    before : called in the process before the command. stdin, stdout : instead of nothing and of such a file.
    """

    def __init__(
        self,
        line: str,
        before: Callable[[], Any] = lambda: None,
        stdin: int | None = None,
        stdout: int | None = None,
    ) -> None:
        self.out: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115, closed by `end`
        self.err: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        nothing = os.open(os.devnull, os.O_RDONLY)
        files = (
            nothing if stdin is None else stdin,
            self.out.fileno() if stdout is None else stdout,
            self.err.fileno(),
        )
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # until the child has removed the handlers of this process
        self.pid = os.fork()
        if not self.pid:
            run(shlex.split(line), before, files)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        os.close(nothing)

    def kill(self, number: int) -> None:
        os.kill(self.pid, number)

    def end(self) -> tuple[int, str, str]:
        """(status, standard output, standard error); the status is negative after a signal that killed it."""
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        texts = []
        for file in (self.out, self.err):
            file.seek(0)
            texts.append(file.read().decode())
            file.close()
        return status, *texts  # type: ignore[return-value]


def run(arguments: list[str], before: Callable[[], Any], files: tuple[int, int, int]) -> None:
    """Run the command in the child process, then end the process."""
    status = 99
    try:
        for number in ENDING:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        for number, file in enumerate(files):
            os.dup2(file, number)
        sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
        sys.argv = ["seriatim", *arguments]
        before()
        try:
            main()
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 0
        sys.stdout.flush()  # as Python does at exit
    except BaseException:
        traceback.print_exc()
        status = 99
    finally:
        os._exit(status)


def forked(line: str, **options: Any) -> tuple[int, str, str]:
    """Run a command and wait for its end."""
    return Forked(line, **options).end()


def contents(folder: Path) -> dict[Path, bytes]:
    """All files below a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
