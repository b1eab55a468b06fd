"""Learning with kernels. The kernels are here; the learners are in `seriatim` itself."""

from seriatim.kernel.kernels import ChiSquare, Cosine, Gaussian, Kernel, Laplacian, Linear, Polynomial, Sum

__all__ = ["ChiSquare", "Cosine", "Gaussian", "Kernel", "Laplacian", "Linear", "Polynomial", "Sum"]
