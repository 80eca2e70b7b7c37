#!/bin/sh
# driver.sh DRIVER ARGUMENT...: runs Automake's TAP driver, and prints a line for each test program in
# place of one for each of its cases. Cases that fail are printed; the log has all.
name=
last=
for argument; do
    [ "$last" != --test-name ] || name=$argument
    last=$argument
done
{ "$@" || echo "ERROR: $name - the driver of the tests failed"; } | awk -v name="$name" '
    /^[^ ]*PASS: / && !/XPASS: / { passed++; next }
    /^[^ ]*SKIP: / {
        skipped++
        if (sub(/.*# SKIP */, ""))
            reason = ", the last one since: " $0
        next
    }
    /^[^ ]*(FAIL|ERROR|XPASS): / { failed++ }
    { print }
    END {
        printf "%s: %s, %d passed", failed ? "FAIL" : passed ? "PASS" : "SKIP", name, passed
        if (failed)
            printf ", %d failed", failed
        if (skipped)
            printf ", %d skipped%s", skipped, reason
        print ""
    }'
