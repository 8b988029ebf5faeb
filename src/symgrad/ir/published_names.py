"""Which functions of scipy.special programs call: names alone, for code that loads programs from the disk."""

from __future__ import annotations

# How many reals each published function takes: what codegen calls, and what the tests go through.
ARITIES: dict[str, int] = {
    **dict.fromkeys((
        "erfcx", "erfinv", "erfcinv", "ndtri", "log_ndtr", "rgamma", "gammasgn", "j0", "j1", "y0", "y1", "k0",
        "k1", "k0e", "k1e", "exp1", "expi", "dawsn",
    ), 1),
    **dict.fromkeys((
        "beta", "betaln", "binom", "poch", "gammainc", "gammaincc", "gammaincinv", "gammainccinv", "stdtr",
        "stdtrit", "jv", "yv", "iv", "kv", "ive", "kve",
    ), 2),
    **dict.fromkeys(("betainc", "betaincc", "betaincinv", "betainccinv"), 3),
}  # fmt: skip
PREFIX = "scipy_"  # of these functions in the scalar library
