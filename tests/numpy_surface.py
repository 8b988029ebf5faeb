"""The functions of NumPy that have a derivative, or are linear."""

from __future__ import annotations

UFUNCS = """
abs absolute acos acosh add arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2
atanh cbrt conj conjugate copysign cos cosh deg2rad degrees divide divmod exp exp2 expm1 fabs
float_power fmax fmin fmod frexp heaviside hypot ldexp log log10 log1p log2 logaddexp logaddexp2 matmul
matvec maximum minimum mod modf multiply negative nextafter positive pow power rad2deg radians
reciprocal remainder sin sinh sqrt square subtract tan tanh true_divide vecdot vecmat
"""
NONLINEAR = """
amax amin apply_along_axis apply_over_axes clip corrcoef cov cumprod cumulative_prod geomspace histogram
histogram2d histogramdd i0 interp logspace max median min nancumprod nanmax nanmedian nanmin
nanpercentile nanprod nanquantile nanstd nanvar partition percentile piecewise poly polyadd polyder
polydiv polyfit polyint polymul polysub polyval prod ptp quantile roots sinc sort sort_complex std
trim_zeros unique unwrap vander var
"""
LINEAR = """
angle append array_split astype atleast_1d atleast_2d atleast_3d average bincount block broadcast_arrays
broadcast_to choose column_stack compress concat concatenate convolve copy copyto correlate cross cumsum
cumulative_sum delete diag diagflat diagonal diff dot dsplit dstack ediff1d einsum expand_dims extract
fill_diagonal flip fliplr flipud full_like gradient hsplit hstack imag inner insert kron linspace
matrix_transpose mean meshgrid moveaxis nan_to_num nancumsum nanmean nansum outer pad permute_dims place
put put_along_axis putmask ravel real real_if_close repeat reshape resize roll rollaxis rot90 select
split squeeze stack sum swapaxes take take_along_axis tensordot tile trace transpose trapezoid tril triu
unstack vdot vsplit vstack where
"""
LINALG = """
cholesky cond cross det diagonal eig eigh eigvals eigvalsh inv lstsq matmul matrix_norm matrix_power
matrix_transpose multi_dot norm outer pinv qr slogdet solve svd svdvals tensordot tensorinv tensorsolve
trace vecdot vector_norm
"""
FFT = """
fft fft2 fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftn
"""
DIFFERENTIABLE = (
    *(f"np.{name}" for name in (UFUNCS + NONLINEAR + LINEAR).split()),
    *(f"np.linalg.{name}" for name in LINALG.split()),
    *(f"np.fft.{name}" for name in FFT.split()),
)
# Of reals, these are constant: their class says so, and they count as what they are.
CONSTANT_OF_REALS = frozenset({"np.angle", "np.imag"})
