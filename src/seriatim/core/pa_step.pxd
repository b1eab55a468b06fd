"""The step of passive-aggressive learning, which several families use."""

from libc.math cimport fmin

cdef enum Variant:
    HARD
    ONE
    TWO


cdef inline double pa_step(int variant, double C, double loss, double norm2) noexcept nogil:
    """The step tau of PA, PA-I and PA-II for a positive loss (Crammer et al., 2006, equation 5)."""
    if variant == HARD:
        return loss / norm2
    if variant == ONE:
        return fmin(C, loss / norm2)
    return loss / (norm2 + 1 / (2 * C))
