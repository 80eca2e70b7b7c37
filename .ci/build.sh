#!/bin/bash
# The first command of the README, on a fresh checkout.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

./bootstrap && src/gpureduce data/waves.f32.zst
