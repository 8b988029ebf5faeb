"""Programs with loops and branches, as text, on which their differentiation is tried."""

# ruff: noqa: E501 - an op is one line of the text

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrad.ir.core import Function
from symgrad.ir.parser import parse_function

Array = NDArray[Any]


@dataclass(frozen=True)
class Sample:
    """A program, and what it is tried on."""

    name: str
    text: str
    arguments: Callable[[np.random.Generator], list[Any]]

    @property
    def function(self) -> Function:
        """The program."""
        return parse_function(textwrap.dedent(self.text))

    def args(self) -> list[Array]:
        """Arguments, the same at every run."""
        return [np.asarray(x) for x in self.arguments(np.random.default_rng(0))]


def _positive(rng: np.random.Generator, n: int) -> Array:
    B = rng.standard_normal((n, n))
    return B @ B.T / n + np.eye(n)


RUNNING = Sample(
    "running",  # a carried scalar, a constant that is read one by one, a row of xs, a row of ys
    """
    func @running(%a: f64[5], %c: f64[5], %s: f64[]) -> (f64[], f64[5]) {
      %1, %2 = for_loop %s, %a, %c {carries=1, index="i", lower=0, reverse=False, upper=5, xs=1} : (f64[], f64[5])
        body (%s: f64[], %x: f64[5], %r: f64[]) {
          %p = slice %x {start=(i,), step=(1,), stop=(i + 1,)} : f64[1]
          %q = reshape %p : f64[]
          %t = tanh %s : f64[]
          %m = mul %q, %t : f64[]
          %y = add %m, %r : f64[]
          %z = mul %y, %y : f64[]
          yield %y, %z
        }
      return %1, %2
    }
    """,
    lambda rng: [rng.standard_normal(5), rng.standard_normal(5), np.float64(0.3)],
)

BACKWARDS = Sample(
    "backwards",  # runs downwards; one carry is handed to the other; the same operand twice; integers
    """
    func @backwards(%a: f64[4], %s: f64[], %n: i64[]) -> (f64[], f64[], f64[4]) {
      %1, %2, %3, %4 = for_loop %s, %s, %n, %s, %a, %a {carries=3, index="i", lower=2, reverse=True, upper=6, xs=1} : (f64[], f64[], i64[], f64[4])
        body (%s: f64[], %t: f64[], %n: i64[], %c: f64[], %a: f64[4], %r: f64[]) {
          %one = constant {value=1} : i64[]
          %k = add %n, %one : i64[]
          %f = convert %k : f64[]
          %i = dim {value=i} : i64[]
          %g = convert %i : f64[]
          %u = mul %s, %r : f64[]
          %e = exp %u : f64[]
          %d = div %e, %f : f64[]
          %v = mul %d, %c : f64[]
          %w = add %v, %t : f64[]
          %h = div %w, %g : f64[]
          %y = sin %h : f64[]
          yield %y, %s, %k, %h
        }
      return %1, %2, %4
    }
    """,
    lambda rng: [rng.standard_normal(4), np.float64(0.3), np.int64(2)],
)

NEVER = Sample(
    "never",  # runs no time; what goes in comes out
    """
    func @never(%s: f64[], %a: f64[3]) -> (f64[], f64[0]) {
      %1, %2 = for_loop %s, %a {carries=1, index="i", lower=0, reverse=False, upper=0, xs=0} : (f64[], f64[0])
        body (%s: f64[], %a: f64[3]) {
          %z = constant {value=0.0} : f64[]
          %q = sum %a {axes=(0,)} : f64[]
          yield %z, %q
        }
      return %1, %2
    }
    """,
    lambda rng: [np.float64(0.3), rng.standard_normal(3)],
)

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

NEWTON = Sample(
    "newton",
    """
    func @newton(%a: f64[], %b: f64[]) -> (f64[], i64[]) {
      %x, %n = while_loop %b, %a, %b {carries=1, trips="n"} : (f64[], i64[])
        test (%x: f64[], %a: f64[], %b: f64[]) {
          %x2 = mul %x, %x : f64[]
          %x3 = mul %x2, %x : f64[]
          %ax = mul %a, %x : f64[]
          %s = add %x3, %ax : f64[]
          %r = sub %s, %b : f64[]
          %q = abs %r : f64[]
          %t = constant {value=1e-12} : f64[]
          %c = gt %q, %t : bool[]
          yield %c
        }
        body (%x: f64[], %a: f64[], %b: f64[]) {
          %x2 = mul %x, %x : f64[]
          %x3 = mul %x2, %x : f64[]
          %ax = mul %a, %x : f64[]
          %s = add %x3, %ax : f64[]
          %r = sub %s, %b : f64[]
          %three = constant {value=3.0} : f64[]
          %d0 = mul %three, %x2 : f64[]
          %d = add %d0, %a : f64[]
          %u = div %r, %d : f64[]
          %y = sub %x, %u : f64[]
          yield %y
        }
      return %x, %n
    }
    """,
    lambda rng: [np.float64(0.7), np.float64(1.3)],
)

