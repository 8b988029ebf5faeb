"""Programs, as text, with loops and branches that carry numbers or whole arrays."""

# ruff: noqa: E501 - an op is one line of the text

from __future__ import annotations

import numpy as np

from autodiff.region_sample import Sample

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

SAMPLES = (RUNNING, BACKWARDS, NEVER, NEWTON, WHILE_IN_FOR, BRANCHES, RECURRENT)
