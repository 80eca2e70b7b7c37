#!/bin/sh
# gpureduce-bench: its command line, the data that it generates, and the limits that it measures.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

least_chunk=12

bench=$program-bench
[ -x "$bench" ] || fatal "no program $bench"
ln -s "$bench" bin/gpureduce-bench || fatal 'cannot link the program'
manual=$sources/man/gpureduce-bench.1

# bench ARGUMENT...: as run, for this program.
bench() {
    command="$environment gpureduce-bench $*"
    # shellcheck disable=SC2086 # none, or several words
    env $environment $CHECK_UNDER "$bench" "$@" >out 2>err
    status=$?
}

# wrong NAME TEXT [COMMAND]: the last run refused its command line: one line, and nothing else.
wrong() {
    is "$1" 2 '' "gpureduce-bench: $2 (try 'gpureduce-bench${3:+ $3} --help')"
}

# The bytes of all last-level caches, as the system tells: each is counted by the first processor that
# has it.
last_level_caches() {
    for cpu in /sys/devices/system/cpu/cpu[0-9]*; do
        last=0
        bytes=
        for cache in "$cpu"/cache/index*; do
            read -r level 2>/dev/null <"$cache/level" || continue
            if [ "$level" -lt "$last" ] || [ "$(cat "$cache/type")" = Instruction ]; then
                continue
            fi
            last=$level
            first=$(sed 's/[-,].*//' "$cache/shared_cpu_list")
            bytes=
            [ "$first" = "${cpu##*/cpu}" ] && bytes=$(sed 's/K$/*1024/; s/M$/*1048576/' "$cache/size")
        done
        echo $((${bytes:-0}))
    done | awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}

#
# Help and version.
#
bench --help
ok '--help' test "$status:$(head -n 1 out):$(cat err)" = '0:Usage: gpureduce-bench COMMAND [OPTION]...:'
for name in ladder limits generate; do
    ok "--help names $name" grep -q "^  $name  *[a-z]" out
done
ok 'the help fits into 80 columns' test "$(awk '{ if (length > n) n = length } END { print n }' out)" -le 80
bench --version
ok '--version' grep -qx 'gpureduce-bench [0-9][0-9.]*[0-9a-z.-]*' out
copy out version
for word in -V --vers 'limits --version' 'generate -V' 'ladder -V'; do
    # shellcheck disable=SC2086 # two words, some of them
    bench $word
    ok "$word" cmp out version
done
bench
is 'no command' 2 '' "gpureduce-bench: no command (try 'gpureduce-bench --help')"
bench frobnicate
wrong 'an unknown command' "unknown command 'frobnicate'"
bench --frobnicate limits
wrong 'an unknown option' "unknown option '--frobnicate'"
bench limits --help
ok 'limits --help' test "$status:$(head -n 1 out)" = '0:Usage: gpureduce-bench limits [OPTION]... [FILE]'
bench limits --bytes=1MiB nofile --help --frobnicate
ok '--help ends the command line' test "$status:$(head -n 1 out)" = '0:Usage: gpureduce-bench limits [OPTION]... [FILE]'

# The options of a part of the manual page, and of a help.
manual_options() { # COMMAND
    { sed -n "/^\.SS $1\$/,/^\.S[SH] /p" "$manual" | sed 's/\\-/-/g' | grep -o -- '--[a-z][a-z-]*'
        printf '%s\n' --help --version; } | sort -u
}
: >letters
for name in '' generate limits ladder; do
    # shellcheck disable=SC2086 # none, or one
    bench $name --help
    copy out help
    # shellcheck disable=SC2086
    bench $name -h
    ok "$name -h" cmp out help
    sed -n 's/^  \(-[a-zA-Z]\), \(--[a-z-]*\).*/\1 \2/p' out >>letters
done
sort -u letters >different
ok 'a letter means one thing in all commands' test "$(cut -d ' ' -f 1 different | uniq -d)" = ''
ok 'nor has an option two letters' test "$(cut -d ' ' -f 2 different | sort | uniq -d)" = ''
ok 'those are not few' test "$(grep -c . different)" -ge 10
for name in generate limits ladder; do
    bench "$name" --help
    if grep -q 'built without' out; then
        is "$name: help of a build without CUDA" 0 "$(cat out)" ''
        skip "$name: help and manual page" 'built without CUDA'
        skip "$name: the help fits into 80 columns" 'built without CUDA'
        continue
    fi
    grep -o -- '--[a-z][a-z-]*' out | sort -u >in-help
    manual_options "$name" >in-manual
    ok "$name: help and manual page name the same options" diff in-help in-manual
    ok "$name: the help of options fits into 80 columns" test "$(sed '/^Rungs:/,$d' out |
        awk '{ if (length > n) n = length } END { print n }')" -le 80
done

#
# ladder: the rungs, and words that are wrong, which are found before a GPU is looked for.
#
bench ladder --help
if grep -q 'built without' out; then
    skip 'ladder: help and manual page name the same rungs' 'built without CUDA'
    skip 'ladder: words that are wrong' 'built without CUDA'
else
    sed -n '/^Rungs:/,$s/^  \([a-z][a-z-]*\)  *[^ ].*/\1/p' out | sort >in-help
    sed -n '/^The rungs:$/,/^\.SH /p' "$manual" | sed -n '/^\.TP$/{n;p;}' | tr -d '",\134' |
        tr ' ' '\n' | grep '^[a-z]' | sort >in-manual
    ok 'ladder: help and manual page name the same rungs' eval 'test -s in-help && diff in-help in-manual'
    for bad in '' x 0 1e6 2^41 2^ 1099511627777; do
        bench ladder -n "$bad"
        wrong "ladder -n '$bad'" "bad number of elements '$bad': it is from 1 to 2^40" ladder
    done
    bench ladder --n=0
    wrong 'ladder --n, as --elements was called' \
        "bad number of elements '0': it is from 1 to 2^40" ladder
    for bad in 5 130 2048; do
        bench ladder --block-size "$bad"
        wrong "ladder --block-size $bad" "--block-size '$bad' is not 128, 256, 512 or 1024" ladder
    done
    for bad in cup '' 'cub,'; do
        bench ladder --rung "$bad"
        wrong "ladder --rung '$bad'" "unknown rung '${bad#cub,}'" ladder
    done
    bench ladder --suite --rung=cub
    wrong 'ladder --suite --rung' '--suite cannot be combined with --plot or --rung' ladder
    bench ladder --json=nowhere/ladder.json
    is 'ladder --json=FILE that cannot be' 1 '' \
        'gpureduce-bench: nowhere/ladder.json: No such file or directory'
