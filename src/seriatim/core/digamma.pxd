"""The derivative of log Gamma, its exponential, and log Gamma itself, without a call and for whole loops of them."""

cdef extern from "digamma.h" nogil:
    double natural_log(double x) noexcept
    double digamma(double x) noexcept
    double exp_digamma(double x) noexcept
    double log_gamma(double x) noexcept
