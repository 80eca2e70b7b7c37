#!/bin/sh
# What the system refuses, cuts short or takes away: every such run ends in time, either with the
# right bits, or with status 1, one line and no result. System calls are made to fail by strace,
# and the C library's functions by tests/lib/shim.c; they are the program's own, so nothing may stand
# before it that lib.sh knows of.
# Tags: threads

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

least_chunk=12

ops=sum,mean,min,max,argmin,argmax,count,nan,inf

# Such as those of make: what the program opens is to have the next number.
exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-

# Nothing here takes as long, with any sanitizer.
hang=60

# Whether the kernel has an emulator run the program, which is for another machine: emulators need
# threads and memory of their own. Byte 18 of ELF is the machine: 3 for i386, 62 for x86-64.
case $(uname -m):$(od -An -tu1 -j18 -N1 "$program" | tr -d ' ') in
x86_64:62 | x86_64:3) emulated= ;;
x86_64:*) emulated=yes ;;
*) emulated= ;; # on others it is not looked for
esac

#
# Inputs: read, mapped, of several formats. `expected` is what they all give.
#
large_files 'faults in zstd data'
head -c 3000000 large >small
shell "cat large | gpureduce -q -j 1 --chunk-size 4096 -o $ops"
expected=$(cat out)
shell "cat small | gpureduce -q -j 1 --chunk-size 4096 -o $ops"
expected_small=$(cat out)
mkdir model indexed
safetensors model/a.safetensors one:F32:750000:small
safetensors model/b.safetensors two:F32:2250002:large
cp model/* indexed
echo '{"weight_map": {"one": "a.safetensors", "two": "b.safetensors"}}' >indexed/m.safetensors.index.json

# wanted FILE: what it gives.
wanted() {
    case $1 in
    small) printf '%s\n' "$expected_small" ;;
    *) printf '%s\n' "$expected" ;;
    esac
}

# one_line: whether the last run failed as it should: status 1, no result, one line. --diff has other
# statuses.
done_well=0 done_badly=1
one_line() {
    [ "$status" -eq "$done_badly" ] && no_result && [ "$(wc -l <err)" -eq 1 ] && grep -q '^gpureduce: ' err
}

# either NAME TEXT EXPRESSION: the last run gave this result, or failed with such a line.
either() {
    if [ "$status" -eq 0 ]; then
        is "$1" 0 "$2"
    else
        fails_like "$1" "$3"
    fi
}

#
# System calls that fail.
#
if strace -qq -o trace true 2>/dev/null; then
    traced=true
else
    traced=false
    skip 'system calls that fail' 'no strace that works here'
fi

# Of system calls that have other names where numbers have 32 bits.
mmap='/^mmap2?$' fcntl='/^fcntl(64)?$'

# inject CALLS:WHAT PATH ARGUMENT...: a run of which these system calls, those that have to do with
# the path where one is given, fail.
inject() {
    injection=$1 path=$2
    shift 2
    command="strace -e inject=$injection -P $path gpureduce $*"
    timeout "$hang" strace -f -qq -o trace ${path:+-P "$path"} -e trace="${injection%%:*}" \
        -e inject="$injection" -E ASAN_OPTIONS=detect_leaks=0 "$program" "$@" >out 2>err
    status=$?
    grep -q INJECTED trace || echo 'nothing was injected' >>err
}

# evict FILE: out of the page cache, where that can be done.
evict() {
    sync "$1" && dd if="$1" iflag=nocache count=0 2>/dev/null
}

if $traced; then
    for file in small large large.npy $zstd_files; do
        inject pread64:error=EINTR:when=1+2 "$work/$file" -q -j 2 -o "$ops" "$file"
        is "$file: every other read is interrupted" 0 "$(wanted "$file")"
        for error in EIO ENOMEM EAGAIN; do
            inject "pread64:error=$error:when=1" "$work/$file" -q -j 2 -o "$ops" "$file"
            fails_like "$file: $error at the first read" "$file: read error at byte 0: .*"
        done
        inject "$mmap:error=ENOMEM" "$work/$file" -q -j 2 -o "$ops" "$file"
        case $file in
        small | one.zst) ;; # is not mapped
        *) is "$file: it cannot be mapped" 0 "$(wanted "$file")" ;;
        esac
        inject '?open,openat:error=EMFILE' "$work/$file" -q "$work/$file"
        fails "$file: too many open files" "$work/$file: Too many open files"
        inject '?fstat,?newfstatat,?statx:error=EIO:when=1+' "$work/$file" -q "$work/$file"
        fails "$file: nothing is known of it" "$work/$file: Input/output error"
    done
    for file in small $zstd_files; do
        inject pread64:error=EIO:when=5 "$work/$file" -q -j 2 -o "$ops" "$file"
        fails_like "$file: EIO in the middle" "$file: read error at byte [1-9][0-9]*: Input.*"
    done
    inject pread64:error=EIO:when=5 "$work/small" -q -o count small large
    is 'the files behind one that cannot be read' 1 "$(printf 'NA\n2250002')" '*'
    # Asking and advising about the page cache; where it is not to be had, it goes on without. TSan
    # wants madvise for itself, and both sanitizers munmap.
    for call in ${sanitizer:-madvise munmap} mincore; do
        [ "$call" = "$sanitizer" ] && continue
        for error in ENOSYS EIO; do
            inject "$call:error=$error" '' -q -j 2 -o "$ops" large
            is "large: $call fails, $error" 0 "$expected"
        done
        if [ -n "$ZSTD" ] && [ "$call" != mincore ]; then
            inject "$call:error=ENOSYS" '' -q -j 2 -o "$ops" frames.zst
            is "frames.zst: $call fails" 0 "$expected"
        fi
    done
    inject close:error=EIO "$work/large" -q -j 2 -o "$ops" large
    is 'large: closing it fails' 0 "$expected"
    inject "$fcntl:error=EINVAL" "$work/large" -q -j 2 -o "$ops" large
    is 'large: its flags cannot be had' 0 "$expected"

    # Past the page cache. strace counts the calls of each thread.
    evict large
    if cached=$(fincore -nbr -o PAGES large 2>/dev/null) && [ "${cached##* }" = 0 ]; then
        for fault in pread64:error=EINTR:when=1+2 pread64:error=EIO:when=3 \
            pread64:error=ENOMEM:when=4 pread64:error=EAGAIN:when=3; do
            evict large
            inject "$fault" "$work/large" -q -j 1 -o "$ops" large
            is "not cached: $fault" 0 "$expected"
        done
        evict large
        inject pread64:error=EIO:when=3+ "$work/large" -q -j 2 -o "$ops" large
        fails_like 'not cached: EIO' 'large: read error at byte [0-9]*: Input/output error'
        for error in EACCES ENOENT EMFILE EINVAL; do
            evict large
            inject "?open,openat:error=$error" /proc/self/fd/3 -q -j 2 -o "$ops" large
            is "not cached, and not to be opened again: $error" 0 "$expected"
        done
    else
        skip 'not cached' 'no fincore, or a file system that keeps files in memory'
    fi

    # A directory that cannot be read to its end: its files are not those that were found so far.
    for fault in 1 2; do
        inject "getdents64:error=EIO:when=$fault" "$work/model" -q -o count model
        fails "a directory, EIO at call $fault" 'model: Input/output error'
    done
    cp -R data/containers/small2.zarr store
    for fault in 1 2; do # not with a GPU, for which the work is estimated before
        inject "getdents64:error=EIO:when=$fault" "$work/store/layer" -q -D cpu -o count store
        fails "a group of Zarr, EIO at call $fault" 'store: a Zarr store: layer: Input/output error'
    done
    inject '?open,openat:error=EACCES' "$work/model" -q -o count "$work/model"
    fails_like 'a directory that may not be read' '.*/model: Permission denied'

    # A pipe. Opening the FIFO waits for the program to do the same.
    mkfifo fifo
    for fault in read:error=EINTR:when=1+2 read:error=EIO:when=4 read:error=EAGAIN:when=3; do
        { cat large >fifo; } 2>/dev/null &
        inject "$fault" "$work/fifo" -q -j 2 -o "$ops" fifo
        wait
        case $fault in
        *EIO*) fails_like "a pipe: $fault" 'fifo: read error at byte [0-9]*: Input/output error' ;;
        *) is "a pipe: $fault" 0 "$expected" ;;
        esac
    done

    # Small chunks go out of memory together: the file of 9 MB has 2198 of this size. Each worker leaves
    # 2 MiB at most.
    for threads in 1 3; do
        cat large >/dev/null # into the page cache: nothing else is mapped
        strace -f -qq -o trace -e trace=madvise "$program" -q -j $threads --chunk-size 4096 \
            -o "$ops" large >out 2>err
        calls=$(grep -c MADV_DONTNEED trace)
        ok "small chunks are released together, $threads threads: $calls calls" \
            test "$calls" -ge 4 -a "$calls" -le 40
    done

    if [ "$sanitizer" = __tsan_init ] || [ -n "$emulated" ]; then
        skip 'threads that cannot be started' 'TSan, or the emulator, starts one first'
    else
        inject '?clone,?clone3:error=EAGAIN' '' -q -j 3 -o "$ops" large
        is 'no thread can be started' 0 "$expected" \
            'gpureduce: warning: large: cannot start a thread: reducing without one'
        inject '?clone,?clone3:error=EAGAIN' '' -q -j 3 -o "$ops" large large.npy large
        is 'no thread can be started, several files' 0 "$expected