fi

#
# generate: words that are wrong.
#
bench generate
wrong 'no size' '--bytes is missing' generate
bench generate --bytes=10
wrong 'a part of an element' '--bytes=10 is no whole number of f32 elements' generate
bench generate --bytes=12 -t f64
wrong 'a part of an f64' '--bytes=12 is no whole number of f64 elements' generate
bench generate --bytes=4 here
wrong 'an operand' "unexpected operand 'here'" generate
bench generate -b 4 --dist Uniform
wrong '--dist Uniform' "unknown distribution 'Uniform'; did you mean 'uniform'?" generate
for bad in '' gauss; do
    bench generate -b 4 --dist "$bad"
    wrong "--dist '$bad'" "unknown distribution '$bad': must be uniform, normal, wide, full, integers, sparse, cancel, weights, field, steps, series or image" generate
done
bench generate -b 4 --dtype f31
wrong '--dtype f31' "unknown dtype 'f31'; did you mean 'f32'?" generate
for bad in '' int24; do
    bench generate -b 4 --dtype "$bad"
    wrong "--dtype '$bad'" "unknown dtype '$bad': must be f32, f64, f16, bf16, f8e4m3, f8e5m2, i8, i16, i32, i64, u8, u16, u32, u64 or bool" generate
done
bench generate -b 4 -t '>f4'
wrong "-t '>f4'" "dtype '>f4' is big-endian; data here are little-endian" generate
bench generate --bytes 1.5GB
wrong '--bytes 1.5GB' "bad size '1.5GB' for --bytes; did you mean '1500000000'?" generate
for bad in '' -4 4x 9223372036854775808; do
    bench generate --bytes "$bad"
    wrong "--bytes '$bad'" "bad size '$bad' for --bytes" generate
done
bench generate -b 4 --seed 1k
wrong '--seed 1k' "bad number '1k' for --seed; did you mean '1000' or '1024'?" generate
for bad in '' -1 x; do
    bench generate -b 4 --seed "$bad"
    wrong "--seed '$bad'" "bad number '$bad' for --seed" generate
done
for bad in 0 1025; do
    bench generate -b 4 --threads "$bad"
    wrong "--threads '$bad'" "--threads '$bad' must be from 1 to 1024" generate
done
bench generate -b 4 -j two
wrong '-j two' "bad number 'two' for --threads" generate
for bad in --dist --dtype --bytes --seed --threads -d -t -b -s -j; do
    bench generate "$bad"
    wrong "$bad without its argument" "option '$bad' needs an argument" generate
done
for bad in --quiet=no --progress=1 --no-progress=1 --help=1; do
    bench generate "$bad"
    wrong "$bad" "option '$bad' takes no argument" generate
done
bench generate -b 4 -x
wrong '-x' "unknown option '-x'" generate
bench generate -b 4 --d=normal
wrong 'an ambiguous option' "option '--d=normal' is ambiguous: it could be --dist or --dtype" generate
if command -v script >/dev/null && script -qec true /dev/null >/dev/null 2>&1; then
    script -qec "'$bench' generate -b 4; echo status \$?" /dev/null </dev/null >out 2>err
    ok 'a terminal is refused' grep -q 'standard output is a terminal' out
    ok 'a terminal is refused: status' grep -q '^status 2' out
else
    skip 'a terminal is refused' 'no script(1)'
    skip 'a terminal is refused: status' 'no script(1)'
fi

#
# generate: the bytes. The checksums are those of tests/lib/generate.py, which makes the same streams
# from their definition in another language.
#
while read -r dist type bytes sum; do
    bench generate -q -d "$dist" -t "$type" -b "$bytes" -s 7
    ok "$dist $type, $bytes bytes: the same on every machine" \
        test "$status:$(cksum <out)" = "0:$sum $bytes"
done <"$sources/tests/golden/generate"
bench generate -b 4KiB -q
copy out expected
bench generate --bytes=4096 --dist=uniform --dtype=float32 --seed=1 --quiet --threads=1
ok 'defaults, and long options' cmp out expected
bench generate -b 4KiB -q -s 2
ok 'another seed, other data' test "$(cmp -s out expected; echo $?)" = 1
bench generate -b 4KiB -q -s 9223372036854775807
ok 'the largest seed' test "$status:$(size out)" = 0:4096
bench generate -q -b 0
is 'nothing at all' 0 ''
for dist in uniform normal wide full integers sparse cancel weights field steps series image; do
    # More than two chunks, and a part of a block at the end.
    bytes=$((2 * 1048576 + 20000))
    bench generate -q -d $dist -b $bytes -j 1
    copy out serial
    bench generate -q -d $dist -b $bytes -j 5
    ok "$dist: any number of threads writes the same" cmp out serial
    [ $dist = cancel ] && continue
    bench generate -q -d $dist -b 1200004 -j 2
    head -c 1200004 serial >expected
    ok "$dist: the beginning of a longer output" cmp out expected
done

#
# generate: the distributions, by what gpureduce and od have to say of them.
#

