"""The kernels as objects, their form in model files, and the numbers that compiled code reads."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

import numpy as np

from seriatim.errors import ParameterError
from seriatim.parameters import Number, Parameter

Form = tuple[str, Any, int]  # kind, number and degree, for `Support`


def expect(condition: bool, problem: str) -> None:
    if not condition:
        raise ParameterError(problem)


def positive(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(0 < value < math.inf)


@dataclass(frozen=True)
class Kernel:
    """A kernel k(x, z)."""

    name: ClassVar[str]

    @property
    def waits(self) -> bool:
        """Whether the width will be the median distance between the first rows of the data."""
        return False

    def forms(self) -> list[Form]:
        raise NotImplementedError

    def __call__(self, X: Any, Z: Any) -> np.ndarray:
        """The kernel of each row of X with each row of Z, as a matrix.

        >>> from seriatim.kernel.kernels import Polynomial
        >>> Polynomial(degree=2)([[1.0, 2.0]], [[3.0, 4.0], [0.0, 0.0]]).tolist()
        [[144.0, 1.0]]
        """
        from seriatim.estimator.inputs import as_rows
        from seriatim.kernel.machine import kernel_matrix

        expect(not self.waits, f"{self!r}: the width is unknown until a model learns rows; give a number")

        return kernel_matrix(self.forms(), as_rows(X).check(), as_rows(Z).check(), isinstance(self, Sum))


@dataclass(frozen=True)
class Linear(Kernel):
    """x.z"""

    name = "linear"

    def forms(self) -> list[Form]:
        return [("linear", 0.0, 1)]


@dataclass(frozen=True)
class Polynomial(Kernel):
    """(x.z + c)^degree, clipped to +-1e200"""

    name = "polynomial"
    degree: int = 3
    c: float = 1.0

    def __post_init__(self) -> None:
        whole = isinstance(self.degree, int | np.integer) and not isinstance(self.degree, bool)
        expect(whole and 1 <= self.degree <= 100, f"degree={self.degree!r}: must be a whole number from 1 to 100")
        expect(self.c == 0 or positive(self.c), f"c={self.c!r}: must be a number, at least 0")

    def forms(self) -> list[Form]:
        return [("polynomial", float(self.c), int(self.degree))]


@dataclass(frozen=True)
class Gaussian(Kernel):
    """exp(-|x - z|^2 / (2 sigma^2))"""

    name = "gaussian"
    sigma: float | str = 1.0

    def __post_init__(self) -> None:
        expect_width(self.sigma)

    def forms(self) -> list[Form]:
        return [("gaussian", decay("gaussian", self.sigma), 1)]

    @property
    def waits(self) -> bool:
        return self.sigma == "median"


@dataclass(frozen=True)
class Laplacian(Kernel):
    """exp(-|x - z|_1 / sigma)"""

    name = "laplacian"
    sigma: float | str = 1.0

    def __post_init__(self) -> None:
        expect_width(self.sigma)

    def forms(self) -> list[Form]:
        return [("laplacian", decay("laplacian", self.sigma), 1)]

    @property
    def waits(self) -> bool:
        return self.sigma == "median"


@dataclass(frozen=True)
class ChiSquare(Kernel):
    """exp(-gamma sum_j (x_j - z_j)^2 / (|x_j| + |z_j|)); the usual chi-square kernel if no value is negative"""

    name = "chi_square"
    gamma: float = 1.0

    def __post_init__(self) -> None:
        expect(positive(self.gamma), f"gamma={self.gamma!r}: must be a number above 0")

    def forms(self) -> list[Form]:
        return [("chi_square", float(self.gamma), 1)]


@dataclass(frozen=True)
class Cosine(Kernel):
    """x.z / (|x| |z|), or 0 if one of the norms is 0"""

    name = "cosine"

    def forms(self) -> list[Form]:
        return [("cosine", 0.0, 1)]


@dataclass(frozen=True)
class Sum(Kernel):
    """The sum of several kernels. Kernels of the same products or distances compute these once."""

    name = "sum"
    kernels: tuple[Kernel, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", tuple(self.kernels))
        plain = all(
            isinstance(kernel, Kernel) and not isinstance(kernel, Sum) and not kernel.waits for kernel in self.kernels
        )
        expect(
            bool(self.kernels) and plain, "Sum: takes a list of one or more kernels of known width, none of them a Sum"
        )

    def forms(self) -> list[Form]:
        return [form for kernel in self.kernels for form in kernel.forms()]


KERNELS: dict[str, type[Kernel]] = {
    cls.name: cls for cls in (Linear, Polynomial, Gaussian, Laplacian, ChiSquare, Cosine, Sum)
}
NAMES = tuple(name for name in KERNELS if name != "sum")


def expect_width(sigma: Any) -> None:
    expect(positive(sigma) or sigma == "median", f"sigma={sigma!r}: must be a number above 0, or 'median'")


def decay(name: str, sigma: Any) -> float:
    """g of exp(-g distance) for a width; 1 if the width will come from the data."""
    if isinstance(sigma, str):
        return 1.0
    with np.errstate(over="ignore", divide="ignore"):
        return float(min(np.float64(1) / (2 * np.float64(sigma) ** 2 if name == "gaussian" else sigma), 1e300))


def as_plain(kernel: Kernel) -> dict[str, Any]:
    """A kernel as JSON types."""
    if isinstance(kernel, Sum):
        return {"kernel": "sum", "kernels": [as_plain(one) for one in kernel.kernels]}
    given = asdict(kernel).items()
    return {"kernel": kernel.name, **{name: value if isinstance(value, str) else float(value) for name, value in given}}


def plain_kernel(kernel: Any) -> dict[str, Any]:
    """A kernel as JSON types. Raises ParameterError for a function."""
    if not isinstance(kernel, Kernel):
        raise ParameterError("a kernel that is a function cannot be saved; use a kernel from seriatim.kernel")
    return as_plain(kernel)


def from_plain(plain: Any) -> Kernel:
    """The inverse of `as_plain`. Raises ParameterError if `plain` is not a kernel."""
    given = dict(plain) if isinstance(plain, dict) else {}
    cls = KERNELS.get(given.pop("kernel", None))
    if cls is None or set(given) != {field.name for field in fields(cls)}:
        raise ParameterError(f"{plain!r} is not a kernel")
    if cls is Sum:
        expect(isinstance(given["kernels"], list), f"{plain!r} is not a kernel")
        return Sum(tuple(from_plain(one) for one in given["kernels"]))
    if "degree" in given and given["degree"] == int(given["degree"]):
        given["degree"] = int(given["degree"])
    return cls(**given)


@dataclass(frozen=True)
class KernelChoice(Parameter):
    """A kernel: a name, with the parameters of the model; an object; or a function of two rows."""

    @property
    def range(self) -> str:
        return f"{', '.join(map(repr, NAMES))}, a kernel such as Gaussian(2.0), or a function of two rows"

    def problem(self, value: Any) -> str | None:
        made = callable(value) and not isinstance(value, type)  # the class Gaussian is not a kernel; Gaussian() is
        return None if made or (isinstance(value, str) and value in NAMES) else self.range

    def as_json(self, value: Any) -> Any:
        return value if isinstance(value, str) else plain_kernel(value)

    def restored(self, plain: Any, arrays: dict[str, np.ndarray]) -> Any:
        return from_plain(plain) if isinstance(plain, dict) else plain


@dataclass(frozen=True)
class KernelList(Parameter):
    """Several kernels, or None for the kernels of the paper."""

    commas = True

    @property
    def range(self) -> str:
        return (
            "a list of kernels of known width such as [Gaussian(2.0), Polynomial(2)], or None; on the command line "
            "gaussian:2,polynomial:2"
        )

    def parse(self, text: str) -> Any:
        """Parse `gaussian:2,gaussian:8,polynomial:2`: names of kernels, each with its width or degree."""
        try:
            return [one_of(part) for part in text.split(",")]
        except (ValueError, ParameterError):
            return text

    def of(self, value: Any) -> list[Any]:
        if value is None:
            return paper_kernels()
        kernels = list(value)
        known = (
            callable(one) and not isinstance(one, type | Sum) and not getattr(one, "waits", False) for one in kernels
        )
        expect(bool(kernels) and all(known), "not a list of kernels of known width")
        return kernels

    def problem(self, value: Any) -> str | None:
        try:
            self.of(value)
        except (ParameterError, TypeError, ValueError, OverflowError):
            return self.range
        return None

    def as_json(self, value: Any) -> Any:
        return None if value is None else [plain_kernel(one) for one in value]

    def restored(self, plain: Any, arrays: dict[str, np.ndarray]) -> Any:
        return None if plain is None else [from_plain(one) for one in plain]


def one_of(text: str) -> Kernel:
    """Parse `gaussian:2` as Gaussian(2.0), `polynomial:3` as Polynomial(3).

    >>> one_of("gaussian:2"), one_of("cosine")
    (Gaussian(sigma=2.0), Cosine())
    """
    name, _, number = text.strip().partition(":")
    expect(name in NAMES, f"{name!r} is not a kernel; use one of {', '.join(NAMES)}")
    if not number:
        return KERNELS[name]()
    return Polynomial(int(number)) if name == "polynomial" else KERNELS[name](float(number))  # type: ignore[call-arg]


def paper_kernels() -> list[Kernel]:
    """The sixteen of Jin, Hoi and Yang (2010): polynomials of degree 1 to 3, Gaussians of width 2^-6 to 2^6."""
    return [*(Polynomial(degree) for degree in (1, 2, 3)), *(Gaussian(2.0**k) for k in range(-6, 7))]


@dataclass(frozen=True)
class Width(Number):
    """A number above 0, or "median"."""

    def parse(self, text: str) -> Any:
        return "median" if text == "median" else super().parse(text)

    @property
    def range(self) -> str:
        return super().range + " or 'median'"

    def problem(self, value: Any) -> str | None:
        return None if isinstance(value, str) and value == "median" else super().problem(value)


WIDE = ("gaussian", "laplacian", "chi_square")  # kernels that use `sigma`


def chosen(kernel: Any, sigma: Any, degree: int, c: float) -> dict[str, Any]:
    """The kernel as arguments of `Machine`."""
    if isinstance(kernel, str):
        kernel = named(kernel, sigma, degree, c)
    waits = isinstance(kernel, Kernel) and kernel.waits
    return {"kernels": forms_of(kernel), "summed": isinstance(kernel, Sum), "waiting": kernel.name if waits else None}


def forms_of(kernel: Any) -> list[Form]:
    """A kernel, or a function of two rows, as arguments of `Support`."""
    return kernel.forms() if isinstance(kernel, Kernel) else [("callable", kernel, 1)]


def named(name: str, sigma: Any, degree: int, c: float) -> Kernel:
    """The kernel of this name, with the numbers that it uses."""
    if name == "polynomial":
        return Polynomial(int(degree), float(c))
    if name == "chi_square":
        expect(sigma != "median", "sigma='median': the width of a chi_square kernel must be a number above 0")
        return ChiSquare(min(1 / sigma, 1e300))
    return KERNELS[name](sigma) if name in WIDE else KERNELS[name]()  # type: ignore[call-arg]
