#!/bin/sh
# NIfTI: images that nibabel has written, and headers that are wrong.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

# zeros COUNT
zeros() {
    head -c "$1" /dev/zero
}

# An image of NIfTI-1, 2 by 1, of i16, with a slope of 1 and an intercept of 0.
{
    printf '\134\1\0\0' && zeros 36 && printf '\2\0\2\0\1\0' && zeros 24 && printf '\4\0\20\0' && zeros 34
    printf '\0\0\260\103\0\0\200\077\0\0\0\0' && zeros 224 && printf 'n+1\0\0\0\0\0\7\0\376\377'
} >x.nii
run -q -o sum,min,max x.nii
is 'an image' 0 '5
-2
7'
run --list x.nii
ok 'listed' grep -q "^x.nii${tab}image${tab}i16${tab}\[1,2\]${tab}2${tab}4${tab}352$" out
shell 'cat x.nii | gpureduce -q -o sum'
is 'in a pipe' 0 5
shell 'cat x.nii | gpureduce -q --axis=-1 -o sum'
is 'in a pipe, along an axis' 0 5
for bytes in 3 40 347 351 355; do
    head -c "$bytes" x.nii >cut.nii
    run -q --format=nifti cut.nii
    fails_like "cut off at $bytes" "cut.nii: a NIfTI file: byte $bytes: \(the file ends within the header\|truncated: the 4 bytes of the image begin at offset 352\)"
    shell "cat cut.nii | gpureduce -q --format=nifti"
    fails_like "cut off at $bytes, in a pipe" '.*\(the file ends within\|truncated:\|ends at byte\).*'
done
# patch OFFSET BYTES: x.nii with other bytes there, as wrong.nii.
patch() {
    # shellcheck disable=SC2059 # octal escapes
    { head -c "$1" x.nii && printf "$2" && tail -c +$(($1 + $(printf "$2" | wc -c) + 1)) x.nii; } >wrong.nii
}
while IFS='|' read -r at bytes message; do
    patch "$at" "$bytes"
    run -q --format=nifti wrong.nii
    fails_like "$message" "wrong.nii: a NIfTI file: byte [0-9]*: $message"
done <<'END'
0|\135|the length of the header is neither 348 nor 540
344|n-1|the magic string is missing
344|ni1|the image is in another file, of type .img
40|\0|the number of dimensions is not from 1 to 7
40|\10|the number of dimensions is not from 1 to 7
42|\377\377|the size of dimension 1 is negative
42|\3|truncated: the 6 bytes of the image begin at offset 352
40|\7\0\377\177\377\177\377\177\377\177\377\177|more elements than any file has
70|\5|unknown data type 5
108|\0\0\0\0|the offset of the image is not a number of bytes after the header
108|\0\0\240\103|the offset of the image is not a number of bytes after the header
108|\0\100\260\103|the offset of the image is not a number of bytes after the header
108|\0\0\300\377|the offset of the image is not a number of bytes after the header
108|\0\0\200\177|the offset of the image is not a number of bytes after the header
END
while IFS='|' read -r bytes message; do
    patch 70 "$bytes"
    zeros 60 >>wrong.nii
    run -q wrong.nii
    fails "$message" "wrong.nii: array image: $message"
done <<'END'
\1|type BINARY is not supported: single bits
\200\0|type RGB24 is not supported: colours of three bytes
\0\11|type RGBA32 is not supported: colours of four bytes
\0\6|type FLOAT128 is not supported: floats of 16 bytes
\0\10|type COMPLEX256 is not supported: pairs of floats of 16 bytes
END
# A pair of files: the header has another magic, and the image begins at once.
patch 344 'ni1'
{ head -c 108 wrong.nii && zeros 4 && tail -c +113 wrong.nii | head -c 236; } >pair.hdr
tail -c 4 x.nii >pair.img
for name in pair.hdr pair.img ./pair.img; do
    run -q -o sum,min,max "$name"
    is "$name" 0 '5
-2
7'
done
shell 'gpureduce -q -o sum - <pair.hdr'
ok 'a header as standard input' test "$status" = 1
run -q -t u8 -o sum --format=raw pair.img
is 'raw' 0 516
run -q -o sum,count pair.hdr pair.img --total
ok 'both names' test "$status" = 0
head -c 3 pair.img >cut.img
head -c 348 pair.hdr >cut.hdr
run cut.img
fails 'a pair whose image is cut off' 'cut.img: a NIfTI file: byte 3: truncated: the 4 bytes of the image begin at offset 0 of the .img file'
: >cut.img
run cut.hdr
fails 'a pair whose image is empty' 'cut.hdr: a NIfTI file: byte 0: truncated: the 4 bytes of the image begin at offset 0 of the .img file'
rm cut.img
if mkfifo cut.img 2>/dev/null; then
    run cut.hdr
    fails 'a pair whose image is a pipe' 'cut.hdr: a pair of NIfTI files, whose image is not a regular file'
    rm cut.img
fi
mkdir cut.img
run cut.hdr
fails 'a pair whose image is a directory' 'cut.hdr: a pair of NIfTI files, whose image is not a regular file'
rmdir cut.img
run cut.hdr
fails 'a header without its image' 'cut.hdr: a NIfTI header; its image cut.img: No such file or directory'
cp pair.img lone.img
run lone.img
fails 'an image without its header' 'lone.img: an image whose header cannot be read: lone.hdr: No such file or directory (--format=raw reads it as raw numbers)'
{ head -c 344 pair.hdr && zeros 4; } >lone.hdr
for name in lone.hdr lone.img; do
    run "$name"
    fails_like "Analyze: $name" "$name: an Analyze .*; try: python3 .*nibabel.load('$name').*"