# holds NAME EXPRESSION: an expression of awk over s, a, b and m: sum, min, max and mean of ./data.
holds() {
    values=$("$GPUREDUCE" -q -t "$type" distribution) || values=
    # shellcheck disable=SC2086 # four words
    set -- "$1" "$2" $values
    ok "$1 ($3 $4 $5 $6)" awk -v s="$3" -v a="$4" -v b="$5" -v m="$6" "BEGIN { exit !($2) }"
}
for type in f32 f64 f16 bf16; do
    # The steps of the type, below which nothing can be asked.
    case $type in
    f16) step=0.0005 largest=65504 rest=0.00013 ;;
    bf16) step=0.004 largest=1.1e9 rest=1e-12 ;;
    *) step=0 largest=1.1e9 rest=1e-12 ;;
    esac
    for dist in uniform normal wide integers; do
        "$bench" generate -q -d $dist -t $type -b 2MiB >distribution
        case $dist in
        uniform) holds "$type uniform" "a >= 0 && a < 0.001 + $step && b < 1 && b > 0.99 &&
            m > 0.497 - $step && m < 0.503" ;;
        normal) holds "$type normal" 'm > -0.01 && m < 0.01 && a < -4 && a > -6.5 && b > 4 && b < 6.5' ;;
        wide) holds "$type wide" "a < -0.9 * $largest && b > 0.9 * $largest &&
            a >= -$largest && b <= $largest" ;;
        integers) holds "$type integers" 'a == -1000 && b == 1000 && m > -10 && m < 10 && s == int(s)' ;;
        esac
    done
    element=$(printf '%s' "$type" | sed 's/^[a-z]*//')
    element=$((element / 8))
    for count in 1 2 3 4 4096 8191 8192 8193 16385 100000; do
        "$bench" generate -q -d cancel -t $type -b $((count * element)) >distribution
        holds "$type cancel, $count" "s > 0 && s < $rest && (b > 1 || $count < 10)"
    done
    "$bench" generate -q -d full -t $type -b 2MiB >distribution
    run -q -t $type -o nan,inf distribution
    is "$type full: finite" 0 "0
0"
done

# Other types: a line has what their elements are like.
while read -r type size uniform normal wide integers; do
    for dist in uniform normal wide integers; do
        case $dist in
        uniform) expression=$uniform ;;
        normal) expression=$normal ;;
        wide) expression=$wide ;;
        integers) expression=$integers ;;
        esac
        "$bench" generate -q -d $dist -t "$type" -b 1MiB >distribution
        holds "$type $dist" "$expression"
    done
    case $type in
    u* | bool)
        bench generate -q -d cancel -t "$type" -b 64
        wrong "$type cancel" "no $type is negative: nothing cancels" generate
        bench generate -q -d steps -t "$type" -b 64
        wrong "$type steps" "distribution steps is of f32, f64, f16 or bf16, not $type" generate
        continue
        ;;
    esac
    for count in 1 2 3 8191 8193 100000; do
        "$bench" generate -q -d cancel -t "$type" -b $((count * size)) >distribution
        case $type in
        f8*) holds "$type cancel, $count" 's > 0 && s < 0.028' ;;
        *) holds "$type cancel, $count" "s == 1 || ($count % 2 == 0 && s == 2)" ;;
        esac
    done
    "$bench" generate -q -d full -t "$type" -b 1MiB >distribution
    run -q -t "$type" -o nan,inf distribution
    is "$type full: finite" 0 "0
0"
done <<'END'
f8e4m3 1 a==0&&b==0.9375 m*m<0.001&&b<6&&b>3 a==-240&&b==240 a==-16&&b==16
f8e5m2 1 a==0&&b==0.875 m*m<0.001&&b<6&&b>3 a==-57344&&b==57344 a==-8&&b==8
i8 1 a==-128&&b==127 m*m<0.1&&b<52&&b>24 a==-127&&b==127 a==-100&&b==100
i16 2 a<-32700&&b>32700 m*m<200&&b>6000&&b<14000 a<-32000&&b>32000 a==-1000&&b==1000
i32 4 a<-2.1e9&&b>2.1e9 b>5e8&&b<7e8 a<-1e9&&b>1e9 a==-1000&&b==1000
i64 8 a<-9.2e18&&b>9.2e18 b>1e18&&b<3.2e18 a<-4e18&&b>4e18 a==-1000&&b==1000
u8 1 a==0&&b==255 m>127.9&&m<128.1&&b<180 a==1&&b==255 a==0&&b==200
u16 2 a<10&&b>65525 m>32750&&m<32790 a==1&&b>65000 a==0&&b==2000
u32 4 a<1e5&&b>4.29e9 b<2.9e9&&b>2.5e9 a==1&&b>4e9 a==0&&b==2000
u64 8 a<1e15&&b>1.84e19 b<1.24e19&&b>1.08e19 a==1&&b>1.6e19 a==0&&b==2000
bool 1 a==0&&b==1&&m>0.49&&m<0.51 m>0.49&&m<0.51 m>0.49&&m<0.51 m>0.49&&m<0.51
END

# The f32 of a file as hexadecimal words, a line each.
hexadecimal() {
    od -An -v -tx4 "$1" | tr -s ' ' '\n' | grep .
}
"$bench" generate -q -d full -b 1MiB >distribution
hexadecimal distribution >words
# Of 262144, 514 of each are expected.
for pattern in ^00[0-7] ^80[0-7] ^7f[0-7] ^ff[0-7]; do
    ok "full: the smallest and largest exponents of both signs, $pattern" \
        test "$(grep -c "$pattern" words)" -gt 400
done
"$bench" generate -q -d sparse -b 1MiB >distribution
hexadecimal distribution >words
# Of 262144, 124518 of each are expected; the standard deviation is 256.
ok 'sparse: zeros of both signs' awk '
    /^00000000$/ { plus++ }
    /^80000000$/ { minus++ }
    END { exit !(plus > 123200 && plus < 125800 && minus > 123200 && minus < 125800) }' words
"$bench" generate -q -d normal -b 1MiB >distribution
hexadecimal distribution >words
# Of 262144 numbers, 178957 lie between -1 and 1: a standard deviation is 238. Those are the words
# below 3f800000, but for the sign.
# shellcheck disable=SC2016 # it is awk's
ok 'normal: 68.27 % within one standard deviation' awk '
    { first = substr($0, 1, 3); if (first < "3f8" || (first >= "800" && first < "bf8")) within++ }
    END { exit !(within > 177700 && within < 180200) }' words
