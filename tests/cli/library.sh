#!/bin/sh
# The shared library by Python's ctypes: accumulators and reductions along an axis of arrays of all types,
# with masks, strides and scales, compared with exact fractions and with the lines of the program.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

shared=${program%gpureduce}libgpureduce.so
checks='accumulators and axes'
if [ ! -e "$shared" ]; then
    skip "$checks" 'there is no shared library'
elif [ -n "$sanitizer" ]; then
    skip "$checks" 'Python is not built with a sanitizer'
elif ! find_python ctypes; then
    skip "$checks" 'there is no python3'
else
    # shellcheck disable=SC2154
    ok "$checks" "$python" "$sources/tests/lib/library_check.py" "$GPUREDUCE" "$shared" "${CHECK_SEED:-1}" \
        "${LIBRARY_ARRAYS:-$(shared 300)}"
fi

finish
