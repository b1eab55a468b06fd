"""One thread at a time for each model, and what becomes of that when a process is forked."""

from __future__ import annotations

import os
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any
from weakref import ref

from fastrlock.rlock import FastRLock

from seriatim.errors import ModelError

PATIENCE = 1.0  # seconds that a fork waits for models that other threads are using

FEW = 1000

owners: list[ref[Any]] = []  # all objects with a lock; no WeakSet, in whose callbacks Ctrl-C would be lost
registry = Lock()
free: list[Any] = []  # the owners whose locks a fork holds
room = FEW
busy: list[Waiting] = []  # those whose locks other threads had


class Torn:
    """The lock of a model that another thread was changing when the process was forked."""

    def __enter__(self) -> None:
        raise ModelError(
            "another thread was using this model when the process was forked, so this copy may be half changed; "
            "fork while no thread learns, or load the model from a file"
        )

    def __exit__(self, *_: Any) -> None:
        pass


class Waiting(Thread):
    """A thread that takes a lock when its turn comes, and holds it until the fork is done."""

    def __init__(self, owner: Any) -> None:
        super().__init__(daemon=True)
        self.owner, self.got, self.forked = owner, Event(), Event()
        self.start()

    def run(self) -> None:
        with self.owner._lock:
            self.got.set()
            self.forked.wait()


def give_lock(owner: Any) -> None:
    """Give an object a lock of its own, as `_lock`."""
    object.__setattr__(owner, "_lock", FastRLock())
    global room
    with registry:
        owners.append(ref(owner))
        if len(owners) > room:
            owners[:] = [one for one in owners if one() is not None]
            room = 2 * len(owners) + FEW


def before_fork() -> None:
    """Take all locks, so that the child finds no model half changed. It does not wait for ever."""
    registry.acquire()
    taken = [one for known in owners if (one := known()) is not None and isinstance(one._lock, FastRLock)]
    free[:] = [one for one in taken if one._lock.acquire(blocking=False)]
    held = {id(one) for one in free}
    busy[:] = [Waiting(one) for one in taken if id(one) not in held]
    until = monotonic() + PATIENCE
    for waiting in busy:
        waiting.got.wait(max(until - monotonic(), 0))


def after_in_parent() -> None:
    for one in free:
        one._lock.release()
    for waiting in busy:
        waiting.forked.set()
    free.clear()
    busy.clear()
    registry.release()


def after_in_child() -> None:
    """The threads that held or awaited a lock do not exist here: all locks are new."""
    global registry
    registry = Lock()
    for one in [*free, *(waiting.owner for waiting in busy if waiting.got.is_set())]:
        object.__setattr__(one, "_lock", FastRLock())
    for waiting in busy:
        if not waiting.got.is_set():
            object.__setattr__(waiting.owner, "_lock", Torn())
    free.clear()
    busy.clear()


os.register_at_fork(before=before_fork, after_in_parent=after_in_parent, after_in_child=after_in_child)