# What is like data compresses as such data do.
while read -r dist least most; do
    "$bench" generate -q -d "$dist" -b 1MiB >distribution
    if [ -n "$ZSTD" ]; then
        "$ZSTD" -3 -q -c distribution >compressed
        ok "$dist: zstd leaves $least to $most of 1000 bytes" \
            test $(($(size compressed) * 1000 / 1048576 >= least && $(size compressed) * 1000 / 1048576 <= most)) -eq 1
    else
        skip "$dist: what zstd leaves" 'no zstd'
    fi
done <<'END'
weights 440 480
field 700 850
steps 500 600
series 30 80
image 220 300
END

#
# generate: statistics, progress, and outputs that fail.
#
bench generate -b 4000
ok 'the statistics are a line' test "$(normalise err)" = '1000 elements, 4000 bytes, T s, R GB/s'
bench generate -b 4
ok 'a single element' test "$(normalise err)" = '1 element, 4 bytes, T s, R GB/s'
bench generate -b 4000 -q
ok '-q' test "$status:$(size out):$(cat err)" = 0:4000:
bench generate -b 4000 -d wide -t f64 -s 3 -j 1 --json
ok '--json' test "$(normalise err)" = '{"distribution": "wide", "dtype": "f64", "seed": 3, "elements": 500, "bytes": 4000, "threads": 1, "seconds": T, "gigabytes_per_second": R}'
bench generate -b 4000 -d wide -t f64 -s 3 -j 1 --json=statistics.json
ok '--json=FILE: a line beside it' test "$(normalise err)" = '500 elements, 4000 bytes, T s, R GB/s'
ok '--json=FILE' test "$(normalise statistics.json)" = '{"distribution": "wide", "dtype": "f64", "seed": 3, "elements": 500, "bytes": 4000, "threads": 1, "seconds": T, "gigabytes_per_second": R}'
bench generate -b 4000 -q --json --json=statistics.json
ok '--json=FILE, quietly' test "$status:$(wc -l <statistics.json | tr -d ' '):$(cat err)" = 0:1:
bench generate -b 4000 -q --json=nowhere/statistics.json
is '--json=FILE that cannot be' 1 '' 'gpureduce-bench: nowhere/statistics.json: No such file or directory'
echo before >kept.json
bench generate -b 4 --json=kept.json 5
ok '--json=FILE is left alone by a wrong command line' test "$status:$(cat kept.json)" = 2:before
bench generate -b 4000 -q --json=.
is '--json=DIRECTORY' 1 '' 'gpureduce-bench: .: Is a directory'
bench generate -b 4000 -q --json=none/
is '--json= of a directory that is not there' 1 '' 'gpureduce-bench: none/: Is a directory'
bench generate -b 4000 -q --json=
is '--json= without a name' 1 '' "gpureduce-bench: '': No such file or directory"
ln -s linked.json link.json
bench generate -b 4000 -q --json=link.json
ok '--json=LINK to what is not there yet' test "$status:$(wc -l <linked.json | tr -d ' ')" = 0:1
shell 'gpureduce-bench generate -q --progress -b 64MiB | { sleep 1.4; cat >/dev/null; }'
ok '--progress' grep -q 'of 67.1 MB' err
ok '--progress: no time is known before anything is written' \
    grep -q '0.0 of 67.1 MB    0 %  0.00 kB/s  -:-- left' err
shell 'gpureduce-bench generate -q --no-progress -b 64MiB | { sleep 1.4; cat >/dev/null; }'
is '--no-progress' 0 ''
if [ -w /dev/full ]; then
    shell 'gpureduce-bench generate -b 4MiB >/dev/full'
    is 'generate: a full disk' 1 '' 'gpureduce-bench: standard output: No space left on device'
    bench generate -b 4 -q --json=/dev/full
    ok 'generate --json=FILE: a full disk' test "$status:$(cat err)" = \
        '1:gpureduce-bench: /dev/full: No space left on device'
    shell 'gpureduce-bench limits --help >/dev/full'
    is 'help: a full disk' 1 '' 'gpureduce-bench: standard output: No space left on device'
else
    skip 'generate: a full disk' 'no /dev/full'
    skip 'generate --json=FILE: a full disk' 'no /dev/full'
    skip 'help: a full disk' 'no /dev/full'
fi
shell 'gpureduce-bench generate -b 4MiB >&-'
is 'generate: closed standard output' 1 '' 'gpureduce-bench: standard output: Bad file descriptor'
shell 'gpureduce-bench --help >&-'
is 'help: closed standard output' 1 '' 'gpureduce-bench: standard output: Bad file descriptor'
shell "trap '' PIPE; { gpureduce-bench generate -b 64MiB; echo \$? >code; } | true"
ok 'generate: a pipe that nobody reads' \
    test "$(cat code):$(cat err)" = '1:gpureduce-bench: standard output: Broken pipe'
# dd leaves the pipe so that a write that does not fit fails instead of waiting.
if dd if=/dev/null of=/dev/null oflag=nonblock count=0 2>/dev/null; then
    bench generate -b 4MiB -q
    copy out expected
    shell '{ dd if=/dev/null oflag=nonblock count=0 2>/dev/null; gpureduce-bench generate -b 4MiB -q
        echo $? >code; } | { sleep 0.3; cat; }'
    ok 'generate: a pipe that does not wait' test "$(cat code):$(cat err)" = 0:
    ok 'generate: a pipe that does not wait loses nothing' cmp out expected
else
    skip 'generate: a pipe that does not wait' 'dd knows no oflag=nonblock'
    skip 'generate: a pipe that does not wait loses nothing' 'dd knows no oflag=nonblock'
fi
shell '(ulimit -f 1; trap "" XFSZ; gpureduce-bench generate -b 64MiB >limited)'
ok 'generate: a file that may not grow' \
    test "$status:$(cat err)" = '1:gpureduce-bench: standard output: File too large'

#
# limits: words that are wrong.
#
for bad in 0 1000 17592186044417; do
    bench limits --bytes "$bad"
    wrong "--bytes $bad" "--bytes '$bad' must be from 1048576 to 17592186044416" limits
