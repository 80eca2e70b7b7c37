#!/bin/sh
# Pipes, FIFOs, devices, offsets of standard input, signals and terminals.
# Tags: threads ports

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

least_chunk=12

three >three.f32
printf '\0\0\200\100' >four.f32
printf '6\n' >six

#
# Standard input, in its ways.
#
shell 'cat three.f32 | gpureduce -q -o sum'
is 'no file: standard input' 0 6
shell 'cat three.f32 | gpureduce - -q -o sum'
is '-: standard input' 0 6
shell 'gpureduce -q -o sum <three.f32'
is 'standard input from a file' 0 6
shell 'gpureduce three.f32 -o sum -q | cmp - six'
is 'one number for a pipeline' 0 ''
shell 'cat three.f32 | gpureduce'
golden 'with names and statistics' 0 plain
shell 'cat four.f32 | gpureduce -q -o sum three.f32 - three.f32'
is 'standard input between files' 0 "6
4
6"
shell 'cat three.f32 | gpureduce -o sum - four.f32'
is 'its heading is its name' 0 "-:
sum${tab}6
four.f32:
sum${tab}4" '*'
copy four.f32 ./-
shell 'cat three.f32 | gpureduce -q -o sum ./- -'
is 'a file whose name is -' 0 "4
6"
shell 'cat three.f32 | gpureduce -q -o count - -'
is 'a pipe is read once' 0 "3
0"
shell 'gpureduce -q -o count - - <three.f32'
is 'a file as often as it is named' 0 "3
3"
{ printf '6\n6\n' && three; } >expected
shell '{ gpureduce -q -o sum; gpureduce -q -o sum; cat; } <three.f32 | cmp - expected'
is 'the offset of a file stays where it is' 0 ''
if [ -n "$ZSTD" ]; then
    shell "'$ZSTD' -dc data/waves.f32.zst | gpureduce -q -"
    grep "^waves.f32.zst${tab}none" data/expected.tsv | cut -f 4 | head -n 4 >expected
    is 'zstd -dc' 0 "$(cat expected)"
    shell "cat three.f32 | '$ZSTD' -q | gpureduce -q -o sum"
    is 'compressed on the way' 0 6
else
    skip 'zstd -dc' 'no zstd'
fi
shell 'cat data/zstd/array-torn-unsized.npy.zst | gpureduce -q -o count'
is '.npy, compressed, from a pipe' 0 600

# From where the file stands, whatever it is.
for file in three.f32 data/npy/v1-f4.npy data/npy/unpadded.npy data/zstd/one.f32.zst \
    data/zstd/frames-torn.f32.zst data/zstd/frames-unsized.f32.zst data/zstd/array-torn.npy.zst \
    data/zstd/pzstd.f32.zst; do
    run -q -o sum,count,argmin,argmax "$file"
    copy out expected
    for before in 1 4 4096; do
        { dd if=/dev/zero bs="$before" count=1 2>/dev/null && cat "$file"; } >behind
        shell "{ dd bs=$before count=1 of=/dev/null 2>/dev/null
            gpureduce -q -o sum,count,argmin,argmax; } <behind"
        is "$file behind $before bytes" 0 "$(cat expected)"
    done
done
shell '{ dd bs=4 count=1 of=/dev/null 2>/dev/null; gpureduce -q -o sum --skip 4; } <three.f32'
is '--skip counts from there' 0 3
shell '{ cat >/dev/null; gpureduce -q -o count; } <three.f32'
is 'at the end there is nothing' 0 0
shell 'gpureduce -q -o count <three.f32 3<three.f32 4>>three.f32'
is 'other descriptors do not matter' 0 3

# Writes of any size.
shell 'dd if=data/raw/mixed-le.f64 bs=1 2>/dev/null | gpureduce -q -o sum -t f64'
is 'a byte at a time' 0 "$(grep "^raw/mixed-le.f64${tab}-t f64${tab}sum" data/expected.tsv | cut -f 4)"
shell 'dd if=data/zstd/frames.f32.zst bs=7 2>/dev/null | gpureduce -q -o sum,count'
is 'seven bytes at a time, compressed' 0 "304.5
2000"
shell 'dd if=data/npy/v2-f4.npy bs=3 2>/dev/null | gpureduce -q -o count'
is 'three bytes at a time, .npy' 0 105

