"""Programs with loops that write into arrays, as the text of the IR, and what they are to be run on."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

GAUSS_SEIDEL = """\
func @gauss_seidel(%A: f64[8,8], %b: f64[8,8]) -> f64[8,8] {
  %0 = for_loop %A, %b {carries=1, index="s", lower=0, reverse=False, upper=4, xs=0} : f64[8,8]
    body (%A: f64[8,8], %b: f64[8,8]) {
      %0 = for_loop %A, %b {carries=1, index="i", lower=1, reverse=False, upper=7, xs=0} : f64[8,8]
        body (%A: f64[8,8], %b: f64[8,8]) {
          %0 = for_loop %A, %b {carries=1, index="j", lower=1, reverse=False, upper=7, xs=0} : f64[8,8]
            body (%A: f64[8,8], %b: f64[8,8]) {
              %0 = slice %A {start=(i - 1, j), step=(1, 1), stop=(i, j + 1)} : f64[1,1]
              %north = reshape %0 : f64[]
              %1 = slice %A {start=(i, j - 1), step=(1, 1), stop=(i + 1, j)} : f64[1,1]
              %west = reshape %1 : f64[]
              %2 = slice %b {start=(i, j), step=(1, 1), stop=(i + 1, j + 1)} : f64[1,1]
              %source = reshape %2 : f64[]
              %3 = add %north, %west : f64[]
              %4 = sub %3, %source : f64[]
              %5 = sin %4 : f64[]
              %6 = broadcast %5 {axes=(0, 1)} : f64[1,1]
              %7 = update_slice %A, %6 {start=(i, j), step=(1, 1)} : f64[8,8]
              yield %7
            }
          yield %0
        }
      yield %0
    }
  return %0
}"""

HEAT = """\
func @heat(%u: f64[50]) -> (f64[50], f64[]) {
  %0 = for_loop %u {carries=1, index="t", lower=0, reverse=False, upper=10, xs=0} : f64[50]
    body (%u: f64[50]) {
      %left = slice %u {start=(0,), step=(1,), stop=(48,)} : f64[48]
      %here = slice %u {start=(1,), step=(1,), stop=(49,)} : f64[48]
      %right = slice %u {start=(2,), step=(1,), stop=(50,)} : f64[48]
      %0 = add %left, %right : f64[48]
      %1 = constant {value=0.1} : f64[48]
      %2 = mul %0, %1 : f64[48]
      %3 = add %2, %here : f64[48]
      %4 = update_slice %u, %3 {start=(1,), step=(1,)} : f64[50]
      yield %4
    }
  %1 = sum %0 {axes=(0,)} : f64[]
  return %0, %1
}"""

CHOLESKY = """\
func @cholesky(%A: f64[6,6]) -> f64[] {
  %0 = for_loop %A {carries=1, index="i", lower=0, reverse=False, upper=6, xs=0} : f64[6,6]
    body (%A: f64[6,6]) {
      %0 = for_loop %A {carries=1, index="j", lower=0, reverse=False, upper=i, xs=0} : f64[6,6]
        body (%A: f64[6,6]) {
          %0 = slice %A {start=(i, 0), step=(1, 1), stop=(i + 1, j)} : f64[1,j]
          %1 = reshape %0 : f64[j]
          %2 = slice %A {start=(j, 0), step=(1, 1), stop=(j + 1, j)} : f64[1,j]
          %3 = reshape %2 : f64[j]
          %4 = einsum %1, %3 {spec="i,i->"} : f64[]
          %5 = slice %A {start=(i, j), step=(1, 1), stop=(i + 1, j + 1)} : f64[1,1]
          %6 = reshape %5 : f64[]
          %7 = slice %A {start=(j, j), step=(1, 1), stop=(j + 1, j + 1)} : f64[1,1]
          %8 = reshape %7 : f64[]
          %9 = sub %6, %4 : f64[]
          %10 = div %9, %8 : f64[]
          %11 = broadcast %10 {axes=(0, 1)} : f64[1,1]
          %12 = update_slice %A, %11 {start=(i, j), step=(1, 1)} : f64[6,6]
          yield %12
        }
      %1 = slice %0 {start=(i, 0), step=(1, 1), stop=(i + 1, i)} : f64[1,i]
      %2 = reshape %1 : f64[i]
      %3 = einsum %2, %2 {spec="i,i->"} : f64[]
      %4 = slice %0 {start=(i, i), step=(1, 1), stop=(i + 1, i + 1)} : f64[1,1]
      %5 = reshape %4 : f64[]
      %6 = sub %5, %3 : f64[]
      %7 = sqrt %6 : f64[]
      %8 = broadcast %7 {axes=(0, 1)} : f64[1,1]
      %9 = update_slice %0, %8 {start=(i, i), step=(1, 1)} : f64[6,6]
      yield %9
    }
  %1 = sum %0 {axes=(0, 1)} : f64[]
  return %1
}"""

# y[:k] += alpha * y[:k][::-1]; y[k] = alpha, which also is stacked
LEVINSON = """\
func @levinson(%y: f64[9], %alphas: f64[9]) -> (f64[9], f64[9,9]) {
  %0, %1 = for_loop %y, %alphas {carries=1, index="k", lower=0, reverse=False, upper=9, xs=1} \
: (f64[9], f64[9,9])
    body (%y: f64[9], %alpha: f64[]) {
      %0 = slice %y {start=(0,), step=(1,), stop=(k,)} : f64[k]
      %1 = flip %0 {axes=(0,)} : f64[k]
      %2 = broadcast %alpha {axes=(0,)} : f64[k]
      %3 = mul %1, %2 : f64[k]
      %4 = add %0, %3 : f64[k]
      %5 = update_slice %y, %4 {start=(0,), step=(1,)} : f64[9]
      %6 = broadcast %alpha {axes=(0,)} : f64[1]
      %7 = update_slice %5, %6 {start=(k,), step=(1,)} : f64[9]
      yield %7, %7
    }
  return %0, %1
}"""

# rows i and i + 1 change places where the later one has the larger first entry; the other rows are scaled
BUBBLE = """\
func @bubble(%A: f64[6,4]) -> f64[6,4] {
  %0 = for_loop %A {carries=1, index="s", lower=0, reverse=False, upper=6, xs=0} : f64[6,4]
    body (%A: f64[6,4]) {
      %0 = for_loop %A {carries=1, index="i", lower=0, reverse=False, upper=5, xs=0} : f64[6,4]
        body (%A: f64[6,4]) {
          %0 = slice %A {start=(i, 0), step=(1, 1), stop=(i + 1, 1)} : f64[1,1]
          %1 = reshape %0 : f64[]
          %2 = slice %A {start=(i + 1, 0), step=(1, 1), stop=(i + 2, 1)} : f64[1,1]
          %3 = reshape %2 : f64[]
          %4 = lt %1, %3 : bool[]
          %5 = cond %4, %A : f64[6,4]
            then (%A: f64[6,4]) {
              %0 = slice %A {start=(i, 0), step=(1, 1), stop=(i + 1, 4)} : f64[1,4]
              %1 = slice %A {start=(i + 1, 0), step=(1, 1), stop=(i + 2, 4)} : f64[1,4]
              %2 = update_slice %A, %1 {start=(i, 0), step=(1, 1)} : f64[6,4]
              %3 = update_slice %2, %0 {start=(i + 1, 0), step=(1, 1)} : f64[6,4]
              yield %3
            }
            else (%A: f64[6,4]) {
              %0 = slice %A {start=(i, 0), step=(1, 1), stop=(i + 1, 4)} : f64[1,4]
              %1 = constant {value=0.5} : f64[1,4]
              %2 = mul %0, %1 : f64[1,4]
              %3 = update_slice %A, %2 {start=(i, 0), step=(1, 1)} : f64[6,4]
              yield %3
            }
          yield %5
        }
      yield %0
    }
  return %0
}"""

# halves the entries, one after another, until their sum is small; what was there before is stacked
HALVED = """\
func @halved(%x: f64[7]) -> (f64[7], i64[]) {
  %0 = constant {value=0} : i64[]
  %1, %2, %3 = while_loop %x, %0 {carries=2, trips="n"} : (f64[7], i64[], i64[])
    test (%x: f64[7], %k: i64[]) {
      %0 = sum %x {axes=(0,)} : f64[]
      %1 = constant {value=1.0} : f64[]
      %2 = gt %0, %1 : bool[]
      yield %2
    }
    body (%x: f64[7], %k: i64[]) {
      %0 = broadcast %k {axes=(0,)} : i64[1]
      %1 = gather %x, %0 {axes=(0,)} : f64[1]
      %2 = constant {value=-0.5} : f64[1]
      %3 = mul %1, %2 : f64[1]
      %4 = scatter_add %x, %3, %0 {axes=(0,)} : f64[7]
      %5 = constant {value=1} : i64[]
      %6 = add %k, %5 : i64[]
      %7 = constant {value=7} : i64[]
      %8 = lt %6, %7 : bool[]
      %9 = constant {value=0} : i64[]
      %10 = select %8, %6, %9 : i64[]
      yield %4, %10
    }
  return %1, %3
}"""

# a sweep and its way back: the overwritten pieces are stacked, and put back in reverse
RESTORED = """\
func @restored(%A: f64[5,5], %bar: f64[5,5]) -> (f64[5,5], f64[5,5], f64[5,5]) {
  %0, %1 = for_loop %A {carries=1, index="i", lower=1, reverse=False, upper=5, xs=0} : (f64[5,5], f64[4,1,5])
    body (%A: f64[5,5]) {
      %0 = slice %A {start=(i - 1, 0), step=(1, 1), stop=(i, 5)} : f64[1,5]
      %1 = slice %A {start=(i, 0), step=(1, 1), stop=(i + 1, 5)} : f64[1,5]
      %2 = mul %0, %1 : f64[1,5]
      %3 = update_slice %A, %2 {start=(i, 0), step=(1, 1)} : f64[5,5]
      yield %3, %1
    }
  %2, %3 = for_loop %0, %bar, %1 {carries=2, index="i", lower=1, reverse=True, upper=5, xs=1} \
: (f64[5,5], f64[5,5])
    body (%A: f64[5,5], %bar: f64[5,5], %old: f64[1,5]) {
      %0 = update_slice %A, %old {start=(i, 0), step=(1, 1)} : f64[5,5]
      %1 = slice %0 {start=(i - 1, 0), step=(1, 1), stop=(i, 5)} : f64[1,5]
      %2 = slice %bar {start=(i, 0), step=(1, 1), stop=(i + 1, 5)} : f64[1,5]
      %3 = constant {value=0.0} : f64[1,5]
      %4 = update_slice %bar, %3 {start=(i, 0), step=(1, 1)} : f64[5,5]
      %5 = mul %2, %old : f64[1,5]
      %6 = add_slice %4, %5 {start=(i - 1, 0), step=(1, 1)} : f64[5,5]
      %7 = mul %2, %1 : f64[1,5]
      %8 = add_slice %6, %7 {start=(i, 0), step=(1, 1)} : f64[5,5]
      yield %0, %8
    }
  return %0, %2, %3
}"""

# two arrays, each computed from the other one, in turns; and a number
LEAPFROG = """\
func @leapfrog(%x: f64[30], %v: f64[30]) -> (f64[30], f64[30], f64[]) {
  %zero = constant {value=0.0} : f64[]
  %0, %1, %2 = for_loop %x, %v, %zero {carries=3, index="t", lower=0, reverse=False, upper=5, xs=0} \
: (f64[30], f64[30], f64[])
    body (%x: f64[30], %v: f64[30], %energy: f64[]) {
      %0 = sin %x : f64[30]
      %1 = sub %v, %0 : f64[30]
      %2 = add %x, %1 : f64[30]
      %3 = mul %v, %v : f64[30]
      %4 = sum %3 {axes=(0,)} : f64[]
      %5 = add %energy, %4 : f64[]
      yield %2, %1, %5
    }
  return %0, %1, %2
}"""

IN_PLACE = (
    GAUSS_SEIDEL, HEAT, CHOLESKY, LEVINSON, BUBBLE, HALVED, RESTORED, LEAPFROG,
)  # fmt: skip


def arguments_of(text: str, seed: int) -> list[Array]:
    """Arguments for one of the programs."""
    rng = np.random.default_rng(seed)
    if text is CHOLESKY:
        half = rng.standard_normal((6, 6))
        return [half @ half.T + 6 * np.eye(6)]
    shapes = {
        GAUSS_SEIDEL: ((8, 8), (8, 8)), HEAT: ((50,),), LEVINSON: ((9,), (9,)), BUBBLE: ((6, 4),),
        HALVED: ((7,),), RESTORED: ((5, 5), (5, 5)), LEAPFROG: ((30,), (30,)),
    }  # fmt: skip
    return [rng.uniform(0.2, 1.5, shape) for shape in shapes[text]]
