"""Builds the wheel and the sdist of the Python package, for pip and for `make wheel`.

A wheel has the package, and in its folder native/ the shared library, the programs and nothing that
belongs to one version of Python. They are built by configure and make: in the tree that
$GPUREDUCE_BUILD names, in the source tree if that is configured, or in a temporary folder, with the
options in $GPUREDUCE_CONFIGURE. An sdist is what `make dist` has, and a pyproject.toml at its top.
"""

import base64
import contextlib
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
LIBRARY = "libgpureduce.so.0"
PROGRAMS = ("gpureduce", "gpureduce-hdf5")
HDF5 = PROGRAMS[1]


def _version():
    with open(os.path.join(TOP, "configure.ac"), encoding="utf-8") as file:
        return re.search(r"AC_INIT\(\[gpureduce\], \[([^]]*)\]", file.read())[1]


def _metadata():
    with open(os.path.join(TOP, "doc", "python.md"), encoding="utf-8") as file:
        description = file.read()
    return f"""Metadata-Version: 2.1
Name: gpureduce
Version: {_version()}
Summary: Exact, reproducible sums, means, quantiles and more, of arrays in memory and in files
License: MIT
License-File: LICENSE
Requires-Python: >=3.9
Requires-Dist: numpy>=1.21
Provides-Extra: dask
Requires-Dist: dask[array]; extra == "dask"
Classifier: Intended Audience :: Science/Research
Classifier: License :: OSI Approved :: MIT License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{description}"""


#
# The compiled files
#


def _run(*command, **options):
    print("+", *command, flush=True)
    subprocess.run(command, check=True, stdout=sys.stderr, **options)


@contextlib.contextmanager
def _configured():
    """A configured build tree; a temporary one vanishes afterwards."""
    for tree in (os.environ.get("GPUREDUCE_BUILD"), TOP):
        if tree and os.path.exists(os.path.join(tree, "config.status")):
            yield tree
            return
    if not os.path.exists(os.path.join(TOP, "configure")):
        _run("autoreconf", "--install", cwd=TOP)
    with tempfile.TemporaryDirectory(prefix="gpureduce-build-") as tree:
        _run(os.path.join(TOP, "configure"), *shlex.split(os.environ.get("GPUREDUCE_CONFIGURE", "")), cwd=tree)
        yield tree


def _make(tree, *goals):
    jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    _run("make", f"-j{jobs}", *goals, cwd=tree)


def _compile(tree):
    """The files of native/, by name."""
    source = os.path.join(tree, "src")
    _make(tree, "all")
    library = os.path.join(source, LIBRARY)
    if not os.path.exists(library):
        raise SystemExit("the build has no shared library: configure found no way to link one")
    names = [name for name in PROGRAMS if os.path.exists(os.path.join(source, name))]
    return {LIBRARY: os.path.realpath(library), **{name: os.path.join(source, name) for name in names}}


#
# The wheel
#


class _Wheel:
    """A wheel that is written, and the record of its files."""

    def __init__(self, path):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.record = []

    def add(self, name, data, mode=0o644):
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        info.external_attr = (0o100000 | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}\n")

    def add_file(self, name, path, mode=0o644):
        with open(path, "rb") as file:
            self.add(name, file.read(), mode)

    def close(self, info):
        self.record.append(f"{info}/RECORD,,\n")
        self.zip.writestr(f"{info}/RECORD", "".join(self.record))
        self.zip.close()


def _stripped(path, folder):
    """A copy without debugging information, where strip can be had."""
    copy = os.path.join(folder, os.path.basename(path))
    shutil.copy(path, copy)
    if shutil.which("strip"):
        _run("strip", "--strip-unneeded", copy)
    return copy


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Builds a wheel, as PEP 517 has it. The tag is this machine's; auditwheel can grant a better one."""
    tag = "py3-none-" + re.sub("[-.]", "_", sysconfig.get_platform())
    name = f"gpureduce-{_version()}"
    path = os.path.join(wheel_directory, f"{name}-{tag}.whl")
    info, data = f"{name}.dist-info", f"{name}.data/data/share/man"
    with _configured() as tree, tempfile.TemporaryDirectory() as folder:
        wheel = _Wheel(path)
        for file in sorted(os.listdir(os.path.join(HERE, "gpureduce"))):
            if file.endswith((".py", ".typed")):
                wheel.add_file(f"gpureduce/{file}", os.path.join(HERE, "gpureduce", file))
        for file, compiled in _compile(tree).items():
            if file == HDF5 and os.environ.get("GPUREDUCE_WITHOUT_HDF5"):
                continue
            wheel.add_file(f"gpureduce/native/{file}", _stripped(compiled, folder), 0o755)
    for page in ("gpureduce.1", "gpureduce-json.5", "gpureduce-partial.5", "gpureduce-formats.7",
                 "gpureduce-merge.7"):
        wheel.add_file(f"{data}/man{page[-1]}/{page}", os.path.join(TOP, "man", page))
    wheel.add_file(f"{info}/LICENSE", os.path.join(TOP, "LICENSE"))
    wheel.add(f"{info}/METADATA", _metadata().encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: gpureduce\nRoot-Is-Purelib: false\n"
                               f"Tag: {tag}\n".encode())
    wheel.add(f"{info}/entry_points.txt",
              b"[console_scripts]\ngpureduce = gpureduce.__main__:main\n")
    wheel.close(info)
    return os.path.basename(path)


#
# The sdist
#


def build_sdist(sdist_directory, config_settings=None):
    """Builds an sdist, as PEP 517 has it."""
    name = f"gpureduce-{_version()}"
    path = os.path.join(sdist_directory, f"{name}.tar.gz")
    with _configured() as tree, tempfile.TemporaryDirectory() as folder:
        top = os.path.join(folder, name)
        _make(tree, "distdir", f"distdir={top}")
        with open(os.path.join(HERE, "pyproject.toml"), encoding="utf-8") as file:
            project = file.read().replace('backend-path = ["."]', 'backend-path = ["python"]')
        with open(os.path.join(top, "pyproject.toml"), "w", encoding="utf-8") as file:
            file.write(project)
        with open(os.path.join(top, "PKG-INFO"), "w", encoding="utf-8") as file:
            file.write(_metadata())
        with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
            archive.add(top, name)
    return os.path.basename(path)


if __name__ == "__main__":
    what, into = sys.argv[1:]
    os.makedirs(into, exist_ok=True)
    print(os.path.join(into, {"wheel": build_wheel, "sdist": build_sdist}[what](into)))