$expected
$expected" 'gpureduce: warning: large: cannot start a thread: reducing without one'
        for file in $zstd_files; do
            inject '?clone,?clone3:error=EAGAIN' '' -q -j 3 -o "$ops" "$file"
            is "$file: no thread can be started" 0 "$expected" \
                "gpureduce: warning: $file: cannot start a thread: reducing without one"
        done
        for first in 2 3; do # of those that the first thread starts, half of which start others
            inject "?clone,?clone3:error=EAGAIN:when=$first+" '' -q -j 8 -o "$ops" large
            is "thread $first and those behind it cannot be started" 0 "$expected"
        done
        for file in $zstd_files; do
            inject '?clone,?clone3:error=EAGAIN:when=2+' '' -q -j 3 -o "$ops" "$file"
            case $file in
            one.zst) sed -i '/nothing was injected/d' err ;; # it may ask for one thread alone
            esac
            is "$file: one thread alone" 0 "$expected"
        done
    fi

    # Results along an axis, into a file, in any order: here they are the elements. A run that fails
    # or is killed leaves the file that was there.
    # shellcheck disable=SC2317 # `ok` calls it
    written() { tail -c +129 axis.npy | cmp -s - small; }
    # along INJECTION THREADS: writes the elements of `small`.
    along() {
        inject "$1" '' -q --axis=1 --shape=-1,1 -t i32 -o min -j "$2" --chunk-size=65536 \
            "--output=$work/axis.npy" small
    }
    along pwrite64:error=EINTR:when=1+2 3
    is 'results: interrupted' 0 ''
    ok 'and written' written
    along pwrite64:error=EINVAL:when=2 1
    is 'results: some not out of order' 0 ''
    ok 'and written' written
    for fault in EIO:when=3 ENOSPC:when=5+; do
        echo before >axis.npy
        along "pwrite64:error=$fault" 3
        fails_like "results: $fault" "$work/axis.npy: .*"
        ok 'and the file is as before' test "$(cat axis.npy)" = before
    done
    along pwrite64:signal=KILL:when=5 3
    ok 'results: killed' test "$((status > 128)):$(cat axis.npy)" = 1:before

    # Standard output.
    inject write,writev:error=EIO "$work/out" -q -o sum large
    fails 'EIO on output' 'standard output: Input/output error'
    inject close:error=EDQUOT "$work/out" -q -o sum large
    is 'a failure that closing tells' 1 "$(printf '%s\n' "$expected" | head -n 1)" \
        'gpureduce: standard output: Disk quota exceeded'
