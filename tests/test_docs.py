"""The examples in the documentation run and print the shown output."""

import doctest
import importlib
import operator
import os
import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import seriatim
from tests import pages

ALGORITHMS = seriatim.algorithms()
NAME = operator.attrgetter("stem")
FIRST, *OTHERS = sorted(Path(__file__).parents[1].glob("examples/*.py"))
# Compiled modules hide their docstrings' examples from doctest's search; those of the classes are run one by one below.
MODULES = [
    module.name
    for module in pkgutil.walk_packages(seriatim.__path__, "seriatim.")
    if not module.name.startswith("seriatim.cli") and "__main__" not in module.name
]


def run(test):
    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    result = runner.run(test, out=report.append)
    assert not result.failed, "".join(report)
    return result.attempted


@pytest.mark.parametrize("cls", ALGORITHMS.values(), ids=list(ALGORITHMS))
def test_class_docstring(cls):
    examples = doctest.DocTestParser().get_doctest(cls.__doc__, {}, cls.__name__, None, None)
    assert run(examples), f"{cls.__name__} has no example"


@pytest.mark.parametrize("cls", ALGORITHMS.values(), ids=list(ALGORITHMS))
def test_class_docstring_says_it_all(cls):
    """One line, each parameter with its meaning, an example, the citation."""
    lines = cls.__doc__.splitlines()
    assert lines[0].endswith(".") or lines[1] == "" or lines[0].strip(), cls
    for name in cls.parameters:
        if name not in ("fit_intercept", "classes", "features"):  # documented once for all classes
            explained = re.search(rf"^ +(\w+, )*{name}(, \w+)* :", cls.__doc__, re.MULTILINE)
            assert explained, f"{cls.__name__} does not explain {name}"
    assert cls.paper[-5:-1] in cls.__doc__, f"{cls.__name__} does not cite {cls.paper}"


@pytest.mark.parametrize("name", ["seriatim", *MODULES])
def test_module_doctests(name):
    module = importlib.import_module(name)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        owner = test.name.removeprefix(f"{name}.").split(".")[0]
        if owner not in ALGORITHMS:
            run(test)
    # Functions of compiled modules are not found by the search above.
    for key, thing in vars(module).items():
        if type(thing).__name__ == "cython_function_or_method" and thing.__doc__ and ">>>" in thing.__doc__:
            run(doctest.DocTestParser().get_doctest(thing.__doc__, dict(vars(module)), f"{name}.{key}", None, None))


@pytest.mark.parametrize("path", [FIRST, *(pytest.param(path, marks=pytest.mark.slow) for path in OTHERS)], ids=NAME)
def test_example(path, tmp_path):
    """Each example runs unchanged and writes the files that it mentions."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "error", str(path)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    written = tmp_path / done.stdout.splitlines()[-1]
    assert written.stat().st_size > 10_000


ROOT = Path(__file__).parents[1]


def blocks(page):
    """The fenced blocks of a page, each with its language."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["README.md", "docs/guide.md"])
def test_python_on_the_page(page, tmp_path, monkeypatch, capsys):
    """The Python of a page runs as one program. A block without a language shows what the block before it prints."""
    monkeypatch.chdir(tmp_path)
    found, names = blocks(page), {}
    assert any(language == "python" for language, _ in found)
    for (language, code), (following, shown) in zip(found, [*found[1:], ("end", "")], strict=True):
        if language == "python":
            exec(compile(code, page, "exec"), names)
            printed = capsys.readouterr().out
            assert following or shown == printed


def test_commands_in_the_readme(tmp_path):
    """Commands in the README print the shown output, except for times."""

    def timeless(text):
        lines = [re.sub(r"[\d.,]+ ± +[\d.]+ .?s\b|[\d.]+ s\b", "TIME", line) for line in text.splitlines()]
        lines = [re.sub("[ ─]+", " ", line).rstrip() for line in lines]  # columns are as wide as the times
        return [line for line in lines if line]

    shown = [text for language, text in blocks("README.md") if language == "console"]
    assert shown
    for text in shown:
        command, _, printed = text.partition("\n")
        words = shlex.split(command.removeprefix("$ seriatim "))
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run(
            [sys.executable, "-m", "seriatim", *words], cwd=tmp_path, env=environment, capture_output=True, check=True
        )
        assert timeless(done.stdout.decode()) == timeless(printed)


def test_table_of_algorithms():
    assert pages.PAGE.read_text(encoding="utf-8") == pages.page(), "run `make docs`"
    assert f"[{len(ALGORITHMS)} algorithms]" in (ROOT / "README.md").read_text(encoding="utf-8")
