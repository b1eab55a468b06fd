"""Builds every .pyx below src/; all else is in pyproject.toml."""

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# No -ffast-math (it changes the floating-point mode of the whole process and removes NaN checks), and no contraction:
# the same source then gives the same bits on every machine. No -g: it takes a quarter of the compiler's time.
FLAGS = ["-O3", "-g0", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"]
# gcc puts only as much of its own accord into the functions that call it as with -O2, a tenth of its time less. What
# inner loops need is declared inline, and that is as with -O3.
FLAGS += [] if sys.platform == "darwin" else ["--param=max-inline-insns-auto=15"]
LINK_FLAGS: list[str] = []

# `make asan`: every access out of bounds and every undefined operation ends the process. The places need -g1.
if os.environ.get("SERIATIM_SANITIZE"):
    LINK_FLAGS = ["-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all"]
    FLAGS += ["-O1", "-g1", "-fno-wrapv", "-fno-omit-frame-pointer", *LINK_FLAGS]


class Build(build_ext):
    """build_ext that compiles one file per core. In place, also by pip, it compiles only what has changed."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()
        if self.inplace:  # pip would take temporary folders, and so begin at nothing each time
            self.build_lib, self.build_temp = "build/lib", "build/temp"


# What Cython writes into every module that has memoryviews, compiled once: half of the compiler's time.
SHARED = "seriatim.core.memoryviews"

HEADERS = {path.name: path for path in Path("src").rglob("*.h")}
INCLUDE = re.compile(r'^#include "(.+)"', re.MULTILINE)


def with_included(files: Iterable[str]) -> list[str]:
    """The headers among these files, and all that they include. Cython finds only those that a .pyx or .pxd names."""
    found: set[Path] = set()
    waiting = [HEADERS[name] for file in files if (name := Path(file).name) in HEADERS]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += [HEADERS[name] for name in INCLUDE.findall(path.read_text())]
    return sorted(map(str, found))


def extension(name: str, *sources: str) -> Extension:
    folders = sorted({str(path.parent) for path in HEADERS.values()})
    return Extension(name, [*sources], include_dirs=folders, extra_compile_args=FLAGS, extra_link_args=LINK_FLAGS)


sources = sorted(Path("src").rglob("*.pyx"))
extensions = cythonize(
    [extension(".".join(path.relative_to("src").with_suffix("").parts), str(path)) for path in sources]
    + [extension(SHARED)],
    shared_utility_qualified_name=SHARED,
    # Learners are not pickled but by the state of their models: without the code for it a twentieth of the time.
    compiler_directives={"cdivision": True, "show_performance_hints": False, "auto_pickle": False},
    include_path=["src"],
    build_dir="build",
    nthreads=(os.cpu_count() or 1) if sys.platform == "linux" else 0,  # elsewhere a process cannot be forked
    language_level=3,
)
for module in extensions:
    module.depends = with_included(module.depends)
setup(ext_modules=extensions, cmdclass={"build_ext": Build})