fi

#
# Output that cannot be written: one line, however much there is.
#
if [ -w /dev/full ]; then
    for words in 'small' '-q small' '--json small' '--json -v small small small' '--help' '--version' \
        '-q small small small'; do
        # shellcheck disable=SC2086 # several words
        timeout "$hang" "$GPUREDUCE" $words >/dev/full 2>err
        status=$?
        command="gpureduce $words >/dev/full"
        : >out
        ok "a full disk: $words" test "$status:$(grep '^gpureduce: ' err)" = \
            '1:gpureduce: standard output: No space left on device'
    done
else
    skip 'a full disk' 'no /dev/full'
fi
# A file system of one page.
cat >on_full <<'END'
mkdir full && mount -t tmpfs -o size=4k none full || exit 77
i=0
while [ "$i" -lt 400 ]; do
    set -- "$@" data/npy/v1-f4.npy
    i=$((i + 1))
done
gpureduce --json "$@" >full/out 2>err
END
command='gpureduce --json data/npy/v1-f4.npy ... >full/out'
{ unshare -m true && unshare -m sh ./on_full; } 2>/dev/null
status=$?
: >out
if [ -e full ] && [ "$status" -ne 77 ]; then
    fails 'a file system that is full' 'standard output: No space left on device'
else
    skip 'a file system that is full' 'no file system can be mounted'
fi
many=$(i=0 && while [ "$i" -lt 40 ]; do echo small large && i=$((i + 1)); done | tr '\n' ' ')
shell "ulimit -f 1; '$program' -q $many >limited"
fails 'a limit on the size of files' 'standard output: File too large'
shell "'$program' -q small >&-"
fails 'a closed standard output' 'standard output: Bad file descriptor'
shell 'gpureduce -q -o count small 2>&-'
is 'a closed standard error' 0 750000
shell 'gpureduce missing 2>/dev/full'
is 'a standard error that is full' 1 ''

#
# Limits.
#
# Below some size the program cannot be loaded. It differs between builds and machines, so it is looked
# for first.
if [ -n "$sanitizer$CHECK_UNDER$emulated" ]; then
    skip 'limits on memory' 'sanitizers, valgrind and emulators need much of it'
