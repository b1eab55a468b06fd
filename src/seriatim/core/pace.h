/* Numbers that one thread writes and another reads. */
#ifndef SERIATIM_PACE_H
#define SERIATIM_PACE_H

#include <Python.h>
#include <time.h>

/* What either thread writes is far enough apart that they do not take a cache line from each other. */
typedef struct {
    Py_ssize_t checked, ended;
    char between[128];
    Py_ssize_t learned;
} Pace;

static inline Py_ssize_t read_now(const Py_ssize_t *number) {
    return __atomic_load_n(number, __ATOMIC_ACQUIRE);
}

static inline void write_now(Py_ssize_t *number, Py_ssize_t value) {
    __atomic_store_n(number, value, __ATOMIC_RELEASE);
}

/* The other thread is about to write. If it takes longer, sleep: a thread that wakes is given a core that is free, and
   one that only yields may share the other's for many milliseconds. */
static inline void wait_a_little(Py_ssize_t turn) {
    if (turn < 500) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    } else {
        const struct timespec moment = {0, 20000};
        nanosleep(&moment, NULL);
    }
}

#endif