#
# FIFOs. Opening one waits for the other end, so a writer knows that the program has come to it.
# Should it never do so, `release` lets the writer go, which must look for ./ended.
#
mkfifo fifo fifo2
release() {
    : >ended
    exec 4<>fifo 5<>fifo2
    wait
    exec 4<&- 5<&-
    rm ended
}
cat three.f32 >fifo &
run -q -o sum fifo
is 'a FIFO' 0 6
release
{
    cat three.f32 >fifo
    cat four.f32 >fifo2
} &
run -q -o sum fifo fifo2
is 'two FIFOs' 0 "6
4"
release
# Results do not wait for the files behind them: one is there when the next file is opened.
: >first
{
    exec 3>fifo
    if [ ! -e ended ]; then
        cat out >first
        cat four.f32 >&3
    fi
} &
run -q -o sum three.f32 fifo
is 'a result for each file' 0 "6
4"
release
ok 'a result is printed as soon as it is there' same first 6

#
# Devices and files without a size.
#
run -q -o sum,count /dev/null
is '/dev/null' 0 "0
0"
run -q -o sum,count --format raw /dev/null
is '/dev/null, raw' 0 "0
0"
if [ -r /dev/zero ]; then
    run -q -o sum,min,count --length 1000000 /dev/zero
    is '/dev/zero --length' 0 "0
0
1000000"
    run -q -o count --length 1000 --skip 12345678 -t f64 -j 3 --chunk-size 100 /dev/zero
    is '/dev/zero --skip --length' 0 1000
    run -q -o count --length 0 /dev/zero
    is '/dev/zero --length 0' 0 0
else
    skip '/dev/zero' 'there is none'
fi
if [ -r /proc/version ]; then
    shell 'cat /proc/version | gpureduce -q -t f16 --format=raw --length 8'
    copy out expected
    run -q -t f16 --format=raw --length 8 /proc/version
    is 'a file of /proc' 0 "$(cat expected)"
else
    skip 'a file of /proc' 'there is none'
fi

# An endless input ends with what is asked for, and with an error.
shell 'yes 2>/dev/null | gpureduce -q -o count --length 100000'
is '--length ends an endless pipe' 0 100000
# With the newline of `yes` these bytes are numbers; from the newline on they are NaNs.
nan=$(printf '\377\377\377')
shell "yes '$nan' 2>/dev/null | gpureduce --nan=error --skip 3"
fails '--nan=error ends an endless pipe' 'standard input: element 0 is a NaN'
shell '{ printf "\050\265\057\375\240\0\0\0\0\007\0\0"; yes 2>/dev/null; } | gpureduce'
fails_like 'damage ends an endless pipe' 'standard input: byte 0: zstd frame is damaged: .*'
shell 'yes 2>/dev/null | gpureduce --format npy'
fails 'a wrong format ends an endless pipe' \
    'standard input: not a .npy file: byte 0 does not begin its magic string'

#
# Signals. A signal that the caller has all its children ignore cannot be tested.
#
# The braces around what dies are there for the shell's own remarks about it.
#
# dies NAME SIGNAL NUMBER: the program waits at an open FIFO when it gets the signal.
dies() {
    if { sh -c "kill -$2 \$\$; exit 0"; } 2>/dev/null; then
        skip "$1" "SIG$2 is ignored here"
        return
    fi
    {
        # Opening waits for the program to do the same.
        exec 3>fifo
        if [ ! -e ended ]; then
            cat three.f32 >&3
            kill -"$2" "$(cat pid)"
            # Nothing may end the program but the signal: not the end of the file.
            sleep 0.3
        fi
    } &
    command="gpureduce -o sum fifo, and then kill -$2"
    # In the foreground: a shell has its background jobs ignore SIGINT.
    { sh -c 'echo $$ >pid && exec gpureduce -o sum fifo >out 2>err'; } 2>/dev/null
    status=$?
    is "$1" $((128 + $3)) ''
    release
}
dies 'SIGINT ends the program without a result' INT 2
dies 'SIGTERM ends the program without a result' TERM 15
dies 'SIGHUP ends the program without a result' HUP 1

# What progress has put on the terminal's last line goes with the program.
if { sh -c 'kill -INT $$; exit 0'; } 2>/dev/null; then
    skip 'SIGINT erases the progress' 'SIGINT is ignored here'
