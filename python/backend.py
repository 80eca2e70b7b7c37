"""Builds the wheel and the sdist of the Python package, for pip and for `make wheel`.

A wheel has the package, and in its folder native/ the shared library, the programs and nothing that
belongs to one version of Python; and the licences of all libraries that these are linked with. They
are built by configure and make: in the tree that $GPUREDUCE_BUILD names, in the source tree if that
is configured, or in a temporary folder, with the options in $GPUREDUCE_CONFIGURE. An sdist is what `make dist` has, and a pyproject.toml at its top.
"""

import base64
import contextlib
import glob
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


def _version():
    with open(os.path.join(TOP, "configure.ac"), encoding="utf-8") as file:
        return re.search(r"AC_INIT\(\[gpureduce\], \[([^]]*)\]", file.read())[1]


def _metadata(licences=("LICENSE",)):
    with open(os.path.join(TOP, "doc", "python.md"), encoding="utf-8") as file:
        description = file.read()
    files = "\n".join(f"License-File: {name}" for name in licences)
    return f"""Metadata-Version: 2.4
Name: gpureduce
Version: {_version()}
Summary: Exact, reproducible sums, means, quantiles and more, of arrays in memory and in files
License-Expression: MIT
{files}
Requires-Python: >=3.9
Requires-Dist: numpy>=1.21
Provides-Extra: dask
Requires-Dist: dask[array]; extra == "dask"
Classifier: Intended Audience :: Science/Research
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
# Licences
#


def _libraries(tree, files):
    """Paths of the libraries that these files are linked with, by name, but for those of the compiler."""
    with open(os.path.join(tree, "Makefile"), encoding="utf-8") as file:
        makefile = file.read()
    compiler = shlex.split(re.search(r"^CC = (.*)", makefile, re.MULTILINE)[1])
    flags = re.findall(r"^(?:\w+_)?LIBS = (.*)", makefile, re.MULTILINE)
    paths = [word for line in flags for word in line.split() if word.endswith(".a") and os.path.exists(word)]
    for line in flags:
        for static in re.findall(r"-Wl,-Bstatic (.*?)-Wl,-Bdynamic", line):
            folders = re.findall(r"-L(\S+)", static)
            for name in re.findall(r"(?<!\S)-l(\S+)", static):
                command = [*compiler, *(f"-B{folder}" for folder in folders), f"-print-file-name=lib{name}.a"]
                paths.append(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip())
    if shutil.which("ldd"):
        needed = subprocess.run(["ldd", *files], stdout=subprocess.PIPE, text=True).stdout
        paths += re.findall(r"=> (/\S+)", needed)
    libraries = {re.sub(r"[.].*", "", os.path.basename(path)): path for path in paths}
    return {name: path for name, path in sorted(libraries.items())
            if name not in ("libc", "libm", "libdl", "librt", "libpthread", "libgcc", "libgcc_s", "libstdc++")}


def _licences(library):
    """Paths of the licences of a library, as the system's packages have them."""
    real = os.path.realpath(library)
    for path in (library, real, "/usr" + library, "/usr" + real):
        if shutil.which("dpkg"):
            found = subprocess.run(["dpkg", "-S", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            copyright = f"/usr/share/doc/{re.split('[:,]', found.stdout)[0]}/copyright"
            if found.returncode == 0 and os.path.exists(copyright):
                return [copyright]
        if shutil.which("rpm"):
            found = subprocess.run(["rpm", "-qLf", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            if found.returncode == 0 and found.stdout:
                return sorted(filter(os.path.isfile, found.stdout.split("\n")))
    if "cudart" in library:
        top = os.path.join(os.path.dirname(real), "..")
        return sorted(path for way in ("", "../../", "dist-info/nvidia_cuda_runtime-*/licenses/")
                      for name in ("EULA.txt", "License.txt") for path in glob.glob(os.path.join(top, way, name)))
    return []


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
    wheel, licences = _Wheel(path), {"LICENSE": os.path.join(TOP, "LICENSE")}
    with _configured() as tree, tempfile.TemporaryDirectory() as folder:
        for file in sorted(os.listdir(os.path.join(HERE, "gpureduce"))):
            if file.endswith((".py", ".typed")):
                wheel.add_file(f"gpureduce/{file}", os.path.join(HERE, "gpureduce", file))
        natives = _compile(tree)
        for library, where in _libraries(tree, natives.values()).items():
            found = _licences(where)
            licences.update((f"{library}-{os.path.basename(one)}", one) for one in found)
            if not found:
                print(f"No licence was found of {where}: add it before you pass the wheel on.", file=sys.stderr)
        for file, compiled in natives.items():
            wheel.add_file(f"gpureduce/native/{file}", _stripped(compiled, folder), 0o755)
    for page in ("gpureduce.1", "gpureduce-json.5", "gpureduce-partial.5", "gpureduce-formats.7",
                 "gpureduce-merge.7"):
        wheel.add_file(f"{data}/man{page[-1]}/{page}", os.path.join(TOP, "man", page))
    for file, licence in licences.items():
        wheel.add_file(f"{info}/licenses/{file}", licence)
    wheel.add(f"{info}/METADATA", _metadata(licences).encode())
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
