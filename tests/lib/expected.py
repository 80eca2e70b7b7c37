"""What gpureduce prints of arrays that NumPy holds."""

import math
from fractions import Fraction

import numpy as np
from shortest import shortest

NAMES = {"float16": "f16", "float32": "f32", "float64": "f64", "bool": "bool"}
NAMES.update({f"{sign}int{bits}": f"{sign or 'i'}{bits}" for sign in ("u", "") for bits in (8, 16, 32, 64)})


def expect(path, arrays, length=None):
    """Writes the table of `-o sum,min,max,argmin,argmax,nan,count`, without the column of the file. Elements that are
    masked are missing."""
    with open(path, "w", encoding="utf-8") as out:
        out.write("array\tdtype\tshape\tsum\tmin\tmax\targmin\targmax\tnan\tcount\n")
        for key in sorted(arrays):
            x = arrays[key]
            dtype = x.dtype.name
            flat = np.ma.getdata(x).ravel()[:length]
            kept = np.flatnonzero(~np.ma.getmaskarray(x).ravel()[:length])
            values = flat[kept].tolist()
            nans = 0
            if dtype.startswith("float"):
                nans = sum(v != v for v in values)
                total = shortest(math.fsum(values), "float64")
            else:
                total = str(sum(map(int, values)))
            row = ["nan"] * 4
            if values:
                least, most = kept[flat[kept].argmin()], kept[flat[kept].argmax()]
                row = [shortest(flat[least].item(), dtype), shortest(flat[most].item(), dtype), least, most]
            shape = ",".join(map(str, x.shape))
            out.write("\t".join(map(str, [key, NAMES[dtype], f"[{shape}]", total, *row, nans, len(values)])) + "\n")


def expect_quantiles(path, arrays):
    """Likewise of `-o q0.25,median --nan=skip`; elements are small integers or their halves."""
    with open(path, "w", encoding="utf-8") as out:
        out.write("array\tdtype\tshape\tq0.25\tmedian\n")
        for key in sorted(arrays):
            x = arrays[key]
            flat = x.ravel().astype("float64")
            flat = np.sort(flat[~np.isnan(flat)])
            row = [shortest(np.quantile(flat, q), "float64") if len(flat) else "nan" for q in (0.25, 0.5)]
            out.write("\t".join([key, NAMES[x.dtype.name], f"[{','.join(map(str, x.shape))}]", *row]) + "\n")


SCALED = "array\tdtype\tshape\tmissing\tcount\tsum\tmean\tmin\tmax\targmin\targmax\n"


def scaled_row(key, data, scale, offset, missing=None):
    """The row of an array whose numbers x stand for scale * x + offset, which are fractions, in the table of
    `-o missing,count,sum,mean,min,max,argmin,argmax`, whose heading is SCALED."""
    integers = data.dtype.kind != "f" and scale == 1 and offset.denominator == 1

    def show(x):
        return str(x) if integers else shortest(float(x), "float64")

    values = {k: scale * Fraction(x.item()) + offset for k, x in enumerate(data.ravel()) if missing is None or x != missing}
    least, most = min(values.values()), max(values.values())
    total = sum(values.values())
    row = [key, NAMES[data.dtype.name], f"[{','.join(map(str, data.shape))}]", data.size - len(values), len(values), show(total),
           shortest(float(total / len(values)), "float64"), show(least), show(most)]
    row += [min(k for k in values if values[k] == x) for x in (least, most)]
    return "\t".join(map(str, row)) + "\n"