WHILE_IN_FOR = Sample(
    "while_in_for",  # the inner trip count differs each time, and what has this size is used after the loop
    """
    func @while_in_for(%a: f64[4], %s: f64[]) -> f64[] {
      %r = for_loop %s, %a {carries=1, index="i", lower=0, reverse=False, upper=4, xs=1} : f64[]
        body (%s: f64[], %a: f64[]) {
          %x, %n, %ys = while_loop %s, %a {carries=1, trips="n"} : (f64[], i64[], f64[n])
            test (%x: f64[], %a: f64[]) {
              %t = constant {value=2.0} : f64[]
              %c = lt %x, %t : bool[]
              yield %c
            }
            body (%x: f64[], %a: f64[]) {
              %y = exp %a : f64[]
              %z = sin %x : f64[]
              %zz = mul %z, %z : f64[]
              %w = add %zz, %y : f64[]
              %q = add %w, %x : f64[]
              yield %q, %zz
            }
          %e = exp %ys : f64[n]
          %f = mul %e, %ys : f64[n]
          %total = sum %f {axes=(0,)} : f64[]
          %h = constant {value=0.1} : f64[]
          %m = add %x, %total : f64[]
          %l = mul %m, %h : f64[]
          %k = tanh %l : f64[]
          yield %k
        }
      return %r
    }
    """,
    lambda rng: [np.array([0.1, -0.7, -2.0, 0.4]), np.float64(0.3)],
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

BRANCHES = Sample(
    "branches",
    """
    func @branches(%x: f64[9], %s: f64[]) -> f64[] {
      %r = for_loop %s, %s, %x {carries=1, index="i", lower=0, reverse=False, upper=9, xs=0} : f64[]
        body (%l: f64[], %s: f64[], %x: f64[9]) {
          %p = slice %x {start=(i,), step=(1,), stop=(i + 1,)} : f64[1]
          %q = reshape %p : f64[]
          %c = gt %q, %l : bool[]
          %v = cond %c, %l, %s, %x : f64[]
            then (%l: f64[], %s: f64[], %x: f64[9]) {
              %p = slice %x {start=(i,), step=(1,), stop=(i + 1,)} : f64[1]
              %q = reshape %p : f64[]
              %d = sub %q, %l : f64[]
              %e = sin %d : f64[]
              %m = mul %e, %s : f64[]
              %k = add %l, %m : f64[]
              yield %k
            }
            else (%l: f64[], %s: f64[], %x: f64[9]) {
              %h = constant {value=0.5} : f64[]
              %k = tanh %l : f64[]
              %m = mul %k, %h : f64[]
              yield %m
            }
          yield %v
        }
      return %r
    }
    """,
    lambda rng: [rng.uniform(2, 3, 9) * np.where(np.arange(9) % 3 == 2, -1, 1), np.float64(0.3)],
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

RECURRENT = Sample(
    "recurrent",
    """
    func @recurrent(%W: f64[3,3], %x: f64[5,3], %h: f64[3]) -> f64[3] {
      %1 = for_loop %h, %W, %x {carries=1, index="t", lower=0, reverse=False, upper=5, xs=1} : f64[3]
        body (%h: f64[3], %W: f64[3,3], %x: f64[3]) {
          %e = exp %W : f64[3,3]
          %a = einsum %e, %h {spec="ij,j->i"} : f64[3]
          %b = add %a, %x : f64[3]
          %c = tanh %b : f64[3]
          yield %c
        }
      return %1
    }
    """,
    lambda rng: [rng.standard_normal((3, 3)), rng.standard_normal((5, 3)), rng.standard_normal(3)],
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
    RUNNING, BACKWARDS, NEVER, HEAT, HEAT_FLUX, GAUSS_SEIDEL, UNDONE, UNDONE_OR_NOT, OFTEN_EMPTY, CHOLESKY, NEWTON, WHILE_IN_FOR,
    WHILE_IN_PLACE, BRANCHES, PIVOTS, RECURRENT, HISTOGRAM, SCATTERED,
)  # fmt: skip
