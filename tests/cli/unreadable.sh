#!/bin/sh
# Files that cannot be read, or that end early, at any read of them: tests/lib/shim.c has each read
# fail, alone and with all that follow. The result is then the right one, or an error that names the
# file and the byte: never a result of something else.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

large_files 'zstd data'
head -c 200000 large >raw
[ -z "$ZSTD" ] || {
    words=
    for piece in 0 1 2 3; do
        tail -c +$((piece * 3000000 + 1)) large | head -c 3000000 >piece
        "$ZSTD" -q -c piece >piece.zst
        cat piece.zst
        words="$words $(size piece.zst) $(size piece)"
    done
    # shellcheck disable=SC2086 # several words
    table 0 4 $words
} >table.zst

# preload SETTINGS ARGUMENT...: a run under tests/lib/shim.c; for the settings, see there.
preload() {
    settings=$1
    shift
    command="$settings gpureduce $*"
    # shellcheck disable=SC2086 # several words
    env $preload $settings "$program" "$@" >out 2>err
    status=$?
}

rm -f mark
preload 'FAULT_READ=1 FAULT_MARK=mark' -q raw
if [ ! -e "$SHIM" ] || [ ! -e mark ]; then
    skip 'files that cannot be read' 'the shim cannot be preloaded here'
    finish
fi

# sweep FAULT ERROR ARGUMENT...: what follows each fault is what there is without it, or an error
# that matches ERROR. FAULT_STEP=N: at every Nth read.
sweep() {
    fault=$1 error=$2
    shift 2
    "$program" "$@" >sweep.out 2>sweep.err
    sweep_status=$?
    number=1 errors=0 bad=
    while [ "$number" -lt 200 ]; do
        rm -f mark
        more=
        [ "$fault" != FAULT_READ ] || more=$number+
        for each in "$number" $more; do
            preload "$fault=$each FAULT_MARK=mark" "$@"
            if [ "$status" -eq 1 ] && grep -Eq "^gpureduce: .*: ($error)" err; then
                errors=$((errors + 1))
            elif [ "$status" -ne "$sweep_status" ] || ! cmp -s out sweep.out; then
                bad="$bad $each"
            fi
        done
        [ -e mark ] || break
        number=$((number + ${FAULT_STEP:-1}))
    done
    ok "$fault: $*: none of $((number - 1)) reads is taken for another result:$bad" [ -z "$bad" ]
    ok "$fault: $*: and $errors of them are errors" [ "$errors" -gt 0 ]
}

both() {
    share_takes_next || return 0
    sweep FAULT_READ 'read error at byte [0-9]+: Input/output error|.*byte [0-9]+: read error: Input/output error|.*bytes could not be read' "$@"
    sweep FAULT_END 'ends at byte [0-9]+: it became shorter while it was read|.*bytes could not be read' "$@"
}

for file in raw large.npy $zstd_files ${ZSTD:+table.zst}; do
    both -q -j 2 "$file"
    both -q --tsv -o sum,median "$file" raw
    both --axis=0 --shape=-1,2 "$file"
    for shard in 2 3; do
        both --partial --shard=$shard/3 "$file"
    done
done
for file in data/containers/*; do
    case $file in */small2.zarr) continue ;; esac # small3.zarr is read by the same code
    both --total "$file"
    both --list "$file"
    both --axis=0 "$file"
done
# A byte that cannot be read fails the array in which it lies, and no other: in a member's header, and
# at the beginning, in the middle and at the end of elements.
for name in a b c; do
    "$program-bench" generate -q -d normal -b 100000 --seed="$(printf %d "'$name")" >$name.f32
    { npy 1 "$(npy_header '<f4' '(25000,)')" && cat $name.f32; } >$name.npy
done
safetensors three.safetensors a:F32:25000:a.f32 b:F32:25000:b.f32 c:F32:25000:c.f32
npz three.npz a.npy:a.npy b.npy:b.npy c.npy:c.npy
for name in a b c; do # a file of up to 64 KiB is read as a whole, if it can be
    head -c 8000 $name.f32 >$name.little
done
safetensors little.safetensors a:F32:2000:a.little b:F32:2000:b.little c:F32:2000:c.little
command -v python3 >/dev/null && python3 - 2>/dev/null <<'END'
import zipfile
with zipfile.ZipFile("deflated.npz", "w", zipfile.ZIP_DEFLATED) as file:
    for name in "abc":
        file.write(name + ".npy")
import h5py, numpy
with h5py.File("three.h5", "w") as file:
    for name in "abc":
        file[name] = numpy.fromfile(name + ".f32", "f4")
        file.create_dataset(name + "_chunks", data=file[name], chunks=(1000,), compression="gzip")
END
for file in three.safetensors little.safetensors three.npz deflated.npz three.h5; do
    status=1
    [ -e "$file" ] && run -o sum $file
    if [ "$status" -ne 0 ]; then
        skip "$file: a byte that cannot be read" 'no library for it'
        continue
    fi
    cp out good
    run -q --list $file
    cut -f 2,6,7 out >places
    while read -r name bytes offset; do
        case $offset:$file in
        NA:*) continue ;;
        *:deflated.npz) at="$((offset - 32)) $offset $((offset + bytes / 2))" ;;
        *.npz) at="$((offset - 60)) $((offset - 1)) $offset $((offset + bytes - 1))" ;;
        *) at="$offset $((offset + bytes / 2)) $((offset + bytes - 1))" ;;
        esac
        for byte in $at; do
            [ "$byte" -ge 4096 ] || continue # the beginning tells the format
            for options in '-j 1' '-j 4' '-j 3 --chunk-size=1000'; do
                share_takes_next || continue
                # shellcheck disable=SC2086 # several words
                preload "FAULT_BYTE=$byte" $options -o sum $file
                grep -v "$tab$name$tab" good >expected
                grep -v "$tab$name$tab" out >found
                ok "$file: byte $byte cannot be read, in $name, $options" test \
                    "$status:$(cmp expected found):$(grep -c "$tab$name$tab.*NA$" out):$(grep -c "array $name: .*read error" err):$(wc -l <err)" = 1::1:1:2
            done
        done
        preload "FAULT_BYTE=${at##* }" -q --axis=0 -o sum $file
        ok "$file: along an axis, in $name" test "$status:$(grep -c "read error" err):$(wc -l <err)" = 1:1:1
        preload "FAULT_BYTE=${at%% *}" -q --total --skip-unsupported -o sum $file
        ok "$file: and is not left out, in $name" test "$status:$(tail -n 1 out)" = 1:NA
        for options in '-j 1' '-j 3 --chunk-size=1000'; do
            # shellcheck disable=SC2086 # several words
            preload "FAULT_BYTE=${at##* }" --diff --tsv $options $file $file
            ok "$file: compared, in $name, $options" test \
                "$status:$(grep -c "array $name: .*read error" err):$(wc -l <err):$(sed 1d out | cut -f 1,2)" = \
                "2:1:1:$name${tab}error"
        done
    done <places
done
shell "env $preload FAULT_END=1 '$program' -q <raw"
is 'standard input of a known size that is empty' 1 '' \
    'gpureduce: standard input: ends at byte 0: it became shorter while it was read'

finish
