"""Branches and loops beyond those of docs/python.md: functions of an array and a number that decides."""

# pyright: reportPossiblyUnboundVariable=false, reportOperatorIssue=false, reportUnnecessaryComparison=false

from __future__ import annotations

import numpy as np


# ---- branches ----------------------------------------------------------------------------------------------
def elif_without_else(x, t):
    s = x[0]
    if t > 3.0:
        s = s * t
    elif t > 1.0:
        s = s + t
    return s * s


def branch_of_several_names(x, t):
    a, b, c = x[0], x[1], x[2]
    if t > 1.0:
        a, b = b, a * t
        c *= a
    else:
        b = c = a
    return a * b + c


def number_becomes_array(x, t):
    scale = 1
    if t > 2.0:
        scale = t * x[0]
    return scale * np.sum(x)


def number_widens(x, t):
    k = 2 if t > 2.0 else 0.5
    return k * np.sum(x * x)


def conditions_are_values(x, t):
    large = t > 2.0
    flag = large and x[0] > -100.0
    other = not flag
    return flag * x[0] + other * x[1] + (large or flag) * x[2]


def not_of_a_number(x, t):
    return np.sum(x) if not t - t else np.sum(x * x)


def truth_of_a_number(x, t):
    k = int(t)
    if k:
        return x[0] * k
    return x[1] * x[1]


def long_chain(x, t):
    return x[0] if 0.0 < t < 2.0 < t + 3.0 != 100.0 else x[1] * x[1]


def chain_evaluates_once(x, t):
    seen = []

    def middle():
        seen.append(1)
        return t

    return x[0] * len(seen) if 0.0 < middle() < 3.0 else x[1] + len(seen)


def is_and_in(x, t):
    mode = "fast"
    if mode in ("fast", "slow") and t is not None and mode != "slow":
        return np.sum(x * t)
    return np.sum(x)


def nested_expressions(x, t):
    return (x[0] if t > 3.0 else x[1] if t > 1.0 else x[2]) * (t if x[0] > 0.0 else 1.0)


def containers_from_branches(x, t):
    pair = (x[0], {"a": x[1]}) if t > 2.0 else (x[1], {"a": 0.0})
    return pair[0] * pair[1]["a"] + pair[0]


def branch_with_view(x, t):
    y = x.copy()
    v = y[:2]
    if t > 2.0:
        v[0] = t
    return np.sum(y * y)


def returns_in_all_branches(x, t):
    if t > 3.0:
        return x[0]
    elif t > 1.0:  # noqa: RET505 - as users write it
        if x[0] > 0.0:
            return x[1] * t
        return x[2]
    else:
        return x[0] * x[1]


def functions_in_branches(x, t):
    f = np.sin if x.ndim == 1 else np.cos
    g = (lambda v: v * t) if len(x) > 2 else (lambda v: v)
    return np.sum(f(g(x)))


# ---- loops -------------------------------------------------------------------------------------------------
def loop_target_afterwards(x, t):
    s = 0.0
    for i in range(len(x)):
        s = s * 0.5 + x[i]
    return s * i + x[i] * t


def element_afterwards(x, t):
    for v in x:
        w = v * t
    return v * w


def target_is_assigned(x, t):
    s = 0.0
    for v in x:
        v = v * t
        s += v * v
    return s


def range_is_reused(x, t):
    places = range(1, len(x))
    s = 0.0
    for i in places:
        s = 0.5 * s + x[i]
    for i in places:
        s = 0.5 * s + x[i - 1] * t
    return s + len(places)


def empty_range(x, t):
    s = x[0] * t
    for i in range(3, 3):
        s = s * x[i]
    return s


def range_from_data_is_empty(x, t):
    s = x[0]
    for i in range(5, int(t)):
        s = s * i
    return s


def range_from_data_downwards(x, t):
    s = 1.0
    for i in range(int(t) + 1, 0, -1):
        s = 0.5 * s + x[i - 1]
    return s


