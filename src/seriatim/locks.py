"""One thread at a time for each model, and what becomes of that when a process is forked."""

import os
from threading import Lock
from time import monotonic, sleep
from typing import Any
from weakref import WeakSet

from fastrlock.rlock import FastRLock

from seriatim.errors import ModelError

PATIENCE = 0.2  # seconds that a fork waits for models that other threads are using

owners: WeakSet[Any] = WeakSet()  # all objects with a lock
registry = Lock()
held: list[Any] = []  # the owners whose locks a fork holds
busy: list[Any] = []  # and those that other threads would not let go


class Torn:
    """The lock of a model that another thread was changing when the process was forked."""

    def __enter__(self) -> None:
        raise ModelError(
            "another thread was using this model when the process was forked, so this copy may be half changed; "
            "fork while no thread learns, or load the model from a file"
        )

    def __exit__(self, *_: Any) -> None:
        pass


def give_lock(owner: Any) -> None:
    """Give an object a lock of its own, as `_lock`."""
    object.__setattr__(owner, "_lock", FastRLock())
    with registry:
        owners.add(owner)


def before_fork() -> None:
    """Take all locks, so that the child finds no model half changed. Locks that stay taken are given up."""
    registry.acquire()
    until = monotonic() + PATIENCE
    held[:], busy[:] = [], [one for one in owners if isinstance(one._lock, FastRLock)]
    while busy:
        held.extend(one for one in busy if one._lock.acquire(blocking=False))
        taken = {id(one) for one in held}
        busy[:] = [one for one in busy if id(one) not in taken]
        if monotonic() > until:
            break
        if busy:
            sleep(0.0005)


def after_in_parent() -> None:
    for one in held:
        one._lock.release()
    held.clear()
    busy.clear()
    registry.release()


def after_in_child() -> None:
    """The threads that held or awaited a lock do not exist here: all locks are new."""
    global registry
    registry = Lock()
    for one in held:
        object.__setattr__(one, "_lock", FastRLock())
    for one in busy:
        object.__setattr__(one, "_lock", Torn())
    held.clear()
    busy.clear()


os.register_at_fork(before=before_fork, after_in_parent=after_in_parent, after_in_child=after_in_child)
