# shellcheck shell=sh
# What the tests of the command line share; to be sourced by them. They print TAP.
#
# From the environment: GPUREDUCE is the program (./src/gpureduce), srcdir the top of the sources
# (.), which are only read; ZSTD and PZSTD are those programs, or what PATH has. What they lack is
# skipped. A test works in an empty directory of its own, with the samples in ./data.
#
# CHECK_SEED=N gives every run a random number of threads and a random size of chunks, where the test
# asks for none itself: whatever they are, outputs are the same. CHECK_UNDER is a command to run the
# programs under, such as valgrind with its options. CHECK_SHARE=K/N is the Kth of N shares of cases that
# are many and alike, and of random ones as many; without it a test takes all.

LC_ALL=C
export LC_ALL
# Settings of the user's that would change what is tested.
unset POSIXLY_CORRECT GPUREDUCE_CACHED GPUREDUCE_CPU GPUREDUCE_DIRECT ZSTD_CLEVEL ZSTD_NBTHREADS CDPATH

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
# The program itself, for tests that look into it or stand between it and the system. GPUREDUCE is
# what to run, which may be more.
program=$GPUREDUCE
# tests/lib/shim.c, to be preloaded, where it was built: settings for env.
SHIM=${SHIM:-${program%/src/*}/tests/lib/shim.so}
# shellcheck disable=SC2034 # used by the scripts
preload="LD_PRELOAD=$SHIM ASAN_OPTIONS=verify_asan_link_order=0"
# The start of the sanitizer that the program was built with. Sanitizers look at how memory and
# threads are used, and slow all else down: where a script tries the same code again and again, it
# takes a choice then.
# shellcheck disable=SC2034 # used by the scripts
sanitizer=$(grep -ao '__[at]san_init' "$program" | head -n 1)
# LeakSanitizer looks through the memory of every process that ends, which takes longer than a small
# input. So it only does in unit tests, and in scripts that set find_leaks.
if [ -z "${find_leaks-}" ]; then
    ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
    export ASAN_OPTIONS
fi
# Used by the scripts.
# shellcheck disable=SC2034
tab=$(printf '\t') bits=64
# Of the program's addresses: the class in its ELF header.
# shellcheck disable=SC2034 # as above
[ "$(od -An -tu1 -j 4 -N 1 "$program" | tr -d ' ')" != 1 ] || bits=32
sources=$(cd "$srcdir" && pwd) || fatal "no directory $srcdir"

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
    [ -z "$CHECK_OPTIONS" ] || echo "# CHECK_SEED=$CHECK_SEED, before the options: $CHECK_OPTIONS"
}

skip() { # NAME REASON
    tests=$((tests + 1))
    printf 'ok %d - %s # SKIP %s\n' "$tests" "$1" "$2"
}

# Whether the program was built with zlib: it decompresses gzip, and deflated members and chunks.
has_zlib() {
    ! gpureduce --version | grep -qx 'deflate: none'
}

# Which Python to try.
pythons="${ARRAYS_PYTHON-} ${UNSUPPORTED_PYTHON-} python3 /usr/bin/python3"

# find_python MODULES: sets $python to one that can import these. Fails if there is none.
find_python() {
    for python in $pythons; do
        ! "$python" -c "import $1" 2>/dev/null || return 0
    done
    return 1
}

# make_files SCRIPT NAME [ARGUMENTS]: has tests/lib/SCRIPT make files in ./made, by a Python that has what
# it imports, in $python. Without one, the rest of the tests is skipped, as a test of this name.
make_files() {
    mkdir made
    for python in $pythons; do
        # shellcheck disable=SC2086 # none, or several words
        "$python" "$sources/tests/lib/$1" made ${3-} 2>made.err && return
        if ! grep -q '^ModuleNotFoundError: \|not found$' made.err; then
            fail "$1" && show made.err
            return
        fi
    done
    skip "$2" "$(tail -n 1 made.err)"
    finish
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
# Random numbers of threads and sizes of chunks. Each run draws its own from a sequence that depends
# on the seed and the script alone, so that it can be had again.
#
: "${CHECK_SEED=}" "${CHECK_UNDER=}"
CHECK_OPTIONS=
export CHECK_OPTIONS CHECK_UNDER

# The most threads, and the smallest chunk, as the logarithm of its bytes to base 2. Scripts change
# them: a hundred million chunks of a large input would take too long.
most_threads=64
least_chunk=0

# share_takes_next: whether the next case is in the share. Each row of N cases has it in the next column,
# so that the cases of a loop within another are not always those of one value of the inner loop.
: "${CHECK_SHARE:=1/1}"
share_of=${CHECK_SHARE#*/} share_next=0
share_takes_next() {
    share_next=$((share_next + 1))
    [ $(((share_next + (share_next - 1) / share_of) % share_of)) -eq $((${CHECK_SHARE%/*} % share_of)) ]
}

# shared N: how many of N random cases are in the share.
shared() {
    echo $((($1 + share_of - 1) / share_of))
}

# draw N: a number below N, and below 2^19, in $drawn.
draw() {
    draw_state=$(((draw_state * 1103515245 + 12345) & 2147483647))
    drawn=$(((draw_state >> 12) % $1))
}

# vary: chooses for the next run: mostly few threads, and chunks as often small as large.
vary() {
    [ -n "$CHECK_SEED" ] || return 0
    CHECK_OPTIONS=
    draw 8
    vary_threads=$((drawn == 0 ? 0 : drawn > 1 && most_threads > 5 ? 5 : most_threads))
    if [ $vary_threads -gt 0 ]; then
        draw $vary_threads
        CHECK_OPTIONS="-j $((drawn + 1))"
    fi
    draw 4
    if [ "$drawn" -gt 0 ]; then
        draw $((23 - least_chunk))
        vary_size=$((1 << (drawn + least_chunk)))
        draw $vary_size
        CHECK_OPTIONS="$CHECK_OPTIONS${CHECK_OPTIONS:+ }--chunk-size $((vary_size + drawn))"
    fi
}

if [ -n "$CHECK_SEED" ]; then
    draw_state=$(printf '%s %s' "$CHECK_SEED" "${0##*/}" | cksum)
    draw_state=$((${draw_state%% *} & 2147483647))
    echo "# CHECK_SEED=$CHECK_SEED"
fi

#
# Running the program.
#

# run ARGUMENT...: leaves its outputs in ./out and ./err, its exit status in $status. The command
# itself stands in $command for diagnostics. What `environment` holds is set for it.
environment=
run() {
    vary
    command="$environment gpureduce $*"
    # shellcheck disable=SC2086 # none, or several words
    env $environment "$GPUREDUCE" "$@" >out 2>err
    status=$?
}

# shell SCRIPT: the same for a piece of shell script, to which the program is known as gpureduce.
mkdir bin || fatal 'cannot make a directory'
if [ -n "$CHECK_SEED$CHECK_UNDER" ]; then
    # Of an option that is given twice the last one counts, which is the test's own.
    CHECK_PROGRAM=$program
    export CHECK_PROGRAM
    cat >bin/gpureduce <<'END'
#!/bin/sh
exec $CHECK_UNDER "$CHECK_PROGRAM" $CHECK_OPTIONS "$@"
END
    chmod 755 bin/gpureduce || fatal 'cannot make a script'
    GPUREDUCE=$work/bin/gpureduce
else
    ln -s "$program" bin/gpureduce || fatal 'cannot link the program'
fi
PATH=$work/bin:$PATH
shell() {
    vary
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

# musl has words of its own for what the system says. Tests expect glibc's.
musl_words=
if grep -q ld-musl "$program"; then
    musl_words='s|I/O error|Input/output error|
s|No file descriptors available|Too many open files|
s|Symbolic link loop|Too many levels of symbolic links|
s|Quota exceeded|Disk quota exceeded|'
fi
usual_words() {
    [ -z "$musl_words" ] || sed -i "$musl_words" err
}

# no_result: the last run printed no result; with -q, only the word that stands for each. That is
# then left out of ./out.
no_result() {
    case $command in
    *\ -q*) ! grep -qv '^NA$' out && : >out ;;
    *) [ ! -s out ] ;;
    esac
}

# is NAME STATUS OUT [ERR]: the last run ended with this status and wrote just this. An ERR of '*'
# allows anything. No OUT with status 1 is that of no_result.
is() {
    usual_words
    [ "$2$3" != 1 ] || no_result
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
    usual_words
    if [ "$status" -eq 1 ] && no_result && [ "$(wc -l <err)" -eq 1 ] &&
        grep -q "^gpureduce: $2\$" err; then
        pass "$1"
    else
        fail "$1"
        explain
        printf '# expected: exit status 1, no standard output, one line like: %s\n' "$2"
    fi
}

# rows_as EXPECTED NAME COMMAND...: whether the command prints the rows of EXPECTED, each after a file's
# name; in any order where $ordered is empty.
ordered=yes
rows_as() {
    rows_expected=$1 rows_name=$2
    shift 2
    "$@"
    cp "$rows_expected" wanted
    cut -f 2- out >found
    [ -n "$ordered" ] || for rows_file in wanted found; do
        { head -n 1 $rows_file && sed 1d $rows_file | sort; } >rows && mv rows $rows_file
    done
    ok "$rows_name" cmp wanted found
    cmp -s wanted found || { diff wanted found | head -n 5 | sed 's/^/# /' && show err; }
}

# one_as EXPECTED COMMAND...: whether each command, for a shell, prints the one row of EXPECTED, but for the
# names and the shape of the array.
one_as() {
    cut -f 4- "$1" >one
    shift
    for one_command; do
        shell "$one_command"
        cut -f 2- out >found
        ok "$one_command" cmp one found
    done
}

# differs_as EXPECTED NAME ARGUMENT...: whether --diff with these arguments finds differences, and prints
# what EXPECTED holds of the arrays that both sides have, in the columns $columns.
columns=1-
differs_as() {
    differs_expected=$1 differs_name=$2
    shift 2
    run --diff --tsv --number=hex "$@"
    grep -v "${tab}only-[ab]$tab" out | cut -f "$columns" >rows
    ok "$differs_name" sh -c "test $status -eq 1 && cmp '$differs_expected' rows"
    cmp -s "$differs_expected" rows || diff "$differs_expected" rows | head -n 10 | sed 's/^/#   /'
}

#
# GPU and CPU compared. To make a context takes a GPU up to a second, in one process after the other.
# So a run has as many inputs as it can, and a real GPU has fewer runs than an emulated one.
#

# gpu_programs NAME FILE [NEEDED]: the programs that reduce this file with -D gpu, in $programs: the
# one that is tested, where there is a GPU; and the one with an emulated GPU, where it was built. A
# script goes through them with GPUREDUCE. Without any, or where the program NEEDED is not there, the
# script is skipped, as a test of this name.
gpu_programs() {
    programs=
    run -q -D gpu -o count "$2"
    [ "$status" -ne 0 ] || programs=$program
    [ -z "${GPUREDUCE_EMULATED-}" ] || [ ! -x "$GPUREDUCE_EMULATED" ] ||
        programs="$programs $GPUREDUCE_EMULATED"
    if [ -z "$programs" ] || { [ $# -ge 3 ] && ! command -v "$3" >/dev/null; }; then
        skip "$1" "no GPU, nor an emulated one${3:+, or no ${3##*/}}"
        finish
    fi
}

# emulated: whether the GPU of $GPUREDUCE is. Names of tests begin with $(gpu_label).
emulated() {
    [ "$GPUREDUCE" = "${GPUREDUCE_EMULATED-}" ]
}
gpu_label() {
    if emulated; then
        echo "${GPUREDUCE_EMULATED_FAST:+fast }emulated GPU"
    else
        echo GPU
    fi
}

# gpu_has_turn: whether the GPU of $GPUREDUCE is to have this run. A real one takes a second to begin
# with, and programs wait for each other: it has one in GPU_SHARE (4), from CHECK_SEED on. Unit tests
# have its kernels. An emulated one has all, or one in EMULATED_SHARE.
gpu_turn=${CHECK_SEED:-0}
gpu_has_turn() {
    gpu_turn=$((gpu_turn + 1))
    if emulated; then
        [ $((gpu_turn % ${EMULATED_SHARE:-1})) -eq 0 ]
    else
        [ $((gpu_turn % ${GPU_SHARE:-4})) -eq 0 ]
    fi
}

# gpu_as_cpu OPTIONS NAME ARGUMENT...: whether $GPUREDUCE prints the same on the GPU as on the CPU,
# messages too, and ends with the same status. OPTIONS are several words, or none, that go before the
# arguments. With a last argument of -, what is in ./piped comes by a pipe. What the GPU printed is
# left in ./out and ./err.
# It has those alone whose turn it is.
gpu_as_cpu() {
    gpu_has_turn || return 0
    compare_options=$1 compare_name="$(gpu_label), $2"
    shift 2
    for compare_device in cpu gpu; do
        # shellcheck disable=SC2002,SC2086 # a pipe is wanted; several words
        case $* in
        - | *' -') cat piped | "$GPUREDUCE" -D $compare_device $compare_options "$@" >out 2>err ;;
        *) "$GPUREDUCE" -D $compare_device $compare_options "$@" >out 2>err ;;
        esac
        status=$?
        [ $compare_device = gpu ] || { mv out cpu.out && mv err cpu.err && cpu_status=$status; }
    done
    command="gpureduce -D gpu $compare_options $*"
    if cmp -s cpu.out out && cmp -s cpu.err err && [ "$cpu_status" -eq "$status" ]; then
        pass "$compare_name"
    else
        fail "$compare_name"
        explain
        echo "# exit status by the CPU: $cpu_status; < by the CPU, > by the GPU:"
        diff cpu.out out >compare.diff
        diff cpu.err err >>compare.diff
        show compare.diff
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
        -e 's/"bottleneck": {[^}]*}/"bottleneck": H/' \
        -e 's/"bottleneck": null/"bottleneck": H/' \
        -e '/^  bottleneck: /d' \
        -e '/^  wait  /d' \
        -e '/^  turn  /d' \
        -e 's/^\(  start-up *\)[0-9.]*$/\1T/' \
        -e 's/^\(  [a-z-]* *\)[0-9.]* \( *[0-9]*\) *[0-9.]*$/\1T \2 R/' \
        -e 's/^\(  [a-z]* *\)[0-9.]* \( *[0-9]*\) *[0-9.]* *[0-9.]* *[0-9.-]*$/\1T \2 R P R/' \
        -e 's/^\(  cpu  *\)[a-z0-9]*,/\1D,/' "$1"
}

# similar FILE: the file without what depends on the number of threads and the size of chunks.
similar() {
    if [ -n "$CHECK_SEED" ]; then
        sed -e 's/"threads": [0-9]*/"threads": N/' \
            -e 's/^\(  cpu  *D,\) [0-9]* threads*$/\1 N threads/' \
            -e 's/\("[a-z_]*": {"seconds": T, "bytes":\) [0-9]*/\1 B/g' \
            -e 's/^\(  \(ramp-up\|steady\|finish\)  *T\)  *[0-9]* R$/\1 B R/' "$1"
    else
        cat "$1"
    fi
}

# With UPDATE_GOLDEN=1 golden files are written anew from what is printed, and git diff shows what has
# changed. Not with CHECK_SEED: numbers of threads and of bytes that stand in them are not its own.
: "${UPDATE_GOLDEN=}"
[ -z "$UPDATE_GOLDEN" ] || [ -z "$CHECK_SEED" ] || fatal 'UPDATE_GOLDEN does not go with CHECK_SEED'

# update FILE NORMAL: makes a golden file what is printed; one of no output is removed.
update() {
    if [ ! -s "$2" ]; then
        rm -f "$1"
    elif ! cmp -s "$1" "$2"; then
        cat "$2" >"$1" || fatal "cannot write $1"
    fi
}

# golden NAME STATUS CASE: the last run ended with this status, and its outputs, once normalised,
# are tests/golden/CASE.out and CASE.err; a missing file stands for no output.
golden() {
    golden_good=true
    for golden_part in out err; do
        normalise "$golden_part" >"$golden_part.normal"
        similar "$golden_part.normal" >"$golden_part.similar"
        golden_file=$sources/tests/golden/$3.$golden_part
        [ -z "$UPDATE_GOLDEN" ] || update "$golden_file" "$golden_part.normal"
        [ -f "$golden_file" ] || golden_file=/dev/null
        similar "$golden_file" | diff - "$golden_part.similar" >"$golden_part.diff" ||
            golden_good=false
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
    printf "\\$(($1 >> 6))$(($1 >> 3 & 7))$(($1 & 7))"
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

# safetensors FILE NAME:TYPE:SHAPE:FILE...: a file of arrays, whose elements other files hold.
safetensors() {
    made=$1 made_header='' made_begin=0
    shift
    : >made.elements
    for made_array; do
        IFS=: read -r array_name array_type array_shape array_file <<END
$made_array
END
        made_end=$((made_begin + $(size "$array_file")))
        made_header="$made_header${made_header:+,}\"$array_name\":{\"dtype\":\"$array_type\",\"shape\":[$array_shape],\"data_offsets\":[$made_begin,$made_end]}"
        cat "$array_file" >>made.elements
        made_begin=$made_end
    done
    {
        word $((${#made_header} + 2))
        printf '\0\0\0\0{%s}' "$made_header"
        cat made.elements
    } >"$made"
}

# npz FILE NAME:FILE...: a zip archive of members that are stored, and hold what other files do. Their
# checksums are 0.
npz() {
    made=$1 made_members=0
    shift
    : >"$made"
    : >made.directory
    for made_member; do
        made_name=${made_member%%:*} made_file=${made_member#*:} made_at=$(size "$made")
        { # what both headers of a member say of it
            head -c 12 /dev/zero
            word "$(size "$made_file")"
            word "$(size "$made_file")"
            byte ${#made_name}
            printf '\0\0\0'
        } >made.member
        {
            printf 'PK\003\004\024\0'
            cat made.member
            printf '%s' "$made_name"
            cat "$made_file"
        } >>"$made"
        {
            printf 'PK\001\002\024\0\024\0'
            cat made.member
            head -c 10 /dev/zero
            word "$made_at"
            printf '%s' "$made_name"
        } >>made.directory
        made_members=$((made_members + 1))
    done
    made_at=$(size "$made")
    {
        cat made.directory
        printf 'PK\005\006\0\0\0\0'
        byte $made_members && printf '\0' && byte $made_members && printf '\0'
        word "$(size made.directory)"
        word "$made_at"
        printf '\0\0'
    } >>"$made"
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

# zstd_pieces FILE SIZE: its first four pieces of so many bytes, a frame each.
zstd_pieces() {
    for piece in 0 1 2 3; do
        tail -c +$((piece * $2 + 1)) "$1" | head -c "$2" | "$ZSTD" -q -c
    done
}

# large_files NAME: the same numbers in ./large and ./large.npy, 9 MB, not a whole number of any pages;
# and in zstd files of one frame and of four, whose names are in $zstd_files. Without zstd there are
# none, and a test of this name is skipped.
large_files() {
    "$program-bench" generate -q -d normal -b 9000008 >large
    { npy 1 "$(npy_header '<f4' '(2250002,)')" && cat large; } >large.npy
    zstd_files=
    if [ -n "$ZSTD" ]; then
        "$ZSTD" -q -c large >one.zst
        zstd_pieces large 3000000 >frames.zst
        # shellcheck disable=SC2034 # used by the scripts
        zstd_files='one.zst frames.zst'
    else
        skip "$1" 'no zstd'
    fi
}

# table FLAGS COUNT WORD...: a seek table of these words that says that it has COUNT entries.
table() {
    table_flags=$1 table_count=$2
    shift 2
    word 407710302 # 0x184d2a5e
    word $((4 * $# + 9))
    for table_word in "$@"; do
        word "$table_word"
    done
    word "$table_count"
    byte "$table_flags"
    printf '\261\352\222\217' # 0x8f92eab1
}

# size FILE
size() {
    wc -c <"$1"
}

# flip FILE OFFSET: inverts a byte.
flip() {
    flip_byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
    byte $((flip_byte ^ 255)) | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

# names_first FILE TEXT: whatever reads an array of several damaged chunks, on any number of threads and
# however often: the message is that of the first one, a basic regular expression.
names_first() {
    for first_how in '-o sum' '-o median' '-o sum --axis=1' --diff; do
        for first_threads in 1 2 2 8 8 8; do
            # shellcheck disable=SC2086 # several words
            if [ "$first_how" = --diff ]; then
                run -q -j $first_threads --diff "$1" "$1"
            else
                run -q -j $first_threads $first_how "$1"
            fi
            printf '%s:' "$status"
            cat err
        done >first
        ok "$1, the first damage, $first_how" \
            test "$(grep -c "^[12]:gpureduce: $2\$" first):$(sort -u first | grep -c .)" = 6:1
    done
}

# A copy that may be changed; the samples may be read-only.
copy() {
    cat "$1" >"$2"
}