else
    # starts KILOBYTES: whether the program can be loaded.
    # shellcheck disable=SC2317 # `ok` calls it
    starts() {
        sh -c "ulimit -v $1; gpureduce --version" >/dev/null 2>&1
    }
    refused=0 least=1024
    until starts $least || [ $least -gt 100000000 ]; do
        refused=$least least=$((2 * least))
    done
    while [ $((least - refused)) -gt 16 ]; do
        middle=$(((least + refused) / 2))
        if starts $middle; then
            least=$middle
        else
            refused=$middle
        fi
    done
    results=0 refusals=0 good=true
    # Not less: what is mapped differs by some pages from run to run.
    for more in 64 96 128 192 256 384 512 768 1024 1536 2048 3072 4096 6144 8192 12288 16384 24576 \
        32768 49152 65536 98304 131072 196608; do
        for file in small large large.npy $zstd_files; do
            shell "ulimit -v $((least + more)); gpureduce -q -j 4 -o $ops $file"
            if [ "$status" -eq 0 ] && same out "$(wanted "$file")"; then
                results=$((results + 1))
            elif one_line && grep -q 'out of memory' err; then
                refusals=$((refusals + 1))
            else
                $good && explain
                good=false
            fi
        done
    done
    ok "limits on memory, from $least KiB on: $results results and $refusals refusals" \
        test "$good" = true -a "$results" -gt 9 -a "$refusals" -gt 4
    # Arrays that are read one by one, each of which may lack memory: it is said once.
    # shellcheck disable=SC2046 # words
    three >three.f32 && safetensors arrays.safetensors $(i=0 && while [ $i -lt 40 ]; do echo a$i:F32:3:three.f32 && i=$((i + 1)); done)
    refusals=0 good=true
    for more in 64 256 512 768 1024 1280 1536 1792 2048 2304 2560 2816 3072 3328 3584 3840 4096 8192; do
        for how in '-o median' '--total -o summary' '--sort=p5' --axis=0; do
            shell "ulimit -v $((least + more)); gpureduce -q -D cpu -j 1 $how arrays.safetensors"
            case $(grep -c 'out of memory$' err) in
            0) ;;
            1) refusals=$((refusals + 1)) ;;
            *)
                $good && explain
                good=false
                ;;
            esac
        done
    done
    ok "arrays that lack memory: $refusals refusals" test "$good" = true -a "$refusals" -gt 4
fi
if [ "$sanitizer" = __tsan_init ]; then
    skip 'a small stack' "functions of the sanitizer's own need more"
else
    shell "ulimit -s 128; gpureduce -q -j 3 -o $ops large"
    is 'a small stack' 0 "$expected"
fi
# An environment takes from the stack.
if [ -n "$sanitizer$CHECK_UNDER$emulated" ]; then
    skip 'a stack of 64 KiB' 'sanitizers, valgrind and emulators need more'
else
    gpureduce -q --partial large >partials
    gpureduce --json large >record
    { head -c 5000000 large && printf 'a' && tail -c +5000002 large; } >altered
    good=true
    # stack ARGUMENT...: the program prints and says the same with a small stack. A command line that
    # is wrong, whose status is 2, would show nothing.
    stack() {
        command="ulimit -s 64; gpureduce -D cpu -q -j 3 $*"
        "$program" -D cpu -q -j 3 "$@" >wanted.out 2>wanted.err
        wanted_status=$?
        # shellcheck disable=SC2016 # for the shell that runs it
        env -i sh -c 'ulimit -s 64 && exec "$@"' sh "$program" -D cpu -q -j 3 "$@" >out 2>err
        status=$?
        if [ $wanted_status -gt 1 ] || [ $status -ne $wanted_status ] ||
            [ "$(normalise out)" != "$(normalise wanted.out)" ] || ! cmp -s err wanted.err; then
            $good && explain
            good=false
        fi
    }
    for type in f32 f16 f64 i16 u32 i64 f8e4m3; do
        stack -t $type -o "$ops,std,l1,range,zeros,median,p99.9" --histogram=100,-1,1 \
            --nan=skip large
        stack -t $type -o "$ops,median" --total --histogram=10,-1,1 small large
        stack -t $type -o "$ops,std" --axis=0 --shape=-1,250 small
        stack -t $type -o "$ops,std" --axis=1 --shape=250,-1 small
        stack -t $type -o "median,p10,p90" --axis=0 --shape=-1,250 small
        stack -t $type -o "median,p10,p90" --axis=1 --shape=5,-1 small
        stack -t $type --tolerance=ulp:1 --diff small large
        stack -t $type --diff large altered
    done
    # shellcheck disable=SC2086 # several words
    for how in '-o median,sum' '--json -o summary,var' '--tsv --sort=max -o summary' --list --axis=0 --partial \
        '--histogram=20'; do
        stack $how small
        stack $how large.npy
        stack $how data/waves.f32.zst
        for file in $zstd_files data/containers/*; do
            stack $how "$file"
        done
    done
    stack --merge partials
    stack --check=record
    stack --diff data/containers/stored.npz data/containers/deflated.npz
    stack --diff model data/containers
    stack --help
    ok 'a stack of 64 KiB' test "$good" = true
fi
shell "ulimit -n 5; '$program' -q -o count $many"
ok 'few open files are enough for many' test "$status:$(sort -u out | tr '\n' ' '):$(wc -l <out)" = \
    '0:2250002 750000 :80'
nobody='setpriv --reuid 65534 --clear-groups'
chmod 755 "$work"
if [ -n "$emulated" ]; then
    skip 'a limit on threads' 'the emulator needs some'
elif $nobody prlimit --nproc=9 gpureduce -q small >/dev/null 2>&1; then
    # No process of this user is likely to be there but this one.
    shell "ASAN_OPTIONS=detect_leaks=0 prlimit --nproc=1 $nobody gpureduce -q -j 3 -o $ops large"
    sed -i '/warning: large: cannot start a thread: reducing without one/d' err # not on all systems
    is 'a limit on threads' 0 "$expected"
else
    skip 'a limit on threads' 'this user cannot become another'
fi

#
# A disk that loses a part: a file system whose image becomes shorter, so that reading the end of a
# file fails. Its owner has it read past the page cache; for others it is mapped.
#
cat >on_disk <<'END'
exec 2>/dev/null
truncate -s 30M image && mkfs.ext4 -q -F image && mkdir disk && mount -o loop image disk &&
    cp large disk/large && umount disk && mount -o loop image disk && chmod 755 disk &&
    chmod 644 disk/large || exit 77
# From the middle of the extent on that is the last on the disk: the file begins before that.
blocks=$(filefrag -b4096 -v disk/large |
    sed -n 's/^ *[0-9]*: *[0-9]*\.\. *[0-9]*: *\([0-9]*\)\.\. *\([0-9]*\):.*/\2 + \1/p' | sort -n | tail -n 1)
