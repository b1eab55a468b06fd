"""Threads that work ahead: their results are taken in order."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Event, Lock, Semaphore, Thread
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# More threads would only wait for the learner, and each one holds blocks in memory.
THREADS = min(8, cores())


class Task(Generic[Item, Result]):
    """An item and its result. The thread that takes the task from the queue computes it."""

    __slots__ = ("error", "item", "result", "unfinished")

    def __init__(self, item: Item) -> None:
        self.item = item
        self.result: Result
        self.error: BaseException | None = None
        self.unfinished = Lock()
        self.unfinished.acquire()

    def compute(self, function: Callable[[Item], Result]) -> None:
        try:
            self.result = function(self.item)
        except BaseException as error:  # raised again where the result is taken; Ctrl-C is raised here, too
            self.error = error
            if not isinstance(error, Exception):
                raise
        finally:
            self.unfinished.release()


def ahead(
    function: Callable[[Item], Result], items: Iterable[Item | None], threads: int = THREADS, depth: int = 2
) -> Iterator[Result]:
    """Yield function(item) for each item in order; `threads` threads, this one included, compute some items ahead.

    Instead of waiting for a result, this thread computes a later one. An error is raised in its turn. An item None
    says that the next item may take long, so all pending results are yielded before the next item is requested.

    >>> list(ahead(abs, [-3, 1, -2]))
    [3, 1, 2]
    """
    if threads <= 1:
        yield from (function(item) for item in items if item is not None)
        return
    queue: SimpleQueue[Any] = SimpleQueue()
    helpers = [Thread(target=work, args=(function, queue), daemon=True) for _ in range(threads - 1)]
    waiting: deque[Task[Item, Result]] = deque()
    source, problem, ended = iter(items), None, False
    try:
        for helper in helpers:
            helper.start()
        while waiting or not ended:
            paused = False
            while not ended and not paused and len(waiting) <= depth * threads:
                try:
                    item = next(source)
                    if item is None:
                        paused = True
                    else:
                        task: Task[Item, Result] = Task(item)
                        waiting.append(task)
                        queue.put(task)
                except StopIteration:
                    ended = True
                except Exception as error:  # raised after all earlier results
                    problem, ended = error, True
            for _ in range(len(waiting) if paused else min(len(waiting), 1)):
                yield taken(waiting.popleft(), function, queue)
        if problem is not None:
            raise problem
    finally:
        drain(queue)
        for _ in helpers:
            queue.put(None)
        for helper in helpers:
            if helper.ident is not None:  # else it could not be started
                helper.join()


def work(function: Callable[[Item], Result], queue: SimpleQueue[Any]) -> None:
    """Compute the tasks of a queue until None arrives."""
    while (task := queue.get()) is not None:
        task.compute(function)


def taken(task: Task[Item, Result], function: Callable[[Item], Result], queue: SimpleQueue[Any]) -> Result:
    """The result of a task. While the task is unfinished, this thread computes other tasks of the queue."""
    while task.unfinished.locked():
        try:
            queue.get_nowait().compute(function)
        except Empty:
            task.unfinished.acquire()
            break
    if task.error is not None:
        raise task.error
    return task.result


def drain(queue: SimpleQueue[Any]) -> None:
    try:
        while True:
            queue.get_nowait()
    except Empty:
        pass


@contextmanager
def checked_ahead(rows: Any) -> Iterator[None]:
    """Within this context another thread checks `Rows` just ahead of the learner, which finds them in the cache.

    A bad row, or unsorted columns, raise an error in the learner when it reaches them.
    """
    rows.begin_ahead()
    thread = Thread(target=rows.check_ahead, daemon=True)
    try:
        thread.start()
        yield
    finally:
        rows.stop_ahead()
        if thread.ident is not None:
            thread.join()
        rows.end_ahead()


def prefetched(items: Iterable[Item], depth: int = 2) -> Iterator[Item]:
    """Yield the items; another thread fetches up to `depth` of them ahead. An error is raised in its turn.

    >>> list(prefetched(range(3)))
    [0, 1, 2]
    """
    queue: SimpleQueue[tuple[Any, BaseException | None, bool]] = SimpleQueue()
    room, stopped = Semaphore(depth), Event()

    def get() -> None:
        try:
            for item in items:
                room.acquire()
                if stopped.is_set():
                    return
                queue.put((item, None, False))
            queue.put((None, None, True))
        except BaseException as error:
            queue.put((None, error, True))

    thread = Thread(target=get, daemon=True)
    thread.start()
    try:
        while True:
            item, error, ended = queue.get()
            if error is not None:
                raise error
            if ended:
                return
            yield item
            room.release()
    finally:
        stopped.set()
        room.release()
        thread.join()
