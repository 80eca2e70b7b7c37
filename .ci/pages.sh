#!/bin/bash
# groff has no warning about the manual pages.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

need groff
warnings=$(groff -man -ww -z man/*.[1357] 2>&1)
echo "$warnings"
[ -z "$warnings" ]