done
bench limits --bytes=x
wrong '--bytes=x' "bad size 'x' for --bytes" limits
bench limits --repeat 0
wrong '--repeat 0' "--repeat '0' must be from 1 to 10000" limits
bench limits -r -1
wrong '-r -1' "bad number '-1' for --repeat" limits
bench limits -j 0
wrong '-j 0' "--threads '0' must be from 1 to 1024" limits
for bad in --bytes --repeat --threads --plot -b -r -j; do
    bench limits "$bad"
    wrong "$bad without its argument" "option '$bad' needs an argument" limits
done
bench limits --save=here
wrong '--save=here' "option '--save=here' takes no argument" limits
bench limits one two
wrong 'two files' "unexpected operand 'two'" limits
bench limits --plot=plot.gif
is 'a plot of another kind' 2 '' 'gpureduce-bench: plot.gif: a plot'"'"'s name ends in .svg or .png'
bench limits missing
is 'no such file' 1 '' 'gpureduce-bench: missing: No such file or directory'
bench limits .
is 'a directory' 1 '' 'gpureduce-bench: .: not a regular file'
mkfifo fifo
bench limits fifo
is 'a FIFO' 1 '' 'gpureduce-bench: fifo: not a regular file'
three >three.f32
bench limits three.f32
is 'too small a file' 1 '' 'gpureduce-bench: three.f32: too small: 1 MiB is the least to measure with'
environment=TMPDIR=$work/nowhere
bench limits --bytes=1MiB -r1 -j1
is 'nowhere to make a temporary file: said before anything is measured' 1 '' \
    "gpureduce-bench: $work/nowhere: cannot make a temporary file: No such file or directory"
environment=
"$bench" generate -q -b 1MiB >small.f32
# What fits into caches must not become the record of a machine.
environment="XDG_CACHE_HOME=$work/unsaved GPUREDUCE_CACHE_BYTES=1000000"
bench limits --bytes=2MiB --save
is '--save of too little data: said before anything is measured' 1 '' 'gpureduce-bench: cannot save: 2097152 bytes of data are too little beside last-level caches of 1000000 bytes (--bytes=4000000 would be enough)'
bench limits --bytes=4MB --save small.f32
is '--save of too small a file: said before anything is measured' 1 '' "gpureduce-bench: warning: small.f32: only 1048576 bytes: they may fit into the processor's caches of 1000000 bytes
gpureduce-bench: cannot save: small.f32: 1048576 bytes are too little beside last-level caches of 1000000 bytes (a file of 4000000 bytes would be enough)"
ok '--save of too little: nothing is saved' test "$(find unsaved -type f 2>/dev/null | grep -c .)" = 0
environment="XDG_CACHE_HOME=$work/unsaved"
bench limits --bytes=1MiB --save
ok '--save of too little: the size of the caches is known' \
    test "$status:$(size out):$(sed 's/[0-9][0-9]* bytes/N bytes/g; s/=[0-9]*/=N/' err)" = '1:0:gpureduce-bench: cannot save: N bytes of data are too little beside last-level caches of N bytes (--bytes=N would be enough)'
if [ -r /sys/devices/system/cpu/cpu0/cache/index2/size ]; then
    ok '--save of too little: the size is that of the system' \
        test "$(sed 's/.* caches of \([0-9]*\) bytes.*/\1/' err)" = "$(last_level_caches)"
else
    skip '--save of too little: the size is that of the system' 'the system tells none'
fi
environment="XDG_CACHE_HOME=$work/unsaved GPUREDUCE_CACHE_BYTES=262144"
bench limits --bytes=1MiB -r1 -j1 --save
ok '--save of just enough' test "$status:$(grep -c 'saved as' err)" = 0:1
environment=
bench limits --bytes=16TiB -r1 -j1 small.f32
ok 'more data than there is memory' test "$status:$(size out):$(sed 's/[0-9]* bytes are/N bytes are/' err)" = \
    '1:0:gpureduce-bench: out of memory: --bytes=17592186044416, and N bytes are available'
if fallocate -l 4096 allocated 2>/dev/null; then
    shell "ulimit -f 1; TMPDIR=$work gpureduce-bench limits --bytes=1MiB -r1 -j1"
    is 'no room for a temporary file: said before anything is measured' 1 '' \
        "gpureduce-bench: $work: cannot make a temporary file: File too large"
else
    skip 'no room for a temporary file: said before anything is measured' 'not on this file system'
fi
bench limits --bytes=1MiB -r1 -j1 --json=nowhere/limits.json
is '--json=FILE that cannot be: said before anything is measured' 1 '' \
    'gpureduce-bench: nowhere/limits.json: No such file or directory'
bench limits --bytes=1MiB -r1 -j1 --json=results.json missing
ok '--json=FILE: not made for nothing' test "$status:$(test -e results.json; echo $?)" = 1:1
mkdir empty
environment=PATH=$work/empty
bench limits --plot=plot.svg
environment=
is 'no gnuplot: said before anything is measured' 1 '' 'gpureduce-bench: cannot plot: gnuplot does not work (install gnuplot, or leave out --plot)'

#
# limits: what it prints. There is little data, so that it is quick; the rates mean nothing then.
#
mkdir temporary
environment="TMPDIR=$work/temporary"
bench limits --bytes=2MiB --repeat=3 --threads=3
ok 'limits' test "$status:$(cat err)" = 0:
copy out limits.txt
environment=

# has NAME THREADS: whether the table has such a row, with three rates above 0 in order.
# shellcheck disable=SC2317 # ok calls it
has() {
    awk -v name="$1" -v threads="$2" '
        $1 == name && $2 == threads { good = $4 > 0 && $5 > 0 && $5 <= $4 && $4 <= $6 }
        END { exit !good }' limits.txt
}
# rows_of NAME: the threads of such rows.
rows_of() {
    awk -v name="$1" '$1 == name { printf "%s%s", n++ ? " " : "", $2 }' limits.txt
}
for name in memory-read kernel-memory cached-pread cached-mapped; do
    for threads in 1 2 3; do
        ok "limits: $name, $threads threads" has $name $threads
    done
done
for name in l2-read kernel-l2 zstd-decode; do
    ok "limits: $name" has $name 1
