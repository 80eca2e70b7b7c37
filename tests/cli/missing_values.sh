#!/bin/sh
# --missing: random elements of most types, by any number of threads, in chunks of any size and by any
# kernels, beside an oracle that works with fractions.
# Tags: threads

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

python=$(command -v python3)
if [ -z "$python" ]; then
    skip 'random elements' 'there is no python3'
    finish
fi
"$python" "$sources/tests/lib/missing_check.py" "$GPUREDUCE" "$(shared 60)" >found 2>&1
ok 'the results of those that are not missing' test "$?:$(wc -c <found)" = 0:0
show found

finish
