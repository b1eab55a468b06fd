"""A lock for each model, and a fork that leaves no model half changed."""

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

owners: list[ref[Any]] = []  # all objects with a lock; a WeakSet would lose a Ctrl-C that comes in its callbacks
registry = Lock()
free: list[Any] = []  # during a fork: the owners whose locks the forking thread took at once
room = FEW
busy: list[LockWaiter] = []  # during a fork: threads that wait for the other locks


class Torn:
    """In a child process, the lock of a model that another thread was changing during the fork."""

    def __enter__(self) -> None:
        raise ModelError(
            "another thread was using this model when the process was forked, so this copy may be half changed; "
            "fork while no thread learns, or load the model from a file"
        )

    def __exit__(self, *_: Any) -> None:
        pass


class LockWaiter(Thread):
    """A thread that waits for a lock and then holds it until the fork is done."""

    def __init__(self, owner: Any) -> None:
        super().__init__(daemon=True)
        self.owner, self.got, self.forked = owner, Event(), Event()
        self.start()

    def run(self) -> None:
        with self.owner._lock:
            self.got.set()
            self.forked.wait()


def give_lock(owner: Any) -> None:
    """Give an object its own lock, as `_lock`."""
    object.__setattr__(owner, "_lock", FastRLock())
    global room
    with registry:
        owners.append(ref(owner))
        if len(owners) > room:
            owners[:] = [one for one in owners if one() is not None]
            room = 2 * len(owners) + FEW


def before_fork() -> None:
    """Take all locks, so that the child sees no model half changed. Waits at most PATIENCE seconds."""
    registry.acquire()
    taken = [one for known in owners if (one := known()) is not None and isinstance(one._lock, FastRLock)]
    free[:] = [one for one in taken if one._lock.acquire(blocking=False)]
    held = {id(one) for one in free}
    busy[:] = [LockWaiter(one) for one in taken if id(one) not in held]
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
    """Make new locks: the threads that held or awaited the old ones do not exist in the child."""
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
