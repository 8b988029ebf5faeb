"""Programs, as text, whose loops and branches write into the arrays that they carry."""

from __future__ import annotations

import numpy as np

from autodiff.region_sample import Array, Sample


def _positive(rng: np.random.Generator, n: int) -> Array:
    B = rng.standard_normal((n, n))
    return B @ B.T / n + np.eye(n)


HEAT_TEXT = """
    func @heat(%u: f64[8], %k: f64[]) -> f64[8] {{
      %1 = for_loop %u, %k {{carries=1, index="t", lower=0, reverse=False, upper=4, xs=0}} : f64[8]
        body (%u: f64[8], %k: f64[]) {{
          %c = slice %u {{start=(1,), step=(1,), stop=(7,)}} : f64[6]
          %l = slice %u {{start=(0,), step=(1,), stop=(6,)}} : f64[6]
          %r = slice %u {{start=(2,), step=(1,), stop=(8,)}} : f64[6]
          %m = constant {{value=-2.0}} : f64[6]
          %c2 = mul %m, %c : f64[6]
          %a = add %r, %c2 : f64[6]
          %b = add %a, %l : f64[6]
          %f = {factor} : f64[6]
          %d = mul %f, %b : f64[6]
          %n = add %c, %d : f64[6]
          %v = update_slice %u, %n {{start=(1,), step=(1,)}} : f64[8]
          yield %v
        }}
      return %1
    }}
    """

HEAT = Sample(
    "heat",
    HEAT_TEXT.format(factor="constant {value=0.2}"),
    lambda rng: [rng.standard_normal(8), np.float64(0.2)],
)
HEAT_FLUX = Sample(
    "heat_flux",  # not linear: conductivity is the temperature
    HEAT_TEXT.format(factor="mul %c, %c"),
    lambda rng: [0.3 * rng.standard_normal(8), np.float64(0.2)],
)

GAUSS_SEIDEL = Sample(
    "gauss_seidel",
    """
    func @gauss_seidel(%A: f64[5,5]) -> f64[5,5] {
      %1 = for_loop %A {carries=1, index="t", lower=0, reverse=False, upper=3, xs=0} : f64[5,5]
        body (%A: f64[5,5]) {
          %1 = for_loop %A {carries=1, index="i", lower=1, reverse=False, upper=4, xs=0} : f64[5,5]
            body (%A: f64[5,5]) {
              %1 = for_loop %A {carries=1, index="j", lower=1, reverse=False, upper=4, xs=0} : f64[5,5]
                body (%A: f64[5,5]) {
                  %n = slice %A {start=(i - 1, j), step=(1, 1), stop=(i, j + 1)} : f64[1,1]
                  %s = slice %A {start=(i + 1, j), step=(1, 1), stop=(i + 2, j + 1)} : f64[1,1]
                  %w = slice %A {start=(i, j - 1), step=(1, 1), stop=(i + 1, j)} : f64[1,1]
                  %e = slice %A {start=(i, j + 1), step=(1, 1), stop=(i + 1, j + 2)} : f64[1,1]
                  %q = add %n, %s : f64[1,1]
                  %r = add %w, %e : f64[1,1]
                  %p = add %q, %r : f64[1,1]
                  %h = constant {value=0.25} : f64[1,1]
                  %v = mul %p, %h : f64[1,1]
                  %B = update_slice %A, %v {start=(i, j), step=(1, 1)} : f64[5,5]
                  yield %B
                }
              yield %1
            }
          yield %1
        }
      return %1
    }
    """,
    lambda rng: [rng.standard_normal((5, 5))],
)

UNDONE = Sample(
    "undone",  # the outer body reads what the inner loop, itself linear, writes over
    """
    func @undone(%A: f64[4,9]) -> f64[4,9] {
      %1 = for_loop %A {carries=1, index="t", lower=0, reverse=False, upper=3, xs=0} : f64[4,9]
        body (%A: f64[4,9]) {
          %B = for_loop %A {carries=1, index="i", lower=t, reverse=False, upper=3, xs=0} : f64[4,9]
            body (%A: f64[4,9]) {
              %n = slice %A {start=(i + 1, 0), step=(1, 1), stop=(i + 2, 1)} : f64[1,1]
              %B = add_slice %A, %n {start=(i, 1), step=(1, 1)} : f64[4,9]
              yield %B
            }
          %x = slice %A {start=(t, 0), step=(1, 1), stop=(t + 1, 9)} : f64[1,9]
          %y = slice %B {start=(t + 1, 0), step=(1, 1), stop=(t + 2, 9)} : f64[1,9]
          %z = mul %x, %y : f64[1,9]
          %a = sum %z {axes=(0, 1)} : f64[]
          %b = sin %a : f64[]
          %u = broadcast %b {axes=(0, 1)} : f64[1,1]
          %C = update_slice %B, %u {start=(t, 0), step=(1, 1)} : f64[4,9]
          yield %C
        }
      return %1
    }
    """,
    lambda rng: [0.5 * rng.standard_normal((4, 9))],
)

