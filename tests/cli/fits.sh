#!/bin/sh
# FITS: images that astropy has written, and headers that are wrong.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

# card TEXT: a card of 80 characters.
card() {
    printf '%-80s' "$1"
}

# hdu FILE: the cards of standard input and END, as a header of one block.
hdu() {
    while IFS= read -r line; do
        card "$line"
    done >cards
    card END >>cards
    { cat cards && head -c 2880 /dev/zero | tr '\0' ' '; } | head -c 2880 >"$1"
}
primary='SIMPLE  =                    T
BITPIX  =                   16
NAXIS   =                    1
NAXIS1  =                    3'
echo "$primary" | hdu x.fits
printf '\0\1\0\2\377\377' >>x.fits
run -q -o sum,min,max x.fits
is 'an image whose last block is not filled up' 0 '2
-1
2'
run --list x.fits
ok 'listed' grep -q "${tab}PRIMARY${tab}i16${tab}\[3\]${tab}3${tab}6${tab}2880$" out
{ cat x.fits && head -c 2875 /dev/zero; } >wrong.fits
run -q wrong.fits
fails 'a piece of a block' 'wrong.fits: a FITS file: byte 5760: only 1 byte of a block after HDU 0'
echo "$primary" | sed 's/SIMPLE /XTNSION/' | hdu next
{ cat x.fits && head -c 2874 /dev/zero && cat next; } >wrong.fits
run -q wrong.fits
fails 'something after the last HDU' 'wrong.fits: a FITS file: byte 5760: no extension begins after HDU 0'
while IFS='|' read -r old new message; do
    echo "$primary" | sed "s/$old/$new/" | hdu wrong.fits
    printf '\0\1\0\2\377\377' >>wrong.fits
    run -q -o sum wrong.fits
    fails_like "$new" "wrong.fits: a FITS file: byte [0-9]*: $message"
done <<'END'
NAXIS1  =                    3|NAXIS1  =                    4|truncated inside HDU 0: its 8 bytes of data begin at offset 2880
NAXIS1  =                    3|NAXIS1  =                   -3|HDU 0: NAXIS1 is missing, or negative
NAXIS1  =                    3|NAXIS1  =  9223372036854775807|HDU 0: more elements than any file has
NAXIS1  =                    3|NAXIS1  = 19223372036854775807|HDU 0: NAXIS1 is not an integer of 64 bits
NAXIS1  =                    3|NAXIS2  =                    3|HDU 0: NAXIS1 is missing, or negative
NAXIS   =                    1|NAXIS   =                   65|HDU 0: NAXIS is not a number from 0 to 64
BITPIX  =                   16|BITPIX  =                   17|HDU 0: BITPIX is not 8, 16, 32, 64, -32 or -64
BITPIX  =                   16|BITPIX  =                 '16'|HDU 0: BITPIX is not an integer of 64 bits
SIMPLE  =                    T|SIMPLE  =                    F|it does not begin with SIMPLE = T
END
head -c 1000 x.fits >cut.fits
run -q cut.fits
fails 'cut off in the header' 'cut.fits: a FITS file: byte 1000: the file ends within the header of HDU 0'
for value in 0 1E999 "'2'" 1x 1.5.2; do
    printf '%s\nBSCALE  = %20s\n' "$primary" "$value" | hdu scale.fits
    printf '\0\1\0\2\377\377' >>scale.fits
    run -q -o sum scale.fits
    ok "a scale of $value" test "$status:$(grep -c 'its keyword BSCALE is .*; --stored ignores attributes' err)" = 1:1
    run -q -o sum --stored scale.fits
    is 'as stored' 0 2
done
shell 'cat x.fits | gpureduce'
fails 'in a pipe' 'standard input: a FITS file; one that is neither in a pipe nor compressed is read (--format=raw reads it as raw numbers)'

make_files make_fits.py 'files made by astropy'
ordered=
for expected in made/*.stored.tsv; do
    name=${expected##*/}
    name=${name%.stored.tsv}
    for options in '' '-j 3 --chunk-size 16'; do
        # shellcheck disable=SC2086 # none, or several words
        rows_as "$expected" "$name${options:+, $options}" run --tsv --skip-unsupported --stored \
            -o sum,min,max,argmin,argmax,nan,count $options "made/$name.fits"
    done
done
rows_as made/scaled.tsv 'scales and missing values' \
    run --tsv -o missing,count,sum,mean,min,max,argmin,argmax made/scaled.fits
run -q -o sum made/tables.fits
ok 'tables are errors' test "$status:$(grep -c 'type [A-Z]* is not supported: a table; in Python, ' err):$(grep -c 'a compressed image, which' err)" = 1:2:1
run -q -o sum made/groups.fits
ok 'random groups are an error' test "$status:$(grep -c 'type GROUPS is not supported: random groups' err)" = 1:1
run --list --skip-unsupported made/tables.fits
ok 'they are listed' test "$(cut -f 2 out | sed 1d | paste -s -d , -)" = PRIMARY,T,ASCII,TILED,LAST
finish
