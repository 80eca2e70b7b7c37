#!/usr/bin/env python3
"""make_fits.py DIRECTORY: writes FITS files by astropy into DIRECTORY, and what gpureduce prints of each NAME.fits, behind
the name of the file:
  NAME.stored.tsv  `--stored --skip-unsupported -o sum,min,max,argmin,argmax,nan,count`
  scaled.tsv       `-o missing,count,sum,mean,min,max,argmin,argmax` of scaled.fits
Values are those of fractions, of the elements that were written; astropy returns the same elements."""

import os
import random
import sys
import warnings
from fractions import Fraction

import numpy as np
from astropy.io import fits

sys.dont_write_bytecode = True  # the sources may be read-only
from expected import SCALED, expect, scaled_row  # noqa: E402

directory = sys.argv[1]
warnings.simplefilter("ignore")  # of keywords
rng = np.random.default_rng(9)
rnd = random.Random(9)
TYPES = ["u1", "i2", "i4", "i8", "f4", "f8"]


def path(name):
    return os.path.join(directory, name)


def draw(shape, dtype):
    data = rng.integers(0 if dtype[0] == "u" else -100, 100, shape).astype(dtype)
    limits = np.iinfo(dtype) if data.dtype.kind != "f" else np.finfo("f4")
    for i in range(data.size):
        if rnd.random() < 0.1:
            data.ravel()[i] = rnd.choice([limits.min, limits.max])
        elif data.dtype.kind == "f" and rnd.random() < 0.05:
            data.ravel()[i] = "nan"
    return data


def read(name):
    """The images of a file as astropy has them, as stored, by the names that gpureduce gives them."""
    found = {}
    with fits.open(path(name), do_not_scale_image_data=True) as file:
        for number, hdu in enumerate(file):
            if isinstance(hdu, (fits.BinTableHDU, fits.TableHDU, fits.CompImageHDU)) or hdu.data is None:
                continue
            key = hdu.header.get("EXTNAME", "" if number else "PRIMARY") or f"HDU{number}"
            if "EXTNAME" in hdu.header and "EXTVER" in hdu.header:
                key += f",{hdu.header['EXTVER']}"
            base, copies = key, 1
            while key in found:
                copies += 1
                key = f"{base}#{copies}"
            found[key] = np.array(hdu.data)
    return found


def images(name, hdus):
    fits.HDUList(hdus).writeto(path(name + ".fits"))
    expect(path(name + ".stored.tsv"), {k: x.astype(x.dtype.newbyteorder("=")) for k, x in read(name + ".fits").items()})


for dtype in TYPES:
    images(f"primary-{dtype}", [fits.PrimaryHDU(draw((3, 4, 5), dtype))])
images("large", [fits.PrimaryHDU(draw((300, 400), "f4")), fits.ImageHDU(draw((70, 1, 31), "i2"), name="WHT")])
names = [("SCI", 1), ("ERR", 1), ("SCI", 2), ("", None), ("SCI", 2), ("O'Hara", None), ("", None),
         ("A name & that needs several cards: " + "it is long. " * 12, 1)]
hdus = [fits.PrimaryHDU()]
for i, (name, version) in enumerate(names):
    hdu = fits.ImageHDU(draw((2, 3 + i), TYPES[i % len(TYPES)]), name=name or None)
    if version:
        hdu.ver = version
    for k in range(100 if i == 2 else 0):
        hdu.header[f"KEY{k}"] = (k, "a header of several blocks")
    hdus.append(hdu)
images("several", hdus)
columns = [fits.Column(name="a", format="E", array=np.arange(5)), fits.Column(name="b", format="PJ()", array=np.array(
    [np.arange(3)] * 5, dtype=object))]
images("tables", [fits.PrimaryHDU(draw((4,), "i2")), fits.BinTableHDU.from_columns(columns, name="T"),
                  fits.TableHDU.from_columns([fits.Column(name="a", format="I4", array=np.arange(5))], name="ASCII"),
                  fits.CompImageHDU(np.arange(10000, dtype="i2").reshape(100, 100), name="TILED"),
                  fits.ImageHDU(draw((5,), "f8"), name="LAST")])
images("empty", [fits.PrimaryHDU(), fits.ImageHDU(name="NOTHING")])
fits.HDUList([fits.GroupsHDU(fits.GroupData(np.arange(100.0).reshape(10, 1, 1, 2, 5), bitpix=-32, parnames=["a"],
                                            pardata=[np.arange(10)]))]).writeto(path("groups.fits"))


#
# Scales and missing values.
#


rows = []
hdus = [fits.PrimaryHDU()]
cases = [(d, None, None, b) for d in TYPES[:4] for b in (None, 7, 0)]
cases += [("i2", None, "32768", None), ("i4", None, "2147483648", 5), ("i8", None, "9223372036854775808", None)]
cases += [("u1", None, "-128", 3), ("i2", None, "32768.0", None), ("i8", None, "9.223372036854775808D18", None)]
cases += [("i2", "0.1", None, None), ("i2", "-2.5E-3", "1.0E2", 7), ("f4", "2.0", "+3", None), ("f8", ".25", "-.5", None),
          ("i4", "1D-3", "0.1", 0), ("u1", "1.0", "0.0", 1), ("f4", "1.", "1e10", None), ("i2", "3", "7", None)]
for i, (dtype, scale, zero, blank) in enumerate(cases):
    data = rng.integers(0, 12, (4, 5)).astype(dtype)
    if dtype[0] == "i":
        data -= 4
    hdu = fits.ImageHDU(data, name=f"V{i:02}")
    for key, value in (("BSCALE", scale), ("BZERO", zero), ("BLANK", blank)):
        if value is not None:
            hdu.header.append(fits.Card.fromstring(f"{key:8}= {value:>20}"), end=True)
    hdus.append(hdu)
    s, z = (Fraction((value or neutral).replace("D", "E")) for value, neutral in ((scale, "1"), (zero, "0")))
    s, z = (x if x.denominator == 1 else Fraction(float(x)) for x in (s, z))
    rows.append(scaled_row(f"V{i:02}", data, s, z, None if dtype[0] == "f" else blank))
# What is written is what is read: astropy would change the keywords of scaled images.
with open(path("scaled.fits"), "wb") as out:
    for hdu in hdus:
        out.write(hdu.header.tostring().encode("ascii"))
        if hdu.data is not None:
            stored = hdu.data.astype(hdu.data.dtype.newbyteorder(">")).tobytes()
            out.write(stored + b"\0" * (-len(stored) % 2880))
with open(path("scaled.tsv"), "w", encoding="utf-8") as out:
    out.write(SCALED)
    out.writelines(rows)
with fits.open(path("scaled.fits")) as file:
    for i, (dtype, scale, zero, blank) in enumerate(cases):
        try:
            stored, found = hdus[i + 1].data, file[i + 1].data.astype("f8")
        except ValueError:  # astropy has no NaN for BLANK among integers
            continue
        expected = stored.astype("f8") * float((scale or "1").replace("D", "E")) + float((zero or "0").replace("D", "E"))
        near = np.abs(found - expected) <= 1e-6 * np.abs(expected) + 1e-9
        if blank is not None:
            near |= np.isnan(found) & (stored == blank)
        assert near.all(), (i, cases[i], found, expected)
