#!/bin/sh
# Formats that are not read: each is refused by its name, with the command that reads it, from files and
# pipes and inside zstd; --format=raw and --format=raw+zstd read them all the same. And .npy files of
# bfloat16, and elements that look like those of another type.

find_leaks=yes
# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

# refuses FILE MESSAGE: it is refused with this behind its name.
refuses() {
    run "$1"
    fails "$1" "$1: $2"
    run -q -o count --format=raw --length 1 "$1"
    is "$1 --format=raw" 0 1
}

raw='(--format=raw reads it as raw numbers)'
{ printf 'BZh91AY&SY' && head -c 90 data/raw/mixed-le.f32; } >x.bz2
refuses x.bz2 "a bzip2 file; try: bzip2 -dc x.bz2 | gpureduce (--format=raw reads it as raw numbers)"
copy x.bz2 'x y.bz2'
refuses 'x y.bz2' \
    "a bzip2 file; try: bzip2 -dc 'x y.bz2' | gpureduce (--format=raw reads it as raw numbers)"
copy x.bz2 "it's.bz2"
refuses "it's.bz2" \
    "a bzip2 file; try: bzip2 -dc 'it'\\''s.bz2' | gpureduce (--format=raw reads it as raw numbers)"
copy x.bz2 ./-x.bz2
run -- -x.bz2
fails 'a name that begins with a dash' \
    "-x.bz2: a bzip2 file; try: bzip2 -dc ./-x.bz2 | gpureduce (--format=raw reads it as raw numbers)"
long=$(printf '%0200d' 0).bz2
copy x.bz2 "$long"
refuses "$long" "a bzip2 file; try: bzip2 -dc FILE | gpureduce (--format=raw reads it as raw numbers)"
shell 'gpureduce <x.bz2'
fails 'standard input that is a file' \
    "standard input: a bzip2 file; try: bzip2 -dc | gpureduce (--format=raw reads it as raw numbers)"
shell 'cat x.bz2 | gpureduce'
fails 'a pipe' \
    "standard input: a bzip2 file; try: bzip2 -dc | gpureduce (--format=raw reads it as raw numbers)"
shell 'cat x.bz2 | gpureduce -q -o count --format=raw'
is 'a pipe, --format=raw' 0 25
{ printf 'PK\003\004\024\0\0\0\0\0' && head -c 16 /dev/zero && printf '\010\0\0\0my x.npy' && three; } >x.npz
{ printf 'PK\003\004\024\0\0\0\0\0' && head -c 8 /dev/zero && printf '\003\0\0\0\003\0\0\0\005\0\0\0x.txtabc' && cat x.npz; } >z.npz
refuses z.npz \
    "a zip archive; try: unzip -p z.npz 'my x.npy' | gpureduce (--format=raw reads it as raw numbers, --format=npz the NumPy arrays in it, --format=zarr the Zarr store)"
{ printf 'PK\003\004\024\0\0\0\0\0' && head -c 16 /dev/zero && printf '\005\0\0\0x.f32' && three; } >x.zip
refuses x.zip \
    "a zip archive; try: unzip -p x.zip x.f32 | gpureduce (--format=raw reads it as raw numbers, --format=npz the NumPy arrays in it, --format=zarr the Zarr store)"
# What stands behind the first sector, in a file that is larger than what is read at once.
{ head -c 2048 /dev/zero && printf '\211HDF\r\n\032\n' && head -c 100000 /dev/zero; } >x.h5
shell 'cat x.h5 | gpureduce'
if gpureduce --version | grep -qx 'HDF5: none'; then
    fails 'x.h5 in a pipe' "standard input: an HDF5 file (or netCDF-4); a gpureduce that is built with libhdf5 reads it $raw"
else
    fails_like 'x.h5 in a pipe' 'standard input: an HDF5 file: .*'
