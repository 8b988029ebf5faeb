# ruff: noqa: RET505
"""Routines that use each construct of what is compiled, on an integer and nine elements."""

from __future__ import annotations

from symgrad.codegen.lapack import Buffer, at, cleared, copied, gemm, lanes, scratch

STEP = 3


def arithmetic(n: int, x: Buffer) -> int:
    """A docstring."""
    k = (n + 5) * 2 - n
    return -k + STEP * 7 - -STEP


def quotients(n: int, x: Buffer) -> int:
    return n // STEP * 1000 + (n - 1) // 4 * 100 - n // -STEP


def a_choice(n: int, x: Buffer) -> int:
    return (n - 1) // STEP * STEP if n > 0 else -1


def a_choice_that_guards(n: int, x: Buffer) -> int:
    return int(at(x, n)[0]) if n >= 0 and n < 4 else 7


def relations(n: int, x: Buffer) -> int:
    found = 1 if n == 2 else 0
    if n != 2:
        found = found + 2
    if n < 2:
        found = found + 4
    if n <= 2:
        found = found + 8
    if n > 2:
        found = found + 16
    if n >= 2:
        found = found + 32
    return found


def relations_of_floats(n: int, x: Buffer) -> int:
    found = 0
    for i in range(6):
        for j in range(6):
            if x[i] < x[j] or x[i] == 0:
                found = found + 1
            elif x[i] >= x[j] and x[i] != x[j]:
                found = found + 100
    return found


def loops(n: int, x: Buffer) -> int:
    total = 0
    for i in range(n):
        for j in range(i, n):
            for k in range(n, j - 2, -2):
                if k == i:
                    continue
                total = total - total // 7 + i + 5 * j - k
        total = total - 1
    return total


def lanes_of_a_loop(n: int, x: Buffer) -> int:
    for i in lanes(n):
        x[i] = 2 * x[i] + float(i)
    for k in range(n):
        for i in lanes(4):
            x[i] = x[i + 4] if k > 2 else x[i]
    return n


def an_index_that_is_changed(n: int, x: Buffer) -> int:
    i = 50
    for i in range(0, n, STEP):
        i = i * 2
    return i


def a_bound_that_is_changed(n: int, x: Buffer) -> int:
    total = 0
    for _ in range(n):
        n = n + 1
        total = total + 1
    return total * 100 + n


def early(n: int, x: Buffer) -> int:
    for i in range(n):
        if x[i] == 0:
            return i
        else:
            continue
    return -1


def both_arms_return(n: int, x: Buffer) -> int:
    if n > 2:
        return 1
    else:
        return 0


def names_at_once(n: int, x: Buffer) -> int:
    a, b = n, 2 * n
    a, b = b, a
    x[0], x[1] = x[1], x[0]
    return 10 * a + b


def truth(n: int, x: Buffer) -> int:
    small = n < 3
    if small:
        return 5
    return 6


def the_smaller(n: int, x: Buffer) -> int:
    return min(n, 4) * 10 + min(2, n)


def to_int(n: int, x: Buffer) -> int:
    total = 0
    for i in range(6):
        total = total * 7 + int(x[i])
    return total


def an_element(n: int, x: Buffer) -> float:
    y = at(x, 2)
    y[0] = (y[1] + 1) * 3 - x[0] / 4 + -y[2]
    y[1] = 2
    return x[2]


def memory(n: int, x: Buffer) -> None:
    kept = scratch(6, x)
    copied(6, x, kept)
    cleared(3, at(x, 1))
    copied(5, x, at(x, 1))
    x[0] = kept[5]


def a_product(n: int, x: Buffer) -> None:
    y = scratch(4, x)
    cleared(4, y)
    for i in range(2):
        y[i * 2 + 1] = 1.5 if n > 2 else 2.0
    gemm(False, n > 0, 2, 2, 2, 0.5, x, 2, y, 2, -1.0, at(x, 4), 2)


def memory_of_any_size(n: int, x: Buffer) -> int:
    y = scratch(n + 4, x)
    cleared(n + 4, y)
    if n < 0:
        return 3
    z = scratch(2 * n, y)
    copied(2 * n if n < 4 else 0, x, z)
    copied(n if n < 4 else 0, at(z, min(n, 2)), y)
    x[0] = y[0]
    return n


def helper(n: int, flag: bool, factor: float, x: Buffer) -> int:
    x[n] = x[n] * factor if flag else x[n] / factor
    return n + 1


def calls(n: int, x: Buffer) -> int:
    helper(1, True, 3, x)
    return helper(helper(0, n > 2, 0.25, x), False, 2.0, x)


def recursive(n: int, x: Buffer) -> int:
    return 1 if n <= 1 else n * recursive(n - 1, x)


ROUTINES = [
    arithmetic, quotients, a_choice, a_choice_that_guards, relations, relations_of_floats, loops,
    lanes_of_a_loop, an_index_that_is_changed, a_bound_that_is_changed, early, both_arms_return,
    names_at_once, truth, the_smaller, to_int, an_element, memory, a_product, memory_of_any_size, calls,
    recursive,
]  # fmt: skip
