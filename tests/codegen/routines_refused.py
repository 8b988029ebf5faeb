# ruff: noqa
# pyright: basic, reportIndexIssue=false, reportCallIssue=false, reportArgumentType=false
# pyright: reportReturnType=false, reportUnboundVariable=false, reportPossiblyUnboundVariable=false
# pyright: reportUndefinedVariable=false, reportAttributeAccessIssue=false, reportGeneralTypeIssues=false
"""Routines that are refused: the line has a comment, which is what the message matches."""

from __future__ import annotations

from symgrad.codegen.lapack import Buffer, cleared, scratch

STEP = 3
HALF = 0.5


def a_while(n: int) -> int:
    while n > 2:  # is not in the part of Python that is compiled
        n = n - 1
    return n


def a_break(n: int) -> int:
    for _ in range(n):
        break  # `break` is not in the part
    return 0


def an_else_of_a_loop(n: int) -> int:
    for _ in range(n):  # is not in the part
        n = 2
    else:
        n = 3
    return n


def an_augmented_assignment(n: int) -> int:
    n += 1  # `n \+= 1` is not in the part
    return n


def a_list(n: int) -> int:
    for _ in [1, 2]:  # is not in the part
        n = n + 1
    return n


def a_slice(x: Buffer) -> None:
    x[1:2] = 0.0  # `1:2` is not in the part


def a_place_from_the_end(x: Buffer) -> None:
    x[-1] = 0.0  # no place is counted from the end


def a_power(n: int) -> int:
    return n**2  # `n \*\* 2` is not in the part


def a_true_quotient(n: int) -> int:
    return int(n / 2)  # `n / 2` is not in the part


def a_remainder(n: int) -> int:
    return n % 2  # `n % 2` is not in the part


def a_quotient_by_a_name(n: int) -> int:
    return 4 // n  # `4 // n` divides by what may be 0


def a_quotient_by_zero(n: int) -> int:
    return n // 0  # `n // 0` divides by what may be 0


def a_chain(n: int) -> bool:
    return 0 < n < 2  # `0 < n < 2` is not in the part


def an_identity(n: int) -> bool:
    return n is STEP  # `n is STEP` is not in the part


def a_negation(n: int) -> bool:
    return not n < 2  # `not n < 2` is not in the part


def an_integer_as_truth(n: int) -> int:
    if n:  # `n` is i64 where i1 is wanted
        return 1
    return 0


def an_integer_that_is_returned_by_or(n: int) -> int:
    return n or 2  # `n` is i64 where i1 is wanted


def a_truth_as_integer(n: int) -> int:
    return (n < 2) + 1  # is i1 where i64 is wanted


def a_truth_compared(n: int) -> int:
    return 1 if (n < 2) == True else 0  # is i1 where i64 is wanted


def an_integer_as_float(n: int, x: Buffer) -> None:
    x[0] = n  # `n` is i64 where double is wanted


def integers_and_floats(n: int, x: Buffer) -> float:
    return x[0] * n  # is i64 where double is wanted


def a_float_as_place(x: Buffer) -> float:
    return x[x[0]]  # is not in the part


def an_element_of_a_number(n: int) -> int:
    n[0] = 1.0  # is not in the part
    return 0


def a_quotient_of_floats(x: Buffer) -> float:
    return x[0] // 2.0  # `x\[0\] // 2.0` is not in the part


def two_types(n: int) -> int:
    k = n
    k = n < 2  # k has values of two types
    return 0


def two_types_of_a_choice(n: int, x: Buffer) -> float:
    return x[0] if n < 2 else n  # has values of two types


def a_name_set_in_a_loop(n: int) -> int:
    for i in range(n):
        k = i
    return k  # k may not be set here


def an_index_after_its_loop(n: int) -> int:
    for i in range(n):
        continue
    return i  # i may not be set here


def a_name_set_in_one_arm(n: int) -> int:
    if n > 2:
        k = 1
    return k  # k may not be set here


def a_name_set_later(n: int) -> int:
    for i in range(n):
        if i > 2:
            n = k  # k may not be set here
        k = i
    return n


def a_name_that_hides_ours(n: int) -> int:
    STEP = STEP + n  # STEP may not be set here
    return STEP


def a_global_float(x: Buffer) -> float:
    return x[0] * HALF  # `HALF` is not in the part


def an_unknown_name(n: int) -> int:
    return elsewhere  # `elsewhere` is not in the part


def a_step_that_varies(n: int) -> int:
    for _ in range(0, 4, n):  # `range\(0, 4, n\)` is not in the part
        continue
    return 0


def a_step_of_nothing(n: int) -> int:
    for _ in range(0, n, 0):  # is not in the part
        continue
    return 0


def no_result(n: int) -> int:
    if n > 2:  # a path that ends without a result
        return 1


def an_empty_result(n: int) -> int:
    return  # `return` is not in the part


def a_result_of_another_type(n: int) -> int:
    return n < 2  # `n < 2` is i1 where i64 is wanted


def code_after_a_return(n: int) -> int:
    return n
    n = 2  # code that is never reached


def code_after_two_returns(n: int) -> int:
    if n > 2:
        return 1
    else:
        return 2
    n = 2  # code that is never reached


def too_few_arguments(n: int, x: Buffer) -> None:
    cleared(n)  # 1 arguments for 2 parameters


def arguments_by_name(n: int, x: Buffer) -> None:
    cleared(n, x=x)  # is not in the part


def arguments_of_other_types(n: int, x: Buffer) -> None:
    cleared(x, n)  # `x` is double\* where i64 is wanted


def a_call_without_a_value(n: int, x: Buffer) -> None:
    y = cleared(n, x)  # has no value


def a_function_of_python(n: int) -> int:
    return abs(n)  # `abs\(n\)` is not in the part


def a_method(n: int, x: Buffer) -> float:
    return x.sum()  # `x.sum\(\)` is not in the part


def a_loop_over_a_range_of_its_own(n: int) -> int:
    range = n
    for _ in range(n):  # is not in the part
        continue
    return 0


def a_minimum_of_three(n: int) -> int:
    return min(n, 2, 3)  # `min\(n, 2, 3\)` is not in the part


def a_minimum_of_floats(x: Buffer) -> float:
    return min(x[0], x[1])  # `x\[0\]` is double where i64 is wanted


def scratch_of_any_size_where_nothing_can_fail(n: int, x: Buffer) -> None:
    y = scratch(n, x)  # a routine that cannot fail has no memory of a size that is not known
    cleared(n, y)


def scratch_in_a_loop(n: int, x: Buffer) -> None:
    for _ in range(n):
        y = scratch(4, x)  # the same each time
        cleared(4, y)


def a_string(n: int) -> int:
    return "n"  # `'n'` is not in the part
