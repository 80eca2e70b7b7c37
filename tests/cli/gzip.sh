#!/bin/sh
# gzip, bgzf and zlib: members of all kinds, in files and pipes, and what is damaged.
# Tags: threads

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

if ! has_zlib; then
    skip 'gzip' 'built without zlib'
    finish
fi
if ! python3 -c 'import gzip, zlib' 2>/dev/null; then
    skip 'gzip' 'there is no python3 with zlib'
    finish
fi
mkdir made
python3 - made >expected <<'END'
import array, gzip, os, random, struct, sys, zlib

rnd = random.Random(5)
folder = sys.argv[1]
numbers = array.array("i", (rnd.choice((rnd.randrange(-9, 9), rnd.randrange(-2**31, 2**31))) for _ in range(200001)))
if sys.byteorder == "big":
    numbers.byteswap()
data = numbers.tobytes()
if sys.byteorder == "big":
    numbers.byteswap()


def write(name, content):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content)


def member(content, level=6, extra=b"", name=b""):
    """A member of gzip; of bgzf, where there is an extra field."""
    z = zlib.compressobj(level, zlib.DEFLATED, -15)
    body = z.compress(content) + z.flush()
    flags = (4 if extra else 0) | (8 if name else 0)
    head = struct.pack("<BBBBIBB", 31, 139, 8, flags, 0, 0, 255)
    if extra:
        head += struct.pack("<H", 6 + len(extra)) + struct.pack("<BBHH", 66, 67, 2, 0) + extra
    head += name + b"\0" if name else b""
    whole = bytearray(head + body + struct.pack("<II", zlib.crc32(content), len(content) & 0xffffffff))
    if extra:
        whole[16:18] = struct.pack("<H", len(whole) - 1)
    return bytes(whole)


def checked(content, wrong=0):
    """A member whose header has a checksum."""
    whole = member(content)
    head = whole[:3] + b"\x02" + whole[4:10]
    return head + struct.pack("<H", zlib.crc32(head) & 0xffff ^ wrong) + whole[10:]


def pieces(sizes):
    at = 0
    while at < len(data):
        size = rnd.choice(sizes)
        yield data[at:at + size]
        at += size


block = b"\x01\x02\x01\0x"
bgzf = [member(p, extra=block) for p in pieces([65280])]
odd = [member(p, extra=block) for p in pieces([1, 2, 3, 65280, 1001, 40000, 0])]
end = member(b"", extra=block)
write("one", gzip.compress(data))
write("fast", gzip.compress(data, 1))
write("stored", member(data, 0))
write("macos", b"".join(p[:9] + b"\x13" + p[10:] for p in map(member, pieces([100000, 50001]))))  # by zlib there
write("name", member(data, name=b"x.i32"))
write("bgzf", b"".join(bgzf) + end)
write("odd", b"".join(odd) + end + end)
write("many", b"".join(member(p) for p in pieces([1, 7, 100000, 50001, 0])))
write("mixed", b"".join(member(p, extra=rnd.choice((b"", block))) for p in pieces([1, 7, 60000, 50001, 0])))
write("checked", b"".join(checked(p) for p in pieces([100000, 50001, 0])))
write("zeros", gzip.compress(data) + b"\0" * 1000)
write("zeros.bgzf", b"".join(bgzf) + b"\0" * 70000)
with open(os.path.join(folder, "z.zlib"), "wb") as file:
    file.write(zlib.compress(data))
# Members that hold what looks like members: more than there are, and such that are none.
nested = member(member(data[:400000], 0) + member(data[400000:], 0), 0)
write("nested", nested)
header = b"\x1f\x8b\x08\0\0\0\0\0\0\x03"
fake = data[:100000] + header + header + data[100020:]
write("fake", b"".join(member(fake[i:i + 30000], 0) for i in range(0, len(fake), 30000)))
write("fake.i32", fake)
write("numbers.i32", data)
# What is wrong.
one, whole = gzip.compress(data), b"".join(bgzf) + end
place = sum(map(len, bgzf[:5]))
write("bad-cut", one[:-5000])
write("bad-cut-trailer", one[:-3])
write("bad-cut-block", whole[:place + 300])
write("bad-cut-header", whole[:place + 11])
write("bad-checksum", one[:-8] + b"abcd" + one[-4:])
write("bad-header", checked(data[:4000]) + checked(data[4000:], 1))
write("bad-length", one[:-4] + b"abcd")
for name, at in (("bad-block-checksum", place - 8), ("bad-block-length", place - 4), ("bad-block-data", place - 3000),
                 ("bad-block-header", place + 2), ("bad-block-size", place + 17)):
    write(name, whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])
