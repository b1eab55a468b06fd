"""The lasso of a row on a dictionary, by coordinate descent or by LARS, the path of solutions over lam."""

from libc.math cimport fabs, sqrt
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

cdef extern from "simd.h":
    void add_lines(Py_ssize_t n, Py_ssize_t lines, const double* a, const int* which, const double* X, Py_ssize_t width,
                   double* out) noexcept nogil

cdef double SHORTEST = 1e-30    # below this |d|^2 an atom is ignored
cdef double DEPENDENT = 1e-10   # below this fraction of |d|^2 outside the span of the active atoms, d is dependent
cdef double ROUNDING = 1e-12    # the relative accuracy of LARS
cdef double LOOSE = 0.05        # the tolerance while the active set still grows

cdef enum State:
    OUT
    IN                          # active
    BARRED                      # in the span of the active atoms
    NONE                        # too short


cdef class Lasso:
    """The code a with the least |x - D a|^2 / 2 + lam |a|_1, from c = D'x and G = D'D.

    At the optimum r = c - G a has r_j = lam sign(a_j) where a_j is not 0, and |r_j| <= lam elsewhere.
    """

    def __cinit__(self, Py_ssize_t atoms, bint lars, double tolerance, Py_ssize_t iterations):
        self.atoms, self.lars, self.tolerance, self.iterations = atoms, lars, tolerance, iterations
        self.lam = 1
        self.G = <double*> calloc(atoms * atoms, sizeof(double))
        self.H = <double*> calloc(atoms * (atoms + 3), sizeof(double))
        self.atom = <int*> calloc(atoms, sizeof(int))
        self.state = <char*> calloc(atoms, 1)
        self.a = <double*> calloc(6 * (atoms + 3), sizeof(double))
        self.L = <double*> calloc(atoms * (atoms + 1) // 2, sizeof(double))
        if (self.G == NULL or self.H == NULL or self.L == NULL or self.atom == NULL or self.state == NULL
                or self.a == NULL):
            raise MemoryError(f"no memory for the products of {atoms} atoms")
        self.rho = self.a + atoms + 3
        self.r = self.rho + atoms + 3
        self.sign = self.r + atoms + 3
        self.step = self.sign + atoms + 3
        self.slope = self.step + atoms + 3

    def __dealloc__(self):
        free(self.G)
        free(self.H)
        free(self.L)
        free(self.atom)
        free(self.state)
        free(self.a)

    cdef void solve(self, const double* c, double norm2) noexcept nogil:
        """The code of a row with |x|^2 = norm2: a[i], which is not 0, belongs to atom[i], i < n."""
        self.norm2 = norm2
        self.clear()
        if not self.lars:
            if self.descend(c, self.tolerance, LOOSE):
                return
            self.clear()    # slow convergence: similar atoms, or lam much smaller than c
        self.walk(c)
        self.descend(c, ROUNDING, ROUNDING)

    cdef void clear(self) noexcept nogil:
        cdef Py_ssize_t j
        self.n = 0
        for j in range(self.atoms):
            self.state[j] = OUT if self.G[j * self.atoms + j] > SHORTEST else NONE

    cdef double objective(self, const double* c) noexcept nogil:
        """|x - D a|^2 / 2 + lam |a|_1 of the code."""
        cdef Py_ssize_t i
        cdef double total = self.norm2 / 2
        for i in range(self.n):
            total += self.lam * fabs(self.a[i]) - self.a[i] * (c[self.atom[i]] + self.r[self.atom[i]]) / 2
        return total if total > 0 else 0

    # ---- coordinate descent

    cdef bint descend(self, const double* c, double tolerance, double loose) noexcept nogil:
        """Sweep over the active atoms until none changes by more than `loose` max|a|; then activate others, and repeat.

        When no atom needs to be activated, `loose` falls to the tolerance, and below it while the duality gap is above
        the tolerance. Returns False if the number of sweeps reaches `iterations` first.
        """
        cdef Py_ssize_t i, sweeps = 0
        cdef double peak, moved, enough
        while True:
            self.gather(c)
            peak = 0
            while self.n and sweeps < self.iterations:
                moved, peak = self.sweep(), 0
                for i in range(self.n):
                    peak = max(peak, fabs(self.a[i]))
                sweeps += 1
                if moved <= loose * peak:
                    break
            if self.activate(c, loose * peak) == 0:
                enough = tolerance * self.objective(c) + 1e-13 * self.norm2
                if self.n == 0 or (loose <= tolerance and self.gap(c) <= enough):
                    return True
                loose = min(tolerance, loose / 10)
            if sweeps >= self.iterations:
                return False

    cdef double gap(self, const double* c) noexcept nogil:
        """The duality gap, with the dual objective at the feasible point s (x - D a), s = min(1, lam / max|r|).

        The dual objective is s x.(x - D a) - s^2 |x - D a|^2 / 2.
        """
        cdef Py_ssize_t i, j
        cdef double most = 0, of_x = self.norm2, square = self.norm2, s
        for j in range(self.atoms):
            most = fabs(self.r[j]) if self.state[j] != NONE and fabs(self.r[j]) > most else most
        for i in range(self.n):
            of_x -= self.a[i] * c[self.atom[i]]
            square -= self.a[i] * (c[self.atom[i]] + self.r[self.atom[i]])
        s = self.lam / most if most > self.lam else 1
        return self.objective(c) - s * of_x + s * s * square / 2

    cdef void gather(self, const double* c) noexcept nogil:
        """H = G and rho = c - G a over the active atoms."""
        cdef Py_ssize_t i, k, n = self.n, width = (n + 3) & ~3
        cdef const double* G
        cdef double* H = self.H
        for i in range(n):
            G = self.G + self.atom[i] * self.atoms
            self.rho[i] = c[self.atom[i]]
            for k in range(n):
                H[k] = G[self.atom[k]]
            for k in range(n, width):
                H[k] = 0
            H += width
        for i in range(n):
            if self.a[i] != 0:
                H = self.H + i * width
                for k in range(n):
                    self.rho[k] -= self.a[i] * H[k]

    cdef double sweep(self) noexcept nogil:
        """Minimise over each coefficient in turn. Returns the largest change."""
        cdef Py_ssize_t i, k, width = (self.n + 3) & ~3
        cdef double z, change, most = 0, lam = self.lam
        cdef double* a = self.a
        cdef double* rho = self.rho
        cdef const double* H = self.H
        for i in range(self.n):
            z = rho[i] + a[i] * H[i]
            z = z - lam if z > lam else z + lam if z < -lam else 0
            if z != 0 or a[i] != 0:
                z /= H[i]
                change = z - a[i]
                if change != 0:
                    a[i] = z
                    for k in range(width):
                        rho[k] -= change * H[k]
                    most = max(most, fabs(change))
            H += width
        return most

    cdef Py_ssize_t activate(self, const double* c, double threshold) noexcept nogil:
        """Recompute r, deactivate atoms at 0, and activate atoms with the largest |r|. Returns how many.

        An atom is activated if its step would exceed the threshold and its excess |r_j| - lam is at least half of the
        largest excess. Atoms with less may fit the same part of the row.
        """
        cdef Py_ssize_t i, j, n = 0, atoms = self.atoms
        cdef double size, most = 0, lam = self.lam
        for i in range(self.n):
            if self.a[i] != 0:
                self.atom[n], self.a[n], self.step[n] = self.atom[i], self.a[i], -self.a[i]
                n += 1
            else:
                self.state[self.atom[i]] = OUT
        self.n = n
        memcpy(self.r, c, atoms * sizeof(double))
        add_lines(atoms, n, self.step, self.atom, self.G, atoms, self.r)
        for j in range(atoms):
            size = fabs(self.r[j]) - lam
            if size > most and self.state[j] == OUT and size > threshold * self.G[j * atoms + j]:
                most = size
        if most > 0:
            for j in range(atoms):
                if fabs(self.r[j]) - lam >= 0.5 * most and self.state[j] == OUT:
                    self.state[j], self.atom[self.n], self.a[self.n] = IN, <int> j, 0
                    self.n += 1
        return self.n - n

    # ---- LARS

    cdef void walk(self, const double* c) noexcept nogil:
        """Follow the path from the lam of the first active atom down to `lam` (Efron et al., 2004, the lasso variant).

        Between two events the coefficients change by step = G^-1 sign per unit of lam, and r by -slope = -G step.
        """
        cdef Py_ssize_t i, j, joins, leaves, _step, atoms = self.atoms
        cdef double* r = self.r
        cdef double now = 0, far, side = 0
        memcpy(r, c, atoms * sizeof(double))
        joins = -1
        for j in range(atoms):
            if fabs(r[j]) > now and self.state[j] == OUT:
                now, joins = fabs(r[j]), j
        if now <= self.lam:
            return
        self.join(joins, 1 if r[joins] > 0 else -1)
        for _step in range(8 * atoms):
            memcpy(self.step, self.sign, self.n * sizeof(double))
            self.substitute(self.step)
            memset(self.slope, 0, atoms * sizeof(double))
            add_lines(atoms, self.n, self.step, self.atom, self.G, atoms, self.slope)
            far, joins, leaves = now - self.lam, -1, -1
            for j in range(atoms):
                if self.state[j] == OUT:    # where r_j - far slope_j = +-(now - far)
                    if max(now - r[j], 0) < far * (1 - self.slope[j]):
                        far, joins, side = max(now - r[j], 0) / (1 - self.slope[j]), j, 1
                    if max(now + r[j], 0) < far * (1 + self.slope[j]):
                        far, joins, side = max(now + r[j], 0) / (1 + self.slope[j]), j, -1
            for i in range(self.n):
                if self.step[i] * self.sign[i] < 0 and fabs(self.a[i]) < far * fabs(self.step[i]):
                    far, leaves = fabs(self.a[i]) / fabs(self.step[i]), i
            for i in range(self.n):
                self.a[i] += far * self.step[i]
            for j in range(atoms):
                r[j] -= far * self.slope[j]
            now -= far
            if leaves >= 0:
                self.leave(leaves)
            elif joins >= 0:
                if not self.join(joins, side):
                    self.state[joins] = BARRED
            else:
                break
        for j in range(atoms):
            self.state[j] = OUT if self.state[j] == BARRED else self.state[j]

    cdef bint join(self, Py_ssize_t j, double sign) noexcept nogil:
        """Activate atom j. Returns False if it is in the span of the active atoms."""
        cdef Py_ssize_t n = self.n
        self.atom[n], self.a[n], self.sign[n] = <int> j, 0, sign
        if not self.factor(n):
            return False
        self.state[j] = IN
        self.n += 1
        return True

    cdef void leave(self, Py_ssize_t i) noexcept nogil:
        """Deactivate the i-th active atom. Barred atoms may then be activated again."""
        cdef Py_ssize_t j, k, n = self.n
        self.state[self.atom[i]] = OUT
        for j in range(self.atoms):
            self.state[j] = OUT if self.state[j] == BARRED else self.state[j]
        self.n = i
        for k in range(i + 1, n):
            self.atom[self.n], self.a[self.n], self.sign[self.n] = self.atom[k], self.a[k], self.sign[k]
            if self.factor(self.n):
                self.n += 1
            else:    # only by rounding
                self.state[self.atom[k]] = BARRED

    cdef bint factor(self, Py_ssize_t i) noexcept nogil:
        """Compute line i of L from the lines before it. Returns False if its atom is in their span."""
        cdef Py_ssize_t k, m
        cdef double* line = self.L + i * (i + 1) // 2
        cdef double* other = self.L
        cdef const double* G = self.G + self.atom[i] * self.atoms
        cdef double z, left = G[self.atom[i]]
        for k in range(i):
            z = G[self.atom[k]]
            for m in range(k):
                z -= line[m] * other[m]
            line[k] = z / other[k]
            left -= line[k] * line[k]
            other += k + 1
        if left <= DEPENDENT * G[self.atom[i]]:
            return False
        line[i] = sqrt(left)
        return True

    cdef void substitute(self, double* x) noexcept nogil:
        """x <- the solution of L L' z = x."""
        cdef Py_ssize_t i, k, n = self.n
        cdef double* line = self.L
        for i in range(n):
            for k in range(i):
                x[i] -= line[k] * x[k]
            x[i] /= line[i]
            line += i + 1
        for i in range(n - 1, -1, -1):
            line -= i + 1
            x[i] /= line[i]
            for k in range(i):
                x[k] -= line[k] * x[i]
