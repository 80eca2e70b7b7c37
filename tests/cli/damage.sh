#!/bin/sh
# --length of zstd that is damaged: what is wrong after the block that holds the last element asked for
# is no matter, and what is wrong before is an error, whatever reads the file: threads, a pipe, a GPU.
# So are the bytes that count as read.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

large_files 'damaged zstd data'
[ -n "$ZSTD" ] || finish

# outcome COMMAND: status, sum and bytes of input of a run with --length=$length, of ./x.
outcome() {
    eval "$1 --json -q -t f32 --length=$length -o sum,count" >out 2>err
    echo "$? $(sed -n 's/.*"sum": \([^,]*\),.*"count": \([0-9]*\).*"input_bytes": \([0-9]*\).*/\1 \2 \3/p' out)"
}

# alike NAME: all ways to read ./x come to the same; it is left in $first.
alike() {
    first=$(outcome "$program -j 1 x")
    differs=
    for each in "$program -j 2 x" "$program -j 3 --chunk-size=4099 x" "$program -j 5 x" \
        "cat x | $program -j 2" ${GPUREDUCE_EMULATED:+"$GPUREDUCE_EMULATED -D gpu -j 3 x"} \
        ${GPUREDUCE_EMULATED:+"cat x | $GPUREDUCE_EMULATED -D gpu -j 2"}; do
        other=$(outcome "$each")
        # From a pipe, a GPU need not tell damage from what only libzstd decodes.
        [ "$other" = "$first" ] || grep -q 'or not one that a GPU decodes' err ||
            differs="$differs $each: $other;"
    done
    ok "$1, --length=$length: $first;$differs" [ -z "$differs" ]
}
[ -x "${GPUREDUCE_EMULATED-}" ] || unset GPUREDUCE_EMULATED

lengths='0 1 1000 32768 32769 750000 1500001 2250002 3000000'
[ -z "$sanitizer" ] || lengths='1 1500001'
for file in $zstd_files; do
    for length in $lengths; do
        cat "$file" >x
        alike "$file"
        sound=$first
        bytes=${sound##* }
        expected=$("$program" -q -t f32 --length="$length" -o sum,count large | tr '\n' ' ')
        is_sound="0 $expected$bytes"
        ok "$file, --length=$length: $sound" [ "$sound" = "$is_sound" ]
        # In what is needed, where there is some; behind it; and at the end.
        for place in $((bytes / 2)) $((bytes - 200)) $((bytes + 300)) $((bytes + 200000)) \
            $(($(size "$file") - 2)); do
            { [ "$place" -gt 0 ] && [ "$place" -lt "$(size "$file")" ]; } || continue
            share_takes_next || continue
            cat "$file" >x
            flip x "$place"
            alike "$file with byte $place changed"
            # A change that zstd does not see is in what its checksum tells, which is verified of
            # frames that elements are asked for after.
            if [ "$place" -ge "$bytes" ]; then
                ok "$file with byte $place changed, --length=$length: which does not matter" \
                    [ "$first" = "$sound" ]
            fi
            head -c "$place" "$file" >x
            alike "$file of $place bytes"
            if [ "$place" -ge "$bytes" ]; then
                ok "$file of $place bytes, --length=$length: which is enough" [ "$first" = "$sound" ]
            else
                ok "$file of $place bytes, --length=$length: which is not" [ "${first%% *}" -eq 1 ]
            fi
        done
    done
done

finish
