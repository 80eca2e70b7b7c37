#!/bin/bash
# gcc's -fanalyzer on the programs, without the tests. Suppressions: .ci/analyzer.known.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

known=$PWD/.ci/analyzer.known
LC_ALL=C configured analyzer CC=gcc CFLAGS='-O2 -g -fanalyzer' >"$CI_WORK/analyzer.log" 2>&1 || {
    cat "$CI_WORK/analyzer.log"
    exit 1
}
found=$(sed -n "s|$CI_WORK/source/\([^:]*\):[0-9:]* warning: \(.*\) \[-Wanalyzer.*|\1: \2|p" "$CI_WORK/analyzer.log" |
    grep -v -E -f <(sed -e '/^#/d' -e '/^$/d' "$known"))
[ -z "$found" ] || cat "$CI_WORK/analyzer.log"
echo "$found"
[ -z "$found" ]
