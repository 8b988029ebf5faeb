"""Minimise Rosenbrock's function with SciPy, and look at the program that computes value and gradient.

Run: python examples/rosenbrock.py
"""

import numpy as np
from scipy.optimize import minimize

from symgrad import compile_grad


@compile_grad
def rosenbrock(x):
    """Σ 100 (x[k+1] - x[k]²)² + (1 - x[k])²; the least value is 0, at ones."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


if __name__ == "__main__":
    start = np.full(10, -1.0)
    found = minimize(rosenbrock, start, jac=True, method="BFGS", options={"gtol": 1e-10})
    print(f"value {found.fun:.1e} after {found.nfev} calls, largest error {np.abs(found.x - 1).max():.1e}")
    print(rosenbrock.ir("optimized"))
