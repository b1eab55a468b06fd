"""Packages import only lower layers, importing seriatim is cheap, and private names are used only by their owner."""

import ast
import importlib
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import seriatim
from seriatim.catalogue import FAMILIES
from tests.cases import looped

SOURCE = Path(seriatim.__file__).parent
FILES = sorted(path for kind in ("*.py", "*.pyx", "*.pxd") for path in SOURCE.rglob(kind))
HEAVY = ("scipy", "sklearn", "pandas", "pyarrow", "matplotlib", "polars")

# A layer may import itself and the layers before it in this list. Families may not import each other.
LAYERS = [
    ["errors", "files", "locks"],
    ["core"],
    ["features"],
    ["labels", "parameters", "catalogue_index", "catalogue", "estimator", "modelfile"],
    [family for family in FAMILIES if family != "retrieval"],
    ["retrieval"],  # distances by kernels
    ["data", "evaluate"],
    ["report", "serve", "cluster"],
    ["cli"],
    ["__main__"],
]
HEIGHT = {name: height for height, layer in enumerate(LAYERS) for name in layer}
ALONE = {*FAMILIES}
# The catalogue and the model files must name an Estimator, which stands on both.
BASE = {
    "errors",
    "files",
    "locks",
    "labels",
    "parameters",
    "catalogue_index",
    "catalogue",
    "estimator",
    "modelfile",
}
# The only code that touches what is private to a model; `locks` guards models before and after a fork.
INSIDE = ("estimator", "locks")
# Accesses to private names of other objects that are left, by file: none may be added.
PRIVATE = {
    "cli/interrupts.py": 1,  # os._exit
}
PRIVATE_BENCH = {"workers/topics.py": 1}  # of scikit-learn
PRIVATE_NAME = re.compile(r"(super\(\)|[\w.]*)\.(_[a-z]\w*)")

IMPORT = re.compile(
    r"^\s*(?:from\s+(seriatim[\w.]*)\s+c?import\s+(\([^)]*\)|.+)|c?import\s+(seriatim[\w.]*))", re.MULTILINE
)


def package_of(path):
    return path.relative_to(SOURCE).parts[0].partition(".")[0]


def imports_of(path):
    """The packages and base modules of ours that a file names in its imports, wherever in the file they stand."""
    for source, names, whole in IMPORT.findall(path.read_text()):
        parts = (source or whole).split(".")
        if len(parts) > 1:
            yield parts[1]
        else:
            yield from (name.split()[0] for name in names.strip("() ").split(",") if name.strip())


@looped("path", FILES)
def test_imports_go_downwards(path):
    package = package_of(path)
    if package == "__init__":
        return  # the top package imports all others lazily
    assert package in HEIGHT, f"{package} has no place among the layers"
    for used in imports_of(path):
        if used not in HEIGHT or used == package or {used, package} <= BASE:
            continue
        assert HEIGHT[used] < HEIGHT[package] or (HEIGHT[used] == HEIGHT[package] and package not in ALONE), (
            f"{package} must not import {used}"
        )


def test_layers_are_those_of_the_source():
    """Finds imports of families that the search in the source does not see."""
    found = {used for path in FILES for used in imports_of(path)}
    assert {"core", "estimator", "parameters", "errors"} <= found


def imported_by(code):
    script = f"import sys\n{code}\nprint(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}


HELP = (
    "import contextlib\nfrom seriatim.cli import command\nwith contextlib.suppress(SystemExit):\n    command({args!r})"
)
LIGHT = {
    "import": "import seriatim",
    "algorithms": "import seriatim\nseriatim.algorithms()",
    "a class": "from seriatim import PA\nPA().partial_fit([[1.0], [2.0]], [0, 1]).predict([[1.0]])",
    "a run": "from seriatim import PA, data, evaluate\nevaluate.progressive(PA(), data.stream('spam'))",
    "help": HELP.format(args=["--help"]),
    "run help": HELP.format(args=["run", "--help"]),
    "algorithms command": HELP.format(args=["algorithms"]),
}


@pytest.mark.parametrize("code", LIGHT.values(), ids=list(LIGHT))
def test_lean_imports(code):
    assert not imported_by(code) & set(HEAVY)


