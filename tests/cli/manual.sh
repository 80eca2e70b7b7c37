#!/bin/sh
# What --help and the manual page say of the same things is the same; and the README's examples are so.
# Tags: smoke ports

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

manual=$sources/man/gpureduce.1
run --help
is '--help' 0 "$(cat out)"
copy out help

# words: the options of the lines of standard input, -x and --name=ARGUMENT, one a line, in order.
words() {
    grep -o -e '--[a-z][a-z-]*=\{0,1\}[A-Z]*' -e '\(^\|[ ,]\)-[a-zA-Z]\>' | tr -d ' ,' | sort
}

# Its headings are the lines behind .TP that begin with an option, without what is roff.
sed -n '/^\.SH OPTIONS/,/^\.SH RESULTS/p' "$manual" | grep -A1 '^\.TP' | grep '^\.B[IR]* *"*\\-' |
    sed -e 's/^\.B[IR]* *//' -e 's/\\f[RP]//g' -e 's/"//g' -e 's/\\-/-/g' -e 's/= /=/g' |
    words >of_manual
sed 's/^[A-Z][a-z]*  *-/ -/' help | grep '^  *-' | sed -e 's/^ *//' -e 's/  .*//' -e 's/\(=[A-Z]*\) .*/\1/' | words >of_help
ok "they have the same $(grep -c . of_help) options" cmp of_manual of_help
[ "$failures" -eq 0 ] || diff of_manual of_help | sed 's/^/# /'
ok 'those are not few' test "$(grep -c '^--' of_help)" -ge 22

# Every option of the manual is one: asked for with a wrong argument, or none, it is not unknown.
sort -u of_manual | grep '^--' | sed 's/=.*//' >names
while read -r name; do
    case $name in
    --help | --version) run "$name" ;;
    *) run "$name" </dev/null ;;
    esac
    ok "$name is known" sh -c '! grep -q unknown err'
done <names
run --no-such-option
ok 'an option that is not known is told' test "$status:$(grep -c unknown err)" = 2:1

grep -o '\\fB[^\\]*\|^\.[BIR]* .*' "$manual" | sed 's/^.fB/ /' >bold
# The values of options, operations and statuses that --help lists stand in bold in the manual.
for word in sum min max mean count argmin argmax nan inf var std sumsq rms l1 l2 absmax \
    absmin range zeros negatives subnormals summary median exponent f32 f64 f16 bf16 little big auto raw npy zstd safetensors npz gguf hdf5 netcdf fits nifti fortran pytorch zarr gzip zlib \
    propagate skip error cpu gpu decimal hex empty kB TB KiB TiB; do
    ok "$word is in both" test "$(grep -c "\<$word\>" help)" -ge 1 -a \
        "$(grep -c "\<$word\>" bold)" -ge 1
done
for number in 0 1 2 3; do
    ok "status $number is in both" test \
        "$(sed -n '/^Exit status/,/^$/p' help | grep -c "\<$number\>")" -ge 1 -a \
        "$(sed -n '/^\.SH EXIT/,/^\.SH ENV/p' "$manual" | grep -c "^\.B $number\$")" -eq 1
done

# The keys of --diff's objects stand in the section about them.
sed -n '/^\.SS Comparisons/,/^\.SH/p' "$sources/man/gpureduce-json.5" >comparisons
cat "$sources"/tests/golden/diff*-json.out | grep -o '"[a-z_]*":' | tr -d '":' | sed 's/^other_//' | sort -u >keys
while read -r key; do
    ok "$key is a key in gpureduce-json(5)" grep -q "\\\\f[BP]$key\\\\fP\|^\.BR\{0,1\} .*\<$key\>" comparisons
done <keys
ok 'these are not few' test "$(grep -c . keys)" -ge 20

# The keys of --json stand in gpureduce-json(5), in their order.
sed -n '/^\.SH KEYS/,/^\.SS/p' "$sources/man/gpureduce-json.5" | grep -A1 '^\.TP' | grep '^\.B' |
    sed -e 's/^\.BR* //' -e 's/[",]/ /g' | tr -s ' ' '\n' >in_order
run --json -o sum,min --missing=1 "$sources/data/containers/small.fits"
grep scale_factor out | grep missing_values | head -n 1 | sed 's/{}//' | grep -o '"[a-z_]*": ' | tr -d '": ' >keys
grep -x -F -f keys in_order >sorted
ok 'keys stand in gpureduce-json(5), in their order' diff sorted keys
ok 'these are not few, too' test "$(grep -c . keys)" -ge 20

# Every page is installed, and every page that a page refers to is there.
for page in "$sources"/man/*.[1357]; do
    ok "man/${page##*/} is installed" grep -q "man/${page##*/}" "$sources/Makefile.am"
done
grep -ho '^\.BR \(lib\)\{0,1\}gpureduce[a-z\\-]* ([1357])' "$sources"/man/*.[1357] |
    sed 's/^\.BR //; s/\\//g; s/ (\(.\))/.\1/' | sort -u >referred
while read -r page; do
    ok "$page is a page" test -f "$sources/man/$page"
done <referred

# The README's examples, which begin with a $, print what stands below them; but for times and rates.
mkdir src readme
ln -s "$GPUREDUCE" src/gpureduce
awk '/^```/ { block = !block; name = ""; next }
     block && /^\$ / { name = sprintf("readme/%02d", ++n); sub(/^\$ /, ""); sub(/  +# .*/, ""); print >(name ".command"); next }
     name { print >(name ".expected") }' "$sources/README.md"
three >x.f32
{ printf '\3757zXZ\0' && three; } >x.f32.xz
for example in readme/*.command; do
    wanted=${example%.command}.expected
    [ -f "$wanted" ] || : >"$wanted"
    if grep -q '^zstd ' "$example" && ! command -v zstd >command.log; then
        skip "README: $(cat "$example")" 'there is no zstd'
        continue
    fi
    sh "$example" >readme/printed 2>&1
    normalise readme/printed >readme/normal
    normalise "$wanted" >readme/wanted
    ok "README: $(cat "$example")" diff readme/normal readme/wanted
done
ok 'it has some' test -f readme/10.command

# Its other commands, which are indented, work: with files of the names that they use, and less data.
for name in normal.f32 rows.f32 big.f32; do
    "$program-bench" generate -q -d normal -b 64KiB >$name
done
{ npy 1 "$(npy_header '<f4' '(16, 1024)')" && cat rows.f32; } >table.npy
for name in model before after; do
    safetensors $name.safetensors w.weight:F32:16384:rows.f32 b:F32:16384:big.f32
done
for name in -bench -mpi; do
    [ ! -x "$program$name" ] || ln -s "$program$name" src/gpureduce$name
done
sed -n 's/^    \(src\|seq\|mpirun\)/\1/p' "$sources/README.md" | sed 's/  *#.*//; s/16GiB/16KiB/' >indented
while read -r command; do
    case $command in
    mpirun*) skip "README: $command" 'tests/cli/mpi.sh runs it' ;;
    *' limits' | *' ladder') skip "README: $command" 'tests/cli/bench.sh runs it' ;;
    *hdf5* | *containers*)
        # It may be built without the libraries for some of them.
        sh -c "$command" >printed 2>&1
        ok "README: $command" test "$(grep -c '^data/' printed)" -gt 10
        ;;
    *) ok "README: $command" sh -c "$command" ;;
    esac
done <indented
ok 'these are some, too' test "$(wc -l <indented)" -ge 10

finish