[ -n "$blocks" ] && truncate -s "$((($blocks) / 2 * 4096))" image && cd disk || exit 77
ASAN_OPTIONS=detect_leaks=0 $2 "$3" -q -j "$1" --chunk-size 64K large >../out 2>../err
END
for user in '' "$nobody"; do
    for threads in 1 3; do
        command="on a broken disk: $user gpureduce -q -j $threads large"
        rm -rf disk image
        { unshare -m true && unshare -m sh ./on_disk "$threads" "$user" "$program"; } 2>/dev/null
        status=$?
        if [ -e disk ] && [ "$status" -ne 77 ]; then
            fails_like "a broken disk, $threads threads${user:+, not its owner}" \
                'large: read error at byte [1-9][0-9]*: Input/output error'
        else
            skip 'a broken disk' 'no file system can be mounted'
        fi
    done
done

#
# The C library: reads cut short, memory that is refused, and things that happen at a known moment.
#
# preload SETTINGS ARGUMENT...: a run under tests/lib/shim.c; for the settings, see there.
preload() {
    settings=$1
    shift
    command="$settings gpureduce $*"
    # The inner shell keeps the outer one's remarks about a signal out of ./err.
    # shellcheck disable=SC2086 # several words
    sh -c 'exec "$@" >out 2>err' sh timeout "$hang" env $preload $settings "$program" "$@"
    status=$?
}
rm -f mark
preload "FAULT_ALLOCATION=1+ FAULT_MARK=mark" -q small
if [ ! -e "$SHIM" ] || [ ! -e mark ]; then
    skip 'a C library that fails' 'it cannot be preloaded here'
    finish
fi

printf '\1\0\0\0\0\0\0\0' >least
preload FAULT_FLUSH=1 -q -t f64 -o sum least
is 'a library that has subnormal numbers be zero' 0 5e-324

for seed in 1 2 3 4; do
    for file in small large large.npy $zstd_files; do
        evict "$file"
        preload "FAULT_SHORT=$seed" -q -j 3 -o "$ops" "$file"
        is "$file: short reads, $seed" 0 "$(wanted "$file")"
    done
    shell "cat large | $preload FAULT_SHORT=$seed \
        '$program' -q -j 3 -o $ops"
    is "a pipe: short reads, $seed" 0 "$expected"
done