write("bad-behind", one + b"something else")
write("bad-behind-bgzf", whole + b"something else")
write("bad-reserved", one[:3] + b"\x80" + one[4:])
write("empty", gzip.compress(b""))
ordered = sorted(numbers)
print(sum(numbers), min(numbers), max(numbers), numbers.index(min(numbers)), len(numbers), float(ordered[100000]))
END
read -r sum min max argmin count median <expected
for name in one fast stored macos name checked bgzf odd many mixed zeros zeros.bgzf; do
    for options in '' '-j 1' '-j 4 --chunk-size 4096' '-j 3 --chunk-size 1000000'; do
        share_takes_next || continue
        # shellcheck disable=SC2086 # none, or several words
        run -q -t i32 -o sum,min,max,argmin,count,median $options made/$name
        is "$name $options" 0 "$sum
$min
$max
$argmin
$count
${median%.0}"
    done
    # shellcheck disable=SC2016 # another shell expands it
    shell 'cat made/'$name' | gpureduce -q -t i32 -o sum,min,max,argmin,count -j 4'
    is "$name, in a pipe" 0 "$sum
$min
$max
$argmin
$count"
done
run -q -t i32 -o sum,count --format=zlib made/z.zlib
is 'zlib' 0 "$sum
$count"
shell 'cat made/z.zlib | gpureduce -q -t i32 -o sum --format=raw+zlib'
is 'zlib in a pipe' 0 "$sum"
run -q --format=zlib made/one
fails 'gzip is not zlib' 'made/one: not zlib data: no stream begins at byte 0'
run -q --format=gzip made/numbers.i32
fails 'numbers are not gzip' 'made/numbers.i32: not gzip data: no member begins at byte 0'
run -q -t u8 -o count --format=raw made/one
is 'as raw bytes' 0 "$(wc -c <made/one | tr -d ' ')"
run -q -t i32 -o sum --format=raw+gzip made/one
is 'raw+gzip' 0 "$sum"
run -q made/nested
fails 'gzip in gzip' "made/nested: byte 0: the decompressed data are gzip-compressed again; decompress once with 'gzip -dc' first"
run -q -t i32 -o sum,count made/fake.i32
copy out fake.out
run -q -t i32 -o sum,count made/fake
is 'what looks like members and is none' 0 "$(cat fake.out)"
run -q -o sum,count made/empty
is 'nothing' 0 "0
0"

# Damage: the same whatever reads it.
while IFS='|' read -r name message; do
    for options in '' '-j 1' '-j 4'; do
        share_takes_next || continue
        # shellcheck disable=SC2086 # none, or two words
        run -q -t i32 -o sum $options "made/bad-$name"
        fails_like "$name $options" "made/bad-$name: byte [0-9]*: $message"
    done
    shell "cat made/bad-$name | gpureduce -q -t i32 -o sum"
    fails_like "$name, in a pipe" "standard input: byte [0-9]*: $message"
done <<'END'
cut|the compressed data are cut off
cut-trailer|the compressed data are cut off
cut-block|the compressed data are cut off
cut-header|the compressed data are cut off
checksum|incorrect data check
length|incorrect length check
header|header crc mismatch
reserved|unknown header flags set
block-checksum|incorrect data check
block-length|incorrect length check
block-data|.*
block-header|.*
behind|no member of gzip begins here, after others
behind-bgzf|no member of gzip begins here, after others
END
run -q -t i32 -o sum made/bad-block-size
is 'a size of a block that is wrong, which only bgzf has' 0 "$sum"
run -q -t i32 -o count --length 1000 made/bad-cut
is 'damage behind --length' 0 1000
run -q -t i32 -o count --skip 400 --length 1000 made/bad-cut-block
is 'and with --skip' 0 1000

