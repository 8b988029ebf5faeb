"""State in places that are easy to miss: loops and branches change it, and the number says how often."""

# pyright: reportFunctionMemberAccess=false, reportPossiblyUnboundVariable=false

from __future__ import annotations

import array
import collections
import functools
import itertools
import operator
import types

import numpy as np


def class_counter(x, t):

    class L:
        n = 0

    s = 0.0
    for v in x:
        L.n += 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * L.n


def function_counter(x, t):

    def f():
        pass

    f.n = 0
    s = 0.0
    for v in x:
        f.n += 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * f.n


class Slotted:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0


def slot_counter(x, t):
    o = Slotted()
    s = 0.0
    for v in x:
        o.n += 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * o.n


def default_list(x, t):

    def g(v, st=[0]):
        st[0] += 1
        return v * st[0]

    s = 0.0
    for v in x:
        s = 0.5 * s + np.sin(v) * np.cos(v) * t + g(v)
    return s


def partial_list(x, t):
    st = [0]

    def g(st, v):
        st[0] += 1
        return v * st[0]

    h = functools.partial(g, st)
    s = 0.0
    for v in x:
        s = 0.5 * s + np.sin(v) * np.cos(v) * t + h(v)
    return s * st[0]


def plain_array(x, t):
    a = np.cumsum(np.ones(3))
    s = 0.0
    for v in x:
        a[0] += 1.0
        s = 0.5 * s + np.sin(v) * np.cos(v) * t * a[0]
    return s * a[0]


def plain_array2(x, t):
    a = np.sort(np.ones(3))
    s = 0.0
    for v in x:
        a[0] += 1.0
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * a[0]


def plain_array3(x, t):
    a = np.random.default_rng(0).standard_normal(3)
    s = 0.0
    for v in x:
        a[0] += 1.0
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * a[0]


def plain_array4(x, t):
    a = np.linalg.inv(np.eye(3) * 2)
    s = 0.0
    for v in x:
        a[0, 0] += 1.0
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * a[0, 0]


def bytearray_state(x, t):
    a = bytearray(2)
    s = 0.0
    for v in x:
        a[0] += 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * a[0]


def array_state(x, t):
    a = array.array("d", [0.0])
    s = 0.0
    for v in x:
        a[0] += 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * a[0]


def counter_state(x, t):
    c = collections.Counter()
    c["a"] = 0
    s = 0.0
    for v in x:
        c["a"] += 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * c["a"]


def chain_map(x, t):
    c = collections.ChainMap({"a": 0})
    s = 0.0
    for v in x:
        c["a"] += 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * c["a"]


def property_state(x, t):

    class P:
        def __init__(s):
            s._n = 0

        @property
        def n(s):
            s._n += 1
            return s._n

    p = P()
    s = 0.0
    for v in x:
        s = 0.5 * s + np.sin(v) * np.cos(v) * t * p.n
    return s * p.n


def iterator_state(x, t):
    it = itertools.count(1)
    s = 0.0
    for v in x:
        s = 0.5 * s + np.sin(v) * np.cos(v) * t * next(it)
    return s


def generator_send(x, t):

    def g():
        k = 0
        while True:
            k += 1
            yield k

    it = g()
    s = 0.0
    for v in x:
        s = 0.5 * s + np.sin(v) * np.cos(v) * t * next(it)
    return s


def iterator_in_obj(x, t):

    class H:
        pass

    h = H()
    h.it = iter([float(k) for k in range(100)])
    s = 0.0
    for v in x:
        s = 0.5 * s + np.sin(v) * np.cos(v) * t * next(h.it)
    return s


def method_cell(x, t):

    class C:
        def __init__(s):
            s.n = 0

        def bump(s):
            s.n += 1
            return s.n

    f = C().bump
    s = 0.0
    for v in x:
        s = 0.5 * s + np.sin(v) * np.cos(v) * t * f()
    return s


def lru(x, t):
    n = [0]

    @functools.lru_cache
    def f(k):
        n[0] += 1
        return n[0]

    s = 0.0
    for i in range(len(x)):
        s = 0.5 * s + np.sin(x[i]) * np.cos(x[i]) * t * f(1)
    return s * n[0]


