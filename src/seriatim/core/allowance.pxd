cdef bint refused(Py_ssize_t bytes) noexcept nogil
