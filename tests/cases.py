"""Loops over cases within one test. An error names its case."""

import inspect
from collections.abc import Callable, Iterable
from functools import wraps

import pytest


def looped(name: str, values: Iterable | Callable) -> Callable:
    """Use like pytest.mark.parametrize with one argument: calls the test with each value, but makes one test of them.

    pytest takes milliseconds for an id, more than most cases take. `values` may be a function of the argument `cls`,
    which the test itself need not have. The test counts as skipped only if all its cases are.
    """

    def decorate(test: Callable) -> Callable:
        parameters = inspect.signature(test).parameters

        @wraps(test)
        def loop(**given):
            cases = list(values(given["cls"]) if callable(values) else values)
            given = {key: value for key, value in given.items() if key in parameters}
            assert cases, f"no {name} to test with"
            skipped = []
            for value in cases:
                try:
                    test(**given, **{name: value})
                except pytest.skip.Exception as skip:
                    skipped.append(skip)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"{name} = {value!r}")
                    raise
            if len(skipped) == len(cases):
                raise skipped[0]

        arguments = [key for key in parameters if key != name]
        if callable(values) and "cls" not in arguments:
            arguments.append("cls")
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        loop.__signature__ = inspect.Signature([inspect.Parameter(key, kind) for key in arguments])
        return loop

    return decorate