def class_object_in_list(x, t):

    class L:
        n = 0

    box = [L]
    s = 0.0
    for v in x:
        box[0].n += 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * L.n


def globals_dict(x, t):
    ns = types.SimpleNamespace(n=0)
    s = 0.0
    for v in x:
        ns.n += 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * ns.n


def setattr_state(x, t):

    class P:
        pass

    p = P()
    p.n = 0
    s = 0.0
    for v in x:
        p.n = p.n + 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * p.n


def vars_state(x, t):

    class P:
        pass

    p = P()
    p.n = 0
    s = 0.0
    for v in x:
        vars(p)["n"] += 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * p.n


def inherits_class_attr(x, t):

    class B:
        n = 0

    class P(B):
        pass

    p = P()
    s = 0.0
    for v in x:
        type(p).n += 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * P.n


def shared_default_dict(x, t):
    d = collections.defaultdict(list)
    d["a"].append(0)
    s = 0.0
    for v in x:
        d["a"][0] += 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * d["a"][0]


def set_state(x, t):
    d = set()
    s = 0.0
    for i in range(len(x)):
        d.add(1)
        s = 0.5 * s + np.sin(x[i]) * np.cos(x[i]) * t
    return s * len(d)


def frozen_objs(x, t):

    class P:
        n = 0

        def __init__(s):
            s.n = 0

        def __hash__(s):
            return 1

    p = P()
    d = {p}
    s = 0.0
    for v in x:
        for q in d:
            q.n += 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * p.n


def dict_key_obj(x, t):

    class P:
        def __init__(s):
            s.n = 0

    p = P()
    d = {p: 1}
    s = 0.0
    for v in x:
        for q in d:
            q.n += 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * list(d)[0].n


def user_list_attrs(x, t):

    class L(list):
        pass

    l = L([1])
    l.n = 0
    s = 0.0
    for v in x:
        l.n += 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * l.n


def user_dict_attrs(x, t):

    class L(dict):
        pass

    l = L(a=1)
    l.n = 0
    s = 0.0
    for v in x:
        l.n += 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * l.n


def tuple_attrs(x, t):

    class L(tuple):
        pass

    l = L([1])
    l.n = 0
    s = 0.0
    for v in x:
        l.n += 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * l.n


def branch_class(x, t):

    class L:
        n = 0

    if t > 1.0:
        L.n = 5
    return np.sum(x) * L.n


def branch_func_attr(x, t):

    def f():
        pass

    f.n = 1
    if t > 1.0:
        f.n = 5
    return np.sum(x) * f.n


def branch_slot(x, t):
    o = Slotted()
    if t > 1.0:
        o.n = 5
    return np.sum(x) * o.n


def branch_plain_array(x, t):
    a = np.cumsum(np.ones(3))
    if t > 1.0:
        a[0] = 5
    return np.sum(x) * a[0]


def branch_default(x, t):

    def g(st=[1]):
        return st

    if t > 1.0:
        g()[0] = 5
    return np.sum(x) * g()[0]


def exec_closure(x, t):
    d = {}
    fs = []

    def mk():
        n = 0

        def bump():
            nonlocal n
            n += 1
            return n

        return bump

    fs.append(mk())
    s = 0.0
    for v in x:
        s = 0.5 * s + np.sin(v) * np.cos(v) * t * fs[0]()
    return s


def super_state(x, t):

    class A:
        def __init__(s):
            s.n = 0

        def go(s):
            s.n += 1
            return s.n

    class B(A):
        def go(s):
            return super().go()

    b = B()
    s = 0.0
    for v in x:
        s = 0.5 * s + np.sin(v) * np.cos(v) * t * b.go()
    return s


def map_obj(x, t):
    seen = [0]

    def f(v):
        seen[0] += 1
        return v * seen[0]

    s = 0.0
    for v in map(f, x):
        s = 0.5 * s + np.sin(v) * t
    return s * seen[0]


def op_state(x, t):
    d = [0]
    s = 0.0

    for v in x:
        operator.setitem(d, 0, d[0] + 1)
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * d[0]


SCRATCH = [0]


BUF = np.zeros(3)


