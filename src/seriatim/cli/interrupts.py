"""Ctrl-C and other signals, which wait until a model is saved."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from seriatim.files import abandon

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
MOST = 3  # the third signal ends the command at once


class Interrupts:
    """How a command handles Ctrl-C, SIGTERM and SIGHUP. There is one instance per process, like the handlers.

    If nothing can be lost, the first signal raises KeyboardInterrupt. If the command is going to save a model, the
    first signal ends the learning and the model is saved. A second one waits for the save. A third one ends the
    command at once and keeps the old file.
    """

    def __init__(self) -> None:
        self.before: dict[int, Any] = {}
        self.clear()

    def clear(self) -> None:
        self.count = self.number = 0
        self.saves: str | None = None  # the file to write before the command ends
        self.stop: Callable[[], None] | None = None  # ends the learning; may raise KeyboardInterrupt

    def __enter__(self) -> Interrupts:
        self.clear()
        if threading.current_thread() is threading.main_thread():
            taken = {number: signal.getsignal(number) for number in ENDING}
            # Signals that are ignored, as under nohup, stay ignored.
            self.before = {number: how for number, how in taken.items() if how not in (signal.SIG_IGN, None)}
            for number in self.before:
                signal.signal(number, self)
        return self

    def __exit__(self, *error: object) -> None:
        for number, how in self.before.items():
            signal.signal(number, how)
        self.before = {}

    @contextmanager
    def keeping(self, *files: str | None) -> Iterator[None]:
        """While this is open, the command learns and then saves to these files, if there are any."""
        self.saves = ", ".join(file for file in files if file) or None
        try:
            yield
        finally:
            self.saves = None

    def __call__(self, number: int, frame: Any) -> None:
        self.count, self.number = self.count + 1, number
        if self.count >= MOST:
            self.end_at_once()
        if self.stop is not None:
            self.stop()
        elif self.saves is None and self.count == 1:  # a second one would disturb the cleanup
            raise KeyboardInterrupt
        if self.saves is not None and (self.count > 1 or self.stop is None):
            more = "once more" if self.count == MOST - 1 else "twice more"
            self.tell(f"seriatim: saving {self.saves} first; press Ctrl-C {more} to quit now and keep the old file\n")

    def end_at_once(self) -> NoReturn:
        """End the process. An exception might be caught, and the file would be saved after all."""
        abandon()
        if sys.stderr is not None and sys.stderr.isatty():
            self.tell("\r\x1b[K\x1b[?25h")  # clear the progress line and show the cursor
        os._exit(self.status(0))

    def tell(self, line: str) -> None:
        """Write to standard error without Python's buffer, which may be in use when the signal comes."""
        with suppress(OSError):
            os.write(2, line.encode())

    def status(self, status: int) -> int:
        """The exit status of a command: 128 + signal number if a signal ended it."""
        return 128 + self.number if self.number and status in (0, 130) else status


interrupts = Interrupts()
