#!/bin/bash
# Which thread holds which mutex: clang's analysis of the annotations in src/sys/mutex.h.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

need clang
# shellcheck disable=SC2046 # a list of words
analyse() { # ARGUMENT...
    clang -std=gnu11 -fsyntax-only -Wthread-safety -Werror -I. -Isrc -Iinclude -DHAVE_CONFIG_H $(preprocessor_flags) "$@"
}
export -f analyse preprocessor_flags
# shellcheck disable=SC2016 # for the inner shell
sources | grep '^src/' | xargs -P "$jobs" -n 8 bash -c 'analyse "$@"' bash || exit

# It notices a variable that is read without its mutex.
! analyse -x c - <<'END'
#include "config.h"
#include "sys/mutex.h"
static struct mutex lock = MUTEX_INITIALIZER;
static int count GUARDED_BY(lock);
int main(void)
{
    mutex_lock(&lock);
    mutex_unlock(&lock);
    return count;
}
END
