#!/bin/bash
# configure has found every kind of hardening; tests/cli/hardening.sh looks for them in the programs.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

found=$(sed -n 's/^HARDENING = //p' Makefile)
echo "found: $found"
for word in stack-protector stack-clash pie relro now noexecstack fortify; do
    [[ " $found " == *" $word "* ]] || { echo "not found: $word" && exit 1; }
done