fi
{ printf '\134\001\0\0' && head -c 340 /dev/zero && printf 'ni1\0' && head -c 100000 /dev/zero; } >x.ni1
refuses x.ni1 "a NIfTI file; try: python3 -c \"import numpy, nibabel; numpy.save('out', nibabel.load('x.ni1').get_fdata())\" && gpureduce out.npy $raw"
shell 'cat x.ni1 | gpureduce'
fails 'x.ni1 in a pipe' "standard input: a NIfTI file; try: python3 -c \"import numpy, nibabel; numpy.save('out', nibabel.load('FILE').get_fdata())\" && gpureduce out.npy $raw"
{ printf x && head -c 256 /dev/zero && printf 'ustar\00000' && head -c 1000 /dev/zero; } >x.tar
refuses x.tar "a tar archive; try: tar -xOf x.tar x | gpureduce $raw"
{ head -c 32768 /dev/zero && printf '\1CD001\1' && head -c 34809 /dev/zero; } >x.iso
refuses x.iso "an ISO 9660 image; try: bsdtar -xOf x.iso MEMBER | gpureduce $raw"
{ head -c 32768 /dev/zero && printf '\1CD0' && head -c 34812 /dev/zero; } >zeros
run -q -o count zeros
is 'zeros that are no image' 0 16896
# What is a .npy file, too, is that.
npy 1 "$(npy_header '<f4' '(128,)')" >header
size=$(wc -c <header)
{ cat header && head -c $((257 - size)) /dev/zero && printf 'ustar\00000' && head -c 512 /dev/zero; } |
    head -c $((size + 512)) >tar.npy
run -q -o count tar.npy
is 'a .npy file that is a tar archive, too' 0 128
{ printf x && tail -c +2 tar.npy; } >npy.tar
refuses npy.tar \
    "a tar archive; try: tar -xOf npy.tar MEMBER | gpureduce $raw"
i=0
while [ $i -lt 500 ]; do
    echo "$i,$i.5"
    i=$((i + 1))
done >x.csv
# numpy EXPRESSION [MODULE]: the command that makes a .npy of it.
numpy() {
    printf '%s\n' "try: python3 -c \"import numpy${2:+, $2}; numpy.save('out', $1)\" && gpureduce out.npy $raw"
}
refuses x.csv "a text file of numbers; $(numpy "numpy.loadtxt('x.csv', delimiter=',')")"
printf '1.5\n2.5\n3.5\n' >small.csv
refuses small.csv "a text file of numbers; $(numpy "numpy.loadtxt('small.csv')")"
# Text that repeats itself, below what other lines there are.
#
# repeated LINE FILE MESSAGE [HEADING]
repeated() {
    { printf '%s' "${4:-}" && yes "$1" | head -n 300; } >"$2"
    refuses "$2" "${3%%; *}; $(numpy "${3#*; }")"
}
repeated 0.0,0.0,0.0,0.0 lead.csv "a text file of numbers; numpy.loadtxt('lead.csv', delimiter=',')"
repeated 1.5 ones.txt "a text file of numbers; numpy.loadtxt('ones.txt')"
repeated nan nan.txt "a text file of numbers; numpy.loadtxt('nan.txt')"
repeated 0.0,0.0,0.0 head.csv "a text file; numpy.loadtxt('head.csv', delimiter=',', skiprows=1)" 'a,b,c
'
repeated '1,5;2,5' comma.csv \
    "a text file of numbers; numpy.loadtxt('comma.csv', delimiter=';', encoding='utf-8', converters=lambda x: float(x.replace(',', '.')))"
repeated '1	2' 'ab.tsv' "a text file of numbers; numpy.loadtxt('ab.tsv', delimiter='\\t')"
copy ab.tsv 'a b.tsv'
refuses 'a b.tsv' \
    "a text file of numbers; try: python3 -c \"import numpy, sys; numpy.save('out', numpy.loadtxt(sys.argv[1], delimiter='\\t'))\" 'a b.tsv' && gpureduce out.npy $raw"
printf AAAA%.0s 1 2 3 4 5 6 7 8 >constant.f32
run -q -o min,max constant.f32
is 'a printable constant is raw' 0 '12.078431
12.078431'
# What is a length of whole elements behind what is skipped, or up to what is asked for, is no sign
# of text.
printf '{"zarr_format":2}\n' >odd
refuses odd "a JSON file; $(numpy "json.load(open('odd'))['NAME']" json)"
while read -r name expression; do
    most=3.5
    case $name in
    list | rows) most=4 ;;
    esac
    case $name in
    object) printf '{"NAME": [1.5, 2, 3.5],\n"other \\" }": 5}\n' ;;
    list) printf ' [[1.5, 2],\n [3.5, 4]]\n' ;;
    objects) printf '[ {"NAME": 1.5, "x": [2]}, {"NAME": 3.5}]\n' ;;
    lines) printf '{"NAME": 1.5, "x": "}\\\\"}\n{"NAME": 3.5}\n' ;;
    rows) printf '[1.5, 2]\n[3.5, 4]\n' ;;
    esac >"$name.json"
    refuses "$name.json" "a JSON file; $(numpy "$expression" json)"
    if python3 -c 'import numpy' 2>/dev/null; then
        run "$name.json"
        sed -n 's/.*; try: \(.*\) && gpureduce.*/\1/p' err >command.sh
        sh command.sh
        run -q -o max out.npy
        is "the command for $name reads them" 0 "$most"
    else
        skip "the command for $name reads them" 'a package is missing'
    fi
