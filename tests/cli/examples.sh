#!/bin/sh
# The examples of the library: the one that its header begins with, those in examples/, and those of the README
# and doc/library.md. Each is compiled with the library and run, and prints the right results, which Python has
# computed with fractions.
# Tags: smoke

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

build=${program%/src/*}
: "${LIBRARY_CC:=cc}"
if [ -e "$build/src/libgpureduce.so" ]; then
    link="$build/src/libgpureduce.so -Wl,-rpath,$build/src"
else
    link="$build/src/libgpureduce.a ${LIBRARY_LIBS-}"
fi

# build_by COMPILER FILE...: makes ./example. Called by `ok`.
# shellcheck disable=SC2317
build_by() {
    compiler=$1
    shift
    # shellcheck disable=SC2086 # several words
    $compiler -I"$sources/include" -o example "$@" $link
}
# example NAME FILE [ARGUMENT...]: it is compiled without a warning, and runs.
example() {
    name=$1 file=$2
    shift 2
    rm -f example
    ok "$name is compiled" build_by "$LIBRARY_CC -std=c99 -Wall -Wextra -Werror" "$file"
    execute "$@"
}
# execute COMMAND...: runs it under the emulator or valgrind, if there is one.
execute() {
    command="example $*"
    # shellcheck disable=SC2086 # none, or several words
    $CHECK_UNDER ./example "$@" >out 2>err
    status=$?
}

sed -n '/^ \*     #include <gpureduce.h>/,/^ \*     }$/s/^ \*     \{0,1\}//p' "$sources/include/gpureduce.h" >header.c
if [ -s header.c ]; then
    example "the header's example" header.c
    # 1e8, 1 and -1e8 have the mean 1/3 and the variance (2e16 + 1) / 3 - 1/9.
    is "the header's example prints" 0 'sum 1, standard deviation 81649658.092772603'
fi

example memory.c "$sources/examples/memory.c"
is 'memory.c prints' 0 "sum${tab}40.75
mean${tab}20.375
max${tab}21.5
count${tab}2"

three >three.f32
npy 1 "$(npy_header '<i8' '(2,)')" >two.npy
printf '\377\377\377\377\377\377\377\377\003\0\0\0\0\0\0\0' >>two.npy
example file.c "$sources/examples/file.c" three.f32 two.npy
is 'file.c prints' 0 "three.f32${tab}${tab}f32${tab}6${tab}3
two.npy${tab}${tab}i64${tab}2${tab}3"
execute missing.f32 two.npy
is 'file.c, with a file that is missing' 1 "two.npy${tab}${tab}i64${tab}2${tab}3" \
    'file: missing.f32: No such file or directory'

device_prints='at once: sum 624993750, standard deviation 3608.4391822547391
in pieces: sum 624993750, standard deviation 3608.4391822547391'
if [ -x "$build/tests/device_example" ]; then
    cp "$build/tests/device_example" example
    execute
    is 'device.c prints, of an emulated GPU' 0 "$device_prints"
else
    skip 'device.c, of an emulated GPU' 'it was not built'
fi

# Blocks of C in pages are programs. A block of text after one is what it prints.
awk '/^```/ { block = /^```c$/ ? sprintf("block%d.c", ++n) : /^```text$/ ? sprintf("block%d.out", n) : ""; next }
     block { print >block }' "$sources/README.md" "$sources/doc/library.md"
for block in block*.c; do
    example "$block of the pages" "$block"
    is "$block prints" 0 "$(cat "${block%.c}.out")"
done
ok 'there are some' test -f block4.out

#
# Without memory: every allocation fails once, alone and with all that follow.
#
"$program-bench" generate -q -d normal -b 3MB >large
# sweep NAME FILE ARGUMENT...: the right output, or an error that says so.
sweep() {
    name=$1
    # There are so few that not many may be passed over.
    step=$((${FAULT_STEP:-1} < 3 ? ${FAULT_STEP:-1} : 3))
    ok "$name is compiled" build_by "$LIBRARY_CC -O1" "$2"
    shift 2
    ./example "$@" >sweep.out
    rm -f mark
    number=1 results=0 refusals=0
    while [ "$number" -lt 1000 ]; do
        rm -f mark
        for fault in "$number" "$number+"; do
            # shellcheck disable=SC2086 # several words
            timeout 60 env $preload FAULT_ALLOCATION="$fault" FAULT_MARK=mark ./example "$@" >out 2>err
            status=$?
            if [ "$status" -eq 0 ] && cmp -s out sweep.out; then
                results=$((results + 1))
            elif [ "$status" -eq 1 ] && { [ ! -s err ] || grep -q 'out of memory' err; }; then
                refusals=$((refusals + 1))
            else
                fail "$name: allocation $fault"
                command="FAULT_ALLOCATION=$fault example $*" explain
                return
            fi
        done
        [ -e mark ] || break
        number=$((number + step))
    done
    ok "$name: $((number - 1)) allocations fail, $results results and $refusals refusals" \
        test "$number" -gt 5 -a "$number" -lt 1000 -a "$refusals" -gt 4
}
rm -f mark
# shellcheck disable=SC2086 # several words
env $preload FAULT_ALLOCATION=1+ FAULT_MARK=mark ./example two.npy >out 2>err
if [ -n "$sanitizer$CHECK_UNDER" ] || [ ! -e "$SHIM" ] || [ ! -e mark ]; then
    skip 'allocations that fail' 'the shim cannot be preloaded here'
else
    sweep 'memory.c' "$sources/examples/memory.c"
    sweep 'file.c' "$sources/examples/file.c" three.f32 large two.npy
fi

#
# Other languages and systems.
#
if [ -n "$sanitizer$CHECK_UNDER" ] || [ ! -e "$build/src/libgpureduce.so" ]; then
    skip 'GPUs, Fortran and MPI' 'only with the shared library, and without sanitizers and valgrind'
    finish
fi
if [ -z "${CUDA_LIBS-}" ]; then
    skip 'device.c' 'without CUDA'
else
    # shellcheck disable=SC2086 # several words
    ok 'device.c is compiled' build_by "$LIBRARY_CC -std=c99 -Wall -Wextra -Werror $CUDA_CPPFLAGS" \
        "$sources/examples/device.c" $CUDA_LIBS
    execute
    if [ "$status" -eq 77 ]; then
        skip 'device.c prints' "$(cat err)"
    else
        is 'device.c prints' 0 "$device_prints"
    fi
fi

if [ "$(gfortran -dumpmachine 2>fortran.log)" = "$($LIBRARY_CC -dumpmachine)" ]; then
    # shellcheck disable=SC2086 # several words
    ok 'gpureduce.f90 and fortran.f90 are compiled' gfortran -Wall -Werror -o example \
        "$sources/examples/gpureduce.f90" "$sources/examples/fortran.f90" $link
    execute
    is 'fortran.f90 prints' 0 'sum               -2.7769592945959665E+015
standard deviation 1.2898530843463795E+014'
else
    skip 'fortran.f90' 'there is no gfortran for this machine'
fi

for mpirun in 'mpirun --oversubscribe --allow-run-as-root' 'mpirun'; do
    $mpirun -n 2 true >/dev/null 2>&1 && break
    mpirun=
done
if [ -z "${MPICC-}" ] || [ -z "$mpirun" ] || [ ! -e "$sources/examples/mpi_op.c" ]; then
    skip 'mpi_op.c' 'there is no MPI'
else
    ok 'mpi_op.c is compiled' build_by "$MPICC -std=gnu11 -Wall" "$sources/examples/mpi_op.c"
    for ranks in 1 3 8; do
        command="mpirun -n $ranks example"
        $mpirun -n "$ranks" ./example >out 2>err </dev/null
        status=$?
        is "mpi_op.c by $ranks ranks prints" 0 'sum 499995000, standard deviation 2886.7513458037911' '*'
    done
fi

finish