done
ok 'limits: zstd-decode, all threads' has zstd-decode 3
for kind in -weights -field -steps -series -image; do
    ok "limits: zstd-decode$kind" has zstd-decode$kind 1
    ok "limits: zstd-decode$kind, all threads" has zstd-decode$kind 3
    ok "limits: one-frame$kind" has one-frame$kind 3
done
ok 'limits: one-frame' has one-frame 3
# The way that reading was found to be the fastest; the kernel has its own.
for row in 'memory-read 1' 'memory-read 3' 'l2-read 1' 'cached-mapped 3'; do
    ok "limits: $row: how it was read" grep -Eq \
        "^  ${row% *} +${row#* } .*: (1 stream|[248] streams [0-9]+ KiB apart)(, prefetched .* ahead)?, loads of (16|32|64) bytes\$" limits.txt
done
ok 'limits: how the others were read is not said' test "$(grep -c 'loads of' limits.txt)" = \
    "$(grep -c '^  memory-read \|^  l2-read \|^  cached-mapped ' limits.txt)"
environment="TMPDIR=$work/temporary GPUREDUCE_CPU=vector16"
bench limits --bytes=2MiB --repeat=1 --threads=1
copy out limits.vector16
environment="TMPDIR=$work/temporary"
ok 'limits: no wider loads than the instruction set has' \
    test "$(sed -n 's/.* loads of \([0-9]*\) bytes$/\1/p' limits.vector16 | sort -u)" = 16
# Of 2 MiB, a piece for each thread.
ok 'limits: pieces for all threads' \
    test "$(awk '/^  (memory-read|cached-mapped) / { printf "%s:%s ", $2, $3 }' limits.txt)" = \
    '1:2048 2:1024 3:684 1:2048 2:1024 3:684 '
ok 'limits: nothing is measured cold without a file' test "$(grep -c cold- limits.txt)" = 0
ok 'limits: no temporary file is left' test "$(find temporary -type f | wc -l)" -eq 0
ok 'limits: headings' grep -q '^  limit  *threads  *piece KiB  *GB/s  *lowest  *highest  *% of peak  *what$' limits.txt
if grep -q '^GPU: none' limits.txt; then
    ok 'limits: why there is no GPU' grep -q '^GPU: none that can be used: .*[a-zA-Z]' limits.txt
    ok 'limits: no rows of a GPU' test "$(grep -c 'gpu-read\|host-to-device' limits.txt)" = 0
else
    ok 'limits: the GPU' grep -q '^GPU: [A-Z]' limits.txt
    ok 'limits: rows of a GPU' test "$(grep -c 'gpu-read\|host-to-device' limits.txt)" -ge 3
fi

"$bench" generate -q -d normal -b 2MiB >file.f32
bench limits --bytes=2MiB -r1 file.f32
ok 'limits FILE' test "$status" = 0
copy out limits.txt
ok 'limits FILE: cached' has cached-mapped 1
ok 'limits FILE: past the cache, or why not' grep -q 'cold-direct\|uncached reading is not measured' out err
ok 'limits FILE: through the cache, or why not' grep -q 'cold-buffered\|uncached reading is not measured' out err
ok 'limits FILE: named' grep -qx 'file: file.f32' limits.txt
ok 'limits FILE: its size' grep -qx 'size of the file: 2097152 bytes' limits.txt
ok 'limits FILE: small as was asked for, no warning' test "$(grep -c 'may fit into' err)" = 0
environment=GPUREDUCE_CACHE_BYTES=600000
bench limits --bytes=3MiB -r1 -j1 file.f32
ok 'limits FILE: smaller than what was asked for' grep -qx "gpureduce-bench: warning: file.f32: only 2097152 bytes: they may fit into the processor's caches of 600000 bytes" err
environment=GPUREDUCE_CACHE_BYTES=500000
bench limits --bytes=3MiB -r1 -j1 file.f32
ok 'limits FILE: smaller, but larger than caches: no warning' test "$(grep -c 'may fit into' err)" = 0
environment=
if grep -q cold-direct out; then
    ok 'limits FILE: up to eight readers' test "$(rows_of cold-direct)" = '1 2 4 8'
    bench limits --bytes=2MiB -r1 -j3 file.f32
    copy out limits.txt
    ok 'limits -j FILE: no more readers than threads' test "$(rows_of cold-direct)" = '1 2 3'
    bench limits --bytes=2MiB -r1 -j9 file.f32
    copy out limits.txt
    ok 'limits -j FILE: nor more than eight' test "$(rows_of cold-direct)" = '1 2 4 8'
else
    for name in 'limits FILE: up to eight readers' 'limits -j FILE: no more readers than threads' \
        'limits -j FILE: nor more than eight'; do
        skip "$name" 'not on this file system'
    done
fi
if [ -w /dev/shm ] && [ "$(df -P /dev/shm 2>/dev/null | awk 'END { print $1 }')" = tmpfs ]; then
    memory=$(mktemp /dev/shm/gpureduce-bench.XXXXXX)
    copy file.f32 "$memory"
    bench limits --bytes=2MiB -r1 -j1 "$memory"
    rm -f "$memory"
    ok 'limits FILE: a file in memory is not cold' test "$status:$(grep -c cold- out):$(cat err)" = \
        '0:0:gpureduce-bench: warning: cannot drop the file from the page cache: uncached reading is not measured'
else
    skip 'limits FILE: a file in memory is not cold' 'no tmpfs'
fi
bench limits file.f32 -j1 --repeat 1 -b 1MiB
ok 'options behind the file' test "$status" = 0

