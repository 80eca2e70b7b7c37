#!/bin/sh
# ./bootstrap: what it would install, with which rights, and what it says and keeps when something
# fails. It runs in a scratch folder, where PATH has nothing but the tools that it uses, and impostors
# of those that change the system or take long. Each of them notes its arguments in ./calls.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

mkdir tools copy
for tool in sh dirname cat sed grep rm env chmod touch; do
    path=$(command -v "$tool") && ln -s "$path" "tools/$tool"
done

# impostor NAME [SCRIPT]
impostor() {
    cat >"tools/$1" <<END
#!/bin/sh
[ -z "\${CALLS-}" ] || echo "$1 \$*" >>"\$CALLS"
${2-}
END
    chmod 755 "tools/$1"
}

# fresh: a checkout on a machine of root's where all is installed, and where everything works.
fresh() {
    rm -rf copy calls
    mkdir copy
    : >calls
    cp "$sources/bootstrap" copy/bootstrap
    rm -f tools/sudo tools/clang tools/clang-14
    for tool in apt-get cc gcc make autoconf automake zstd; do
        impostor "$tool"
    done
    impostor pkg-config 'exit 1'
    impostor nproc 'echo 3'
    impostor id 'echo 0'
    cat >configure.made <<'END'
#!/bin/sh
echo "configure $*" >>"$CALLS"
case $* in
*--help*) echo help of configure ;;
*--broken*)
    echo no
    exit 1
    ;;
*) touch Makefile ;;
esac
END
    impostor autoreconf "cat '$work/configure.made' >configure
chmod 755 configure"
}

# Lacks headers, as a compiler sees them.
# shellcheck disable=SC2016 # for the impostor
no_headers='case $* in *-E*) exit 1 ;; esac'

# bootstrap ARGUMENT...: as `run` does.
settings=
bootstrap() {
    command="$settings ./bootstrap $*"
    # shellcheck disable=SC2086 # none, or several words
    (cd copy && env -i PATH="$work/tools" CALLS="$work/calls" $settings ./bootstrap "$@") >out 2>err
    status=$?
}

# called NAME COMMAND: whether there was just this call of apt-get install; or none.
called() {
    grep -E '^apt-get install' calls | sed 's/  *$//' >found
    if same found "$2"; then
        pass "$1"
    else
        fail "$1"
        explain
        echo "# expected: ${2:-nothing to be installed}; calls:"
        show calls
    fi
}

apt='apt-get install -y -qq --no-install-recommends'

fresh
bootstrap
is 'all is there' 0 '' ''
called 'all is there: nothing to install' ''
ok 'it makes configure, configures, and builds on all cores' \
    test "$(grep -c -x -e 'autoreconf --install' -e 'configure ' -e 'make -s -j3' calls)" = 3
ok 'no log is left of what went well' test ! -e copy/bootstrap.log
: >calls
bootstrap
ok 'again: it only builds' \
    test "$(grep -c -e autoreconf -e configure calls):$(grep -c 'make -s' calls)" = 0:1
bootstrap --prefix=/opt/x 'CFLAGS=-O2 -g'
ok 'arguments go to configure' grep -q -x 'configure --prefix=/opt/x CFLAGS=-O2 -g' calls

fresh
rm tools/zstd tools/automake
impostor cc "$no_headers"
bootstrap
called 'what is missing' "$apt automake libc6-dev libzstd-dev zlib1g-dev libdeflate-dev libaec-dev libhdf5-dev libmpfr-dev zstd"
is 'what is missing, and stays so' 1 '' \
    'bootstrap: missing Debian packages:
  automake       makes Makefile.in
  libc6-dev      headers of the C library
  libzstd-dev    decompresses zstd files
  zlib1g-dev     optional: decompresses gzip, .npz and HDF5
  libdeflate-dev optional: decompresses bgzf and HDF5 faster
  libaec-dev     optional: decompresses szip in HDF5
  libhdf5-dev    optional: reads HDF5 and netCDF-4 files
  libmpfr-dev    for tests: computes exact sums to compare with
  zstd           for tests: makes compressed files
bootstrap: installing them (./bootstrap --no-install would not): apt-get update && apt-get install -y --no-install-recommends automake libc6-dev libzstd-dev zlib1g-dev libdeflate-dev libaec-dev libhdf5-dev libmpfr-dev zstd
bootstrap: cannot build without automake'

fresh
impostor cc "$no_headers"
# shellcheck disable=SC2016 # for the impostor
impostor pkg-config 'case $2 in libzstd) ;; *) exit 1 ;; esac'
bootstrap
called 'a library that only pkg-config knows' "$apt libc6-dev zlib1g-dev libdeflate-dev libaec-dev libhdf5-dev libmpfr-dev"
ok 'it goes on without the others' \
    grep -q -x 'bootstrap: going on without: libc6-dev zlib1g-dev libdeflate-dev libaec-dev libhdf5-dev libmpfr-dev' err