# sweep NAME ARGUMENT...: every allocation fails once, alone and with all that follow. With
# FAULT_STEP=N, every Nth: so below.
sweep() {
    name=$1
    shift
    "$GPUREDUCE" "$@" >sweep.out 2>/dev/null
    number=1 results=0 refusals=0
    while [ "$number" -lt 500 ]; do
        rm -f mark
        for fault in "$number" "$number+"; do
            preload "FAULT_ALLOCATION=$fault FAULT_MARK=mark" "$@"
            if [ "$status" -eq "$done_well" ] && cmp -s out sweep.out; then
                results=$((results + 1))
            elif one_line && grep -q 'out of memory' err; then
                refusals=$((refusals + 1))
            elif [ -n "$sanitizer" ] && grep -q 'CHECK failed: sanitizer_' err; then
                : # it was the sanitizer's own allocation, when a thread began
            else
                fail "$name: allocation $fault"
                explain
                return
            fi
        done
        [ -e mark ] || break
        number=$((number + ${FAULT_STEP:-1}))
    done
    ok "$name: $((number - 1)) allocations, $results results and $refusals refusals" \
        test "$number" -gt 5 -a "$number" -lt 500 -a "$refusals" -gt 4
}
sweep 'a small file' -q -j 2 -o "$ops" small
sweep 'a mapped file' -q -j 2 -o "$ops" large
sweep 'binary64, the other byte order' -q -j 2 --nan=skip -t '>f8' -o "$ops" large
sweep '.npy' -q -j 1 -o "$ops" large.npy
for file in $zstd_files; do
    sweep "$file" -q -j 2 -o "$ops" "$file"
done
if [ -n "$ZSTD" ]; then
    "$ZSTD" -q -c large.npy >npy.zst
    sweep 'a compressed .npy' -q -j 2 -o "$ops" npy.zst
fi
# Of the arrays of a file with quantiles each has a result of its own, or NA.
head -c 300000 large >tensor
safetensors tensors a:F32:75000:tensor b:F32:75000:tensor
"$GPUREDUCE" -q -o sum,median tensors >sweep.out
number=1 good=true failed=0
while [ "$number" -lt 1000 ]; do
    rm -f mark
    preload "FAULT_ALLOCATION=$number+ FAULT_MARK=mark" -q -j 2 -o sum,median tensors
    [ -e mark ] || break
    if [ "$status" -eq 0 ] || [ ! -s out ]; then
        { [ "$status" -ne 0 ] && grep -q 'out of memory' err; } || cmp -s out sweep.out || good=false
    elif grep -qx NA out && [ "$status" -eq 1 ] && grep -q 'out of memory' err; then
        paste out sweep.out | awk -F '\t' '$1 != "" && $1 != "NA" && $1 != $2 { exit 1 }' || good=false
        failed=$((failed + 1))
    else
        good=false
    fi
    $good || break
    number=$((number + ${FAULT_STEP:-1}))
done
$good || explain
ok "arrays with quantiles: $((number - 1)) allocations, $failed errors in place of results" \
    test $good = true -a "$number" -lt 1000 -a $failed -gt 4
done_badly=2
sweep 'two files that are the same' --diff --tsv -j 2 small small
done_well=1
cp large large2 && flip large2 5000003
sweep 'two that are not' --diff --tsv -j 2 large large2
done_well=0 done_badly=1
mkdir -p cache/gpureduce && echo '{}' >cache/gpureduce/limits.json
XDG_CACHE_HOME=$work/cache
export XDG_CACHE_HOME
sweep 'with -v' -q -v -j 1 -o "$ops" small

# all_or_error NAME ARGUMENT...: whichever allocation fails, it is an error, or nothing is missing.
all_or_error() {
    name=$1
    shift
    "$GPUREDUCE" "$@" >all.out 2>/dev/null
    all=$? number=1
    while [ "$number" -lt 500 ]; do
        rm -f mark
        preload "FAULT_ALLOCATION=$number FAULT_MARK=mark" "$@"
        if ! { [ "$status" -eq "$all" ] && cmp -s out all.out; } &&
            ! { [ "$status" -eq "$done_badly" ] && grep -q '^gpureduce: ' err; } &&
            ! { [ -n "$sanitizer" ] && grep -q 'CHECK failed: sanitizer_' err; }; then
            fail "$name: allocation $number"
            explain
            return
        fi
        [ -e mark ] || break
        number=$((number + ${FAULT_STEP:-1}))
    done
    ok "$name: $((number - 1)) allocations" test "$number" -gt 5 -a "$number" -lt 500
}
all_or_error 'a directory of safetensors' --list model
all_or_error '--output' --axis=1 --shape=-1,750 -j 1 -o absmax,zeros --output=/dev/stdout small
all_or_error 'quantiles along an axis' --axis=0 --shape=-1,750 -j 1 -o median,max small
shell 'gzip -nc small >packed.gz'
if has_zlib; then
    all_or_error 'quantiles along an axis, compressed' --axis=0 --shape=1000,750 -j 1 -o median packed.gz
fi
all_or_error 'a directory with an index' --list indexed
# A line that is longer than the one before takes more memory.
long=$(printf '%0200d/%0200d' 0 0)
mkdir -p "$long" && cp small "$long"
"$GPUREDUCE" --json -o count small "$long/small" >record
all_or_error 'a record' --check=record -j 1
flip indexed/b.safetensors 5000003
{ npy 1 "$(npy_header '<f4' '(750000,)')" && cat small; } >member.npy
npz two.npz a.npy:member.npy b.npy:member.npy
all_or_error 'a .npz' --list two.npz
done_badly=2
all_or_error 'a .npz and itself' --diff -q -j 1 two.npz two.npz
all_or_error 'two directories that differ' --diff --tsv -j 1 model indexed
done_badly=1

