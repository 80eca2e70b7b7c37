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
lacks='2874 of the 2880 bytes of the last block are missing; the file may be truncated'
run -q -o sum,min,max,median x.fits
is 'an image whose last block is not filled up' 0 '2
-1
2
1' "gpureduce: warning: x.fits: $lacks"
{ cat x.fits && head -c 2874 /dev/zero; } >full.fits
run -q -o sum full.fits
is 'a last block that is filled up' 0 2
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
BITPIX  =                   16|&\n&\nBITPIX  =                    8|HDU 0: another card of BITPIX contradicts this one
BITPIX  =                   16|BITPIX  =                   17|HDU 0: BITPIX is not 8, 16, 32, 64, -32 or -64
BITPIX  =                   16|BITPIX  =                 '16'|HDU 0: BITPIX is not an integer of 64 bits
SIMPLE  =                    T|SIMPLE  =                    F|it does not begin with SIMPLE = T
END
head -c 1000 x.fits >cut.fits
run -q cut.fits
fails 'cut off in the header' 'cut.fits: a FITS file: byte 1000: the file ends within the header of HDU 0'
# named NAME CARD...: an image with these cards, too, has this name.
named() {
    want=$1
    shift
    { echo "$primary" && printf '%s\n' "$@"; } | hdu named.fits
    printf '\0\1\0\2\377\377' >>named.fits
    run -q --list named.fits
    ok "the name $want" test "$(cut -f 2 out)" = "$want"
}
named abcdef "EXTNAME = 'abc&'" "CONTINUE  'def'"
named "a b&c'd,2" "EXTNAME = 'a &' / a comment" "CONTINUE  'b&&'" "CONTINUE   'c''d '" 'EXTVER  = 2'
named 'abc&,2' "EXTNAME = 'abc&'" 'EXTVER  = 2' "CONTINUE  'def'"
echo "$primary" | sed 's/^NAXIS1.*/&\nNAXIS1  = 03\nBSCALE  = 2\nBSCALE  = 2.0\nBSCALE  = +2/' | hdu twice.fits
printf '\0\1\0\2\377\377' >>twice.fits
run -q -o sum twice.fits
is 'keywords that are repeated' 0 4 '*'
for card in 'BSCALE  = 3' 'BZERO   = 1' 'BLANK   = 2' 'BLANK   ='; do
    printf '%s\nBSCALE  = 2\nBZERO   = 0\nBLANK   = 1\n%s\n' "$primary" "$card" | hdu twice.fits
    printf '\0\1\0\2\377\377' >>twice.fits
    run -q -o sum twice.fits
    ok "and then contradicted: $card" test "$status:$(grep -c "its keyword ${card%% *} has several values; --stored" err)" = 1:1
done
for value in 0 1E999 "'2'" 1x 1.5.2 9007199254740993; do
    printf '%s\nBSCALE  = %20s\n' "$primary" "$value" | hdu scale.fits
    printf '\0\1\0\2\377\377' >>scale.fits
    run -q -o sum scale.fits
    ok "a scale of $value" test "$status:$(grep -c 'its keyword BSCALE is .*; --stored ignores attributes' err)" = 1:1
    run -q -o sum --stored scale.fits
    is 'as stored' 0 2 "gpureduce: warning: scale.fits: $lacks"
done
printf '%s\nBSCALE  = %20s\n' "$primary" -2 | hdu scale.fits
{ printf '\0\1\0\2\377\377' && head -c 2874 /dev/zero; } >>scale.fits
run -q --axis=0 -o argmin scale.fits
is 'the least is the greatest as stored, by a negative scale' 0 1
run -q --axis=0 -o argmax scale.fits
is 'and the greatest the least' 0 2
printf '%s\nBSCALE  = %20s\n' "$primary" 1E308 | hdu scale.fits
{ printf '\0\1\0\2\377\377' && head -c 2874 /dev/zero; } >>scale.fits
run -q --histogram=2 scale.fits
is 'a maximum beyond binary64' 1 '' 'gpureduce: scale.fits: array PRIMARY: the minimum or the maximum is infinite; give the range of the histogram, as in --histogram=100,-1,1'
while read -r keyword value why; do
    printf '%s\n%-8s= %20s\n' "$primary" "$keyword" "$value" | hdu wrong.fits
    { printf '\0\1\0\2\377\377' && head -c 2874 /dev/zero; } >>wrong.fits
    run -q -o sum wrong.fits
    is "$keyword = $value" 1 NA "gpureduce: wrong.fits: array PRIMARY: its keyword $keyword $why; --stored ignores attributes"
done <<'END'
BSCALE 0 is 0
BSCALE 1E999 is too large for binary64
BZERO -1E999 is too large for binary64
BLANK '2' is not a number
BLANK T is not a number
END
shell 'cat x.fits | gpureduce -q -o sum'
is 'in a pipe' 0 2 "gpureduce: warning: standard input: $lacks"
shell 'cat x.fits | gpureduce -q -o median'
is 'a pipe whose content is read twice' 0 1 "gpureduce: warning: standard input: $lacks"