# Compilers.
for compiler in clang clang-14; do
    fresh
    bootstrap "CC=$compiler -m64"
    called "CC='$compiler -m64'" "$apt $compiler libc6-dev libzstd-dev zlib1g-dev libdeflate-dev libaec-dev libhdf5-dev libmpfr-dev"
done
fresh
settings=CC=clang
bootstrap
called 'CC=clang in the environment' "$apt clang libc6-dev libzstd-dev zlib1g-dev libdeflate-dev libaec-dev libhdf5-dev libmpfr-dev"
settings=
impostor clang
: >calls
bootstrap CC=clang
called 'CC=clang that is there' ''
fresh
rm tools/cc tools/gcc
bootstrap
called 'no compiler' "$apt gcc libc6-dev libzstd-dev zlib1g-dev libdeflate-dev libaec-dev libhdf5-dev libmpfr-dev"

# Not to install.
for setting in BOOTSTRAP_NO_INSTALL=1 BOOTSTRAP_NO_INSTALL=0 --no-install; do
    fresh
    rm tools/zstd
    case $setting in
    --*) bootstrap "$setting" --prefix=/x ;;
    *) settings=$setting && bootstrap --prefix=/x ;;
    esac
    settings=
    if [ "$setting" = BOOTSTRAP_NO_INSTALL=0 ]; then
        called "$setting" "$apt zstd"
        continue
    fi
    called "$setting: nothing is installed" ''
    ok "$setting: it says what would be" grep -q "apt-get install .* zstd'" err
    ok "$setting: it builds all the same, and configure does not hear of it" \
        test "$status:$(grep '^configure' calls)" = '0:configure --prefix=/x'
done

# Rights.
fresh
rm tools/zstd
impostor id 'echo 1000'
bootstrap
called 'no root, no sudo' ''
ok 'no root, no sudo: it says what to run' \
    grep -q "sudo sh -c 'apt-get update && apt-get install .* zstd'" err
impostor sudo 'exit 1'
: >calls
bootstrap
called 'sudo that wants a password' ''
# shellcheck disable=SC2016 # for the impostor
impostor sudo 'case $1 in -n) ;; *) "$@" ;; esac'
: >calls
bootstrap
ok 'sudo' grep -q -x "sudo env DEBIAN_FRONTEND=noninteractive $apt zstd" calls
fresh
rm tools/zstd tools/apt-get
bootstrap
is 'no apt-get' 0 '' 'bootstrap: missing Debian packages:
  zstd           for tests: makes compressed files
bootstrap: there is no apt-get here; install what corresponds to them
bootstrap: going on without: zstd'

# Failures, and their logs.
fresh
rm tools/zstd
impostor apt-get 'echo no network; exit 1'
bootstrap
is 'installing fails: it goes on' 0 '' 'bootstrap: missing Debian packages:
  zstd           for tests: makes compressed files
bootstrap: installing them (./bootstrap --no-install would not): apt-get update && apt-get install -y --no-install-recommends zstd
bootstrap: apt-get failed (bootstrap-install.log says why)
bootstrap: going on without: zstd'
ok 'installing fails: its log is kept' same copy/bootstrap-install.log 'no network
no network'
fresh
bootstrap --broken
is 'configure fails' 1 '' 'no
bootstrap: failed: ./configure --broken
bootstrap: this is in bootstrap.log; config.log has what each check did'
ok 'configure fails: its log is kept' same copy/bootstrap.log no
fresh
# shellcheck disable=SC2016 # for the impostor
impostor make 'case $* in *-s*) echo broken; exit 1 ;; esac'
bootstrap
is 'make fails' 1 '' 'broken
bootstrap: failed: make -s -j3
bootstrap: this is in bootstrap.log'
ok 'make fails: its log is kept' same copy/bootstrap.log broken

# CUDA.
fresh
# shellcheck disable=SC2016 # for the impostor
sed 's/^\*) touch/*) echo "    CUDA               yes, 13.0 (nvcc)"; touch/' configure.made >configure.cuda
mv configure.cuda configure.made
bootstrap
is 'kernels: they take most of the time' 0 '' \
    'bootstrap: compiling CUDA kernels takes minutes; --without-cuda does without them,
bootstrap: --with-gpu-architectures=80 compiles them for one kind of GPU'
bootstrap
is 'kernels: nothing is configured again' 0 '' ''

# Help.
fresh
rm tools/zstd
bootstrap --help
called '--help installs nothing' ''
is '--help: its own options, then those of configure' 0 "$(cat out)" ''
ok '--help: both are there, in this order' \
    test "$(grep -o -e '^ *--no-install' -e '^help of.*' out | tr -d ' ' | tr '\n' :)" = \
    '--no-install:helpofconfigure:'
fresh
rm tools/autoreconf
bootstrap --help
ok '--help without the Autotools' test "$status:$(grep -c '^ *--no-install' out)" = 0:1

finish
