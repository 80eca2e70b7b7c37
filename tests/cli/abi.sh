#!/bin/sh
# The libraries export what include/gpureduce.h declares and nothing else; what programs were compiled with
# stays as it is; and the header is clean C99 and C++11.
# Tags: smoke

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

header=$sources/include/gpureduce.h
build=${program%/src/*}
: "${LIBRARY_CC:=cc}"

# declarations FILE: what a header declares, one function, type or enumerator a line, sorted.
declarations() {
    sed '/^#/d; /^extern "C"/d; /^}$/d' "$1" | tr '\n' ' ' |
        sed 's|/\*[^*]*\*\**\([^/*][^*]*\*\**\)*/||g; s/  */ /g' |
        awk 'BEGIN { RS = ";" }
            {
                gsub(/^ +| +$/, "")
                sub(/^GPR_API /, "")
                if (match($0, /^typedef enum [a-z_]* \{/)) {
                    type = $3
                    sub(/^[^{]*\{ */, "")
                    sub(/ *\}.*/, "")
                    count = split($0, value, / *, */)
                    for (i = 1; i <= count; i++)
                        if (value[i] != "")
                            print "enum " type ": " value[i]
                } else if ($0 != "")
                    print
            }' | LC_ALL=C sort
}

#
# The list. A declaration that is taken away or changed breaks programs; one that is new is to be listed.
#
declarations "$header" >declared
listed=$sources/tests/golden/library-abi
[ -z "${UPDATE_GOLDEN-}" ] || cp declared "$listed"
ok 'there are declarations' test "$(grep -c '(' declared)" -ge 12
comm -23 "$listed" declared >gone
ok 'no declaration of the list is gone or another' cmp /dev/null gone
show gone
comm -13 "$listed" declared >new
ok 'every declaration is listed in tests/golden/library-abi (UPDATE_GOLDEN=1 does)' cmp /dev/null new
show new

# The test sees what is taken away, changed and added.
sed 's/GPR_OK = 0/GPR_OK = 1/; s/gpr_cancel(gpr_context/gpr_cancel(const gpr_context/; /gpr_version(void)/d' "$header" >changed.h
declarations changed.h >changed
comm -3 declared changed | tr -d '\t' | LC_ALL=C sort >difference
cat >wanted <<'END'
const char *gpr_version(void)
enum gpr_status: GPR_OK = 0
enum gpr_status: GPR_OK = 1
void gpr_cancel(const gpr_context *context)
void gpr_cancel(gpr_context *context)
END
ok 'a function that is gone, and two changes' cmp wanted difference
cmp -s wanted difference || show difference

# Every declaration stands in one of the manual pages, and those have no others.
for page in "$sources"/man/*.3; do
    sed -n '/^\.SH SYNOPSIS/,/^\.EE/p' "$page" | sed '/^\./d; s/\\-/-/g' >synopsis.h
    declarations synopsis.h
done | grep '(' | LC_ALL=C sort >documented
grep '(' declared >wanted
ok 'the manual pages have these functions' cmp wanted documented
cmp -s wanted documented || diff wanted documented | sed 's/^/# /'

#
# What the libraries export.
#
sed -n 's/.*[ *]\(gpr_[a-z_]*\)(.*/\1/p' declared | grep -v '_function$' | sort -u >functions
# exports NAME FILE OPTION...: nm shows these functions as defined, and no other name.
exports() {
    exports_name=$1
    shift
    if nm "$@" >listing 2>nm.log; then
        sed -n 's/^[0-9a-f]* [TDBRVW] //p' listing | sed 's/@@GPUREDUCE_0\.1$//' | sort >exported
        ok "$exports_name" cmp functions exported
        cmp -s functions exported || diff functions exported | sed 's/^/# /'
    else
        skip "$exports_name" 'nm cannot list it'
    fi
}
exports 'libgpureduce.a has only functions of the header' -g --defined-only "$build/src/libgpureduce.a"
shared=$build/src/libgpureduce.so
if [ -e "$shared" ]; then
    exports 'libgpureduce.so has only functions of the header, with their version' -D --defined-only "$shared"
    readelf -d "$shared" >dynamic 2>/dev/null
    ok 'its soname' grep -q 'SONAME.*\[libgpureduce\.so\.0\]' dynamic
    ok 'dlclose leaves it in memory, where the handler of SIGBUS is' grep -q NODELETE dynamic
    ok 'it needs no stack that is executable' sh -c "! readelf -lW '$shared' | grep -q 'GNU_STACK.*E'"
    ok 'it has no text relocations' sh -c '! grep -q TEXTREL dynamic'
    link="$shared -Wl,-rpath,$build/src"
else
    link="$build/src/libgpureduce.a ${LIBRARY_LIBS-}"
fi

#
# The header, and a program that calls every function.
#
{
    echo '#include <gpureduce.h>'
    echo '#include <gpureduce.h>'
    echo 'typedef void any(void);'
    echo 'any *const functions[] = {'
    sed 's/.*/    (any *)&,/' functions
    echo '};'
    # shellcheck disable=SC2028 # for C
    echo 'int main(void) { return functions[0] == 0 || gpr_version()[0] == 0; }'
} >all.c
cp all.c all.cc
# clean NAME COMPILER...: it compiles the program without a warning.
clean() {
    clean_name=$1
    shift
    if command -v "$1" >/dev/null; then
        ok "$clean_name by $1" "$@" -pedantic -Wall -Wextra -Wundef -Werror -I"$sources/include" -c -o all.o
    else
        skip "$clean_name by $1" 'it is not there'
    fi
}
for compiler in gcc clang; do
    clean C99 $compiler -std=c99 all.c
    clean C17 $compiler -std=c17 all.c
done
for compiler in g++ clang++; do
    clean 'C++11' $compiler -std=c++11 all.cc
    clean 'C++20' $compiler -std=c++20 all.cc
done

# compiled FILE PROGRAM: by the compiler of the library, with it. Called by `ok`.
# shellcheck disable=SC2317
compiled() {
    # shellcheck disable=SC2086 # several words
    $LIBRARY_CC -I"$sources/include" -o "$2" "$1" $link
}
ok 'a program that calls every function is linked' compiled all.c all
ok 'and runs' ./all

finish