# Other formats inside. compressed FILE NEW OPTIONS: whether NEW has the rows of FILE, also in a pipe.
compressed() {
    # shellcheck disable=SC2086 # several words
    run --tsv $3 "$1"
    as=$status
    sed "s/^$1/-/" out >wanted
    # shellcheck disable=SC2086 # several words
    run --tsv $3 "$2"
    was=$status:$(sed "s/^$2/-/" out | cmp wanted - 2>&1)
    shell "cat $2 | gpureduce --tsv $3"
    ok "$2 $3" test "$was:$status:$(cmp wanted out 2>&1)" = "$as::$as:"
}
formats='small.safetensors small.gguf quantised.gguf small.cdf1.nc small.nii small.fits stored.npz small.pt records.npy'
gpureduce --version | grep -qx 'HDF5: none' || formats="$formats small.h5"
for file in $formats; do
    copy "$sources/data/containers/$file" "$file"
    gzip -nk "$file"
    [ -z "$ZSTD" ] || "$ZSTD" -q "$file"
    for packed in "$file.gz" ${ZSTD:+"$file.zst"}; do
        for options in '-o sum,min,max,argmin,count --total' '-o median' '--axis=-1 -o sum' '--list' '--where=sum!=0 -o sum'; do
            ! share_takes_next || compressed "$file" "$packed" "$options"
        done
        run --diff "$file" "$packed"
        is "$packed --diff" 0 '' '*'
    done
    { head -c $(($(wc -c <"$file.gz") - 8)) "$file.gz" && printf '\1\2\3\4' && tail -c 4 "$file.gz"; } >bad.gz
    for options in -osum -omedian; do
        run -q $options bad.gz
        fails_like "$file.gz $options, damaged" 'bad.gz: byte [0-9]*: incorrect data check'
    done
done
run --json -o sum --array=spread.u16 small.safetensors.gz
ok 'its format' grep -q '"format": "safetensors+gzip"' out
three >three.f32
{ npy 1 "$(npy_header '<f4' '(3,)')" && cat three.f32; } | gzip -n >three.npy.gz
run --json -o sum three.npy.gz
ok '.npy' grep -q '"format": "npy+gzip"' out
copy out three.json
run --check three.json
ok '.npy, and --check' test "$status" = 0
run --json -t i32 -o sum made/bgzf
ok 'raw' grep -q '"format": "gzip"' out
copy out raw.json
run --check raw.json
ok 'raw, and --check' test "$status" = 0
# Formats that the length of the file tells.
{ printf '\134\1\0\0' && head -c 36 /dev/zero && printf '\3\0' && head -c 306 /dev/zero; } | gzip -n >analyze.gz
printf '1.5\n' | gzip -n >text.gz
for file in 'analyze.gz an Analyze header' 'text.gz a text file of numbers'; do
    run "${file%% *}"
    fails_like "${file#* }" "$(echo "$file" | sed 's/ /: /'), compressed by gzip; .*"
    shell "cat ${file%% *} | gpureduce"
    fails_like "${file#* } in a pipe" "standard input: ${file#* }, compressed by gzip; .*"
done
: >empty.gz
run -q empty.gz
fails 'an empty file' 'empty.gz: is empty, but its name is that of a format (--format=raw reads it as no elements)'

# Other requests.
head -c 800000 made/numbers.i32 >numbers.i32
gzip -knf numbers.i32
for options in '--axis=0 --shape=2000,100 -o sum,argmax' '--axis=1 --shape=100,2000 -o max' '--histogram=7 -o count' '-o q0.1,std,median'; do
    # shellcheck disable=SC2086 # several words
    run -q -t i32 $options numbers.i32
    copy out wanted
    # shellcheck disable=SC2086 # several words
    run -q -t i32 $options numbers.i32.gz
    ok "$options" cmp wanted out
    [ "$status" = 0 ] || show err
done
run -t i32 --diff numbers.i32 numbers.i32.gz
ok 'the same as the file' test "$status" = 0
shell 'cat numbers.i32.gz | timeout 20 gpureduce --diff -q -t i32 --length=3 - numbers.i32'
is 'the first ones, in a pipe' 0 ''
shells=
for i in 1 2 3; do
    run -t i32 --partial -o sum,count --shard=$i/3 made/bgzf made/one
    cat out >>shards
    shells="$shells $status"
done
run -q --merge -o sum,count shards
ok 'shards' test "$shells:$(head -n 1 out)" = " 0 0 0:$sum" -o "$(tr '\n' ' ' <out)" = "$((2 * sum)) $((2 * count)) "
run -q -t i32 -o sum --total made/one made/bgzf
is 'a total' 0 "$sum
$sum
$((2 * sum))"
finish