class CFG:
    n = 0


class Obj:
    def __init__(s):
        s.n = 0


OBJ = Obj()


COUNT = 0


def bump(d=[0]):
    d[0] += 1
    return d[0]


def scratch_global(x, t):
    SCRATCH[0] = 0
    s = 0.0
    for v in x:
        SCRATCH[0] += 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    n = SCRATCH[0]
    SCRATCH[0] = 0
    return s * n


def scratch_class(x, t):
    CFG.n = 0
    s = 0.0
    for v in x:
        CFG.n += 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    n = CFG.n
    CFG.n = 0
    return s * n


def scratch_obj(x, t):
    s = 0.0
    for v in x:
        OBJ.n += 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    n = OBJ.n
    OBJ.n = 0
    return s * n


def global_count(x, t):
    global COUNT
    COUNT = 0
    s = 0.0
    for v in x:
        COUNT += 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    n = COUNT
    COUNT = 0
    return s * n


def global_helper(x, t):
    s = 0.0
    for v in x:
        s = 0.5 * s + np.sin(v) * np.cos(v) * t * bump()
    return s


def buf_global(x, t):
    s = 0.0
    for v in x:
        BUF[0] += 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    n = BUF[0]
    BUF[0] = 0
    return s * n


def known_in_branch(x, t):
    a = np.zeros(3)
    if t > 1.0:
        a[0] = 5
    return np.sum(x) * a[0]


def known_in_branch2(x, t):
    a = np.zeros(3)
    if t > 1.0:
        a[0] = 5
    else:
        a[1] = x[0]
    return np.sum(x) * a[0] + a[1]


def known_in_loop(x, t):
    a = np.zeros(3)
    s = 0.0
    for v in x:
        a[0] += 1
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * a[0]


def known_in_loop2(x, t):
    a = np.zeros(3)
    b = np.arange(3.0)
    s = 0.0
    for v in x:
        a[1:] += b[:2]
        s = 0.5 * s + np.sin(v) * np.cos(v) * t
    return s * a[2]


def known_cumsum(x, t):
    a = np.cumsum(np.ones(3))
    if t > 1.0:
        a[0] = 5
    return np.sum(x) * a[0]


def known_int(x, t):
    k = np.zeros(3, int)
    for v in x:
        k[1] += 2
        k[0] = k[1]
    return np.sum(x) * k[0] * t


def loop_var_global(x, t):
    global COUNT
    for COUNT in range(30):
        t = t * 0.9 + np.sin(t) * 0.01 * np.cos(t)
    n = COUNT
    COUNT = 0
    return t * n + x[0]


def zip_rows(x, t):
    A = np.outer(x, x)
    for a, row in zip(x, A):
        row *= a * t
        row[0] += 1.0
    return np.sum(A * A)


def enum_rows(x, t):
    A = np.outer(x, x)
    for i, row in enumerate(A):
        row[i] = t
        row *= 2.0
    return np.sum(A * A)


def rev_rows(x, t):
    A = np.outer(x, x)
    for row in reversed(A):
        row[0] = t * row[1]
    return np.sum(A * A)


def partial_array(x, t):
    acc = np.zeros(len(x))

    def add(buf, i, v):
        buf[i] += v

    g = functools.partial(add, acc)
    for i in range(len(x)):
        g(i, np.sin(x[i]) * t + x[i] * x[i - 1] + np.cos(x[i]))
    return np.sum(acc * acc)


class Adder:
    def __init__(self, buf):
        self.buf = buf
        self.n = 0.0

    def __call__(self, i, v):
        self.buf[i] += v
        self.n = self.n * 0.5 + v


def callable_object(x, t):
    acc = np.zeros(len(x))
    g = Adder(acc)
    for i in range(len(x)):
        g(i, np.sin(x[i]) * t + np.cos(x[i]) * x[i - 1])
    return np.sum(acc * acc) + g.n


def slotted(x, t):
    s = Slotted(np.zeros(len(x)))
    for i in range(len(x)):
        s.buf[i] = np.sin(x[i]) * t + np.cos(x[i])
        s.n = s.n * 0.5 + s.buf[i]
    return s.n + np.sum(s.buf**2)


