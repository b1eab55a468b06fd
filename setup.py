"""Builds every .pyx below src/; all else is in pyproject.toml."""

import os
import sys
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


class ParallelBuild(build_ext):
    """build_ext that compiles one file per core unless told otherwise."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()


# What Cython writes into every module that has memoryviews, compiled once: half of the compiler's time.
SHARED = "seriatim.core.memoryviews"

headers = sorted(str(path) for path in Path("src").rglob("*.h"))
sources = sorted(str(path) for path in Path("src").rglob("*.pyx"))
including = {path.parent for path in Path("src").rglob("*.p[xy][dx]") if '.h"' in path.read_text()}
modules = [path.removeprefix("src/").removesuffix(".pyx").replace("/", ".") for path in sources]
setup(
    ext_modules=cythonize(
        [
            Extension(
                name,
                [path],
                include_dirs=sorted({str(Path(header).parent) for header in headers}),
                depends=headers if Path(path).parent in including else [],
                extra_compile_args=FLAGS,
                extra_link_args=LINK_FLAGS,
            )
            for name, path in zip(modules, sources, strict=True)
        ]
        + [Extension(SHARED, [], extra_compile_args=FLAGS, extra_link_args=LINK_FLAGS)],
        shared_utility_qualified_name=SHARED,
        # Learners are not pickled but by the state of their models: without the code for it a twentieth of the time.
        compiler_directives={"cdivision": True, "show_performance_hints": False, "auto_pickle": False},
        include_path=["src"],
        build_dir="build",
        nthreads=(os.cpu_count() or 1) if sys.platform == "linux" else 0,  # elsewhere a process cannot be forked
        language_level=3,
    ),
    cmdclass={"build_ext": ParallelBuild},
)
