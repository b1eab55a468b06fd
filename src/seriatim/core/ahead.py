"""Work done ahead on other cores, its results taken in order."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

# More would wait: learning is one after another, and each thread holds some blocks in memory.
THREADS = min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def ahead(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int = THREADS, depth: int = 4
) -> Iterator[Result]:
    """function(item) for each item in order, computed on `threads` threads, this one included, some items ahead.

    Instead of waiting for a result this thread computes a later one. An error is raised in its turn.

    >>> list(ahead(abs, [-3, 1, -2]))
    [3, 1, 2]
    """
    if threads <= 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads - 1) as pool:
        waiting: deque[tuple[Item, Future[Result]]] = deque()
        source, problem, ended = iter(items), None, False
        try:
            while waiting or not ended:
                while not ended and len(waiting) <= depth * threads:
                    try:
                        item = next(source)
                        waiting.append((item, pool.submit(function, item)))
                    except StopIteration:
                        ended = True
                    except Exception as error:  # raised when all before it has been taken
                        problem, ended = error, True
                if waiting:
                    help_out(function, waiting)
                    yield waiting.popleft()[1].result()
            if problem is not None:
                raise problem
        finally:
            for _, future in waiting:
                future.cancel()


def help_out(function: Callable[[Item], Result], waiting: deque[tuple[Item, Future[Result]]]) -> None:
    """Until the first result is there, compute those that no thread has begun, the first of them first."""
    for place, (item, future) in enumerate(waiting):
        if waiting[0][1].done():
            return
        if future.cancel():
            own: Future[Result] = Future()
            waiting[place] = (item, own)
            try:
                own.set_result(function(item))
            except Exception as error:
                own.set_exception(error)