done <<'END'
object json.load(open('object.json'))['NAME']
list json.load(open('list.json'))
objects [x['NAME'] for x in json.load(open('objects.json'))]
lines [json.loads(x)['NAME'] for x in open('lines.json')]
rows [json.loads(x) for x in open('rows.json')]
END
for options in --skip=2 --length=4; do
    run -q -o count $options odd
    is "an odd length, $options" 0 4
done
# What the length of the file tells.
{ printf '\0\0\015\002\0\0\0\003\0\0\0\012' && head -c 120 /dev/zero; } >x.idx
refuses x.idx \
    "an IDX file (as of MNIST); try: gpureduce --format=raw -t '>f4' --skip=12 --length=30 x.idx $raw"
run --skip 4 x.ni1
fails '--skip does not make it raw' \
    "x.ni1: a NIfTI file; try: python3 -c \"import numpy, nibabel; numpy.save('out', nibabel.load('x.ni1').get_fdata())\" && gpureduce out.npy $raw"
run -q -o sum,count --format=raw --skip 348 x.ni1
is '--format=raw --skip does' 0 "0
25000"

# Inside zstd.
if [ -n "$ZSTD" ]; then
    "$ZSTD" -q x.bz2 x.ni1
    message="a bzip2 file, compressed by zstd; try: zstd -dc x.bz2.zst | bzip2 -dc | gpureduce (--format=raw+zstd reads it as raw numbers)"
    run x.bz2.zst
    fails 'in zstd' "x.bz2.zst: $message"
    run --format=zstd x.bz2.zst
    fails 'in zstd, --format=zstd' "x.bz2.zst: $message"
    shell 'cat x.bz2.zst | gpureduce'
    fails 'in zstd, in a pipe' \
        "standard input: $(echo "$message" | sed 's/ x.bz2.zst / /')"
    run -q -o count --format=raw+zstd x.bz2.zst
    is 'in zstd, --format=raw+zstd' 0 25
    shell 'cat x.bz2.zst | gpureduce -q -o count --format=raw+zstd'
    is 'in zstd, --format=raw+zstd, in a pipe' 0 25
    # As little text as without zstd, but for what another frame may follow.
    for text in '# hello world, this is a readme\n' '1.0 2.0\n' 'x,y\n1,2\n' '[1,2]\n\n' '1.5\n'; do
        # shellcheck disable=SC2059 # with its newlines
        printf "$text" >little && "$ZSTD" -qf little
        run little
        copy err plain
        for how in little.zst --format=zstd; do
            run "$how" little.zst
            ok "little text in zstd: $text" \
                test "$(sed 's/.*: a /a /; s/ (--.*//' plain)" = \
                "$(tail -n 1 err | sed 's/.*: a /a /; s/, compressed by zstd//; s/zstd -d little.zst && //; s/ (--.*//')"
        done
    done
    printf '{"zarr_format":2}\n' >part1 && printf 'ab' >part2 && "$ZSTD" -qf part1 part2
    run part1.zst
    fails 'an odd length that is text' \
        "part1.zst: a JSON file, compressed by zstd; try: zstd -d part1.zst && python3 -c \"import numpy, json; numpy.save('out', json.load(open('part1'))['NAME'])\" && gpureduce out.npy (--format=raw+zstd reads it as raw numbers)"
    cat part1.zst part2.zst >parts.zst
    run -q -o count parts.zst
    is 'a frame of odd length that another one follows' 0 5
    run x.ni1.zst
    fails 'x.ni1 in zstd' \
        "x.ni1.zst: a NIfTI file, compressed by zstd; try: zstd -d x.ni1.zst && python3 -c \"import numpy, nibabel; numpy.save('out', nibabel.load('x.ni1').get_fdata())\" && gpureduce out.npy (--format=raw+zstd reads it as raw numbers)"
    "$ZSTD" -q x.h5
    run x.h5.zst
    if gpureduce --version | grep -qx 'HDF5: none'; then
        skip 'x.h5 in zstd' 'built without libhdf5'
    else
        fails_like 'x.h5 in zstd' 'x.h5.zst: an HDF5 file: .*'
    fi
    copy x.ni1.zst 'x y.zst'
    run 'x y.zst'
    fails 'x.ni1 in zstd, with a blank in its name' \
        "x y.zst: a NIfTI file, compressed by zstd; try: zstd -d 'x y.zst' && python3 -c \"import numpy, sys, nibabel; numpy.save('out', nibabel.load(sys.argv[1]).get_fdata())\" 'x y' && gpureduce out.npy (--format=raw+zstd reads it as raw numbers)"
    copy x.ni1.zst odd.ni1
    run odd.ni1
    fails 'x.ni1 in zstd, with a name that does not say so' \
        "odd.ni1: a NIfTI file, compressed by zstd; try: zstd -d odd.ni1 -o odd.ni1.out && python3 -c \"import numpy, nibabel; numpy.save('out', nibabel.load('odd.ni1.out').get_fdata())\" && gpureduce out.npy (--format=raw+zstd reads it as raw numbers)"