# Arrays that are reduced one after the other: what becomes of the text of an error.
sweep 'quantiles of an array' -q -j 1 -o median,count model/a.safetensors
sweep 'a histogram of an array' -q -j 1 --histogram=7,-1,1 model/a.safetensors
if has_zlib; then
    gzip -nc "$sources/data/containers/small.fits" >small.fits.gz
    sweep 'arrays inside gzip' -q -j 1 -o sum --array=SPREAD.I16 small.fits.gz
    sweep 'quantiles of an array inside gzip' -q -j 1 --array=SPREAD.I16 -o median,count small.fits.gz
fi

# Things that happen to the file. FAULT_DO: $PPID is the program.
# happens CALL COMMAND FILE ARGUMENT...
happens() {
    moment=$1 FAULT_DO=$2 file=$3
    export FAULT_DO
    shift 3
    rm -f victim
    cp "$file" victim
    [ "$file" != large ] || [ "${cold-}" != true ] || evict victim
    preload "FAULT_CALL=$moment" -q "$@" victim
    command="at call $moment: $FAULT_DO: $command"
    unset FAULT_DO
}
shorter='victim: ends at byte [0-9]*: it became shorter while it was read'
shell 'gpureduce -q -j 1 large'
whole=$(cat out)
for threads in 1 3; do
    for cold in false true; do
        # Pages are given back less often than they are read past the page cache.
        for moment in 3 $($cold && echo 6 || echo 4); do
            for left in 0 100 5000000 8998920 9000004; do
                # Writing a file out, to have it evicted, may take a while.
                $cold && [ "$left" != 5000000 ] && continue
                happens "$moment" "truncate -s $left victim" large -j "$threads" --chunk-size 64K
                name="mapped (not cached: $cold), becomes $left bytes at call $moment, $threads threads"
                # While one thread runs the command, others may have read all of it.
                if [ $threads = 1 ]; then
                    fails_like "$name" "$shorter"
                else
                    either "$name" "$whole" "$shorter"
                fi
            done
        done
    done
    happens 6 'truncate -s 2999996 victim' small -j "$threads"
    fails_like "read, becomes shorter, $threads threads" "$shorter"
    happens 4 'truncate -s 4000000 victim' large.npy -j "$threads" --chunk-size 64K
    fails_like ".npy, becomes shorter, $threads threads" "$shorter"
    for file in $zstd_files; do
        for left in 0 3000 2000000 $(($(size "$file") - 1)); do
            happens 6 "truncate -s $left victim" "$file" -j "$threads"
            fails_like "$file, becomes $left bytes, $threads threads" 'victim: .*'
        done
    done
done
# Blocks of GGUF that are decoded from the mapping: 4800000 numbers of type Q8_0.
{ printf 'GGUF\3\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0a\1\0\0\0\0\076\111\0\0\0\0\0\10\0\0\0' &&
    head -c 5100015 /dev/zero; } >blocks.gguf
for left in 2000000 3000000; do
    happens 5 "truncate -s $left victim" blocks.gguf -j 2 --chunk-size 64K
    ok "blocks, become $left bytes" test "$status:$(cat err)" = \
        "1:gpureduce: victim: ends at byte $left: it became shorter while it was read"
done
# A file of whole frames that loses some of them, while it is read in order.
if [ -n "$ZSTD" ]; then
    { head -c 2999998 large | "$ZSTD" -q -c && tail -c +2999999 large | "$ZSTD" -q -c; } >torn.zst
    whole=$(head -c 2999998 large | "$ZSTD" -q -c | wc -c)
    for moment in 2 6 10 20 24 30 35; do
        happens "$moment" "truncate -s $whole victim" torn.zst -j 2
        fails_like "torn.zst, loses a frame at call $moment" 'victim: .*'
    done
fi
# Two at a time: the one that changes is told.
for left in 0 5000000 8998920; do
    for other in "large victim" "victim large"; do
        rm -f victim
        cp large victim
        export FAULT_DO="truncate -s $left victim"
        # shellcheck disable=SC2086 # two words
        preload FAULT_CALL=4 --diff -j 2 --chunk-size 64K $other
        command="$FAULT_DO: $command"
        unset FAULT_DO
        if [ "$status" -eq 2 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] &&
            grep -q "^gpureduce: $shorter\$" err; then
            pass "$other: compared, becomes $left bytes"
        else
            fail "$other: compared, becomes $left bytes"
            explain
        fi
    done
