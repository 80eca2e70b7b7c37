# shellcheck shell=sh
# What the tests of the command line share; to be sourced by them. They print TAP.
#
# From the environment: GPUREDUCE is the program (./src/gpureduce), srcdir the top of the sources
# (.), which are only read; ZSTD and PZSTD are those programs, or what PATH has. What they lack is
# skipped. A test works in an empty directory of its own, with the samples in ./data.

LC_ALL=C
export LC_ALL
# Settings of the user's that would change what is tested.
unset POSIXLY_CORRECT GPUREDUCE_CPU GPUREDUCE_DIRECT ZSTD_CLEVEL ZSTD_NBTHREADS CDPATH

fatal() {
    echo "Bail out! $*"
    exit 99
}

: "${srcdir:=.}"
: "${GPUREDUCE:=./src/gpureduce}"
: "${ZSTD:=$(command -v zstd)}"
: "${PZSTD:=$(command -v pzstd)}"
case $GPUREDUCE in
/*) ;;
*) GPUREDUCE=$PWD/$GPUREDUCE ;;
esac
[ -x "$GPUREDUCE" ] || fatal "no program $GPUREDUCE"
sources=$(cd "$srcdir" && pwd) || fatal "no directory $srcdir"
# Used by the scripts.
# shellcheck disable=SC2034
tab=$(printf '\t')

work=$(mktemp -d) || fatal 'cannot make a temporary directory'
leave() {
    cd / && chmod -R u+rwx "$work" && rm -rf "$work"
}
trap leave EXIT
trap 'exit 99' HUP INT TERM
cd "$work" || fatal "cannot enter $work"
ln -s "$sources/data" data || fatal 'cannot link the samples'

#
# TAP.
#
tests=0
failures=0

pass() {
    tests=$((tests + 1))
    printf 'ok %d - %s\n' "$tests" "$*"
}

fail() {
    tests=$((tests + 1))
    failures=$((failures + 1))
    printf 'not ok %d - %s\n' "$tests" "$*"
}

skip() { # NAME REASON
    tests=$((tests + 1))
    printf 'ok %d - %s # SKIP %s\n' "$tests" "$1" "$2"
}

# The last line of every script. Without it the plan is missing, which the harness notes.
finish() {
    echo "1..$tests"
    [ "$failures" -eq 0 ]
    exit
}

# What a file holds, as diagnostics; no more of it than helps.
show() {
    [ ! -s "$1" ] || sed -e 's/^/#   /' "$1" | head -n "${2:-40}"
}

# ok NAME COMMAND...: one test, whether the command succeeds.
ok() {
    ok_name=$1
    shift
    if "$@" >ok.log 2>&1; then
        pass "$ok_name"
    else
        fail "$ok_name"
        printf '# failed: %s\n' "$*"
        show ok.log
    fi
}

#
# Running the program.
#

# run ARGUMENT...: leaves its outputs in ./out and ./err, its exit status in $status. The command
# itself stands in $command for diagnostics. What `environment` holds is set for it.
environment=
run() {
    command="$environment gpureduce $*"
    # shellcheck disable=SC2086 # none, or several words
    env $environment "$GPUREDUCE" "$@" >out 2>err
    status=$?
}

# shell SCRIPT: the same for a piece of shell script, to which the program is known as gpureduce.
if ! mkdir bin || ! ln -s "$GPUREDUCE" bin/gpureduce; then
    fatal 'cannot link the program'
fi
PATH=$work/bin:$PATH
shell() {
    command=$1
    sh -c "$1" >out 2>err
    status=$?
}

# What went wrong, to be printed after a failed test.
explain() {
    printf '%s\n' "$command" | sed 's/^/# $ /'
    echo "# exit status $status"
    echo "# standard output:"
    show out
    echo "# standard error:"
    show err
}

# same FILE TEXT: whether the file holds just this text and a newline, or nothing if it is empty.
same() {
    if [ -z "$2" ]; then
        [ ! -s "$1" ]
    else
        printf '%s\n' "$2" | cmp -s - "$1"
    fi
}

# is NAME STATUS OUT [ERR]: the last run ended with this status and wrote just this. An ERR of '*'
# allows anything.
is() {
    if [ "$status" -eq "$2" ] && same out "$3" && { [ "${4-}" = '*' ] || same err "${4-}"; }; then
        pass "$1"
    else
        fail "$1"
        explain
        echo "# expected: exit status $2, standard output:"
        printf '%s\n' "$3" | sed 's/^/#   /'
        [ "${4-}" = '*' ] || printf '%s\n' "# standard error: ${4-}" | sed '2,$s/^/#   /'
    fi
}

# fails NAME TEXT: the last run ended with status 1, printed no result, and one line on standard
# error, which is "gpureduce: TEXT".
fails() {
    is "$1" 1 '' "gpureduce: $2"
}

# fails_like NAME EXPRESSION: the same for a line that is matched by a basic regular expression as a
# whole: for the parts of messages that libraries and the system have written.
fails_like() {
    if [ "$status" -eq 1 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] &&
        grep -q "^gpureduce: $2\$" err; then
        pass "$1"
    else
        fail "$1"
        explain
        printf '# expected: exit status 1, no standard output, one line like: %s\n' "$2"
    fi
}

#
# Exact outputs that are too long to stand in a script.
#

# Makes a report the same on every machine and in every run. What held a run back is left out: one
# that takes longer than a millisecond, by chance, has it.
normalise() {
    sed -e 's/, [0-9][0-9.]* s, [0-9][0-9.]* GB/, T s, R GB/' \
        -e 's/ compressed, [0-9][0-9.]* GB/ compressed, R GB/' \
        -e 's/"\([a-z_]*seconds\)": [0-9][0-9.]*/"\1": T/g' \
        -e 's/"\(gigabytes_per[a-z_]*second\)": [0-9][0-9.]*/"\1": R/g' \
        -e 's/"busy_percent": [0-9][0-9.]*/"busy_percent": P/g' \
        -e 's/"device": "[a-z0-9]*"/"device": "D"/' \
        -e 's/"held_back_by": {[^}]*}/"held_back_by": H/' \
        -e 's/"held_back_by": null/"held_back_by": H/' \
        -e '/^  held back by: /d' \
        -e '/^  wait  /d' \
        -e '/^  turn  /d' \
        -e 's/^\(  start-up *\)[0-9.]*$/\1T/' \
        -e 's/^\(  [a-z-]* *\)[0-9.]* \( *[0-9]*\) *[0-9.]*$/\1T \2 R/' \
        -e 's/^\(  [a-z]* *\)[0-9.]* \( *[0-9]*\) *[0-9.]* *[0-9.]* *[0-9.-]*$/\1T \2 R P R/' \
        -e 's/^\(  cpu  *\)[a-z0-9]*,/\1D,/' "$1"
}

