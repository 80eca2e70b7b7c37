#!/bin/sh
# Pages of other sizes than this machine's: the program is told that they are larger, by
# tests/lib/shim.c, and gives the same results, whether files are mapped, read past the page cache
# or come through a pipe.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

least_chunk=12

ops=sum,mean,min,max,argmin,argmax,count,nan,inf

# paged BYTES ARGUMENT...: a run with pages of so many bytes.
paged() {
    page=$1
    shift
    vary
    command="FAULT_PAGE=$page gpureduce $*"
    # shellcheck disable=SC2086 # none, or several words
    env $preload FAULT_PAGE="$page" FAULT_MARK=mark \
        "$program" $CHECK_OPTIONS "$@" >out 2>err
    status=$?
}

large_files 'zstd data and pages of other sizes'
rm -f mark
paged 65536 -q -o count large
if [ ! -e "$SHIM" ] || [ ! -e mark ]; then
    skip 'pages of other sizes' 'the shim cannot be preloaded here'
    finish
fi
ok 'the size of a page is asked for' [ -e mark ]
is 'a mapped file' 0 2250002

# evict FILE: out of the page cache, where that can be done.
evict() {
    sync "$1" && dd if="$1" iflag=nocache count=0 2>/dev/null
}

for range in '' '--skip 16380' '--skip 70001 --length 2100000'; do
    for file in large large.npy $zstd_files; do
        # shellcheck disable=SC2086 # none, or several words
        "$program" -q -j 1 -o "$ops" $range "$file" >expected 2>err
        wanted=$(cat expected)
        warned=$(cat err)
        for page in 16384 65536; do
            for options in '-j 1' '-j 3 --chunk-size 65537'; do
                # shellcheck disable=SC2086 # several words
                paged "$page" -q $options -o "$ops" $range "$file"
                is "pages of $page: $file $range $options" 0 "$wanted" "$warned"
                evict "$file"
                # shellcheck disable=SC2086 # as above
                paged "$page" -q $options -o "$ops" $range "$file"
                is "pages of $page: $file $range $options, not cached" 0 "$wanted" "$warned"
            done
        done
    done
done

finish
