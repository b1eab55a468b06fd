"""Builds every .pyx below src/; all else is in pyproject.toml."""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# No -ffast-math (it changes the floating-point mode of the whole process and removes NaN checks), and no contraction:
# the same source then gives the same bits on every machine. No -g: it takes a quarter of the compiler's time.
FLAGS = ["-O3", "-g0", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"]


class ParallelBuild(build_ext):
    """build_ext that compiles one file per core unless told otherwise."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()


headers = sorted(str(path) for path in Path("src").rglob("*.h"))
sources = sorted(str(path) for path in Path("src").rglob("*.pyx"))
modules = [path.removeprefix("src/").removesuffix(".pyx").replace("/", ".") for path in sources]
setup(
    ext_modules=cythonize(
        [
            Extension(
                name,
                [path],
                include_dirs=[f"src/seriatim/{name}" for name in ("core", "data", "kernel", "topics", "portfolio")],
                depends=headers if '.h"' in Path(path).read_text() else [],
                extra_compile_args=FLAGS,
            )
            for name, path in zip(modules, sources, strict=True)
        ],
        compiler_directives={"cdivision": True, "show_performance_hints": False},
        include_path=["src"],
        build_dir="build",
        language_level=3,
    ),
    cmdclass={"build_ext": ParallelBuild},
)