else
    skip 'in zstd' 'there is no zstd'
fi
run -q -o count -t f16 --format=raw+zstd data/zstd/array.npy.zst
copy out raw
shell 'gpureduce -q -o count -t f16 data/zstd/array.npy.zst'
ok '--format=raw+zstd reads the header of a .npy as numbers' test "$(cat raw)" -gt "$(cat out)"
run --format=raw+zstd data/raw/mixed-le.f32
fails '--format=raw+zstd of what is not compressed' \
    'data/raw/mixed-le.f32: not zstd data: no frame begins at byte 0'

# Files of nothing, and of less than a magic number.
for name in x.npy .npy x.zst x.npy.zst x.npz x.safetensors x.gguf x.h5 x.hdf5 x.nc x.fits x.pt x.pth; do
    : >"$name"
    run "$name"
    fails "an empty $name" \
        "$name: is empty, but its name is that of a format (--format=raw reads it as no elements)"
    run -q -o count --format=raw "$name"
    is "an empty $name, --format=raw" 0 0
done
for length in 1 2 3 4 5; do
    printf '\223NUMPY' | head -c "$length" >./cut.npy
    run -t bf16 cut.npy
    fails "$length bytes of a .npy" \
        "cut.npy: a .npy file that is cut off at byte $length $raw"
    copy cut.npy cut
    run -q -o count -t u8 cut
    is "$length bytes that are numbers" 0 "$length"
done

#
# bfloat16: 1, 2 and 3 behind a header that says V2.
#
# void DESCR BYTES
void() {
    header="{'descr': '$1', 'fortran_order': False, 'shape': (3,), }"
    printf '\223NUMPY\001\0'
    # shellcheck disable=SC2059 # an octal escape
    printf "\\$(printf %03o ${#header})\\0"
    # shellcheck disable=SC2059 # the bytes are a format
    printf '%s' "$header" && printf "$2"
}
little='\200\077\0\100\100\100' big='\077\200\100\0\100\100'
void '<V2' "$little" >little.npy
void '|V2' "$little" >void.npy
void '|V2' "$big" >void-big.npy
void '>V2' "$big" >big.npy
hint='the .npy header says only that elements have 2 bytes (V2): if they are bfloat16, type -t bf16'
for file in little.npy void.npy big.npy; do
    run "$file"
    fails "$file without a type" "$file: $hint"
    run -t f64 "$file"
    fails "$file as f64" "$file: $hint"
    run -q -o sum,count -t bf16 "$file"
    is "$file -t bf16" 0 "6