def default_args(x, t):
    acc = np.zeros(len(x))

    def add(i, v, buf=acc, st=[0.0]):
        buf[i] += v
        st[0] = st[0] * 0.5 + v
        return st[0]

    s = 0.0
    for i in range(len(x)):
        s = s + add(i, np.sin(x[i]) * t + np.cos(x[i]))
    return s + np.sum(acc * acc)


class MyList(list):
    pass


def list_subclass(x, t):
    l = MyList([0.0, x[0]])
    for v in x:
        l[0] = l[0] * 0.5 + np.sin(v) * t
        l[1] = l[1] * 0.9 + np.cos(v) * l[0]
    return l[0] * l[1]


class MyDict(dict):
    pass


def dict_subclass(x, t):
    l = MyDict(a=0.0, b=x[0])
    for v in x:
        l["a"] = l["a"] * 0.5 + np.sin(v) * t
        l["b"] = l["b"] * 0.9 + np.cos(v) * l["a"]
    return l["a"] * l["b"]


def default_dict(x, t):
    l = collections.defaultdict(float)
    for v in x:
        l["a"] = l["a"] * 0.5 + np.sin(v) * t
        l["b"] += np.cos(v) * l["a"]
    return l["a"] * l["b"]


def counter_new_key(x, t):
    l = {}
    for v in x:
        l["a"] = l.get("a", 0.0) * 0.5 + np.sin(v) * t * np.cos(v)
    return l["a"]


def deque_state(x, t):
    q = collections.deque([0.0, 1.0])
    for v in x:
        q[0] = q[0] * 0.5 + np.sin(v) * t * np.cos(v) + q[1] * 0.1
        q.rotate(1)
    return q[0] * q[1]


class Cls:
    total = 0.0


def class_attribute(x, t):

    class Local:
        total = 0.0

    for v in x:
        Local.total = Local.total * 0.5 + np.sin(v) * t * np.cos(v)
    return Local.total


def function_attribute(x, t):

    def f():
        pass

    f.s = 0.0
    for v in x:
        f.s = f.s * 0.5 + np.sin(v) * t * np.cos(v)
    return f.s


def nested_objects(x, t):

    class P:
        def __init__(s):
            s.a = [{"u": np.zeros(len(x))}]

    p = P()
    for i in range(len(x)):
        p.a[0]["u"][i] = np.sin(x[i]) * t + p.a[0]["u"][i - 1] * 0.5 + np.cos(x[i])
    return np.sum(p.a[0]["u"] ** 2)


def aliased_names(x, t):
    y = x * 1.0
    z = y
    for i in range(len(x)):
        z[i] = z[i] * t + 0.1 * y[i - 1] + np.sin(y[i]) * np.cos(z[i])
    return np.sum(y * z)


def rebinding_alias(x, t):
    y = x * 1.0
    z = y
    for i in range(len(x)):
        y = y * 0.9
        y[i] = z[i] * t + np.sin(y[i]) * np.cos(z[i]) + z[i - 1]
    return np.sum(y * z)


def view_out_of_loop(x, t):
    y = x * 1.0
    for i in range(1, len(x)):
        v = y[:i]
        v *= 0.9
        v[0] += np.sin(x[i]) * t + np.cos(x[i])
    v[0] = 3.0
    return np.sum(y * y)


def view_made_before(x, t):
    y = x * 1.0
    v = y[::2]
    w = y[1:3]
    for i in range(len(x)):
        v *= 0.95
        w[0] = np.sin(v[0]) * t + y[i] + np.cos(x[i]) * v[1]
    return np.sum(y * y) + np.sum(v) + w[1]


def list_of_views(x, t):
    A = np.outer(x, x)
    rows = [A[0], A[1], A.T[2]]
    for i in range(len(x)):
        rows[2][i] = rows[0][i] * t + np.sin(rows[1][i]) * np.cos(rows[2][i])
    return np.sum(A * A)


def return_array_from_branch(x, t):
    y = x * 1.0
    z = y if t > 1.0 else y.copy()
    z[0] = 5.0
    return np.sum(y * y)