def test_help_imports_no_numpy():
    """`seriatim --help` is faster than importing an array library."""
    assert "numpy" not in imported_by(LIGHT["help"])


def private_accesses(path):
    """The lines with `x._name`, where x is not self, cls or super()."""
    text = path.read_text()
    if path.suffix != ".py":
        code = re.sub(r'"""(?s:.*?)"""|#.*', "", text)
        return [f"{x}.{name}" for x, name in PRIVATE_NAME.findall(code) if x not in ("self", "cls", "super()")]
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            x = node.value.func if isinstance(node.value, ast.Call) else node.value
            if not (isinstance(x, ast.Name) and x.id in ("self", "cls", "super")):
                found.append(ast.unparse(node))
    return found


BENCH = SOURCE.parents[1] / "bench"


@pytest.mark.parametrize(("root", "allowed"), [(SOURCE, PRIVATE), (BENCH, PRIVATE_BENCH)], ids=["source", "bench"])
def test_private_names_are_used_by_their_owner_alone(root, allowed):
    for path in sorted(path for kind in ("*.py", "*.pyx", "*.pxd") for path in root.rglob(kind)):
        name = path.relative_to(root).as_posix()
        if root == SOURCE and package_of(path) in INSIDE:
            continue
        found = private_accesses(path)
        assert len(found) <= allowed.get(name, 0), f"{name}: use the public seam in place of {', '.join(found)}"


def test_packages_are_not_named_as_functions_of_their_parent():
    """`evaluate.compare` would be a module from its second use on, if `evaluate` had a package of that name."""
    for package in (path.parent for path in SOURCE.rglob("__init__.py") if path.parent != SOURCE):
        tree = ast.parse((package / "__init__.py").read_text())
        names = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}  # those exported lazily, too
        bound = {one.name for node in tree.body if isinstance(node, ast.ImportFrom) for one in node.names}
        bound |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        module = importlib.import_module(f"seriatim.{package.relative_to(SOURCE).as_posix().replace('/', '.')}")
        for name in ({path.stem for path in package.iterdir()} & names) - bound:
            assert isinstance(getattr(module, name, ast), type(ast)), (
                f"{package.name}.{name} is a module and a function"
            )


CLASS = re.compile(r"^(?:cdef )?class (\w+)", re.MULTILINE)
TWICE = {"Sum"}  # a kernel and a metric, both public


def test_a_class_name_means_one_class():
    names = Counter(name for path in FILES if path.suffix != ".pxd" for name in CLASS.findall(path.read_text()))
    assert {name for name, count in names.items() if count > 1} == TWICE


LONGEST = 60  # lines of a function's body, without signature and docstring
DEFINITION = re.compile(r"^( *)(?:cdef (?!class\b|extern\b)|cpdef |def )[^=#]*\(")


def python_bodies(path):
    """(name, lines) of each function of a .py file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            yield node.name, body[-1].end_lineno - body[0].lineno + 1 if body else 0


def cython_bodies(path):
    """(definition, lines) of each function of a .pyx file, by indentation."""
    lines = path.read_text().splitlines()
    for first, line in enumerate(lines):
        if found := DEFINITION.match(line):
            head = next((i for i in range(first, min(first + 8, len(lines))) if lines[i].endswith(":")), None)
            if head is None:
                continue  # a declaration
            end = next((i for i in range(head + 1, len(lines)) if lines[i].strip()
                        and len(lines[i]) - len(lines[i].lstrip()) <= len(found[1])), len(lines))  # fmt: skip
            body = "\n".join(lines[head + 1 : end]).rstrip()
            yield line.strip(), len(re.sub(r'^\s*"""(.|\n)*?"""\n?', "", body).splitlines())


def test_functions_fit_a_screen():
    kinds = {".py": python_bodies, ".pyx": cython_bodies}
    long = [(str(path.relative_to(SOURCE)), name, lines) for path in FILES if path.suffix in kinds
            for name, lines in kinds[path.suffix](path) if lines > LONGEST]  # fmt: skip
    assert not long