def zip_of_unequal(x, t):
    s = 0.0
    for a, b in zip(x, x[2:], strict=False):
        s = 0.5 * s + a * b * t
    return s


def zip_with_list(x, t):
    s = 0.0
    for a, k in zip(x, [1.0, 2.0, 3.0], strict=False):
        s = s + a * k * t
    return s


def enumerate_from(x, t):
    s = 0.0
    for k, v in enumerate(x, start=2):
        s = 0.5 * s + k * v * t
    return s


def dict_items(x, t):
    weights = {"a": x[0], "b": t}
    s = 0.0
    for name, w in weights.items():
        s = s + w * len(name)
    return s


def two_dimensional(x, t):
    A = np.outer(x, x)
    for i in range(1, len(x)):
        for j in range(1, len(x)):
            A[i, j] = 0.25 * (A[i - 1, j] + A[i, j - 1]) + t * A[i, j]
    return np.sum(A * A)


def rows_written_through_loop(x, t):
    A = np.outer(x, x)
    for row in A:
        row *= t
        row[0] = 1.0
    return np.sum(A * A)


def break_both(x, t):
    s = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            if x[j] > t:
                break
            s = s + x[i] * x[j]
        if s > 50.0:
            break
    return s


def continue_and_break(x, t):
    s, count = 0.0, 0
    for v in x:
        if v < 0.0:
            continue
        s = s + v * t
        count += 1
        if count == 3:
            break
    return s * count


def return_from_nested(x, t):
    for i in range(len(x)):
        for j in range(i):
            if x[i] * x[j] > 0.3 * t:
                return x[i] * x[j] * t
    return x[0]


def while_with_else(x, t):
    s = t
    while s < 10.0:
        s = s * 1.5 + 1.0
    else:
        s = s + x[0]
    return s


def while_and(x, t):
    k, s = 0, 1.0
    while k < len(x) and s < 3.0 * t:
        s = s + abs(x[k])
        k += 1
    return s * s


def while_not_run(x, t):
    s = x[0]
    while s > 100.0 * t:
        s = s * 0.5
    return s * s


def while_in_for(x, t):
    total = 0.0
    for v in x:
        s = abs(v) + 0.1
        while s < t:
            s = s * 1.7
        total = 0.9 * total + s
    return total


def for_in_while(x, t):
    s = 0.1 * t
    while s < 20.0:
        for v in x:
            s = s + v * v
    return s


def walrus(x, t):
    s, k = 0.0, 0
    while (k := k + 1) < 4:
        s = s + x[k] * t
    return s


def counter_decides(x, t):
    s = 0.0
    for i in range(len(x)):
        if i == 0 or i == len(x) - 1:
            s = s + x[i] * t
        elif i % 2 == 0:
            s = s * 0.5 + x[i]
        else:
            s = s - x[i - 1] * x[i + 1]
    return s


def integer_carry(x, t):
    place, s = 0, 0.0
    for i in range(len(x)):
        if x[i] > x[place]:
            place = i
        s = s + 0.1 * x[place]
    return x[place] * t + s


def swaps(x, t):
    a, b = x.copy(), x * t
    for _ in range(7):
        a[1:-1] = 0.5 * (b[2:] + b[:-2])
        a, b = b, a
    return np.sum(a * a) + np.sum(b)


def rebinds(x, t):
    y = x
    for _ in range(40):
        y = y - 0.1 * t * np.sin(y)
    return np.sum(y * y)


def starts_with_none(x, t):
    best = None
    for i in range(4):
        value = x[i] * t
        best = value if best is None else best + value * value
    return best


def carried_tuple(x, t):
    state = (0.0, 1.0)
    for v in x:
        state = (0.5 * state[1] + v, state[0] * t)
    return state[0] * state[1]


def starred(x, t):
    first, *rest = [x[0], x[1] * t, x[2]]
    s = first
    for v in rest:
        s = s * v
    return s