# golden NAME STATUS CASE: the last run ended with this status, and its outputs, once normalised,
# are tests/expected/CASE.out and CASE.err; a missing file stands for no output.
golden() {
    golden_good=true
    for golden_part in out err; do
        normalise "$golden_part" >"$golden_part.normal"
        golden_file=$sources/tests/expected/$3.$golden_part
        [ -f "$golden_file" ] || golden_file=/dev/null
        diff "$golden_file" "$golden_part.normal" >"$golden_part.diff" || golden_good=false
    done
    if $golden_good && [ "$status" -eq "$2" ]; then
        pass "$1"
    else
        fail "$1"
        echo "# exit status $status, expected $2; < expected, > printed"
        show out.diff
        show err.diff
    fi
}

#
# Making inputs.
#

# The f32 1, 2 and 3, the sum of which is 6.
three() {
    printf '\0\0\200\077\0\0\0\100\0\0\100\100'
}

# byte N: the byte of this value.
byte() {
    # shellcheck disable=SC2059 # the format is made here
    printf "\\$(printf %03o "$1")"
}

# word N: four bytes, little endian.
word() {
    byte $(($1 & 255))
    byte $(($1 >> 8 & 255))
    byte $(($1 >> 16 & 255))
    byte $(($1 >> 24 & 255))
}

# npy VERSION HEADER: the beginning of a .npy file; the header is not padded.
npy() {
    printf '\223NUMPY'
    byte "$1"
    byte 0
    if [ "$1" -eq 1 ]; then
        byte $(((${#2} + 1) & 255))
        byte $(((${#2} + 1) >> 8))
    else
        word $((${#2} + 1))
    fi
    printf '%s\n' "$2"
}

# npy_header DESCR SHAPE
npy_header() {
    printf "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" "$1" "$2"
}

# zstd_frame SAYS SIZE: a zstd frame that says that it holds SAYS bytes, and holds standard input,
# which is SIZE bytes, in one raw block that is not the last, and a last block that is empty.
zstd_frame() {
    printf '\050\265\057\375\240' # magic; one segment, length of content in 4 bytes
    word "$1"
    byte $(($2 << 3 & 255))
    byte $(($2 >> 5 & 255))
    byte $(($2 >> 13 & 255))
    cat
    printf '\001\000\000'
}

# size FILE
size() {
    wc -c <"$1" | tr -d ' '
}

# flip FILE OFFSET: inverts a byte.
flip() {
    flip_byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
    byte $((flip_byte ^ 255)) | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

# A copy that may be changed; the samples may be read-only.
copy() {
    cat "$1" >"$2"
}
