#!/bin/sh
# The Python package, by its own tests in python/tests, with the shared library of this build.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

GPUREDUCE_LIBRARY=${program%/src/*}/src/libgpureduce.so.0
GPUREDUCE_PROGRAM=$program
if [ ! -e "$GPUREDUCE_LIBRARY" ] || [ -n "$sanitizer" ]; then
    skip 'the Python package' 'no shared library, or one that only a program with the sanitizer loads'
    finish
fi
if ! find_python 'sys, numpy, pytest, hypothesis; sys.version_info >= (3, 9) or sys.exit(1)'; then
    skip 'the Python package' 'numpy, pytest or hypothesis is missing'
    finish
fi
# Sources are only read.
PYTHONDONTWRITEBYTECODE=1 HYPOTHESIS_STORAGE_DIRECTORY=$work/hypothesis PYTHONPATH=$sources/python
export GPUREDUCE_LIBRARY GPUREDUCE_PROGRAM PYTHONDONTWRITEBYTECODE HYPOTHESIS_STORAGE_DIRECTORY PYTHONPATH
"$python" -m pytest -q -p no:cacheprovider --basetemp="$work/tmp" "$sources/python/tests" >out 2>&1
status=$?
ok "python/tests: $(tail -n 1 out)" test $status = 0
[ $status = 0 ] || sed 's/^/# /' out
if "$python" -c 'import mypy' 2>/dev/null; then
    (cd "$sources/python" && "$python" -m mypy --strict --cache-dir=/dev/null gpureduce) >out 2>&1
    ok 'mypy --strict' test $? = 0
    sed 's/^/# /' out
else
    skip 'mypy --strict' 'mypy is missing'
fi
finish
