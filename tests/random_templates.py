"""The lines that random NumPy programs are made of: templates, by what may be asked of their operands.

A template names its operands by the kind that it needs:

    {a}, {b}   any value                            {s}  real and not empty
    {r}        real                                 {n}  an integer or an array of integers
    {c}        exact                                {x}  exact and real
    {e}        exact, not empty                     {k}  exact, an array of rank 1 or more that is not empty
    {q}        real, its last two axes equal        {w}  an array that can be written into
    {u}        real, an array that can be written into, of rank 1 or more

and other parts by what is drawn for them: {axis}, {axes}, {slices}, {picks}, {rows} (places on the first axis),
{width}, {einsum1}, {einsum2}, {einsum3}. {v} is the name that the statement binds.

*Exact* is a value of which every target has the very bits. Where a result jumps (rounding, comparison, places,
truth) the operand is exact, so that no target falls on the other side of the jump.
"""

# ruff: noqa: E501 - the tables have several templates a line
from __future__ import annotations

from dataclasses import dataclass

SHAPES = (
    (), (1,), (3,), (4,), (2, 3), (3, 3), (3, 1), (1, 3), (2, 1, 3), (2, 3, 2), (0,), (3, 0), (0, 3), (1, 2, 1, 3),
    (2, 3, 3), (2, 2), (5,), (1, 1),
)  # fmt: skip
SLICES = (":", "::-1", "1:", ":-1", "::2", "-2:", "5:0:-2", "1:1", "0", "-1", "None", "...", "::-2", "-9:9:3")
PICKS = (
    "[0, -1, 0]", "[[0, -1], [-1, 0]]", "np.array([0], dtype=np.int8)", "np.array([], dtype=int)", "[-1]",
    "np.array([[0], [1]])", "np.array(-1)", "np.uint8(0)", "(0, 0)",
)  # fmt: skip
ROWS = ("[0, -1, 0]", "[-1]", "[1, 0]", "np.array([0, 0])", "0", "slice(None, None, 2)")
WIDTHS = ("1", "(2, 0)", "(0, 3)", "2", "0", "((1, 0),)")