3"
    shell "cat $file | gpureduce -q -o sum -t bf16"
    is "$file -t bf16, in a pipe" 0 6
    if [ -n "$ZSTD" ]; then
        "$ZSTD" -qf "$file"
        run "$file.zst"
        fails "$file.zst without a type" "$file.zst: $hint"
        run -q -o sum -t bf16 "$file.zst"
        is "$file.zst -t bf16" 0 6
    fi
done
run -q -o sum -t bf16 --endian=big void-big.npy
is 'a void in the byte order of --endian' 0 6
run -q -o sum -t bf16 --endian=big little.npy
is 'where the header says one, that counts' 0 6
run -q -o sum -t bf16 data/npy/v1-f4.npy
copy out typed
run -q -o sum data/npy/v1-f4.npy
ok 'a header that names a type counts' cmp typed out

#
# Raw elements that look like those of another type: one warning, on any standard error.
#
# warns MESSAGE OPTION...
warns() {
    message="gpureduce: warning: $1"
    shift
    run "$@"
    ok "$* warns" test "$(grep warning err)" = "$message"
}
"$program-bench" generate -d normal -t f64 -b 8KiB >normal.f64
"$program-bench" generate -d normal -t f32 -b 8KiB >normal.f32
{
    word 8192
    cat normal.f64
    word 8192
} >one.records
run one.records
fails 'a record of doubles' "one.records: a Fortran file of records; try: gpureduce --format=fortran -t f64 one.records (--format=raw reads it as raw numbers)"
for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    word 64
    tail -c +$((i * 64 + 1)) normal.f64 | head -c 64
    word 64
done >small.records
run small.records
ok 'records of few doubles' grep -q 'gpureduce --format=fortran -t f64 small.records (' err
for file in one.records small.records; do
    warns "$file: the elements do not look like little-endian f32; try -t f64" --format=fortran $file
    run -q -o sum --format=fortran -t f64 $file
    ok "$file has no doubts" test ! -s err
done
like='normal.f64: the elements do not look like little-endian f32; try -t f64'
for options in '' --json --tsv --format=raw --total --axis=0 '--length=1000' '--partial' -j1 '--nan=skip' -v; do
    # shellcheck disable=SC2086 # none or one
    warns "$like" $options normal.f64
done
warns "$like" --partial --shard=1/1 normal.f64
warns "$like" --diff normal.f64 normal.f32
warns 'normal.f64: the elements do not look like big-endian f32; try -t f64 --endian=little' \
    --endian=big normal.f64
warns 'normal.f32: the elements do not look like big-endian f32; try --endian=little' \
    --endian=big normal.f32
run --tsv -o sum normal.f64 && copy out record
warns "$like" --check record
shell 'cat normal.f64 | gpureduce'
ok 'a pipe warns' grep -qx "gpureduce: warning: standard input: ${like#*: }" err
if [ -n "$ZSTD" ]; then
    "$ZSTD" -qk normal.f64
    warns "normal.f64.zst: ${like#*: }" normal.f64.zst
    warns "normal.f64.zst: ${like#*: }" -j1 normal.f64.zst
fi
# Integers of 8 bytes, which are i8 to NumPy.
i=0
while [ $i -lt 256 ]; do
    # shellcheck disable=SC2059 # octal escapes
    printf "\\$(printf %03o $i)\\1\\0\\0\\0\\0\\0\\0"
    i=$((i + 1))
done >wide.i64
warns 'wide.i64: the elements do not look like i8; try -t i64' -t i8 wide.i64
warns 'wide.i64: the elements do not look like u8; try -t u64' -t u8 wide.i64
# Numbers with NaNs of all kinds among them.
i=0
while [ $i -lt 64 ]; do
    # shellcheck disable=SC2059 # octal escapes
    printf "\\0\\0\\200\\077\\$(printf %03o $i)\\1\\300\\177\\0\\0\\0\\100\\0\\0\\200\\277"
    i=$((i + 1))
done >nans.f32
warns 'nans.f32: many different NaNs: the elements do not look like f32; try another -t' nans.f32
# What is not reduced is not looked at.
head -c 1024 normal.f32 >mixed && cat normal.f64 >>mixed
for options in normal.f32 '-t f64 normal.f64' '-q normal.f64' '--list normal.f64' '-t i64 wide.i64' \
    '--length=256 mixed'; do
    # shellcheck disable=SC2086 # several words
    run $options
    ok "no doubts: $options" test "$(grep -c warning err)" -eq 0