bench limits --bytes=1MiB -r2 -j2 --progress
ok 'limits --progress' grep -q 'measuring memory-read' err
bench limits --bytes=1MiB -r2 -j2 --json --no-progress
ok 'limits --json: status' test "$status:$(cat err)" = 0:
if command -v jq >/dev/null; then
    ok 'limits --json: facts' jq -e '.table == "limits" and (.cpu | type) == "string" and
        .threads == 2 and .bytes == 1048576 and (.temporary_file_in | type) == "string" and
        ((.gpu | type) == "string" or (.no_gpu | type) == "string")' out
    ok 'limits --json: rows' jq -e '(.rows | length) > 10 and all(.rows[];
        .gigabytes_per_second >= .lowest_gigabytes_per_second and
        .gigabytes_per_second <= .highest_gigabytes_per_second and
        .lowest_gigabytes_per_second > 0 and .limit != null and .group != null and
        .what != null and .label != null)' out
    ok 'limits --json: threads and pieces' jq -e '[.rows[] | select(.limit == "cached-pread") |
        .threads, .piece_kibibytes] == [1, 256, 2, 256]' out
    ok 'limits --json: labels are unique' jq -e '[.rows[].label] | length == (unique | length)' out
else
    for name in facts rows 'threads and pieces' 'labels are unique'; do
        skip "limits --json: $name" 'no jq'
    done
fi

bench limits --bytes=1MiB -r1 -j1 --json=limits.json
ok 'limits --json=FILE: text is printed' grep -q '^  memory-read ' out
ok 'limits --json=FILE: an object is written' test "$(head -c 19 limits.json):$(tail -n 1 limits.json)" = \
    '{"table": "limits",:]}'
bench limits --bytes=1MiB -r1 -j1 --json=limits.json --json
ok 'limits --json=FILE --json: the last one counts' test "$(head -c 19 out)" = '{"table": "limits",'

# --save. The caches are said to be small, so that little data are enough.
small_caches=GPUREDUCE_CACHE_BYTES=262144
environment="XDG_CACHE_HOME=$work/cache $small_caches"
bench limits --bytes=1MiB -r1 -j1 --json --save
ok 'limits --save' cmp out cache/gpureduce/limits.json
ok 'limits --save says where' grep -q "saved as $work/cache/gpureduce/limits.json\$" err
copy cache/gpureduce/limits.json before
bench limits --bytes=1MiB -r1 -j1 --save
ok 'limits --save, again' test "$status:$(cmp -s cache/gpureduce/limits.json before; echo $?)" = 0:1
ok 'limits --save: nothing but the result is left' test "$(ls -A cache/gpureduce)" = limits.json
if [ -w /dev/full ]; then
    rm cache/gpureduce/limits.json
    bench limits --bytes=1MiB -r1 -j1 --json=/dev/full --save
    ok 'limits --save: whatever comes of another output' \
        test "$status:$(head -n 1 err):$(head -c 19 cache/gpureduce/limits.json)" = \
        '1:gpureduce-bench: /dev/full: No space left on device:{"table": "limits",'
else
    skip 'limits --save: whatever comes of another output' 'no /dev/full'
fi
if strace -qq -o trace true 2>/dev/null; then
    copy cache/gpureduce/limits.json before
    command='strace -e inject=fdatasync:error=EIO gpureduce-bench limits --save'
    env $small_caches XDG_CACHE_HOME="$work/cache" TMPDIR="$work/temporary" strace -f -qq -o trace -e trace=fdatasync \
        -e inject=fdatasync:error=EIO \
        "$bench" limits --bytes=1MiB -r1 -j1 --save >out 2>err
    status=$?
    is 'limits --save: not what lacks measurements' 1 "$(cat out)" "gpureduce-bench: $work/temporary: cannot write a temporary file: Input/output error
gpureduce-bench: warning: not saved: some measurements failed"
    ok 'limits --save: the last result stays then' cmp before cache/gpureduce/limits.json
else
    skip 'limits --save: not what lacks measurements' 'no strace that works here'
    skip 'limits --save: the last result stays then' 'no strace that works here'
fi
: >obstacle
environment="XDG_CACHE_HOME=$work/obstacle $small_caches"
bench limits --bytes=1MiB -r1 -j1 --save
is 'limits --save where it cannot: said before anything is measured' 1 '' \
    "gpureduce-bench: $work/obstacle/gpureduce/limits.json: Not a directory"
environment="-u XDG_CACHE_HOME HOME=$work/home $small_caches"
mkdir home
bench limits --bytes=1MiB -r1 -j1 --save
ok 'limits --save: the home directory' test -s home/.cache/gpureduce/limits.json
environment="-u XDG_CACHE_HOME -u HOME $small_caches"
bench limits --bytes=1MiB -r1 -j1 --save
is 'limits --save: nowhere' 1 '' 'gpureduce-bench: cannot save: neither XDG_CACHE_HOME nor HOME is set'
environment=

# Plots. This gnuplot keeps the script that it should run.
mkdir plotting
cat >plotting/gnuplot <<'END'
#!/bin/sh
[ "$1" = --version ] || cat >"$PLOT_SCRIPT"
END
chmod +x plotting/gnuplot
environment="PATH=$work/plotting:$PATH PLOT_SCRIPT=$work/plot.script"
bench limits --bytes=1MiB -r3 -j2 --json=plot.json --plot=plot.svg
environment=
ok 'limits --plot: the script' test "$status:$(grep -c '^plot ' plot.script)" = 0:1
ok 'limits --plot: a title says what is shown, and of what' grep -q \
    '^set title "How fast this machine delivers bytes (gpureduce-bench limits)\\n..*, up to 2 threads\\nbars: median rates; whiskers: from the slowest sample to the fastest"$' plot.script
# It is logarithmic where the bars are not alike, which slow builds may make them.
logarithmic=
if grep -q '^set logscale x$' plot.script; then
    logarithmic=', logarithmic scale'
fi
ok 'limits --plot: the axis is labelled' grep -qx "set xlabel \"GB/s (10^9 bytes a second)$logarithmic\"" plot.script
# Where the rates lie depends on the machine: each label is 2 or 2.5 times the one before it, or, where
# the axis is long, 10 times.
sed -n 's/^set xtics (\(.*\))$/\1/p' plot.script | tr ',' '\n' | awk '
    { ratio = NR > 1 ? $2 / before : 0; before = $2 }
    NR > 1 && ratio > 1.99 && ratio < 2.51 { short++ }
    NR > 1 && ratio > 9.99 && ratio < 10.01 { long++ }
    END { exit !(NR > 2 && (short == NR - 1 || long == NR - 1)) }'
