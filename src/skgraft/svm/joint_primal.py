"""The machine of many classes with squared slack in the primal, by Newton's method and conjugate gradients.

It minimises ½ Σ_kj v_kj²/z_j² + Σ_ik c_ik max(0, 1 - f_c(x_i) + f_k(x_i))² over the weights of all classes k and
their intercepts; c is the class of row i, and c_ik = 1/(2 ridge_ik).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from skgraft.arrays import Array, Index
from skgraft.svm.design import Design

NEWTON_STEPS = 100
HALVINGS = 40
CG_STEPS = 400
DIRECT = 1200  # weights up to which a step is a Cholesky decomposition
RIDGE = 1e-14  # of the diagonal, against rounding


@dataclass(frozen=True)
class JointSolution:
    """The optimum: weights (n_classes, n_features), intercepts, violation in units of the scores, slacks."""

    weights: Array
    intercept: Array
    violation: float
    slack: Array


@dataclass(frozen=True)
class _Point:
    """Weights u = v/z (n_features, n_classes), intercepts, scores, slacks (n_rows, n_classes) and criterion."""

    u: Array
    b: Array
    f: Array
    slack: Array
    value: float


class JointPrimal:
    """Newton's method on all classes at once."""

    def __init__(self, codes: Index, n_classes: int, ridge: Array) -> None:
        self._codes, self._n_classes = codes, n_classes
        self._rows = np.arange(codes.size)
        others = np.ones((codes.size, n_classes), dtype=bool)
        others[self._rows, codes] = False
        self._others = others
        self._cost = np.zeros((codes.size, n_classes))
        self._cost[others] = 0.5 / ridge

    def solve(
        self, design: Design, squared_scale: Array, weights: Array, intercept: Array, tol: float
    ) -> JointSolution:
        """Minimise from given weights until the conditions hold within ``tol``."""
        z = np.sqrt(squared_scale)[:, None]
        here = self._point(weights.T / z, intercept, design.scores(weights.T) + intercept)
        violation = np.inf
        for _ in range(NEWTON_STEPS):
            step_u, step_b = self._newton(design, z, here, tol)
            step_f = design.scores(z * step_u) + step_b
            moved = self._search(here, step_u, step_b, step_f)
            if moved is None:
                violation = self._violation(design, z, here)
                break
            here = moved
            violation = self._violation(design, z, here)
            if violation <= tol:
                break
        slack = here.slack[self._others]
        return JointSolution((z * here.u).T, here.b - here.b[-1], violation, slack)

    def _point(self, u: Array, b: Array, f: Array) -> _Point:
        own = f[self._rows, self._codes]
        slack = np.where(self._others, np.maximum(1.0 - own[:, None] + f, 0.0), 0.0)
        return _Point(u, b, f, slack, 0.5 * float((u * u).sum()) + float((self._cost * slack**2).sum()))

    def _search(self, here: _Point, step_u: Array, step_b: Array, step_f: Array) -> _Point | None:
        """Return the first point along the step, halving it, that lowers the criterion."""
        length = 1.0
        for _ in range(HALVINGS):
            there = self._point(here.u + length * step_u, here.b + length * step_b, here.f + length * step_f)
            if there.value < here.value:
                return there
            length *= 0.5
        return None

    def _spread(self, pull: Array) -> Array:
        """Return what pulls on the slacks (n_rows, n_classes) do to the scores of the classes."""
        B = -pull
        B[self._rows, self._codes] = pull.sum(axis=1)
        return B

    def _violation(self, design: Design, z: Array, here: _Point) -> float:
        """Return by how much scores would change if the weights followed from the slacks, as they should."""
        pull = 2.0 * self._cost * here.slack
        beta = self._spread(pull)
        total = float((2.0 * self._cost * (here.slack > 0.0)).sum())
        drift = float(np.abs(beta.sum(axis=0)).max()) / total if total > 0.0 else 0.0
        off = z * (z * design.weights(beta) - here.u)
        return float(np.abs(design.scores(off)).max(initial=0.0)) + drift

    def _newton(self, design: Design, z: Array, here: _Point, tol: float) -> tuple[Array, Array]:
        """Return the Newton step in (u, b)."""
        active = 2.0 * self._cost * (here.slack > 0.0)
        beta = self._spread(2.0 * self._cost * here.slack)
        right_u, right_b = z * design.weights(beta) - here.u, beta.sum(axis=0)
        if self._n_classes * (z.size + 1) <= DIRECT and not design.is_sparse:
            return self._by_cholesky(design, z, active, right_u, right_b)
        return self._by_conjugate_gradients(design, z, active, right_u, right_b, tol)

    def _by_cholesky(
        self, design: Design, z: Array, active: Array, right_u: Array, right_b: Array
    ) -> tuple[Array, Array]:
        """Solve for all classes at once; the intercepts, which may all be shifted, have their last fixed."""
        n, Q = z.size, self._n_classes
        X = np.empty((self._codes.size, n + 1))
        X[:, :n], X[:, n] = design.scores(np.diag(z[:, 0])), 1.0
        blocks = np.empty((Q, n + 1, Q, n + 1))
        own = self._codes[:, None] == np.arange(Q)
        for k in range(Q):
            for m in range(k + 1):
                weight = -(own[:, k] * active[:, m] + own[:, m] * active[:, k])
                if k == m:
                    weight = active[:, k] + own[:, k] * active.sum(axis=1)
                blocks[k, :, m] = (X * weight[:, None]).T @ X
                blocks[m, :, k] = blocks[k, :, m].T
            blocks[k, np.arange(n), k, np.arange(n)] += 1.0
        size = Q * (n + 1)
        right = np.concatenate([right_u, right_b[None]]).T.ravel()
        H = blocks.reshape(size, size)
        diagonal = np.einsum("ii->i", H)
        diagonal += RIDGE * diagonal.max()
        step = cho_solve(cho_factor(H[:-1, :-1], lower=True, check_finite=False), right[:-1], check_finite=False)
        step = np.append(step, 0.0).reshape(Q, n + 1)
        return step[:, :n].T, step[:, n]

    def _by_conjugate_gradients(
        self, design: Design, z: Array, active: Array, right_u: Array, right_b: Array, tol: float
    ) -> tuple[Array, Array]:
        """Solve with the diagonal of the intercepts as preconditioner."""

        def curvature(u: Array, b: Array) -> tuple[Array, Array]:
            f = design.scores(z * u) + b
            pull = active * (f[self._rows, self._codes][:, None] - f)
            beta = self._spread(pull)
            return u + z * design.weights(beta), beta.sum(axis=0)

        each = self._spread(active)  # at own class the sum, elsewhere minus itself: its size is the diagonal in b
        diagonal_b = np.maximum(np.abs(each).sum(axis=0), 1e-300)
        u, b = np.zeros_like(right_u), np.zeros_like(right_b)
        r_u, r_b = right_u, right_b
        p_u, p_b = r_u, r_b / diagonal_b
        rho = float((r_u * p_u).sum()) + float(r_b @ p_b)
        first = np.sqrt(rho)
        enough = max(1e-3 * tol / max(float(z.max()), 1e-300), 1e-3 * first * min(1.0, first))
        for _ in range(CG_STEPS):
            if np.sqrt(rho) <= enough:
                break
            q_u, q_b = curvature(p_u, p_b)
            bend = float((p_u * q_u).sum()) + float(p_b @ q_b)
            if not bend > 0.0:
                break
            length = rho / bend
            u, b = u + length * p_u, b + length * p_b
            r_u, r_b = r_u - length * q_u, r_b - length * q_b
            s_b = r_b / diagonal_b
            new = float((r_u * r_u).sum()) + float(r_b @ s_b)
            p_u, p_b = r_u + (new / rho) * p_u, s_b + (new / rho) * p_b
            rho = new
        return u, b
