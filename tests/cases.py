"""Loops over cases within one test. An error names its case."""

import inspect
from collections.abc import Callable, Iterable
from functools import wraps

import pytest


def looped(name: str, values: Iterable | Callable) -> Callable:
    """Use like pytest.mark.parametrize with one argument: calls the test with each value, but makes one test of them.

    pytest takes a millisecond for an id, more than most cases take. `values` may be a function of the argument `cls`.
    The test counts as skipped only if all its cases are.
    """

    def decorate(test: Callable) -> Callable:
        signature = inspect.signature(test)

        @wraps(test)
        def loop(**given):
            cases = list(values(given["cls"]) if callable(values) else values)
            assert cases, f"no {name} to test with"
            skipped = []
            for value in cases:
                try:
                    test(**given, **{name: value})
                except pytest.skip.Exception as skip:
                    skipped.append(skip)
                except Exception as error:
                    error.add_note(f"{name} = {value!r}")
                    raise
            if len(skipped) == len(cases):
                raise skipped[0]

        others = [parameter for parameter in signature.parameters.values() if parameter.name != name]
        loop.__signature__ = signature.replace(parameters=others)
        return loop

    return decorate
