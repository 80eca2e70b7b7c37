"""Numbers as text, for scripts that say what gpureduce must print."""

import math

import numpy as np


def shortest(x, dtype):
    """As gpureduce prints it: the shortest digits that the type reads back; of narrow types all digits."""
    if math.isnan(x):
        return "nan"
    if not dtype.startswith("float"):
        return str(int(x))
    dtype = "float64" if dtype == "float16" else dtype
    x = np.dtype(dtype).type(x)
    text = np.format_float_positional(x, unique=True, trim="-")
    mantissa, exponent = np.format_float_scientific(x, unique=True, trim="-").split("e")
    exponent = int(exponent)
    if x != 0 and not -5 <= exponent <= 15:
        return f"{mantissa}e{exponent:+03d}"
    return text
