"""Ctrl-C and other requests to end, which wait for a model to be saved."""

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
MOST = 3  # this request ends the command whatever it is doing


class Interrupts:
    """How a command takes Ctrl-C, SIGTERM and SIGHUP. They are one for a process, and so is this.

    Where nothing can be lost the first one raises KeyboardInterrupt. While a model learns that is to be saved, the
    first one ends the learning and the model is saved. A second one waits for that. A third one ends the command at
    once, and the old file stays.
    """

    def __init__(self) -> None:
        self.before: dict[int, Any] = {}
        self.clear()

    def clear(self) -> None:
        self.count = self.number = 0
        self.saves: str | None = None  # the file that is to be written before the command ends
        self.stop: Callable[[], None] | None = None  # ends the learning; may raise KeyboardInterrupt

    def __enter__(self) -> Interrupts:
        self.clear()
        if threading.current_thread() is threading.main_thread():
            taken = {number: signal.getsignal(number) for number in ENDING}
            # What is ignored, as by nohup, stays so.
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
        """Within this, something is learned and then saved in these files, if there are any."""
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
        elif self.saves is None and self.count == 1:  # a second one could only disturb the clearing up
            raise KeyboardInterrupt
        if self.saves is not None and (self.count > 1 or self.stop is None):
            more = "once more" if self.count == MOST - 1 else "twice more"
            self.tell(f"seriatim: saving {self.saves} first; press Ctrl-C {more} to quit now and keep the old file\n")

    def end_at_once(self) -> NoReturn:
        """End the process. An exception could be caught on its way, and the file saved after all."""
        abandon()
        if sys.stderr is not None and sys.stderr.isatty():
            self.tell("\r\x1b[K\x1b[?25h")  # the line of a run is gone, and the cursor is shown
        os._exit(self.status(0))

    def tell(self, line: str) -> None:
        """Write to standard error, past Python's buffer: the signal may have come while that was in use."""
        with suppress(OSError):
            os.write(2, line.encode())

    def status(self, status: int) -> int:
        """The exit status of a command that would be another if nobody had asked it to end."""
        return 128 + self.number if self.number and status in (0, 130) else status


interrupts = Interrupts()