ok 'limits --plot: so are 1, 2 and 5 of each power of ten' test "$?" -eq 0 -o -z "$logarithmic"
if command -v jq >/dev/null; then
    # Slot, median, lowest, highest, color, the median in words, label: as in the table.
    jq -r '.rows[] | [.gigabytes_per_second, .lowest_gigabytes_per_second,
        .highest_gigabytes_per_second, .label] | @tsv' plot.json >expected
    # shellcheck disable=SC2016 # for sed and eval
    sed -n '/^\$rows << /,/^END_OF_ROWS/s/^[0-9]* \([^ ]*\) \([^ ]*\) \([^ ]*\) [0-9]* "[^"]*" "\([^"]*\)".*/\1 \2 \3 \4/p' plot.script |
        awk '{ printf "%s\t%s\t%s\t", $1, $2, $3; $1 = $2 = $3 = ""; sub(/^ */, ""); print }' >drawn
    # Rates are written by different programs: digits at the end may differ.
    # shellcheck disable=SC2317 # eval calls it
    round() { awk -F '\t' '{ printf "%.9g %.9g %.9g %s\n", $1, $2, $3, $4 }' "$1"; }
    # shellcheck disable=SC2016 # eval expands it
    ok 'limits --plot: bars and whiskers are the medians, the lowest and the highest' \
        eval 'test -s drawn && test "$(round drawn)" = "$(round expected)"'
    jq -r '.rows[].group' plot.json | uniq >expected
    sed -n 's/^set label "\([^"]*\)" at graph 0.006.*/\1/p' plot.script >drawn
    ok 'limits --plot: the groups of the table' diff drawn expected
else
    skip 'limits --plot: bars and whiskers are the medians, the lowest and the highest' 'no jq'
    skip 'limits --plot: the groups of the table' 'no jq'
fi
# shellcheck disable=SC2016 # for sed
ok 'limits --plot: all values have two decimals' test "$(sed -n '/^\$rows << /,/^END_OF_ROWS/p' plot.script |
    grep -c '^[0-9].* "[0-9]*\.[0-9][0-9]" ')" = "$(grep -c '^[0-9]* [0-9]' plot.script)"
if command -v gnuplot >/dev/null && gnuplot --version >/dev/null 2>&1; then
    bench limits --bytes=1MiB -r1 -j1 --plot=plot.svg
    ok 'limits --plot: SVG' test "$status:$(grep -c '<svg' plot.svg)" = 0:1
    ok 'limits --plot: a bar is labelled' grep -q 'memory-read x 1' plot.svg
    ok 'limits --plot: SVG: the title' grep -q 'How fast this machine delivers bytes (gpureduce-bench limits)' plot.svg
    ok 'limits --plot: SVG: what bars and whiskers are' grep -q 'bars: median rates; whiskers: ' plot.svg
    ok 'limits --plot: SVG: a heading' grep -q 'exact f32 kernel' plot.svg
    ok 'limits --plot: SVG: the axis' grep -q 'GB/s (10^9 bytes a second)' plot.svg
    bench limits --bytes=1MiB -r1 -j1 --plot plot.png
    ok 'limits --plot: PNG' test "$status:$(head -c 4 plot.png | tail -c 3)" = 0:PNG
    bench limits --bytes=1MiB -r1 -j1 --plot nowhere/plot.png
    is 'limits --plot: a directory that is not there: said before anything is measured' 1 '' \
        'gpureduce-bench: nowhere/plot.png: No such file or directory'
else
    for name in SVG 'a bar is labelled' 'SVG: the title' 'SVG: what bars and whiskers are' \
        'SVG: a heading' 'SVG: the axis' PNG 'a directory that is not there'; do
        skip "limits --plot: $name" 'no gnuplot'
    done
fi

# Outputs that fail, and a signal.
if [ -w /dev/full ]; then
    shell 'gpureduce-bench limits --bytes=1MiB -r1 -j1 >/dev/full'
    is 'limits: a full disk' 1 '' 'gpureduce-bench: standard output: No space left on device'
else
    skip 'limits: a full disk' 'no /dev/full'
fi
# What is printed line by line is all there is.
shell 'gpureduce-bench limits --bytes=1MiB -r1 -j1 --progress >&-'
ok 'limits: closed standard output ends it' test "$status:$(grep -c 'memory-read\|gpu-read' err):$(grep -c cached-mapped err)" = 1:1:0
shell 'gpureduce-bench limits --bytes=1MiB -r1 -j1 --json=beside.json >&-'
ok 'limits: closed standard output, and the result goes to a file' \
    test "$status:$(grep -c cached-mapped beside.json)" = 1:1
shell 'gpureduce-bench limits --bytes=1MiB -r1 -j1 >&-'
is 'limits: closed standard output' 1 '' 'gpureduce-bench: standard output: Bad file descriptor'
shell 'TMPDIR=temporary gpureduce-bench limits --bytes=4MiB -r10000 -j1 >/dev/null & sleep 1; kill $!; wait $!'
ok 'limits: a signal ends it' test "$status" = 143
ok 'limits: a signal leaves no file' test "$(find temporary -type f | wc -l)" -eq 0

#
# The ladder. What it says of numbers is tested by itself: it verifies every rung.
#
bench ladder --elements=4096 --repeat=2 --rung=sequential,cub,production
if [ "$status" -eq 3 ]; then
    ok 'ladder without a GPU gives a reason' \
        test "$(cat out):$(grep -c '^gpureduce-bench: .*[a-z]' err):$(wc -l <err | tr -d ' ')" = :1:1
    skip 'ladder: rungs' 'there is no GPU'
else
    skip 'ladder without a GPU gives a reason' 'there is one'
    # shellcheck disable=SC2016 # it is awk's
    ok 'ladder: rungs' awk '
        $1 == "sequential" && $3 > 0 { sequential++ }
        $1 == "cub" && $3 > 0 { cub++ }
        $1 == "production" && $3 > 0 && / exact( |$)/ { production++ }
        END { exit !(sequential && cub && production) }' out
fi

finish
