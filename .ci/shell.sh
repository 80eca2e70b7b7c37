#!/bin/bash
# All scripts by shellcheck.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

need shellcheck
git ls-files '*.sh' bootstrap .ci/run | xargs -P "$jobs" -n 12 shellcheck -x