def bool_carry(x, t):
    done = False
    s = 0.0
    for v in x:
        if not done:
            s = s + v * np.sin(v) * t
        done = done or s > 1.0 or v < -1.0
    return s * (2.0 if done else 1.0)


def int_index_carry(x, t):
    lo, hi = (0, len(x) - 1)
    while lo < hi:
        mid = (lo + hi) // 2
        if np.sin(mid * t) < 0.3:
            lo = mid + 1
        else:
            hi = mid
    return x[lo] * t


def string_state(x, t):
    mode = "up"
    s = 0.0
    for v in x:
        if mode == "up":
            s = s + np.sin(v) * t * np.cos(v) * v
        else:
            s = s - v
    return s


def string_changes(x, t):
    mode = "up"
    s = 0.0
    for i in range(len(x)):
        s = s + np.sin(x[i]) * t if mode == "up" else s - np.cos(x[i]) * s
        mode = "down" if mode == "up" else "up"
    return s


def none_then_array(x, t):
    best = None
    for v in x:
        if best is None or v > best:
            best = v
    return best * t


def exc_in_loop(x, t):
    s = 0.0
    for i in range(len(x)):
        try:
            s = s + x[i] * t * np.sin(x[i]) * np.cos(s)
        except ValueError:
            s = 0.0
        finally:
            s = s * 0.9
    return s


def dtype_mix(x, t):
    y = x.astype(np.float32)
    s = np.float32(0.0)
    for v in y:
        s = s * np.float32(0.5) + np.sin(v) * np.float32(0.3)
    return float(s) * t * 0 + np.sum(x) * t


def int_array_count(x, t):
    c = np.zeros(4, int)
    for v in x:
        k = int(abs(v) * 2.9) % 4
        c[k] += 1
    return np.sum(x[:4] * c[:4]) * t if len(x) >= 4 else t


def shape_tuple(x, t):
    A = np.outer(x, x)
    s = 0.0
    m, n = A.shape
    for i in range(m):
        for j in range(i, n):
            s = 0.9 * s + A[i, j] * np.sin(A[j, i]) * t
    return s


def star_args(x, t):

    def f(*vs, **kw):
        return sum(vs) * kw["k"]

    s = 0.0
    for i in range(1, len(x)):
        s = 0.7 * s + f(x[i], np.sin(x[i - 1]), np.cos(x[i]), k=t)
    return s


def lambda_capture(x, t):
    fs = []
    for i in range(3):
        fs.append(lambda v, i=i: v * i)
    s = 0.0
    for v in x:
        s = 0.5 * s + fs[1](v) + fs[2](np.sin(v) * t) + np.cos(v)
    return s


def late_binding(x, t):
    fs = [lambda: k for _ in range(2)] if False else []
    k = 0.0
    g = lambda: k
    for v in x:
        k = k * 0.5 + np.sin(v) * np.cos(v) * t
    return g() * 2


def del_in_loop(x, t):
    s = 0.0
    for v in x:
        tmp = np.sin(v) * t * np.cos(v)
        s = 0.5 * s + tmp * tmp
        del tmp
    return s


def cond_view(x, t):
    y = x * 1.0
    v = y[:3] if t > 1.0 else y[1:4]
    v *= 2.0
    return np.sum(y * y)


def while_list(x, t):
    stack = [x[0], t]
    while stack:
        v = stack.pop()
        if len(stack) < 1:
            break
    return v * 2


def sum_nested(x, t):
    return sum(sum(row) * t for row in np.outer(x, x))


def matrix_powers(x, t):
    A = np.outer(x[:3], x[:3]) + np.eye(3)
    P = np.eye(3)
    n = int(t) + 2
    while n > 0:
        if n % 2 == 1:
            P = P @ A
        A = A @ A * 0.1
        n //= 2
    return np.sum(P * P)


def swap_rows(x, t):
    A = np.outer(x[:4], x[:4]) + np.diag(x[:4]) * t
    for i in range(4):
        p = i + int(np.argmax(np.abs(A[i:, i])))
        A[[i, p]] = A[[p, i]]
        for j in range(i + 1, 4):
            A[j] -= A[i] * 0.1
    return np.sum(A * np.arange(16.0).reshape(4, 4))