SMOOTH = (
    "np.tanh({r})", "np.sin({r})", "np.cos({r})", "np.exp(-np.abs({r}))", "np.log1p(np.abs({r}))", "np.tan({r} / 4)",
    "np.sqrt(np.abs({r}) + 0.5)", "np.arctan({r})", "np.expm1(np.clip({r}, -2, 2))", "np.cbrt(np.abs({r}) + 1)",
    "1 / (1 + np.exp(-{r}))", "np.logaddexp({a}, {r})", "np.arctan2({r}, np.abs({a}) + 0.5)", "np.exp2({r} / 8)",
    "np.hypot({r}, {a}) ", "np.power(np.abs({r}) + 0.5, {a})", "{a} / (np.abs({r}) + 1)", "np.sinc({r})", "np.reciprocal(np.abs({r}) + 1)",
    "np.arcsinh({r})", "np.log2(np.abs({r}) + 1)", "np.float_power(np.abs({r}) + 1, 0.3)", "np.degrees({r}) / 60",
    "np.arcsin(np.tanh({r}) * 0.9)", "np.arccos(np.sin({r}) * 0.9)", "np.arctanh(np.tanh({r}) * 0.9)", "np.arccosh(np.abs({r}) + 1.5)",
    "np.sinh(np.clip({r}, -2, 2))", "np.cosh(np.tanh({r}))", "np.log(np.abs({r}) + 0.3)", "np.log10(np.abs({r}) + 0.3)", "np.logaddexp2({r}, {a})",
    "np.radians({r}) * 30", "{r} ** 2", "{r} ** 3", "(np.abs({r}) + 0.5) ** -1.5", "(np.abs({r}) + 0.5) ** {r}", "np.tanh({a}) * {r}",
    "np.divide({a}, np.exp({r} / 9))", "np.true_divide({r}, 3)", "np.add({a}, {b}, dtype=float) / 3", "np.i0(np.tanh({r}))",
    "np.multiply.outer({r}, [0.3, 2.0])", "np.where({c} > 0.3, np.sqrt(np.abs({r}) + 0.1), {r} / 3)", "np.nan_to_num(np.tanh({r}))",
    "np.exp({r} - np.max({s}))", "np.interp({r}, [-1, 0, 2], [0.5, 1, 3])", "np.polyval([1.0, {a}, -0.5], {r})", "np.ldexp({r}, {n} % 3) / 3",
    "np.select([{c} > 1, {c} < 0], [np.sin({r}), {b}], 0.25)", "np.piecewise({x}, [{x} > 0.2], [np.sin, lambda z: z / 3])",
)  # fmt: skip
EXACT = (
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} + {b}", "-{a}", "abs({a})", "{r} * 0.5", "2 - {a}", "{a} + 1", "np.subtract({a}, {b})",
    "{r} / 4", "1.5 * {a}", "np.square({a})", "np.maximum({a}, {b})", "np.minimum({a}, 1)", "np.fmax({a}, {b})", "np.fmin({a}, {b})",
    "np.clip({r}, -1, 1)", "np.clip({r}, {b}, None)", "np.where({c}, {a}, {b})", "np.where({c} > {c}.T, {a}, 0)", "np.fabs({r})",
    "np.where({c} > 0, {a}, {b})", "np.positive({a})", "np.copysign({r}, {x})", "np.heaviside({x}, 0.5)", "{a}.clip(max=1)", "np.conj({r})",
    "{a}.astype(np.float32)", "{a}.astype(float)", "np.select([{c} > 1, {c} < 0], [{a}, {b}], 0.25)", "np.float64({a}) if False else {a}",
    "np.nan_to_num({r})", "np.zeros_like({a}) + {b}", "np.full_like({r}, 2) * {a}", "{a} if True else {b}", "np.real({a})", "np.imag({r})",
    "np.add({a}, {b}, out=np.zeros(np.shape({a} + {b})))", "np.multiply({r}, {b}, where={c} > 0, out=np.ones_like({r} * {b}))",
    "np.negative({r}, out=np.zeros({r}.shape, {r}.dtype))", "np.subtract.outer({a}, [1, 2])", "np.choose({n} % 2, [{a}, {b}])",
    "np.maximum.reduce({k})", "np.minimum.accumulate({k}, axis={axis})", "np.maximum.accumulate({k})", "np.add({a}, 1, dtype=np.float32)",
)  # fmt: skip
JUMPS = (
    "np.floor({c})", "np.ceil({c}) * {b}", "np.sign({c})", "np.rint({c})", "{c} > {c}.T", "{c} <= 0.5", "{c} == {c}[::-1]",
    "~({c} > 0)", "({c} > 0) & ({c} < 1)", "np.logical_or({c}, {c} > 1)", "np.isfinite({a})", "np.trunc({x}).astype(int)",
    "{c} // (np.abs({x}) + 1)", "{c} % 3", "{x} % (np.abs({c}) + 1)", "np.fmod({c}, 2)", "{n} & 3", "{n} | {n}", "np.round({x}, 1)", "np.around({x})",
    "{n} << 1", "{n} >> 1", "{n} ^ 1", "np.argmax({k}, axis={axis})", "np.argmin({e})", "{c}.astype(np.int32)", "np.fix({x})",
    "np.count_nonzero({c})", "np.any({c} > 0, axis={axes})", "np.all({c}, axis={axes}, keepdims=True)", "{n}**2", "np.modf({x})[0]",
    "np.searchsorted([-1.0, 0.0, 1.0], {x})", "np.allclose({c}, {c}.T)", "np.signbit({x})", "np.divmod({x}, 0.75)[1]", "np.isin({c}, [0, 1])",
    "np.digitize({x}, [-1.0, 0.25, 1.0])", "np.argsort({k}, axis={axis}, kind='stable')", "np.logical_xor({c} > 0, {c} < 1)", "np.invert({n})",
    "np.searchsorted(np.sort({x}.ravel()), 0.3)", "np.lexsort(({k}, {k}))", "np.count_nonzero({c}, axis={axes})",
    "np.remainder({x}, -0.7)", "np.floor_divide({x}, 0.3)", "np.isclose({c}, 0.5)", "np.nanargmax({e})", "np.spacing({x})", "np.frexp({x})[0]",
)  # fmt: skip
MOVES = (
    "{a}.T", "{a}[::-1]", "{a}[..., None]", "{a}[None]", "np.squeeze({a})", "{a}.reshape(-1)", "np.ravel({a}, order='F')", "{a}.mT", "{a}.flatten()",
    "np.flip({a}, axis={axes})", "np.moveaxis({a}, 0, -1)", "np.swapaxes({a}, 0, -1)", "np.broadcast_to({a}, (2, *np.shape({a})))",
    "np.broadcast_arrays({a}, {b})[0]", "np.expand_dims({a}, -1)", "np.atleast_2d({a})", "np.roll({a}, 1)", "np.atleast_3d({a})", "np.fliplr({a})",
    "np.roll({a}, -4, axis={axis})", "np.roll({a}, (1, 2), axis=(0, 1))", "np.concatenate([{a}, {b}])", "np.rollaxis({a}, -1)", "np.transpose({a})",
    "np.concatenate([{a}, {b}], axis=-1)", "np.concatenate([{a}, {r}, {a}], axis=None)", "np.stack([{a}, {b}])", "np.dstack([{a}, {b}])",
    "np.stack([{a}, {a} * 2], axis=-1)", "np.hstack([{a}, {b}])", "np.vstack([{a}, {b}])", "np.append({a}, {b})", "np.append({a}, {a}, axis={axis})",
    "np.pad({a}, {width})", "np.pad({a}, {width}, mode='edge')", "np.pad({a}, {width}, mode='reflect')", "np.pad({a}, {width}, mode='wrap')",
    "np.pad({a}, {width}, mode='symmetric')", "np.pad({a}, {width}, constant_values=0.5)", "np.tile({a}, 2)", "np.tile({a}, (2, 1))",
    "np.repeat({a}, 2)", "np.repeat({a}, 3, axis={axis})", "np.repeat({a}, [0, 1, 2], axis=0)", "np.rot90({a})", "np.rot90({a}, 2, axes=(-1, 0))",
    "np.tril({a})", "np.triu({a}, 1)", "np.diag({a})", "np.diagonal({a})", "np.diagonal({a}, 1, -1, 0)", "np.diagflat({a})", "np.tril({a}, -1)",
    "np.delete({a}, 1, axis={axis})", "np.array_split({a}, 2)[0]", "np.split({a}, [1], axis={axis})[1]", "np.hsplit({a}, [1])[0]", "np.unstack({a})[0]",
    "np.array([{a}, {b}])", "np.meshgrid({a}, {b})[1]", "np.meshgrid({a}, {b}, indexing='ij')[0]", "np.resize({a}, (2, 2))", "np.where(np.eye(3) > 0, {a}, 0)",
    "np.column_stack([{a}, {b}])", "np.insert({a}, 1, 0.5)", "np.insert({a}, [0, -1], 2, axis={axis})", "np.block([[{a}, {b}], [{b}, {a}]])", "{a}.copy()",
    "np.reshape({a}, (-1, 1))", "np.reshape({a}, (3, -1), order='F')", "np.vander({a}, 3)", "np.r_[{a}, 1.0, {b}]", "np.c_[{a}, {b}]",
    "np.ascontiguousarray({a})", "np.asfortranarray({a})", "np.array({a})", "np.asarray({a})", "{a}.swapaxes(0, -1)", "{a}.transpose()", "{a}.squeeze()",
)  # fmt: skip
INDICES = (
    "{a}[{slices}]", "{a}[{slices}]", "{a}[{slices}]", "{a}[{picks}]", "{a}[{picks}]", "{a}[..., {picks}]", "{a}[{picks}, 0]", "{a}[{picks}, ::-1]",
    "{a}[:, {picks}, {picks}]", "{a}[{picks}, :, {picks}]", "{a}[{picks}, None, {picks}]", "{a}[{slices}, {picks}]", "{a}[{picks}, {slices}]",
    "np.take({a}, {picks})", "np.take({a}, {picks}, axis={axis})", "{a}[{n} % {a}.shape[0]]", "{a}[..., {n} % {a}.shape[-1]]", "{a}.take({picks}, axis={axis})",
    "np.take({a}, {n}, axis={axis}, mode='clip')", "np.take({a}, {n}, axis={axis}, mode='wrap')", "{a}[np.ix_({rows}, {rows})]", "{a}[np.ix_(np.ravel({n}) % 2, np.ravel({n}) % 2)]",
    "np.take_along_axis({a}, np.zeros((1,) * np.ndim({a}), int), axis={axis})", "np.take_along_axis({k}, np.argsort({k}, axis={axis!}), axis={axis!})",
    "{r}.ravel()[{n}.ravel() % {r}.size]", "{a}[np.array([True, False, True])]",
    "{a}[[True, False]]", "{a}[..., np.array([False, True, True])]", "{a}[None, ..., {picks}]", "np.compress([True, False, True], {a}, axis={axis})",
    "np.extract([True, False, True], {a})", "{a}[np.triu_indices(3)]", "{a}[np.tril_indices(2, -1)]", "{a}[np.diag_indices(2)]", "{k}[np.argmax({k}, axis=0)]",
    "{a}[np.unravel_index({n} % 4, (2, 2))]", "{k}[np.argsort({k}[:, 0])]", "{k}[np.argmax({k}[..., 0]), ...]", "{a}[{n}, {n}]", "{a}[-1, ..., ::-1]",
    "{a}.item(0)", "{a}[0][0]", "{a}[()]", "{a}[...]", "{a}[np.newaxis, :, 1:]",
)  # fmt: skip
SUMS = (
    "np.sum({k}[{k} > 0.2])", "np.sum(np.tanh({k}[{k} > 0.3]))", "np.mean({k}[np.abs({k}) >= 0])",
    "np.pad({r}, {width}, mode='mean')", "np.pad({r}, {width}, mode='linear_ramp')", "np.pad({r}, {width}, mode='maximum')",
    "np.sum({a}, axis={axes})", "{a}.sum(axis={axes}, keepdims=True)", "np.mean({a}, axis={axes})", "np.prod({r}, axis={axes})", "np.sum({a}, axis={axes}, initial=2)",
    "np.max({s}, axis={axes})", "np.min({s}, axis={axes}, keepdims=True)", "np.std({s}, axis={axes})", "np.var({r}, axis={axes})", "np.var({r}, axis={axes}, ddof=1)",
    "np.ptp({s}, axis={axis})", "np.linalg.norm({r})", "np.linalg.norm({r} + 1.5, axis={axis})", "np.diff({a}, axis={axis})", "np.diff({a}, 2, axis={axis})",
    "np.gradient({r})", "np.gradient({r}, 0.5, axis={axis})", "np.trapezoid({r})", "np.trapezoid({r}, dx=0.5, axis={axis})", "np.average({r}, axis={axis})",
    "np.average({r}, weights=np.abs({r}) + 1)", "np.nansum({r}, axis={axes})", "np.max({s}, initial=0.25)", "np.min({r}, axis={axes}, initial=9, where={x} > 0)",
    "np.sum({a}, where={c} > 0, axis={axes})", "np.mean({a}, where={c} > -9, axis={axes})", "np.prod({r}, where={x} > 0, axis={axes}, keepdims=True)", "np.add.reduce({a}[None])",
    "np.sum({a}, axis={axes}, dtype=float)", "np.sum({r}, dtype=np.float32)", "np.mean({a}, axis={axes}, dtype=np.float32)", "np.prod({a}, dtype=float)", "np.nanmean({r}, axis={axes})",
    "np.nanmean(np.where({x} > -0.5, {r}, np.nan), axis={axes})", "np.nansum(np.where({x} > 0, {r}, np.nan), axis={axes})", "np.nanmax(np.where({x} > -9, {x}, np.nan), axis={axes})",
    "np.nanstd({s}, axis={axis})", "np.nanvar(np.where({x} > -0.5, {x}, np.nan))", "np.nanprod({r}, axis={axis})", "np.nanmin({s})", "np.cov({r})", "np.cov({r}, {r}, rowvar=False)",
    "np.linalg.norm({r} + 1.5, 1)", "np.linalg.norm({r} + 1.5, np.inf, axis={axis})", "np.linalg.norm({r} + 1.5, 3, axis={axis})", "np.linalg.norm({q})", "np.linalg.vector_norm({r} + 1.5, axis={axes})",
    "np.add.reduceat({r}, [0, 1])", "np.multiply.reduce({r}, axis={axes})", "np.logaddexp.reduce({s})", "np.ediff1d({r})", "np.corrcoef({r} * 1.0)", "np.std({r}, axis={axis}, ddof=1, keepdims=True)",
    "np.apply_along_axis(lambda z: z * np.sum(z), {axis}, {s})", "np.histogram({x}, [-2.0, 0.0, 2.0], weights={r})[0]",
)  # fmt: skip
PRODUCTS = (
    "np.trace({a})", "{a} @ {b}", "{a} @ {b}", "{a} @ {b}.T", "{a}.T @ {b}", "np.dot({a}, {b})", "np.inner({a}, {b})", "np.outer({a}, {b})", "np.matmul({a}, {b})",
    "np.tensordot({a}, {b}, axes=1)", "np.tensordot({a}, {b}, axes=0)", "np.vdot({a}, {b})", "np.kron({a}, {b})", "np.tensordot({a}, {b}, axes=([0], [0]))", "np.matvec({a}, {b})", "np.vecdot({a}, {b})",
    "np.cross(np.stack([{a}] * 3, -1), np.stack([{r}, {a}, {r}], -1))", "np.einsum({einsum2})", "np.einsum({einsum2})", "np.einsum({einsum1})", "np.einsum({einsum3})", "np.vecmat({a}, {b})",
    "np.convolve({a}, {b})", "np.convolve({a}, {b}, 'same')", "np.correlate({a}, {b}, 'full')", "np.convolve({a}, {b}, 'valid')", "np.polymul(np.abs({r}.ravel()) + 1, np.abs({b}.ravel()) + 1)", "np.polyder({r}.ravel())",
    "{a} @ np.swapaxes({b}, -1, -2)", "np.einsum('...ij,...kj->...ik', {a}, {b})", "np.einsum('i...->...', {a})", "np.einsum('ii', {a})", "{a}.dot({b})", "np.linalg.multi_dot([{a}, {b}, {a}])",
    "np.matmul({a}, {b}.T)", "{r} @ {r}.T @ {r}", "np.einsum('ij,ij->i', {a}, {a})", "np.einsum('bij,bjk->bik', {a}, {b})", "np.trace({a}, axis1=0, axis2=-1)", "np.poly({r}.ravel()[:3])",
)  # fmt: skip
SORTS = (
    "np.sort({r}, axis={axis})", "np.sort({a}, axis=None)", "np.sort({r})[..., ::-1]", "np.median({r}, axis={axes})", "np.quantile({r}, 0.3, axis={axes})", "np.percentile({r}, [25, 50, 100], axis={axis})",
    "np.quantile({r}, [0.0, 0.7], axis={axis}, keepdims=True)", "np.quantile({r}, 0.4, method='hazen')", "np.quantile({r}, 0.6, method='lower')", "np.median({a}, keepdims=True)", "np.quantile({r}, 0.25, method='nearest')",
    "np.nanmedian({r}, axis={axis})", "np.nanquantile(np.where({x} > -0.5, {x}, np.nan), 0.3)", "np.nanpercentile({r}, 60, axis={axis})", "np.sort(np.partition({r}, 1, axis={axis})[..., :2])", "np.partition({r}, 0)[..., 0]",
    "np.cumsum({a}, axis={axis})", "np.cumsum({a})", "np.cumprod({r}, axis={axis})", "np.cumprod({r})", "np.cumulative_sum({r}, axis={axis}, include_initial=True)", "np.cumulative_prod({r}, axis={axis})",
    "np.cumsum({n}, dtype=float)", "np.cumsum({r}, axis={axis}, dtype=np.float32)", "np.nancumsum(np.where({x} > 0, {r}, np.nan), axis={axis})", "np.nancumprod({r})", "np.unwrap({r} * 3)", "np.add.accumulate({a}, axis={axis})",
    "np.multiply.accumulate({a})", "np.maximum.accumulate({r}, axis={axis})", "np.minimum.accumulate({r})", "{k}[np.argsort({k}, axis=0)]", "np.sort({s}.ravel())[::2]", "np.interp({r}, np.sort({s}.ravel()), np.arange(float({s}.size)))",
    "np.sort({n})", "np.sort({a}.astype(float), axis=0)", "np.median({n}, axis={axis})", "np.quantile({r}, np.clip({s}.ravel()[0], 0.1, 0.9))", "np.sort({r}, axis={axis}, kind='stable')[..., 0]",
)  # fmt: skip
MATRICES = (
    "np.linalg.solve({q} + 5 * np.eye({q}.shape[-1]), {r})", "np.linalg.solve({q} + 5 * np.eye({q}.shape[-1]), {q})", "np.linalg.inv({q} + 5 * np.eye({q}.shape[-1]))", "np.linalg.det({q})", "np.linalg.slogdet({q} + 4 * np.eye({q}.shape[-1]))[1]",
    "np.linalg.cholesky({q} @ {q}.mT + np.eye({q}.shape[-1]))", "np.linalg.cholesky({q} @ {q}.mT + np.eye({q}.shape[-1]), upper=True)", "np.linalg.matrix_power({q}, 3)", "np.linalg.matrix_power({q} + 5 * np.eye({q}.shape[-1]), -2)",
    "np.linalg.det({q} @ {q}.mT + np.eye({q}.shape[-1]))", "np.linalg.solve(np.tril({q}) + 4 * np.eye({q}.shape[-1]), {r})", "np.linalg.solve(np.triu({q}, 1) + 2 * np.eye({q}.shape[-1]), {r}.T)", "np.linalg.inv(np.tril({q}) + 4 * np.eye({q}.shape[-1]))",
    "np.linalg.inv({q} @ {q}.mT + 2 * np.eye({q}.shape[-1])) @ {r}", "np.linalg.slogdet({q})[0]", "{q} @ {q}", "{q}.mT @ np.linalg.inv({q} + 6 * np.eye({q}.shape[-1]))", "np.trace({q} @ {q}.mT)", "np.linalg.norm({q}, 1)", "np.linalg.norm({q} + 1.5, 'fro')",
    "np.linalg.matrix_norm({q} + 1.5)", "np.linalg.norm({q} + 1.5, axis=(-2, -1))", "np.linalg.multi_dot([{q}, {q}, {q}])", "np.einsum('...ij,...jk->...ik', {q}, {q})", "np.linalg.solve(np.diag(np.abs({r}) + 1), {r})", "np.linalg.det(np.exp({q} / 9))",
    "np.log(np.linalg.det({q} @ {q}.mT + np.eye({q}.shape[-1])))", "np.linalg.cholesky(np.exp(-0.5 * ({x}.ravel()[:4, None] - {x}.ravel()[:4]) ** 2) + 0.1 * np.eye({x}.ravel()[:4].size))",
)  # fmt: skip
WRITES = (  # statements; what is written into is {w} or {u}, and {v} is bound where it is named
    "{v} = np.array({a}); {v}[{slices}] = {b}", "{v} = {r}.copy(); {v}[{slices}] *= {b}", "{w}[{slices}] = {b}", "{w}[{slices}] += {b}", "{u} *= 0.5", "{u} -= {r} / 4", "{u}[{picks}] = {b}",
    "{u}[{picks}] += {b}", "{u}[..., {picks}] -= {r}", "np.add.at({u}, {picks}, {b})", "np.add.at({u}, (0, {picks}), 0.5)", "{u}[{picks}, 0] = {b}", "{w}[0] = {w}[-1]",
    "{v} = {x}.copy(); {v}[{v} > 0.3] = 0.5", "{v} = {x} * 1.0; {v}[{v} < 0.1] *= {b}", "{v} = np.zeros(np.shape({k})); {v}[{k} > 0.1] = {r}[{k} > 0.1]", "{u}[{u} == {u}] += 0.25",
    "np.copyto({u}, {b})", "np.copyto({u}, 0.25, where={c} > 0.2)", "np.putmask({u}, {c} > 0.5, {r})", "np.place({u}, {c} > 0.5, [0.3, 0.4])", "np.put({u}, [0, -1], {b})",
    "np.fill_diagonal({u}, {b})", "{u}.fill({r})", "{u}.sort()", "np.put_along_axis({u}, np.zeros((1,) * {u}.ndim, int), 0.5, axis={axis})", "np.multiply({u}, {r}, out={u})",
    "np.add({u}[1:], {u}[:-1], out={u}[1:])", "{u}[1:] = {u}[:-1]", "{u}[::-1] += {u}", "{u}[...] = {u}[::-1]", "{u}.T[0] = {r}", "{u}.reshape(-1)[0] = 0.75", "{u}.ravel()[1:] *= 0.5",
    "{u}[1:][0] = 2.0", "{v} = {u}[::2]; {v} += 1", "{v} = {u}.T; {v}[...] = {v} / 2", "{u}[:, 0], {u}[:, -1] = {r}, 0.5", "{u}[np.ix_({rows}, {rows})] = 0.5", "{u}[{rows}] += {r}",
    "np.maximum({u}, 0.2, out={u})", "np.cumsum({u}, axis=0, out={u})", "np.subtract.at({u}, [0, 0], 0.5)", "np.clip({u}, -0.5, 0.5, out={u})",
    "{v} = np.empty((2, *np.shape({r}))); {v}[0] = {r}; {v}[1] = {v}[0] * 2", "{v} = np.zeros(4); {v}[1:3] = {r}; {v}[0] += 1", "{w}[0], {w}[-1] = {w}[-1], {w}[0]",
    "{u}[{n} % {u}.shape[0]] *= 0.5", "{u} /= np.abs({r}) + 1", "{u} **= 2", "{w} *= 2",
)  # fmt: skip
ROUNDED = (  # writes of what is rounded
    "np.sin({u}, out={u})", "np.sum({u}, axis=0, out={u}[0])", "np.tanh({u}, out={u})", "np.divide({u}, 3, out={u})", "{u}[0] = np.mean({u})", "np.dot({q}, {q}, out={q})",
    "{u}[1:] -= np.mean({r})", "{v} = np.zeros(3); {v}[:] = np.sin({r})", "np.exp(-np.abs({u}), out={u})",
)  # fmt: skip
LOOPS = (  # statements that bind {v}
    "{v} = {r} * 1.0\nfor i in range(3):\n    {v} = np.tanh({v}) + 0.25 * {v}", "{v} = np.zeros_like({s}[0])\nfor row in {s}:\n    {v} = {v} + np.sin(row)",
    "if {e}.max() > 0.3:\n    {v} = {r} * 2.0\nelse:\n    {v} = np.sin({r})", "{v} = {r} + 0.0\nif {e}.ravel()[0] > 0:\n    {v} = {v} / 3",
    "{v}, count = {x} * 1.0, 0\nwhile count < 4 and {v}.sum() * 0 == 0:\n    {v} = {v} * 0.5\n    count += 1",
    "{v} = np.zeros(5)\nfor i in range(5):\n    {v}[i] = np.sum({r}) / (i + 2) + {v}[i - 1]", "{v} = {s}.copy()\nfor i in range(1, len({v})):\n    {v}[i] = {v}[i] * 0.5 + {v}[i - 1]",
    "{v} = np.array([np.sum(row) * k for k, row in enumerate({s})])", "{v} = {r} * 1.0\nfor _ in range(20):\n    {v} = {v} - 0.1 * (np.tanh({v}) - {r} / 4)",
    "{v} = {s}.copy()\nfor i in range(6):\n    {v}[i % len({v})] = np.cos({v}[-1])", "{v} = {q} * 1.0\nfor _ in range(4):\n    {v} = np.tanh({v} @ {q})",
    "{v} = 0.0\nfor z in {s}.ravel():\n    {v} = 0.5 * {v} + z if z > -9 else {v}",
    "{v} = {e} * 1.0\nfor i in range(4):\n    if {e}.min() < i * 0.4:\n        {v} = {v} + 1\n    else:\n        {v} = {v} * 0.5",
    "{v} = [np.sin({r}), {r}]\nfor i in range(3):\n    {v} = [{v}[1], {v}[0] * 0.5]\n{v} = {v}[0]", "{v} = {u}\nfor i in range(5):\n    {v}[1:] += 0.25 * {v}[:-1]",
    "{v} = np.zeros_like({s})\nfor i in range(len({s})):\n    {v}[i] = {s}[-1 - i] * np.sum({s}[: i + 1])", "{v} = {r} * 0.5 if np.shape({r}) else np.cos({r})",
)  # fmt: skip


