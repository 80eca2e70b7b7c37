# shellcheck shell=bash
# Shared by the checks in this folder, which source it. A check exits with 0 if it holds and with 77 if
# it cannot be made; the last line of its output then says why. .ci/run sets CI_WORK, a folder for the
# files of all checks, and CI_TIER. A check that is run by hand in a configured checkout makes its own.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
jobs=$(nproc)
# shellcheck disable=SC2034 # for the checks
tier=${CI_TIER:-default}
if [ -z "${CI_WORK-}" ]; then
    CI_WORK=$(mktemp -d)
    trap 'rm -rf "$CI_WORK"' EXIT
fi

# skip REASON
skip() {
    echo "$*"
    exit 77
}

# has COMMAND...: whether all are installed.
has() {
    local command
    for command; do
        command -v "$command" >/dev/null || return
    done
}

# need COMMAND...: skips the check if one is not installed.
need() {
    local command
    for command; do
        has "$command" || skip "there is no $command"
    done
}

# links COMPILER: whether it makes programs with the libraries that the tests use.
links() {
    has "$1" && printf '#include <zstd.h>\n#include <mpfr.h>\nint main(void) { return !mpfr_get_version() +
        !ZSTD_versionNumber(); }\n' | "$1" -x c -o "$CI_WORK/linked" - -lzstd -lmpfr -lgmp 2>/dev/null
}

# unpack: the content of a release in $CI_WORK/source. Builds out of tree need it, since the checkout
# itself is configured.
unpack() {
    [ -d "$CI_WORK/source" ] && return
    make dist && mkdir "$CI_WORK/source" &&
        tar -xzf gpureduce-*.tar.gz -C "$CI_WORK/source" --strip-components=1
}

# Builds for other machines have no debugging information, and kernels that are not compiled once for
# each constant they are called with, which takes most of the time.
# shellcheck disable=SC2034 # for the checks
quick=(CFLAGS=-O2 CPPFLAGS=-DINLINE_ALWAYS=0)

# configured NAME ARGUMENT...: configures in $CI_WORK/NAME, for one build, builds, and goes there.
configured() {
    local folder=$CI_WORK/$1
    shift
    unpack && mkdir "$folder" && cd "$folder" && "$CI_WORK/source/configure" --without-cuda \
        --disable-dependency-tracking "$@" &&
        make -j"$jobs"
}

# tagged TAG: the tests whose first lines have this tag ("Tags: smoke ports"), the longest first, as
# tests/local.mk has them.
tagged() {
    local test
    grep -o 'tests/[a-z]*/[a-z_0-9.]*' tests/local.mk | grep -v '\.[ch]$' | awk '!seen[$0]++' |
        while read -r test; do
            case $test in
            *.sh) grep -q "^# Tags:.* $1\>" "$test" && echo "$test" ;;
            *) grep -q "^/\* Tags:.* $1\>" "$test.c" 2>/dev/null && echo "$test" ;;
            esac
        done | paste -sd ' '
}

# check TESTS ARGUMENT-OF-MAKE...: these tests of the build in this folder, or all if TESTS is empty.
check() {
    local tests=$1 programs
    shift
    programs=$(tr ' ' '\n' <<<"$tests" | sed '/\.sh$/d' | paste -sd ' ')
    make -j"$jobs" check ${tests:+TESTS="$tests" check_PROGRAMS="$programs" check_LIBRARIES=} "$@"
}

# tests_but TESTS: all tests of the build in this folder but these.
tests_but() {
    # shellcheck disable=SC2016 # for make
    make -s -f - BUT="$1" list <<<'include Makefile
list:
	@echo $(filter-out $(BUT),$(TESTS))'
}

# sources: the C files, without those that need a header of MPI or of HDF5 if there is none.
sources() {
    # shellcheck disable=SC2016 # for make
    make -s -f - list <<<'include Makefile
list:
	@printf "%s\n" $(sort $(filter %.c,$(filter-out $(no_mpi) $(no_hdf5),$(SOURCES)) tests/lib/shim.c))
no_mpi = $(if $(filter src/gpureduce-mpi%,$(bin_PROGRAMS)),,src/mpi_main.c)
no_hdf5 = $(if $(libexec_PROGRAMS),,$(src_gpureduce_hdf5_SOURCES))'
}

# preprocessor_flags: what configure found for headers of libraries, and a string for the folder of
# gpureduce-hdf5.
preprocessor_flags() {
    { sed -n 's/^\(CUDA_CPPFLAGS\|MPI_CPPFLAGS\|HDF5_CFLAGS\) = //p' Makefile && echo -DLIBEXECDIR=__FILE__; } | xargs
}