done
for size in 0 3 4 347; do
    head -c $size pair.hdr >lone.hdr
    run lone.img
    fails "an image whose header is cut off after $size bytes" "lone.img: an image whose header is truncated: lone.hdr: $size bytes, the header of NIfTI needs 348 (--format=raw reads it as raw numbers)"
done
run lone.hdr
fails 'a header of a pair that is cut off' 'lone.hdr: truncated: 347 bytes, the header of NIfTI needs 348 (--format=raw reads it as raw numbers)'
if has_zlib; then
    gzip -c pair.img >pair.img.gz
    gzip -c pair.img >alone.img.gz
    run pair.img.gz
    fails 'an image of a pair that is compressed' \
        'pair.img.gz: the image of a pair of NIfTI files, compressed by gzip; decompress it first (--format=raw+gzip reads it as raw numbers)'
    run alone.img.gz
    fails 'a compressed image without its header' \
        'alone.img.gz: an image whose header cannot be read: alone.hdr: No such file or directory (--format=raw+gzip reads it as raw numbers)'
    run -q -o sum -t u8 --format=raw+gzip pair.img.gz
    is 'raw, compressed' 0 516
    gzip -c pair.hdr >pair.hdr.gz
    for options in '-o sum,count' '-o median' '--axis=0 -o sum' '--list' '-o digest'; do
        for name in pair.hdr pair.img; do
            run $options --tsv $name
            sed 's/\t0$/\tNA/' out >wanted
            run $options --tsv $name.gz
            ok "$name.gz $options" test "$status:$(sed "s/$name.gz/$name/" out | cmp wanted - 2>&1)" = 0:
        done
    done
    run --diff pair.hdr pair.img.gz
    is 'compressed, --diff' 0 '' '*'
    head -c 20 pair.img.gz >cut.img.gz
    cp pair.hdr.gz cut.hdr.gz
    run cut.hdr.gz
    fails_like 'a compressed image that is cut off' 'cut.hdr.gz: byte 20: .*'
    rm cut.img.gz
    run cut.hdr.gz
    fails 'a compressed header without its image' \
        'cut.hdr.gz: a NIfTI header; its image cut.img.gz: No such file or directory'
    head -c $(($(wc -c <pair.hdr.gz) - 5)) pair.hdr.gz >torn.hdr.gz
    cp pair.img.gz torn.img.gz
    run torn.hdr.gz
    fails_like 'a compressed header that is cut off' 'torn.hdr.gz: byte [0-9]*: the compressed data are cut off'
    { cat pair.img.gz && zeros 48; } >bare.img
    cp pair.hdr.gz bare.hdr
    run bare.hdr
    fails_like 'a compressed header whose name does not say so' 'bare.hdr: a NIfTI file, compressed by gzip; .*'
fi
printf 'ENVI' >lone.hdr
run -q -o sum -t i16 lone.img
is 'an image with another header' 0 5
if has_zlib; then
    gzip lone.img
    run -q -o sum -t i16 lone.img.gz
    is 'a compressed image with another header' 0 5
fi
head -c 347 x.nii >cut.nii
run cut.nii
fails 'a header that is cut off' 'cut.nii: truncated: 347 bytes, the header of NIfTI needs 348 (--format=raw reads it as raw numbers)'
patch 112 '\0\0\300\177\0\0\300\177'
run -q -o sum wrong.nii
is 'a slope that is NaN is none' 0 5
patch 116 '\0\0\200\177'
run -q -o sum wrong.nii
fails 'an infinite intercept' 'wrong.nii: array image: its scl_inter is not finite; --stored ignores attributes'
run -q -o sum --stored wrong.nii
is 'as stored' 0 5
patch 40 '\1\0\1\0'
{ head -c 70 wrong.nii && printf '\40\0' && head -c 116 wrong.nii | tail -c +73 && printf '\0\0\200\077' &&
    tail -c +121 wrong.nii && zeros 4; } >pair.nii
run -q -o sum pair.nii
ok 'an intercept of complex numbers' test "$status:$(grep -c 'its complex numbers have a scl_inter; --stored' err)" = 1:1
shell 'cat pair.nii | gpureduce -q -o sum'
ok 'complex numbers in a pipe' test "$status:$(grep -c 'its complex numbers have a scl_inter; --stored' err)" = 1:1

make_files make_nifti.py 'files by nibabel'
ordered=
# compare EXPECTED OPTIONS FILE
compare() {
    # shellcheck disable=SC2086 # several words
    rows_as "$1" "$3 $2" run --tsv $2 "$3"
}
for expected in made/*.stored.tsv; do
    name=${expected%.stored.tsv}
    compare "$expected" '--stored -o sum,min,max,argmin,argmax,nan,count' "$name.nii"
    case $name in
    made/c* | *pairs | made/one)
        compare "$expected" '--stored -o sum,min,max,argmin,argmax,nan,count' "$name.img"
        compare "$expected" '--stored -j 3 --chunk-size 16 -o sum,min,max,argmin,argmax,nan,count' "$name.nii"
        continue
        ;;
    made/[a-h]*) continue ;;
    esac
    has_zlib || continue
    gzip -c "$name.nii" >z.nii.gz
    compare "$expected" '--stored -o sum,min,max,argmin,argmax,nan,count' z.nii.gz
done
for expected in made/*.scaled.tsv; do
    for end in nii hdr; do
        compare "$expected" '-o missing,count,sum,mean,min,max,argmin,argmax' "${expected%.scaled.tsv}.$end"
    done
done
finish