@dataclass(frozen=True)
class Family:
    """Templates, and what they keep of exactness."""

    templates: tuple[str, ...]
    exact: bool = False  # the result is exact if all operands are
    jumps: bool = False  # all operands must be exact
    statements: bool = False  # they bind {v}, or only write


smooth, exact, jumps = Family(SMOOTH), Family(EXACT, exact=True), Family(JUMPS, exact=True, jumps=True)
moves, indices = Family(MOVES, exact=True), Family(INDICES, exact=True)
sums, products, sorts, matrices = Family(SUMS), Family(PRODUCTS), Family(SORTS), Family(MATRICES)
writes, rounded = Family(WRITES, exact=True, statements=True), Family(ROUNDED, statements=True)
loops = Family(LOOPS, statements=True)

# What a program is about: families, drawn as often as they are listed.
THEMES: dict[str, tuple[Family, ...]] = {
    "elementwise": (smooth, smooth, smooth, exact, exact, exact, jumps, jumps, sums, moves),
    "reductions": (sums, sums, sums, sums, sorts, sorts, exact, smooth, moves),
    "indexing": (indices, indices, indices, indices, moves, exact, smooth, jumps, sums),
    "shapes": (moves, moves, moves, moves, exact, indices, products, smooth),
    "products": (products, products, products, matrices, matrices, matrices, moves, smooth, exact),
    "sorting": (sorts, sorts, sorts, sorts, jumps, indices, exact, moves),
    "writes": (writes, writes, writes, writes, rounded, moves, indices, exact, smooth),
    "control": (loops, loops, loops, writes, smooth, exact, sums, products),
}