done
printf '\0\0\0\0' >four
safetensors tiny one:F32:1:four
happens 2 ': >victim' tiny --axis=0
fails_like 'a small container, becomes empty when it has been recognised' 'victim: .*'
happens 4 'head -c 100001 /dev/zero >>victim' large -o "$ops" -j 2 --chunk-size 64K
is 'mapped, grows' 0 "$expected"
happens 4 'head -c 100001 /dev/zero >>victim' small -o "$ops" -j 2
is 'read, grows' 0 "$expected_small"
happens 4 'rm victim' large -o "$ops" -j 2 --chunk-size 64K
is 'mapped, is deleted' 0 "$expected"
happens 4 'cp small new && mv new victim' large -o "$ops" -j 2 --chunk-size 64K
is 'mapped, is replaced' 0 "$expected"
happens 4 'tr "\0-\377" "\1-\377\0" <large | dd of=victim conv=notrunc bs=1M 2>/dev/null' \
    large -o count -j 2 --chunk-size 64K
is 'mapped, is overwritten' 0 2250002
# The same where a file is opened again, for its second reading: what was appended is left out, and
# another file of the name is none of it.
again='large'
if [ -n "$ZSTD" ]; then
    # The first element that two frames share has it opened again.
    { head -c 2000001 large | "$ZSTD" -q -c && tail -c +2000002 large | "$ZSTD" -q -c; } >odd.zst
    again="$again one.zst odd.zst"
fi
for file in $again; do
    for option in -omedian --histogram=3; do
        run -q -j 2 $option "$file"
        wanted=$(cat out)
        for moment in 2 3 5; do
            happens "$moment" 'head -c 100001 /dev/zero >>victim' "$file" -j 2 $option
            is "$file, $option: grows at call $moment" 0 "$wanted"
            happens "$moment" 'cat victim victim >new && cat new >>victim' "$file" -j 2 $option
            is "$file, $option: is appended to itself at call $moment" 0 "$wanted"
            happens "$moment" 'cp small new && mv new victim' "$file" -j 2 $option
            either "$file, $option: is replaced at call $moment" "$wanted" \
                'victim: it changed while it was read: it is another file now'
        done
    done
done
# And of several files as one. What takes the file's place has the same elements in another order, so
# that nothing but the file tells.
# meanwhile MOMENT COMMAND ARGUMENT...: as happens, to a copy of large that is named first.
meanwhile() {
    moment=$1 FAULT_DO=$2
    export FAULT_DO
    shift 2
    rm -f victim
    cp large victim
    preload "FAULT_CALL=$moment" -q "$@" victim small
    command="at call $moment: $FAULT_DO: $command"
    unset FAULT_DO
}
for option in -omedian --histogram=3; do
    cp large other
    run -q -j 2 --nan=skip --total $option other small
    wanted=$(cat out)
    changed=0
    for moment in 3 4 5 6 8; do
        meanwhile "$moment" 'head -c 100001 /dev/zero >>victim' -j 2 --nan=skip --total $option
        is "--total $option: grows at call $moment" 0 "$wanted"
        meanwhile "$moment" '{ tail -c +4000001 victim && head -c 4000000 victim; } >new && mv new victim' \
            -j 2 --nan=skip --total $option
        ! grep -q '^gpureduce: victim: it changed while it was read: it is another file now$' err ||
            changed=$((changed + status))
    done
    ok "--total $option: is replaced, and told $changed times" test $changed -gt 0
done
for file in $zstd_files; do
    happens 6 "head -c 9000000 /dev/urandom | dd of=victim conv=notrunc bs=1M 2>/dev/null" \
        "$file" -o count -j 2
    either "$file, is overwritten" 2250002 'victim: .*'
done

# Signals, at many moments.
# signalled NAME SIGNAL NUMBER FILE
signalled() {
    if { sh -c "kill -$2 \$\$; exit 0"; } 2>/dev/null; then
        skip "$1" "SIG$2 is ignored here"
        return
    fi
    good=true
    for moment in 1 2 3 5 8 12; do
        { happens "$moment" "kill -$2 \$PPID" "$4" -j 2 --chunk-size 64K; } 2>/dev/null
        [ "$status" -eq $((128 + $3)) ] && [ ! -s out ] && [ ! -s err ] && continue
        good=false
        explain
    done
    ok "$1" $good
}
signalled 'SIGINT' INT 2 large
signalled 'SIGTERM' TERM 15 small
signalled 'SIGHUP' HUP 1 large
signalled 'SIGUSR1' USR1 10 large
[ -z "$ZSTD" ] || signalled 'SIGTERM, decoding' TERM 15 frames.zst
for moment in 2 4 8; do
    # shellcheck disable=SC2016 # for another shell
    happens "$moment" '(sleep 0.1; kill -CONT $PPID) & kill -STOP $PPID' large -o "$ops" -j 2 \
        --chunk-size 64K
    is "SIGSTOP and SIGCONT, at call $moment" 0 "$expected"
done

finish
