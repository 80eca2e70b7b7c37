#!/bin/sh
# What configure found of hardening is in the programs. HARDENING lists it; readelf shows it.
# Tags: smoke ports

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

if [ -z "${HARDENING-}" ]; then
    skip 'hardening' 'not built in, or not run by make check'
    finish
fi
if ! readelf -h "$program" >header 2>/dev/null; then
    skip 'hardening' 'no readelf, or no ELF'
    finish
fi
if ! readelf -d "$program" 2>/dev/null | grep -q NEEDED; then
    skip 'hardening' 'linked statically: what it calls cannot be seen'
    finish
fi

# The following are called by `ok`.

# has EXPRESSION OPTION...: whether readelf, with these options, shows such a line of the program.
# shellcheck disable=SC2317
has() {
    expression=$1
    shift
    readelf -W "$@" "$file" | grep -q "$expression"
}
# stack_not_executable: whether the program says so, and has it only readable and writable.
# shellcheck disable=SC2317
stack_not_executable() {
    has 'GNU_STACK.* RW  *0x' -l
}
# fortified: whether it calls any of the functions of the C library that check.
# shellcheck disable=SC2317
fortified() {
    readelf -W --dyn-syms "$file" | grep -v __stack_chk_fail | grep -q 'UND  *__[a-z_]*_chk\>'
}

library=${program%/*}/libgpureduce.so
for file in "$program" "$program-bench" "$library"; do
    [ -e "$file" ] || continue # a build without the shared library
    name=${file##*/}
    for word in $HARDENING; do
        case $word in
        stack-protector) ok "$name: $word" has 'UND  *__stack_chk_fail\>' --dyn-syms ;;
        # A program loses this mark where any part of it, such as a library of CUDA's, lacks it; and
        # the other one leaves none.
        cf-protection | stack-clash) ;;
        pie) ok "$name: $word" has '^ *Type: *DYN' -h ;;
        relro) ok "$name: $word" has GNU_RELRO -l ;;
        now) ok "$name: $word" has 'BIND_NOW\|FLAGS_1.*NOW' -d ;;
        noexecstack) ok "$name: $word" stack_not_executable ;;
        fortify) ok "$name: $word" fortified ;;
        *) fail "$name: an unknown word of HARDENING: $word" ;;
        esac
    done
done

# Tests link the program's objects, and bring what makes calls of CUDA fail with them.
ok 'the program has no hooks for tests' test -z "$(grep -ao 'GPUREDUCE_CALL_GPU\|GPUREDUCE_CUDA_FAULT' "$program")"

# To load the mathematics library takes a twentieth of the time of a small file. Optimizing, which
# fortify needs, gcc has square roots and rounding of its own on these machines.
if case " $HARDENING " in *' fortify '*) ;; *) false ;; esac &&
    readelf -h "$program" | grep -q 'Machine:.*\(X86-64\|AArch64\)' &&
    ! readelf -p .comment "$program" | grep -q clang && [ -z "$sanitizer" ]; then
    for file in "$program" "$library"; do
        [ ! -e "$file" ] || ok "${file##*/}: the mathematics library is not loaded" \
            test -z "$(readelf -d "$file" | grep 'NEEDED.*\[libm\.')"
    done
else
    skip 'the mathematics library is not loaded' 'another compiler or machine, or sanitizers'
fi

object=${program%/*}/main.o
case " $HARDENING " in
*' cf-protection '*)
    if [ -e "$object" ]; then
        file=$object
        ok 'main.o: cf-protection' has '\<IBT\>' -n
    else
        skip 'main.o: cf-protection' 'it is not there'
    fi
    ;;
esac

finish