UNDONE_OR_NOT = Sample(
    "undone_or_not",  # the inner loop runs no time, where its count comes out negative
    UNDONE.text.replace("lower=t,", "lower=t + 2,").replace("@undone", "@undone_or_not"),
    UNDONE.arguments,
)

OFTEN_EMPTY = Sample(
    "often_empty",  # as before, and it keeps numbers and arrays whose size is its own index
    """
    func @often_empty(%A: f64[5,5]) -> f64[5,5] {
      %1 = for_loop %A {carries=1, index="i", lower=0, reverse=False, upper=5, xs=0} : f64[5,5]
        body (%A: f64[5,5]) {
          %B = for_loop %A {carries=1, index="j", lower=i + 2, reverse=True, upper=5, xs=0} : f64[5,5]
            body (%A: f64[5,5]) {
              %x = slice %A {start=(j, 0), step=(1, 1), stop=(j + 1, j)} : f64[1,j]
              %y = slice %A {start=(i, 0), step=(1, 1), stop=(i + 1, j)} : f64[1,j]
              %z = mul %x, %y : f64[1,j]
              %t = tanh %z : f64[1,j]
              %s = sum %t {axes=(0, 1)} : f64[]
              %e = exp %s : f64[]
              %u = broadcast %e {axes=(0, 1)} : f64[1,1]
              %h = constant {value=0.1} : f64[1,1]
              %v = mul %u, %h : f64[1,1]
              %B = update_slice %A, %v {start=(i, j), step=(1, 1)} : f64[5,5]
              yield %B
            }
          yield %B
        }
      return %1
    }
    """,
    lambda rng: [0.5 * rng.standard_normal((5, 5))],
)

CHOLESKY = Sample(
    "cholesky",  # in place; slices whose sizes are indices
    """
    func @cholesky(%a: f64[5,5]) -> f64[5,5] {
      %1 = for_loop %a {carries=1, index="j", lower=0, reverse=False, upper=5, xs=0} : f64[5,5]
        body (%x: f64[5,5]) {
          %r = slice %x {start=(j, 0), step=(1, 1), stop=(j + 1, j)} : f64[1,j]
          %rr = mul %r, %r : f64[1,j]
          %s = sum %rr {axes=(0, 1)} : f64[]
          %d2 = slice %x {start=(j, j), step=(1, 1), stop=(j + 1, j + 1)} : f64[1,1]
          %d = reshape %d2 : f64[]
          %e = sub %d, %s : f64[]
          %q = sqrt %e : f64[]
          %q2 = reshape %q : f64[1,1]
          %y = update_slice %x, %q2 {start=(j, j), step=(1, 1)} : f64[5,5]
          %z = for_loop %y {carries=1, index="i", lower=j + 1, reverse=False, upper=5, xs=0} : f64[5,5]
            body (%x: f64[5,5]) {
              %r = slice %x {start=(j, 0), step=(1, 1), stop=(j + 1, j)} : f64[1,j]
              %t = slice %x {start=(i, 0), step=(1, 1), stop=(i + 1, j)} : f64[1,j]
              %m = mul %r, %t : f64[1,j]
              %s = sum %m {axes=(0, 1)} : f64[]
              %v2 = slice %x {start=(i, j), step=(1, 1), stop=(i + 1, j + 1)} : f64[1,1]
              %v = reshape %v2 : f64[]
              %d2 = slice %x {start=(j, j), step=(1, 1), stop=(j + 1, j + 1)} : f64[1,1]
              %d = reshape %d2 : f64[]
              %e = sub %v, %s : f64[]
              %f = div %e, %d : f64[]
              %f2 = reshape %f : f64[1,1]
              %y = update_slice %x, %f2 {start=(i, j), step=(1, 1)} : f64[5,5]
              yield %y
            }
          yield %z
        }
      return %1
    }
    """,
    lambda rng: [_positive(rng, 5)],
)

WHILE_IN_PLACE = Sample(
    "while_in_place",  # an array that the body of a `while` writes into
    """
    func @while_in_place(%A: f64[6]) -> f64[6] {
      %zero = constant {value=0} : i64[]
      %1, %2, %3 = while_loop %A, %zero {carries=2, trips="n"} : (f64[6], i64[], i64[])
        test (%A: f64[6], %k: i64[]) {
          %t = constant {value=5} : i64[]
          %c = lt %k, %t : bool[]
          yield %c
        }
        body (%A: f64[6], %k: i64[]) {
          %one = constant {value=1} : i64[]
          %m = add %k, %one : i64[]
          %x = gather %A, %m {axes=(0,)} : f64[]
          %y = slice %A {start=(0,), step=(1,), stop=(1,)} : f64[1]
          %x1 = reshape %x : f64[1]
          %z = mul %x1, %y : f64[1]
          %s = sin %z : f64[1]
          %B = update_slice %A, %s {start=(0,), step=(1,)} : f64[6]
          yield %B, %m
        }
      return %1
    }
    """,
    lambda rng: [rng.uniform(0.5, 1.5, 6)],
)

