#!/bin/sh
# Runs a test program under the command in CHECK_UNDER; see tests/lib/lib.sh. stress runs as it is, and
# has the program under it: its oracle alone would take hours.
case $1 in
*/stress) exec "$@" ;;
*) exec $CHECK_UNDER "$@" ;;
esac
