#!/bin/sh
# --json: every field, what stands for what is no number, and names of all sorts.
# Tags: smoke ports emulator

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

three >three.f32
: >empty
# Itself, rather than a script that chooses among several each time.
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null)

# Checks that each line of ./out is a JSON object of its own, where there is something to do so.
valid() { # NAME
    if [ -z "$python" ]; then
        skip "$1: it is JSON" 'no python3'
        return
    fi
    ok "$1: it is JSON" "$python" -I -S -c '
import json, sys
lines = [json.loads(line) for line in open("out", "rb")]
sys.exit(not lines or any(type(line) is not dict for line in lines))'
}

run --json three.f32
golden 'raw data' 0 json-raw
valid 'raw data'
run --json -t f64 --endian=big data/raw/mixed-be.f64 -o sum,argmin,argmax
golden 'other elements' 0 json-f64
run --json data/npy/f2-big-endian.npy
golden '.npy' 0 json-npy
run --json data/zstd/frames.f32.zst
golden 'zstd' 0 json-zstd
run --json data/zstd/array-torn.npy.zst
golden '.npy in zstd' 0 json-npy-zstd
valid '.npy in zstd'

# What is no finite number is null, and stands in nonfinite.
all=sum,min,max,mean,count,argmin,argmax,nan,inf
# Of what has no known size the number of threads depends on the machine.
run --json -j 1 -o $all empty
golden 'no elements' 0 json-empty
valid 'no elements'
run --json -o $all data/raw/nan.f32
golden 'NaNs' 0 json-nan
valid 'NaNs'
run --json -o $all --nan=skip data/raw/nan.f32 data/raw/all-nan.f32
golden 'NaNs left out' 0 json-nan-skip
valid 'NaNs left out'
run --json -o $all data/raw/inf.f32 data/raw/minus-inf.f32 data/raw/both-inf.f32
golden 'infinities' 0 json-inf
valid 'infinities'
run --json -t f64 -o sum,mean data/raw/overflow.f64
golden 'a sum beyond the range, with a mean' 0 json-overflow
run --json -o min,max data/raw/zeros.f32
golden 'zeros have signs' 0 json-zeros
valid 'zeros have signs'
run --json -t f64 -o sum,mean,min data/raw/underflow.f64
valid 'exponents'

# Which operations there are.
run --json -o sum,sum,count,count,sum three.f32
golden 'operations asked for twice stand once' 0 json-repeated
run --json -o inf three.f32
golden 'counts alone' 0 json-counts

# Several files, some of them bad.
run --json -j 1 -o sum three.f32 missing empty
golden 'a file that fails has an object with the error' 1 json-several
valid 'several files'
shell 'gpureduce --json -o sum <three.f32'
golden 'standard input' 0 json-stdin
shell 'gpureduce --json -o sum - three.f32 <three.f32'
golden 'standard input among files' 0 json-stdin-file

# With other options.
run --json -q -o sum three.f32
golden '--json -q' 0 json-quiet
run --json -v -o sum three.f32
golden '--json -v: statistics on standard error' 0 json-verbose
valid '--json -v'

# Names. The text expected is what follows "file": .
while IFS=' ' read -r escaped text; do
    # The point keeps a newline at the end.
    name=$(printf '%b.' "$escaped") name=${name%.}
    if copy three.f32 "./$name" 2>/dev/null; then
        run --json -o sum "./$name"
        got=$(sed 's/, "format": .*//' out)
        ok "the name $escaped" test "$status:$got" = "0:{\"file\": \"./$text\""
        valid "the name $escaped"
        copy out record
        run -q --check record
        is "the name $escaped: it is checked" 0 ''
        rm -f "./$name"
    else
        skip "the name $escaped" 'the file system does not take it'
    fi
done <<'END'
plain plain
two\0040words two words
new\0012line new\u000aline
tab\0011 tab\u0009
escape\0033[1m escape\u001b[1m
delete\0177 delete\u007f
quote\0042 quote\"
apostrophe\0047 apostrophe'
back\\slash back\\slash
caf\0303\0251 café
snow\0342\0230\0203 snow☃
clef\0360\0235\0204\0236 clef𝄞
latin\0351 latin\ufffd", "file_escaped": "./latin\\351
two\0377\0376 two\ufffd\ufffd", "file_escaped": "./two\\377\\376
cut\0342\0230 cut\ufffd\ufffd", "file_escaped": "./cut\\342\\230
overlong\0300\0257 overlong\ufffd\ufffd", "file_escaped": "./overlong\\300\\257
surrogate\0355\0240\0200 surrogate\ufffd\ufffd\ufffd", "file_escaped": "./surrogate\\355\\240\\200
beyond\0364\0220\0200\0200 beyond\ufffd\ufffd\ufffd\ufffd", "file_escaped": "./beyond\\364\\220\\200\\200
END
name=$(printf '%200s' '' | tr ' ' x)
path=$name/$name/$name/$name/$name/$name
mkdir -p "$path" && copy three.f32 "$path/f"
run --json -o sum "$path/f"
ok 'a long name is not cut' \
    test "$(sed 's/{"file": "//; s/", "format": .*//' out)" = "$path/f"

finish