else
    {
        exec 3>fifo
        [ -e ended ] || head -c 4096 /dev/zero >&3 # what tells the format is read first
        i=0
        while [ ! -e ended ] && [ ! -s err ] && [ "$i" -lt 200 ]; do
            sleep 0.1
            i=$((i + 1))
        done
        if [ ! -e ended ]; then
            kill -INT "$(cat pid)"
            sleep 0.3
        fi
    } &
    : >err
    command='gpureduce --progress fifo, and then kill -INT'
    { sh -c 'echo $$ >pid && exec gpureduce --progress fifo >out 2>err'; } 2>/dev/null
    status=$?
    ok 'SIGINT erases the progress' \
        test "$status:$(cat out):$(tr '\r\033' RE <err | sed 's/.*R/R/')" = '130::RE[K'
    release
fi

if { sh -c 'kill -PIPE $$; exit 0'; } 2>/dev/null; then
    skip 'SIGPIPE' 'it is ignored here'
else
    # Nobody reads: the FIFO says when that is so.
    {
        read -r _ <fifo
        "$GPUREDUCE" -o sum three.f32 four.f32 2>err
        echo $? >status
    } | {
        exec <&-
        sleep 0.5 # the shell that made the pipe closes its end meanwhile
        echo go >fifo
    }
    command='gpureduce -o sum three.f32 four.f32 into a pipe that nobody reads'
    status=$(cat status)
    : >out
    is 'SIGPIPE ends the program in silence' 141 ''
fi
# The same with the signal ignored: an error of writing then.
{
    trap '' PIPE
    read -r _ <fifo
    "$GPUREDUCE" -q -o sum three.f32 2>err
    echo $? >status
} | {
    exec <&-
    sleep 0.5
    echo go >fifo
}
status=$(cat status)
: >out
fails 'a pipe that nobody reads, with SIGPIPE ignored' 'standard output: Broken pipe'

# dd leaves the pipe so that a write that does not fit fails instead of waiting.
if dd if=/dev/null of=/dev/null oflag=nonblock count=0 2>/dev/null; then
    head -c 400000 /dev/zero >many.f32
    run -q --axis=1 --shape=-1,1 -o sum,min,mean many.f32
    copy out expected
    shell '{ dd if=/dev/null oflag=nonblock count=0 2>/dev/null
        gpureduce -q --axis=1 --shape=-1,1 -o sum,min,mean many.f32; echo $? >code; } | { sleep 0.3; cat; }'
    ok 'output into a pipe that does not wait' test "$(cat code):$(cat err)" = 0:
    ok 'output into a pipe that does not wait loses nothing' cmp out expected
else
    skip 'output into a pipe that does not wait' 'dd knows no oflag=nonblock'
    skip 'output into a pipe that does not wait loses nothing' 'dd knows no oflag=nonblock'
fi

#
# Terminals.
#
if find_python pty; then
    # The master of a terminal is no terminal that can be opened anew.
    "$python" - "$program" >found <<'END'
import os, pty, select, subprocess, sys, tty
master, terminal = pty.openpty()
tty.setraw(terminal)
os.set_blocking(master, False)
status = subprocess.call([sys.argv[1], "-q", "-o", "sum", "three.f32"], stdout=master)
print(status, select.select([terminal], [], [], 1)[0] and os.read(terminal, 100))
END
    ok 'output into the master of a terminal, which does not wait' test "$(cat found)" = "0 b'6\\n'"
else
    skip 'output into the master of a terminal, which does not wait' 'Python is missing'
fi
if command -v script >/dev/null && script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    for words in '' - 'three.f32 -' '-q -o sum -'; do
        script -qec "gpureduce $words; echo status \$?" /dev/null </dev/null >terminal 2>&1
        ok "a terminal is no standard input: gpureduce $words" test "$(tr -d '\r' <terminal)" = \
            "gpureduce: standard input is a terminal: name a file, or pipe one in (try 'gpureduce --help')
status 2"
    done
    script -qec "gpureduce -q -o sum three.f32; echo status \$?" /dev/null </dev/null >terminal 2>&1
    ok 'a terminal that is not read does not matter' test "$(tr -d '\r' <terminal)" = "6
status 0"
    script -qec "gpureduce -q -o sum <three.f32; echo status \$?" /dev/null </dev/null >terminal 2>&1
    ok 'nor does one for the outputs' test "$(tr -d '\r' <terminal)" = "6
status 0"
else
    skip 'terminals' 'there is no script that can run a command'
fi

finish
