#!/bin/sh
# The progress line, on terminals of several widths.
# Tags: threads

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

python=$(command -v python3)
if [ -z "$python" ] || ! "$python" "$sources/tests/lib/terminal.py" 80 true >/dev/null 2>&1; then
    skip 'progress' 'no python3 that can make a terminal'
    finish
fi

# slow FIFO SECONDS: a beginning of commands that read a FIFO. It brings 4108 bytes at once, of which
# the first 4096 tell that they are raw numbers, and 12 after SECONDS: it takes a second before there is
# a line, and some more to see it change. The program is the only one to write to the terminal. When the
# commands end, so does who would wait for a program that never opens the FIFO.
slow() {
    # shellcheck disable=SC2016 # for the shell that runs it
    printf '{ head -c 4096 /dev/zero; cat three.f32; sleep %s; cat three.f32; } >%s & trap "kill $! 2>/dev/null" EXIT; ' "$2" "$1"
}
three >three.f32
long=a-name-that-is-much-longer-than-what-a-line-of-a-terminal-has-room-for.f32
for fifo in several one quiet narrow resized none dumb "$long" job back; do
    mkfifo "$fifo"
done

# on_terminal NAME SIZE COMMAND: in the background; the output goes to NAME.tty.
on_terminal() {
    "$python" "$sources/tests/lib/terminal.py" "$2" "$3" >"$1.tty" 2>&1 </dev/null &
}
g='gpureduce -D cpu -o sum'
TERM=xterm
export TERM
on_terminal one 80 "$(slow one 2.2) $g one"
on_terminal several 80 "$(slow several 2.2) $g several three.f32"
on_terminal long 60 "$(slow "$long" 2.2) $g $long three.f32"
on_terminal quiet 80 "$(slow quiet 2.2) $g -q --progress quiet"
on_terminal narrow 12 "$(slow narrow 2.2) $g narrow three.f32"
on_terminal resized 80:4.7:20 "$(slow resized 7.2) $g resized three.f32"
on_terminal none 80 "$(slow none 2.2) $g -q none"
on_terminal dumb 80 "TERM=dumb; export TERM; $(slow dumb 2.2) $g dumb"
on_terminal job 80 "set -m; $(slow job 2.2) $g -q --progress job & wait \$!"
on_terminal back 80 "set -m; $(slow back 3.6) $g -q --progress back & sleep 2; echo FOREGROUND; fg >/dev/null"
wait

# lines FILE: the texts of the progress line, one a line; erasing begins each of them but the first.
lines() {
    tr '\r' '\n' <"$1" | sed 's/^.\[K//' | grep -v elements | grep ' [kMGT]*B/s\| %\|[0-9] [kMGT]B$'
}
# widest FILE: its longest line.
widest() {
    lines "$1" | awk '{ if (length > n) n = length } END { print n + 0 }'
}

ok 'the figures, in units that fit' test "$(lines one.tty | grep -cx '4\.11 kB  [0-9.]* kB/s  [0-9] s')" -ge 2
ok 'the line is erased at the end' grep -q "^.*$(printf '\r\033\[K')sum${tab}12" one.tty
ok 'a single file needs no name' test "$(lines one.tty | grep -c one)" -eq 0
ok 'one of several has its name' test "$(lines several.tty | grep -cx 'several  4\.11 kB  [0-9.]* kB/s  [0-9] s')" -ge 2
ok 'a long name is shortened in its middle' test "$(lines long.tty | grep -c '^a-name-.*\.\.\..*for\.f32  4\.11 kB')" -ge 2
ok 'in 60 columns it has 59' test "$(widest long.tty)" -eq 59
ok '-q --progress shows it' test "$(lines quiet.tty | grep -c 'kB/s')" -ge 2
ok '-q alone does not' test "$(lines none.tty | grep -c .)" -eq 0
ok 'none where it cannot be erased' sh -c "! grep -q '\[K' dumb.tty && grep -q '^sum.*12' dumb.tty"
ok 'few columns are enough' test "$(lines narrow.tty | grep -c .)" -ge 2 -a "$(widest narrow.tty)" -le 11
sed '/RESIZED/,$d' resized.tty >before.tty
awk 'seen; /RESIZED/ { seen = 1 }' resized.tty >after.tty
ok 'before it is resized' test "$(lines before.tty | grep -c resized)" -ge 2 -a "$(widest before.tty)" -ge 25
ok 'once it is, no line is wider than the terminal' \
    test "$(lines after.tty | grep -c .)" -ge 2 -a "$(widest after.tty)" -le 19
ok 'a background job shows nothing' test "$(lines job.tty | grep -c .)" -eq 0
ok 'nor does it erase anything' sh -c "! grep -q '\\[K' job.tty && grep -q '^12' job.tty"
sed '/FOREGROUND/,$d' back.tty >before.tty
awk 'seen; /FOREGROUND/ { seen = 1 }' back.tty >after.tty
ok 'a job that comes to the foreground shows it from there on' \
    test "$(lines before.tty | grep -c .)" -eq 0 -a "$(lines after.tty | grep -c 'kB/s')" -ge 2
if [ "$failures" -gt 0 ]; then
    for file in *.tty; do
        echo "# $file"
        tr '\r' '\n' <"$file" | cat -v | sed 's/^/#   /'
    done
fi

# Where standard error is no terminal.
mkfifo file
shell "$(slow file 1.6) gpureduce -q -o sum --progress file"
ok '--progress needs no terminal' test "$status:$(cat out)" = 0:12 -a "$(lines err | grep -c 'kB/s')" -ge 1
shell "$(slow file 1.2) gpureduce -q -o sum file"
is 'without a terminal there is none' 0 12
shell "$(slow file 1.2) gpureduce -q -o sum --progress --no-progress file"
is 'of --progress and --no-progress the last one counts' 0 12
finish