# usual FILE: an output without what depends on the compression, and without times.
usual() {
    sed "s/$name\.fits\.[a-z]*/$name.fits/g; s/, [0-9.]* s, .*//; s/fits+[a-z]*/fits/; s/\"crc32.*//; s/\"input_bytes.*//" "$1"
}
# as_plain NAME: whether NAME.fits.gz and, if there is zstd(1), NAME.fits.zst have the outputs of NAME.fits, for each
# line of options.
as_plain() {
    name=$1
    [ -z "$deflate" ] || gzip -nkf "$name.fits"
    [ -z "$ZSTD" ] || "$ZSTD" -qf "$name.fits" -o "$name.fits.zst"
    while IFS= read -r options; do
        # shellcheck disable=SC2086 # several words
        run $options "$name.fits"
        plain=$status
        usual out >plain.out
        usual err >plain.err
        for file in "$name.fits.gz" "$name.fits.zst"; do
            [ -e "$file" ] || continue
            # shellcheck disable=SC2086 # several words
            run $options "$file"
            usual out >usual.out
            usual err >usual.err
            ok "$file $options" test "$status:$(cmp plain.out usual.out):$(cmp plain.err usual.err)" = "$plain::"
        done
    done
}

# Headers that lie far apart, and the data between them compressed well.
zeros() {
    printf 'SIMPLE  =                    T\nBITPIX  =                    8\nNAXIS   =                    2\nNAXIS1  =               288000\nNAXIS2  =%21d\n' "$1" | hdu big
    gzip -nc big
    head -c 2880000 /dev/zero | gzip -n >megabytes
    for _ in $(seq $(($1 / 10))); do
        cat megabytes
    done
    printf "XTENSION= 'IMAGE   '\nBITPIX  =                   16\nNAXIS   =                    1\nNAXIS1  =                    3\n" | hdu ext
    { cat ext && printf '\0\1\0\2\377\377'; } | gzip -n
}
deflate=yes
if ! has_zlib; then
    skip 'inside gzip' 'built without zlib'
    deflate=
else
    head -c 1000 x.fits | gzip -n >cut.fits.gz
    run -q cut.fits.gz
    fails 'cut off in the header, and compressed' 'cut.fits.gz: a FITS file: byte 1000: the file ends within the header of HDU 0'
    head -c 2884 x.fits | gzip -n >cut.fits.gz
    for option in -osum -omedian --list; do
        run -q $option cut.fits.gz
        fails "cut off in the data, and compressed: $option" 'cut.fits.gz: a FITS file: byte 2884: truncated inside HDU 0: its 6 bytes of data begin at offset 2880'
    done
    gzip -nc x.fits | head -c 60 >cut.fits.gz
    for option in -osum -omedian --list; do
        run -q $option cut.fits.gz
        fails "compressed bytes that are cut off: $option" 'cut.fits.gz: byte 60: the compressed data are cut off'
    done
    zeros 940 >big.fits.gz
    run --tsv -o sum,count big.fits.gz
    is 'headers that lie far apart' 0 "file${tab}array${tab}dtype${tab}shape${tab}sum${tab}count
big.fits.gz${tab}PRIMARY${tab}u8${tab}[940,288000]${tab}0${tab}270720000
big.fits.gz${tab}HDU1${tab}i16${tab}[3]${tab}2${tab}3" '*'
    shell 'cat big.fits.gz | gpureduce --list'
    ok 'and in a pipe' test "$status:$(grep -c 'HDU1' out)" = 0:1

    { cat ext && printf '\0\1\0\2\377\377' && head -c 2874 /dev/zero; } >many
    { cat x.fits && head -c 2874 /dev/zero && for _ in $(seq 128); do cat many; done; } >many.fits
    gzip -nk many.fits
    run --diff many.fits many.fits.gz
    is 'many to compare' 0 '' '*'
fi

make_files make_fits.py 'files made by astropy'
ordered=
as_plain made/tables <<'END'
--list
--tsv --skip-unsupported -o median,sum
--tsv -o count
--axis=0 --skip-unsupported -o sum
--diff --skip-unsupported -j 3 made/primary-i2.fits
--diff --tsv made/tables.fits
END
as_plain made/scaled <<'END'
--tsv -o missing,count,sum,mean,min,max,argmin,argmax
--tsv -o var,absmax,argmin,zeros,missing --missing=3
--tsv --total --array=V0* -o sum,median
--axis=-1 -o sum,max -j 3 --chunk-size 16
--histogram=5 --array=V03
--json -o digest --stored
--partial
--where=mean>0 -o sum
--diff --stored made/scaled.fits
END
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
