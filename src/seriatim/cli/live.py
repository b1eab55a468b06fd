"""The progress line on a terminal, and a Ctrl-C that stops between two blocks."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from seriatim.cli.interrupts import interrupts
from seriatim.cli.options import on_terminal


class Live:
    """Shows the run ten times a second if stderr is a terminal. Ctrl-C stops the run between two blocks."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.shown = self.start = time.perf_counter()
        self.stopping = False
        self.visible = on_terminal(sys.stderr)

    def __enter__(self) -> Live:
        interrupts.stop = self.stop
        self.stopping = interrupts.count > 0  # a signal came before the run began
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        interrupts.stop = None
        if self.visible:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def stop(self) -> None:
        """Stop after this block; at once if the stream waits for data, or at a second signal with nothing to save."""
        urgent = self.stopping and interrupts.saves is None
        self.stopping = True
        if urgent or self.stream.waiting:
            raise KeyboardInterrupt

    def __call__(self, run: Any) -> None:
        if self.stopping:
            raise KeyboardInterrupt
        now = time.perf_counter()
        if self.visible and now - self.shown > 0.1:
            self.shown = now
            share = self.stream.share_read()
            read = "" if share is None else f"{share:4.0%}  "
            print(f"\r\x1b[K{read}{self.line(run, now - self.start)}", end="", file=sys.stderr, flush=True)

    def line(self, run: Any, seconds: float) -> str:
        """The progress line of a run after some seconds."""
        rate = f"{run.examples:,} examples  {run.examples / max(seconds, 1e-9):,.0f}/s"
        if run.mistakes is None:
            return f"{rate}  mean loss {run.mean_loss:.4g}"
        return f"{rate}  mistake rate {run.mistake_rate:.4f}"