PIVOTS = Sample(
    "pivots",  # branches that write into a carried array, of which several versions are read
    """
    func @pivots(%A: f64[6], %b: f64[6]) -> f64[6] {
      %1 = for_loop %A, %b {carries=1, index="i", lower=1, reverse=False, upper=5, xs=0} : f64[6]
        body (%A: f64[6], %b: f64[6]) {
          %p0 = slice %A {start=(i,), step=(1,), stop=(i + 1,)} : f64[1]
          %p = reshape %p0 : f64[]
          %z = constant {value=0.1} : f64[]
          %c = gt %p, %z : bool[]
          %B = cond %c, %A, %b : f64[6]
            then (%A: f64[6], %b: f64[6]) {
              %l = slice %A {start=(i - 1,), step=(1,), stop=(i,)} : f64[1]
              %m = slice %A {start=(i,), step=(1,), stop=(i + 1,)} : f64[1]
              %x = mul %l, %m : f64[1]
              %y = sin %x : f64[1]
              %B = update_slice %A, %y {start=(i,), step=(1,)} : f64[6]
              %q = mul %y, %l : f64[1]
              %C = update_slice %B, %q {start=(i - 1,), step=(1,)} : f64[6]
              yield %C
            }
            else (%A: f64[6], %b: f64[6]) {
              %d = slice %b {start=(i,), step=(1,), stop=(i + 1,)} : f64[1]
              %m = slice %A {start=(i,), step=(1,), stop=(i + 1,)} : f64[1]
              %x = mul %d, %m : f64[1]
              %B = add_slice %A, %x {start=(i + 1,), step=(1,)} : f64[6]
              yield %B
            }
          %r = slice %B {start=(0,), step=(1,), stop=(i + 1,)} : f64[i + 1]
          %rr = mul %r, %r : f64[i + 1]
          %s = sum %rr {axes=(0,)} : f64[]
          %t = tanh %s : f64[]
          %t1 = reshape %t : f64[1]
          %D = add_slice %B, %t1 {start=(0,), step=(1,)} : f64[6]
          yield %D
        }
      return %1
    }
    """,
    lambda rng: [rng.uniform(0.3, 1, 6) * np.array([1, 1, -1, 1, -1, 1]), rng.standard_normal(6)],
)

HISTOGRAM = Sample(
    "histogram",  # places that are data, some of them twice; what is written is squared
    """
    func @histogram(%h: f64[5], %x: f64[6], %i: i64[6]) -> f64[5] {
      %1 = for_loop %h, %x, %i {carries=1, index="t", lower=0, reverse=False, upper=6, xs=2} : f64[5]
        body (%h: f64[5], %x: f64[], %i: i64[]) {
          %g = gather %h, %i {axes=(0,)} : f64[]
          %s = mul %g, %g : f64[]
          %a = add %s, %x : f64[]
          %b = sin %a : f64[]
          %k = scatter %h, %b, %i {axes=(0,)} : f64[5]
          yield %k
        }
      return %1
    }
    """,
    lambda rng: [rng.standard_normal(5), rng.standard_normal(6), np.array([1, 4, 1, 0, 1, 4])],
)

SCATTERED = Sample(
    "scattered",  # several places at once, some of them twice, put and added
    """
    func @scattered(%h: f64[5], %x: f64[4,3], %i: i64[4,3]) -> f64[5] {
      %1 = for_loop %h, %x, %i {carries=1, index="t", lower=0, reverse=False, upper=4, xs=2} : f64[5]
        body (%h: f64[5], %x: f64[3], %i: i64[3]) {
          %g = gather %h, %i {axes=(0,)} : f64[3]
          %s = mul %g, %x : f64[3]
          %b = exp %s : f64[3]
          %t = tanh %b : f64[3]
          %k = scatter %h, %t, %i {axes=(0,)} : f64[5]
          %f = gather %k, %i {axes=(0,)} : f64[3]
          %q = mul %f, %f : f64[3]
          %l = scatter_add %k, %q, %i {axes=(0,)} : f64[5]
          yield %l
        }
      return %1
    }
    """,
    lambda rng: [rng.standard_normal(5), rng.standard_normal((4, 3)), rng.integers(0, 5, (4, 3))],
)

SAMPLES = (
    HEAT, HEAT_FLUX, GAUSS_SEIDEL, UNDONE, UNDONE_OR_NOT, OFTEN_EMPTY, CHOLESKY, WHILE_IN_PLACE, PIVOTS,
    HISTOGRAM, SCATTERED,
)  # fmt: skip