done

#
# Files that the formats' own packages have made: what they are called, and the number that comes of the
# advice.
#
if command -v python3 >/dev/null; then
    : "${UNSUPPORTED_PYTHON:=python3}"
    mkdir made tools
    printf '#!/bin/sh\nexec "%s" -q -o sum "$@"\n' "$GPUREDUCE" >tools/gpureduce
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$(command -v "$UNSUPPORTED_PYTHON")" >tools/python3
    chmod +x tools/gpureduce tools/python3
    "$UNSUPPORTED_PYTHON" "$sources/tests/lib/make_unsupported.py" made >list 2>made.err ||
        { fail 'make_unsupported.py' && show made.err; }
    sed -n 's/^# */# /p' list
    # made FILE MAKER...: what programs have made.
    for words in 'x.lzo an?lzop?file lzop -c' 'x.lz an?lzip?file lzip -c' 'x.Z a?file?of?compress(1) compress -c' \
        'legacy.lz4 an?lz4?file lz4 -lc'; do
        # shellcheck disable=SC2086 # several words
        set -f && set -- $words && set +f
        if command -v "$3" >/dev/null; then
            "$3" "$4" <made/x.f32 >"made/$1" 2>/dev/null
            printf '%s\t%s\t6213750\t\n' "$1" "$(echo "$2" | tr '?' ' ')" >>list
        fi
    done
    if command -v 7z >/dev/null; then
        (cd made && 7z a x.7z x.f32 >/dev/null)
        printf 'x.7z\ta 7z archive\t6213750\ts/MEMBER/x.f32/\n' >>list
    fi
    if command -v ar >/dev/null; then
        (cd made && ar qc x.a x.f32)
        printf 'x.a\tan ar archive\t6213750\ts/MEMBER/x.f32/\n' >>list
    fi
    # advised FILE: the command of its error gives $sum, with $names filled in.
    advised() {
        command=$(sed -n "s/.*; try: //; s/ ([^()]*--format=raw[+a-z]* reads it.*//; $names; p" err)
        tool=${command%% *}
        if ! command -v "$tool" >/dev/null; then
            skip "$1: $command" "there is no $tool"
            return
        fi
        rm -f made/out.npy
        (cd made && PATH=$work/tools:$PATH sh -c "$command" >../out 2>../err)
        if grep -Eqi 'no module named|importerror' err; then
            skip "$1: $command" 'a package is missing'
        elif [ "$(cat out)" = "${sum%.0}" ]; then
            pass "$1: $command"
        else
            fail "$1: $command" && explain
        fi
    }
    while IFS=$tab read -r file what sum names; do
        case $file in
        '#'*)
            skip "${file#\# }" 'a package is missing'
            continue
            ;;
        npy) # a type that is read in parts, with the options that the error names
            run "made/$what"
            # shellcheck disable=SC2046 # several words
            run -q -o sum $(sed -n 's/.*\(--format=raw .* --skip=[0-9]*\) reads.*/\1/p' err) "made/$what"
            ok "$what" test "$(cat out)" = "$sum"
            continue
            ;;
        bf16)
            run -q -o sum -t bf16 "made/$what"
            ok "$what" test "$(cat out)" = "${sum%.0}"
            continue
            ;;
        esac
        (cd made && "$GPUREDUCE" "$file" >/dev/null 2>../err)
        status=$?
        case $status:$(cat err) in
        "1:gpureduce: $file: "*"$what"[\;,]*) pass "$file: $what" ;;
        *) fail "$file: $what" && explain ;;
        esac
        [ "$sum" != - ] || continue
        advised "$file"
        # A name that a shell would take apart, with each kind of command.
        case $file in
        x.bz2 | x.zip | u.tar | x.7z | x.json | x.csv | x.sqlite | rows_le_i_f.unf)
            cp "made/$file" "made/-it's \$a \"[1]\" $file"
            (cd made && "$GPUREDUCE" -- "-it's \$a \"[1]\" $file" >/dev/null 2>../err)
            advised "-it's \$a \"[1]\" $file"
            ;;
        esac
    done <list
else
    skip 'files made by packages' 'there is no python3'
fi

finish
